/* SPDX-License-Identifier: Apache-2.0 */
/* written.h - files of a format in memory, for the tests of what stands in them. */
#pragma once

#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"

#define LEAST_BUFFER 65536u

/* Little endian. */
static inline uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

/* The whole file, written in chunks of at most `chunk` bytes; mem_free. */
static inline uint8_t *whole(const struct format *f, const struct file_shape *shape, uint64_t index,
			     size_t chunk)
{
	struct format_writer w = { .shape = *shape, .seed_index = index };
	uint64_t total = f->file_bytes(shape), end = 0, off;
	uint8_t *file = mem_zalloc(total), *buf = mem_zalloc(chunk);
	size_t len;

	while (f->write_next(&w, buf, chunk, &off, &len)) {
		ck_assert_uint_gt(len, 0);
		ck_assert_uint_le(len, chunk);
		ck_assert_uint_le(off + len, total);
		ck_assert(off == end || off == 0);
		memcpy(file + off, buf, len);
		if (off + len > end)
			end = off + len;
	}
	ck_assert_uint_eq(end, total);
	mem_free(buf);
	return file;
}
