/* SPDX-License-Identifier: Apache-2.0 */
/* tier_directory.c - places for samples: threads that fill, and a folder of files. */
#include "work/train/tier/tier_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

#define TIER_SHARDS 256u

#define TIER_SLAB "slab"

#define TIER_MARKER ".mlgen-cache"

/* ---- threads ---- */

/* Its requests are those of one unit after the other. */
#define THREAD_DEPTH 1u

void tier_thread_init(struct tier_thread *t)
{
	worker_init(&t->worker);
}

void tier_thread_end(struct tier_thread *t)
{
	tier_loader_free(t->loader);
	reader_free(t->reader);
	t->loader = NULL;
	t->reader = NULL;
}

void tier_thread_fini(struct tier_thread *t)
{
	tier_thread_end(t);
	worker_fini(&t->worker);
}

static int open_thread(struct tier_thread *th)
{
	struct tier *t = th->cache->tier;
	struct worker_config cfg = {
		.place = t->cfg.place,
		.traced = t->cfg.traced,
		.io = { .job = t->cfg.engine_job,
			.clock = t->cfg.clock,
			.iodepth = THREAD_DEPTH,
			.transfers = THREAD_DEPTH,
			.files = th->files,
			.buf_bytes = th->buf_bytes,
			.mem = MEM_MALLOC,
			.stop = th->may_stop ? t->cfg.stop : NULL },
	};
	int rc;

	cfg.list = t->cfg.workers;
	cfg.share = th->is_apart ? WORKER_APART : WORKER_MOVES;
	cfg.has_ramp = t->job->ramp_time_ns > 0;
	snprintf(cfg.role, sizeof(cfg.role), "%s", th->role);
	rc = worker_open(&th->worker, &cfg, &th->err);
	if (rc < 0)
		return rc;
	th->reader = reader_new(th->worker.io, &th->worker.stat, 1, THREAD_DEPTH);
	th->loader = tier_loader_new(t, th->cache->own_first, th->number, &th->worker, th->reader,
				     &th->err);
	if (!th->loader)
		return th->err.code;
	th->loader->fills_itself = th->fills_itself;
	return 0;
}

static void close_thread(struct tier_thread *th)
{
	struct tier *t = th->cache->tier;

	if (th->loader && !th->is_apart)
		tier_loader_close(th->loader);
	else if (th->loader && t->place->leave)
		t->place->leave(th->loader);
	if (!th->is_apart)
		worker_stop_counting(&th->worker, clock_now(t->cfg.clock));
	worker_close(&th->worker);
}

static void *thread_main(void *thread)
{
	struct tier_thread *th = thread;
	struct clock *clock = th->cache->tier->cfg.clock;

	clock_join(clock);
	if (open_thread(th) == 0)
		th->work(th);
	close_thread(th);
	clock_leave(clock);
	return NULL;
}

int tier_thread_start(struct tier_thread *t, struct mlgen_err *err)
{
	return worker_start(&t->worker.thread, t->cache->tier->cfg.clock, thread_main, t, err);
}

int tier_thread_join(struct tier_thread *t, struct mlgen_err *err)
{
	worker_join(&t->worker.thread);
	if (!t->err.code || t->err.code == -ECANCELED)
		return 0;
	if (err && !err->code)
		*err = t->err;
	return t->err.code;
}

void tier_thread_begin(struct tier_thread *t)
{
	const struct tier_config *cfg = &t->cache->tier->cfg;

	if (!t->worker.counts && !t->is_apart && (!cfg->counting || atomic_load(cfg->counting)))
		worker_start_counting(&t->worker, cfg->place, clock_now(cfg->clock));
}

int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task)
{
	int rc;

	*task = reader_finish_one(t->reader, &rc);
	if (*task)
		return 0;
	return mlgen_fail(&t->err, rc, "%s: cannot go on: %s", name, strerror(-rc));
}

/* ---- fillers ---- */

static void tier_directory_fill(struct tier_way *w);
static int tier_directory_filled(struct tier_way *w, const struct read_task *task,
				 struct mlgen_err *err);

/* A queue whose length nobody has given takes no more memory than that, but for one sample that
 * waits while another one is written. */
#define QUEUE_BYTES (UINT64_C(1) << 30)
#define QUEUE_LEAST 2u

/* A place of the queue: free; a loader is at it; full; the filler is at it. Acquire and release
 * order what is in the place with its state. */
