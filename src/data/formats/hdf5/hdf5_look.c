/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_look.c - find the dataset of an HDF5 file, its samples, and libhdf5's reads of them. */
#include "config.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- facts and words of a file ---- */

/* facts[HOW] has the flags, the number of all reads, the number of reads by the open, and the size
 * of the sieve buffer. */
enum { HOW, FACT_1, FACT_2, FACT_3, FACT_4, FACT_5 };
enum { CHUNKED = 1, COMPACT = 2, FILTERED = 4, DIRECT = 8 };
#define READS_SHIFT 4
#define ROOT_SHIFT 24
#define SIEVE_SHIFT 32
#define READS_MASK ((UINT64_C(1) << (ROOT_SHIFT - READS_SHIFT)) - 1)
#define ROOT_MASK ((UINT64_C(1) << (SIEVE_SHIFT - ROOT_SHIFT)) - 1)

static void hdf5_scanned_pack(const struct hdf5_index *f, uint64_t *facts)
{
	facts[HOW] = (f->is_chunked ? CHUNKED : 0u) | (f->is_compact ? COMPACT : 0u) |
		     (f->is_filtered ? FILTERED : 0u) | (f->is_direct ? DIRECT : 0u) |
		     f->read_count << READS_SHIFT |
		     u64_min(f->root_count, ROOT_MASK) << ROOT_SHIFT |
		     f->sieve_bytes << SIEVE_SHIFT;
	facts[FACT_1] = f->is_chunked ? f->row_samples : f->off;
	facts[FACT_2] = f->is_chunked ? f->row_chunks : f->end;
	facts[FACT_3] = f->is_chunked ? f->chunk_bytes : f->sample_bytes;
	facts[FACT_4] = f->table;
	facts[FACT_5] = f->table_rows;
}

void hdf5_index_unpack(struct hdf5_index *f, const struct file_shape *shape)
{
	const uint64_t *facts = shape->facts;

	*f = (struct hdf5_index){
		.is_chunked = facts[HOW] & CHUNKED,
		.is_compact = facts[HOW] & COMPACT,
		.is_filtered = facts[HOW] & FILTERED,
		.is_direct = facts[HOW] & DIRECT,
		.read_count = facts[HOW] >> READS_SHIFT & READS_MASK,
		.root_count = facts[HOW] >> ROOT_SHIFT & ROOT_MASK,
		.sieve_bytes = facts[HOW] >> SIEVE_SHIFT,
		.table = facts[FACT_4],
		.table_rows = facts[FACT_5],
		.words = shape->words,
	};
	if (f->is_chunked) {
		f->row_samples = facts[FACT_1];
		f->row_chunks = facts[FACT_2];
		f->chunk_bytes = facts[FACT_3];
	} else {
		f->off = facts[FACT_1];
		f->end = facts[FACT_2];
		f->sample_bytes = facts[FACT_3];
	}
}

/* If the dataset fills the last row only in part, its chunks still have their full size, and each
 * sample has the same share as in other rows. Compressed chunks are smaller: the samples that exist
 * share all of their bytes. */
struct hdf5_share hdf5_share_of(const struct hdf5_index *f, uint64_t samples, uint64_t row,
				uint64_t row_bytes)
{
	uint64_t n = u64_min(f->row_samples, samples - row * f->row_samples);
	uint64_t parts = f->is_filtered ? n : f->row_samples;
	uint64_t each = row_bytes / parts;

	return (struct hdf5_share){ .each = each,
				    .last = parts == n ? row_bytes - (n - 1) * each : each,
				    .samples = n };
}

uint64_t hdf5_index_chunk(const struct hdf5_index *f, uint64_t row)
{
	return 2 * (f->read_count + row * f->row_chunks);
}

void hdf5_index_steps(const struct hdf5_index *f, uint64_t row, uint64_t *from, uint64_t *end)
{
	const uint64_t *table = f->words + f->table;
	/* The first entry of the table is for row 0. */
	uint64_t low = BISECT(i, 1, f->table_rows, table[2 * i] > row) - 1;
	*from = table[2 * low + 1];
	*end = low + 1 < f->table_rows ? table[2 * low + 3] : f->table;
}

/* Each sample has its share of the row's bytes. This is exact if a chunk spans the row and is not
 * compressed; otherwise the size is right and the place approximate. */
static void chunked_range(const struct hdf5_index *f, const struct file_shape *shape,
			  uint64_t sample, uint64_t *off, uint64_t *len)
{
	uint64_t row = sample / f->row_samples, in_row = sample % f->row_samples;
	uint64_t bytes = 0;
	const uint64_t *chunk = f->words + hdf5_index_chunk(f, row);

	/* Find the place of the row's first chunk in the file, and the bytes of all its chunks. */
	*off = UINT64_MAX;
	for (uint64_t i = 0; i < f->row_chunks; i++, chunk += 2) {
		if (chunk[1] == 0)
			continue;
		*off = u64_min(*off, chunk[0]);
		bytes += chunk[1];
	}
	if (bytes == 0)
		*off = 0;

	struct hdf5_share share = hdf5_share_of(f, shape->samples, row, bytes);
	*len = in_row == share.samples - 1 ? share.last : share.each;
	*off = u64_min(*off + in_row * share.each, shape->scanned_bytes - *len);
}

void hdf5_index_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		      uint64_t *len)
{
	struct hdf5_index f;

	hdf5_index_unpack(&f, shape);
	if (!f.is_chunked) {
		*off = f.off + first * f.sample_bytes;
		*len = n * f.sample_bytes;
		return;
	}
	chunked_range(&f, shape, first, off, len);
	for (uint64_t i = 1; i < n; i++) {
		uint64_t other, bytes;

		chunked_range(&f, shape, first + i, &other, &bytes);
		*len += bytes;
	}
	*off = u64_min(*off, shape->scanned_bytes - *len);
}

