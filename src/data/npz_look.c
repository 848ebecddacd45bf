/* SPDX-License-Identifier: Apache-2.0 */
/* npz_look.c - where an array lies in an npz file that somebody else wrote. */
#include "data/npz.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#define ZLIB_CONST /* what is read stays as it is */
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/look.h"
#include "data/npy_head.h"

/*
 * As Python's zipfile does it, and by its rules: the end record is the last 22
 * bytes or, with a comment, the last one of the last 64 KiB; the directory ends
 * where that begins, whatever is said of its offset, so that something may
 * stand before the archive. Of several members of one name the last counts.
 */
enum {
	CENTRAL_HEAD = 46,
	SEARCH_MAX = 65536 + NPZ_END_BYTES,
	STORED = 0,
	DEFLATED = 8,
	ENCRYPTED = 0x41, /* flags: either kind */
	PATCHED = 0x20,
};

#define MAX32 UINT64_C(0xffffffff)
#define NAME_SHOWN 60

/* The archive as it is read, and the member that is wanted. */
struct archive {
	struct look *l;
	uint64_t end_off, dir_off, dir_bytes;
	uint64_t before; /* bytes that stand before the archive */
	bool has_comment, has_locator;

	char name[256]; /* of the member; cut */
	unsigned name_bytes, flags, method;
	uint64_t stored_bytes, plain_bytes, header_off;
	bool is_found;
};

static bool is_signature(const uint8_t *at, char a, char b)
{
	return at[0] == 'P' && at[1] == 'K' && at[2] == (uint8_t)a &&
	       at[3] == (uint8_t)b;
}

/* The last end record in the file's end, as zipfile looks for it. */
static int find_end_behind(struct archive *a)
{
	struct look *l = a->l;
	uint64_t bytes = u64_min(l->file_bytes, SEARCH_MAX);
	uint64_t from = l->file_bytes - bytes;
	uint8_t *tail = mem_zalloc(bytes);
	uint64_t i = bytes - NPZ_END_BYTES + 1;
	int r = look_copy(l, from, tail, bytes);

	while (r == 0 && i > 0 && !is_signature(tail + i - 1, 5, 6))
		i--;
	mem_free(tail);
	if (r)
		return r;
	if (i == 0)
		return look_fail(l, l->file_bytes,
				 "no zip archive ends here; is this an npz "
				 "file, and whole?");
	a->end_off = from + i - 1;
	a->has_comment = true;
	return 0;
}

static int find_end(struct archive *a)
{
	struct look *l = a->l;
	const uint8_t *at;

	if (l->file_bytes < NPZ_END_BYTES)
		return look_fail(l, 0,
				 "too short for a zip archive, which has "
				 "%d bytes at least",
				 NPZ_END_BYTES);
	a->end_off = l->file_bytes - NPZ_END_BYTES;
	at = look_at(l, a->end_off, NPZ_END_BYTES);
	if (!at)
		return l->err->code;
	if (is_signature(at, 5, 6) && look_le(at + 20, 2) == 0)
		return 0;
	return find_end_behind(a);
}

/* The zip64 end record, where there is one: 1, 0, or -errno. */
static int find_end64(struct archive *a, uint64_t *dir_bytes, uint64_t *dir_off)
{
	struct look *l = a->l;
	uint64_t off = a->end_off - NPZ_LOCATOR_BYTES;
	const uint8_t *at;

	if (a->end_off < NPZ_LOCATOR_BYTES + NPZ_END64_BYTES)
		return 0;
	at = look_at(l, off, NPZ_LOCATOR_BYTES);
	if (!at)
		return l->err->code;
	if (!is_signature(at, 6, 7))
		return 0;
	a->has_locator = true;
	if (look_le(at + 4, 4) || look_le(at + 16, 4) > 1)
		return look_fail(l, off,
				 "an archive of several disks; in one "
				 "file it can be read");
	at = look_at(l, off - NPZ_END64_BYTES, NPZ_END64_BYTES);
	if (!at)
		return l->err->code;
	if (!is_signature(at, 6, 6))
		return 0;
	*dir_bytes = look_le(at + 40, 8);
	*dir_off = look_le(at + 48, 8);
	return 1;
}

static int find_directory(struct archive *a)
{
	struct look *l = a->l;
	const uint8_t *at = look_at(l, a->end_off, NPZ_END_BYTES);
	uint64_t said, end = a->end_off;
	int r;

	if (!at)
		return l->err->code;
	a->dir_bytes = look_le(at + 12, 4);
	said = look_le(at + 16, 4);
	r = find_end64(a, &a->dir_bytes, &said);
	if (r < 0)
		return r;
	if (r)
		end -= NPZ_LOCATOR_BYTES + NPZ_END64_BYTES;
	if (a->dir_bytes > end || said > end - a->dir_bytes)
		return look_fail(l, a->end_off,
				 "the archive's directory would be %" PRIu64
				 " bytes from %" PRIu64 " on, and %" PRIu64
				 " lie before its end",
				 a->dir_bytes, said, end);
	if (a->dir_bytes >= MAX32)
		return look_fail(l, a->end_off,
				 "a directory of %" PRIu64 " bytes; less than "
				 "4 GiB can be read",
				 a->dir_bytes);
	a->dir_off = end - a->dir_bytes;
	a->before = a->dir_off - said;
	return 0;
}

