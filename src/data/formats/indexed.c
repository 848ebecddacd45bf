/* SPDX-License-Identifier: Apache-2.0 */
/* indexed.c - format=indexed_binary and mmap_indexed_binary: samples back to back, and indexes. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/util.h"
#include "data/file/file.h"

/* Suffixes of DLIO's two index files, after the name of the file of samples. */
#define INDEXED_OFFSETS ".off.idx"
#define INDEXED_SIZES ".sz.idx"

/* ---- files from any writer ---- */

enum { ENTRY_BYTES = 8 };

/* Megatron's index. */
static const char magic[] = "MMIDIDX\0"; /* includes the terminating zero */
enum {
	MAGIC_BYTES = sizeof(magic),
	HEAD_BYTES = MAGIC_BYTES + 8 + 1 + 8 + 8,
	VERSION = 1,
	LENGTH_BYTES = 4,
};

/* Facts: the layout; offset and size of the first sample; bytes of Megatron's index, 0 = the file
 * has DLIO's. FIRST and SIZE are used with EQUAL_SIZES. */
enum { LAYOUT, FIRST, SIZE, MEGATRON };
enum { EQUAL_SIZES, CONTIGUOUS, ANYWHERE };

/* Sums stay far within 64 bits, even over many files. */
#define PAYLOAD_BYTES_MAX (UINT64_C(1) << 56)

/* Entries between checks for an interrupt. */
#define ENTRIES_PER_CHECK 65536u

/* The open indexes of offsets and of sizes. */
struct index_files {
	struct look *file; /* the file of samples */
	struct look offsets, sizes;
	char paths[2][PATH_MAX];
	uint64_t offsets_at, sizes_at; /* offsets of the first entries */
	unsigned size_bytes;           /* width of a size */
	unsigned unit;                 /* bytes per unit of a size: 1, or the bytes of a token */
	uint64_t entries;
	unsigned layout;
	uint64_t first, size, all_bytes;
};

static int open_index(struct index_files *t, struct look *index, const char *path, unsigned unit)
{
	struct look *l = t->file;
	struct stat st;
	int r = look_init(index, l->words, l->err);

	if (r)
		return r;
	if (stat(path, &st) != 0)
		return mlgen_fail(l->err, -errno,
				  "%s: %s; each file of samples needs an index next to it", path,
				  strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size % unit)
		return mlgen_fail(
			l->err, -EINVAL,
			"%s: is not an index, which consists of whole entries of %u bytes", path,
			unit);
	return look_open(index, AT_FDCWD, path, path, (uint64_t)st.st_size);
}

static int open_sidecar(struct index_files *t, struct look *twin, char *path, const char *suffix)
{
	int n = snprintf(path, PATH_MAX, "%s%s", t->file->path, suffix);

	if (n < 0 || n >= PATH_MAX)
		return mlgen_fail(t->file->err, -EINVAL,
				  "%s: the name is too long for an index next to the file",
				  t->file->path);
	return open_index(t, twin, path, ENTRY_BYTES);
}

/* Megatron */

/* Format NAME.idx for NAME.bin. False if the path has another suffix, or `out` is too small. */
static bool indexed_megatron_path(const char *path, char *out, size_t size)
{
	static const char suffix[] = ".bin";
	size_t n = strlen(path), m = sizeof(suffix) - 1;

	if (n < m || strcmp(path + n - m, suffix) != 0)
		return false;
	return (size_t)snprintf(out, size, "%.*s.idx", (int)(n - m), path) < size;
}

