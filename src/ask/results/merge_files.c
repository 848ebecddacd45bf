/* SPDX-License-Identifier: Apache-2.0 */
/* merge_files.c - --merge: runs of several clients, or repetitions, become one result. */
#include "ask/results/results_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/text/text.h"
#include "run/result/result.h"
#include "stat/hist.h"

/* ---- documents that can be merged ---- */

/* Options in which clients of one workload may differ: paths, seeds, shares. */
static const char *const free_options[] = {
	"directory",      "checkpoint_directory", "filename",     "randseed",
	"accelerators",   "checkpoint_ranks",     "cpus_allowed", "numa",
	"numa_cpu_nodes", "startdelay",           "guess",        "percentile_list",
	"kb_base",        "write_iolog",
};

static bool may_differ(const char *option)
{
	for (size_t i = 0; i < ARRAY_LEN(free_options); i++)
		if (strcmp(free_options[i], option) == 0)
			return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static int check_job(const struct results_file *first, const struct results_file *doc, size_t i,
		     struct mlgen_err *err)
{
	const struct record *a = &first->records[i], *b = &doc->records[i];
	const char *name = a->job->doc.jobname, *other = b->job->doc.jobname;
	struct buf differences = { 0 };
	int rc = 0;

	if (b->plan)
		return mlgen_fail(err, -EINVAL, "%s: is from a dry run: nothing was measured",
				  doc->path);
	if (!same_text(name, other))
		return mlgen_fail(err, -EINVAL,
				  "%s: has job '%s' where %s has '%s'; only runs of the same jobs "
				  "can be merged",
				  doc->path, other, first->path, name);

	const struct record *const both[] = { a, b };
	struct record_options at = { 0 };
	const char *option;

	while ((option = record_next_option(&at, both, 2))) {
		const char *x = record_option(a, option);
		const char *y = record_option(b, option);

		if (same_text(x, y) || may_differ(option))
			continue;
		if (differences.len > 300) {
			buf_add(&differences, ", ...");
			break;
		}
		buf_addf(&differences, "%s%s (%s, %s)", differences.len ? ", " : "", option,
			 x ? x : "-", y ? y : "-");
	}

	if (differences.len)
		rc = mlgen_fail(err, -EINVAL,
				"%s: job '%s' has a different workload than in %s: %s; --compare "
				"shows them side by side",
				doc->path, other, first->path, buf_str(&differences));
	else if (record_kind(a) != record_kind(b))
		rc = mlgen_fail(err, -EINVAL, "%s: job '%s' did not run as far as in %s", doc->path,
				other, first->path);
	buf_fini(&differences);
	return rc;
}

static int check_document(const struct results_file *first, const struct results_file *doc,
			  struct mlgen_err *err)
{
	size_t n = doc->count;

	if (doc->records[0].merged)
		return mlgen_fail(err, -EINVAL,
				  "%s: is already merged; name the documents that were merged",
				  doc->path);
	if (n != first->count)
		return mlgen_fail(err, -EINVAL,
				  "%s: number of job records: %zu, in %s: %zu; only runs of the "
				  "same jobs can be merged",
				  doc->path, n, first->path, first->count);
	for (size_t i = 0; i < n; i++)
		if (check_job(first, doc, i, err) < 0)
			return -EINVAL;
	const char *version = first->run.version;
	const char *other = doc->run.version;
	if (!same_text(version, other))
		log_note("%s was written by mlgen %s, %s by %s", doc->path, other, first->path,
			 version);
	return 0;
}

/* ---- times of runs ---- */

/* The duration of a group of jobs. Older documents have only `elapsed`, which was rounded up. */
static double group_ms(const struct results_file *doc, uint64_t group)
{
	double longest = 0;

	for (size_t i = 0; i < doc->count; i++) {
		const struct job_result *job = doc->records[i].job;
		double seconds = job->elapsed_seconds;

		if (job->group != group)
			continue;
		if (!(seconds > 0))
			seconds = (double)job->doc.elapsed - 1;
		longest = fmax(longest, seconds * 1e3);
		longest = fmax(longest, (double)job->doc.job_runtime_ms);
	}
	return longest;
}

/* Groups of jobs run one after the other. */
static uint64_t least_ms(const struct results_file *doc)
{
	double all = 0;
	uint64_t next = 0; /* groups below this one are included */

	for (size_t i = 0; i < doc->count; i++) {
		uint64_t group = doc->records[i].job->group;

		if (group < next)
			continue;
		all += group_ms(doc, group);
		next = group + 1;
	}
	return all < 1e15 ? (uint64_t)all : 0;
}

static int inspect_file(struct merge *m, size_t i, struct results_file *first,
			struct mlgen_err *err)
{
	struct results_file own = { 0 };
	struct results_file *doc = i ? &own : first;
	struct metrics_merged_run *run = &m->of.runs[i];
	int rc = results_open(doc, m->ask->set->files[i], err);

	if (rc < 0)
		return rc;
	const char *host = doc->run.host.hostname;
	rc = check_document(first, doc, err);
	if (rc == 0)
		results_note_incomplete(doc);
	*run = (struct metrics_merged_run){
		.path = doc->path,
		.file = mem_strdup(doc->name),
		.hostname = mem_strdup(*host ? host : "unknown"),
		.timestamp_ms = doc->run.timestamp_ms,
		.end_ms = doc->run.timestamp_ms + least_ms(doc),
		.fingerprint = results_fingerprint(doc),
		.rank = UINT64_MAX,
		.clock_offset_ns = (double)NAN,
		.clock_unsure_ns = (double)NAN,
	};
	m->of.count++;
	if (i)
		results_close(doc);
	return rc;
}

static int by_host(const void *a, const void *b)
{
	const struct metrics_merged_run *x = a, *y = b;
	int order = strcmp(x->hostname, y->hostname);

	if (!order)
		order = COMPARE(x->timestamp_ms, y->timestamp_ms);
	return order ? order : COMPARE(x->fingerprint, y->fingerprint);
}

static int by_start(const void *a, const void *b)
{
	const struct metrics_merged_run *x = a, *y = b;
	int order = COMPARE(x->timestamp_ms, y->timestamp_ms);

	return order ? order : by_host(a, b);
}

/* ---- turns: runs side by side ---- */

/* A run belongs to a turn if it begins before any run of the turn has ended. */
static void find_turns(struct merge *m)
{
	uint64_t start = 0, first_end = 0, last_end = 0;

	m->of.overlap_percent = (double)NAN;
	for (size_t i = 0; i < m->of.count; i++) {
		struct metrics_merged_run *run = &m->of.runs[i];

		if (i == 0 || run->timestamp_ms >= first_end) {
			m->of.turns++;
			start = run->timestamp_ms;
			first_end = last_end = run->end_ms;
		} else {
			if (run->end_ms < first_end)
				first_end = run->end_ms;
			if (run->end_ms > last_end)
				last_end = run->end_ms;
			double all = (double)(last_end - start);
			double together = fmax((double)first_end - (double)run->timestamp_ms, 0);
			if (all > 0)
				m->of.overlap_percent =
					fmin(m->of.overlap_percent, together / all * 100);
		}
		run->turn = m->of.turns;
	}
}

/* Fill runs, hosts and turns. -EINVAL with err for documents of different jobs, dry runs, merged
 * reports, duplicates of a run, and turns with different numbers of runs. */
static int inspect_files(struct merge *m, struct mlgen_err *err)
{
	struct results_file first = { 0 };
	size_t n = m->ask->set->file_count;
	int rc = 0;

	m->of.runs = mem_array(n, sizeof(*m->of.runs));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = inspect_file(m, i, &first, err);
	results_close(&first);
	if (rc < 0)
		return rc;

	qsort(m->of.runs, m->of.count, sizeof(*m->of.runs), by_host);
	for (size_t i = 1; i < m->of.count; i++)
		if (by_host(&m->of.runs[i - 1], &m->of.runs[i]) == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: is the same run as %s: all figures are equal; each "
					  "run counts once",
					  m->of.runs[i].path, m->of.runs[i - 1].path);
	m->of.hosts = 1;
	for (size_t i = 1; i < m->of.count; i++)
		m->of.hosts += strcmp(m->of.runs[i - 1].hostname, m->of.runs[i].hostname) != 0;
	qsort(m->of.runs, m->of.count, sizeof(*m->of.runs), by_start);
	find_turns(m);

	/* If the turns differ in their number of runs, a client was late or is missing, and a mean
	 * over the turns would be meaningless. */
	size_t expected = 0;
	for (size_t i = 0; i < m->of.count; i++)
		expected += m->of.runs[i].turn == 1;
	for (size_t i = 0; i < m->of.count; i += n) {
		const struct metrics_merged_run *run = &m->of.runs[i];

		for (n = 0; i + n < m->of.count; n++)
			if (m->of.runs[i + n].turn != run->turn)
				break;
		if (n != expected)
			return mlgen_fail(
				err, -EINVAL,
				"%s: %zu run%s at the same time from here on, but %zu from "
				"%s on: neither clients of one run nor repetitions; merge "
				"runs of the same time (clocks of the hosts must agree), "
				"or equally many each time",
				run->path, n, n == 1 ? "" : "s", expected, m->of.runs[0].path);
	}
	return 0;
}

/* ---- runs of a merged report, their figures, and the slowest of them ---- */

/* Smaller differences between hosts are not reported: points of accelerator time, ratio of bytes.
 */
#define SKEW_POINTS 1.0
#define SKEW_RATIO 1.1

static void spread_add(struct merge_spread *s, double v, const struct metrics_merged_run *of)
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

static void init_jobs(struct merge *m)
{
	const struct merge_spread none = { .least = (double)NAN, .most = (double)NAN };
	size_t count = m->run->job_count;

	m->jobs = mem_array(count, sizeof(*m->jobs));
	for (size_t i = 0; i < count; i++)
		m->jobs[i] = (struct merge_job){ none, none, none };
}

static void add_to_spreads(struct merge *m, struct metrics_merged_run *run, size_t i)
{
	const struct metrics_merged_job *j = &run->jobs[i];

	spread_add(&m->jobs[i].au_percent, j->au_percent, run);
	spread_add(&m->jobs[i].bytes_per_sec, j->bytes_per_sec, run);
	spread_add(&m->jobs[i].host_barrier, j->host_barrier_percent, run);
}

void merge_add_run(struct merge *m, struct metrics_merged_run *run, const struct run_result *result)
{
	size_t all = m->run->job_count;
	/* A run with fewer jobs is refused later, by the caller. */
	size_t n = result->job_count < all ? result->job_count : all;

	if (!m->jobs)
		init_jobs(m);
	run->jobs = mem_array(all, sizeof(*run->jobs));
	run->job_count = all;
	for (size_t i = 0; i < n; i++) {
		const struct job_result *r = &result->jobs[i];
		bool has_accelerators = job_result_has_accelerators(r);
		const struct hist *stalls = has_accelerators ? r->ml.stall_ns : NULL;
		bool has_run = job_result_ran(r);

		run->jobs[i] = (struct metrics_merged_job){
			.jobname = r->job->name,
			.au_percent = has_accelerators ? r->ml.au_percent : (double)NAN,
			.bytes_per_sec = has_run ? r->work->asked->bytes_per_sec(r) : (double)NAN,
			.stall_p99_ns = stalls && stalls->count
						? (double)hist_percentile(stalls, 99)
						: (double)NAN,
			.host_barrier_percent =
				has_accelerators ? r->ml.time_percent.host_barrier : (double)NAN,
			.cpu_percent = has_run ? r->host.cpu_percent : (double)NAN,
		};
		run->jobs[i].jobname = m->run->jobs[i].job->name;
		add_to_spreads(m, run, i);
	}
}

void merge_of_document(struct merge *m, struct results_file *f)
{
	static char unknown[] = "?";
	struct run_result *result = &f->run;
	double longest_ms = 0;

	*m = (struct merge){ .run = result, .is_read = true, .of = *f->records[0].merged };
	m->is_one_job = m->of.count && m->of.runs[0].rank != UINT64_MAX;
	if (m->is_one_job)
		result->host.other_hosts = m->of.hosts - 1;
	init_jobs(m);
	for (size_t i = 0; i < result->job_count; i++)
		longest_ms = fmax(longest_ms, result->jobs[i].elapsed_seconds * 1e3);
	for (size_t i = 0; i < m->of.count; i++) {
		struct metrics_merged_run *run = &m->of.runs[i];
		struct metrics_merged_job *jobs =
			json_store_alloc(&f->store, result->job_count * sizeof(*jobs));
		size_t n = run->job_count < result->job_count ? run->job_count : result->job_count;

		run->file = run->file ? run->file : unknown;
		run->hostname = run->hostname ? run->hostname : unknown;
		run->end_ms = run->timestamp_ms + (uint64_t)longest_ms;
		memcpy(jobs, run->jobs, n * sizeof(*jobs));
		run->jobs = jobs;
		run->job_count = result->job_count;
		for (size_t k = 0; k < n; k++)
			add_to_spreads(m, run, k);
	}
	merge_explain_slowest(m);
}

/* The host for which the other hosts wait at barriers; NULL = no host in particular. */
static const struct metrics_merged_run *waited_for(const struct merge_job *j)
{
	const struct merge_spread *wait = &j->host_barrier;

	return wait->most - wait->least >= SKEW_POINTS ? wait->least_of : NULL;
}

/* The slowest host by its figures as printed; NULL = all hosts are alike. */
static const struct metrics_merged_run *slowest_of(const struct merge_job *j)
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
		for (size_t k = 0; k < m->of.count; k++) {
			assert(m->of.runs[k].jobs);
			m->of.runs[k].jobs[i].is_slowest =
				slowest_of(&m->jobs[i]) == &m->of.runs[k];
		}
}

