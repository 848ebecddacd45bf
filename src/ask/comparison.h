/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - one job of several results, figure by figure, against the first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ask/figure.h"
#include "ask/results_file.h"

#define COMPARISON_FILES 32
#define COMPARISON_ROWS 24
/* What is taken at least where one does not say how much it varies, percent. */
#define COMPARISON_NOISE 5.0
/* The epochs of one run do not say what two runs differ by: never less than so many percent, or
 * points of an AU. */
#define COMPARISON_NOISE_LEAST 2.0
#define COMPARISON_POINTS_LEAST 1.0

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
void comparison_rows_fini(struct comparison_rows *rows);

/* In percent (points of an AU), how far a figure varies within one result; NaN = it does not
 * say. */
double comparison_noise(const struct comparison_row *row, const struct record *r);

/* As record_next_option(), of those that differ. */
const char *comparison_next_option(const struct comparison *c, struct record_options *at);
/* "within noise", "better", "worse"; NULL of MARK_NONE. */
const char *comparison_mark_word(enum comparison_mark m);

/* As people read it, options that differ first. */
void comparison_print(FILE *to, const struct comparison *c, const struct comparison_rows *rows);
/* As JSON, a line for each of these options, then for each figure. */
void comparison_print_json(FILE *to, const struct comparison *c,
			   const struct comparison_rows *rows);
