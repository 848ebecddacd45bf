/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - walk field tables: default, parse, check, format, suggest, describe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"
#include "base/dist.h"

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
