/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_names.h - which columns of somebody else's Parquet file read_columns= names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "data/file/look.h"

#define PARQUET_NAME_MAX 512

struct parquet_name {
	char *text; /* owned; of a range what stands before its numbers */
	bool is_range, is_there;
	size_t digits; /* of the first number */
	unsigned long first, last;
};

/* Names with commas, nested ones with dots, each of what is in it as well, as pyarrow's columns=;
 * ranges as in columns=. None: all columns. */
struct parquet_names {
	struct parquet_name *list; /* owned */
	size_t count;
	char seen[PARQUET_NAME_MAX]; /* some column that the file has */
};

/* 0, or -EINVAL with l->err; parquet_names_fini takes either. */
int parquet_names_init(struct parquet_names *n, const char *text, struct look *l);
void parquet_names_fini(struct parquet_names *n);

bool parquet_names_has(struct parquet_names *n, const char *column);
/* Were all of them asked for? 0, or -EINVAL with l->err. */
int parquet_names_check(const struct parquet_names *n, struct look *l);
