/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_found.c - what a scan puts down about an HDF5 file: where samples lie, and the reads that
 * find them. */
#include "config.h"

#ifdef HAVE_HDF5

#include "base/bisect.h"
#include "data/formats/hdf5/hdf5.h"

#include "base/util.h"

/* facts[HOW]: what it is, how many reads, those of the open, and the sieve buffer. */
enum { HOW, FACT_1, FACT_2, FACT_3, FACT_4, FACT_5 };
enum { CHUNKED = 1, COMPACT = 2, FILTERED = 4, DIRECT = 8 };
#define READS_SHIFT 4
#define ROOT_SHIFT 24
#define SIEVE_SHIFT 32
#define READS_MASK ((UINT64_C(1) << (ROOT_SHIFT - READS_SHIFT)) - 1)
#define ROOT_MASK ((UINT64_C(1) << (SIEVE_SHIFT - ROOT_SHIFT)) - 1)

void hdf5_found_pack(const struct hdf5_found *f, uint64_t *facts)
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

#endif
