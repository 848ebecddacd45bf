/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - the workload and the dry run of a plain job, and the checks of its options. */
#include "work/plain/plain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/mlperf/mlperf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/pattern/pattern.h"
#include "report/plan/plan.h"
#include "report/text/text.h"

/* ---- computing the plan ---- */

void plan_io_check_mount(struct plan_report *p)
{
	if (!p->io.directory)
		return;
	if (mount_read(&p->mount, p->io.directory, NULL))
		return; /* a rule reports it */
	p->free_bytes = p->mount.free_bytes;
	plan_add_check(p, "data", PLAN_OK, "%s", "");
	if (p->write_files)
		plan_add_check(p, "space", PLAN_OK, "%s", "");
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: no disk is measured there", p->mount.type,
			       p->mount.target);
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

/* Compute the bytes that the job moves and the files that it keeps open. */
static void count_work(struct plan_report *p, const struct iofiles *f)
{
	uint64_t all = 0, bytes = 0;

	p->open_files = PLAN_OWN_FILES;
	for (uint64_t w = 0; w < p->job->numjobs; w++) {
		size_t count;

		iofiles_of(f, w, &count);
		p->open_files += count;
		/* A rule reports failures. */
		if (requests_bytes(p->job, f, w, &bytes, NULL) < 0)
			return;
		all = u64_sum(all, bytes);
	}
	p->io.move_bytes = p->job->create_only ? 0 : all;
}

/* True if the page cache may serve reads: bytes are read repeatedly, or are still in it. */
static bool reads_cached(const struct job *j)
{
	return job_reads(j) && !j->direct &&
	       (j->invalidate == INVALIDATE_NONE || j->time_based || j->loops > 1);
}

static void plan_files(struct plan_report *p, const struct iofiles *f)
{
	char want[UNITS_TEXT_BYTES];

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
	count_work(p, f);
	if (!p->touches_files)
		return;
	plan_io_check_mount(p);
	plan_io_check_memory(p, reads_cached(p->job));
	/* A rule reports failures. */
	if (!p->job->direct || requests_check_direct(p->job, f, &p->direct_align_bytes, NULL) < 0)
		return;
	units_human_bytes(want, (double)p->direct_align_bytes);
	plan_add_check(p, "direct", PLAN_OK, "aligned to %s", want);
}

int plan_io(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused)
{
	const struct settings *set = in->set;
	const struct iofiles_request req = { .job = p->job,
					     .readonly = set->readonly,
					     .allow_fill = set->allow_fill,
					     .allow_device = set->allow_device };
	struct iofiles f = { 0 };

	/* A rule reports failures. */
	if (iofiles_init(&f, &req, NULL) == 0)
		plan_files(p, &f);
	(void)unused;

	const struct job *j = p->job;
	size_t files = 0;
	if (f.count)
		iofiles_of(&f, 0, &files);
	p->reads_in_flight = u64_product(j->numjobs, job_depth(j));
	p->io.buffer_bytes = u64_product(j->numjobs, stream_buffer_bytes(j, job_depth(j)));
	memneed_prepare(&p->need, f.missing_files, iofiles_largest_missing(&f));
	if (!j->create_only)
		plain_need(&p->need, j, files);
	p->program_bytes = u64_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);

	iofiles_fini(&f);
	return 0;
}

char *plan_io_directory(const struct plan_report *p)
{
	return p->io.directory;
}

/* ---- printing the plan ---- */

static void append_pattern(struct buf *text, const struct plan_report *p)
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

void plan_io_print_data(FILE *to, const struct plan_report *p, const char *where)
{
	const struct plan_check *data = plan_find_check(p, "data");
	struct buf line = { 0 };

	plan_start_line(&line, "data");
	if (!p->touches_files) {
		plan_say(&line, p,
			 "{ioengine=} touches no file: nothing is written, read or needed on "
			 "storage");
		plan_print_line(to, &line);
		return;
	}
	if (p->io.files == 0) {
		buf_add(&line, "the job's files");
		plan_print_checked(to, &line, data);
		return;
	}
	plan_say(&line, p, "{plan.files} file{s}");
	if (p->io.directory) {
		buf_addf(&line, " %s ", where);
		plan_say(&line, p, "{plan.directory}");
	}
	plan_add_bytes(to, &line, (double)p->io.file_bytes);
	plan_print_line(to, &line);
	plan_print_present(to, p, "data");
	if (p->write_files)
		plan_print_free(to, p);
	plan_print_storage(to, p);
	plan_print_ratio(to, p, "files");
}

static void print_data(FILE *to, const struct plan_report *p)
{
	plan_io_print_data(to, p, "in");
}

static void append_run(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (j->create_only) {
		buf_add(text, "create_only: creates the files and exits");
	} else if (p->io.move_bytes != UINT64_MAX) {
		plan_say(text, p, "{plan.move_bytes}");
		buf_add(text, !job_writes(j)  ? " read"
			      : !job_reads(j) ? " written"
					      : " read and written");
		if (j->loops > 1)
			plan_say(text, p, " in {loops} loops");
		plan_say(text, p, "[, or {runtime}]");
	} else if (j->runtime_ns) {
		plan_say(text, p, "for {runtime}");
	} else {
		buf_add(text, "of unknown length");
	}
	plan_say(text, p, "[, after {ramp_time} of ramp_time]");
}

