/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - see run.h. */
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/engines.h"
#include "run/collect.h"
#include "run/merge.h"
#include "run/slot.h"

/* Descriptors that are not a loader's: standard ones, outputs, engines. */
#define SPARE_FILES 32

struct run {
	struct run_config cfg;
	struct slot *slots;
	struct failure failure;
	_Atomic bool interrupted;
	_Atomic bool has_started;
	uint64_t timestamp_ms;
	struct run_result result;
};

bool slot_touches_files(const struct slot *s)
{
	return !(s->job->engine->caps & MLGEN_CAP_NO_FILES);
}

/* Its training is set up: other threads may touch it. */
static bool slot_is_training(const struct slot *s)
{
	return atomic_load(&s->phase) == LIVE_TRAIN;
}

uint64_t slot_io_bytes(const struct slot *s, unsigned direction)
{
	uint64_t n = 0;
	const struct rank *ranks = s->train.ranks;
	for (uint64_t i = 0; ranks && i < s->job->accelerators; i++)
		for (uint64_t w = 0; w < s->job->read_threads; w++)
			n += count_get(
				&ranks[i].loaders[w].stat.io_bytes[direction]);
	return n;
}

uint64_t slot_read_bytes(const struct slot *s)
{
	uint64_t n = slot_io_bytes(s, 0);
	const struct rank *ranks = s->train.ranks;
	for (uint64_t i = 0; ranks && i < s->job->accelerators; i++)
		for (uint64_t w = 0; w < s->job->read_threads; w++)
			n += ranks[i].loaders[w].uncounted_bytes;
	return n;
}

uint64_t slot_ios(const struct slot *s, unsigned direction)
{
	uint64_t n = 0;
	const struct rank *ranks = s->train.ranks;
	enum mlgen_op op = direction ? MLGEN_WRITE : MLGEN_READ;
	for (uint64_t i = 0; ranks && i < s->job->accelerators; i++)
		for (uint64_t w = 0; w < s->job->read_threads; w++)
			n += __atomic_load_n(
				&ranks[i].loaders[w].stat.lat[op]->count,
				__ATOMIC_RELAXED);
	return n;
}

static void stop_all(void *arg)
{
	struct run *r = arg;
	for (size_t i = 0; i < r->cfg.count; i++) {
		struct slot *s = &r->slots[i];
		if (slot_is_training(s))
			train_close(&s->train);
		atomic_store(&s->progress.stop, true);
	}
}

static int check_open_files(const struct run *r, struct mlgen_err *err)
{
	uint64_t need = SPARE_FILES;
	for (size_t i = 0; i < r->cfg.count; i++) {
		const struct job *j = r->cfg.jobs[i];
		if (j->phase == PHASE_TRAIN)
			need += j->accelerators * j->read_threads *
				job_samples_at_once(j);
	}
	if (need <= r->cfg.host->open_files)
		return 0;
	return mlgen_fail(
		err, -EMFILE,
		"%" PRIu64 " files may be open at once (one for each "
		"of accelerators x read_threads), the limit is %" PRIu64
		"; raise it with ulimit -n %" PRIu64,
		need, r->cfg.host->open_files, need);
}

/* One directory holds one dataset, or parts of it. */
static int check_shared(const struct slot *a, const struct slot *b,
			struct mlgen_err *err)
{
	static const char *const same[] = { "format", "samples_per_file",
					    "subfolders", "sample_size" };
	struct buf of_a = { 0 }, of_b = { 0 };
	int rc = 0;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same) && rc == 0; i++) {
		buf_reset(&of_a);
		buf_reset(&of_b);
		job_option_text(a->job, same[i], &of_a);
		job_option_text(b->job, same[i], &of_b);
		if (strcmp(buf_str(&of_a), buf_str(&of_b)) != 0)
			rc = mlgen_fail(
				err, -EINVAL,
				"%s: dataset %s is that of %s too, with "
				"%s=%s, this job says %s; use another "
				"directory for one of them",
				b->job->name, b->dataset.directory,
				a->job->name, same[i], buf_str(&of_a),
				buf_str(&of_b));
	}
	buf_fini(&of_a);
	buf_fini(&of_b);
	return rc;
}

static int find_shared(struct run *r, struct mlgen_err *err)
{
	for (size_t i = 0; i < r->cfg.count; i++) {
		struct slot *s = &r->slots[i];
		s->largest = s;
		for (size_t k = 0; k < r->cfg.count; k++) {
			struct slot *other = &r->slots[k];
			if (!slot_touches_files(s) || k == i ||
			    !slot_touches_files(other) ||
			    strcmp(s->dataset.directory,
				   other->dataset.directory) != 0)
				continue;
			if (k < i && check_shared(other, s, err) < 0)
				return -EINVAL;
			if (other->dataset.files > s->largest->dataset.files)
				s->largest = other;
		}
	}
	return 0;
}

