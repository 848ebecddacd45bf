/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache.c - the file of a scan cache: read it, and write a new one. */
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

/* Bytes that are read and checksummed at a time. */
#define CHUNK_BYTES 65536u
#define CHUNK_WORDS (CHUNK_BYTES / sizeof(uint64_t))

/* Read exactly `bytes` bytes: 0, or -errno; -ENODATA if the file ends earlier. */
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
	       !__builtin_add_overflow(*sum, bytes, sum) && *sum <= INT64_MAX - CHUNK_BYTES;
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

/* ---- checks: is the file a scan cache, and does it belong to this scan? ---- */

static enum scan_cache_state useless(struct mlgen_err *err, const char *what)
{
	mlgen_fail(err, -EINVAL, "%s", what);
	return SCAN_CACHE_USELESS;
}

static enum scan_cache_state check_key(const struct scan_cache *c, int fd, const char *key,
				       struct mlgen_err *err)
{
	struct scan_header h = c->header;
	uint32_t crc;

	if (h.key_bytes > SCAN_CACHE_KEY_BYTES)
		return useless(err, "its header is damaged");
	char *text = mem_zalloc((size_t)h.key_bytes + 1);
	h.crc = 0;
	crc = (uint32_t)crc32(0, (const void *)&h, sizeof(h));
	bool is_valid = read_all(fd, text, h.key_bytes, sizeof(h)) == 0 &&
			crc32(crc, (const void *)text, h.key_bytes) == c->header.crc;
	if (!is_valid)
		useless(err, "its header is damaged");
	else if (strcmp(text, key) != 0)
		mlgen_fail(err, -EINVAL, "it belongs to %s, and this scan to %s", text, key);
	mem_free(text);
	return err->code ? SCAN_CACHE_USELESS : SCAN_CACHE_FITS;
}

static bool has_crc(int fd, uint64_t from, uint64_t end, uint32_t sum)
{
	void *chunk = mem_zalloc(CHUNK_BYTES);
	uint32_t crc = 0;
	bool is_read = true;

	while (from < end && is_read) {
		size_t n = (size_t)u64_min(end - from, CHUNK_BYTES);

		is_read = read_all(fd, chunk, n, from) == 0;
		crc = (uint32_t)crc32(crc, chunk, (uInt)n);
		from += n;
	}
	mem_free(chunk);
	return is_read && crc == sum;
}

enum scan_cache_state scan_cache_open(struct scan_cache *c, int fd, const char *key,
				      struct mlgen_err *err)
{
	const struct scan_layout *l = &c->layout;
	const struct scan_header *h = &c->header;
	struct stat st;

	*c = (struct scan_cache){ .fd = fd };
	if (fstat(fd, &st) != 0 ||
	    read_all(fd, &c->header, (size_t)u64_min((uint64_t)st.st_size, sizeof(c->header)), 0) !=
		    0)
		return useless(err, strerror(errno ? errno : EIO));
	uint64_t bytes = (uint64_t)st.st_size;

	/* The file may be shorter than a header. */
	if (memcmp(h->magic, SCAN_CACHE_MAGIC, u64_min(bytes, sizeof(h->magic))) != 0)
		return SCAN_CACHE_FOREIGN;
	if (bytes < sizeof(*h))
		return useless(err, bytes ? "it ends in its header" : "it is empty");
	if (h->byte_order != SCAN_CACHE_ORDER)
		return useless(err, "it was written on a host with another byte order");
	if (h->version != SCAN_CACHE_VERSION) {
		mlgen_fail(err, -EINVAL,
			   "its format is version %" PRIu32 ", but this mlgen reads version %u",
			   h->version, SCAN_CACHE_VERSION);
		return SCAN_CACHE_USELESS;
	}

	enum scan_cache_state state = check_key(c, fd, key, err);
	if (state != SCAN_CACHE_FITS)
		return state;
	if (!scan_cache_layout(&c->header, &c->layout))
		return useless(err, "its header is damaged");
	if (bytes != l->end) {
		mlgen_fail(err, -EINVAL, "it ends at byte %" PRIu64 " of %" PRIu64, bytes, l->end);
		return SCAN_CACHE_USELESS;
	}
	for (unsigned i = 0; i < SCAN_PARTS; i++)
		c->files += h->files[i];
	uint64_t names_end = l->names + h->name_bytes[0] + h->name_bytes[1];
	if (!has_crc(fd, l->records, l->names, h->records_crc) ||
	    !has_crc(fd, l->names, names_end, h->names_crc))
		return useless(err, "it is damaged");
	return SCAN_CACHE_FITS;
}

/* ---- the cursor ---- */

void scan_cursor_init(struct scan_cursor *k, const struct scan_cache *c)
{
	k->cache = c;
	k->first = 0;
	k->count = 0;
}

/* Load the names of the first records, as far as they fit into k->names. Names that are not
 * contiguous in the file are damage. Returns the number of records that have their names, or
 * -errno. */
static int load_names(struct scan_cursor *k, unsigned records)
{
	const struct scan_layout *l = &k->cache->layout;
	uint64_t bytes = 0, at = k->records[0].name_at;
	unsigned n;

	for (n = 0; n < records; n++) {
		const struct scan_record *record = &k->records[n];

		if (record->name_at != at + bytes || record->part >= SCAN_PARTS ||
		    record->name_bytes > SCAN_NAMES_BYTES)
			return -EBADMSG;
		if (bytes + record->name_bytes > SCAN_NAMES_BYTES)
			break;
		bytes += record->name_bytes;
	}
	if (at > l->words - l->names || bytes > l->words - l->names - at)
		return -EBADMSG;
	int r = read_all(k->cache->fd, k->names, (size_t)bytes, l->names + at);
	return r ? r : (int)n;
}

