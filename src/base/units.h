/* SPDX-License-Identifier: Apache-2.0 */
/* units.h - numbers with units: parsed from options, formatted for people. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

/*
 * Parsing consumes the whole text or fails; nothing is cut off, wrapped or guessed. Errors quote
 * the text and say what would be right, e.g. "'2 batches': must be a whole number; 'batches' was
 * not understood". The caller adds the name of the option.
 *
 * All return 0, or -EINVAL or -ERANGE with err.
 */

/* A whole number, decimal. Suffixes k m g ... (powers of 1024) are allowed. */
int units_u64(const char *text, uint64_t *out, struct mlgen_err *err);

/*
 * A size in bytes: a number, which may have a fraction, with k m g t p, each alone or followed by B
 * or iB, or with B alone, in any case. Powers of 1024; with kb_base 1000 the forms kB MB GB TB PB
 * (and k m g t p) are powers of 1000, KiB stays 1024. The result must be a whole number of bytes.
 */
int units_size(const char *text, unsigned kb_base, uint64_t *out, struct mlgen_err *err);

/* A time in ns: a number, which may have a fraction, with d h m s ms us ns (also min sec usec
 * msec nsec). A bare number is in default_unit ("s", "us"; NULL is "s"). Rounded to whole ns. */
int units_time(const char *text, const char *default_unit, uint64_t *out, struct mlgen_err *err);

/* A finite decimal number. No hex, inf or nan. */
int units_f64(const char *text, double *out, struct mlgen_err *err);

/* Like units_f64, with an optional % after the number. */
int units_percent(const char *text, double *out, struct mlgen_err *err);

/* 0, 1, true, false, yes, no, on, off; in any case. */
int units_bool(const char *text, int *out, struct mlgen_err *err);

/*
 * Exact formatting: the functions above (with kb_base 1024) parse the text to the same value: "1m",
 * "146600628", "323ms", "1360.4ms", "0". The unit is the largest that leaves a size whole, or a
 * time with at most one digit after the point. `out` holds UNITS_TEXT_BYTES.
 */
#define UNITS_TEXT_BYTES 32
char *units_format_size(char *out, uint64_t bytes);
char *units_format_time(char *out, uint64_t ns);
char *units_format_f64(char *out, double v); /* shortest text that parses to v */

/* Formatting for people: at most four significant digits (but all digits before the point), plain
 * ASCII; NaN of sig4 and ms is "-". `out` holds UNITS_TEXT_BYTES and is returned. */
char *units_human_bytes(char *out, double bytes); /* 3.73 TiB, 512 MiB, 498 B */
char *units_human_mb(char *out, double bytes);    /* 146.6 MB, 10^6 bytes */
char *units_human_time(char *out, uint64_t ns);   /* 7m20s, 1.63 s, 323 ms */
char *units_human_count(char *out, uint64_t n);   /* 28,000 */
char *units_sig4(char *out, double v);            /* 14.86, 1286, 0.312 */
/* Milliseconds with four digits as in the latency tables: 0.004, 12.40, 1488. */
char *units_human_ms(char *out, double ns);