static int place_slot(struct slot *s, const struct mount *m,
		      struct mlgen_err *err)
{
	const struct placement_request req = { .job = s->job,
					       .mount = m,
					       .root = "" };
	int rc = placement_init(&s->place, &req, err);
	if (s->place.unbound)
		log_note("%s: numa=device: %s; its read threads are not bound",
			 s->job->name, s->place.unbound);
	return rc;
}

/* An engine that cannot run here, or not with its options, says so before
 * anything is read or written: one worker is set up and taken down. */
static int check_engine(const struct run *r, const struct job *j,
			struct mlgen_err *err)
{
	struct mlgen_engine_job trial = { .engine = j->engine,
					  .opts = j->engine_opts,
					  .workers = 1,
					  .find = engines_find };
	struct opstat stat;
	struct io_config cfg = { .job = &trial,
				 .clock = r->cfg.clock,
				 .stat = &stat,
				 .iodepth = job_depth(j),
				 .buf_bytes = 4096 };
	struct io *io = NULL;
	int rc = j->engine->job_init ? j->engine->job_init(&trial, err) : 0;
	opstat_init(&stat);
	if (rc == 0)
		rc = io_new(&io, &cfg, err);
	io_free(io);
	opstat_fini(&stat);
	if (j->engine->job_fini)
		j->engine->job_fini(&trial);
	return rc;
}

static int check_slot(struct run *r, struct slot *s, struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct sampler sampler;
	int rc = dataset_init(&s->dataset, j, r->cfg.host->memory_bytes, err);
	if (rc == 0 && j->phase == PHASE_TRAIN)
		rc = sampler_init(&sampler, j, &s->dataset, j->accelerators,
				  err);
	if (rc == 0)
		rc = check_engine(r, j, err);
	if (rc < 0)
		return rc;
	if (!slot_touches_files(s))
		return place_slot(s, NULL, err);
	rc = mount_read(&s->mount, s->dataset.directory, err);
	if (rc == 0)
		rc = place_slot(s, &s->mount, err);
	if (rc == 0 && j->direct)
		rc = mount_direct_alignment(s->dataset.directory,
					    &s->align_bytes, err);
	return rc;
}

