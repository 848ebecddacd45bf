/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - one self-contained page of documents: figures as JSON, and a script that draws them. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include <mlgen/err.h>

/*
 * The page has what the JSON documents have, and nothing else: the scripts make charts and the
 * tables below them out of what is embedded, whichever members there are. It asks for nothing from
 * anywhere. Figures of latency bins, then of latencies over time, then all over time, are left out
 * where it would be larger than 2 MiB, and it says so.
 */
struct html {
	json_t *root;
};

/* Of what was asked, by its option: "run", "compare", ... */
void html_init(struct html *h, const char *asked);

/* Title and notes of the command line, which replace those of the documents; NULL = none. */
void html_title(struct html *h, const char *title, const char *notes);

/* What --json would have of it, or lines of JSON; none is fine. 0, or -EINVAL with err. */
int html_answer(struct html *h, const char *text, size_t bytes, struct mlgen_err *err);

/* A document beside it, with the name of its file. The document is borrowed. */
void html_document(struct html *h, const char *file, json_t *document);

/* 0 or -EIO. */
int html_write(struct html *h, FILE *to);
void html_fini(struct html *h);
