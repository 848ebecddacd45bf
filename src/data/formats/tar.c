/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c - format=tar: shards as WebDataset writes them, two members a sample. */
#include "data/file/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "data/formats/formats.h"
#include "data/formats/formats_internal.h"

/*
 * A sample is two files with one name and two suffixes: NNNNNNNN.bin, its bytes, and NNNNNNNN.cls,
 * its label in decimal. The number counts through all shards. Headers are those of POSIX ustar as
 * Python's tarfile writes them, with the owner and the mode that WebDataset's TarWriter has and no
 * time (its mtime=0), so that no extended headers are needed.
 */
enum {
	BLOCK = 512,
	END_BYTES = 2 * BLOCK, /* of zeros, at least */
	SHARD_ALIGN = 20 * BLOCK,
	LABELS = 1000, /* as many as ImageNet has */
};

/* Eleven octal digits. */
#define MEMBER_MAX ((UINT64_C(1) << 33) - 1)

/* Of a record, where things begin. */
struct record {
	uint64_t payload_bytes;
	uint64_t cls_off; /* the header of the label's member */
	uint64_t bytes;
};

static struct record tar_record_of(const struct file_shape *shape)
{
	struct record r = { .payload_bytes = format_sample_bytes(shape) };

	r.cls_off = BLOCK + round_up(r.payload_bytes, BLOCK);
	r.bytes = r.cls_off + 2 * BLOCK;
	return r;
}

/* So many digits and a NUL. */
static void put_octal(uint8_t *to, unsigned count, uint64_t v)
{
	for (unsigned i = count; i > 0; i--, v >>= 3)
		to[i - 1] = (uint8_t)('0' + (v & 7));
	to[count] = '\0';
}

static void put_checksum(uint8_t block[BLOCK])
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8); /* counts as blanks */
	for (unsigned i = 0; i < BLOCK; i++)
		sum += block[i];
	put_octal(block + 148, 6, sum);
}

static void make_header(uint8_t block[BLOCK], uint64_t key, const char *suffix, uint64_t bytes)
{
	memset(block, 0, BLOCK);
	snprintf((char *)block, 100, "%08" PRIu64 ".%s", key, suffix);
	put_octal(block + 100, 7, 0444);
	put_octal(block + 108, 7, 0); /* uid, gid */
	put_octal(block + 116, 7, 0);
	put_octal(block + 124, 11, bytes);
	put_octal(block + 136, 11, 0); /* mtime */
	block[156] = '0';              /* a regular file */
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	memcpy(block + 265, "bigdata", 7); /* user, group */
	memcpy(block + 297, "bigdata", 7);
	put_checksum(block);
}

/* Its length. */
static unsigned make_label(char label[8], uint64_t key)
{
	return (unsigned)snprintf(label, 8, "%u", (unsigned)(key % LABELS));
}

static size_t fill_zeros(uint8_t *to, uint64_t bytes, size_t room)
{
	size_t n = u64_min(bytes, room);

	memset(to, 0, n);
	return n;
}

/* Of a block, what comes from `at` on. */
static size_t fill_block(const uint8_t block[BLOCK], uint64_t at, uint8_t *to, size_t room)
{
	size_t n = u64_min(BLOCK - at, room);

	memcpy(to, block + at, n);
	return n;
}

static size_t fill_payload(const struct format_writer *w, const struct record *r, uint64_t at,
			   uint8_t *to, size_t room)
{
	size_t n = u64_min(r->payload_bytes - at, room);

	format_content(to, n, w->seed_index, w->pos / r->bytes * r->payload_bytes + at);
	return n;
}

/* The header and the only block of a label. */
static size_t fill_cls(uint64_t key, uint64_t at, uint8_t *to, size_t room)
{
	uint8_t block[BLOCK] = { 0 };
	char label[8];
	unsigned n = make_label(label, key);

	if (at < BLOCK)
		make_header(block, key, "cls", n);
	else
		memcpy(block, label, n);
	return fill_block(block, at % BLOCK, to, room);
}

static size_t fill_record(const struct format_writer *w, const struct record *r, uint8_t *to,
			  size_t room)
{
	uint64_t at = w->pos % r->bytes;
	uint64_t key = w->seed_index * w->shape.samples + w->pos / r->bytes;
	uint8_t block[BLOCK];

	if (at < BLOCK) {
		make_header(block, key, "bin", r->payload_bytes);
		return fill_block(block, at, to, room);
	}
	if (at < BLOCK + r->payload_bytes)
		return fill_payload(w, r, at - BLOCK, to, room);
	if (at < r->cls_off)
		return fill_zeros(to, r->cls_off - at, room);
	return fill_cls(key, at - r->cls_off, to, room);
}

static uint64_t tar_file_bytes(const struct file_shape *shape)
{
	return round_up(shape->samples * tar_record_of(shape).bytes + END_BYTES, SHARD_ALIGN);
}

static size_t tar_fill_piece(const struct format_writer *w, const struct record *r, uint8_t *to,
			     size_t room)
{
	if (w->pos < w->shape.samples * r->bytes)
		return fill_record(w, r, to, room);
	return fill_zeros(to, tar_file_bytes(&w->shape) - w->pos, room);
}

static int tar_init(struct dataset *ds, struct mlgen_err *err)
{
	double mean = dist_mean(&ds->sample_size);
	struct file_shape shape = { .sides = { 1, (uint64_t)mean } };
	char text[UNITS_TEXT_BYTES];

	if (mean > (double)MEMBER_MAX)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %s do not fit into a member of a tar file, which "
				  "is less than 8 GiB; take less, or another format",
				  units_human_bytes(text, mean));
	ds->extent_samples =
		forward_extent_samples(ds->samples_per_file, tar_record_of(&shape).bytes);
	return 0;
}

static void tar_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	const struct record r = tar_record_of(shape);

	*off = first * r.bytes + BLOCK;
	*len = (n - 1) * r.bytes + r.payload_bytes;
}

static bool tar_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	const struct record r = tar_record_of(&w->shape);
	size_t n;

	*off = w->pos;
	*len = 0;
	while (*len < bytes && (n = tar_fill_piece(w, &r, (uint8_t *)buf + *len, bytes - *len))) {
		w->pos += n;
		*len += n;
	}
	return *len > 0;
}

uint64_t tar_needed(const struct file_shape *shape, uint64_t n)
{
	const struct record record = tar_record_of(shape);

	if (shape->facts)
		return tar_found_needed(shape, n);
	/* Of the next one, before it delivers this; or the end mark. */
	return n * record.bytes + (n < shape->samples ? BLOCK + record.payload_bytes : BLOCK);
}

const struct format format_tar = {
	.name = "tar",
	.init = tar_init,
	.file_bytes = tar_file_bytes,
	.sample_range = tar_sample_range,
	.write_next = tar_write_next,
	/* Its requests are no whole blocks at the end of a shard. */
	.framework = { &plan_forward, NULL },
	.reader = "WebDataset",
	.look = tar_look,
	.look_beside = tar_beside,
	.found_range = tar_found_range,
	.is_forward = true,
};
