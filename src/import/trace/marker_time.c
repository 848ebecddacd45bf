/* SPDX-License-Identifier: Apache-2.0 */
/* marker_time.c - a time of day as logs have it: a number since 1970, or a date. */
#include "import/trace/marker_line.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/util.h"

enum { FRACTION_DIGITS = 9, MINUTE_S = 60, HOUR_S = 3600 };
/* A year that fits 64 bits of ns. */
enum { YEAR_LEAST = 1970, YEAR_MOST = 2261 };

/* Exactly so many digits: their value, or -1. */
static int take_digits(const char **s, size_t digits)
{
	int v = 0;

	for (size_t i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*s)[i]))
			return -1;
		v = v * 10 + ((*s)[i] - '0');
	}
	*s += digits;
	return v;
}

/* What stands behind a point, in billionths. */
static uint64_t take_fraction(const char **s)
{
	uint64_t v = 0;
	unsigned digits = 0;

	if (**s != '.' || !isdigit((unsigned char)(*s)[1]))
		return 0;
	for (++*s; isdigit((unsigned char)**s); ++*s)
		if (digits < FRACTION_DIGITS) {
			v = v * 10 + (uint64_t)(**s - '0');
			digits++;
		}
	for (; digits < FRACTION_DIGITS; digits++)
		v *= 10;
	return v;
}

/* Seconds east of Greenwich; false: there is no zone. */
static bool take_zone(const char **s, int *east_s)
{
	const char *at = *s;
	int sign = *at == '-' ? -1 : 1, hours, minutes;

	*east_s = 0;
	if (*at == 'Z') {
		++*s;
		return true;
	}
	if (*at++ != '+' && sign > 0)
		return false;
	hours = take_digits(&at, 2);
	at += *at == ':';
	minutes = hours < 0 ? -1 : take_digits(&at, 2);
	if (minutes < 0)
		return false;
	*east_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
	*s = at;
	return true;
}

static bool is_date(const struct tm *t)
{
	return t->tm_year >= YEAR_LEAST - 1900 && t->tm_year <= YEAR_MOST - 1900 &&
	       t->tm_mon >= 0 && t->tm_mon < 12 && t->tm_mday >= 1 && t->tm_mday <= 31 &&
	       t->tm_hour >= 0 && t->tm_hour < 24 && t->tm_min >= 0 && t->tm_min < 60 &&
	       t->tm_sec >= 0 && t->tm_sec <= 60;
}

/* Digits with one of `between` behind each but the last. */
static bool take_parts(const char **s, struct tm *t)
{
	int *const part[] = { &t->tm_year, &t->tm_mon, &t->tm_mday,
			      &t->tm_hour, &t->tm_min, &t->tm_sec };
	static const char *const before[] = { "", "-", "-", "T ", ":", ":" };

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		if (i && (!**s || !strchr(before[i], *(*s)++)))
			return false;
		*part[i] = take_digits(s, i ? 2 : 4);
		if (*part[i] < 0)
			return false;
	}
	t->tm_year -= 1900;
	t->tm_mon -= 1;
	return is_date(t);
}

static size_t take_date(const char *s, uint64_t *ns, bool *is_local)
{
	const char *at = s;
	struct tm t = { .tm_isdst = -1 };
	uint64_t fraction;
	int east_s;
	time_t seconds;

	if (!take_parts(&at, &t))
		return 0;
	fraction = take_fraction(&at);
	*is_local = !take_zone(&at, &east_s);
	seconds = *is_local ? mktime(&t) : timegm(&t) - east_s;
	if (seconds < 0)
		return 0;
	*ns = (uint64_t)seconds * NS_PER_S + fraction;
	return (size_t)(at - s);
}

/* Of a time in our lives, its size tells the unit. */
static uint64_t unit_ns(uint64_t v)
{
	return v < UINT64_C(100000000000)         ? NS_PER_S
	       : v < UINT64_C(100000000000000)    ? 1000000
	       : v < UINT64_C(100000000000000000) ? 1000
						  : 1;
}

static size_t take_number(const char *s, uint64_t *ns)
{
	const char *at = s;
	uint64_t v = 0, fraction, unit;

	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return 0;
	if (at == s)
		return 0;
	fraction = take_fraction(&at);
	unit = unit_ns(v);
	if (__builtin_mul_overflow(v, unit, &v) ||
	    __builtin_add_overflow(v, fraction * unit / NS_PER_S, &v) || v > INT64_MAX)
		return 0;
	*ns = v;
	return (size_t)(at - s);
}

size_t marker_time(const char *s, uint64_t *ns, bool *is_local)
{
	size_t bytes = take_date(s, ns, is_local);

	if (bytes)
		return bytes;
	*is_local = false;
	return take_number(s, ns);
}
