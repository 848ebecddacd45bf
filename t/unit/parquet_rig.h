/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_rig.h - datasets of Parquet files of some columns. */
#pragma once

#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"

#define LEAST_BUFFER 65536u

struct table {
	uint64_t rows, group;
	double bytes;
	const char *columns, *read;
};

static inline int try_table(struct dataset *ds, const struct table *t, struct mlgen_err *err)
{
	static char directory[] = "d";
	char *columns = t->columns ? mem_strdup(t->columns) : NULL;
	char *read = t->read ? mem_strdup(t->read) : NULL;
	const struct job job = { .directory = directory,
				 .format = FORMAT_PARQUET,
				 .num_files = 10,
				 .samples_per_file = t->rows,
				 .row_group_size = t->group,
				 .columns = columns,
				 .read_columns = read,
				 .sample_size = { .a = t->bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };
	int r = dataset_init(ds, &job, 0, err);

	mem_free(columns);
	mem_free(read);
	return r;
}

static inline const struct parquet *make(struct dataset *ds, const struct table *t)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(try_table(ds, t, &err) == 0, "%s", err.text);
	return ds->common;
}

/* clang-format off */
static __attribute__((unused)) const struct table tables[] = {
	{ 1, 1024, 1, NULL, NULL },
	{ 5, 1024, 100000, NULL, NULL },
	{ 12, 4, 1000, NULL, NULL },
	{ 2, 1, 3000000, NULL, NULL },
	{ 6000, 1000, 27,
	  "a:int8,b:int32,c:int64,d:float16,e:float32,f:float64", "b,d" },
	{ 300000, 300000, 9, "a:int8,b:int64", NULL },
	{ 262144, 262144, 4, "b:float32", NULL },
	{ 262145, 262145, 4, "b:float32", NULL },
	{ 20, 10, 1048577, "a:int8,b:int8[1048576]", "a" },
	{ 900, 1, 120, "c_0..9:float64,d_00..39:int8", "c_3,d_07..09" },
};
#define TABLES ((int)(sizeof(tables) / sizeof(tables[0])))

/* As wide as MLPerf's: 40 of 200 columns are read, 160 of 761 bytes. */
#define DLRM_COLUMNS \
	"feature_000..026:float32, feature_027..031:float64," \
	"feature_032..035:float16, feature_036..039:int8," \
	"feature_040..146:float32, feature_147..161:float64," \
	"feature_162..176:float16, feature_177..199:int8"
static __attribute__((unused)) const struct table dlrm = {
	4718592, 6144, 761, DLRM_COLUMNS, "feature_000..039",
};
/* clang-format on */
