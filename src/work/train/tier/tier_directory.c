/* SPDX-License-Identifier: Apache-2.0 */
/* tier_directory.c - keep units in a folder of files, and the threads that fill it. */
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

/* A thread has requests of one unit at a time. */
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

	cfg.list = t->cfg.workers;
	cfg.share = th->is_uncounted ? WORKER_APART : WORKER_MOVES;
	cfg.has_ramp = t->job->ramp_time_ns > 0;
	snprintf(cfg.role, sizeof(cfg.role), "%s", th->role);
	int rc = worker_open(&th->worker, &cfg, &th->err);
	if (rc < 0)
		return rc;
	th->reader = reader_new(th->worker.io, &th->worker.stat, 1, THREAD_DEPTH);
	th->loader = tier_loader_new(t, th->cache->own_first, th->number, &th->worker, th->reader,
				     &th->err);
	if (!th->loader)
		return th->err.code;
	th->loader->fills_directly = th->fills_directly;
	return 0;
}

static void *thread_main(void *thread)
{
	struct tier_thread *th = thread;
	struct tier *t = th->cache->tier;

	clock_join(t->cfg.clock);
	if (open_thread(th) == 0)
		th->work(th);
	if (th->loader && !th->is_uncounted)
		tier_loader_close(th->loader);
	else if (th->loader && t->backend->leave)
		t->backend->leave(th->loader);
	if (!th->is_uncounted)
		worker_stop_counting(&th->worker, clock_now(t->cfg.clock));
	worker_close(&th->worker);
	clock_leave(t->cfg.clock);
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

	if (!t->worker.counts && !t->is_uncounted && (!cfg->counting || atomic_load(cfg->counting)))
		worker_start_counting(&t->worker, cfg->place, clock_now(cfg->clock));
}

int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task)
{
	int rc;

	*task = reader_finish_one(t->reader, &rc);
	if (*task)
		return 0;
	return mlgen_fail(&t->err, rc, "%s: cannot continue: %s", name, strerror(-rc));
}

/* ---- fillers ---- */

static void tier_directory_fill(struct tier_transfer *tr);
static int tier_directory_filled(struct tier_transfer *tr, const struct read_task *task,
				 struct mlgen_err *err);

/* Memory limit of a queue of default length. The queue has at least QUEUE_MIN entries, so that a
 * unit can wait while another is written. */
#define QUEUE_BYTES (UINT64_C(1) << 30)
#define QUEUE_MIN 2u

/* State of a queue entry: free; a loader fills it in; full; the filler writes it. Acquire and
 * release order the content of the entry with its state. */
enum entry_state { ENTRY_FREE, ENTRY_CLAIMED, ENTRY_FULL, ENTRY_BUSY };

struct fill_entry {
	_Atomic unsigned state;
	struct tier_decision d;
	uint64_t epoch;
	struct extent extent;
	uint64_t cached_bytes;
	unsigned char *memory;
};

struct tier_filler {
	struct tier_cache *cache;
	struct tier_thread thread; /* its loader uses one transfer */
	struct fill_entry *entries;
	unsigned count;
	struct eventcount eventcount;
	_Atomic bool ends;
};

uint64_t tier_filler_entries(const struct job *j, uint64_t slot_bytes)
{
	uint64_t fit = QUEUE_BYTES / slot_bytes;

	if (job_is_given(j, "cache_queue") || fit >= j->cache_queue)
		return j->cache_queue;
	return fit > QUEUE_MIN ? fit : QUEUE_MIN;
}

/* Change the first entry in state `from` to state `to`. NULL: there is none. */
static struct fill_entry *claim_entry(struct tier_filler *f, enum entry_state from,
				      enum entry_state to)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct fill_entry *p = &f->entries[i];
		unsigned is = from;

		if (atomic_load_explicit(&p->state, memory_order_relaxed) == is &&
		    atomic_compare_exchange_strong_explicit(
			    &p->state, &is, to, memory_order_acquire, memory_order_relaxed))
			return p;
	}
	return NULL;
}

