/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.c - JSON documents, and arrays that spill to a file when they are large. */
#include "base/files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

#define FIRST_BYTES (UINT64_C(64) << 10)
#define MOST_BYTES (UINT64_C(64) << 20)

/* Extend a file with all of its blocks allocated: if the disk filled up later, touching the
 * mapping would kill the program. 0 or -errno. */
static int file_grow(int fd, size_t from, size_t to)
{
	int rc;

	do {
		rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	} while (rc == EINTR);
	return -rc;
}

/* Move the array to a new mapping, of fd or of memory. False: the array stays as it is. */
static bool move(struct spill *s, size_t bytes, int fd)
{
	int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);

	if (at == MAP_FAILED)
		return false;
	if (s->bytes) {
		memcpy(at, s->at, s->bytes);
		munmap(s->at, s->bytes);
	}
	s->at = at;
	s->bytes = bytes;
	return true;
}

/* Grow the array in memory or in its file. */
static bool spill_grow(struct spill *s, size_t bytes)
{
	void *at;

	if (s->fd && file_grow(s->fd - 1, s->bytes, bytes) < 0)
		return false;
	at = mremap(s->at, s->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return false;
	s->at = at;
	s->bytes = bytes;
	return true;
}

void spill_reserve(struct spill *s, size_t bytes)
{
	size_t most = s->most ? s->most : MOST_BYTES;
	size_t size = s->bytes ? s->bytes : FIRST_BYTES;

	if (bytes <= s->bytes)
		return;
	while (size < bytes)
		size *= 2;
	if (!s->fd && size > most && !s->no_file) {
		int fd = unnamed_open(unnamed_folder(NULL));

		if (fd >= 0 && file_grow(fd, 0, size) == 0 && move(s, size, fd)) {
			s->fd = fd + 1;
			return;
		}
		if (fd >= 0)
			close(fd);
		s->no_file = true;
	}
	if (s->bytes == 0 ? move(s, size, -1) : spill_grow(s, size))
		return;
	if (!s->fd)
		mem_out_of_memory(size);
	/* The file cannot grow: return to memory. */
	s->no_file = true;
	if (!move(s, size, -1))
		mem_out_of_memory(size);
	close(s->fd - 1);
	s->fd = 0;
}

void spill_free(struct spill *s)
{
	if (s->bytes)
		munmap(s->at, s->bytes);
	if (s->fd)
		close(s->fd - 1);
	*s = (struct spill){ 0 };
}

struct json_output {
	FILE *to;
	bool is_in_text; /* inside a quoted string */
};

static int print_real(const char *s, size_t n, FILE *to)
{
	char given[64] = "", text[UNITS_TEXT_BYTES];

	if (n >= sizeof(given))
		return fwrite(s, 1, n, to) == n ? 0 : -1;
	memcpy(given, s, n);
	if (fputs(units_format_f64(text, strtod(given, NULL)), to) == EOF)
		return -1;
	return strpbrk(text, ".e") || fputs(".0", to) != EOF ? 0 : -1;
}

/* jansson passes tokens: a quotation mark, text, a number. */
static int print_token(const char *s, size_t n, void *arg)
{
	struct json_output *o = arg;

	if (n == 1 && *s == '"')
		o->is_in_text = !o->is_in_text;
	else if (!o->is_in_text && (isdigit((unsigned char)*s) || *s == '-') &&
		 (memchr(s, '.', n) || memchr(s, 'e', n)))
		return print_real(s, n, o->to);
	return fwrite(s, 1, n, o->to) == n ? 0 : -1;
}

int jsonfile_dump(FILE *to, const json_t *root, size_t flags)
{
	struct json_output o = { .to = to };

	/* 17 digits identify every double; print_real() drops the redundant ones. */
	return json_dump_callback(root, print_token, &o, flags | JSON_REAL_PRECISION(17)) ? -EIO
											  : 0;
}

static int write_file(int folder_fd, const char *name, const json_t *root, bool is_synced)
{
	int fd = below_create(folder_fd, name);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	int r = 0;

	if (fd < 0)
		return fd;
	if (!to) {
		r = -errno;
		close(fd);
		return r;
	}
	errno = 0;
	if (jsonfile_dump(to, root, JSON_INDENT(2)) != 0 || fputc('\n', to) == EOF ||
	    fflush(to) == EOF)
		r = errno ? -errno : -EIO;
	else if (is_synced && fsync(fileno(to)) != 0)
		r = -errno;
	if (fclose(to) != 0 && r == 0)
		r = -errno;
	return r;
}

int jsonfile_replace(int folder_fd, const char *name, const json_t *root, bool is_synced)
{
	char temporary[NAME_MAX + 1];
	int n = snprintf(temporary, sizeof(temporary), ".%s.part", name);
	int r;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	r = write_file(folder_fd, temporary, root, is_synced);
	if (r == 0 && renameat(folder_fd, temporary, folder_fd, name) != 0)
		r = -errno;
	if (r)
		unlinkat(folder_fd, temporary, 0);
	return r || !is_synced ? r : below_sync(folder_fd);
}
