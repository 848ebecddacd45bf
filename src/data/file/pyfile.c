/* SPDX-License-Identifier: Apache-2.0 */
/* pyfile.c - the read(2) calls of a Python program that uses an open file. */
#include "data/file/file_internal.h"

#include "base/util.h"

/* Returns the number of bytes that a read(2) of `bytes` gets at the current offset. */
static uint64_t advance(struct pyfile *f, uint64_t bytes)
{
	uint64_t left = f->raw < f->file_bytes ? f->file_bytes - f->raw : 0;
	uint64_t got = u64_min(bytes, left);

	f->raw += got;
	return got;
}

void pyfile_open(struct pyfile *f, uint64_t file_bytes)
{
	*f = (struct pyfile){ .file_bytes = file_bytes };
}

void pyfile_seek_end(struct pyfile *f, uint64_t off)
{
	f->have = f->used = 0;
	f->raw = off;
}

void pyfile_seek(struct pyfile *f, uint64_t off)
{
	uint64_t start = f->raw - f->have;

	if (f->used == f->have || off < start || off > f->raw)
		pyfile_seek_end(f, off);
	else
		f->used = (unsigned)(off - start);
}

void pyfile_read(struct pyfile *f, uint64_t bytes)
{
	unsigned left = f->have - f->used;

	if (bytes <= left) {
		f->used += (unsigned)bytes;
		return;
	}
	f->want = bytes - left;
	f->have = f->used = 0;
}

void pyfile_read_all(struct pyfile *f)
{
	f->have = f->used = 0;
	/* A byte more than the file has: only an empty read marks the end. */
	f->want = f->raw < f->file_bytes ? f->file_bytes - f->raw + 1 : 1;
	f->to_end = true;
}

bool pyfile_next(struct pyfile *f, uint64_t *off, uint64_t *bytes)
{
	uint64_t got;

	if (f->want == 0)
		return false;
	*off = f->raw;
	if (f->to_end) {
		*bytes = u64_min(f->want, PYFILE_CALL_MAX);
		got = advance(f, *bytes);
		f->to_end = got > 0;
	} else if (f->want >= PYFILE_BLOCK && f->have == 0) {
		*bytes = u64_min(f->want - f->want % PYFILE_BLOCK, PYFILE_CALL_MAX);
		got = advance(f, *bytes);
	} else {
		/* Fill the buffer, and read the rest from it. */
		*bytes = PYFILE_BLOCK - f->have;
		got = advance(f, *bytes);
		f->have += (unsigned)got;
		got = u64_min(got, f->want);
		f->used += (unsigned)got;
	}
	f->want = got ? f->want - got : 0;
	return true;
}

uint64_t pyfile_tell(const struct pyfile *f)
{
	return f->raw - (f->have - f->used);
}
