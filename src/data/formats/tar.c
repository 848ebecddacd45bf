/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c - format=tar: shards as WebDataset writes them, with two members for each sample. */
#include "data/formats/formats_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"

/* Words of a sample: offsets of the first member's bytes, of their end, and of the end of the last
 * member's bytes. */
enum { TAR_DATA, TAR_FIRST_END, TAR_END, TAR_WORDS };

struct tar_walk {
	struct look *l;
	uint64_t at; /* offset of the next header */
	/* The current member; an extended header may already have set its size and name. */
	uint64_t size, data;
	bool has_name, has_size; /* set by an extended header */
	bool has_sparse_name;    /* the real name of a sparse member */
	bool has_sparse_map;     /* a map precedes the member's bytes */
	bool is_member;          /* the last step reached a member of a sample */
	char name[PATH_MAX];
	/* The sample that is open. */
	char key[PATH_MAX];
	bool is_open;
	uint64_t words[TAR_WORDS];
};

enum { TAR_BLOCK = 512 };

/* ---- sparse members: the map of holes before their bytes ---- */

/*
 * GNU tar stores only the bytes of a sparse member that are not holes (its manual, "Storing Sparse
 * Files"). skip_sparse_map moves *data to these bytes. It returns 0, or -errno with l->err. Pax
 * formats 0.0 and 0.1 have the map in the extended header, and nothing before the bytes.
 */
enum { NEXT_MORE_AT = 504 };

/* The map of pax format 1.0, one number a line: the number of pieces, then two numbers for each
 * piece. */
struct block_map {
	uint64_t pieces;
	uint64_t lines; /* still to parse */
	bool has_pieces;
};

static bool parse_map_byte(struct block_map *m, uint8_t c)
{
	if (c == '\n') {
		m->lines = m->has_pieces ? m->lines - 1 : 2 * m->pieces;
		m->has_pieces = true;
		return true;
	}
	if (!m->has_pieces && m->pieces <= UINT32_MAX)
		m->pieces = 10 * m->pieces + (uint64_t)(c - '0');
	return c >= '0' && c <= '9';
}

/* Skip the map that a member of pax format 1.0 begins with, and subtract its bytes from w->size. */
static int skip_sparse_map(struct tar_walk *w, uint64_t *data)
{
	struct block_map m = { .lines = 1 };

	while (m.lines) {
		if (w->size < TAR_BLOCK)
			return look_fail(w->l, *data,
					 "the map of a sparse member is longer than the member");
		const uint8_t *block = look_at(w->l, *data, TAR_BLOCK);
		if (!block)
			return w->l->err->code;
		for (unsigned i = 0; i < TAR_BLOCK && m.lines; i++)
			if (!parse_map_byte(&m, block[i]))
				return look_fail(
					w->l, *data + i,
					"not the map of a sparse member, which has only digits");
		*data += TAR_BLOCK;
		w->size -= TAR_BLOCK;
	}
	return 0;
}

/* ---- samples in a file from any writer ---- */

/*
 * A sample is defined as in WebDataset: consecutive members whose names are equal up to the first
 * dot of the last component (the key). Members without a key are skipped, and so are folders, links
 * and names that begin and end with "__".
 *
 * Long names come from GNU tar ('L') and pax ('x': path=, size=). GNU's sparse members ('S', and
 * GNU.sparse.* in pax headers) count with the bytes that are stored. Numbers beyond eight octal
 * digits use GNU's base 256 (POSIX.1-2017, pax; GNU tar's manual, "Basic Tar Format").
 */
enum {
	CHECKSUM_AT = 148,
	CHECKSUM_BYTES = 8,
	TYPE_AT = 156,
	NAME_BYTES = 100,
	PREFIX_AT = 345,
	PREFIX_BYTES = 155,
	SPARSE_MORE_AT = 482,
	/* A larger long name or pax header is damaged: several attributes (64 KiB each) and maps of
	 * sparse files fit. */
	EXTENDED_MAX = 1 << 20,
};

/* Facts: the offset of the end mark. */
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

