/* SPDX-License-Identifier: Apache-2.0 */
/* variant.h - one of several words, some of which have an argument of their own. */
#pragma once

#include <mlgen/field.h>

#include "base/buf.h"
#include "job/fields.h"

/*
 * A choice whose name is "NAME:FORM" is written with an argument: FORM begins with N, a number from
 * 1 on, or SIZE, at least a byte, and where "[:WORD]" follows a second number may, which is 0 where
 * it does not; or it is DIST, a distribution of plain numbers.
 */

/* The FORM of a choice; NULL = it has none. */
const char *variant_form(const struct mlgen_choice *c);

/* As in "buffer:", or all of a name without an argument: its length. */
size_t variant_word_length(const struct mlgen_choice *c);

/* Where in a value a distribution begins, or its end. */
size_t variant_dist_at(const struct mlgen_choice *choices, const char *value);

/* 0, or -EINVAL, -ERANGE: "'gren' is none of red blue; did you mean 'blue'?". */
int variant_parse(struct variant *out, const struct mlgen_choice *choices, const char *text,
		  unsigned kb_base, struct mlgen_err *err);
void variant_format(struct buf *out, const struct variant *v, const struct mlgen_choice *choices);
