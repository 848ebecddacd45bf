/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c - format=npz: what numpy.savez(x=..., y=...) writes, a stored zip of two arrays. */
#include "data/formats/formats_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define ZLIB_CONST /* next_in is const */
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"

/* x.npy, y.npy, central directory, end record. */
struct npz_layout {
	uint64_t x_bytes, y_bytes; /* the members: header and data */
	uint64_t y_off;            /* local header of y.npy */
	uint64_t dir_off, dir_bytes;
	bool has_end64; /* zip64 end record and locator before the end record */
	uint64_t end;   /* the file's size */
};

/* ---- an array in a file from any writer ---- */

/* Inflate up to `bytes` bytes from the beginning of a member. Returns their number, or -errno. */
static int inflate_head(struct look *l, uint64_t off, uint64_t stored, uint8_t *to, size_t bytes)
{
	z_stream z = { .next_out = to, .avail_out = (unsigned)bytes };
	int r = inflateInit2(&z, -MAX_WBITS);

	while (r == Z_OK && z.avail_out && stored) {
		size_t n = (size_t)u64_min(stored, LOOK_BYTES / 16);
		const uint8_t *at = look_at(l, off, n);

		if (!at) {
			inflateEnd(&z);
			return l->err->code;
		}
		z.next_in = at;
		z.avail_in = (unsigned)n;
		off += n;
		stored -= n;
		while (r == Z_OK && z.avail_in && z.avail_out)
			r = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	if (r != Z_OK && r != Z_STREAM_END)
		return look_fail(l, off, "the compressed data here are damaged");
	return (int)(bytes - z.avail_out);
}

static int fail_at(struct look *l, uint64_t off, const char *why)
{
	return look_fail(l, off, "%s", why);
}

/* Deflate cannot expand a byte any further (zlib's technical notes), except in the last block. */
#define INFLATE_RATIO_MAX 1032

/* Parse the header of a deflated array, inflating no more than the header. */
static int look_deflated(struct look *l, uint64_t off, const struct zip_member *m,
			 struct npy_head *h)
{
	uint8_t prefix[NPY_PREFIX_MAX];

	if (m->plain_bytes / INFLATE_RATIO_MAX > m->stored_bytes + INFLATE_RATIO_MAX)
		return look_fail(l, off,
				 "%" PRIu64 " bytes cannot inflate to %" PRIu64
				 ", as the archive says",
				 m->stored_bytes, m->plain_bytes);
	int r = inflate_head(l, off, m->stored_bytes, prefix, sizeof(prefix));
	if (r < 0)
		return r;
	const char *why = npy_head_prefix(h, prefix, (size_t)r);
	if (why)
		return fail_at(l, off, why);
	uint8_t *text = mem_zalloc(h->header_bytes);
	r = inflate_head(l, off, m->stored_bytes, text, h->header_bytes);
	if (r >= 0 && (uint64_t)r < h->header_bytes) {
		r = fail_at(l, off, "the array ends in its header");
	} else if (r >= 0) {
		size_t n = h->has_long_length ? 12 : 10;

		why = npy_head_text(h, (char *)text + n, h->header_bytes - n);
		r = why ? fail_at(l, off, why) : 0;
	}
	mem_free(text);
	if (r == 0 && (h->header_bytes > m->plain_bytes ||
		       h->items * h->item_bytes > m->plain_bytes - h->header_bytes))
		r = fail_at(l, off, "the array is larger than its member of the archive");
	return r;
}

/*
 * Facts; some numbers share a word, with this many bits.
 *
 *	0  the directory's offset
 *	1  its bytes (32); bytes from the end record to the file's end (17); flags from bit 56 on
 *	2  the local header's offset (48); bytes of the name (16)
 *	3  bytes stored (48); bytes of the extra field (16)
 *	4  bytes of the array's data
 *	5  bytes of its header (24); bytes of an element (40)
 */
enum { IS_DEFLATED = 1, HAS_COMMENT = 2, HAS_LOCATOR = 4, HAS_LONG_HEADER = 8 };

#define LOW(v, bits) ((v) & ((UINT64_C(1) << (bits)) - 1))
#define OFF_BITS 48

static int npz_look(struct look *l)
{
	const char *key = l->options ? l->options->scan_key : NULL;
	struct npy_head h = { 0 };
	struct zip_scanned z;

	if (l->file_bytes >> OFF_BITS)
		return look_fail(l, 0, "larger than 256 TiB");
	int r = zip_look(l, key, ".npy", &z);
	if (r)
		return r;
	const struct zip_member *m = &z.member;
	uint64_t off = m->header_off + ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;
	r = m->is_deflated ? look_deflated(l, off, m, &h)
			   : npy_head_look(l, off, off + m->stored_bytes, &h);
	if (r)
		return r;
	l->samples = 1;
	l->sample_bytes = m->is_deflated ? m->stored_bytes : h.items * h.item_bytes;

	uint64_t flags = (m->is_deflated ? IS_DEFLATED : 0u) | (z.has_comment ? HAS_COMMENT : 0u) |
			 (z.has_locator ? HAS_LOCATOR : 0u) |
			 (h.has_long_length ? HAS_LONG_HEADER : 0u);

	l->facts[0] = z.dir_off;
	l->facts[1] = z.dir_bytes | (l->file_bytes - z.end_off) << 32 | flags << 56;
	l->facts[2] = m->header_off | (uint64_t)m->name_bytes << OFF_BITS;
	l->facts[3] = m->stored_bytes | (uint64_t)m->extra_bytes << OFF_BITS;
	l->facts[4] = h.items * h.item_bytes;
	l->facts[5] = h.header_bytes | u64_min(h.item_bytes, LOW(~0ull, 40)) << 24;
	return 0;
}

static void unpack_facts(const uint64_t *facts, uint64_t file_bytes, struct npz_array *a)
{
	unsigned flags = (unsigned)(facts[1] >> 56);

	*a = (struct npz_array){
		.dir_off = facts[0],
		.dir_bytes = LOW(facts[1], 32),
		.end_off = file_bytes - LOW(facts[1] >> 32, 24),
		.has_comment = flags & HAS_COMMENT,
		.has_locator = flags & HAS_LOCATOR,
		.member = { .header_off = LOW(facts[2], OFF_BITS),
			    .name_bytes = (unsigned)(facts[2] >> OFF_BITS),
			    .extra_bytes = (unsigned)(facts[3] >> OFF_BITS),
			    .stored_bytes = LOW(facts[3], OFF_BITS),
			    .is_deflated = flags & IS_DEFLATED },
		.header_bytes = LOW(facts[5], 24),
		.data_bytes = facts[4],
		.item_bytes = u64_max(facts[5] >> 24, 1),
		.has_long_header = flags & HAS_LONG_HEADER,
	};
	a->member.plain_bytes = a->header_bytes + a->data_bytes;
}

static void npz_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	struct npz_array a;

	(void)first;
	(void)n;
	unpack_facts(shape->facts, shape->scanned_bytes, &a);
	const struct zip_member *m = &a.member;
	*off = m->header_off + ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;
	*len = m->stored_bytes;
	if (m->is_deflated)
		return;
	*off += a.header_bytes;
	*len = a.data_bytes;
}

