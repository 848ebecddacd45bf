/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_dataset.c - what the JSON document has of a dataset. */
#include <string.h>

#include "data/file/file.h"
#include "report/metrics_tables.h"

/* clang-format off */

#define M struct metrics_dataset
const struct mlgen_field metrics_dataset_fields[] = {
	{ "directory", MLGEN_F_STR(M, dataset.directory),
	  .help = "Where the dataset lies." },
	{ "format", MLGEN_F_STR(M, format),
	  .help = "Format of its files; with format=auto the one that was found." },
	{ "found", MLGEN_F_BOOL(M, dataset.is_found),
	  .help = "Its files were there and are read as they are, by dataset=scan or because DLIO had made them." },
	{ "files", MLGEN_F_U64(M, dataset.files), .unit = "files",
	  .help = "Files that the job reads." },
	{ "files_named", MLGEN_F_U64(M, dataset.files_named), .unit = "files",
	  .help = "Files of the whole dataset, the number in their names." },
	{ "samples_per_file", MLGEN_F_U64(M, dataset.samples_per_file), .unit = "samples",
	  .help = "Samples in each file; their mean, rounded up, where they differ." },
	{ "samples", MLGEN_F_U64(M, samples), .unit = "samples",
	  .help = "Samples in all these files." },
	{ "uneven", MLGEN_F_BOOL(M, is_uneven),
	  .help = "The files have different numbers of samples." },
	{ "subfolders", MLGEN_F_U64(M, dataset.subfolders), .unit = "folders",
	  .help = "Folders among which the files are spread; 0 and 1 = one." },
	{ "bytes", MLGEN_F_U64(M, totals.bytes), .unit = "bytes",
	  .help = "Size of all these files." },
	{ "sample_bytes", MLGEN_F_U64(M, totals.sample_bytes), .unit = "bytes",
	  .help = "Payload in them that is asked for: of columns those that are read, as declared." },
	{ "row_bytes", MLGEN_F_U64(M, totals.row_bytes), .unit = "bytes",
	  .help = "All payload in them, whole rows, without what the format adds." },
	{ "mean_file_bytes", MLGEN_F_F64(M, totals.mean_file_bytes), .unit = "bytes",
	  .help = "Mean size of a file." },
	{ "stdev_file_bytes", MLGEN_F_F64(M, totals.stdev_file_bytes), .unit = "bytes",
	  .help = "Standard deviation of the size of a file." },
	{ "mean_sample_bytes", MLGEN_F_F64(M, totals.mean_sample_bytes), .unit = "bytes",
	  .help = "Mean payload of a sample that is asked for." },
	{ "scan_read_bytes", MLGEN_F_F64(M, totals.scan_read_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What dataset=scan read of the files to know their samples, before the run; null = it looked into none." },
	{ "scan_seconds", MLGEN_F_F64(M, totals.scan_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that took." },
	{ "scan_kept_files", MLGEN_F_F64(M, totals.scan_kept_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files that it did not look into, because scan_cache, or the run before of the same command, had what is in them; null = it looks into none." },
	{ "label_files", MLGEN_F_F64(M, totals.label_files), .unit = "files", .flags = MLGEN_NULLABLE,
	  .help = "Files that have a label file, which is read with their samples; null = there are no such pairs." },
	{ "estimate", MLGEN_F_BOOL(M, totals.estimate),
	  .help = "The sizes are expectations, not sums: there are more than a million files." },
	{ 0 },
};
#undef M

/* clang-format on */

bool metrics_dataset_init(struct metrics_dataset *m, const struct dataset *ds,
			  const struct dataset_totals *totals)
{
	memset(m, 0, sizeof(*m));
	if (!ds || !ds->format)
		return false;
	m->dataset = *ds;
	m->totals = *totals;
	m->format = ds->format->name;
	m->samples = dataset_samples(ds);
	m->is_uneven = ds->uneven_samples != 0;
	return true;
}
