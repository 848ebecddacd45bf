/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - merge two results by the rules of their rows. */
#include "run/result/result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "field/fields.h"
#include "job/job.h"

/* The jobs read from different sources, so there is no common count of delivered bytes, only a mean
 * of the memory shares. An unknown share makes the mean unknown, unless the job with the unknown
 * share read nothing. */
static void merge_sources(struct storage_result *to, double bytes_to,
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

/* Join the windows and compute host, network, storage, CPU time and energy over the result. Call
 * this before the bytes that both read are added up. */
static void merge_windows(struct job_result *to, const struct job_result *from)
{
	struct storage_result *a = &to->storage;
	const struct storage_result *b = &from->storage;
	struct thread_cpu_result *cpu = &to->thread_cpu;
	const struct thread_cpu_result *more = &from->thread_cpu;

	marks_join(&to->marks, &from->marks);
	/* Two workers of a job share these figures. */
	if (to->job != from->job) {
		a->is_memory &= b->is_memory;
		a->resident_before_percent =
			merge_mean_of(a->resident_before_percent, (double)a->resident_files,
				      b->resident_before_percent, (double)b->resident_files);
		a->resident_files += b->resident_files;
		a->cache_drops += b->cache_drops;
		a->caches_dropped &= b->caches_dropped;
	}
	if (!to->marks.storage || !marks_storage(a, &to->marks))
		merge_sources(a, (double)to->read.io_bytes, b, (double)from->read.io_bytes);
	if (!marks_ns(&to->marks))
		return;
	marks_window(&to->window, &to->marks);
	marks_host(&to->host, &to->marks);
	marks_network(&to->network, &to->marks);
	cpu->workers_seconds = merge_sum_of(cpu->workers_seconds, more->workers_seconds);
	cpu->workers_waited_seconds =
		merge_sum_of(cpu->workers_waited_seconds, more->workers_waited_seconds);
	cpu->accelerators_seconds =
		merge_sum_of(cpu->accelerators_seconds, more->accelerators_seconds);
	marks_other_cpu(cpu, &to->marks);
	marks_energy(&to->energy, &to->marks,
		     to->read.io_bytes + to->write.io_bytes + from->read.io_bytes +
			     from->write.io_bytes,
		     to->ml.samples + from->ml.samples);
}

/* ---- merging two results ---- */

static void weigh(double *w, const struct job_result *r, enum merge_how how)
{
	const struct ml_result *ml = &r->ml;
	bool is_io = r->work && r->work->is_plain;
	uint64_t workers = is_io              ? r->io.numjobs
			   : ml->accelerators ? ml->accelerators
					      : ml->saves.threads + ml->restores.threads;
	double wall = r->wall_seconds > 0 ? r->wall_seconds : r->elapsed_seconds;
	double read = (double)ml->io_bytes + (double)ml->eval.io_bytes;
	double ios = (double)(r->read.total_ios + r->write.total_ios);

	w[WEIGHT_WALL] = fmax(wall, 0);
	w[WEIGHT_TIME] = w[WEIGHT_WALL] * (double)(workers ? workers : 1);
	w[WEIGHT_ACCELERATORS] =
		(double)(how == MERGE_TURNS ? ml->counted_steps : ml->accelerators);
	w[WEIGHT_BYTES] = is_io ? (double)r->read.io_bytes : read;
	w[WEIGHT_OBSERVATIONS] = is_io ? ios : read;
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

static void *grow(void *owner, void *p, size_t had, size_t bytes)
{
	(void)owner;
	(void)had;
	return mem_realloc(p, bytes);
}

/* Histograms belong to the slots, and others may be merged into them. */
static struct hist *share_hist(void *owner, struct hist *from)
{
	(void)owner;
	return from;
}

static struct hist *no_hist(void *owner, struct hist *from)
{
	(void)owner;
	(void)from;
	return NULL;
}

static const char *borrow_text(void *owner, const char *from)
{
	(void)owner;
	return from;
}

static const struct merge_memory job_memory = { grow, share_hist, borrow_text };
static const struct merge_memory worker_memory = { grow, no_hist, borrow_text };

static void merge_job(struct job_result *to, const struct job_result *from,
		      const struct merge_memory *memory)
{
	/* A training job writes nothing but checkpoints. */
	if (!to->work->is_plain && to->ml.saves.count == 0)
		to->write.lat_ns = NULL;
	merge_windows(to, from);
	merge_jobs(to, from, MERGE_GROUP, memory, NULL);
	to->members += from->job != to->job;
}

/* The earlier job of the same kind and group that reports for job `i`, or NULL. */
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
		merge_job(leader, &r->jobs[i], &job_memory);
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
	merge_job(to, from, &worker_memory);
}
