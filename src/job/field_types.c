/* SPDX-License-Identifier: Apache-2.0 */
/* field_types.c - see field_types.h. */
#include "job/field_types.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/pair.h"
#include "job/variant.h"

/* Of one type each: what all functions of a kind are called with. */
#define PARSE(type)                                                                                \
	static int parse_##type(const struct mlgen_field *f, void *value, const char *text,        \
				unsigned kb_base, struct mlgen_err *err)
#define CHECK(type)                                                                                \
	static int check_##type(const struct mlgen_field *f, const void *value, const char *text,  \
				struct mlgen_err *err)
#define FORMAT(type)                                                                               \
	static void format_##type(struct buf *out, const struct mlgen_field *f, const void *value)

/* ---- limits ---- */

static void limit_count(struct buf *out, double limit)
{
	buf_addf(out, "%" PRIu64, (uint64_t)limit);
}

static void limit_size(struct buf *out, double limit)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_put_size(text, (uint64_t)limit));
}

static void limit_time(struct buf *out, double limit)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_put_time(text, (uint64_t)limit));
}

static void limit_real(struct buf *out, double limit)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_put_f64(text, limit));
}

static void limit_percent(struct buf *out, double limit)
{
	limit_real(out, limit);
	buf_addc(out, '%');
}

static int check_range(const struct mlgen_field *f, double value, const char *text,
		       struct mlgen_err *err)
{
	struct buf limit = { 0 };
	bool is_low = value < f->min;
	int rc = 0;

	if ((f->min == 0 && f->max == 0) || (!is_low && value <= f->max))
		return 0;
	field_limit_text(&limit, f, is_low ? f->min : f->max);
	rc = mlgen_fail(err, -ERANGE, "%s: %s is %s the %s %s", f->name, text,
			is_low ? "below" : "above", is_low ? "minimum" : "maximum",
			buf_str(&limit));
	buf_fini(&limit);
	return rc;
}

/* ---- numbers ---- */

PARSE(bool)
{
	int truth = 0;
	int rc = units_bool(text, &truth, err);

	(void)f;
	(void)kb_base;
	*(bool *)value = truth != 0;
	return rc;
}

FORMAT(bool)
{
	(void)f;
	buf_add(out, *(const bool *)value ? "1" : "0");
}

PARSE(u64)
{
	(void)f;
	(void)kb_base;
	return units_u64(text, value, err);
}

PARSE(size)
{
	(void)f;
	return size_parse(value, text, kb_base, err);
}

PARSE(time)
{
	(void)kb_base;
	return units_time(text, f->unit ? f->unit : "s", value, err);
}

CHECK(u64)
{
	return check_range(f, (double)*(const uint64_t *)value, text, err);
}

FORMAT(u64)
{
	(void)f;
	buf_addf(out, "%" PRIu64, *(const uint64_t *)value);
}

FORMAT(size)
{
	char n[UNITS_TEXT_BYTES];

	(void)f;
	buf_add(out, units_put_size(n, *(const uint64_t *)value));
}

FORMAT(time)
{
	char n[UNITS_TEXT_BYTES];

	(void)f;
	buf_add(out, units_put_time(n, *(const uint64_t *)value));
}

PARSE(f64)
{
	(void)f;
	(void)kb_base;
	return units_f64(text, value, err);
}

PARSE(percent)
{
	(void)f;
	(void)kb_base;
	return units_percent(text, value, err);
}

CHECK(f64)
{
	return check_range(f, *(const double *)value, text, err);
}

FORMAT(f64)
{
	(void)f;
	if (!isnan(*(const double *)value))
		limit_real(out, *(const double *)value);
}

FORMAT(percent)
{
	(void)f;
	if (!isnan(*(const double *)value))
		limit_percent(out, *(const double *)value);
}

/* ---- one of several words ---- */

PARSE(choice)
{
	struct variant v = { 0 };
	int rc = variant_parse(&v, f->choices, text, kb_base, err);

	if (rc == 0)
		*(int *)value = v.kind;
	return rc;
}

