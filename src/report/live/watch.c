/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - the main thread during a run: signals, status line, log rows. */
#include "report/live/live.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "report/document/document.h"
#include "run/run.h"
#include "run/watch/watch.h"

#define TICK_NS NS_PER_S
#define REMOTE_POLL_NS 20000000ull /* between checks whether other processes have ended */
#define GRACE_NS NS_PER_S          /* time for threads to return, after a signal */
#define HASTE_NS 100000000ull      /* time for threads to return, after a second signal */

/* Abandoned threads that are reported one by one; the rest are counted. */
#define REPORTED_MAX 8

struct watch {
	struct run *run;
	size_t jobs;
	const struct settings *set;
	struct status *status;
	struct csv *csv;
	struct view *view;
	struct json_each *each;
	uint64_t epochs;        /* sum of the jobs' epoch numbers at the last tick */
	unsigned quit_keys;     /* pressed in the view */
	struct series **series; /* per job; NULL = no series */
	struct host_look *host;
	struct remote_status
		*others; /* status of the other processes, whose jobs the snapshots include */
	struct live *now, *logged; /* per job; logged: at its last row */
	pthread_t main;
	_Atomic bool is_done;
	uint64_t leave_ns; /* deadline after a signal; UINT64_MAX = no signal so far */
	unsigned reported; /* abandoned threads */
	uint64_t tick_ns, next_tick_ns, next_row_ns;
};

static void *execute(void *arg)
{
	struct watch *w = arg;

	run_execute(w->run);
	atomic_store(&w->is_done, true);
	pthread_kill(w->main, SIGUSR2);
	return NULL;
}

/* Take a snapshot of every job; on rank 0 it includes all processes. */
static void take_snapshots(struct watch *w)
{
	remote_status_poll(w->others);
	for (size_t i = 0; i < w->jobs; i++) {
		run_look(w->run, i, &w->now[i]);
		remote_status_add(w->others, i, &w->now[i]);
	}
}

static bool wants_intervals(const struct watch *w)
{
	return w->csv || w->series;
}

static void write_rows(struct watch *w)
{
	for (size_t i = 0; wants_intervals(w) && i < w->jobs; i++) {
		const struct live *now = &w->now[i];
		struct live *before = &w->logged[i];
		struct live_host host;

		if (now->phase == LIVE_WAIT ||
		    (now->phase == LIVE_DONE && before->phase == LIVE_DONE))
			continue;
		host_look(w->host, &host, now->now_ns, before->now_ns);
		remote_status_add_hosts(w->others, &host);
		const struct live_span span = { now, before, &host };
		if (w->csv)
			csv_row(w->csv, &span);
		if (w->series)
			series_add(w->series[i], &span);
		live_copy(before, now);
	}
}

static void tick(struct watch *w)
{
	uint64_t ns = clock_monotonic_ns();
	bool ticks = ns >= w->next_tick_ns, logs = ns >= w->next_row_ns;

	if (!ticks && !logs)
		return;
	take_snapshots(w);
	if (logs) {
		write_rows(w);
		while (w->next_row_ns <= ns)
			w->next_row_ns += w->set->log_interval_ns;
	}
	if (ticks) {
		run_tick(w->run);

		/* Once any job has begun its second epoch, write a document whenever a job begins
		 * an epoch. */
		uint64_t epochs = 0, working = 0;

		for (size_t i = 0; i < w->jobs; i++) {
			epochs += w->now[i].epoch;
			working += w->now[i].epoch != 0;
		}
		if (epochs > working && epochs != w->epochs)
			json_each_begin(w->each, w->run);
		w->epochs = epochs;

		status_update(w->status, w->now, w->jobs);
		if (w->view)
			view_update(w->view, w->now, w->jobs);
		while (w->next_tick_ns <= ns)
			w->next_tick_ns += w->tick_ns;
	}
}

/* The first signal stops new operations; the second shortens the wait for operations in progress.
 */
static void handle_signals(struct watch *w)
{
	unsigned signals = signals_received() + w->quit_keys;

	if (signals > 0 && w->leave_ns == UINT64_MAX) {
		w->leave_ns = clock_monotonic_ns() + GRACE_NS;
		run_interrupt(w->run);
		if (w->view)
			view_set_ending(w->view);
		status_erase(w->status);
		log_note("interrupted: no new operations are started, and the report "
			 "follows within a second (interrupt again to exit at once)");
	}
	if (signals > 1 && w->leave_ns > clock_monotonic_ns() + HASTE_NS)
		w->leave_ns = clock_monotonic_ns() + HASTE_NS;
}

/* A view reads keys more often than figures change. */
static uint64_t next_wake_ns(const struct watch *w)
{
	uint64_t ns = u64_min(w->next_tick_ns, w->next_row_ns);

	if (atomic_load(&w->is_done))
		ns = u64_min(ns, clock_monotonic_ns() + REMOTE_POLL_NS);
	return w->view ? u64_min(ns, clock_monotonic_ns() + VIEW_INPUT_NS) : ns;
}

