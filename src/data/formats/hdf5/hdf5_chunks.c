/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_chunks.c - where the chunks of an HDF5 dataset lie, and what libhdf5 reads to find them. */
#include "config.h"

#ifdef HAVE_HDF5

#include "data/formats/hdf5/hdf5_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"

/*
 * Every kind of index works, because libhdf5 looks each chunk up. The reads of a lookup depend on
 * earlier lookups, and h5py opens the file for each sample, so the lookup is repeated in a newly
 * opened file. Rows whose lookups read the same are in the same leaf of the index, and so are all
 * rows between them, which need no lookup of their own. At most HDF5_LEARN_MAX chunks of a file are
 * learned in this way. Further rows are assumed to read like an earlier row.
 */
#define HDF5_LEARN_MAX 20000u

/* The steps of a row: a read of the index, or 0 bytes for a chunk. */
struct steps {
	struct hdf5_note *list; /* owned */
	size_t count;
};

/* The first row with certain steps, and the word of the first step. */
struct step_row {
	uint64_t row, word;
};

struct chunks {
	struct hdf5_file *file;
	const struct hdf5_shape *shape;
	struct hdf5_index *index;
	uint64_t rows;
	uint64_t left; /* number of chunks that may still be learned */
	VEC(struct step_row) table;
};

/* ---- one chunk ---- */

static herr_t see_where(unsigned n, const H5E_error2_t *e, void *arg)
{
	bool *is = arg;

	if (n == 0 && e->func_name)
		*is = strcmp(e->func_name, "H5D__chunk_direct_read") == 0;
	return 0;
}

/* Let libhdf5 find the chunk with this first element: its place and bytes, 0 bytes if it does not
 * exist. The reads on the way are added to the notes. */
static int chunk_at(struct hdf5_file *f, const hsize_t *first, struct hdf5_note *chunk)
{
	uint8_t nowhere[8]; /* remains unset, because samples are not read */
	uint32_t mask;
	size_t before = f->notes.count;

	*chunk = (struct hdf5_note){ .is_sample = true };
	f->ignores_samples = true;
	herr_t r = f->h5->Dread_chunk(f->dataset, H5P_DEFAULT, first, &mask, nowhere);
	f->ignores_samples = false;
	if (r < 0) {
		/* If the chunk does not exist, the error comes from the function that called the
		 * lookup; any other error comes from a function below. */
		bool is_missing = false;

		f->h5->Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, see_where, &is_missing);
		return is_missing && !f->has_failed ? 0 : hdf5_file_failed(f);
	}
	if (mask && f->look->options->decompress != DECOMPRESS_NONE)
		return hdf5_file_refuse(f, "has chunks without its filter, which mlgen cannot tell "
					   "from filtered chunks; use decompress=none");
	for (size_t i = before; i < f->notes.count; i++)
		if (f->notes.at[i].is_sample)
			*chunk = f->notes.at[i];
	if (chunk->off <= f->look->file_bytes && chunk->bytes <= f->look->file_bytes - chunk->off)
		return 0;
	return hdf5_file_refuse(f,
				"has a chunk of %" PRIu64 " bytes at %" PRIu64
				", after the end of the file at %" PRIu64,
				chunk->bytes, chunk->off, f->look->file_bytes);
}

/* Advance to the next chunk of a row, the last axis fastest; false after the last chunk. */
static bool next_chunk(const struct hdf5_shape *s, hsize_t *first)
{
	for (unsigned i = s->rank - 1; i > 0; i--) {
		first[i] += s->chunk[i];
		if (first[i] < s->sides[i])
			return true;
		first[i] = 0;
	}
	return false;
}

/* ---- all chunks, row by row ---- */

static int add_chunks(struct chunks *c)
{
	struct look *l = c->file->look;
	uint64_t samples = c->shape->sides[0], all = 0;

	for (uint64_t row = 0; row < c->rows; row++) {
		hsize_t first[HDF5_RANK_ALL] = { row * c->shape->chunk[0] };
		struct hdf5_note chunk;
		uint64_t bytes = 0;
		int r;

		do {
			c->file->notes.count = 0;
			r = chunk_at(c->file, first, &chunk);
			if (r == 0)
				r = hdf5_add_words(l, chunk.off, chunk.bytes);
			bytes += chunk.bytes;
			if (c->index->is_filtered)
				l->packed_max = u64_max(l->packed_max, chunk.bytes);
		} while (r == 0 && bytes <= l->file_bytes && next_chunk(c->shape, first));
		if (r)
			return r;
		all += bytes;
		if (all > l->file_bytes)
			return hdf5_file_refuse(
				c->file, "has chunks that together are larger than the file");
		struct hdf5_share share = hdf5_share_of(c->index, samples, row, bytes);
		l->sample_bytes += (share.samples - 1) * share.each + share.last;
		if (signals_received())
			return mlgen_fail(l->err, -EINTR, "%s: interrupted", l->path);
	}
	if (all == 0)
		return hdf5_file_refuse(c->file,
					"has no data: nothing was written since it was created");
	return 0;
}

