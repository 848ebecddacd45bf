/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - read a trace and say what was asked of storage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "tracing/describe/described.h"
#include "tracing/describe/interval.h"
#include "field/fields.h"
#include "report/document/document.h"
#include "trace/trace.h"

/* A description, with what it owns. A zeroed one is empty. */
struct description {
	struct described figures;
	struct intervals log;    /* as long as was asked for */
	struct intervals series; /* the same in at most DESCRIBE_SERIES */
	struct json_store store;
};

/* Of lists in the document. */
enum {
	DESCRIBE_SERIES = 1024,
	DESCRIBE_TOP = 100,
	DESCRIBE_TASKS = 1000,
};

/*
 * The files are those of one trace, which is read twice. The log has intervals of `interval_ns`, or
 * longer where these were too many. 0, or -errno with err: as trace_reader_open, or a file that
 * cannot be read.
 */
int describe_trace(struct description *to, const char *const *paths, size_t count,
		   uint64_t interval_ns, struct mlgen_err *err);
void description_fini(struct description *d);

/* For people: at most a screen, with what decides first. */
void describe_text(FILE *to, const struct description *d, const struct f64_list *percentiles);
/* The answer, and of the rest what a person asks first. */
void describe_brief(FILE *to, const struct description *d, bool is_one_line);
/* A row of CSV for each interval, under a header. */
void describe_log(FILE *to, const struct description *d);