/* ---- the look ---- */

/* The lock for libhdf5, which has one itself only if it was built with threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Largest object header; libhdf5 writes less than 64 KiB. */
#define COMPACT_MAX 65536u
/* Largest piece in which libhdf5 reads metadata. */
#define PIECE_MAX 65536u

/* Check and set the bytes of a sample and the place of the samples. */
static int check_bytes(struct hdf5_file *f, const struct hdf5_shape *s, struct hdf5_index *index)
{
	uint64_t all, end, elements = 1;
	bool is_right = true;

	for (unsigned i = 1; i < s->rank && is_right; i++)
		is_right = !__builtin_mul_overflow(elements, s->sides[i], &elements);
	is_right = is_right &&
		   !__builtin_mul_overflow(elements, s->element_bytes, &index->sample_bytes) &&
		   !__builtin_mul_overflow(index->sample_bytes, s->sides[0], &all) &&
		   !__builtin_add_overflow(s->off, all, &end);
	if (is_right && s->is_chunked)
		return 0;
	if (!is_right || end > f->look->file_bytes || (s->is_compact && all > COMPACT_MAX))
		return hdf5_file_refuse(
			f, "has more samples than the file's %" PRIu64 " bytes can hold",
			f->look->file_bytes);
	index->off = s->off;
	index->end = u64_min(end, f->source.end_of_allocation);
	f->look->sample_bytes = all;
	return 0;
}

/* Find the data of a compact dataset. They are among the metadata. libhdf5 returns the data, but
 * not their place in the file. */
static int find_compact(struct hdf5_file *f, struct hdf5_index *index)
{
	uint64_t bytes = f->look->sample_bytes, off = 0;
	uint64_t stored_bytes = f->h5->Dget_storage_size(f->dataset);
	int r;

	/* libhdf5 1.10 would copy more bytes than a damaged file has. */
	if (stored_bytes < bytes)
		return hdf5_file_refuse(
			f, "is compact and has %" PRIu64 " bytes, but its samples need %" PRIu64,
			stored_bytes, bytes);
	uint8_t *data = mem_zalloc((size_t)bytes + 1);
	hid_t type = f->h5->Dget_type(f->dataset);
	if (type >= 0 && f->h5->Dread(f->dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0) {
		/* Find the data in the ranges that libhdf5 has read. They may continue after the
		 * end of a range, because a header is read in pieces. */
		size_t n = (size_t)bytes;
		uint8_t *read = mem_zalloc((size_t)PIECE_MAX + n);

		r = 0;
		for (size_t i = 0; i < f->notes.count && r == 0 && off == 0; i++) {
			const struct hdf5_note *note = &f->notes.at[i];

			if (note->off >= f->look->file_bytes || note->bytes > PIECE_MAX)
				continue;
			uint64_t there = u64_min(note->bytes + n, f->look->file_bytes - note->off);
			r = look_copy(f->look, note->off, read, there);
			const uint8_t *at = r ? NULL : memmem(read, (size_t)there, data, n);
			if (at)
				off = note->off + (uint64_t)(at - read);
		}
		mem_free(read);
	} else {
		r = hdf5_file_failed(f);
	}
	if (type >= 0)
		f->h5->Tclose(type);
	mem_free(data);
	if (r == 0 && off == 0)
		r = hdf5_file_refuse(
			f, "is compact, but its data are not in the bytes that libhdf5 read");
	index->off = off;
	index->end = off + bytes;
	return r;
}

static int look_dataset(struct hdf5_file *f)
{
	struct hdf5_index index = { 0 };
	struct hdf5_shape s = { 0 };
	size_t sieve = 0, cache = 0;
	int r = hdf5_file_open(f);

	for (size_t i = 0; i < f->notes.count && r == 0; i++)
		r = hdf5_add_words(f->look, f->notes.at[i].off, f->notes.at[i].bytes);
	index.read_count = f->notes.count;
	index.root_count = f->notes.root;
	if (r == 0)
		r = hdf5_file_shape(f, &s);
	if (r == 0)
		r = check_bytes(f, &s, &index);
	/* A shape without elements has no samples, even if the first side is not 0. */
	if (r || index.sample_bytes == 0 || s.sides[0] == 0)
		return r;
	if (!hdf5_source_sizes(f->h5, &sieve, &cache))
		return hdf5_file_failed(f);
	index.is_chunked = s.is_chunked;
	index.is_compact = s.is_compact;
	index.is_filtered = s.is_filtered;
	index.sieve_bytes = sieve;
	if (s.is_compact)
		r = find_compact(f, &index);
	if (s.is_chunked)
		r = hdf5_chunks_look(f, &s, cache, &index);
	f->look->samples = s.sides[0];
	hdf5_scanned_pack(&index, f->look->facts);
	return r;
}

static int look_locked(struct look *l)
{
	struct mlgen_err err = { 0 };
	const struct hdf5_library *h5 = hdf5_library(&err);

	/* A missing library must not look like a damaged file, which a scan may leave out. */
	if (!h5)
		return mlgen_fail(l->err, -ELIBACC, "%s", err.text);
	struct hdf5_file *f = mem_zalloc(sizeof(*f));
	f->h5 = h5;
	f->look = l;
	f->file = f->dataset = H5I_INVALID_HID;
	/* A libhdf5 with threads has this setting for each thread. */
	h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
	int r = hdf5_file_choose(f);
	if (r == 0)
		r = look_dataset(f);
	hdf5_file_fini(f);
	mem_free(f);
	return r;
}

int hdf5_look(struct look *l)
{
	pthread_mutex_lock(&lock);
	int r = look_locked(l);
	pthread_mutex_unlock(&lock);
	return r;
}

#endif
