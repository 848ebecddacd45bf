/* SPDX-License-Identifier: Apache-2.0 */
/* units.c - numbers with units: parsed from options, formatted for people. */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"

/* An unsigned decimal number as written: whole + fraction / scale. */
struct decimal {
	uint64_t whole;
	uint64_t fraction, scale;
	bool has_point;
	bool is_cut;      /* there are nonzero digits after the eighteenth */
	const char *rest; /* text after the number */
};

struct time_unit {
	const char *name;
	uint64_t factor;
	bool is_written; /* used by units_format_time */
};

static const struct time_unit time_units[] = {
	{ "d", 86400 * NS_PER_S, true },
	{ "h", 3600 * NS_PER_S, true },
	{ "m", 60 * NS_PER_S, true },
	{ "min", 60 * NS_PER_S, false },
	{ "s", NS_PER_S, true },
	{ "sec", NS_PER_S, false },
	{ "ms", 1000000, true },
	{ "msec", 1000000, false },
	{ "us", 1000, true },
	{ "usec", 1000, false },
	{ "ns", 1, true },
	{ "nsec", 1, false },
};

static const char size_letters[] = "kmgtp";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0, -EINVAL without a number, or -ERANGE. `what` is "a whole number", ... */
static int read_decimal(const char *text, const char *what, struct decimal *d,
			struct mlgen_err *err)
{
	const char *at = text;
	int rc = 0;

	*d = (struct decimal){ .scale = 1 };
	if (!*text)
		return mlgen_fail(err, -EINVAL, "'': must be %s, but is empty", what);
	if (*text == '-' && is_digit(text[1]))
		return mlgen_fail(err, -EINVAL, "'%s': must be %s, not below 0", text, what);
	for (; is_digit(*at); at++)
		if (__builtin_mul_overflow(d->whole, UINT64_C(10), &d->whole) ||
		    __builtin_add_overflow(d->whole, (uint64_t)(*at - '0'), &d->whole))
			rc = -ERANGE;
	bool has_digits = at > text;
	if (*at == '.') {
		const char *point = at++;

		d->has_point = true;
		/* Only eighteen digits are used; is_cut tells whether a later digit is not 0. */
		for (; is_digit(*at); at++) {
			if (d->scale < UINT64_C(1000000000000000000)) {
				d->fraction = d->fraction * 10 + (uint64_t)(*at - '0');
				d->scale *= 10;
			} else if (*at != '0') {
				d->is_cut = true;
			}
		}
		has_digits |= at > point + 1;
	}
	if (!has_digits)
		return mlgen_fail(err, -EINVAL, "'%s': must be %s", text, what);
	d->rest = at;
	if (rc < 0)
		return mlgen_fail(err, rc, "'%s': is above the largest number, %" PRIu64, text,
				  UINT64_MAX);
	return 0;
}

static int fail_rest(const char *text, const char *what, const char *rest, struct mlgen_err *err)
{
	while (*rest == ' ')
		rest++;
	if (!*rest)
		return mlgen_fail(err, -EINVAL, "'%s': must be %s, without a space after it", text,
				  what);
	return mlgen_fail(err, -EINVAL, "'%s': must be %s; '%s' was not understood", text, what,
			  rest);
}

static int fail_range(const char *text, struct mlgen_err *err)
{
	return mlgen_fail(err, -ERANGE, "'%s': is above the largest value, 2^64 - 1", text);
}

static uint64_t power(uint64_t base, unsigned exponent)
{
	uint64_t v = 1;

	while (exponent-- > 0)
		v *= base;
	return v;
}

/* The factor of k, kB, KiB, ... in any case; 0 if the suffix is unknown. */
static uint64_t size_factor(const char *suffix, unsigned kb_base)
{
	if (!*suffix || !strcasecmp(suffix, "b"))
		return 1;
	char lower = (char)(*suffix | 0x20);
	const char *letter = strchr(size_letters, lower);
	if (!letter)
		return 0;
	unsigned exponent = (unsigned)(letter - size_letters) + 1;
	if (!suffix[1] || !strcasecmp(suffix + 1, "b"))
		return power(kb_base, exponent);
	return strcasecmp(suffix + 1, "ib") ? 0 : power(1024, exponent);
}

/* End of a number made of a sign, digits with or without a point, and an exponent, the common
 * subset of strtod and other parsers. NULL = no number. */
