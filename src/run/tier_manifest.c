/* SPDX-License-Identifier: Apache-2.0 */
/* tier_manifest.c - what a cache tier's slots hold, written down for the next run. */
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
#include "base/mem.h"
#include "base/writeall.h"
#include "run/tier_inside.h"

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
