/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_there.c - a dataset that scale= made for fewer accelerators; see dataset.h. */
#include <errno.h>

#include "data/dataset/dataset_internal.h"
#include "data/file/file.h"
#include "job/job.h"

/* AU counts from the second step of an epoch on. */
#define LEAST_BATCHES 2

uint64_t dataset_ranks_for(const struct dataset *ds, uint64_t files)
{
	uint64_t samples, batches;

	if (!ds->scaled.part || files < ds->scaled.part ||
	    __builtin_mul_overflow(files, ds->samples_per_file, &samples))
		return 0;
	batches = samples / ds->scaled.batch;
	return batches / LEAST_BATCHES;
}

int dataset_take_there(struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	struct manifest m;

	/* What is wrong with it is told when the manifest is compared. */
	if (!ds->scaled.part || !job_touches_files(job) ||
	    manifest_load(ds->directory, &m, NULL) < 0)
		return 0;
	bool is_taken = m.complete && m.num_files < ds->files &&
			dataset_ranks_for(ds, m.num_files) >= ds->scaled.ranks;
	if (is_taken) {
		ds->scaled.whole = ds->files;
		ds->files = m.num_files;
		ds->files_named = m.num_files;
	}
	manifest_fini(&m);
	return is_taken ? dataset_check_ranks(ds, job, job_all_accelerators(job), err) : 0;
}
