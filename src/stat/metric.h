/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - member types and table macros that only metrics have. */
#pragma once

#include <stddef.h>

#include <mlgen/field.h>

#include "stat/hist.h"

/* Elements of one struct (MLGEN_LIST), doubles (MLGEN_F64_ARRAY) or metric_pair (MLGEN_MAP). */
struct metric_list {
	void *items; /* owned by whoever filled the struct */
	size_t count;
};

struct metric_pair {
	const char *key, *value;
};

/* clang-format off */
#define METRIC_HIST(s, m)   .type = MLGEN_HIST, .off = MLGEN_MEMBER(s, m, struct hist *)
#define METRIC_OBJECT(s, m, t, table) .type = MLGEN_OBJECT, .off = MLGEN_MEMBER(s, m, t), .sub = (table)
#define METRIC_LIST(s, m, t, table) .type = MLGEN_LIST, .off = MLGEN_MEMBER(s, m, struct metric_list), .sub = (table), .stride = sizeof(t)
#define METRIC_F64S(s, m)   .type = MLGEN_F64_ARRAY, .off = MLGEN_MEMBER(s, m, struct metric_list)
#define METRIC_MAP(s, m)    .type = MLGEN_MAP, .off = MLGEN_MEMBER(s, m, struct metric_list)
/* clang-format on */

/* A member that points to text owned elsewhere. */
#define METRICS_TEXT(s, m) .type = MLGEN_STR, .off = MLGEN_MEMBER(s, m, const char *)

/* A member that points to text of several lines, written as an array of lines. */
#define METRICS_LINES(s, m) .type = MLGEN_TEXTS, .off = MLGEN_MEMBER(s, m, const char *)

/* Text stored in the struct itself; `stride` is its size, "" is written as null. */
#define METRICS_CHARS(s, m)                                                                        \
	.type = MLGEN_STR, .off = MLGEN_MEMBER(s, m, char *), .stride = sizeof(((s *)0)->m)
