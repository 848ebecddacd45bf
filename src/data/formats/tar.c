/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c - format=tar: shards as WebDataset writes them, two members a sample. */
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

/* Words of a sample: where its first member's bytes begin, where these end, and where those of its
 * last member end. */
enum { TAR_DATA, TAR_FIRST_END, TAR_END, TAR_WORDS };

struct tar_walk {
	struct look *l;
	uint64_t at; /* of the next header */
	/* The member, or what an extended header has said of it. */
	uint64_t size, data;
	bool has_name, has_size; /* from an extended header */
	bool has_sparse_name;    /* the one that counts, of a sparse member */
	bool has_sparse_map;     /* stands before the member's bytes */
	bool is_member;          /* of a sample: the last step was to one */
	char name[PATH_MAX];
	/* The sample that is open. */
	char key[PATH_MAX];
	bool is_open;
	uint64_t words[TAR_WORDS];
};

enum { TAR_BLOCK = 512 };

/* ---- what stands before the bytes of a sparse member: where its holes are ---- */

/*
 * GNU tar's manual, "Storing Sparse Files". Pax formats 0.0 and 0.1 have the map in the extended
 * header, and nothing before the bytes.
 */
enum { NEXT_MORE_AT = 504 };

/*
 * Of GNU tar's sparse members the bytes that are not holes are stored; these move *data to them. 0,
 * or -errno with l->err. The headers that go on behind that of the old format, 'S', whose byte 482
 * says whether there are any:
 */
static int tar_pass_sparse_headers(struct tar_walk *w, bool has_more, uint64_t *data)
{
	while (has_more) {
		const uint8_t *block = look_at(w->l, *data, TAR_BLOCK);

		if (!block)
			return w->l->err->code;
		has_more = block[NEXT_MORE_AT];
		*data += TAR_BLOCK;
	}
	return 0;
}

/* A count of pieces, then two numbers a piece, a line each. */
struct block_map {
	uint64_t pieces, lines; /* of them; that are still to come */
	bool has_pieces;
};

static bool take_byte(struct block_map *m, uint8_t c)
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

/* The map that pax format 1.0 begins the member with, of which w->size loses as much. */
static int tar_pass_sparse_map(struct tar_walk *w, uint64_t *data)
{
	struct block_map m = { .lines = 1 };

	while (m.lines) {
		const uint8_t *block;

		if (w->size < TAR_BLOCK)
			return look_fail(
				w->l, *data,
				"the map of a sparse member does not end before its bytes do");
		block = look_at(w->l, *data, TAR_BLOCK);
		if (!block)
			return w->l->err->code;
		for (unsigned i = 0; i < TAR_BLOCK && m.lines; i++)
			if (!take_byte(&m, block[i]))
				return look_fail(w->l, *data + i,
						 "no map of a sparse member: it has digits alone");
		*data += TAR_BLOCK;
		w->size -= TAR_BLOCK;
	}
	return 0;
}

/* ---- where the samples lie in a file that somebody else has written ---- */

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

/* The length of a name's key; 0 = it has none, and is of no sample. */
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

/* The bytes of a member of this name and size are at `data`: of the open sample, or the first of
 * another. 0, or -errno with l->err. */
static int tar_take(struct tar_walk *w, uint64_t data)
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

/* One header and what belongs to it: 0, 1 = it is the end, or -errno with l->err. */
static int tar_step(struct tar_walk *w)
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

static void tar_found_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			    uint64_t *off, uint64_t *len)
{
	*off = shape->words[first * TAR_WORDS + TAR_DATA];
	*len = shape->words[(first + n - 1) * TAR_WORDS + TAR_END] - *off;
}

/* How far a reader has to go that has delivered the first n samples, n > 0: it knows that one is
 * complete when it has read the first member of the next, or the end mark. */
static uint64_t tar_found_needed(const struct file_shape *shape, uint64_t n)
{
	return n < shape->samples ? shape->words[n * TAR_WORDS + TAR_FIRST_END]
				  : shape->facts[MARK] + TAR_BLOCK;
}

/* ---- samples by the index that lies beside the file ---- */

/*
 * What DALI's wds2idx writes (NVIDIA/DALI, tools/wds2idx.py): "v1.2 SAMPLES", then a line for each
 * sample, of "EXTENSION OFFSET SIZE NAME" for each member, with a blank between them. OFFSET is
 * that of the member's bytes. Folders and hidden files are not in it.
 *
 * Nothing says which tar file it was made of. So a member is taken from it unseen only where it
 * follows the one before it by one header and no more: then it is at the right place if all before
 * it are, up to the end mark of the file, which is looked at. Any other is walked to, and has to be
 * what is said; so have the first, the last and a few between them. That also finds the places that
 * wds2idx itself has wrong, before members with extended headers.
 */
