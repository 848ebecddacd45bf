/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - groups of jobs, one after the other: set up, run, ended, collected. */
#include "run/run_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "data/dataset/dataset.h"
#include "hosts/hosts.h"
#include "io/pagecache.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"
#include "trace/tracer.h"

/* What each has of each job, to all of them. */
static int tell_counts(struct hosts *h, const uint64_t *mine, size_t count, struct buf *all,
		       struct mlgen_err *err)
{
	int rc = hosts_gather(h, mine, count * sizeof(*mine), all, err);

	return rc ? rc : hosts_share(h, all, err);
}

/* Which of the hosts, and which of the processes there. */
static struct job_place place_of(const struct hosts *h)
{
	struct job_place p = { .host = hosts_host_of(h, hosts_rank(h)),
			       .hosts = hosts_count(h),
			       .rank = hosts_rank(h),
			       .total = hosts_total(h) };

	for (unsigned rank = 0; rank < hosts_total(h); rank++) {
		if (hosts_host_of(h, rank) != p.host)
			continue;
		p.process += rank < hosts_rank(h);
		p.processes++;
	}
	return p;
}

int run_number(struct hosts *hosts, struct job *const *jobs, size_t count, struct mlgen_err *err)
{
	uint64_t *mine = mem_array(count, sizeof(*mine));
	struct buf all = { 0 };
	int rc;

	if (hosts_total(hosts) == 1) {
		mem_free(mine);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		mine[i] = jobs[i]->accelerators;
		jobs[i]->place = place_of(hosts);
	}
	rc = tell_counts(hosts, mine, count, &all, err);
	for (unsigned rank = 0; rc == 0 && rank < hosts_total(hosts); rank++) {
		size_t n;
		const char *part = hosts_part(&all, rank, &n);

		for (size_t i = 0; part && i < count && n == count * sizeof(*mine); i++) {
			uint64_t accelerators;

			memcpy(&accelerators, part + i * sizeof(accelerators),
			       sizeof(accelerators));
			jobs[i]->accelerators_all += accelerators;
			if (rank < hosts_rank(hosts))
				jobs[i]->accelerators_before += accelerators;
		}
	}
	buf_fini(&all);
	mem_free(mine);
	return rc;
}

/* A job that was still running when the threads were given up. */
static void close_books(struct run *r, struct slot *s)
{
	if (!s->begin_ns || atomic_load(&s->phase) == LIVE_DONE)
		return;
	if (atomic_load(&s->work_begin_ns))
		slot_end_work(s);
	else
		s->end_ns = clock_now(r->shared.cfg.clock);
}

/* The records of one slot, at the end of the list. */
static void collect_slot(struct run *r, struct slot *s)
{
	struct run_result *out = &r->result;
	size_t n = s->does->records(s);

	out->jobs = mem_realloc(out->jobs, (out->job_count + n) * sizeof(*out->jobs));
	for (size_t i = 0; i < n; i++) {
		struct job_result *job = &out->jobs[out->job_count++];

		collect_job(job, i, s);
		if (out->err.code && !job->complete)
			job->err = out->err;
	}
}

struct run_result *run_collect(struct run *r)
{
	struct run_result *out = &r->result;

	*out = (struct run_result){ .host = *r->shared.cfg.host,
				    .timestamp_ms = r->timestamp_ms,
				    .title = r->shared.cfg.title,
				    .notes = r->shared.cfg.notes,
				    .interrupted = atomic_load(&r->shared.interrupted),
				    .trace = r->traced };
	if (atomic_load(&r->shared.failure.is_set))
		out->err = r->shared.failure.err;
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		close_books(r, &r->slots[i]);
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		collect_slot(r, &r->slots[i]);
	disks_end(&r->disks, r->shared.cfg.clock);
	disks_collect(out, &r->disks);
	merge_groups(out);
	return out;
}

static int give(const struct slot *s, struct relay *to, struct mlgen_err *err)
{
	int rc = dataset_give(&s->dataset, to, err);

	return rc ? rc : dataset_give(&s->eval, to, err);
}

static int take(struct dataset_given given[2], const struct slot *s, struct relay *from,
		struct mlgen_err *err)
{
	const char *beside = s->job->directory ? s->job->directory : ".";
	int rc = dataset_given_take(&given[0], beside, from, err);

	return rc ? rc : dataset_given_take(&given[1], beside, from, err);
}

/*
 * One looks, at what may be a million files: rank 0, or where each host has its own the first
 * process there. Then the others do with what it has found. What fails in one fails in all, before
 * anyone waits for it.
 */
