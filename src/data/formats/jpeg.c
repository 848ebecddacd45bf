/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.c - format=jpeg: a grey image of noise whose file has exactly the size asked for. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "data/file/file.h"

/*
 * Baseline JPEG (ITU-T T.81) in a JFIF file: the headers, one scan, EOI.
 *
 * The Huffman codes are chosen so that each symbol and its value fill one byte: the code of a
 * coefficient of s bits is 7 - s ones and a zero, EOB is seven ones and a zero. Each byte below
 * 0xfe is a coefficient. No byte is 0xff, which would need a zero after it. Any noise is therefore
 * a valid scan, whose length is known beforehand.
 *
 * A block is the byte for its DC value, which never changes, up to 63 coefficients, and EOB if
 * there are fewer. Blocks can have 2 to 64 bytes, so a scan of any length can have any number of
 * blocks within those limits.
 */
enum {
	SCAN_OFF = 159, /* the headers */
	EOI_BYTES = 2,
	BLOCK_MIN = 2,
	BLOCK_MAX = 64,
	BLOCK_SIDE = 8, /* pixels */
	DC_SAME = 0,    /* difference 0 */
	EOB = 0xfe,
	JPEG_BYTES_MIN = SCAN_OFF + BLOCK_MIN + EOI_BYTES,
};

/* Bytes of a block of noise that Pillow saves with its default quality. */
#define NOISE_BLOCK_BYTES 36

/* Pillow warns that a larger image is a decompression bomb (89,478,485 pixels). Larger files have
 * fuller blocks, and more blocks only when these are full. A block counts as full at 62 bytes, less
 * than BLOCK_MAX, because a rectangle cannot have any number of blocks. */
#define BLOCKS_MAX UINT64_C(1398101)
#define FULL_BLOCK_BYTES 62

/* Decoders take sides of up to 65500 pixels (libjpeg's JPEG_MAX_DIMENSION). */
#define JPEG_BYTES_MAX (UINT64_C(3) << 30)

/* The headers before the frame's dimensions, and those after. */
static const uint8_t head[] = "\xff\xd8"                              /* SOI */
			      "\xff\xe0\0\20JFIF\0\1\1\0\0\1\0\1\0\0" /* APP0, no thumbnail */
			      "\xff\xdb\0\103\0"                      /* DQT, all 1 */
			      "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
			      "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
			      "\xff\xc0\0\13\10";                      /* SOF0, 8 bits */
static const uint8_t tables[] = "\1\1\21\0"                            /* a single component */
				"\xff\xc4\0\55"                        /* DHT */
				"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0" /* DC: one code of 8 bits */
				"\20\1\1\1\1\1\1\1\1\0\0\0\0\0\0\0\0"  /* AC: one each of 1 to 8 */
				"\7\6\5\4\3\2\1\0"
				"\xff\xda\0\10\1\1\0\0\77\0"; /* SOS */

enum { HEAD_BYTES = sizeof(head) - 1, TABLES_BYTES = sizeof(tables) - 1 };

_Static_assert(HEAD_BYTES + 4 + TABLES_BYTES == SCAN_OFF, "length of headers");

/* The blocks of the scan have `least` bytes, the first `longer` blocks one more. */
struct jpeg_scan {
	uint64_t bytes;
	uint64_t columns, rows;
	uint64_t least, longer;
};

/* Clamps a drawn size as well: jpeg_init has checked only the mean. */
static uint64_t jpeg_file_bytes(const struct file_shape *shape)
{
	uint64_t bytes = format_sample_bytes(shape);

	if (bytes < JPEG_BYTES_MIN)
		return JPEG_BYTES_MIN;
	return bytes < JPEG_BYTES_MAX ? bytes : JPEG_BYTES_MAX;
}

static struct jpeg_scan scan_of(const struct file_shape *shape)
{
	struct jpeg_scan s = { .bytes = jpeg_file_bytes(shape) - SCAN_OFF - EOI_BYTES };
	uint64_t blocks = divide_up(s.bytes, NOISE_BLOCK_BYTES);

