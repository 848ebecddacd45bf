/* SPDX-License-Identifier: Apache-2.0 */
/* run_trace.c - the trace of a run, and the logs of jobs that are made from it. */
#include "run/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/thread.h"
#include "base/util.h"
#include "io/host.h"
#include "run/slot/slot.h"
#include "run/watch/watch.h"
#include "trace/trace.h"
#include "trace/tracer.h"

static void add_fact(void *arg, const char *key, const char *value)
{
	tracer_fact(arg, key, value);
}

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The start of a process by CLOCK_MONOTONIC, as in records. The kernel counts it in ticks since the
 * boot, including suspended time, which CLOCK_MONOTONIC excludes. */
static uint64_t process_start_ns(const struct process *p)
{
	long ticks = sysconf(_SC_CLK_TCK);
	uint64_t awake_ns = read_clock_ns(CLOCK_MONOTONIC);
	uint64_t slept_ns = read_clock_ns(CLOCK_BOOTTIME) - awake_ns, since_boot_ns;

	if (!p->start_ticks || ticks <= 0)
		return TRACE_UNKNOWN;
	since_boot_ns = p->start_ticks * (NS_PER_S / (uint64_t)ticks);
	return since_boot_ns > slept_ns ? since_boot_ns - slept_ns : TRACE_UNKNOWN;
}

/* Record each mount once, however many jobs have files there. */
static void add_mounts(struct tracer *t, const struct run_shared *run)
{
	const struct mount *seen[2 * 64];
	struct buf text = { 0 };
	struct stat st;
	size_t n = 0;

	for (size_t i = 0; i < 2 * run->cfg.count; i++) {
		const struct slot *s = &run->slots[i / 2];
		const struct mount *m = i % 2 ? &s->checkpoint_mount : &s->mount;
		size_t k = 0;

		while (k < n && (strcmp(seen[k]->target, m->target) != 0 ||
				 strcmp(seen[k]->source, m->source) != 0))
			k++;
		if (k < n || n == ARRAY_LEN(seen))
			continue;
		seen[n++] = m;
		if (!m->type[0])
			continue;
		const uint64_t number[] = { stat(m->target, &st) == 0 ? (uint64_t)st.st_dev
								      : TRACE_UNKNOWN };
		/* The kernel lists a mount without a source as "none". */
		buf_reset(&text);
		mount_append_text(&text, m->type, m->target, m->source[0] ? m->source : "none");
		tracer_entry(t, TRACE_MOUNT, number, ARRAY_LEN(number), buf_str(&text));
	}
	buf_fini(&text);
}

/* Is the job the only one of its group? */
static bool is_alone(const struct run_shared *run, size_t i)
{
	const struct job *job = run->cfg.jobs[i];

	for (size_t k = 0; k < run->cfg.count; k++)
		if (k != i && run->cfg.jobs[k]->group == job->group)
			return false;
	return true;
}

bool traced_is_logged(struct job *const *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (jobs[i]->write_iolog)
			return true;
	return false;
}

int run_trace(struct run *r, const struct traced_config *cfg, struct mlgen_err *err)
{
	struct run_shared *run = &r->shared;
	const struct tracer_config config = {
		.fd = cfg->fd, .path = cfg->path, .clock = run->cfg.clock, .threads = run->threads
	};
	struct tracer *t = tracer_new(&config);
	struct process self;

	r->trace = *cfg;
	r->tracer = t;
	r->threads = traced_threads_new();
	host_facts(run->cfg.host, add_fact, t);
	for (size_t i = 0; i < run->cfg.count; i++)
		tracer_fact(t, "job", run->cfg.jobs[i]->name);
	process_self(&self);
	const uint64_t number[] = { self.pid, (uint64_t)getppid(), process_start_ns(&self) };
	tracer_entry(t, TRACE_PROCESS, number, ARRAY_LEN(number), run->cfg.host->command);
	add_mounts(t, run);
	for (size_t i = 0; i < run->cfg.count; i++) {
		const struct job *job = run->cfg.jobs[i];

		if (!cfg->is_asked && !job->write_iolog)
			continue;
		run->slots[i].traced = (struct traced){
			.tracer = t,
			.job = run->cfg.count > 1 ? job->name : NULL,
			.stage = is_alone(run, i) ? job->name : NULL,
			.threads = r->threads,
			.number = i,
			.clock = run->cfg.clock,
		};
	}
	return tracer_start(t, err);
}

int run_trace_end(struct run *r, struct mlgen_err *err)
{
	const struct traced_config *cfg = &r->trace;
	struct tracer_total total;
	/* The trace of a run that was stopped before it began does not replace an older one. */
	int rc = tracer_stop(r->tracer, !run_is_stopping(r), &total, err);

	r->traced = (struct trace_result){
		.file = cfg->is_asked ? cfg->path : NULL,
		.complete = rc == 0 && total.lost == 0,
		.records = total.records,
		.bytes = total.bytes,
		.lost = total.lost,
		.cpu_ns = total.cpu_ns,
	};
	if (rc < 0 || total.lost == 0)
		return rc;
	return mlgen_fail(err, -EIO,
			  "%s%s: is not complete: %" PRIu64
			  " records came faster than they could be written; leave a CPU free for "
			  "the thread that writes them",
			  cfg->is_asked ? "trace=" : "", cfg->path, total.lost);
}

struct iolog_job {
	struct traced_threads *threads;
	size_t number;
};

static bool is_of_job(void *arg, const struct trace_record *r)
{
	const struct iolog_job *j = arg;

	return traced_threads_is(j->threads, j->number, r->tid, r->start_ns);
}

int run_iolog(struct run *r, size_t i, int fd, FILE *to, struct trace_iolog_omitted *left,
	      struct mlgen_err *err)
{
	struct iolog_job job = { .threads = r->threads, .number = i };
	struct trace_ordered_filter wants = { .keeps = is_of_job, .arg = &job };
	struct trace_reader *reader = NULL;
	struct trace_ordered *o = NULL;
	int own_fd, rc;

	/* The log of a run that was stopped before the job began does not replace an older one. */
	if (!r->traced.bytes || (run_is_stopping(r) && !traced_threads_has(r->threads, i)))
		return mlgen_fail(err, -ENODATA, "nothing was recorded of the job");
	/* A trace is read by offsets, so the two descriptors may share a file position. */
	own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own_fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", r->trace.path, strerror(errno));
	rc = trace_reader_open_fd(&reader, own_fd, r->trace.path, err);
	if (rc == 0)
		rc = trace_ordered_read_filtered(&o, reader, &wants, err);
	if (rc == 0)
		rc = trace_iolog_write(o, to, left, err);
	trace_ordered_free(o);
	trace_reader_close(reader);
	return rc;
}
