/* SPDX-License-Identifier: Apache-2.0 */
/* pagecache.h - the page cache of this host: measure a file's part, drop it, or empty all of it. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

/* ---- the part of one file: drop and measure it ---- */

/* Open, write dirty pages to storage, fadvise(DONTNEED), close. 0 or -errno. Pages that another
 * process has mapped or locked stay. */
int pagecache_drop(const char *path);

/*
 * Measure the resident bytes of a file with mincore on a mapping that is never touched. 0 or
 * -errno; both results in bytes.
 */
int pagecache_resident(const char *path, uint64_t *resident_bytes, uint64_t *file_bytes);

/*
 * Like pagecache_resident, but in a bounded time: of a larger file only PAGECACHE_SAMPLE_BYTES are
 * examined, a range in each quarter of the file, at places that `seed` chooses.
 */
#define PAGECACHE_SAMPLE_BYTES (UINT64_C(1) << 20)
int pagecache_sample(const char *path, uint64_t seed, uint64_t *resident_bytes,
		     uint64_t *sampled_bytes);

/* ---- empty this host's page cache (vm.drop_caches) ---- */

/* Check for permission to empty the cache; `root` as in host.h. 0, or -errno with err that names
 * the way out. */
int dropcaches_check(const char *root, struct mlgen_err *err);

/* Write back dirty pages, since only clean ones can go; then drop pages, dentries and inodes. 0 or
 * -errno with err. */
int dropcaches_run(const char *root, struct mlgen_err *err);

/* ---- bytes in memory that storage does not have yet ---- */

/* Bytes of all files of the host that are dirty, under writeback, or sent to an NFS server and not
 * committed there. `root` as in host.h. 0 or -errno. */
int dirty_bytes(uint64_t *bytes, const char *root);
