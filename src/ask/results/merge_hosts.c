/* SPDX-License-Identifier: Apache-2.0 */
/* merge_hosts.c - merge the processes of one job into one result. */
#include "ask/results/results_internal.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/document/document.h"
#include "run/result/result.h"

/* ---- figures that exist once per host ---- */

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static void add_saves(struct host_once *o, const struct checkpoints_result *saves)
{
	if (saves->count == 0)
		return;
	o->has_saved = true;
	o->dirty_bytes = u64_max(o->dirty_bytes, saves->dirty_bytes);
	o->in_memory_bytes = sum(o->in_memory_bytes, saves->in_memory_bytes);
}

void host_once_add(struct host_once *o, const struct job_result *r)
{
	assert(r);
	const struct host_once one = {
		.has_ranks = true,
		.cpu_percent = r->host.cpu_percent,
		.user_percent = r->host.user_percent,
		.system_percent = r->host.system_percent,
		.network_percent = r->network.percent,
		.received_bits_per_sec = r->network.received_bits_per_sec,
		.device_read_bytes = r->storage.device_read_bytes,
		.device_reads = r->storage.device_reads,
		.received_bytes = r->network.received_bytes,
		.line_rate = r->network.line_rate_bits_per_sec,
	};

	if (!o->has_ranks) {
		*o = one;
		add_saves(o, &r->ml.saves);
		return;
	}
	o->cpu_percent = fmax(o->cpu_percent, one.cpu_percent);
	o->user_percent += one.user_percent;
	o->system_percent += one.system_percent;
	o->network_percent = fmax(o->network_percent, one.network_percent);
	o->received_bits_per_sec = fmax(o->received_bits_per_sec, one.received_bits_per_sec);
	o->device_read_bytes = u64_max(o->device_read_bytes, one.device_read_bytes);
	o->device_reads = u64_max(o->device_reads, one.device_reads);
	o->received_bytes = u64_max(o->received_bytes, one.received_bytes);
	add_saves(o, &r->ml.saves);
}

struct host_once host_once_total(const struct host_once *hosts, size_t count, size_t step)
{
	struct host_once t = { 0 };
	double n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct host_once *o = &hosts[i * step];

		if (!o->has_ranks)
			continue;
		n++;
		t.cpu_percent += o->cpu_percent;
		t.user_percent += o->user_percent;
		t.system_percent += o->system_percent;
		t.network_percent += o->network_percent;
		t.received_bits_per_sec += o->received_bits_per_sec;
		t.device_read_bytes = sum(t.device_read_bytes, o->device_read_bytes);
		t.device_reads = sum(t.device_reads, o->device_reads);
		t.received_bytes = sum(t.received_bytes, o->received_bytes);
		t.line_rate = sum(t.line_rate, o->line_rate);
		if (!o->has_saved)
			continue;
		t.has_saved = true;
		t.dirty_bytes = sum(t.dirty_bytes, o->dirty_bytes);
		/* Each process sees the dirty bytes of all processes, so the sum over the processes
		 * may exceed the dirty bytes of the host. */
		bool is_known = o->in_memory_bytes != UINT64_MAX && o->dirty_bytes != UINT64_MAX;
		t.in_memory_bytes = sum(t.in_memory_bytes,
					is_known ? u64_min(o->in_memory_bytes, o->dirty_bytes)
						 : o->in_memory_bytes);
	}
	t.has_ranks = n > 0;
	t.cpu_percent /= n;
	t.user_percent /= n;
	t.system_percent /= n;
	t.network_percent /= n;
	return t;
}

void host_once_store(const struct host_once *t, struct job_result *to)
{
	struct storage_result *st = &to->storage;

	to->host.cpu_percent = t->cpu_percent;
	to->host.user_percent = t->user_percent;
	to->host.system_percent = t->system_percent;
	to->network.percent = t->network_percent;
	to->network.received_bits_per_sec = t->received_bits_per_sec;
	to->network.received_bytes = t->received_bytes;
	to->network.line_rate_bits_per_sec = t->line_rate;
	if (t->has_saved) {
		to->ml.saves.dirty_bytes = t->dirty_bytes;
		to->ml.saves.in_memory_bytes = t->in_memory_bytes;
	}
	/* /proc/self/io counts the bytes of one process, so the sum over all ranks is correct. */
	if (st->source && strncmp(st->source, "/proc/self", 10) == 0)
		return;
	st->device_read_bytes = t->device_read_bytes;
	st->device_reads = t->device_reads;
	if (st->device_read_bytes != UINT64_MAX && st->jobs_read_bytes &&
	    st->jobs_read_bytes != UINT64_MAX)
		st->memory_percent = fmax(
			100 * (1 - (double)st->device_read_bytes / (double)st->jobs_read_bytes), 0);
}

/* ---- processes ---- */

static char *write_document(const struct run_result *r, const struct jobset *set, size_t *bytes)
{
	struct jobset json = *set;
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);

	json.settings.output_format = OUTPUT_JSON;
	if (!to)
		return NULL;
	int rc = json_report(to, r, &json, NULL);
	if (fclose(to) == 0 && rc == 0)
		return text;
	free(text);
	return NULL;
}

/* "node7", or "node7 rank 3" if the host has several ranks. */
static char *process_name(const struct hosts *h, unsigned rank)
{
	struct buf name = { 0 };
	unsigned ranks = 0;

	for (unsigned i = 0; i < hosts_total(h); i++)
		ranks += hosts_host_of(h, i) == hosts_host_of(h, rank);
	buf_add(&name, hosts_name(h, rank));
	if (ranks > 1)
		buf_addf(&name, " rank %u", rank);
	return buf_detach(&name);
}

