/* SPDX-License-Identifier: Apache-2.0 */
/* program_trace.c - what a run records: its trace, and logs of jobs made of it; see program.h. */
#include "program.h"

#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "run/run.h"
#include "trace/trace.h"

#define ASIDE "temporary file of write_iolog (TMPDIR=DIR is where)"

static int trace_as_asked(struct program *p, struct run *run, struct mlgen_err *err)
{
	const struct traced_config cfg = { .fd = p->trace.fd,
					   .path = p->set.settings.trace,
					   .is_asked = true };

	if (p->logs)
		p->logged_fd = tracefile_read(&p->trace);
	if (p->logs && p->logged_fd < 0)
		return mlgen_fail(err, p->logged_fd,
				  "trace=%s: cannot be read, and write_iolog is made of it: %s",
				  cfg.path, strerror(-p->logged_fd));
	return run_trace(run, &cfg, err);
}

static int trace_aside(struct program *p, struct run *run, struct mlgen_err *err)
{
	struct traced_config cfg = { .path = ASIDE };

	p->logged_fd = unnamed_open(unnamed_folder(NULL));
	cfg.fd = p->logged_fd;
	if (cfg.fd < 0)
		return mlgen_fail(err, cfg.fd, ASIDE ": %s: %s", unnamed_folder(NULL),
				  strerror(-cfg.fd));
	return run_trace(run, &cfg, err);
}

int program_trace(struct program *p, struct run *run, struct mlgen_err *err)
{
	if (p->trace.path)
		return trace_as_asked(p, run, err);
	return p->logs ? trace_aside(p, run, err) : 0;
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

static void tell_left(const struct trace_iolog_left *left, const char *path)
{
	struct buf before = { 0 };

	buf_addf(&before, "write_iolog=%s: ", path);
	trace_iolog_left_tell(left, buf_str(&before));
	buf_fini(&before);
}

/* From the trace into the file's place. 0, or -errno, and told. */
static int make_log(struct program *p, struct run *run, size_t i)
{
	const char *path = p->set.jobs[i]->write_iolog;
	struct trace_iolog_left left = { 0 };
	struct mlgen_err err = { 0 };
	int rc = run_iolog(run, i, p->logged_fd, p->logs[i].to, &left, &err);

	if (rc < 0)
		log_error("write_iolog=%s: is not written: %s", path, err.text);
	else if (output_close(&p->logs[i], &err) < 0)
		log_error("write_iolog=%s", err.text);
	else
		tell_left(&left, path);
	trace_iolog_left_fini(&left);
	return err.code;
}

static int put_log(struct program *p, struct run *run, size_t i, bool is_whole)
{
	int rc = make_log(p, run, i);

	if (rc < 0)
		return rc == -EINTR ? EXIT_INTERRUPTED : EXIT_FAILED;
	if (!is_whole)
		log_warn("write_iolog=%s: is not whole, as what it is made of is not",
			 p->set.jobs[i]->write_iolog);
	return EXIT_RAN;
}

int program_put_logs(struct program *p, struct run *run, bool is_whole)
{
	int status = EXIT_RAN;

	for (size_t i = 0; p->logs && i < p->set.count; i++)
		if (p->logs[i].to)
			status = program_status(status, put_log(p, run, i, is_whole));
	return status;
}
