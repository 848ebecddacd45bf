/* SPDX-License-Identifier: Apache-2.0 */
/* program_trace.c - the trace of a run, and the logs of jobs made from it; see program.h. */
#include "program.h"

#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "run/run.h"
#include "trace/trace.h"

#define TEMPORARY "temporary file of write_iolog (TMPDIR=DIR sets its folder)"

static int trace_to_file(struct program *p, struct run *run, struct mlgen_err *err)
{
	const struct traced_config cfg = { .fd = p->trace.fd,
					   .path = p->set.settings.trace,
					   .is_asked = true };

	if (p->logs)
		p->logged_fd = tracefile_read(&p->trace);
	if (p->logs && p->logged_fd < 0)
		return mlgen_fail(err, p->logged_fd,
				  "trace=%s: cannot be read, but write_iolog is made from it: %s",
				  cfg.path, strerror(-p->logged_fd));
	return run_trace(run, &cfg, err);
}

int program_trace(struct program *p, struct run *run, struct mlgen_err *err)
{
	struct traced_config cfg = { .path = TEMPORARY };

	if (p->trace.path)
		return trace_to_file(p, run, err);
	if (!p->logs)
		return 0;
	p->logged_fd = unnamed_open(unnamed_folder(NULL));
	cfg.fd = p->logged_fd;
	if (cfg.fd < 0)
		return mlgen_fail(err, cfg.fd, TEMPORARY ": %s: %s", unnamed_folder(NULL),
				  strerror(-cfg.fd));
	return run_trace(run, &cfg, err);
}

bool program_trace_end(struct program *p, struct run *run)
{
	const char *path = p->set.settings.trace;
	struct mlgen_err err = { 0 };
	int rc, closed;

	if (!p->trace.path && !p->logs)
		return true;
	rc = run_trace_end(run, &err);
	closed = tracefile_close(&p->trace);
	if (rc == 0 && closed < 0)
		rc = mlgen_fail(&err, closed, "trace=%s: %s", path, strerror(-closed));
	if (rc < 0)
		log_error("%s", err.text);
	return rc == 0;
}

/* Convert the trace into the log of one job and move the log to its path. On failure, report the
 * error and return -errno. */
static int write_log(struct program *p, struct run *run, size_t i)
{
	const char *path = p->set.jobs[i]->write_iolog;
	struct trace_iolog_omitted left = { 0 };
	struct buf before = { 0 };
	struct mlgen_err err = { 0 };
	int rc = run_iolog(run, i, p->logged_fd, p->logs[i].to, &left, &err);

	buf_addf(&before, "write_iolog=%s: ", path);
	if (rc < 0)
		log_error("write_iolog=%s: is not written: %s", path, err.text);
	else if (output_close(&p->logs[i], &err) < 0)
		log_error("write_iolog=%s", err.text);
	else
		trace_iolog_omitted_log(&left, buf_str(&before));
	trace_iolog_omitted_fini(&left);
	buf_fini(&before);
	return err.code;
}

int program_write_logs(struct program *p, struct run *run, bool is_whole)
{
	int status = EXIT_RAN;

	for (size_t i = 0; p->logs && i < p->set.count; i++) {
		if (!p->logs[i].to)
			continue;
		int rc = write_log(p, run, i);
		if (rc == 0 && !is_whole)
			log_warn("write_iolog=%s: is incomplete, because the run or its trace is "
				 "incomplete",
				 p->set.jobs[i]->write_iolog);
		if (rc < 0)
			status = program_status(status,
						rc == -EINTR ? EXIT_INTERRUPTED : EXIT_FAILED);
	}
	return status;
}