FORMAT(choice)
{
	struct variant v = { .kind = *(const int *)value };

	variant_format(out, &v, f->choices);
}

PARSE(variant)
{
	return variant_parse(value, f->choices, text, kb_base, err);
}

FORMAT(variant)
{
	variant_format(out, value, f->choices);
}

/* ---- distributions ---- */

PARSE(size_dist)
{
	(void)f;
	return dist_parse(value, text, DIST_BYTES, "bytes", kb_base, err);
}

PARSE(time_dist)
{
	return dist_parse(value, text, DIST_NS, f->unit ? f->unit : "s", kb_base, err);
}

PARSE(number_dist)
{
	(void)f;
	return dist_parse(value, text, DIST_NUMBERS, NULL, kb_base, err);
}

CHECK(dist)
{
	return check_range(f, dist_mean(value), text, err);
}

FORMAT(size_dist)
{
	(void)f;
	dist_format(out, value, DIST_BYTES);
}

FORMAT(time_dist)
{
	(void)f;
	dist_format(out, value, DIST_NS);
}

FORMAT(number_dist)
{
	(void)f;
	dist_format(out, value, DIST_NUMBERS);
}

static void hold_dist(const void *value)
{
	dist_hold(value);
}

static void drop_dist(void *value)
{
	dist_drop(value);
}

static void hold_variant(const void *value)
{
	dist_hold(&((const struct variant *)value)->dist);
}

static void drop_variant(void *value)
{
	dist_drop(&((struct variant *)value)->dist);
}

/* ---- several numbers ---- */

