/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - walk field tables: find, default, parse, check, format. */
#include "job/fields.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "job/pair.h"

/* Any member an option can have, but for strings, which own memory. */
union value {
	bool truth;
	uint64_t u64;
	double f64;
	int choice;
	struct dist dist;
	struct f64_list list;
	struct u64_pair pair;
	struct size_share share;
	struct u64_share u64_share;
};

static void *member(const struct mlgen_field *f, void *base)
{
	return (char *)base + f->off;
}

#define CHOICE_NUMBER_MAX 1000000000u

static const void *const_member(const struct mlgen_field *f, const void *base)
{
	return (const char *)base + f->off;
}

static size_t value_bytes(enum mlgen_type type)
{
	switch (type) {
	case MLGEN_BOOL:
		return sizeof(bool);
	case MLGEN_U64:
	case MLGEN_SIZE:
	case MLGEN_TIME:
		return sizeof(uint64_t);
	case MLGEN_F64:
	case MLGEN_PERCENT:
		return sizeof(double);
	case MLGEN_ENUM:
		return sizeof(int);
	case MLGEN_SIZE_DIST:
	case MLGEN_TIME_DIST:
		return sizeof(struct dist);
	case MLGEN_F64_LIST:
		return sizeof(struct f64_list);
	case MLGEN_SIZE_PAIR:
	case MLGEN_U64_PAIR:
		return sizeof(struct u64_pair);
	case MLGEN_SIZE_SHARE:
		return sizeof(struct size_share);
	case MLGEN_U64_SHARE:
		return sizeof(struct u64_share);
	default:
		return 0;
	}
}

/* The option's name goes in front of what the readers of numbers say. */
static int fail_named(const struct mlgen_field *f, struct mlgen_err *err,
		      const struct mlgen_err *why)
{
	return mlgen_fail(err, why->code, "%s: %s", f->name, why->text);
}

static int check_range(const struct mlgen_field *f, double value,
		       const char *text, struct mlgen_err *err)
{
	struct buf limit = { 0 };
	bool is_low = value < f->min;
	int rc = 0;

	if ((f->min == 0 && f->max == 0) || (!is_low && value <= f->max))
		return 0;
	field_limit_text(&limit, f, is_low ? f->min : f->max);
	rc = mlgen_fail(err, -ERANGE, "%s: %s is %s the %s %s", f->name, text,
			is_low ? "below" : "above",
			is_low ? "minimum" : "maximum", buf_str(&limit));
	buf_fini(&limit);
	return rc;
}

static void list_choices(struct buf *out, const struct mlgen_choice *choices)
{
	for (const struct mlgen_choice *c = choices; c->name; c++)
		buf_addf(out, " %s%s", c->name,
			 field_takes_number(c) ? "N" : "");
}

static const char *nearest_choice(const struct mlgen_choice *choices,
				  const char *text)
{
	const char *words[32];
	size_t n = 0;

	for (; choices[n].name && n + 1 < sizeof(words) / sizeof(*words); n++)
		words[n] = choices[n].name;
	words[n] = NULL;
	return field_nearest_word(words, text);
}

/* "NAME:" takes a number from 1 on, which is added to its value. */
static int parse_number(const struct mlgen_choice *c, const char *text,
			int *out, struct mlgen_err *err)
{
	uint64_t n;
	int rc = units_u64(text, &n, err);

	if (rc)
		return rc;
	if (n < 1 || n > CHOICE_NUMBER_MAX)
		return mlgen_fail(err, -ERANGE,
				  "'%s%s': write a number from 1 to %u",
				  c->name, text, CHOICE_NUMBER_MAX);
	*out = c->value + (int)n;
	return 0;
}

static int parse_choice(const struct mlgen_field *f, const char *text, int *out,
			struct mlgen_err *err)
{
	struct buf names = { 0 };
	const char *nearest = nearest_choice(f->choices, text);
	int rc = 0;

