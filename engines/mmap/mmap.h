/* SPDX-License-Identifier: Apache-2.0 */
/* mmap.h - a worker's table of mappings, shared by the files of this engine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

/*
 * A file is mapped whole when it is opened, or at its first use if another worker has opened it;
 * file->word is 1 + the index of the mapping in the worker's table.
 *
 * A mapping may be longer than its file, never shorter. A growing file is therefore remapped only
 * from time to time, while its size is always exact. Access after the end of a file that became
 * shorter raises SIGBUS, as does a page that the device cannot deliver. The size of the file
 * distinguishes the two cases. After the end, a read ends as pread(2) does; on a bad page it fails
 * with -EIO. A write fails with -EIO in both cases.
 */
struct file_map {
	char *base; /* NULL: an empty file cannot be mapped */
	uint64_t mapped_bytes;
	uint64_t size_bytes; /* file size when last read; the file may have grown */
	int prot;            /* PROT_ flags of the open mode */
};

struct map_table {
	struct file_map *maps;
	unsigned *unused; /* stack of free indexes */
	unsigned count, unused_count;
	uint64_t page_bytes;
	uint64_t from_bytes; /* smallest read that is mapped; 0 = map all files at open */
	bool thp;
};

/* Bytes mapped past the end of a growing file; address space costs nothing. */
#define GROW_BYTES (1ull << 30)

/*
 * mmap_map.c: mappings; 0 or -errno. `attach` maps an open file, and `detach` unmaps it before it
 * is closed. `follow` extends the mapping of a file that grew. `grow` extends the file so that the
 * operation fits.
 */
int64_t mmap_map_size(int fd); /* current size of the file or device, or -errno */
int mmap_map_attach(struct map_table *t, struct mlgen_file *file, int flags);
void mmap_map_detach(struct map_table *t, struct mlgen_file *file);
int mmap_map_follow(const struct map_table *t, struct file_map *m, int fd, uint64_t ahead_bytes);
int mmap_map_grow(const struct map_table *t, struct file_map *m, const struct mlgen_io *op);
void mmap_map_drop(struct file_map *m);

/* mmap_guard.c: copy from or to a mapping; the result is -EIO if a SIGBUS is raised. Call copy
 * between job_init and job_fini of a job, on a thread that has called mmap_guard_thread once. */
int mmap_guard_job_init(struct mlgen_engine_job *job, struct mlgen_err *err);
void mmap_guard_job_fini(struct mlgen_engine_job *job);
void mmap_guard_thread(void);
int64_t mmap_guard_copy(const struct file_map *m, const struct mlgen_io *op, uint64_t bytes);
