/* SPDX-License-Identifier: Apache-2.0 */
/* dist_file.h - an empirical distribution, from a file of values (file:PATH). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "base/dist.h"

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
/* Of its content alone: two with the same one draw the same values. */
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
