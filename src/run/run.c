/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - runs: set up groups of jobs, run them one after the other, and collect their results. */
#include "run/run_internal.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "data/dataset/dataset.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"
#include "trace/tracer.h"

int run_number(struct hosts *hosts, struct job *const *jobs, size_t count, struct mlgen_err *err)
{
	unsigned self = hosts_rank(hosts);
	struct job_place place = { .host = hosts_host_of(hosts, self),
				   .hosts = hosts_count(hosts),
				   .rank = self,
				   .total = hosts_total(hosts) };
	struct buf all = { 0 };
	uint64_t *mine;
	int rc;

	if (hosts_total(hosts) == 1)
		return 0;
	for (unsigned rank = 0; rank < hosts_total(hosts); rank++) {
		if (hosts_host_of(hosts, rank) != place.host)
			continue;
		place.process += rank < self;
		place.processes++;
	}
	mine = mem_array(count, sizeof(*mine));
	for (size_t i = 0; i < count; i++) {
		mine[i] = jobs[i]->accelerators;
		jobs[i]->place = place;
	}
	rc = hosts_gather(hosts, mine, count * sizeof(*mine), &all, err);
	if (rc == 0)
		rc = hosts_broadcast(hosts, &all, err);
	for (unsigned rank = 0; rc == 0 && rank < hosts_total(hosts); rank++) {
		size_t n;
		const char *part = hosts_part(&all, rank, &n);

		for (size_t i = 0; part && i < count && n == count * sizeof(*mine); i++) {
			uint64_t accelerators;

			memcpy(&accelerators, part + i * sizeof(accelerators),
			       sizeof(accelerators));
			jobs[i]->accelerators_all += accelerators;
			if (rank < self)
				jobs[i]->accelerators_before += accelerators;
		}
	}
	buf_fini(&all);
	mem_free(mine);
	return rc;
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
	/* End the measurement of jobs that were still running when the run was abandoned. */
	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		struct slot *s = &r->slots[i];

		if (!s->begin_ns || atomic_load(&s->phase) == LIVE_DONE)
			continue;
		if (atomic_load(&s->work_begin_ns))
			slot_end_work(s);
		else
			s->end_ns = clock_now(r->shared.cfg.clock);
	}
	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		struct slot *s = &r->slots[i];
		size_t n = s->does->records(s);

		out->jobs = mem_realloc(out->jobs, (out->job_count + n) * sizeof(*out->jobs));
		for (size_t k = 0; k < n; k++) {
			struct job_result *job = &out->jobs[out->job_count++];

			collect_job(job, k, s);
			if (out->err.code && !job->complete)
				job->err = out->err;
		}
	}
	disks_end(&r->disks, r->shared.cfg.clock);
	disks_collect(out, &r->disks);
	merge_groups(out);
	return out;
}

/*
 * Only one process lists the files, which may be a million: rank 0, or the first process of each
 * host if the hosts have datasets of their own. It sends the list to the other processes. If one
 * process fails, all processes return its failure, so that none of them waits for it.
 */
static int init_with_files(struct run *r, struct slot *s, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct dataset_received given[2] = { 0 };
	struct relay relay;
	int rc = 0;

	relay_begin(&relay, h, s->job->shared);
	const bool looks = relay_is_sender(&relay);
	if (looks)
		rc = s->does->init(s, &r->shared, err);
	rc = hosts_agree(h, rc, err);
	if (rc < 0)
		return rc;
	if (looks) {
		rc = dataset_send(&s->dataset, &relay, err);
		if (rc == 0)
			rc = dataset_send(&s->eval, &relay, err);
	} else {
		const char *directory = s->job->directory ? s->job->directory : ".";

		rc = dataset_receive(&given[0], directory, &relay, err);
		if (rc == 0)
			rc = dataset_receive(&given[1], directory, &relay, err);
	}
	rc = relay_end(&relay, rc, err);
	if (rc == 0 && !looks) {
		s->given = given;
		rc = s->does->init(s, &r->shared, err);
		s->given = NULL;
	}
	dataset_received_fini(&given[0]);
	dataset_received_fini(&given[1]);
	return hosts_agree(h, rc, err);
}

/*
 * Set up the slots (slot.h, init), together with the other processes: one slot after the other, so
 * that all processes return the failure of one. `rc` is the result of this process so far; if it is
 * an error, no process waits for this one. 0, or -errno with err.
 */
