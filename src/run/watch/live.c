/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - current figures of a running job and its host, for the status line and the log. */
#include "run/watch/watch_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/host.h"

/* Activities of the job in an interval, as bits. */
enum live_when {
	LIVE_IN_PREPARE = 1,
	LIVE_IN_TRAIN = 2, /* including the time between epochs */
	LIVE_IN_STEPS = 4, /* training steps that compute */
	LIVE_IN_IO = 8,
	LIVE_IN_CHECKPOINT = 16, /* a job that only saves or restores */
	LIVE_IN_SAVE = 32,       /* a checkpoint in progress, in any job */
	LIVE_AFTER_SAVE = 64,    /* a checkpoint was begun in the run so far */
	LIVE_IN_TIER = 128,      /* a training job with lookups in its cache tier */
};

/* ---- joining the looks of several processes ---- */

/* Each sum is `before` plus `other`, so that a member that several rows share is added only
 * once. */
struct joining {
	struct live *to;
	struct live before;
	const struct live *other;
};

static uint64_t count_at(const struct live *l, size_t off)
{
	uint64_t n;

	memcpy(&n, (const char *)l + off, sizeof(n));
	return n;
}

static void set_count(const struct joining *j, size_t off, uint64_t n)
{
	memcpy((char *)j->to + off, &n, sizeof(n));
}

static void join_sum(const struct joining *j, size_t off)
{
	set_count(j, off, count_at(&j->before, off) + count_at(j->other, off));
}

static void join_row(const struct joining *j, const struct live_field *f)
{
	bool has_of =
		f->kind == LIVE_SHARE || (f->kind == LIVE_PROGRESS && f->join == LIVE_JOIN_SUM);
	size_t off = f->field.off;

	if (f->kind == LIVE_COUNTER || has_of)
		join_sum(j, off);
	if (has_of)
		join_sum(j, f->of);
	if (f->kind == LIVE_GAUGE && f->join == LIVE_JOIN_MOST) {
		uint64_t a = count_at(&j->before, off), b = count_at(j->other, off);

		/* UINT64_MAX = unknown. */
		if (a == UINT64_MAX || (b != UINT64_MAX && b > a))
			set_count(j, off, b);
	}
	if (f->kind == LIVE_GAUGE && f->join == LIVE_JOIN_LEAST) {
		double a, b;

		memcpy(&a, (const char *)&j->before + off, sizeof(a));
		memcpy(&b, (const char *)j->other + off, sizeof(b));
		a = fmin(a, b); /* ignores NaN, an unknown value */
		memcpy((char *)j->to + off, &a, sizeof(a));
	}
}

/* Keep the oldest outstanding operation of both looks. Its start is converted between the clocks of
 * the processes. */
static void join_oldest(struct live *to, const struct live *other)
{
	uint64_t start_ns = other->oldest.start_ns;

	if (!start_ns)
		return;
	start_ns = start_ns + to->now_ns - other->now_ns;
	if (to->oldest.start_ns && (int64_t)(to->oldest.start_ns - start_ns) < 0)
		return;
	to->oldest = other->oldest;
	to->oldest.start_ns = start_ns ? start_ns : 1;
}

void live_join(struct live *to, const struct live *other)
{
	const struct joining j = { to, *to, other };
	bool works = other->phase != LIVE_WAIT && other->phase != LIVE_DONE;
	struct live copy = *other; /* live_hist has no const variant */
	struct hist **h;

	for (const struct live_field *f = live_fields; f->field.name; f++)
		join_row(&j, f);
	/* The job is done when all of its processes are. */
	if (works && (to->phase == LIVE_WAIT || to->phase == LIVE_DONE))
		to->phase = other->phase;
	to->is_checkpointing |= other->is_checkpointing;
	join_oldest(to, other);
	for (unsigned i = 0; (h = live_hist(to, i)); i++) {
		const struct hist *from = *live_hist(&copy, i);

		if (*h && from && from->count)
			hist_merge(*h, from);
	}
}

