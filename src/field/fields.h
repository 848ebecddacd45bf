/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - tables of fields: members of structs by name, type and unit; walked, shown, merged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"
#include "base/dist.h"
#include "stat/hist.h"
#include "stat/metric.h"

/* ---- walk field tables: default, parse, check, format, suggest, describe ---- */

/* Member type of MLGEN_F64_LIST. */
#define F64_LIST_MAX 20
struct f64_list {
	unsigned count;
	double values[F64_LIST_MAX];
};

/* Member type of MLGEN_SIZE_PAIR and MLGEN_U64_PAIR. */
struct u64_pair {
	uint64_t read, write;
};

/* Member type of MLGEN_SIZE_SHARE: bytes, or a percentage of something that is known later; both 0
 * = unset. */
struct size_share {
	uint64_t bytes;
	double percent;
};

/* Member type of MLGEN_CACHE_SIZE: bytes, a percentage of the data set's, or a number of samples;
 * one of them is not 0, but where it is unset. */
struct cache_size {
	uint64_t bytes, samples;
	double percent;
};

/* Member type of MLGEN_U64_SHARE: the same of a count. */
struct u64_share {
	uint64_t count;
	double percent;
};

/* Member type of MLGEN_VARIANT: the value of a choice, and what is written behind it
 * (see variant_form). */
struct variant {
	int kind;
	uint64_t number, second;
	struct dist dist;
};

/* clang-format off */
#define FIELD_SIZE_DIST(s, m) .type = MLGEN_SIZE_DIST, .off = MLGEN_MEMBER(s, m, struct dist)
#define FIELD_TIME_DIST(s, m) .type = MLGEN_TIME_DIST, .off = MLGEN_MEMBER(s, m, struct dist)
#define FIELD_F64_LIST(s, m)  .type = MLGEN_F64_LIST, .off = MLGEN_MEMBER(s, m, struct f64_list)
#define FIELD_SIZE_PAIR(s, m) .type = MLGEN_SIZE_PAIR, .off = MLGEN_MEMBER(s, m, struct u64_pair)
#define FIELD_U64_PAIR(s, m)  .type = MLGEN_U64_PAIR, .off = MLGEN_MEMBER(s, m, struct u64_pair)
#define FIELD_SIZE_SHARE(s, m) .type = MLGEN_SIZE_SHARE, .off = MLGEN_MEMBER(s, m, struct size_share)
#define FIELD_U64_SHARE(s, m) .type = MLGEN_U64_SHARE, .off = MLGEN_MEMBER(s, m, struct u64_share)
#define FIELD_CACHE_SIZE(s, m) .type = MLGEN_CACHE_SIZE, .off = MLGEN_MEMBER(s, m, struct cache_size)
#define FIELD_NUMBER_DIST(s, m) .type = MLGEN_NUMBER_DIST, .off = MLGEN_MEMBER(s, m, struct dist)
#define FIELD_VARIANT(s, m, c) .type = MLGEN_VARIANT, .off = MLGEN_MEMBER(s, m, struct variant), .choices = (c)
/* clang-format on */

/* Number of rows before the end row. */
size_t field_count(const struct mlgen_field *table);

/* By name or alias; '-' and '_' are alike; no abbreviations. NULL = none. */
const struct mlgen_field *field_find(const struct mlgen_field *table, const char *name);

/* Are two option names the same, '-' and '_' alike? */
bool field_name_equal(const char *a, const char *b);

/* Set every member to its default. Before the first time `base` is zeroed. */
void field_defaults(const struct mlgen_field *table, void *base);

/* Free what the members own (strings, files of values) and zero them. */
void field_fini(const struct mlgen_field *table, void *base);

/*
 * Parse text into the member, with range check; of an option without default an empty text unsets
 * it. 0, or -EINVAL / -ERANGE with
 * "name: what is wrong, what would be right": "batch_size: 0 is below the minimum 1", "loader:
 * 'pytroch' is none of pytorch plain; did you mean 'pytorch'?". Capitals make no difference in the
 * words of a choice. The member is unchanged on error.
 */
int field_parse(const struct mlgen_field *f, void *base, const char *text, unsigned kb_base,
		struct mlgen_err *err);

/*
 * The same value by itself, to be put into any number of structs; half a pair has the default
 * beside it. NULL with err where field_parse would fail.
 */
