/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - a result or a plan as one JSON document. */
#pragma once

#include <stdio.h>

#include <mlgen/field.h>

#include "field/fields.h"
#include "job/job.h"
#include "report/plan_report.h"
#include "run/results.h"

/*
 * One valid document and nothing else: numbers are never inf or nan, text is UTF-8 (any other byte
 * becomes '?'), counts are whole numbers.
 */

/*
 * The report of r's jobs, or with `plans` (plans[i] of set->jobs[i]) the plan of set's jobs; of `r`
 * then only host, time and interruption are read. With output_format=fio-json it begins with "fio
 * version", which some readers of fio's output ask for. 0, or -EIO when it could not be written
 * whole.
 */
int json_report(FILE *to, const struct run_result *r, const struct jobset *set,
		const struct plan_report *plans);

/* The same with one more object at its end: what a question came to, by its table. `r` may have no
 * jobs. */
struct json_extra {
	const char *key;
	const struct mlgen_field *table;
	const void *base;
};
int json_report_with(FILE *to, const struct run_result *r, const struct jobset *set,
		     const struct json_extra *extra);

/* One struct as one object, by its table. 0 or -EIO. */
int json_struct(FILE *to, const struct mlgen_field *table, const void *base,
		const struct f64_list *percentiles);