/* ---- the host ---- */

struct host_look {
	/* Time of the last reading of the counters, by the run's clock and by CLOCK_MONOTONIC. */
	uint64_t read_ns, read_wall_ns;
	struct host_cpu cpu;
	uint64_t received_bytes, sent_bytes;
	bool has_network;
	struct live_host last; /* rates between the last two readings */
	char time[32];
};

struct host_look *host_look_new(void)
{
	struct host_look *h = mem_zalloc(sizeof(*h));

	host_cpu_read(&h->cpu);
	h->has_network = host_network_read("", &h->received_bytes, &h->sent_bytes);
	h->read_wall_ns = clock_monotonic_ns();
	return h;
}

void host_look_free(struct host_look *h)
{
	mem_free(h);
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((double)n * 1e9 / (double)ns) : UINT64_MAX;
}

static void read_rates(struct host_look *h, uint64_t now_ns)
{
	struct host_cpu cpu;
	uint64_t received, sent;
	uint64_t wall_ns = clock_monotonic_ns();
	uint64_t ns = since(wall_ns, h->read_wall_ns);
	bool had_network = h->has_network;

	host_cpu_read(&cpu);
	h->last.cpu_percent = host_cpu_percent(&h->cpu, &cpu, ns);
	h->last.switches_per_sec = per_second(since(cpu.switches, h->cpu.switches), ns);
	h->cpu = cpu;
	h->has_network = host_network_read("", &received, &sent);
	h->last.received_bytes_per_sec = h->last.sent_bytes_per_sec = UINT64_MAX;
	if (had_network && h->has_network) {
		h->last.received_bytes_per_sec = per_second(since(received, h->received_bytes), ns);
		h->last.sent_bytes_per_sec = per_second(since(sent, h->sent_bytes), ns);
	}
	h->received_bytes = received;
	h->sent_bytes = sent;
	h->read_wall_ns = wall_ns;
	h->read_ns = now_ns;
}

/* 0 bytes mean that /proc is not mounted. */
static uint64_t known(uint64_t bytes)
{
	return bytes ? bytes : UINT64_MAX;
}

static void format_time(char *out, size_t size)
{
	char text[24] = "";
	struct timespec wall;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &wall);
	if (gmtime_r(&wall.tv_sec, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(out, size, "%s.%03uZ", text, (unsigned)(wall.tv_nsec / 1000000) % 1000);
}

void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns, uint64_t before_ns)
{
	/* Rows of several jobs at the same time share a reading. */
	bool is_recent =
		h->read_ns != 0 && since(now_ns, h->read_ns) * 2 < since(now_ns, before_ns);

	if (!is_recent)
		read_rates(h, now_ns);
	format_time(h->time, sizeof(h->time));
	*out = h->last;
	out->time = h->time;
	out->resident_bytes = known(host_resident_bytes());
	out->page_cache_bytes = known(host_page_cache_bytes());
}

/* ---- jobs ---- */

/* The main phases of all kinds of jobs. */
#define LIVE_IN_WORK (LIVE_IN_TRAIN | LIVE_IN_IO | LIVE_IN_CHECKPOINT)

static const struct mlgen_choice phases[] = {
	{ "wait", LIVE_WAIT, NULL },
	{ "prepare", LIVE_PREPARE, NULL },
	{ "drop", LIVE_DROP, NULL },
	{ "train", LIVE_TRAIN, NULL },
	{ "checkpoint", LIVE_CHECKPOINT, NULL },
	{ "io", LIVE_IO, NULL },
	{ "done", LIVE_DONE, NULL },
	{ 0 },
};

/* clang-format off */

