/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.c - lines below the tables: where time and bytes went, and unusual events. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "report/plan/plan.h"

/* The slowest sample or rank is reported if it takes more than this many times the median. */
#define STANDS_OUT 2.0

/* The slowest sample must exceed the high percentile by this factor: more than the histogram's
 * error. */
#define BEYOND 1.01

/* The mean of a rank with fewer stalls than ENOUGH_STALLS says little. A difference below
 * SHARE_OF_STEP of a step is not visible in AU. */
#define ENOUGH_STALLS 10
#define SHARE_OF_STEP 0.01

/* Workers share CPUs needlessly if they waited for a CPU for at least this percentage of their
 * runnable time, while the host was at most this busy. */
#define CROWDED_MIN_PERCENT 20.0
#define CROWDED_MAX_BUSY_PERCENT 75.0

/* Oversleeping is reported from this percentage of the accelerators' time; AU is printed to a tenth
 * of that. */
#define OVERSLEEP_MIN_PERCENT 1.0

/* Append a clause, after "; " if there is already a text. */
static void append_clause(struct buf *text, const char *what)
{
	if (text->len)
		buf_add(text, "; ");
	buf_add(text, what);
}

void text_noise(struct buf *text, const struct text_block *b)
{
	const struct noise *n = &b->host->noise;
	unsigned kinds = noise_affects(n, b->host->cpu_percent);
	const struct thread_cpu_result *t = &b->result->thread_cpu;
	double waited =
		100 * t->workers_waited_seconds / (t->workers_waited_seconds + t->workers_seconds);
	char number[UNITS_TEXT_BYTES], percent[UNITS_TEXT_BYTES];

	if (kinds & NOISE_STEAL) {
		append_clause(text, "the hypervisor used ");
		buf_addf(text, "%s of the CPUs", show_percent(number, n->steal_percent));
	}
	if (kinds & NOISE_OTHER) {
		append_clause(text, "other processes and the kernel used ");
		buf_addf(text, "%s of the CPUs", show_percent(number, n->other_percent));
		if (n->guest_percent >= 1)
			buf_addf(text, ", virtual machines %s",
				 show_percent(number, n->guest_percent));
		if (!isnan(n->pressure_cpu_percent))
			buf_addf(text, ", threads waited for a CPU %s of the time",
				 show_percent(number, n->pressure_cpu_percent));
	}
	if (kinds & NOISE_THROTTLED) {
		append_clause(text, "the CPU quota of its control group stopped it ");
		buf_addf(text, "%s time%s, %s of the time", units_human_count(number, n->throttled),
			 n->throttled == 1 ? "" : "s", show_percent(percent, n->throttled_percent));
	}
	if (kinds & NOISE_HOT) {
		append_clause(text, "heat slowed CPUs down ");
		buf_addf(text, "%s time%s", units_human_count(number, n->hot),
			 n->hot == 1 ? "" : "s");
	}
	if (kinds & NOISE_MEMORY) {
		append_clause(text, "threads waited for memory ");
		buf_addf(text, "%s of the time", show_percent(number, n->pressure_memory_percent));
		if (b->run->host.memory_limit_bytes)
			buf_add(text, " (of memory_limit)");
	}
	if (waited >= CROWDED_MIN_PERCENT && b->host->cpu_percent <= CROWDED_MAX_BUSY_PERCENT) {
		append_clause(text, "its threads were ready to run but had no CPU ");
		buf_addf(text,
			 "%s of the time, while CPUs were %s busy: the kernel kept "
			 "them on the same CPUs",
			 show_percent(number, waited), show_percent(percent, b->host->cpu_percent));
	}
	if (b->ml->time_percent.oversleep >= OVERSLEEP_MIN_PERCENT) {
		append_clause(text, "late wake-ups took ");
		buf_addf(text, "%s of accelerator time",
			 show_percent(number, b->ml->time_percent.oversleep));
	}
}

static bool sample_stands_out(const struct text_block *b, double *median_ns)
{
	const struct hist *h = b->ml->sample_ns;
	double ns = b->storage->slowest_sample_ns;

	if (!b->storage->slowest_file[0] || !h || h->count == 0)
		return false;
	*median_ns = (double)hist_percentile(h, 50);
	/* The highest percentile that this many values define; only the slowest samples are above
	 * it. */
	double percentile = h->count >= 1000 ? 99.9 : h->count >= 100 ? 99 : 90;
	return ns > STANDS_OUT * *median_ns && ns > BEYOND * (double)hist_percentile(h, percentile);
}

