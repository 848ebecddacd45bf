/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - see advice.h; what it looks at are rules of the checks of each workload. */
#include "job/advice.h"

#include "job/workload.h"

#define SECTOR_BYTES 512

bool advice_makes_files(const struct job *j)
{
	return j->dataset == DATASET_MADE;
}

const char *advice_more_files(const struct job *j, bool makes_files)
{
	if (!makes_files)
		return "a directory with more files";
	return j->dataset_ratio > 0 ? "a larger dataset_ratio" : "more num_files";
}

/* DLIO's readers do, and TensorFlow's. */
bool advice_format_takes_direct(const struct job *j)
{
	return j->format == FORMAT_NPZ || j->format == FORMAT_NPY || j->format == FORMAT_TFRECORD;
}

static bool has_sectors(const struct job *j)
{
	return j->bs.read % SECTOR_BYTES == 0 && j->bs.write % SECTOR_BYTES == 0;
}

bool advice_direct(const struct job *j)
{
	const struct mlgen_engine *e = j->engine;
	bool is_framework = j->access == ACCESS_FRAMEWORK && !job_work(j)->is_plain;

	if (j->direct || (e && !(e->caps & MLGEN_CAP_DIRECT)))
		return false;
	if (!is_framework)
		return has_sectors(j);
	if (job_has_checkpoints(j) && j->checkpoint_layout != LAYOUT_STREAM)
		return false;
	return !job_work(j)->has_accelerators || advice_format_takes_direct(j);
}