/* Base 256, which is signed, has the highest bit set; a negative number is not a valid size. */
static uint64_t parse_number(const uint8_t *at, unsigned bytes)
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

static void parse_name(struct tar_walk *w, const uint8_t *block)
{
	size_t prefix = strnlen((const char *)block + PREFIX_AT, PREFIX_BYTES);
	size_t n = strnlen((const char *)block, NAME_BYTES), at = 0;

	/* GNU's own headers use these bytes differently. */
	if (memcmp(block + 257, "ustar\0", 6) == 0 && prefix) {
		memcpy(w->name, block + PREFIX_AT, prefix);
		w->name[prefix] = '/';
		at = prefix + 1;
	}
	memcpy(w->name + at, block, n);
	w->name[at + n] = '\0';
}

static void set_long_name(struct tar_walk *w, const char *text, size_t bytes)
{
	snprintf(w->name, sizeof(w->name), "%.*s", (int)u64_min(bytes, PATH_MAX - 1), text);
	w->has_name = true;
}

/* The value of `key` in a record of this many bytes; NULL = the record has another key. */
static const char *value_of(const char *record, size_t bytes, const char *key)
{
	size_t n = strlen(key);

	return bytes > n && memcmp(record, key, n) == 0 ? record + n : NULL;
}

/* Parse a sequence of "LENGTH KEY=VALUE\n". */
static void parse_pax(struct tar_walk *w, const char *text, size_t bytes)
{
	while (bytes) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);
		size_t head = (size_t)(end - text) + 1;

		if (*end != ' ' || n <= head || n > bytes)
			return;

		const char *record = text + head;
		size_t record_bytes = n - head - 1;
		const char *record_end = record + record_bytes, *v;

		if ((v = value_of(record, record_bytes, "GNU.sparse.name="))) {
			set_long_name(w, v, (size_t)(record_end - v));
			w->has_sparse_name = true;
		} else if ((v = value_of(record, record_bytes, "path="))) {
			/* The path= of a sparse member is a placeholder. */
			if (!w->has_sparse_name)
				set_long_name(w, v, (size_t)(record_end - v));
		} else if ((v = value_of(record, record_bytes, "size="))) {
			w->size = strtoull(v, NULL, 10);
			w->has_size = true;
		} else if ((v = value_of(record, record_bytes, "GNU.sparse.major="))) {
			w->has_sparse_map = strtoull(v, NULL, 10) == 1;
		}

		text += n;
		bytes -= n;
	}
}

/* Parse an extended header, which describes the next member. */
static int parse_extended(struct tar_walk *w, char type, uint64_t at, uint64_t size)
{
	if (type == 'g')
		return 0;
	if (size > EXTENDED_MAX)
		return look_fail(w->l, at,
				 "an extended header of %" PRIu64 " bytes; mlgen reads up to %d",
				 size, EXTENDED_MAX);
	char *text = mem_zalloc((size_t)size + 1);
	int r = look_copy(w->l, at, text, size);
	if (r == 0 && type == 'x')
		parse_pax(w, text, (size_t)size);
	else if (r == 0 && type == 'L')
		set_long_name(w, text, (size_t)size);
	mem_free(text);
	return r;
}

static int close_sample(struct tar_walk *w)
{
	int r = 0;

	if (!w->is_open)
		return 0;
	w->is_open = false;
	w->l->samples++;
	w->l->sample_bytes += w->words[TAR_END] - w->words[TAR_DATA];
	for (unsigned i = 0; i < TAR_WORDS && r == 0; i++)
		r = look_add_word(w->l, w->words[i]);
	return r;
}

/* Length of a name's key; 0 = the name has no key and belongs to no sample. */
static size_t tar_key_length(const char *name)
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

/* Add the member whose name and size are in *w to the open sample, or open another sample with it.
 * 0, or -errno with l->err. */
static int add_member(struct tar_walk *w, uint64_t data)
{
	size_t n = tar_key_length(w->name);

	if (n == 0)
		return 0;
	if (w->is_open && strlen(w->key) == n && memcmp(w->key, w->name, n) == 0) {
		w->words[TAR_END] = data + w->size;
		return 0;
	}
	int r = close_sample(w);
	memcpy(w->key, w->name, n);
	w->key[n] = '\0';
	w->is_open = true;
	w->words[TAR_DATA] = data;
	w->words[TAR_FIRST_END] = w->words[TAR_END] = data + w->size;
	return r;
}