void merge_explain_slowest(const struct merge *m)
{
	for (size_t i = 0; m->is_one_job && m->of.count > 1 && i < m->run->job_count; i++) {
		struct verdict_result *v = &m->run->jobs[i].verdict;
		struct buf text = { 0 };

		if (!v->because)
			continue;
		buf_addf(&text, "%s; ", v->because);
		size_t before = text.len;
		const struct merge_spread *wait = &m->jobs[i].host_barrier;
		const struct merge_spread *au = &m->jobs[i].au_percent;
		const struct merge_spread *rate = &m->jobs[i].bytes_per_sec;

		if (waited_for(&m->jobs[i]))
			buf_addf(&text,
				 "all wait for %s: the wait takes %.1f%% of accelerator time "
				 "on %s, and %.1f%% on the slowest",
				 wait->least_of->file, wait->most, wait->most_of->file,
				 wait->least);
		else if (au->least_of && au->most - au->least >= SKEW_POINTS)
			buf_addf(&text, "the slowest is %s: AU %.1f%%, and %.1f%% on %s",
				 au->least_of->file, au->least, au->most, au->most_of->file);
		else if (isnan(au->most) && rate->least_of && rate->least * SKEW_RATIO < rate->most)
			buf_addf(&text, "the slowest is %s, which moved %.0f%% of what %s did",
				 rate->least_of->file, 100 * rate->least / rate->most,
				 rate->most_of->file);

		if (text.len > before)
			mem_replace(&v->because, buf_str(&text));
		buf_fini(&text);
	}
}

