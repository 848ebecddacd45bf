/* SPDX-License-Identifier: Apache-2.0 */
/* field_types.c - the types that options can have: a row of functions each. */
#include "field/field_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* Function heads, one per type. Most types need only some of the parameters. */
#define UNUSED __attribute__((unused))
#define PARSE(type)                                                                                \
	static int parse_##type(UNUSED const struct mlgen_field *f, void *value, const char *text, \
				UNUSED unsigned kb_base, struct mlgen_err *err)
#define CHECK(type)                                                                                \
	static int check_##type(const struct mlgen_field *f, const void *value,                    \
				UNUSED const char *text, struct mlgen_err *err)
#define FORMAT(type)                                                                               \
	static void format_##type(struct buf *out, UNUSED const struct mlgen_field *f,             \
				  const void *value)

/* ---- limits ---- */

static void add_size(struct buf *out, uint64_t bytes)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_format_size(text, bytes));
}

static void limit_count(struct buf *out, double limit)
{
	buf_addf(out, "%" PRIu64, (uint64_t)limit);
}

static void limit_size(struct buf *out, double limit)
{
	add_size(out, (uint64_t)limit);
}

static void limit_time(struct buf *out, double limit)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_format_time(text, (uint64_t)limit));
}

static void limit_real(struct buf *out, double limit)
{
	char text[UNITS_TEXT_BYTES];

	buf_add(out, units_format_f64(text, limit));
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

	*(bool *)value = truth != 0;
	return rc;
}

FORMAT(bool)
{
	buf_add(out, *(const bool *)value ? "1" : "0");
}

/* Like units_size, but refuse "1k-4k", a range that fio would draw from. */
static int size_parse(uint64_t *out, const char *text, unsigned kb_base, struct mlgen_err *err)
{
	const char *minus = *text ? strchr(text + 1, '-') : NULL;

	if (minus && minus[1] >= '0' && minus[1] <= '9')
		return mlgen_fail(err, -EINVAL,
				  "'%s' is a range, and mlgen does not draw sizes from ranges; "
				  "write one size",
				  text);
	return units_size(text, kb_base, out, err);
}

PARSE(u64)
{
	return units_u64(text, value, err);
}

PARSE(size)
{
	return size_parse(value, text, kb_base, err);
}

PARSE(time)
{
	return units_time(text, f->unit ? f->unit : "s", value, err);
}

CHECK(u64)
{
	return check_range(f, (double)*(const uint64_t *)value, text, err);
}

FORMAT(u64)
{
	buf_addf(out, "%" PRIu64, *(const uint64_t *)value);
}

FORMAT(size)
{
	add_size(out, *(const uint64_t *)value);
}

FORMAT(time)
{
	char n[UNITS_TEXT_BYTES];

	buf_add(out, units_format_time(n, *(const uint64_t *)value));
}

PARSE(f64)
{
	return units_f64(text, value, err);
}

PARSE(percent)
{
	return units_percent(text, value, err);
}

CHECK(f64)
{
	return check_range(f, *(const double *)value, text, err);
}

FORMAT(f64)
{
	if (!isnan(*(const double *)value))
		limit_real(out, *(const double *)value);
}

FORMAT(percent)
{
	if (!isnan(*(const double *)value))
		limit_percent(out, *(const double *)value);
}

/* ---- one of several words, some of which have an argument ---- */

#define NUMBER_MAX 1000000000u
#define SIZE_MAX_BYTES (UINT64_C(1) << 62)

/* Size of a choice's word; all existing words are shorter. */
#define WORD_BYTES 32

const char *variant_form(const struct mlgen_choice *c)
{
	const char *colon = strchr(c->name, ':');

	return colon ? colon + 1 : NULL;
}

size_t variant_word_length(const struct mlgen_choice *c)
{
	const char *form = variant_form(c);

	return form ? (size_t)(form - c->name) : strlen(c->name);
}