/* The member that --scan_key= names, as NumPy has it: with .npy or without;
 * else the first array. */
static bool is_wanted(const struct archive *a, const char *name, size_t n)
{
	const char *key = a->l->options ? a->l->options->scan_key : NULL;
	bool is_array = n > 4 && memcmp(name + n - 4, ".npy", 4) == 0;
	size_t key_bytes;

	if (!key)
		return is_array && !a->is_found;
	key_bytes = strlen(key);
	return (n == key_bytes || (is_array && n == key_bytes + 4)) &&
	       memcmp(name, key, key_bytes) == 0;
}

/* Sizes and places that do not fit, in the order in which they do not. */
static int take_extra(struct archive *a, uint64_t off, const uint8_t *at,
		      size_t bytes)
{
	uint64_t *const wide[] = { &a->plain_bytes, &a->stored_bytes,
				   &a->header_off };

	while (bytes >= 4) {
		size_t n = (size_t)look_le(at + 2, 2), used = 0;

		if (n > bytes - 4)
			break;
		for (unsigned i = 0; i < 3 && look_le(at, 2) == 1; i++) {
			if (*wide[i] != MAX32)
				continue;
			if (n < used + 8)
				return look_fail(a->l, off,
						 "a zip64 field lacks a size "
						 "of its member");
			*wide[i] = look_le(at + 4 + used, 8);
			used += 8;
		}
		at += 4 + n;
		bytes -= 4 + n;
	}
	return 0;
}

/* A directory entry, if its member is wanted. */
static int take_entry(struct archive *a, uint64_t off)
{
	struct look *l = a->l;
	const uint8_t *at = look_at(l, off, CENTRAL_HEAD);
	size_t name_bytes, extra_bytes;

	if (!at)
		return l->err->code;
	name_bytes = (size_t)look_le(at + 28, 2);
	extra_bytes = (size_t)look_le(at + 30, 2);
	at = look_at(l, off, CENTRAL_HEAD + name_bytes);
	if (!at)
		return l->err->code;
	if (!is_wanted(a, (const char *)at + CENTRAL_HEAD, name_bytes))
		return 0;
	a->is_found = true;
	a->flags = (unsigned)look_le(at + 8, 2);
	a->method = (unsigned)look_le(at + 10, 2);
	a->stored_bytes = look_le(at + 20, 4);
	a->plain_bytes = look_le(at + 24, 4);
	a->header_off = look_le(at + 42, 4);
	a->name_bytes = (unsigned)name_bytes;
	name_bytes =
		name_bytes < sizeof(a->name) ? name_bytes : sizeof(a->name) - 1;
	memcpy(a->name, at + CENTRAL_HEAD, name_bytes);
	a->name[name_bytes] = '\0';
	at = look_at(l, off + CENTRAL_HEAD + a->name_bytes, extra_bytes);
	return at ? take_extra(a, off, at, extra_bytes) : l->err->code;
}

static int find_member(struct archive *a)
{
	struct look *l = a->l;
	const char *key = l->options ? l->options->scan_key : NULL;
	uint64_t off = a->dir_off, end = a->dir_off + a->dir_bytes;
	int r = 0;

	while (r == 0 && off < end) {
		const uint8_t *at;

		if (end - off < CENTRAL_HEAD)
			return look_fail(l, off,
					 "the archive's directory is "
					 "cut off");
		at = look_at(l, off, CENTRAL_HEAD);
		if (!at)
			return l->err->code;
		if (!is_signature(at, 1, 2))
			return look_fail(l, off,
					 "no entry of the archive's "
					 "directory begins here");
		r = take_entry(a, off);
		at = r ? NULL : look_at(l, off, CENTRAL_HEAD);
		if (!at)
			return r ? r : l->err->code;
		off += CENTRAL_HEAD + look_le(at + 28, 2) +
		       look_le(at + 30, 2) + look_le(at + 32, 2);
		/* The first that fits is the first array. */
		if (a->is_found && !key)
			return 0;
	}
	if (r == 0 && !a->is_found && key)
		return look_fail(l, a->dir_off,
				 "the archive has no member '%.*s'; scan_key "
				 "names one that all files have",
				 NAME_SHOWN, key);
	if (r == 0 && !a->is_found)
		return look_fail(l, a->dir_off,
				 "the archive has no member that ends in .npy");
	return r;
}