int run_new(struct run **out, const struct run_config *cfg,
	    struct mlgen_err *err)
{
	struct run *r = mem_zalloc(sizeof(*r));
	struct timespec ts;
	*out = r;
	clock_gettime(CLOCK_REALTIME, &ts);
	r->cfg = *cfg;
	r->timestamp_ms =
		(uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	failure_init(&r->failure, stop_all, r);
	r->slots = mem_array(cfg->count, sizeof(*r->slots));
	for (size_t i = 0; i < cfg->count; i++) {
		struct slot *s = &r->slots[i];
		s->job = cfg->jobs[i];
		s->progress.name = s->job->name;
		s->prepare.resident_percent = (double)NAN;
		s->resident_before_percent = (double)NAN;
		int rc = check_slot(r, s, err);
		if (rc < 0)
			return rc;
	}
	int rc = find_shared(r, err);
	return rc < 0 ? rc : check_open_files(r, err);
}

void run_free(struct run *r)
{
	if (!r)
		return;
	run_result_fini(&r->result);
	for (size_t i = 0; i < r->cfg.count; i++) {
		train_fini(&r->slots[i].train);
		gauge_close(&r->slots[i].gauge);
		opstat_fini(&r->slots[i].total);
		placement_fini(&r->slots[i].place);
		dataset_fini(&r->slots[i].dataset);
	}
	mem_free(r->slots);
	failure_fini(&r->failure);
	mem_free(r);
}

static bool is_stopping(const struct run *r)
{
	return atomic_load(&r->interrupted) || atomic_load(&r->failure.is_set);
}

static int prepare_slot(struct run *r, struct slot *s, struct mlgen_err *err)
{
	if (!s->largest->is_prepared && s->largest != s) {
		int rc = prepare_slot(r, s->largest, err);
		if (rc < 0)
			return rc;
	}
	struct prepare_request req = {
		.job_name = s->job->name,
		.dataset = &s->dataset,
		.check_all = s->job->phase == PHASE_PREPARE,
		.readonly = r->cfg.readonly,
		.allow_fill = r->cfg.allow_fill,
		.replace = r->cfg.replace && s->job->phase == PHASE_PREPARE,
		.engine = s->job->engine,
		.engine_opts = s->job->engine_opts,
		.clock = r->cfg.clock,
		.progress = &s->progress,
	};
	bool started = false;
	atomic_store(&s->phase, LIVE_PREPARE);
	int rc = prepare_dataset(&req, &s->prepare, &started, err);
	if (s->mount.has_own_cache) /* and the page cache says nothing of it */
		s->prepare.resident_percent = (double)NAN;
	s->is_prepared = true;
	if (started)
		atomic_store(&r->has_started, true);
	atomic_store(&s->phase,
		     s->job->phase == PHASE_TRAIN ? LIVE_WAIT : LIVE_DONE);
	s->end_ns = clock_now(r->cfg.clock);
	return rc;
}

static int start_slot(struct run *r, struct slot *s, uint64_t now_ns,
		      struct mlgen_err *err)
{
	int rc = train_init(&s->train, s->job, &s->dataset, s->align_bytes,
			    r->cfg.clock, &r->failure, &r->interrupted, err);
	if (rc < 0)
		return rc;
	s->train.place = &s->place;
	s->train.start_after_ns = now_ns + s->job->startdelay_ns;
	/* It was looked at just now. */
	s->train.is_dropped =
		s->prepare.is_nothing_resident && !s->job->startdelay_ns;
	s->resident_before_percent = s->prepare.resident_percent;
	gauge_open(&s->gauge, &s->mount, r->cfg.clock);
	s->train.watch =
		(struct train_watch){ gauge_begin, gauge_end, &s->gauge };
	s->has_device = devset_read(&s->device_before, &s->gauge.memory.devices,
				    "") == 0;
	host_cpu_read(&s->cpu_before);
	atomic_store(&s->train_begin_ns, clock_now(r->cfg.clock));
	atomic_store(&s->phase, LIVE_TRAIN);
	rc = train_start(&s->train, err);
	/* An error elsewhere may have come before this one could be told. */
	if (atomic_load(&r->failure.is_set))
		train_close(&s->train);
	return rc;
}

static void read_after(struct slot *s)
{
	host_cpu_read(&s->cpu_after);
	if (s->gauge.clock)
		gauge_finish(&s->gauge);
	if (s->has_device)
		devset_read(&s->device_after, &s->gauge.memory.devices, "");
}

static void finish_slot(struct run *r, struct slot *s)
{
	train_join(&s->train);
	if (s->job->ramp_time_ns && !atomic_load(&s->train.counting) &&
	    !is_stopping(r))
		log_warn("%s: the run was over before ramp_time was; nothing "
			 "of it is counted",
			 s->job->name);
	s->end_ns = clock_now(r->cfg.clock);
	atomic_store(&s->train_end_ns, s->end_ns);
	read_after(s);
	atomic_store(&s->phase, LIVE_DONE);
}

static void fail(struct run *r, int rc, struct mlgen_err *err)
{
	if (rc < 0 && rc != -EINTR)
		failure_set(&r->failure, err);
}

static void join_clock(struct run *r)
{
	clock_expect(r->cfg.clock, 1);
	clock_join(r->cfg.clock);
}

static struct slot *next_in_group(struct run *r, unsigned group,
				  struct slot *after)
{
	struct slot *s = after ? after + 1 : r->slots;
	while (s < r->slots + r->cfg.count && s->job->group != group)
		s++;
	return s < r->slots + r->cfg.count ? s : NULL;
}

static int prepare_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	int rc = 0;
	struct slot *s = NULL;
	while (rc == 0 && !is_stopping(r) && (s = next_in_group(r, group, s)))
		if (slot_touches_files(s) &&
		    !(s->is_prepared && s->job->phase == PHASE_PREPARE))
			rc = prepare_slot(r, s, err);
	return rc;
}

static int start_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	uint64_t now_ns = clock_now(r->cfg.clock);
	int rc = 0;
	struct slot *s = NULL;
	while (rc == 0 && !is_stopping(r) && (s = next_in_group(r, group, s)))
		if (s->job->phase == PHASE_TRAIN)
			rc = start_slot(r, s, now_ns, err);
	return rc;
}

static void run_group(struct run *r, unsigned group)
{
	struct mlgen_err err = { 0 };
	struct slot *s = NULL;
	while ((s = next_in_group(r, group, s)))
		s->begin_ns = clock_now(r->cfg.clock);
	int rc = prepare_group(r, group, &err);
	if (rc == 0)
		rc = start_group(r, group, &err);
	fail(r, rc, &err);
	clock_leave(r->cfg.clock); /* joining does not hold time up */
	for (s = NULL; (s = next_in_group(r, group, s));)
		if (s->train_begin_ns)
			finish_slot(r, s);
	join_clock(r);
}

