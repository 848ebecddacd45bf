/* SPDX-License-Identifier: Apache-2.0 */
/* png.c - format=png: a grey image of noise whose file has exactly the size asked for. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/util.h"
#include "data/file/file.h"

/*
 * The layout is that of W3C's PNG: the signature; IHDR; a comment (tEXt) of spaces, which fills the
 * file up to its size; IDAT chunks of 64 KiB, as Pillow writes them; IEND. The IDAT chunks hold a
 * zlib stream (RFC 1950) of stored blocks (RFC 1951), since noise does not compress. The stream has
 * the rows of 8-bit pixels. Each row follows a byte for its filter, which is none.
 */
enum {
	IDAT_MAX = 65536,
	STORED_MAX = 65535,
	STORED_HEAD = 5,
	ZLIB_HEAD = 2,
	ADLER_BYTES = 4,
	HEADER_BYTES = 13, /* IHDR's payload */
	KEYWORD_BYTES = 8, /* "Comment" and a zero */
	HEAD_BYTES = PNG_SIGNATURE_BYTES + PNG_CHUNK_BYTES + HEADER_BYTES + PNG_CHUNK_BYTES +
		     KEYWORD_BYTES,
	RAW_BYTES_MIN = 2, /* a row of a single pixel */
	PNG_BYTES_MIN = HEAD_BYTES + PNG_CHUNK_BYTES + ZLIB_HEAD + STORED_HEAD + RAW_BYTES_MIN +
			ADLER_BYTES + PNG_END_BYTES,
};

/* Pillow warns that a larger image is a decompression bomb (89,478,485 pixels). */
#define PNG_BYTES_MAX (UINT64_C(85) << 20)

/* Chunks before the image that a look accepts. */
#define CHUNKS_MAX 4096u
/* Chunks from the image to IEND, in a file with trailing bytes. */
#define CHUNKS_TO_END (1u << 20)

struct png_image {
	uint64_t stride, rows; /* bytes of a row, which has one pixel less */
	uint64_t raw, stream;  /* bytes of all rows, and of the zlib stream of them */
	uint64_t blanks;       /* length of the comment */
	uint64_t data_off;     /* the first IDAT chunk ... */
	uint64_t end;          /* ... and the end of the last */
};

/* Clamps a drawn size as well: png_init has checked only the mean. */
static uint64_t png_file_bytes(const struct file_shape *shape)
{
	return u64_max(PNG_BYTES_MIN, u64_min(format_sample_bytes(shape), PNG_BYTES_MAX));
}

static uint64_t stream_bytes(uint64_t raw)
{
	return ZLIB_HEAD + raw + STORED_HEAD * divide_up(raw, STORED_MAX) + ADLER_BYTES;
}

/* Size of a file with `raw` bytes of rows and an empty comment. */
static uint64_t file_bytes_with(uint64_t raw)
{
	uint64_t stream = stream_bytes(raw);

	return HEAD_BYTES + stream + PNG_CHUNK_BYTES * divide_up(stream, IDAT_MAX) + PNG_END_BYTES;
}

static struct png_image image_of(const struct file_shape *shape)
{
	uint64_t bytes = png_file_bytes(shape);
	/* The largest number of bytes of rows that the file has room for. */
	uint64_t raw_max = BISECT(raw, RAW_BYTES_MIN + 1, bytes, file_bytes_with(raw) > bytes) - 1;
	struct png_image p = { .stride = u64_max(2, square_root(raw_max)) };

	p.rows = raw_max / p.stride;
	p.raw = p.rows * p.stride;
	p.stream = stream_bytes(p.raw);
	p.blanks = bytes - file_bytes_with(p.raw);
	p.data_off = HEAD_BYTES + p.blanks;
	p.end = bytes - PNG_END_BYTES;
	return p;
}

static uint8_t *append_be(uint8_t *to, uint64_t v)
{
	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> (24 - 8 * i));
	return to + 4;
}

