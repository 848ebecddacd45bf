/* SPDX-License-Identifier: Apache-2.0 */
/* mmap_map.c - mappings of whole files, which follow them as they grow. */
#include "mmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_bytes(const struct map_table *t, struct file_map *m, int fd, uint64_t bytes)
{
	void *base =
		m->base ? mremap(m->base, (size_t)m->mapped_bytes, (size_t)bytes, MREMAP_MAYMOVE)
			: mmap(NULL, (size_t)bytes, m->prot, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		/* mmap(2) fails with ENODEV on a filesystem without mappings */
		return errno == ENODEV ? -EOPNOTSUPP : -errno;
	m->base = base;
	m->mapped_bytes = bytes;
	if (t->thp)
		madvise(base, (size_t)bytes, MADV_HUGEPAGE);
	return 0;
}

static int prot_of(int flags)
{
	static const int prots[] = {
		[O_RDONLY] = PROT_READ,
		[O_WRONLY] = PROT_WRITE,
		[O_RDWR] = PROT_READ | PROT_WRITE,
	};

	return (flags & O_ACCMODE) <= O_RDWR ? prots[flags & O_ACCMODE] : 0;
}

int64_t mmap_map_size(int fd)
{
	struct stat st;
	off_t size;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	size = S_ISREG(st.st_mode) ? st.st_size : lseek(fd, 0, SEEK_END);
	return size < 0 ? -errno : size;
}

int mmap_map_attach(struct map_table *t, struct mlgen_file *file, int flags)
{
	unsigned at;
	int rc;

	if (t->unused_count == 0)
		return -EMFILE;
	at = t->unused[t->unused_count - 1];
	t->maps[at].prot = prot_of(flags);
	rc = mmap_map_follow(t, &t->maps[at], file->fd, 0);
	if (rc < 0)
		return rc;
	t->unused_count--;
	file->word = at + 1u;
	return 0;
}

void mmap_map_detach(struct map_table *t, struct mlgen_file *file)
{
	if (file->word == 0)
		return;
	mmap_map_drop(&t->maps[file->word - 1]);
	t->unused[t->unused_count++] = (unsigned)file->word - 1;
	file->word = 0;
}

int mmap_map_follow(const struct map_table *t, struct file_map *m, int fd, uint64_t ahead_bytes)
{
	int64_t size_or_error = mmap_map_size(fd);
	uint64_t size = (uint64_t)size_or_error;
	int rc = 0;

	if (size_or_error < 0)
		return (int)size_or_error;
	if (size > m->mapped_bytes)
		rc = map_bytes(t, m, fd, size + ahead_bytes);
	if (rc == 0 && size > m->size_bytes)
		m->size_bytes = size;
	return rc;
}

/* fallocate reports a full filesystem here; a store to the mapping would raise SIGBUS. */
int mmap_map_grow(const struct map_table *t, struct file_map *m, const struct mlgen_io *op)
{
	uint64_t end = op->off + op->len_bytes;
	int fd = op->file->fd;
	struct stat st;
	int rc = mmap_map_follow(t, m, fd, GROW_BYTES);

	if (rc < 0 || m->size_bytes >= end)
		return rc;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOSPC; /* like write(2) at the end of a device */
	if (fallocate(fd, 0, (off_t)op->off, (off_t)op->len_bytes) != 0 &&
	    (errno != EOPNOTSUPP || ftruncate(fd, (off_t)end) != 0))
		return -errno;
	return mmap_map_follow(t, m, fd, GROW_BYTES);
}

void mmap_map_drop(struct file_map *m)
{
	if (m->base)
		munmap(m->base, (size_t)m->mapped_bytes);
	*m = (struct file_map){ 0 };
}