/* ---- files of mlgen ---- */

/*
 * x.npy holds the samples, y.npy a label for each (zero, as in DLIO). The layout is that of
 * PKWARE's APPNOTE 6.3: two stored members, central directory, end record. NumPy forces the zip64
 * extra field into every local header. Only these fields hold sizes and offsets of 4 GiB and more.
 */
enum {
	CENTRAL_BYTES = 51, /* 46 + "x.npy", without extra */
	TAIL_MAX = 256,
};

#define MAX32 UINT64_C(0xffffffff) /* "look into the zip64 field" */
#define DOS_DATE 0x21              /* 1980-01-01, the zero of zip */

enum { STREAM, HEADER_AGAIN, DONE }; /* format_writer.stage */

/* Bytes of the zip64 extra field of a central entry. */
static unsigned extra_bytes(uint64_t size, uint64_t off)
{
	unsigned n = (size >= MAX32 ? 16u : 0u) + (off >= MAX32 ? 8u : 0u);

	return n ? n + 4 : 0;
}

/* Append a little-endian number of `bytes` bytes. */
static void append_le(uint8_t **at, unsigned bytes, uint64_t v)
{
	for (; bytes; bytes--, v >>= 8)
		*(*at)++ = (uint8_t)v;
}

static void append_text(uint8_t **at, const char *s, size_t n)
{
	memcpy(*at, s, n);
	*at += n;
}

static uint64_t cap32(uint64_t v)
{
	return v < MAX32 ? v : MAX32;
}

