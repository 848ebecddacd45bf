/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - see requests.h. */
#include "work/plain/requests.h"

#include <errno.h>

#include "base/mem.h"
#include "base/units.h"
#include "data/pattern/pattern.h"
#include "io/mount.h"

/* The largest power of two that divides all sizes and offsets; 0 = any. */
static uint64_t common_alignment(const struct job *j, const struct iofiles *f)
{
	struct job_size sizes[JOB_SIZES_MAX];
	uint64_t all = 0;

	for (unsigned d = 0; d < 2; d++) {
		bool is_used = d ? job_writes(j) : job_reads(j);
		int n = is_used ? job_sizes(j, d, sizes, NULL) : 0;

		for (int i = 0; i < n; i++)
			all |= sizes[i].bytes;
	}
	for (size_t i = 0; i < f->count; i++)
		all |= f->files[i].region.off;
	return all & (~all + 1);
}

/* Where O_DIRECT is tried: at a file that is there, or where it is to be. */
static const char *place_of(const struct iofiles *f)
{
	const struct iofile *first = f->count ? f->files : NULL;

	return first && !first->is_missing && first->kind != IOFILE_CHAR ? first->path
									 : f->directory;
}

int requests_bytes(const struct job *j, const struct iofiles *f, uint64_t worker, uint64_t *bytes,
		   struct mlgen_err *err)
{
	struct pattern *pattern = NULL;
	size_t count;
	const struct iofile *files = iofiles_of(f, worker, &count);
	struct pattern_region *regions = mem_array(count, sizeof(*regions));

	for (size_t i = 0; i < count; i++)
		regions[i] = files[i].region;
	const struct pattern_config cfg = {
		.job = j, .regions = regions, .count = (unsigned)count, .worker = worker
	};
	int rc = pattern_new(&pattern, &cfg, err);
	if (rc == 0)
		*bytes = pattern_bytes(pattern);
	pattern_free(pattern);
	mem_free(regions);
	return rc;
}

int requests_check(const struct job *j, const struct iofiles *f, struct mlgen_err *err)
{
	uint64_t bytes;
	int rc = 0;

	for (uint64_t w = 0; w < j->numjobs && rc == 0; w++)
		rc = requests_bytes(j, f, w, &bytes, err);
	return rc;
}

int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err)
{
	char want[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];
	uint64_t common = common_alignment(j, f);
	int rc = mount_direct_alignment(place_of(f), align_bytes, err);

	if (rc < 0)
		*align_bytes = 0;
	if (rc < 0 || !common || common >= *align_bytes)
		return rc;
	return mlgen_fail(
		err, -EINVAL,
		"direct=1: bs or offset is a multiple of %s, O_DIRECT takes multiples of %s here",
		units_human_bytes(have, (double)common),
		units_human_bytes(want, (double)*align_bytes));
}
