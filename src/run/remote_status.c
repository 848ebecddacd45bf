/* SPDX-License-Identifier: Apache-2.0 */
/* remote_status.c - current figures of the jobs of this process, and of the other processes for
 * rank 0. */
#include "run/run_internal.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"
#include "io/devices.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"

void run_interrupt(struct run *r)
{
	bool was = atomic_exchange(&r->shared.interrupted, true);

	if (!was && !atomic_load(&r->shared.has_remote_end))
		hosts_announce_end(r->shared.cfg.hosts, NULL);
	for (size_t i = 0; i < r->shared.cfg.count; i++) {
		stop_set(&r->slots[i].progress.stop, r->shared.cfg.clock);
		if (slot_is_working(&r->slots[i]))
			r->slots[i].does->wake(&r->slots[i]);
	}
}

void run_each_call(const struct run *r, slot_call_fn *tell, void *arg)
{
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		slot_each_call(&r->slots[i], clock_now(r->shared.cfg.clock), tell, arg);
}

bool run_has_started(const struct run *r)
{
	bool has = atomic_load(&r->shared.has_started);

	/* A job starts at its time zero, after its threads were set up. */
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		has |= slot_has_begun(&r->slots[i]);
	return has;
}

static enum live_phase main_phase(const struct slot *s)
{
	const struct workload *w = job_work(s->job);

	if (!s->does->start)
		return LIVE_PREPARE;
	if (w->is_plain)
		return LIVE_IO;
	return w->has_accelerators ? LIVE_TRAIN : LIVE_CHECKPOINT;
}

void run_look(const struct run *r, size_t i, struct live *live)
{
	const struct slot *s = &r->slots[i];

	/* Read the phase only once: the job may end at any moment, and its figures must not
	 * vanish. */
	int phase = atomic_load(&s->phase);
	bool has_worked = atomic_load(&s->work_begin_ns) != 0;

	live_reset(live);
	live->job_name = s->job->name;
	live->phase = (enum live_phase)phase;
	live->now_ns = clock_now(r->shared.cfg.clock);
	live->left_ns = UINT64_MAX;
	live->done_percent = (double)NAN;
	live->work = main_phase(s);
	live->has_worked = has_worked;
	live->files_done = count_get(&s->progress.files_done);
	live->files_total = count_get(&s->progress.files_total);
	live->bytes_done = count_get(&s->progress.bytes_done);
	live->bytes_total = count_get(&s->progress.bytes_total);
	if (slot_works_in(phase) || (phase == LIVE_DONE && has_worked))
		s->does->look(s, live);
	/* All checkpoints have the same size. */
	if (live->checkpoint > 0)
		live->checkpoint_moved = (live->checkpoint - 1) * live->checkpoint_bytes;
	live->checkpoint_moved += live->checkpoint_done;
}

struct remote_status *run_remote_status(const struct run *r)
{
	return r->others;
}

void run_tick(struct run *r)
{
	uint64_t now_ns = clock_now(r->shared.cfg.clock);
	double mhz = noise_clock_mhz("");
	struct energy_counts unused;

	/* Read the energy counters before they wrap around. */
	energy_read(&r->energy, &unused);
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		if (slot_is_working(&r->slots[i]) && slot_has_begun(&r->slots[i]))
			rates_tick(&r->slots[i], now_ns, mhz);
}

/* ---- remote status ---- */

#define ANSWER_MOST_NS (3 * NS_PER_S / 10)
/* Least time between two readings of the host's counters. */
#define RATE_LEAST_NS (NS_PER_S / 2)

struct remote_status {
	const struct run *run;
	size_t jobs;
	struct hosts *hosts;
	struct survey *survey;
	double cpus; /* available to this process */
	/* Used by the survey's thread, in ranks other than 0. */
	struct host_look *host;
	struct live look;
};

/*
 * An answer consists of a head and, for each job, its figures and its histograms without empty
 * bins. All processes have the same version (hosts/hosts.h), and their machines the same byte
 * order, as for MPI.
 */
