/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_groups.c - group the jobs of several runs, and check repetitions. */
#include "ask/mlperf/mlperf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"

#define MLPERF_SPREAD 5 /* largest difference between repetitions, percent */

#define MLPERF_RUNS 5 /* number of runs of a result, without warm-ups */

/* ---- subjects ---- */

/* The size of a sample as MLPerf's tool counts: the declared size. For existing files it is their
 * own size, unless that looks like a draw from the declared distribution: then the means differ
 * only by chance and by DLIO's rounding to square samples. */
static double sample_bytes_of(const struct dataset *ds, const struct job *j)
{
	double existing = dist_mean(&ds->sample_size);
	double declared = dist_mean(&j->sample_size);
	double chance = 3 * dist_stdev(&j->sample_size) / sqrt((double)dataset_samples(ds));
	bool is_as_declared = ds->is_found && j->dataset == DATASET_MADE &&
			      fabs(existing - declared) <= chance + declared / 100;

	/* A result that was read from a document has the sizes only in its options. */
	return is_as_declared || !(existing > 0) ? declared : existing;
}

/* Count the samples of the dataset. If it cannot be made, the number is unknown and s->why has the
 * reason. */
static void count_samples(struct mlperf_subject *s)
{
	const struct dataset *known = s->result ? s->result->dataset : NULL;
	struct dataset planned;
	bool is_known = known && known->format;

	s->samples = (double)NAN;
	if (!job_work(s->job)->has_accelerators)
		return;
	if (!is_known && dataset_init(&planned, s->job, s->memory_bytes, &s->why))
		return;
	const struct dataset *ds = is_known ? known : &planned;
	s->samples = (double)dataset_samples(ds);
	s->samples_per_file = s->samples / (double)ds->files;
	mlperf_need(&s->need, s->job, s->samples_per_file, sample_bytes_of(ds, s->job), s->hosts,
		    s->memory_bytes);
	if (!is_known)
		dataset_fini(&planned);
}

/* The length of a run: groups of jobs run one after the other. */
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

/* ---- groups ---- */

/* Two jobs that ran side by side in one run are a mix, not repetitions. */
static bool is_repeated(const struct mlperf_subject *a, const struct mlperf_subject *b)
{
	const struct job *x = a->job, *y = b->job;
	bool is_concurrent = a->run == b->run && x->group == y->group;

	return a->workload && a->workload == b->workload && !is_concurrent &&
	       x->phase == y->phase && x->accelerators == y->accelerators &&
	       strcmp(x->accelerator ? x->accelerator : "", y->accelerator ? y->accelerator : "") ==
		       0;
}

/* Is a result the mean of several runs? */
static bool mlperf_repeats(const struct mlperf_subject *s)
{
	return job_work(s->job)->has_accelerators || s->rules->repeats_checkpoints;
}

static uint64_t hosts_of_turn(const struct mlperf_group *g, unsigned turn)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->of[i].turn == turn;
	return n;
}

static void fill_group(struct mlperf_group *g)
{
	const struct mlperf_rules *rules = g->of[0].rules;
	unsigned turn = 0;

	for (size_t i = 1; i < g->count; i++) {
		const struct mlperf_subject *a = &g->of[i - 1], *b = &g->of[i];
		/* Documents of several hosts overlap in time if they belong to the same run. */
		bool is_same_turn = a->run != b->run && a->job->group == b->job->group &&
				    b->begin_ms < a->end_ms;

		turn += !is_same_turn;
		g->of[i].turn = turn;
	}
	g->turns = turn + 1;
	if (g->turns > MLPERF_RUNS && rules->warms_up && mlperf_repeats(&g->of[0]))
		g->warm_ups = 1;

	for (size_t i = 0; i < g->count; i++) {
		struct mlperf_subject *s = &g->of[i];
		const struct host *host = s->run ? &s->run->host : s->ask->host;

		s->group = g;
		s->hosts = s->ask->set->settings.hosts;
		if (s->hosts <= 1)
			/* A job on several hosts has a single document. */
			s->hosts = host->other_hosts ? 1 + host->other_hosts
						     : hosts_of_turn(g, s->turn);
		const struct settings *set = &s->ask->set->settings;
		uint64_t limit = s->run ? host->memory_limit_bytes : s->job->memory_limit;
		s->memory_bytes = host_job_memory_bytes(host) / (1 + host->other_hosts);
		s->memory_of = "";
		if (set->memory_bytes) {
			s->memory_bytes = set->memory_bytes;
		} else if (limit && limit <= host->memory_bytes) {
			s->memory_bytes = limit;
			s->memory_of = " of memory_limit";
		}
		count_samples(s);
	}
}

