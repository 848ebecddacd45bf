/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.c - the lines below the tables: where time and bytes went, and what is out of the
 * ordinary. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/util.h"
#include "report/plan/plan.h"

/* "Slowest" is named from twice the median on. */
#define STANDS_OUT 2.0

/* So far beyond the others: more than the histogram's error. */
#define BEYOND 1.01

/* Fewer stalls of a rank than this say little of its mean; and what is less than so much of a step
 * is not to be seen in AU. */
#define ENOUGH_STALLS 10
#define SHARE_OF_STEP 0.01

/* Workers that waited for a CPU for so much of the time that they could have run, while the host
 * was no busier than this, were put on the same CPUs. */
#define CROWDED_LEAST 20.0
#define CROWDED_BUSY_MOST 75.0

/* Percent of the accelerators' time: AU is given to a tenth of that. */
#define LATE_LEAST 1.0

/* "; " between what is said. */
static void text_noise_say(struct buf *text, const char *what)
{
	if (text->len)
		buf_add(text, "; ");
	buf_add(text, what);
}

static void put_others(struct buf *text, const struct noise *n)
{
	char number[UNITS_TEXT_BYTES];

	text_noise_say(text, "other processes and the kernel had ");
	buf_addf(text, "%s of the CPUs", show_percent(number, n->other_percent));
	if (n->guest_percent >= 1)
		buf_addf(text, ", virtual machines %s", show_percent(number, n->guest_percent));
	if (!isnan(n->pressure_cpu_percent))
		buf_addf(text, ", threads waited for one %s of the time",
			 show_percent(number, n->pressure_cpu_percent));
}

static void put_throttled(struct buf *text, const struct noise *n)
{
	char times[UNITS_TEXT_BYTES], percent[UNITS_TEXT_BYTES];

	text_noise_say(text, "the CPU quota of its control group stopped it ");
	buf_addf(text, "%s time%s, %s of the time", units_human_count(times, n->throttled),
		 n->throttled == 1 ? "" : "s", show_percent(percent, n->throttled_percent));
}

static void put_crowded(struct buf *text, const struct text_block *b)
{
	const struct thread_cpu_result *t = &b->result->thread_cpu;
	double waited =
		100 * t->workers_waited_seconds / (t->workers_waited_seconds + t->workers_seconds);
	char part[UNITS_TEXT_BYTES], busy[UNITS_TEXT_BYTES];

	if (!(waited >= CROWDED_LEAST) || !(b->host->cpu_percent <= CROWDED_BUSY_MOST))
		return;
	text_noise_say(text, "its threads were ready to run and had no CPU ");
	buf_addf(text,
		 "%s of the time, while CPUs were %s busy: the kernel kept them on the same ones",
		 show_percent(part, waited), show_percent(busy, b->host->cpu_percent));
}

void text_noise(struct buf *text, const struct text_block *b)
{
	const struct noise *n = &b->host->noise;
	unsigned kinds = noise_touches(n, b->host->cpu_percent);
	char number[UNITS_TEXT_BYTES];

	if (kinds & NOISE_STEAL) {
		text_noise_say(text, "the hypervisor took ");
		buf_addf(text, "%s of the CPUs", show_percent(number, n->steal_percent));
	}
	if (kinds & NOISE_OTHER)
		put_others(text, n);
	if (kinds & NOISE_THROTTLED)
		put_throttled(text, n);
	if (kinds & NOISE_HOT) {
		text_noise_say(text, "heat slowed CPUs down ");
		buf_addf(text, "%s time%s", units_human_count(number, n->hot),
			 n->hot == 1 ? "" : "s");
	}
	if (kinds & NOISE_MEMORY) {
		text_noise_say(text, "threads waited for memory ");
		buf_addf(text, "%s of the time", show_percent(number, n->pressure_memory_percent));
		if (b->run->host.memory_limit_bytes)
			buf_add(text, " (of memory_limit)");
	}
	put_crowded(text, b);
	if (b->ml->time_percent.oversleep >= LATE_LEAST) {
		text_noise_say(text, "late wake-ups were ");
		buf_addf(text, "%s of accelerator time",
			 show_percent(number, b->ml->time_percent.oversleep));
	}
}

/* The highest percentile that so many values know: what is not beyond it is one of many. */
static double highest_percentile(uint64_t count)
{
	return count >= 1000 ? 99.9 : count >= 100 ? 99 : 90;
}

