/* SPDX-License-Identifier: Apache-2.0 */
/* dist.c - parse distributions, format them, and draw values. */
#include "base/dist.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* Start of the identity of a file. */
#define FILE_HASH "file-"

void dist_identify(struct buf *out, const struct dist *d, enum dist_unit unit)
{
	char number[UNITS_TEXT_BYTES];

	if (d->kind == DIST_FILE)
		buf_addf(out, FILE_HASH "%016" PRIx64 ":%s", dist_file_hash(dist_file_of(d)),
			 units_format_f64(number, d->a));
	else
		dist_format(out, d, unit);
}

void dist_content(struct buf *out, const struct dist *d)
{
	if (d->kind == DIST_FILE)
		dist_file_append(out, dist_file_of(d));
}

int dist_restore(struct dist *d, const char *text, const char *content, enum dist_unit unit,
		 struct mlgen_err *err)
{
	const char *colon = strchr(text, ':');
	struct dist_file *f;
	double mean;
	int rc;

	if (strncmp(text, FILE_HASH, strlen(FILE_HASH)) != 0 || !colon)
		return dist_parse(d, text, unit, NULL, 1024, err);
	rc = units_f64(colon + 1, &mean, err);
	if (rc == 0 && !(mean > 0 && mean <= DIST_VALUE_MAX))
		rc = mlgen_fail(err, -ERANGE, "'%s': is not a mean", colon + 1);
	if (rc == 0)
		rc = dist_file_restore(&f, content ? content : "", err);
	if (rc)
		return rc;
	dist_set_file(d, f);
	d->a = mean;
	return 0;
}

/* mu and sigma of the logarithm follow from mean and stdev of the values. */
static double lognormal(double p, double mean, double stdev)
{
	double ratio = stdev / mean;
	double variance = quantile_log(1 + ratio * ratio);

	return mean * quantile_exp(sqrt(variance) * quantile_normal(p) - variance / 2);
}

/* The integers MIN .. MAX, all equally likely. */
static double uniform(double p, double min, double max)
{
	double v = min + floor(p * (max - min + 1));

	return v < max ? v : max;
}

/* Mean and stdev of a side: the stdev is STDEV / 2 / sqrt(MEAN) (DLIO utils/config.py). */
static void dlio_side(const struct dist *d, double *mean, double *stdev)
{
	*mean = sqrt(d->a);
	*stdev = d->b / 2 / *mean;
}

static uint64_t draw_side(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	double mean, stdev;

	dlio_side(d, &mean, &stdev);
	if (stdev > 0)
		mean += stdev * quantile_normal(rng_f64(seed, stream, index));
	/* The side is cut, not rounded, and limited so that the product of two sides fits. */
	if (!(mean >= 1))
		return 1;
	return mean < 0x1p31 ? (uint64_t)mean : UINT64_C(1) << 31;
}

/* Mean and variance of a drawn side. Cutting subtracts half a unit from the mean and adds the
 * variance of the cut part, 1/12. */
static void dlio_drawn_side(const struct dist *d, double *mean, double *variance)
{
	double stdev;

	dlio_side(d, mean, &stdev);
	if (stdev > 0) {
		*mean -= 0.5;
		*variance = stdev * stdev + 1.0 / 12;
	} else {
		*mean = floor(*mean);
		*variance = 0;
	}
}

uint64_t dist_draw(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t sides[2];

	dist_draw_sides(d, seed, stream, index, sides);
	return sides[0] * sides[1];
}

double dist_draw_number(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index)
{
	struct dist steps = dist_scale(d, DIST_NUMBER_STEPS);

	return (double)dist_draw(&steps, seed, stream, index) / DIST_NUMBER_STEPS;
}

double dist_quantile(const struct dist *d, double p)
{
	switch (d->kind) {
	case DIST_NORMAL:
		return d->a + d->b * quantile_normal(p);
	case DIST_UNIFORM:
		return uniform(p, d->a, d->b);
	case DIST_LOGNORMAL:
		return lognormal(p, d->a, d->b);
	case DIST_EXPONENTIAL:
		return d->a * quantile_exponential(p);
	case DIST_GAMMA:
		return d->b * quantile_gamma(p, d->a);
	case DIST_FILE:
		return dist_file_quantile(dist_file_of(d), p) * dist_file_factor(d);
	case DIST_CONST:
	case DIST_DLIO:
		break;
	}
	return d->a;
}

