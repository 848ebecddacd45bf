/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io.c - what a dry run computes for a plain job, and the page that it prints. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "work/plain/iofiles.h"
#include "work/plain/plain_inside.h"
#include "work/plain/plan_io.h"
#include "work/plain/stream.h"

/* ---- computing ---- */

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

void plan_io_check_mount(struct plan_report *p)
{
	if (!p->io.directory)
		return;
	if (mount_read(&p->mount, p->io.directory, NULL))
		return; /* a rule says so */
	p->free_bytes = p->mount.free_bytes;
	plan_add_check(p, "data", PLAN_OK, "%s", "");
	if (p->write_files)
		plan_add_check(p, "space", PLAN_OK, "%s", "");
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: nothing of a disk is measured there",
			       p->mount.type, p->mount.target);
}

void plan_io_check_memory(struct plan_report *p, bool reads_cached)
{
	double memory = (double)p->memory_bytes;

	p->dataset_memory_ratio = memory > 0 ? (double)p->io.file_bytes / memory : (double)NAN;
	if (p->dataset_memory_ratio < 1 && reads_cached)
		plan_add_check(
			p, "memory", PLAN_WARNING,
			"this host can keep the files in memory: direct=1, or a larger --size");
	else
		plan_add_check(p, "memory", PLAN_OK, "%s", "");
}

static void check_direct(struct plan_report *p, const struct iofiles *f)
{
	char want[UNITS_TEXT_BYTES];

	/* What fails is told by a rule. */
	if (requests_check_direct(p->job, f, &p->direct_align_bytes, NULL) < 0)
		return;
	units_human_bytes(want, (double)p->direct_align_bytes);
	plan_add_check(p, "direct", PLAN_OK, "aligned to %s", want);
}

