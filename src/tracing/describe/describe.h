/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - read a trace and describe the requests to storage in it. */
#pragma once

/*
 * describe_trace() reads a trace twice. The first pass fills the accounts of trace/model and counts
 * operations; the second pass assigns reads to intervals and epochs. The figures are then
 * filled into the structs of trace/documents, from which text, JSON and CSV are made. One thread
 * owns a description.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "field/fields.h"
#include "report/document/document.h"
#include "trace/documents/documents.h"

/* More intervals than this are joined into longer ones. */
#define INTERVALS_MAX (UINT64_C(1) << 18)

struct intervals {
	uint64_t start_ns, length_ns;
	size_t count;
	struct interval *at; /* owned */
};

/* A description and what it owns. A zeroed struct is empty. */
struct description {
	struct described figures;
	struct intervals log;    /* intervals of the requested length, or longer */
	struct intervals series; /* `log` joined into at most DESCRIBE_SERIES intervals */
	struct json_store store;
};

/* The longest lists in the document. */
enum {
	DESCRIBE_SERIES = 1024,
	DESCRIBE_TOP = 100,
	DESCRIBE_TASKS = 1000,
};

/*
 * Read the files of one trace. The log has intervals of `interval_ns`, multiplied by a power of two
 * if there would be more than INTERVALS_MAX. 0, or -errno with err: as trace_reader_open, or a file
 * that cannot be read.
 */
int describe_trace(struct description *to, const char *const *paths, size_t count,
		   uint64_t interval_ns, struct mlgen_err *err);
void description_fini(struct description *d);

/* Print the description for people: about a screen, with the answer first. */
void describe_text(FILE *to, const struct description *d, const struct f64_list *percentiles);
/* Print the answer, and the most important figures unless is_one_line. */
void describe_brief(FILE *to, const struct description *d, bool is_one_line);
/* Print a row of CSV for each interval, after a header. */
void describe_log(FILE *to, const struct description *d);
