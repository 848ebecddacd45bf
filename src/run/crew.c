/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - threads that take one index after the other. */
#include "run/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "field/fields.h"
#include "io/engines.h"
#include "io/host.h"

#define LEAST_WRITERS 8u
#define MOST_WRITERS 16u
#define LEAST_BUFFER_BYTES UINT64_C(65536)
#define PAGE_BYTES UINT64_C(4096)

/* At once, of a worker: the file that it makes, and its folder. */
#define FILES_OPEN 2

struct crew {
	struct crew_config config;
	struct crew_task task;
	struct mlgen_engine_job job;
	void *opts;
	pthread_t *threads;
	struct io **ios; /* of its workers; under the view's lock */
	unsigned started, most;

	_Atomic unsigned begun; /* workers; each takes a number */
	_Atomic uint64_t next;
	_Atomic bool failed;
	_Atomic uint32_t left; /* workers that are through */
	int code;              /* of the first error; err beside it */
	struct mlgen_err err;
};

/* Read after join only, so the flag is all the ordering that is needed. */
static void crew_fail(struct crew *c, int code, const struct mlgen_err *err)
{
	if (atomic_exchange_explicit(&c->failed, true, memory_order_relaxed))
		return;
	c->code = code;
	c->err = *err;
}

static void show_crew(struct crew *c, const struct crew *shown)
{
	struct crew_view *v = c->config.view;

	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->crew = shown;
	pthread_mutex_unlock(&v->lock);
}

/* NULL = it has gone. */
static void show_io(struct crew *c, unsigned index, struct io *io)
{
	struct crew_view *v = c->config.view;

	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	c->ios[index] = io;
	pthread_mutex_unlock(&v->lock);
}

static int crew_work(struct crew_worker *w, struct mlgen_err *err)
{
	struct crew *c = w->crew;

	while (!crew_stopped(w)) {
		uint64_t i = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
		int r = i < c->task.count ? c->task.each(w, i, err) : 0;

		if (r || i >= c->task.count)
			return r;
	}
	return 0;
}

static struct trace_ring *own_ring(const struct crew_worker *w)
{
	char role[TRACED_ROLE_BYTES];

	snprintf(role, sizeof(role), "worker %u", w->index);
	return traced_ring(w->crew->config.traced, role, FILES_OPEN);
}

static void serve(struct crew_worker *w)
{
	struct crew *c = w->crew;
	struct trace_ring *trace = own_ring(w);
	const struct io_config cfg = { .job = &c->job,
				       .clock = c->config.clock,
				       .stat = &w->stat,
				       .iodepth = 1,
				       .buf_bytes = c->config.buf_bytes,
				       .stop = c->config.stop,
				       .trace = trace };
	struct mlgen_err err = { 0 };
	int r;

	opstat_init(&w->stat);
	r = io_new(&w->io, &cfg, &err);
	show_io(c, w->index, w->io);
	if (r == 0)
		r = crew_work(w, &err);
	show_io(c, w->index, NULL);
	/* What was not even begun (io.h) has not failed. */
	if (r < 0 && !(r == -ECANCELED && stop_is_set(c->config.stop)))
		crew_fail(c, r, &err);
	io_free(w->io);
	if (trace)
		trace_ring_end(trace);
	opstat_fini(&w->stat);
}

static void *thread_main(void *arg)
{
	struct crew *c = arg;
	struct crew_worker *w = mem_zalloc(sizeof(*w));

	clock_join(c->config.clock);
	w->crew = c;
	w->index = atomic_fetch_add_explicit(&c->begun, 1, memory_order_relaxed);
	w->owner = c->task.owner;
	w->folder_fd = -1;
	serve(w);
	if (w->folder_fd >= 0)
		close(w->folder_fd);
	mem_free(w);
	/* Pairs with the acquire in wait_left. */
	atomic_fetch_add_explicit(&c->left, 1, memory_order_release);
	clock_wake(c->config.clock, &c->left);
	clock_leave(c->config.clock);
	return NULL;
}

static int start_thread(struct crew *c, struct mlgen_err *err)
{
	int r;

	clock_expect(c->config.clock, 1);
	r = thread_start(&c->threads[c->started], thread_main, c);
	if (r == 0) {
		c->started++;
		return 0;
	}
	clock_join(c->config.clock); /* in the place of the expected one */
	clock_leave(c->config.clock);
	return mlgen_fail(err, r, "cannot start a thread: %s", strerror(-r));
}

