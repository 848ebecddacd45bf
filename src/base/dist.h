/* SPDX-License-Identifier: Apache-2.0 */
/* dist.h - random numbers, and distributions that draw from them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- random numbers as a pure function of (seed, stream, index) ---- */

/*
 * No state and no lock: the same three numbers give the same result, whatever the thread order, the
 * compiler or the number of nodes. Each use of randomness has its own stream, so that two uses
 * never share numbers.
 */
enum rng_stream {
	RNG_SHUFFLE = 1, /* permutations, one per epoch */
	RNG_SAMPLE_SIZE,
	RNG_COMPUTE,
	RNG_CONTENT,
	RNG_TEST,
	RNG_RESIDENCY, /* sampled offsets of page cache checks */
	RNG_WORKER,    /* seeds of a plain job's workers, for RNG_DIRECTION and RNG_REQUEST */
	RNG_DIRECTION, /* read or write */
	RNG_REQUEST,   /* size, and offset if offsets may repeat */
	RNG_PREPROCESS,
	RNG_EVAL,        /* compute times of an evaluation */
	RNG_ENGINE,      /* draws of an engine, and seeds of its workers */
	RNG_RECORDED,    /* template and random offsets of a sample */
	RNG_START,       /* start-up times of read threads */
	RNG_CACHE,       /* random evictions of a cache */
	RNG_REPLACEMENT, /* orders drawn with replacement */
	RNG_WEIGHT,      /* weights of samples */
	RNG_WEIGHTED,    /* draws by weight */
	RNG_IMPORTANCE,  /* draws by loss */
	RNG_DIFFICULTY,  /* initial losses */
	RNG_DECAY,       /* decay of losses */
	RNG_RUNS,        /* offsets of short runs, orders within windows */
	RNG_SUBSTITUTE,  /* cached substitutes for uncached samples */
	RNG_FIRST,       /* extra time of a read thread's first sample */
};

/* 64 uniform bits. */
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* A uniform number in the open interval (0, 1), with 53 bits. */
double rng_f64(uint64_t seed, uint64_t stream, uint64_t index);

/* Write `bytes` of incompressible content, which starts `offset` bytes into the endless string
 * named by (seed, stream). Any sequence of calls gives the same string. */
void rng_fill(void *to, size_t bytes, uint64_t seed, uint64_t stream, uint64_t offset);

/* ---- random orders of 0 .. n-1 without memory ---- */

/*
 * perm_at is a bijection on 0..n-1 for every (n, seed, round); different rounds are different
 * orders. It applies a Feistel network over the next even power of two until the result is below n,
 * fewer than four times on average.
 */
struct perm {
	uint64_t n;
	uint64_t keys[6];
	unsigned half_bits;
};

void perm_init(struct perm *p, uint64_t n, uint64_t seed, uint64_t round);

/* The element at position `at` (< n). */
uint64_t perm_at(const struct perm *p, uint64_t at);

/*
 * A random order that is only read from its start: it has the same guarantees and takes less than a
 * tenth of the time. An invertible hash of few bits replaces the Feistel network. Results of n and
 * above are skipped instead of mapped again, so that the elements of one call are computed in
 * parallel.
 */
struct perm_walk {
	uint64_t n, at; /* at: position in the next power of two */
	uint64_t mask;
	uint64_t keys[5];
	unsigned shift;
};

void perm_walk_init(struct perm_walk *w, uint64_t n, uint64_t seed, uint64_t round);

/* Store the next elements, up to `want`. Returns their number, which is smaller than `want` at the
 * end of the order. */
size_t perm_walk_next(struct perm_walk *w, uint64_t *out, size_t want);

/* ---- constants and distributions of bytes, nanoseconds or plain numbers ---- */

