/* SPDX-License-Identifier: Apache-2.0 */
/* columns_found.h - columns of Parquet files that have the chunks of those of a trace. */
#pragma once

#include <stdint.h>

#include "distil/explain.h"
#include "distil/peek.h"

/* As job files have them; owned. NULL: one column is as good. */
struct columns_found {
	char *columns, *read_columns;
	uint64_t row_bytes;
	uint32_t count, read;
};

/*
 * A column of so many bytes a row for each chunk of a row group; those that visits read are
 * read_columns. Names are made up: types are not known from calls.
 */
void columns_found(struct columns_found *c, const struct peek *p,
		   const struct explain_visit *visits, unsigned count);
void columns_found_fini(struct columns_found *c); /* takes a zeroed one */
