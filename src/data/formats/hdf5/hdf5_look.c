/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_look.c - looks at an HDF5 file: which dataset, where its samples lie, what libhdf5 reads to
 * get them. */
#include "config.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- what a scan puts down ---- */

/* facts[HOW]: what it is, how many reads, those of the open, and the sieve buffer. */
enum { HOW, FACT_1, FACT_2, FACT_3, FACT_4, FACT_5 };
enum { CHUNKED = 1, COMPACT = 2, FILTERED = 4, DIRECT = 8 };
#define READS_SHIFT 4
#define ROOT_SHIFT 24
#define SIEVE_SHIFT 32
#define READS_MASK ((UINT64_C(1) << (ROOT_SHIFT - READS_SHIFT)) - 1)
#define ROOT_MASK ((UINT64_C(1) << (SIEVE_SHIFT - ROOT_SHIFT)) - 1)

static void hdf5_found_pack(const struct hdf5_found *f, uint64_t *facts)
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

void hdf5_found_unpack(struct hdf5_found *f, const struct file_shape *shape)
{
	const uint64_t *facts = shape->facts;

	*f = (struct hdf5_found){
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

/* A row that the dataset fills in part is there as a whole, but has less in it where it is
 * compressed. */
struct hdf5_share hdf5_share_of(const struct hdf5_found *f, uint64_t samples, uint64_t row,
				uint64_t row_bytes)
{
	uint64_t n = u64_min(f->row_samples, samples - row * f->row_samples);
	uint64_t parts = f->is_filtered ? n : f->row_samples;
	uint64_t each = row_bytes / parts;

	return (struct hdf5_share){ .each = each,
				    .last = parts == n ? row_bytes - (n - 1) * each : each,
				    .samples = n };
}

uint64_t hdf5_found_chunk(const struct hdf5_found *f, uint64_t row)
{
	return 2 * (f->read_count + row * f->row_chunks);
}

void hdf5_found_steps(const struct hdf5_found *f, uint64_t row, uint64_t *from, uint64_t *end)
{
	const uint64_t *table = f->words + f->table;
	/* The first entry is that of row 0. */
	uint64_t low = BISECT(i, 1, f->table_rows, table[2 * i] > row) - 1;
	*from = table[2 * low + 1];
	*end = low + 1 < f->table_rows ? table[2 * low + 3] : f->table;
}

/* Where the row begins, and its bytes. */
static void row_range(const struct hdf5_found *f, uint64_t row, uint64_t *off, uint64_t *len)
{
	const uint64_t *chunk = f->words + hdf5_found_chunk(f, row);

	*off = UINT64_MAX;
	*len = 0;
	for (uint64_t i = 0; i < f->row_chunks; i++, chunk += 2) {
		if (chunk[1] == 0)
			continue;
		*off = u64_min(*off, chunk[0]);
		*len += chunk[1];
	}
	if (*len == 0)
		*off = 0;
}

/*
 * Of chunks each sample of a row has its share: where nothing is compressed and a chunk goes all
 * across, that is where it lies. Else as many bytes, from about there on.
 */
static void chunked_range(const struct hdf5_found *f, const struct file_shape *shape,
			  uint64_t sample, uint64_t *off, uint64_t *len)
{
	uint64_t row = sample / f->row_samples, in_row = sample % f->row_samples;
	struct hdf5_share share;
	uint64_t bytes;

	row_range(f, row, off, &bytes);
	share = hdf5_share_of(f, shape->samples, row, bytes);
	*len = in_row == share.samples - 1 ? share.last : share.each;
	*off = u64_min(*off + in_row * share.each, shape->found_bytes - *len);
}

void hdf5_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		      uint64_t *len)
{
	struct hdf5_found f;

	hdf5_found_unpack(&f, shape);
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
	*off = u64_min(*off, shape->found_bytes - *len);
}

/* ---- looking ---- */

/* libhdf5 has one, too, but only where it was built with threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* No object header has more in it; libhdf5 writes less than 64 KiB. */
#define COMPACT_MAX 65536u
/* Metadata are read in pieces that are smaller. */
#define PIECE_MAX 65536u

/* The reads of the metadata, of the file that was just opened. */
static int put_reads(struct hdf5_file *f, struct hdf5_found *found)
{
	int r = 0;

	for (size_t i = 0; i < f->notes.count && r == 0; i++) {
		r = look_word(f->look, f->notes.at[i].off);
		if (r == 0)
			r = look_word(f->look, f->notes.at[i].bytes);
	}
	found->read_count = f->notes.count;
	found->root_count = f->notes.root;
	return r;
}

/* A sample's elements; false where they are more than can be counted. */
static bool sample_elements(const struct hdf5_shape *s, uint64_t *n)
{
	*n = 1;
	for (unsigned i = 1; i < s->rank; i++)
		if (__builtin_mul_overflow(*n, s->sides[i], n))
			return false;
	return true;
}

static int check_bytes(struct hdf5_file *f, const struct hdf5_shape *s, struct hdf5_found *found)
{
	uint64_t all, end, n;
	bool is_right = sample_elements(s, &n) &&
			!__builtin_mul_overflow(n, s->element_bytes, &found->sample_bytes) &&
			!__builtin_mul_overflow(found->sample_bytes, s->sides[0], &all) &&
			!__builtin_add_overflow(s->off, all, &end);

	if (is_right && s->is_chunked)
		return 0;
	if (!is_right || end > f->look->file_bytes || (s->is_compact && all > COMPACT_MAX))
		return hdf5_file_refuse(
			f, "has more samples than the file's %" PRIu64 " bytes can hold",
			f->look->file_bytes);
	found->off = s->off;
	found->end = u64_min(end, f->source.end_of_allocation);
	f->look->sample_bytes = all;
	return 0;
}

/* Where these bytes lie in what was read, or go on behind it: a header is read in pieces. */
static int find_bytes(struct hdf5_file *f, const void *bytes, size_t n, uint64_t *off)
{
	uint8_t *read = mem_zalloc((size_t)PIECE_MAX + n);
	int r = 0;

	for (size_t i = 0; i < f->notes.count && r == 0 && *off == 0; i++) {
		const struct hdf5_note *note = &f->notes.at[i];
		uint64_t there;
		const uint8_t *at;

		if (note->off >= f->look->file_bytes || note->bytes > PIECE_MAX)
			continue;
		there = u64_min(note->bytes + n, f->look->file_bytes - note->off);
		r = look_copy(f->look, note->off, read, there);
		at = r ? NULL : memmem(read, (size_t)there, bytes, n);
		if (at)
			*off = note->off + (uint64_t)(at - read);
	}
	mem_free(read);
	return r;
}

/* The data of a compact one are among the metadata: libhdf5 says what they are, not where. */
static int find_compact(struct hdf5_file *f, struct hdf5_found *found)
{
	size_t bytes = (size_t)f->look->sample_bytes;
	uint8_t *data = mem_zalloc(bytes + 1);
	hid_t type = f->h5->Dget_type(f->dataset);
	uint64_t off = 0;
	bool is_read = type >= 0 &&
		       f->h5->Dread(f->dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
	int r = is_read ? find_bytes(f, data, bytes, &off) : hdf5_file_failed(f);

	if (type >= 0)
		f->h5->Tclose(type);
	mem_free(data);
	if (r == 0 && off == 0)
		r = hdf5_file_refuse(f, "is compact, and its data are not in what libhdf5 read");
	found->off = off;
	found->end = off + f->look->sample_bytes;
	return r;
}

/* Of a damaged file libhdf5 1.10 would copy more than it has. */
static int check_compact(struct hdf5_file *f)
{
	uint64_t has = f->h5->Dget_storage_size(f->dataset);

	if (has >= f->look->sample_bytes)
		return 0;
	return hdf5_file_refuse(
		f, "is compact, and has %" PRIu64 " bytes where its samples take %" PRIu64, has,
		f->look->sample_bytes);
}

static int look_dataset(struct hdf5_file *f)
{
	struct hdf5_found found = { 0 };
	struct hdf5_shape s = { 0 };
	size_t sieve = 0, cache = 0;
	int r = hdf5_file_open(f);

	if (r == 0)
		r = put_reads(f, &found);
	if (r == 0)
		r = hdf5_file_shape(f, &s);
	if (r == 0)
		r = check_bytes(f, &s, &found);
	/* Without an element there is no sample, whatever the shape says. */
	if (r || found.sample_bytes == 0 || s.sides[0] == 0)
		return r;
	if (!hdf5_source_sizes(f->h5, &sieve, &cache))
		return hdf5_file_failed(f);
	found.is_chunked = s.is_chunked;
	found.is_compact = s.is_compact;
	found.is_filtered = s.is_filtered;
	found.sieve_bytes = sieve;
	if (s.is_compact)
		r = check_compact(f);
	if (s.is_compact && r == 0)
		r = find_compact(f, &found);
	if (s.is_chunked)
		r = hdf5_chunks_look(f, &s, cache, &found);
	f->look->samples = s.sides[0];
	hdf5_found_pack(&found, f->look->facts);
	return r;
}

static int look_locked(struct look *l)
{
	struct mlgen_err err = { 0 };
	struct hdf5_file *f;
	int r;

	const struct hdf5_library *h5 = hdf5_library(&err);
	/* Not a damaged file, which might be left out. */
	if (!h5)
		return mlgen_fail(l->err, -ELIBACC, "%s", err.text);
	f = mem_zalloc(sizeof(*f));
	f->h5 = h5;
	f->look = l;
	f->file = f->dataset = H5I_INVALID_HID;
	/* Of this thread, in a libhdf5 with threads. */
	h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
	r = hdf5_file_choose(f);
	if (r == 0)
		r = look_dataset(f);
	hdf5_file_fini(f);
	mem_free(f);
	return r;
}

int hdf5_look(struct look *l)
{
	int r;

	pthread_mutex_lock(&lock);
	r = look_locked(l);
	pthread_mutex_unlock(&lock);
	return r;
}

#endif