static const char *f64_end(const char *at)
{
	if (*at == '-' || *at == '+')
		at++;
	const char *digits = at;
	at += strspn(at, "0123456789");
	size_t count = (size_t)(at - digits);
	if (*at == '.') {
		size_t more = strspn(at + 1, "0123456789");

		count += more;
		at += 1 + more;
	}
	if (count == 0)
		return NULL;
	if (*at == 'e' || *at == 'E') {
		const char *exponent = at + 1;

		if (*exponent == '-' || *exponent == '+')
			exponent++;
		if (is_digit(*exponent))
			at = exponent + strspn(exponent, "0123456789");
	}
	return at;
}

/* Read a number that `suffix` may follow. */
static int read_f64(const char *text, const char *what, const char *suffix, double *out,
		    struct mlgen_err *err)
{
	const char *end = f64_end(text);

	if (!end)
		return mlgen_fail(err, -EINVAL, "'%s': must be %s", text, what);
	double v = strtod(text, NULL);
	if (!isfinite(v))
		return mlgen_fail(err, -ERANGE, "'%s': is too large for a number", text);
	if (*end && strcmp(end, suffix) != 0)
		return fail_rest(text, what, end, err);
	*out = v;
	return 0;
}

int units_u64(const char *text, uint64_t *out, struct mlgen_err *err)
{
	static const char what[] = "a whole number";
	struct decimal d;
	int rc = read_decimal(text, what, &d, err);

	if (rc < 0)
		return rc;
	if (d.has_point)
		return mlgen_fail(err, -EINVAL, "'%s': must be %s", text, what);
	uint64_t factor = strlen(d.rest) > 1 ? 0 : size_factor(d.rest, 1024);
	if (factor == 0 || d.rest[0] == 'b' || d.rest[0] == 'B')
		return fail_rest(text, what, d.rest, err);
	if (__builtin_mul_overflow(d.whole, factor, out))
		return fail_range(text, err);
	return 0;
}

int units_size(const char *text, unsigned kb_base, uint64_t *out, struct mlgen_err *err)
{
	static const char what[] = "a size such as 4096, 512k, 1.5m or 2GiB";
	struct decimal d;
	int rc = read_decimal(text, what, &d, err);

	if (rc < 0)
		return rc;
	uint64_t factor = size_factor(d.rest, kb_base);
	if (factor == 0)
		return fail_rest(text, what, d.rest, err);
	unsigned __int128 part = (unsigned __int128)d.fraction * factor;
	if (d.is_cut || part % d.scale != 0)
		return mlgen_fail(err, -EINVAL, "'%s': must be a whole number of bytes", text);
	unsigned __int128 v = (unsigned __int128)d.whole * factor + part / d.scale;
	if (v > UINT64_MAX)
		return fail_range(text, err);
	*out = (uint64_t)v;
	return 0;
}

int units_time(const char *text, const char *default_unit, uint64_t *out, struct mlgen_err *err)
{
	static const char what[] = "a time such as 300s, 5m, 1.5h or 323ms";
	const char *unit = default_unit ? default_unit : "s";
	uint64_t factor = 0;
	struct decimal d;
	int rc = read_decimal(text, what, &d, err);

	if (rc < 0)
		return rc;
	if (*d.rest)
		unit = d.rest;
	for (size_t i = 0; i < ARRAY_LEN(time_units); i++)
		if (!strcmp(time_units[i].name, unit))
			factor = time_units[i].factor;
	if (factor == 0)
		return fail_rest(text, what, d.rest, err);
	unsigned __int128 part = (unsigned __int128)d.fraction * factor;
	unsigned __int128 v = (unsigned __int128)d.whole * factor + (part + d.scale / 2) / d.scale;
	if (v > UINT64_MAX)
		return mlgen_fail(err, -ERANGE, "'%s': is above the longest time, 584 years", text);
	*out = (uint64_t)v;
	return 0;
}

int units_f64(const char *text, double *out, struct mlgen_err *err)
{
	return read_f64(text, "a decimal number", "", out, err);
}

int units_percent(const char *text, double *out, struct mlgen_err *err)
{
	return read_f64(text, "a percentage such as 2 or 2%", "%", out, err);
}

int units_bool(const char *text, int *out, struct mlgen_err *err)
{
	static const char *const words[] = { "0", "1", "false", "true", "no", "yes", "off", "on" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!strcasecmp(text, words[i])) {
			*out = i & 1;
			return 0;
		}
	}
	return mlgen_fail(err, -EINVAL, "'%s': must be one of 0 1 false true no yes off on", text);
}

char *units_format_size(char *out, uint64_t bytes)
{
	char letter[2] = "";

	for (const char *l = size_letters; *l && bytes > 0 && bytes % 1024 == 0; l++) {
		letter[0] = *l;
		bytes /= 1024;
	}
	snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "%s", bytes, letter);
	return out;
}

