/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - which sizes pages of a data set can have. */
#include "data/cache/cache.h"

#include <errno.h>
#include <inttypes.h>

static double extent_bytes(const struct dataset *ds)
{
	return dataset_mean_file_bytes(ds) / (double)dataset_first_extent(ds, 1);
}

int pages_check(const struct dataset *ds, uint64_t size_bytes, struct mlgen_err *err)
{
	double file_bytes = dataset_mean_file_bytes(ds);

	if (ds->found || ds->extents_differ)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: pages are of files that have as many samples each, "
				  "and those of %s differ; use sample or file",
				  ds->directory);
	if (dataset_first_extent(ds, 1) == 1)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page has several of a file, and the files of %s "
				  "are read whole; use sample",
				  ds->directory);
	if ((double)size_bytes < extent_bytes(ds))
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes holds not one of what is read together, which has %.0f; "
				  "a size from there to the %.0f of a file, or sample",
				  size_bytes, extent_bytes(ds), file_bytes);
	if ((double)size_bytes > file_bytes)
		return mlgen_fail(err, -EINVAL,
				  "cache_unit: a page of %" PRIu64
				  " bytes is larger than a file, which has %.0f; a size from %.0f "
				  "to there, or file",
				  size_bytes, file_bytes, extent_bytes(ds));
	return 0;
}
