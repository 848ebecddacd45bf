/* SPDX-License-Identifier: Apache-2.0 */
/* pagecache.h - the page cache of this host: drop a file from it, see what is in it. */
#pragma once

#include <stdint.h>

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
