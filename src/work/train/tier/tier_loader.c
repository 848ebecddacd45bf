/* SPDX-License-Identifier: Apache-2.0 */
/* tier_loader.c - the loader's way through the tier. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"

/*
 * Lines of text: what the cache is of, each unit with its slot and checksum, and last a checksum of
 * all before it. It is there only while no run is: who reads it removes it, and who ends writes it
 * anew, so that a run which was killed leaves none.
 */
#define MANIFEST_HEAD "mlgen cache 2\n"
#define MANIFEST_LAST "end "

/* More is no manifest of ours. */
#define MANIFEST_MOST_BYTES (UINT64_C(64) << 30)

bool tier_manifest_is_there(const struct tier_cache *c)
{
	return faccessat(c->folder.dir_fd, TIER_MANIFEST, F_OK, 0) == 0;
}

/* What has to be the same for a cache to be of use. */
static void put_identity(const struct tier_cache *c, struct buf *out)
{
	const struct tier *t = c->tier;
	const struct dataset *ds = t->plain.dataset;

	buf_addf(out, MANIFEST_HEAD "dataset %s\nformat %s\nfiles %" PRIu64 "\n", ds->directory,
		 ds->format->name, ds->files);
	buf_addf(out, "extents %" PRIu64 "\nsample_size ", dataset_extents(ds));
	dist_identify(out, &ds->sample_size, DIST_BYTES);
	buf_addf(out, "\nunit %s of %" PRIu64 "\nlayout %s\n", tier_unit_word(&t->units),
		 tier_unit_samples(&t->units),
		 t->job->cache_layout == CACHE_LAYOUT_FILES ? "files" : "slab");
	buf_addf(out,
		 "slots %" PRIu64 "\nslot_bytes %" PRIu64 "\nalign %" PRIu64
		 "\nverify %d\nfactor %g\n",
		 c->slot_count, t->slot_bytes, t->plain.align_bytes, c->sums != NULL,
		 t->units.factor);
}

static bool is_kept(const struct tier_cache *c, uint32_t slot, uint64_t *unit)
{
	uint64_t word = c->slots[slot];

	return tier_slot_state(word) == SLOT_READY &&
	       tier_slot_generation(word) == cache_generation(c->cache, slot) &&
	       cache_unit_in(c->cache, slot, unit);
}

static void put_units(const struct tier_cache *c, struct buf *out)
{
	uint64_t unit;

	for (uint32_t s = 0; s < c->slot_count; s++)
		if (is_kept(c, s, &unit))
			buf_addf(out, "%" PRIx64 " %" PRIx32 " %" PRIx32 "\n", unit, s,
				 c->sums ? c->sums[s] : 0);
}

static int manifest_fail(const struct tier_cache *c, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "cache_persist: %s/" TIER_MANIFEST
			  ": cannot write it: %s; the cache is not kept",
			  c->folder.path, strerror(-code));
}

static int open_new(const struct tier_cache *c)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(c->folder.dir_fd, TIER_MANIFEST ".new", flags, 0600);

	return fd < 0 ? -errno : fd;
}

/* Of a number below this, in hexadecimal. */
static uint64_t digits(uint64_t end)
{
	return (uint64_t)snprintf(NULL, 0, "%" PRIx64, end);
}

void tier_manifest_reserve(struct tier_cache *c)
{
	uint64_t line = digits(c->tier->units.count) + digits(c->slot_count) + (c->sums ? 8 : 1) +
			sizeof("  \n") - 1;
	struct buf text = { 0 };
	int fd = open_new(c);
	uint64_t bytes;

	put_identity(c, &text);
	bytes = text.len + line * c->slot_count + sizeof(MANIFEST_LAST "01234567\n");
	buf_fini(&text);
	if (fd < 0)
		return;
	fallocate(fd, 0, 0, (off_t)bytes);
	close(fd);
}