/* How much is moved, and how many files are open for it. */
static void count_work(struct plan_report *p, const struct iofiles *f)
{
	uint64_t all = 0, bytes = 0;

	p->open_files = PLAN_OWN_FILES;
	for (uint64_t w = 0; w < p->job->numjobs; w++) {
		size_t count;

		iofiles_of(f, w, &count);
		p->open_files += count;
		/* What fails is told by a rule. */
		if (requests_bytes(p->job, f, w, &bytes, NULL) < 0)
			return;
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
	p->reads_in_flight = u64_product(j->numjobs, job_depth(j));
	p->io.buffer_bytes = u64_product(j->numjobs, stream_buffer_bytes(j, job_depth(j)));
	memneed_prepare(&p->need, f->missing_files, iofiles_largest_missing(f));
	if (!j->create_only)
		plain_need(&p->need, j, files);
	p->program_bytes = u64_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
}

/* Are the same bytes read again, or were they left where they are? */
static bool reads_cached(const struct job *j)
{
	return job_reads(j) && !j->direct &&
	       (j->invalidate == INVALIDATE_NONE || j->time_based || j->loops > 1);
}

static void look_at_files(struct plan_report *p, const struct iofiles *f)
{
	count_files(p, f);
	count_work(p, f);
	if (!p->touches_files)
		return;
	plan_io_check_mount(p);
	plan_io_check_memory(p, reads_cached(p->job));
	if (p->job->direct)
		check_direct(p, f);
}

int plan_io(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused)
{
	const struct settings *set = in->set;
	const struct iofiles_request req = { .job = p->job,
					     .readonly = set->readonly,
					     .allow_fill = set->allow_fill,
					     .allow_device = set->allow_device };
	struct iofiles f = { 0 };

	/* What fails is told by a rule. */
	if (iofiles_init(&f, &req, NULL) == 0)
		look_at_files(p, &f);
	(void)unused;
	compute_memory(p, &f);
	iofiles_fini(&f);
	return 0;
}

char *plan_io_directory(const struct plan_report *p)
{
	return p->io.directory;
}

/* ---- printing ---- */

static void put_pattern(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;
	bool is_split = has_text(j->bssplit);

	plan_say(text, p, "{rw}");
	if (job_reads(j) && job_writes(j))
		plan_say(text, p, " ({rwmixread} reads)");
	plan_say(text, p, "[, {bssplit=}]");
	if (!is_split && job_reads(j))
		plan_say(text, p, ", {bs.read} reads");
	if (!is_split && job_writes(j))
		plan_say(text, p, ", {bs.write} writes");
	plan_say(text, p, ", {numjobs} worker{s}");
}

void plan_io_put_data(FILE *to, const struct plan_report *p, const char *where)
{
	const struct plan_check *data = plan_find_check(p, "data");
	struct buf line = { 0 };

	plan_start_line(&line, "data");
	if (!p->touches_files) {
		plan_say(&line, p,
			 "{ioengine=} touches no file: nothing is written, read or needed on "
			 "storage");
		plan_put_line(to, &line);
		return;
	}
	if (p->io.files == 0) {
		buf_add(&line, "the job's files");
		plan_put_checked(to, &line, data);
		return;
	}
	plan_say(&line, p, "{plan.files} file{s}");
	if (p->io.directory) {
		buf_addf(&line, " %s ", where);
		plan_say(&line, p, "{plan.directory}");
	}
	plan_add_bytes(to, &line, (double)p->io.file_bytes);
	plan_put_line(to, &line);
	plan_put_present(to, p, "data");
	if (p->write_files)
		plan_put_free(to, p);
	plan_put_storage(to, p);
	plan_put_ratio(to, p, "files");
}

static void put_data(FILE *to, const struct plan_report *p)
{
	plan_io_put_data(to, p, "in");
}

static const char *moved(const struct job *j)
{
	return !job_writes(j) ? " read" : !job_reads(j) ? " written" : " read and written";
}

static void add_moves(struct buf *line, const struct plan_report *p)
{
	plan_say(line, p, "{plan.move_bytes}");
	buf_add(line, moved(p->job));
	if (p->job->loops > 1)
		plan_say(line, p, " in {loops} loops");
	plan_say(line, p, "[, or {runtime}]");
}

static void put_run(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (j->create_only)
		buf_add(text, "create_only: makes the files and ends");
	else if (p->io.move_bytes != UINT64_MAX)
		add_moves(text, p);
	else if (j->runtime_ns)
		plan_say(text, p, "for {runtime}");
	else
		buf_add(text, "of unknown length");
	plan_say(text, p, "[, after {ramp_time} of ramp_time]");
}

/* Of all workers: the options say it of one. */
static void add_pace(struct buf *line, const char *what, uint64_t bytes, uint64_t iops,
		     uint64_t workers)
{
	char n[UNITS_TEXT_BYTES];
	double all = (double)workers;
	const char *end = line->len ? "; " : "";

	if (bytes)
		buf_addf(line, "%s%s %s/s", end, what, units_human_bytes(n, (double)bytes * all));
	if (bytes && iops)
		end = ", ";
	if (iops)
		buf_addf(line, "%s%s %s IOPS", end, what, units_sig4(n, (double)iops * all));
}

static void put_pace(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (job_reads(j))
		add_pace(text, "reads", j->rate.read, j->rate_iops.read, j->numjobs);
	if (job_writes(j))
		add_pace(text, "writes", j->rate.write, j->rate_iops.write, j->numjobs);
}

static void put_in_flight(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "{plan.reads_in_flight} request{s} ({numjobs} worker{s}");
	if (p->processes > 1)
		buf_add(text, " in each process");
	if (job_depth(p->job) == 1)
		buf_add(text, ", one each)");
	else
		buf_addf(text, " x iodepth %u)", job_depth(p->job));
}

void plan_io_put_memory(struct buf *text, const struct plan_report *p)
{
	plan_put_program(text, p);
	plan_say(text, p, "[, of which {plan.buffer_bytes} are buffers]");
}

void plan_io_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ "pattern", .put = put_pattern, .check = "requests" },
		{ .lines = put_data },
		{ "run", .put = put_run },
		{ "rate", .put = put_pace },
		{ .lines = plan_put_direct },
		{ "in flight", .put = put_in_flight },
		{ "memory", .put = plan_io_put_memory, .check = "program" },
		{ "files", .put = plan_put_open_files, .check = "files" },
		{ 0 },
	};

	plan_put_list(to, lines, p);
}