PARSE(list)
{
	struct f64_list *list = value;
	const char *at = text;

	(void)f;
	(void)kb_base;
	list->count = 0;
	for (;;) {
		size_t len = strcspn(at, ":");
		char *word = NULL;
		int rc = 0;

		if (list->count == F64_LIST_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d numbers in '%s'",
					  F64_LIST_MAX, text);
		word = mem_strndup(at, len);
		rc = units_f64(word, &list->values[list->count++], err);
		mem_free(word);
		if (rc)
			return rc;
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

CHECK(list)
{
	const struct f64_list *list = value;

	(void)text;
	for (unsigned i = 0; i < list->count; i++) {
		char n[UNITS_TEXT_BYTES];
		int rc = check_range(f, list->values[i], units_put_f64(n, list->values[i]), err);

		if (rc)
			return rc;
	}
	return 0;
}

FORMAT(list)
{
	const struct f64_list *list = value;

	(void)f;
	for (unsigned i = 0; i < list->count; i++) {
		buf_add(out, i ? ":" : "");
		limit_real(out, list->values[i]);
	}
}

PARSE(pair)
{
	return pair_parse(value, text, f->type == MLGEN_SIZE_PAIR, kb_base, err);
}

static int check_half(const struct mlgen_field *f, uint64_t half, struct mlgen_err *err)
{
	struct u64_pair both = { half, half };
	struct buf text = { 0 };
	int rc = 0;

	pair_format(&text, &both, f->type == MLGEN_SIZE_PAIR);
	rc = check_range(f, (double)half, buf_str(&text), err);
	buf_fini(&text);
	return rc;
}

CHECK(pair)
{
	const struct u64_pair *pair = value;
	int rc = check_half(f, pair->read, err);

	(void)text;
	return rc ? rc : check_half(f, pair->write, err);
}

FORMAT(pair)
{
	pair_format(out, value, f->type == MLGEN_SIZE_PAIR);
}

/* ---- a number, or a share of another ---- */

PARSE(share)
{
	(void)f;
	return share_parse(value, text, kb_base, err);
}

CHECK(share)
{
	const struct size_share *share = value;

	return check_range(f, (double)share->bytes, text, err);
}

FORMAT(share)
{
	(void)f;
	share_format(out, value);
}

PARSE(u64_share)
{
	(void)f;
	(void)kb_base;
	return u64_share_parse(value, text, err);
}

CHECK(u64_share)
{
	const struct u64_share *share = value;

	return check_range(f, (double)share->count, text, err);
}

FORMAT(u64_share)
{
	(void)f;
	u64_share_format(out, value);
}

PARSE(cache_size)
{
	(void)f;
	return cache_size_parse(value, text, kb_base, err);
}

/* The limits are those of bytes, and no count needs others. */
CHECK(cache_size)
{
	const struct cache_size *size = value;
	uint64_t most = size->bytes > size->samples ? size->bytes : size->samples;

	return most ? check_range(f, (double)most, text, err) : 0;
}

FORMAT(cache_size)
{
	(void)f;
	cache_size_format(out, value);
}

/* ---- the table ---- */

static const struct field_type field_types[] = {
	[MLGEN_BOOL] = { sizeof(bool), "BOOL", false, parse_bool, NULL, format_bool, limit_real,
			 NULL, NULL },
	[MLGEN_U64] = { sizeof(uint64_t), "INT", false, parse_u64, check_u64, format_u64,
			limit_count, NULL, NULL },
	[MLGEN_F64] = { sizeof(double), "NUMBER", true, parse_f64, check_f64, format_f64,
			limit_real, NULL, NULL },
	[MLGEN_SIZE] = { sizeof(uint64_t), "SIZE", false, parse_size, check_u64, format_size,
			 limit_size, NULL, NULL },
	[MLGEN_TIME] = { sizeof(uint64_t), "TIME", false, parse_time, check_u64, format_time,
			 limit_time, NULL, NULL },
	[MLGEN_PERCENT] = { sizeof(double), "PERCENT", true, parse_percent, check_f64,
			    format_percent, limit_percent, NULL, NULL },
	[MLGEN_ENUM] = { sizeof(int), NULL, false, parse_choice, NULL, format_choice, limit_real,
			 NULL, NULL },
	[MLGEN_VARIANT] = { sizeof(struct variant), NULL, false, parse_variant, NULL,
			    format_variant, limit_real, hold_variant, drop_variant },
	[MLGEN_NUMBER_DIST] = { sizeof(struct dist), "NUMBER|DIST", false, parse_number_dist,
				check_dist, format_number_dist, limit_real, hold_dist, drop_dist },
	[MLGEN_SIZE_DIST] = { sizeof(struct dist), "SIZE|DIST", false, parse_size_dist, check_dist,
			      format_size_dist, limit_size, hold_dist, drop_dist },
	[MLGEN_TIME_DIST] = { sizeof(struct dist), "TIME|DIST", false, parse_time_dist, check_dist,
			      format_time_dist, limit_time, hold_dist, drop_dist },
	[MLGEN_F64_LIST] = { sizeof(struct f64_list), "A:B:...", false, parse_list, check_list,
			     format_list, limit_real, NULL, NULL },
	[MLGEN_SIZE_PAIR] = { sizeof(struct u64_pair), "SIZE[,SIZE]", false, parse_pair, check_pair,
			      format_pair, limit_size, NULL, NULL },
	[MLGEN_U64_PAIR] = { sizeof(struct u64_pair), "INT[,INT]", false, parse_pair, check_pair,
			     format_pair, limit_count, NULL, NULL },
	[MLGEN_SIZE_SHARE] = { sizeof(struct size_share), "SIZE|PERCENT", false, parse_share,
			       check_share, format_share, limit_size, NULL, NULL },
	[MLGEN_U64_SHARE] = { sizeof(struct u64_share), "INT|PERCENT", false, parse_u64_share,
			      check_u64_share, format_u64_share, limit_count, NULL, NULL },
	[MLGEN_CACHE_SIZE] = { sizeof(struct cache_size), "SIZE|PERCENT|SAMPLES", false,
			       parse_cache_size, check_cache_size, format_cache_size, limit_size,
			       NULL, NULL },
};

const struct field_type *field_type_of(const struct mlgen_field *f)
{
	return f->type < ARRAY_LEN(field_types) && field_types[f->type].bytes
		       ? &field_types[f->type]
		       : NULL;
}