static void loop(struct watch *w)
{
	handle_signals(w);
	/* Continue while other processes are still running: their jobs are shown, too. */
	while ((!atomic_load(&w->is_done) || remote_status_is_working(w->others)) &&
	       clock_monotonic_ns() < w->leave_ns) {
		uint64_t until_ns = u64_min(next_wake_ns(w), w->leave_ns);
		uint64_t ns = clock_monotonic_ns();
		uint64_t left = until_ns > ns ? until_ns - ns : 0;
		struct timespec ts = { .tv_sec = (time_t)(left / NS_PER_S),
				       .tv_nsec = (long)(left % NS_PER_S) };
		/* SIGUSR2 from execute() also ends the wait. */
		int sig = signals_wait(&ts);

		if (sig == SIGUSR1) {
			take_snapshots(w);
			status_print(w->status, w->now, w->jobs);
		}
		if (w->view)
			w->quit_keys += view_handle_input(w->view, w->now, w->jobs);
		handle_signals(w);
		tick(w);
	}
}

/* Report a thread that is still inside a call. */
static void report_call(void *arg, const char *job_name, const struct io_outstanding *call,
			uint64_t ns)
{
	struct watch *w = arg;

	if (w->reported++ < REPORTED_MAX)
		log_warn("%s: thread left hanging in %s of %s for %.1f s", job_name,
			 opstat_name(call->op), call->path, (double)ns / 1e9);
}

static void watch_init(struct watch *w)
{
	w->status = status_new(w->set);
	w->now = mem_array(w->jobs, sizeof(*w->now));
	w->logged = mem_array(w->jobs, sizeof(*w->logged));
	for (size_t i = 0; i < w->jobs; i++)
		if (wants_intervals(w) || w->view) {
			/* Latencies of an interval are the difference of two histograms. */
			live_hists_new(&w->now[i]);
			live_hists_new(&w->logged[i]);
		} else {
			w->now[i].stall = hist_new();
		}
	if (wants_intervals(w))
		w->host = host_look_new();
	take_snapshots(w);
	for (size_t i = 0; i < w->jobs; i++) {
		live_copy(&w->logged[i], &w->now[i]);
		if (w->series)
			w->series[i] = series_new(w->now[i].now_ns, w->jobs);
	}
	w->tick_ns = TICK_NS;
	if (w->set->status_interval_ns && w->set->status_interval_ns < TICK_NS)
		w->tick_ns = w->set->status_interval_ns;
	w->next_tick_ns = clock_monotonic_ns() + w->tick_ns;
	w->next_row_ns =
		wants_intervals(w) ? clock_monotonic_ns() + w->set->log_interval_ns : UINT64_MAX;
}

static void watch_fini(struct watch *w)
{
	status_erase(w->status);
	status_free(w->status);
	for (size_t i = 0; i < w->jobs; i++) {
		live_hists_free(&w->now[i]);
		live_hists_free(&w->logged[i]);
		if (w->series)
			series_free(w->series[i]);
	}
	host_look_free(w->host);
	mem_free(w->series);
	mem_free(w->now);
	mem_free(w->logged);
}

int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      const struct watch_outputs *shows, bool *abandoned, struct mlgen_err *err)
{
	/* An abandoned thread may outlive this call, so this is not on the stack. */
	struct watch *w = mem_zalloc(sizeof(*w));
	pthread_t thread;

	*w = (struct watch){
		.run = run,
		.others = run_remote_status(run),
		.jobs = jobs,
		.set = set,
		.csv = shows->log,
		.view = shows->view,
		.each = shows->each,
		.series = shows->series ? mem_array(jobs, sizeof(*w->series)) : NULL,
		.main = pthread_self(),
		.leave_ns = UINT64_MAX,
	};
	watch_init(w);
	int rc = thread_start(&thread, execute, w);
	if (rc < 0) {
		csv_close(shows->log);
		view_close(w->view);
		watch_fini(w);
		mem_free(w);
		return mlgen_fail(err, rc, "cannot start a thread: %s", strerror(-rc));
	}
	signals_set_mode(SIGNALS_WATCHED);
	if (w->view)
		view_update(w->view, w->now, w->jobs);
	loop(w);
	view_close(w->view);
	*abandoned = !atomic_load(&w->is_done);
	if (*abandoned) {
		status_erase(w->status);
		run_each_call(w->run, report_call, w);
		if (w->reported > REPORTED_MAX)
			log_warn("and %u more threads left hanging in calls",
				 w->reported - REPORTED_MAX);
		else if (w->reported == 0)
			log_warn("a thread of the run itself was left hanging, before or after its "
				 "operations");
		run_abandon(w->run);
	}
	signals_set_mode(SIGNALS_POLLED);
	take_snapshots(w);
	write_rows(w);
	if (w->series) {
		/* Only jobs that ran have intervals. */
		struct series_job *ran = mem_array(w->jobs, sizeof(*ran));
		size_t n = 0;

		assert(shows->series);
		for (size_t i = 0; i < w->jobs; i++)
			if (series_count(w->series[i]) > 0)
				series_finish(w->series[i], &ran[n++]);
		*shows->series = (struct series_result){
			.interval_seconds = (double)w->set->log_interval_ns / 1e9,
			.jobs = { ran, n },
		};
	}
	rc = csv_close(w->csv);
	if (rc < 0)
		mlgen_fail(err, rc, "log=%s: %s", set->log, strerror(-rc));
	watch_fini(w);
	if (!*abandoned) {
		pthread_join(thread, NULL);
		mem_free(w);
	}
	return rc < 0 ? WATCH_NO_LOG : 0;
}
