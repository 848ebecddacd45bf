/* SPDX-License-Identifier: Apache-2.0 */
/* text_evidence.c - the lines below the tables: where time and bytes went. */
#include "report/text_evidence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/text_checkpoint_parts.h"
#include "report/text_noise.h"
#include "report/verdict.h"

/* A window is named that is longer than what rates are over by so much. */
#define LONGER 1.05
#define LONGER_SECONDS 1

/* More was read than this job has read itself, beyond what was under way. */
#define OTHERS 1.01

static bool is_set(const char *s)
{
	return s && *s;
}

static bool is_io_job(const struct text_block *b)
{
	return b->result->kind == RESULT_IO;
}

/* What the client of a network filesystem made of these reads. */
static void put_sizes_at_server(struct buf *text,
				const struct storage_result *s)
{
	const char *type = is_set(s->filesystem) ? s->filesystem : "";
	const char *server = !strncmp(type, "nfs", 3)  ? "NFS server"
			     : !strcmp(type, "lustre") ? "Lustre servers"
						       : NULL;
	char mean[UNITS_TEXT_BYTES];
	if (!server || s->device_reads == UINT64_MAX || s->device_reads == 0)
		return;
	buf_addf(text, "; %s mean at the %s",
		 units_human_bytes(mean, (double)s->device_read_bytes /
						 (double)s->device_reads),
		 server);
}

