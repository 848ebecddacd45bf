/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_groups.c - which jobs of which runs are the same once more, and when they ran. */
#include "ask/mlperf_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/mem.h"
#include "job/job.h"

/* ---- one ---- */

static void set_memory(struct mlperf_subject *s)
{
	const struct settings *set = &s->ask->set->settings;
	const struct host *host = s->run ? &s->run->host : s->ask->host;
	uint64_t limit = s->run ? host->memory_limit_bytes : s->job->memory_limit;

	s->memory_bytes = host_all_memory(host) / (1 + host->other_hosts);
	s->memory_of = "";
	if (set->memory_bytes) {
		s->memory_bytes = set->memory_bytes;
	} else if (limit && limit <= host->memory_bytes) {
		s->memory_bytes = limit;
		s->memory_of = " of memory_limit";
	}
}

/* As their tool counts, those declared; but of files that were there what they have, unless that is
 * as drawn: within what chance makes of the mean, and whole sides (DLIO's are square). */
static double sample_bytes_of(const struct dataset *ds, const struct job *j)
{
	double there = dist_mean(&ds->sample_size);
	double declared = dist_mean(&j->sample_size);
	double chance = 3 * dist_stdev(&j->sample_size) / sqrt((double)dataset_samples(ds));
	bool is_drawn = ds->is_found && j->dataset == DATASET_MADE &&
			fabs(there - declared) <= chance + declared / 100;

	/* A document has the sizes in its options only. */
	return is_drawn || !(there > 0) ? declared : there;
}

/* A dataset that cannot be made has no number of samples, and says why. */
static void count_samples(struct mlperf_subject *s)
{
	const struct dataset *known = s->result ? s->result->dataset : NULL;
	struct dataset made;
	bool is_known = known && known->format;

	s->samples = (double)NAN;
	if (!job_work(s->job)->has_accelerators)
		return;
	if (!is_known && dataset_init(&made, s->job, s->memory_bytes, &s->why))
		return;
	const struct dataset *ds = is_known ? known : &made;
	s->samples = (double)dataset_samples(ds);
	s->samples_per_file = s->samples / (double)ds->files;
	mlperf_need(&s->need, s->job, s->samples_per_file, sample_bytes_of(ds, s->job), s->hosts,
		    s->memory_bytes);
	if (!is_known)
		dataset_fini(&made);
}

/* Groups of jobs follow each other. */
static uint64_t length_ms(const struct run_result *r)
{
	double all = 0, longest = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		if (i && r->jobs[i].job->group != r->jobs[i - 1].job->group) {
			all += longest;
			longest = 0;
		}
		longest = fmax(longest, r->jobs[i].elapsed_seconds);
	}
	return (uint64_t)(1e3 * (all + longest));
}

static void init_subject(struct mlperf_subject *s, const struct ask *a,
			 const struct mlperf_source *from, size_t i)
{
	const struct run_result *r = from->run;

	*s = (struct mlperf_subject){
		.ask = a,
		.run = r,
		.result = r ? &r->jobs[i] : NULL,
		.job = r ? r->jobs[i].job : a->set->jobs[i],
		.begin_ms = r ? r->timestamp_ms : 0,
		.end_ms = r ? r->timestamp_ms + length_ms(r) : 0,
	};
	s->name = from->name ? from->name : s->job->name;
	s->rules = mlperf_rules_of(a->set->settings.check);
	s->workload = mlperf_find_workload(s->rules, s->job);
}

/* ---- several ---- */

