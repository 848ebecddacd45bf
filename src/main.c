/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - from argv to an exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "build/commit.h"
#include "config.h"
#include "hosts/hosts.h"
#include "io/engines.h"
#include "job/job.h"
#include "program.h"
#include "report/live/live.h"
#include "report/text/text.h"

/* All hosts of a job must have the same version. */
#define PROGRAM_VERSION MLGEN_VERSION " (" MLGEN_COMMIT ")"

/* Let `print` write its text to standard output. */
static int print_text(struct program *p,
		      int (*print)(struct program *p, FILE *to, struct mlgen_err *err))
{
	struct mlgen_err err = { 0 };

	if (output_open(&p->text, NULL, &err) < 0)
		return program_usage(&err);
	p->text.is_text = true;
	if (print(p, p->text.to, &err) < 0)
		return program_usage(&err);
	if (output_close(&p->text, &err) == 0)
		return EXIT_RAN;
	log_error("%s", err.text);
	return EXIT_FAILED;
}

static int print_request(struct program *p, FILE *to, struct mlgen_err *err)
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

static int print_jobs(struct program *p, FILE *to, struct mlgen_err *err)
{
	int rc = showjob_check(&p->set, err);

	if (rc == 0)
		showjob_print(to, &p->set);
	return rc;
}

static int answer_question(struct program *p, const struct question *q)
{
	const struct settings *set = &p->set.settings;
	struct mlgen_err err = { 0 };

	if (program_open_outputs(p, false, &err) < 0)
		return program_usage(&err);
	struct ask a = p->ask;
	bool is_live = q->is_live && !set->output && set->output_format == OUTPUT_TEXT;
	a.to = is_live ? stdout : p->text.to;
	a.json = program_document(p);
	/* Rank 0 alone answers questions about files. */
	int status = p->is_mute ? EXIT_RAN : q->answer(&a);
	status = program_end_together(p, status);
	/* Keep existing files if there is nothing to write. */
	if (status == EXIT_USAGE ||
	    ((status == EXIT_FAILED || status == EXIT_INTERRUPTED) && program_has_no_output(p)))
		return status;
	int page = program_write_page(p, q);
	return program_status(program_status(status, page), program_close_outputs(p));
}

static void report_refusal(const struct mlgen_err *err)
{
	program_usage(err);
}

/* Meet the other processes that a launcher has started, if there are any, and check that they run
 * the same jobs. */
static int meet_processes(struct program *p, struct mlgen_err *err)
{
	const struct settings *set = &p->set.settings;
	const struct hosts_config cfg = { .binary_dir = p->binary_dir,
					  .version = PROGRAM_VERSION,
					  .port = (uint16_t)set->peers_port,
					  .over_mpi = set->barrier_over == BARRIER_OVER_MPI,
					  .say = report_refusal };
	int rc = hosts_meet(&p->hosts, &cfg, err);
	char *jobs = NULL;
	size_t n = 0;

	if (rc < 0 || !p->hosts)
		return rc;
	FILE *to = open_memstream(&jobs, &n);
	if (to) {
		showjob_print(to, &p->set);
		fclose(to);
	}
	rc = hosts_check_same_job(p->hosts, jobs ? jobs : "", err);
	mem_free(jobs);
	return rc;
}

/* The first line of the diagnostics, without the name of the program. */
static char *first_fault(const struct diag *diag)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	diag_print(diag, to);
	fclose(to);
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, "mlgen: ", 7) == 0)
		memmove(text, text + 7, strlen(text + 7) + 1);
	return text;
}

/*
 * The jobs cannot be run: tell the other processes of the launcher, which would otherwise wait for
 * this process. Rank 0 reports the errors, its own first.
 */