char *units_format_time(char *out, uint64_t ns)
{
	/* Use the largest unit in which one digit after the point is enough. */
	for (size_t i = 0; ns > 0 && i < ARRAY_LEN(time_units); i++) {
		const struct time_unit *u = &time_units[i];
		uint64_t tenth = u->factor / 10;

		if (!u->is_written || ns < u->factor)
			continue;
		if (ns % u->factor == 0) {
			snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "%s", ns / u->factor, u->name);
			return out;
		}
		if (ns % tenth == 0) {
			snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 ".%u%s", ns / u->factor,
				 (unsigned)(ns / tenth % 10), u->name);
			return out;
		}
	}
	snprintf(out, UNITS_TEXT_BYTES, "0");
	return out;
}

char *units_format_f64(char *out, double v)
{
	char text[UNITS_TEXT_BYTES];
	double size = fabs(v), back;
	int digits = 1;

	/* The smallest precision, 1 to 17 digits, that reads back as v. */
	for (; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, v);
		back = strtod(text, NULL);
		if (!memcmp(&back, &v, sizeof(v)))
			break;
	}

	/* Use an exponent only if the plain form is long. */
	if (!(size >= 1e-5 && size < 1e16)) {
		snprintf(out, UNITS_TEXT_BYTES, "%.*g", digits, v);
		return out;
	}
	snprintf(text, sizeof(text), "%.*e", digits - 1, v);
	const char *exponent = strchr(text, 'e');
	int decimals = digits - 1 - (int)strtol(exponent ? exponent + 1 : "0", NULL, 10);
	snprintf(out, UNITS_TEXT_BYTES, "%.*f", decimals > 0 ? decimals : 0, v);
	return out;
}

/*
 * Print a value >= 0 with at most four significant digits, for units that roll over at `limit`:
 * 3.73, 104.7, 1003; integers without a point. False if rounding reaches the limit and the next
 * unit is due.
 */
static bool print_scaled(char *out, double v, double limit, const char *unit)
{
	int decimals = v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
	double step = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;

	if (floor(v * step + 0.5) / step >= limit)
		return false;
	if (v >= 0 && v < 1e4 && floor(v) >= v)
		decimals = 0;
	snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, v, unit);
	return true;
}

char *units_human_bytes(char *out, double bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	bytes = bytes < 1024 ? floor(bytes + 0.5) : bytes;
	while (!print_scaled(out, bytes, 1024, names[i])) {
		if (i + 1 == ARRAY_LEN(names)) {
			print_scaled(out, bytes, HUGE_VAL, names[i]);
			break;
		}
		bytes /= 1024;
		i++;
	}
	return out;
}

char *units_human_mb(char *out, double bytes)
{
	char number[UNITS_TEXT_BYTES - 3];

	units_sig4(out, bytes / 1e6);
	snprintf(number, sizeof(number), "%s", out);
	snprintf(out, UNITS_TEXT_BYTES, "%s MB", number);
	return out;
}

char *units_human_time(char *out, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
	uint64_t m = s / 60 + (s % 60 >= 30);
	uint64_t h = m / 60 + (m % 60 >= 30);
	double v = (double)ns;

	if (print_scaled(out, v, 1000, "ns") || print_scaled(out, v / 1e3, 1000, "us") ||
	    print_scaled(out, v / 1e6, 1000, "ms") || print_scaled(out, v / 1e9, 60, "s"))
		return out;
	/* 7m20s, 2h03m, 1d04h: two adjacent units are precise enough. */
	if (s < 3600)
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else if (m < 24 * 60)
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", m / 60, m % 60);
	else
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "d%02" PRIu64 "h", h / 24, h % 24);
	return out;
}

char *units_human_count(char *out, uint64_t n)
{
	char digits[UNITS_TEXT_BYTES];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *to = out;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

char *units_sig4(char *out, double v)
{
	double size = fabs(v);
	int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95;

	/* Print three digits after the zeros below 0.1: 0.0312, 0.000375. */
	for (double limit = 0.09995; size > 0 && size < limit && decimals < 8; limit /= 10)
		decimals++;
	if (isnan(v))
		snprintf(out, UNITS_TEXT_BYTES, "-");
	else if (size >= 1e15)
		snprintf(out, UNITS_TEXT_BYTES, "%.4g", v);
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f", size > 0 ? decimals : 0, v);
	return out;
}

char *units_human_ms(char *out, double ns)
{
	double ms = ns / 1e6;
	int decimals = ms < 9.9995 ? 3 : ms < 99.995 ? 2 : ms < 999.95;

	if (isnan(ms))
		snprintf(out, UNITS_TEXT_BYTES, "-");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f", decimals, ms);
	return out;
}
