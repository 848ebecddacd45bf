/* SPDX-License-Identifier: Apache-2.0 */
/* mmap_rig.h - one file, read and written by the mmap engine. */
#pragma once

#include <sys/stat.h>

#include "engine_rig.h"

#define BLOCK 4096u

static inline void begin(struct rig *r, size_t buf_bytes)
{
	ck_assert(rig_start(r, "mmap", NULL, 1, buf_bytes));
}

static inline int64_t do_one(struct rig *r, enum mlgen_op kind, uint64_t off, uint64_t bytes)
{
	struct io_op op = rig_op(r, kind, off, bytes);

	op.eof_ok = true;
	return io_do(r->io, &op);
}

static inline uint64_t size_of(const struct rig *r)
{
	struct stat st;

	ck_assert_int_eq(stat(r->path, &st), 0);
	return (uint64_t)st.st_size;
}

/* As rig_file, but opened by the engine. */
static inline void open_by_engine(struct rig *r, uint64_t bytes, int flags)
{
	rig_file(r, bytes, O_RDONLY);
	close(r->file.fd);
	r->file.fd = -1;
	r->file.flags = flags;
	r->file.mode = 0600;
	ck_assert_int_eq(do_one(r, MLGEN_OPEN, 0, 0), 0);
	ck_assert_int_ge(r->file.fd, 0);
}