static int init_with_files(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct dataset_given given[2] = { 0 };
	struct relay relay;
	int rc = 0;

	relay_begin(&relay, h, s->job->shared);
	const bool looks = relay_gives(&relay);
	if (looks)
		rc = s->does->init(s, &r->shared, err);
	rc = hosts_agree(h, rc, err);
	if (rc < 0)
		return rc;
	rc = looks ? give(s, &relay, err) : take(given, s, &relay, err);
	rc = relay_end(&relay, rc, err);
	if (rc == 0 && !looks) {
		s->given = given;
		rc = s->does->init(s, &r->shared, err);
		s->given = NULL;
	}
	dataset_given_fini(&given[0]);
	dataset_given_fini(&given[1]);
	return hosts_agree(h, rc, err);
}

static int init_slot(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;

	if (hosts_total(h) > 1 && slot_has_dataset(s))
		return init_with_files(r, s, err);
	return hosts_agree(h, s->does->init(s, &r->shared, err), err);
}

/*
 * Set up the slots (slot.h, init), with others together: each after the one before, so that one
 * which fails has failed in all of them. `rc`: what came before that in this process. 0, or -errno
 * with err.
 */
static int run_begin(struct run *r, int rc, struct mlgen_err *err)
{
	/* Who is refused already is waited for by nobody. */
	rc = hosts_agree(r->shared.cfg.hosts, rc, err);
	for (size_t i = 0; i < r->shared.cfg.count && rc == 0; i++)
		rc = init_slot(r, &r->slots[i], err);
	return rc;
}

static void stop_all(void *arg)
{
	struct run *r = arg;

	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		struct slot *s = &r->slots[i];

		if (slot_is_working(s))
			s->does->close(s);
		stop_set(&s->progress.stop, r->shared.cfg.clock);
	}
}

/* The first error of this process. */
static void stop_failed(void *arg)
{
	struct run *r = arg;

	stop_all(r);
	if (!atomic_load(&r->shared.has_heard))
		hosts_tell(r->shared.cfg.hosts, &r->shared.failure.err);
}

/* On the thread that receives from other processes. */
static void hear(void *arg, const struct hosts_news *news)
{
	struct run *r = arg;

	atomic_store(&r->shared.has_heard, true);
	if (news->is_interrupted)
		run_interrupt(r);
	else
		failure_set(&r->shared.failure, &news->err);
}

static void make_slots(struct run *r)
{
	const struct run_config *cfg = &r->shared.cfg;

	r->slots = mem_array(cfg->count, sizeof(*r->slots));
	for (size_t i = 0; i < cfg->count; i++) {
		struct slot *s = &r->slots[i];

		s->job = cfg->jobs[i];
		s->all = r->slots;
		s->energy = &r->energy;
		s->all_count = cfg->count;
		s->does = job_work(s->job)->run;
		s->progress.name = s->job->name;
		s->prepare.resident_percent = (double)NAN;
		s->resident_before_percent = (double)NAN;
	}
	r->shared.slots = r->slots;
	r->shared.memory = &r->memory;
}

static struct run *make_run(const struct run_config *cfg)
{
	struct run *r = mem_zalloc(sizeof(*r));

	r->shared.cfg = *cfg;
	r->host = *cfg->host;
	r->shared.cfg.host = &r->host;
	r->timestamp_ms = clock_wall_ns() / 1000000;
	failure_init(&r->shared.failure, stop_failed, r);
	make_slots(r);
	return r;
}

struct run_config run_config_of(const struct settings *set, struct job *const *jobs, size_t count,
				const struct host *host, struct clock *clock)
{
	bool logs = traced_is_logged(jobs, count);

	return (struct run_config){ .jobs = jobs,
				    .count = count,
				    .host = host,
				    .clock = clock,
				    .readonly = set->readonly,
				    .allow_fill = set->allow_fill,
				    .allow_device = set->allow_device,
				    .title = set->title,
				    .notes = set->note,
				    .replace = set->replace,
				    .thorough = set->thorough,
				    .traces = set->trace || logs };
}

/* What this process knows of. */
static int check_run(struct run *r, struct mlgen_err *err)
{
	const struct run_config *cfg = &r->shared.cfg;
	int rc = rules_ask_limit(&r->shared, NULL, NULL, err);

	/* Before anything is sized by the memory that there is. */
	if (rc == 0)
		rc = memlimit_set(&r->memory, cfg->jobs, cfg->count, &r->host, err);
	rc = run_begin(r, rc, err);
	if (rc == 0)
		rc = rules_ask(&r->shared, NULL, NULL, err);
	return rc;
}