static uint8_t *append_chunk_head(uint8_t *to, uint64_t bytes, const char *type)
{
	memcpy(append_be(to, bytes), type, 4);
	return to + 8;
}

/* Append the CRC of a chunk, which covers its type and payload. */
static uint8_t *append_crc(uint8_t *to, uint64_t payload)
{
	return append_be(to, crc32_z(0, to - payload - 4, (size_t)payload + 4));
}

static size_t fill_head(struct format_writer *w, const struct png_image *p, uint8_t *to,
			size_t room)
{
	uint8_t *at = to;

	if (room < p->data_off)
		return 0;
	memcpy(at, "\x89PNG\r\n\x1a\n", PNG_SIGNATURE_BYTES);
	at = append_chunk_head(at + PNG_SIGNATURE_BYTES, HEADER_BYTES, "IHDR");
	at = append_be(append_be(at, p->stride - 1), p->rows);
	memcpy(at, "\10\0\0\0\0", 5); /* 8 bits, grey, not interlaced */
	at = append_crc(at + 5, HEADER_BYTES);
	at = append_chunk_head(at, KEYWORD_BYTES + p->blanks, "tEXt");
	memcpy(at, "Comment", KEYWORD_BYTES);
	memset(at + KEYWORD_BYTES, ' ', p->blanks);
	append_crc(at + KEYWORD_BYTES + p->blanks, KEYWORD_BYTES + p->blanks);
	w->crc[1] = (uint32_t)adler32_z(0, NULL, 0);
	return p->data_off;
}

/* Byte i of the header of a stored block: a flag for the last block, the length, and the inverted
 * length. */
static uint8_t block_head(const struct png_image *p, uint64_t block, unsigned i)
{
	uint64_t from = block * STORED_MAX;
	uint64_t n = u64_min(p->raw - from, STORED_MAX);

	if (i == 0)
		return from + n == p->raw;
	n ^= i > 2 ? 0xffff : 0;
	return (uint8_t)(i % 2 ? n : n >> 8);
}

/* Fill `to` with n bytes of the zlib stream from `off` on. */
static void fill_stream(struct format_writer *w, const struct png_image *p, uint8_t *to, size_t n,
			uint64_t off)
{
	static const uint8_t zlib_head[ZLIB_HEAD] = { 0x78, 0x01 };
	uint64_t tail = p->stream - ADLER_BYTES;

	while (n) {
		uint64_t at = off - ZLIB_HEAD;
		uint64_t block = at / (STORED_HEAD + STORED_MAX);
		uint64_t in = at % (STORED_HEAD + STORED_MAX), run = 1;

		if (off < ZLIB_HEAD) {
			*to = zlib_head[off];
		} else if (off >= tail) {
			*to = (uint8_t)(w->crc[1] >> (24 - 8 * (off - tail)));
		} else if (in < STORED_HEAD) {
			*to = block_head(p, block, (unsigned)in);
		} else {
			run = STORED_HEAD + STORED_MAX - in;
			run = u64_min(u64_min(run, tail - off), n);

			/* Each row begins with its filter, which is 0. */
			uint64_t from = block * STORED_MAX + in - STORED_HEAD;

			format_content(to, (size_t)run, w->seed_index, from);
			for (uint64_t i = round_up(from, p->stride); i < from + run; i += p->stride)
				to[i - from] = 0;
			w->crc[1] = (uint32_t)adler32_z(w->crc[1], to, (size_t)run);
		}
		to += run;
		off += run;
		n -= (size_t)run;
	}
}

/* Fill `to` with a piece of an IDAT chunk. Returns the number of bytes; 0 if there is too little
 * room for its head or CRC. */
