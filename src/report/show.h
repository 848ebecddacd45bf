/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - figures as every line of a report shows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/units.h"
#include "run/results.h"

/* Throughput is in one unit throughout the report of a job. */
struct rate_unit {
	const char *name; /* "GiB/s" */
	double bytes;
};

/* GiB/s from one GiB/s on, else MiB/s; NaN is MiB/s. */
struct rate_unit show_rate_unit(double bytes_per_sec);

/* The unit of a training's report: by its demand, else by its result. */
struct rate_unit show_report_unit(const struct ml_result *ml);

/* Digits after the point for a column whose largest value is `largest`, in the unit: 14.86 GiB/s,
 * 312 MiB/s, 0.12 MiB/s. */
int show_rate_decimals(const struct rate_unit *u, double largest);

/* "14.86 GiB/s", "unknown" for NaN; `out` holds UNITS_TEXT_BYTES. */
char *show_rate(char *out, const struct rate_unit *u, double bytes_per_sec);

/* "41.2 of 1047 GiB": both in one unit. */
#define SHOW_PART_BYTES (3 * UNITS_TEXT_BYTES)
char *show_part_of(char *out, double part, double whole);

/* Three digits: "12.4", "0.821"; "unknown" for NaN. */
char *show_seconds(char *out, double seconds);

/* "11.2%", "unknown" for NaN. */
char *show_percent(char *out, double percent);

/* Is the CPU time of a quota of a control group, not of whole CPUs? */
bool show_is_of_quota(const struct host_result *h);

/* Of a link, in Gb/s: "92", "0.941", "200". */
char *show_gigabits(char *out, double bits_per_sec);

/* "8 x h100", "2 accelerators"; `name` NULL = unnamed. */
#define SHOW_ACCELERATORS_BYTES 96
char *show_accelerators(char *out, uint64_t n, const char *name);

/*
 * The parts of a whole, in the order in which they are printed, rounded to tenths of a percent by
 * largest remainder: what is printed adds up to 100.0.
 */
#define SHOW_SHARES 10
struct show_share {
	const char *name; /* as in JSON */
	unsigned tenths;
};
struct show_shares {
	struct show_share of[SHOW_SHARES];
	unsigned count; /* 0: nothing was measured */
};
void show_accelerator_time(const struct time_percent *t, struct show_shares *s);
void show_loader_time(const struct loader_percent *l, struct show_shares *s);
void show_rank_time(const struct rank_percent *r, struct show_shares *s);

/* One of them as printed, in percent; 0 when it is not there. */
double show_share(const struct show_shares *s, const char *name);

/* "50% 4 KiB, 50% 252 KiB", appended: the most frequent classes of sizes. */
void show_sizes(struct buf *out, const struct sizes *s);

/* Percent of the loaders' time inside I/O calls: every kind, and reap. */
double show_io_percent(const struct loader_percent *l);

/*
 * A number as fio writes it: at most four digits, whole ones up to 9999, then the next unit:
 * "203k", "12.3k", "2048Mi" with binary units.
 */
char *show_fio_number(char *out, double v, bool is_binary);