struct status_head {
	struct live_host host;
	double cpus;
};

struct status_bin {
	uint64_t bucket, count;
};

static void append_hist(struct buf *to, const struct hist *h)
{
	uint64_t bins = 0;

	for (unsigned i = hist_first_bucket(h); i <= hist_last_bucket(h); i++)
		bins += h->buckets[i] != 0;
	buf_addn(to, (const char *)h, offsetof(struct hist, buckets));
	buf_addn(to, (const char *)&bins, sizeof(bins));
	for (unsigned i = hist_first_bucket(h); i <= hist_last_bucket(h); i++) {
		const struct status_bin b = { i, h->buckets[i] };

		if (b.count)
			buf_addn(to, (const char *)&b, sizeof(b));
	}
}

static void append_answer(void *arg, struct buf *to)
{
	struct remote_status *o = arg;
	uint64_t now_ns = clock_monotonic_ns();
	struct status_head head = { .cpus = o->cpus };
	struct hist **h;

	host_look(o->host, &head.host, now_ns, now_ns - 2 * RATE_LEAST_NS);
	buf_addn(to, (const char *)&head, sizeof(head));
	for (size_t i = 0; i < o->jobs; i++) {
		run_look(o->run, i, &o->look);
		buf_addn(to, (const char *)&o->look, sizeof(o->look));
		for (unsigned k = 0; (h = live_hist(&o->look, k)); k++)
			append_hist(to, *h);
	}
}

/* The unread part of an answer. */
struct status_rest {
	const char *at;
	size_t left;
};

static bool parse_bytes(struct status_rest *r, void *to, size_t n)
{
	if (r->left < n)
		return false;
	memcpy(to, r->at, n);
	r->at += n;
	r->left -= n;
	return true;
}

/* Parse the next histogram into `to`, or skip it if `to` is NULL. */
static bool parse_hist(struct status_rest *r, struct hist *to)
{
	uint64_t bins;
	struct status_bin b;
	char head[offsetof(struct hist, buckets)];

	if (!parse_bytes(r, head, sizeof(head)) || !parse_bytes(r, &bins, sizeof(bins)))
		return false;
	if (to) {
		hist_reset(to);
		memcpy(to, head, sizeof(head));
	}
	for (; bins; bins--) {
		if (!parse_bytes(r, &b, sizeof(b)) || b.bucket >= HIST_BUCKETS)
			return false;
		if (to)
			to->buckets[b.bucket] = b.count;
	}
	return true;
}

/* Parse the figures and histograms of the next job into `to`, or skip them if `to` is NULL. */
static bool parse_look(struct status_rest *r, struct live *to)
{
	struct live figures, own = to ? *to : (struct live){ 0 };
	struct hist **h;

	if (!parse_bytes(r, &figures, sizeof(figures)))
		return false;
	for (unsigned k = 0; (h = live_hist(&figures, k)); k++) {
		*h = *live_hist(&own, k);
		if (!parse_hist(r, *h))
			return false;
	}
	figures.job_name = own.job_name;
	if (to)
		*to = figures;
	return true;
}

static bool parse_answer(struct remote_status *o, unsigned rank, struct buf *answer,
			 struct status_head *head, struct status_rest *rest)
{
	if (!survey_answer(o->survey, rank, answer))
		return false;
	*rest = (struct status_rest){ buf_str(answer), answer->len };
	if (!parse_bytes(rest, head, sizeof(*head)))
		return false;
	head->host.time = NULL;
	return true;
}

bool remote_status_look(struct remote_status *o, unsigned rank, size_t job, struct live *to)
{
	struct buf answer = { 0 };
	struct status_rest rest;
	struct status_head head;
	bool is_known = o && parse_answer(o, rank, &answer, &head, &rest);

	for (size_t i = 0; is_known && i < job; i++)
		is_known = parse_look(&rest, NULL);
	is_known = is_known && parse_look(&rest, to);
	buf_fini(&answer);
	return is_known;
}