	for (const struct mlgen_choice *c = f->choices; c->name; c++) {
		if (field_takes_number(c) &&
		    strncmp(c->name, text, strlen(c->name)) == 0)
			return parse_number(c, text + strlen(c->name), out,
					    err);
		if (strcmp(c->name, text) == 0) {
			*out = c->value;
			return 0;
		}
	}
	list_choices(&names, f->choices);
	rc = mlgen_fail(err, -EINVAL, "'%s' is none of%s%s%s%s", text,
			buf_str(&names), nearest ? "; did you mean '" : "",
			nearest ? nearest : "", nearest ? "'?" : "");
	buf_fini(&names);
	return rc;
}

static int parse_list(const char *text, struct f64_list *out,
		      struct mlgen_err *err)
{
	const char *at = text;

	out->count = 0;
	for (;;) {
		size_t len = strcspn(at, ":");
		char *word = NULL;
		int rc = 0;

		if (out->count == F64_LIST_MAX)
			return mlgen_fail(err, -EINVAL,
					  "more than %d numbers in '%s'",
					  F64_LIST_MAX, text);
		word = mem_strndup(at, len);
		rc = units_f64(word, &out->values[out->count++], err);
		mem_free(word);
		if (rc)
			return rc;
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

static int parse_bool(const char *text, bool *out, struct mlgen_err *err)
{
	int truth = 0;
	int rc = units_bool(text, &truth, err);

	*out = truth != 0;
	return rc;
}

static int parse_value(const struct mlgen_field *f, union value *v,
		       const char *text, unsigned kb_base,
		       struct mlgen_err *err)
{
	const char *unit = f->unit ? f->unit : "s";

	switch (f->type) {
	case MLGEN_BOOL:
		return parse_bool(text, &v->truth, err);
	case MLGEN_U64:
		return units_u64(text, &v->u64, err);
	case MLGEN_F64:
		return units_f64(text, &v->f64, err);
	case MLGEN_SIZE:
		return size_parse(&v->u64, text, kb_base, err);
	case MLGEN_TIME:
		return units_time(text, unit, &v->u64, err);
	case MLGEN_PERCENT:
		return units_percent(text, &v->f64, err);
	case MLGEN_ENUM:
		return parse_choice(f, text, &v->choice, err);
	case MLGEN_SIZE_DIST:
		return dist_parse(&v->dist, text, DIST_BYTES, "bytes", kb_base,
				  err);
	case MLGEN_TIME_DIST:
		return dist_parse(&v->dist, text, DIST_NS, unit, kb_base, err);
	case MLGEN_F64_LIST:
		return parse_list(text, &v->list, err);
	case MLGEN_SIZE_PAIR:
	case MLGEN_U64_PAIR:
		return pair_parse(&v->pair, text, f->type == MLGEN_SIZE_PAIR,
				  kb_base, err);
	case MLGEN_SIZE_SHARE:
		return share_parse(&v->share, text, kb_base, err);
	case MLGEN_U64_SHARE:
		return u64_share_parse(&v->u64_share, text, err);
	default:
		return mlgen_fail(err, -EINVAL, "cannot be set");
	}
}

static int check_list(const struct mlgen_field *f, const struct f64_list *list,
		      struct mlgen_err *err)
{
	for (unsigned i = 0; i < list->count; i++) {
		char text[UNITS_TEXT_BYTES];
		int rc = check_range(f, list->values[i],
				     units_put_f64(text, list->values[i]), err);

		if (rc)
			return rc;
	}
	return 0;
}

static int check_half(const struct mlgen_field *f, uint64_t half,
		      struct mlgen_err *err)
{
	struct u64_pair both = { half, half };
	struct buf text = { 0 };
	int rc = 0;

	pair_format(&text, &both, f->type == MLGEN_SIZE_PAIR);
	rc = check_range(f, (double)half, buf_str(&text), err);
	buf_fini(&text);
	return rc;
}

static int check_value(const struct mlgen_field *f, const union value *v,
		       const char *text, struct mlgen_err *err)
{
	int rc = 0;

	switch (f->type) {
	case MLGEN_U64:
	case MLGEN_SIZE:
	case MLGEN_TIME:
		return check_range(f, (double)v->u64, text, err);
	case MLGEN_F64:
	case MLGEN_PERCENT:
		return check_range(f, v->f64, text, err);
	case MLGEN_SIZE_DIST:
	case MLGEN_TIME_DIST:
		return check_range(f, dist_mean(&v->dist), text, err);
	case MLGEN_F64_LIST:
		return check_list(f, &v->list, err);
	case MLGEN_SIZE_PAIR:
	case MLGEN_U64_PAIR:
		rc = check_half(f, v->pair.read, err);
		return rc ? rc : check_half(f, v->pair.write, err);
	case MLGEN_SIZE_SHARE:
		return check_range(f, (double)v->share.bytes, text, err);
	case MLGEN_U64_SHARE:
		return check_range(f, (double)v->u64_share.count, text, err);
	default:
		return 0;
	}
}

/* What an option without a default holds until it is set. */
static void put_unset(const struct mlgen_field *f, void *base)
{
	double nan_value = (double)NAN;
	char *s = NULL;

	switch (f->type) {
	case MLGEN_STR:
		memcpy(&s, member(f, base), sizeof(s));
		mem_free(s);
		s = NULL;
		memcpy(member(f, base), &s, sizeof(s));
		break;
	case MLGEN_F64:
	case MLGEN_PERCENT:
		memcpy(member(f, base), &nan_value, sizeof(nan_value));
		break;
	default:
		memset(member(f, base), 0, value_bytes(f->type));
	}
}

static void put_string(const struct mlgen_field *f, void *base,
		       const char *text)
{
	char *s = NULL;

	memcpy(&s, member(f, base), sizeof(s));
	mem_replace(&s, text);
	memcpy(member(f, base), &s, sizeof(s));
}

static const char *get_string(const struct mlgen_field *f, const void *base)
{
	const char *s = NULL;

	memcpy(&s, const_member(f, base), sizeof(s));
	return s;
}

static void get_value(const struct mlgen_field *f, const void *base,
		      union value *v)
{
	memset(v, 0, sizeof(*v));
	memcpy(v, const_member(f, base), value_bytes(f->type));
}

static void format_list(struct buf *out, const struct f64_list *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		char text[UNITS_TEXT_BYTES];

		buf_addf(out, "%s%s", i ? ":" : "",
			 units_put_f64(text, list->values[i]));
	}
}

static void format_choice(struct buf *out, const struct mlgen_field *f,
			  int value)
{
	for (const struct mlgen_choice *c = f->choices; c->name; c++) {
		if (field_takes_number(c) && value > c->value) {
			buf_addf(out, "%s%d", c->name, value - c->value);
			return;
		}
		if (c->value == value) {
			buf_add(out, c->name);
			return;
		}
	}
}

static void format_value(struct buf *out, const struct mlgen_field *f,
			 const union value *v)
{
	char text[UNITS_TEXT_BYTES];

	switch (f->type) {
	case MLGEN_BOOL:
		buf_add(out, v->truth ? "1" : "0");
		break;
	case MLGEN_U64:
		buf_addf(out, "%" PRIu64, v->u64);
		break;
	case MLGEN_SIZE:
		buf_add(out, units_put_size(text, v->u64));
		break;
	case MLGEN_TIME:
		buf_add(out, units_put_time(text, v->u64));
		break;
	case MLGEN_F64:
		if (!isnan(v->f64))
			buf_add(out, units_put_f64(text, v->f64));
		break;
	case MLGEN_PERCENT:
		if (!isnan(v->f64))
			buf_addf(out, "%s%%", units_put_f64(text, v->f64));
		break;
	case MLGEN_ENUM:
		format_choice(out, f, v->choice);
		break;
	case MLGEN_SIZE_DIST:
		dist_format(out, &v->dist, DIST_BYTES);
		break;
	case MLGEN_TIME_DIST:
		dist_format(out, &v->dist, DIST_NS);
		break;
	case MLGEN_F64_LIST:
		format_list(out, &v->list);
		break;
	case MLGEN_SIZE_PAIR:
	case MLGEN_U64_PAIR:
		pair_format(out, &v->pair, f->type == MLGEN_SIZE_PAIR);
		break;
	case MLGEN_SIZE_SHARE:
		share_format(out, &v->share);
		break;
	case MLGEN_U64_SHARE:
		u64_share_format(out, &v->u64_share);
		break;
	default:
		break;
	}
}

size_t field_count(const struct mlgen_field *table)
{
	size_t n = 0;

	while (table[n].name)
		n++;
	return n;
}

bool field_name_equal(const char *a, const char *b)
{
	for (;; a++, b++) {
		char x = *a == '-' ? '_' : *a;
		char y = *b == '-' ? '_' : *b;

		if (x != y)
			return false;
		if (!x)
			return true;
	}
}

const struct mlgen_field *field_find(const struct mlgen_field *table,
				     const char *name)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		if (field_name_equal(f->name, name) ||
		    (f->alias && field_name_equal(f->alias, name)))
			return f;
	}
	return NULL;
}

