/* SPDX-License-Identifier: Apache-2.0 */
/* pyfile.c - which calls of read(2) become of what a Python program asks of a file that is open. */
#include "data/file/file_internal.h"

#include "base/util.h"

static void empty_buffer(struct pyfile *f)
{
	f->have = f->used = 0;
}

/* What one read(2) of so many bytes gets here. */
static uint64_t transfer(struct pyfile *f, uint64_t bytes)
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
	empty_buffer(f);
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
	empty_buffer(f);
}

void pyfile_read_all(struct pyfile *f)
{
	empty_buffer(f);
	/* One more than there is: only an empty read is the end. */
	f->want = f->raw < f->file_bytes ? f->file_bytes - f->raw + 1 : 1;
	f->to_end = true;
}

/* All of it, until nothing comes any more. */
static void next_to_end(struct pyfile *f, uint64_t *bytes)
{
	uint64_t got;

	*bytes = u64_min(f->want, PYFILE_CALL_MAX);
	got = transfer(f, *bytes);
	f->want -= got;
	if (got == 0) {
		f->want = 0;
		f->to_end = false;
	}
}

static void next_blocks(struct pyfile *f, uint64_t *bytes)
{
	uint64_t got;

	*bytes = u64_min(f->want - f->want % PYFILE_BLOCK, PYFILE_CALL_MAX);
	got = transfer(f, *bytes);
	f->want = got ? f->want - got : 0;
}

static void next_fill(struct pyfile *f, uint64_t *bytes)
{
	uint64_t got;

	*bytes = PYFILE_BLOCK - f->have;
	got = transfer(f, *bytes);
	f->have += (unsigned)got;
	got = u64_min(got, f->want);
	f->used += (unsigned)got;
	f->want = got ? f->want - got : 0;
}

bool pyfile_next(struct pyfile *f, uint64_t *off, uint64_t *bytes)
{
	if (f->want == 0)
		return false;
	*off = f->raw;
	if (f->to_end)
		next_to_end(f, bytes);
	else if (f->want >= PYFILE_BLOCK && f->have == 0)
		next_blocks(f, bytes);
	else
		next_fill(f, bytes);
	return true;
}

uint64_t pyfile_tell(const struct pyfile *f)
{
	return f->raw - (f->have - f->used);
}