/*
 * A distribution is written as a plain value or as name:parameters, each parameter with the unit
 * rules of the plain value:
 *   normal:MEAN:STDEV  uniform:MIN:MAX  lognormal:MEAN:STDEV (of the values)
 *   exponential:MEAN   gamma:SHAPE:SCALE (shape is a bare number)
 *   dlio:MEAN:STDEV    sizes only: two sides, each normal with mean
 *                      sqrt(MEAN) and stdev STDEV/2/sqrt(MEAN), cut to whole
 *                      numbers >= 1; the value is their product (DLIO
 *                      utils/config.py)
 *   file:PATH          values from a file (see below)
 *   file:PATH*FACTOR   values from a file, multiplied by FACTOR
 * Plain numbers have no units and may have fractions, but the values in a file may not.
 * DLIO writes fractions of bytes (114660.07), so dlio:'s parameters may be fractional.
 * Values are drawn by inverse CDF from rng_f64, in mlgen's own arithmetic, so that every compiler
 * gives the same values. Values of a distribution are at least 1.
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

/* No drawn value is larger: 4 EiB, 146 years. */
#define DIST_VALUE_MAX 0x1p62

/* Draws are integers; draws of plain numbers are in units of 1/DIST_NUMBER_STEPS. */
#define DIST_NUMBER_STEPS 0x1p32

/*
 * A plain copy is valid as long as the original. A copy that outlives the original needs dist_ref.
 */
struct dist {
	enum dist_kind kind;
	/* Parameters in the order written. CONST: a. FILE: a is the mean, and b holds the
	 * address of the table instead of a number. */
	double a, b;
};

/* The word that begins a distribution from a file. */
#define DIST_FILE_WORD "file:"

/* The units of a distribution's parameters. */
enum dist_unit { DIST_BYTES, DIST_NS, DIST_NUMBERS };

/*
 * Parse a distribution; default_unit as in units_time(), kb_base as in units_size(). 0 or -EINVAL:
 * incomplete distributions and negative or reversed parameters are refused with the right form in
 * the message.
 */
int dist_parse(struct dist *d, const char *text, enum dist_unit unit, const char *default_unit,
	       unsigned kb_base, struct mlgen_err *err);

/*
 * References to the table of a file; for other kinds these functions do nothing. Call dist_unref
 * once for each parsed distribution, and once for each copy that was passed to dist_ref. dist_unref
 * zeroes the struct.
 */
void dist_ref(const struct dist *d);
void dist_unref(struct dist *d);

/* Append the text that dist_parse parses to the same struct. */
void dist_format(struct buf *out, const struct dist *d, enum dist_unit unit);

/* Return a distribution whose values are `by` times those of `d`; a gamma distribution keeps its
 * shape. The result is valid as long as `d`. */
struct dist dist_scale(const struct dist *d, double by);

/*
 * Append an identity that needs no file: as dist_format, but "file-HASH:MEAN" for a file, from its
 * content and mean. dist_content appends the content (nothing for other kinds), from which
 * dist_restore restores the distribution.
 */
void dist_identify(struct buf *out, const struct dist *d, enum dist_unit unit);
void dist_content(struct buf *out, const struct dist *d);
int dist_restore(struct dist *d, const char *text, const char *content, enum dist_unit unit,
		 struct mlgen_err *err);

/* Value number `index` of the stream. dlio: the sides are draws 2*index and 2*index+1. */
uint64_t dist_draw(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index);

/* Like dist_draw, for a distribution parsed with DIST_NUMBERS: a real number above 0, in steps
 * of 2^-32. */
double dist_draw_number(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index);

/* The p-quantile, p in (0, 1), before clipping and rounding. Not for dlio:. */
double dist_quantile(const struct dist *d, double p);

/* dlio: the two sides themselves; other kinds: sides = {1, value}. */
void dist_draw_sides(const struct dist *d, uint64_t seed, uint64_t stream, uint64_t index,
		     uint64_t sides[2]);

/* The mean as written (gamma: shape x scale; uniform: the middle). */
double dist_mean(const struct dist *d);