/* The numbers of CPUs and the memory stay those of one host, because they are compared with the
 * dataset. Disk figures of several hosts cannot be combined and are dropped. */
void merge_name_hosts(struct merge *m)
{
	struct host *h = &m->run->host;

	bool is_of_one = m->is_one_job ? m->of.hosts == 1 : m->of.count == 1;

	if (!is_of_one)
		m->run->disk_count = 0;
	if (m->of.count > 1 && !m->is_one_job)
		h->command[0] = '\0';
	if (m->of.hosts > 1)
		snprintf(h->hostname, sizeof(h->hostname), "%.30s and %" PRIu64 " other%s",
			 m->of.runs[0].hostname, m->of.hosts - 1, m->of.hosts == 2 ? "" : "s");
}

void merge_fini(struct merge *m)
{
	for (size_t i = 0; !m->is_read && i < m->of.count; i++) {
		mem_free(m->of.runs[i].file);
		mem_free(m->of.runs[i].hostname);
		mem_free(m->of.runs[i].jobs);
	}
	if (!m->is_read)
		mem_free(m->of.runs);
	mem_free(m->jobs);
	results_close(&m->result);
}

/* ---- merging ---- */

static void merge_document(struct results_file *to, const struct results_file *from,
			   enum merge_how how)
{
	for (size_t i = 0; i < to->run.job_count; i++)
		merge_jobs(&to->run.jobs[i], &from->run.jobs[i], how, &json_store_memory,
			   &to->store);
	to->run.interrupted |= from->run.interrupted;
	if (!to->run.err.code)
		to->run.err = from->run.err;
}

