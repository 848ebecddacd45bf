/* SPDX-License-Identifier: Apache-2.0 */
/* score_candidate.c - see score_candidate.h. */
#include "ask/score_candidate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/unnamed.h"
#include "report/verdict_errors.h"

static int open_trace(struct score_candidate *c, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(NULL);

	c->fd = unnamed_open(folder);
	if (c->fd < 0)
		return mlgen_fail(err, c->fd,
				  "%s: the trace of the job cannot be kept there: %s; another "
				  "folder with TMPDIR=",
				  folder, strerror(-c->fd));
	snprintf(c->path, sizeof(c->path), "/proc/self/fd/%d", c->fd);
	return 0;
}

/* As that of a run of its own (program_run.c). */
static int status_of(const struct score_candidate *c, const char *job, const struct mlgen_err *err)
{
	const struct probe *p = &c->of;

	if (p->interrupted) {
		log_error("%s: interrupted; nothing is scored", job);
		return EXIT_INTERRUPTED;
	}
	if (err->code) {
		log_error("%s", err->text);
		return p->run && run_has_started(p->run) ? EXIT_FAILED : EXIT_USAGE;
	}
	return verdict_log_failed(p->result) ? EXIT_FAILED : EXIT_RAN;
}

int score_candidate_run(struct score_candidate *c, const struct ask *a)
{
	const char *job = a->set->files[a->set->file_count - 1];
	struct probe_args args = { .trace = "the trace to be scored" };
	struct mlgen_err err = { 0 };
	int status;

	*c = (struct score_candidate){ .fd = -1 };
	if (open_trace(c, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	args.trace_fd = c->fd;
	log_plain("mlgen: %s: running it, to score its trace", job);
	probe_run(&c->of, a, &args, &err);
	status = status_of(c, job, &err);
	/* What follows ends at once, and leaves nothing behind. */
	if (status == EXIT_RAN)
		signals_attend(SIGNALS_UNSEEN);
	return status;
}

void score_candidate_fini(struct score_candidate *c)
{
	if (c->of.abandoned)
		return;
	probe_fini(&c->of);
	if (c->fd >= 0)
		close(c->fd);
}
