/* SPDX-License-Identifier: Apache-2.0 */
/* quantile.h - inverse distribution functions that no C library can change. */
#pragma once

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