enum place_state { PLACE_FREE, PLACE_TAKEN, PLACE_FULL, PLACE_BUSY };

struct place {
	_Atomic unsigned state; /* enum place_state */
	struct tier_decision d;
	uint64_t epoch;
	struct extent extent;
	uint64_t kept_bytes;
	unsigned char *memory;
};

struct tier_filler {
	struct tier_cache *cache;
	struct tier_thread thread; /* its loader has one way */
	struct place *places;
	unsigned count;
	struct bell bell;
	_Atomic bool ends;
};

uint64_t tier_filler_places(const struct job *j, uint64_t slot_bytes)
{
	uint64_t fit = QUEUE_BYTES / slot_bytes;

	if (job_is_given(j, "cache_queue") || fit >= j->cache_queue)
		return j->cache_queue;
	return fit > QUEUE_LEAST ? fit : QUEUE_LEAST;
}

/* The first one that is in this state, and in that one from now on. */
static struct place *turn_place(struct tier_filler *f, enum place_state from, enum place_state to)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct place *p = &f->places[i];
		unsigned is = from;

		if (atomic_load_explicit(&p->state, memory_order_relaxed) == is &&
		    atomic_compare_exchange_strong_explicit(
			    &p->state, &is, to, memory_order_acquire, memory_order_relaxed))
			return p;
	}
	return NULL;
}

static void leave_place(struct place *p, enum place_state to)
{
	atomic_store_explicit(&p->state, to, memory_order_release);
}

/* By a loader: is there a free place? Then the unit in w->memory is its, and w->memory is other
 * memory. */
static bool tier_filler_give(struct tier_filler *f, struct tier_way *w)
{
	struct place *p = turn_place(f, PLACE_FREE, PLACE_TAKEN);
	unsigned char *memory;

	if (!p)
		return false;
	memory = p->memory;
	p->memory = w->memory;
	w->memory = memory;
	p->d = w->d;
	p->epoch = w->loader->epoch;
	p->extent = w->extent;
	p->kept_bytes = w->kept_bytes;
	leave_place(p, PLACE_FULL);
	bell_ring(&f->bell, f->cache->tier->cfg.clock);
	return true;
}

static void count_filled(struct tier_loader *l, const struct tier_way *w,
			 const struct read_task *task)
{
	struct tier_tally *y = &l->tally;

	if (w->is_held && !task->fill_error) {
		y->fills++;
		y->filled_bytes += w->kept_bytes;
	} else if (!w->d.is_hit && !w->d.is_substituted) {
		y->dropped_fills++;
	}
}

static int keep(struct tier_thread *th, const struct place *p)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	const struct read_task *task;
	int rc;

	tier_thread_begin(th);
	tier_turn_to_epoch(l, p->epoch);
	w->d = p->d;
	w->extent = (struct extent){ .id = p->extent.id };
	w->kept_bytes = p->kept_bytes;
	w->is_held = false;
	w->memory = p->memory;
	w->list = (struct read_list){ .pieces = w->pieces };
	tier_directory_fill(w);
	reader_start_list(th->reader, &l->tier->plain, &w->extent, &w->list);
	rc = tier_thread_finish(th, "cache_directory", &task);
	if (rc < 0)
		return rc;
	rc = tier_directory_filled(w, task, &th->err);
	count_filled(l, w, task);
	return rc;
}

static void keep_all(struct tier_thread *th)
{
	struct tier_filler *f = th->arg;
	unsigned char *own = th->loader->ways[0].memory;
	int rc = 0;

	for (;;) {
		uint32_t seen = bell_look(&f->bell);
		bool ends = atomic_load(&f->ends);
		struct place *p = turn_place(f, PLACE_FULL, PLACE_BUSY);

		if (!p && ends)
			break;
		if (!p) {
			bell_wait(&f->bell, th->cache->tier->cfg.clock, seen, CLOCK_NEVER);
			io_wake(th->worker.io);
			continue;
		}
		if (rc == 0)
			rc = keep(th, p);
		leave_place(p, PLACE_FREE);
	}
	th->loader->ways[0].memory = own;
}

/* ---- its life ---- */