static bool type_has_data(char type)
{
	return !strchr("123456", type) || type == '\0';
}

/* Step over a header and its data: 0, 1 = the end mark, or -errno with l->err. */
static int tar_step(struct tar_walk *w)
{
	uint64_t data = w->at + TAR_BLOCK, size;
	const uint8_t *block = look_at(w->l, w->at, TAR_BLOCK);

	w->is_member = false;
	if (!block)
		return w->l->err->code;
	if (is_zero(block))
		return 1;
	if (!is_header(block))
		return look_fail(w->l, w->at,
				 "not the header of a tar member: its checksum is wrong");
	char type = (char)block[TYPE_AT];
	size = type_has_data(type) ? parse_number(block + 124, 12) : 0;
	bool is_extended = type != '\0' && strchr("xgLK", type);
	bool has_more = block[SPARSE_MORE_AT];
	if (!is_extended) {
		if (!w->has_name)
			parse_name(w, block);
		w->size = size = w->has_size && type_has_data(type) ? w->size : size;
	}
	/* Skip the extra headers of the old sparse format; byte 482 of the member's header tells
	 * whether there are any. */
	while (type == 'S' && has_more) {
		block = look_at(w->l, data, TAR_BLOCK);
		if (!block)
			return w->l->err->code;
		has_more = block[NEXT_MORE_AT];
		data += TAR_BLOCK;
	}
	if (size > w->l->file_bytes || data > w->l->file_bytes - size)
		return look_fail(w->l, w->at,
				 "a member of %" PRIu64 " bytes, but the file has only %" PRIu64,
				 size, w->l->file_bytes - u64_min(data, w->l->file_bytes));
	w->at = data + round_up(size, TAR_BLOCK);
	if (is_extended)
		return parse_extended(w, type, data, size);

	int r = 0;

	if (type == '\0' || strchr("07S", type)) {
		if (w->has_sparse_map)
			r = skip_sparse_map(w, &data);
		w->data = data;
		w->is_member = tar_key_length(w->name) > 0;
		r = r ? r : add_member(w, data);
	}
	w->has_name = w->has_size = false;
	w->has_sparse_name = w->has_sparse_map = false;
	return r;
}

static void tar_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	*off = shape->words[first * TAR_WORDS + TAR_DATA];
	*len = shape->words[(first + n - 1) * TAR_WORDS + TAR_END] - *off;
}

/* ---- samples from the index next to the file ---- */

/*
 * DALI's wds2idx (NVIDIA/DALI, tools/wds2idx.py) writes "v1.2 SAMPLES", then a line for each
 * sample. The line has "EXTENSION OFFSET SIZE NAME" for each member, separated by spaces. OFFSET is
 * that of the member's bytes. Folders and hidden files are not in the index.
 *
 * The index does not identify its tar file. A member is therefore accepted unseen only if exactly
 * one header separates it from the previous member: its place is then right if all places before
 * are, up to the file's end mark, which is checked. The walk visits all other members, and the
 * first, the last and a few between; they must be as the index claims. The walk also finds the
 * wrong offsets that wds2idx writes before members with extended headers.
 */
#define VERSION "v1.2"
#define SPOTS 16u

/* Lines between checks for an interrupt. */
#define LINES_PER_CHECK 65536u

#define DIGITS_MAX 19u

struct tar_index {
	FILE *f;
	char path[PATH_MAX];
	uint64_t lines, line; /* lines of samples: their number, and the current one from 0 */
	bool is_first;        /* the member is the first of its line */
	char text[PATH_MAX];  /* the last word */
	int end;              /* the character after it */
	/* The member that was read last; its name is in `text`. */
	uint64_t off, size;
};

/* Read up to the next space or the end of the line into x->text. */
static bool read_word(struct tar_index *x)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(x->f)) != ' ' && c != '\n' && c != EOF) {
		if (c == '\0' || n + 1 == sizeof(x->text))
			return false;
		x->text[n++] = (char)c;
	}
	x->text[n] = '\0';
	x->end = c;
	return n || c != EOF;
}

