/* SPDX-License-Identifier: Apache-2.0 */
/* merge_rules.h - a figure's row says how two of it become one, and one walk does it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "stat/hist.h"
#include "stat/metric.h"

/*
 * A table of a result has a rule in every row: it is an argument of the macro (RESULT_U64(struct,
 * member, sum)), so that a row without one does not build. Records are merged in pairs, any number
 * of them and in any grouping: a rule sees both as they were, and the weight of each mean is kept
 * beside a record that was merged.
 */
enum merge_how {
	MERGE_GROUP,   /* jobs of one run, at the same time */
	MERGE_CLIENTS, /* parts of one job on hosts, at the same time */
	MERGE_TURNS,   /* the same job, one after the other */
};

/* What a mean is weighted by, of a whole record. */
enum merge_weight {
	WEIGHT_WALL, /* seconds */
	WEIGHT_TIME, /* of all workers together */
	WEIGHT_ACCELERATORS,
	WEIGHT_BYTES, /* that could come from storage */
	WEIGHT_LOOKS, /* at the node of a loader */
	WEIGHT_IOS,
	MERGE_WEIGHTS
};

/* Weights of the means in a record, at their offsets; `how` they were added. */
struct merge_sums {
	enum merge_how how;
	double at[];
};

/* Where a merged record takes from: `owner` is handed to each. */
struct merge_memory {
	/* Room for `bytes`, the first `had` of which are those at p. */
	void *(*grow)(void *owner, void *p, size_t had, size_t bytes);
	/* Latencies that only the other record has; NULL = go without. */
	struct hist *(*take)(void *owner, struct hist *from);
	const char *(*text)(void *owner, const char *from);
};

/* A struct that is merged into, what it was before, and the other one. */
struct merge_at {
	char *to;
	const char *a, *b;
};

#define MERGE_HISTS 64

struct merging {
	enum merge_how how;
	const struct merge_memory *memory;
	void *owner;
	struct merge_at record; /* the whole */
	size_t bytes;           /* its size */
	double weights[2][MERGE_WEIGHTS];
	struct merge_sums *sums[2]; /* of `to`, and of b: NULL = one record */
	/* A histogram may stand in several rows, and is added to once. */
	const struct hist *done[MERGE_HISTS];
	unsigned done_count;
};

/* One of the functions; a bool is a u64 of 0 and 1. */
struct merge_rule {
	uint64_t (*u64)(const struct merging *m, uint64_t a, uint64_t b);
	double (*f64)(const struct merging *m, double a, double b);
	void (*whole)(struct merging *m, const struct mlgen_field *f, const struct merge_at *at);
	/* Of a mean: by what the record weighs, or its member at an offset. */
	enum merge_weight weight;
	size_t member;
	/* Where b and a are not what a and b are: bits, 1 << how. */
	unsigned ordered;
};

#define MERGE_ORDERED (1 << MERGE_GROUP | 1 << MERGE_CLIENTS | 1 << MERGE_TURNS)

/* clang-format off */
#define RESULT_BOOL(s, m, rule)    MLGEN_F_BOOL(s, m), .merge = &merge_##rule
#define RESULT_U64(s, m, rule)     MLGEN_F_U64(s, m), .merge = &merge_##rule
#define RESULT_TIME(s, m, rule)    MLGEN_F_TIME(s, m), .merge = &merge_##rule
#define RESULT_F64(s, m, rule)     MLGEN_F_F64(s, m), .merge = &merge_##rule
#define RESULT_PERCENT(s, m, rule) MLGEN_F_PERCENT(s, m), .merge = &merge_##rule
#define RESULT_STR(s, m, rule)     MLGEN_F_STR(s, m), .merge = &merge_##rule
#define RESULT_TEXT(s, m, rule)    METRICS_TEXT(s, m), .merge = &merge_##rule
#define RESULT_CHARS(s, m, rule)   METRICS_CHARS(s, m), .merge = &merge_##rule
#define RESULT_HIST(s, m, rule)    METRIC_HIST(s, m), .merge = &merge_##rule
#define RESULT_F64S(s, m, rule)    METRIC_F64S(s, m), .merge = &merge_##rule
#define RESULT_OBJECT(s, m, t, table, rule) METRIC_OBJECT(s, m, t, table), .merge = &merge_##rule
#define RESULT_LIST(s, m, t, table, rule) METRIC_LIST(s, m, t, table), .merge = &merge_##rule
/* A member that has no table: its rule knows the struct. */
#define RESULT_PART(s, m, rule)    .type = MLGEN_OBJECT, .off = offsetof(s, m), .stride = sizeof(((s *)0)->m), .merge = &merge_##rule
/* clang-format on */