static void release_entry(struct fill_entry *p, enum entry_state to)
{
	atomic_store_explicit(&p->state, to, memory_order_release);
}

/* Queue the unit in tr->memory. The loader gets the memory of the entry in exchange. False: no
 * entry is free. */
static bool enqueue(struct tier_filler *f, struct tier_transfer *tr)
{
	struct fill_entry *p = claim_entry(f, ENTRY_FREE, ENTRY_CLAIMED);

	if (!p)
		return false;
	unsigned char *memory = p->memory;
	p->memory = tr->memory;
	tr->memory = memory;
	p->d = tr->d;
	p->epoch = tr->loader->epoch;
	p->extent = tr->extent;
	p->cached_bytes = tr->cached_bytes;
	release_entry(p, ENTRY_FULL);
	eventcount_notify(&f->eventcount, f->cache->tier->cfg.clock);
	return true;
}

static int write_entry(struct tier_thread *th, const struct fill_entry *p)
{
	struct tier_loader *l = th->loader;
	struct tier_transfer *tr = &l->transfers[0];
	struct tier_tally *y = &l->tally;
	const struct read_task *task;

	tier_thread_begin(th);
	tier_set_epoch(l, p->epoch);
	tr->d = p->d;
	tr->extent = (struct extent){ .id = p->extent.id };
	tr->cached_bytes = p->cached_bytes;
	tr->has_claimed = false;
	tr->memory = p->memory;
	tr->list = (struct read_list){ .pieces = tr->pieces };
	tier_directory_fill(tr);
	reader_start_list(th->reader, &l->tier->plain, &tr->extent, &tr->list);
	int rc = tier_thread_finish(th, "cache_directory", &task);
	if (rc < 0)
		return rc;
	rc = tier_directory_filled(tr, task, &th->err);
	if (tr->has_claimed && !task->fill_error) {
		y->fills++;
		y->filled_bytes += tr->cached_bytes;
	} else if (!tr->d.is_hit && !tr->d.is_substituted) {
		y->dropped_fills++;
	}
	return rc;
}

static void filler_main(struct tier_thread *th)
{
	struct tier_filler *f = th->arg;
	unsigned char *own = th->loader->transfers[0].memory;
	int rc = 0;

	for (;;) {
		uint32_t seen = eventcount_get(&f->eventcount);
		bool ends = atomic_load(&f->ends);
		struct fill_entry *p = claim_entry(f, ENTRY_FULL, ENTRY_BUSY);

		if (!p && ends)
			break;
		if (!p) {
			eventcount_wait(&f->eventcount, th->cache->tier->cfg.clock, seen,
					CLOCK_NEVER);
			io_wake(th->worker.io);
			continue;
		}
		if (rc == 0)
			rc = write_entry(th, p);
		release_entry(p, ENTRY_FREE);
	}
	th->loader->transfers[0].memory = own;
}

/* ---- life cycle of a filler ---- */

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
		.work = filler_main,
		.arg = f,
	};
	tier_thread_init(&f->thread);
	f->count = (unsigned)tier_filler_entries(t->job, t->slot_bytes);
	f->entries = mem_array(f->count, sizeof(*f->entries));
	for (unsigned i = 0; i < f->count; i++) {
		/* The memory is only reserved: later entries come into use when the queue fills
		 * up. */
		f->entries[i].memory = mem_reserve(t->slot_bytes, MEM_MMAP);
		if (!f->entries[i].memory)
			return mlgen_fail(err, -ENOMEM,
					  "cache_queue: no memory for %u samples of %s; use a "
					  "shorter queue, or cache_fill=sync",
					  f->count, units_human_bytes(text, (double)t->slot_bytes));
	}
	return 0;
}