static void append_local_header(uint8_t **at, char array, uint32_t crc, uint64_t size)
{
	append_text(at, "PK\3\4", 4);
	append_le(at, 2, size < MAX32 ? 20 : 45); /* version needed: 4.5 = zip64 */
	append_le(at, 2, 0);                      /* flags */
	append_le(at, 2, 0);                      /* method: stored */
	append_le(at, 2, 0);                      /* time */
	append_le(at, 2, DOS_DATE);
	append_le(at, 4, crc);
	append_le(at, 4, cap32(size));
	append_le(at, 4, cap32(size));
	append_le(at, 2, NPZ_NAME_BYTES);
	append_le(at, 2, NPZ_EXTRA_BYTES);
	append_text(at, (const char[]){ array }, 1);
	append_text(at, ".npy", 4);
	append_le(at, 2, 1); /* extra field: zip64 */
	append_le(at, 2, 16);
	append_le(at, 8, size);
	append_le(at, 8, size);
}

static struct npz_layout npz_layout(const struct file_shape *shape)
{
	struct npz_layout l;

	l.x_bytes = NPY_HEADER_BYTES + shape->samples * format_sample_bytes(shape);
	l.y_bytes = NPY_HEADER_BYTES + 8 * shape->samples;
	l.y_off = NPZ_LOCAL_BYTES + l.x_bytes;
	l.dir_off = l.y_off + NPZ_LOCAL_BYTES + l.y_bytes;
	l.dir_bytes =
		2 * CENTRAL_BYTES + extra_bytes(l.x_bytes, 0) + extra_bytes(l.y_bytes, l.y_off);
	l.has_end64 = l.dir_off >= MAX32;
	l.end = l.dir_off + l.dir_bytes + ZIP_END_BYTES;
	if (l.has_end64)
		l.end += ZIP_END64_BYTES + ZIP_LOCATOR_BYTES;
	return l;
}

static void append_central_entry(uint8_t **at, char array, uint32_t crc, uint64_t size,
				 uint64_t off)
{
	unsigned extra = extra_bytes(size, off);

	append_text(at, "PK\1\2", 4);
	append_le(at, 2, 0x0300 | (extra ? 45 : 20)); /* made by: Unix */
	append_le(at, 2, extra ? 45 : 20);
	append_le(at, 2, 0);
	append_le(at, 2, 0);
	append_le(at, 2, 0);
	append_le(at, 2, DOS_DATE);
	append_le(at, 4, crc);
	append_le(at, 4, cap32(size));
	append_le(at, 4, cap32(size));
	append_le(at, 2, 5);
	append_le(at, 2, extra);
	append_le(at, 2, 0);          /* comment */
	append_le(at, 2, 0);          /* disk */
	append_le(at, 2, 0);          /* internal attributes */
	append_le(at, 4, 0x01800000); /* mode 0600, as NumPy's */
	append_le(at, 4, cap32(off));
	append_text(at, (const char[]){ array }, 1);
	append_text(at, ".npy", 4);
	if (extra == 0)
		return;
	append_le(at, 2, 1);
	append_le(at, 2, extra - 4);
	if (size >= MAX32) {
		append_le(at, 8, size);
		append_le(at, 8, size);
	}
	if (off >= MAX32)
		append_le(at, 8, off);
}

static uint32_t crc_add(uint32_t crc, const void *data, size_t bytes)
{
	return (uint32_t)crc32_z(crc, data, bytes);
}

static uint32_t crc_add_zeros(uint32_t crc, uint64_t bytes)
{
	static const uint8_t zeros[4096];

	while (bytes) {
		size_t n = bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros);

		crc = crc_add(crc, zeros, n);
		bytes -= n;
	}
	return crc;
}

/* Fill `to` with the piece at w->pos. Returns the number of bytes; 0 if a piece that must not be
 * split has too little room. */
