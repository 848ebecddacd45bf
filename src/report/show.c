/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - figures as every line of a report shows them. */
#include "report/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Classes of request sizes on one line. */
#define SIZES_SHOWN 4

struct part {
	const char *name;
	double percent;
};

/* What lacks to 1000 tenths after rounding down goes to the parts that lost most by it. */
static void round_shares(const struct part *parts, unsigned n, struct show_shares *s)
{
	double sum = 0;
	double lost[SHOW_SHARES];
	unsigned left = 1000;

	for (unsigned i = 0; i < n; i++)
		sum += parts[i].percent > 0 ? parts[i].percent : 0;
	s->count = sum > 0 ? n : 0;
	for (unsigned i = 0; i < s->count; i++) {
		double p = parts[i].percent > 0 ? parts[i].percent : 0;
		double tenths = p / sum * 1000;
		/* 62.8 of 100 is 628, though the quotient lies just below. */
		double whole = floor(tenths + 1e-9);

		s->of[i].name = parts[i].name;
		s->of[i].tenths = (unsigned)whole;
		lost[i] = tenths - whole;
		left -= s->of[i].tenths;
	}
	for (; s->count > 0 && left > 0; left--) {
		unsigned most = 0;

		for (unsigned i = 1; i < s->count; i++)
			if (lost[i] > lost[most])
				most = i;
		s->of[most].tenths++;
		lost[most] = -1;
	}
}

struct rate_unit show_rate_unit(double bytes_per_sec)
{
	if (bytes_per_sec >= GIB)
		return (struct rate_unit){ "GiB/s", GIB };
	return (struct rate_unit){ "MiB/s", MIB };
}

struct rate_unit show_report_unit(const struct ml_result *ml)
{
	return show_rate_unit(isnan(ml->demand_bytes_per_sec) ? ml->sample_bytes_per_sec
							      : ml->demand_bytes_per_sec);
}

int show_rate_decimals(const struct rate_unit *u, double largest)
{
	int most = u->bytes > MIB ? 2 : largest < 9.95 ? 2 : 1;

	if (!(largest > 0))
		return 0;
	if (largest >= 999.5)
		return 0;
	if (largest >= 99.5)
		return most - 1;
	for (double limit = 0.0995; largest < limit && most < 8; limit /= 10)
		most++;
	return most;
}

char *show_rate(char *out, const struct rate_unit *u, double bytes_per_sec)
{
	double v = bytes_per_sec / u->bytes;

	if (isnan(v))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", show_rate_decimals(u, v), v, u->name);
	return out;
}

char *show_seconds(char *out, double seconds)
{
	int decimals = seconds >= 99.95 ? 0 : seconds >= 9.995 ? 1 : seconds >= 0.9995 ? 2 : 3;

	if (isnan(seconds))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f", decimals, seconds);
	return out;
}

/* "41.2", "1047", "8": no digit before the point is lost. */
static char *three_digits(char *out, double v)
{
	snprintf(out, UNITS_TEXT_BYTES, v < 999.5 ? "%.3g" : "%.0f", v);
	return out;
}

char *show_part_of(char *out, double part, double whole)
{
	char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	unsigned u = 0;
	double unit = 1;

	while (whole / unit >= 1023.5 && u + 1 < ARRAY_LEN(units)) {
		unit *= 1024;
		u++;
	}
	/* 41.2 of 1047 GiB, not 0.0402 of 1.02 TiB. */
	if (u > 0 && whole / unit < 9.7 && part / unit < 1) {
		unit /= 1024;
		u--;
	}
	double p = part / unit;
	if (p > 0 && p < 0.001)
		p = 0.001;
	snprintf(out, SHOW_PART_BYTES, "%s of %s %s", three_digits(a, p),
		 three_digits(b, whole / unit), units[u]);
	return out;
}

char *show_percent(char *out, double percent)
{
	if (isnan(percent))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.1f%%", percent);
	return out;
}

char *show_gigabits(char *out, double bits_per_sec)
{
	double gigabits = bits_per_sec / 1e9;

	snprintf(out, UNITS_TEXT_BYTES, gigabits < 100 ? "%.3g" : "%.0f", gigabits);
	return out;
}

char *show_accelerators(char *out, uint64_t n, const char *name)
{
	if (name)
		snprintf(out, SHOW_ACCELERATORS_BYTES, "%" PRIu64 " x %s", n, name);
	else
		snprintf(out, SHOW_ACCELERATORS_BYTES, "%" PRIu64 " accelerator%s", n,
			 n == 1 ? "" : "s");
	return out;
}

void show_accelerator_time(const struct time_percent *t, struct show_shares *s)
{
	const struct part parts[] = {
		{ "compute", t->compute },       { "stall", t->stall },
		{ "barrier", t->barrier },       { "host barrier", t->host_barrier },
		{ "checkpoint", t->checkpoint }, { "evaluation", t->evaluation },
		{ "oversleep", t->oversleep },   { "other", t->other },
	};

	round_shares(parts, ARRAY_LEN(parts), s);
}

void show_loader_time(const struct loader_percent *l, struct show_shares *s)
{
	const struct part parts[] = {
		{ "read", l->read }, { "write", l->write }, { "open", l->open },
		{ "stat", l->stat }, { "fsync", l->fsync }, { "close", l->close },
		{ "reap", l->reap }, { "cpu", l->cpu },     { "other", l->other },
		{ "idle", l->idle },
	};

	_Static_assert(ARRAY_LEN(parts) <= SHOW_SHARES, "room for every part");
	round_shares(parts, ARRAY_LEN(parts), s);
}

void show_rank_time(const struct rank_percent *r, struct show_shares *s)
{
	const struct part parts[] = {
		{ "write", r->write }, { "read", r->read },   { "fsync", r->fsync },
		{ "open", r->open },   { "close", r->close }, { "data", r->data },
		{ "other", r->other },
	};

	round_shares(parts, ARRAY_LEN(parts), s);
}

double show_share(const struct show_shares *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->of[i].name, name))
			return s->of[i].tenths / 10.0;
	return 0;
}

void show_sizes(struct buf *out, const struct sizes *s)
{
	struct sizes_share shares[SIZES_SHOWN];
	char size[UNITS_TEXT_BYTES];
	unsigned n = sizes_shares(s, shares, SIZES_SHOWN);

	for (unsigned i = 0; i < n; i++)
		buf_addf(out, "%s%.0f%% %s", i ? ", " : "", shares[i].percent,
			 units_human_bytes(size, (double)shares[i].bytes));
}

double show_io_percent(const struct loader_percent *l)
{
	return l->open + l->stat + l->read + l->write + l->fsync + l->close + l->reap;
}

char *show_fio_number(char *out, double v, bool is_binary)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P" };
	static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	double base = is_binary ? 1024 : 1000;
	size_t unit = 0;

	/* fio cuts off, then rounds what is left: 1023.9 MiB are 1024. */
	while (floor(v) > 9999 && unit + 1 < ARRAY_LEN(units)) {
		v /= base;
		unit++;
	}
	int decimals = unit == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	snprintf(out, UNITS_TEXT_BYTES, "%.*f%s", decimals, v,
		 is_binary ? binary[unit] : units[unit]);
	return out;
}

bool show_is_of_quota(const struct host_result *h)
{
	return h->cpu_percent_of && strncmp(h->cpu_percent_of, "quota", 5) == 0;
}