void field_defaults(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		put_unset(f, base);
		if (f->def) {
			int rc = field_parse(f, base, f->def, 1024, NULL);

			/* A test parses the defaults of every table. */
			assert(rc == 0);
			(void)rc;
		}
	}
}

void field_fini(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		if (f->type == MLGEN_STR)
			put_unset(f, base);
	}
}

int field_parse(const struct mlgen_field *f, void *base, const char *text,
		unsigned kb_base, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	union value v;
	int rc = 0;

	if (!*text && !f->def) {
		put_unset(f, base);
		return 0;
	}
	if (!*text)
		return mlgen_fail(err, -EINVAL, "%s: the value is missing",
				  f->name);
	if (f->type == MLGEN_STR) {
		put_string(f, base, text);
		return 0;
	}
	/* A pair may name one half only: the other stays. */
	get_value(f, base, &v);
	if (parse_value(f, &v, text, kb_base, &why))
		return fail_named(f, err, &why);
	rc = check_value(f, &v, text, err);
	if (rc)
		return rc;
	memcpy(member(f, base), &v, value_bytes(f->type));
	return 0;
}

void *field_read(const struct mlgen_field *f, const char *text,
		 unsigned kb_base, struct mlgen_err *err)
{
	struct mlgen_field alone = *f;
	void *value = NULL;

	alone.off = 0;
	value = mem_zalloc(f->type == MLGEN_STR ? sizeof(char *)
						: value_bytes(f->type));
	if (f->def && (f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_U64_PAIR))
		field_parse(&alone, value, f->def, 1024, NULL);
	if (field_parse(&alone, value, text, kb_base, err) == 0)
		return value;
	mem_free(value);
	return NULL;
}