void dist_draw_sides(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index,
		     uint64_t sides[2])
{
	double v;

	sides[0] = 1;
	if (d->kind == DIST_CONST) {
		sides[1] = (uint64_t)d->a;
		return;
	}
	if (d->kind == DIST_DLIO) {
		sides[0] = draw_side(d, seed, stream, 2 * index);
		sides[1] = draw_side(d, seed, stream, 2 * index + 1);
		return;
	}
	/* The nearest integer, at least 1. From 2^52 on, a value has no fraction. */
	v = dist_quantile(d, rng_f64(seed, stream, index));
	if (!(v >= 1))
		sides[1] = 1;
	else if (v < 0x1p52)
		sides[1] = (uint64_t)(v + 0.5);
	else
		sides[1] = v < DIST_VALUE_MAX ? (uint64_t)v : (uint64_t)DIST_VALUE_MAX;
}

double dist_mean(const struct dist *d)
{
	switch (d->kind) {
	case DIST_UNIFORM:
		return (d->a + d->b) / 2;
	case DIST_GAMMA:
		return d->a * d->b;
	default:
		return d->a;
	}
}

double dist_expectation(const struct dist *d)
{
	if (d->kind != DIST_DLIO)
		return dist_mean(d);
	double mean, variance;
	dlio_drawn_side(d, &mean, &variance);
	return mean * mean;
}

double dist_stdev(const struct dist *d)
{
	double mean, variance;

	switch (d->kind) {
	case DIST_CONST:
		return 0;
	case DIST_UNIFORM:
		return sqrt(((d->b - d->a + 1) * (d->b - d->a + 1) - 1) / 12);
	case DIST_EXPONENTIAL:
		return d->a;
	case DIST_GAMMA:
		return sqrt(d->a) * d->b;
	case DIST_DLIO:
		dlio_drawn_side(d, &mean, &variance);
		return sqrt(variance * (2 * mean * mean + variance));
	case DIST_FILE:
		return dist_file_stdev(dist_file_of(d)) * dist_file_factor(d);
	default:
		return d->b;
	}
}

bool dist_is_const(const struct dist *d)
{
	return d->kind == DIST_CONST;
}

double dist_normal_quantile(double p)
{
	return quantile_normal(p);
}

/* Size of a parameter; every sensible number is shorter. */
#define PARAMETER_BYTES 48

struct form {
	const char *name;
	unsigned parameters;
	const char *text; /* the right form, for messages */
};

static const struct form forms[] = {
	[DIST_CONST] = { "", 0, "a plain value" },
	[DIST_NORMAL] = { "normal", 2, "normal:MEAN:STDEV" },
	[DIST_UNIFORM] = { "uniform", 2, "uniform:MIN:MAX" },
	[DIST_LOGNORMAL] = { "lognormal", 2, "lognormal:MEAN:STDEV" },
	[DIST_EXPONENTIAL] = { "exponential", 1, "exponential:MEAN" },
	[DIST_GAMMA] = { "gamma", 2, "gamma:SHAPE:SCALE" },
	[DIST_DLIO] = { "dlio", 2, "dlio:MEAN:STDEV" },
	[DIST_FILE] = { "file", 1, "file:PATH" },
};

/* How to read plain values of this distribution. */
struct dist_syntax {
	enum dist_unit unit;
	const char *default_unit;
	unsigned kb_base;
};

static int read_real(const char *text, double most, double *out, struct mlgen_err *err)
{
	double v;
	int rc = units_f64(text, &v, err);

	if (rc < 0)
		return rc;
	if (v < 0)
		return mlgen_fail(err, -ERANGE, "'%s': is below 0", text);
	if (v > most)
		return mlgen_fail(err, -ERANGE, "'%s': is too large", text);
	*out = v;
	return 0;
}

