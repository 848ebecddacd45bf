/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_page.h - the header of a page of somebody else's Parquet file, in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parquet_page {
	size_t head_bytes;
	/* Behind it: so many that are never compressed (levels), then these. */
	uint64_t level_bytes, stored_bytes;
	uint64_t raw_bytes; /* that come of stored_bytes */
	bool is_packed;     /* ... if the chunk has a codec */
};

/* At `at`, of which `bytes` are there: false, it is none, or not all of it. */
bool parquet_page_read(struct parquet_page *p, const uint8_t *at, size_t bytes);
