/* SPDX-License-Identifier: Apache-2.0 */
/* plain_activity.c - run a plain job, and collect its results. */
#include "work/plain/plain.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "data/pattern/pattern.h"
#include "io/devices.h"
#include "io/host.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- requests ---- */

/* The largest power of two that divides all request sizes and offsets; 0 = no limit. */
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

int requests_check_direct(const struct job *j, const struct iofiles *f, uint64_t *align_bytes,
			  struct mlgen_err *err)
{
	char want[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];
	uint64_t common = common_alignment(j, f);
	const struct iofile *first = f->count ? f->files : NULL;
	/* O_DIRECT is tried on the first file if it exists, otherwise in the folder where it will
	 * be made. */
	bool is_present = first && !first->is_missing && first->kind != IOFILE_CHAR;
	int rc = mount_direct_alignment(is_present ? first->path : f->directory, align_bytes, err);

	if (rc < 0)
		*align_bytes = 0;
	if (rc < 0 || !common || common >= *align_bytes)
		return rc;
	return mlgen_fail(err, -EINVAL,
			  "direct=1: bs or offset is a multiple of %s, but O_DIRECT requires "
			  "multiples of %s here",
			  units_human_bytes(have, (double)common),
			  units_human_bytes(want, (double)*align_bytes));
}

/* ---- the run ---- */

static struct iofiles_request request_of(const struct slot *s, struct run_shared *run)
{
	const struct run_config *cfg = &run->cfg;

	return (struct iofiles_request){ .job = s->job,
					 .readonly = cfg->readonly,
					 .allow_fill = cfg->allow_fill,
					 .allow_device = cfg->allow_device,
					 .guards = &run->guards };
}

static int plain_init_slot(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	(void)err;
	s->own = mem_zalloc(sizeof(struct plain));
	return 0;
}

/* Look at the files. After a failure, a dry run goes on without files. */
static int rule_files(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct iofiles_request req = request_of(s, run);
	int rc = iofiles_init(&plain_of(s)->files, &req, err);

	if (rc < 0)
		iofiles_fini(&plain_of(s)->files);
	return rc;
}

static const char *directory_of(const struct slot *s)
{
	return slot_touches_files(s) ? plain_of(s)->files.directory : NULL;
}

static int rule_mount(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return directory_of(s) ? mount_read(&s->mount, directory_of(s), err) : 0;
}

static int rule_direct(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return directory_of(s) && s->job->direct
		       ? requests_check_direct(s->job, &plain_of(s)->files, &s->align_bytes, err)
		       : 0;
}

/* Check that the files of every worker have room for its requests. */
static int rule_requests(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct iofiles *f = &plain_of(s)->files;
	uint64_t bytes;
	int rc = 0;

	(void)run;
	for (uint64_t w = 0; f->count && w < s->job->numjobs && rc == 0; w++)
		rc = requests_bytes(s->job, f, w, &bytes, err);
	return rc;
}

static int rule_writable(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct iofiles_request req = request_of(s, run);

	return directory_of(s) ? iolayout_check_writable(&plain_of(s)->files, &req, err) : 0;
}

static int rule_room(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct iofiles_request req = request_of(s, run);

	return directory_of(s) ? iolayout_check_room(&plain_of(s)->files, &req, err) : 0;
}

static const struct rule own_rules[] = {
	{ "data", rule_files },    { "requests", rule_requests }, { "engine", rules_engine },
	{ "space", rule_mount },   { "cpus", rules_cpus },        { "direct", rule_direct },
	{ "data", rule_writable }, { "space", rule_room },        { NULL, NULL },
};

static const struct rule *const plain_rules[] = { own_rules, NULL };

static uint64_t plain_open_files(const struct slot *s)
{
	size_t n = 0;

	if (plain_of(s)->files.count)
		iofiles_of(&plain_of(s)->files, 0, &n);
	return n * s->job->numjobs;
}