static int read_value(const char *text, const struct dist_syntax *how, double *out,
		      struct mlgen_err *err)
{
	if (how->unit == DIST_NUMBERS)
		return read_real(text, DIST_VALUE_MAX / DIST_NUMBER_STEPS, out, err);

	uint64_t v;
	int rc = how->unit == DIST_BYTES ? units_size(text, how->kb_base, &v, err)
					 : units_time(text, how->default_unit, &v, err);

	if (rc < 0)
		return rc;
	/* A double holds integers up to 2^53, and larger ones that end in enough zero bits.
	 * Other values are refused instead of changed. */
	double as_double = (double)v;
	if (as_double > DIST_VALUE_MAX || (uint64_t)as_double != v)
		return mlgen_fail(err, -ERANGE, "'%s': is too large", text);
	*out = as_double;
	return 0;
}

static int read_parameter(const char *text, enum dist_kind kind, unsigned nth,
			  const struct dist_syntax *how, double *out, struct mlgen_err *err)
{
	if (kind == DIST_GAMMA && nth == 0)
		return units_f64(text, out, err);
	/* The parameters of dlio: may be numbers with a fraction (114660.07), or with an exponent,
	 * which dist_format writes for a very small number. */
	if (kind != DIST_DLIO || *text == '-' || text[strspn(text, "0123456789.e+-")] != '\0')
		return read_value(text, how, out, err);
	return read_real(text, DIST_VALUE_MAX, out, err);
}

/* Return what is wrong with the parameters; NULL = nothing. */
static const char *check_parameters(const struct dist *d)
{
	switch (d->kind) {
	case DIST_UNIFORM:
		return d->a > d->b ? "MIN is above MAX" : NULL;
	case DIST_GAMMA:
		if (!(d->a >= QUANTILE_SHAPE_MIN && d->a <= QUANTILE_SHAPE_MAX))
			return "SHAPE must lie between 0.001 and 1e9";
		return d->b > 0 ? NULL : "SCALE must be above 0";
	default:
		return d->a > 0 ? NULL : "MEAN must be above 0";
	}
}

static int parse_parameters(struct dist *d, const char *text, const char *at,
			    const struct dist_syntax *how, struct mlgen_err *err)
{
	const struct form *form = &forms[d->kind];
	char parameter[PARAMETER_BYTES];

	for (unsigned i = 0; i < form->parameters; i++) {
		size_t len = *at == ':' ? strcspn(at + 1, ":") : 0;
		struct mlgen_err why = { 0 };

		if (!len || len >= PARAMETER_BYTES)
			return mlgen_fail(err, -EINVAL, "'%s': incomplete distribution; write %s",
					  text, form->text);
		snprintf(parameter, sizeof(parameter), "%.*s", (int)len, at + 1);
		at += 1 + len;
		int rc = read_parameter(parameter, d->kind, i, how, i ? &d->b : &d->a, &why);
		if (rc < 0)
			return mlgen_fail(err, rc, "%s, in '%s'; write %s", why.text, text,
					  form->text);
	}
	if (*at)
		return mlgen_fail(err, -EINVAL, "'%s': too many parameters; write %s", text,
				  form->text);
	const char *fault = check_parameters(d);
	if (fault)
		return mlgen_fail(err, -EINVAL, "'%s': %s; write %s", text, fault, form->text);
	return 0;
}

/* ---- a file ---- */

static int parse_file(struct dist *d, const char *text, const struct dist_syntax *how,
		      struct mlgen_err *err)
{
	const char *star = strrchr(text, '*');
	size_t len = strlen(text);
	struct dist_file *f;
	double factor = 1;
	char *path;
	int rc;

	if (!len)
		return mlgen_fail(err, -EINVAL,
				  "'" DIST_FILE_WORD "': incomplete distribution; write %s",
				  forms[DIST_FILE].text);
	/* The text is PATH or PATH*FACTOR. */
	if (star && star > text && units_f64(star + 1, &factor, NULL) == 0 && factor > 0)
		len = (size_t)(star - text);
	else
		factor = 1;
	path = mem_strndup(text, len);
	rc = dist_file_read(&f, path, how->unit, how->default_unit, how->kb_base, err);
	mem_free(path);
	if (rc)
		return rc;
	dist_set_file(d, f);
	d->a *= factor;
	if (d->a <= DIST_VALUE_MAX)
		return 0;
	dist_file_unref(f);
	return mlgen_fail(err, -ERANGE, "'%s': is too large", text);
}