static size_t npz_fill_piece(struct format_writer *w, const struct npz_layout *l, uint8_t *to,
			     size_t room)
{
	uint8_t header[NPY_HEADER_BYTES], *at = to;
	char labels_shape[24];
	size_t n;

	if (w->pos == 0) {
		if (room < NPZ_HEAD_BYTES)
			return 0;
		append_local_header(&at, 'x', 0, l->x_bytes);
		npy_samples_header(at, &w->shape);
		w->crc[0] = crc_add(0, at, NPY_HEADER_BYTES);
		return NPZ_HEAD_BYTES;
	}
	if (w->pos < l->y_off) {
		n = (size_t)u64_min(l->y_off - w->pos, room);
		format_content(to, n, w->seed_index, w->pos - NPZ_HEAD_BYTES);
		w->crc[0] = crc_add(w->crc[0], to, n);
		return n;
	}
	if (w->pos == l->y_off) {
		if (room < NPZ_HEAD_BYTES)
			return 0;
		snprintf(labels_shape, sizeof(labels_shape), "%" PRIu64 ",", w->shape.samples);
		npy_header(header, "<i8", labels_shape);
		w->crc[1] =
			crc_add_zeros(crc_add(0, header, NPY_HEADER_BYTES), 8 * w->shape.samples);
		append_local_header(&at, 'y', w->crc[1], l->y_bytes);
		memcpy(at, header, NPY_HEADER_BYTES);
		return NPZ_HEAD_BYTES;
	}
	if (w->pos < l->dir_off) {
		n = (size_t)u64_min(l->dir_off - w->pos, room);
		memset(to, 0, n);
		return n;
	}
	if (room < TAIL_MAX)
		return 0;

	append_central_entry(&at, 'x', w->crc[0], l->x_bytes, 0);
	append_central_entry(&at, 'y', w->crc[1], l->y_bytes, l->y_off);
	if (l->has_end64) {
		/* A directory beyond 4 GiB needs the zip64 end record and locator. */
		append_text(&at, "PK\6\6", 4);
		append_le(&at, 8, ZIP_END64_BYTES - 12);
		append_le(&at, 2, 45);
		append_le(&at, 2, 45);
		append_le(&at, 4, 0);
		append_le(&at, 4, 0);
		append_le(&at, 8, 2);
		append_le(&at, 8, 2);
		append_le(&at, 8, l->dir_bytes);
		append_le(&at, 8, l->dir_off);
		append_text(&at, "PK\6\7", 4);
		append_le(&at, 4, 0);
		append_le(&at, 8, l->dir_off + l->dir_bytes);
		append_le(&at, 4, 1);
	}
	append_text(&at, "PK\5\6", 4);
	append_le(&at, 2, 0);
	append_le(&at, 2, 0);
	append_le(&at, 2, 2);
	append_le(&at, 2, 2);
	append_le(&at, 4, l->dir_bytes);
	append_le(&at, 4, cap32(l->dir_off));
	append_le(&at, 2, 0);
	return (size_t)(at - to);
}

static uint64_t npz_file_bytes(const struct file_shape *shape)
{
	return npz_layout(shape).end;
}

static void npz_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	*off = NPZ_HEAD_BYTES + first * format_sample_bytes(shape);
	*len = n * format_sample_bytes(shape);
}

/* Rewrite the local header of x.npy, now with the checksum of the data. */
static void write_header_again(const struct format_writer *w, const struct npz_layout *l,
			       uint8_t *to)
{
	append_local_header(&to, 'x', w->crc[0], l->x_bytes);
}

static bool npz_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	const struct npz_layout l = npz_layout(&w->shape);
	size_t n;

	if (w->stage == DONE)
		return false;
	*len = 0;
	if (w->stage == HEADER_AGAIN) {
		write_header_again(w, &l, buf);
		*off = 0;
		*len = NPZ_LOCAL_BYTES;
		w->stage = DONE;
		return true;
	}
	*off = w->pos;
	while (w->pos < l.end && (n = npz_fill_piece(w, &l, (uint8_t *)buf + *len, bytes - *len))) {
		w->pos += n;
		*len += n;
	}
	if (w->pos < l.end)
		return true;
	/* A file that is a single chunk is patched before it is written. */
	if (*off == 0)
		write_header_again(w, &l, buf);
	w->stage = *off == 0 ? DONE : HEADER_AGAIN;
	return true;
}

void npz_array(const struct file_shape *shape, struct npz_array *a)
{
	if (shape->facts) {
		unpack_facts(shape->facts, shape->scanned_bytes, a);
		return;
	}
	struct npz_layout l = npz_layout(shape);
	*a = (struct npz_array){
		.dir_off = l.dir_off,
		.dir_bytes = l.dir_bytes,
		.end_off = l.end - ZIP_END_BYTES,
		.has_locator = l.has_end64,
		.member = { .name_bytes = NPZ_NAME_BYTES,
			    .extra_bytes = NPZ_EXTRA_BYTES,
			    .stored_bytes = l.x_bytes,
			    .plain_bytes = l.x_bytes },
		.header_bytes = NPY_HEADER_BYTES,
		.data_bytes = l.x_bytes - NPY_HEADER_BYTES,
		.item_bytes = 1,
	};
}

const struct format format_npz = {
	.name = "npz",
	.magic = "PK\3\4",
	.magic_bytes = 4,
	.file_bytes = npz_file_bytes,
	.sample_range = npz_sample_range,
	.write_next = npz_write_next,
	.framework = { &plan_numpy, &plan_whole_file },
	.reader = "NumPy",
	.is_array = true,
	.look = npz_look,
	.scanned_range = npz_scanned_range,
};
