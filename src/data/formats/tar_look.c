/* SPDX-License-Identifier: Apache-2.0 */
/* tar_look.c - where the samples of a tar file lie that somebody else has written. */
#include "data/formats/formats_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"

/*
 * A sample is what WebDataset takes for one: members behind one another whose names are alike up to
 * the first dot of the last component, the key. What has no such name is read over, as are folders,
 * links and what begins and ends with "__". Names longer than a header has room for are those of
 * GNU tar ('L') and of pax ('x': path=, size=); GNU's sparse members ('S', and in pax headers
 * GNU.sparse.*) have the bytes that are stored; numbers beyond eight octal digits are GNU's base
 * 256 (POSIX.1-2017, pax; GNU tar's manual, "Basic Tar Format").
 */
enum {
	CHECKSUM_AT = 148,
	CHECKSUM_BYTES = 8,
	TYPE_AT = 156,
	NAME_BYTES = 100,
	PREFIX_AT = 345,
	PREFIX_BYTES = 155,
	SPARSE_MORE_AT = 482,
	/* A long name or a pax header that is larger than this is damaged: several attributes (64
	 * KiB each) and maps of sparse files fit. */
	EXTENDED_MAX = 1 << 20,
};

/* Facts: where the end mark is. */
enum { MARK };

static bool is_zero(const uint8_t *block)
{
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

static uint64_t octal(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes && *at == ' ')
		at++, bytes--;
	for (; bytes && *at >= '0' && *at <= '7'; at++, bytes--)
		v = v << 3 | (uint64_t)(*at - '0');
	return v;
}

/* Signed base 256 has the highest bit set; what is negative is no size. */
static uint64_t tar_look_number(const uint8_t *at, unsigned bytes)
{
	if (*at == 0x80)
		return look_be(at + bytes - 8, 8);
	return *at & 0x80 ? UINT64_MAX : octal(at, bytes);
}

static bool is_header(const uint8_t *block)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_BYTES ? ' ' : block[i];
	return sum == octal(block + CHECKSUM_AT, CHECKSUM_BYTES);
}

static void take_name(struct tar_walk *w, const uint8_t *block)
{
	size_t prefix = strnlen((const char *)block + PREFIX_AT, PREFIX_BYTES);
	size_t n = strnlen((const char *)block, NAME_BYTES), at = 0;

	/* GNU's own headers have other things there. */
	if (memcmp(block + 257, "ustar\0", 6) == 0 && prefix) {
		memcpy(w->name, block + PREFIX_AT, prefix);
		w->name[prefix] = '/';
		at = prefix + 1;
	}
	memcpy(w->name + at, block, n);
	w->name[at + n] = '\0';
}

static void take_long_name(struct tar_walk *w, const char *text, size_t bytes)
{
	snprintf(w->name, sizeof(w->name), "%.*s", (int)u64_min(bytes, PATH_MAX - 1), text);
	w->has_name = true;
}

/* The value of `key` in a record of so many bytes; NULL = it is another's. */
static const char *value_of(const char *record, size_t bytes, const char *key)
{
	size_t n = strlen(key);

	return bytes > n && memcmp(record, key, n) == 0 ? record + n : NULL;
}

/* A sparse member's path= is a placeholder. */
static void take_record(struct tar_walk *w, const char *record, size_t bytes)
{
	const char *end = record + bytes, *v;

	if ((v = value_of(record, bytes, "GNU.sparse.name="))) {
		take_long_name(w, v, (size_t)(end - v));
		w->has_sparse_name = true;
	} else if ((v = value_of(record, bytes, "path="))) {
		if (!w->has_sparse_name)
			take_long_name(w, v, (size_t)(end - v));
	} else if ((v = value_of(record, bytes, "size="))) {
		w->size = strtoull(v, NULL, 10);
		w->has_size = true;
	} else if ((v = value_of(record, bytes, "GNU.sparse.major="))) {
		w->has_sparse_map = strtoull(v, NULL, 10) == 1;
	}
}

/* "LENGTH KEY=VALUE\n", over and over. */
static void take_pax(struct tar_walk *w, const char *text, size_t bytes)
{
	while (bytes) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);
		size_t head = (size_t)(end - text) + 1;

		if (*end != ' ' || n <= head || n > bytes)
			return;
		take_record(w, text + head, n - head - 1);
		text += n;
		bytes -= n;
	}
}

