/* SPDX-License-Identifier: Apache-2.0 */
/* capture_watch.c - record until the command ends, time is over or a signal comes, and show how far
 * it is. */
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

#define CLEAR "\r\033[K"

void capture_line_begin(struct capture_line *l, int eta, uint64_t now_ns)
{
	*l = (struct capture_line){
		.draws = eta == ETA_ALWAYS || (eta == ETA_AUTO && isatty(STDERR_FILENO)),
		.begin_ns = now_ns,
		.then_ns = now_ns,
	};
}

static uint64_t per_second(const struct capture_line *l, const struct capture_status *s,
			   uint64_t now_ns)
{
	uint64_t ns = now_ns - l->then_ns;

	return ns ? (uint64_t)((double)(s->records - l->then_records) * (double)NS_PER_S /
			       (double)ns)
		  : 0;
}

void capture_line_put(struct buf *out, const struct capture_line *l, const struct capture_status *s,
		      uint64_t bytes, uint64_t now_ns)
{
	char seconds[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	char lost[UNITS_TEXT_BYTES];
	char files[UNITS_TEXT_BYTES];

	buf_addf(out, "capture %s s  %s events/s  %.1f MB  lost %s  files %s",
		 units_human_count(seconds, (now_ns - l->begin_ns) / NS_PER_S),
		 units_human_count(rate, per_second(l, s, now_ns)), (double)bytes / 1e6,
		 units_human_count(lost, s->lost), units_human_count(files, s->files));
}

static void capture_line_update(struct capture_line *l, const struct capture_status *s,
				uint64_t bytes, uint64_t now_ns)
{
	struct buf text = { 0 };

	if (!l->draws)
		return;
	buf_add(&text, CLEAR);
	capture_line_put(&text, l, s, bytes, now_ns);
	/* Whom it does not reach misses nothing else. */
	(void)writeall(STDERR_FILENO, buf_str(&text), text.len);
	buf_fini(&text);
	l->is_drawn = true;
	l->then_ns = now_ns;
	l->then_records = s->records;
}

void capture_line_erase(struct capture_line *l)
{
	if (l->is_drawn)
		(void)writeall(STDERR_FILENO, CLEAR, strlen(CLEAR));
	l->is_drawn = false;
}

/* A back end waits so long at most; the end of a child wakes it. */
#define ROUND_MS 50
#define TICK_NS NS_PER_S

/* When all that strace has followed is gone, so is the command, or strace. */
#define LATE_NS NS_PER_S

struct watching {
	struct capture_watch *w;
	uint64_t end_ns, tick_ns;
	uint64_t over_ns; /* since when nothing comes; 0 = it does */
	bool is_over;
};

/* Its only purpose is that poll and the like come back. */
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

static void show(struct capture_watch *w, uint64_t now)
{
	struct buf text = { 0 };

	capture_line_erase(&w->line);
	capture_line_put(&text, &w->line, &w->status, file_bytes(w), now);
	log_plain("%s", buf_str(&text));
	buf_fini(&text);
}

/* True: it is one that ends things. */
static bool take_signal(struct capture_watch *w, const struct timespec *most)
{
	siginfo_t info;
	int sig = signals_next(most, &info);

	if (sig == SIGUSR1)
		show(w, clock_monotonic_ns());
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP)
		return false;
	if (info.si_code <= 0)
		w->pass_on = sig;
	return true;
}

/* Of somebody who meant mlgen alone. Not while strace is attached, which may forget a signal when
 * it lets go. */
static void pass_on(struct capture_watch *w)
{
	if (w->pass_on)
		(void)kill(w->child->pid, w->pass_on);
	w->pass_on = 0;
}

static bool runs(const struct capture_config *cfg)
{
	return cfg->whose == CAPTURE_PID ? capture_pid_runs(cfg->pid)
					 : capture_cgroup_runs(cfg->cgroup);
}

/* Has what is recorded ended? */
static bool has_ended(struct watching *l, uint64_t now)
{
	struct capture_watch *w = l->w;

	if (w->child && capture_child_look(w->child))
		return true;
	if (!w->status.is_over) {
		l->over_ns = 0;
		return false;
	}
	if (!l->over_ns)
		l->over_ns = now;
	/* The end of a child is seen a little later by its parent. */
	return !w->child || now - l->over_ns > LATE_NS;
}

static void end(struct watching *l, enum capture_end why)
{
	l->w->end = why;
	l->is_over = true;
}

static void tick(struct watching *l, uint64_t now)
{
	struct capture_watch *w = l->w;

	trace_writer_flush(w->cfg->writer);
	capture_line_update(&w->line, &w->status, file_bytes(w), now);
	if (!w->child && !runs(w->cfg))
		end(l, CAPTURE_ENDED);
	while (l->tick_ns <= now)
		l->tick_ns += TICK_NS;
}

static void capture_watch_look(struct watching *l)
{
	const struct timespec at_once = { 0 };
	struct capture_watch *w = l->w;
	uint64_t now = clock_monotonic_ns();

	w->backend->look(w->state, &w->status);
	if (now >= l->tick_ns)
		tick(l, now);
	if (has_ended(l, now))
		end(l, CAPTURE_ENDED);
	else if (now >= l->end_ns)
		end(l, CAPTURE_TIME);
	else if (take_signal(w, &at_once))
		end(l, CAPTURE_SIGNALED);
}

int capture_watch(struct capture_watch *w, struct mlgen_err *err)
{
	uint64_t now = clock_monotonic_ns();
	struct watching l = { .w = w,
			      .tick_ns = now + TICK_NS,
			      .end_ns = w->duration_ns ? now + w->duration_ns : UINT64_MAX };
	int rc;

	attend_child();
	while (!l.is_over) {
		rc = w->backend->drain(w->state, ROUND_MS, err);
		if (rc < 0 && rc != -EINTR) {
			w->end = CAPTURE_BROKEN;
			return rc;
		}
		capture_watch_look(&l);
	}
	return 0;
}

void capture_watch_child(struct capture_watch *w)
{
	const struct timespec round = { .tv_nsec = ROUND_MS * 1000000L };

	attend_child();
	while (w->child && !capture_child_look(w->child)) {
		pass_on(w);
		(void)take_signal(w, &round);
	}
}