void run_execute(struct run *r)
{
	unsigned groups = 0;
	for (size_t i = 0; i < r->cfg.count; i++)
		if (r->cfg.jobs[i]->group >= groups)
			groups = r->cfg.jobs[i]->group + 1;
	join_clock(r);
	for (unsigned g = 0; g < groups && !is_stopping(r); g++)
		run_group(r, g);
	clock_leave(r->cfg.clock);
}

void run_interrupt(struct run *r)
{
	atomic_store(&r->interrupted, true);
	for (size_t i = 0; i < r->cfg.count; i++) {
		atomic_store(&r->slots[i].progress.stop, true);
		if (slot_is_training(&r->slots[i]))
			train_wake(&r->slots[i].train);
	}
}

void run_abandon(struct run *r)
{
	stop_all(r);
}

bool run_has_started(const struct run *r)
{
	bool has = atomic_load(&r->has_started);
	/* Whatever a thread meets while it is set up comes before the start. */
	for (size_t i = 0; i < r->cfg.count; i++)
		has |= atomic_load(&r->slots[i].train.start_ns) != 0;
	return has;
}

static uint64_t left_ns(const struct slot *s, const struct live *live)
{
	const struct job *j = s->job;
	uint64_t start = atomic_load(&s->train.start_ns), left = UINT64_MAX;
	if (!start)
		return left;
	if (j->runtime_ns) {
		uint64_t end = start + j->ramp_time_ns + j->runtime_ns;
		left = end > live->now_ns ? end - live->now_ns : 0;
	}
	uint64_t done =
		(live->epoch - 1) * s->train.sampler.steps + live->step - 1;
	uint64_t all = j->steps;
	if (!j->time_based &&
	    (!all || j->epochs * s->train.sampler.steps < all))
		all = j->epochs * s->train.sampler.steps;
	if (all > done && done > 0) {
		double ns = (double)(live->now_ns - start) / (double)done *
			    (double)(all - done);
		if (ns < (double)left)
			left = (uint64_t)ns;
	}
	return left;
}

static void look_at_rank(const struct rank *r, struct live *live)
{
	const struct rank_count *c = &r->count;
	uint64_t since = count_get(&c->waiting_since_ns);
	live->samples += count_get(&c->samples);
	live->sample_bytes += count_get(&c->sample_bytes);
	live->compute_ns += count_get(&c->compute_ns);
	live->step_ns += count_get(&c->step_ns);
	live->stall_ns += count_get(&c->stall_ns);
	if (since && live->now_ns > since &&
	    live->now_ns - since > live->waiting_ns)
		live->waiting_ns = live->now_ns - since;
}

static void look_at_loaders(const struct rank *r, struct live *live)
{
	for (uint64_t w = 0; w < r->train->job->read_threads; w++) {
		const struct io *io = atomic_load(&r->loaders[w].io);
		struct io_outstanding o = { 0 };
		if (io)
			io_look(io, &o);
		if (o.start_ns && (!live->oldest.start_ns ||
				   o.start_ns < live->oldest.start_ns))
			live->oldest = o;
	}
}

static void look_at_train(const struct slot *s, struct live *live)
{
	const struct train *t = &s->train;
	struct hist *one = live->stall ? hist_new() : NULL;
	live->epoch = count_get(&t->ranks[0].count.epoch);
	live->epochs = s->job->time_based ? 0 : s->job->epochs;
	live->step = count_get(&t->ranks[0].count.step);
	live->steps = t->sampler.steps;
	live->io_bytes = slot_io_bytes(s, 0) + slot_io_bytes(s, 1);
	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		look_at_rank(&t->ranks[i], live);
		look_at_loaders(&t->ranks[i], live);
		if (one) {
			hist_snapshot(one, t->ranks[i].stall);
			hist_merge(live->stall, one);
		}
	}
	hist_free(one);
	if (live->phase == LIVE_TRAIN && !atomic_load(&t->start_ns))
		live->phase = LIVE_WAIT; /* startdelay */
	live->left_ns = left_ns(s, live);
	if (atomic_load(&t->dropping))
		live->phase = LIVE_DROP;
}

