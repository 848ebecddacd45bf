/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - an error: a code for the program and a sentence for the user. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

/*
 * Cold paths that can fail have a `struct mlgen_err *` as their last argument and fill it once, at
 * the place that knows the cause. The first error wins: a filled struct is never overwritten.
 * Callers pass the error up, and neither change nor print its text. A zeroed struct is empty. No
 * function here allocates.
 */
#define MLGEN_ERR_MAX 2048

struct mlgen_err {
	int code; /* -errno, 0 while empty */
	char text[MLGEN_ERR_MAX];
};

/*
 * Fill `err` (may be NULL) unless it is filled already, and return `code`, a negative errno:
 * `return mlgen_fail(err, -EINVAL, "bs: ...");`. The sentence has no full stop, names the thing,
 * its value and a remedy. This is a macro because analyzers do not look into variadic functions and
 * would assume that the result is unknown.
 */
#define mlgen_fail(err, code, ...)                                                                 \
	(mlgen_err_fill((err), (code), __VA_ARGS__), mlgen_err_code(code))

__attribute__((format(printf, 3, 4), unused)) static void mlgen_err_fill(struct mlgen_err *err,
									 int code, const char *fmt,
									 ...)
{
	if (err && err->code == 0) {
		va_list ap;

		va_start(ap, fmt);
		err->code = code;
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
}

__attribute__((unused)) static int mlgen_err_code(int code)
{
	return code;
}
