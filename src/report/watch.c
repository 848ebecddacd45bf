/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#include "report/watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "report/csv.h"
#include "report/status.h"

#define TICK_NS 1000000000ull
#define GRACE_NS 1000000000ull /* for threads, after a second SIGINT */

/* SIGUSR2 is the conductor's word that it is done. */
static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

struct watch {
	struct run *run;
	size_t jobs;
	const struct settings *set;
	struct status *status;
	struct csv *csv;
	struct live *now, *logged; /* per job; logged: at its last row */
	pthread_t main;
	_Atomic bool is_done;
	unsigned interrupts;
	uint64_t tick_ns, next_tick_ns, next_row_ns;
};

static sigset_t taken_set(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&set, taken[i]);
	return set;
}

void watch_signals(void)
{
	sigset_t set = taken_set();
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* A blocked signal that is ignored is dropped, not kept. SIGHUP is
	 * ignored on purpose (nohup). */
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (taken[i] != SIGHUP)
			signal(taken[i], SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG is clearer */
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *conduct(void *arg)
{
	struct watch *w = arg;
	run_execute(w->run);
	atomic_store(&w->is_done, true);
	pthread_kill(w->main, SIGUSR2);
	return NULL;
}

static void look(struct watch *w)
{
	for (size_t i = 0; i < w->jobs; i++)
		run_look(w->run, i, &w->now[i]);
}

static void write_rows(struct watch *w)
{
	for (size_t i = 0; w->csv && i < w->jobs; i++) {
		struct live *before = &w->logged[i];
		if (w->now[i].phase == LIVE_WAIT ||
		    (w->now[i].phase == LIVE_DONE &&
		     before->phase == LIVE_DONE))
			continue;
		csv_row(w->csv, &w->now[i], before);
		*before = w->now[i];
		before->stall = NULL;
	}
}

static void tick(struct watch *w)
{
	uint64_t ns = now_ns();
	bool ticks = ns >= w->next_tick_ns, logs = ns >= w->next_row_ns;
	if (!ticks && !logs)
		return;
	look(w);
	if (logs) {
		write_rows(w);
		while (w->next_row_ns <= ns)
			w->next_row_ns += w->set->log_interval_ns;
	}
	if (ticks) {
		run_tick(w->run);
		status_update(w->status, w->now, w->jobs);
		while (w->next_tick_ns <= ns)
			w->next_tick_ns += w->tick_ns;
	}
}

static int wait_signal(uint64_t until_ns)
{
	sigset_t set = taken_set();
	uint64_t ns = now_ns();
	uint64_t left = until_ns > ns ? until_ns - ns : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / 1000000000),
			       .tv_nsec = (long)(left % 1000000000) };
	return sigtimedwait(&set, NULL, &ts);
}

/* The second one: whoever does not come within the grace is left behind. */
static void leave_at_once(struct watch *w)
{
	uint64_t until_ns = now_ns() + GRACE_NS;
	run_abandon(w->run);
	while (!atomic_load(&w->is_done) && now_ns() < until_ns)
		wait_signal(until_ns);
}

/* What is under way is finished: a step, where there are any. */
static const char *end_of(const struct watch *w)
{
	for (size_t i = 0; i < w->jobs; i++)
		if (!w->now[i].is_io && w->now[i].phase != LIVE_CHECKPOINT)
			return "stopping at the end of this step";
	return "stopping when what is under way is done";
}

static void interrupt(struct watch *w)
{
	if (++w->interrupts == 1) {
		run_interrupt(w->run);
		status_erase(w->status);
		log_note("interrupted: %s (once more to leave at once)",
			 end_of(w));
	}
}

static void loop(struct watch *w)
{
	while (!atomic_load(&w->is_done) && w->interrupts < 2) {
		uint64_t until_ns = w->next_tick_ns < w->next_row_ns
					    ? w->next_tick_ns
					    : w->next_row_ns;
		int sig = wait_signal(until_ns);
		if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
			interrupt(w);
		else if (sig == SIGUSR1) {
			look(w);
			status_print(w->status, w->now, w->jobs);
		}
		tick(w);
	}
	if (w->interrupts >= 2)
		leave_at_once(w);
}

static void watch_init(struct watch *w)
{
	w->status = status_new(w->set);
	w->now = mem_array(w->jobs, sizeof(*w->now));
	w->logged = mem_array(w->jobs, sizeof(*w->logged));
	for (size_t i = 0; i < w->jobs; i++)
		w->now[i].stall = hist_new();
	look(w);
	for (size_t i = 0; i < w->jobs; i++) {
		w->logged[i] = w->now[i];
		w->logged[i].stall = NULL;
	}
	w->tick_ns = TICK_NS;
	if (w->set->status_interval_ns && w->set->status_interval_ns < TICK_NS)
		w->tick_ns = w->set->status_interval_ns;
	w->next_tick_ns = now_ns() + w->tick_ns;
	w->next_row_ns =
		w->csv ? now_ns() + w->set->log_interval_ns : UINT64_MAX;
}

static void watch_fini(struct watch *w)
{
	status_erase(w->status);
	status_free(w->status);
	for (size_t i = 0; i < w->jobs; i++)
		hist_free(w->now[i].stall);
	mem_free(w->now);
	mem_free(w->logged);
}

int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      bool *abandoned, struct mlgen_err *err)
{
	/* Not on the stack: an abandoned conductor may outlive this call. */
	struct watch *w = mem_zalloc(sizeof(*w));
	pthread_t conductor;
	*w = (struct watch){
		.run = run, .jobs = jobs, .set = set, .main = pthread_self()
	};
	int rc = set->log ? csv_open(&w->csv, set->log, err) : 0;
	if (rc < 0) {
		mem_free(w);
		return rc;
	}
	watch_init(w);
	rc = -pthread_create(&conductor, NULL, conduct, w);
	if (rc < 0) {
		watch_fini(w);
		mem_free(w);
		return mlgen_fail(err, rc, "cannot start a thread: %s",
				  strerror(-rc));
	}
	loop(w);
	look(w);
	write_rows(w);
	rc = csv_close(w->csv);
	if (rc < 0)
		mlgen_fail(err, rc, "log=%s: %s", set->log, strerror(-rc));
	watch_fini(w);
	*abandoned = !atomic_load(&w->is_done);
	if (!*abandoned) {
		pthread_join(conductor, NULL);
		mem_free(w);
	}
	return rc;
}