static bool sample_stands_out(const struct text_block *b, double *median_ns)
{
	const struct hist *h = b->ml->sample_ns;
	double ns = b->storage->slowest_sample_ns;

	if (!b->storage->slowest_file[0] || !h || h->count == 0)
		return false;
	*median_ns = (double)hist_percentile(h, 50);
	return ns > STANDS_OUT * *median_ns &&
	       ns > BEYOND * (double)hist_percentile(h, highest_percentile(h->count));
}

static bool rank_stands_out(const struct text_block *b)
{
	const struct ml_result *ml = b->ml;
	const struct slowest_rank *s = &ml->slowest_rank;
	uint64_t ranks = ml->accelerators ? ml->accelerators : 1;

	return s->rank != UINT64_MAX && ml->counted_steps >= ENOUGH_STALLS * ranks && ml->step_ns &&
	       s->stall_mean_ns > STANDS_OUT * s->stall_median_ns &&
	       s->stall_mean_ns - s->stall_median_ns > SHARE_OF_STEP * hist_mean(ml->step_ns);
}

void text_slowest(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	const struct slowest_rank *r = &b->ml->slowest_rank;
	char one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];
	double median_ns;

	if (sample_stands_out(b, &median_ns)) {
		buf_addf(text, "%s in %s (%s): ", text_unit_read(b->ml), s->slowest_file,
			 units_human_bytes(one, (double)s->slowest_file_bytes));
		buf_addf(text, "%s ms, p50 %s", units_human_ms(one, s->slowest_sample_ns),
			 units_human_ms(other, median_ns));
	}
	if (rank_stands_out(b)) {
		text_noise_say(text, "accelerator ");
		buf_addf(text, "%" PRIu64 ": stall %s ms on the mean, median of all %s", r->rank,
			 units_human_ms(one, r->stall_mean_ns),
			 units_human_ms(other, r->stall_median_ns));
	}
}

/* Blanks in quotes are its own; see host_read_command. */
static size_t argument_length(const char *at)
{
	bool is_quoted = false;
	size_t n = 0;

	for (; at[n] && (is_quoted || at[n] != ' '); n++)
		if (at[n] == '\'')
			is_quoted = !is_quoted;
		else if (!is_quoted && at[n] == '\\' && at[n + 1])
			n++;
	return n;
}

void text_put_command(struct buf *out, const char *label, unsigned indent, const char *command)
{
	const char *at = command;
	size_t used = 0;

	if (!*at)
		return;
	buf_addf(out, "%-*s", (int)indent, label);
	while (*at) {
		/* A blank, and what goes on behind the line. */
		size_t len = argument_length(at);

		if (used && indent + used + 1 + len + 2 > wrap_columns()) {
			buf_addf(out, " \\\n%*s", (int)indent, "");
			used = 0;
		}
		buf_add(out, used ? " " : "");
		buf_addn(out, at, len);
		used += len + (used > 0);
		at += len + (at[len] == ' ');
	}
	buf_addc(out, '\n');
}

void text_command(struct buf *out, const struct text_block *b)
{
	if (b->is_first)
		text_put_command(out, "command", TEXT_SETTING_INDENT, b->run->host.command);
}

/* A window is named that is longer than what rates are over by so much. */
#define LONGER 1.05
#define LONGER_SECONDS 1

/* More was read than this job has read itself, beyond what was under way. */
#define OTHERS 1.01

static void put_invalidate(struct buf *text, const struct text_block *b)
{
	static const char *const when[] = {
		[INVALIDATE_NONE] = "invalidate=0 dropped nothing",
		[INVALIDATE_RUN] = "invalidate=run dropped its files before the run",
		[INVALIDATE_EPOCH] = "invalidate=epoch dropped its files before each epoch",
	};

	if (b->storage->caches_dropped)
		buf_add(text,
			b->job->drop_caches == DROP_CACHES_EPOCH
				? "; drop_caches=epoch emptied this host's caches before each epoch"
				: "; drop_caches=run emptied this host's caches before the run");
	else if (b->job->invalidate != INVALIDATE_NONE && b->storage->cache_drops == 0)
		buf_addf(text, "; invalidate=%s found nothing to drop",
			 b->job->invalidate == INVALIDATE_RUN ? "run" : "epoch");
	else
		buf_addf(text, "; %s", when[b->job->invalidate]);
}