/* Load the block that begins at record `first`, which must exist. */
static bool load_block(struct scan_cursor *k, uint64_t first)
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

/* Compare a name with record i of the block: first by part, then by the bytes of the name. */
static int compare_name(const struct scan_cursor *k, enum scan_part part, const char *name,
			size_t bytes, unsigned i)
{
	const struct scan_record *r = &k->records[i];
	size_t m = r->name_bytes;

	if (r->part != (uint64_t)part)
		return (uint64_t)part < r->part ? -1 : 1;
	int d = memcmp(name, name_of(k, i), bytes < m ? bytes : m);
	return d ? d : (bytes > m) - (bytes < m);
}

/* -1, 0 or 1: the name belongs before, into or after the loaded block. */
static int block_side(const struct scan_cursor *k, enum scan_part part, const char *name,
		      size_t bytes)
{
	if (compare_name(k, part, name, bytes, 0) < 0)
		return -1;
	return compare_name(k, part, name, bytes, k->count - 1) > 0;
}

static bool find_block(struct scan_cursor *k, enum scan_part part, const char *name, size_t bytes)
{
	int where = k->count ? block_side(k, part, name, bytes) : 1;
	uint64_t next = k->first + k->count;

	if (where == 0)
		return true;
	/* Usually the next block has the name. A name between the two blocks does not exist. */
	if (where > 0 && next < k->cache->files && load_block(k, next)) {
		where = block_side(k, part, name, bytes);
		if (where == 0 || (where < 0 && next > 0))
			return where == 0;
	}

	/* Binary search for the block to which the name belongs. */
	uint64_t low = 0, high = k->cache->files;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!load_block(k, middle))
			return false;
		where = block_side(k, part, name, bytes);
		if (where == 0)
			return true;
		if (where < 0)
			high = middle;
		else
			low = middle + k->count;
	}
	return false;
}

const struct scan_record *scan_cursor_find(struct scan_cursor *k, enum scan_part part,
					   const char *name)
{
	size_t bytes = strlen(name);
	unsigned low = 0, high;

	if (!find_block(k, part, name, bytes))
		return NULL;
	for (high = k->count; low < high;) {
		unsigned middle = low + (high - low) / 2;
		int d = compare_name(k, part, name, bytes, middle);

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
	if ((index < k->first || index - k->first >= k->count) && !load_block(k, index))
		return NULL;
	*name = name_of(k, (unsigned)(index - k->first));
	return &k->records[index - k->first];
}

int scan_cache_words(const struct scan_cache *c, const struct scan_cached *found,
		     int (*take)(void *arg, const uint64_t *words, size_t count), void *arg)
{
	uint64_t at = found->words_at, left = found->word_count;
	const struct scan_layout *l = &c->layout;
	uint32_t crc = 0;
	int r = 0;

	if (at < l->words || at > l->end || left > (l->end - at) / sizeof(uint64_t))
		return -EBADMSG;
	uint64_t *chunk = mem_array((size_t)u64_min(left, CHUNK_WORDS), sizeof(*chunk));
	while (left && r == 0) {
		size_t n = (size_t)u64_min(left, CHUNK_WORDS);

		r = read_all(c->fd, chunk, n * sizeof(*chunk), at) ? -EBADMSG : 0;
		if (r == 0)
			r = take(arg, chunk, n);
		crc = (uint32_t)crc32(crc, (const void *)chunk, (uInt)(n * sizeof(*chunk)));
		at += n * sizeof(*chunk);
		left -= n;
	}
	mem_free(chunk);
	return r ? r : crc == found->words_crc ? 0 : -EBADMSG;
}

/* ---- writing ---- */

#define BUFFER_BYTES 65536u

/* A section of the file; the three sections grow at the same time. */
struct scan_stream {
	uint64_t at; /* offset in the file of the buffer's first byte */
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

	/* The padding between the members is written, too. */
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
	int rc = stream_add(w->names, w->fd, name, name_bytes);
	return rc ? rc : stream_add(w->records, w->fd, &r, sizeof(r));
}

int scan_cache_end(struct scan_cache_writer *w)
{
	struct scan_header *h = &w->header;
	struct scan_layout l;
	int r = stream_flush(w->records, w->fd);

	if (r == 0)
		r = stream_flush(w->names, w->fd);
	if (r == 0)
		r = stream_flush(w->words, w->fd);
	if (r == 0 && (!scan_cache_layout(h, &l) || w->records->at != l.names ||
		       w->words->at != l.end || w->name_at != h->name_bytes[0] + h->name_bytes[1]))
		r = -EINVAL; /* fewer files were added than announced */
	/* Extends the file with the zeros that pad the names, if there are no words. */
	if (r == 0 && ftruncate(w->fd, (off_t)l.end) != 0)
		r = -errno;
	h->records_crc = w->records->crc;
	h->names_crc = w->names->crc;
	h->crc = (uint32_t)crc32(0, (const void *)h, sizeof(*h));
	h->crc = (uint32_t)crc32(h->crc, (const void *)w->key, h->key_bytes);
	if (r == 0)
		r = writeall_at(w->fd, w->key, h->key_bytes, sizeof(*h));
	return r ? r : writeall_at(w->fd, h, sizeof(*h), 0);
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