static int tier_filler_new(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	struct tier_filler *f = mem_zalloc(sizeof(*f));
	char text[UNITS_TEXT_BYTES];

	c->filler = f;
	f->cache = c;
	f->thread = (struct tier_thread){
		.cache = c,
		.role = "cache filler",
		.number = t->job->accelerators * job_readers(t->job) + (uint64_t)(c - t->caches),
		.files = 2,
		.buf_bytes = 4096,
		.work = keep_all,
		.arg = f,
	};
	tier_thread_init(&f->thread);
	f->count = (unsigned)tier_filler_places(t->job, t->slot_bytes);
	f->places = mem_array(f->count, sizeof(*f->places));
	for (unsigned i = 0; i < f->count; i++) {
		/* The places after the first come into use when the queue fills. */
		f->places[i].memory = mem_reserve(t->slot_bytes, MEM_MMAP);
		if (!f->places[i].memory)
			return mlgen_fail(err, -ENOMEM,
					  "cache_queue: no memory for %u samples of %s; a shorter "
					  "one, or cache_fill=sync",
					  f->count, units_human_bytes(text, (double)t->slot_bytes));
	}
	return 0;
}

void tier_filler_free(struct tier_filler *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++)
		mem_buffer_free(f->places[i].memory, f->cache->tier->slot_bytes, MEM_MMAP);
	tier_thread_fini(&f->thread);
	mem_free(f->places);
	mem_free(f);
}

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err)
{
	return tier_thread_start(&f->thread, err);
}

int tier_filler_end(struct tier_filler *f, struct mlgen_err *err)
{
	atomic_store(&f->ends, true);
	bell_ring(&f->bell, f->cache->tier->cfg.clock);
	return tier_thread_join(&f->thread, err);
}

/* ---- the folder ---- */

#define UNIT_SUFFIX ".unit"
#define MARKER_TEXT "a cache of mlgen's; it removes what is in here\n"

void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot)
{
	snprintf(out, TIER_NAME_BYTES, "%02x/%" PRIx32 UNIT_SUFFIX, slot % TIER_SHARDS, slot);
}

/* Which one of those of a job on a host it is. */
static void put_number(struct buf *text, const struct tier_cache *c)
{
	const struct job *j = c->tier->job;
	bool has_others = job_host_processes(j) > 1;

	if (c->parts > 1)
		buf_addf(text, "-part%" PRIu32, c->part);
	else if (c->tier->cache_count > 1 || (has_others && j->cache_scope == CACHE_OF_RANK))
		buf_addf(text, "-%" PRIu64, c->first_rank);
	else if (has_others)
		buf_addf(text, "-process%" PRIu64, j->place.process);
}

/* Of a job's name what no shell takes for something else. */
static char *folder_path(const struct tier_cache *c)
{
	const struct job *j = c->tier->job;
	struct buf text = { 0 };
	char *path;

	buf_addf(&text, "%s/mlgen-cache-", j->cache_directory);
	for (const char *s = j->name; *s; s++)
		buf_addf(&text, "%c", isalnum((unsigned char)*s) || *s == '.' ? *s : '_');
	put_number(&text, c);
	path = buf_take(&text);
	buf_fini(&text);
	return path;
}

static int tier_folder_fail(const struct tier_folder *f, const char *what, int code,
			    struct mlgen_err *err)
{
	return mlgen_fail(err, code, "cache_directory: %s%s: %s", f->path, what, strerror(-code));
}

/* An empty folder becomes ours. */
static int take_marker(struct tier_folder *f, const struct job *j, struct mlgen_err *err)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	bool is_new = dirs_is_empty(f->dir_fd);

	f->lock_fd = openat(f->dir_fd, TIER_MARKER, flags | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (f->lock_fd < 0 && errno == ENOENT)
		return mlgen_fail(err, -EEXIST,
				  "cache_directory: %s is there and has files that are no cache of "
				  "mlgen's; another cache_directory, or name of the job",
				  f->path);
	if (f->lock_fd < 0)
		return tier_folder_fail(f, "/" TIER_MARKER, -errno, err);
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return mlgen_fail(err, -EBUSY,
				  "cache_directory: %s is in use by another mlgen%s; wait until it "
				  "is done, or use another",
				  f->path,
				  j->place.hosts > 1 ? ", or by another host of this job, which is "
						       "to have a disk of its own there"
						     : "");
	f->is_ours = true;
	if (is_new && write(f->lock_fd, MARKER_TEXT, sizeof(MARKER_TEXT) - 1) <
			      (ssize_t)sizeof(MARKER_TEXT) - 1)
		return tier_folder_fail(f, "/" TIER_MARKER, -ENOSPC, err);
	return 0;
}

