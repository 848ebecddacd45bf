/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - from argv to an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/ceiling.h"
#include "ask/mlperf_check.h"
#include "ask/probe.h"
#include "ask/require.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/thread.h"
#include "build/commit.h"
#include "config.h"
#include "import/dlio/dlio_summary.h"
#include "io/engines.h"
#include "io/host.h"
#include "job/help.h"
#include "job/help_topics.h"
#include "job/jobset.h"
#include "job/showjob.h"
#include "report/json.h"
#include "report/listjobs.h"
#include "report/output.h"
#include "report/outputs.h"
#include "report/plan_report.h"
#include "report/text.h"
#include "report/tracefile.h"
#include "report/verdict.h"
#include "report/verdict_errors.h"
#include "report/version.h"
#include "report/watch.h"
#include "run/failed.h"
#include "run/run.h"

struct program {
	struct jobset set;
	struct jobset_env env;
	char binary_dir[PATH_MAX];
	struct host host;
	struct output text, json; /* opened before the run */
	struct csv *log;          /* the same; closed by watch_run */
	struct tracefile trace;   /* the same */
	struct output rows;       /* the same, of a question */
	struct ask ask;           /* all of this, for the questions */
};

static int usage(const struct mlgen_err *err)
{
	log_error("%s", err->text);
	return EXIT_USAGE;
}

/* argv[0] is for where /proc is not mounted. */
static void find_binary_dir(struct program *p, const char *argv0)
{
	ssize_t n = readlink("/proc/self/exe", p->binary_dir,
			     sizeof(p->binary_dir) - 1);

	if (n < 0)
		snprintf(p->binary_dir, sizeof(p->binary_dir), "%s", argv0);
	char *slash = strrchr(p->binary_dir, '/');
	if (slash)
		*slash = '\0';
	p->env = (struct jobset_env){ .engines = engines_built,
				      .questions = ask_questions,
				      .why_absent = engines_why_absent,
				      .load = engines_load,
				      .look = engines_look,
				      .binary_dir = p->binary_dir,
				      .installed_dir = MLGEN_JOBS_DIR };
}

/* Print what was asked for by `put` as text for people, to standard output. */
static int print_text(struct program *p, int (*put)(struct program *p, FILE *to,
						    struct mlgen_err *err))
{
	struct mlgen_err err = { 0 };

	if (output_open(&p->text, NULL, &err) < 0)
		return usage(&err);
	p->text.is_text = true;
	if (put(p, p->text.to, &err) < 0)
		return usage(&err);
	if (output_close(&p->text, &err) == 0)
		return EXIT_RAN;
	log_error("%s", err.text);
	return EXIT_FAILED;
}

static int put_request(struct program *p, FILE *to, struct mlgen_err *err)
{
	const struct settings *set = &p->set.settings;

	if (set->help)
		return help_topic(to, set->help, engines_built, err);
	else if (set->version)
		version_print(to, MLGEN_COMMIT);
	else if (set->cmdhelp)
		return help_option(to, set->cmdhelp, engines_built, err);
	else if (set->enghelp)
		return engines_help(to, set->enghelp, err);
	else
		return listjobs(to, &p->env, err);
	return 0;
}

static int put_jobs(struct program *p, FILE *to, struct mlgen_err *err)
{
	int rc = showjob_check(&p->set, err);

	if (rc == 0)
		showjob_print(to, &p->set);
	return rc;
}

/* Requests that need no job. -1: there are none. */
static int answer(struct program *p)
{
	const struct settings *set = &p->set.settings;

	if (set->help || set->version || set->cmdhelp || set->enghelp ||
	    set->list_jobs)
		return print_text(p, put_request);
	return -1;
}

static void fini_outputs(struct program *p)
{
	output_abandon(&p->text);
	output_abandon(&p->json);
	output_abandon(&p->rows);
	csv_close(p->log);
	tracefile_close(&p->trace);
}

/* What could not be written is no answer, whatever it was. */
static int with_output(int status, int written)
{
	return status == EXIT_RAN || status == EXIT_MISSED
		       ? (written == EXIT_RAN ? status : written)
		       : status;
}

/* Where to write is checked before anything runs. A plan has no log. */
static int open_outputs(struct program *p, bool is_run, struct mlgen_err *err)
{
	const struct question *q = p->set.question;
	bool has_rows = !is_run && q && q->writes_log;
	const struct outputs o = { .text = &p->text,
				   .json = &p->json,
				   .log = is_run ? &p->log : NULL,
				   .trace = is_run ? &p->trace : NULL,
				   .rows = has_rows ? &p->rows : NULL };

	return outputs_open(&o, &p->set, err);
}

static int check_format(struct program *p, struct mlgen_err *err)
{
	return p->set.settings.output_format == OUTPUT_DLIO
		       ? dlio_summary_check(&p->set, err)
		       : 0;
}