/* Into what was reserved, of which the rest goes. */
static int put_file(const struct tier_cache *c, const struct buf *text)
{
	int dir = c->folder.dir_fd, fd = open_new(c), rc;

	if (fd < 0)
		return fd;
	/* The bytes that it tells of first. */
	rc = syncfs(fd) == 0 ? 0 : -errno;
	if (rc == 0)
		rc = writeall(fd, buf_str(text), text->len);
	if (rc == 0 && (ftruncate(fd, (off_t)text->len) != 0 || fsync(fd) != 0))
		rc = -errno;
	close(fd);
	if (rc == 0 && renameat(dir, TIER_MANIFEST ".new", dir, TIER_MANIFEST) != 0)
		rc = -errno;
	if (rc == 0 && fsync(dir) != 0)
		rc = -errno;
	return rc;
}

int tier_manifest_write(struct tier_cache *c, struct mlgen_err *err)
{
	struct buf text = { 0 };
	int rc;

	put_identity(c, &text);
	put_units(c, &text);
	buf_addf(&text, MANIFEST_LAST "%08lx\n",
		 crc32_z(0, (const unsigned char *)buf_str(&text), text.len));
	rc = put_file(c, &text);
	buf_fini(&text);
	return rc < 0 ? manifest_fail(c, rc, err) : 0;
}

/* All of it, with a zero behind; NULL with *rc. */
static char *load(const struct tier_cache *c, size_t *bytes, int *rc)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = openat(c->folder.dir_fd, TIER_MANIFEST, flags);
	struct stat st = { 0 };
	char *text = NULL;
	ssize_t n = -1;

	*rc = -errno;
	if (fd < 0)
		return NULL;
	*rc = -EINVAL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size < MANIFEST_MOST_BYTES) {
		text = mem_zalloc((size_t)st.st_size + 1);
		n = pread(fd, text, (size_t)st.st_size, 0);
	}
	close(fd);
	*bytes = n < 0 ? 0 : (size_t)n;
	return text;
}

/* Is it whole? */
static bool has_sum(const char *text, size_t bytes)
{
	size_t last = sizeof(MANIFEST_LAST "01234567\n") - 1;
	const char *end = text + bytes - last;
	unsigned long sum;

	if (bytes < last || strncmp(end, MANIFEST_LAST, strlen(MANIFEST_LAST)) != 0)
		return false;
	sum = strtoul(end + strlen(MANIFEST_LAST), NULL, 16);
	return sum == crc32_z(0, (const unsigned char *)text, bytes - last);
}

/* The first line of `made` that is not that of `want`. */
static int differs(const struct tier_cache *c, const char *made, const char *want,
		   struct mlgen_err *err)
{
	size_t a, b;

	for (;; made += a + 1, want += b + 1) {
		a = strcspn(made, "\n");
		b = strcspn(want, "\n");
		if (a != b || strncmp(made, want, a) != 0 || !made[a])
			break;
	}
	return mlgen_fail(err, -EINVAL,
			  "cache_persist: the cache in %s was kept with '%.*s', and this run has "
			  "'%.*s'; remove it, or use another cache_directory",
			  c->folder.path, (int)a, made, (int)b, want);
}

static void take_unit(struct tier_cache *c, uint64_t unit, uint32_t slot, uint32_t sum)
{
	const struct cache_access a = { .unit = unit, .next_use = 0 };
	uint32_t generation = cache_restore(c->cache, &a, slot);
	char name[TIER_NAME_BYTES];

	if (!generation) {
		tier_file_name(name, slot);
		if (c->tier->job->cache_layout == CACHE_LAYOUT_FILES)
			unlinkat(c->folder.dir_fd, name, 0);
		return;
	}
	c->slots[slot] = tier_slot_word(generation, SLOT_READY);
	if (c->sums)
		c->sums[slot] = sum;
	c->kept_units++;
}