#define L struct live
#define H struct live_host
#define OF(m) .of = MLGEN_MEMBER(L, m, uint64_t)
#define PART(m) .type = MLGEN_PERCENT, .off = MLGEN_MEMBER(L, m, uint64_t)
#define PHASE(m) .type = MLGEN_ENUM, .off = MLGEN_MEMBER(L, m, enum live_phase), .choices = phases
#define HIST(m) .type = MLGEN_HIST, .off = MLGEN_MEMBER(L, m, struct hist *)
/* The three columns of a histogram. */
#define PERCENTILES(name, m, of_what)                                          \
	{ .field = { name "_p50_ns", HIST(m), .unit = "ns",                    \
	    .help = "Half of " of_what " in the interval took at most this long, in ns; empty if there were none." }, \
	  .kind = LIVE_DISTRIBUTION, .percent = 50 },                          \
	{ .field = { name "_p99_ns", HIST(m), .unit = "ns",                    \
	    .help = "99 of 100 took at most this long; with fewer than 100, the longest." }, \
	  .kind = LIVE_DISTRIBUTION, .percent = 99 },                          \
	{ .field = { name "_max_ns", HIST(m), .unit = "ns",                    \
	    .help = "The longest of them, within 0.4%." },                     \
	  .kind = LIVE_DISTRIBUTION, .percent = 100 }