COMPARE_BY2(by_start, struct mlperf_subject, job->group, begin_ms)

static size_t count_jobs(const struct ask *a, const struct mlperf_source *s)
{
	return s->run ? s->run->job_count : a->set->count;
}

void mlperf_groups_init(struct mlperf_groups *g, const struct ask *a,
			const struct mlperf_source *sources, size_t count)
{
	static const struct mlperf_source plan = { 0 };
	size_t n = 0;

	if (!count) {
		sources = &plan;
		count = 1;
	}
	/* Keep the order of the command line, which the printed blocks have, too. */
	for (size_t k = 0; k < count; k++)
		n += count_jobs(a, &sources[k]);
	struct mlperf_subject *all = mem_array(n, sizeof(*all)), *s = all;
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < count_jobs(a, &sources[k]); i++)
			init_subject(s++, a, &sources[k], i);

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

/* ---- repetitions ---- */

const struct mlperf_window *mlperf_window(const struct mlperf_subject *s)
{
	return (const void *)((const char *)&s->result->ml.mlperf + s->rules->window);
}

/* The rate that is averaged over the runs of a result: samples or bytes per second; NaN = none. */
static double mlperf_rate(const struct mlperf_subject *s)
{
	if (!s->run)
		return (double)NAN;
	if (job_result_has_accelerators(s->result))
		return mlperf_window(s)->train_throughput_mean_samples_per_second;
	return job_result_is_of_checkpoints(s->result)
		       ? job_result_checkpoints(s->result)->bytes_per_sec
		       : (double)NAN;
}

/* The runs that are counted: all but the warm-ups. */
struct runs {
	unsigned count; /* number of runs with a known rate */
	double least, most, sum;
};

/* A run that repeats a seed, so that storage has seen its order before; NULL = none. Checkpoints
 * involve no randomness. */
static const struct mlperf_subject *find_repeated_seed(const struct mlperf_group *g)
{
	if (!g->of[0].rules->warms_up || !job_work(g->of[0].job)->has_accelerators)
		return NULL;
	for (size_t i = 0; i < g->count; i++)
		for (size_t k = 0; k < i; k++)
			if (g->of[i].turn != g->of[k].turn &&
			    g->of[i].job->randseed == g->of[k].job->randseed)
				return &g->of[i];
	return NULL;
}

/* A turn lasts from the first start to the last end on any of its hosts. */
struct turn_span {
	const char *name; /* name of one of the hosts */
	uint64_t begin_ms, end_ms;
};

static struct turn_span turn_times(const struct mlperf_group *g, unsigned turn)
{
	struct turn_span t = { .begin_ms = UINT64_MAX };

	for (size_t i = 0; i < g->count; i++) {
		const struct mlperf_subject *s = &g->of[i];

		if (s->turn != turn)
			continue;
		t.name = s->name;
		if (s->begin_ms < t.begin_ms)
			t.begin_ms = s->begin_ms;
		if (s->end_ms > t.end_ms)
			t.end_ms = s->end_ms;
	}
	return t;
}

/* Append the documents of each run that has several: documents that overlap in time belong to one
 * run. */
static void add_hosts(struct buf *text, const struct mlperf_group *g)
{
	for (unsigned turn = 0; turn < g->turns; turn++) {
		uint64_t parts = hosts_of_turn(g, turn);

		for (uint64_t i = 0, n = 0; parts > 1 && i < g->count; i++) {
			if (g->of[i].turn != turn)
				continue;
			n++;
			buf_addf(text, "%s%s",
				 n == 1       ? "; "
				 : n == parts ? " and "
					      : ", ",
				 g->of[i].name);
		}
		if (parts > 1)
			buf_add(text, " overlap and count as hosts of one run");
	}
}