static bool read_count(struct tar_index *x, uint64_t *v)
{
	if (!read_word(x))
		return false;
	size_t n = strspn(x->text, "0123456789");
	*v = 0;
	for (size_t i = 0; i < n && n <= DIGITS_MAX; i++)
		*v = *v * 10 + (uint64_t)(x->text[i] - '0');
	return n > 0 && n <= DIGITS_MAX && !x->text[n];
}

static bool read_member(struct tar_index *x)
{
	return read_word(x) && x->end == ' ' && read_count(x, &x->off) && x->end == ' ' &&
	       read_count(x, &x->size) && x->end == ' ' && read_word(x) && *x->text;
}

/* Give up on the index; the first reason is reported. */
static int stale(struct tar_walk *w, const struct tar_index *x, const char *why)
{
	if (!w->l->note.code)
		look_index_note(w->l, x->path, "line %" PRIu64 ": %s", x->line + 2, why);
	return -ESTALE;
}

static int no_such_member(struct tar_walk *w, const struct tar_index *x)
{
	return stale(w, x, "the tar file has no such member at this offset");
}

/* `tar --list` quotes names with a backslash. */
static bool is_quoted(const struct tar_index *x)
{
	return strchr(x->text, '\\') != NULL;
}

static bool is_spot(const struct tar_index *x)
{
	return x->is_first && (x->line % (x->lines / SPOTS + 1) == 0 || x->line == x->lines - 1);
}

static int add_unseen(struct tar_walk *w, const struct tar_index *x)
{
	const struct look *l = w->l;

	if (x->off > l->file_bytes || x->size > l->file_bytes - x->off)
		return no_such_member(w, x);
	snprintf(w->name, sizeof(w->name), "%s", x->text);
	w->size = x->size;
	w->at = x->off + round_up(x->size, TAR_BLOCK);
	return add_member(w, x->off);
}

/* A place without a valid header means that the index or the file is wrong. The walk from the
 * file's beginning, without the index, will tell which. */
static int walk_step(struct tar_walk *w)
{
	int r = w->at < w->l->file_bytes ? tar_step(w) : 1;

	if (r == -EINVAL)
		w->l->err->code = 0;
	return r == -EINVAL ? -ESTALE : r;
}

static int walk_to(struct tar_walk *w, const struct tar_index *x)
{
	int r;

	do
		r = walk_step(w);
	while (r == 0 && !w->is_member);
	if (r < 0 && r != -ESTALE)
		return r;
	if (r || w->data != x->off || w->size != x->size ||
	    (!is_quoted(x) && strcmp(w->name, x->text) != 0))
		return no_such_member(w, x);
	return 0;
}

static int follow_line(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	x->end = ' ';
	for (x->is_first = true; x->end == ' ' && r == 0; x->is_first = false) {
		if (!read_member(x))
			return stale(w, x, "does not have the format of wds2idx");
		if (tar_key_length(x->text) == 0)
			continue;
		if (x->off == w->at + TAR_BLOCK && !is_spot(x) && !is_quoted(x))
			r = add_unseen(w, x);
		else
			r = walk_to(w, x);
	}
	return r;
}

static int tar_index_follow(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	if (!read_word(x) || x->end != ' ' || strcmp(x->text, VERSION) != 0 ||
	    !read_count(x, &x->lines) || x->end != '\n' || x->lines == 0) {
		look_index_note(w->l, x->path,
				"does not begin with \"" VERSION
				" SAMPLES\", as an index by wds2idx does");
		return -ESTALE;
	}
	for (x->line = 0; x->line < x->lines && r == 0; x->line++) {
		r = follow_line(w, x);
		if (r == 0 && x->line % LINES_PER_CHECK == 0 && signals_received())
			r = mlgen_fail(w->l->err, -EINTR, "%s: interrupted", w->l->path);
	}
	if (r)
		return r;

	/* Check that no sample follows the last member of the index. */
	if (x->end != EOF && getc_unlocked(x->f) != EOF)
		return stale(w, x, "more lines follow than the first line says");
	do
		r = walk_step(w);
	while (r == 0 && !w->is_member);
	if (r == 0 || r == -ESTALE)
		return stale(w, x, "the tar file continues after this member");
	return r;
}