/* Append the rate of all workers; the options give the rate of one. */
static void append_rate(struct buf *line, const char *what, uint64_t bytes, uint64_t iops,
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

static void append_pace(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (job_reads(j))
		append_rate(text, "reads", j->rate.read, j->rate_iops.read, j->numjobs);
	if (job_writes(j))
		append_rate(text, "writes", j->rate.write, j->rate_iops.write, j->numjobs);
}

static void append_in_flight(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "{plan.reads_in_flight} request{s} ({numjobs} worker{s}");
	if (p->processes > 1)
		buf_add(text, " in each process");
	if (job_depth(p->job) == 1)
		buf_add(text, ", one each)");
	else
		buf_addf(text, " x iodepth %u)", job_depth(p->job));
}

void plan_io_append_memory(struct buf *text, const struct plan_report *p)
{
	plan_append_program(text, p);
	plan_say(text, p, "[, of which {plan.buffer_bytes} are buffers]");
}

/* Print the lines of the page after its first line. */
static void plan_io_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ "pattern", .put = append_pattern, .check = "requests" },
		{ .lines = print_data },
		{ "run", .put = append_run },
		{ "rate", .put = append_pace },
		{ .lines = plan_print_direct },
		{ "in flight", .put = append_in_flight },
		{ "memory", .put = plan_io_append_memory, .check = "program" },
		{ "files", .put = plan_append_open_files, .check = "files" },
		{ 0 },
	};

	plan_print_list(to, lines, p);
}

/* ---- checks of options that depend on each other ---- */

/* Maximum number of requests in flight; each needs a buffer. */
#define REQUESTS_MAX 4194304.0

/* Requests with direct=1 are multiples of a sector, as in fio. */
#define SECTOR_BYTES 512

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)
#define NOTE(d, j, option, ...)                                                                    \
	diag_add(d, DIAG_NOTE, job_place(j, option), option ": " __VA_ARGS__)

static void check_sizes_of(const struct job *j, unsigned direction, struct diag *d)
{
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	int n = job_sizes(j, direction, sizes, &err);
	const char *option = j->bssplit ? "bssplit" : "bs";

	if (n < 0)
		diag_add(d, DIAG_ERROR, job_place(j, "bssplit"), "%s", err.text);
	for (int i = 0; i < n; i++) {
		if (j->direct && sizes[i].bytes % SECTOR_BYTES)
			diag_add(d, DIAG_ERROR, job_place(j, option),
				 "%s: %" PRIu64 " is not a multiple of 512, which direct=1 needs",
				 option, sizes[i].bytes);
	}
}

/* The checks of job_check for phase=io. */
static void plain_check(const struct job *j, struct diag *d)
{
	bool is_mixed = job_reads(j) && job_writes(j);

	if (job_reads(j))
		check_sizes_of(j, 0, d);
	if (job_writes(j))
		check_sizes_of(j, 1, d);
	if (!is_mixed && job_is_changed(j, "rwmixread"))
		NOTE(d, j, "rwmixread", "has an effect only with rw=rw and rw=randrw");
	if (!is_mixed && job_is_changed(j, "rwmixwrite"))
		NOTE(d, j, "rwmixwrite", "has an effect only with rw=rw and rw=randrw");
	if (!job_is_random(j) && j->norandommap)
		NOTE(d, j, "norandommap", "has an effect only with random reads and writes");

	double requests = (double)j->numjobs * (double)j->iodepth;
	if (requests > REQUESTS_MAX)
		FAULT(d, j, "numjobs",
		      "%" PRIu64 " of iodepth=%" PRIu64
		      " are %.0f requests at once, but at most %.0f are possible",
		      j->numjobs, j->iodepth, requests, REQUESTS_MAX);
	if (j->iodepth_batch_complete_max &&
	    j->iodepth_batch_complete_max < j->iodepth_batch_complete_min)
		FAULT(d, j, "iodepth_batch_complete_max",
		      "%" PRIu64 " is less than iodepth_batch_complete_min=%" PRIu64,
		      j->iodepth_batch_complete_max, j->iodepth_batch_complete_min);

	if (!job_writes(j) && j->fsync)
		NOTE(d, j, "fsync", "this job writes nothing");
	if (!job_writes(j) && j->fdatasync)
		NOTE(d, j, "fdatasync", "this job writes nothing");
	if (!job_writes(j) && j->end_fsync)
		NOTE(d, j, "end_fsync", "this job writes nothing");

	if (job_is_changed(j, "thinktime_blocks") && !j->thinktime_ns)
		NOTE(d, j, "thinktime_blocks", "has an effect only with thinktime");
	if (j->time_based && j->loops > 1)
		NOTE(d, j, "loops", "time_based repeats until runtime has passed");
	if (j->invalidate == INVALIDATE_EPOCH)
		FAULT(d, j, "invalidate", "a plain job has no epochs; use invalidate=run");
	if (j->drop_caches == DROP_CACHES_EPOCH)
		FAULT(d, j, "drop_caches", "a plain job has no epochs; use drop_caches=run");
	/* Jobs of fio may have verify=0. */
	if (j->verify != VERIFY_NONE)
		FAULT(d, j, "verify",
		      "a plain job does not check what it reads; use verify=0, or phase=restore");

	if (!j->engine)
		return;
	const struct mlgen_engine *e = j->engine;
	if (job_reads(j) && !(e->caps & MLGEN_CAP(MLGEN_READ)))
		FAULT(d, j, "ioengine", "%s cannot read, which this rw needs; use ioengine=psync",
		      e->name);
	if (job_writes(j) && !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine", "%s cannot write, which this rw needs; use ioengine=psync",
		      e->name);
	if (strcmp(e->name, "libaio") == 0 && !j->direct)
		NOTE(d, j, "ioengine",
		     "libaio without direct=1: io_submit blocks on buffered files, so that one "
		     "request is in flight instead of iodepth");
	if (job_touches_files(j))
		return;
	if (!j->size.bytes && !j->filesize_bytes)
		FAULT(d, j, "size",
		      "ioengine=%s has no files with a size; set a size, such as size=1g", e->name);
	if (j->create_only)
		FAULT(d, j, "create_only", "ioengine=%s creates no files", e->name);
}

