/* SPDX-License-Identifier: Apache-2.0 */
/* tier_loader.c - the manifest of a cache that stays, and a loader's reads through the tier. */
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
#include "base/units.h"

/*
 * The manifest consists of lines of text: the identity of the cache, each unit with its slot and
 * checksum, and finally a checksum of all previous lines. It exists only while no run uses the
 * cache. A run removes the manifest after reading it, and writes a new one at the end of the run,
 * so that a killed run leaves none.
 */
#define MANIFEST_HEAD "mlgen cache 2\n"
#define MANIFEST_LAST "end "

/* A larger file is not a manifest. */
#define MANIFEST_MAX_BYTES (UINT64_C(64) << 30)

/* Append everything that must match before a run can use an existing cache. */
static void append_identity(const struct tier_cache *c, struct buf *out)
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

/* Number of hexadecimal digits of numbers up to `end`. */
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

	append_identity(c, &text);
	uint64_t bytes = text.len + line * c->slot_count + sizeof(MANIFEST_LAST "01234567\n");
	buf_fini(&text);
	if (fd < 0)
		return;
	fallocate(fd, 0, 0, (off_t)bytes);
	close(fd);
}

/* Write the manifest into the reserved file, and cut off the rest. */
static int write_manifest(const struct tier_cache *c, const struct buf *text)
{
	int dir = c->folder.dir_fd, fd = open_new(c), rc;

	if (fd < 0)
		return fd;
	/* The cached bytes reach the disk before the manifest that lists them. */
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

	append_identity(c, &text);

	/* A line for each slot that has the bytes of its latest unit. */
	uint64_t unit;
	for (uint32_t s = 0; s < c->slot_count; s++) {
		uint64_t word = c->slots[s];

		if (tier_slot_state(word) == SLOT_READY &&
		    tier_slot_generation(word) == cache_generation(c->cache, s) &&
		    cache_unit_in(c->cache, s, &unit))
			buf_addf(&text, "%" PRIx64 " %" PRIx32 " %" PRIx32 "\n", unit, s,
				 c->sums ? c->sums[s] : 0);
	}

	buf_addf(&text, MANIFEST_LAST "%08lx\n",
		 crc32_z(0, (const unsigned char *)buf_str(&text), text.len));
	int rc = write_manifest(c, &text);
	buf_fini(&text);
	return rc < 0 ? manifest_fail(c, rc, err) : 0;
}

/* Load the manifest, terminated by a zero byte. NULL with *rc. */
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
	    (uint64_t)st.st_size < MANIFEST_MAX_BYTES) {
		text = mem_zalloc((size_t)st.st_size + 1);
		n = pread(fd, text, (size_t)st.st_size, 0);
	}
	close(fd);
	*bytes = n < 0 ? 0 : (size_t)n;
	return text;
}

/* True if the checksum in the last line is right. */
static bool has_sum(const char *text, size_t bytes)
{
	size_t last = sizeof(MANIFEST_LAST "01234567\n") - 1;
	const char *end = text + bytes - last;

	if (bytes < last || strncmp(end, MANIFEST_LAST, strlen(MANIFEST_LAST)) != 0)
		return false;
	unsigned long sum = strtoul(end + strlen(MANIFEST_LAST), NULL, 16);
	return sum == crc32_z(0, (const unsigned char *)text, bytes - last);
}

/* Report the first line of the existing manifest (`made`) that differs from `want`. */
static int fail_identity(const struct tier_cache *c, const char *made, const char *want,
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
			  "cache_persist: the cache in %s was kept with '%.*s', but this run has "
			  "'%.*s'; remove it, or use another cache_directory",
			  c->folder.path, (int)a, made, (int)b, want);
}

static void add_unit(struct tier_cache *c, uint64_t unit, uint32_t slot, uint32_t sum)
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
	c->restored_units++;
}

/* Slots are in ascending order, so that no slot appears twice. */
static int parse_units(struct tier_cache *c, const char *at)
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
		add_unit(c, unit, (uint32_t)slot, (uint32_t)sum);
		first = slot + 1;
		at = end + 1;
	}
	return 1;
}

int tier_manifest_read(struct tier_cache *c, struct mlgen_err *err)
{
	size_t bytes;
	int rc = 0;
	char *text = load(c, &bytes, &rc);

	if (text) {
		struct buf want = { 0 };

		append_identity(c, &want);
		if (!has_sum(text, bytes))
			rc = mlgen_fail(err, -EINVAL,
					"cache_persist: %s/" TIER_MANIFEST
					" is damaged: its checksum does not match; remove the "
					"folder, or use another cache_directory",
					c->folder.path);
		else if (strncmp(text, buf_str(&want), want.len) != 0)
			rc = fail_identity(c, text, buf_str(&want), err);
		else
			rc = parse_units(c, text + want.len);
		buf_fini(&want);
		/* The removal is synced: after a loss of power, the manifest must not reappear if
		 * its slots have changed since. */
		if (rc > 0 && (unlinkat(c->folder.dir_fd, TIER_MANIFEST, 0) != 0 ||
			       fsync(c->folder.dir_fd) != 0))
			rc = manifest_fail(c, -errno, err);
	}
	mem_free(text);
	if (rc == -ENOENT)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc,
				   "cache_persist: %s/" TIER_MANIFEST ": cannot read it: %s",
				   c->folder.path, strerror(-rc))
		      : rc;
}

