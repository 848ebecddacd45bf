/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - tables of fields: struct members by name, type and unit; parsed, formatted, merged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"
#include "base/dist.h"
#include "stat/hist.h"

/* ---- member types and macros of metrics ---- */

/* A list of structs of one type (MLGEN_LIST), of doubles (MLGEN_F64_ARRAY) or of struct metric_pair
 * (MLGEN_MAP). */
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

/* Member type of MLGEN_SIZE_SHARE: bytes, or a percentage of a quantity that is known later.
 * Both 0 = unset. */
struct size_share {
	uint64_t bytes;
	double percent;
};

/* Member type of MLGEN_CACHE_SIZE: bytes, a percentage of the data set, or a number of samples.
 * All 0 = unset; otherwise exactly one is set. */
struct cache_size {
	uint64_t bytes, samples;
	double percent;
};

/* Member type of MLGEN_U64_SHARE: a count, or a percentage. Both 0 = unset. */
struct u64_share {
	uint64_t count;
	double percent;
};

/* Member type of MLGEN_VARIANT: the value of a choice and its argument (see variant_form). */
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

/* Find a row by name or alias; '-' and '_' are alike, abbreviations are not accepted. NULL =
 * none. */
const struct mlgen_field *field_find(const struct mlgen_field *table, const char *name);

/* Are two option names equal, with '-' and '_' alike? */
bool field_name_equal(const char *a, const char *b);

/* Set every member to its default. Zero `base` before the first call. */
void field_defaults(const struct mlgen_field *table, void *base);

/* Free the memory that members own (strings, files of values) and zero them. */
void field_fini(const struct mlgen_field *table, void *base);

/*
 * Parse text into the member and check its range. An empty text unsets an option without a default.
 * Choices are matched without regard to case. The member is unchanged on error.
 *
 * 0, or -EINVAL / -ERANGE with "name: problem, remedy": "batch_size: 0 is below the minimum 1",
 * "loader: 'pytroch' is not one of pytorch plain; did you mean 'pytorch'?".
 */
int field_parse(const struct mlgen_field *f, void *base, const char *text, unsigned kb_base,
		struct mlgen_err *err);

/*
 * Parse a value on its own, to be copied into any number of structs with field_set_value;
 * field_free_value frees it. If only half of a pair is given, the other half has the default. NULL
 * with err where field_parse would fail.
 */
void *field_parse_value(const struct mlgen_field *f, const char *text, unsigned kb_base,
			struct mlgen_err *err);
void field_set_value(const struct mlgen_field *f, void *base, const void *value);
void field_free_value(const struct mlgen_field *f, void *value);

/* Append the value as text that field_parse reads back to the same value. An unset value appends
 * nothing. */
void field_format(struct buf *out, const struct mlgen_field *f, const void *base);

/* Is the member equal to its default? */
bool field_is_default(const struct mlgen_field *f, const void *base);

/*
 * Find the most similar name or alias in several tables (`tables` ends with NULL). NULL if none is
 * near enough. The Damerau-Levenshtein distance may be at most len/3 rounded up, and at most 2, or
 * 3 for names of 14 characters and more.
 */
const char *field_nearest(const struct mlgen_field *const *tables, const char *name);
/* Like field_nearest, for a NULL-ended list of words. */
const char *field_nearest_word(const char *const *words, const char *name);

/*
 * Offset of a path in the value of an option, if the path is relative to the job file: after
 * "file:" of a distribution, or 0 (MLGEN_BESIDE). If the value contains no such path, its length.
 */
size_t field_path_at(const struct mlgen_field *f, const char *value);

/* Append the choices of an enum or a variant, separated by `between`: "none|file|buffer:N". */
void field_choices_text(struct buf *out, const struct mlgen_field *f, const char *between);
/* Are the choices too long for a usage line? */
bool field_has_long_choices(const struct mlgen_field *f);
/* Append the type: "INT", "SIZE", "TIME", "pytorch|plain", "FORMAT" for long choices, ... */
void field_type_text(struct buf *out, const struct mlgen_field *f);
/* Append a limit in the notation of the field: "1024", "1g", "1d". */
void field_limit_text(struct buf *out, const struct mlgen_field *f, double limit);
/* Is the choice another spelling of an earlier one (fio's "1" for "run")? */
bool field_is_spelling(const struct mlgen_field *f, const struct mlgen_choice *choice);
/* Append default and range: "default 4, 1 to 1024". */
void field_range_text(struct buf *out, const struct mlgen_field *f);

