/* SPDX-License-Identifier: Apache-2.0 */
/* rank_collect.c - see rank_collect.h. */
#include "run/rank_collect.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/mem.h"
#include "run/slot/slot.h"

void rank_collect_au(struct job_result *out, const struct rank *ranks, const struct job *job)
{
	struct ml_result *ml = &out->ml;
	uint64_t n = job->accelerators;
	double *au = mem_array(n, sizeof(*au)), au_sum = 0;
	uint64_t au_ranks = 0, wall_ns = 0, cut_ns = 0;
	bool has_compute = dist_mean(&job->compute_time) > 0;

	ml->accelerators = n;
	ml->accelerator = job->accelerator;
	for (uint64_t i = 0; i < n; i++) {
		const struct rank *r = &ranks[i];
		const struct rank_count *c = &r->count;

		ml->samples += count_get(&c->samples);
		ml->failed_samples += count_get(&c->failed_samples);
		ml->sample_bytes += count_get(&c->sample_bytes);
		ml->counted_steps += r->counted_steps;
		if (count_get(&c->steps) > ml->steps)
			ml->steps = count_get(&c->steps);
		if (count_get(&c->step_ns) > wall_ns)
			wall_ns = count_get(&c->step_ns);
		if (r->counts && r->cut_ns > cut_ns)
			cut_ns = r->cut_ns;
		au[i] = has_compute ? result_percent((double)r->counted_compute_ns,
						     (double)r->counted_wall_ns)
				    : (double)NAN;
		if (!isnan(au[i])) {
			au_sum += au[i];
			au_ranks++;
		}
	}
	ml->au_percent_per_accelerator = (struct metric_list){ au, n };
	ml->au_percent = au_ranks ? au_sum / (double)au_ranks : (double)NAN;
	if (!au_ranks)
		ml->au_unmeasured = has_compute ? "no step was counted" : "compute_time=0";
	ml->too_short = ml->counted_steps < FEW_STEPS * n;
	out->wall_seconds = (double)wall_ns / 1e9;
	ml->cut_seconds = (double)cut_ns / 1e9;
}

/* Of the ranks' mean stalls, while each still has its own histogram. */
void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t all)
{
	uint64_t n = 0;
	double *means = mem_array(all, sizeof(*means));

	*out = (struct slowest_rank){ UINT64_MAX, (double)NAN, (double)NAN };
	for (uint64_t i = 0; i < all; i++) {
		const struct hist *stall = ranks[i].stall;

		if (stall->count == 0)
			continue;
		means[n] = hist_mean(stall);
		if (n == 0 || means[n] > out->stall_mean_ns) {
			out->rank = ranks[i].index;
			out->stall_mean_ns = means[n];
		}
		n++;
	}
	qsort(means, n, sizeof(*means), f64_compare);
	/* The lower one of two middles is taken: of two means, the slow one has no part in it. */
	if (n > 0)
		out->stall_median_ns = means[(n - 1) / 2];
	mem_free(means);
}

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n)
{
	double wall = 0, compute = 0, stall = 0, barrier = 0, oversleep = 0;
	double evaluation = 0, checkpoint = 0, others = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct rank_count *c = &ranks[i].count;

		wall += (double)count_get(&c->step_ns);
		evaluation += (double)count_get(&c->eval_ns);
		checkpoint += (double)count_get(&c->checkpoint_ns);
		compute += (double)count_get(&c->compute_ns);
		stall += (double)count_get(&c->stall_ns);
		barrier += (double)count_get(&c->barrier_ns);
		others += (double)count_get(&c->host_barrier_ns);
		oversleep += (double)count_get(&c->oversleep_ns);
	}
	double known = compute + stall + barrier + others + oversleep + evaluation + checkpoint;
	wall += evaluation + checkpoint;
	*p = (struct time_percent){
		.compute = result_percent(compute, wall),
		.stall = result_percent(stall, wall),
		.barrier = result_percent(barrier, wall),
		.host_barrier = result_percent(others, wall),
		.checkpoint = result_percent(checkpoint, wall),
		.evaluation = result_percent(evaluation, wall),
		.oversleep = result_percent(oversleep, wall),
		.other = result_percent(wall > known ? wall - known : 0, wall),
	};
}

void rank_collect_usage(struct usage *u, const struct rank *ranks, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		usage_add(u, &ranks[i].usage);
}

double rank_collect_cpu_seconds(const struct rank *ranks, uint64_t n)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < n; i++)
		ns += ranks[i].counted.user_ns + ranks[i].counted.system_ns;
	return (double)ns / 1e9;
}

struct hist *rank_collect_hist(struct rank *ranks, uint64_t n, size_t member_off)
{
	struct hist *to = *(struct hist **)((char *)&ranks[0] + member_off);

	for (uint64_t i = 1; i < n; i++)
		hist_merge(to, *(struct hist **)((char *)&ranks[i] + member_off));
	return to;
}