void *field_read(const struct mlgen_field *f, const char *text, unsigned kb_base,
		 struct mlgen_err *err);
void field_put(const struct mlgen_field *f, void *base, const void *value);
void field_forget(const struct mlgen_field *f, void *value);

/* Append the value as text that field_parse reads back to the same value. An unset value appends
 * nothing. */
void field_format(struct buf *out, const struct mlgen_field *f, const void *base);

/* Is the member equal to its default? */
bool field_is_default(const struct mlgen_field *f, const void *base);

/*
 * The nearest of the names (and aliases) in several tables within the allowed distance
 * (Damerau-Levenshtein <= 2 and <= len/3 rounded up), or NULL. `tables` ends with NULL.
 */
const char *field_nearest(const struct mlgen_field *const *tables, const char *name);
/* The same over a NULL-ended list of words. */
const char *field_nearest_word(const char *const *words, const char *name);

/* Where in the value of an option a path begins that is taken from where the option stands: behind
 * "file:" of a distribution, or at all of it (MLGEN_BESIDE); its end where there is none. */
size_t field_path_at(const struct mlgen_field *f, const char *value);

/* The choices of an enum or a variant with `between` between them: "none|file|buffer:N". */
void field_choices_text(struct buf *out, const struct mlgen_field *f, const char *between);
/* Would these be too long for a usage line? */
bool field_has_long_choices(const struct mlgen_field *f);
/* "INT", "SIZE", "TIME", "pytorch|plain", "FORMAT" for long choices, ... */
void field_type_text(struct buf *out, const struct mlgen_field *f);
/* A limit in the notation of the field: "1024", "1g", "1d". */
void field_limit_text(struct buf *out, const struct mlgen_field *f, double limit);
/* Is the choice a second spelling of one before it (fio's "1" for "run")? */
bool field_is_spelling(const struct mlgen_field *f, const struct mlgen_choice *choice);
/* "default 4, 1 to 1024" */
void field_range_text(struct buf *out, const struct mlgen_field *f);

/* May the option stand without a value, which is 1 then? */
bool field_is_flag(const struct mlgen_field *f);

/* ---- variants ---- */

/*
 * A choice whose name is "NAME:FORM" is written with an argument: FORM begins with N, a number from
 * 1 on, or SIZE, at least a byte, and where "[:WORD]" follows a second number may, which is 0 where
 * it does not; or it is DIST, a distribution of plain numbers.
 */

/* The FORM of a choice; NULL = it has none. */
const char *variant_form(const struct mlgen_choice *c);

/* As in "buffer:", or all of a name without an argument: its length. */
size_t variant_word_length(const struct mlgen_choice *c);

/* ---- what a member of a result is while nothing is known of it ---- */

/*
 * Make it that: NaN, UINT64_MAX where its row is nullable, else 0; no text, no latencies, no
 * elements; each row of an object. What it pointed to is not freed. A type that only options have
 * stays as it is.
 */
void field_unknown(const struct mlgen_field *f, void *member);

/* The same of all members of a struct. */
void fields_unknown(const struct mlgen_field *table, void *base);

/* ---- along the rows of tables by a path: "epochs.2.au_percent" ---- */

/*
 * Objects are entered with a dot, elements of a list by their number from 0. A path ends at a row
 * in which there is nothing to enter: of a latency and of a map, `rest` is what is asked of it.
 * Capitals make no difference.
 */
struct field_path {
	const struct mlgen_field *table; /* in which `part` is looked for */
	const struct mlgen_field *row;   /* NULL = it is not there */
	const char *part, *end;          /* the name of the row in the path */
	const char *rest;                /* behind it, and the number of an element */
	bool is_element;                 /* of the list that the row is ... */
	size_t index;                    /* ... this one */
};

/* At the first row; the path is borrowed. */
void field_path_init(struct field_path *p, const struct mlgen_field *table, const char *path);

/* One row deeper; false: the path ends at this one. */
bool field_path_next(struct field_path *p);

/* Of a struct that the table describes: the member, or the element of the list that it is; NULL =
 * there are not so many. */
const void *field_path_member(const struct field_path *p, const void *base);

bool field_is_list(const struct mlgen_field *row);
const struct mlgen_field *field_row(const struct mlgen_field *table, const char *name, size_t len);

/* ---- a figure's row says how two of it become one, and one walk does it ---- */

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