/* `record` is merged by the table; *sums, NULL at first, are grown as needed. */
void fields_merge(struct merging *m, const struct mlgen_field *table, struct merge_sums **sums);

/* ---- rules; what is not known (NaN, UINT64_MAX) adds nothing to ... ---- */

extern const struct merge_rule merge_sum;    /* but UINT64_MAX to all */
extern const struct merge_rule merge_parts;  /* what is there at once */
extern const struct merge_rule merge_turns;  /* what happens in turn */
extern const struct merge_rule merge_joined; /* clients have one together */
extern const struct merge_rule merge_span;   /* time */
extern const struct merge_rule merge_rate;
extern const struct merge_rule merge_max, merge_min, merge_and, merge_or;
extern const struct merge_rule merge_same;   /* else UINT64_MAX */
extern const struct merge_rule merge_forget; /* is of one run alone */
extern const struct merge_rule merge_mean_time, merge_mean_accelerators, merge_mean_bytes,
	merge_mean_looks, merge_mean_ios;
extern const struct merge_rule merge_hist;
extern const struct merge_rule merge_members; /* row by row */
extern const struct merge_rule merge_apart;   /* ... but not in a group */
extern const struct merge_rule merge_first;   /* stays the first's */
extern const struct merge_rule merge_with;    /* by another row's rule */
extern const struct merge_rule merge_later;   /* filled when all is merged */

/* ---- for rules of one figure ---- */

/* A function of two figures that is one expression. */
#define MERGE_PAIR(name, type, value)                                                              \
	static type name(const struct merging *m, type a, type b)                                  \
	{                                                                                          \
		(void)m;                                                                           \
		return value;                                                                      \
	}

/* In a function that is `whole`: the structs, `off` bytes behind at's. */
#define MERGE_STRUCTS(type, off)                                                                   \
	type *const to = (void *)(at->to + (off));                                                 \
	const type *const a = (const void *)(at->a + (off));                                       \
	const type *const b = (const void *)(at->b + (off));                                       \
	(void)m, (void)f, (void)to, (void)a, (void)b

/* NaN = not known, counts for nothing. */
double merge_mean_of(double a, double weight_a, double b, double weight_b);
double merge_sum_of(double a, double b);

void merge_mean_by(struct merging *m, const struct mlgen_field *f, const struct merge_at *at);
#define MERGE_MEAN_BY(s, m)                                                                        \
	{                                                                                          \
		.whole = merge_mean_by, .member = MLGEN_MEMBER(s, m, uint64_t)                     \
	}
/* The row's doubles, with weights that records of one job each have. */
void merge_mean(struct merging *m, const struct mlgen_field *f, const struct merge_at *at,
		double weight_a, double weight_b);
void merge_table(struct merging *m, const struct mlgen_field *table, const struct merge_at *at);
void merge_latencies(struct merging *m, struct hist **to, struct hist *from);
/* Elements of `from` behind those of `to`, `most` of them in all. */
void merge_append(const struct merging *m, struct metric_list *to, const struct metric_list *from,
		  size_t element_bytes, size_t most);
/* Elements one by one by the rows of a list; those that only `from` has behind them, `most` in
 * all. */
void merge_by_index(struct merging *m, const struct mlgen_field *list, struct metric_list *to,
		    const struct metric_list *from, size_t most);
