/* SPDX-License-Identifier: Apache-2.0 */
/* field_internal.h - the types of options: a row of functions each. */
#pragma once

#include "field/fields.h"

/*
 * In these functions, `value` points to the member, which has `bytes` bytes. The table contains
 * neither strings, which own memory, nor types that only metrics have: field_type_of() returns NULL
 * for both.
 */
struct field_type {
	size_t bytes;
	/* Word in help texts: "SIZE"; NULL = the choices. */
	const char *word;
	/* An unset value is NaN instead of 0. */
	bool is_real;
	/* Parse the text. 0, or -EINVAL or -ERANGE with err, which does not name the option. */
	int (*parse)(const struct mlgen_field *f, void *value, const char *text, unsigned kb_base,
		     struct mlgen_err *err);
	/* Check the limits. 0, or -ERANGE with the complete message. The pointer is NULL for types
	 * without limits. */
	int (*check)(const struct mlgen_field *f, const void *value, const char *text,
		     struct mlgen_err *err);
	/* Append the value as text that parse reads back; an unset value appends nothing. */
	void (*format)(struct buf *out, const struct mlgen_field *f, const void *value);
	/* Append a limit in the same notation. */
	void (*limit)(struct buf *out, double limit);
	/* For values that refer to shared memory, otherwise NULL: hold adds a reference for a
	 * copy; drop removes the reference of a parsed or held value. */
	void (*hold)(const void *value);
	void (*drop)(void *value);
};

const struct field_type *field_type_of(const struct mlgen_field *f);

/* Offset of the distribution in a value of one of these choices; the length of the value if it has
 * none. */
size_t variant_dist_at(const struct mlgen_choice *choices, const char *value);
