/* SPDX-License-Identifier: Apache-2.0 */
/* combine.c - see combine.h. */
#include "ask/combine.h"

#include <math.h>
#include <string.h>

#include "run/failed.h"

#define EPOCHS_KEPT 1024
/* Fewer counted steps of a rank say little (struct ml_result). */
#define STEPS_LEAST 50
#define ACCELERATORS_KEPT 65536

/* ---- trainings ---- */

static void join_epoch(const struct combine *c, struct epoch_result *to,
		       double accelerators_to, const struct epoch_result *from,
		       double accelerators_from)
{
	double a = (double)to->stall_count, b = (double)from->stall_count;
	to->stall_mean_ns =
		combine_mean(to->stall_mean_ns, a, from->stall_mean_ns, b);
	to->stall_p99_ns = (double)NAN; /* percentiles are never averaged */
	to->stall_count += from->stall_count;
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	to->seconds = fmax(to->seconds, from->seconds);
	to->samples_per_sec =
		combine_rate(c, to->samples_per_sec, from->samples_per_sec);
	to->sample_bytes_per_sec = combine_rate(c, to->sample_bytes_per_sec,
						from->sample_bytes_per_sec);
	to->au_percent = combine_mean(to->au_percent, accelerators_to,
				      from->au_percent, accelerators_from);
	to->first_step_ns =
		combine_mean(to->first_step_ns, accelerators_to,
			     from->first_step_ns, accelerators_from);
}

static void append_epochs(const struct combine *c, struct ml_result *to,
			  const struct metric_list *from)
{
	size_t had = to->epochs.count;
	combine_lists(c, &to->epochs, from, sizeof(struct epoch_result),
		      EPOCHS_KEPT);
	struct epoch_result *all = to->epochs.items;
	for (size_t i = had; i < to->epochs.count; i++)
		all[i].epoch += to->epochs_total;
}

/* Of runs one after the other they are numbered on. */
static void combine_epochs(const struct combine *c, struct ml_result *to,
			   const struct ml_result *from)
{
	struct epoch_result *a = to->epochs.items;
	const struct epoch_result *b = from->epochs.items;
	size_t n = to->epochs.count < from->epochs.count ? to->epochs.count
							 : from->epochs.count;
	if (!c->beside) {
		append_epochs(c, to, &from->epochs);
		return;
	}
	for (size_t i = 0; i < n; i++)
		join_epoch(c, &a[i], (double)to->accelerators, &b[i],
			   (double)from->accelerators);
	/* Epochs that some have not are none of all. */
	to->epochs.count = n;
}

static void combine_accelerators(const struct combine *c, struct ml_result *to,
				 const struct ml_result *from)
{
	struct metric_list *a = &to->au_percent_per_accelerator;
	const struct metric_list *b = &from->au_percent_per_accelerator;
	double *all = a->items;
	const double *more = b->items;
	if (c->beside)
		combine_lists(c, a, b, sizeof(double), ACCELERATORS_KEPT);
	for (size_t i = 0; !c->beside && i < a->count && i < b->count; i++)
		all[i] = combine_mean(all[i], (double)to->counted_steps,
				      more[i], (double)from->counted_steps);
}

static void forget_windows(struct mlperf_result *m)
{
	const double none = (double)NAN;
	const struct mlperf_window unknown = { none, none, none,
					       none, none, none };
	m->v1_0 = m->v2_0 = m->v3_0 = unknown;
	m->train_au_meet_expectation = NULL;
}