/* Rows in the order of the log's columns. */
const struct live_field live_fields[] = {
	{ .field = { "time", MLGEN_F_STR(H, time),
	    .help = "End of the interval, ISO 8601, UTC." },
	  .kind = LIVE_HOST_GAUGE,
	  .metric = "" },
	{ .field = { "seconds", MLGEN_F_TIME(H, log_ns), .unit = "s",
	    .help = "The same in seconds since the start of the log." },
	  .kind = LIVE_HOST_GAUGE,
	  .metric = "" },
	{ .field = { "job", MLGEN_F_STR(L, job_name),
	    .help = "Name of the job." },
	  .kind = LIVE_GAUGE, .show = LIVE_AS_TEXT },
	{ .field = { "phase", PHASE(phase),
	    .help = "What the job is doing: wait, prepare, drop (its files are dropped from the page cache), train, io (a plain job), checkpoint (a checkpoint is saved or restored) or done." },
	  .kind = LIVE_GAUGE, .show = LIVE_AS_CHOICE },
	{ .field = { "epoch", MLGEN_F_U64(L, epoch),
	    .help = "The epoch under way, from 1." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_NUMBER, .when = LIVE_IN_TRAIN, OF(epochs) },
	{ .field = { "step", MLGEN_F_U64(L, step),
	    .help = "The step of this epoch that rank 0 is at, from 1." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_NUMBER, .when = LIVE_IN_TRAIN, OF(steps) },
	{ .field = { "samples", MLGEN_F_U64(L, samples), .unit = "samples",
	    .help = "Samples taken by accelerators in the interval, without those that failed." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TRAIN,
	  .metric = "Samples that accelerators took, without those that failed." },
	{ .field = { "sample_bytes", MLGEN_F_U64(L, sample_bytes), .unit = "bytes",
	    .help = "Payload of these samples, in bytes." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_TRAIN,
	  .metric = "Payload of the samples that accelerators took." },
	{ .field = { "io_bytes", MLGEN_F_U64(L, io_bytes), .unit = "bytes",
	    .help = "Bytes read in the interval, as transferred; during preparation or layout, bytes written." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_TRAIN,
	  .metric = "" },
	{ .field = { "io_bytes", MLGEN_F_U64(L, bytes_done), .unit = "bytes" },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_PREPARE },
	{ .field = { "au_percent", PART(compute_ns), .unit = "%",
	    .help = "Compute time of samples that did not fail, as a percentage of the time of the steps that ended in the interval; 0 if no step ended, empty if nothing is computed." },
	  .kind = LIVE_SHARE, .show = LIVE_AS_SHARE, .when = LIVE_IN_STEPS, OF(step_ns),
	  .metric = "Compute time of samples that did not fail, as a share of the time of the steps that have ended so far." },
	{ .field = { "stall_percent", PART(stall_ns), .unit = "%",
	    .help = "Stall time as a percentage of the time of the same steps." },
	  .kind = LIVE_SHARE, .when = LIVE_IN_TRAIN, OF(step_ns),
	  .metric = "Stall time as a share of the time of the steps that have ended so far." },
	{ .field = { "cpu_percent", MLGEN_F_PERCENT(H, cpu_percent), .unit = "%",
	    .help = "How busy the allowed CPUs of this host were, with all processes." },
	  .kind = LIVE_HOST_GAUGE },
	{ .field = { "resident_bytes", MLGEN_F_U64(H, resident_bytes), .unit = "bytes",
	    .help = "Memory that mlgen uses." },
	  .kind = LIVE_HOST_GAUGE },
	{ .field = { "page_cache_bytes", MLGEN_F_U64(H, page_cache_bytes), .unit = "bytes",
	    .help = "Page cache of this host." },
	  .kind = LIVE_HOST_GAUGE },
	{ .field = { "read_ios", MLGEN_F_U64(L, io_ios[0]), .unit = "operations",
	    .help = "Reads that the job completed in the interval." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_OPERATIONS, .when = LIVE_IN_WORK,
	  .metric = "Completed reads." },
	{ .field = { "write_ios", MLGEN_F_U64(L, io_ios[1]), .unit = "operations",
	    .help = "Writes that the job completed in the interval, including those of checkpoints." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_OPERATIONS, .when = LIVE_IN_WORK,
	  .metric = "Completed writes, including those of checkpoints." },
	{ .field = { "read_bytes", MLGEN_F_U64(L, io_moved[0]), .unit = "bytes",
	    .help = "Bytes that the job read in the interval." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_WORK,
	  .metric = "Bytes read, as transferred." },
	{ .field = { "write_bytes", MLGEN_F_U64(L, io_moved[1]), .unit = "bytes",
	    .help = "Bytes that the job wrote in the interval." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_WORK,
	  .metric = "Bytes written, as transferred, without those of a preparation." },
	{ .field = { "checkpoint", MLGEN_F_U64(L, checkpoint),
	    .help = "The checkpoint under way, from 1." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_NUMBER, .when = LIVE_IN_CHECKPOINT | LIVE_IN_SAVE, OF(checkpoints) },
	{ .field = { "checkpoint_bytes", MLGEN_F_U64(L, checkpoint_moved), .unit = "bytes",
	    .help = "Bytes of checkpoints that were written, or read, in the interval." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_BANDWIDTH, .when = LIVE_IN_CHECKPOINT | LIVE_AFTER_SAVE,
	  .metric = "Bytes of checkpoints that were written, or read." },
	{ .field = { "errors", MLGEN_F_U64(L, errors), .unit = "errors",
	    .help = "Errors that continue_on_error counted in the interval." },
	  .kind = LIVE_COUNTER, .show = LIVE_AS_ERRORS, .when = LIVE_IN_TRAIN | LIVE_IN_IO,
	  .metric = "Errors that continue_on_error counted." },
	{ .field = { "hit_percent", PART(hits), .unit = "%",
	    .help = "Samples that the cache tier contained, as a percentage of the samples requested from it in the interval; 0 if none was requested, empty without a tier." },
	  .kind = LIVE_SHARE, .show = LIVE_AS_SHARE, .when = LIVE_IN_TIER, OF(accesses),
	  .metric = "Samples that the cache tier contained, as a share of the samples requested from it so far." },
	PERCENTILES("read", lat[MLGEN_READ], "the reads"),
	PERCENTILES("write", lat[MLGEN_WRITE], "the writes"),
	PERCENTILES("sample", sample, "the samples, from the first operation to the last,"),
	PERCENTILES("stall", stall, "the stalls of accelerators"),
	{ .field = { "switches_per_sec", MLGEN_F_U64(H, switches_per_sec), .unit = "1/s",
	    .help = "Context switches of mlgen per second." },
	  .kind = LIVE_HOST_GAUGE, .metric = "" },
	{ .field = { "received_bytes_per_sec", MLGEN_F_U64(H, received_bytes_per_sec), .unit = "bytes/s",
	    .help = "Bytes that this host received per second, by all interfaces except loopback; empty if unknown." },
	  .kind = LIVE_HOST_GAUGE, .metric = "" },
	{ .field = { "sent_bytes_per_sec", MLGEN_F_U64(H, sent_bytes_per_sec), .unit = "bytes/s",
	    .help = "Bytes that this host sent per second, by the same interfaces; empty if unknown." },
	  .kind = LIVE_HOST_GAUGE, .metric = "" },

	{ .field = { "checkpoint_done", MLGEN_F_U64(L, checkpoint_done), .unit = "bytes",
	    .help = "Bytes of the checkpoint under way that are written, or read." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_BYTES, .when = LIVE_IN_SAVE, OF(checkpoint_bytes), .is_unlogged = true, .join = LIVE_JOIN_SUM },
	{ .field = { "files", MLGEN_F_U64(L, files_done), .unit = "files",
	    .help = "Files that are prepared." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_COUNT, .when = LIVE_IN_PREPARE, OF(files_total), .is_unlogged = true, .join = LIVE_JOIN_SUM },
	{ .field = { "prepared_bytes", MLGEN_F_U64(L, bytes_done), .unit = "bytes",
	    .help = "Bytes of files that are prepared." },
	  .kind = LIVE_PROGRESS, .show = LIVE_AS_BYTES, .when = LIVE_IN_PREPARE, OF(bytes_total), .is_unlogged = true, .join = LIVE_JOIN_SUM },
	{ .field = { "compute_time", MLGEN_F_TIME(L, compute_ns), .unit = "s",
	    .help = "Compute time of samples that did not fail, in the steps that have ended, of all accelerators." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TRAIN, .is_unlogged = true },
	{ .field = { "stall_time", MLGEN_F_TIME(L, stall_ns), .unit = "s",
	    .help = "Stall time in these steps, of all accelerators." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TRAIN, .is_unlogged = true },
	{ .field = { "step_time", MLGEN_F_TIME(L, step_ns), .unit = "s",
	    .help = "Time of the steps that have ended, of all accelerators." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TRAIN, .is_unlogged = true },
	{ .field = { "tier_accesses", MLGEN_F_U64(L, accesses), .unit = "samples",
	    .help = "Samples that were requested from the cache tier." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TIER, .is_unlogged = true },
	{ .field = { "tier_hits", MLGEN_F_U64(L, hits), .unit = "samples",
	    .help = "Samples that the cache tier contained." },
	  .kind = LIVE_COUNTER, .when = LIVE_IN_TIER, .is_unlogged = true },
	{ .field = { "operation_latency", HIST(lat[0]), .unit = "ns",
	    .help = "Latency of operations, from submission to completion; operations of a chain are not timed one by one." },
	  .kind = LIVE_DISTRIBUTION, .is_by_operation = true, .is_unlogged = true },
	{ .field = { "sample_latency", HIST(sample), .unit = "ns",
	    .help = "Latency of samples, from the submission of the first operation to the completion of the last." },
	  .kind = LIVE_DISTRIBUTION, .when = LIVE_IN_TRAIN, .is_unlogged = true },
	{ .field = { "stall", HIST(stall), .unit = "ns",
	    .help = "Stalls of all accelerators, except in the first steps of epochs." },
	  .kind = LIVE_DISTRIBUTION, .show = LIVE_AS_P99, .when = LIVE_IN_TRAIN, .is_unlogged = true },
	{ .field = { "inside_percent", PART(inside_ns), .unit = "%",
	    .help = "Time of read threads, or of the workers of a plain job, inside calls or waiting for completions." },
	  .kind = LIVE_SHARE, .show = LIVE_AS_SHARE, .when = LIVE_IN_WORK, OF(worker_ns), .is_unlogged = true,
	  .metric = "" },
	{ .field = { "idle_percent", PART(idle_ns), .unit = "%",
	    .help = "Time of the same threads waiting for room, or for the time of a request." },
	  .kind = LIVE_SHARE, .show = LIVE_AS_SHARE, .when = LIVE_IN_WORK, OF(worker_ns), .is_unlogged = true,
	  .metric = "" },
	{ .field = { "waiting", MLGEN_F_TIME(L, waiting_ns), .unit = "s",
	    .help = "How long the longest stall under way has lasted." },
	  .kind = LIVE_GAUGE, .show = LIVE_AS_SECONDS, .when = LIVE_IN_TRAIN, .is_unlogged = true, .join = LIVE_JOIN_MOST },
	{ .field = { "done_percent", MLGEN_F_PERCENT(L, done_percent), .unit = "%",
	    .help = "Share of the time of this phase that is over." },
	  .kind = LIVE_GAUGE, .show = LIVE_AS_PERCENT, .is_unlogged = true, .join = LIVE_JOIN_LEAST },
	{ .field = { "left", MLGEN_F_TIME(L, left_ns), .unit = "s",
	    .help = "Estimated time until the phase ends." },
	  .kind = LIVE_GAUGE, .show = LIVE_AS_LEFT, .is_unlogged = true, .join = LIVE_JOIN_MOST },
	{ .field = { 0 } },
};

/* clang-format on */

const char *live_phase_name(enum live_phase phase)
{
	const struct mlgen_choice *c = phases;

	while (c->name && c->value != (int)phase)
		c++;
	return c->name;
}

struct hist **live_hist(struct live *l, unsigned i)
{
	if (i < MLGEN_OPS)
		return &l->lat[i];
	return i == MLGEN_OPS ? &l->stall : i == MLGEN_OPS + 1 ? &l->sample : NULL;
}

void live_hists_new(struct live *l)
{
	struct hist **h;

	for (unsigned i = 0; (h = live_hist(l, i)); i++)
		if (!*h)
			*h = hist_new();
}

void live_hists_free(struct live *l)
{
	struct hist **h;

	for (unsigned i = 0; (h = live_hist(l, i)); i++) {
		hist_free(*h);
		*h = NULL;
	}
}

/* Copy everything but the histograms. */
static void copy_figures(struct live *to, const struct live *from)
{
	struct live own = *to;
	struct hist **h;

	*to = *from;
	for (unsigned i = 0; (h = live_hist(to, i)); i++)
		*h = *live_hist(&own, i);
}

void live_reset(struct live *l)
{
	static const struct live none;
	struct hist **h;

	copy_figures(l, &none);
	for (unsigned i = 0; (h = live_hist(l, i)); i++)
		if (*h)
			hist_reset(*h);
}

void live_copy(struct live *to, const struct live *from)
{
	struct live copy = *from;
	struct hist **h;

	copy_figures(to, from);
	for (unsigned i = 0; (h = live_hist(to, i)); i++) {
		const struct hist *source = *live_hist(&copy, i);

		if (*h && source)
			memcpy(*h, source, sizeof(*source));
	}
}

bool live_is_column(const struct live_field *f)
{
	return f->field.help && !f->is_unlogged;
}

/* Was the job in this phase? The interval in which a job ends belongs to the phase that it started
 * in, and to the main phase if that has begun. */
static bool was_in(const struct live_span *s, enum live_phase phase)
{
	const struct live *now = s->now;

	return now->phase == phase ||
	       (now->phase == LIVE_DONE &&
		(s->before->phase == phase || (now->work == phase && now->has_worked)));
}

static unsigned activities(const struct live_span *s)
{
	const struct live *now = s->now;
	/* Steps without any computation have no AU. */
	bool computes = now->compute_ns > 0 || now->step_ns == 0;
	unsigned when = 0;

	if (was_in(s, LIVE_PREPARE))
		when |= LIVE_IN_PREPARE;
	/* An interval that ends in a drop has the last steps of an epoch. */
	if (was_in(s, LIVE_TRAIN) || was_in(s, LIVE_DROP))
		when |= LIVE_IN_TRAIN | (computes ? LIVE_IN_STEPS : 0) |
			(now->accesses ? LIVE_IN_TIER : 0);
	if (was_in(s, LIVE_IO))
		when |= LIVE_IN_IO;
	if (was_in(s, LIVE_CHECKPOINT))
		when |= LIVE_IN_CHECKPOINT;
	if (now->is_checkpointing)
		when |= LIVE_IN_SAVE;
	if (now->checkpoint > 0)
		when |= LIVE_AFTER_SAVE;
	return when;
}

bool live_applies(const struct live_field *f, const struct live_span *s)
{
	return f->when == 0 || (f->when & activities(s));
}

const struct live_field *live_find(const char *name, size_t len, const struct live_span *s)
{
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (strlen(f->field.name) == len && !memcmp(f->field.name, name, len) &&
		    live_applies(f, s))
			return f;
	return NULL;
}

const void *live_now(const struct live_field *f, const struct live_span *s)
{
	const char *base = (const char *)s->now;

	if (f->kind == LIVE_HOST_GAUGE)
		base = (const char *)s->host;
	return base + f->field.off;
}

/* Counters only grow, but a look may lag behind an earlier one; the increase is then 0. */
static uint64_t gained(const struct live_span *s, size_t off)
{
	uint64_t now = count_at(s->now, off), before = count_at(s->before, off);

	return now > before ? now - before : 0;
}

uint64_t live_count(const struct live_field *f, const struct live_span *s)
{
	if (f->kind == LIVE_COUNTER)
		return gained(s, f->field.off);
	return *(const uint64_t *)live_now(f, s);
}

uint64_t live_total(const struct live_field *f, const struct live_span *s)
{
	return count_at(s->now, f->of);
}

uint64_t live_gained(const struct live_field *f, const struct live_span *s)
{
	return gained(s, f->field.off);
}

uint64_t live_total_gained(const struct live_field *f, const struct live_span *s)
{
	return gained(s, f->of);
}

double live_per_sec(const struct live_field *f, const struct live_span *s)
{
	if (s->now->now_ns <= s->before->now_ns)
		return (double)NAN;
	return (double)live_count(f, s) * 1e9 / (double)(s->now->now_ns - s->before->now_ns);
}

double live_percent(const struct live_field *f, const struct live_span *s)
{
	if (f->kind != LIVE_SHARE)
		return *(const double *)live_now(f, s);
	uint64_t all = gained(s, f->of);
	double percent = all ? (double)gained(s, f->field.off) / (double)all * 100 : (double)NAN;
	return percent > 100 ? 100 : percent;
}

static const struct hist *hist_at(const struct live *l, size_t off)
{
	const struct hist *h;

	memcpy(&h, (const char *)l + off, sizeof(h));
	return h;
}

bool live_distribution(const struct live_field *f, const struct live_span *s, struct hist *out)
{
	const struct hist *now = hist_at(s->now, f->field.off);
	const struct hist *before = hist_at(s->before, f->field.off);

	if (!now || !before)
		return false;
	memcpy(out, now, sizeof(*out));
	hist_subtract(out, before);
	return out->count > 0;
}

uint64_t live_percentile(const struct live_field *f, const struct live_span *s,
			 struct hist *scratch)
{
	return live_distribution(f, s, scratch) ? hist_percentile(scratch, f->percent) : UINT64_MAX;
}
