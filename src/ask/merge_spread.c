/* SPDX-License-Identifier: Apache-2.0 */
/* merge_spread.c - of whom a merged report is, what each came to, and which came to the least. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ask/asked.h"
#include "ask/merge_files.h"
#include "base/buf.h"
#include "base/mem.h"
#include "stat/hist.h"

/* Hosts are told apart by so many points of accelerator time, or if one moves so much more than
 * another. */
#define SKEW_POINTS 1.0
#define SKEW_RATIO 1.1

static void spread_init(struct merge_spread *s)
{
	*s = (struct merge_spread){ .least = (double)NAN, .most = (double)NAN };
}

static void spread_add(struct merge_spread *s, double v, const struct merge_run *of)
{
	if (isnan(v))
		return;
	if (!(s->least <= v)) {
		s->least = v;
		s->least_of = of;
	}
	if (!(s->most >= v)) {
		s->most = v;
		s->most_of = of;
	}
}

static void start_jobs(struct merge *m)
{
	size_t count = m->run->job_count;

	m->jobs = mem_array(count, sizeof(*m->jobs));
	for (size_t i = 0; i < count; i++) {
		spread_init(&m->jobs[i].au_percent);
		spread_init(&m->jobs[i].bytes_per_sec);
		spread_init(&m->jobs[i].host_barrier);
	}
}

static double stall_p99_ns(const struct job_result *r)
{
	const struct hist *h = r->ml.stall_ns;

	return job_result_has_accelerators(r) && h && h->count ? (double)hist_percentile(h, 99)
							       : (double)NAN;
}

static struct metrics_merged_job came_to(const struct job_result *r)
{
	bool has_run = job_result_ran(r);

	return (struct metrics_merged_job){
		.jobname = r->job->name,
		.au_percent = job_result_has_accelerators(r) ? r->ml.au_percent : (double)NAN,
		.bytes_per_sec = has_run ? r->work->asked->bytes_per_sec(r) : (double)NAN,
		.stall_p99_ns = stall_p99_ns(r),
		.host_barrier_percent = job_result_has_accelerators(r)
						? r->ml.time_percent.host_barrier
						: (double)NAN,
		.cpu_percent = has_run ? r->host.cpu_percent : (double)NAN,
	};
}

static void note_job(struct merge *m, struct merge_run *run, size_t i)
{
	const struct metrics_merged_job *j = &run->jobs[i];

	spread_add(&m->jobs[i].au_percent, j->au_percent, run);
	spread_add(&m->jobs[i].bytes_per_sec, j->bytes_per_sec, run);
	spread_add(&m->jobs[i].host_barrier, j->host_barrier_percent, run);
}

void merge_note(struct merge *m, struct merge_run *run, const struct run_result *result)
{
	size_t all = m->run->job_count;
	/* Of fewer it is refused a moment later. */
	size_t n = result->job_count < all ? result->job_count : all;

	if (!m->jobs)
		start_jobs(m);
	run->jobs = mem_array(all, sizeof(*run->jobs));
	for (size_t i = 0; i < n; i++) {
		run->jobs[i] = came_to(&result->jobs[i]);
		run->jobs[i].jobname = m->run->jobs[i].job->name;
		note_job(m, run, i);
	}
}

static uint64_t longest_ms(const struct run_result *r)
{
	double most = 0;

	for (size_t i = 0; i < r->job_count; i++)
		most = fmax(most, r->jobs[i].elapsed_seconds * 1e3);
	return (uint64_t)most;
}

void merge_of_document(struct merge *m, const struct metrics_merged *of, struct run_result *result)
{
	const struct metrics_merged_run *from = of->runs.items;

	*m = (struct merge){ .run = result,
			     .is_one_job = of->runs.count && from[0].rank != UINT64_MAX,
			     .runs = mem_array(of->runs.count, sizeof(*m->runs)),
			     .hosts = of->hosts,
			     .turns = of->turns,
			     .overlap_percent = of->overlap_percent };
	if (m->is_one_job)
		result->host.other_hosts = of->hosts - 1;
	start_jobs(m);
	for (; m->count < of->runs.count; m->count++, from++) {
		struct merge_run *run = &m->runs[m->count];
		size_t n =
			from->jobs.count < result->job_count ? from->jobs.count : result->job_count;

		*run = (struct merge_run){
			.name = mem_strdup(from->file ? from->file : "?"),
			.hostname = mem_strdup(from->hostname ? from->hostname : "?"),
			.start_ms = from->timestamp_ms,
			.end_ms = from->timestamp_ms + longest_ms(result),
			.turn = from->turn,
			.rank = from->rank,
			.jobs = mem_array(result->job_count, sizeof(*run->jobs)),
		};
		memcpy(run->jobs, from->jobs.items, n * sizeof(*run->jobs));
		for (size_t i = 0; i < n; i++)
			note_job(m, run, i);
	}
	merge_tell_slowest(m);
}