static bool has_form(const struct mlgen_choice *c, const char *begin)
{
	return strncmp(variant_form(c), begin, strlen(begin)) == 0;
}

static bool is_between(uint64_t n, uint64_t most)
{
	return n >= 1 && n <= most;
}

static int parse_argument(struct variant *v, const struct mlgen_choice *c, const char *text,
			  unsigned kb_base, struct mlgen_err *err)
{
	size_t len = strchr(variant_form(c), '[') ? strcspn(text, ":") : strlen(text);
	char *first = mem_strndup(text, len);
	bool is_size = has_form(c, "SIZE");
	int rc = is_size ? size_parse(&v->number, first, kb_base, err)
			 : units_u64(first, &v->number, err);

	mem_free(first);
	if (rc == 0 && text[len])
		rc = units_u64(text + len + 1, &v->second, err);
	if (rc)
		return rc;
	if (is_size && !is_between(v->number, SIZE_MAX_BYTES))
		return mlgen_fail(err, -ERANGE, "'%.*s%s': write a size from 1 byte to 4e",
				  (int)variant_word_length(c), c->name, text);
	if ((!is_size && !is_between(v->number, NUMBER_MAX)) ||
	    (text[len] && !is_between(v->second, NUMBER_MAX)))
		return mlgen_fail(err, -ERANGE, "'%.*s%s': write a number from 1 to %u",
				  (int)variant_word_length(c), c->name, text, NUMBER_MAX);
	return 0;
}

static const struct mlgen_choice *nearest_choice(const struct mlgen_choice *choices,
						 const char *text)
{
	char names[32][WORD_BYTES];
	const char *words[ARRAY_LEN(names) + 1];
	const char *nearest;
	size_t n = 0;

	for (; n < ARRAY_LEN(names) && choices[n].name; n++) {
		snprintf(names[n], WORD_BYTES, "%.*s", (int)variant_word_length(&choices[n]),
			 choices[n].name);
		words[n] = names[n];
	}
	words[n] = NULL;
	nearest = field_nearest_word(words, text);
	for (size_t i = 0; i < n; i++) {
		if (words[i] == nearest)
			return &choices[i];
	}
	return NULL;
}

static bool is_choice(const struct mlgen_choice *c, const char *text)
{
	return variant_form(c) ? strncasecmp(c->name, text, variant_word_length(c)) == 0
			       : strcasecmp(c->name, text) == 0;
}

size_t variant_dist_at(const struct mlgen_choice *choices, const char *value)
{
	for (const struct mlgen_choice *c = choices; c->name; c++) {
		if (variant_form(c) && has_form(c, "DIST") && is_choice(c, value))
			return variant_word_length(c);
	}
	return strlen(value);
}

/* 0, or -EINVAL, -ERANGE: "'gren' is not one of red blue; did you mean 'blue'?". */
static int variant_parse(struct variant *out, const struct mlgen_choice *choices, const char *text,
			 unsigned kb_base, struct mlgen_err *err)
{
	const struct mlgen_choice *c = choices, *nearest;
	struct buf names = { 0 };
	int rc;

	while (c->name && !is_choice(c, text))
		c++;
	if (!c->name) {
		nearest = nearest_choice(choices, text);
		for (c = choices; c->name; c++)
			buf_addf(&names, " %s", c->name);
		rc = mlgen_fail(err, -EINVAL, "'%s' is not one of%s%s%s%s", text, buf_str(&names),
				nearest ? "; did you mean '" : "", nearest ? nearest->name : "",
				nearest ? "'?" : "");
		buf_fini(&names);
		return rc;
	}
	*out = (struct variant){ .kind = c->value };
	text += variant_word_length(c);
	if (!variant_form(c))
		return 0;
	if (!has_form(c, "DIST"))
		return parse_argument(out, c, text, kb_base, err);
	rc = dist_parse(&out->dist, text, DIST_NUMBERS, NULL, kb_base, err);
	if (rc == 0 && dist_mean(&out->dist) <= 0)
		rc = mlgen_fail(err, -ERANGE, "'%s': the mean must be above 0", text);
	return rc;
}

