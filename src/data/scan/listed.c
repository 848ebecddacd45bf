/* SPDX-License-Identifier: Apache-2.0 */
/* listed.c - samples that a list names: spooled to a temporary file, then grouped by file. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/scan/scan_internal.h"

/* Limit for the sum of sizes, so that sums over many datasets stay within 64 bits. */
#define MAX_BYTES (UINT64_C(1) << 56)

/* A sample in the spool file. */
struct listed_sample {
	uint64_t place;
	uint64_t off, bytes;
};

struct listed {
	struct namefile spool;
	uint64_t samples;
	struct map_text paths;
	VEC(struct listed_file) by_path; /* indexed by number in `paths` */
	uint64_t *files;                 /* indexed by place: file of the scan, or LISTED_NONE */
};

int listed_new(struct listed **out, const char *beside, struct mlgen_err *err)
{
	struct listed *l = mem_zalloc(sizeof(*l));
	int r = namefile_open(&l->spool, beside, err);

	if (r) {
		listed_free(l);
		return r;
	}
	*out = l;
	return 0;
}

/* Free the paths, which are needed only while the list is read. */
static void listed_free_paths(struct listed *l)
{
	map_text_fini(&l->paths);
	vec_fini(&l->by_path);
}

void listed_free(struct listed *l)
{
	if (!l)
		return;
	namefile_close(&l->spool);
	listed_free_paths(l);
	mem_free(l->files);
	mem_free(l);
}

/* ---- paths ---- */

const struct listed_file *listed_find(const struct listed *l, const char *path)
{
	uint32_t number;

	return map_text_find(&l->paths, path, strlen(path), &number) ? &l->by_path.at[number]
								     : NULL;
}

void listed_add_path(struct listed *l, const char *path, uint64_t place, uint64_t bytes)
{
	bool is_new;

	map_text_number(&l->paths, path, strlen(path), &is_new);
	vec_push(&l->by_path, (struct listed_file){ place, bytes });
}

int listed_add(struct listed *l, uint64_t place, uint64_t off, uint64_t bytes,
	       struct mlgen_err *err)
{
	const struct listed_sample s = { place, off, bytes };

	l->samples++;
	return namefile_add(&l->spool, (const char *)&s, sizeof(s), err);
}

/* ---- files ---- */

/* Find the file of the scan with this name; LISTED_NONE if there is none. */
static uint64_t find_file_named(const struct scan *s, const char *names, const char *name)
{
	uint64_t low = 0, high = s->count;
	size_t n = strlen(name);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const struct scan_entry *e = &s->entries[middle];
		size_t m = entry_name_length(e);
		int r = memcmp(name, names + entry_name_at(e), n < m ? n : m);

		if (r == 0 && n == m)
			return middle;
		if (r < 0 || (r == 0 && n < m))
			high = middle;
		else
			low = middle + 1;
	}
	return LISTED_NONE;
}

int listed_settle(struct listed *l, const struct scan *s, const struct scan_places *p,
		  struct mlgen_err *err)
{
	struct namefile_map names;
	int r = namefile_flush(&l->spool, err);

	namefile_end(&l->spool);
	listed_free_paths(l);
	if (r == 0)
		r = namefile_map(&s->names, 0, &names, err);
	if (r)
		return r;
	l->files = mem_array(p->count, sizeof(*l->files));
	for (size_t i = 0; i < p->count; i++)
		l->files[i] = find_file_named(s, names.bytes, p->at[i].name);
	namefile_unmap(&names);
	return 0;
}

/* ---- samples ---- */

static int check_sample(const struct scan *s, uint64_t file, const struct listed_sample *at,
			struct mlgen_err *err)
{
	char name[PATH_MAX] = "";

	if (at->off <= scan_size(s, file) && at->bytes <= scan_size(s, file) - at->off)
		return 0;
	if (scan_name(s, file, name, sizeof(name)) < 0)
		*name = '\0';
	return mlgen_fail(err, -EINVAL,
			  "file_list: %s/%s: it now ends at byte %" PRIu64
			  ", but a sample of the list has %" PRIu64 " bytes at %" PRIu64
			  "; the file was larger when the list was read",
			  scan_base(s), name, scan_size(s, file), at->bytes, at->off);
}

static int count_samples(const struct listed *l, const struct scan *s,
			 const struct listed_sample *all, struct listed_count *counts,
			 struct mlgen_err *err)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < l->samples; i++) {
		uint64_t file = l->files[all[i].place];
		int r;

		if (file == LISTED_NONE)
			continue;
		r = check_sample(s, file, &all[i], err);
		if (r)
			return r;
		counts[file].samples++;
		counts[file].bytes += all[i].bytes;
		if (all[i].bytes > MAX_BYTES - sum)
			return mlgen_fail(err, -EFBIG,
					  "file_list: the total size of its samples is too large");
		sum += all[i].bytes;
	}
	return 0;
}

/* Map an empty file with this many bytes. Its blocks are allocated first, so that writes to the
 * memory cannot fail on a full filesystem. */
static uint64_t *map_room(struct namefile *f, uint64_t bytes, struct mlgen_err *err)
{
	int r = -posix_fallocate(f->fd, 0, (off_t)bytes);
	void *at = MAP_FAILED;

	if (r == 0) {
		at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
		r = at == MAP_FAILED ? -errno : 0;
	}
	if (r) {
		namefile_failed(f, r, err);
		return NULL;
	}
	f->end = bytes;
	return at;
}

/* Write the samples grouped by file; next[] is where the next sample of each file goes. */
static void write_words(const struct listed *l, const struct listed_sample *all,
			const struct listed_count *counts, uint64_t files, uint64_t *words)
{
	uint64_t *next = mem_array((size_t)files, sizeof(*next)), sum = 0;

	for (uint64_t i = 0; i < files; i++) {
		next[i] = sum;
		sum += 2 * counts[i].samples;
	}
	for (uint64_t i = 0; i < l->samples; i++) {
		uint64_t file = l->files[all[i].place];

		if (file == LISTED_NONE)
			continue;
		words[next[file]++] = all[i].off;
		words[next[file]++] = all[i].bytes;
	}
	mem_free(next);
}

int listed_group(struct listed *l, const struct scan *s, struct listed_count *counts,
		 struct namefile *words, struct mlgen_err *err)
{
	const struct listed_sample *all;
	uint64_t samples = 0, bytes, *to;
	struct namefile_map map;
	int r = namefile_map(&l->spool, 0, &map, err);

	if (r)
		return r;
	madvise(map.bytes, map.length, MADV_SEQUENTIAL);
	all = (const void *)map.bytes;
	r = count_samples(l, s, all, counts, err);
	if (r)
		goto out;
	for (uint64_t i = 0; i < s->count; i++)
		samples += counts[i].samples;
	bytes = 2 * samples * sizeof(*to);
	to = map_room(words, bytes, err);
	if (!to) {
		r = err->code;
		goto out;
	}
	write_words(l, all, counts, s->count, to);
	munmap(to, (size_t)bytes);
out:
	namefile_unmap(&map);
	return r;
}