bool indexed_is_megatron(int dir_fd, const char *path)
{
	char index[PATH_MAX], begins[MAGIC_BYTES];
	bool is = false;

	if (!indexed_megatron_path(path, index, sizeof(index)))
		return false;
	int fd = openat(dir_fd, index, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	is = pread(fd, begins, sizeof(begins), 0) == MAGIC_BYTES &&
	     memcmp(begins, magic, MAGIC_BYTES) == 0;
	close(fd);
	return is;
}

static int parse_megatron_head(struct index_files *t, struct look *index)
{
	/* By the code of the type (class DType); 0 = unknown. */
	static const uint8_t token_bytes[] = { 0, 1, 1, 2, 4, 8, 8, 4, 2 };
	const uint8_t *at = look_at(index, 0, HEAD_BYTES);

	if (!at)
		return index->err->code;
	uint64_t version = look_le(at + MAGIC_BYTES, 8);
	t->unit = at[MAGIC_BYTES + 8] < sizeof(token_bytes) ? token_bytes[at[MAGIC_BYTES + 8]] : 0;
	if (version != VERSION || t->unit == 0)
		return look_fail(index, MAGIC_BYTES,
				 "version %" PRIu64 " and token type %u; of Megatron's indexes, "
				 "mlgen knows version %d and token types 1 to 8",
				 version, at[MAGIC_BYTES + 8], VERSION);
	t->entries = look_le(at + HEAD_BYTES - 16, 8);
	uint64_t documents = look_le(at + HEAD_BYTES - 8, 8);
	t->sizes_at = HEAD_BYTES;
	t->size_bytes = LENGTH_BYTES;
	if (t->entries > index->file_bytes || documents > index->file_bytes ||
	    HEAD_BYTES + t->entries * (LENGTH_BYTES + ENTRY_BYTES) + documents * ENTRY_BYTES >
		    index->file_bytes)
		return look_fail(index, HEAD_BYTES,
				 "%" PRIu64 " sequences and %" PRIu64
				 " documents need a longer index than %" PRIu64
				 " bytes: the index is incomplete or damaged",
				 t->entries, documents, index->file_bytes);
	t->offsets_at = HEAD_BYTES + t->entries * LENGTH_BYTES;
	return 0;
}

/* Megatron has offsets and sizes in one file, which is opened twice. */
static int open_megatron(struct index_files *t)
{
	indexed_megatron_path(t->file->path, t->paths[0], PATH_MAX);
	int r = open_index(t, &t->offsets, t->paths[0], 1);
	if (r == 0)
		r = open_index(t, &t->sizes, t->paths[0], 1);
	if (r == 0)
		r = parse_megatron_head(t, &t->offsets);
	t->file->facts[MEGATRON] = t->offsets.file_bytes;
	return r;
}

/* DLIO */

static int open_dlio(struct index_files *t)
{
	struct look *l = t->file;
	int r = open_sidecar(t, &t->offsets, t->paths[0], INDEXED_OFFSETS);

	if (r == 0)
		r = open_sidecar(t, &t->sizes, t->paths[1], INDEXED_SIZES);
	if (r)
		return r;
	t->size_bytes = ENTRY_BYTES;
	t->unit = 1;
	t->entries = t->offsets.file_bytes / ENTRY_BYTES;
	if (t->offsets.file_bytes == t->sizes.file_bytes)
		return 0;
	return mlgen_fail(l->err, -EINVAL,
			  "%s: has %" PRIu64
			  " entries, but the index of sizes next to it has %" PRIu64
			  "; both need one entry for each sample",
			  t->paths[0], t->entries, t->sizes.file_bytes / ENTRY_BYTES);
}

static int entry_at(struct index_files *t, uint64_t i, uint64_t *off, uint64_t *size)
{
	const uint8_t *at = look_at(&t->offsets, t->offsets_at + i * ENTRY_BYTES, ENTRY_BYTES);

	if (!at)
		return t->file->err->code;
	*off = look_le(at, ENTRY_BYTES);
	at = look_at(&t->sizes, t->sizes_at + i * t->size_bytes, t->size_bytes);
	if (!at)
		return t->file->err->code;
	if (__builtin_mul_overflow(look_le(at, t->size_bytes), t->unit, size))
		*size = UINT64_MAX;
	return 0;
}

static int fail_interrupted(const struct look *l)
{
	return mlgen_fail(l->err, -EINTR, "%s: interrupted", l->path);
}

/* Check that all samples lie within the file, and find their layout. */
static int check_entries(struct index_files *t)
{
	uint64_t off = 0, size = 0, next = 0, file_bytes = t->file->file_bytes;

	for (uint64_t i = 0; i < t->entries; i++) {
		int r = entry_at(t, i, &off, &size);

		if (r)
			return r;
		t->all_bytes += size;
		if (off > file_bytes || size > file_bytes - off || t->all_bytes > PAYLOAD_BYTES_MAX)
			return look_fail(&t->offsets, t->offsets_at + i * ENTRY_BYTES,
					 "entry %" PRIu64 " names %" PRIu64 " bytes at %" PRIu64
					 ", but the file of samples ends at %" PRIu64,
					 i, size, off, file_bytes);
		if (i == 0) {
			t->first = off;
			t->size = size;
		} else if (off != next) {
			t->layout = ANYWHERE;
		} else if (size != t->size && t->layout == EQUAL_SIZES) {
			t->layout = CONTIGUOUS;
		}
		next = off + size;
		if (i % ENTRIES_PER_CHECK == 0 && signals_received())
			return fail_interrupted(t->file);
	}
	return 0;
}

/*
 * The indexes are read twice at most. Each entry is checked against the file, and words hold only
 * what cannot be computed: nothing for contiguous samples of one size, offsets for other contiguous
 * samples, otherwise offset and size.
 *
 * The index files themselves are not mapped. Their pages would be in the page cache before a
 * framework's worker reads them, and a file that is truncated while it is mapped kills the process.
 */
static int indexed_look(struct look *l)
{
	struct index_files t = { .file = l, .offsets.fd = -1, .sizes.fd = -1 };
	int r = indexed_is_megatron(AT_FDCWD, l->path) ? open_megatron(&t) : open_dlio(&t);

	if (r == 0)
		r = check_entries(&t);
	if (r == 0 && t.layout != EQUAL_SIZES) {
		uint64_t off = 0, size = 0;

		for (uint64_t i = 0; i < t.entries && r == 0; i++) {
			r = entry_at(&t, i, &off, &size);
			if (r == 0)
				r = look_add_word(l, off);
			if (r == 0 && t.layout == ANYWHERE)
				r = look_add_word(l, size);
			if (r == 0 && i % ENTRIES_PER_CHECK == 0 && signals_received())
				r = fail_interrupted(l);
		}
		if (r == 0 && t.layout != ANYWHERE)
			r = look_add_word(l, off + size);
	}
	l->read_bytes += t.offsets.read_bytes + t.sizes.read_bytes;
	look_fini(&t.offsets);
	look_fini(&t.sizes);
	if (r)
		return r;
	l->samples = t.entries;
	l->sample_bytes = t.all_bytes;
	l->facts[LAYOUT] = t.layout;
	l->facts[FIRST] = t.first;
	l->facts[SIZE] = t.size;
	return 0;
}

static bool indexed_index_path(const char *path, unsigned i, char *out, size_t size)
{
	static const char *const suffixes[] = { INDEXED_OFFSETS, INDEXED_SIZES };

	if (i == ARRAY_LEN(suffixes))
		return indexed_megatron_path(path, out, size);
	if (i > ARRAY_LEN(suffixes))
		return false;
	if ((size_t)snprintf(out, size, "%s%s", path, suffixes[i]) >= size)
		*out = '\0';
	return true;
}

/* Refuse a mix of indexes, because workers read those of all files in the same way. */
static int indexed_scanned_init(struct dataset *ds, struct mlgen_err *err)
{
	uint64_t megatron = 0;

	for (uint64_t i = 0; i < ds->files; i++) {
		struct file_shape shape = { 0 };

		scan_index_shape(ds->found, i, &shape);
		megatron += shape.facts[MEGATRON] > 0;
	}
	if (megatron && megatron < ds->files)
		return mlgen_fail(err, -EINVAL,
				  "%s: %" PRIu64 " of %" PRIu64
				  " files have an index of Megatron, the other files have indexes "
				  "of DLIO; use a directory for each kind",
				  ds->directory, megatron, ds->files);
	ds->has_megatron = megatron > 0;
	if (ds->has_megatron)
		ds->parts = 2;
	return 0;
}

/* The range from the first byte of the samples to the last. */
static void indexed_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				  uint64_t *off, uint64_t *len)
{
	const uint64_t *facts = shape->facts, *words = shape->words;
	uint64_t end = 0;

	switch (facts[LAYOUT]) {
	case EQUAL_SIZES:
		*off = facts[FIRST] + first * facts[SIZE];
		*len = n * facts[SIZE];
		return;
	case CONTIGUOUS:
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

/* ---- files of mlgen ---- */

/*
 * The index files are arrays without a header, with a little-endian 64-bit number for each sample:
 * its offset, or its size (DLIO data_generator/indexed_binary_generator.py).
 */
enum { SAMPLES, OFFSETS, SIZES, PARTS }; /* file_shape.part */

static uint64_t indexed_file_bytes(const struct file_shape *shape)
{
	if (shape->facts && shape->part != SAMPLES && shape->facts[MEGATRON])
		return shape->facts[MEGATRON];
	return shape->samples * (shape->part == SAMPLES ? format_sample_bytes(shape) : ENTRY_BYTES);
}

static void indexed_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				 uint64_t *off, uint64_t *len)
{
	*off = first * format_sample_bytes(shape);
	*len = n * format_sample_bytes(shape);
}

static bool indexed_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			       size_t *len)
{
	uint64_t left = indexed_file_bytes(&w->shape) - w->pos;

	if (left == 0)
		return false;
	bytes -= bytes % ENTRY_BYTES;
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	if (w->shape.part == SAMPLES) {
		format_content(buf, *len, w->seed_index, w->pos);
	} else {
		uint8_t *to = buf;
		uint64_t size = format_sample_bytes(&w->shape);

		for (size_t i = 0; i < *len; i += ENTRY_BYTES) {
			uint64_t sample = (w->pos + i) / ENTRY_BYTES;
			uint64_t v = w->shape.part == OFFSETS ? sample * size : size;

			for (size_t k = 0; k < ENTRY_BYTES; k++, v >>= 8)
				to[i + k] = (uint8_t)v;
		}
	}
	w->pos += *len;
	return true;
}