static uint64_t plain_requests(const struct slot *s)
{
	return s->job->create_only ? 0 : s->job->numjobs * job_depth(s->job);
}

static void need(const struct slot *s, uint64_t room_bytes, struct memneed *n)
{
	size_t files = 0;

	(void)room_bytes;
	if (plain_of(s)->files.count)
		iofiles_of(&plain_of(s)->files, 0, &files);
	memneed_prepare(n, plain_of(s)->files.missing_files,
			iofiles_largest_missing(&plain_of(s)->files));
	if (!s->job->create_only)
		plain_need(n, s->job, files);
}

/* Look at the files again, because earlier jobs may have made them, and lay out the missing
 * ones. */
static int plain_activity_prepare(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	struct iofiles_request req = request_of(s, run);
	struct iolayout layout = { .req = &req, .clock = run->cfg.clock, .progress = &s->progress };

	iofiles_fini(&plain_of(s)->files);
	atomic_store(&s->phase, LIVE_PREPARE);
	int rc = iofiles_init(&plain_of(s)->files, &req, err);
	if (rc == 0)
		rc = iolayout_run(&plain_of(s)->files, &layout, err);
	plain_of(s)->made_files += layout.made_files;
	plain_of(s)->made_bytes += layout.made_bytes;
	if (layout.started)
		atomic_store(&run->has_started, true);
	s->end_ns = clock_now(run->cfg.clock);
	atomic_store(&s->phase, s->job->create_only ? LIVE_DONE : LIVE_WAIT);
	return rc;
}

/* A group that reports as one has a single record; otherwise each worker has one, as in fio. */
static bool has_one_record(const struct slot *s)
{
	return s->job->group_reporting || !plain_of(s)->streams.streams;
}

static size_t records(const struct slot *s)
{
	return has_one_record(s) ? 1 : plain_of(s)->streams.count;
}

void plain_set_streams(struct slot *s, uint64_t now_ns)
{
	struct streams *p = &plain_of(s)->streams;

	p->place = &s->place;
	p->traced = &s->traced;
	p->workers = &s->workers;
	p->stop = &s->progress.stop;
	p->start_after_ns = s->job->startdelay_ns ? now_ns + s->job->startdelay_ns : 0;
	p->watch = &slot_watch;
	p->watch_arg = s;
}

static int plain_start(struct slot *s, struct run_shared *run, uint64_t now_ns,
		       struct mlgen_err *err)
{
	struct plain *p = plain_of(s);
	bool drops_cache = s->job->invalidate != INVALIDATE_NONE && slot_touches_files(s);

	if (s->job->create_only)
		return 0;
	int rc = streams_init(&p->streams, s->job, &stream_pattern, s->job->numjobs, &p->files,
			      run->cfg.clock, &run->failure, &run->interrupted, err);
	if (rc < 0)
		return rc;
	slot_join_hosts(s, run, &p->streams.peers);
	plain_set_streams(s, now_ns);
	/* Drop the page cache once before the job, as invalidate=1 of fio does. */
	for (size_t i = 0; i < p->files.count && drops_cache; i++)
		if (p->files.files[i].kind != IOFILE_CHAR)
			pagecache_drop(p->files.files[i].path);
	slot_begin_work(s, run->cfg.clock, LIVE_IO, records(s));
	return streams_start(&p->streams, err);
}

void plain_join_threads(struct slot *s)
{
	streams_join(&plain_of(s)->streams);
}

static void plain_fini(struct slot *s)
{
	if (!s->own)
		return;
	streams_fini(&plain_of(s)->streams);
	iofiles_fini(&plain_of(s)->files);
	mem_free(s->own);
	s->own = NULL;
}

void plain_close_all(struct slot *s)
{
	streams_close(&plain_of(s)->streams);
}

void plain_wake_all(struct slot *s)
{
	streams_wake(&plain_of(s)->streams);
}

