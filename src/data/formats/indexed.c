/* SPDX-License-Identifier: Apache-2.0 */
/* indexed.c - format=indexed_binary and mmap_indexed_binary: samples back to back, two index files
 * beside them. */
#include <string.h>

#include "data/file/file.h"
#include "data/formats/formats.h"

/*
 * The index files are arrays without a header, one 64-bit number a sample, little endian: its
 * offset and its size (DLIO data_generator/indexed_binary_generator.py).
 */
enum { SAMPLES, OFFSETS, SIZES, PARTS }; /* file_shape.part */

enum { ENTRY_BYTES = 8 };

static uint64_t indexed_file_bytes(const struct file_shape *shape)
{
	if (shape->facts && shape->part != SAMPLES)
		return indexed_found_index_bytes(shape);
	return shape->samples * (shape->part == SAMPLES ? format_sample_bytes(shape) : ENTRY_BYTES);
}

static void indexed_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				 uint64_t *off, uint64_t *len)
{
	*off = first * format_sample_bytes(shape);
	*len = n * format_sample_bytes(shape);
}

/* `bytes` from `pos` on; both are multiples of ENTRY_BYTES. */
static void fill_index(const struct file_shape *shape, uint8_t *to, size_t bytes, uint64_t pos)
{
	uint64_t size = format_sample_bytes(shape);

	for (size_t i = 0; i < bytes; i += ENTRY_BYTES) {
		uint64_t sample = (pos + i) / ENTRY_BYTES;
		uint64_t v = shape->part == OFFSETS ? sample * size : size;

		for (size_t k = 0; k < ENTRY_BYTES; k++, v >>= 8)
			to[i + k] = (uint8_t)v;
	}
}

static bool indexed_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			       size_t *len)
{
	uint64_t left = indexed_file_bytes(&w->shape) - w->pos;

	if (left == 0)
		return false;
	bytes -= bytes % ENTRY_BYTES;
	*off = w->pos;
	*len = left < bytes ? (size_t)left : bytes;
	if (w->shape.part == SAMPLES)
		format_content(buf, *len, w->seed_index, w->pos);
	else
		fill_index(&w->shape, buf, *len, w->pos);
	w->pos += *len;
	return true;
}

static int indexed_init(struct dataset *ds, struct mlgen_err *err)
{
	(void)err;
	ds->parts = PARTS;
	return 0;
}

const struct format format_indexed_binary = {
	.name = "indexed_binary",
	.init = indexed_init,
	.parts = { [OFFSETS] = { .suffix = "indexed_binary" INDEXED_OFFSETS,
				 .beside = INDEXED_OFFSETS },
		   [SIZES] = { .suffix = "indexed_binary" INDEXED_SIZES,
			       .beside = INDEXED_SIZES } },
	.file_bytes = indexed_file_bytes,
	.sample_range = indexed_sample_range,
	.write_next = indexed_write_next,
	.framework = { &plan_indexed },
	.reader = "DLIO",
	.look = indexed_look,
	.look_beside = indexed_beside,
	.named_index = indexed_megatron_path,
	.found_init = indexed_found_init,
	.found_range = indexed_found_range,
	.at_start = &plan_indexes,
};

const struct format format_mmap_indexed_binary = {
	.name = "mmap_indexed_binary",
	.init = indexed_init,
	.parts = { [OFFSETS] = { .suffix = "mmap_indexed_binary" INDEXED_OFFSETS,
				 .beside = INDEXED_OFFSETS },
		   [SIZES] = { .suffix = "mmap_indexed_binary" INDEXED_SIZES,
			       .beside = INDEXED_SIZES } },
	.file_bytes = indexed_file_bytes,
	.sample_range = indexed_sample_range,
	.write_next = indexed_write_next,
	.framework = { &plan_mapped },
	.reader = "DLIO",
	.look = indexed_look,
	.look_beside = indexed_beside,
	.named_index = indexed_megatron_path,
	.found_init = indexed_found_init,
	.found_range = indexed_found_range,
	.at_start = &plan_map,
};
