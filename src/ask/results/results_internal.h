/* SPDX-License-Identifier: Apache-2.0 */
/* results_internal.h - what the files of ask/results share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ask/results/results.h"
#include "base/buf.h"
#include "run/result/result.h"

/* ---- figures below each other, in one unit and with aligned points ---- */

/*
 * How people see the figures of one key: the unit is chosen by the largest of them (GiB/s or MiB/s,
 * ms for all latencies), at most four significant digits.
 */
struct figure_column {
	const struct figure *figure;
	char title[96]; /* "stall p99, ms" */
	enum {
		COLUMN_PLAIN, /* as it is: text, options, whole numbers */
		COLUMN_SCALED,
		COLUMN_PERCENT,
	} kind;
	double scale; /* a figure is divided by it */
	int decimals;
	int width;
};

/* From all its values. `is_alone`: no other column is a throughput, so that the unit is title
 * enough. */
void column_init(struct figure_column *c, const struct figure *f, const struct figure_value *values,
		 size_t count, size_t stride, bool is_alone);

/* One cell, without padding, appended; `-` where there is nothing to show. */
void column_cell(const struct figure_column *c, const struct figure_value *v, struct buf *out);

/* ---- one job of several results, figure by figure, against the first ---- */

#define COMPARISON_FILES 32
#define COMPARISON_ROWS 24

/* A job in each of the documents; borrowed. */
struct comparison {
	const struct results_file *docs;
	size_t count;
	const struct record *of[COMPARISON_FILES]; /* it in each */
	double tolerance;                          /* percent; NaN = as the noise says */
	bool is_one_of_many;                       /* documents have other jobs, too */
};

/* How a figure varies within one result. */
enum comparison_noise {
	SPREAD_AU,     /* points between epochs */
	SPREAD_EPOCHS, /* of the throughput of epochs */
	SPREAD_READ,   /* of the seconds of a plain job */
	SPREAD_WRITE,  /* ... its writes */
	SPREAD_SAVES,  /* between checkpoints */
	SPREAD_RESTORES,
	SPREAD_NONE, /* errors: each counts, but those allowed */
};

enum comparison_mark { MARK_NONE, MARK_SAME, MARK_BETTER, MARK_WORSE };

/* One figure of all of them. */
struct comparison_row {
	const char *label;
	enum comparison_noise noise_of;
	bool is_lower_better, is_points; /* differences: of figures, no percent */
	bool decides;                    /* the exit status */
	struct figure figure;
	struct figure_value values[COMPARISON_FILES];
	/* To the first: percent, points of an AU; NaN = not known. */
	double difference[COMPARISON_FILES];
	double noise[COMPARISON_FILES]; /* likewise; NaN = one does not say */
	double limit[COMPARISON_FILES]; /* beyond it a difference counts */
	enum comparison_mark marks[COMPARISON_FILES];
};

struct comparison_rows {
	struct comparison_row of[COMPARISON_ROWS];
	size_t count;
};

/* The figures that at least one has. */
void comparison_rows(struct comparison_rows *rows, const struct comparison *c);

/* As record_next_option(), of those that differ. */
const char *comparison_next_option(const struct comparison *c, struct record_options *at);
/* "within noise", "better", "worse"; NULL of MARK_NONE. */
const char *comparison_mark_word(enum comparison_mark m);

/* As people read it, options that differ first. */
void comparison_print(FILE *to, const struct comparison *c, const struct comparison_rows *rows);
/* As JSON, a line for each of these options, then for each figure. */
void comparison_print_json(FILE *to, const struct comparison *c,
			   const struct comparison_rows *rows);

/* ---- what a host has once, of which each of its processes has counted all, in the merged report
 * of a job ---- */

/* Of the ranks of one host, and of a job: what they all counted is the most of it, what each knows
 * its part of is a sum. Zeroed at first. */
struct once {
	bool is_there;
	double cpu_percent, user_percent, system_percent;
	double network_percent, received_bits_per_sec;
	/* UINT64_MAX: of one it is not known. */
	uint64_t device_read_bytes, device_reads, received_bytes, line_rate;
	/* Of those that have saved checkpoints: what each found dirty, and at most what it had
	 * written. */
	bool has_saved;
	uint64_t dirty_bytes, in_memory_bytes;
};

/* One more process of the host. */
void once_add(struct once *o, const struct job_result *r);

/* Of all hosts, `step` apart: sums of what they have, means of their percents. */
struct once once_total(const struct once *hosts, size_t count, size_t step);

/* Takes the place of what the processes' results have added up to. */
void once_put(const struct once *total, struct job_result *to);
