/* SPDX-License-Identifier: Apache-2.0 */
/* program_run.c - plan or run the jobs, and choose the exit status; see program.h. */
#include "program.h"

#include <string.h>

#include "ask/mlperf/mlperf.h"
#include "ask/results/results.h"
#include "ask/search/search.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "report/live/live.h"
#include "report/text/text.h"
#include "run/result/result.h"
#include "run/run.h"

/* Would the run be refused? Scripts use the exit status of a dry run to find out. */
static bool is_blocked(const struct program *p, const struct plan_report *plans)
{
	bool is_one = false;

	for (size_t i = 0; i < p->set.count; i++)
		is_one |= plans[i].blockers.count > 0;
	return is_one && p->set.settings.dry_run != DRY_RUN_SHOW;
}

int program_plan(struct program *p)
{
	struct mlgen_err err = { 0 };
	struct run_result none = { .host = p->host,
				   .timestamp_ms = clock_wall_ns() / 1000000,
				   .title = p->set.settings.title,
				   .notes = p->set.settings.note };
	struct plan_report *plans = mem_array(p->set.count, sizeof(*plans));
	int status;

	if (program_check_format(p, &err) < 0 ||
	    run_number(p->hosts, p->set.jobs, p->set.count, &err) < 0 ||
	    plan_make_all(plans, &p->set, &p->host, p->hosts, &err) < 0 ||
	    program_open_outputs(p, false, &err) < 0) {
		status = p->is_mute ? EXIT_USAGE : program_usage(&err);
	} else {
		for (size_t i = 0; i < p->set.count; i++)
			if (p->set.settings.check != CHECK_NONE)
				mlperf_plan(&plans[i].mlperf_check, plans[i].job, &p->ask);
		status = program_report(p, &none, plans);
		if (status == EXIT_RAN && is_blocked(p, plans))
			status = EXIT_USAGE;
	}
	for (size_t i = 0; i < p->set.count; i++)
		plan_fini(&plans[i]);
	mem_free(plans);
	return status;
}

static int exit_status(struct run *run, const struct run_result *result)
{
	if (result->interrupted)
		return EXIT_INTERRUPTED;
	if (result->err.code)
		return run_has_started(run) ? EXIT_FAILED : EXIT_USAGE;
	return EXIT_RAN;
}

static bool is_missed(struct program *p, const struct run_result *result)
{
	struct mlgen_err err = { 0 };
	const char *require = p->set.settings.require;

	return require && require_check(require, result, &err) != 0;
}

/* Measure the ceiling while the run's files still exist. False: a signal interrupted it. */
static bool measure_ceiling(struct program *p, struct run_result *result)
{
	struct mlgen_err err = { 0 };
	bool only_unclear = p->set.settings.ceiling != CEILING_ON;

	if (ceiling_measure(&p->ask, result, only_unclear, &err) == 0)
		return true;
	log_error("%s", err.text);
	return false;
}

/* Stop serving metrics, after the report. False: the last page was not written, which was reported.
 */
static bool end_metrics(struct program *p, int status)
{
	struct mlgen_err err = { 0 };

	if (status != EXIT_INTERRUPTED)
		prom_linger(p->prom);
	int rc = prom_close(&p->prom, &err);
	if (rc < 0)
		log_error("%s", err.text);
	return rc == 0;
}

/* Judge and report the result of this process, or the merged result of all processes. */
static int report_run(struct program *p, struct run *run, struct run_result *result)
{
	if (result->err.code)
		log_error("%s%s", result->err.text,
			  run_has_started(run) ? ". The report covers what ran before" : "");
	int status = exit_status(run, result);
	if (status == EXIT_USAGE)
		return status;
	verdict_fill(result);
	if (!p->is_abandoned && !measure_ceiling(p, result))
		status = EXIT_INTERRUPTED;
	merge_explain_slowest(&p->merge);
	bool failed = status == EXIT_RAN && verdict_log_failed(result);
	if (status == EXIT_RAN && is_missed(p, result))
		status = EXIT_MISSED;
	if (failed)
		status = EXIT_FAILED;
	return program_status(status, program_report(p, result, NULL));
}

/* Only the process that prints the report shows the run. */
static bool is_shown_live(const struct program *p)
{
	return p->set.settings.live && !p->is_mute;
}

static int run_jobs(struct program *p, struct run *run)
{
	struct mlgen_err err = { 0 };
	struct series_result series = { 0 };
	struct watch_outputs shows = {
		.log = p->log,
		.each = p->each,
		.series = settings_has_series(&p->set.settings) && !p->is_mute ? &series : NULL,
	};

	if (program_trace(p, run, &err) < 0 ||
	    (is_shown_live(p) && view_open(&shows.view, &err) < 0))
		return program_usage(&err);
	p->log = NULL;
	prom_begin(p->prom, run, p->set.count);
	int rc = watch_run(run, p->set.count, &p->set.settings, &shows, &p->is_abandoned, &err);
	prom_end(p->prom);
	if (rc != 0)
		log_error("%s", err.text);
	if (rc < 0)
		return EXIT_USAGE;
	bool is_whole = program_trace_end(p, run);
	struct run_result *result = run_collect(run);
	int status = EXIT_RAN;
	bool is_each_whole = json_each_end(p->each, result, &err) == 0;
	if (!is_each_whole)
		log_error("%s", err.text);
	merge_hosts(&p->merge, p->hosts, result, &p->ask);
	result->series = series; /* covers all processes already */
	if (!p->is_mute)
		status = report_run(p, run, result);
	status = program_end_together(p, status);
	if (status == EXIT_USAGE)
		return status;
	status = program_status(status, program_write_logs(p, run, is_whole));
	bool is_short = rc == WATCH_NO_LOG || !is_whole || !is_each_whole;
	is_short |= !end_metrics(p, status);
	return program_status(status, is_short ? EXIT_FAILED : EXIT_RAN);
}

static int open_shows(struct program *p, struct mlgen_err *err)
{
	int rc = is_shown_live(p) ? view_check(err) : 0;

	if (rc == 0)
		rc = json_each_new(&p->each, &p->set, hosts_rank(p->hosts), hosts_total(p->hosts),
				   err);
	return rc < 0 ? rc : program_open_outputs(p, true, err);
}

int program_run(struct program *p)
{
	struct mlgen_err err = { 0 };
	struct run *run = NULL;
	int status, rc;
	struct clock *clock = clock_new_real();
	struct run_config cfg =
		run_config_of(&p->set.settings, p->set.jobs, p->set.count, &p->host, clock);

	cfg.hosts = p->hosts;
	/* The probes of the ceiling read the same files, so keep the jobs. */
	if (p->set.settings.ceiling == CEILING_ON)
		jobset_reuse_scans(&p->set);
	rc = program_check_format(p, &err);
	if (rc == 0)
		rc = run_number(p->hosts, p->set.jobs, p->set.count, &err);
	if (rc == 0)
		rc = run_new(&run, &cfg, &err);
	if (rc == 0)
		rc = hosts_agree(p->hosts, open_shows(p, &err), &err);
	if (rc < 0)
		status = p->is_mute ? EXIT_USAGE : program_usage(&err);
	else
		status = run_jobs(p, run);
	json_each_free(p->each);
	p->each = NULL;
	if (p->is_abandoned)
		return status;
	merge_fini(&p->merge);
	run_free(run);
	clock_free(clock);
	return status;
}