static int make_shards(struct tier_folder *f, struct mlgen_err *err)
{
	char name[8];

	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		if (mkdirat(f->dir_fd, name, 0700) != 0 && errno != EEXIST)
			return tier_folder_fail(f, "", -errno, err);
	}
	return 0;
}

/* Hold it, made if it was not there, with what an earlier run has left in it. 0, or -errno with
 * err: it is somebody else's, or another run's. */
static int tier_folder_open(struct tier_cache *c, struct mlgen_err *err)
{
	struct tier_folder *f = &c->folder;
	char path[PATH_MAX];
	int rc;

	f->path = folder_path(c);
	f->dir_fd = f->lock_fd = -1;
	snprintf(path, sizeof(path), "%s", c->tier->job->cache_directory);
	rc = dirs_make(path, NULL);
	if (rc == 0 && mkdir(f->path, 0700) != 0 && errno != EEXIST)
		rc = -errno;
	if (rc == 0)
		f->dir_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (rc == 0 && f->dir_fd < 0)
		rc = -errno;
	if (rc < 0)
		return tier_folder_fail(f, "", rc, err);
	rc = take_marker(f, c->tier->job, err);
	if (rc == 0 && c->tier->job->cache_layout == CACHE_LAYOUT_FILES)
		rc = make_shards(f, err);
	return rc;
}

/* "1f4a5.unit". */
static bool is_our_name(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits && strcmp(name + digits, UNIT_SUFFIX) == 0;
}

static void empty_shard(int dir_fd, const char *shard)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir_fd, shard, flags);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_our_name(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

/* Everything of ours in it goes, but for the marker. */
static void tier_folder_empty(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;
	char name[8];

	if (!f->is_ours)
		return;
	unlinkat(f->dir_fd, TIER_MANIFEST, 0);
	unlinkat(f->dir_fd, TIER_MANIFEST ".new", 0);
	unlinkat(f->dir_fd, TIER_SLAB, 0);
	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		empty_shard(f->dir_fd, name);
	}
}

/* With the marker and itself, unless others have put something there. */
static void tier_folder_remove(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;
	char name[8];

	if (!f->is_ours)
		return;
	tier_folder_empty(c);
	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		unlinkat(f->dir_fd, name, AT_REMOVEDIR);
	}
	unlinkat(f->dir_fd, TIER_MARKER, 0);
	rmdir(f->path);
}

/* It is held no longer. */
static void tier_folder_close(struct tier_cache *c)
{
	struct tier_folder *f = &c->folder;

	if (!f->path)
		return;
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	mem_free(f->path);
	*f = (struct tier_folder){ .dir_fd = -1, .lock_fd = -1 };
}

/* ---- slots in files ---- */

static bool is_slab(const struct tier *t)
{
	return t->job->cache_layout == CACHE_LAYOUT_SLAB;
}

static int kept_earlier(const struct tier_cache *c, struct mlgen_err *err)
{
	if (c->tier->job->cache_persist || !tier_manifest_is_there(c))
		return 0;
	return mlgen_fail(err, -EEXIST,
			  "cache_directory: %s has a cache that an earlier run has kept: "
			  "cache_persist=1 goes on with it; or remove it, or use another directory",
			  c->folder.path);
}

static int directory_open(struct tier_cache *c, struct mlgen_err *err)
{
	int rc = tier_folder_open(c, err);

	if (rc == 0)
		rc = kept_earlier(c, err);
	if (rc < 0) {
		c->folder.is_ours = false; /* what is there stays */
		return rc;
	}
	if (c->tier->job->cache_persist)
		rc = tier_manifest_read(c, err);
	if (rc < 0)
		c->folder.is_ours = false;
	if (rc == 0)
		tier_folder_empty(c); /* of a run that was killed */
	if (rc >= 0 && c->tier->job->cache_persist)
		tier_manifest_reserve(c);
	if (rc >= 0 && c->tier->job->cache_fill == CACHE_FILL_ASYNC)
		rc = tier_filler_new(c, err);
	return rc < 0 ? rc : 0;
}

static int directory_close(struct tier_cache *c, struct mlgen_err *err)
{
	int rc = 0;

	if (c->folder.is_ours && c->tier->job->cache_persist)
		rc = tier_manifest_write(c, err);
	else
		tier_folder_remove(c);
	tier_folder_close(c);
	return rc;
}

static int flags_of(const struct tier *t)
{
	return O_CLOEXEC | O_NOFOLLOW | (t->plain.direct ? O_DIRECT : 0);
}