/* Three names are tried: .idx in place of the last suffix, of all suffixes (as wds2idx does), and
 * after the whole name. */
static bool tar_index_path(const char *path, unsigned i, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = i == 0 ? strrchr(name, '.') : strchr(name, '.');
	size_t stem = dot && i < 2 ? (size_t)(dot - path) : strlen(path);

	if (i >= 3)
		return false;
	int n = snprintf(out, size, "%.*s.idx", (int)stem, path);
	if (n <= 0 || (size_t)n >= size)
		*out = '\0';
	return true;
}

/* Walk the whole file by the index of DALI's wds2idx: 1, or -errno with l->err. 0 if there is no
 * index or it does not match the file (l->note); the walk is then at the beginning. */
static int tar_by_index(struct tar_walk *w)
{
	struct look *l = w->l;
	struct tar_index *x = mem_zalloc(sizeof(*x));
	int r = 0;

	x->f = look_index_open(l, tar_index_path, x->path);
	if (x->f) {
		r = tar_index_follow(w, x);
		look_index_close(l, x->f);
	}
	mem_free(x);
	if (r != -ESTALE)
		return r;
	*w = (struct tar_walk){ .l = l };
	look_reset(l);
	return 0;
}

static int tar_look(struct look *l)
{
	struct tar_walk *w = mem_zalloc(sizeof(*w));

	w->l = l;
	int r = tar_by_index(w);
	/* The end mark may be missing, but not cut off. */
	while (r == 0 && w->at < l->file_bytes)
		r = tar_step(w);
	if (r >= 0)
		r = close_sample(w);
	l->facts[MARK] = u64_min(w->at, l->file_bytes);
	mem_free(w);
	return r;
}

/* ---- files of mlgen ---- */

/*
 * A sample is two files with one name and two suffixes: NNNNNNNN.bin, its bytes, and NNNNNNNN.cls,
 * its label in decimal. Numbers continue from shard to shard. Headers are those of POSIX ustar as
 * Python's tarfile writes them, with the owner and the mode of WebDataset's TarWriter. Without a
 * time (its mtime=0), no extended headers are needed.
 */
enum {
	END_BYTES = 2 * TAR_BLOCK, /* zeros at the end, at least */
	SHARD_ALIGN = 20 * TAR_BLOCK,
	LABELS = 1000, /* the classes of ImageNet */
};

/* Eleven octal digits. */
#define MEMBER_MAX ((UINT64_C(1) << 33) - 1)

/* Sizes and offsets of a sample's two members. */
struct tar_record {
	uint64_t payload_bytes;
	uint64_t cls_off; /* the header of the label's member */
	uint64_t bytes;
};

static struct tar_record tar_record_of(const struct file_shape *shape)
{
	struct tar_record r = { .payload_bytes = format_sample_bytes(shape) };

	r.cls_off = TAR_BLOCK + round_up(r.payload_bytes, TAR_BLOCK);
	r.bytes = r.cls_off + 2 * TAR_BLOCK;
	return r;
}

/* Format `count` digits and a NUL. */
static void format_octal(uint8_t *to, unsigned count, uint64_t v)
{
	for (unsigned i = count; i > 0; i--, v >>= 3)
		to[i - 1] = (uint8_t)('0' + (v & 7));
	to[count] = '\0';
}

static void make_header(uint8_t block[TAR_BLOCK], uint64_t key, const char *suffix, uint64_t bytes)
{
	unsigned sum = 0;

	memset(block, 0, TAR_BLOCK);
	snprintf((char *)block, 100, "%08" PRIu64 ".%s", key, suffix);
	format_octal(block + 100, 7, 0444);
	format_octal(block + 108, 7, 0); /* uid, gid */
	format_octal(block + 116, 7, 0);
	format_octal(block + 124, 11, bytes);
	format_octal(block + 136, 11, 0); /* mtime */
	block[156] = '0';                 /* a regular file */
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	memcpy(block + 265, "bigdata", 7); /* user, group */
	memcpy(block + 297, "bigdata", 7);
	memset(block + CHECKSUM_AT, ' ', CHECKSUM_BYTES); /* counts as spaces */
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	format_octal(block + CHECKSUM_AT, 6, sum);
}

