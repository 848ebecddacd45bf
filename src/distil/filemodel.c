/* SPDX-License-Identifier: Apache-2.0 */
/* filemodel.c - a data set of one file that has so many bytes. */
#include "distil/filemodel.h"

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"

/* Rows of Parquet are of one size for the whole file, which its headers and footer hardly depend
 * on. */
enum { PARQUET_ROUNDS = 4 };

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static bool model_make(struct dataset *ds, const struct filemodel *m, uint64_t sample_bytes)
{
	struct mlgen_err ignored = { 0 };

	*ds = (struct dataset){
		.format = format_of(m->format),
		.directory = mem_strdup("."),
		.files = 1,
		.files_named = 1,
		.subfolders = 1,
		.samples_per_file = m->samples_per_file,
		.sample_size = { .kind = DIST_CONST, .a = (double)sample_bytes },
		.options = { .row_group_size = m->row_group_size,
			     .columns = copy_of(m->columns),
			     .read_columns = copy_of(m->read_columns) },
	};
	return ds->format && dataset_init_format(ds, &ignored) == 0;
}

static uint64_t bytes_with(const struct dataset *ds, uint64_t sample_bytes)
{
	const struct file_shape shape = { .samples = ds->samples_per_file,
					  .sides = { 1, sample_bytes },
					  .common = ds->common };

	return ds->format->file_bytes(&shape);
}

/* The smallest sample whose file has so many bytes, at most `high`. */
static uint64_t least_with(const struct dataset *ds, uint64_t file_bytes, uint64_t high)
{
	return BISECT(bytes, 1, high, bytes_with(ds, bytes) >= file_bytes);
}

static uint64_t middle_with(const struct dataset *ds, uint64_t file_bytes, uint64_t most)
{
	uint64_t least = least_with(ds, file_bytes, most);
	uint64_t bytes = bytes_with(ds, least);

	return least + (least_with(ds, bytes + 1, most + 1) - least) / 2;
}

static bool model_parquet(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes)
{
	uint64_t rows = m->samples_per_file, row = file_bytes / rows;

	for (unsigned i = 0; i < PARQUET_ROUNDS; i++) {
		uint64_t bytes;

		if (i)
			dataset_fini(ds);
		if (!model_make(ds, m, u64_max(row, 1)))
			return false;
		bytes = bytes_with(ds, row);
		if (bytes > file_bytes)
			row -= u64_min(row, divide_up(bytes - file_bytes, rows));
		else if (file_bytes - bytes < rows)
			break;
		else
			row += (file_bytes - bytes) / rows;
	}
	return true;
}

bool filemodel_init(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes)
{
	uint64_t most = u64_max(file_bytes / m->samples_per_file, 1);

	if (m->format == FORMAT_PARQUET && m->columns)
		return model_make(ds, m, m->row_bytes);
	if (m->format == FORMAT_PARQUET)
		return model_parquet(ds, m, file_bytes);
	/* What a format has in common does not depend on the size, which only has to be one that it
	 * takes. */
	if (!model_make(ds, m, most))
		return false;
	ds->sample_size.a = (double)filemodel_sample_bytes(ds, file_bytes);
	return true;
}

uint64_t filemodel_sample_bytes(const struct dataset *ds, uint64_t file_bytes)
{
	return middle_with(ds, file_bytes, u64_max(file_bytes / ds->samples_per_file, 1));
}