void remote_status_add(struct remote_status *o, size_t job, struct live *to)
{
	struct live one = { .job_name = to->job_name };

	if (!o)
		return;
	for (unsigned k = 0; live_hist(to, k); k++)
		if (*live_hist(to, k))
			*live_hist(&one, k) = hist_new();
	for (unsigned rank = 1; rank < remote_status_total(o); rank++)
		if (remote_status_look(o, rank, job, &one))
			live_join(to, &one);
	live_hists_free(&one);
}

/* UINT64_MAX = unknown. */
static void add_known(uint64_t *to, uint64_t n)
{
	if (n != UINT64_MAX)
		*to = *to == UINT64_MAX ? n : *to + n;
}

static void add_memory(struct live_host *to, const struct live_host *one)
{
	add_known(&to->resident_bytes, one->resident_bytes);
	add_known(&to->switches_per_sec, one->switches_per_sec);
}

static bool parse_head(struct remote_status *o, unsigned rank, struct status_head *head)
{
	struct buf answer = { 0 };
	struct status_rest rest;
	bool is_known = parse_answer(o, rank, &answer, head, &rest);

	buf_fini(&answer);
	return is_known;
}

bool remote_status_look_host(struct remote_status *o, unsigned rank, struct live_host *to)
{
	struct status_head one;

	if (!o)
		return rank == 0;
	if (!hosts_is_first_on_host(o->hosts, rank) || (rank && !parse_head(o, rank, &one)))
		return false;
	if (rank)
		*to = one.host;
	for (unsigned i = rank + 1; i < remote_status_total(o); i++)
		if (hosts_host_of(o->hosts, i) == hosts_host_of(o->hosts, rank) &&
		    parse_head(o, i, &one))
			add_memory(to, &one.host);
	return true;
}

void remote_status_add_hosts(struct remote_status *o, struct live_host *to)
{
	struct status_head one;

	if (!o)
		return;
	double busy = to->cpu_percent * o->cpus, cpus = o->cpus;
	for (unsigned rank = 1; rank < remote_status_total(o); rank++) {
		if (!parse_head(o, rank, &one))
			continue;
		add_memory(to, &one.host);
		if (!hosts_is_first_on_host(o->hosts, rank))
			continue;
		add_known(&to->page_cache_bytes, one.host.page_cache_bytes);
		add_known(&to->received_bytes_per_sec, one.host.received_bytes_per_sec);
		add_known(&to->sent_bytes_per_sec, one.host.sent_bytes_per_sec);
		busy += one.host.cpu_percent * one.cpus;
		cpus += one.cpus;
	}
	to->cpu_percent = busy / cpus;
}

struct remote_status *remote_status_new(const struct run *run, size_t jobs, struct hosts *hosts,
					uint32_t number, uint64_t cpus)
{
	if (!hosts)
		return NULL;
	struct remote_status *o = mem_zalloc(sizeof(*o));

	*o = (struct remote_status){
		.run = run, .jobs = jobs, .hosts = hosts, .cpus = (double)cpus
	};
	if (hosts_rank(hosts)) {
		o->host = host_look_new();
		live_hists_new(&o->look);
	}
	o->survey = survey_open(hosts, number, append_answer, o);
	return o;
}

void remote_status_end(struct remote_status *o)
{
	if (o)
		survey_end(o->survey);
}

void remote_status_free(struct remote_status *o)
{
	if (!o)
		return;
	survey_free(o->survey);
	host_look_free(o->host);
	live_hists_free(&o->look);
	mem_free(o);
}

void remote_status_poll(struct remote_status *o)
{
	if (o)
		survey_ask(o->survey, ANSWER_MOST_NS);
}

bool remote_status_is_working(struct remote_status *o)
{
	return o && !survey_is_over(o->survey);
}

unsigned remote_status_total(const struct remote_status *o)
{
	return o ? hosts_total(o->hosts) : 1;
}

const char *remote_status_host_name(const struct remote_status *o, unsigned rank)
{
	return o ? hosts_name(o->hosts, rank) : "";
}