static size_t fill_data(struct format_writer *w, const struct png_image *p, uint8_t *to,
			size_t room)
{
	uint64_t all = IDAT_MAX + PNG_CHUNK_BYTES;
	uint64_t chunk = (w->pos - p->data_off) / all;
	uint64_t in = (w->pos - p->data_off) % all;
	uint64_t payload = u64_min(p->stream - chunk * IDAT_MAX, IDAT_MAX);
	size_t n = 8;

	if (room < n)
		return 0;
	if (in == 0) {
		append_chunk_head(to, payload, "IDAT");
		w->crc[0] = (uint32_t)crc32_z(0, to + 4, 4);
	} else if (in < 8 + payload) {
		n = (size_t)u64_min(8 + payload - in, room);
		fill_stream(w, p, to, n, chunk * IDAT_MAX + in - 8);
		w->crc[0] = (uint32_t)crc32_z(w->crc[0], to, n);
	} else {
		n = 4;
		append_be(to, w->crc[0]);
	}
	return n;
}

static size_t fill_end(uint8_t *to, size_t room)
{
	if (room < PNG_END_BYTES)
		return 0;
	append_crc(append_chunk_head(to, 0, "IEND"), 0);
	return PNG_END_BYTES;
}

static bool png_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	const struct png_image p = image_of(&w->shape);
	uint64_t file_bytes = p.end + PNG_END_BYTES;

	if (w->pos == file_bytes)
		return false;
	*off = w->pos;
	*len = 0;
	while (w->pos < file_bytes) {
		uint8_t *to = (uint8_t *)buf + *len;
		size_t room = bytes - *len;
		size_t n = w->pos == 0      ? fill_head(w, &p, to, room)
			   : w->pos < p.end ? fill_data(w, &p, to, room)
					    : fill_end(to, room);

		if (n == 0)
			break;
		w->pos += n;
		*len += n;
	}
	return true;
}

/* The sample is the whole file. */
static void png_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	(void)first;
	(void)n;
	*off = 0;
	*len = shape->facts ? shape->scanned_bytes : png_file_bytes(shape);
}

static int png_init(struct dataset *ds, struct mlgen_err *err)
{
	double mean = dist_mean(&ds->sample_size);

	if (ds->samples_per_file > 1)
		return mlgen_fail(err, -EINVAL,
				  "samples_per_file: %" PRIu64
				  " do not fit format=png, where a file is one image; use "
				  "samples_per_file=1 and more num_files",
				  ds->samples_per_file);
	if (mean < PNG_BYTES_MIN)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %.15g bytes are less than a PNG file of one pixel; "
				  "use at least %d",
				  mean, PNG_BYTES_MIN);
	if (mean > (double)PNG_BYTES_MAX)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %.15g bytes are more than a PNG file of decodable "
				  "dimensions holds; use at most 85m",
				  mean);
	return 0;
}

/* ---- files from any writer ---- */

struct png_walk {
	uint64_t off; /* the next chunk */
	bool has_header, is_data;
};

/* Look at the next chunk. Facts are the members of struct png_layout. Like Pillow, accept the
 * header anywhere before the image: Apple's tools write CgBI first. */
static int look_chunk(struct look *l, struct png_walk *p)
{
	const uint8_t *at = look_at(l, p->off, 8);

	if (!at)
		return l->err->code;
	uint64_t bytes = look_be(at, 4);
	uint64_t left = l->file_bytes - p->off;
	if (left < PNG_CHUNK_BYTES + PNG_END_BYTES ||
	    bytes > left - PNG_CHUNK_BYTES - PNG_END_BYTES)
		return look_fail(l, p->off,
				 "a PNG chunk of %" PRIu64 " bytes is longer than the rest of the "
				 "file, which is incomplete or damaged",
				 bytes);
	p->is_data = memcmp(at + 4, "IDAT", 4) == 0;
	bool is_header = memcmp(at + 4, "IHDR", 4) == 0;
	if ((p->is_data && !p->has_header) || (is_header && bytes != HEADER_BYTES))
		return look_fail(l, p->off,
				 "a PNG file needs a header (IHDR) of %d bytes before the image, "
				 "this file has none",
				 HEADER_BYTES);
	p->has_header |= is_header;
	if (p->is_data) {
		l->facts[2] = p->off + 8;
		l->facts[3] = bytes;
	} else if (bytes > PYFILE_BLOCK && bytes > l->facts[1]) {
		l->facts[0] = p->off + 8;
		l->facts[1] = bytes;
	}
	p->off += PNG_CHUNK_BYTES + bytes;
	return 0;
}