static int indexed_init(struct dataset *ds, struct mlgen_err *err)
{
	(void)err;
	ds->parts = PARTS;
	return 0;
}

const struct format format_indexed_binary = {
	.name = "indexed_binary",
	.init = indexed_init,
	.parts = { [OFFSETS] = { .suffix = "indexed_binary" INDEXED_OFFSETS,
				 .sidecar_suffix = INDEXED_OFFSETS },
		   [SIZES] = { .suffix = "indexed_binary" INDEXED_SIZES,
			       .sidecar_suffix = INDEXED_SIZES } },
	.file_bytes = indexed_file_bytes,
	.sample_range = indexed_sample_range,
	.write_next = indexed_write_next,
	.framework = { &plan_indexed },
	.reader = "DLIO",
	.look = indexed_look,
	.sidecar_path = indexed_index_path,
	.index_path = indexed_megatron_path,
	.scanned_init = indexed_scanned_init,
	.scanned_range = indexed_scanned_range,
	.at_start = &plan_indexes,
};

const struct format format_mmap_indexed_binary = {
	.name = "mmap_indexed_binary",
	.init = indexed_init,
	.parts = { [OFFSETS] = { .suffix = "mmap_indexed_binary" INDEXED_OFFSETS,
				 .sidecar_suffix = INDEXED_OFFSETS },
		   [SIZES] = { .suffix = "mmap_indexed_binary" INDEXED_SIZES,
			       .sidecar_suffix = INDEXED_SIZES } },
	.file_bytes = indexed_file_bytes,
	.sample_range = indexed_sample_range,
	.write_next = indexed_write_next,
	.framework = { &plan_mapped },
	.reader = "DLIO",
	.look = indexed_look,
	.sidecar_path = indexed_index_path,
	.index_path = indexed_megatron_path,
	.scanned_init = indexed_scanned_init,
	.scanned_range = indexed_scanned_range,
	.at_start = &plan_map,
};
