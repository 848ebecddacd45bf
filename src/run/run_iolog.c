/* SPDX-License-Identifier: Apache-2.0 */
/* run_iolog.c - what a job did, out of the trace of its run, as a log of fio's; see run.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "run/run_inside.h"
#include "run/watch/watch.h"
#include "trace/trace_iolog.h"

struct iolog_job {
	struct traced_threads *threads;
	size_t number;
};

static bool is_of_job(void *arg, const struct trace_record *r)
{
	const struct iolog_job *j = arg;

	return traced_threads_is(j->threads, j->number, r->tid, r->start_ns);
}

/* The descriptor may be at any place: a trace is read by offsets. */
static int open_trace(struct trace_reader **out, const struct run *r, int fd, struct mlgen_err *err)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return own < 0 ? mlgen_fail(err, -errno, "%s: %s", r->trace.path, strerror(errno))
		       : trace_reader_from(out, own, r->trace.path, err);
}

/* One that came to nothing leaves what was there. */
static bool has_begun(const struct run *r, size_t i)
{
	bool is_cut = atomic_load(&r->shared.interrupted) || atomic_load(&r->shared.failure.is_set);

	return r->traced.bytes && (!is_cut || traced_threads_has(r->threads, i));
}

int run_iolog(struct run *r, size_t i, int fd, FILE *to, struct trace_iolog_left *left,
	      struct mlgen_err *err)
{
	struct iolog_job job = { .threads = r->threads, .number = i };
	struct trace_ordered_wants wants = { .keeps = is_of_job, .arg = &job };
	struct trace_reader *reader = NULL;
	struct trace_ordered *o = NULL;
	int rc;

	if (!has_begun(r, i))
		return mlgen_fail(err, -ENODATA, "nothing was recorded of the job");
	rc = open_trace(&reader, r, fd, err);
	if (rc == 0)
		rc = trace_ordered_read_some(&o, reader, &wants, err);
	if (rc == 0)
		rc = trace_iolog_write(o, to, left, err);
	trace_ordered_free(o);
	trace_reader_close(reader);
	return rc;
}