static void variant_format(struct buf *out, const struct variant *v, const struct mlgen_choice *c)
{
	while (c->name && c->value != v->kind)
		c++;
	if (!c->name)
		return;
	buf_addn(out, c->name, variant_word_length(c));
	if (!variant_form(c))
		return;
	if (has_form(c, "DIST"))
		dist_format(out, &v->dist, DIST_NUMBERS);
	else if (has_form(c, "SIZE"))
		add_size(out, v->number);
	else
		buf_addf(out, "%" PRIu64, v->number);
	if (v->second)
		buf_addf(out, ":%" PRIu64, v->second);
}

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
	return dist_parse(value, text, DIST_BYTES, "bytes", kb_base, err);
}

PARSE(time_dist)
{
	return dist_parse(value, text, DIST_NS, f->unit ? f->unit : "s", kb_base, err);
}

PARSE(number_dist)
{
	return dist_parse(value, text, DIST_NUMBERS, NULL, kb_base, err);
}

CHECK(dist)
{
	return check_range(f, dist_mean(value), text, err);
}

FORMAT(size_dist)
{
	dist_format(out, value, DIST_BYTES);
}

FORMAT(time_dist)
{
	dist_format(out, value, DIST_NS);
}

FORMAT(number_dist)
{
	dist_format(out, value, DIST_NUMBERS);
}

static void hold_dist(const void *value)
{
	dist_ref(value);
}

static void drop_dist(void *value)
{
	dist_unref(value);
}

static void hold_variant(const void *value)
{
	dist_ref(&((const struct variant *)value)->dist);
}

static void drop_variant(void *value)
{
	dist_unref(&((struct variant *)value)->dist);
}

/* ---- several numbers ---- */

PARSE(list)
{
	struct f64_list *list = value;
	const char *at = text;

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

	for (unsigned i = 0; i < list->count; i++) {
		char n[UNITS_TEXT_BYTES];
		int rc = check_range(f, list->values[i], units_format_f64(n, list->values[i]), err);

		if (rc)
			return rc;
	}
	return 0;
}

FORMAT(list)
{
	const struct f64_list *list = value;

	for (unsigned i = 0; i < list->count; i++) {
		buf_add(out, i ? ":" : "");
		limit_real(out, list->values[i]);
	}
}

/* ---- pairs ---- */

static void format_half(struct buf *out, uint64_t half, bool is_size)
{
	if (is_size)
		add_size(out, half);
	else
		buf_addf(out, "%" PRIu64, half);
}

/*
 * Parse "4k", which applies to both, or "4k,64k" for reads and writes. A half that is left out
 * (",64k") keeps its value. fio's third value, for trims, is parsed and dropped, because mlgen does
 * not trim.
 */
PARSE(pair)
{
	bool is_size = f->type == MLGEN_SIZE_PAIR;
	struct u64_pair *out = value;
	uint64_t unused = 0;
	uint64_t *halves[] = { &out->read, &out->write, &unused };
	const char *at = text;
	size_t n = 0, given = 0;

	for (;; at++) {
		size_t len = strcspn(at, ",");
		char *half = mem_strndup(at, len);
		int rc = 0;

		if (len)
			rc = is_size ? size_parse(halves[n], half, kb_base, err)
				     : units_u64(half, halves[n], err);
		mem_free(half);
		if (rc)
			return rc;
		n++;
		given += len;
		at += len;
		if (!*at || n == 3)
			break;
	}
	if (*at || !given)
		return mlgen_fail(err, -EINVAL, "'%s': write one value, or READ,WRITE", text);
	if (n == 1)
		out->write = out->read;
	return 0;
}