static int fail_unknown(const char *text, size_t name_len, enum dist_unit unit,
			struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "'%s': '%.*s' is not a distribution; write a plain value, "
			  "normal:MEAN:STDEV, uniform:MIN:MAX, lognormal:MEAN:STDEV, "
			  "exponential:MEAN, gamma:SHAPE:SCALE%s or file:PATH",
			  text, (int)(name_len < 64 ? name_len : 64), text,
			  unit == DIST_BYTES ? ", dlio:MEAN:STDEV" : "");
}

/* Find the kind named by the first name_len bytes; DIST_CONST = no such kind. */
static enum dist_kind find_kind(const char *text, size_t name_len)
{
	for (size_t i = 1; i < ARRAY_LEN(forms); i++)
		if (strlen(forms[i].name) == name_len && !memcmp(forms[i].name, text, name_len))
			return (enum dist_kind)i;
	return DIST_CONST;
}

static void add_value(struct buf *out, double v, enum dist_unit unit)
{
	char text[UNITS_TEXT_BYTES];

	if (floor(v) < v || unit == DIST_NUMBERS)
		units_format_f64(text, v);
	else if (unit == DIST_BYTES)
		units_format_size(text, (uint64_t)v);
	else
		units_format_time(text, (uint64_t)v);
	buf_add(out, text);
}

int dist_parse(struct dist *d, const char *text, enum dist_unit unit, const char *default_unit,
	       unsigned kb_base, struct mlgen_err *err)
{
	const struct dist_syntax how = { unit, default_unit, kb_base };
	size_t name_len = strcspn(text, ":");
	struct dist parsed = { .kind = find_kind(text, name_len) };
	int rc;

	if (parsed.kind == DIST_DLIO && unit != DIST_BYTES)
		return mlgen_fail(err, -EINVAL, "'%s': dlio: is only for sizes; write %s", text,
				  forms[DIST_NORMAL].text);
	if (parsed.kind == DIST_FILE)
		rc = parse_file(&parsed, text + name_len + (text[name_len] == ':'), &how, err);
	else if (parsed.kind != DIST_CONST)
		rc = parse_parameters(&parsed, text, text + name_len, &how, err);
	else if (text[name_len] || isalpha((unsigned char)*text))
		rc = fail_unknown(text, strcspn(text, ":("), unit, err);
	else
		rc = read_value(text, &how, &parsed.a, err);
	if (rc == 0)
		*d = parsed;
	return rc;
}

void dist_ref(const struct dist *d)
{
	if (d->kind == DIST_FILE)
		dist_file_ref(dist_file_of(d));
}

void dist_unref(struct dist *d)
{
	if (d->kind == DIST_FILE)
		dist_file_unref(dist_file_of(d));
	*d = (struct dist){ .kind = DIST_CONST };
}

void dist_format(struct buf *out, const struct dist *d, enum dist_unit unit)
{
	char number[UNITS_TEXT_BYTES];

	if (d->kind == DIST_CONST) {
		add_value(out, d->a, unit);
		return;
	}
	if (d->kind == DIST_FILE) {
		double factor = dist_file_factor(d);

		buf_addf(out, DIST_FILE_WORD "%s", dist_file_path(dist_file_of(d)));
		if (factor < 1 || factor > 1)
			buf_addf(out, "*%s", units_format_f64(number, factor));
		return;
	}
	buf_addf(out, "%s:", forms[d->kind].name);
	if (d->kind == DIST_GAMMA)
		buf_add(out, units_format_f64(number, d->a));
	else
		add_value(out, d->a, unit);
	if (forms[d->kind].parameters > 1) {
		buf_addc(out, ':');
		add_value(out, d->b, unit);
	}
}

struct dist dist_scale(const struct dist *d, double by)
{
	struct dist out = *d;

	if (d->kind != DIST_GAMMA)
		out.a *= by;
	if (d->kind != DIST_FILE)
		out.b *= by;
	return out;
}
