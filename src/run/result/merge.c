/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - two results as one, by the rules of their rows. */
#include "run/result/result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "field/fields.h"
#include "job/job.h"

/* Jobs of which each read from another source: there is no one window for what these delivered, but
 * a mean of the shares. One that is not known leaves none, but for a job that read nothing. */
static void mix_sources(struct storage_result *to, double bytes_to,
			const struct storage_result *from, double bytes_from)
{
	bool is_known = !(isnan(to->memory_percent) && bytes_to > 0) &&
			!(isnan(from->memory_percent) && bytes_from > 0);

	to->memory_percent = is_known ? merge_mean_of(to->memory_percent, bytes_to,
						      from->memory_percent, bytes_from)
				      : (double)NAN;
	to->device_read_bytes = to->device_reads = to->jobs_read_bytes = UINT64_MAX;
	if (!to->source || !from->source || strcmp(to->source, from->source))
		to->source = isnan(to->memory_percent) ? "unknown" : "several sources";
}

/* Of two jobs, not of two workers of one. */
static void merge_caches(struct storage_result *to, const struct storage_result *from)
{
	to->is_memory &= from->is_memory;
	to->resident_before_percent =
		merge_mean_of(to->resident_before_percent, (double)to->resident_files,
			      from->resident_before_percent, (double)from->resident_files);
	to->resident_files += from->resident_files;
	to->cache_drops += from->cache_drops;
	to->caches_dropped &= from->caches_dropped;
}

/* Of two records of a run: what neither of them had is others'. */
static void merge_thread_cpu(struct thread_cpu_result *to, const struct thread_cpu_result *from,
			     const struct marks *both)
{
	to->workers_seconds = merge_sum_of(to->workers_seconds, from->workers_seconds);
	to->workers_waited_seconds =
		merge_sum_of(to->workers_waited_seconds, from->workers_waited_seconds);
	to->accelerators_seconds =
		merge_sum_of(to->accelerators_seconds, from->accelerators_seconds);
	marks_other_cpu(to, both);
}

/* From the first of their beginnings to the last of their ends; what has no figure of both is
 * unknown. Before the bytes that they read are added up. */
static void merge_around(struct job_result *to, const struct job_result *from)
{
	struct storage_result *a = &to->storage;
	const struct storage_result *b = &from->storage;

	marks_join(&to->marks, &from->marks);
	if (to->job != from->job)
		merge_caches(a, b);
	if (!to->marks.storage || !marks_storage(a, &to->marks))
		mix_sources(a, (double)to->read.io_bytes, b, (double)from->read.io_bytes);
	if (!marks_ns(&to->marks))
		return;
	marks_window(&to->window, &to->marks);
	marks_host(&to->host, &to->marks);
	marks_network(&to->network, &to->marks);
	merge_thread_cpu(&to->thread_cpu, &from->thread_cpu, &to->marks);
	marks_energy(&to->energy, &to->marks,
		     to->read.io_bytes + to->write.io_bytes + from->read.io_bytes +
			     from->write.io_bytes,
		     to->ml.samples + from->ml.samples);
}

/* ---- one and another ---- */

static double positive(double v)
{
	return v > 0 ? v : 0;
}

static uint64_t workers_of(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	uint64_t n = r->work && r->work->is_plain ? r->io.numjobs
		     : ml->accelerators           ? ml->accelerators
						  : ml->saves.threads + ml->restores.threads;

	return n ? n : 1;
}

static void weigh(double *w, const struct job_result *r, enum merge_how how)
{
	const struct ml_result *ml = &r->ml;
	bool is_io = r->work && r->work->is_plain;
	double wall = r->wall_seconds;
	double read = (double)ml->io_bytes + (double)ml->eval.io_bytes;
	double ios = (double)(r->read.total_ios + r->write.total_ios);

	w[WEIGHT_WALL] = positive(wall > 0 ? wall : r->elapsed_seconds);
	w[WEIGHT_TIME] = w[WEIGHT_WALL] * (double)workers_of(r);
	w[WEIGHT_ACCELERATORS] =
		(double)(how == MERGE_TURNS ? ml->counted_steps : ml->accelerators);
	w[WEIGHT_BYTES] = is_io ? (double)r->read.io_bytes : read;
	w[WEIGHT_LOOKS] = is_io ? ios : read;
	w[WEIGHT_IOS] = ios;
}

void merge_jobs(struct job_result *to, const struct job_result *from, enum merge_how how,
		const struct merge_memory *memory, void *owner)
{
	struct merging m = { .how = how,
			     .memory = memory,
			     .owner = owner,
			     .record = { (char *)to, NULL, (const char *)from },
			     .bytes = sizeof(*to),
			     .sums = { NULL, from->sums } };

	weigh(m.weights[0], to, how);
	weigh(m.weights[1], from, how);
	fields_merge(&m, metrics_result_fields, &to->sums);
	failed_fill(to);
}

/* ---- jobs of a run ---- */

static void *merge_grow(void *owner, void *p, size_t had, size_t bytes)
{
	(void)owner;
	(void)had;
	return mem_realloc(p, bytes);
}

/* Histograms are the slots', and may be added to. */
static struct hist *merge_take(void *owner, struct hist *from)
{
	(void)owner;
	return from;
}

static struct hist *go_without(void *owner, struct hist *from)
{
	(void)owner;
	(void)from;
	return NULL;
}

static const char *borrow(void *owner, const char *from)
{
	(void)owner;
	return from;
}

static const struct merge_memory of_slots = { merge_grow, merge_take, borrow };
static const struct merge_memory of_workers = { merge_grow, go_without, borrow };

static void merge_job(struct job_result *to, const struct job_result *from,
		      const struct merge_memory *memory)
{
	/* What a training writes is its checkpoints. */
	if (!to->work->is_plain && to->ml.saves.count == 0)
		to->write.lat_ns = NULL;
	merge_around(to, from);
	merge_jobs(to, from, MERGE_GROUP, memory, NULL);
	to->members += from->job != to->job;
}

/* The earlier job of the same kind and group that reports for it, or NULL. */
static struct job_result *leader_of(struct run_result *r, size_t i)
{
	const struct job_result *job = &r->jobs[i];
	bool asks = job->job->group_reporting;

	if (!job->work || !job->work->is_grouped)
		return NULL;
	for (size_t k = 0; k < i; k++) {
		struct job_result *other = &r->jobs[k];

		if (other->work == job->work && other->group == job->group &&
		    (asks || other->job->group_reporting))
			return other;
	}
	return NULL;
}

void merge_groups(struct run_result *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		struct job_result *leader = leader_of(r, i);

		if (!leader) {
			r->jobs[kept++] = r->jobs[i];
			continue;
		}
		merge_job(leader, &r->jobs[i], &of_slots);
		mem_free(r->jobs[i].ml.au_percent_per_accelerator.items);
		mem_free(r->jobs[i].ml.ranks.items);
		mem_free(r->jobs[i].ml.epochs.items);
		mem_free(r->jobs[i].ml.mlperf_epochs.items);
		mem_free(r->jobs[i].ml.saves.items.items);
		mem_free(r->jobs[i].ml.saves.rank_times.items);
		mem_free(r->jobs[i].ml.restores.items.items);
		mem_free(r->jobs[i].ml.restores.rank_times.items);
		mem_free(r->jobs[i].io.replay.slices.items);
		mem_free(r->jobs[i].numa.loader_nodes);
	}
	r->job_count = kept;
}

void merge_workers(struct job_result *to, const struct job_result *from)
{
	merge_job(to, from, &of_workers);
}