static int make_transfers(struct tier_loader *l, struct mlgen_err *err)
{
	const struct tier *t = l->tier;
	char text[UNITS_TEXT_BYTES];

	l->transfer_count = job_samples_at_once(t->job);
	l->transfers = mem_array(l->transfer_count, sizeof(*l->transfers));
	for (unsigned i = 0; i < l->transfer_count; i++) {
		struct tier_transfer *tr = &l->transfers[i];

		tr->loader = l;
		tr->next = l->free_transfer;
		l->free_transfer = tr;
		if (!tier_has_buffers(t->job))
			continue;
		tr->memory = mem_buffer(t->slot_bytes, MEM_MMAP);
		if (!tr->memory)
			return mlgen_fail(
				err, -ENOMEM,
				"cache: no memory for a sample of %s on its way there, one of %u "
				"per read thread; use fewer read_threads, or a lower iodepth",
				units_human_bytes(text, (double)t->slot_bytes), l->transfer_count);
	}
	return 0;
}

struct tier_loader *tier_loader_new(struct tier *t, uint64_t rank, uint64_t number,
				    struct worker *worker, struct reader *r, struct mlgen_err *err)
{
	struct tier_loader *l = mem_zalloc(sizeof(*l));

	*l = (struct tier_loader){ .tier = t,
				   .cache = tier_cache_of(t, rank),
				   .rank = rank,
				   .worker = worker,
				   .reader = r,
				   .slab = { .fd = -1 },
				   .hit_ns = hist_new(),
				   .miss_ns = hist_new(),
				   .peer_ns = hist_new() };
	l->seed = rng_u64(t->job->randseed, RNG_ENGINE, ~number);
	int rc = make_transfers(l, err);
	if (rc == 0 && t->backend->join)
		rc = t->backend->join(l, err);
	if (rc == 0)
		return l;
	tier_loader_free(l);
	return NULL;
}

void tier_loader_close(struct tier_loader *l)
{
	struct tier *t = l->tier;

	pthread_mutex_lock(&l->cache->lock);
	tier_flush_tally(l);
	pthread_mutex_unlock(&l->cache->lock);
	pthread_mutex_lock(&t->lock);
	hist_merge(t->hit_ns, l->hit_ns);
	hist_merge(t->miss_ns, l->miss_ns);
	hist_merge(t->peer_ns, l->peer_ns);
	pthread_mutex_unlock(&t->lock);
	if (t->backend->leave)
		t->backend->leave(l);
}

void tier_loader_free(struct tier_loader *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->transfer_count; i++)
		mem_buffer_free(l->transfers[i].memory, l->tier->slot_bytes, MEM_MMAP);
	mem_free(l->transfers);
	hist_free(l->hit_ns);
	hist_free(l->miss_ns);
	hist_free(l->peer_ns);
	mem_free(l);
}

/* True if the order decided that the cache serves the access. */
static bool is_decided_hit(const struct tier_transfer *tr)
{
	return tr->d.is_hit || tr->d.is_substituted;
}

/* Start a hit. False: its bytes are not present. A simulated tier costs the same for a slot of
 * another process as for a local one. */
static bool start_hit(struct tier_transfer *tr, const struct extent *x, void *into,
		      uint64_t into_bytes, uint64_t *ready_ns)
{
	const struct tier_cache *c = tr->loader->cache;
	const struct tier *t = c->tier;

	if (tr->is_remote && t->cfg.peers)
		return tier_remote_hit(tr, x, into, into_bytes, ready_ns);
	if (!tr->is_remote && c->slots &&
	    !tier_slot_enter(tier_word(c, tr->d.slot), tr->d.generation))
		return false;
	t->backend->hit(tr, x, into, into_bytes, ready_ns);
	return true;
}

/* Start a read from storage. tr->fills says whether its bytes are kept. */
static void start_miss(struct tier_transfer *tr, const struct extent *x)
{
	const struct tier *t = tr->loader->tier;

	tr->fills = tr->d.slot != CACHE_NO_SLOT && tr->loader->cache->slots;
	if (tr->is_remote && t->cfg.peers)
		tier_remote_miss(tr, x);
	else
		t->backend->miss(tr, x);
}

static struct tier_transfer *begin_transfer(struct tier_loader *l, const struct tier_decision *d,
					    const struct extent *x)
{
	struct tier_transfer *tr = l->free_transfer;

	l->free_transfer = tr->next;
	tr->d = *d;
	tr->d.unit = tier_unit_of(&l->tier->units, x);
	tr->extent = *x;
	tr->requested_id = x->id;
	tr->bytes = tier_unit_bytes(&l->tier->units, tr->d.unit);
	tr->cached_bytes = tier_cached_bytes(&l->tier->units, tr->bytes);
	tr->is_reader = tr->fills = tr->has_claimed = false;
	tr->is_remote = d->slot != CACHE_NO_SLOT && !tier_slot_is_local(l->cache, d->slot);
	return tr;
}