/* May the option be given without a value? The value is then 1. */
bool field_is_flag(const struct mlgen_field *f);

/* ---- variants ---- */

/*
 * A choice named "NAME:FORM" is written with an argument. If FORM begins with N, the argument is a
 * number from 1 on; with SIZE, at least one byte. FORM may end with "[:WORD]": an optional second
 * number, 0 if left out. FORM DIST is a distribution of plain numbers.
 */

/* The FORM of a choice; NULL = no argument. */
const char *variant_form(const struct mlgen_choice *c);

/* Length of the name up to and including the colon, e.g. of "buffer:"; the full length if the
 * choice has no argument. */
size_t variant_word_length(const struct mlgen_choice *c);

/* ---- unknown values of results ---- */

/*
 * Set a member to unknown: a number to NaN, or UINT64_MAX if its row is nullable, otherwise 0; a
 * text, a histogram or a list to none. The members of an object are set recursively. Memory that
 * the member points to is not freed. Members of types that only options have stay unchanged.
 */
void field_set_unknown(const struct mlgen_field *f, void *member);

/* Set all members of a struct to unknown. */
void fields_set_unknown(const struct mlgen_field *table, void *base);

/* ---- paths through the rows of tables: "epochs.2.au_percent" ---- */

/*
 * A dot enters an object; a number from 0 enters an element of a list. A path ends at a row without
 * members; the `rest` after a histogram or a map selects a figure of it. Case does not matter.
 */
struct field_path {
	const struct mlgen_field *table; /* table that `part` is searched in */
	const struct mlgen_field *row;   /* NULL = not found */
	const char *part, *end;          /* name of the row in the path */
	const char *rest;                /* path after the row name and the index of an element */
	bool is_element;                 /* the path selects one element of a list row */
	size_t index;                    /* index of that element */
};

/* Start at the first row. The path is borrowed. */
void field_path_init(struct field_path *p, const struct mlgen_field *table, const char *path);

/* Enter the next row. False: the path ends at this row. */
bool field_path_next(struct field_path *p);

/* Return the member of `base`, or the selected element of its list; NULL = the list is shorter. */
const void *field_path_member(const struct field_path *p, const void *base);

bool field_is_list(const struct mlgen_field *row);
const struct mlgen_field *field_row(const struct mlgen_field *table, const char *name, size_t len);

/* ---- merge records by the rule in each row of a table ---- */

/*
 * Every row of a result table has a merge rule as an argument of its macro (RESULT_U64(struct,
 * member, sum)), so that a row without a rule does not compile. Any number of records are merged in
 * pairs, in any grouping: a rule sees both records as they were before the merge, and the weight of
 * each mean is stored next to a merged record.
 */
enum merge_how {
	MERGE_GROUP,   /* jobs of one run, at the same time */
	MERGE_CLIENTS, /* parts of one job on several hosts, at the same time */
	MERGE_TURNS,   /* repetitions of one job, one after the other */
};

/* The quantity of a whole record that a mean is weighted by. */
enum merge_weight {
	WEIGHT_WALL, /* seconds */
	WEIGHT_TIME, /* seconds of all workers together */
	WEIGHT_ACCELERATORS,
	WEIGHT_BYTES,        /* bytes that may come from storage */
	WEIGHT_OBSERVATIONS, /* observations of a read thread's NUMA node */
	WEIGHT_IOS,
	MERGE_WEIGHTS
};

/* Weights of the means in a record, at the same offsets; `how` is the kind of merge that they
 * were added in. */
struct merge_sums {
	enum merge_how how;
	double at[];
};

/* Memory of a merged record; `owner` is passed to each function. */
struct merge_memory {
	/* Return `bytes` of memory that start with the first `had` bytes of p. */
	void *(*grow)(void *owner, void *p, size_t had, size_t bytes);
	/* Return a copy of a histogram that only the other record has; NULL = leave it out. */
	struct hist *(*take)(void *owner, struct hist *from);
	const char *(*text)(void *owner, const char *from);
};

/* The struct that is merged into, its state before the merge, and the other struct. */
struct merge_at {
	char *to;
	const char *a, *b;
};

#define MERGE_HISTS 64

struct merging {
	enum merge_how how;
	const struct merge_memory *memory;
	void *owner;
	struct merge_at record; /* the whole record */
	size_t bytes;           /* size of the record */
	double weights[2][MERGE_WEIGHTS];
	struct merge_sums *sums[2]; /* for `to` and b; NULL = b is a record of one job */
	/* Histograms that have been merged. Several rows may point to the same histogram, which is
	 * added only once. */
	const struct hist *done[MERGE_HISTS];
	unsigned done_count;
};

