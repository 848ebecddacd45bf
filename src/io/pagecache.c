/* SPDX-License-Identifier: Apache-2.0 */
/* pagecache.c - measure, drop and empty the page cache. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dist.h"
#include "base/util.h"
#include "io/host.h"

#define WINDOW_PAGES 16384u /* a byte for each, on the stack */
#define RANGES 4u           /* ranges that pagecache_sample examines in a large file */

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

/* Add the resident bytes from `off`, the start of a page, to `end`. */
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

/* Add the resident bytes of a range in each quarter of the file, at a random place. */
static int sample_resident(int fd, uint64_t size, uint64_t seed, uint64_t *resident_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t quarter = size / RANGES / page;
	uint64_t range = PAGECACHE_SAMPLE_BYTES / RANGES / page;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < RANGES; i++) {
		uint64_t room = quarter - range + 1;
		uint64_t first = i * quarter + rng_u64(seed, RNG_RESIDENCY, i) % room;

		rc = range_resident(fd, first * page, (first + range) * page, resident_bytes);
	}
	return rc;
}

/* Examine the whole file, or with a seed at most PAGECACHE_SAMPLE_BYTES. */
static int measure(const char *path, const uint64_t *seed, uint64_t *resident_bytes,
		   uint64_t *examined_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t resident = 0, size;
	uid_t me = geteuid();
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	/*
	 * Since Linux 5.2 mincore answers only the owner of the file and those who may write it.
	 * For others it reports every page as resident (mm/mincore.c, can_do_mincore).
	 */
	if (rc == 0 && me != 0 && st.st_uid != me && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		rc = -EPERM;
	size = rc == 0 ? (uint64_t)st.st_size : 0;
	if (seed && size > PAGECACHE_SAMPLE_BYTES) {
		rc = sample_resident(fd, size, *seed, &resident);
		size = PAGECACHE_SAMPLE_BYTES;
	} else if (rc == 0) {
		rc = range_resident(fd, 0, size, &resident);
	}
	close(fd);
	if (rc == 0) {
		*resident_bytes = resident;
		*examined_bytes = size;
	}
	return rc;
}

/*
 * The kernel drops only pages whose content is on storage. sync_file_range only waits for the pages
 * and costs nothing for a clean file, whereas fsync would flush the device's cache for each of a
 * million files. fdatasync is used where sync_file_range does not exist.
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
	return measure(path, NULL, resident_bytes, file_bytes);
}

int pagecache_sample(const char *path, uint64_t seed, uint64_t *resident_bytes,
		     uint64_t *sampled_bytes)
{
	return measure(path, &seed, resident_bytes, sampled_bytes);
}

#define DROP_PATH "/proc/sys/vm/drop_caches"
#define DROP_ALL "3\n" /* the page cache, and dentries and inodes */

static int dropcaches_fail(int code, struct mlgen_err *err)
{
	return mlgen_fail(
		err, code,
		"drop_caches: " DROP_PATH ": %s; %s. --drop_caches=no leaves this host's caches as "
		"they are; data in them is then not read from storage",
		strerror(-code),
		code == -EROFS
			? "containers usually mount it read-only: run mlgen outside the container"
			: "it requires root");
}

static int dropcaches_open(const char *root, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, DROP_PATH);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? dropcaches_fail(-errno, err) : fd;
}

int dropcaches_check(const char *root, struct mlgen_err *err)
{
	int fd = dropcaches_open(root, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int dropcaches_run(const char *root, struct mlgen_err *err)
{
	int fd = dropcaches_open(root, err);
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
	/* NFS_Unstable is absent in kernels without NFS and in some new ones. */
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