#define VERSION "v1.2"
#define SPOTS 16u

/* An interrupt is looked for after so many lines. */
#define LINES_AT_ONCE 65536u

#define DIGITS_MAX 19u

struct tar_index {
	FILE *f;
	char path[PATH_MAX];
	uint64_t lines, line; /* of samples: all; the one that is read, from 0 */
	bool is_first;        /* a member of its line */
	char text[PATH_MAX];  /* what was read last */
	int end;              /* and what stood behind it */
	/* The member. */
	uint64_t off, size;
};

/* ---- its text ---- */

/* What stands before the next blank or the end of the line, into x->text. */
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
	size_t n;

	if (!read_word(x))
		return false;
	n = strspn(x->text, "0123456789");
	*v = 0;
	for (size_t i = 0; i < n && n <= DIGITS_MAX; i++)
		*v = *v * 10 + (uint64_t)(x->text[i] - '0');
	return n > 0 && n <= DIGITS_MAX && !x->text[n];
}

static bool read_head(struct tar_index *x)
{
	return read_word(x) && x->end == ' ' && strcmp(x->text, VERSION) == 0 &&
	       read_count(x, &x->lines) && x->end == '\n' && x->lines > 0;
}

/* Its name is in x->text. */
static bool read_member(struct tar_index *x)
{
	return read_word(x) && x->end == ' ' && read_count(x, &x->off) && x->end == ' ' &&
	       read_count(x, &x->size) && x->end == ' ' && read_word(x) && *x->text;
}

/* ---- the file by it ---- */

/* That it is followed no further; its first reason counts. */
static int stale(struct tar_walk *w, const struct tar_index *x, const char *why)
{
	if (!w->l->note.code)
		look_index_note(w->l, x->path, "line %" PRIu64 ": %s", x->line + 2, why);
	return -ESTALE;
}

static int other_member(struct tar_walk *w, const struct tar_index *x)
{
	return stale(w, x, "the tar file has no such member there");
}

/* Names with a backslash are as `tar --list` quotes them. */
static bool is_quoted(const struct tar_index *x)
{
	return strchr(x->text, '\\') != NULL;
}

static bool is_spot(const struct tar_index *x)
{
	return x->is_first && (x->line % (x->lines / SPOTS + 1) == 0 || x->line == x->lines - 1);
}

static int take_unseen(struct tar_walk *w, const struct tar_index *x)
{
	const struct look *l = w->l;

	if (x->off > l->file_bytes || x->size > l->file_bytes - x->off)
		return other_member(w, x);
	snprintf(w->name, sizeof(w->name), "%s", x->text);
	w->size = x->size;
	w->at = x->off + round_up(x->size, TAR_BLOCK);
	return tar_take(w, x->off);
}

/* What is no tar file there says that the index is wrong, or the file: which, the walk from the
 * file's beginning tells. */
static int walk_on(struct tar_walk *w)
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
		r = walk_on(w);
	while (r == 0 && !w->is_member);
	if (r < 0 && r != -ESTALE)
		return r;
	if (r || w->data != x->off || w->size != x->size ||
	    (!is_quoted(x) && strcmp(w->name, x->text) != 0))
		return other_member(w, x);
	return 0;
}

static int take_one(struct tar_walk *w, const struct tar_index *x)
{
	if (tar_key_length(x->text) == 0)
		return 0;
	return x->off == w->at + TAR_BLOCK && !is_spot(x) && !is_quoted(x) ? take_unseen(w, x)
									   : walk_to(w, x);
}

static int take_line(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	x->end = ' ';
	for (x->is_first = true; x->end == ' ' && r == 0; x->is_first = false) {
		if (!read_member(x))
			return stale(w, x, "is not as wds2idx writes it");
		r = take_one(w, x);
	}
	return r;
}

/* Behind the last of it there is nothing of a sample. */
static int take_end(struct tar_walk *w, const struct tar_index *x)
{
	int r;

	if (x->end != EOF && getc_unlocked(x->f) != EOF)
		return stale(w, x, "more lines follow than the first one says");
	do
		r = walk_on(w);
	while (r == 0 && !w->is_member);
	if (r == 0 || r == -ESTALE)
		return stale(w, x, "the tar file goes on behind it");
	return r;
}

