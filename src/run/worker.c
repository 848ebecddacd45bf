/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - see worker.h. */
#include "run/worker.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "io/host.h"

void worker_init(struct worker *w)
{
	opstat_init(&w->stat);
	pthread_mutex_init(&w->books, NULL);
}

void worker_fini(struct worker *w)
{
	for (size_t i = 0; i < w->ended.count; i++)
		io_free(w->ended.at[i]);
	vec_fini(&w->ended);
	io_free(w->io);
	opstat_fini(&w->stat);
	opstat_fini(&w->left_out);
	pthread_mutex_destroy(&w->books);
}

/*
 * A table of descriptors of its own: while nobody shares it, the kernel takes no reference to a
 * file for each call (4 KiB pread: 45 of 1180 ns), and open and close of many threads do not meet
 * at one lock. Not every engine can work so, and where it is refused (the seccomp profile of a
 * container) the thread goes without.
 */
static void own_descriptors(const struct mlgen_engine_job *job)
{
	if (!(job->engine->caps & MLGEN_CAP_PRIVATE_FDS) || job->shares_fds)
		return;
#ifndef __SANITIZE_THREAD__ /* which knows a descriptor by its number alone */
	(void)unshare(CLONE_FILES);
#endif
}

static void keep_ended(struct worker *w)
{
	vec_push(&w->ended, w->io);
}

struct worker *worker_counted(struct worker *w)
{
	while (w && w->share == WORKER_APART)
		w = w->next;
	return w;
}

/* The list is only ever added to. */
static void join(struct worker_list *list, struct worker *w)
{
	struct worker *first = atomic_load(&list->first);

	w->is_listed = true;
	do
		w->next = first;
	while (!atomic_compare_exchange_weak(&list->first, &first, w));
}

int worker_open(struct worker *w, const struct worker_config *cfg, struct mlgen_err *err)
{
	struct io_config io_cfg = cfg->io;
	struct io *io = NULL;
	const char *cpus = cfg->place ? cfg->place->loader_cpus : NULL;
	int rc = cpus ? host_set_cpus(cpus, true, err) : 0;

	if (cfg->has_ramp && !w->left_out.sample)
		opstat_init(&w->left_out);
	w->share = cfg->share;
	if (cfg->list && !w->is_listed)
		join(cfg->list, w);
	own_descriptors(cfg->io.job);
	io_cfg.stat = &w->stat;
	w->trace =
		traced_ring(cfg->traced, cfg->role, io_cfg.files ? io_cfg.files : io_cfg.iodepth);
	io_cfg.trace = w->trace;
	if (rc == 0)
		rc = io_new(&io, &io_cfg, err);
	if (rc < 0)
		return rc;
	if (cfg->job_name && io_note(io)[0] && !w->io)
		log_note("%s: %s", cfg->job_name, io_note(io));
	if (w->io)
		keep_ended(w);
	atomic_store(&w->io, io);
	return 0;
}

void worker_close(struct worker *w)
{
	if (w->io)
		io_stop(w->io);
	if (w->trace)
		trace_ring_end(w->trace);
	w->trace = NULL;
}

/* But for its errors, which are some whenever they were. */
static void forget_counts(struct worker *w)
{
	uint64_t errors = atomic_load_explicit(&w->stat.errors, memory_order_relaxed);

	pthread_mutex_lock(&w->books);
	if (w->left_out.sample) {
		opstat_merge(&w->left_out, &w->stat);
		atomic_store(&w->left_out.errors, 0);
	}
	opstat_reset(&w->stat);
	pthread_mutex_unlock(&w->books);
	atomic_store_explicit(&w->stat.errors, errors, memory_order_relaxed);
}

void worker_start_counting(struct worker *w, const struct placement *place, uint64_t now_ns)
{
	forget_counts(w);
	w->watch = (struct node_watch){ 0 };
	worker_watch_node(w, place);
	usage_begin(&w->stat.usage);
	w->begin_ns = now_ns;
	w->counts = true;
}

void worker_pause(struct worker *w, uint64_t now_ns)
{
	w->is_paused = true;
	if (!w->counts)
		return;
	w->stat.wall_ns = now_ns - w->begin_ns;
	usage_end(&w->stat.usage);
}

void worker_resume(struct worker *w, uint64_t now_ns)
{
	if (w->counts && w->is_paused) {
		w->begin_ns = now_ns - w->stat.wall_ns;
		/* What was counted so far taken off what is now: the next end has both parts. */
		usage_end(&w->stat.usage);
	}
	w->is_paused = false;
}

void worker_stop_counting(struct worker *w, uint64_t now_ns)
{
	atomic_store(&w->has_ended, true);
	if (!w->counts)
		forget_counts(w);
	else if (!w->is_paused)
		worker_pause(w, now_ns);
}

bool worker_has_error(const struct worker *w)
{
	return w->first_error_ns > 0;
}

void worker_keep_error(struct worker *w, const struct mlgen_err *err, uint64_t now_ns)
{
	w->first_error_ns = now_ns ? now_ns : 1;
	w->first_errno = (uint64_t)-err->code;
	snprintf(w->first_error, sizeof(w->first_error), "%.*s", (int)sizeof(w->first_error) - 1,
		 err->text);
}

void worker_watch_node(struct worker *w, const struct placement *place)
{
	if (place && place->has_nodes)
		node_watch_add(&w->watch, topology_here(), place->disk_node);
}

int worker_start(pthread_t *thread, struct clock *clock, void *(*main)(void *), void *arg,
		 struct mlgen_err *err)
{
	int rc;

	clock_expect(clock, 1);
	rc = thread_start(thread, main, arg);
	if (rc == 0)
		return 0;
	*thread = 0;
	clock_join(clock); /* in the place of the one that is not */
	clock_leave(clock);
	return mlgen_fail(err, rc,
			  "cannot start a thread: %s; fewer accelerators, read_threads or numjobs, "
			  "or a higher limit (ulimit -u)",
			  strerror(-rc));
}

void worker_join(pthread_t *thread)
{
	if (*thread)
		pthread_join(*thread, NULL);
	*thread = 0;
}
