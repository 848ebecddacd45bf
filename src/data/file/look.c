/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - read the header, index or directory of one file in a scan to find its samples. */
#include "data/file/file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

/* Bytes fetched for a read at an arbitrary place; sequential reads fetch LOOK_BYTES. */
#define PAGE_BYTES 4096u

int look_init(struct look *l, struct namefile *words, struct mlgen_err *err)
{
	*l = (struct look){
		.fd = -1, .words = words, .err = err, .window = mem_zalloc(LOOK_BYTES + PAGE_BYTES)
	};
	return 0;
}

void look_fini(struct look *l)
{
	look_close(l);
	mem_free(l->window);
	l->window = NULL;
}

int look_open(struct look *l, int dir_fd, const char *name, const char *path, uint64_t file_bytes)
{
	l->path = path;
	l->file_bytes = file_bytes;
	l->note.code = 0;
	l->words_at = l->words ? l->words->end : 0;
	look_reset(l);
	l->window_bytes = 0;
	l->range_count = 0;
	l->fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (l->fd < 0)
		return mlgen_fail(l->err, -errno, "%s: %s", path, strerror(errno));
	/* A file of one page has nothing to read ahead. */
	if (file_bytes > PAGE_BYTES)
		posix_fadvise(l->fd, 0, 0, POSIX_FADV_RANDOM);
	return 0;
}

void look_close(struct look *l)
{
	if (l->fd < 0)
		return;
	for (unsigned i = 0; i < l->range_count; i++)
		posix_fadvise(l->fd, (off_t)l->ranges[i].off,
			      (off_t)(l->ranges[i].end - l->ranges[i].off), POSIX_FADV_DONTNEED);
	close(l->fd);
	l->fd = -1;
}

/* Read whole pages up to the end of the file. Returns the number of bytes read, or -errno. */
static ssize_t fetch_pages(struct look *l, uint8_t *to, uint64_t off, size_t bytes)
{
	size_t done = 0;

	if (signals_received())
		return mlgen_fail(l->err, -EINTR, "%s: interrupted", l->path);
	while (done < bytes) {
		ssize_t n = pread(l->fd, to + done, bytes - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mlgen_fail(l->err, -errno, "%s: at byte %" PRIu64 ": %s", l->path,
					  off + done, strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
		if (off + done >= l->file_bytes)
			break;
	}
	l->read_bytes += done;

	/* Extend the last range if the new one continues it, or if there are too many ranges. */
	uint64_t end = off + round_up(done, PAGE_BYTES);
	unsigned count = l->range_count;

	if (count && off >= l->ranges[count - 1].off && off <= l->ranges[count - 1].end) {
		l->ranges[count - 1].end = u64_max(l->ranges[count - 1].end, end);
	} else if (count < LOOK_RANGES) {
		l->ranges[count].off = off;
		l->ranges[count].end = end;
		l->range_count++;
	} else {
		l->ranges[count - 1].off = u64_min(l->ranges[count - 1].off, off);
		l->ranges[count - 1].end = u64_max(l->ranges[count - 1].end, end);
	}

	return (ssize_t)done;
}

static int cut_off(struct look *l, uint64_t end)
{
	return look_fail(l, l->file_bytes,
			 "the file ends here, but by its format it has data up to byte %" PRIu64,
			 end);
}

static bool has(const struct look *l, uint64_t off, size_t bytes)
{
	return off >= l->window_off && off + bytes <= l->window_off + l->window_bytes;
}

const uint8_t *look_at(struct look *l, uint64_t off, size_t bytes)
{
	uint64_t end, start = off - off % PAGE_BYTES;
	bool is_sequential =
		l->window_bytes && off >= l->window_off && off <= l->window_off + l->window_bytes;
	uint64_t wanted_bytes = is_sequential ? LOOK_BYTES : PAGE_BYTES;

	if (__builtin_add_overflow(off, bytes, &end) || end > l->file_bytes) {
		cut_off(l, end);
		return NULL;
	}
	if (has(l, off, bytes))
		return l->window + (off - l->window_off);
	wanted_bytes = u64_max(wanted_bytes, round_up(end - start, PAGE_BYTES));
	l->window_bytes = 0;
	ssize_t n = fetch_pages(l, l->window, start, (size_t)wanted_bytes);
	if (n < 0)
		return NULL;
	l->window_off = start;
	l->window_bytes = (size_t)n;
	if (has(l, off, bytes))
		return l->window + (off - start);
	l->file_bytes = start + (uint64_t)n;
	cut_off(l, end);
	return NULL;
}

int look_copy(struct look *l, uint64_t off, void *to, uint64_t bytes)
{
	uint8_t *at = to;

	while (bytes) {
		size_t n = (size_t)u64_min(bytes, LOOK_BYTES / 2);
		const uint8_t *from = look_at(l, off, n);

		if (!from)
			return l->err->code;
		memcpy(at, from, n);
		at += n;
		off += n;
		bytes -= n;
	}
	return 0;
}

int look_add_word(struct look *l, uint64_t word)
{
	l->word_count++;
	return namefile_add(l->words, (const char *)&word, sizeof(word), l->err);
}

void look_reset(struct look *l)
{
	l->samples = l->sample_bytes = l->word_count = 0;
	l->packed_max = 0;
	if (l->words)
		namefile_cut(l->words, l->words_at);
	memset(l->facts, 0, sizeof(l->facts));
}

int look_fail(struct look *l, uint64_t off, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(l->err, -EINVAL, "%s: at byte %" PRIu64 ": %s", l->path, off, text);
}

/* ---- an index file: a text next to a file that has the places of its samples ---- */

static FILE *open_regular(const char *path)
{
	/* O_NONBLOCK: the open of a fifo would wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f = fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

FILE *look_index_open(const struct look *l,
		      bool (*sidecar)(const char *path, unsigned i, char *out, size_t size),
		      char path[PATH_MAX])
{
	FILE *f = NULL;

	for (unsigned i = 0; !f && sidecar(l->path, i, path, PATH_MAX); i++)
		if (*path)
			f = open_regular(path);
	return f;
}

void look_index_close(struct look *l, FILE *f)
{
	long at = ftell(f);

	if (at > 0)
		l->read_bytes += (uint64_t)at;
	posix_fadvise(fileno(f), 0, 0, POSIX_FADV_DONTNEED);
	fclose(f);
}

void look_index_note(struct look *l, const char *path, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mlgen_fail(&l->note, -ESTALE, "%s: %s", path, text);
}