static int init_slots(struct run *r, int rc, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;

	rc = hosts_agree(h, rc, err);
	for (size_t i = 0; i < r->shared.cfg.count && rc == 0; i++) {
		struct slot *s = &r->slots[i];

		if (hosts_total(h) > 1 && slot_has_dataset(s))
			rc = init_with_files(r, s, err);
		else
			rc = hosts_agree(h, s->does->init(s, &r->shared, err), err);
	}
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

/* Stop all jobs; called for the first error of this process. */
static void stop_failed(void *arg)
{
	struct run *r = arg;

	stop_all(r);
	if (!atomic_load(&r->shared.has_remote_end))
		hosts_announce_end(r->shared.cfg.hosts, &r->shared.failure.err);
}

/* Called on the thread that receives from other processes. */
static void receive_news(void *arg, const struct hosts_news *news)
{
	struct run *r = arg;

	atomic_store(&r->shared.has_remote_end, true);
	if (news->is_interrupted)
		run_interrupt(r);
	else
		failure_set(&r->shared.failure, &news->err);
}

static struct run *make_run(const struct run_config *cfg)
{
	struct run *r = mem_zalloc(sizeof(*r));

	r->shared.cfg = *cfg;
	r->host = *cfg->host;
	r->shared.cfg.host = &r->host;
	r->timestamp_ms = clock_wall_ns() / 1000000;
	failure_init(&r->shared.failure, stop_failed, r);
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
	return r;
}

struct run_config run_config_of(const struct settings *set, struct job *const *jobs, size_t count,
				const struct host *host, struct clock *clock)
{
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
				    .traces = set->trace || traced_is_logged(jobs, count) };
}

