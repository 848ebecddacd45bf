/* SPDX-License-Identifier: Apache-2.0 */
/* raw.c - format=raw: samples back to back, without anything else. */
#include "data/file/file.h"

#include "base/util.h"

static uint64_t raw_file_bytes(const struct file_shape *shape)
{
	return shape->samples * format_sample_bytes(shape);
}

static void raw_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	*off = first * format_sample_bytes(shape);
	*len = n * format_sample_bytes(shape);
}

static bool raw_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	uint64_t left = raw_file_bytes(&w->shape) - w->pos;

	if (left == 0)
		return false;
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	format_content(buf, *len, w->seed_index, w->pos);
	w->pos += *len;
	return true;
}

/* The range from the first byte of the samples to the last. A list has stored two words for each
 * sample, offset and length (scan.h). */
static void raw_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	const uint64_t *words = shape->words;
	uint64_t end = 0;

	*off = UINT64_MAX;
	for (uint64_t i = first; i < first + n; i++) {
		*off = u64_min(*off, words[2 * i]);
		end = u64_max(end, words[2 * i] + words[2 * i + 1]);
	}
	*len = end - *off;
}

const struct format format_raw = {
	.name = "raw",
	.file_bytes = raw_file_bytes,
	.sample_range = raw_sample_range,
	.write_next = raw_write_next,
	.scanned_range = raw_scanned_range,
};
