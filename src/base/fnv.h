/* SPDX-License-Identifier: Apache-2.0 */
/* fnv.h - a hash that means the same on every host and in every version: FNV-1a of 64 bits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The hash of nothing. */
#define FNV1A UINT64_C(0xcbf29ce484222325)

/* With these bytes behind those of which `hash` is. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}