/* A header of what comes behind it. */
static int take_extended(struct tar_walk *w, char type, uint64_t at, uint64_t size)
{
	char *text;
	int r;

	if (type == 'g')
		return 0;
	if (size > EXTENDED_MAX)
		return look_fail(w->l, at,
				 "an extended header of %" PRIu64 " bytes; mlgen takes up to %d",
				 size, EXTENDED_MAX);
	text = mem_zalloc((size_t)size + 1);
	r = look_copy(w->l, at, text, size);
	if (r == 0 && type == 'x')
		take_pax(w, text, (size_t)size);
	else if (r == 0 && type == 'L')
		take_long_name(w, text, (size_t)size);
	mem_free(text);
	return r;
}

static int end_sample(struct tar_walk *w)
{
	int r = 0;

	if (!w->is_open)
		return 0;
	w->is_open = false;
	w->l->samples++;
	w->l->sample_bytes += w->words[TAR_END] - w->words[TAR_DATA];
	for (unsigned i = 0; i < TAR_WORDS && r == 0; i++)
		r = look_word(w->l, w->words[i]);
	return r;
}

size_t tar_key_length(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	const char *dot = strchr(base, '.');
	size_t n = strlen(name);

	if (!dot || dot == base)
		return 0;
	if (n > 4 && memcmp(name, "__", 2) == 0 && memcmp(name + n - 2, "__", 2) == 0)
		return 0;
	return (size_t)(dot - name);
}

int tar_take(struct tar_walk *w, uint64_t data)
{
	size_t n = tar_key_length(w->name);
	int r;

	if (n == 0)
		return 0;
	if (w->is_open && strlen(w->key) == n && memcmp(w->key, w->name, n) == 0) {
		w->words[TAR_END] = data + w->size;
		return 0;
	}
	r = end_sample(w);
	memcpy(w->key, w->name, n);
	w->key[n] = '\0';
	w->is_open = true;
	w->words[TAR_DATA] = data;
	w->words[TAR_FIRST_END] = w->words[TAR_END] = data + w->size;
	return r;
}

static bool has_data(char type)
{
	return !strchr("123456", type) || type == '\0';
}

static int take_member(struct tar_walk *w, char type, uint64_t data)
{
	int r = 0;

	if (type == '\0' || strchr("07S", type)) {
		if (w->has_sparse_map)
			r = tar_pass_sparse_map(w, &data);
		w->data = data;
		w->is_member = tar_key_length(w->name) > 0;
		r = r ? r : tar_take(w, data);
	}
	w->has_name = w->has_size = false;
	w->has_sparse_name = w->has_sparse_map = false;
	return r;
}

int tar_step(struct tar_walk *w)
{
	uint64_t data = w->at + TAR_BLOCK, size;
	const uint8_t *block = look_at(w->l, w->at, TAR_BLOCK);
	bool is_extended, has_more;
	char type;

	w->is_member = false;
	if (!block)
		return w->l->err->code;
	if (is_zero(block))
		return 1;
	if (!is_header(block))
		return look_fail(w->l, w->at, "no header of a tar file: its checksum is wrong");
	type = (char)block[TYPE_AT];
	size = has_data(type) ? tar_look_number(block + 124, 12) : 0;
	is_extended = type != '\0' && strchr("xgLK", type);
	has_more = block[SPARSE_MORE_AT];
	if (!is_extended) {
		if (!w->has_name)
			take_name(w, block);
		w->size = size = w->has_size && has_data(type) ? w->size : size;
	}
	if (type == 'S' && tar_pass_sparse_headers(w, has_more, &data))
		return w->l->err->code;
	if (size > w->l->file_bytes || data > w->l->file_bytes - size)
		return look_fail(w->l, w->at,
				 "a member of %" PRIu64 " bytes, of which the file has %" PRIu64,
				 size, w->l->file_bytes - u64_min(data, w->l->file_bytes));
	w->at = data + round_up(size, TAR_BLOCK);
	return is_extended ? take_extended(w, type, data, size) : take_member(w, type, data);
}

int tar_look(struct look *l)
{
	struct tar_walk *w = mem_zalloc(sizeof(*w));
	int r;

	w->l = l;
	r = tar_by_index(w);
	/* An end mark may be missing; what is no whole block is none. */
	while (r == 0 && w->at < l->file_bytes)
		r = tar_step(w);
	if (r >= 0)
		r = end_sample(w);
	l->facts[MARK] = u64_min(w->at, l->file_bytes);
	mem_free(w);
	return r;
}

void tar_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		     uint64_t *len)
{
	*off = shape->words[first * TAR_WORDS + TAR_DATA];
	*len = shape->words[(first + n - 1) * TAR_WORDS + TAR_END] - *off;
}

uint64_t tar_found_needed(const struct file_shape *shape, uint64_t n)
{
	return n < shape->samples ? shape->words[n * TAR_WORDS + TAR_FIRST_END]
				  : shape->facts[MARK] + TAR_BLOCK;
}
