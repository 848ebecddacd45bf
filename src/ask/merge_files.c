/* SPDX-License-Identifier: Apache-2.0 */
/* merge_files.c - runs of several clients, or repetitions, as one. */
#include "ask/merge_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ask/asked.h"
#include "ask/require.h"
#include "base/log.h"
#include "report/verdict.h"
#include "run/failed.h"
#include "run/merge.h"

/* ---- one by one ---- */

static void merge_files_fold(struct result_doc *to, const struct result_doc *from,
			     enum merge_how how)
{
	for (size_t i = 0; i < to->run.job_count; i++)
		merge_jobs(&to->run.jobs[i], &from->run.jobs[i], how, &json_store_memory,
			   &to->store);
	to->run.interrupted |= from->run.interrupted;
	if (!to->run.err.code)
		to->run.err = from->run.err;
}

static int read_run(struct merge *m, const struct merge_run *run, struct result_doc *d,
		    struct mlgen_err *err)
{
	struct results_file f;

	memset(d, 0, sizeof(*d));
	int rc = results_open(&f, run->path, err);
	if (rc < 0)
		return rc;
	rc = result_read(d, &f, m->ask->env, err);
	results_close(&f);
	return rc;
}

/* All runs of a turn; *next goes behind them. */
static int read_turn(struct merge *m, size_t *next, struct result_doc *turn, struct mlgen_err *err)
{
	struct merge_run *first = &m->runs[*next];
	int rc = read_run(m, first, turn, err);

	if (rc < 0)
		return rc;
	merge_note(m, first, &turn->run);
	while (++*next < m->count && m->runs[*next].turn == first->turn) {
		struct merge_run *run = &m->runs[*next];
		struct result_doc one;

		rc = read_run(m, run, &one, err);
		/* The file may have changed since it was looked at. */
		if (rc == 0 && one.run.job_count != turn->run.job_count)
			rc = mlgen_fail(err, -EINVAL, "%s: was written anew meanwhile", run->path);
		if (rc == 0) {
			merge_note(m, run, &one.run);
			merge_files_fold(turn, &one, MERGE_CLIENTS);
		}
		result_fini(&one);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Clients may have unlike shares of a turn; turns as a whole are repetitions. */
static int check_repetition(const struct run_result *first, const struct run_result *turn,
			    const char *path, struct mlgen_err *err)
{
	if (turn->job_count != first->job_count)
		return mlgen_fail(err, -EINVAL, "%s: was written anew meanwhile", path);
	for (size_t i = 0; i < turn->job_count; i++) {
		const struct workload *w = turn->jobs[i].work;

		if (!job_result_ran(&turn->jobs[i]) || !job_result_ran(&first->jobs[i]))
			continue;
		uint64_t before = w->asked->workers(&first->jobs[i]);
		uint64_t now = w->asked->workers(&turn->jobs[i]);
		if (before != now)
			return mlgen_fail(err, -EINVAL,
					  "%s: job '%s' ran after the others, and with %" PRIu64
					  " in place of %" PRIu64
					  " %s: no repetition; --compare puts them side by side",
					  path, turn->jobs[i].job->name, now, before,
					  w->asked->worker);
	}
	return 0;
}

static int read_turns(struct merge *m, struct mlgen_err *err)
{
	size_t next = 0;
	int rc = read_turn(m, &next, &m->result, err);

	while (rc == 0 && next < m->count) {
		struct result_doc turn;
		const char *path = m->runs[next].path;

		rc = read_turn(m, &next, &turn, err);
		if (rc == 0)
			rc = check_repetition(&m->result.run, &turn.run, path, err);
		if (rc == 0)
			merge_files_fold(&m->result, &turn, MERGE_TURNS);
		result_fini(&turn);
	}
	return rc;
}

static int check_request(const struct ask *a, struct mlgen_err *err)
{
	const struct settings *set = &a->set->settings;

	if (set->output_format != OUTPUT_TEXT && set->output_format != OUTPUT_JSON)
		return mlgen_fail(err, -EINVAL, "output-format: merged results are text or json");
	return set->require ? require_check(set->require, NULL, err) : 0;
}

static int write_all(const struct merge *m)
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
	int status = EXIT_USAGE;

	m.run = &m.result.run;
	int rc = check_request(a, &err);

	if (rc == 0)
		rc = merge_look(&m, &err);
	if (rc == 0)
		rc = read_turns(&m, &err);
	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		merge_name_hosts(&m);
		merge_mark_slowest(&m);
		result_retitle(&m.result, &a->set->settings);
		verdict_fill(&m.result.run);
		status = write_all(&m);
	}
	merge_fini(&m);
	return status;
}
