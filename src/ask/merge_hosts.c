/* SPDX-License-Identifier: Apache-2.0 */
/* merge_hosts.c - see merge_hosts.h. */
#include "ask/merge_hosts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/once.h"
#include "base/log.h"
#include "base/mem.h"
#include "report/json.h"
#include "run/merge.h"

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
	struct merge_run *run = &m->runs[m->count++];
	uint64_t unsure_ns = 0;
	int64_t ahead_ns = hosts_clock_offset_ns(h, rank, &unsure_ns);

	*run = (struct merge_run){ .rank = rank,
				   .name = name_of(h, rank),
				   .hostname = mem_strdup(hosts_name(h, rank)),
				   .start_ms = result->timestamp_ms,
				   .turn = 1,
				   .clock_offset_ns = (double)ahead_ns,
				   .clock_unsure_ns = (double)unsure_ns };
	run->path = run->name;
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
static bool read_rank(const struct gathered *g, unsigned rank, struct result_doc *d)
{
	const char *host = hosts_name(g->hosts, rank);
	struct mlgen_err err = { 0 };
	struct results_file f;
	size_t n = 0;
	const char *bytes = hosts_part(g->all, rank, &n);

	memset(d, 0, sizeof(*d));
	if (!bytes || !n) {
		log_warn("%s (rank %u): has sent no figures; the report is of the others", host,
			 rank);
		return false;
	}
	if (results_open_text(&f, host, bytes, n, &err) == 0) {
		result_read(d, &f, g->ask->env, &err);
		results_close(&f);
	}
	if (!err.code && d->run.job_count != g->m->run->job_count)
		mlgen_fail(&err, -EINVAL, "it has come to %zu job records in place of %zu",
			   d->run.job_count, g->m->run->job_count);
	if (!err.code)
		return true;
	log_warn("%s (rank %u): its figures are left out: %s", host, rank, err.text);
	result_fini(d);
	return false;
}

/* Before it goes into others. */
static void note_rank(const struct gathered *g, unsigned rank, const struct run_result *result)
{
	size_t jobs = g->m->run->job_count;
	struct once *host = &g->once[hosts_host_of(g->hosts, rank) * jobs];

	g->m->hosts += !host->is_there;
	for (size_t i = 0; i < jobs; i++)
		once_add(&host[i], &result->jobs[i]);
	add_run(g->m, g->hosts, rank, result);
}

static void put_once(const struct gathered *g)
{
	size_t jobs = g->m->run->job_count;

	for (size_t i = 0; i < jobs && g->m->count > g->m->hosts; i++) {
		struct once t = once_total(&g->once[i], hosts_count(g->hosts), jobs);

		once_put(&t, &g->m->run->jobs[i]);
	}
}

static void fold_all(const struct gathered *g)
{
	struct merge *m = g->m;

	note_rank(g, 0, m->run);
	for (unsigned i = 1; i < hosts_total(g->hosts); i++) {
		struct result_doc d;

		if (!read_rank(g, i, &d))
			continue;
		note_rank(g, i, &d.run);
		fold(m, &d.run, hosts_name(g->hosts, i));
		result_fini(&d);
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
		.ask = a, .run = own, .is_one_job = true, .overlap_percent = (double)NAN
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
		m->runs = mem_array(hosts_total(h), sizeof(*m->runs));
		m->turns = 1;
		fold_all(&g);
		mem_free(g.once);
	}
	buf_fini(&all);
}
