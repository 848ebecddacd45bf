/* SPDX-License-Identifier: Apache-2.0 */
/* field_internal.h - the types that options can have: a row of functions each. */
#pragma once

#include "field/fields.h"

/*
 * `value` is the member itself, of so many bytes. A string, which owns memory, and what only
 * metrics have are no rows: field_type_of() gives NULL.
 */
struct field_type {
	size_t bytes;
	/* In help: "SIZE"; NULL = its choices. */
	const char *word;
	/* Unset is NaN, and not 0. */
	bool is_real;
	/* 0, or -EINVAL, -ERANGE with err, without the option's name. */
	int (*parse)(const struct mlgen_field *f, void *value, const char *text, unsigned kb_base,
		     struct mlgen_err *err);
	/* 0, or -ERANGE with the whole message; NULL = it has no limits. */
	int (*check)(const struct mlgen_field *f, const void *value, const char *text,
		     struct mlgen_err *err);
	/* As text that parse reads back; nothing of what is unset. */
	void (*format)(struct buf *out, const struct mlgen_field *f, const void *value);
	/* A limit, in the same notation. */
	void (*limit)(struct buf *out, double limit);
	/* Of what may be more than its bytes, else NULL: a copy is held, and what was parsed or
	 * held is dropped, which leaves nothing behind. */
	void (*hold)(const void *value);
	void (*drop)(void *value);
};

const struct field_type *field_type_of(const struct mlgen_field *f);

/* Where in a value of one of these choices a distribution begins, or its end. */
size_t variant_dist_at(const struct mlgen_choice *choices, const char *value);
