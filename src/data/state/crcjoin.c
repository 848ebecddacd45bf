/* SPDX-License-Identifier: Apache-2.0 */
/* crcjoin.c - checksums of what is put together, from those of its parts. */
#include "data/state/state_internal.h"

#include <endian.h>
#include <string.h>

/* A linear function of 32 bits: what each bit becomes. */
struct map {
	uint32_t of[32];
};

static uint32_t apply(const struct map *m, uint32_t v)
{
	uint32_t sum = 0;

	for (unsigned i = 0; v; i++, v >>= 1)
		if (v & 1)
			sum ^= m->of[i];
	return sum;
}

/* First `a`, then `b`. */
static struct map both(const struct map *a, const struct map *b)
{
	struct map m;

	for (unsigned i = 0; i < 32; i++)
		m.of[i] = apply(b, a->of[i]);
	return m;
}

/* One bit of zeros behind it; the polynomial's highest power is the lowest bit. */
static struct map past_bit(uint32_t polynomial)
{
	struct map m = { .of = { [0] = polynomial } };

	for (unsigned i = 1; i < 32; i++)
		m.of[i] = 1u << (i - 1);
	return m;
}

static struct map past_bytes(uint32_t polynomial, uint64_t bytes)
{
	struct map power = past_bit(polynomial), m;

	for (unsigned i = 0; i < 32; i++)
		m.of[i] = 1u << i;
	for (unsigned i = 0; i < 3; i++)
		power = both(&power, &power);
	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			m = both(&m, &power);
		power = both(&power, &power);
	}
	return m;
}

void crcjoin_init(struct crcjoin *j, uint32_t polynomial, uint64_t bytes)
{
	struct map m = past_bytes(polynomial, bytes);

	for (unsigned byte = 0; byte < 4; byte++)
		for (uint32_t v = 0; v < 256; v++)
			j->table[byte][v] = apply(&m, v << 8 * byte);
}

uint32_t crcjoin_sum(const struct crcjoin *word, uint32_t sum, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint32_t w;

	sum = ~sum;
	for (; bytes >= sizeof(w); bytes -= sizeof(w), p += sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		sum = crcjoin_past(word, sum ^ le32toh(w));
	}
	return ~sum;
}
