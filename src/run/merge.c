/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - see merge.h. */
#include "run/merge.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "run/failed.h"
#include "run/merge_around.h"

double merge_mean(double a, double weight_a, double b, double weight_b)
{
	if (isnan(a))
		return b;
	if (isnan(b) || weight_a + weight_b <= 0)
		return a;
	return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

/* What is not known, or was not asked for, adds nothing. */
static double sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Structs that are nothing but doubles, member by member. */
static void mean_all(void *to, double weight_to, const void *from,
		     double weight_from, size_t bytes)
{
	double *a = to;
	const double *b = from;
	for (size_t i = 0; i < bytes / sizeof(*a); i++)
		a[i] = merge_mean(a[i], weight_to, b[i], weight_from);
}

static void merge_hist(struct hist *to, const struct hist *from)
{
	if (to && from)
		hist_merge(to, from);
}

static void merge_op(struct op_result *to, const struct op_result *from)
{
	to->total += from->total;
	merge_hist(to->lat_ns, from->lat_ns);
}

static void merge_ops(struct ops_result *to, const struct ops_result *from)
{
	merge_op(&to->open, &from->open);
	merge_op(&to->stat, &from->stat);
	merge_op(&to->read, &from->read);
	merge_op(&to->write, &from->write);
	merge_op(&to->fsync, &from->fsync);
	merge_op(&to->close, &from->close);
}

static void merge_epoch(struct epoch_result *to, double weight_to,
			const struct epoch_result *from, double weight_from)
{
	double stalls = (double)(to->stall_count + from->stall_count);
	to->stall_mean_ns = merge_mean(
		to->stall_mean_ns, (double)to->stall_count, from->stall_mean_ns,
		stalls - (double)to->stall_count);
	to->stall_p99_ns = (double)NAN; /* percentiles are never averaged */
	to->stall_count += from->stall_count;
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	if (from->seconds > to->seconds)
		to->seconds = from->seconds;
	to->samples_per_sec = (double)to->samples / to->seconds;
	to->sample_bytes_per_sec = (double)to->sample_bytes / to->seconds;
	to->au_percent = merge_mean(to->au_percent, weight_to, from->au_percent,
				    weight_from);
	to->first_step_ns = merge_mean(to->first_step_ns, weight_to,
				       from->first_step_ns, weight_from);
}

static void merge_epochs(struct ml_result *to, const struct ml_result *from)
{
	struct epoch_result *a = to->epochs.items;
	const struct epoch_result *b = from->epochs.items;
	for (size_t i = 0; i < to->epochs.count && i < from->epochs.count; i++)
		merge_epoch(&a[i], (double)to->accelerators, &b[i],
			    (double)from->accelerators);
	if (from->epochs.count <= to->epochs.count)
		return;
	a = mem_realloc(a, from->epochs.count * sizeof(*a));
	for (size_t i = to->epochs.count; i < from->epochs.count; i++)
		a[i] = b[i];
	to->epochs = (struct metric_list){ a, from->epochs.count };
	to->epochs_total = from->epochs_total;
}

static void append_au(struct ml_result *to, const struct ml_result *from)
{
	struct metric_list *a = &to->au_percent_per_accelerator;
	const struct metric_list *b = &from->au_percent_per_accelerator;
	const double *items = b->items;
	double *all =
		mem_realloc(a->items, (a->count + b->count) * sizeof(*all));
	for (size_t i = 0; i < b->count; i++)
		all[a->count + i] = items[i];
	*a = (struct metric_list){ all, a->count + b->count };
}

static void forget_windows(struct mlperf_result *m)
{
	double *all = (double *)m;
	for (size_t i = 0; i < 3 * sizeof(m->v1_0) / sizeof(*all); i++)
		all[i] = (double)NAN;
	m->train_au_meet_expectation = NULL;
}

static void merge_numa(struct numa_result *to, double weight_to,
		       const struct numa_result *from, double weight_from)
{
	struct buf text = { 0 };
	if (to->device_node != from->device_node)
		to->device_node = UINT64_MAX; /* several disks */
	node_set_merge(&to->seen, &from->seen);
	node_set_text(&to->seen, &text);
	if (text.len)
		mem_replace(&to->loader_nodes, buf_str(&text));
	to->far_percent = merge_mean(to->far_percent, weight_to,
				     from->far_percent, weight_from);
	buf_fini(&text);
}

static void merge_eval(struct eval_result *to, const struct eval_result *from)
{
	to->steps += from->steps;
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	if (from->seconds > to->seconds)
		to->seconds = from->seconds;
	to->samples_per_sec += from->samples_per_sec;
	to->sample_bytes_per_sec += from->sample_bytes_per_sec;
	to->io_bytes += from->io_bytes;
	to->io_bytes_per_sec += from->io_bytes_per_sec;
}

static void append_checkpoints(struct checkpoints_result *to,
			       const struct checkpoints_result *from)
{
	const struct checkpoint_result *more = from->items.items;
	size_t room = CHECKPOINTS_KEPT - to->items.count;
	size_t n = from->items.count < room ? from->items.count : room;
	struct checkpoint_result *all = mem_realloc(
		to->items.items, (to->items.count + n) * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		all[to->items.count + i] = more[i];
	to->items = (struct metric_list){ all, to->items.count + n };
}

/* Jobs write at the same time: their rates add up, as those of samples do. */
static void merge_checkpoint_times(struct checkpoints_result *to,
				   const struct checkpoints_result *from)
{
	double a = (double)to->completed, b = (double)from->completed;
	mean_all(&to->rank_percent, a > 0 ? a * to->seconds_mean : 0,
		 &from->rank_percent, b > 0 ? b * from->seconds_mean : 0,
		 sizeof(to->rank_percent));
	to->seconds_mean =
		merge_mean(to->seconds_mean, a, from->seconds_mean, b);
	to->seconds_min = fmin(to->seconds_min, from->seconds_min);
	to->seconds_max = fmax(to->seconds_max, from->seconds_max);
	to->first_seconds = fmax(to->first_seconds, from->first_seconds);
	to->later_seconds = merge_mean(to->later_seconds, a - 1,
				       from->later_seconds, b - 1);
	to->bytes_per_sec = sum(to->bytes_per_sec, from->bytes_per_sec);
	to->stall_seconds = sum(to->stall_seconds, from->stall_seconds);
	to->snapshot_seconds =
		sum(to->snapshot_seconds, from->snapshot_seconds);
	to->wait_seconds = sum(to->wait_seconds, from->wait_seconds);
	to->delete_seconds = sum(to->delete_seconds, from->delete_seconds);
	to->wall_seconds = fmax(to->wall_seconds, from->wall_seconds);
}

/* Histograms are those of somebody else: what one has not it takes over. */
static void merge_or_take(struct hist **to, struct hist *from)
{
	if (*to)
		merge_hist(*to, from);
	else
		*to = from;
}

static void merge_checkpoints(struct checkpoints_result *to,
			      const struct checkpoints_result *from)
{
	if (from->count == 0)
		return;
	if (to->count == 0) {
		void *items = to->items.items;
		*to = *from;
		to->items = (struct metric_list){ items, 0 };
		append_checkpoints(to, from);
		return;
	}
	if (from->slowest_rank_bytes_per_sec < to->slowest_rank_bytes_per_sec) {
		to->slowest_rank_bytes_per_sec =
			from->slowest_rank_bytes_per_sec;
		to->slowest_rank = from->slowest_rank;
		to->slowest_checkpoint = from->slowest_checkpoint;
	}
	append_checkpoints(to, from);
	merge_checkpoint_times(to, from);
	to->count += from->count;
	to->completed += from->completed;
	to->ranks += from->ranks;
	to->threads += from->threads;
	to->job_ranks += from->job_ranks;
	to->bytes += from->bytes;
	to->bytes_per_checkpoint =
		to->completed ? to->bytes / to->completed : 0;
	to->deleted_checkpoints += from->deleted_checkpoints;
	to->deleted_files += from->deleted_files;
	merge_or_take(&to->open_ns, from->open_ns);
	merge_or_take(&to->write_ns, from->write_ns);
	merge_or_take(&to->read_ns, from->read_ns);
	merge_or_take(&to->fsync_ns, from->fsync_ns);
	merge_or_take(&to->close_ns, from->close_ns);
	merge_or_take(&to->rename_ns, from->rename_ns);
	merge_or_take(&to->unlink_ns, from->unlink_ns);
	to->durable &= from->durable;
	/* Each saw the whole host's. */
	if (from->in_memory_bytes > to->in_memory_bytes)
		to->in_memory_bytes = from->in_memory_bytes;
}

/* Ranks of several jobs have numbers in common. */
static void merge_slowest(struct ml_result *to, const struct ml_result *from)
{
	struct storage_result *a = &to->storage;
	const struct storage_result *b = &from->storage;
	if (isnan(a->slowest_sample_ns) ||
	    b->slowest_sample_ns > a->slowest_sample_ns) {
		memcpy(a->slowest_file, b->slowest_file,
		       sizeof(a->slowest_file));
		a->slowest_sample_ns = b->slowest_sample_ns;
		a->slowest_file_bytes = b->slowest_file_bytes;
	}
	to->slowest_rank =
		(struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
}

static double all_bytes(const struct ml_result *ml)
{
	return (double)ml->io_bytes + (double)ml->eval.io_bytes;
}

static void merge_ml(struct ml_result *to, const struct ml_result *from)
{
	double a = to->wall_seconds * (double)to->accelerators;
	double b = from->wall_seconds * (double)from->accelerators;
	mean_all(&to->time_percent, a, &from->time_percent, b,
		 sizeof(to->time_percent));
	mean_all(&to->loader_percent, a, &from->loader_percent, b,
		 sizeof(to->loader_percent));
	merge_slowest(to, from);
	merge_numa(&to->numa, all_bytes(to), &from->numa, all_bytes(from));
	to->au_percent =
		merge_mean(to->au_percent, (double)to->accelerators,
			   from->au_percent, (double)from->accelerators);
	merge_epochs(to, from);
	append_au(to, from);
	forget_windows(&to->mlperf);
	to->mlperf_epochs.count = 0;
	to->accelerators += from->accelerators;
	to->steps += from->steps;
	to->counted_steps += from->counted_steps;
	to->too_short |= from->too_short;
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	to->io_bytes += from->io_bytes;
	if (from->wall_seconds > to->wall_seconds)
		to->wall_seconds = from->wall_seconds;
	to->cut_seconds = fmax(to->cut_seconds, from->cut_seconds);
	to->runtime_seconds = fmax(to->runtime_seconds, from->runtime_seconds);
	to->samples_per_sec += from->samples_per_sec;
	to->sample_bytes_per_sec += from->sample_bytes_per_sec;
	to->io_bytes_per_sec += from->io_bytes_per_sec;
	to->demand_bytes_per_sec += from->demand_bytes_per_sec;
	to->demand_io_bytes_per_sec += from->demand_io_bytes_per_sec;
	merge_hist(to->sample_ns, from->sample_ns);
	if (to->samples_per_extent != from->samples_per_extent)
		to->samples_per_extent = UINT64_MAX;
	merge_hist(to->step_ns, from->step_ns);
	merge_hist(to->first_step_ns, from->first_step_ns);
	merge_hist(to->stall_ns, from->stall_ns);
	merge_hist(to->host.oversleep_ns, from->host.oversleep_ns);
	merge_ops(&to->ops, &from->ops);
	merge_eval(&to->eval, &from->eval);
	merge_checkpoints(&to->saves, &from->saves);
	to->errors += from->errors;
	failed_merge(&to->failed, &from->failed);
	to->complete &= from->complete;
	to->interrupted |= from->interrupted;
	to->target_met = !isnan(to->target_au_percent) &&
			 to->au_percent >= to->target_au_percent;
}

/* Latencies of a direction are those of its operation: merged already. */
static void merge_direction(struct direction_result *to,
			    const struct direction_result *from)
{
	to->io_bytes += from->io_bytes;
	to->total_ios += from->total_ios;
	to->short_ios += from->short_ios;
	sizes_merge(&to->sizes, &from->sizes);
	to->bw_kib.mean += from->bw_kib.mean;
	to->bw_kib.min += from->bw_kib.min;
	to->bw_kib.max += from->bw_kib.max;
	to->iops.mean += from->iops.mean;
	to->iops.min += from->iops.min;
	to->iops.max += from->iops.max;
}

static void merge_rate(struct rate_result *to, const struct rate_result *from)
{
	to->asked_bytes_per_sec =
		sum(to->asked_bytes_per_sec, from->asked_bytes_per_sec);
	to->asked_iops = sum(to->asked_iops, from->asked_iops);
	to->is_missed |= from->is_missed;
}

/* Without a pace the delay is none, and the total is the latency. Before the
 * latencies themselves are merged. */
static void merge_pace(struct direction_result *to,
		       const struct direction_result *from)
{
	if (to->total_ns) {
		merge_hist(to->total_ns,
			   from->total_ns ? from->total_ns : from->lat_ns);
	} else if (from->total_ns) {
		to->total_ns = from->total_ns;
		merge_hist(to->total_ns, to->lat_ns);
	}
	if (to->slat_ns)
		merge_hist(to->slat_ns, from->slat_ns);
	else
		to->slat_ns = from->slat_ns;
}

static void add_files(uint64_t *to, uint64_t from, bool is_shared)
{
	if (!is_shared)
		*to += from;
	else if (from > *to)
		*to = from;
}

/* Workers of one job have the files of filename= together, else each its own,
 * and what was laid out is the job's; two jobs have nothing together. */
static void merge_files(struct job_result *to_job,
			const struct job_result *from_job)
{
	struct io_result *to = &to_job->io;
	const struct io_result *from = &from_job->io;
	bool is_same = to_job->job == from_job->job;
	bool is_shared = is_same && to_job->job->filename;
	add_files(&to->files, from->files, is_shared);
	add_files(&to->file_bytes, from->file_bytes, is_shared);
	add_files(&to->laid_out_files, from->laid_out_files, is_same);
	add_files(&to->laid_out_bytes, from->laid_out_bytes, is_same);
}

static uint64_t ios_of(const struct job_result *r)
{
	return r->read.total_ios + r->write.total_ios;
}

static void merge_io(struct job_result *to_job,
		     const struct job_result *from_job)
{
	struct io_result *to = &to_job->io;
	const struct io_result *from = &from_job->io;
	mean_all(&to->worker_percent, to->wall_seconds * (double)to->numjobs,
		 &from->worker_percent,
		 from->wall_seconds * (double)from->numjobs,
		 sizeof(to->worker_percent));
	merge_numa(&to->numa, (double)ios_of(to_job), &from->numa,
		   (double)ios_of(from_job));
	mean_all(&to_job->depths, (double)ios_of(to_job), &from_job->depths,
		 (double)ios_of(from_job), sizeof(to_job->depths));
	merge_files(to_job, from_job);
	to->numjobs += from->numjobs;
	if (from->jobnum < to->jobnum)
		to->jobnum = from->jobnum;
	if (from->iodepth_used > to->iodepth_used)
		to->iodepth_used = from->iodepth_used;
	if (from->wall_seconds > to->wall_seconds || isnan(to->wall_seconds))
		to->wall_seconds = from->wall_seconds;
	merge_rate(&to->rate[0], &from->rate[0]);
	merge_rate(&to->rate[1], &from->rate[1]);
	merge_ops(&to->ops, &from->ops);
	to->errors += from->errors;
	failed_merge(&to->failed, &from->failed);
	to->complete &= from->complete;
	to->interrupted |= from->interrupted;
	/* What stands in ops as well is merged already. */
	if (to_job->read.lat_ns != to->ops.read.lat_ns)
		merge_hist(to_job->read.lat_ns, from_job->read.lat_ns);
	if (to_job->write.lat_ns != to->ops.write.lat_ns)
		merge_hist(to_job->write.lat_ns, from_job->write.lat_ns);
	if (to_job->sync.lat_ns != to->ops.fsync.lat_ns)
		merge_hist(to_job->sync.lat_ns, from_job->sync.lat_ns);
	to_job->sync.total += from_job->sync.total;
}

/* CPU time adds up; each is a percent of its own time. */
static void merge_usage(struct job_result *to, const struct job_result *from)
{
	double a = to->elapsed_seconds, b = from->elapsed_seconds;
	double longest = a > b ? a : b;

	if (!(longest > 0))
		return;
	to->usr_cpu_percent =
		(to->usr_cpu_percent * a + from->usr_cpu_percent * b) / longest;
	to->sys_cpu_percent =
		(to->sys_cpu_percent * a + from->sys_cpu_percent * b) / longest;
	to->elapsed_seconds = longest;
}

static void merge_job(struct job_result *to, const struct job_result *from)
{
	merge_around(to, from);
	if (to->kind == RESULT_IO) {
		merge_pace(&to->read, &from->read);
		merge_pace(&to->write, &from->write);
		merge_io(to, from);
	} else {
		merge_ml(&to->ml, &from->ml);
		if (to->ml.saves.count)
			to->write.lat_ns = to->ml.saves.write_ns;
	}
	merge_direction(&to->read, &from->read);
	merge_direction(&to->write, &from->write);
	merge_usage(to, from);
	to->ctx += from->ctx;
	to->majf += from->majf;
	to->minf += from->minf;
	if (!to->err.code)
		to->err = from->err;
	failed_fill(to);
	to->members += from->job != to->job;
}

/* The earlier job of the same kind and group that reports for it, or NULL. */
static struct job_result *leader_of(struct run_result *r, size_t i)
{
	const struct job_result *job = &r->jobs[i];
	bool asks = job->job->group_reporting;
	if (job->kind != RESULT_TRAIN && job->kind != RESULT_IO)
		return NULL;
	for (size_t k = 0; k < i; k++) {
		struct job_result *other = &r->jobs[k];
		if (other->kind == job->kind && other->group == job->group &&
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
		merge_job(leader, &r->jobs[i]);
		mem_free(r->jobs[i].ml.au_percent_per_accelerator.items);
		mem_free(r->jobs[i].ml.epochs.items);
		mem_free(r->jobs[i].ml.mlperf_epochs.items);
		mem_free(r->jobs[i].ml.saves.items.items);
		mem_free(r->jobs[i].ml.numa.loader_nodes);
		mem_free(r->jobs[i].io.numa.loader_nodes);
	}
	r->job_count = kept;
}

void merge_workers(struct job_result *to, const struct job_result *from)
{
	merge_job(to, from);
}
