/* SPDX-License-Identifier: Apache-2.0 */
/* indexed_look.c - see indexed_look.h. */
#include "data/indexed_look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/signals.h"
#include "base/util.h"

enum { ENTRY_BYTES = 8 };

/* facts: how samples lie, and of the first two the first one's place; of the
 * first the size of each. */
enum { HOW, FIRST, SIZE };
enum { ALIKE, BEHIND_ANOTHER, ANYWHERE };

/* Sums stay far within 64 bits, also those of many files. */
#define MOST_BYTES (UINT64_C(1) << 56)

/* An interrupt is looked for after so many entries. */
#define ENTRIES_AT_ONCE 65536u

/* The two of them, open. */
struct twins {
	struct look *file; /* of the samples */
	struct look offsets, sizes;
	char paths[2][PATH_MAX];
	uint64_t entries;
	unsigned how;
	uint64_t first, size, all_bytes;
};

static int open_twin(struct twins *t, struct look *twin, char *path,
		     const char *suffix)
{
	struct look *l = t->file;
	struct stat st;
	int n = snprintf(path, PATH_MAX, "%s%s", l->path, suffix), r;

	twin->fd = -1;
	if (n < 0 || n >= PATH_MAX)
		return mlgen_fail(l->err, -EINVAL,
				  "%s: its name is too long for an index "
				  "beside it",
				  l->path);
	r = look_init(twin, l->words, l->err);
	if (r)
		return r;
	if (stat(path, &st) != 0)
		return mlgen_fail(l->err, -errno,
				  "%s: %s; there is an index beside each file "
				  "of samples",
				  path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size % ENTRY_BYTES)
		return mlgen_fail(
			l->err, -EINVAL,
			"%s: is no file of whole entries of %d bytes, "
			"as an index is",
			path, ENTRY_BYTES);
	return look_open(twin, AT_FDCWD, path, path, (uint64_t)st.st_size);
}

static int open_twins(struct twins *t)
{
	struct look *l = t->file;
	int r;

	t->sizes.fd = -1;
	r = open_twin(t, &t->offsets, t->paths[0], INDEXED_OFFSETS);
	if (r == 0)
		r = open_twin(t, &t->sizes, t->paths[1], INDEXED_SIZES);
	if (r)
		return r;
	t->entries = t->offsets.file_bytes / ENTRY_BYTES;
	if (t->offsets.file_bytes == t->sizes.file_bytes)
		return 0;
	return mlgen_fail(
		l->err, -EINVAL,
		"%s: has %" PRIu64 " entries, and the index of sizes "
		"beside it %" PRIu64 "; both have one for each sample",
		t->paths[0], t->entries, t->sizes.file_bytes / ENTRY_BYTES);
}

static int entry_at(struct twins *t, uint64_t i, uint64_t *off, uint64_t *size)
{
	const uint8_t *at = look_at(&t->offsets, i * ENTRY_BYTES, ENTRY_BYTES);

	if (!at)
		return t->file->err->code;
	*off = look_le(at, ENTRY_BYTES);
	at = look_at(&t->sizes, i * ENTRY_BYTES, ENTRY_BYTES);
	if (!at)
		return t->file->err->code;
	*size = look_le(at, ENTRY_BYTES);
	return 0;
}

static int check_entry(struct twins *t, uint64_t i, uint64_t off, uint64_t size)
{
	struct look *l = t->file;

	t->all_bytes += size;
	if (off <= l->file_bytes && size <= l->file_bytes - off &&
	    t->all_bytes <= MOST_BYTES)
		return 0;
	return look_fail(&t->offsets, i * ENTRY_BYTES,
			 "entry %" PRIu64 " is of %" PRIu64 " bytes at %" PRIu64
			 ", and the file of samples ends at %" PRIu64,
			 i, size, off, l->file_bytes);
}

static int indexed_look_interrupted(const struct look *l)
{
	return mlgen_fail(l->err, -EINTR, "%s: interrupted", l->path);
}

/* Are they within the file, and how do they lie? */
static int look_through(struct twins *t)
{
	uint64_t off = 0, size = 0, next = 0;

	for (uint64_t i = 0; i < t->entries; i++) {
		int r = entry_at(t, i, &off, &size);

		if (r == 0)
			r = check_entry(t, i, off, size);
		if (r)
			return r;
		if (i == 0) {
			t->first = off;
			t->size = size;
		} else if (off != next) {
			t->how = ANYWHERE;
		} else if (size != t->size && t->how == ALIKE) {
			t->how = BEHIND_ANOTHER;
		}
		next = off + size;
		if (i % ENTRIES_AT_ONCE == 0 && signals_taken())
			return indexed_look_interrupted(t->file);
	}
	return 0;
}

static int put_words(struct twins *t)
{
	struct look *l = t->file;
	uint64_t off = 0, size = 0;
	int r = 0;

	for (uint64_t i = 0; i < t->entries && r == 0; i++) {
		r = entry_at(t, i, &off, &size);
		if (r == 0)
			r = look_word(l, off);
		if (r == 0 && t->how == ANYWHERE)
			r = look_word(l, size);
		if (r == 0 && i % ENTRIES_AT_ONCE == 0 && signals_taken())
			r = indexed_look_interrupted(l);
	}
	return r || t->how == ANYWHERE ? r : look_word(l, off + size);
}

int indexed_look(struct look *l)
{
	struct twins t = { .file = l };
	int r = open_twins(&t);

	if (r == 0)
		r = look_through(&t);
	if (r == 0 && t.how != ALIKE)
		r = put_words(&t);
	l->read_bytes += t.offsets.read_bytes + t.sizes.read_bytes;
	look_fini(&t.offsets);
	look_fini(&t.sizes);
	if (r)
		return r;
	l->samples = t.entries;
	l->sample_bytes = t.all_bytes;
	l->facts[HOW] = t.how;
	l->facts[FIRST] = t.first;
	l->facts[SIZE] = t.size;
	return 0;
}

bool indexed_beside(const char *path, unsigned i, char *out, size_t size)
{
	static const char *const suffixes[] = { INDEXED_OFFSETS,
						INDEXED_SIZES };

	if (i >= ARRAY_LEN(suffixes))
		return false;
	if ((size_t)snprintf(out, size, "%s%s", path, suffixes[i]) >= size)
		*out = '\0';
	return true;
}

/* From the first of them to the end of the last one. */
void indexed_found_range(const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len)
{
	const uint64_t *facts = shape->facts, *words = shape->words;
	uint64_t end = 0;

	switch (facts[HOW]) {
	case ALIKE:
		*off = facts[FIRST] + first * facts[SIZE];
		*len = n * facts[SIZE];
		return;
	case BEHIND_ANOTHER:
		*off = words[first];
		*len = words[first + n] - *off;
		return;
	default:
		*off = UINT64_MAX;
		for (uint64_t i = first; i < first + n; i++) {
			*off = u64_min(*off, words[2 * i]);
			end = u64_max(end, words[2 * i] + words[2 * i + 1]);
		}
		*len = end - *off;
	}
}
