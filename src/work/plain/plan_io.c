/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io.c - what a dry run computes for a plain job; plan_io_text.c prints it. */
#include "work/plain/plan_io.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dirs.h"
#include "base/mem.h"
#include "base/units.h"
#include "data/pattern.h"
#include "report/plan_parts.h"
#include "run/filemaker.h"
#include "work/plain/iofiles.h"
#include "work/plain/iolayout.h"
#include "work/plain/plain_need.h"
#include "work/plain/stream.h"

static void count_files(struct plan_report *p, const struct iofiles *f)
{
	p->io.files = f->count;
	for (size_t i = 0; i < f->count; i++) {
		const struct iofile *file = &f->files[i];

		p->io.file_bytes += file->bytes;
		if (!file->is_missing) {
			p->present_files++;
			p->present_bytes += file->bytes;
		}
	}
	p->write_files = f->missing_files;
	p->write_bytes = f->missing_bytes;
	if (f->directory)
		p->io.directory = mem_strdup(f->directory);
}

static void check_writing(struct plan_report *p)
{
	const char *dir = p->io.directory;
	char n[UNITS_TEXT_BYTES];

	units_human_count(n, p->write_files);
	if (p->mount.read_only)
		plan_add_check(p, "data", PLAN_FAIL,
			       "%s: %s files are missing and %s is mounted "
			       "read-only; choose another --directory",
			       dir, n, p->mount.target);
	else if (!dirs_can_write(dir))
		plan_add_check(p, "data", PLAN_FAIL,
			       "%s: %s files are missing and the directory is "
			       "not writable for this user; choose another "
			       "--directory",
			       dir, n);
	else
		plan_add_check(p, "data", PLAN_OK, "%s", "");
}

static void check_space(struct plan_report *p, const struct settings *set)
{
	const struct filemaker_room room = {
		.path = p->io.directory,
		.purpose = "to lay out",
		.missing_bytes = p->write_bytes,
		.free_bytes = p->free_bytes,
		.allow_fill = set->allow_fill,
		.way_out = IOLAYOUT_WAY_OUT,
		.or_fill = IOLAYOUT_OR_FILL,
	};

	plan_check_room(p, &room);
}

static void check_mount(struct plan_report *p, const struct settings *set)
{
	struct mlgen_err err = { 0 };

	if (!p->io.directory)
		return;
	if (mount_read(&p->mount, p->io.directory, &err))
		return; /* a rule says so */
	p->free_bytes = p->mount.free_bytes;
	if (p->write_files)
		check_writing(p);
	else
		plan_add_check(p, "data", PLAN_OK, "%s", "");
	if (p->write_files)
		check_space(p, set);
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: nothing of a disk is "
			       "measured there",
			       p->mount.type, p->mount.target);
}

/* Are the same bytes read again, or were they left where they are? */
static bool reads_cached(const struct job *j)
{
	return job_reads(j) && !j->direct &&
	       (j->invalidate == INVALIDATE_NONE || j->time_based ||
		j->loops > 1);
}

static void check_memory(struct plan_report *p)
{
	double memory = (double)p->memory_bytes;

	p->dataset_memory_ratio =
		memory > 0 ? (double)p->io.file_bytes / memory : (double)NAN;
	if (p->dataset_memory_ratio < 1 && reads_cached(p->job))
		plan_add_check(p, "memory", PLAN_WARNING,
			       "this host can keep the files in memory: "
			       "direct=1, or a larger --size");
	else
		plan_add_check(p, "memory", PLAN_OK, "%s", "");
}

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

static void check_direct(struct plan_report *p, const struct iofiles *f)
{
	struct mlgen_err err = { 0 };
	char want[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];
	const char *probe = p->io.directory;

	if (f->count && !f->files[0].is_missing)
		probe = f->files[0].path;
	if (!probe)
		return;
	if (mount_direct_alignment(probe, &p->direct_align_bytes, &err)) {
		p->direct_align_bytes = 0;
		plan_add_check(p, "direct", PLAN_FAIL, "%s", err.text);
		return;
	}
	uint64_t common = common_alignment(p->job, f);
	units_human_bytes(want, (double)p->direct_align_bytes);
	units_human_bytes(have, (double)common);
	if (common && common < p->direct_align_bytes)
		plan_add_check(p, "direct", PLAN_FAIL,
			       "direct=1: bs or offset is a multiple of %s, "
			       "O_DIRECT takes multiples of %s here",
			       have, want);
	else
		plan_add_check(p, "direct", PLAN_OK, "aligned to %s", want);
}

/* Bytes of one worker; UINT64_MAX where nothing but time ends it. */
static int worker_bytes(const struct plan_report *p, const struct iofiles *f,
			uint64_t worker, uint64_t *bytes, struct mlgen_err *err)
{
	struct pattern *pattern = NULL;
	size_t count;
	const struct iofile *files = iofiles_of(f, worker, &count);
	struct pattern_region *regions = mem_array(count, sizeof(*regions));

	for (size_t i = 0; i < count; i++)
		regions[i] = files[i].region;
	const struct pattern_config cfg = { .job = p->job,
					    .regions = regions,
					    .count = (unsigned)count,
					    .worker = worker };
	int rc = pattern_new(&pattern, &cfg, err);
	if (rc == 0)
		*bytes = pattern_bytes(pattern);
	pattern_free(pattern);
	mem_free(regions);
	return rc;
}

/* How much is moved, and how many files are open for it. */
static void count_work(struct plan_report *p, const struct iofiles *f)
{
	struct mlgen_err err = { 0 };
	uint64_t all = 0, bytes = 0;

	p->open_files = PLAN_OWN_FILES;
	for (uint64_t w = 0; w < p->job->numjobs; w++) {
		size_t count;

		iofiles_of(f, w, &count);
		p->open_files += count;
		if (worker_bytes(p, f, w, &bytes, &err)) {
			plan_add_check(p, "requests", PLAN_FAIL, "%s",
				       err.text);
			return;
		}
		if (__builtin_add_overflow(all, bytes, &all))
			all = UINT64_MAX;
	}
	p->io.move_bytes = p->job->create_only ? 0 : all;
}

static void compute_memory(struct plan_report *p, const struct iofiles *f)
{
	const struct job *j = p->job;
	size_t files = 0;

	if (f->count)
		iofiles_of(f, 0, &files);
	p->reads_in_flight = plan_product(j->numjobs, job_depth(j));
	p->io.buffer_bytes =
		plan_product(j->numjobs, stream_buffer_bytes(j, job_depth(j)));
	memneed_prepare(&p->need, f->missing_files, iofiles_largest_missing(f));
	if (!j->create_only)
		plain_need(&p->need, j, files);
	p->program_bytes = plan_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
}

static void look_at_files(struct plan_report *p, const struct iofiles *f,
			  const struct settings *set)
{
	count_files(p, f);
	count_work(p, f);
	if (!p->touches_files)
		return;
	check_mount(p, set);
	check_memory(p);
	if (p->job->direct)
		check_direct(p, f);
}

int plan_io(struct plan_report *p, const struct plan_input *in,
	    struct mlgen_err *unused)
{
	const struct settings *set = in->set;
	const struct iofiles_request req = { .job = p->job,
					     .readonly = set->readonly,
					     .allow_fill = set->allow_fill,
					     .allow_device =
						     set->allow_device };
	struct iofiles f = { 0 };

	/* What fails is told by a rule. */
	if (iofiles_init(&f, &req, NULL) == 0)
		look_at_files(p, &f, set);
	(void)unused;
	compute_memory(p, &f);
	iofiles_fini(&f);
	return 0;
}
