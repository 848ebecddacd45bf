/* SPDX-License-Identifier: Apache-2.0 */
/* dist.h - a constant or a distribution: of bytes, of nanoseconds, or of plain numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

struct buf;

/*
 * Written as a plain value or as name:parameters, each parameter with the unit rules of the plain
 * value:
 *   normal:MEAN:STDEV  uniform:MIN:MAX  lognormal:MEAN:STDEV (of the values)
 *   exponential:MEAN   gamma:SHAPE:SCALE (shape is a bare number)
 *   dlio:MEAN:STDEV    sizes only: two sides, each normal with mean
 *                      sqrt(MEAN) and stdev STDEV/2/sqrt(MEAN), cut to whole
 *                      numbers >= 1; the value is their product (DLIO
 *                      utils/config.py)
 *   file:PATH          values from a file (dist_file.h); file:PATH*FACTOR: each
 *                      times that
 * Plain numbers have no units and may have fractions, those in a file but for its factor not.
 * DLIO writes fractions of bytes (114660.07), so dlio:'s parameters may be fractional.
 * Values are drawn by inverse CDF from rng_f64, in our own arithmetic, so that every compiler gives
 * the same. Values of a distribution are clipped above zero (>= 1).
 */
enum dist_kind {
	DIST_CONST,
	DIST_NORMAL,
	DIST_UNIFORM,
	DIST_LOGNORMAL,
	DIST_EXPONENTIAL,
	DIST_GAMMA,
	DIST_DLIO,
	DIST_FILE,
};

/* Nothing drawn is larger: 4 EiB, 146 years. */
#define DIST_VALUE_MAX 0x1p62

/* Draws are whole; of plain numbers so many are one. */
#define DIST_NUMBER_STEPS 0x1p32

/* Copies of one that was parsed are good as long as it is; those that outlive it hold it. */
struct dist {
	enum dist_kind kind;
	/* Parameters in the order written; CONST: a; FILE: the mean, and where b lies the address
	 * of its table, which is no number. */
	double a, b;
};

/* What a file's text begins with. */
#define DIST_FILE_WORD "file:"

/* The units of a distribution's parameters. */
enum dist_unit { DIST_BYTES, DIST_NS, DIST_NUMBERS };

/*
 * Parse; default_unit as units_time(), kb_base as units_size(). 0 or -EINVAL ("half a
 * distribution", negative or reversed parameters: all refused with the right form in the message).
 */
int dist_parse(struct dist *d, const char *text, enum dist_unit unit, const char *default_unit,
	       unsigned kb_base, struct mlgen_err *err);

/* What was parsed is dropped by who has it, once, and so is each copy that was held. Of a file
 * alone there is anything to do; dropped, it is zeroed. */
void dist_hold(const struct dist *d);
void dist_drop(struct dist *d);

/* Append the form that dist_parse reads back to the same struct. */
void dist_format(struct buf *out, const struct dist *d, enum dist_unit unit);

/* The same of one whose values are `by` times as large; a gamma distribution has the shape that it
 * had. As long as `d` is good. */
struct dist dist_times(const struct dist *d, double by);

/*
 * What tells it from others where no file is at hand: as dist_format, but of a file
 * "file-HASH:MEAN", of what stands in it and its mean. With its content beside it (of others
 * nothing) dist_recall makes the same of it.
 */
void dist_identify(struct buf *out, const struct dist *d, enum dist_unit unit);
void dist_content(struct buf *out, const struct dist *d);
int dist_recall(struct dist *d, const char *text, const char *content, enum dist_unit unit,
		struct mlgen_err *err);

/* Value number `index` of the stream. dlio: draws sides 2*index, 2*index+1. */
uint64_t dist_draw(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index);

/* The same of one that was read with DIST_NUMBERS: a real number above 0, in steps of 2^-32. */
double dist_draw_number(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index);

/* What is not exceeded with probability p, in (0, 1), before it is clipped or rounded; not of
 * dlio:. */
double dist_quantile(const struct dist *d, double p);

/* dlio: the two sides themselves; other kinds: sides = {1, value}. */
void dist_draw_sides(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index,
		     uint64_t sides[2]);

/* The mean as written (gamma: shape x scale; uniform: the middle). */
double dist_mean(const struct dist *d);

/*
 * The expectation of what is really drawn where it differs noticeably: sides cut to whole numbers
 * make dlio: smaller than written (114244 B for 114660.07).
 */
double dist_expectation(const struct dist *d);
double dist_stdev(const struct dist *d); /* of what is drawn, 0 for CONST */
bool dist_is_const(const struct dist *d);

/* The inverse of the standard normal CDF, p in (0, 1); Wichura's AS 241. */
double dist_normal_quantile(double p);