void tier_filler_free(struct tier_filler *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++)
		mem_buffer_free(f->entries[i].memory, f->cache->tier->slot_bytes, MEM_MMAP);
	tier_thread_fini(&f->thread);
	mem_free(f->entries);
	mem_free(f);
}

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err)
{
	return tier_thread_start(&f->thread, err);
}

int tier_filler_end(struct tier_filler *f, struct mlgen_err *err)
{
	atomic_store(&f->ends, true);
	eventcount_notify(&f->eventcount, f->cache->tier->cfg.clock);
	return tier_thread_join(&f->thread, err);
}

/* ---- the folder ---- */

#define UNIT_SUFFIX ".unit"
#define MARKER_TEXT "a cache of mlgen, which removes the files in this folder\n"

void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot)
{
	snprintf(out, TIER_NAME_BYTES, "%02x/%" PRIx32 UNIT_SUFFIX, slot % TIER_SHARDS, slot);
}

/* Path of the folder: the name of the job in characters that no shell interprets, and the number of
 * the cache if the job has several caches on a host. */
static char *folder_path(const struct tier_cache *c)
{
	const struct job *j = c->tier->job;
	bool shares_host = job_host_processes(j) > 1;
	struct buf text = { 0 };

	buf_addf(&text, "%s/mlgen-cache-", j->cache_directory);
	for (const char *s = j->name; *s; s++)
		buf_addf(&text, "%c", isalnum((unsigned char)*s) || *s == '.' ? *s : '_');
	if (c->parts > 1)
		buf_addf(&text, "-part%" PRIu32, c->part);
	else if (c->tier->cache_count > 1 || (shares_host && j->cache_scope == CACHE_SCOPE_RANK))
		buf_addf(&text, "-%" PRIu64, c->first_rank);
	else if (shares_host)
		buf_addf(&text, "-process%" PRIu64, j->place.process);
	char *path = buf_detach(&text);
	buf_fini(&text);
	return path;
}

static int tier_folder_fail(const struct tier_folder *f, const char *what, int code,
			    struct mlgen_err *err)
{
	return mlgen_fail(err, code, "cache_directory: %s%s: %s", f->path, what, strerror(-code));
}

/* Lock the marker. An empty folder gets one first. */
static int lock_marker(struct tier_folder *f, const struct job *j, struct mlgen_err *err)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	bool is_new = dirs_is_empty(f->dir_fd);

	f->lock_fd = openat(f->dir_fd, TIER_MARKER, flags | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (f->lock_fd < 0 && errno == ENOENT)
		return mlgen_fail(
			err, -EEXIST,
			"cache_directory: %s exists and contains files that are not a cache of "
			"mlgen; use another cache_directory, or another job name",
			f->path);
	if (f->lock_fd < 0)
		return tier_folder_fail(f, "/" TIER_MARKER, -errno, err);
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return mlgen_fail(
			err, -EBUSY,
			"cache_directory: %s is in use by another mlgen%s; wait until it has "
			"finished, or use another",
			f->path,
			j->place.hosts > 1
				? ", or by another host of this job, which needs its own disk there"
				: "");
	f->is_ours = true;
	if (is_new && write(f->lock_fd, MARKER_TEXT, sizeof(MARKER_TEXT) - 1) <
			      (ssize_t)sizeof(MARKER_TEXT) - 1)
		return tier_folder_fail(f, "/" TIER_MARKER, -ENOSPC, err);
	return 0;
}

/* Open and lock the folder, and make it if necessary; its content stays. 0, or -errno with err: the
 * folder is not mlgen's, or another run uses it. */
