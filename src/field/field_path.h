/* SPDX-License-Identifier: Apache-2.0 */
/* field_path.h - along the rows of tables by a path: "epochs.2.au_percent". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/field.h>

/*
 * Objects are entered with a dot, elements of a list by their number from 0. A path ends at a row
 * in which there is nothing to enter: of a latency and of a map, `rest` is what is asked of it.
 * Capitals make no difference.
 */
struct field_path {
	const struct mlgen_field *table; /* in which `part` is looked for */
	const struct mlgen_field *row;   /* NULL = it is not there */
	const char *part, *end;          /* the name of the row in the path */
	const char *rest;                /* behind it, and the number of an element */
	bool is_element;                 /* of the list that the row is ... */
	size_t index;                    /* ... this one */
};

/* At the first row; the path is borrowed. */
void field_path_init(struct field_path *p, const struct mlgen_field *table, const char *path);

/* One row deeper; false: the path ends at this one. */
bool field_path_next(struct field_path *p);

/* Of a struct that the table describes: the member, or the element of the list that it is; NULL =
 * there are not so many. */
const void *field_path_member(const struct field_path *p, const void *base);

bool field_is_list(const struct mlgen_field *row);
const struct mlgen_field *field_row(const struct mlgen_field *table, const char *name, size_t len);