/* The expectation of the drawn values. It is the mean as written, except for dlio:, whose values
 * are smaller because the sides are cut to integers (114244 B for 114660.07). */
double dist_expectation(const struct dist *d);
double dist_stdev(const struct dist *d); /* standard deviation of the drawn values; 0 for CONST */
bool dist_is_const(const struct dist *d);

/* The inverse of the standard normal CDF, p in (0, 1); Wichura's AS 241. */
double dist_normal_quantile(double p);

/* ---- an empirical distribution, from a file of values (file:PATH) ---- */

/*
 * The file has one value per line, ascending, at most DIST_FILE_VALUES, in the units of the option;
 * `#` begins a comment, empty lines are ignored:
 *
 *   # sizes of the files of /data/train
 *   4096 x120
 *   5000
 *   7000
 *   9500
 *   65536 x3.5
 *
 * Adjacent plain values are equidistant quantiles: each interval between two of them has weight 1
 * and is uniform. VALUE xCOUNT is exactly this value with weight COUNT; a plain value without a
 * plain neighbour is exactly this value with weight 1.
 *
 * Several struct dist may share a table, which is freed with the last reference. Only one thread at
 * a time may add or remove references; any thread may draw.
 */
#define DIST_FILE_VALUES 4096u

struct dist_file;

/* Read the file. Returns 0 and a table with one reference, or -errno with err: "PATH: ...",
 * "PATH:LINE: ...". */
int dist_file_read(struct dist_file **out, const char *path, enum dist_unit unit,
		   const char *default_unit, unsigned kb_base, struct mlgen_err *err);
void dist_file_ref(struct dist_file *f);
void dist_file_unref(struct dist_file *f); /* NULL is fine */

/* The table of a distribution, and the factor of its values. dist_set_file makes a
 * distribution with factor 1 that takes over the reference. */
struct dist_file *dist_file_of(const struct dist *d);
double dist_file_factor(const struct dist *d);
void dist_set_file(struct dist *d, struct dist_file *f);

const char *dist_file_path(const struct dist_file *f);
double dist_file_mean(const struct dist_file *f); /* above 0 */
double dist_file_stdev(const struct dist_file *f);
/* The inverse of its distribution function, p in (0, 1). */
double dist_file_quantile(const struct dist_file *f, double p);
/* Hash of the content: files with the same hash draw the same values. */
uint64_t dist_file_hash(const struct dist_file *f);

/* Append the content as one word, from which dist_file_restore restores the table without the
 * file. -EINVAL with err: invalid word. */
void dist_file_append(struct buf *out, const struct dist_file *f);
int dist_file_restore(struct dist_file **out, const char *content, struct mlgen_err *err);

/*
 * Write a file of this form from `count` ascending values. A few distinct values are written
 * exactly; otherwise frequent values are written with their counts and the rest as quantiles, so
 * that the distribution functions differ by at most 0.001. `comment` is the first line. Check the
 * stream for errors.
 */
void dist_file_write(FILE *to, const uint64_t *values, size_t count, enum dist_unit unit,
		     const char *comment);

/* ---- inverse distribution functions that no C library can change ---- */

/*
 * Only + - * / and the square root are used, which IEEE 754 rounds in one way, and
 * frexp/ldexp/floor, which are exact. libm's exp and log differ in the last bit between versions
 * and processors, and so would sizes and times.
 *
 * All p are in the open interval (0, 1).
 */

/* exp and the natural logarithm, accurate to about 1e-15. */
double quantile_exp(double x);
double quantile_log(double x);

/* Standard normal; Wichura's AS 241 (PPND16). */
double quantile_normal(double p);

/* Exponential with mean 1. */
double quantile_exponential(double p);

/* Gamma with scale 1 and the given shape, 0.001 .. 1e9. */
#define QUANTILE_SHAPE_MIN 1e-3
#define QUANTILE_SHAPE_MAX 1e9
double quantile_gamma(double p, double shape);
