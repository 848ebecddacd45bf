/* SPDX-License-Identifier: Apache-2.0 */
/* figure.h - one figure of a result by its key: a metric, a percentile, an option. */
#pragma once

#include <stdbool.h>

#include <mlgen/field.h>

#include "ask/record.h"

/*
 * A key is looked for below jobs[].ml, jobs[].io, jobs[] and at the top of the document, in this
 * order, then among the options of jobs and of the engines that are built in. Objects are entered
 * with a dot, elements of a list by their number from 0. Of a latency min, max, mean, stddev, N and
 * any percentile, exactly from its bins ("stall_ns.p99"). `au` is au_percent, `file` the name of
 * the document.
 */
struct figure {
	const char *key;  /* as given; borrowed */
	const char *path; /* what it stands for */
	enum {
		FIGURE_METRIC,
		FIGURE_OPTION,
		FIGURE_FILE,
	} kind;
	const struct mlgen_field *row; /* of the metric, or of the option */
	bool is_measured;              /* by figure_init_measured() */
};

/* 0, or -EINVAL with err: no document has such a key; it names the nearest. */
int figure_init(struct figure *f, const char *key, struct mlgen_err *err);
/* The same of what a run measures, which is a number: of the metrics below jobs[].ml, jobs[].io and
 * jobs[] alone. */
int figure_init_measured(struct figure *f, const char *key, struct mlgen_err *err);

struct figure_value {
	enum figure_kind {
		VALUE_NONE,
		VALUE_WHOLE,
		VALUE_BOOL,
		VALUE_REAL,
		VALUE_TEXT,
	} kind;
	uint64_t whole; /* BOOL: 0 or 1 */
	double real;    /* of a whole number, too */
	char *text;     /* owned; an option's also where it is a number */
	/* A percentile with fewer than ten values beyond it. */
	bool is_unsure;
};

/* What is told of it: nothing where it is unsure, in text as for programs. */
static inline enum figure_kind figure_told(const struct figure_value *v)
{
	return v->is_unsure ? VALUE_NONE : v->kind;
}

/* What a record has of it; VALUE_NONE: null, or nothing. False: nothing, for it is a figure of
 * other jobs. */
bool figure_value(const struct figure *f, const struct record *r, struct figure_value *v);
void figure_value_fini(struct figure_value *v);

/* A number by its key; NaN: it has none. */
double figure_number(const char *key, const struct record *r);
/* The latency that it is a part of; NULL = there is none, or it is empty. */
const struct hist *figure_latency(const struct figure *f, const struct record *r);

/* Is it a time in ns: of a latency, or by its row? */
bool figure_is_ns(const struct figure *f);
/* Does its row have this unit ("bytes/s")? */
bool figure_has_unit(const struct figure *f, const char *unit);
