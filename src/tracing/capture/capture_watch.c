/* SPDX-License-Identifier: Apache-2.0 */
/* capture_watch.c - record until the target ends, time is over or a signal comes. */
#include "tracing/capture/capture_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"

#define CLEAR_LINE "\r\033[K"

void capture_status_line_begin(struct capture_status_line *l, int eta, uint64_t now_ns)
{
	*l = (struct capture_status_line){
		.draws = eta == ETA_ALWAYS || (eta == ETA_AUTO && isatty(STDERR_FILENO)),
		.begin_ns = now_ns,
		.then_ns = now_ns,
	};
}

void capture_status_line_append(struct buf *out, const struct capture_status_line *l,
				const struct capture_status *s, uint64_t bytes, uint64_t now_ns)
{
	char seconds[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	char lost[UNITS_TEXT_BYTES], files[UNITS_TEXT_BYTES];
	uint64_t ns = now_ns - l->then_ns;
	double per_second =
		ns ? (double)(s->records - l->then_records) * (double)NS_PER_S / (double)ns : 0;

	buf_addf(out, "capture %s s  %s events/s  %.1f MB  lost %s  files %s",
		 units_human_count(seconds, (now_ns - l->begin_ns) / NS_PER_S),
		 units_human_count(rate, (uint64_t)per_second), (double)bytes / 1e6,
		 units_human_count(lost, s->lost), units_human_count(files, s->files));
}

void capture_status_line_erase(struct capture_status_line *l)
{
	if (l->is_drawn)
		(void)writeall(STDERR_FILENO, CLEAR_LINE, strlen(CLEAR_LINE));
	l->is_drawn = false;
}

/* Longest wait of a backend; the end of the child ends the wait. */
#define ROUND_MS 50
#define TICK_NS NS_PER_S

/* The parent sees the end of a child later than strace does. A child that still runs after this
 * time goes on without strace. */
#define LATE_NS NS_PER_S

/* Do nothing: the signal only makes poll and other calls return. */
static void on_child(int sig)
{
	(void)sig;
}

static void attend_child(void)
{
	const struct sigaction act = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };

	(void)sigaction(SIGCHLD, &act, NULL);
}

static uint64_t file_bytes(const struct capture_watch *w)
{
	struct stat st;

	return fstat(w->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Handle the next signal. True: the signal ends the recording. */
static bool handle_signal(struct capture_watch *w, const struct timespec *timeout)
{
	siginfo_t info;
	int sig = signals_next(timeout, &info);

	if (sig == SIGUSR1) {
		uint64_t now = clock_monotonic_ns();
		struct buf text = { 0 };

		capture_status_line_erase(&w->line);
		capture_status_line_append(&text, &w->line, &w->status, file_bytes(w), now);
		log_plain("%s", buf_str(&text));
		buf_fini(&text);
	}
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP)
		return false;
	if (info.si_code <= 0) /* sent by a process, not by the terminal */
		w->pending_signal = sig;
	return true;
}

/* Each second: save the records and update the status line. True: the running target has ended. */
static bool tick(struct capture_watch *w, uint64_t now)
{
	const struct capture_config *cfg = w->cfg;
	struct capture_status_line *l = &w->line;
	struct buf text = { 0 };

	trace_writer_flush(cfg->writer);
	if (l->draws) {
		buf_add(&text, CLEAR_LINE);
		capture_status_line_append(&text, l, &w->status, file_bytes(w), now);
		/* A lost status line is not an error. */
		(void)writeall(STDERR_FILENO, buf_str(&text), text.len);
		buf_fini(&text);
		l->is_drawn = true;
		l->then_ns = now;
		l->then_records = w->status.records;
	}
	if (w->child)
		return false;
	return cfg->whose == CAPTURE_PID ? !capture_pid_runs(cfg->pid)
					 : !capture_cgroup_runs(cfg->cgroup);
}

int capture_watch(struct capture_watch *w, struct mlgen_err *err)
{
	const struct timespec no_wait = { 0 };
	uint64_t now = clock_monotonic_ns(), tick_ns = now + TICK_NS;
	uint64_t end_ns = w->duration_ns ? now + w->duration_ns : UINT64_MAX;
	uint64_t over_since_ns = 0; /* first time without further events; 0 = events may come */
	bool is_over = false;
	int rc;

	w->end = CAPTURE_ENDED;
	attend_child();
	while (!is_over) {
		rc = w->backend->drain(w->state, ROUND_MS, err);
		if (rc < 0 && rc != -EINTR) {
			w->end = CAPTURE_FAILED;
			return rc;
		}
		now = clock_monotonic_ns();
		w->backend->get_status(w->state, &w->status);
		if (!w->status.is_over)
			over_since_ns = 0;
		else if (!over_since_ns)
			over_since_ns = now;
		if (now >= tick_ns) {
			is_over = tick(w, now);
			while (tick_ns <= now)
				tick_ns += TICK_NS;
		}
		if ((w->child && capture_child_has_ended(w->child)) ||
		    (over_since_ns && (!w->child || now - over_since_ns > LATE_NS))) {
			w->end = CAPTURE_ENDED;
			is_over = true;
		} else if (now >= end_ns) {
			w->end = CAPTURE_TIMED_OUT;
			is_over = true;
		} else if (handle_signal(w, &no_wait)) {
			w->end = CAPTURE_SIGNALED;
			is_over = true;
		}
	}
	return 0;
}

void capture_watch_child(struct capture_watch *w)
{
	const struct timespec round = { .tv_nsec = ROUND_MS * 1000000L };

	attend_child();
	while (w->child && !capture_child_has_ended(w->child)) {
		/* An attached strace may lose a signal when it detaches, so the signal waits. */
		if (w->pending_signal)
			(void)kill(w->child->pid, w->pending_signal);
		w->pending_signal = 0;
		(void)handle_signal(w, &round);
	}
}
