/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - what columns= and read_columns= of a table say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

/* Of a table, and the letters of a name; more is taken for a mistake. */
#define COLUMNS_MAX 10000
#define COLUMN_NAME_MAX 255

enum column_kind {
	COLUMN_INT8,
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_FLOAT16,
	COLUMN_FLOAT32,
	COLUMN_FLOAT64,
	COLUMN_BYTES, /* one value that is `bytes` long; no text says so */
};

struct column {
	char *name; /* owned */
	enum column_kind kind;
	bool is_list;
	bool is_read;
	uint64_t bytes; /* in a row, as declared: int8 is 1; 1 .. INT32_MAX */
};

struct columns {
	struct column *list; /* in the order of the text */
	unsigned count;
	struct column **by_name;
};

/*
 * "NAME:TYPE,NAME:TYPE[N]", with blanks around the commas or none: a column each, or one for each
 * number of a range ("feature_000..026:float32"). Into a zeroed struct; all are read. 0, or -EINVAL
 * with err ("columns: ..."); the struct wants columns_fini either way.
 */
int columns_parse(struct columns *c, const char *text, struct mlgen_err *err);
/* The same for no text: "data", so many bytes in a row. */
int columns_one(struct columns *c, uint64_t bytes, struct mlgen_err *err);
void columns_fini(struct columns *c);

/* Only those are read whose names or ranges stand in the text; NULL is all.
 * 0, or -EINVAL with err ("read_columns: ..."). */
int columns_select(struct columns *c, const char *text, struct mlgen_err *err);

/* Declared bytes of a row, and those of the columns that are read. */
uint64_t columns_row_bytes(const struct columns *c);
uint64_t columns_read_bytes(const struct columns *c);