void text_slowest(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	const struct ml_result *ml = b->ml;
	const struct slowest_rank *r = &ml->slowest_rank;
	uint64_t ranks = ml->accelerators ? ml->accelerators : 1;
	char one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];
	double median_ns;

	if (sample_stands_out(b, &median_ns)) {
		buf_addf(text, "%s in %s (%s): ", text_read_unit(b->ml), s->slowest_file,
			 units_human_bytes(one, (double)s->slowest_file_bytes));
		buf_addf(text, "%s ms, p50 %s", units_human_ms(one, s->slowest_sample_ns),
			 units_human_ms(other, median_ns));
	}
	if (r->rank != UINT64_MAX && ml->counted_steps >= ENOUGH_STALLS * ranks && ml->step_ns &&
	    r->stall_mean_ns > STANDS_OUT * r->stall_median_ns &&
	    r->stall_mean_ns - r->stall_median_ns > SHARE_OF_STEP * hist_mean(ml->step_ns)) {
		append_clause(text, "accelerator ");
		buf_addf(text, "%" PRIu64 ": mean stall %s ms, median of all accelerators %s",
			 r->rank, units_human_ms(one, r->stall_mean_ns),
			 units_human_ms(other, r->stall_median_ns));
	}
}

void text_append_command(struct buf *out, const char *label, unsigned indent, const char *command)
{
	const char *at = command;
	size_t used = 0;

	if (!*at)
		return;
	buf_addf(out, "%-*s", (int)indent, label);
	while (*at) {
		/* Spaces in quotes belong to the argument, as in host_read_command(). */
		bool is_quoted = false;
		size_t len = 0;

		for (; at[len] && (is_quoted || at[len] != ' '); len++)
			if (at[len] == '\'')
				is_quoted = !is_quoted;
			else if (!is_quoted && at[len] == '\\' && at[len + 1])
				len++;
		/* Keep room for a space before the argument, and for " \\" after it. */
		/* Keep room for a space before the argument, and for " \" after it. */
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
		text_append_command(out, "command", TEXT_SETTING_INDENT, b->run->host.command);
}

/* The window is printed if it exceeds the time over which rates are computed by this factor and by
 * at least this many seconds. */
#define LONGER 1.05
#define LONGER_SECONDS 1

/* If more than this times the bytes of the job were read there, other jobs have read, too. A
 * smaller difference may be reads in flight. */
#define OTHER_JOBS 1.01

void text_unseen_caches(struct buf *text, const struct storage_result *s)
{
	if (!has_text(s->device))
		buf_add(text, "; caches inside the array cannot be seen");
	else if (has_text(s->device_kind) && !strcmp(s->device_kind, "virtio"))
		buf_add(text, "; caches below this virtual machine cannot be seen");
}

/* The window is printed only if a reader would assume a different one. */
void text_window(struct buf *text, const struct text_block *b)
{
	const struct window_result *w = b->window;
	bool is_ramp = has_text(w->from) && !strcmp(w->from, "ramp_time");
	double measured = b->result->work->has_accelerators ? b->ml->runtime_seconds
							    : b->result->wall_seconds;
	bool has_memory = b->result->read.total_ios > 0 && !verdict_without_storage(b->job);
	bool is_longer = measured > 0 && w->seconds > measured * LONGER &&
			 w->seconds >= measured + LONGER_SECONDS;
	const char *begin = is_ramp ? "end of ramp_time" : "start";
	unsigned jobs = b->result->members;
	char time[UNITS_TEXT_BYTES];

	if (!(w->seconds > 0) || (!is_ramp && !is_longer && jobs < 2))
		return;
	buf_addf(text, "%shost: %s, ", has_memory ? "from memory, " : "",
		 units_human_time(time, (uint64_t)(w->seconds * 1e9)));
	if (jobs > 1)
		buf_addf(text, "first %s to last end of %u jobs", begin, jobs);
	else
		buf_addf(text, "%s to end of job", begin);
	if (is_longer)
		buf_addf(text, "; rates over %s of it",
			 units_human_time(time, (uint64_t)(measured * 1e9)));
}

bool text_has_other_jobs(const struct text_block *b)
{
	uint64_t read = b->storage->jobs_read_bytes;

	return read != UINT64_MAX && (double)read > OTHER_JOBS * (double)b->result->read.io_bytes;
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
		buf_add(text, "unknown: no counter here shows what storage delivered");
	else if (text_has_other_jobs(b))
		text_say(text, b,
			 "{storage.memory_percent} of the {storage.jobs_read_bytes} that mlgen "
			 "read there");
	else
		text_say(text, b, "{storage.memory_percent} of the bytes read");
	if (!s->is_memory && !isnan(s->memory_percent))
		text_say(text, b, "[ ({storage.source})]");
	if (!s->is_memory && !isnan(s->resident_before_percent)) {
		text_say(text, b, "; {storage.resident_before_percent} of ");
		buf_add(text, b->result->work->is_plain ? "its files was" : "the dataset was");
		text_say(text, b, " cached before ({storage.resident_files} file{s} sampled)");
	}
	if (!b->result->work->is_plain)
		text_say(text, b,
			 "[; only {distinct_files} of the files were read, repeatedly "
			 "(distinct_files)]");
	if (!s->is_memory) {
		static const char *const when[] = {
			[INVALIDATE_NONE] = "invalidate=0 dropped nothing",
			[INVALIDATE_RUN] = "invalidate=run dropped its files before the run",
			[INVALIDATE_EPOCH] = "invalidate=epoch dropped its files before each epoch",
		};

		if (b->storage->caches_dropped)
			buf_add(text, b->job->drop_caches == DROP_CACHES_EPOCH
					      ? "; drop_caches=epoch emptied this host's caches "
						"before each epoch"
					      : "; drop_caches=run emptied this host's caches "
						"before the run");
		else if (b->job->invalidate != INVALIDATE_NONE && b->storage->cache_drops == 0)
			buf_addf(text, "; invalidate=%s found nothing to drop",
				 b->job->invalidate == INVALIDATE_RUN ? "run" : "epoch");
		else
			buf_addf(text, "; %s", when[b->job->invalidate]);
		text_unseen_caches(text, s);
	}
}

/* 412,318 becomes 412,300: a rate has at most four significant digits. */
static uint64_t four_digits(double v)
{
	double step = 1;

	while (v / step >= 9999.5)
		step *= 10;
	return (uint64_t)(floor(v / step + 0.5) * step);
}

void text_host(struct buf *text, const struct text_block *b)
{
	const struct host_result *h = b->host;
	const struct network_result *n = b->network;
	char number[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];

	buf_addf(text, "CPU %s", show_percent(number, h->cpu_percent));
	if (show_has_quota(h))
		buf_addf(text, " of a quota of %.4g", h->cpus);
	if (!isnan(h->user_percent) && !isnan(h->system_percent))
		buf_addf(text, " (mlgen: usr %.1f, sys %.1f)", h->user_percent, h->system_percent);
	if (!isnan(h->switches_per_sec))
		buf_addf(text, ", %s switches/s",
			 units_human_count(number, four_digits(h->switches_per_sec)));
	if (h->oversleep_ns && h->oversleep_ns->count > 0) {
		buf_addf(text, ", wake-ups late by %s ms",
			 units_human_ms(number, hist_mean(h->oversleep_ns)));
		if (hist_beyond(h->oversleep_ns, 99) >= 10)
			buf_addf(text, " (p99 %s)",
				 units_human_ms(number,
						(double)hist_percentile(h->oversleep_ns, 99)));
	}
	/* Only received bytes are counted, but a job that saves sends its bytes. */
	bool only_sends =
		!job_work(b->job)->restores && job_work(b->job)->checkpoints == CHECKPOINTS_ALWAYS;
	if (only_sends || !has_text(n->interface))
		return;

	/* "bond0 130 of 200 Gb/s": the interface that receives the bytes of a remote mount. */
	show_gigabits(number, n->received_bits_per_sec);
	if (isnan(n->percent))
		buf_addf(text, "; %s %s Gb/s, line rate unknown", n->interface, number);
	else
		buf_addf(text, "; %s %s of %s Gb/s", n->interface, number,
			 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

static void append_joules(struct buf *text, const char *before, double joules, const char *after)
{
	char number[UNITS_TEXT_BYTES];

	if (!isnan(joules))
		buf_addf(text, "%s%s%s", before, units_sig4(number, joules), after);
}

void text_energy(struct buf *text, const struct text_block *b)
{
	const struct energy_result *e = &b->result->energy;

	if (!(e->joules > 0)) {
		if (has_text(e->unmeasured) && b->detail == DETAIL_ALL)
			buf_addf(text, "unknown: %s", e->unmeasured);
		return;
	}
	append_joules(text, "", e->joules, " J");
	append_joules(text, " (packages ", e->package_joules, "");
	append_joules(text, ", DRAM ", e->dram_joules, "");
	buf_add(text, ")");
	append_joules(text, ", ", e->joules_per_gib, " J/GiB");
	append_joules(text, ", ", e->joules_per_sample, " J/sample");
}

/* Append the share of work that was far from the disk. */
static void append_far(struct buf *text, const struct text_block *b)
{
	const struct numa_result *n = b->numa;
	const char *unit = page_of(b->result)->looked_at;
	char percent[UNITS_TEXT_BYTES];

	if (!unit)
		unit = b->job->loader == LOADER_PLAIN ? "samples" : "batches";
	buf_addf(text, ", disk %s on node %" PRIu64 ": ",
		 has_text(b->storage->device) ? b->storage->device : "", n->device_node);
	if (!(n->far_percent > 0)) {
		buf_add(text, "near");
		return;
	}
	if (n->far_percent < 100)
		buf_addf(text, "%s of the %s ", show_percent(percent, n->far_percent), unit);
	buf_add(text, "far");
	/* Name the option that placed the threads or, if there is none, the option that would place
	 * them near the disk. */
	if (b->job->numa_cpu_nodes)
		buf_addf(text, " (with numa_cpu_nodes=%s)", b->job->numa_cpu_nodes);
	else if (b->job->cpus_allowed)
		buf_addf(text, " (with cpus_allowed=%s)", b->job->cpus_allowed);
	else
		buf_add(text, " (numa=device binds them)");
}

/* A host with a single node has no line, unless binding to a node was asked for and failed. */
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
		append_far(text, b);
	if (n->unbound)
		buf_addf(text, "%s not bound: %s", has_text(n->loader_nodes) ? "," : "",
			 n->unbound);
}