/* What this host cannot tell, whatever it counts. */
void text_unseen(struct buf *text, const struct storage_result *s)
{
	if (!has_text(s->device))
		buf_add(text, "; caches inside the array cannot be seen");
	else if (has_text(s->device_kind) && !strcmp(s->device_kind, "virtio"))
		buf_add(text, "; caches below this virtual machine cannot be seen");
}

static double measured_seconds(const struct text_block *b)
{
	return b->result->work->has_accelerators ? b->ml->runtime_seconds : b->result->wall_seconds;
}

/* "first start to last end of 2 jobs" */
static void put_ends(struct buf *text, const struct text_block *b, bool is_ramp)
{
	const char *begin = is_ramp ? "end of ramp_time" : "start";
	unsigned jobs = b->result->members;

	if (jobs > 1)
		buf_addf(text, "first %s to last end of %u jobs", begin, jobs);
	else
		buf_addf(text, "%s to end of job", begin);
}

/* Where the reader would take it for another time. */
void text_window(struct buf *text, const struct text_block *b)
{
	const struct window_result *w = b->window;
	bool is_ramp = has_text(w->from) && !strcmp(w->from, "ramp_time");
	double measured = measured_seconds(b);
	bool has_memory = b->result->read.total_ios > 0 && !verdict_without_storage(b->job);
	bool is_longer = measured > 0 && w->seconds > measured * LONGER &&
			 w->seconds >= measured + LONGER_SECONDS;
	char time[UNITS_TEXT_BYTES];

	if (!(w->seconds > 0) || (!is_ramp && !is_longer && b->result->members < 2))
		return;
	buf_addf(text, "%shost: %s, ", has_memory ? "from memory, " : "",
		 units_human_time(time, (uint64_t)(w->seconds * 1e9)));
	put_ends(text, b, is_ramp);
	if (is_longer)
		buf_addf(text, "; rates over %s of it",
			 units_human_time(time, (uint64_t)(measured * 1e9)));
}

bool text_has_others(const struct text_block *b)
{
	uint64_t read = b->storage->jobs_read_bytes;

	return read != UINT64_MAX && (double)read > OTHERS * (double)b->result->read.io_bytes;
}

/* "3.2% of the bytes read" */
static void put_share(struct buf *text, const struct text_block *b)
{
	if (text_has_others(b))
		text_say(text, b,
			 "{storage.memory_percent} of the {storage.jobs_read_bytes} that mlgen "
			 "read there");
	else
		text_say(text, b, "{storage.memory_percent} of the bytes read");
}

void text_from_memory(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;

	if (verdict_without_storage(b->job))
		return;
	if (s->is_memory)
		buf_addf(text, "all of it: %s is memory",
			 has_text(s->filesystem) ? s->filesystem : "this");
	else if (isnan(s->memory_percent))
		buf_add(text, "unknown: nothing here counts what storage delivered");
	else
		put_share(text, b);
	if (!s->is_memory && !isnan(s->memory_percent))
		text_say(text, b, "[ ({storage.source})]");
	if (!s->is_memory && !isnan(s->resident_before_percent)) {
		text_say(text, b, "; {storage.resident_before_percent} of ");
		buf_add(text, b->result->work->is_plain ? "its files was" : "the dataset was");
		text_say(text, b, " cached before ({storage.resident_files} file{s} sampled)");
	}
	if (!b->result->work->is_plain)
		text_say(text, b,
			 "[; only {distinct_files} of the files were read, over and over "
			 "(distinct_files)]");
	if (!s->is_memory) {
		put_invalidate(text, b);
		text_unseen(text, s);
	}
}

/* 412,318 is known to four digits at best. */
static uint64_t four_digits(double v)
{
	double step = 1;

	while (v / step >= 9999.5)
		step *= 10;
	return (uint64_t)(floor(v / step + 0.5) * step);
}

