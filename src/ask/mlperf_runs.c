/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_runs.c - MLPerf Storage's rule of repetitions: so many runs, so far apart. */
#include <inttypes.h>
#include <math.h>

#include "ask/mlperf_inside.h"
#include "base/units.h"
#include "job/job.h"

const struct mlperf_window *mlperf_window(const struct mlperf_subject *s)
{
	return (const void *)((const char *)&s->result->ml.mlperf + s->rules->window);
}

double mlperf_rate(const struct mlperf_subject *s)
{
	if (!s->run)
		return (double)NAN;
	if (job_result_has_accelerators(s->result))
		return mlperf_window(s)->train_throughput_mean_samples_per_second;
	return job_result_is_of_checkpoints(s->result)
		       ? job_result_checkpoints(s->result)->bytes_per_sec
		       : (double)NAN;
}

/* The runs that count. */
struct runs {
	unsigned count; /* of those with a rate */
	double least, most, sum;
};

/* Hosts that ran together are one run. */
static struct runs count_runs(const struct mlperf_group *g)
{
	struct runs runs = { 0 };

	for (unsigned turn = g->warm_ups; turn < g->turns; turn++) {
		double rate = 0;

		for (size_t i = 0; i < g->count; i++)
			if (g->of[i].turn == turn)
				rate += mlperf_rate(&g->of[i]);
		if (isnan(rate))
			continue;
		runs.least = runs.count ? fmin(runs.least, rate) : rate;
		runs.most = fmax(runs.most, rate);
		runs.sum += rate;
		runs.count++;
	}
	return runs;
}

/* The storage must not have seen the order before. Of a saved checkpoint nothing is random. */
static const struct mlperf_subject *find_double(const struct mlperf_group *g)
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

/* From the first start to the last end of the hosts that ran together. */
struct turn {
	const char *name; /* of one of them */
	uint64_t begin_ms, end_ms;
};

static struct turn time_of(const struct mlperf_group *g, unsigned turn)
{
	struct turn t = { .begin_ms = UINT64_MAX };

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

/* Less lies between two runs than one takes, so that nobody picks. */
static bool add_gap(struct buf *text, const struct mlperf_group *g)
{
	for (unsigned i = 1; g->of[0].rules->is_consecutive && i < g->turns; i++) {
		struct turn a = time_of(g, i - 1), b = time_of(g, i);
		char gap[UNITS_TEXT_BYTES], length[UNITS_TEXT_BYTES];

		if (b.begin_ms < a.end_ms + (a.end_ms - a.begin_ms))
			continue;
		units_human_time(gap, 1000000 * (b.begin_ms - a.end_ms));
		units_human_time(length, 1000000 * (a.end_ms - a.begin_ms));
		buf_addf(text,
			 "; %s began %s behind the end of %s, which took %s: the rules ask for "
			 "less than a run takes",
			 b.name, gap, a.name, length);
		return true;
	}
	return false;
}

/* Name the documents of each run. Documents that overlap in time are of one run. */
static void add_hosts(struct buf *text, const struct mlperf_group *g)
{
	for (unsigned turn = 0; turn < g->turns; turn++) {
		size_t parts = 0;

		for (size_t i = 0; i < g->count; i++)
			parts += g->of[i].turn == turn;
		for (size_t i = 0, n = 0; parts > 1 && i < g->count; i++) {
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
			buf_add(text, " overlap, and are taken as hosts of one run");
	}
}

static void add_mean(struct buf *text, const struct mlperf_subject *s, double mean)
{
	if (job_work(s->job)->has_accelerators)
		buf_addf(text, "mean %.2f samples/s", mean);
	else
		buf_addf(text, "mean %.2f GiB/s", mean / (1 << 30));
}

/* Their text asks for one of trainings only. */
static bool needs_warm_up(const struct mlperf_subject *s)
{
	return s->rules->warms_up && job_work(s->job)->has_accelerators;
}

static void add_wanted(struct buf *text, const struct mlperf_subject *s)
{
	buf_addf(text, "a result is the mean of %d", MLPERF_RUNS);
	if (needs_warm_up(s))
		buf_add(text, " behind one to warm up, each with another --randseed");
}

static enum mlperf_state say_few(const struct mlperf_subject *s, struct buf *text)
{
	buf_add(text, "one run");
	add_hosts(text, s->group);
	buf_add(text, "; ");
	add_wanted(text, s);
	buf_addf(text, ": --check=mlperf-%s r%d.json ... r%d.json", s->rules->option,
		 !needs_warm_up(s), MLPERF_RUNS);
	return MLPERF_UNCHECKED;
}

static bool is_short_of_hosts(const struct mlperf_group *g, unsigned *parts)
{
	for (unsigned turn = 0; turn < g->turns; turn++) {
		*parts = 0;
		for (size_t i = 0; i < g->count; i++)
			*parts += g->of[i].turn == turn;
		if (*parts != g->of[0].hosts)
			return true;
	}
	return false;
}

static enum mlperf_state mlperf_runs_judge(const struct mlperf_subject *s, const struct runs *runs,
					   struct buf *text)
{
	const struct mlperf_group *g = s->group;
	const struct mlperf_subject *twice = find_double(g);
	double mean = runs->sum / runs->count;
	double spread = 100 * (runs->most - runs->least) / mean;
	unsigned parts;

	buf_addf(text, "%u runs within %.1f%%%s, ", runs->count, spread,
		 g->warm_ups ? ", without the first, which warmed up" : "");
	add_mean(text, s, mean);
	add_hosts(text, g);
	if (spread > MLPERF_SPREAD)
		buf_addf(text, "; the rules ask for %d%%", MLPERF_SPREAD);
	if (twice)
		buf_addf(text, "; randseed=%" PRIu64 " twice, each run asks for another",
			 twice->job->randseed);
	bool is_apart = add_gap(text, g);
	if (twice || is_apart || spread > MLPERF_SPREAD)
		return MLPERF_BROKEN;
	if (is_short_of_hosts(g, &parts)) {
		buf_addf(text,
			 "; %u of %" PRIu64
			 " hosts in one of them: name the documents of all hosts",
			 parts, s->hosts);
		return MLPERF_UNCHECKED;
	}
	if (runs->count >= MLPERF_RUNS && (g->warm_ups || !needs_warm_up(s)))
		return MLPERF_OK;
	buf_add(text, "; ");
	add_wanted(text, s);
	return MLPERF_UNCHECKED;
}

enum mlperf_state mlperf_check_runs(const struct mlperf_subject *s, struct buf *text)
{
	if (!s->workload || !mlperf_repeats(s))
		return MLPERF_NONE;
	struct runs runs = count_runs(s->group);
	return runs.count < 2 ? say_few(s, text) : mlperf_runs_judge(s, &runs, text);
}
