/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - thread pools for the indexes of a task, and the files that their threads create. */
#include "run/make/make_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "io/engines.h"
#include "io/host.h"
#include "io/devices.h"

/* ---- thread pools ---- */

#define LEAST_WRITERS 8u
#define MOST_WRITERS 16u
#define LEAST_BUFFER_BYTES UINT64_C(65536)
#define PAGE_BYTES UINT64_C(4096)

/* Number of files that a worker has open: the file that it makes, and its folder. */
#define FILES_OPEN 2

struct thread_pool {
	struct pool_config config;
	struct pool_task task;
	struct mlgen_engine_job job;
	void *opts;
	pthread_t *threads;
	struct io **ios; /* per worker; under the view's lock */
	unsigned started, most;

	_Atomic unsigned begun; /* workers that have begun; index of the next worker */
	_Atomic uint64_t next;  /* next index of the task */
	_Atomic bool failed;
	_Atomic uint32_t ended; /* number of workers that have ended */
	int code;               /* first error, and its message */
	struct mlgen_err err;
};

static void show_pool(struct thread_pool *p, const struct thread_pool *shown)
{
	struct pool_view *v = p->config.view;

	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->pool = shown;
	pthread_mutex_unlock(&v->lock);
}

static void show_io(struct thread_pool *p, unsigned index, struct io *io)
{
	struct pool_view *v = p->config.view;

	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	p->ios[index] = io;
	pthread_mutex_unlock(&v->lock);
}

static void *thread_main(void *arg)
{
	struct thread_pool *p = arg;
	struct pool_worker *w = mem_zalloc(sizeof(*w));
	char role[TRACED_ROLE_BYTES];
	struct mlgen_err err = { 0 };
	int r;

	clock_join(p->config.clock);
	w->pool = p;
	w->index = atomic_fetch_add_explicit(&p->begun, 1, memory_order_relaxed);
	w->owner = p->task.owner;
	w->folder_fd = -1;
	snprintf(role, sizeof(role), "worker %u", w->index);
	struct trace_ring *trace = traced_ring(p->config.traced, role, FILES_OPEN);
	const struct io_config cfg = { .job = &p->job,
				       .clock = p->config.clock,
				       .stat = &w->stat,
				       .iodepth = 1,
				       .buf_bytes = p->config.buf_bytes,
				       .stop = p->config.stop,
				       .trace = trace };

	opstat_init(&w->stat);
	r = io_new(&w->io, &cfg, &err);
	show_io(p, w->index, w->io);
	while (r == 0 && !pool_is_stopping(w)) {
		uint64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);

		if (i >= p->task.count)
			break;
		r = p->task.each(w, i, &err);
	}
	show_io(p, w->index, NULL);

	/* A canceled operation (io.h) never began, which is not a failure if the pool was
	 * stopped. */
	bool failed = r < 0 && !(r == -ECANCELED && stop_is_set(p->config.stop));
	/* code and err are read after join only, so a relaxed flag is enough. */
	if (failed && !atomic_exchange_explicit(&p->failed, true, memory_order_relaxed)) {
		p->code = r;
		p->err = err;
	}
	io_free(w->io);
	if (trace)
		trace_ring_end(trace);
	opstat_fini(&w->stat);
	if (w->folder_fd >= 0)
		close(w->folder_fd);
	mem_free(w);
	/* Pairs with the acquire in pool_wait. */
	atomic_fetch_add_explicit(&p->ended, 1, memory_order_release);
	clock_wake(p->config.clock, &p->ended);
	clock_leave(p->config.clock);
	return NULL;
}

static void thread_pool_free(struct thread_pool *p)
{
	const struct mlgen_engine *e = p->config.engine;

	if (e->job_fini)
		e->job_fini(&p->job);
	if (p->opts)
		field_fini(e->opts, p->opts);
	show_pool(p, NULL);
	mem_free(p->opts);
	mem_free(p->ios);
	mem_free(p->threads);
	mem_free(p);
}

/* Wait until all workers have ended, or until deadline_ns. */
static void pool_wait(struct thread_pool *p, uint64_t deadline_ns)
{
	uint32_t seen;

	/* Pairs with the release in thread_main. */
	while ((seen = atomic_load_explicit(&p->ended, memory_order_acquire)) < p->started)
		if (clock_wait(p->config.clock, &p->ended, seen, deadline_ns) == -ETIMEDOUT)
			return;
}

