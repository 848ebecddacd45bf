/* SPDX-License-Identifier: Apache-2.0 */
/* units.h - numbers with units, read from options and shown to people. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

/*
 * Reading: the whole text is consumed or it is an error; nothing is ever cut off, wrapped or
 * guessed. Errors name the text and what would be right, e.g. "'2 batches': must be a whole number;
 * 'batches' was not understood". The caller's option name is put in front by the field walker, not
 * here.
 * All give 0 or -EINVAL or -ERANGE (and fill err).
 */

/* A whole number, decimal. Suffixes k m g ... (powers of 1024) are allowed. */
int units_u64(const char *text, uint64_t *out, struct mlgen_err *err);

/*
 * A size in bytes: a number, also with a fraction, and k m g t p, each with nothing, B or iB behind
 * it, or B alone, any case. Powers of 1024; with kb_base 1000 the forms kB MB GB TB PB (and k m g t
 * p) are powers of 1000, KiB stays 1024. A result that is no whole number of bytes is an error.
 */
int units_size(const char *text, unsigned kb_base, uint64_t *out, struct mlgen_err *err);

/*
 * A time in ns: a number, also with a fraction, and d h m s ms us ns (also min sec usec msec nsec).
 * A bare number counts in default_unit ("s", "us"; NULL is "s"). Rounded to whole ns.
 */
int units_time(const char *text, const char *default_unit, uint64_t *out, struct mlgen_err *err);

/* A finite decimal number. No hex, inf or nan. */
int units_f64(const char *text, double *out, struct mlgen_err *err);

/* As units_f64, with or without a % behind it. */
int units_percent(const char *text, double *out, struct mlgen_err *err);

/* 0, 1, true, false, yes, no, on, off; in any case. */
int units_bool(const char *text, int *out, struct mlgen_err *err);

/*
 * Writing, exact: what the readers above (with kb_base 1024) take back as the same value: "1m",
 * "146600628", "323ms", "1360.4ms", "0". The unit is the largest that leaves a size whole, a time
 * with at most one digit after the point. `out` holds UNITS_TEXT_BYTES.
 */
#define UNITS_TEXT_BYTES 32
char *units_put_size(char *out, uint64_t bytes);
char *units_put_time(char *out, uint64_t ns);
char *units_put_f64(char *out, double v); /* shortest that reads back */

/*
 * Writing, for people. At most four significant digits (and no digit before the point lost), plain
 * ASCII; NaN of sig4 and ms is "-". `out` holds UNITS_TEXT_BYTES; each gives out back.
 */
char *units_human_bytes(char *out, double bytes); /* 3.73 TiB, 512 MiB, 498 B */
char *units_human_mb(char *out, double bytes);    /* 146.6 MB, 10^6 bytes */
char *units_human_time(char *out, uint64_t ns);   /* 7m20s, 1.63 s, 323 ms */
char *units_human_count(char *out, uint64_t n);   /* 28,000 */
char *units_sig4(char *out, double v);            /* 14.86, 1286, 0.312 */
/* Milliseconds with four digits as in the latency tables: 0.004, 12.40, 1488. */
char *units_human_ms(char *out, double ns);