int run_new(struct run **out, const struct run_config *cfg, struct mlgen_err *err)
{
	struct run *r = make_run(cfg);
	int rc;

	*out = r;
	r->shared.channels = hosts_reserve_channels(cfg->hosts, 3 * (uint32_t)cfg->count + 1);
	rc = rules_ask_limit(&r->shared, NULL, NULL, err);
	/* Set the limit before anything is sized by the available memory. */
	if (rc == 0)
		rc = memlimit_set(&r->memory, cfg->jobs, cfg->count, &r->host, err);
	rc = init_slots(r, rc, err);
	if (rc == 0)
		rc = rules_ask(&r->shared, NULL, NULL, err);
	if (hosts_agree(cfg->hosts, rc, err) < 0)
		return err->code;
	shared_find(r->slots, cfg->count);
	energy_open(&r->energy, "");
	r->others = remote_status_new(r, cfg->count, cfg->hosts,
				      r->shared.channels + 3 * (uint32_t)cfg->count, r->host.cpus);
	for (size_t i = 0; i < cfg->count; i++)
		if (r->slots[i].place.unbound)
			log_note("%s: numa=device: %s; its threads are not bound",
				 cfg->jobs[i]->name, r->slots[i].place.unbound);
	return 0;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	remote_status_free(r->others);
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

/* A job ends with its last worker, not when its turn to be joined comes. */
static void *join_slot(void *slot)
{
	struct slot *s = slot;

	s->does->join(s);
	slot_end_work(s);
	atomic_store(&s->phase, LIVE_DONE);
	if (s->does->inspect_files)
		s->does->inspect_files(s);
	return NULL;
}

/* Join each job on a thread of its own, or in its turn if no thread can be started. */
static void finish_group(struct run *r, unsigned group)
{
	struct slot *s;

	for (s = NULL; (s = run_next_in_group(r, group, s));)
		if (s->work_begin_ns && thread_start(&s->joiner, join_slot, s))
			s->joiner = 0;
	for (s = NULL; (s = run_next_in_group(r, group, s));) {
		if (!s->work_begin_ns)
			continue;
		if (s->joiner)
			pthread_join(s->joiner, NULL);
		else
			join_slot(s);
		s->joiner = 0;
		if (s->job->ramp_time_ns && !has_counted(s) && !run_is_stopping(r))
			log_warn("%s: the run ended before ramp_time did; nothing is counted",
				 s->job->name);
	}
}

static void join_clock(struct run *r)
{
	clock_expect(r->shared.cfg.clock, 1);
	clock_join(r->shared.cfg.clock);
}

int run_ask(const struct run_config *cfg, run_rule_failed_fn *report, run_offer *offer, void *arg,
	    struct mlgen_err *err)
{
	struct run *r = make_run(cfg);
	struct mlgen_err why = { 0 };
	int rc = rules_ask_limit(&r->shared, NULL, NULL, &why);

	if (rc < 0)
		rules_ask_limit(&r->shared, report, arg, err);
	else if (cfg->count)
		rc = memlimit_try(&r->memory, cfg->jobs[0], &r->host, &why);
	for (size_t i = 0; i < cfg->count && rc < 0; i++)
		report(arg, i, "memory_limit", &why);
	rc = init_slots(r, 0, err);
	if (rc == 0)
		rc = rules_ask(&r->shared, report, arg, err);
	if (rc == 0) {
		join_clock(r);
		rules_ask_turn(&r->shared, report, arg);
		clock_leave(r->shared.cfg.clock);
	}
	for (size_t i = 0; i < cfg->count && rc == 0; i++)
		offer(arg, i, &r->slots[i].dataset, &r->slots[i].eval);
	run_free(r);
	return rc;
}

/* Once several processes have agreed to start, each of them must, even if it has been told to stop:
 * its jobs then end at once. */
static int start_group(struct run *r, unsigned group, struct mlgen_err *err)
{
	struct hosts *h = r->shared.cfg.hosts;
	bool must_start = hosts_total(h) > 1, has_dropped = false;
	struct slot *s = NULL;
	int rc = 0;

	/* Drop the caches of a host once for a group, before any of its jobs begins. Trainings do
	 * this themselves before later epochs, and restores try to drop only their own files
	 * first. */
	while (rc == 0 && (s = run_next_in_group(r, group, s))) {
		if (!slot_drops_caches(s) || job_work(s->job)->restores)
			continue;
		if (!has_dropped && hosts_is_first_here(h))
			rc = dropcaches_run("", err);
		has_dropped = true;
		s->has_dropped_caches = rc == 0;
	}
	/* Wait until the first process of the host has dropped the caches. */
	rc = hosts_agree(h, rc, err);
	s = NULL;
	while (h && rc == 0 && (s = run_next_in_group(r, group, s)))
		if (s->does->meet)
			rc = s->does->meet(s, &r->shared, err);
	uint64_t now_ns = clock_now(r->shared.cfg.clock);
	while (rc == 0 && (must_start || !run_is_stopping(r)) &&
	       (s = run_next_in_group(r, group, s))) {
		if (!s->does->start)
			continue;
		rc = s->does->start(s, &r->shared, now_ns, err);
		/* stop_all may have run before this slot was working. */
		if (atomic_load(&r->shared.failure.is_set) && slot_is_working(s))
			s->does->close(s);
	}
	return rc;
}

static void run_group(struct run *r, unsigned group)
{
	struct hosts *h = r->shared.cfg.hosts;
	struct mlgen_err err = { 0 };
	struct slot *s = NULL;

	while ((s = run_next_in_group(r, group, s)))
		s->begin_ns = clock_now(r->shared.cfg.clock);
	hosts_set_activity(h, "preparing its files");
	int rc = run_prepare(r, group, &err);
	bool goes_on = !run_stops(r, rc != 0);
	hosts_set_activity(h, "running its jobs");
	if (goes_on)
		rc = start_group(r, group, &err);
	if (rc < 0)
		failure_set(&r->shared.failure, &err);
	/* Refuse the channels of jobs that never began, so that no other process waits for them. */
	while (h && (s = run_next_in_group(r, group, s))) {
		uint32_t first = r->shared.channels + (uint32_t)(s - r->slots);

		if (s->work_begin_ns)
			continue;
		hosts_channel_refuse(h, first);
		hosts_channel_refuse(h, first + (uint32_t)r->shared.cfg.count);
		hosts_channel_refuse(h, first + 2 * (uint32_t)r->shared.cfg.count);
	}
	clock_leave(r->shared.cfg.clock); /* a virtual clock advances while threads are joined */
	finish_group(r, group);
	err = (struct mlgen_err){ 0 };
	rc = 0;
	while (h && rc == 0 && (s = run_next_in_group(r, group, s)))
		if (s->does->check)
			rc = s->does->check(s, &r->shared, &err);
	if (rc < 0)
		failure_set(&r->shared.failure, &err);
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
	hosts_watch(r->shared.cfg.hosts, receive_news, r);
	for (unsigned g = 0; g < groups && !run_stops(r, false); g++)
		run_group(r, g);
	hosts_watch(r->shared.cfg.hosts, NULL, NULL);
	remote_status_end(r->others);
	hosts_set_activity(r->shared.cfg.hosts, "reporting");
	disks_end(&r->disks, r->shared.cfg.clock);
	clock_leave(r->shared.cfg.clock);
	memlimit_lift(&r->memory);
}

void run_abandon(struct run *r)
{
	stop_all(r);
	remote_status_end(r->others);
	memlimit_lift(&r->memory); /* hanging threads leave the group, too */
}