int run_new(struct run **out, const struct run_config *cfg, struct mlgen_err *err)
{
	struct run *r = make_run(cfg);

	*out = r;
	r->shared.channels = hosts_reserve(cfg->hosts, 3 * (uint32_t)cfg->count + 1);
	if (hosts_agree(cfg->hosts, check_run(r, err), err) < 0)
		return err->code;
	shared_find(r->slots, cfg->count);
	energy_open(&r->energy, "");
	r->others = others_new(r, cfg->count, cfg->hosts,
			       r->shared.channels + 3 * (uint32_t)cfg->count, r->host.cpus);
	for (size_t i = 0; i < cfg->count; i++)
		slot_tell_place(&r->slots[i]);
	return 0;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	others_free(r->others);
	memlimit_lift(&r->memory);
	run_result_fini(&r->result);
	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		struct slot *s = &r->slots[i];

		if (s->does && s->does->fini)
			s->does->fini(s);
		span_close(&s->span);
		opstat_fini(&s->total);
		placement_fini(&s->place);
		dataset_fini(&s->eval);
		dataset_fini(&s->dataset);
	}
	energy_close(&r->energy);
	disks_fini(&r->disks);
	tracer_free(r->tracer);
	traced_threads_free(r->threads);
	mem_free(r->slots);
	failure_fini(&r->shared.failure);
	mem_free(r);
}

static bool has_counted(struct slot *s)
{
	const struct worker *w = worker_counted(atomic_load(&s->workers.first));
	bool counted = slot_counts(s);

	for (; w; w = worker_counted(w->next))
		counted |= w->counts;
	return counted;
}

/* It ends with its last worker, whichever job is joined first. */
static void *await_end(void *slot)
{
	struct slot *s = slot;

	s->does->join(s);
	slot_end_work(s);
	atomic_store(&s->phase, LIVE_DONE);
	if (s->does->look_back)
		s->does->look_back(s);
	return NULL;
}

static void finish_slot(struct run *r, struct slot *s)
{
	if (s->joiner)
		pthread_join(s->joiner, NULL);
	else
		await_end(s);
	s->joiner = 0;
	if (s->job->ramp_time_ns && !has_counted(s) && !run_is_stopping(r))
		log_warn("%s: the run was over before ramp_time was; nothing of it is counted",
			 s->job->name);
}

/* Without a thread of its own a job is joined in its turn. */
static void finish_group(struct run *r, unsigned group)
{
	struct slot *s;

	for (s = NULL; (s = run_next_in_group(r, group, s));)
		if (s->work_begin_ns && thread_start(&s->joiner, await_end, s))
			s->joiner = 0;
	for (s = NULL; (s = run_next_in_group(r, group, s));)
		if (s->work_begin_ns)
			finish_slot(r, s);
}

static void run_fail(struct run *r, int rc, struct mlgen_err *err)
{
	if (rc < 0)
		failure_set(&r->shared.failure, err);
}

static void join_clock(struct run *r)
{
	clock_expect(r->shared.cfg.clock, 1);
	clock_join(r->shared.cfg.clock);
}

static void ask_turn(struct run *r, run_told *told, void *arg)
{
	join_clock(r);
	rules_ask_turn(&r->shared, told, arg);
	clock_leave(r->shared.cfg.clock);
}

int run_ask(const struct run_config *cfg, run_told *told, run_offer *offer, void *arg,
	    struct mlgen_err *err)
{
	struct run *r = make_run(cfg);
	struct mlgen_err why = { 0 };
	int rc = rules_ask_limit(&r->shared, NULL, NULL, &why);

	if (rc < 0)
		rules_ask_limit(&r->shared, told, arg, err);
	else if (cfg->count)
		rc = memlimit_try(&r->memory, cfg->jobs[0], &r->host, &why);
	for (size_t i = 0; i < cfg->count && rc < 0; i++)
		told(arg, i, "memory_limit", &why);
	rc = run_begin(r, 0, err);
	if (rc == 0)
		rc = rules_ask(&r->shared, told, arg, err);
	if (rc == 0)
		ask_turn(r, told, arg);
	for (size_t i = 0; i < cfg->count && rc == 0; i++)
		offer(arg, i, &r->slots[i].dataset, &r->slots[i].eval);
	run_free(r);
	return rc;
}

int run_trace(struct run *r, const struct traced_config *cfg, struct mlgen_err *err)
{
	r->trace = *cfg;
	r->threads = traced_threads_new();
	return traced_start(&r->tracer, &r->shared, cfg, r->threads, err);
}

int run_trace_end(struct run *r, struct mlgen_err *err)
{
	/* One that came to nothing leaves what was there. */
	return traced_end(r->tracer, &r->trace, !run_is_stopping(r), &r->traced, err);
}