/* Slots go up: none is there twice. */
static int take_units(struct tier_cache *c, const char *at)
{
	uint64_t unit, slot, sum, first = 0;
	char *end;

	while (strncmp(at, MANIFEST_LAST, strlen(MANIFEST_LAST)) != 0) {
		unit = strtoull(at, &end, 16);
		slot = strtoull(end, &end, 16);
		sum = strtoull(end, &end, 16);
		if (*end != '\n' || unit >= c->tier->units.count || slot < first ||
		    slot >= c->slot_count)
			return -EINVAL;
		take_unit(c, unit, (uint32_t)slot, (uint32_t)sum);
		first = slot + 1;
		at = end + 1;
	}
	return 1;
}

static int take_manifest(struct tier_cache *c, const char *text, size_t bytes,
			 struct mlgen_err *err)
{
	struct buf want = { 0 };
	int rc = -EINVAL;

	put_identity(c, &want);
	if (!has_sum(text, bytes))
		rc = mlgen_fail(err, -EINVAL,
				"cache_persist: %s/" TIER_MANIFEST
				" is damaged: its checksum is another; remove the folder, or use "
				"another cache_directory",
				c->folder.path);
	else if (strncmp(text, buf_str(&want), want.len) != 0)
		rc = differs(c, text, buf_str(&want), err);
	else
		rc = take_units(c, text + want.len);
	buf_fini(&want);
	/* Nor is it there after a loss of power, when slots have others. */
	if (rc > 0 &&
	    (unlinkat(c->folder.dir_fd, TIER_MANIFEST, 0) != 0 || fsync(c->folder.dir_fd) != 0))
		rc = manifest_fail(c, -errno, err);
	return rc;
}

int tier_manifest_read(struct tier_cache *c, struct mlgen_err *err)
{
	size_t bytes;
	int rc = 0;
	char *text = load(c, &bytes, &rc);

	if (text)
		rc = take_manifest(c, text, bytes, err);
	mem_free(text);
	if (rc == -ENOENT)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc,
				   "cache_persist: %s/" TIER_MANIFEST ": cannot read it: %s",
				   c->folder.path, strerror(-rc))
		      : rc;
}

static int make_ways(struct tier_loader *l, struct mlgen_err *err)
{
	const struct tier *t = l->tier;
	char text[UNITS_TEXT_BYTES];

	l->way_count = job_samples_at_once(t->job);
	l->ways = mem_array(l->way_count, sizeof(*l->ways));
	for (unsigned i = 0; i < l->way_count; i++) {
		struct tier_way *w = &l->ways[i];

		w->loader = l;
		w->next = l->free_way;
		l->free_way = w;
		if (!tier_has_buffers(t->job))
			continue;
		w->memory = mem_buffer(t->slot_bytes, MEM_MMAP);
		if (!w->memory)
			return mlgen_fail(
				err, -ENOMEM,
				"cache: no memory for a sample of %s on its way there, one of %u a "
				"read thread; fewer of them, or a lower iodepth",
				units_human_bytes(text, (double)t->slot_bytes), l->way_count);
	}
	return 0;
}

struct tier_loader *tier_loader_new(struct tier *t, uint64_t rank, uint64_t number,
				    struct worker *w, struct reader *r, struct mlgen_err *err)
{
	struct tier_loader *l = mem_zalloc(sizeof(*l));
	int rc;

	*l = (struct tier_loader){ .tier = t,
				   .cache = tier_cache_of(t, rank),
				   .rank = rank,
				   .worker = w,
				   .reader = r,
				   .slab = { .fd = -1 },
				   .hit_ns = hist_new(),
				   .miss_ns = hist_new(),
				   .peer_ns = hist_new() };
	l->seed = rng_u64(t->job->randseed, RNG_ENGINE, ~number);
	rc = make_ways(l, err);
	if (rc == 0 && t->place->join)
		rc = t->place->join(l, err);
	if (rc == 0)
		return l;
	tier_loader_free(l);
	return NULL;
}