void run_look(const struct run *r, size_t i, struct live *live)
{
	const struct slot *s = &r->slots[i];
	struct hist *stall = live->stall;
	*live = (struct live){ .job_name = s->job->name,
			       .phase = (enum live_phase)atomic_load(&s->phase),
			       .now_ns = clock_now(r->cfg.clock),
			       .left_ns = UINT64_MAX,
			       .stall = stall };
	if (stall)
		hist_reset(stall);
	live->files_done = count_get(&s->progress.files_done);
	live->files_total = count_get(&s->progress.files_total);
	live->bytes_done = count_get(&s->progress.bytes_done);
	live->bytes_total = count_get(&s->progress.bytes_total);
	if (live->phase == LIVE_TRAIN ||
	    (live->phase == LIVE_DONE && atomic_load(&s->train_begin_ns)))
		look_at_train(s, live);
}

static void add_rate(struct rate_series *r, uint64_t counter, double seconds)
{
	double rate = (double)(counter - r->last) / seconds;
	r->last = counter;
	if (r->samples == 0 || rate < r->min)
		r->min = rate;
	if (rate > r->max)
		r->max = rate;
	double delta = rate - r->mean;
	r->mean += delta / (double)++r->samples;
	r->m2 += delta * (rate - r->mean);
}

void run_tick(struct run *r)
{
	uint64_t now_ns = clock_now(r->cfg.clock);
	for (size_t i = 0; i < r->cfg.count; i++) {
		struct slot *s = &r->slots[i];
		if (atomic_load(&s->phase) != LIVE_TRAIN ||
		    !atomic_load(&s->train.start_ns))
			continue;
		double seconds = (double)(now_ns - s->last_tick_ns) / 1e9;
		for (unsigned d = 0; d < 2 && s->last_tick_ns; d++) {
			add_rate(&s->bytes[d], slot_io_bytes(s, d), seconds);
			add_rate(&s->ios[d], slot_ios(s, d), seconds);
		}
		s->last_tick_ns = now_ns;
	}
}

static struct disk_util disk_util(const struct slot *s)
{
	struct devstat d = s->device_after;
	double ms = (double)(s->train_end_ns - s->train_begin_ns) / 1e6;
	devstat_subtract(&d, &s->device_before);
	struct disk_util u = { .read_ios = d.read_ios,
			       .write_ios = d.write_ios,
			       .read_sectors = d.read_sectors,
			       .write_sectors = d.write_sectors,
			       .read_merges = d.read_merges,
			       .write_merges = d.write_merges,
			       .read_ticks = d.read_ticks_ms,
			       .write_ticks = d.write_ticks_ms,
			       .in_queue = d.in_queue_ms };
	u.util = ms > 0 ? 100 * (double)d.io_ticks_ms / ms : 0;
	if (u.util > 100)
		u.util = 100;
	memcpy(u.name, s->mount.device, sizeof(u.name));
	return u;
}

/* Each device once, as the first job on it saw it. */
static void collect_disks(struct run_result *out, const struct run *r)
{
	out->disks = mem_array(r->cfg.count, sizeof(*out->disks));
	for (size_t i = 0; i < r->cfg.count; i++) {
		const struct slot *s = &r->slots[i];
		bool is_known = false;
		for (size_t k = 0; k < out->disk_count; k++)
			is_known |=
				!strcmp(out->disks[k].name, s->mount.device);
		if (s->has_device && !is_known)
			out->disks[out->disk_count++] = disk_util(s);
	}
}

/* A job that was still running when the threads were given up. */
static void close_books(struct run *r, struct slot *s)
{
	if (!s->begin_ns || atomic_load(&s->phase) == LIVE_DONE)
		return;
	s->end_ns = clock_now(r->cfg.clock);
	atomic_store(&s->train_end_ns, s->end_ns);
	read_after(s);
}

struct run_result *run_collect(struct run *r)
{
	struct run_result *out = &r->result;
	*out = (struct run_result){ .host = *r->cfg.host,
				    .timestamp_ms = r->timestamp_ms,
				    .job_count = r->cfg.count,
				    .interrupted =
					    atomic_load(&r->interrupted) };
	if (atomic_load(&r->failure.is_set))
		out->err = r->failure.err;
	out->jobs = mem_array(r->cfg.count, sizeof(*out->jobs));
	for (size_t i = 0; i < r->cfg.count; i++) {
		close_books(r, &r->slots[i]);
		collect_job(&out->jobs[i], &r->slots[i], r->cfg.host);
		if (out->err.code && !out->jobs[i].ml.complete)
			out->jobs[i].err = out->err;
	}
	collect_memory(out->jobs, r->slots, r->cfg.count);
	collect_disks(out, r);
	merge_groups(out);
	return out;
}