void tier_miss(struct tier_loader *l, const struct tier_decision *d, const struct extent *x)
{
	struct tier_transfer *tr = begin_transfer(l, d, x);

	start_miss(tr, x);
	reader_set_owner(l->reader, tr);
}

void tier_read(struct tier_loader *l, const struct stage *at, struct sampler_epoch *order,
	       uint64_t position, const struct extent *x, void *into, uint64_t into_bytes,
	       uint64_t *ready_ns)
{
	const struct tier_decision *d = tier_decide(l, at->epoch, order, position);
	struct extent other = *x;

	if (d->is_substituted)
		tier_unit_extent(&l->tier->units, d->substitute, x, &other);
	struct tier_transfer *tr = begin_transfer(l, d, &other);
	tr->requested_id = x->id;
	tr->is_reader = is_decided_hit(tr) && start_hit(tr, &other, into, into_bytes, ready_ns);
	if (!tr->is_reader)
		start_miss(tr, &other);
	reader_set_owner(l->reader, tr);
	if (into)
		reader_into(l->reader, into, into_bytes);
}

/* Compare the checksum of a hit with that of its fill. */
static int verify(struct tier_transfer *tr, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = tr->loader;

	if (!l->cache->sums || task->error)
		return 0;
	const unsigned char *bytes = tr->is_remote ? tr->memory : l->tier->backend->address(tr);
	uint32_t sum =
		tr->is_remote ? tr->sum : l->cache->sums[tier_local_index(l->cache, tr->d.slot)];
	l->tally.verified += tr->extent.samples;
	if (tier_sum(bytes, tr->cached_bytes) == sum)
		return 0;
	l->tally.wrong += tr->extent.samples;
	if (!tr->is_remote)
		tier_slot_spoil(tier_word(l->cache, tr->d.slot));
	return mlgen_fail(err, -EILSEQ,
			  "%s: slot %" PRIu32 " at %" PRIu64 ": %" PRIu64
			  " bytes that were kept of sample %" PRIu64
			  " differ from the bytes that were written (cache_verify); another "
			  "program writes there, or the device fails",
			  l->cache->folder.path ? task->path : "cache in memory", tr->d.slot,
			  tr->d.slot * l->tier->slot_bytes, tr->cached_bytes, tr->extent.id);
}

static int end_hit(struct tier_transfer *tr, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = tr->loader;
	uint64_t bytes = tier_cached_bytes(&l->tier->units,
					   dataset_extent_bytes(task->dataset, &task->extent));
	int rc = verify(tr, task, err);

	if (tr->is_remote) {
		l->tally.peer_hits += tr->extent.samples;
		l->tally.peer_bytes += bytes;
		return rc;
	}
	if (l->cache->slots)
		tier_slot_leave(tier_word(l->cache, tr->d.slot));
	l->tally.cache_bytes += bytes;
	return rc;
}

static int end_miss(struct tier_transfer *tr, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = tr->loader;
	struct tier_tally *y = &l->tally;
	int rc = 0;

	y->late_hits += is_decided_hit(tr) ? tr->extent.samples : 0;
	y->storage_bytes += tr->bytes;
	if (tr->fills && tr->is_remote && l->tier->cfg.peers)
		rc = tier_remote_fill(tr, task, err);
	else if (tr->fills)
		rc = l->tier->backend->filled(tr, task, err);
	if (tr->d.slot == CACHE_NO_SLOT || tr->is_queued)
		return rc;
	if (!task->error && !task->fill_error && (!l->cache->slots || tr->has_claimed)) {
		y->fills++;
		y->filled_bytes += tr->cached_bytes;
	} else if (!is_decided_hit(tr)) {
		y->dropped_fills++;
	}
	return rc;
}

int tier_read_end(struct tier_loader *l, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_transfer *tr = task->owner;
	uint64_t ns = task->end_ns - task->start_ns;

	if (!tr)
		return 0;
	if (!l->is_ahead) {
		l->tally.accesses += tr->extent.samples;
		l->tally.hits += tr->d.is_hit ? tr->extent.samples : 0;
	}
	if (!l->is_ahead && !task->error && task->end_ns)
		hist_add(!tr->is_reader ? l->miss_ns : tr->is_remote ? l->peer_ns : l->hit_ns, ns);
	tr->is_queued = false;
	int rc = tr->is_reader ? end_hit(tr, task, err) : end_miss(tr, task, err);
	if (rc == 0 && l->peer_err.code)
		rc = mlgen_fail(err, l->peer_err.code, "%s", l->peer_err.text);
	tr->next = l->free_transfer;
	l->free_transfer = tr;
	return rc;
}

uint64_t tier_requested_extent(const struct read_task *task)
{
	const struct tier_transfer *tr = task->owner;

	return tr ? tr->requested_id : task->extent.id;
}

bool tier_was_decoded(const struct tier_loader *l, const struct read_task *task)
{
	const struct tier_transfer *tr = task->owner;

	return tr && tr->is_reader && l->tier->job->cache_stage == CACHE_DECODED;
}