void field_put(const struct mlgen_field *f, void *base, const void *value)
{
	if (f->type == MLGEN_STR)
		mem_replace(member(f, base), *(char *const *)value);
	else
		memcpy(member(f, base), value, value_bytes(f->type));
}

void field_forget(const struct mlgen_field *f, void *value)
{
	if (value && f->type == MLGEN_STR)
		mem_free(*(char **)value);
	mem_free(value);
}

void field_format(struct buf *out, const struct mlgen_field *f,
		  const void *base)
{
	union value v;

	if (f->type == MLGEN_STR) {
		const char *s = get_string(f, base);

		buf_add(out, s ? s : "");
		return;
	}
	get_value(f, base, &v);
	format_value(out, f, &v);
}

bool field_is_default(const struct mlgen_field *f, const void *base)
{
	struct mlgen_field at_zero = *f;
	struct buf now = { 0 }, def = { 0 };
	union value v;
	bool is_equal = false;

	if (f->type == MLGEN_STR) {
		const char *s = get_string(f, base);

		return s && f->def ? strcmp(s, f->def) == 0 : !s && !f->def;
	}
	/* Compared as text: the same text is the same value, also for NaN. */
	at_zero.off = 0;
	memset(&v, 0, sizeof(v));
	put_unset(&at_zero, &v);
	if (f->def)
		field_parse(&at_zero, &v, f->def, 1024, NULL);
	field_format(&now, f, base);
	format_value(&def, f, &v);
	is_equal = strcmp(buf_str(&now), buf_str(&def)) == 0;
	buf_fini(&now);
	buf_fini(&def);
	return is_equal;
}
