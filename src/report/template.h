/* SPDX-License-Identifier: Apache-2.0 */
/* template.h - sentences with figures: "{files} file{s}, {file_bytes}[, in {directory}]". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"

/*
 *	{key}	the figure of that name, shown as its row says: bytes, times, rates
 *		and percent with their unit; counts, seconds, and doubles in ns,
 *		which are milliseconds, without
 *	{key=}	an option as a job file has it: "direct=1"
 *	{s}	the plural of the count before it
 *	[...]	vanishes where a figure in it says nothing: null, an empty text, a
 *		count of 0, and an option {key=} that is at its default
 *
 * Outside of brackets what is null is "unknown". There are no conditions, loops or
 * sums: what needs them is C between two templates.
 */

/*
 * A page is a struct that holds, or points to, all that its templates say. Each scope is a struct
 * of it and the table that describes it: its rows are keys behind the name of the scope,
 * "storage.directory", or without where that is "".
 */
struct template_scope {
	const char *name; /* NULL ends a list */
	const struct mlgen_field *table;
	size_t off; /* of the struct in the page, or of the pointer to it */
	bool is_pointer;
};

#define TEMPLATE_AT(page, m, t) .off = MLGEN_MEMBER(page, m, const t *), .is_pointer = true

/* Of struct job: both halves of bs. */
extern const struct mlgen_field template_bs_fields[];

/* A template and what its keys mean. All that there are stand behind one another in a section of
 * the program, where the linker puts them, so that a test can resolve every key: what -Wformat is
 * for printf. */
struct template
{
	const char *text;
	const struct template_scope *scopes;
}
__attribute__((aligned(2 * sizeof(void *))));

#define TEMPLATE(scopes, text)                                                                     \
	(__extension__({                                                                           \
		static const struct template template_here                                         \
			__attribute__((section("templates"), used)) = { text, scopes };            \
		&template_here;                                                                    \
	}))

/* Append; it has passed template_check(). */
void template_put(struct buf *out, const struct template *t, const void *page);

/* Does every key resolve, and is it well formed? 0, or -EINVAL with err. */
int template_check(const struct template *t, struct mlgen_err *err);

/* The first, or NULL, and the one behind `t`. */
const struct template *template_next(const struct template *t);