void tier_loader_close(struct tier_loader *l)
{
	struct tier *t = l->tier;

	pthread_mutex_lock(&l->cache->lock);
	tier_count(l);
	pthread_mutex_unlock(&l->cache->lock);
	pthread_mutex_lock(&t->lock);
	hist_merge(t->hit_ns, l->hit_ns);
	hist_merge(t->miss_ns, l->miss_ns);
	hist_merge(t->peer_ns, l->peer_ns);
	pthread_mutex_unlock(&t->lock);
	if (t->place->leave)
		t->place->leave(l);
}

void tier_loader_free(struct tier_loader *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->way_count; i++)
		mem_buffer_free(l->ways[i].memory, l->tier->slot_bytes, MEM_MMAP);
	mem_free(l->ways);
	hist_free(l->hit_ns);
	hist_free(l->miss_ns);
	hist_free(l->peer_ns);
	mem_free(l);
}

static struct tier_way *take_way(struct tier_loader *l)
{
	struct tier_way *w = l->free_way;

	l->free_way = w->next;
	return w;
}

static bool may_enter(const struct tier_way *w)
{
	const struct tier_cache *c = w->loader->cache;

	return !c->slots || tier_slot_enter(tier_word(c, w->d.slot), w->d.generation);
}

/* As the plan has it. */
static bool was_there(const struct tier_way *w)
{
	return w->d.is_hit || w->d.is_substituted;
}

/* False: its bytes are not there. What another process has of a tier that is played is as far away
 * as all of it is. */
static bool start_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		      uint64_t *ready_ns)
{
	const struct tier *t = w->loader->tier;

	if (w->is_remote && t->cfg.peers)
		return tier_remote_hit(w, x, into, into_bytes, ready_ns);
	if (!w->is_remote && !may_enter(w))
		return false;
	t->place->hit(w, x, into, into_bytes, ready_ns);
	return true;
}

/* From storage; what is kept of it is w->fills. */
static void start_miss(struct tier_way *w, const struct extent *x)
{
	const struct tier_place *place = w->loader->tier->place;

	w->fills = w->d.slot != CACHE_NO_SLOT && w->loader->cache->slots;
	if (w->is_remote && w->loader->tier->cfg.peers)
		tier_remote_miss(w, x);
	else
		place->miss(w, x);
}

static struct tier_way *begin_way(struct tier_loader *l, const struct tier_decision *d,
				  const struct extent *x)
{
	struct tier_way *w = take_way(l);

	w->d = *d;
	w->d.unit = tier_unit_of(&l->tier->units, x);
	w->extent = *x;
	w->asked = x->id;
	w->bytes = tier_unit_bytes(&l->tier->units, w->d.unit);
	w->kept_bytes = tier_kept_bytes(&l->tier->units, w->bytes);
	w->enters = w->fills = w->is_held = false;
	w->is_remote = d->slot != CACHE_NO_SLOT && !tier_is_here(l->cache, d->slot);
	return w;
}

void tier_miss(struct tier_loader *l, const struct tier_decision *d, const struct extent *x)
{
	struct tier_way *w = begin_way(l, d, x);

	start_miss(w, x);
	reader_own(l->reader, w);
}

void tier_read(struct tier_loader *l, const struct stage *at, struct sampler_epoch *order,
	       uint64_t position, const struct extent *x, void *into, uint64_t into_bytes,
	       uint64_t *ready_ns)
{
	const struct tier_decision *d = tier_decide(l, at->epoch, order, position);
	struct extent other = *x;
	struct tier_way *w;

	if (d->is_substituted)
		tier_unit_extent(&l->tier->units, d->substitute, x, &other);
	w = begin_way(l, d, &other);
	w->asked = x->id;
	w->enters = was_there(w) && start_hit(w, &other, into, into_bytes, ready_ns);
	if (!w->enters)
		start_miss(w, &other);
	reader_own(l->reader, w);
	if (into)
		reader_into(l->reader, into, into_bytes);
}

