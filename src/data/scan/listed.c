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
	VEC(struct listed_file) by_path; /* indexed by the number of a path in `paths` */
	uint64_t *files; /* indexed by position in the list: file of the scan, or LISTED_NONE */
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

static int count_samples(const struct listed *l, const struct scan *s,
			 const struct listed_sample *all, struct listed_count *counts,
			 struct mlgen_err *err)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < l->samples; i++) {
		uint64_t file = l->files[all[i].place];

		if (file == LISTED_NONE)
			continue;
		if (all[i].off > scan_size(s, file) ||
		    all[i].bytes > scan_size(s, file) - all[i].off) {
			char name[PATH_MAX] = "";

			if (scan_name(s, file, name, sizeof(name)) < 0)
				*name = '\0';
			return mlgen_fail(
				err, -EINVAL,
				"file_list: %s/%s: it now ends at byte %" PRIu64
				", but a sample of the list has %" PRIu64 " bytes at %" PRIu64
				"; the file was larger when the list was read",
				scan_base(s), name, scan_size(s, file), all[i].bytes, all[i].off);
		}
		counts[file].samples++;
		counts[file].bytes += all[i].bytes;
		if (all[i].bytes > MAX_BYTES - sum)
			return mlgen_fail(err, -EFBIG,
					  "file_list: the total size of its samples is too large");
		sum += all[i].bytes;
	}
	return 0;
}

int listed_group(struct listed *l, const struct scan *s, struct listed_count *counts,
		 struct namefile *words, struct mlgen_err *err)
{
	uint64_t samples = 0, bytes, *to = NULL;
	struct namefile_map map;
	int r = namefile_map(&l->spool, 0, &map, err);

	if (r)
		return r;
	madvise(map.bytes, map.length, MADV_SEQUENTIAL);
	const struct listed_sample *all = (const void *)map.bytes;
	r = count_samples(l, s, all, counts, err);
	if (r)
		goto out;
	for (uint64_t i = 0; i < s->count; i++)
		samples += counts[i].samples;
	bytes = 2 * samples * sizeof(*to);
	/* The blocks of the empty file are allocated first, so that writes to the mapping cannot
	 * fail on a full filesystem. */
	r = -posix_fallocate(words->fd, 0, (off_t)bytes);
	if (r == 0) {
		to = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, words->fd, 0);
		r = to == MAP_FAILED ? -errno : 0;
	}
	if (r) {
		r = namefile_failed(words, r, err);
		goto out;
	}
	words->end = bytes;

	/* Write the samples grouped by file; next[] is where the next sample of each file goes. */
	uint64_t *next = mem_array((size_t)s->count, sizeof(*next)), sum = 0;

	for (uint64_t i = 0; i < s->count; i++) {
		next[i] = sum;
		sum += 2 * counts[i].samples;
	}
	for (uint64_t i = 0; i < l->samples; i++) {
		uint64_t file = l->files[all[i].place];

		if (file == LISTED_NONE)
			continue;
		to[next[file]++] = all[i].off;
		to[next[file]++] = all[i].bytes;
	}
	mem_free(next);

	munmap(to, (size_t)bytes);
out:
	namefile_unmap(&map);
	return r;
}