/* "bond0 130 of 200 Gb/s", where a remote mount's bytes come through it. */
static void put_network(struct buf *text, const struct network_result *n)
{
	char carried[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];

	if (!has_text(n->interface))
		return;
	show_gigabits(carried, n->received_bits_per_sec);
	if (isnan(n->percent))
		buf_addf(text, "; %s %s Gb/s, line rate unknown", n->interface, carried);
	else
		buf_addf(text, "; %s %s of %s Gb/s", n->interface, carried,
			 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

void text_host(struct buf *text, const struct text_block *b)
{
	const struct host_result *h = b->host;
	char number[UNITS_TEXT_BYTES];

	buf_addf(text, "CPU %s", show_percent(number, h->cpu_percent));
	if (show_is_of_quota(h))
		buf_addf(text, " of a quota of %.4g", h->cpus);
	if (!isnan(h->user_percent) && !isnan(h->system_percent))
		buf_addf(text, " (mlgen: usr %.1f, sys %.1f)", h->user_percent, h->system_percent);
	if (!isnan(h->switches_per_sec))
		buf_addf(text, ", %s switches/s",
			 units_human_count(number, four_digits(h->switches_per_sec)));
	if (h->oversleep_ns && h->oversleep_ns->count > 0) {
		buf_addf(text, ", sleeps late by %s ms",
			 units_human_ms(number, hist_mean(h->oversleep_ns)));
		if (hist_beyond(h->oversleep_ns, 99) >= 10)
			buf_addf(text, " (p99 %s)",
				 units_human_ms(number,
						(double)hist_percentile(h->oversleep_ns, 99)));
	}
	/* What it received says nothing about what was saved. */
	if (job_work(b->job)->restores || job_work(b->job)->checkpoints != CHECKPOINTS_ALWAYS)
		put_network(text, b->network);
}

static void put_joules(struct buf *text, const char *before, double joules, const char *behind)
{
	char number[UNITS_TEXT_BYTES];

	if (!isnan(joules))
		buf_addf(text, "%s%s%s", before, units_sig4(number, joules), behind);
}

void text_energy(struct buf *text, const struct text_block *b)
{
	const struct energy_result *e = &b->result->energy;

	if (!(e->joules > 0)) {
		if (has_text(e->unmeasured) && b->detail == DETAIL_ALL)
			buf_addf(text, "unknown: %s", e->unmeasured);
		return;
	}
	put_joules(text, "", e->joules, " J");
	put_joules(text, " (packages ", e->package_joules, "");
	put_joules(text, ", DRAM ", e->dram_joules, "");
	buf_add(text, ")");
	put_joules(text, ", ", e->joules_per_gib, " J/GiB");
	put_joules(text, ", ", e->joules_per_sample, " J/sample");
}

/* What has put loaders where they are, or would put them near. */
static void put_numa_cause(struct buf *text, const struct job *job)
{
	if (job->numa_cpu_nodes)
		buf_addf(text, " (with numa_cpu_nodes=%s)", job->numa_cpu_nodes);
	else if (job->cpus_allowed)
		buf_addf(text, " (with cpus_allowed=%s)", job->cpus_allowed);
	else
		buf_add(text, " (numa=device binds them)");
}

static void put_far(struct buf *text, const struct text_block *b)
{
	const struct numa_result *n = b->numa;
	const char *looked_at = page_of(b->result)->looked_at;
	const char *what = looked_at                        ? looked_at
			   : b->job->loader == LOADER_PLAIN ? "samples"
							    : "batches";
	char percent[UNITS_TEXT_BYTES];

	buf_addf(text, ", disk %s on node %" PRIu64 ": ",
		 has_text(b->storage->device) ? b->storage->device : "", n->device_node);
	if (!(n->far_percent > 0)) {
		buf_add(text, "near");
		return;
	}
	if (n->far_percent < 100)
		buf_addf(text, "%s of the %s ", show_percent(percent, n->far_percent), what);
	buf_add(text, "far");
	put_numa_cause(text, b->job);
}

/* Of a host with one node there is nothing to say, unless it was asked. */
void text_numa(struct buf *text, const struct text_block *b)
{
	const struct numa_result *n = b->numa;
	bool is_known = has_text(n->loader_nodes) && n->device_node != UINT64_MAX;

	if (!is_known && !n->unbound)
		return;
	buf_add(text, page_of(b->result)->workers);
	if (has_text(n->loader_nodes))
		buf_addf(text, " on node%s %s", strpbrk(n->loader_nodes, ",-") ? "s" : "",
			 n->loader_nodes);
	if (is_known)
		put_far(text, b);
	if (n->unbound)
		buf_addf(text, "%s not bound: %s", has_text(n->loader_nodes) ? "," : "",
			 n->unbound);
}