static void put_read_sizes(struct buf *out, const struct text_block *b)
{
	const struct direction_result *r = &b->result->read;
	bool is_plain = b->job->access == ACCESS_PLAIN;
	char called[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];
	struct buf text;
	if (r->total_ios == 0)
		return;
	buf_init(&text);
	units_human_bytes(called, (double)b->job->bs.read);
	units_human_bytes(mean, (double)r->io_bytes / (double)r->total_ios);
	if (is_plain && !strcmp(called, mean))
		buf_addf(&text, "%s as called (bs)", called);
	else if (is_plain)
		buf_addf(&text, "up to %s as called (bs), %s mean", called,
			 mean);
	else if (b->job->direct)
		buf_addf(&text, "whole files as called, %s mean", mean);
	else {
		show_sizes(&text, &r->sizes); /* none of a merged result */
		buf_addf(&text, "%s%s mean", text.len ? " as called, " : "",
			 mean);
	}
	put_sizes_at_server(&text, b->storage);
	text_put(out, "read sizes", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void put_invalidate(struct buf *text, const struct text_block *b)
{
	static const char *const when[] = {
		[INVALIDATE_NONE] = "invalidate=0 dropped nothing",
		[INVALIDATE_RUN] = "invalidate=run dropped its files before "
				   "the run",
		[INVALIDATE_EPOCH] = "invalidate=epoch dropped its files "
				     "before each epoch",
	};
	if (b->storage->caches_dropped)
		buf_add(text, "; drop_caches=run emptied this host's caches "
			      "before the run");
	else if (b->job->invalidate != INVALIDATE_NONE &&
		 b->storage->cache_drops == 0)
		buf_addf(text, "; invalidate=%s found nothing to drop",
			 b->job->invalidate == INVALIDATE_RUN ? "run"
							      : "epoch");
	else
		buf_addf(text, "; %s", when[b->job->invalidate]);
}

/* What this host cannot tell, whatever it counts. */
void text_unseen(struct buf *text, const struct storage_result *s)
{
	if (!is_set(s->device))
		buf_add(text, "; caches inside the array cannot be seen");
	else if (is_set(s->device_kind) && !strcmp(s->device_kind, "virtio"))
		buf_add(text, "; caches below this virtual machine cannot be "
			      "seen");
}

static double measured_seconds(const struct text_block *b)
{
	return is_io_job(b)                      ? b->io->wall_seconds
	       : b->result->kind == RESULT_TRAIN ? b->ml->runtime_seconds
						 : b->ml->wall_seconds;
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
void text_window(struct buf *out, const struct text_block *b)
{
	const struct window_result *w = b->window;
	bool is_ramp = is_set(w->from) && !strcmp(w->from, "ramp_time");
	double measured = measured_seconds(b);
	bool has_memory = b->result->read.total_ios > 0 &&
			  !verdict_without_storage(b->job);
	bool is_longer = measured > 0 && w->seconds > measured * LONGER &&
			 w->seconds >= measured + LONGER_SECONDS;
	char time[UNITS_TEXT_BYTES];
	struct buf text = { 0 };
	if (!(w->seconds > 0) ||
	    (!is_ramp && !is_longer && b->result->members < 2))
		return;
	buf_addf(&text, "%shost: %s, ", has_memory ? "from memory, " : "",
		 units_human_time(time, (uint64_t)(w->seconds * 1e9)));
	put_ends(&text, b, is_ramp);
	if (is_longer)
		buf_addf(&text, "; rates over %s of it",
			 units_human_time(time, (uint64_t)(measured * 1e9)));
	text_put(out, "window", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

bool text_has_others(const struct text_block *b)
{
	uint64_t read = b->storage->jobs_read_bytes;
	return read != UINT64_MAX &&
	       (double)read > OTHERS * (double)b->result->read.io_bytes;
}

/* "3.2% of the bytes read" */
static void put_share(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	char number[UNITS_TEXT_BYTES];
	buf_add(text, show_percent(number, s->memory_percent));
	if (text_has_others(b))
		buf_addf(text, " of the %s that mlgen read there",
			 units_human_bytes(number, (double)s->jobs_read_bytes));
	else
		buf_add(text, " of the bytes read");
}

void text_from_memory(struct buf *out, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	struct buf text;
	char percent[UNITS_TEXT_BYTES];
	if (verdict_without_storage(b->job))
		return;
	buf_init(&text);
	if (s->is_memory)
		buf_addf(&text, "all of it: %s is memory",
			 is_set(s->filesystem) ? s->filesystem : "this");
	else if (isnan(s->memory_percent))
		buf_add(&text, "unknown: nothing here counts what storage "
			       "delivered");
	else
		put_share(&text, b);
	if (!s->is_memory && !isnan(s->memory_percent) && is_set(s->source))
		buf_addf(&text, " (%s)", s->source);
	if (!s->is_memory && !isnan(s->resident_before_percent))
		buf_addf(&text,
			 "; %s of %s cached before (%" PRIu64
			 " file%s sampled)",
			 show_percent(percent, s->resident_before_percent),
			 is_io_job(b) ? "its files was" : "the dataset was",
			 s->resident_files, s->resident_files == 1 ? "" : "s");
	if (b->job->distinct_files && !is_io_job(b))
		buf_addf(&text,
			 "; only %" PRIu64 " of the files were read, over and "
			 "over (distinct_files)",
			 b->job->distinct_files);
	if (!s->is_memory) {
		put_invalidate(&text, b);
		text_unseen(&text, s);
	}
	text_put(out, "from memory", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
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
	if (!is_set(n->interface))
		return;
	show_gigabits(carried, n->received_bits_per_sec);
	if (isnan(n->percent))
		buf_addf(text, "; %s %s Gb/s, line rate unknown", n->interface,
			 carried);
	else
		buf_addf(
			text, "; %s %s of %s Gb/s", n->interface, carried,
			show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

void text_host(struct buf *out, const struct text_block *b)
{
	const struct host_result *h = b->host;
	struct buf text;
	char number[UNITS_TEXT_BYTES];
	buf_init(&text);
	buf_addf(&text, "CPU %s", show_percent(number, h->cpu_percent));
	if (show_is_of_quota(h))
		buf_addf(&text, " of a quota of %.4g", h->cpus);
	if (!isnan(h->user_percent) && !isnan(h->system_percent))
		buf_addf(&text, " (mlgen: usr %.1f, sys %.1f)", h->user_percent,
			 h->system_percent);
	if (!isnan(h->switches_per_sec))
		buf_addf(&text, ", %s switches/s",
			 units_human_count(number,
					   four_digits(h->switches_per_sec)));
	if (h->oversleep_ns && h->oversleep_ns->count > 0) {
		buf_addf(&text, ", sleeps late by %s ms",
			 units_human_ms(number, hist_mean(h->oversleep_ns)));
		if (hist_beyond(h->oversleep_ns, 99) >= 10)
			buf_addf(&text, " (p99 %s)",
				 units_human_ms(number,
						(double)hist_percentile(
							h->oversleep_ns, 99)));
	}
	/* What it received says nothing about what was saved. */
	if (b->job->phase != PHASE_CHECKPOINT)
		put_network(&text, b->network);
	text_put(out, "host", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void put_ceiling_figure(struct buf *text, bool is_rate, double au,
			       double rate)
{
	char number[UNITS_TEXT_BYTES];
	double figure = is_rate ? rate : au;
	if (isnan(figure))
		buf_add(text, "unknown");
	else if (is_rate)
		buf_addf(text, "%s samples/s", units_sig4(number, rate));
	else
		buf_addf(text, "%.1f%% AU", au);
}

/* What this host reaches when storage costs nothing. */
static void put_ceiling(struct buf *out, const struct text_block *b)
{
	const struct ceiling_result *c = &b->ml->ceiling;
	bool is_rate = isnan(b->ml->au_percent);
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	struct buf text = { 0 };
	if (!c->is_tried)
		return;
	put_ceiling_figure(&text, is_rate, c->null_au_percent,
			   c->null_samples_per_sec);
	buf_add(&text, " without storage");
	if (!verdict_without_storage(b->job)) {
		buf_add(&text, ", ");
		put_ceiling_figure(&text, is_rate, c->cached_au_percent,
				   c->cached_samples_per_sec);
		buf_add(&text, " from memory");
	}
	if (c->cached_seconds > 0)
		buf_addf(&text, " (%s file%s, %s, over and over%s)",
			 units_human_count(files, c->cached_files),
			 c->cached_files == 1 ? "" : "s",
			 units_human_bytes(bytes, (double)c->cached_bytes),
			 b->job->direct ? ", direct=0" : "");
	if (c->jobs_beside)
		buf_addf(&text, "; without the %" PRIu64 " job%s beside it",
			 c->jobs_beside, c->jobs_beside == 1 ? "" : "s");
	if (c->unmeasured[0])
		buf_addf(&text, "; %s", c->unmeasured);
	text_put(out, "ceiling", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* What has put loaders where they are, or would put them near. */
static void put_numa_cause(struct buf *text, const struct job *job)
{
	if (job->numa_cpu_nodes)
		buf_addf(text, " (with numa_cpu_nodes=%s)",
			 job->numa_cpu_nodes);
	else if (job->cpus_allowed)
		buf_addf(text, " (with cpus_allowed=%s)", job->cpus_allowed);
	else
		buf_add(text, " (numa=device binds them)");
}

static void put_far(struct buf *text, const struct text_block *b)
{
	const struct numa_result *n = b->numa;
	const char *what = is_io_job(b) || b->result->kind == RESULT_CHECKPOINT
				   ? "time"
			   : b->job->loader == LOADER_PLAIN ? "samples"
							    : "batches";
	char percent[UNITS_TEXT_BYTES];
	buf_addf(text, ", disk %s on node %" PRIu64 ": ",
		 is_set(b->storage->device) ? b->storage->device : "",
		 n->device_node);
	if (!(n->far_percent > 0)) {
		buf_add(text, "near");
		return;
	}
	if (n->far_percent < 100)
		buf_addf(text, "%s of the %s ",
			 show_percent(percent, n->far_percent), what);
	buf_add(text, "far");
	put_numa_cause(text, b->job);
}

/* Of a host with one node there is nothing to say, unless it was asked. */
void text_numa(struct buf *out, const struct text_block *b)
{
	const struct numa_result *n = b->numa;
	bool is_known = is_set(n->loader_nodes) && n->device_node != UINT64_MAX;
	struct buf text;
	if (!is_known && !n->unbound)
		return;
	buf_init(&text);
	buf_add(&text, is_io_job(b)                           ? "workers"
		       : b->result->kind == RESULT_CHECKPOINT ? "threads"
							      : "loaders");
	if (is_set(n->loader_nodes))
		buf_addf(&text, " on node%s %s",
			 node_set_count(&n->seen) == 1 ? "" : "s",
			 n->loader_nodes);
	if (is_known)
		put_far(&text, b);
	if (n->unbound)
		buf_addf(&text, "%s not bound: %s",
			 is_set(n->loader_nodes) ? "," : "", n->unbound);
	text_put(out, "numa", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

static uint64_t taken(const struct epoch_result *e)
{
	return e->samples + e->failed_samples;
}

/* By how much epochs from the second on differ; a last one that was cut short
 * does not count. False where there are no two of them. */
static bool epochs_differ(const struct ml_result *ml, double *percent,
			  uint64_t *last)
{
	const struct epoch_result *e = ml->epochs.items;
	size_t n = ml->epochs.count;
	if (n >= 2 && taken(&e[n - 1]) != taken(&e[n - 2]))
		n--;
	if (n < 3)
		return false;
	double least = e[1].sample_bytes_per_sec, most = least;
	for (size_t i = 2; i < n; i++) {
		least = fmin(least, e[i].sample_bytes_per_sec);
		most = fmax(most, e[i].sample_bytes_per_sec);
	}
	*percent = least > 0 ? (most - least) / least * 100 : (double)NAN;
	*last = e[n - 1].epoch;
	return !isnan(*percent);
}

static void put_steady(struct buf *out, const struct text_block *b)
{
	const struct ml_result *ml = b->ml;
	double percent;
	uint64_t last;
	struct buf text;
	char number[UNITS_TEXT_BYTES];
	buf_init(&text);
	if (epochs_differ(ml, &percent, &last))
		buf_addf(&text, "epochs 2-%" PRIu64 " differ by %s", last,
			 show_percent(number, percent));
	else
		buf_add(&text, "unknown (takes 3 whole epochs)");
	if (ml->errors > 0)
		buf_addf(&text, "; %s error%s counted, the run went on",
			 units_human_count(number, ml->errors),
			 ml->errors == 1 ? "" : "s");
	else if (b->result->err.code != 0)
		buf_add(&text, "; stopped by an error");
	else
		buf_add(&text, "; no errors");
	if (b->result->read.short_ios > 0)
		buf_addf(&text, ", %s short reads resumed",
			 units_human_count(number, b->result->read.short_ios));
	text_put(out, "steady", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* Only of a job that has one. */
static void put_evaluation(struct buf *out, const struct text_block *b)
{
	const struct eval_result *e = &b->ml->eval;
	char steps[UNITS_TEXT_BYTES], samples[UNITS_TEXT_BYTES],
		rate[UNITS_TEXT_BYTES];
	struct buf text;
	if (b->job->eval_files == 0)
		return;
	buf_init(&text);
	buf_addf(&text, "%s step%s, %s samples, %s samples/s, ",
		 units_human_count(steps, e->steps), e->steps == 1 ? "" : "s",
		 units_human_count(samples, e->samples),
		 units_sig4(rate, e->samples_per_sec));
	buf_add(&text, show_rate(rate, &b->unit, e->sample_bytes_per_sec));
	text_put(out, "evaluation", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_fini(&text);
}

void text_evidence(struct buf *out, const struct text_block *b)
{
	text_shares(out, "accelerator time", &b->time);
	text_shares(out, "loader time", &b->loader);
	put_read_sizes(out, b);
	text_window(out, b);
	text_from_memory(out, b);
	text_host(out, b);
	text_noise(out, b);
	put_ceiling(out, b);
	text_numa(out, b);
	put_evaluation(out, b);
	text_saves_evidence(out, b);
	text_slowest(out, b);
	put_steady(out, b);
}