static int start_engine(struct crew *c, unsigned workers, struct mlgen_err *err)
{
	const struct mlgen_engine *e = c->config.engine;

	if (e->opts_size && !c->config.engine_opts) {
		c->opts = mem_zalloc(e->opts_size);
		field_defaults(e->opts, c->opts);
	}
	c->job = (struct mlgen_engine_job){
		.engine = e,
		.opts = c->opts ? c->opts : c->config.engine_opts,
		.workers = workers,
		.is_preparing = true,
		.find = engines_find,
	};
	return e->job_init ? e->job_init(&c->job, err) : 0;
}

static void free_crew(struct crew *c)
{
	const struct mlgen_engine *e = c->config.engine;

	if (e->job_fini)
		e->job_fini(&c->job);
	if (c->opts)
		field_fini(e->opts, c->opts);
	show_crew(c, NULL);
	mem_free(c->opts);
	mem_free(c->ios);
	mem_free(c->threads);
	mem_free(c);
}

static void wait_left(struct crew *c, uint64_t deadline_ns)
{
	uint32_t seen;

	/* Pairs with the release in thread_main. */
	while ((seen = atomic_load_explicit(&c->left, memory_order_acquire)) < c->started)
		if (clock_wait(c->config.clock, &c->left, seen, deadline_ns) == -ETIMEDOUT)
			return;
}

static void crew_join_threads(struct crew *c)
{
	wait_left(c, CLOCK_NEVER);
	clock_leave(c->config.clock);
	for (unsigned i = 0; i < c->started; i++)
		pthread_join(c->threads[i], NULL);
	clock_expect(c->config.clock, 1);
	clock_join(c->config.clock);
}

unsigned crew_writers(void)
{
	struct host host;
	unsigned n;

	host_read(&host);
	n = (unsigned)host.cpus * 2;
	return n < LEAST_WRITERS ? LEAST_WRITERS : n > MOST_WRITERS ? MOST_WRITERS : n;
}

size_t crew_writer_bytes(uint64_t largest_file_bytes)
{
	uint64_t n = largest_file_bytes;

	if (n > CREW_MOST_BYTES)
		n = CREW_MOST_BYTES;
	if (n < LEAST_BUFFER_BYTES)
		n = LEAST_BUFFER_BYTES;
	return (size_t)((n + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

int crew_start(struct crew **out, const struct crew_config *cfg, const struct crew_task *task,
	       struct mlgen_err *err)
{
	struct crew *c = mem_zalloc(sizeof(*c));
	unsigned workers = cfg->workers;
	int r;

	if (workers > task->count)
		workers = (unsigned)task->count;
	c->config = *cfg;
	c->task = *task;
	c->threads = mem_array(workers, sizeof(*c->threads));
	c->ios = mem_array(workers, sizeof(struct io *));
	c->most = workers;
	show_crew(c, c);
	r = start_engine(c, workers, err);
	for (unsigned i = 0; r == 0 && i < workers; i++)
		r = start_thread(c, err);
	if (r) {
		atomic_store_explicit(&c->failed, true, memory_order_relaxed);
		crew_join_threads(c);
		free_crew(c);
		return r;
	}
	*out = c;
	return 0;
}

void crew_wait(struct crew *c, uint64_t deadline_ns)
{
	wait_left(c, deadline_ns);
}

int crew_finish(struct crew *c, struct mlgen_err *err)
{
	int r;

	crew_join_threads(c);
	r = c->code;
	if (r)
		mlgen_fail(err, r, "%s", c->err.text);
	else if (stop_is_set(c->config.stop))
		r = CREW_STOPPED;
	free_crew(c);
	return r;
}

int crew_run(const struct crew_config *cfg, const struct crew_task *task, struct mlgen_err *err)
{
	struct crew *c;
	int r = crew_start(&c, cfg, task, err);

	return r ? r : crew_finish(c, err);
}

void crew_look(struct crew_view *v, void (*look)(void *arg, const struct io *io), void *arg)
{
	pthread_mutex_lock(&v->lock);
	for (unsigned i = 0; v->crew && i < v->crew->most; i++)
		if (v->crew->ios[i])
			look(arg, v->crew->ios[i]);
	pthread_mutex_unlock(&v->lock);
}

bool crew_stopped(const struct crew_worker *w)
{
	const struct crew *c = w->crew;

	return atomic_load_explicit(&c->failed, memory_order_relaxed) ||
	       stop_is_set(c->config.stop);
}

int crew_do(struct crew_worker *w, enum mlgen_op op, struct mlgen_file *file)
{
	struct io_op o = { .io = { .op = op, .file = file } };

	return (int)io_do(w->io, &o);
}