/* ---- merging ---- */

static void *grow(void *owner, void *p, size_t had, size_t bytes)
{
	(void)owner;
	(void)had;
	return mem_realloc(p, bytes);
}

/* The documents of all ranks, in rank 0. */
struct gathered {
	struct merge *m;
	const struct hosts *hosts;
	const struct buf *all;
	struct host_once *once; /* for each host, one struct per job */
};

/* Read the document of a rank. False, with a warning: the rank has no figures that can be counted.
 */
static bool read_rank(const struct gathered *g, unsigned rank, struct results_file *d)
{
	const char *host = hosts_name(g->hosts, rank);
	struct mlgen_err err = { 0 };
	size_t n = 0;
	const char *bytes = hosts_part(g->all, rank, &n);

	memset(d, 0, sizeof(*d));
	if (!bytes || !n) {
		log_warn("%s (rank %u): sent no figures; the report covers the other processes",
			 host, rank);
		return false;
	}
	if (results_open_text(d, host, bytes, n, &err) == 0)
		result_read(d, g->m->ask->env, &err);
	if (!err.code && d->run.job_count != g->m->run->job_count)
		mlgen_fail(&err, -EINVAL, "it sent %zu job records instead of %zu",
			   d->run.job_count, g->m->run->job_count);
	if (!err.code)
		return true;
	log_warn("%s (rank %u): its figures are left out: %s", host, rank, err.text);
	results_close(d);
	return false;
}

/* Note the figures of a rank before it is merged. */
static void note_rank(const struct gathered *g, unsigned rank, const struct run_result *result)
{
	size_t jobs = g->m->run->job_count;
	struct host_once *host = &g->once[hosts_host_of(g->hosts, rank) * jobs];
	struct metrics_merged_run *run = &g->m->of.runs[g->m->of.count++];
	uint64_t unsure_ns = 0;
	int64_t ahead_ns = hosts_clock_offset_ns(g->hosts, rank, &unsure_ns);

	g->m->of.hosts += !host->has_ranks;
	for (size_t i = 0; i < jobs; i++)
		host_once_add(&host[i], &result->jobs[i]);
	*run = (struct metrics_merged_run){ .rank = rank,
					    .file = process_name(g->hosts, rank),
					    .hostname = mem_strdup(hosts_name(g->hosts, rank)),
					    .timestamp_ms = result->timestamp_ms,
					    .turn = 1,
					    .clock_offset_ns = (double)ahead_ns,
					    .clock_unsure_ns = (double)unsure_ns };
	run->path = run->file;
	merge_add_run(g->m, run, result);
}

static void merge_ranks(const struct gathered *g)
{
	struct merge *m = g->m;
	struct run_result *to = m->run;
	size_t jobs = to->job_count;
	/* Lists belong to the run, which frees them. m->result.store owns everything else. */
	const struct merge_memory memory = { grow, json_store_memory.take, json_store_memory.text };

	note_rank(g, 0, to);
	for (unsigned i = 1; i < hosts_total(g->hosts); i++) {
		struct results_file d;

		if (!read_rank(g, i, &d))
			continue;
		note_rank(g, i, &d.run);
		for (size_t k = 0; k < jobs; k++) {
			struct ml_result *ml = &to->jobs[k].ml;
			/* The published windows cover all ranks already (epochs_check). */
			const struct mlperf_result windows = ml->mlperf;
			const struct metric_list epochs = ml->mlperf_epochs;

			merge_jobs(&to->jobs[k], &d.run.jobs[k], MERGE_CLIENTS, &memory,
				   &m->result.store);
			ml->mlperf = windows;
			ml->mlperf_epochs = epochs;
		}
		to->interrupted |= d.run.interrupted;
		if (!to->err.code && d.run.err.code)
			mlgen_fail(&to->err, d.run.err.code, "%s: %s", hosts_name(g->hosts, i),
				   d.run.err.text);
		results_close(&d);
	}
	/* On hosts with several ranks, merging has added up figures of the whole host: replace the
	 * sums. */
	for (size_t i = 0; i < jobs && m->of.count > m->of.hosts; i++) {
		struct host_once t = host_once_total(&g->once[i], hosts_count(g->hosts), jobs);

		host_once_store(&t, &to->jobs[i]);
	}
	merge_mark_slowest(m);
	merge_name_hosts(m);
}

void merge_hosts(struct merge *m, struct hosts *h, struct run_result *own, const struct ask *a)
{
	struct mlgen_err err = { 0 };
	struct buf all = { 0 };
	size_t bytes = 0;

	*m = (struct merge){
		.ask = a, .run = own, .is_one_job = true, .of.overlap_percent = (double)NAN
	};
	if (hosts_total(h) == 1)
		return;
	char *document = hosts_rank(h) ? write_document(own, a->set, &bytes) : NULL;
	int rc = hosts_gather(h, document, document ? bytes : 0, &all, &err);
	free(document);
	if (hosts_rank(h) == 0) {
		const struct gathered g = { m, h, &all,
					    mem_array(hosts_count(h) * own->job_count,
						      sizeof(struct host_once)) };

		if (rc < 0)
			log_warn("%s", err.text);
		m->of.runs = mem_array(hosts_total(h), sizeof(*m->of.runs));
		m->of.turns = 1;
		merge_ranks(&g);
		mem_free(g.once);
	}
	buf_fini(&all);
}