/* ---- the reads that find chunks ---- */

/* Find the steps of a row in a newly opened file. The caller frees out->list in any case. */
static int learn(struct chunks *c, uint64_t row, struct steps *out)
{
	hsize_t first[HDF5_RANK_ALL] = { row * c->shape->chunk[0] };
	struct hdf5_file *f = c->file;
	struct hdf5_note chunk;

	out->list = NULL;
	out->count = 0;
	hdf5_file_close(f);
	int r = hdf5_file_open(f);
	f->notes.count = 0;
	do {
		if (r == 0)
			r = chunk_at(f, first, &chunk);
		/* A missing chunk has a step as well. */
		if (r == 0 && chunk.bytes == 0)
			hdf5_file_note(f, chunk);
	} while (r == 0 && next_chunk(c->shape, first));
	c->left -= u64_min(c->left, c->index->row_chunks);
	if (r)
		return r;
	out->count = f->notes.count;
	out->list = mem_array(out->count, sizeof(*out->list));
	memset(out->list, 0, out->count * sizeof(*out->list));
	for (size_t i = 0; i < out->count; i++)
		if (!f->notes.at[i].is_sample)
			out->list[i] = f->notes.at[i];
	return 0;
}

static bool is_same(const struct steps *a, const struct steps *b)
{
	bool is = a->count == b->count;

	for (size_t i = 0; is && i < a->count; i++)
		is = a->list[i].off == b->list[i].off && a->list[i].bytes == b->list[i].bytes;
	return is;
}

static int add_steps(struct chunks *c, uint64_t row, const struct steps *s)
{
	struct look *l = c->file->look;
	int r = 0;

	vec_push(&c->table, (struct step_row){ row, l->word_count });
	for (size_t i = 0; i < s->count && r == 0; i++)
		r = hdf5_add_words(l, s->list[i].off, s->list[i].bytes);
	return r;
}

/* Add the steps of the rows after `a`, up to `b`; the steps of `a` were added before. */
static int learn_between(struct chunks *c, uint64_t a, const struct steps *a_steps, uint64_t b,
			 const struct steps *b_steps)
{
	uint64_t middle = a + (b - a) / 2;
	struct steps middle_steps;

	if (is_same(a_steps, b_steps))
		return 0;
	if (middle == a || c->left == 0)
		return add_steps(c, b, b_steps);
	int r = learn(c, middle, &middle_steps);
	if (r == 0)
		r = learn_between(c, a, a_steps, middle, &middle_steps);
	if (r == 0)
		r = learn_between(c, middle, &middle_steps, b, b_steps);
	mem_free(middle_steps.list);
	return r;
}

/* Set the members of *index for the layout of the chunks. Refuses a dataset with more chunks than
 * the file has bytes. */
static int chunks_shape(struct chunks *c, size_t cache_bytes)
{
	const struct hdf5_shape *s = c->shape;
	struct hdf5_index *index = c->index;
	uint64_t chunks = 1, bytes = s->element_bytes;
	bool is_counted = true;

	for (unsigned i = 0; i < s->rank && is_counted; i++) {
		is_counted = s->chunk[i] && !__builtin_mul_overflow(bytes, s->chunk[i], &bytes) &&
			     !__builtin_mul_overflow(chunks, divide_up(s->sides[i], s->chunk[i]),
						     &chunks);
		if (i == 0)
			c->rows = chunks;
	}
	if (!is_counted || c->rows == 0 || chunks > c->file->look->file_bytes)
		return hdf5_file_refuse(
			c->file, "has more chunks than the file's %" PRIu64 " bytes can hold",
			c->file->look->file_bytes);
	index->row_samples = s->chunk[0];
	index->row_chunks = chunks / c->rows;
	index->chunk_bytes = bytes;
	index->is_direct = !s->is_filtered && bytes > cache_bytes;
	return 0;
}

int hdf5_chunks_look(struct hdf5_file *f, const struct hdf5_shape *s, size_t cache_bytes,
		     struct hdf5_index *index)
{
	struct chunks c = { .file = f, .shape = s, .index = index, .left = HDF5_LEARN_MAX };
	struct steps first = { 0 }, last = { 0 };
	int r = chunks_shape(&c, cache_bytes);

	if (r == 0)
		r = add_chunks(&c);
	if (r == 0)
		r = learn(&c, 0, &first);
	if (r == 0)
		r = add_steps(&c, 0, &first);
	if (r == 0 && c.rows > 1)
		r = learn(&c, c.rows - 1, &last);
	if (r == 0 && c.rows > 1)
		r = learn_between(&c, 0, &first, c.rows - 1, &last);
	mem_free(first.list);
	mem_free(last.list);
	index->table = f->look->word_count;
	index->table_rows = c.table.count;
	for (size_t i = 0; i < c.table.count && r == 0; i++)
		r = hdf5_add_words(f->look, c.table.at[i].row, c.table.at[i].word);
	vec_fini(&c.table);
	return r;
}

#endif