/* With its own engine: a loader has the slab open all the time. */
static int directory_join(struct tier_loader *l, struct mlgen_err *err)
{
	const struct tier *t = l->tier;
	const struct tier_folder *f = &l->cache->folder;
	struct io_op op = { .io = { .op = MLGEN_OPEN, .file = &l->slab } };
	int64_t rc;

	if (!is_slab(t))
		return 0;
	snprintf(l->slab_path, sizeof(l->slab_path), "%s/%s", f->path, TIER_SLAB);
	l->slab = (struct mlgen_file){ .path = l->slab_path,
				       .name = TIER_SLAB,
				       .dir_fd = f->dir_fd,
				       .fd = -1,
				       .flags = flags_of(t) | O_RDWR | O_CREAT,
				       .mode = 0600 };
	rc = io_do(l->worker->io, &op);
	l->has_slab = rc >= 0;
	if (rc < 0 && rc != -ECANCELED)
		return mlgen_fail(err, (int)rc, "cache_directory: %s: cannot open it: %s%s",
				  l->slab_path, strerror((int)-rc),
				  t->plain.direct ? " (direct=1)" : "");
	return (int)(rc < 0 ? rc : 0);
}

static void directory_leave(struct tier_loader *l)
{
	struct io_op op = { .io = { .op = MLGEN_CLOSE, .file = &l->slab } };

	if (l->has_slab)
		io_do(l->worker->io, &op);
	l->has_slab = false;
}

/* The file of the way's slot, or the slab; where in it the slot begins. */
static uint64_t aim(struct tier_way *w, struct read_piece *p, int flags)
{
	struct tier_loader *l = w->loader;
	const struct tier_folder *f = &l->cache->folder;

	if (is_slab(l->tier)) {
		p->open = &l->slab;
		return tier_slot_here(l->cache, w->d.slot) * l->tier->slot_bytes;
	}
	tier_file_name(w->name, tier_slot_here(l->cache, w->d.slot));
	if (snprintf(w->path, sizeof(w->path), "%s/%s", f->path, w->name) < 0)
		w->path[0] = '\0';
	p->file = (struct mlgen_file){ .path = w->path,
				       .name = w->name,
				       .dir_fd = f->dir_fd,
				       .fd = -1,
				       .flags = flags_of(l->tier) | flags,
				       .mode = 0600 };
	return 0;
}

static void add_read(struct tier_way *w, uint64_t at, uint64_t bytes, unsigned char *memory)
{
	struct read_piece *p = &w->pieces[w->list.count++];

	*p = (struct read_piece){ .op = MLGEN_READ, .is_tier = true };
	p->off = aim(w, p, O_RDONLY) + at;
	p->bytes = bytes;
	p->memory = memory;
}

static void directory_hit(struct tier_way *w, const struct extent *x, void *into,
			  uint64_t into_bytes, uint64_t *ready_ns)
{
	struct tier_loader *l = w->loader;
	const struct tier *t = l->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_extent_ranges(&t->units, x, ranges);

	(void)into;
	(void)into_bytes;
	(void)ready_ns;
	w->list = (struct read_list){ .pieces = w->pieces };
	if (l->cache->sums || t->units.kind == CACHE_SAMPLES)
		add_read(w, 0, w->kept_bytes, l->cache->sums ? w->memory : NULL);
	else
		for (unsigned i = 0; i < n; i++)
			add_read(w, ranges[i].at, ranges[i].bytes, NULL);
	reader_start_list(l->reader, &t->plain, x, &w->list);
}

/* A full disk has room only where something was. */
static bool may_fill(void *way)
{
	struct tier_way *w = way;
	struct tier_cache *c = w->loader->cache;

	w->is_held = tier_slot_fill(tier_word(c, w->d.slot), w->d.generation,
				    !atomic_load_explicit(&c->tier->is_full, memory_order_relaxed));
	return w->is_held;
}

/* tier_directory.c, for the filler: the pieces by which w->memory is kept; and behind them. */
static void tier_directory_fill(struct tier_way *w)
{
	struct tier_loader *l = w->loader;
	struct read_piece *p = &w->pieces[w->list.count];

	w->list.begins = may_fill;
	w->list.arg = w;
	/* What was evicted goes when its slot is filled anew. */
	if (!is_slab(l->tier)) {
		*p = (struct read_piece){ .op = MLGEN_UNLINK, .is_tier = true, .is_fill = true };
		aim(w, p, 0);
		p++;
	}
	*p = (struct read_piece){ .op = MLGEN_WRITE, .is_tier = true, .is_fill = true };
	p->off = aim(w, p, O_WRONLY | O_CREAT | O_TRUNC);
	p->bytes = w->kept_bytes;
	p->memory = w->memory;
	w->list.count = (unsigned)(p - w->pieces) + 1;
}