static int refuse_jobs(struct program *p, const struct diag *diag)
{
	char *why = first_fault(diag);
	const struct hosts_config cfg = { .binary_dir = p->binary_dir,
					  .version = PROGRAM_VERSION,
					  .why = why ? why : "its jobs" };
	struct mlgen_err err = { 0 };

	if (launcher_is_first())
		diag_print(diag, stderr);
	/* If the launcher itself is at fault, hosts_meet() fails before it meets any process. */
	hosts_meet(&p->hosts, &cfg, &err);
	mem_free(why);
	return EXIT_USAGE;
}

static int run_program(struct program *p, int argc, char **argv)
{
	struct diag diag;

	diag_init(&diag);
	int rc = jobset_load(&p->set, argc, argv, &p->env, &diag);
	if (rc < 0) {
		int status = refuse_jobs(p, &diag);

		diag_fini(&diag);
		return status;
	}
	if (launcher_is_first())
		diag_print(&diag, stderr);
	diag_fini(&diag);
	const struct settings *set = &p->set.settings;
	/* These requests need no job. */
	if (set->help || set->version || set->cmdhelp || set->enghelp || set->list_jobs)
		return print_text(p, print_request);
	struct mlgen_err err = { 0 };
	host_read(&p->host);
	p->ask = (struct ask){
		.set = &p->set, .env = &p->env, .host = &p->host, .argc = argc, .argv = argv
	};
	rc = meet_processes(p, &err);
	if (rc == 0)
		rc = program_join(p, &err);
	if (rc < 0) {
		/* Rank 0 reports an error that all processes have. */
		if (rc == -ECANCELED || (hosts_rank(p->hosts) && !hosts_is_lost(p->hosts)))
			return EXIT_USAGE;
		return program_usage(&err);
	}
	const struct question *q = p->set.question;
	if (q && q->about != ABOUT_JOBS)
		return answer_question(p, q);
	if (set->require && require_check(set->require, NULL, &err) < 0)
		return program_usage(&err);
	if (set->showjob)
		return p->is_mute ? EXIT_RAN : print_text(p, print_jobs);
	if (set->parse_only)
		return EXIT_RAN;
	if (set->dry_run && !(q && q->replaces_dry_run))
		return program_plan(p);
	return q ? answer_question(p, q) : program_run(p);
}

/* Called for a signal that comes before there is anything to report, or that nothing else handles:
 * discard unfinished outputs and exit. */
static void leave(void *arg)
{
	struct program *p = arg;

	replace_stop();
	output_discard(&p->text);
	output_discard(&p->json);
	output_discard(&p->html);
	tracefile_discard(&p->trace);
	prom_discard(p->prom);
	for (size_t i = 0; p->logs && i < p->set.count; i++)
		output_discard(&p->logs[i]);
	view_restore();
	log_error("interrupted");
	_exit(EXIT_INTERRUPTED);
}

/* Separate from main, so that the stack is checked before the large frame of these calls is used.
 */
static __attribute__((noinline)) int run_main(int argc, char **argv)
{
	if (!standard_files_fill())
		return EXIT_USAGE;
	mem_share_heap();
	struct program *p = mem_zalloc(sizeof(*p));
	signals_begin(leave, p);
	ask_env(&p->env, p->binary_dir, argc > 0 ? argv[0] : "");
	int status = run_program(p, argc, argv);
	hosts_finish(p->hosts);
	program_fini_outputs(p);
	if (status == EXIT_INTERRUPTED || p->is_abandoned) {
		/* Threads that hang in the kernel may still use memory that exit() would free. */
		fflush(stdout);
		_exit(status);
	}
	jobset_fini(&p->set);
	int written = fflush(stdout) != 0 || ferror(stdout) ? EXIT_FAILED : EXIT_RAN;
	signals_set_mode(SIGNALS_IGNORED);
	mem_free(p);
	return program_status(status, written);
}

int main(int argc, char **argv)
{
	const char *line = thread_too_small_stack();

	if (!line)
		return run_main(argc, argv);
	return write(STDERR_FILENO, line, strlen(line)) < 0 ? EXIT_FAILED : EXIT_USAGE;
}