/* What is of one run alone. */
static void forget(struct ml_result *to)
{
	forget_windows(&to->mlperf);
	to->mlperf_epochs = (struct metric_list){ 0 };
	to->mlperf_check = (struct metric_list){ 0 };
	ceiling_result_init(&to->ceiling);
	to->slowest_rank =
		(struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
}

static void combine_eval(const struct combine *c, struct eval_result *to,
			 const struct eval_result *from)
{
	to->steps = combine_turns(c, to->steps, from->steps);
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	to->samples_per_sec =
		combine_rate(c, to->samples_per_sec, from->samples_per_sec);
	to->sample_bytes_per_sec = combine_rate(c, to->sample_bytes_per_sec,
						from->sample_bytes_per_sec);
	to->io_bytes += from->io_bytes;
	to->io_bytes_per_sec =
		combine_rate(c, to->io_bytes_per_sec, from->io_bytes_per_sec);
	to->seconds = combine_span(c, to->seconds, from->seconds);
}

static double all_bytes(const struct ml_result *ml)
{
	return (double)ml->io_bytes + (double)ml->eval.io_bytes;
}

static void combine_shares(const struct combine *c, struct ml_result *to,
			   const struct ml_result *from)
{
	double a = c->weight_to, b = c->weight_from;
	double steps_to =
		(double)(c->beside ? to->accelerators : to->counted_steps);
	double steps_from =
		(double)(c->beside ? from->accelerators : from->counted_steps);
	combine_means(&to->time_percent, a, &from->time_percent, b,
		      sizeof(to->time_percent));
	combine_means(&to->loader_percent, a, &from->loader_percent, b,
		      sizeof(to->loader_percent));
	to->au_percent = combine_mean(to->au_percent, steps_to,
				      from->au_percent, steps_from);
	combine_storage(&to->storage, all_bytes(to), &from->storage,
			all_bytes(from));
	combine_numa(&to->numa, all_bytes(to), &from->numa, all_bytes(from));
}

static void combine_rates(const struct combine *c, struct ml_result *to,
			  const struct ml_result *from)
{
	to->samples_per_sec =
		combine_rate(c, to->samples_per_sec, from->samples_per_sec);
	to->sample_bytes_per_sec = combine_rate(c, to->sample_bytes_per_sec,
						from->sample_bytes_per_sec);
	to->io_bytes_per_sec =
		combine_rate(c, to->io_bytes_per_sec, from->io_bytes_per_sec);
	to->demand_bytes_per_sec = combine_rate(c, to->demand_bytes_per_sec,
						from->demand_bytes_per_sec);
	to->demand_io_bytes_per_sec = combine_rate(
		c, to->demand_io_bytes_per_sec, from->demand_io_bytes_per_sec);
}

static void combine_counts(const struct combine *c, struct ml_result *to,
			   const struct ml_result *from)
{
	to->accelerators =
		combine_parts(c, to->accelerators, from->accelerators);
	to->steps = combine_turns(c, to->steps, from->steps);
	to->counted_steps += from->counted_steps;
	to->too_short = to->counted_steps < STEPS_LEAST * to->accelerators;
	to->samples += from->samples;
	to->failed_samples += from->failed_samples;
	to->sample_bytes += from->sample_bytes;
	to->io_bytes += from->io_bytes;
	to->epochs_total =
		combine_turns(c, to->epochs_total, from->epochs_total);
	to->wall_seconds =
		combine_span(c, to->wall_seconds, from->wall_seconds);
	to->runtime_seconds =
		combine_span(c, to->runtime_seconds, from->runtime_seconds);
	to->errors += from->errors;
	failed_merge(&to->failed, &from->failed);
	to->complete &= from->complete;
	to->interrupted |= from->interrupted;
	to->target_met = !isnan(to->target_au_percent) &&
			 to->au_percent >= to->target_au_percent;
}

static void combine_ml(const struct combine *c, struct ml_result *to,
		       const struct ml_result *from)
{
	combine_shares(c, to, from);
	combine_epochs(c, to, from);
	combine_accelerators(c, to, from);
	combine_rates(c, to, from);
	combine_hist(c, &to->sample_ns, from->sample_ns);
	if (to->samples_per_extent != from->samples_per_extent)
		to->samples_per_extent = UINT64_MAX;
	combine_hist(c, &to->step_ns, from->step_ns);
	combine_hist(c, &to->first_step_ns, from->first_step_ns);
	combine_hist(c, &to->stall_ns, from->stall_ns);
	combine_ops(c, &to->ops, &from->ops);
	combine_eval(c, &to->eval, &from->eval);
	combine_host(c, &to->host, &from->host);
	to->window = (struct window_result){ NULL, (double)NAN, (double)NAN };
	combine_network(c, &to->network, &from->network);
	combine_checkpoints(c, &to->saves, &from->saves);
	combine_checkpoints(c, &to->restores, &from->restores);
	forget(to);
	combine_counts(c, to, from);
}

/* ---- plain jobs ---- */

static void combine_seconds(const struct combine *c, struct interval_stat *to,
			    const struct interval_stat *from)
{
	double a = (double)to->samples, b = (double)from->samples;
	double mean = combine_mean(to->mean, a, from->mean, b);
	if (c->beside) {
		/* Seconds of several hosts are not the same seconds. */
		to->min += from->min;
		to->max += from->max;
		to->mean += from->mean;
		to->dev = (double)NAN;
		to->samples = from->samples < to->samples ? from->samples
							  : to->samples;
		return;
	}
	double squares = a * (to->dev * to->dev + to->mean * to->mean) +
			 b * (from->dev * from->dev + from->mean * from->mean);
	double variance = a + b > 0 ? squares / (a + b) - mean * mean : 0;
	to->dev = isnan(variance) || variance > 0 ? sqrt(variance) : 0;
	to->min = a > 0 && to->min < from->min ? to->min : from->min;
	to->max = fmax(to->max, from->max);
	to->mean = mean;
	to->samples += from->samples;
}

static void combine_direction(const struct combine *c,
			      struct direction_result *to,
			      const struct direction_result *from)
{
	to->io_bytes += from->io_bytes;
	to->total_ios += from->total_ios;
	to->short_ios += from->short_ios;
	combine_hist(c, &to->lat_ns, from->lat_ns);
	combine_hist(c, &to->slat_ns, from->slat_ns);
	combine_hist(c, &to->total_ns, from->total_ns);
	combine_seconds(c, &to->bw_kib, &from->bw_kib);
	combine_seconds(c, &to->iops, &from->iops);
}

static void combine_pace(const struct combine *c, struct rate_result *to,
			 const struct rate_result *from)
{
	to->asked_bytes_per_sec = combine_rate(c, to->asked_bytes_per_sec,
					       from->asked_bytes_per_sec);
	to->asked_iops = combine_rate(c, to->asked_iops, from->asked_iops);
	to->is_missed |= from->is_missed;
}

static double ios_of(const struct job_result *r)
{
	return (double)(r->read.total_ios + r->write.total_ios);
}

static void combine_io(const struct combine *c, struct job_result *to_job,
		       const struct job_result *from_job)
{
	struct io_result *to = &to_job->io;
	const struct io_result *from = &from_job->io;
	combine_means(&to->worker_percent, c->weight_to, &from->worker_percent,
		      c->weight_from, sizeof(to->worker_percent));
	combine_storage(&to->storage, (double)to_job->read.io_bytes,
			&from->storage, (double)from_job->read.io_bytes);
	combine_numa(&to->numa, ios_of(to_job), &from->numa, ios_of(from_job));
	combine_means(&to_job->depths, ios_of(to_job), &from_job->depths,
		      ios_of(from_job), sizeof(to_job->depths));
	combine_pace(c, &to->rate[0], &from->rate[0]);
	combine_pace(c, &to->rate[1], &from->rate[1]);
	combine_ops(c, &to->ops, &from->ops);
	combine_host(c, &to->host, &from->host);
	to->window = (struct window_result){ NULL, (double)NAN, (double)NAN };
	combine_network(c, &to->network, &from->network);
	to->numjobs = combine_parts(c, to->numjobs, from->numjobs);
	to->files = combine_parts(c, to->files, from->files);
	to->file_bytes = combine_parts(c, to->file_bytes, from->file_bytes);
	to->laid_out_files += from->laid_out_files;
	to->laid_out_bytes += from->laid_out_bytes;
	to->wall_seconds =
		combine_span(c, to->wall_seconds, from->wall_seconds);
	to->errors += from->errors;
	failed_merge(&to->failed, &from->failed);
	to->complete &= from->complete;
	to->interrupted |= from->interrupted;
}

static void combine_prepare(const struct combine *c, struct prepare_result *to,
			    const struct prepare_result *from)
{
	uint64_t files = to->resident_files + from->resident_files;
	to->resident_percent = combine_mean(
		to->resident_percent, (double)to->resident_files,
		from->resident_percent, (double)from->resident_files);
	to->resident_files = files;
	to->files_written += from->files_written;
	to->bytes_written += from->bytes_written;
	to->files_kept = combine_parts(c, to->files_kept, from->files_kept);
	to->wall_ns = combine_turns(c, to->wall_ns, from->wall_ns);
	to->interrupted |= from->interrupted;
}

static double wall_of(const struct job_result *r)
{
	double wall =
		r->kind == RESULT_IO ? r->io.wall_seconds : r->ml.wall_seconds;
	return wall > 0 ? wall : r->elapsed_seconds;
}

static double weight_of(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	uint64_t workers = r->kind == RESULT_IO ? r->io.numjobs
			   : ml->accelerators
				   ? ml->accelerators
				   : ml->saves.threads + ml->restores.threads;
	return wall_of(r) * (double)(workers ? workers : 1);
}

void combine_jobs(struct json_store *s, struct job_result *to,
		  const struct job_result *from, enum combine_how how)
{
	const struct combine c = { .store = s,
				   .beside = how == SIDE_BY_SIDE,
				   .wall_to = wall_of(to),
				   .wall_from = wall_of(from),
				   .weight_to = weight_of(to),
				   .weight_from = weight_of(from) };
	if (to->kind == RESULT_IO)
		combine_io(&c, to, from);
	else
		combine_ml(&c, &to->ml, &from->ml);
	combine_prepare(&c, &to->prepare, &from->prepare);
	combine_direction(&c, &to->read, &from->read);
	combine_direction(&c, &to->write, &from->write);
	to->sync.total += from->sync.total;
	combine_hist(&c, &to->sync.lat_ns, from->sync.lat_ns);
	to->usr_cpu_percent =
		combine_rate(&c, to->usr_cpu_percent, from->usr_cpu_percent);
	to->sys_cpu_percent =
		combine_rate(&c, to->sys_cpu_percent, from->sys_cpu_percent);
	to->elapsed_seconds =
		combine_span(&c, to->elapsed_seconds, from->elapsed_seconds);
	to->ctx += from->ctx;
	to->majf += from->majf;
	to->minf += from->minf;
	if (!to->err.code)
		to->err = from->err;
	failed_fill(to);
}
