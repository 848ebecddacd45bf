/* SPDX-License-Identifier: Apache-2.0 */
/* dist.h - distributions: written in options and files, drawn from, found in data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- a constant or a distribution: of bytes, of nanoseconds, or of plain numbers ---- */

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
 *   file:PATH          values from a file (dist.h); file:PATH*FACTOR: each
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

/* ---- an empirical distribution, from a file of values (file:PATH) ---- */

/*
 * One value a line, ascending, at most DIST_FILE_VALUES of them, in the units of the option; `#`
 * begins a comment, empty lines are fine:
 *
 *   # sizes of the files of /data/train
 *   4096 x120
 *   5000
 *   7000
 *   9500
 *   65536 x3.5
 *
 * Plain values next to each other are quantiles at equal distances: what lies between two of them
 * counts 1, and all of it is as likely. VALUE xCOUNT is this value and no other, which counts
 * COUNT, and so does a plain value that has no plain one beside it, with 1.
 *
 * Several values of struct dist may have the same table, which is freed with the last of them.
 * Holding and dropping is for one thread at a time, drawing for any.
 */
#define DIST_FILE_VALUES 4096u

struct dist_file;

/* 0, with one holder; or -errno with err: "PATH: ...", "PATH:LINE: ...". */
int dist_file_read(struct dist_file **out, const char *path, enum dist_unit unit,
		   const char *default_unit, unsigned kb_base, struct mlgen_err *err);
void dist_file_hold(struct dist_file *f);
void dist_file_drop(struct dist_file *f); /* NULL is fine */

/* A distribution's table, and how many times as large its values are drawn. The other way round:
 * with the table's own values; the holder is the distribution then. */
struct dist_file *dist_file_of(const struct dist *d);
double dist_file_factor(const struct dist *d);
void dist_file_put_into(struct dist *d, struct dist_file *f);

const char *dist_file_path(const struct dist_file *f);
double dist_file_mean(const struct dist_file *f); /* above 0 */
double dist_file_stdev(const struct dist_file *f);
/* The inverse of its distribution function, p in (0, 1). */
double dist_file_quantile(const struct dist_file *f, double p);
/* A hash of the content alone: two files with the same hash draw the same values. */
uint64_t dist_file_hash(const struct dist_file *f);

/* Append its content as one word, of which dist_file_recall makes the same table where the file is
 * not at hand. -EINVAL with err: it is no such word. */
void dist_file_put(struct buf *out, const struct dist_file *f);
int dist_file_recall(struct dist_file **out, const char *content, struct mlgen_err *err);

/*
 * Writes such a file of so many ascending values: few different ones exactly, else with those that
 * come often by themselves, and quantiles for the rest; the distribution functions are nowhere
 * apart by more than 0.001. `comment` is the first line, for people. Errors are those of the
 * stream.
 */
void dist_file_write(FILE *to, const uint64_t *values, size_t count, enum dist_unit unit,
		     const char *comment);

/* ---- inverse distribution functions that no C library can change ---- */

/*
 * Only + - * / and the square root are used, which IEEE 754 rounds in one way, and
 * frexp/ldexp/floor, which are exact. libm's own exp and log differ in the last bit between
 * versions and processors, and so would sizes and times.
 * All p are in the open interval (0, 1).
 */

/* exp and the natural logarithm, good to about 1e-15. */
double quantile_exp(double x);
double quantile_log(double x);

/* Standard normal; Wichura's AS 241 (PPND16). */
double quantile_normal(double p);

/* Exponential of mean 1. */
double quantile_exponential(double p);

/* Gamma of scale 1 and the given shape, 0.001 .. 1e9. */
#define QUANTILE_SHAPE_MIN 1e-3
#define QUANTILE_SHAPE_MAX 1e9
double quantile_gamma(double p, double shape);
