/* SPDX-License-Identifier: Apache-2.0 */
/* mmap.h - what the files of this engine share: a worker's table of mappings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

/*
 * A file is mapped whole when it is opened, and at its first use where another has opened it;
 * file->word is 1 + its place in the worker's table.
 *
 * A mapping may be longer than its file, never shorter: that a file grows costs a mapping now and
 * then, and its size is exact all the time. What lies behind the end of a file that became shorter
 * raises SIGBUS, as does a page that the device cannot deliver. The size tells which: a read ends
 * where the file does, as pread(2), or is -EIO; a write is -EIO either way.
 */
struct map {
	char *base; /* NULL: of an empty file nothing can be mapped */
	uint64_t mapped_bytes;
	uint64_t size_bytes; /* of the file; it may have grown since */
	int prot;            /* what open(2) was asked for */
};

struct table {
	struct map *maps;
	unsigned *unused; /* a stack of their numbers */
	unsigned count, unused_count;
	uint64_t page_bytes;
	uint64_t from_bytes; /* of a read that is mapped; 0 = of all files */
	bool thp;
};

/* So much is mapped behind a file that grows: addresses cost nothing. */
#define GROW_BYTES (1ull << 30)

/*
 * mmap_map.c: mappings; 0 or -errno. A file that is open gets one, and loses it before it is
 * closed; it follows a file that grew, or makes it grow so that the operation fits.
 */
int64_t mmap_map_size(int fd); /* of the file or device, now; or -errno */
int mmap_map_attach(struct table *t, struct mlgen_file *file, int flags);
void mmap_map_detach(struct table *t, struct mlgen_file *file);
int mmap_map_follow(const struct table *t, struct map *m, int fd, uint64_t ahead_bytes);
int mmap_map_grow(const struct table *t, struct map *m, const struct mlgen_io *op);
void mmap_map_drop(struct map *m);

/*
 * mmap_guard.c: copying, with a SIGBUS in the mapping an error of the operation: its bytes or -EIO.
 * Between job_init and job_fini of a job, on a thread that has called mmap_guard_thread once.
 */
int mmap_guard_job_init(struct mlgen_engine_job *job, struct mlgen_err *err);
void mmap_guard_job_fini(struct mlgen_engine_job *job);
void mmap_guard_thread(void);
int64_t mmap_guard_copy(const struct map *m, const struct mlgen_io *op, uint64_t bytes);