uint64_t plain_start_ns(const struct slot *s)
{
	return atomic_load(&plain_of(s)->streams.start_ns);
}

struct worker *plain_worker_at(const struct slot *s, uint64_t i)
{
	if (!plain_of(s)->streams.streams || i >= plain_of(s)->streams.count)
		return NULL;
	return &plain_of(s)->streams.streams[i].worker;
}

/* Time left until all bytes are moved at the speed so far, or until runtime is over. */
static uint64_t plain_left_ns(const struct slot *s, const struct live *live)
{
	const struct job *j = s->job;
	uint64_t start = plain_start_ns(s), left = UINT64_MAX;
	uint64_t all = atomic_load(&plain_of(s)->streams.bytes);
	uint64_t done = live->io_moved[0] + live->io_moved[1];

	if (!start || live->now_ns <= start)
		return left;
	if (j->runtime_ns) {
		uint64_t end = start + j->ramp_time_ns + j->runtime_ns;

		left = end > live->now_ns ? end - live->now_ns : 0;
	}
	if (all != UINT64_MAX && done && done <= all) {
		double ns = (double)(live->now_ns - start) / (double)done * (double)(all - done);

		if (ns < (double)left)
			left = (uint64_t)ns;
	}
	return left;
}

void plain_look(const struct slot *s, struct live *live)
{
	slot_add_workers(s, live);
	live->io_bytes = live->io_moved[0] + live->io_moved[1];
	live->left_ns = plain_left_ns(s, live);
	if (live->phase == LIVE_IO && !plain_start_ns(s))
		live->phase = LIVE_WAIT; /* startdelay */
}

static struct rate_result rate_of(const struct job *j, unsigned d, uint64_t workers)
{
	const struct u64_pair *bytes = &j->rate, *ios = &j->rate_iops;
	uint64_t b = d ? bytes->write : bytes->read;
	uint64_t n = d ? ios->write : ios->read;
	double w = (double)workers;

	return (struct rate_result){
		.asked_bytes_per_sec = b ? (double)b * w : (double)NAN,
		.asked_iops = n ? (double)n * w : (double)NAN,
	};
}

/* A rate is missed only if it is too low and requests were late. If none was late, the other
 * direction of a mix has held this direction back. */
static void judge_rate(struct rate_result *r, const struct direction_result *d, double seconds,
		       bool was_late)
{
	double bytes = (double)d->io_bytes / seconds;
	double ios = (double)d->total_ios / seconds;

	if (!(seconds > 0) || !was_late || d->total_ios == 0)
		return;
	r->is_missed = !(bytes >= PLAIN_RATE_MET * r->asked_bytes_per_sec ||
			 isnan(r->asked_bytes_per_sec)) ||
		       !(ios >= PLAIN_RATE_MET * r->asked_iops || isnan(r->asked_iops));
}

static void collect_files(struct io_result *io, const struct slot *s, uint64_t first, uint64_t n)
{
	uint64_t last = plain_of(s)->files.is_shared ? first + 1 : first + n;

	for (uint64_t w = first; w < last; w++) {
		size_t count = 0;
		const struct iofile *f = iofiles_of(&plain_of(s)->files, w, &count);

		io->files += count;
		for (size_t i = 0; i < count; i++)
			io->file_bytes += f[i].region.bytes;
	}
	io->laid_out_files = plain_of(s)->made_files;
	io->laid_out_bytes = plain_of(s)->made_bytes;
}

/* max_errors counts the errors of all workers of the job. */
static bool has_too_many_errors(const struct slot *s)
{
	const struct worker *w;
	uint64_t errors = 0, all = slot_ios(s, 0) + slot_ios(s, 1);

	for (uint64_t i = 0; (w = plain_worker_at(s, i)); i++) {
		const struct opstat *t = &w->stat;

		errors += count_get(&t->errors);
		all += count_get(&t->errors) + t->lat[MLGEN_FSYNC]->count +
		       t->lat[MLGEN_FDATASYNC]->count;
	}
	return failed_exceeds(s->job, errors, all);
}

