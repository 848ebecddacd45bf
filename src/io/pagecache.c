/* SPDX-License-Identifier: Apache-2.0 */
/* pagecache.c - the page cache: what is in it, dropped from it, and emptied. */
#include "io/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/util.h"
#include "io/host.h"

#define WINDOW_PAGES 16384u /* a byte each, on the stack */
#define LOOKS 4u            /* of cache_sample, in a large file */

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

/* From `off`, which is a page's, to `end`. */
static int range_resident(int fd, uint64_t off, uint64_t end, uint64_t *resident_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t window = page * WINDOW_PAGES;
	int rc = 0;

	for (; rc == 0 && off < end; off += window) {
		size_t bytes = end - off < window ? (size_t)(end - off) : window;

		rc = window_resident(fd, off, bytes, page, resident_bytes);
	}
	return rc;
}

/* A part of each quarter, at a place of its own. */
static int looks_resident(int fd, uint64_t size, uint64_t seed, uint64_t *resident_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t quarter = size / LOOKS / page;
	uint64_t look = CACHE_LOOK_BYTES / LOOKS / page;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < LOOKS; i++) {
		uint64_t room = quarter - look + 1;
		uint64_t first = i * quarter + rng_u64(seed, RNG_RESIDENCY, i) % room;

		rc = range_resident(fd, first * page, (first + look) * page, resident_bytes);
	}
	return rc;
}

/* All of it, or with a seed at most CACHE_LOOK_BYTES. */
static int cache_look(const char *path, const uint64_t *seed, uint64_t *resident_bytes,
		      uint64_t *looked_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t found = 0, size;
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (rc == 0)
		rc = may_ask(path, &st);
	size = rc == 0 ? (uint64_t)st.st_size : 0;
	if (seed && size > CACHE_LOOK_BYTES) {
		rc = looks_resident(fd, size, *seed, &found);
		size = CACHE_LOOK_BYTES;
	} else if (rc == 0) {
		rc = range_resident(fd, 0, size, &found);
	}
	close(fd);
	if (rc == 0) {
		*resident_bytes = found;
		*looked_bytes = size;
	}
	return rc;
}

/*
 * The kernel drops no page that storage does not have. Waiting for the pages is enough, and of a
 * clean file nothing: fsync would flush the device's own cache, for each of a million files. Where
 * there is no such call, fsync it is.
 */
static int write_back(int fd)
{
	const unsigned how =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if (sync_file_range(fd, 0, 0, how) == 0)
		return 0;
	if (errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP)
		return -errno;
	return fdatasync(fd) ? -errno : 0;
}

int pagecache_drop(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc;

	if (fd < 0)
		return -errno;
	rc = write_back(fd);
	if (rc == 0)
		rc = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return rc;
}

int pagecache_resident(const char *path, uint64_t *resident_bytes, uint64_t *file_bytes)
{
	return cache_look(path, NULL, resident_bytes, file_bytes);
}

int pagecache_sample(const char *path, uint64_t seed, uint64_t *resident_bytes,
		     uint64_t *looked_bytes)
{
	return cache_look(path, &seed, resident_bytes, looked_bytes);
}

#define DROP_PATH "/proc/sys/vm/drop_caches"
#define DROP_ALL "3\n" /* the page cache, and dentries and inodes */

static int dropcaches_fail(int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "drop_caches: " DROP_PATH
			  ": %s; %s. --drop_caches=no leaves this host's caches as they are, and "
			  "what they hold is then not read from storage",
			  strerror(-code),
			  code == -EROFS ? "a container mostly has it read-only: run mlgen outside"
					 : "it takes root");
}

static int open_it(const char *root, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, DROP_PATH);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? dropcaches_fail(-errno, err) : fd;
}

int dropcaches_check(const char *root, struct mlgen_err *err)
{
	int fd = open_it(root, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int dropcaches_run(const char *root, struct mlgen_err *err)
{
	int fd = open_it(root, err);
	int rc = 0;

	if (fd < 0)
		return fd;
	sync();
	if (write(fd, DROP_ALL, strlen(DROP_ALL)) < 0)
		rc = dropcaches_fail(-errno, err);
	close(fd);
	return rc;
}

int dirty_bytes(uint64_t *bytes, const char *root)
{
	/* Kernels without NFS, and some new ones, have no NFS_Unstable. */
	static const char *const keys[] = { "Dirty", "Writeback", "NFS_Unstable" };
	unsigned found = 0;

	*bytes = 0;
	for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
		uint64_t n = 0;
		int rc = sysfile_keyed(&n, root, "/proc/meminfo", keys[i]);

		if (rc < 0 && rc != -ENODATA)
			return rc;
		found += rc == 0;
		*bytes += n;
	}
	return found ? 0 : -ENODATA;
}