static int close_outputs(struct program *p)
{
	struct mlgen_err err = { 0 };
	int rc = p->json.to ? output_close(&p->json, &err) : 0;

	if (p->rows.to && output_close(&p->rows, &err) < 0)
		rc = -1;
	if (output_close(&p->text, &err) < 0)
		rc = -1;
	/* A reader that has gone (head -1) knows. */
	if (rc < 0 && err.code != -EPIPE)
		log_error("%s", err.text);
	return rc < 0 ? EXIT_FAILED : EXIT_RAN;
}

static void write_text(struct program *p, struct run_result *result,
		       const struct plan_report *plans)
{
	const struct settings *set = &p->set.settings;

	if (!plans)
		text_report(p->text.to, result, set->quiet);
	for (size_t i = 0; plans && i < p->set.count; i++)
		plan_text(p->text.to, &plans[i]);
	if (set->check != CHECK_NONE)
		mlperf_check(p->text.to, &p->ask, plans ? NULL : result);
}

static int write_reports(struct program *p, struct run_result *result,
			 const struct plan_report *plans)
{
	int format = p->set.settings.output_format;
	int rc = 0;

	if (p->set.settings.check != CHECK_NONE && !plans)
		mlperf_fill(result, &p->ask);
	if (p->json.to)
		json_report(p->json.to, result, &p->set, plans);
	if (format == OUTPUT_TEXT)
		write_text(p, result, plans);
	else if (format == OUTPUT_DLIO)
		rc = dlio_summary(p->text.to, result, &p->set);
	else
		json_report(p->text.to, result, &p->set, plans);
	int status = close_outputs(p);
	return rc < 0 ? EXIT_FAILED : status;
}

static void check_plans(struct program *p, struct plan_report *plans)
{
	for (size_t i = 0; i < p->set.count; i++)
		if (p->set.settings.check != CHECK_NONE)
			mlperf_plan(&plans[i].mlperf_check, plans[i].job,
				    &p->ask);
}

