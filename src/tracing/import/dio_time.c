/* SPDX-License-Identifier: Apache-2.0 */
/* dio_time.c - a time of day as text, such as 2022-05-10T12:00:00.123456789Z, in nanoseconds. */
#include "tracing/import/importer.h"

#include <time.h>

#include "base/util.h"

/* So many digits, and what has to stand behind them; 0 = anything. */
static bool take_digits(const char **s, unsigned count, char behind, int *out)
{
	*out = 0;
	for (; count; count--, ++*s) {
		if (**s < '0' || **s > '9')
			return false;
		*out = 10 * *out + (**s - '0');
	}
	if (behind && *(*s)++ != behind)
		return false;
	return true;
}

static bool take_fraction(const char **s, uint64_t *ns)
{
	uint64_t unit = NS_PER_S;

	*ns = 0;
	if (**s != '.' && **s != ',')
		return true;
	for (++*s; **s >= '0' && **s <= '9'; ++*s) {
		unit /= 10;
		*ns += unit * (uint64_t)(**s - '0');
	}
	return unit < NS_PER_S;
}

static bool take_zone(const char *s, int *seconds)
{
	int hours, minutes, sign = *s == '-' ? -1 : 1;

	*seconds = 0;
	if (*s == 'Z' || *s == 'z')
		return !s[1];
	if (!*s)
		return true;
	if (*s != '+' && *s != '-')
		return false;
	s++;
	if (!take_digits(&s, 2, 0, &hours))
		return false;
	s += *s == ':';
	if (!take_digits(&s, 2, 0, &minutes) || *s)
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

bool dio_time_take(const char *text, uint64_t *ns)
{
	struct tm t = { 0 };
	uint64_t fraction;
	int zone;
	time_t whole;

	if (!take_digits(&text, 4, '-', &t.tm_year) || !take_digits(&text, 2, '-', &t.tm_mon) ||
	    !take_digits(&text, 2, 0, &t.tm_mday) || (*text != 'T' && *text != ' '))
		return false;
	text++;
	if (!take_digits(&text, 2, ':', &t.tm_hour) || !take_digits(&text, 2, ':', &t.tm_min) ||
	    !take_digits(&text, 2, 0, &t.tm_sec) || !take_fraction(&text, &fraction) ||
	    !take_zone(text, &zone))
		return false;
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	whole = timegm(&t) - zone;
	if (whole < 0 || whole > INT64_MAX / (int64_t)NS_PER_S - 1)
		return false;
	*ns = (uint64_t)whole * NS_PER_S + fraction;
	return true;
}
