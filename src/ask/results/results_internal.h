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

/* ---- columns of figures, in one unit and with aligned points ---- */

/*
 * The largest figure of a column decides its unit (GiB/s or MiB/s; ms for all latencies). Figures
 * have at most four significant digits.
 */
struct figure_column {
	const struct figure *figure;
	char title[96]; /* "stall p99, ms" */
	enum {
		COLUMN_PLAIN, /* unscaled: text, options, whole numbers */
		COLUMN_SCALED,
		COLUMN_PERCENT,
	} kind;
	double scale; /* figures are divided by this */
	int decimals;
	int width;
};

/* Choose the format from all values. `is_alone`: no other column is a rate, so the unit alone can
 * be the title. */
void column_init(struct figure_column *c, const struct figure *f, const struct figure_value *values,
		 size_t count, size_t stride, bool is_alone);

/* Append a cell without padding; "-" for no value. */
void column_cell(const struct figure_column *c, const struct figure_value *v, struct buf *out);

/* ---- one job of several results, figure by figure, against the first ---- */

#define COMPARISON_FILES 32
#define COMPARISON_ROWS 24

/* A job in each of the documents; borrowed. */
struct comparison {
	const struct results_file *docs;
	size_t count;
	const struct record *of[COMPARISON_FILES]; /* the job's record in each document */
	double tolerance;                          /* percent; NaN = use the noise */
	bool is_one_of_many;                       /* the documents have other jobs in addition */
};

/* Source of the noise of a figure: its variation within one result. */
enum comparison_noise {
	SPREAD_AU,     /* points of AU between epochs */
	SPREAD_EPOCHS, /* throughput of epochs */
	SPREAD_READ,   /* reads per second of a plain job */
	SPREAD_WRITE,  /* writes per second of a plain job */
	SPREAD_SAVES,  /* between checkpoints */
	SPREAD_RESTORES,
	SPREAD_NONE, /* errors: every error counts, except allowed ones */
};

enum comparison_mark { MARK_NONE, MARK_SAME, MARK_BETTER, MARK_WORSE };

/* A figure of all documents. */
struct comparison_row {
	const char *label;
	enum comparison_noise noise_of;
	bool is_lower_better, is_points; /* differences are absolute, not in percent */
	bool decides;                    /* affects the exit status */
	struct figure figure;
	struct figure_value values[COMPARISON_FILES];
	/* Change from the first document: percent, or points of AU; NaN = unknown. */
	double difference[COMPARISON_FILES];
	double noise[COMPARISON_FILES]; /* same unit; NaN = unknown in one of the two */
	double limit[COMPARISON_FILES]; /* a larger difference is marked better or worse */
	enum comparison_mark marks[COMPARISON_FILES];
};

struct comparison_rows {
	struct comparison_row of[COMPARISON_ROWS];
	size_t count;
};

/* Fill the rows: one for each figure that at least one document has. */
void comparison_rows(struct comparison_rows *rows, const struct comparison *c);

/* Like record_next_option(), for options that differ. */
const char *comparison_next_option(const struct comparison *c, struct record_options *at);
/* "within noise", "better", "worse"; NULL for MARK_NONE. */
const char *comparison_mark_word(enum comparison_mark m);

/* Print as a table, options that differ first. */
void comparison_print(FILE *to, const struct comparison *c, const struct comparison_rows *rows);
/* Print as lines of JSON: the options that differ, then the figures. */
void comparison_print_json(FILE *to, const struct comparison *c,
			   const struct comparison_rows *rows);

/* ---- merged report of one job: figures that exist once per host ---- */

/*
 * Figures of one job on one host, combined from its ranks. If every rank measures a figure for the
 * whole host, the largest value is kept. Figures of the ranks themselves are added up. Starts
 * zeroed.
 */
struct host_once {
	bool has_ranks;
	double cpu_percent, user_percent, system_percent;
	double network_percent, received_bits_per_sec;
	/* UINT64_MAX = unknown on one of the hosts. */
	uint64_t device_read_bytes, device_reads, received_bytes, line_rate;
	/* Figures of ranks that saved checkpoints: the most dirty bytes that a rank saw on the
	 * host, and the sum of the ranks' bytes that are still in memory. */
	bool has_saved;
	uint64_t dirty_bytes, in_memory_bytes;
};

/* Add a rank of the host. */
void host_once_add(struct host_once *o, const struct job_result *r);

/* Combine all hosts, whose structs are `step` elements apart: percentages are averaged, other
 * figures added up. */
struct host_once host_once_total(const struct host_once *hosts, size_t count, size_t step);

/* Store these figures in a result that has sums over all ranks instead. */
void host_once_store(const struct host_once *total, struct job_result *to);
