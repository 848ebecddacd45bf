/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache_write.c - what a scan found is written for the next one; see file.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/writeall.h"
#include "data/file/file.h"

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
