/* SPDX-License-Identifier: Apache-2.0 */
/* iocontent.c - see iocontent.h. */
#include "work/plain/iocontent.h"

#include <errno.h>
#include <string.h>

#include "base/fnv.h"
#include "base/rng.h"
#include "base/util.h"

/* One worker's at a time: large enough that its open and its last sync do not matter, small enough
 * that all workers have some of a large file. */
#define PIECE_BYTES (UINT64_C(64) << 20)

/* From one place in a file to another. */
struct content {
	uint64_t seed, off, end;
};

static int fill_between(struct newfile *x, uint64_t from, uint64_t end, struct mlgen_err *err)
{
	struct content c = { .seed = fnv1a(FNV1A, x->path, strlen(x->path)),
			     .off = from,
			     .end = end };

	x->end = from;
	return newfile_fill(x, &c, err);
}

int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err)
{
	struct content *c = source;

	(void)err;
	*off = c->off;
	*len = c->end - c->off < size ? (size_t)(c->end - c->off) : size;
	rng_fill(buf, *len, c->seed, RNG_CONTENT, *off);
	c->off += *len;
	return *len > 0;
}

int iocontent_fill(struct newfile *x, struct mlgen_err *err)
{
	return fill_between(x, 0, x->bytes, err);
}

uint64_t iocontent_pieces(uint64_t file_bytes)
{
	return divide_up(file_bytes, PIECE_BYTES);
}

int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err)
{
	uint64_t from = piece * PIECE_BYTES;

	return fill_between(x, from, from + u64_min(x->bytes - from, PIECE_BYTES), err);
}

int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err)
{
	struct io_op op = {
		.io = { .op = MLGEN_ALLOCATE, .file = &x->file, .len_bytes = x->bytes }
	};
	int r = (int)io_do(x->w->io, &op);
	size_t buf_bytes;

	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return r < 0 ? newfile_failed(x, opstat_name(MLGEN_ALLOCATE), r, err) : 0;
	if (has_content)
		return 0;
	memset(io_buffer(x->w->io, &buf_bytes), 0, 1);
	return newfile_write(x, x->bytes - 1, 1, err);
}
