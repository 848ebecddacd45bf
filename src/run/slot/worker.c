/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - a thread that moves bytes: its engine, CPUs, buffer and statistics. */
#include "run/slot/slot.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "io/host.h"
#include "job/job.h"

void failure_init(struct failure *f, void (*stop_all)(void *arg), void *arg)
{
	*f = (struct failure){ .stop_all = stop_all, .arg = arg };
	pthread_mutex_init(&f->lock, NULL);
}

void failure_fini(struct failure *f)
{
	pthread_mutex_destroy(&f->lock);
}

void failure_set(struct failure *f, const struct mlgen_err *err)
{
	pthread_mutex_lock(&f->lock);
	bool is_first = !atomic_load(&f->is_set);
	if (is_first) {
		f->err = *err;
		atomic_store(&f->is_set, true);
	}
	pthread_mutex_unlock(&f->lock);
	if (is_first)
		f->stop_all(f->arg);
}

int placement_init(struct placement *p, const struct placement_request *req, struct mlgen_err *err)
{
	const struct job *job = req->job;
	struct mlgen_err why = { 0 };
	int node = -1;

	*p = (struct placement){ .has_nodes = topology_has_nodes(req->root) };
	if (req->mount)
		node = topology_disk_node(req->root, req->mount, &why);
	else
		mlgen_fail(&why, -ENODATA, "ioengine=%s touches no file", job->engine->name);
	p->disk_node = node < 0 ? -1 : node;
	/* Does numa=device bind threads to CPUs of the disk's node? */
	bool disk = job->numa == NUMA_DEVICE && job_work(job)->has_accelerators;
	if (disk && !p->has_nodes)
		mem_replace(&p->unbound, "this host has one NUMA node, so every CPU is near");
	else if (disk && p->disk_node < 0)
		mem_replace(&p->unbound, why.text);
	disk &= !p->unbound;
	if (job->cpus_allowed && !req->allowed) {
		int rc = host_set_cpus(job->cpus_allowed, false, err);

		if (rc < 0)
			return rc;
	}
	if (!disk && !job->numa_cpu_nodes) {
		mem_replace(&p->rank_cpus, job->cpus_allowed);
		mem_replace(&p->loader_cpus, job->cpus_allowed);
		return 0;
	}

	const struct topology_request wish = { .cpus = job->cpus_allowed,
					       .nodes = job->numa_cpu_nodes,
					       .disk_node = disk ? p->disk_node : -1,
					       .disk = disk ? req->mount->device : NULL };
	struct topology *t = NULL;
	char *threads = NULL;
	int rc = topology_new(&t, req->allowed, err);

	if (rc == 0)
		rc = topology_plan(t, &wish, &threads, &p->loader_cpus, err);
	topology_free(t);
	/* numa=device does not bind the accelerators' threads. */
	mem_replace(&p->rank_cpus, wish.nodes ? threads : job->cpus_allowed);
	mem_free(threads);
	return rc;
}

void placement_fini(struct placement *p)
{
	mem_free(p->rank_cpus);
	mem_free(p->loader_cpus);
	mem_free(p->unbound);
	*p = (struct placement){ 0 };
}

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
 * Unshare the descriptor table. While no other thread shares it, the kernel takes no reference to a
 * file for each call (4 KiB pread: 45 of 1180 ns), and open and close of many threads do not
 * contend for one lock. Some engines do not allow it. If the kernel refuses (the seccomp profile of
 * a container), the thread keeps the shared table.
 */
static void unshare_descriptors(const struct mlgen_engine_job *job)
{
	if (!(job->engine->caps & MLGEN_CAP_PRIVATE_FDS) || job->shares_fds)
		return;
#ifndef __SANITIZE_THREAD__ /* the sanitizer identifies a descriptor by its number alone */
	(void)unshare(CLONE_FILES);
#endif
}

struct worker *worker_counted(struct worker *w)
{
	while (w && w->share == WORKER_APART)
		w = w->next;
	return w;
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
	/* Workers are never removed from the list. */
	if (cfg->list && !w->is_listed) {
		struct worker *first = atomic_load(&cfg->list->first);

		w->is_listed = true;
		do
			w->next = first;
		while (!atomic_compare_exchange_weak(&cfg->list->first, &first, w));
	}
	unshare_descriptors(cfg->io.job);
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
		vec_push(&w->ended, w->io);
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

/* Errors are kept, whenever they occurred. */
static void discard_counts(struct worker *w)
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
	discard_counts(w);
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
		/* usage_end() subtracts the usage so far from the current one, so that the next
		 * usage_end() adds up both parts. */
		usage_end(&w->stat.usage);
	}
	w->is_paused = false;
}

void worker_stop_counting(struct worker *w, uint64_t now_ns)
{
	atomic_store(&w->has_ended, true);
	if (!w->counts)
		discard_counts(w);
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
		node_watch_add(&w->watch, topology_current_node(), place->disk_node);
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
	clock_join(clock); /* stand in for the thread that did not start */
	clock_leave(clock);
	return mlgen_fail(err, rc,
			  "cannot start a thread: %s; lower accelerators, read_threads or numjobs, "
			  "or raise the limit (ulimit -u)",
			  strerror(-rc));
}

void worker_join(pthread_t *thread)
{
	if (*thread)
		pthread_join(*thread, NULL);
	*thread = 0;
}

static void add_rate(struct rate_series *r, uint64_t counter, double seconds)
{
	double rate = (double)(counter - r->last) / seconds;

	if (counter < r->last)
		return; /* ramp_time ended and reset the counter */
	if (r->rates.count == 0 || rate < r->min)
		r->min = rate;
	if (rate > r->max)
		r->max = rate;
	moments_add(&r->rates, rate);
}

/* `is_first`: there is no interval yet; only store the counters. */
static void add_rates(struct rate_set *set, const uint64_t bytes[2], const uint64_t ios[2],
		      double seconds, bool is_first)
{
	for (unsigned d = 0; d < 2; d++) {
		if (!is_first) {
			add_rate(&set->bytes[d], bytes[d], seconds);
			add_rate(&set->ios[d], ios[d], seconds);
		}
		set->bytes[d].last = bytes[d];
		set->ios[d].last = ios[d];
	}
}

void rates_tick(struct slot *s, uint64_t now_ns, double mhz)
{
	double seconds = (double)(now_ns - s->last_tick_ns) / 1e9;
	const uint64_t bytes[] = { slot_io_bytes(s, 0), slot_io_bytes(s, 1) };
	const uint64_t ios[] = { slot_ios(s, 0), slot_ios(s, 1) };
	/* An interval that does not lie inside the window is not counted. */
	bool is_first =
		!s->last_tick_ns || !slot_counts(s) || s->last_tick_ns < span_begin_ns(&s->span);
	bool has_records = s->does->records(s) > 1; /* each worker has a record */
	struct worker *w;

	add_rates(&s->rates, bytes, ios, seconds, is_first);
	for (uint64_t i = 0; has_records && (w = s->does->worker(s, i)); i++) {
		if (atomic_load(&w->has_ended))
			continue;
		const uint64_t own_bytes[] = { slot_worker_bytes(w, 0), slot_worker_bytes(w, 1) };
		const uint64_t own_ios[] = { slot_worker_ios(w, 0), slot_worker_ios(w, 1) };
		add_rates(&w->rates, own_bytes, own_ios, seconds, is_first);
	}
	/* The clock is read while the CPUs work: idle CPUs are slower. */
	if (slot_counts(s) && !isnan(mhz)) {
		s->mhz_sum += mhz;
		s->mhz_readings++;
	}
	s->last_tick_ns = now_ns;
}
