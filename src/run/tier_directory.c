/* SPDX-License-Identifier: Apache-2.0 */
/* tier_directory.c - a cache tier's bytes in files of its own: a slab of slots, or a file for each
 * unit. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "run/tier_filler.h"
#include "run/tier_folder.h"
#include "run/tier_thread.h"

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

void tier_directory_fill(struct tier_way *w)
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

int tier_directory_filled(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
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