static int read_run(struct merge *m, const struct metrics_merged_run *run, struct results_file *f,
		    struct mlgen_err *err)
{
	int rc = results_open(f, run->path, err);

	return rc < 0 ? rc : result_read(f, m->ask->env, err);
}

/* Read and merge all runs of a turn; advance *next past them. */
static int read_turn(struct merge *m, size_t *next, struct results_file *turn,
		     struct mlgen_err *err)
{
	struct metrics_merged_run *first = &m->of.runs[*next];
	int rc = read_run(m, first, turn, err);

	if (rc < 0)
		return rc;
	merge_add_run(m, first, &turn->run);
	while (++*next < m->of.count && m->of.runs[*next].turn == first->turn) {
		struct metrics_merged_run *run = &m->of.runs[*next];
		struct results_file one;

		rc = read_run(m, run, &one, err);
		/* The file may have changed since inspect_files(). */
		if (rc == 0 && one.run.job_count != turn->run.job_count)
			rc = mlgen_fail(err, -EINVAL, "%s: was rewritten during the merge",
					run->path);
		if (rc == 0) {
			merge_add_run(m, run, &one.run);
			merge_document(turn, &one, MERGE_CLIENTS);
		}
		results_close(&one);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The clients of a turn may have different shares, but whole turns must be repetitions. */
static int check_repetition(const struct run_result *first, const struct run_result *turn,
			    const char *path, struct mlgen_err *err)
{
	if (turn->job_count != first->job_count)
		return mlgen_fail(err, -EINVAL, "%s: was rewritten during the merge", path);
	for (size_t i = 0; i < turn->job_count; i++) {
		const struct workload *w = turn->jobs[i].work;

		if (!job_result_ran(&turn->jobs[i]) || !job_result_ran(&first->jobs[i]))
			continue;
		uint64_t before = w->asked->workers(&first->jobs[i]);
		uint64_t now = w->asked->workers(&turn->jobs[i]);
		if (before != now)
			return mlgen_fail(
				err, -EINVAL,
				"%s: job '%s' ran after the others, with %" PRIu64
				" instead of %" PRIu64
				" %s: it is not a repetition; --compare shows them side by "
				"side",
				path, turn->jobs[i].job->name, now, before, w->asked->worker);
	}
	return 0;
}

static int read_turns(struct merge *m, struct mlgen_err *err)
{
	size_t next = 0;
	int rc = read_turn(m, &next, &m->result, err);

	while (rc == 0 && next < m->of.count) {
		struct results_file turn;
		const char *path = m->of.runs[next].path;

		rc = read_turn(m, &next, &turn, err);
		if (rc == 0)
			rc = check_repetition(&m->result.run, &turn.run, path, err);
		if (rc == 0)
			merge_document(&m->result, &turn, MERGE_TURNS);
		results_close(&turn);
	}
	return rc;
}

static int print_merge(const struct merge *m)
{
	const struct ask *a = m->ask;
	const struct settings *set = &a->set->settings;
	const struct jobset jobs = { .settings.output_format = OUTPUT_JSON,
				     .jobs = m->result.jobs.at,
				     .count = m->result.jobs.count };
	struct mlgen_err err = { 0 };
	int rc = a->json ? merge_print_json(a->json, m, &jobs) : 0;

	if (rc == 0 && set->output_format == OUTPUT_JSON)
		rc = merge_print_json(a->to, m, &jobs);
	else if (rc == 0)
		merge_print(a->to, m, detail_of(set));
	if (rc < 0)
		return EXIT_FAILED;
	bool is_missed = set->require && require_check(set->require, &m->result.run, &err) != 0;
	if (failed_in_any(&m->result.run))
		return EXIT_FAILED;
	return is_missed ? EXIT_MISSED : EXIT_RAN;
}

int ask_merge(const struct ask *a)
{
	struct merge m = { .ask = a };
	struct mlgen_err err = { 0 };
	const struct settings *set = &a->set->settings;
	int status = EXIT_USAGE, rc = 0;

	m.run = &m.result.run;
	if (set->output_format != OUTPUT_TEXT && set->output_format != OUTPUT_JSON)
		rc = mlgen_fail(&err, -EINVAL, "output-format: --merge prints text or json");
	else if (set->require)
		rc = require_check(set->require, NULL, &err);
	if (rc == 0)
		rc = inspect_files(&m, &err);
	if (rc == 0)
		rc = read_turns(&m, &err);
	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		merge_name_hosts(&m);
		merge_mark_slowest(&m);
		result_retitle(&m.result.run, set);
		verdict_fill(&m.result.run);
		status = print_merge(&m);
	}
	merge_fini(&m);
	return status;
}