	if (blocks > BLOCKS_MAX) {
		blocks = divide_up(s.bytes, FULL_BLOCK_BYTES);
		if (blocks < BLOCKS_MAX)
			blocks = BLOCKS_MAX;
	}
	s.columns = square_root(blocks);
	s.rows = blocks / s.columns;
	blocks = s.columns * s.rows;
	s.least = s.bytes / blocks;
	s.longer = s.bytes % blocks;
	return s;
}

static void write_side(uint8_t *to, uint64_t blocks)
{
	to[0] = (uint8_t)(blocks * BLOCK_SIDE >> 8);
	to[1] = (uint8_t)(blocks * BLOCK_SIDE);
}

static uint64_t block_start(const struct jpeg_scan *s, uint64_t block)
{
	return block * s->least + (block < s->longer ? block : s->longer);
}

static uint64_t block_at(const struct jpeg_scan *s, uint64_t off)
{
	uint64_t longer_end = s->longer * (s->least + 1);

	if (off < longer_end)
		return off / (s->least + 1);
	return s->longer + (off - longer_end) / s->least;
}

/* Write the first byte of each block, and the last of each that is not full. */
static void write_block_ends(const struct jpeg_scan *s, uint8_t *to, size_t bytes, uint64_t off)
{
	uint64_t end = off + bytes;
	uint64_t block = block_at(s, off);
	uint64_t start = block_start(s, block);

	while (start < end) {
		uint64_t next = block_start(s, ++block);

		if (start >= off)
			to[start - off] = DC_SAME;
		if (next - start < BLOCK_MAX && next <= end)
			to[next - 1 - off] = EOB;
		start = next;
	}
}

/* The first piece has the headers and a part of the scan; EOI is never split. */
static bool jpeg_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			    size_t *len)
{
	const struct jpeg_scan s = scan_of(&w->shape);
	uint64_t end = SCAN_OFF + s.bytes;
	uint8_t *to = buf;

	if (w->pos > end)
		return false;
	*off = w->pos;
	if (w->pos == 0) {
		memcpy(to, head, HEAD_BYTES);
		write_side(to + HEAD_BYTES, s.rows);
		write_side(to + HEAD_BYTES + 2, s.columns);
		memcpy(to + HEAD_BYTES + 4, tables, TABLES_BYTES);
		w->pos = SCAN_OFF;
	}
	*len = (size_t)(w->pos - *off);
	uint64_t left = end - w->pos;
	size_t n = bytes - *len - EOI_BYTES;
	n = left < n ? (size_t)left : n;
	format_content(to + *len, n, w->seed_index, w->pos - SCAN_OFF);
	for (size_t i = *len; i < *len + n; i++)
		to[i] = to[i] < EOB ? to[i] : to[i] & 0x7f;
	write_block_ends(&s, to + *len, n, w->pos - SCAN_OFF);
	*len += n;
	w->pos += n;
	if (w->pos == end) {
		memcpy(to + *len, "\xff\xd9", EOI_BYTES);
		*len += EOI_BYTES;
		w->pos += EOI_BYTES;
	}
	return true;
}

/* The sample is the whole file. */
static void jpeg_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	(void)first;
	(void)n;
	*off = 0;
	*len = jpeg_file_bytes(shape);
}

static int jpeg_init(struct dataset *ds, struct mlgen_err *err)
{
	double mean = dist_mean(&ds->sample_size);

	if (ds->samples_per_file > 1)
		return mlgen_fail(err, -EINVAL,
				  "samples_per_file: %" PRIu64
				  " do not fit format=jpeg, where a file is one image; use "
				  "samples_per_file=1 and more num_files",
				  ds->samples_per_file);
	if (mean < JPEG_BYTES_MIN)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %.15g bytes are less than a JPEG file, whose "
				  "headers have %d bytes; use at least %d",
				  mean, SCAN_OFF, JPEG_BYTES_MIN);
	if (mean > (double)JPEG_BYTES_MAX)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %.15g bytes are more than a JPEG file of decodable "
				  "dimensions holds; use at most 3g",
				  mean);
	return 0;
}

const struct format format_jpeg = {
	.name = "jpeg",
	.init = jpeg_init,
	.magic = "\xff\xd8\xff",
	.magic_bytes = 3,
	.file_bytes = jpeg_file_bytes,
	.sample_range = jpeg_sample_range,
	.write_next = jpeg_write_next,
	.framework = { &plan_pillow },
	.reader = "Pillow",
};