/* 1 if the chunk at `off` is IEND, 0 if not, or -errno. *bytes is the chunk's payload. */
static int look_iend(struct look *l, uint64_t off, uint64_t *bytes)
{
	const uint8_t *at = look_at(l, off, 8);

	if (!at)
		return l->err->code;
	*bytes = look_be(at, 4);
	if (memcmp(at, "\0\0\0\0IEND", 8) != 0)
		return 0;
	l->facts[4] = off + PNG_END_BYTES;
	return 1;
}

static int png_look(struct look *l)
{
	struct png_walk p = { .off = PNG_SIGNATURE_BYTES };
	const uint8_t *at = look_at(l, 0, PNG_SIGNATURE_BYTES);
	int r = 0;

	if (!at)
		return l->err->code;
	if (memcmp(at, "\x89PNG\r\n\x1a\n", PNG_SIGNATURE_BYTES) != 0)
		return look_fail(l, 0, "no PNG file begins here: \\x89PNG is missing");
	for (unsigned i = 0; i < CHUNKS_MAX && r == 0 && !p.is_data; i++)
		r = look_chunk(l, &p);
	if (r)
		return r;
	if (!p.is_data)
		return look_fail(l, p.off,
				 "no image (IDAT) among the first %u chunks of the PNG file",
				 CHUNKS_MAX);
	l->samples = 1;
	l->sample_bytes = l->file_bytes;

	/* Find IEND. Readers stop there, whatever bytes follow. */
	uint64_t off = p.off;
	uint64_t bytes = 0;

	r = look_iend(l, l->file_bytes - PNG_END_BYTES, &bytes);
	for (unsigned i = 0; r == 0 && i < CHUNKS_TO_END; i++) {
		if (l->file_bytes - off < PNG_END_BYTES)
			break;
		r = look_iend(l, off, &bytes);
		if (r || bytes > l->file_bytes - off - PNG_CHUNK_BYTES)
			break;
		off += PNG_CHUNK_BYTES + bytes;
	}
	if (r)
		return r < 0 ? r : 0;
	return look_fail(
		l, off,
		"the file does not end with IEND, as PNG files do: it is incomplete or damaged");
}

void png_layout(const struct file_shape *shape, struct png_layout *l)
{
	if (shape->facts) {
		*l = (struct png_layout){ shape->facts[0], shape->facts[1], shape->facts[2],
					  shape->facts[3], shape->facts[4] };
		return;
	}
	struct png_image p = image_of(shape);
	uint64_t comment = KEYWORD_BYTES + p.blanks;
	*l = (struct png_layout){ .data_off = p.data_off + 8,
				  .data_bytes = u64_min(p.stream, IDAT_MAX),
				  .end_off = p.end + PNG_END_BYTES };
	if (comment <= PYFILE_BLOCK)
		return;
	l->large_off = p.data_off - 4 - comment;
	l->large_bytes = comment;
}

const struct format format_png = {
	.name = "png",
	.init = png_init,
	.magic = "\x89PNG\r\n\x1a\n",
	.magic_bytes = PNG_SIGNATURE_BYTES,
	.file_bytes = png_file_bytes,
	.sample_range = png_sample_range,
	.write_next = png_write_next,
	.framework = { &plan_png },
	.reader = "Pillow",
	.look = png_look,
	.scanned_range = png_sample_range,
};