static int dry_run(struct program *p)
{
	struct mlgen_err err = { 0 };
	struct run_result none = { .host = p->host };
	struct plan_report *plans = mem_array(p->set.count, sizeof(*plans));
	int status;

	if (check_format(p, &err) < 0 ||
	    plan_make_all(plans, &p->set, &p->host, &err) < 0 ||
	    open_outputs(p, false, &err) < 0) {
		status = usage(&err);
	} else {
		check_plans(p, plans);
		status = write_reports(p, &none, plans);
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

/* More failed than max_errors allows, in jobs that went on. */
static bool has_failed(const struct run_result *result)
{
	const struct job *last = NULL;

	for (size_t i = 0; i < result->job_count; i++) {
		const struct job_result *j = &result->jobs[i];
		struct buf text = { 0 };

		/* Workers of a plain job have records behind each other. */
		if (!j->failed.is_too_many || j->job == last)
			continue;
		last = j->job;
		verdict_put_failed(&text, j);
		buf_add(&text, "; ");
		verdict_put_allowance(&text, j);
		if (j->failed.first[0])
			buf_addf(&text, ". The first: %s", j->failed.first);
		log_error("%s: %s", j->job->name, buf_str(&text));
		buf_fini(&text);
	}
	return last != NULL;
}

static bool is_missed(struct program *p, const struct run_result *result)
{
	struct mlgen_err err = { 0 };
	const char *require = p->set.settings.require;

	return require && require_check(require, result, &err) != 0;
}

/* Of a run that is still there. False: a signal ended it. */
static bool measure_ceiling(struct program *p, struct run_result *result)
{
	struct mlgen_err err = { 0 };
	bool only_unclear = p->set.settings.ceiling != CEILING_ON;

	if (ceiling_measure(&p->ask, result, only_unclear, &err) == 0)
		return true;
	log_error("%s", err.text);
	return false;
}

/* False: there is no trace, or it is whole. */
static bool has_cut_trace(struct program *p, struct run *run)
{
	const char *path = p->set.settings.trace;
	struct mlgen_err err = { 0 };

	if (!path)
		return false;
	int rc = run_trace_end(run, &err);
	int closed = tracefile_close(&p->trace);
	if (rc == 0 && closed < 0)
		rc = mlgen_fail(&err, closed, "trace=%s: %s", path,
				strerror(-closed));
	if (rc < 0)
		log_error("%s", err.text);
	return rc < 0;
}

static int run_jobs(struct program *p, struct run *run, bool *abandoned)
{
	struct mlgen_err err = { 0 };
	struct csv *log = p->log;

	if (p->trace.path &&
	    run_trace(run, p->trace.fd, p->set.settings.trace, &err) < 0)
		return usage(&err);
	p->log = NULL;
	int rc = watch_run(run, p->set.count, &p->set.settings, log, abandoned,
			   &err);
	if (rc != 0)
		log_error("%s", err.text);
	if (rc < 0)
		return EXIT_USAGE;
	bool is_cut = has_cut_trace(p, run);
	struct run_result *result = run_collect(run);
	if (result->err.code)
		log_error("%s%s", result->err.text,
			  run_has_started(run)
				  ? ". The report covers what ran before"
				  : "");
	int status = exit_status(run, result);
	if (status == EXIT_USAGE)
		return status;
	verdict_fill(result);
	if (!*abandoned && !measure_ceiling(p, result))
		status = EXIT_INTERRUPTED;
	bool failed = status == EXIT_RAN && has_failed(result);
	if (status == EXIT_RAN && is_missed(p, result))
		status = EXIT_MISSED;
	if (failed)
		status = EXIT_FAILED;
	status = with_output(status, write_reports(p, result, NULL));
	bool is_short = rc == WATCH_NO_LOG || is_cut;
	return with_output(status, is_short ? EXIT_FAILED : EXIT_RAN);
}

static int set_up_and_run(struct program *p)
{
	struct mlgen_err err = { 0 };
	struct run *run = NULL;
	bool abandoned = false;
	int status;
	struct clock *clock = clock_new_real();
	struct run_config cfg = run_config_of(&p->set.settings, p->set.jobs,
					      p->set.count, &p->host, clock);

	/* Its probes read the same files. */
	if (p->set.settings.ceiling == CEILING_ON)
		jobset_keep(&p->set);
	if (check_format(p, &err) < 0 || run_new(&run, &cfg, &err) < 0 ||
	    open_outputs(p, true, &err) < 0)
		status = usage(&err);
	else
		status = run_jobs(p, run, &abandoned);
	if (abandoned) {
		/* Threads that hang in the kernel still use all of it. */
		fflush(stdout);
		_exit(status);
	}
	run_free(run);
	clock_free(clock);
	return status;
}

static int put_answer(struct program *p, const struct question *q)
{
	const struct settings *set = &p->set.settings;
	struct mlgen_err err = { 0 };

	if (open_outputs(p, false, &err) < 0)
		return usage(&err);
	struct ask a = p->ask;
	if (q->is_streamed && output_stream(&p->text, &err) < 0)
		return usage(&err);
	bool is_live =
		q->is_live && !set->output && set->output_format == OUTPUT_TEXT;
	a.to = is_live ? stdout : p->text.to;
	a.json = p->json.to;
	a.log = p->rows.to;
	int status = q->answer(&a);
	if (status == EXIT_USAGE)
		return status;
	return with_output(status, close_outputs(p));
}

static int run_program(struct program *p, int argc, char **argv)
{
	struct diag diag;

	diag_init(&diag);
	int rc = jobset_load(&p->set, argc, argv, &p->env, &diag);
	diag_print(&diag, stderr);
	diag_fini(&diag);
	if (rc < 0)
		return EXIT_USAGE;
	int status = answer(p);
	if (status >= 0)
		return status;
	const struct settings *set = &p->set.settings;
	struct mlgen_err err = { 0 };
	host_read(&p->host);
	p->ask = (struct ask){ .set = &p->set,
			       .env = &p->env,
			       .host = &p->host,
			       .argc = argc,
			       .argv = argv };
	const struct question *q = p->set.question;
	if (q && q->about != ABOUT_JOBS)
		return put_answer(p, q);
	if (set->require && require_check(set->require, NULL, &err) < 0)
		return usage(&err);
	if (set->showjob)
		return print_text(p, put_jobs);
	if (set->parse_only)
		return EXIT_RAN;
	if (set->dry_run && !set->datasize)
		return dry_run(p);
	return q ? put_answer(p, q) : set_up_and_run(p);
}

/* A closed standard descriptor would be given to the next file opened, which
 * then got the report or the messages. */
static void fill_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			_exit(EXIT_USAGE);
}

/* A signal that nothing can be reported of, or that nobody came to. */
static void leave(void *arg)
{
	struct program *p = arg;

	output_discard(&p->text);
	output_discard(&p->json);
	tracefile_discard(&p->trace);
	output_discard(&p->rows);
	log_error("interrupted");
	_exit(EXIT_INTERRUPTED);
}

/* Not in main, whose frame would be that of all that the compiler puts here. */
static __attribute__((noinline)) int run_main(int argc, char **argv)
{
	fill_standard_files();
	mem_share_heap();
	struct program *p = mem_zalloc(sizeof(*p));
	signals_begin(leave, p);
	find_binary_dir(p, argc > 0 ? argv[0] : "");
	int status = run_program(p, argc, argv);
	fini_outputs(p);
	if (status == EXIT_INTERRUPTED) {
		/* Threads that hang in the kernel may still use all of it. */
		fflush(stdout);
		_exit(status);
	}
	jobset_fini(&p->set);
	int written =
		fflush(stdout) != 0 || ferror(stdout) ? EXIT_FAILED : EXIT_RAN;
	signals_attend(SIGNALS_IGNORED);
	mem_free(p);
	return with_output(status, written);
}

int main(int argc, char **argv)
{
	const char *line = thread_too_small_stack();

	if (!line)
		return run_main(argc, argv);
	return write(STDERR_FILENO, line, strlen(line)) < 0 ? EXIT_FAILED
							    : EXIT_USAGE;
}