static void pool_join(struct thread_pool *p)
{
	pool_wait(p, CLOCK_NEVER);
	clock_leave(p->config.clock);
	for (unsigned i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	clock_expect(p->config.clock, 1);
	clock_join(p->config.clock);
}

unsigned pool_writers(void)
{
	struct host host;
	unsigned n;

	host_read(&host);
	n = (unsigned)host.cpus * 2;
	return n < LEAST_WRITERS ? LEAST_WRITERS : n > MOST_WRITERS ? MOST_WRITERS : n;
}

size_t pool_writer_bytes(uint64_t largest_file_bytes)
{
	uint64_t n = largest_file_bytes;

	if (n > POOL_MOST_BYTES)
		n = POOL_MOST_BYTES;
	if (n < LEAST_BUFFER_BYTES)
		n = LEAST_BUFFER_BYTES;
	return (size_t)((n + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

/* The calling thread must have joined the clock. 0 or -errno with err. */
static int pool_start(struct thread_pool **out, const struct pool_config *cfg,
		      const struct pool_task *task, struct mlgen_err *err)
{
	struct thread_pool *p = mem_zalloc(sizeof(*p));
	const struct mlgen_engine *e = cfg->engine;
	unsigned workers = cfg->workers;
	int r;

	if (workers > task->count)
		workers = (unsigned)task->count;
	p->config = *cfg;
	p->task = *task;
	p->threads = mem_array(workers, sizeof(*p->threads));
	p->ios = mem_array(workers, sizeof(struct io *));
	p->most = workers;
	show_pool(p, p);
	if (e->opts_size && !cfg->engine_opts) {
		p->opts = mem_zalloc(e->opts_size);
		field_defaults(e->opts, p->opts);
	}
	p->job = (struct mlgen_engine_job){
		.engine = e,
		.opts = p->opts ? p->opts : cfg->engine_opts,
		.workers = workers,
		.is_preparing = true,
		.find = engines_find,
	};
	r = e->job_init ? e->job_init(&p->job, err) : 0;
	while (r == 0 && p->started < workers) {
		clock_expect(cfg->clock, 1);
		r = thread_start(&p->threads[p->started], thread_main, p);
		if (r == 0) {
			p->started++;
			continue;
		}
		clock_join(cfg->clock); /* instead of the expected thread */
		clock_leave(cfg->clock);
		mlgen_fail(err, r, "cannot start a thread: %s", strerror(-r));
	}
	if (r) {
		atomic_store_explicit(&p->failed, true, memory_order_relaxed);
		pool_join(p);
		thread_pool_free(p);
		return r;
	}
	*out = p;
	return 0;
}

/* Join the workers and free the pool: 0, the first error, or POOL_STOPPED. */
static int pool_finish(struct thread_pool *p, struct mlgen_err *err)
{
	int r;

	pool_join(p);
	r = p->code;
	if (r)
		mlgen_fail(err, r, "%s", p->err.text);
	else if (stop_is_set(p->config.stop))
		r = POOL_STOPPED;
	thread_pool_free(p);
	return r;
}

int pool_run(const struct pool_config *cfg, const struct pool_task *task, struct mlgen_err *err)
{
	struct thread_pool *p;
	int r = pool_start(&p, cfg, task, err);

	return r ? r : pool_finish(p, err);
}

void pool_look(struct pool_view *v, void (*look)(void *arg, const struct io *io), void *arg)
{
	pthread_mutex_lock(&v->lock);
	for (unsigned i = 0; v->pool && i < v->pool->most; i++)
		if (v->pool->ios[i])
			look(arg, v->pool->ios[i]);
	pthread_mutex_unlock(&v->lock);
}

bool pool_is_stopping(const struct pool_worker *w)
{
	const struct thread_pool *p = w->pool;

	return atomic_load_explicit(&p->failed, memory_order_relaxed) ||
	       stop_is_set(p->config.stop);
}

int pool_do(struct pool_worker *w, enum mlgen_op op, struct mlgen_file *file)
{
	struct io_op o = { .io = { .op = op, .file = file } };

	return (int)io_do(w->io, &o);
}

/* ---- file makers ---- */

/* Longest time until the work is announced. */
#define ANNOUNCE_MOST_SECONDS 5

void filemaker_init(struct filemaker *m, uint64_t largest_file_bytes)
{
	struct pool_config *c = &m->pool;

	if (!(c->engine->caps & MLGEN_CAP(MLGEN_WRITE))) {
		c->engine = engines_find("psync");
		c->engine_opts = NULL;
	}
	c->stop = &m->progress->stop;
	c->view = &m->progress->pool;
	c->workers = pool_writers();
	c->buf_bytes = pool_writer_bytes(largest_file_bytes);
}

void filemaker_begin(struct filemaker *m)
{
	struct filemaker_progress *p = m->progress;

	count_set(&p->files_total, count_get(&m->present_files) + count_get(&m->missing_files));
	count_set(&p->bytes_total, count_get(&m->present_bytes) + count_get(&m->missing_bytes));
	count_set(&p->files_done, count_get(&m->present_files));
	count_set(&p->bytes_done, count_get(&m->present_bytes));
	m->start_ns = clock_now(m->pool.clock);
}

int filemaker_run(struct filemaker *m, const struct pool_task *task,
		  void (*announce)(const void *arg, const char *time), const void *arg,
		  struct mlgen_err *err)
{
	char time[FILEMAKER_TIME_BYTES];
	struct thread_pool *pool;
	int r = pool_start(&pool, &m->pool, task, err);

	if (r)
		return r;
	for (unsigned i = 1; i <= ANNOUNCE_MOST_SECONDS; i++) {
		pool_wait(pool, m->start_ns + i * NS_PER_S);
		if (count_get(&m->synced_bytes))
			break;
	}
	filemaker_time(time, clock_now(m->pool.clock) - m->start_ns, count_get(&m->synced_bytes),
		       count_get(&m->missing_bytes));
	announce(arg, time);
	return pool_finish(pool, err);
}

/* Bytes that are only in the page cache say nothing about the device's speed. */
void filemaker_time(char out[FILEMAKER_TIME_BYTES], uint64_t seen_ns, uint64_t synced_bytes,
		    uint64_t all_bytes)
{
	char time[UNITS_TEXT_BYTES];
	double ns = (double)seen_ns;

	if (synced_bytes >= all_bytes) {
		snprintf(out, FILEMAKER_TIME_BYTES, "in %s", units_human_time(time, seen_ns));
		return;
	}
	if (synced_bytes == 0 || seen_ns < NS_PER_S) {
		snprintf(out, FILEMAKER_TIME_BYTES, "time unknown");
		return;
	}
	ns *= (double)all_bytes / (double)synced_bytes;
	/* An estimate of 10 s or more has no use for fractions. */
	if (ns >= 10e9)
		ns = round(ns / 1e9) * 1e9;
	snprintf(out, FILEMAKER_TIME_BYTES, "about %s, estimate",
		 units_human_time(time, (uint64_t)ns));
}

uint64_t filemaker_usable(uint64_t free_bytes, bool allow_fill)
{
	return allow_fill ? free_bytes : free_bytes / 2;
}

int filemaker_check_room(const struct filemaker_room *room, struct mlgen_err *err)
{
	uint64_t missing = room->missing_bytes, free_bytes = room->free_bytes;
	bool fills = !room->allow_fill && missing <= free_bytes;
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];

	if (missing <= filemaker_usable(free_bytes, room->allow_fill))
		return 0;
	return mlgen_fail(err, -ENOSPC, "%s: %s %s, %s free%s; %s%s", room->path,
			  units_human_bytes(need, (double)missing), room->purpose,
			  units_human_bytes(have, (double)free_bytes),
			  room->allow_fill ? "" : ", of which half may be used", room->way_out,
			  fills ? room->or_fill : "");
}

int filemaker_check_writable(const char *path, const char *what, const char *option,
			     struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];
	struct mount m;
	int r = mount_read(&m, path, err);

	if (r)
		return r;
	if (*dirs_explain_failure(way, path, -ENOTDIR))
		return mlgen_fail(err, -ENOTDIR, "%s: %s%s", path, strerror(ENOTDIR), way);
	if (m.read_only)
		return mlgen_fail(err, -EROFS, "%s: %s to write: %s at %s; choose another %s", path,
				  what, strerror(EROFS), m.target, option);
	if (dirs_can_write(path))
		return 0;
	return mlgen_fail(
		err, -EACCES,
		"%s: %s to write: %s; make it writable for this user, or choose another %s", path,
		what, strerror(EACCES), option);
}

int filemaker_sync_folder(const char *path, int excused, struct mlgen_err *err)
{
	int fd = below_open_root(path);
	int r = fd < 0 ? fd : below_sync(fd);

	if (fd >= 0)
		close(fd);
	return r == 0 || r == excused ? 0 : mlgen_fail(err, r, "%s: fsync: %s", path, strerror(-r));
}

/* ---- new files ---- */

/* Bytes that are written between two syncs of a file. */
#define SYNC_BYTES (UINT64_C(16) << 20)

/* Length of the advice after ENOSPC. */
#define NO_ROOM_BYTES 160

static const char *newfile_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Rename without replacing an existing file. If the filesystem has no RENAME_NOREPLACE, check just
 * before that there is no such file. */
static int rename_new(struct newfile *x, struct io_op *op)
{
	const char *to = op->io.path2;
	int dir = mlgen_file_dir(&x->file);

	if (renameat2(dir, mlgen_file_name(&x->file), dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return faccessat(dir, to, F_OK, 0) == 0 ? -EEXIST : (int)io_do(x->w->io, op);
}

/*
 * Sync the file and drop it from the page cache. For a piece, only the bytes of this worker are
 * dropped, since other workers write elsewhere; otherwise the whole file, since its header may have
 * been rewritten.
 */
static int sync_and_drop(struct newfile *x, enum mlgen_op sync, struct mlgen_err *err)
{
	struct io_op advise = {
		.io = { .op = MLGEN_ADVISE, .file = &x->file, .advice = POSIX_FADV_DONTNEED }
	};
	int r = pool_do(x->w, sync, &x->file);

	if (r < 0)
		return newfile_failed(x, opstat_name(sync), r, err);
	if (x->is_piece) {
		advise.io.off = x->end - x->unsynced;
		advise.io.len_bytes = x->unsynced;
	}
	if (!x->is_piece || x->unsynced)
		io_do(x->w->io, &advise); /* a failure costs only memory */
	count_add_shared(&x->maker->synced_bytes, x->unsynced);
	x->unsynced = 0;
	return 0;
}

int newfile_temporary(char out[PATH_MAX], const char *path, const struct newfile_kind *kind)
{
	const char *name = newfile_name_of(path);
	int n = snprintf(out, PATH_MAX, "%.*s.%s%s", (int)(name - path), path, name, kind->suffix);

	return n < PATH_MAX && strlen(newfile_name_of(out)) <= NAME_MAX ? 0 : -ENAMETOOLONG;
}

int newfile_failed(const struct newfile *x, const char *what, int code, struct mlgen_err *err)
{
	uint64_t left = x->maker->missing_bytes -
			atomic_load_explicit(&x->maker->made_bytes, memory_order_relaxed);
	char no_room[NO_ROOM_BYTES], text[UNITS_TEXT_BYTES];
	char why[NOROOM_BYTES];

	noroom_text(why, x->path, code, x->bytes);
	if (code != -ENOSPC && code != -EDQUOT)
		return mlgen_fail(err, code, "%s: %s: %s%s", x->path, what, strerror(-code), why);
	units_human_bytes(text, (double)left);
	x->maker->kind->format_no_room(x, text, no_room, sizeof(no_room));
	return mlgen_fail(err, code, "%s: %s: %s%s; %s", x->path, what, strerror(-code), why,
			  no_room);
}

int newfile_write(struct newfile *x, uint64_t off, size_t len, struct mlgen_err *err)
{
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &x->file, .off = off, .len_bytes = len }
	};
	int r = (int)io_do(x->w->io, &op);
	char what[48];

	if (r >= 0)
		return 0;
	snprintf(what, sizeof(what), "write at %" PRIu64, off);
	return newfile_failed(x, what, r, err);
}

int newfile_fill(struct newfile *x, void *source, struct mlgen_err *err)
{
	const struct newfile_kind *kind = x->maker->kind;
	uint64_t off;
	size_t bytes, len;
	void *buf = io_buffer(x->w->io, &bytes);
	int r;

	while ((r = kind->next(source, buf, bytes, &off, &len, err)) > 0) {
		if (pool_is_stopping(x->w))
			return POOL_STOPPED;
		r = newfile_write(x, off, len, err);
		if (r == 0 && off == x->end) {
			count_add_shared(&x->maker->progress->bytes_done, len);
			x->end += len;
			x->unsynced += len;
		}
		if (r == 0 && x->unsynced >= SYNC_BYTES)
			r = sync_and_drop(x, MLGEN_FDATASYNC, err);
		if (r)
			return r;
	}
	if (r == 0 && x->is_piece && x->unsynced)
		r = sync_and_drop(x, MLGEN_FDATASYNC, err);
	return r;
}

int newfile_end(struct newfile *x, int so_far, bool is_whole, struct mlgen_err *err)
{
	bool replaces = x->maker->kind->replaces;
	struct io_op op = { .io = { .op = MLGEN_RENAME,
				    .file = &x->file,
				    .path2 = x->file.name ? newfile_name_of(x->path) : x->path } };
	int r = so_far, closed;

	if (r == 0 && is_whole)
		r = sync_and_drop(x, MLGEN_FSYNC, err);
	closed = pool_do(x->w, MLGEN_CLOSE, &x->file);
	if (r == 0 && closed < 0)
		r = newfile_failed(x, opstat_name(MLGEN_CLOSE), closed, err);
	if (r || !is_whole)
		return r;

	r = replaces ? (int)io_do(x->w->io, &op) : rename_new(x, &op);
	if (r == -EEXIST && !replaces)
		return mlgen_fail(err, -EEXIST,
				  "%s: another program created this file while mlgen laid it out; "
				  "the file is kept, start again to use it",
				  x->path);
	if (r < 0)
		return newfile_failed(x, opstat_name(MLGEN_RENAME), r, err);
	count_add_shared(&x->maker->made_files, 1);
	count_add_shared(&x->maker->made_bytes, x->bytes);
	count_add_shared(&x->maker->progress->files_done, 1);
	return 0;
}

/* ---- new directories ---- */

/* Remove the last component; false if the path is the root or "." already. */
static bool cut_last(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	char *slash = strrchr(path, '/');
	if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
		return false;
	if (slash)
		slash[slash == path] = '\0';
	else
		memcpy(path, ".", 2);
	return true;
}

static bool is_empty_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_empty = fd >= 0 && dirs_is_empty(fd);

	if (fd >= 0)
		close(fd);
	return is_empty;
}

const char *newdir_format_place(struct newdir_place *to, const struct job *j, const char *option,
				const char *path)
{
	const struct diag_place at = j->origins ? job_place(j, option) : j->at;
	size_t len = 0;

	if (at.file)
		len = (size_t)snprintf(to->text, sizeof(to->text), "%s:%u: ", at.file, at.line);
	if (len < sizeof(to->text))
		snprintf(to->text + len, sizeof(to->text) - len, "%s: %s of job '%s'", option, path,
			 j->name);
	return to->text;
}

int newdir_check(const struct job *j, const char *option, const char *path, struct mlgen_err *err)
{
	char at[PATH_MAX], parent[PATH_MAX], missing[PATH_MAX], real[PATH_MAX];
	struct newdir_place place;
	unsigned count = 0;

	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return 0; /* the mkdir of the caller will report this */
	memcpy(parent, at, PATH_MAX);
	while (access(at, F_OK) != 0 && errno == ENOENT && cut_last(parent)) {
		memcpy(missing, at, PATH_MAX);
		memcpy(at, parent, PATH_MAX);
		count++;
	}
	if (path[0] == '/' && count > 1)
		return mlgen_fail(
			err, -ENOENT,
			"%s: %s is missing, and mlgen creates only the last folder of an absolute "
			"path; mount the filesystem that belongs there, or create the folder",
			newdir_format_place(&place, j, option, path), missing);
	if (realpath(at, real) && is_empty_directory(real) && fstab_expects_mount("", real))
		return mlgen_fail(err, -ENOENT,
				  "%s: nothing is mounted on %s, although fstab has a filesystem "
				  "for it; mount it, or name another directory",
				  newdir_format_place(&place, j, option, path), real);
	return 0;
}
