/* SPDX-License-Identifier: Apache-2.0 */
/* zip_look.c - find a member in a zip archive from any writer. */
#include "data/formats/formats_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/*
 * The rules are those of Python's zipfile. The end record is the last 22 bytes or, with a comment,
 * the last end record in the last 64 KiB. The directory ends where the end record begins, whatever
 * offset it states, so that other bytes may precede the archive. If several members have the same
 * name, the last one is used.
 */
enum {
	CENTRAL_HEAD = 46,
	SEARCH_MAX = 65536 + ZIP_END_BYTES,
	STORED = 0,
	DEFLATED = 8,
	ENCRYPTED = 0x41, /* flags: either kind */
	PATCHED = 0x20,
};

#define MAX32 UINT64_C(0xffffffff)
#define NAME_SHOWN 60

/* The archive, and the member that is wanted. */
struct archive {
	struct look *l;
	const char *key, *suffix;
	struct zip_scanned *found;
	uint64_t before; /* bytes before the archive */

	char name[256]; /* name of the member, maybe truncated */
	unsigned name_bytes, flags, method;
	uint64_t stored_bytes, plain_bytes, header_off;
	bool is_found;
};

static bool is_signature(const uint8_t *at, char a, char b)
{
	return at[0] == 'P' && at[1] == 'K' && at[2] == (uint8_t)a && at[3] == (uint8_t)b;
}

static int find_end(struct archive *a)
{
	struct look *l = a->l;

	if (l->file_bytes < ZIP_END_BYTES)
		return look_fail(l, 0, "too short for a zip archive, which has at least %d bytes",
				 ZIP_END_BYTES);
	a->found->end_off = l->file_bytes - ZIP_END_BYTES;
	const uint8_t *at = look_at(l, a->found->end_off, ZIP_END_BYTES);
	if (!at)
		return l->err->code;
	if (is_signature(at, 5, 6) && look_le(at + 20, 2) == 0)
		return 0;

	/* Search for the last end record near the file's end, as zipfile does. */
	uint64_t bytes = u64_min(l->file_bytes, SEARCH_MAX);
	uint64_t from = l->file_bytes - bytes;
	uint8_t *tail = mem_zalloc(bytes);
	uint64_t i = bytes - ZIP_END_BYTES + 1;
	int r = look_copy(l, from, tail, bytes);

	while (r == 0 && i > 0 && !is_signature(tail + i - 1, 5, 6))
		i--;
	mem_free(tail);
	if (r)
		return r;
	if (i == 0)
		return look_fail(l, l->file_bytes,
				 "no zip archive ends here; is this a complete npz file?");
	a->found->end_off = from + i - 1;
	a->found->has_comment = true;
	return 0;
}

/* Parse the zip64 end record: 1, 0 if there is none, or -errno. */
static int find_end64(struct archive *a, uint64_t *dir_bytes, uint64_t *dir_off)
{
	struct look *l = a->l;
	uint64_t off = a->found->end_off - ZIP_LOCATOR_BYTES;

	if (a->found->end_off < ZIP_LOCATOR_BYTES + ZIP_END64_BYTES)
		return 0;
	const uint8_t *at = look_at(l, off, ZIP_LOCATOR_BYTES);
	if (!at)
		return l->err->code;
	if (!is_signature(at, 6, 7))
		return 0;
	a->found->has_locator = true;
	if (look_le(at + 4, 4) || look_le(at + 16, 4) > 1)
		return look_fail(l, off,
				 "an archive on several disks; mlgen reads archives in one file");
	at = look_at(l, off - ZIP_END64_BYTES, ZIP_END64_BYTES);
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
	const uint8_t *at = look_at(l, a->found->end_off, ZIP_END_BYTES);
	uint64_t stated_off, end = a->found->end_off;

	if (!at)
		return l->err->code;
	a->found->dir_bytes = look_le(at + 12, 4);
	stated_off = look_le(at + 16, 4);
	int r = find_end64(a, &a->found->dir_bytes, &stated_off);
	if (r < 0)
		return r;
	if (r)
		end -= ZIP_LOCATOR_BYTES + ZIP_END64_BYTES;
	if (a->found->dir_bytes > end || stated_off > end - a->found->dir_bytes)
		return look_fail(l, a->found->end_off,
				 "the archive's directory should have %" PRIu64
				 " bytes from byte %" PRIu64 ", but its end is at byte %" PRIu64,
				 a->found->dir_bytes, stated_off, end);
	if (a->found->dir_bytes >= MAX32)
		return look_fail(l, a->found->end_off,
				 "a directory of %" PRIu64 " bytes; mlgen reads less than 4 GiB",
				 a->found->dir_bytes);
	a->found->dir_off = end - a->found->dir_bytes;
	a->before = a->found->dir_off - stated_off;
	return 0;
}

/* True for the member that the key names, with the suffix or without. Without a key, true for the
 * first name with the suffix. */
static bool is_wanted(const struct archive *a, const char *name, size_t n)
{
	size_t suffix_bytes = strlen(a->suffix), key_bytes;
	bool has_suffix =
		n > suffix_bytes && memcmp(name + n - suffix_bytes, a->suffix, suffix_bytes) == 0;

	if (!a->key)
		return has_suffix && !a->is_found;
	key_bytes = strlen(a->key);
	return (n == key_bytes || (has_suffix && n == key_bytes + suffix_bytes)) &&
	       memcmp(name, a->key, key_bytes) == 0;
}