static bool fills_behind(const struct tier_way *w)
{
	return w->loader->cache->filler && !w->loader->fills_itself;
}

static void directory_miss(struct tier_way *w, const struct extent *x)
{
	struct tier_loader *l = w->loader;

	w->fills &= w->bytes <= l->tier->slot_bytes && w->kept_bytes <= l->tier->slot_bytes;
	if (!w->fills) {
		tier_read_storage(w, x, NULL);
		return;
	}
	w->list = (struct read_list){ .pieces = w->pieces };
	w->list.count = tier_storage_pieces(w, x, w->memory);
	if (!fills_behind(w))
		tier_directory_fill(w);
	reader_start_list(l->reader, &l->tier->plain, x, &w->list);
}

static bool is_no_room(int code)
{
	return code == -ENOSPC || code == -EDQUOT || code == -EFBIG;
}

/* Once. */
static void note_full(struct tier_way *w, int code)
{
	struct tier *t = w->loader->tier;

	if (!atomic_exchange(&t->is_full, true))
		log_note(
			"%s: cache_directory: %s: %s; the cache grows no more, and the run goes on",
			t->job->name, w->loader->cache->folder.path, strerror(-code));
}

static int tier_directory_filled(struct tier_way *w, const struct read_task *task,
				 struct mlgen_err *err)
{
	struct tier_cache *c = w->loader->cache;
	int code = task->fill_error;
	bool is_whole = !task->error && !code;

	if (!w->is_held)
		return 0;
	if (c->sums && is_whole)
		c->sums[tier_slot_here(c, w->d.slot)] = tier_sum(w->memory, w->kept_bytes);
	tier_slot_filled(tier_word(c, w->d.slot), w->d.generation, is_whole);
	if (!code || code == -ECANCELED)
		return 0;
	if (!is_no_room(code))
		return mlgen_fail(err, code,
				  "cache_directory: %s: cannot be written: %s; another directory, "
				  "or cache=none",
				  c->folder.path, strerror(-code));
	note_full(w, code);
	return 0;
}

static int directory_filled(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_cache *c = w->loader->cache;

	if (!fills_behind(w))
		return tier_directory_filled(w, task, err);
	w->is_passed_on = !task->error && tier_filler_give(c->filler, w);
	return 0;
}

static const unsigned char *directory_look(struct tier_way *w)
{
	return w->memory;
}

static void directory_fetch(struct tier_way *w, const struct tier_ask *ask)
{
	struct tier_loader *l = w->loader;

	w->list = (struct read_list){ .pieces = w->pieces };
	for (unsigned i = 0; i < ask->count; i++) {
		const struct tier_piece *p = &ask->pieces[i];

		add_read(w, p->at, p->bytes, w->memory + p->at);
	}
	reader_start_list(l->reader, &l->tier->plain, &w->extent, &w->list);
}

static uint32_t directory_keep(struct tier_thread *th, struct tier_way *w)
{
	struct tier_loader *l = w->loader;
	const struct read_task *task;

	if (l->cache->filler)
		return tier_filler_give(l->cache->filler, w) ? TIER_PASSED_ON : TIER_DROPPED;
	w->list = (struct read_list){ .pieces = w->pieces };
	tier_directory_fill(w);
	reader_start_list(l->reader, &l->tier->plain, &w->extent, &w->list);
	if (tier_thread_finish(th, "cache_directory", &task) < 0 ||
	    tier_directory_filled(w, task, &th->err) < 0)
		return TIER_FAILED;
	return w->is_held && !task->error && !task->fill_error ? TIER_KEPT : TIER_DROPPED;
}

const struct tier_place tier_directory = {
	.name = "directory",
	.keeps = true,
	.buffers = true,
	.open = directory_open,
	.close = directory_close,
	.join = directory_join,
	.leave = directory_leave,
	.hit = directory_hit,
	.miss = directory_miss,
	.filled = directory_filled,
	.look = directory_look,
	.fetch = directory_fetch,
	.keep = directory_keep,
};