static size_t fill_zeros(uint8_t *to, uint64_t bytes, size_t room)
{
	size_t n = u64_min(bytes, room);

	memset(to, 0, n);
	return n;
}

/* Copy the bytes of a block from `at` on. */
static size_t fill_block(const uint8_t block[TAR_BLOCK], uint64_t at, uint8_t *to, size_t room)
{
	size_t n = u64_min(TAR_BLOCK - at, room);

	memcpy(to, block + at, n);
	return n;
}

/* The member of a label: its header and its only block. */
static size_t fill_cls(uint64_t key, uint64_t at, uint8_t *to, size_t room)
{
	uint8_t block[TAR_BLOCK] = { 0 };
	char label[8];
	unsigned n = (unsigned)snprintf(label, sizeof(label), "%u", (unsigned)(key % LABELS));

	if (at < TAR_BLOCK)
		make_header(block, key, "cls", n);
	else
		memcpy(block, label, n);
	return fill_block(block, at % TAR_BLOCK, to, room);
}

static size_t fill_record(const struct format_writer *w, const struct tar_record *r, uint8_t *to,
			  size_t room)
{
	uint64_t at = w->pos % r->bytes;
	uint64_t key = w->seed_index * w->shape.samples + w->pos / r->bytes;
	uint8_t block[TAR_BLOCK];

	if (at < TAR_BLOCK) {
		make_header(block, key, "bin", r->payload_bytes);
		return fill_block(block, at, to, room);
	}
	if (at < TAR_BLOCK + r->payload_bytes) {
		size_t n = u64_min(TAR_BLOCK + r->payload_bytes - at, room);

		format_content(to, n, w->seed_index,
			       w->pos / r->bytes * r->payload_bytes + at - TAR_BLOCK);
		return n;
	}
	if (at < r->cls_off)
		return fill_zeros(to, r->cls_off - at, room);
	return fill_cls(key, at - r->cls_off, to, room);
}

static uint64_t tar_file_bytes(const struct file_shape *shape)
{
	return round_up(shape->samples * tar_record_of(shape).bytes + END_BYTES, SHARD_ALIGN);
}

static size_t tar_fill_piece(const struct format_writer *w, const struct tar_record *r, uint8_t *to,
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
				  "is less than 8 GiB; use less, or another format",
				  units_human_bytes(text, mean));
	ds->extent_samples =
		forward_extent_samples(ds->samples_per_file, tar_record_of(&shape).bytes);
	return 0;
}

static void tar_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	const struct tar_record r = tar_record_of(shape);

	*off = first * r.bytes + TAR_BLOCK;
	*len = (n - 1) * r.bytes + r.payload_bytes;
}

static bool tar_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	const struct tar_record r = tar_record_of(&w->shape);
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
	const struct tar_record record = tar_record_of(shape);

	/* A reader delivers a sample when it has read the first member of the next, or the end
	 * mark. */
	if (shape->facts)
		return n < shape->samples ? shape->words[n * TAR_WORDS + TAR_FIRST_END]
					  : shape->facts[MARK] + TAR_BLOCK;
	return n * record.bytes +
	       (n < shape->samples ? TAR_BLOCK + record.payload_bytes : TAR_BLOCK);
}

const struct format format_tar = {
	.name = "tar",
	.init = tar_init,
	.file_bytes = tar_file_bytes,
	.sample_range = tar_sample_range,
	.write_next = tar_write_next,
	/* No O_DIRECT: requests at the end of a shard are not whole blocks. */
	.framework = { &plan_forward, NULL },
	.reader = "WebDataset",
	.look = tar_look,
	.sidecar_path = tar_index_path,
	.scanned_range = tar_scanned_range,
	.is_forward = true,
};