/* ---- memory ---- */

/* Bookkeeping per open file and per request. */
#define FILE_BYTES UINT64_C(512)
#define REQUEST_BYTES UINT64_C(512)

void plain_need(struct memneed *n, const struct job *j, size_t files)
{
	unsigned depth = job_depth(j);
	uint64_t buffer = stream_buffer_bytes(j, depth);

	memneed_threads(n, j->numjobs, files * FILE_BYTES + depth * REQUEST_BYTES);
	if (job_touches_files(j) || job_writes(j))
		memneed_buffers(n, j, j->numjobs, buffer, job_writes(j));
	else
		memneed_untouched(n, j->numjobs, buffer);
}

void plain_append_costs(struct buf *out, const struct job *j)
{
	memneed_append(out, "numjobs", j->numjobs);
	memneed_append(out, "iodepth", job_depth(j));
	if (out->len)
		memneed_append_bs(out, pattern_largest_bytes(j));
}

/* ---- searches (ask) ---- */

static double bytes_per_sec(const struct job_result *r)
{
	double wall = r->wall_seconds;

	return wall > 0 ? (double)(r->read.io_bytes + r->write.io_bytes) / wall : (double)NAN;
}

static uint64_t workers(const struct job_result *r)
{
	return r->io.numjobs;
}

static const char *const plain_varied[] = { "numjobs",
					    "iodepth",
					    "iodepth_batch_submit",
					    "iodepth_batch_complete_min",
					    "iodepth_batch_complete_max",
					    "thinktime_blocks",
					    NULL };

const struct asked plain_asked = {
	.bytes_per_sec = bytes_per_sec,
	.workers = workers,
	.worker = "workers",
	.side_by_side = "rates are the bytes of all divided by the time of the longest",
	.varied = plain_varied,
	.example = "read.iops>=1000",
	.mlperf_rules = mlperf_other_rules,
};

/* ---- the page in reports and plans ---- */

/* True if `is` holds for any file of the job. A job without valid names is reported elsewhere. */
static bool any_file(const struct job *j, bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	struct mlgen_err unused = { 0 };
	struct ionames names = { 0 };
	bool found = false;

	if (!j->engine)
		return false;
	if (ionames_init(&names, j, &unused) == 0)
		for (size_t i = 0; !found && i < names.paths.count; i++)
			found = is(arg, names.paths.at[i]);
	ionames_fini(&names);
	return found;
}

const struct page plain_page = {
	PLAIN_PAGE,
	.plan = plan_io,
	.plan_text = plan_io_text,
	.any_file = any_file,
	.text = text_io_report,
	.has_records = true,
	.planned = metrics_io_planned,
	.fill_planned = metrics_planned_io,
};

/* ---- the workload ---- */

static const char *const groups[] = { "Plain I/O", NULL };

static const struct workload_default defaults[] = {
	{ "directory", "." },
	{ "bs", "4k" },
	{ "percentile_list", "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
	{ 0 },
};

const struct workload work_io = {
	.groups = groups,
	.option_of = "an option of plain I/O jobs (phase=io, rw=...)",
	.defaults = defaults,
	.check = plain_check,
	.concurrency_option = "numjobs",
	.is_plain = true,
	.implied_by = "rw",
	.is_open_ended = true,
	.is_grouped = true,
	.counts_errors = true,
	.run = &plain_activity,
	.page = &plain_page,
	.asked = &plain_asked,
};

bool plain_passes_cache(const struct job *j, bool was_direct)
{
	if (!(j->engine->caps & MLGEN_CAP_DIRECT))
		return false;
	return job_is_given(j, "direct") || job_is_given(j, "buffered") ? j->direct : was_direct;
}