static int tier_folder_open(struct tier_cache *c, struct mlgen_err *err)
{
	struct tier_folder *f = &c->folder;
	char path[PATH_MAX], name[8];

	f->path = folder_path(c);
	f->dir_fd = f->lock_fd = -1;
	snprintf(path, sizeof(path), "%s", c->tier->job->cache_directory);
	int rc = dirs_make(path, NULL);
	if (rc == 0 && mkdir(f->path, 0700) != 0 && errno != EEXIST)
		rc = -errno;
	if (rc == 0)
		f->dir_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (rc == 0 && f->dir_fd < 0)
		rc = -errno;
	if (rc < 0)
		return tier_folder_fail(f, "", rc, err);
	rc = lock_marker(f, c->tier->job, err);
	if (rc < 0 || c->tier->job->cache_layout != CACHE_LAYOUT_FILES)
		return rc;
	for (unsigned i = 0; i < TIER_SHARDS; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		if (mkdirat(f->dir_fd, name, 0700) != 0 && errno != EEXIST)
			return tier_folder_fail(f, "", -errno, err);
	}
	return 0;
}

/* Remove files with names like "1f4a5.unit". */
static void empty_shard(int dir_fd, const char *shard)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir_fd, shard, flags);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t digits = strspn(e->d_name, "0123456789abcdef");

		if (digits && strcmp(e->d_name + digits, UNIT_SUFFIX) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

/* Remove all files of the cache, except the marker. */
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

/* Remove the cache, its marker and the folder, unless foreign files are in it. */
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

/* ---- slots in files ---- */

static bool is_slab(const struct tier *t)
{
	return t->job->cache_layout == CACHE_LAYOUT_SLAB;
}

static int directory_open(struct tier_cache *c, struct mlgen_err *err)
{
	bool persists = c->tier->job->cache_persist;
	int rc = tier_folder_open(c, err);

	if (rc == 0 && persists)
		rc = tier_manifest_read(c, err);
	else if (rc == 0 && faccessat(c->folder.dir_fd, TIER_MANIFEST, F_OK, 0) == 0)
		rc = mlgen_fail(
			err, -EEXIST,
			"cache_directory: %s contains a cache of an earlier run: cache_persist=1 "
			"continues with it; or remove it, or use another directory",
			c->folder.path);
	if (rc < 0) {
		c->folder.is_ours = false; /* nothing in it may be removed */
		return rc;
	}
	if (rc == 0)
		tier_folder_empty(c); /* left by a killed run */
	if (persists)
		tier_manifest_reserve(c);
	if (c->tier->job->cache_fill == CACHE_FILL_ASYNC)
		rc = tier_filler_new(c, err);
	return rc < 0 ? rc : 0;
}

static int directory_close(struct tier_cache *c, struct mlgen_err *err)
{
	struct tier_folder *f = &c->folder;
	int rc = 0;

	if (f->is_ours && c->tier->job->cache_persist)
		rc = tier_manifest_write(c, err);
	else
		tier_folder_remove(c);
	if (!f->path)
		return rc;
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	mem_free(f->path);
	*f = (struct tier_folder){ .dir_fd = -1, .lock_fd = -1 };
	return rc;
}

static int flags_of(const struct tier *t)
{
	return O_CLOEXEC | O_NOFOLLOW | (t->plain.direct ? O_DIRECT : 0);
}

/* Open the slab through the loader's own engine. The loader keeps it open. */
static int directory_join(struct tier_loader *l, struct mlgen_err *err)
{
	const struct tier *t = l->tier;
	const struct tier_folder *f = &l->cache->folder;
	struct io_op op = { .io = { .op = MLGEN_OPEN, .file = &l->slab } };

	if (!is_slab(t))
		return 0;
	snprintf(l->slab_path, sizeof(l->slab_path), "%s/%s", f->path, TIER_SLAB);
	l->slab = (struct mlgen_file){ .path = l->slab_path,
				       .name = TIER_SLAB,
				       .dir_fd = f->dir_fd,
				       .fd = -1,
				       .flags = flags_of(t) | O_RDWR | O_CREAT,
				       .mode = 0600 };
	int64_t rc = io_do(l->worker->io, &op);
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

/* Set the file of a piece to that of the transfer's slot, or to the slab. Returns the offset at
 * which the slot begins. */
static uint64_t set_slot_file(struct tier_transfer *tr, struct read_piece *p, int flags)
{
	struct tier_loader *l = tr->loader;
	const struct tier_folder *f = &l->cache->folder;

	if (is_slab(l->tier)) {
		p->open = &l->slab;
		return tier_local_index(l->cache, tr->d.slot) * l->tier->slot_bytes;
	}
	tier_file_name(tr->name, tier_local_index(l->cache, tr->d.slot));
	if (snprintf(tr->path, sizeof(tr->path), "%s/%s", f->path, tr->name) < 0)
		tr->path[0] = '\0';
	p->file = (struct mlgen_file){ .path = tr->path,
				       .name = tr->name,
				       .dir_fd = f->dir_fd,
				       .fd = -1,
				       .flags = flags_of(l->tier) | flags,
				       .mode = 0600 };
	return 0;
}

static void add_read(struct tier_transfer *tr, uint64_t at, uint64_t bytes, unsigned char *memory)
{
	struct read_piece *p = &tr->pieces[tr->list.count++];

	*p = (struct read_piece){ .op = MLGEN_READ, .is_tier = true };
	p->off = set_slot_file(tr, p, O_RDONLY) + at;
	p->bytes = bytes;
	p->memory = memory;
}

static void directory_hit(struct tier_transfer *tr, const struct extent *x, void *into,
			  uint64_t into_bytes, uint64_t *ready_ns)
{
	struct tier_loader *l = tr->loader;
	const struct tier *t = l->tier;
	struct tier_range ranges[TIER_RANGES];
	unsigned n = tier_extent_ranges(&t->units, x, ranges);

	(void)into;
	(void)into_bytes;
	(void)ready_ns;
	tr->list = (struct read_list){ .pieces = tr->pieces };
	if (l->cache->sums || t->units.kind == CACHE_SAMPLES)
		add_read(tr, 0, tr->cached_bytes, l->cache->sums ? tr->memory : NULL);
	else
		for (unsigned i = 0; i < n; i++)
			add_read(tr, ranges[i].at, ranges[i].bytes, NULL);
	reader_start_list(l->reader, &t->plain, x, &tr->list);
}

/* Callback that claims the slot before it is written. On a full disk, only slots that had a unit
 * before are filled. */
static bool claim_slot(void *transfer)
{
	struct tier_transfer *tr = transfer;
	struct tier_cache *c = tr->loader->cache;

	tr->has_claimed =
		tier_slot_fill(tier_word(c, tr->d.slot), tr->d.generation,
			       !atomic_load_explicit(&c->tier->is_full, memory_order_relaxed));
	return tr->has_claimed;
}

/* Add the pieces that write tr->memory to the file of its slot. */
static void tier_directory_fill(struct tier_transfer *tr)
{
	struct tier_loader *l = tr->loader;
	struct read_piece *p = &tr->pieces[tr->list.count];

	tr->list.begins = claim_slot;
	tr->list.arg = tr;
	/* An evicted unit's file is removed when its slot is filled again. */
	if (!is_slab(l->tier)) {
		*p = (struct read_piece){ .op = MLGEN_UNLINK, .is_tier = true, .is_fill = true };
		set_slot_file(tr, p, 0);
		p++;
	}
	*p = (struct read_piece){ .op = MLGEN_WRITE, .is_tier = true, .is_fill = true };
	p->off = set_slot_file(tr, p, O_WRONLY | O_CREAT | O_TRUNC);
	p->bytes = tr->cached_bytes;
	p->memory = tr->memory;
	tr->list.count = (unsigned)(p - tr->pieces) + 1;
}

static bool fills_in_background(const struct tier_transfer *tr)
{
	return tr->loader->cache->filler && !tr->loader->fills_directly;
}

static void directory_miss(struct tier_transfer *tr, const struct extent *x)
{
	struct tier_loader *l = tr->loader;

	tr->fills &= tr->bytes <= l->tier->slot_bytes && tr->cached_bytes <= l->tier->slot_bytes;
	if (!tr->fills) {
		tier_read_storage(tr, x, NULL);
		return;
	}
	tr->list = (struct read_list){ .pieces = tr->pieces };
	tr->list.count = tier_storage_pieces(tr, x, tr->memory);
	if (!fills_in_background(tr))
		tier_directory_fill(tr);
	reader_start_list(l->reader, &l->tier->plain, x, &tr->list);
}

static int tier_directory_filled(struct tier_transfer *tr, const struct read_task *task,
				 struct mlgen_err *err)
{
	struct tier_cache *c = tr->loader->cache;
	struct tier *t = c->tier;
	int code = task->fill_error;
	bool is_whole = !task->error && !code;

	if (!tr->has_claimed)
		return 0;
	if (c->sums && is_whole)
		c->sums[tier_local_index(c, tr->d.slot)] = tier_sum(tr->memory, tr->cached_bytes);
	tier_slot_filled(tier_word(c, tr->d.slot), tr->d.generation, is_whole);
	if (!code || code == -ECANCELED)
		return 0;
	if (code != -ENOSPC && code != -EDQUOT && code != -EFBIG)
		return mlgen_fail(err, code,
				  "cache_directory: %s: cannot be written: %s; use another "
				  "directory, or cache=none",
				  c->folder.path, strerror(-code));
	if (!atomic_exchange(&t->is_full, true))
		log_note("%s: cache_directory: %s: %s; the cache stops growing, and the run "
			 "continues",
			 t->job->name, c->folder.path, strerror(-code));
	return 0;
}

static int directory_filled(struct tier_transfer *tr, const struct read_task *task,
			    struct mlgen_err *err)
{
	if (!fills_in_background(tr))
		return tier_directory_filled(tr, task, err);
	tr->is_queued = !task->error && enqueue(tr->loader->cache->filler, tr);
	return 0;
}

static const unsigned char *directory_address(struct tier_transfer *tr)
{
	return tr->memory;
}

static void directory_fetch(struct tier_transfer *tr, const struct tier_request *ask)
{
	struct tier_loader *l = tr->loader;

	tr->list = (struct read_list){ .pieces = tr->pieces };
	for (unsigned i = 0; i < ask->count; i++) {
		const struct tier_piece *p = &ask->pieces[i];

		add_read(tr, p->at, p->bytes, tr->memory + p->at);
	}
	reader_start_list(l->reader, &l->tier->plain, &tr->extent, &tr->list);
}

static uint32_t directory_store(struct tier_thread *th, struct tier_transfer *tr)
{
	struct tier_loader *l = tr->loader;
	const struct read_task *task;

	if (l->cache->filler)
		return enqueue(l->cache->filler, tr) ? TIER_QUEUED : TIER_DROPPED;
	tr->list = (struct read_list){ .pieces = tr->pieces };
	tier_directory_fill(tr);
	reader_start_list(l->reader, &l->tier->plain, &tr->extent, &tr->list);
	if (tier_thread_finish(th, "cache_directory", &task) < 0 ||
	    tier_directory_filled(tr, task, &th->err) < 0)
		return TIER_FAILED;
	return tr->has_claimed && !task->error && !task->fill_error ? TIER_STORED : TIER_DROPPED;
}

const struct tier_backend tier_directory = {
	.name = "directory",
	.stores_bytes = true,
	.buffers = true,
	.open = directory_open,
	.close = directory_close,
	.join = directory_join,
	.leave = directory_leave,
	.hit = directory_hit,
	.miss = directory_miss,
	.filled = directory_filled,
	.address = directory_address,
	.fetch = directory_fetch,
	.store = directory_store,
};