static bool mlperf_groups_is_equal(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Two of one run that ran side by side are a mix. */
static bool is_repeated(const struct mlperf_subject *a, const struct mlperf_subject *b)
{
	const struct job *x = a->job, *y = b->job;
	bool is_beside = a->run == b->run && x->group == y->group;

	return a->workload && a->workload == b->workload && !is_beside && x->phase == y->phase &&
	       x->accelerators == y->accelerators &&
	       mlperf_groups_is_equal(x->accelerator, y->accelerator);
}

/* Another host's part of the same run? */
static bool is_same_turn(const struct mlperf_subject *a, const struct mlperf_subject *b)
{
	return a->run != b->run && a->job->group == b->job->group && b->begin_ms < a->end_ms;
}

bool mlperf_repeats(const struct mlperf_subject *s)
{
	return job_work(s->job)->has_accelerators || s->rules->repeats_checkpoints;
}

static void count_turns(struct mlperf_group *g)
{
	const struct mlperf_rules *rules = g->of[0].rules;
	unsigned turn = 0;

	for (size_t i = 1; i < g->count; i++) {
		turn += !is_same_turn(&g->of[i - 1], &g->of[i]);
		g->of[i].turn = turn;
	}
	g->turns = turn + 1;
	if (g->turns > MLPERF_RUNS && rules->warms_up && mlperf_repeats(&g->of[0]))
		g->warm_ups = 1;
}

static uint64_t hosts_of_turn(const struct mlperf_group *g, unsigned turn)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->of[i].turn == turn;
	return n;
}

/* One job on several hosts has one document. */
static uint64_t hosts_of_run(const struct mlperf_group *g, const struct mlperf_subject *s)
{
	const struct host *host = s->run ? &s->run->host : s->ask->host;

	return host->other_hosts ? 1 + host->other_hosts : hosts_of_turn(g, s->turn);
}

static void fill_group(struct mlperf_group *g)
{
	count_turns(g);
	for (size_t i = 0; i < g->count; i++) {
		struct mlperf_subject *s = &g->of[i];

		s->group = g;
		s->hosts = s->ask->set->settings.hosts;
		if (s->hosts <= 1)
			s->hosts = hosts_of_run(g, s);
		set_memory(s);
		count_samples(s);
	}
}

COMPARE_BY2(by_start, struct mlperf_subject, job->group, begin_ms)

static size_t jobs_of(const struct ask *a, const struct mlperf_source *s)
{
	return s->run ? s->run->job_count : a->set->count;
}

/* In the order in which they were given, so that blocks are, too. */
static struct mlperf_subject *list_all(const struct ask *a, const struct mlperf_source *sources,
				       size_t count, size_t *n)
{
	struct mlperf_subject *all;

	*n = 0;
	for (size_t k = 0; k < count; k++)
		*n += jobs_of(a, &sources[k]);
	all = mem_array(*n, sizeof(*all));
	struct mlperf_subject *s = all;
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < jobs_of(a, &sources[k]); i++)
			init_subject(s++, a, &sources[k], i);
	return all;
}

void mlperf_groups_init(struct mlperf_groups *g, const struct ask *a,
			const struct mlperf_source *sources, size_t count)
{
	static const struct mlperf_source plan = { 0 };
	size_t n;
	struct mlperf_subject *all = list_all(a, count ? sources : &plan, count ? count : 1, &n);

	*g = (struct mlperf_groups){ mem_array(n, sizeof(*g->of)), 0 };
	for (size_t i = 0; i < n; i++) {
		if (!all[i].job)
			continue;
		struct mlperf_group *to = &g->of[g->count++];
		*to = (struct mlperf_group){ .of = mem_array(n, sizeof(*to->of)) };
		struct mlperf_subject first = all[i];
		for (size_t k = i; k < n; k++) {
			if (!all[k].job || (k > i && !is_repeated(&first, &all[k])))
				continue;
			to->of[to->count++] = all[k];
			all[k].job = NULL;
		}
		qsort(to->of, to->count, sizeof(*to->of), by_start);
	}
	for (size_t i = 0; i < g->count; i++) {
		g->of[i].all = g;
		fill_group(&g->of[i]);
	}
	mem_free(all);
}

void mlperf_groups_fini(struct mlperf_groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		mem_free(g->of[i].of);
	mem_free(g->of);
}
