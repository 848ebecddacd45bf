/* SPDX-License-Identifier: Apache-2.0 */
/* pagecache.h - the page cache: what is in it, dropped from it, and emptied. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

/* ---- the page cache of this host: drop a file from it, see what is in it ---- */

/* Open, write dirty pages to storage, fadvise(DONTNEED), close. 0 or -errno. What another process
 * has mapped or locked stays. */
int pagecache_drop(const char *path);

/*
 * How much of a file is resident, by mincore of a mapping that is never touched. 0 or -errno; both
 * in bytes.
 */
int pagecache_resident(const char *path, uint64_t *resident_bytes, uint64_t *file_bytes);

/*
 * The same in a bounded time: of a file of more than CACHE_LOOK_BYTES, so many are looked at, in
 * places that `seed` chooses, one in each quarter of it.
 */
#define CACHE_LOOK_BYTES (UINT64_C(1) << 20)
int pagecache_sample(const char *path, uint64_t seed, uint64_t *resident_bytes,
		     uint64_t *looked_bytes);

/* ---- empty this host's page cache of everything (vm.drop_caches) ---- */

/* `root` as in host.h. May it be done? 0, or -errno with err that names the way out. */
int dropcaches_check(const char *root, struct mlgen_err *err);

/* Write back what is dirty, since only clean pages go; then pages, dentries and inodes. 0 or -errno
 * with err. */
int dropcaches_run(const char *root, struct mlgen_err *err);

/* ---- what this host's memory holds and its storage does not have yet ---- */

/* Dirty, under writeback, or sent to an NFS server and not committed there: of all files of the
 * host. `root` as in host.h. 0 or -errno. */
int dirty_bytes(uint64_t *bytes, const char *root);