static void pair_format(struct buf *out, const struct u64_pair *pair, bool is_size)
{
	format_half(out, pair->read, is_size);
	if (pair->write == pair->read)
		return;
	buf_addc(out, ',');
	format_half(out, pair->write, is_size);
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

	return rc ? rc : check_half(f, pair->write, err);
}

FORMAT(pair)
{
	pair_format(out, value, f->type == MLGEN_SIZE_PAIR);
}

/* ---- a number, or a share of another ---- */

static bool is_percent(const char *text)
{
	size_t len = strlen(text);

	return len && text[len - 1] == '%';
}

static int parse_share_percent(double *out, const char *text, struct mlgen_err *err)
{
	int rc = units_percent(text, out, err);

	if (!rc && (*out < 0 || *out > 100))
		rc = mlgen_fail(err, -ERANGE, "%s is not between 0%% and 100%%", text);
	return rc;
}

/* Parse a size, or 0 to 100 percent. */
PARSE(share)
{
	struct size_share *out = value;

	*out = (struct size_share){ 0 };
	return is_percent(text) ? parse_share_percent(&out->percent, text, err)
				: size_parse(&out->bytes, text, kb_base, err);
}

CHECK(share)
{
	const struct size_share *share = value;

	return check_range(f, (double)share->bytes, text, err);
}

FORMAT(share)
{
	const struct size_share *share = value;

	if (share->percent > 0)
		limit_percent(out, share->percent);
	else
		add_size(out, share->bytes);
}

/* Parse a count, or 0 to 100 percent. */
PARSE(u64_share)
{
	struct u64_share *out = value;

	*out = (struct u64_share){ 0 };
	return is_percent(text) ? parse_share_percent(&out->percent, text, err)
				: units_u64(text, &out->count, err);
}

CHECK(u64_share)
{
	const struct u64_share *share = value;

	return check_range(f, (double)share->count, text, err);
}

FORMAT(u64_share)
{
	const struct u64_share *share = value;

	if (share->percent > 0)
		limit_percent(out, share->percent);
	else
		buf_addf(out, "%" PRIu64, share->count);
}

/* Length of the count in "5000 samples"; 0 = the text does not end with that word. */
static size_t samples_length(const char *text)
{
	static const char *const words[] = { "samples", "sample" };
	size_t len = strlen(text);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t word = strlen(words[i]);

		if (len <= word || strcmp(text + len - word, words[i]) != 0)
			continue;
		for (len -= word; len && text[len - 1] == ' ';)
			len--;
		return len;
	}
	return 0;
}

/* Parse the size of a cache: bytes, a percentage, which may be above 100, or a number of
 * samples. None may be 0. */
PARSE(cache_size)
{
	struct cache_size *out = value;
	size_t samples_len = samples_length(text);
	int rc = 0;

	*out = (struct cache_size){ 0 };
	if (samples_len) {
		char *count = mem_strndup(text, samples_len);

		rc = units_u64(count, &out->samples, err);
		mem_free(count);
	} else if (is_percent(text)) {
		rc = units_percent(text, &out->percent, err);
	} else {
		rc = size_parse(&out->bytes, text, kb_base, err);
	}
	if (rc == 0 && !out->bytes && !out->samples && !(out->percent > 0))
		return mlgen_fail(err, -ERANGE,
				  "'%s' must be above 0; write a size, a percentage such as 15%%, "
				  "or a count such as '5000 samples'",
				  text);
	return rc;
}

/* The limits are in bytes and apply to a number of samples, too. A percentage has no limits. */
CHECK(cache_size)
{
	const struct cache_size *size = value;
	uint64_t most = size->bytes > size->samples ? size->bytes : size->samples;

	return most ? check_range(f, (double)most, text, err) : 0;
}

FORMAT(cache_size)
{
	const struct cache_size *size = value;

	if (size->percent > 0)
		limit_percent(out, size->percent);
	else if (size->samples)
		buf_addf(out, "%" PRIu64 " samples", size->samples);
	else if (size->bytes)
		add_size(out, size->bytes);
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