static int tar_index_follow(struct tar_walk *w, struct tar_index *x)
{
	int r = 0;

	if (!read_head(x)) {
		look_index_note(w->l, x->path,
				"does not begin with \"" VERSION
				" SAMPLES\", as wds2idx writes it");
		return -ESTALE;
	}
	for (x->line = 0; x->line < x->lines && r == 0; x->line++) {
		r = take_line(w, x);
		if (r == 0 && x->line % LINES_AT_ONCE == 0 && signals_taken())
			r = mlgen_fail(w->l->err, -EINTR, "%s: interrupted", w->l->path);
	}
	return r ? r : take_end(w, x);
}

enum { WAYS = 3 };

/* wds2idx's own name ends at the first dot. */
static bool name_index(char *out, size_t size, const char *path, unsigned way)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = way == 0 ? strrchr(name, '.') : strchr(name, '.');
	size_t stem = dot && way < 2 ? (size_t)(dot - path) : strlen(path);
	int n = snprintf(out, size, "%.*s.idx", (int)stem, path);

	return n > 0 && (size_t)n < size;
}

static bool tar_beside(const char *path, unsigned i, char *out, size_t size)
{
	if (i < WAYS && !name_index(out, size, path, i))
		*out = '\0';
	return i < WAYS;
}

static int follow_index(struct tar_walk *w, struct tar_index *x)
{
	struct look *l = w->l;
	int r;

	x->f = look_index_open(l, tar_beside, x->path);
	if (!x->f)
		return 0;
	r = tar_index_follow(w, x);
	look_index_close(l, x->f);
	if (r != -ESTALE)
		return r;
	*w = (struct tar_walk){ .l = l };
	look_reset(l);
	return 0;
}

/* By the index of DALI's wds2idx beside it, to the end: 1, or 0 where there is none or one of
 * another file (l->note), and nothing was taken; -errno with l->err. */
static int tar_by_index(struct tar_walk *w)
{
	struct tar_index *x = mem_zalloc(sizeof(*x));
	int r = follow_index(w, x);

	mem_free(x);
	return r;
}

static int tar_look(struct look *l)
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

/* ---- files of mlgen ---- */

/*
 * A sample is two files with one name and two suffixes: NNNNNNNN.bin, its bytes, and NNNNNNNN.cls,
 * its label in decimal. The number counts through all shards. Headers are those of POSIX ustar as
 * Python's tarfile writes them, with the owner and the mode that WebDataset's TarWriter has and no
 * time (its mtime=0), so that no extended headers are needed.
 */
enum {
	END_BYTES = 2 * TAR_BLOCK, /* of zeros, at least */
	SHARD_ALIGN = 20 * TAR_BLOCK,
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

	r.cls_off = TAR_BLOCK + round_up(r.payload_bytes, TAR_BLOCK);
	r.bytes = r.cls_off + 2 * TAR_BLOCK;
	return r;
}

/* So many digits and a NUL. */
static void put_octal(uint8_t *to, unsigned count, uint64_t v)
{
	for (unsigned i = count; i > 0; i--, v >>= 3)
		to[i - 1] = (uint8_t)('0' + (v & 7));
	to[count] = '\0';
}

static void put_checksum(uint8_t block[TAR_BLOCK])
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8); /* counts as blanks */
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	put_octal(block + 148, 6, sum);
}

static void make_header(uint8_t block[TAR_BLOCK], uint64_t key, const char *suffix, uint64_t bytes)
{
	memset(block, 0, TAR_BLOCK);
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
static size_t fill_block(const uint8_t block[TAR_BLOCK], uint64_t at, uint8_t *to, size_t room)
{
	size_t n = u64_min(TAR_BLOCK - at, room);

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
	uint8_t block[TAR_BLOCK] = { 0 };
	char label[8];
	unsigned n = make_label(label, key);

	if (at < TAR_BLOCK)
		make_header(block, key, "cls", n);
	else
		memcpy(block, label, n);
	return fill_block(block, at % TAR_BLOCK, to, room);
}

static size_t fill_record(const struct format_writer *w, const struct record *r, uint8_t *to,
			  size_t room)
{
	uint64_t at = w->pos % r->bytes;
	uint64_t key = w->seed_index * w->shape.samples + w->pos / r->bytes;
	uint8_t block[TAR_BLOCK];

	if (at < TAR_BLOCK) {
		make_header(block, key, "bin", r->payload_bytes);
		return fill_block(block, at, to, room);
	}
	if (at < TAR_BLOCK + r->payload_bytes)
		return fill_payload(w, r, at - TAR_BLOCK, to, room);
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

	*off = first * r.bytes + TAR_BLOCK;
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
	return n * record.bytes +
	       (n < shape->samples ? TAR_BLOCK + record.payload_bytes : TAR_BLOCK);
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