/* Whom the others wait for at barriers; NULL = nobody in particular. */
static const struct merge_run *waited_for(const struct merge_job *j)
{
	const struct merge_spread *wait = &j->host_barrier;

	return wait->most - wait->least >= SKEW_POINTS ? wait->least_of : NULL;
}

/* By what their figures show when printed. */
static const struct merge_run *slowest_of(const struct merge_job *j)
{
	const struct merge_spread *au = &j->au_percent;
	const struct merge_spread *rate = &j->bytes_per_sec;

	if (waited_for(j))
		return waited_for(j);
	if (!isnan(au->most))
		return au->most - au->least >= 0.1 ? au->least_of : NULL;
	return rate->most > rate->least * 1.001 ? rate->least_of : NULL;
}

void merge_mark_slowest(struct merge *m)
{
	for (size_t i = 0; i < m->run->job_count; i++)
		for (size_t k = 0; k < m->count; k++) {
			assert(m->runs[k].jobs);
			m->runs[k].jobs[i].is_slowest = slowest_of(&m->jobs[i]) == &m->runs[k];
		}
}

/* Nothing is said where the figures lie closer. */
static void put_slowest(struct buf *out, const struct merge_job *j)
{
	const struct merge_spread *wait = &j->host_barrier;
	const struct merge_spread *au = &j->au_percent;
	const struct merge_spread *rate = &j->bytes_per_sec;

	if (waited_for(j))
		buf_addf(out,
			 "all wait for %s: %.1f%% of accelerator time on %s goes into that, and "
			 "%.1f%% there",
			 wait->least_of->name, wait->most, wait->most_of->name, wait->least);
	else if (au->least_of && au->most - au->least >= SKEW_POINTS)
		buf_addf(out, "the slowest is %s: AU %.1f%%, and %.1f%% on %s", au->least_of->name,
			 au->least, au->most, au->most_of->name);
	else if (isnan(au->most) && rate->least_of && rate->least * SKEW_RATIO < rate->most)
		buf_addf(out, "the slowest is %s, which moved %.0f%% of what %s did",
			 rate->least_of->name, 100 * rate->least / rate->most, rate->most_of->name);
}

void merge_tell_slowest(const struct merge *m)
{
	for (size_t i = 0; m->is_one_job && m->count > 1 && i < m->run->job_count; i++) {
		struct verdict_result *v = &m->run->jobs[i].verdict;
		struct buf text = { 0 };

		if (!v->because)
			continue;
		buf_addf(&text, "%s; ", v->because);
		size_t before = text.len;
		put_slowest(&text, &m->jobs[i]);
		if (text.len > before)
			mem_replace(&v->because, buf_str(&text));
		buf_fini(&text);
	}
}

/* CPUs and memory stay those of one host: that is what a dataset is compared with. What disks of
 * several hosts did has no meaning together. */
void merge_name_hosts(struct merge *m)
{
	struct host *h = &m->run->host;

	bool is_of_one = m->is_one_job ? m->hosts == 1 : m->count == 1;

	if (!is_of_one)
		m->run->disk_count = 0;
	if (m->count > 1 && !m->is_one_job)
		h->command[0] = '\0';
	if (m->hosts > 1)
		snprintf(h->hostname, sizeof(h->hostname), "%.30s and %" PRIu64 " other%s",
			 m->runs[0].hostname, m->hosts - 1, m->hosts == 2 ? "" : "s");
}

void merge_fini(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++) {
		mem_free(m->runs[i].name);
		mem_free(m->runs[i].hostname);
		mem_free(m->runs[i].jobs);
	}
	mem_free(m->runs);
	mem_free(m->jobs);
	result_fini(&m->result);
}
