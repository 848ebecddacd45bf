/* SPDX-License-Identifier: Apache-2.0 */
/* merge_hosts.c - the processes of one job become one result, and what only one of them does. */
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

/* ---- what one process of several does ---- */

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

static void add_saves(struct once *o, const struct checkpoints_result *saves)
{
	if (saves->count == 0)
		return;
	o->has_saved = true;
	o->dirty_bytes = u64_max(o->dirty_bytes, saves->dirty_bytes);
	o->in_memory_bytes = sum(o->in_memory_bytes, saves->in_memory_bytes);
}

void once_add(struct once *o, const struct job_result *r)
{
	assert(r);
	const struct once one = {
		.is_there = true,
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

	if (!o->is_there) {
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

/* Each process sees what is dirty of all of them, so the sum of what they say of their own may be
 * more than there is. */
static uint64_t in_memory(const struct once *host)
{
	if (host->in_memory_bytes == UINT64_MAX || host->dirty_bytes == UINT64_MAX)
		return host->in_memory_bytes;
	return u64_min(host->in_memory_bytes, host->dirty_bytes);
}

static void total_saves(struct once *t, const struct once *host)
{
	if (!host->has_saved)
		return;
	t->has_saved = true;
	t->dirty_bytes = sum(t->dirty_bytes, host->dirty_bytes);
	t->in_memory_bytes = sum(t->in_memory_bytes, in_memory(host));
}

struct once once_total(const struct once *hosts, size_t count, size_t step)
{
	struct once t = { 0 };
	double n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct once *o = &hosts[i * step];

		if (!o->is_there)
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
		total_saves(&t, o);
	}
	t.is_there = n > 0;
	t.cpu_percent /= n;
	t.user_percent /= n;
	t.system_percent /= n;
	t.network_percent /= n;
	return t;
}

/* /proc/self/io is of a process: there the sum of all ranks is right. */
static bool is_counted_by_process(const struct storage_result *s)
{
	return s->source && strncmp(s->source, "/proc/self", 10) == 0;
}

static void put_storage(const struct once *t, struct storage_result *st)
{
	st->device_read_bytes = t->device_read_bytes;
	st->device_reads = t->device_reads;
	if (st->device_read_bytes != UINT64_MAX && st->jobs_read_bytes &&
	    st->jobs_read_bytes != UINT64_MAX)
		st->memory_percent = fmax(
			100 * (1 - (double)st->device_read_bytes / (double)st->jobs_read_bytes), 0);
}

void once_put(const struct once *t, struct job_result *to)
{
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
	if (!is_counted_by_process(&to->storage))
		put_storage(t, &to->storage);
}

/* ---- a result as bytes ---- */

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

/* ---- whose ---- */

static bool shares_host(const struct hosts *h, unsigned rank)
{
	for (unsigned i = 0; i < hosts_total(h); i++)
		if (i != rank && hosts_host_of(h, i) == hosts_host_of(h, rank))
			return true;
	return false;
}

/* "node7", or of several processes on it "node7 rank 3". */
static char *name_of(const struct hosts *h, unsigned rank)
{
	struct buf name = { 0 };

	buf_add(&name, hosts_name(h, rank));
	if (shares_host(h, rank))
		buf_addf(&name, " rank %u", rank);
	return buf_take(&name);
}

static void add_run(struct merge *m, const struct hosts *h, unsigned rank,
		    const struct run_result *result)
{
	struct metrics_merged_run *run = &m->of.runs[m->of.count++];
	uint64_t unsure_ns = 0;
	int64_t ahead_ns = hosts_clock_offset_ns(h, rank, &unsure_ns);

	*run = (struct metrics_merged_run){ .rank = rank,
					    .file = name_of(h, rank),
					    .hostname = mem_strdup(hosts_name(h, rank)),
					    .timestamp_ms = result->timestamp_ms,
					    .turn = 1,
					    .clock_offset_ns = (double)ahead_ns,
					    .clock_unsure_ns = (double)unsure_ns };
	run->path = run->file;
	merge_note(m, run, result);
}

/* ---- one into the other ---- */

static void *grow(void *owner, void *p, size_t had, size_t bytes)
{
	(void)owner;
	(void)had;
	return mem_realloc(p, bytes);
}

static struct hist *take(void *owner, struct hist *from)
{
	return json_store_memory.take(owner, from);
}

static const char *text(void *owner, const char *from)
{
	return json_store_memory.text(owner, from);
}

/* Lists are the run's own, which frees them; all else is kept aside. */
static const struct merge_memory of_run = { grow, take, text };

/* The published windows are of all ranks already (epochs_check). */
static void fold_job(struct merge *m, struct job_result *to, const struct job_result *from)
{
	const struct mlperf_result windows = to->ml.mlperf;
	const struct metric_list epochs = to->ml.mlperf_epochs;

	merge_jobs(to, from, MERGE_CLIENTS, &of_run, &m->result.store);
	to->ml.mlperf = windows;
	to->ml.mlperf_epochs = epochs;
}

static void fold(struct merge *m, const struct run_result *from, const char *host)
{
	struct run_result *to = m->run;

	for (size_t i = 0; i < to->job_count; i++)
		fold_job(m, &to->jobs[i], &from->jobs[i]);
	to->interrupted |= from->interrupted;
	if (!to->err.code && from->err.code)
		mlgen_fail(&to->err, from->err.code, "%s: %s", host, from->err.text);
}

/* ---- all of them ---- */

struct gathered {
	struct merge *m;
	const struct hosts *hosts;
	const struct buf *all;
	const struct ask *ask;
	struct once *once; /* of each host all jobs */
};

/* False, and told: there is nothing of it that could be counted. */
static bool read_rank(const struct gathered *g, unsigned rank, struct results_file *d)
{
	const char *host = hosts_name(g->hosts, rank);
	struct mlgen_err err = { 0 };
	size_t n = 0;
	const char *bytes = hosts_part(g->all, rank, &n);

	memset(d, 0, sizeof(*d));
	if (!bytes || !n) {
		log_warn("%s (rank %u): has sent no figures; the report is of the others", host,
			 rank);
		return false;
	}
	if (results_open_text(d, host, bytes, n, &err) == 0)
		result_read(d, g->ask->env, &err);
	if (!err.code && d->run.job_count != g->m->run->job_count)
		mlgen_fail(&err, -EINVAL, "it has come to %zu job records in place of %zu",
			   d->run.job_count, g->m->run->job_count);
	if (!err.code)
		return true;
	log_warn("%s (rank %u): its figures are left out: %s", host, rank, err.text);
	results_close(d);
	return false;
}

/* Before it goes into others. */
static void note_rank(const struct gathered *g, unsigned rank, const struct run_result *result)
{
	size_t jobs = g->m->run->job_count;
	struct once *host = &g->once[hosts_host_of(g->hosts, rank) * jobs];

	g->m->of.hosts += !host->is_there;
	for (size_t i = 0; i < jobs; i++)
		once_add(&host[i], &result->jobs[i]);
	add_run(g->m, g->hosts, rank, result);
}

static void put_once(const struct gathered *g)
{
	size_t jobs = g->m->run->job_count;

	for (size_t i = 0; i < jobs && g->m->of.count > g->m->of.hosts; i++) {
		struct once t = once_total(&g->once[i], hosts_count(g->hosts), jobs);

		once_put(&t, &g->m->run->jobs[i]);
	}
}

static void fold_all(const struct gathered *g)
{
	struct merge *m = g->m;

	note_rank(g, 0, m->run);
	for (unsigned i = 1; i < hosts_total(g->hosts); i++) {
		struct results_file d;

		if (!read_rank(g, i, &d))
			continue;
		note_rank(g, i, &d.run);
		fold(m, &d.run, hosts_name(g->hosts, i));
		results_close(&d);
	}
	put_once(g);
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
		const struct gathered g = { m, h, &all, a,
					    mem_array(hosts_count(h) * own->job_count,
						      sizeof(struct once)) };

		if (rc < 0)
			log_warn("%s", err.text);
		m->of.runs = mem_array(hosts_total(h), sizeof(*m->of.runs));
		m->of.turns = 1;
		fold_all(&g);
		mem_free(g.once);
	}
	buf_fini(&all);
}