static int fail_wrong(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	const struct tier_loader *l = w->loader;

	return mlgen_fail(err, -EILSEQ,
			  "%s: slot %" PRIu32 " at %" PRIu64 ": %" PRIu64
			  " bytes that were kept of sample %" PRIu64
			  " are not what was written (cache_verify); something else writes there, "
			  "or the device fails",
			  l->cache->folder.path ? task->path : "cache in memory", w->d.slot,
			  w->d.slot * l->tier->slot_bytes, w->kept_bytes, w->extent.id);
}

static int verify(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	const unsigned char *bytes;

	uint32_t sum;

	if (!l->cache->sums || task->error)
		return 0;
	bytes = w->is_remote ? w->memory : l->tier->place->look(w);
	sum = w->is_remote ? w->sum : l->cache->sums[tier_slot_here(l->cache, w->d.slot)];
	l->tally.verified += w->extent.samples;
	if (tier_sum(bytes, w->kept_bytes) == sum)
		return 0;
	l->tally.wrong += w->extent.samples;
	if (!w->is_remote)
		tier_slot_spoil(tier_word(l->cache, w->d.slot));
	return fail_wrong(w, task, err);
}

static int end_hit(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	uint64_t bytes = tier_kept_bytes(&l->tier->units,
					 dataset_extent_bytes(task->dataset, &task->extent));
	int rc = verify(w, task, err);

	if (w->is_remote) {
		l->tally.peer_hits += w->extent.samples;
		l->tally.peer_bytes += bytes;
		return rc;
	}
	if (l->cache->slots)
		tier_slot_leave(tier_word(l->cache, w->d.slot));
	l->tally.cache_bytes += bytes;
	return rc;
}

static void count_fill(struct tier_way *w, bool is_whole)
{
	struct tier_tally *y = &w->loader->tally;

	if (is_whole) {
		y->fills++;
		y->filled_bytes += w->kept_bytes;
	} else if (!was_there(w)) {
		y->dropped_fills++;
	}
}

static int end_miss(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	const struct tier_place *place = l->tier->place;
	bool is_kept = w->d.slot != CACHE_NO_SLOT && !task->error;
	int rc = 0;

	l->tally.late_hits += was_there(w) ? w->extent.samples : 0;
	l->tally.storage_bytes += w->bytes;
	if (w->fills && w->is_remote && l->tier->cfg.peers)
		rc = tier_remote_fill(w, task, err);
	else if (w->fills)
		rc = place->filled(w, task, err);
	if (w->d.slot != CACHE_NO_SLOT && !w->is_passed_on)
		count_fill(w, is_kept && (!l->cache->slots || w->is_held) && !task->fill_error);
	return rc;
}

static struct hist *latencies_of(const struct tier_way *w)
{
	const struct tier_loader *l = w->loader;

	return !w->enters ? l->miss_ns : w->is_remote ? l->peer_ns : l->hit_ns;
}

int tier_read_end(struct tier_loader *l, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_way *w = task->owner;
	uint64_t ns = task->end_ns - task->start_ns;
	int rc;

	if (!w)
		return 0;
	if (!l->is_ahead) {
		l->tally.accesses += w->extent.samples;
		l->tally.hits += w->d.is_hit ? w->extent.samples : 0;
	}
	if (!l->is_ahead && !task->error && task->end_ns)
		hist_add(latencies_of(w), ns);
	w->is_passed_on = false;
	rc = w->enters ? end_hit(w, task, err) : end_miss(w, task, err);
	if (rc == 0 && l->peer_err.code)
		rc = mlgen_fail(err, l->peer_err.code, "%s", l->peer_err.text);
	w->next = l->free_way;
	l->free_way = w;
	return rc;
}

uint64_t tier_asked(const struct read_task *task)
{
	const struct tier_way *w = task->owner;

	return w ? w->asked : task->extent.id;
}

bool tier_was_decoded(const struct tier_loader *l, const struct read_task *task)
{
	const struct tier_way *w = task->owner;

	return w && w->enters && l->tier->job->cache_stage == CACHE_DECODED;
}