/* Its local header; what is stored has to end before the directory. */
static int look_member(struct archive *a, struct zip_member *m)
{
	struct look *l = a->l;
	uint64_t off = a->header_off + a->before;
	const uint8_t *at;

	if (a->flags & (ENCRYPTED | PATCHED) ||
	    (a->method != STORED && a->method != DEFLATED))
		return look_fail(l, off,
				 "member '%.*s' is %s; numpy.savez and "
				 "savez_compressed store or deflate",
				 NAME_SHOWN, a->name,
				 a->flags & ENCRYPTED ? "encrypted"
				 : a->method == 12    ? "compressed by bzip2"
				 : a->method == 14    ? "compressed by LZMA"
						      : "compressed otherwise");
	if (off < a->before || off > a->dir_off ||
	    a->dir_off - off < ZIP_LOCAL_BYTES)
		return look_fail(l, a->dir_off,
				 "member '%.*s' would begin at %" PRIu64
				 ", behind the archive's members",
				 NAME_SHOWN, a->name, off);
	at = look_at(l, off, ZIP_LOCAL_BYTES);
	if (!at)
		return l->err->code;
	*m = (struct zip_member){
		.header_off = off,
		.name_bytes = (unsigned)look_le(at + 26, 2),
		.extra_bytes = (unsigned)look_le(at + 28, 2),
		.stored_bytes = a->stored_bytes,
		.plain_bytes = a->plain_bytes,
		.is_deflated = a->method == DEFLATED,
	};
	if (!is_signature(at, 3, 4) || m->name_bytes != a->name_bytes)
		return look_fail(l, off,
				 "the header of member '%.*s' is not "
				 "here",
				 NAME_SHOWN, a->name);
	off += ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;
	if (off > a->dir_off || m->stored_bytes > a->dir_off - off)
		return look_fail(l, m->header_off,
				 "member '%.*s' of %" PRIu64 " bytes reaches "
				 "into the archive's directory",
				 NAME_SHOWN, a->name, m->stored_bytes);
	if (!m->is_deflated && m->plain_bytes != m->stored_bytes)
		return look_fail(l, m->header_off,
				 "member '%.*s' is stored as %" PRIu64
				 " bytes and has %" PRIu64,
				 NAME_SHOWN, a->name, m->stored_bytes,
				 m->plain_bytes);
	return 0;
}

/* So much of a deflated member, from its beginning: bytes, or -errno. */
static int inflate_head(struct look *l, uint64_t off, uint64_t stored,
			uint8_t *to, size_t bytes)
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

/* Deflate makes no more of a byte (zlib's technical notes), but for the last
 * block. */
#define INFLATES_TO 1032

/* The header of an array that is deflated: as much of it as it takes. */
static int look_deflated(struct look *l, uint64_t off,
			 const struct zip_member *m, struct npy_head *h)
{
	uint8_t prefix[NPY_PREFIX_MAX];
	const char *why;
	uint8_t *text;
	int r;

	if (m->plain_bytes / INFLATES_TO > m->stored_bytes + INFLATES_TO)
		return look_fail(l, off,
				 "%" PRIu64 " bytes are said to inflate to "
				 "%" PRIu64 ", which they cannot",
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
	if (r == 0 &&
	    (h->header_bytes > m->plain_bytes ||
	     h->items * h->item_bytes > m->plain_bytes - h->header_bytes))
		r = fail_at(l, off, "the array is larger than its member");
	return r;
}

static int look_array(struct look *l, const struct zip_member *m,
		      struct npy_head *h)
{
	uint64_t off = m->header_off + ZIP_LOCAL_BYTES + m->name_bytes +
		       m->extra_bytes;

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

static void put_down(const struct archive *a, const struct zip_member *m,
		     const struct npy_head *h, uint64_t facts[LOOK_FACTS])
{
	uint64_t flags = (m->is_deflated ? IS_DEFLATED : 0u) |
			 (a->has_comment ? HAS_COMMENT : 0u) |
			 (a->has_locator ? HAS_LOCATOR : 0u) |
			 (h->has_long_length ? HAS_LONG_HEADER : 0u);

	facts[0] = a->dir_off;
	facts[1] = a->dir_bytes | (a->l->file_bytes - a->end_off) << 32 |
		   flags << 56;
	facts[2] = m->header_off | (uint64_t)m->name_bytes << OFF_BITS;
	facts[3] = m->stored_bytes | (uint64_t)m->extra_bytes << OFF_BITS;
	facts[4] = h->items * h->item_bytes;
	facts[5] = h->header_bytes | u64_min(h->item_bytes, LOW(~0ull, 40))
					     << 24;
}

int npz_look(struct look *l)
{
	struct archive a = { .l = l };
	struct zip_member m = { 0 };
	struct npy_head h = { 0 };
	int r;

	if (l->file_bytes >> OFF_BITS)
		return look_fail(l, 0, "larger than 256 TiB");
	r = find_end(&a);
	if (r == 0)
		r = find_directory(&a);
	if (r == 0)
		r = find_member(&a);
	if (r == 0)
		r = look_member(&a, &m);
	if (r == 0)
		r = look_array(l, &m, &h);
	if (r)
		return r;
	l->samples = 1;
	l->sample_bytes =
		m.is_deflated ? m.stored_bytes : h.items * h.item_bytes;
	put_down(&a, &m, &h, l->facts);
	return 0;
}

void npz_array_found(const uint64_t *facts, uint64_t file_bytes,
		     struct npz_array *a)
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

void npz_found_range(const struct file_shape *shape, uint64_t first, uint64_t n,
		     uint64_t *off, uint64_t *len)
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
