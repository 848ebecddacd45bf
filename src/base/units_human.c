/* SPDX-License-Identifier: Apache-2.0 */
/* units_human.c - numbers with units as people read them; see units.h. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/*
 * At most four significant digits of a value >= 0, for units that roll over at `limit`: 3.73,
 * 104.7, 1003; whole values without a point. False where rounding reaches the limit and the next
 * unit is due.
 */
static bool put_scaled(char *out, double v, double limit, const char *unit)
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

/* 7m20s, 2h03m, 1d04h: two neighbouring units say enough. */
static void put_clock_time(char *out, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
	uint64_t m = s / 60 + (s % 60 >= 30);
	uint64_t h = m / 60 + (m % 60 >= 30);

	if (s < 3600)
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else if (m < 24 * 60)
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", m / 60, m % 60);
	else
		snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64 "d%02" PRIu64 "h", h / 24, h % 24);
}

char *units_human_bytes(char *out, double bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	bytes = bytes < 1024 ? floor(bytes + 0.5) : bytes;
	while (!put_scaled(out, bytes, 1024, names[i])) {
		if (i + 1 == ARRAY_LEN(names)) {
			put_scaled(out, bytes, HUGE_VAL, names[i]);
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
	double v = (double)ns;

	if (!put_scaled(out, v, 1000, "ns") && !put_scaled(out, v / 1e3, 1000, "us") &&
	    !put_scaled(out, v / 1e6, 1000, "ms") && !put_scaled(out, v / 1e9, 60, "s"))
		put_clock_time(out, ns);
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

	/* Below 0.1 three digits after the zeros: 0.0312, 0.000375. */
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