void plain_collect_workers(struct job_result *out, size_t record, bool is_one, struct slot *s)
{
	const struct plain *p = plain_of(s);
	uint64_t n = is_one ? p->streams.count : 1;
	struct opstat *t = &p->streams.streams[record].worker.stat;

	if (is_one) {
		collect_workers(s);
		t = &s->total;
	}

	struct io_result *io = &out->io;
	/* A job of a single worker has only the job's rates, as run_tick keeps them. */
	const struct rate_set *rates =
		n < p->streams.count ? &p->streams.streams[record].worker.rates : &s->rates;
	bool was_late = false;
	out->complete = true;
	io->jobnum = record;
	io->numjobs = n;
	for (uint64_t i = record; i < record + n; i++) {
		const struct stream *st = &p->streams.streams[i];
		double seconds = (double)st->wall_ns / 1e9;

		if (seconds > out->wall_seconds)
			out->wall_seconds = seconds;
		out->complete &= st->is_complete;
		was_late |= st->was_late;
	}
	collect_direction(&out->read, rates, t, 0);
	collect_direction(&out->write, rates, t, 1);
	for (unsigned d = 0; d < 2; d++) {
		io->rate[d] = rate_of(s->job, d, n);
		judge_rate(&io->rate[d], d ? &out->write : &out->read, out->wall_seconds, was_late);
	}
	collect_depths(&out->depths, t);
	collect_ops(&out->ops, t);
	out->sync = out->ops.fsync;
	collect_worker_time(&io->worker_percent, t);
	collect_usage(out, &t->usage);
	collect_worker_cpu(&out->thread_cpu, &t->usage);
	out->errors = count_get(&t->errors);

	collect_first_error(&out->failed, s, record, n);
	out->failed.is_too_many = out->errors && has_too_many_errors(s);
	out->in_use = collect_in_use(s);
	collect_storage(&out->storage, s, p->files.directory);
	collect_window(out, s, record);
	collect_numa(&out->numa, s);
	out->interrupted = atomic_load(p->streams.interrupted);
	out->complete &= !out->interrupted && !atomic_load(&p->streams.is_closed);
}

void plain_collect_none(struct job_result *out, struct slot *s, uint64_t workers)
{
	out->io.numjobs = workers;
	out->in_use = "";
	collect_storage(&out->storage, s, plain_of(s)->files.directory);
	collect_window(out, s, 0);
	for (unsigned d = 0; d < 2; d++)
		out->io.rate[d] = rate_of(s->job, d, 1);
}

static void plain_collect(struct job_result *out, size_t record, struct slot *s)
{
	if (!s->begin_ns)
		return;
	if (plain_of(s)->streams.streams && s->work_begin_ns) {
		out->work = &work_io;
		bool is_one = has_one_record(s);

		plain_collect_workers(out, record, is_one, s);
		collect_files(&out->io, s, record, is_one ? plain_of(s)->streams.count : 1);
		out->iodepth_used = out->io.iodepth_least = job_depth(s->job);
		return;
	}
	out->work = &work_io;
	out->complete = s->job->create_only;
	collect_files(&out->io, s, 0, s->job->numjobs);
	plain_collect_none(out, s, s->job->numjobs);
}

const struct activity plain_activity = {
	PLAIN_ACTIVITY,
	.init = plain_init_slot,
	.rules = plain_rules,
	.open_files = plain_open_files,
	.lower_files = "numjobs or the number of files",
	.requests = plain_requests,
	.need = need,
	.append_costs = plain_append_costs,
	.lower = "numjobs, iodepth or bs",
	.prepare = plain_activity_prepare,
	.start = plain_start,
	.fini = plain_fini,
	.records = records,
	.collect = plain_collect,
};
