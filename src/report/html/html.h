/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - one self-contained page for documents: figures as JSON, and a script that draws them. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include <mlgen/err.h>

/*
 * The page embeds the JSON documents and nothing else: its scripts make charts and tables of the
 * members that exist. The page loads nothing from anywhere. If the page would exceed 2 MiB, it
 * leaves out latency bins, then latencies over time, then all series, and says which.
 */
struct html {
	json_t *root;
};

/* Start a page; `asked` is the option that is answered: "run", "compare", ... */
void html_init(struct html *h, const char *asked);

/* Set the title and notes of the command line, which replace those of the documents; NULL =
 * none. */
void html_set_title(struct html *h, const char *title, const char *notes);

/* Set the answer: the text of --json, or lines of JSON; may be empty. 0, or -EINVAL with err. */
int html_set_answer(struct html *h, const char *text, size_t bytes, struct mlgen_err *err);

/* Add a copy of a document, with the name of its file. */
void html_add_document(struct html *h, const char *file, json_t *document);

/* 0 or -EIO. */
int html_write(struct html *h, FILE *to);
void html_fini(struct html *h);
