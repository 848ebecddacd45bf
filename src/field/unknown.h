/* SPDX-License-Identifier: Apache-2.0 */
/* unknown.h - what a member of a result is while nothing is known of it. */
#pragma once

#include <mlgen/field.h>

/*
 * Make it that: NaN, UINT64_MAX where its row is nullable, else 0; no text, no latencies, no
 * elements; each row of an object. What it pointed to is not freed. A type that only options have
 * stays as it is.
 */
void field_unknown(const struct mlgen_field *f, void *member);

/* The same of all members of a struct. */
void fields_unknown(const struct mlgen_field *table, void *base);
