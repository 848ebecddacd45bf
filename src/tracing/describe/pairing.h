/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.h - requests under way, between the event that begins one and the one that ends it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Remembers 65536 of them: beyond that, and where an end is lost, the oldest in its place is given
 * up. Depth is counted from what is remembered. */
struct pairing;

struct pairing *pairing_new(void);
void pairing_free(struct pairing *p); /* NULL is fine */

void pairing_begin(struct pairing *p, uint64_t key, uint64_t now_ns);
/* Was its begin seen? Then *began_ns is when. */
bool pairing_end(struct pairing *p, uint64_t key, uint64_t *began_ns);

/* Under way now, and at most so far. */
uint64_t pairing_depth(const struct pairing *p);
uint64_t pairing_most(const struct pairing *p);

/* One key of two numbers. */
static inline uint64_t pairing_key(uint32_t whose, uint64_t number)
{
	return (number ^ (uint64_t)whose << 40) * UINT64_C(0x9e3779b97f4a7c15);
}
