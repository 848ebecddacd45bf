/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - the page cache of this host: drop a file from it, see what is in it. */

#include "io/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_PAGES 16384u /* a byte each, on the stack */

/*
 * Since Linux 5.2 mincore tells only those who own the file or may write it;
 * to others every page is "resident" (mm/mincore.c, can_do_mincore).
 */
static int may_ask(const char *path, const struct stat *st)
{
	uid_t me = geteuid();

	if (me == 0 || st->st_uid == me)
		return 0;
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? -EPERM : 0;
}

static int window_resident(int fd, uint64_t off, size_t bytes, size_t page,
			   uint64_t *resident_bytes)
{
	unsigned char pages[WINDOW_PAGES];
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)off);
	int rc = 0;

	if (map == MAP_FAILED)
		return -errno;
	if (mincore(map, bytes, pages))
		rc = -errno;
	for (size_t at = 0; rc == 0 && at < bytes; at += page) {
		size_t rest = bytes - at;
		if (pages[at / page] & 1)
			*resident_bytes += rest < page ? rest : page;
	}
	munmap(map, bytes);
	return rc;
}

static int fd_resident(int fd, const char *path, uint64_t *resident_bytes,
		       uint64_t *file_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t window = page * WINDOW_PAGES;
	uint64_t found = 0, size;
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	rc = may_ask(path, &st);
	size = (uint64_t)st.st_size;
	for (uint64_t off = 0; rc == 0 && off < size; off += window) {
		size_t bytes =
			size - off < window ? (size_t)(size - off) : window;
		rc = window_resident(fd, off, bytes, page, &found);
	}
	if (rc == 0) {
		*resident_bytes = found;
		*file_bytes = size;
	}
	return rc;
}

int cache_drop(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return rc;
}

int cache_resident(const char *path, uint64_t *resident_bytes,
		   uint64_t *file_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fd_resident(fd, path, resident_bytes, file_bytes);
	close(fd);
	return rc;
}
