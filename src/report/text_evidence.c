/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.c - the lines below the tables: where time and bytes went. */
#include "report/text_evidence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "report/page.h"
#include "report/text_noise.h"
#include "report/verdict.h"

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