/* A rule has one of the three functions. A bool is passed as a u64 of 0 or 1. */
struct merge_rule {
	uint64_t (*u64)(const struct merging *m, uint64_t a, uint64_t b);
	double (*f64)(const struct merging *m, double a, double b);
	void (*whole)(struct merging *m, const struct mlgen_field *f, const struct merge_at *at);
	/* Weight of a mean: a quantity of the record, or its member at an offset. */
	enum merge_weight weight;
	size_t member;
	/* Kinds of merge that are not commutative, as bits 1 << how. */
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
/* A member without a table, whose rule knows the struct. */
#define RESULT_PART(s, m, rule)    .type = MLGEN_OBJECT, .off = offsetof(s, m), .stride = sizeof(((s *)0)->m), .merge = &merge_##rule
/* clang-format on */

/* Merge `record` by the table. *sums is NULL at first and grows as needed. */
void fields_merge(struct merging *m, const struct mlgen_field *table, struct merge_sums **sums);

/* ---- merge rules; unknown values (NaN, UINT64_MAX) are ignored unless noted ---- */

extern const struct merge_rule merge_sum; /* UINT64_MAX if either value is */
extern const struct merge_rule
	merge_parts; /* quantities that exist at the same time: max over turns, otherwise sum */
extern const struct merge_rule
	merge_turns; /* quantities of events in turn: sum over turns, otherwise max */
extern const struct merge_rule
	merge_joined;                      /* shared by clients: max over clients, otherwise sum */
extern const struct merge_rule merge_span; /* duration: sum over turns, otherwise max */
extern const struct merge_rule merge_rate;
extern const struct merge_rule merge_max, merge_min, merge_and, merge_or;
extern const struct merge_rule merge_same;   /* UINT64_MAX if they differ */
extern const struct merge_rule merge_forget; /* unknown after a merge */
extern const struct merge_rule merge_mean_time, merge_mean_accelerators, merge_mean_bytes,
	merge_mean_looks, merge_mean_ios;
extern const struct merge_rule merge_hist;
extern const struct merge_rule merge_members; /* recursively, row by row */
extern const struct merge_rule merge_apart;   /* like merge_members, but unchanged in a group */
extern const struct merge_rule merge_first;   /* keeps the value of the first record */
extern const struct merge_rule merge_with;    /* merged by the rule of another row */
extern const struct merge_rule merge_later;   /* filled in after the merge */

/* ---- helpers for rules of a single figure ---- */

/* Define a function of two figures by one expression. */
#define MERGE_PAIR(name, type, value)                                                              \
	static type name(const struct merging *m, type a, type b)                                  \
	{                                                                                          \
		(void)m;                                                                           \
		return value;                                                                      \
	}

/* Declare `to`, `a` and `b` in a `whole` function: the structs at `off` bytes after at's. */
#define MERGE_STRUCTS(type, off)                                                                   \
	type *const to = (void *)(at->to + (off));                                                 \
	const type *const a = (const void *)(at->a + (off));                                       \
	const type *const b = (const void *)(at->b + (off));                                       \
	(void)m, (void)f, (void)to, (void)a, (void)b

/* A NaN is unknown and is ignored. */
double merge_mean_of(double a, double weight_a, double b, double weight_b);
double merge_sum_of(double a, double b);

void merge_mean_by(struct merging *m, const struct mlgen_field *f, const struct merge_at *at);
#define MERGE_MEAN_BY(s, m)                                                                        \
	{                                                                                          \
		.whole = merge_mean_by, .member = MLGEN_MEMBER(s, m, uint64_t)                     \
	}
/* Merge the doubles of a row as means, with the given weights for records of one job. */
void merge_mean(struct merging *m, const struct mlgen_field *f, const struct merge_at *at,
		double weight_a, double weight_b);
void merge_table(struct merging *m, const struct mlgen_field *table, const struct merge_at *at);
void merge_latencies(struct merging *m, struct hist **to, struct hist *from);
/* Append the elements of `from` to `to`, up to `most` elements in all. */
void merge_append(const struct merging *m, struct metric_list *to, const struct metric_list *from,
		  size_t element_bytes, size_t most);
/* Merge lists element by element; surplus elements of `from` are appended, up to `most` in all. */
void merge_by_index(struct merging *m, const struct mlgen_field *list, struct metric_list *to,
		    const struct metric_list *from, size_t most);
