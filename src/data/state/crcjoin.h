/* SPDX-License-Identifier: Apache-2.0 */
/* crcjoin.h - checksums of what is put together, from those of its parts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reflected, all ones before and behind: zlib's crc32, and the crc32c. */
#define CRCJOIN_CRC32 0xedb88320u
#define CRCJOIN_CRC32C 0x82f63b78u

/*
 * What a checksum becomes by N bytes of zeros behind it. That is linear, so a
 * table for each byte of it is enough, and
 *
 *	sum(A, B) = crcjoin_past(B's length, sum(A)) ^ sum(B)
 *	sum(A with a word set, which was 0) =
 *		sum(A) ^ crcjoin_past(from the word to the end of A, word)
 *
 * where a word is 4 bytes, little-endian, and itself counted.
 */
struct crcjoin {
	uint32_t table[4][256];
};

/* For `bytes` behind it, however many. */
void crcjoin_init(struct crcjoin *j, uint32_t polynomial, uint64_t bytes);

static inline uint32_t crcjoin_past(const struct crcjoin *j, uint32_t sum)
{
	return j->table[0][sum & 0xff] ^ j->table[1][sum >> 8 & 0xff] ^
	       j->table[2][sum >> 16 & 0xff] ^ j->table[3][sum >> 24];
}

/* Continue a checksum, 0 at first, over `bytes`, a multiple of 4; `word` is the join for 4 bytes.
 * For set-up: libraries are faster. */
uint32_t crcjoin_sum(const struct crcjoin *word, uint32_t sum, const void *data, size_t bytes);
