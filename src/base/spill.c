/* SPDX-License-Identifier: Apache-2.0 */
/* spill.c - see spill.h. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unnamed.h"
#include "base/util.h"

#define FIRST_BYTES (UINT64_C(64) << 10)
#define MOST_BYTES (UINT64_C(64) << 20)

static void *map(size_t bytes, int fd)
{
	int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* With all of its blocks: a disk that fills up later would end the program at a touch of the
 * mapping. 0 or -errno. */
static int file_grow(int fd, size_t from, size_t to)
{
	int rc;

	do {
		rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	} while (rc == EINTR);
	return -rc;
}

/* Elsewhere from now on. False: it stays where it is. */
static bool move(struct spill *s, size_t bytes, int fd)
{
	void *at = map(bytes, fd);

	if (!at)
		return false;
	if (s->bytes) {
		memcpy(at, s->at, s->bytes);
		munmap(s->at, s->bytes);
	}
	s->at = at;
	s->bytes = bytes;
	return true;
}

/* From memory to a file. */
static bool spill_out(struct spill *s, size_t bytes)
{
	int fd = unnamed_open(unnamed_folder(NULL));

	if (fd < 0)
		return false;
	if (file_grow(fd, 0, bytes) < 0 || !move(s, bytes, fd)) {
		close(fd);
		return false;
	}
	s->fd = fd + 1;
	return true;
}

/* As it is, where it is. */
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

static void back_to_memory(struct spill *s, size_t bytes)
{
	if (!move(s, bytes, -1))
		mem_none(bytes);
	close(s->fd - 1);
	s->fd = 0;
}

void spill_need(struct spill *s, size_t bytes)
{
	size_t most = s->most ? s->most : MOST_BYTES;
	size_t size = s->bytes ? s->bytes : FIRST_BYTES;

	if (bytes <= s->bytes)
		return;
	while (size < bytes)
		size *= 2;
	if (!s->fd && size > most && !s->no_file) {
		if (spill_out(s, size))
			return;
		s->no_file = true;
	}
	if (s->bytes == 0 ? move(s, size, -1) : spill_grow(s, size))
		return;
	if (!s->fd)
		mem_none(size);
	s->no_file = true;
	back_to_memory(s, size);
}

void spill_free(struct spill *s)
{
	if (s->bytes)
		munmap(s->at, s->bytes);
	if (s->fd)
		close(s->fd - 1);
	*s = (struct spill){ 0 };
}