/* The text of the rules requires a warm-up only for training. */
static bool needs_warm_up(const struct mlperf_subject *s)
{
	return s->rules->warms_up && job_work(s->job)->has_accelerators;
}

static void append_requirement(struct buf *text, const struct mlperf_subject *s)
{
	buf_addf(text, "a result is the mean of %d runs", MLPERF_RUNS);
	if (needs_warm_up(s))
		buf_add(text, " after a warm-up run, each with a different --randseed");
}

static enum mlperf_state judge_runs(const struct mlperf_subject *s, const struct runs *runs,
				    struct buf *text)
{
	const struct mlperf_group *g = s->group;
	const struct mlperf_subject *twice = find_repeated_seed(g);
	double mean = runs->sum / runs->count;
	double spread = 100 * (runs->most - runs->least) / mean;
	bool is_apart = false;

	buf_addf(text, "%u runs within %.1f%%%s, ", runs->count, spread,
		 g->warm_ups ? ", without the first (warm-up)" : "");
	if (job_work(s->job)->has_accelerators)
		buf_addf(text, "mean %.2f samples/s", mean);
	else
		buf_addf(text, "mean %.2f GiB/s", mean / (1 << 30));
	add_hosts(text, g);
	if (spread > MLPERF_SPREAD)
		buf_addf(text, "; the rules require %d%%", MLPERF_SPREAD);
	if (twice)
		buf_addf(text,
			 "; randseed=%" PRIu64 " twice, but each run requires a different seed",
			 twice->job->randseed);
	/* The gap between two runs must be shorter than the earlier run, so that nobody picks the
	 * best of many runs. The first longer gap is reported. */
	for (unsigned i = 1; s->rules->is_consecutive && i < g->turns && !is_apart; i++) {
		struct turn_span a = turn_times(g, i - 1), b = turn_times(g, i);
		char gap[UNITS_TEXT_BYTES], length[UNITS_TEXT_BYTES];

		if (b.begin_ms < a.end_ms + (a.end_ms - a.begin_ms))
			continue;
		is_apart = true;
		units_human_time(gap, 1000000 * (b.begin_ms - a.end_ms));
		units_human_time(length, 1000000 * (a.end_ms - a.begin_ms));
		buf_addf(text,
			 "; %s started %s after the end of %s, which took %s: the "
			 "rules require a gap shorter than a run",
			 b.name, gap, a.name, length);
	}
	if (twice || is_apart || spread > MLPERF_SPREAD)
		return MLPERF_BROKEN;
	for (unsigned turn = 0; turn < g->turns; turn++) {
		uint64_t parts = hosts_of_turn(g, turn);

		if (parts == g->of[0].hosts)
			continue;
		buf_addf(text,
			 "; %" PRIu64 " of %" PRIu64
			 " hosts in one run: name the documents of all hosts",
			 parts, s->hosts);
		return MLPERF_UNCHECKED;
	}
	if (runs->count >= MLPERF_RUNS && (g->warm_ups || !needs_warm_up(s)))
		return MLPERF_OK;
	buf_add(text, "; ");
	append_requirement(text, s);
	return MLPERF_UNCHECKED;
}

enum mlperf_state mlperf_check_runs(const struct mlperf_subject *s, struct buf *text)
{
	if (!s->workload || !mlperf_repeats(s))
		return MLPERF_NONE;

	/* Hosts that ran together are one run. */
	struct runs runs = { 0 };

	for (unsigned turn = s->group->warm_ups; turn < s->group->turns; turn++) {
		double rate = 0;

		for (size_t i = 0; i < s->group->count; i++)
			if (s->group->of[i].turn == turn)
				rate += mlperf_rate(&s->group->of[i]);
		if (isnan(rate))
			continue;
		runs.least = runs.count ? fmin(runs.least, rate) : rate;
		runs.most = fmax(runs.most, rate);
		runs.sum += rate;
		runs.count++;
	}
	if (runs.count > 1)
		return judge_runs(s, &runs, text);
	buf_add(text, "one run");
	add_hosts(text, s->group);
	buf_add(text, "; ");
	append_requirement(text, s);
	buf_addf(text, ": --check=mlperf-%s r%d.json ... r%d.json", s->rules->option,
		 !needs_warm_up(s), MLPERF_RUNS);
	return MLPERF_UNCHECKED;
}
