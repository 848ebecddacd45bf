/* SPDX-License-Identifier: Apache-2.0 */
/* dist.h - a constant or a distribution, of bytes or of nanoseconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

struct buf;

/*
 * Written as a plain value or as name:parameters, each parameter with the unit
 * rules of the plain value:
 *   normal:MEAN:STDEV  uniform:MIN:MAX  lognormal:MEAN:STDEV (of the values)
 *   exponential:MEAN   gamma:SHAPE:SCALE (shape is a bare number)
 *   dlio:MEAN:STDEV    sizes only: two sides, each normal with mean
 *                      sqrt(MEAN) and stdev STDEV/2/sqrt(MEAN), cut to whole
 *                      numbers >= 1; the value is their product (DLIO
 *                      utils/config.py)
 * DLIO writes fractions of bytes (114660.07), so dlio:'s parameters may be
 * fractional.
 * Values are drawn by inverse CDF from rng_f64, in our own arithmetic, so that
 * every compiler gives the same. Values of a distribution are clipped above
 * zero (>= 1).
 */
enum dist_kind {
	DIST_CONST,
	DIST_NORMAL,
	DIST_UNIFORM,
	DIST_LOGNORMAL,
	DIST_EXPONENTIAL,
	DIST_GAMMA,
	DIST_DLIO,
};

struct dist {
	enum dist_kind kind;
	double a, b; /* parameters in the order written; CONST: a */
};

/* The units of a distribution's parameters. */
enum dist_unit { DIST_BYTES, DIST_NS };

/*
 * Parse; default_unit as units_time(), kb_base as units_size(). 0 or -EINVAL
 * ("half a distribution", negative or reversed parameters: all refused with
 * the right form in the message).
 */
int dist_parse(struct dist *d, const char *text, enum dist_unit unit,
	       const char *default_unit, unsigned kb_base,
	       struct mlgen_err *err);

/* Append the form that dist_parse reads back to the same struct. */
void dist_format(struct buf *out, const struct dist *d, enum dist_unit unit);

/* Value number `index` of the stream. dlio: draws sides 2*index, 2*index+1. */
uint64_t dist_draw(const struct dist *d, uint64_t seed, uint64_t stream,
		   uint64_t index);

/* dlio: the two sides themselves; other kinds: sides = {1, value}. */
void dist_draw_sides(const struct dist *d, uint64_t seed, uint64_t stream,
		     uint64_t index, uint64_t sides[2]);

/* The mean as written (gamma: shape x scale; uniform: the middle). */
double dist_mean(const struct dist *d);

/*
 * The expectation of what is really drawn where it differs noticeably: sides
 * cut to whole numbers make dlio: smaller than written (114244 B for 114660.07).
 */
double dist_expectation(const struct dist *d);
double dist_stdev(const struct dist *d); /* of what is drawn, 0 for CONST */
bool dist_is_const(const struct dist *d);

/* The inverse of the standard normal CDF, p in (0, 1); Wichura's AS 241. */
double dist_normal_quantile(double p);