/* Parse a directory entry if its member is wanted. */
static int parse_entry(struct archive *a, uint64_t off)
{
	struct look *l = a->l;
	const uint8_t *at = look_at(l, off, CENTRAL_HEAD);

	if (!at)
		return l->err->code;
	size_t name_bytes = (size_t)look_le(at + 28, 2);
	size_t extra_bytes = (size_t)look_le(at + 30, 2);
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
	name_bytes = name_bytes < sizeof(a->name) ? name_bytes : sizeof(a->name) - 1;
	memcpy(a->name, at + CENTRAL_HEAD, name_bytes);
	a->name[name_bytes] = '\0';
	at = look_at(l, off + CENTRAL_HEAD + a->name_bytes, extra_bytes);
	if (!at)
		return l->err->code;

	/* Parse the zip64 field, which has the sizes and the offset that did not fit, in this
	 * order. */
	size_t bytes = extra_bytes;
	uint64_t *const wide[] = { &a->plain_bytes, &a->stored_bytes, &a->header_off };

	while (bytes >= 4) {
		size_t n = (size_t)look_le(at + 2, 2), used = 0;

		if (n > bytes - 4)
			break;
		for (unsigned i = 0; i < 3 && look_le(at, 2) == 1; i++) {
			if (*wide[i] != MAX32)
				continue;
			if (n < used + 8)
				return look_fail(a->l, off,
						 "a zip64 field lacks a size of its member");
			*wide[i] = look_le(at + 4 + used, 8);
			used += 8;
		}
		at += 4 + n;
		bytes -= 4 + n;
	}
	return 0;
}

static int find_member(struct archive *a)
{
	struct look *l = a->l;
	uint64_t off = a->found->dir_off, end = a->found->dir_off + a->found->dir_bytes;
	int r = 0;

	while (r == 0 && off < end) {
		if (end - off < CENTRAL_HEAD)
			return look_fail(l, off, "the archive's directory is cut off");
		const uint8_t *at = look_at(l, off, CENTRAL_HEAD);
		if (!at)
			return l->err->code;
		if (!is_signature(at, 1, 2))
			return look_fail(l, off, "no entry of the archive's directory begins here");
		r = parse_entry(a, off);
		at = r ? NULL : look_at(l, off, CENTRAL_HEAD);
		if (!at)
			return r ? r : l->err->code;
		off += CENTRAL_HEAD + look_le(at + 28, 2) + look_le(at + 30, 2) +
		       look_le(at + 32, 2);
		/* Without a key, the first array is the wanted one. */
		if (a->is_found && !a->key)
			return 0;
	}
	if (r == 0 && !a->is_found && a->key)
		return look_fail(l, a->found->dir_off,
				 "the archive has no member '%.*s'; scan_key must name a member "
				 "that all files have",
				 NAME_SHOWN, a->key);
	if (r == 0 && !a->is_found)
		return look_fail(l, a->found->dir_off, "the archive has no member that ends in %s",
				 a->suffix);
	return r;
}

/* Parse the member's local header, and check that its bytes end before the directory. */
static int look_member(struct archive *a)
{
	struct zip_member *m = &a->found->member;
	struct look *l = a->l;
	uint64_t off = a->header_off + a->before;

	if (a->flags & (ENCRYPTED | PATCHED) || (a->method != STORED && a->method != DEFLATED))
		return look_fail(
			l, off,
			"member '%.*s' is %s; mlgen reads members that are stored or deflated",
			NAME_SHOWN, a->name,
			a->flags & ENCRYPTED ? "encrypted"
			: a->method == 12    ? "compressed by bzip2"
			: a->method == 14    ? "compressed by LZMA"
					     : "compressed by another method");
	if (off < a->before || off > a->found->dir_off || a->found->dir_off - off < ZIP_LOCAL_BYTES)
		return look_fail(l, a->found->dir_off,
				 "member '%.*s' should begin at %" PRIu64
				 ", which is after the archive's members",
				 NAME_SHOWN, a->name, off);
	const uint8_t *at = look_at(l, off, ZIP_LOCAL_BYTES);
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
		return look_fail(l, off, "the header of member '%.*s' is not here", NAME_SHOWN,
				 a->name);
	off += ZIP_LOCAL_BYTES + m->name_bytes + m->extra_bytes;
	if (off > a->found->dir_off || m->stored_bytes > a->found->dir_off - off)
		return look_fail(l, m->header_off,
				 "member '%.*s' of %" PRIu64
				 " bytes reaches into the archive's directory",
				 NAME_SHOWN, a->name, m->stored_bytes);
	if (!m->is_deflated && m->plain_bytes != m->stored_bytes)
		return look_fail(l, m->header_off,
				 "member '%.*s' is stored in %" PRIu64
				 " bytes, but its size is %" PRIu64,
				 NAME_SHOWN, a->name, m->stored_bytes, m->plain_bytes);
	return 0;
}

int zip_look(struct look *l, const char *key, const char *suffix, struct zip_scanned *found)
{
	struct archive a = { .l = l, .key = key, .suffix = suffix, .found = found };

	*found = (struct zip_scanned){ 0 };
	int r = find_end(&a);
	if (r == 0)
		r = find_directory(&a);
	if (r == 0)
		r = find_member(&a);
	return r ? r : look_member(&a);
}
