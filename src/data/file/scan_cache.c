/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache.c - what a scan found, written for the next one and read again. */
#include "data/file/file_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"

#define SCAN_CACHE_KEY_BYTES 65536u

/* ---- reading ---- */

/* So many bytes are summed up at a time. */
#define PIECE_BYTES 65536u
#define PIECE_WORDS (PIECE_BYTES / sizeof(uint64_t))

/* All of them: 0, or -errno; -ENODATA where the file ends before. */
static int read_all(int fd, void *to, size_t bytes, uint64_t at)
{
	char *out = to;

	while (bytes) {
		ssize_t n = pread(fd, out, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		out += n;
		at += (size_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static bool add_to(uint64_t *sum, uint64_t n, uint64_t each)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(n, each, &bytes) &&
	       !__builtin_add_overflow(*sum, bytes, sum) && *sum <= INT64_MAX - PIECE_BYTES;
}

bool scan_cache_layout(const struct scan_header *h, struct scan_layout *out)
{
	uint64_t at = sizeof(*h) + round_up(h->key_bytes, 8);
	bool fits = true;

	out->records = at;
	for (unsigned i = 0; i < SCAN_PARTS; i++)
		fits = fits && add_to(&at, h->files[i], sizeof(struct scan_record));
	out->names = at;
	for (unsigned i = 0; i < SCAN_PARTS; i++)
		fits = fits && add_to(&at, h->name_bytes[i], 1);
	at = round_up(at, 8);
	out->words = at;
	fits = fits && add_to(&at, h->word_bytes, 1);
	out->end = at;
	return fits && h->word_bytes % sizeof(uint64_t) == 0;
}

/* ---- is it one, and of this scan? ---- */

static enum scan_cache_state useless(struct mlgen_err *err, const char *what)
{
	mlgen_fail(err, -EINVAL, "%s", what);
	return SCAN_CACHE_USELESS;
}

static enum scan_cache_state cut_off(const struct scan_cache *c, uint64_t file_bytes,
				     struct mlgen_err *err)
{
	mlgen_fail(err, -EINVAL, "it is cut off at byte %" PRIu64 " of %" PRIu64, file_bytes,
		   c->layout.end);
	return SCAN_CACHE_USELESS;
}

/* Of `bytes` that are there, up to all of it. */
static enum scan_cache_state check_header(const struct scan_header *h, size_t bytes,
					  struct mlgen_err *err)
{
	if (memcmp(h->magic, SCAN_CACHE_MAGIC, u64_min(bytes, sizeof(h->magic))) != 0)
		return SCAN_CACHE_FOREIGN;
	if (bytes < sizeof(*h))
		return useless(err, bytes ? "it is cut off in its header" : "it is empty");
	if (h->byte_order != SCAN_CACHE_ORDER)
		return useless(err, "a host of another byte order wrote it");
	if (h->version != SCAN_CACHE_VERSION) {
		mlgen_fail(err, -EINVAL,
			   "it is of version %" PRIu32 " of such files, and this mlgen's are of %u",
			   h->version, SCAN_CACHE_VERSION);
		return SCAN_CACHE_USELESS;
	}
	return SCAN_CACHE_FITS;
}

static enum scan_cache_state check_key(const struct scan_cache *c, int fd, const char *key,
				       struct mlgen_err *err)
{
	struct scan_header h = c->header;
	char *text;
	uint32_t crc;
	bool is_whole;

	if (h.key_bytes > SCAN_CACHE_KEY_BYTES)
		return useless(err, "its header is damaged");
	text = mem_zalloc((size_t)h.key_bytes + 1);
	h.crc = 0;
	crc = (uint32_t)crc32(0, (const void *)&h, sizeof(h));
	is_whole = read_all(fd, text, h.key_bytes, sizeof(h)) == 0 &&
		   crc32(crc, (const void *)text, h.key_bytes) == c->header.crc;
	if (!is_whole)
		useless(err, "its header is damaged");
	else if (strcmp(text, key) != 0)
		mlgen_fail(err, -EINVAL, "it is of %s, and this scan of %s", text, key);
	mem_free(text);
	return err->code ? SCAN_CACHE_USELESS : SCAN_CACHE_FITS;
}

static bool is_whole(int fd, uint64_t from, uint64_t end, uint32_t sum)
{
	void *piece = mem_zalloc(PIECE_BYTES);
	uint32_t crc = 0;
	bool is_read = true;

	while (from < end && is_read) {
		size_t n = (size_t)u64_min(end - from, PIECE_BYTES);

		is_read = read_all(fd, piece, n, from) == 0;
		crc = (uint32_t)crc32(crc, piece, (uInt)n);
		from += n;
	}
	mem_free(piece);
	return is_read && crc == sum;
}

static enum scan_cache_state check_index(const struct scan_cache *c, int fd, struct mlgen_err *err)
{
	const struct scan_layout *l = &c->layout;
	const struct scan_header *h = &c->header;
	uint64_t names_end = l->names + h->name_bytes[0] + h->name_bytes[1];

	if (!is_whole(fd, l->records, l->names, h->records_crc) ||
	    !is_whole(fd, l->names, names_end, h->names_crc))
		return useless(err, "it is damaged");
	return SCAN_CACHE_FITS;
}

enum scan_cache_state scan_cache_open(struct scan_cache *c, int fd, const char *key,
				      struct mlgen_err *err)
{
	enum scan_cache_state state;
	struct stat st;
	uint64_t bytes;

	*c = (struct scan_cache){ .fd = fd };
	if (fstat(fd, &st) != 0 ||
	    read_all(fd, &c->header, (size_t)u64_min((uint64_t)st.st_size, sizeof(c->header)), 0) !=
		    0)
		return useless(err, strerror(errno ? errno : EIO));
	bytes = (uint64_t)st.st_size;
	state = check_header(&c->header, (size_t)u64_min(bytes, sizeof(c->header)), err);
	if (state == SCAN_CACHE_FITS)
		state = check_key(c, fd, key, err);
	if (state != SCAN_CACHE_FITS)
		return state;
	if (!scan_cache_layout(&c->header, &c->layout))
		return useless(err, "its header is damaged");
	if (bytes != c->layout.end)
		return cut_off(c, bytes, err);
	for (unsigned i = 0; i < SCAN_PARTS; i++)
		c->files += c->header.files[i];
	return check_index(c, fd, err);
}

/* ---- one thread's way through it ---- */

void scan_cursor_init(struct scan_cursor *k, const struct scan_cache *c)
{
	k->cache = c;
	k->first = 0;
	k->count = 0;
}

/* Names follow each other; those that fit are read with their records. */
static int count_names(const struct scan_cursor *k, unsigned records, uint64_t *bytes)
{
	uint64_t at = k->records[0].name_at;
	unsigned n = 0;

	for (*bytes = 0; n < records; n++) {
		const struct scan_record *r = &k->records[n];

		if (r->name_at != at + *bytes || r->part >= SCAN_PARTS ||
		    r->name_bytes > SCAN_NAMES_BYTES)
			return -EBADMSG;
		if (*bytes + r->name_bytes > SCAN_NAMES_BYTES)
			break;
		*bytes += r->name_bytes;
	}
	return (int)n;
}

/* The names of the first records that are there: how many, or -errno. */
static int load_names(struct scan_cursor *k, unsigned records)
{
	const struct scan_layout *l = &k->cache->layout;
	uint64_t bytes = 0, at = k->records[0].name_at;
	int n = count_names(k, records, &bytes), r;

	if (n < 0)
		return n;
	if (at > l->words - l->names || bytes > l->words - l->names - at)
		return -EBADMSG;
	r = read_all(k->cache->fd, k->names, (size_t)bytes, l->names + at);
	return r ? r : n;
}

/* From a record on that there is. */
static bool scan_cache_load(struct scan_cursor *k, uint64_t first)
{
	const struct scan_cache *c = k->cache;
	unsigned n = (unsigned)u64_min(c->files - first, SCAN_BLOCK);
	int r = read_all(c->fd, k->records, n * sizeof(k->records[0]),
			 c->layout.records + first * sizeof(k->records[0]));

	if (r == 0)
		r = load_names(k, n);
	k->first = first;
	k->count = r > 0 ? (unsigned)r : 0;
	return k->count > 0;
}

static const char *name_of(const struct scan_cursor *k, unsigned i)
{
	return k->names + (k->records[i].name_at - k->records[0].name_at);
}

/* By part, then in the byte order of names. */
static int scan_cache_compare(const struct scan_cursor *k, enum scan_part part, const char *name,
			      size_t bytes, unsigned i)
{
	const struct scan_record *r = &k->records[i];
	size_t m = r->name_bytes;
	int d;

	if (r->part != (uint64_t)part)
		return (uint64_t)part < r->part ? -1 : 1;
	d = memcmp(name, name_of(k, i), bytes < m ? bytes : m);
	return d ? d : (bytes > m) - (bytes < m);
}

/* Before the block that is there, within, or behind it. */
static int side(const struct scan_cursor *k, enum scan_part part, const char *name, size_t bytes)
{
	if (scan_cache_compare(k, part, name, bytes, 0) < 0)
		return -1;
	return scan_cache_compare(k, part, name, bytes, k->count - 1) > 0;
}

/* The block that would have it. */
static bool scan_cache_seek(struct scan_cursor *k, enum scan_part part, const char *name,
			    size_t bytes)
{
	uint64_t low = 0, high = k->cache->files;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int where;

		if (!scan_cache_load(k, middle))
			return false;
		where = side(k, part, name, bytes);
		if (where == 0)
			return true;
		if (where < 0)
			high = middle;
		else
			low = middle + k->count;
	}
	return false;
}

static bool go_to(struct scan_cursor *k, enum scan_part part, const char *name, size_t bytes)
{
	int where = k->count ? side(k, part, name, bytes) : 1;
	uint64_t next = k->first + k->count;

	if (where == 0)
		return true;
	/* Mostly it is the one behind, and what is before that is nowhere. */
	if (where > 0 && next < k->cache->files && scan_cache_load(k, next)) {
		where = side(k, part, name, bytes);
		if (where == 0 || (where < 0 && next > 0))
			return where == 0;
	}
	return scan_cache_seek(k, part, name, bytes);
}

const struct scan_record *scan_cursor_find(struct scan_cursor *k, enum scan_part part,
					   const char *name)
{
	size_t bytes = strlen(name);
	unsigned low = 0, high;

	if (!go_to(k, part, name, bytes))
		return NULL;
	for (high = k->count; low < high;) {
		unsigned middle = low + (high - low) / 2;
		int d = scan_cache_compare(k, part, name, bytes, middle);

		if (d == 0)
			return &k->records[middle];
		if (d < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct scan_record *scan_cursor_at(struct scan_cursor *k, uint64_t index, const char **name)
{
	if ((index < k->first || index - k->first >= k->count) && !scan_cache_load(k, index))
		return NULL;
	*name = name_of(k, (unsigned)(index - k->first));
	return &k->records[index - k->first];
}

int scan_cache_words(const struct scan_cache *c, const struct scan_cached *found,
		     int (*take)(void *arg, const uint64_t *words, size_t count), void *arg)
{
	uint64_t at = found->words_at, left = found->word_count;
	const struct scan_layout *l = &c->layout;
	uint64_t *piece;
	uint32_t crc = 0;
	int r = 0;

	if (at < l->words || at > l->end || left > (l->end - at) / sizeof(uint64_t))
		return -EBADMSG;
	piece = mem_array((size_t)u64_min(left, PIECE_WORDS), sizeof(*piece));
	while (left && r == 0) {
		size_t n = (size_t)u64_min(left, PIECE_WORDS);

		r = read_all(c->fd, piece, n * sizeof(*piece), at) ? -EBADMSG : 0;
		if (r == 0)
			r = take(arg, piece, n);
		crc = (uint32_t)crc32(crc, (const void *)piece, (uInt)(n * sizeof(*piece)));
		at += n * sizeof(*piece);
		left -= n;
	}
	mem_free(piece);
	return r ? r : crc == found->words_crc ? 0 : -EBADMSG;
}

/* ---- writing ---- */

#define BUFFER_BYTES 65536u

/* One of the three that grow side by side. */
struct scan_stream {
	uint64_t at; /* of the buffer's first byte in the file */
	size_t bytes;
	uint32_t crc;
	char buffer[BUFFER_BYTES];
};

static struct scan_stream *stream_new(uint64_t at)
{
	struct scan_stream *s = mem_zalloc(sizeof(*s));

	s->at = at;
	return s;
}

static int stream_flush(struct scan_stream *s, int fd)
{
	int r = writeall_at(fd, s->buffer, s->bytes, s->at);

	s->crc = (uint32_t)crc32(s->crc, (const void *)s->buffer, (uInt)s->bytes);
	s->at += s->bytes;
	s->bytes = 0;
	return r;
}

static int stream_add(struct scan_stream *s, int fd, const void *from, size_t bytes)
{
	const char *in = from;
	int r = 0;

	while (bytes && r == 0) {
		size_t n = (size_t)u64_min(bytes, BUFFER_BYTES - s->bytes);

		memcpy(s->buffer + s->bytes, in, n);
		s->bytes += n;
		in += n;
		bytes -= n;
		if (s->bytes == BUFFER_BYTES)
			r = stream_flush(s, fd);
	}
	return r;
}

static int write_key(struct scan_cache_writer *w)
{
	struct scan_header *h = &w->header;

	h->crc = (uint32_t)crc32(0, (const void *)h, sizeof(*h));
	h->crc = (uint32_t)crc32(h->crc, (const void *)w->key, h->key_bytes);
	return writeall_at(w->fd, w->key, h->key_bytes, sizeof(*h));
}

int scan_cache_begin(struct scan_cache_writer *w, int fd, const char *key,
		     const uint64_t files[SCAN_PARTS], const uint64_t name_bytes[SCAN_PARTS])
{
	size_t key_bytes = strlen(key);

	*w = (struct scan_cache_writer){
		.fd = fd,
		.header = { .byte_order = SCAN_CACHE_ORDER, .version = SCAN_CACHE_VERSION },
	};
	if (key_bytes > SCAN_CACHE_KEY_BYTES)
		return -ENAMETOOLONG;
	w->header.key_bytes = (uint32_t)key_bytes;
	memcpy(w->header.magic, SCAN_CACHE_MAGIC, sizeof(w->header.magic));
	memcpy(w->header.files, files, sizeof(w->header.files));
	memcpy(w->header.name_bytes, name_bytes, sizeof(w->header.name_bytes));
	if (!scan_cache_layout(&w->header, &w->layout))
		return -EFBIG;
	w->key = mem_strdup(key);
	w->records = stream_new(w->layout.records);
	w->names = stream_new(w->layout.names);
	w->words = stream_new(w->layout.words);
	w->words_at = w->layout.words;
	return 0;
}

int scan_cache_add_words(struct scan_cache_writer *w, const uint64_t *words, size_t count)
{
	size_t bytes = count * sizeof(*words);

	for (size_t at = 0; at < bytes; at += BUFFER_BYTES)
		w->words_crc =
			(uint32_t)crc32(w->words_crc, (const void *)((const char *)words + at),
					(uInt)u64_min(bytes - at, BUFFER_BYTES));
	w->header.word_bytes += bytes;
	return stream_add(w->words, w->fd, words, bytes);
}

int scan_cache_add(struct scan_cache_writer *w, enum scan_part part, const char *name,
		   size_t name_bytes, const struct scan_stamp *stamp,
		   const struct scan_cached *found)
{
	struct scan_record r;
	int rc;

	/* What lies between its members is written, too. */
	memset(&r, 0, sizeof(r));
	r.stamp = *stamp;
	r.found = *found;
	r.found.words_at = w->words_at;
	r.found.words_crc = w->words_crc;
	r.name_bytes = (uint32_t)name_bytes;
	r.name_at = w->name_at;
	r.part = (uint64_t)part;
	w->words_at = w->layout.words + w->header.word_bytes;
	w->words_crc = 0;
	w->name_at += name_bytes;
	rc = stream_add(w->names, w->fd, name, name_bytes);
	return rc ? rc : stream_add(w->records, w->fd, &r, sizeof(r));
}

/* With the zeros that fill up the names. */
int scan_cache_end(struct scan_cache_writer *w)
{
	struct scan_layout l;
	int r = stream_flush(w->records, w->fd);

	if (r == 0)
		r = stream_flush(w->names, w->fd);
	if (r == 0)
		r = stream_flush(w->words, w->fd);
	if (r == 0 && (!scan_cache_layout(&w->header, &l) || w->records->at != l.names ||
		       w->words->at != l.end ||
		       w->name_at != w->header.name_bytes[0] + w->header.name_bytes[1]))
		r = -EINVAL; /* a file has gone from what was counted */
	if (r == 0 && ftruncate(w->fd, (off_t)l.end) != 0)
		r = -errno;
	w->header.records_crc = w->records->crc;
	w->header.names_crc = w->names->crc;
	if (r == 0)
		r = write_key(w);
	return r ? r : writeall_at(w->fd, &w->header, sizeof(w->header), 0);
}

void scan_cache_writer_fini(struct scan_cache_writer *w)
{
	mem_free(w->records);
	mem_free(w->names);
	mem_free(w->words);
	mem_free(w->key);
	w->records = w->names = w->words = NULL;
	w->key = NULL;
}