static int start_slot(struct run *r, struct slot *s, uint64_t now_ns, struct mlgen_err *err)
{
	int rc = s->does->start(s, &r->shared, now_ns, err);

	/* An error elsewhere may have come before this one could be told. */
	if (atomic_load(&r->shared.failure.is_set) && slot_is_working(s))
		s->does->close(s);
	return rc;
}

/* Once for all of a group on a host, before any of them has begun. Before later epochs a training
 * does it. A restore tries first what its own files come to. */
static int drop_caches(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct slot *s = NULL;
	bool is_done = false;
	int rc = 0;

	while (rc == 0 && (s = run_next_in_group(r, group, s))) {
		if (!slot_drops_caches(s) || job_work(s->job)->restores)
			continue;
		if (!is_done && hosts_is_first_here(r->shared.cfg.hosts))
			rc = dropcaches_run("", err);
		is_done = true;
		s->has_dropped_caches = rc == 0;
	}
	return rc;
}

/* What jobs of several processes set up together. */
static int meet_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct slot *s = NULL;
	int rc = 0;

	while (h && rc == 0 && (s = run_next_in_group(r, group, s)))
		if (s->does->meet)
			rc = s->does->meet(s, &r->shared, err);
	return rc;
}

/* What several have agreed to start one alone does not leave out: it ends at once. */
static int start_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	bool goes = hosts_total(h) > 1;
	/* Nobody reads what the first of his host is about to drop. */
	int rc = hosts_agree(h, drop_caches(r, group, err), err);
	struct slot *s = NULL;

	if (rc == 0)
		rc = meet_group(r, group, err);
	uint64_t now_ns = clock_now(r->shared.cfg.clock);
	while (rc == 0 && (goes || !run_is_stopping(r)) && (s = run_next_in_group(r, group, s)))
		if (s->does->start)
			rc = start_slot(r, s, now_ns, err);
	return rc;
}

/* Nobody of another process is to wait for what never began here. */
static void close_idle(struct run *r, unsigned group)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct slot *s = NULL;

	while (h && (s = run_next_in_group(r, group, s))) {
		uint32_t first = r->shared.channels + (uint32_t)(s - r->slots);

		if (s->work_begin_ns)
			continue;
		hosts_refuse(h, first);
		hosts_refuse(h, first + (uint32_t)r->shared.cfg.count);
		hosts_refuse(h, first + 2 * (uint32_t)r->shared.cfg.count);
	}
}

static int check_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct slot *s = NULL;
	int rc = 0;

	if (!r->shared.cfg.hosts)
		return 0;
	while (rc == 0 && (s = run_next_in_group(r, group, s)))
		if (s->does->check)
			rc = s->does->check(s, &r->shared, err);
	return rc;
}

static void run_group(struct run *r, unsigned group)
{
	struct mlgen_err err = { 0 };
	struct slot *s = NULL;

	while ((s = run_next_in_group(r, group, s)))
		s->begin_ns = clock_now(r->shared.cfg.clock);
	hosts_doing(r->shared.cfg.hosts, "preparing its files");
	int rc = run_prepare(r, group, &err);
	bool goes_on = !run_stops(r, rc != 0);
	hosts_doing(r->shared.cfg.hosts, "running its jobs");
	if (goes_on)
		rc = start_group(r, group, &err);
	run_fail(r, rc, &err);
	close_idle(r, group);
	clock_leave(r->shared.cfg.clock); /* joining does not hold time up */
	finish_group(r, group);
	err = (struct mlgen_err){ 0 };
	rc = check_group(r, group, &err);
	run_fail(r, rc, &err);
	join_clock(r);
}

void run_execute(struct run *r)
{
	unsigned groups = 0;

	for (size_t i = 0; i < r->shared.cfg.count; i++)
		if (r->shared.cfg.jobs[i]->group >= groups)
			groups = r->shared.cfg.jobs[i]->group + 1;
	if (hosts_rank(r->shared.cfg.hosts) == 0)
		devices_print(r->slots, r->shared.cfg.count);
	disks_begin(&r->disks, r->slots, r->shared.cfg.count, r->shared.cfg.clock);
	join_clock(r);
	hosts_watch(r->shared.cfg.hosts, hear, r);
	for (unsigned g = 0; g < groups && !run_stops(r, false); g++)
		run_group(r, g);
	hosts_watch(r->shared.cfg.hosts, NULL, NULL);
	others_end(r->others);
	hosts_doing(r->shared.cfg.hosts, "reporting");
	disks_end(&r->disks, r->shared.cfg.clock);
	clock_leave(r->shared.cfg.clock);
	memlimit_lift(&r->memory);
}

void run_abandon(struct run *r)
{
	stop_all(r);
	others_end(r->others);
	memlimit_lift(&r->memory); /* threads that hang go along */
}
