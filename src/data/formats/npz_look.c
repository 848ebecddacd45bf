/* SPDX-License-Identifier: Apache-2.0 */
/* npz_look.c - where an array lies in an npz file that somebody else wrote. */
#include "data/formats/formats.h"

#include <inttypes.h>
#define ZLIB_CONST /* what is read stays as it is */
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/formats/formats_internal.h"

/* So much of a deflated member, from its beginning: bytes, or -errno. */
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
		return look_fail(l, off, "what is compressed here is damaged");
	return (int)(bytes - z.avail_out);
}

static int fail_at(struct look *l, uint64_t off, const char *why)
{
	return look_fail(l, off, "%s", why);
}

/* Deflate makes no more of a byte (zlib's technical notes), but for the last block. */
#define INFLATES_TO 1032

/* The header of an array that is deflated: as much of it as it takes. */
static int look_deflated(struct look *l, uint64_t off, const struct zip_member *m,
			 struct npy_head *h)
{
	uint8_t prefix[NPY_PREFIX_MAX];
	const char *why;
	uint8_t *text;
	int r;

	if (m->plain_bytes / INFLATES_TO > m->stored_bytes + INFLATES_TO)
		return look_fail(l, off,
				 "%" PRIu64 " bytes are said to inflate to %" PRIu64
				 ", which they cannot",
				 m->stored_bytes, m->plain_bytes);
	r = inflate_head(l, off, m->stored_bytes, prefix, sizeof(prefix));
	if (r < 0)
		return r;
	why = npy_head_prefix(h, prefix, (size_t)r);
	if (why)
		return fail_at(l, off, why);
	text = mem_zalloc(h->header_bytes);
	r = inflate_head(l, off, m->stored_bytes, text, h->header_bytes);
	if (r >= 0 && (uint64_t)r < h->header_bytes) {
		r = fail_at(l, off, "the array is cut off in its header");
	} else if (r >= 0) {
		size_t n = h->has_long_length ? 12 : 10;

		why = npy_head_text(h, (char *)text + n, h->header_bytes - n);
		r = why ? fail_at(l, off, why) : 0;
	}
	mem_free(text);
	if (r == 0 && (h->header_bytes > m->plain_bytes ||
		       h->items * h->item_bytes > m->plain_bytes - h->header_bytes))
		r = fail_at(l, off, "the array is larger than its member");
	return r;
}

static int look_array(struct look *l, const struct zip_member *m, struct npy_head *h)
{
	uint64_t off = m->header_off + ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;

	return m->is_deflated ? look_deflated(l, off, m, h)
			      : npy_head_look(l, off, off + m->stored_bytes, h);
}

/*
 * What is put down of it: six numbers, some of which share a word.
 *
 *	0  the directory's offset
 *	1  its bytes (32 bits); those behind the end record's begin (17); FLAGS
 *	2  the local header's offset (48); bytes of the name (16)
 *	3  bytes stored (48); bytes of the extra field (16)
 *	4  bytes of the array's data
 *	5  bytes of its header (24), of an element (40)
 */
enum { IS_DEFLATED = 1, HAS_COMMENT = 2, HAS_LOCATOR = 4, HAS_LONG_HEADER = 8 };

#define LOW(v, bits) ((v) & ((UINT64_C(1) << (bits)) - 1))
#define OFF_BITS 48

static void put_down(const struct look *l, const struct zip_found *z, const struct npy_head *h,
		     uint64_t facts[LOOK_FACTS])
{
	const struct zip_member *m = &z->member;
	uint64_t flags = (m->is_deflated ? IS_DEFLATED : 0u) | (z->has_comment ? HAS_COMMENT : 0u) |
			 (z->has_locator ? HAS_LOCATOR : 0u) |
			 (h->has_long_length ? HAS_LONG_HEADER : 0u);

	facts[0] = z->dir_off;
	facts[1] = z->dir_bytes | (l->file_bytes - z->end_off) << 32 | flags << 56;
	facts[2] = m->header_off | (uint64_t)m->name_bytes << OFF_BITS;
	facts[3] = m->stored_bytes | (uint64_t)m->extra_bytes << OFF_BITS;
	facts[4] = h->items * h->item_bytes;
	facts[5] = h->header_bytes | u64_min(h->item_bytes, LOW(~0ull, 40)) << 24;
}

int npz_look(struct look *l)
{
	const char *key = l->options ? l->options->scan_key : NULL;
	struct npy_head h = { 0 };
	struct zip_found z;
	int r;

	if (l->file_bytes >> OFF_BITS)
		return look_fail(l, 0, "larger than 256 TiB");
	r = zip_look(l, key, ".npy", &z);
	if (r == 0)
		r = look_array(l, &z.member, &h);
	if (r)
		return r;
	l->samples = 1;
	l->sample_bytes = z.member.is_deflated ? z.member.stored_bytes : h.items * h.item_bytes;
	put_down(l, &z, &h, l->facts);
	return 0;
}

void npz_array_found(const uint64_t *facts, uint64_t file_bytes, struct npz_array *a)
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

void npz_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		     uint64_t *len)
{
	const struct zip_member *m;
	struct npz_array a;

	(void)first;
	(void)n;
	npz_array_found(shape->facts, shape->found_bytes, &a);
	m = &a.member;
	*off = m->header_off + ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;
	*len = m->stored_bytes;
	if (m->is_deflated)
		return;
	*off += a.header_bytes;
	*len = a.data_bytes;
}
