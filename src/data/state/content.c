/* SPDX-License-Identifier: Apache-2.0 */
/* content.c - the stamped bytes of a checkpoint's tensors, and their checksums by arithmetic. */
#include "data/state/state_internal.h"

#include <assert.h>
#include <endian.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "config.h"

/* ---- checksums of concatenated data, from the checksums of its parts ---- */

/* A linear function of 32 bits: the image of each bit. */
struct linear {
	uint32_t of[32];
};

static uint32_t apply(const struct linear *m, uint32_t v)
{
	uint32_t sum = 0;

	for (unsigned i = 0; v; i++, v >>= 1)
		if (v & 1)
			sum ^= m->of[i];
	return sum;
}

/* Return the function that applies `a` and then `b`. */
static struct linear compose(const struct linear *a, const struct linear *b)
{
	struct linear m;

	for (unsigned i = 0; i < 32; i++)
		m.of[i] = apply(b, a->of[i]);
	return m;
}

void crcjoin_init(struct crcjoin *j, uint32_t polynomial, uint64_t bytes)
{
	/* The change by one zero bit; the polynomial's highest power is the lowest bit. */
	struct linear power = { .of = { [0] = polynomial } }, m;

	for (unsigned i = 0; i < 32; i++)
		m.of[i] = 1u << i;
	for (unsigned i = 1; i < 32; i++)
		power.of[i] = 1u << (i - 1);
	for (unsigned i = 0; i < 3; i++)
		power = compose(&power, &power);
	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			m = compose(&m, &power);
		power = compose(&power, &power);
	}
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

/* ---- content ---- */

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

#define CONTENT_SHIFT 4u

/* A stream of its own, so that the bytes differ from those of plain jobs with the same seed. */
#define POOL_STREAM (1u << 8 | RNG_CONTENT)

enum {
	STAMP_BYTES = sizeof(struct content_stamp),
	REST_BYTES = CONTENT_BLOCK - STAMP_BYTES,
	/* Bytes from a word of the stamp to the end of the block. */
	SUM_TO_END = CONTENT_BLOCK - offsetof(struct content_stamp, crc32c),
	OFF_TO_END = CONTENT_BLOCK - offsetof(struct content_stamp, off),
	/* Start of the bytes that the crc32c covers, up to the end of the block. */
	SUM_START = offsetof(struct content_stamp, rank),
};

_Static_assert(sizeof(struct content_stamp) == 32, "no holes in a stamp");
_Static_assert((CONTENT_PARTS - 1) * CONTENT_SHIFT <= CONTENT_SLACK,
	       "the last repetition ends in the slack");

struct sums {
	uint32_t crc32, crc32c;
};

/* Joins over the rest of a block after the stamp, and from either word of the stamp's offset to the
 * end of the block. */
struct joins {
	struct crcjoin rest, low, high;
};

struct content {
	uint64_t span_bytes;
	unsigned char *pool; /* including the slack */
	struct sums *rest;   /* sums of each block after its stamp */
	struct joins crc32, crc32c;
	struct crcjoin word; /* crc32c: over 4 bytes */
	/* crc32: over a block; over all blocks of the span but the first; from the checksum in a
	 * stamp to the end of the block. */
	struct crcjoin block, middle, sum;
};

/* The common part of all stamps of one run. */
struct stamps {
	const struct content *c;
	uint64_t off;
	struct content_stamp stamp; /* checksum and offset are 0 */
	struct sums sums;           /* sums of `stamp`, joined over the rest of a block */
};

/* The checksum of all blocks of a span but the first, which every repetition has in common. */
struct middle {
	bool is_known;
	uint32_t crc32;
};

static void joins_init(struct joins *j, uint32_t polynomial)
{
	crcjoin_init(&j->rest, polynomial, REST_BYTES);
	crcjoin_init(&j->low, polynomial, OFF_TO_END);
	crcjoin_init(&j->high, polynomial, OFF_TO_END - sizeof(uint32_t));
}

static uint32_t crc32_of(uint32_t crc, const void *data, size_t bytes)
{
	return (uint32_t)crc32(crc, data, (uInt)bytes);
}

static uint64_t blocks_of(uint64_t bytes)
{
	return (bytes + CONTENT_BLOCK - 1) / CONTENT_BLOCK;
}

static struct stamps stamps_of(const struct content *c, const struct content_of *of)
{
	struct stamps s = { .c = c,
			    .off = of->off,
			    .stamp = {
				    .magic = htole32(CONTENT_MAGIC),
				    .rank = htole32((uint32_t)of->rank),
				    .checkpoint = htole32((uint32_t)of->checkpoint),
				    .file = htole64(of->file),
			    } };
	const unsigned char *bytes = (const unsigned char *)&s.stamp;

	s.sums.crc32 = crcjoin_past(&c->crc32.rest, crc32_of(0, bytes, STAMP_BYTES));
	s.sums.crc32c = crcjoin_past(&c->crc32c.rest, crcjoin_sum(&c->word, 0, bytes + SUM_START,
								  STAMP_BYTES - SUM_START));
	return s;
}

/* The part of a checksum that the offset contributes. */
static inline uint32_t off_part(const struct joins *j, uint64_t off)
{
	return crcjoin_past(&j->low, (uint32_t)off) ^ crcjoin_past(&j->high, (uint32_t)(off >> 32));
}

static inline uint64_t off_of(const struct stamps *s, uint64_t block)
{
	return s->off + block * CONTENT_BLOCK;
}

/* The checksum in the stamp of a block. */
static inline uint32_t block_crc32c(const struct stamps *s, uint64_t block)
{
	return s->sums.crc32c ^ s->c->rest[block].crc32c ^
	       off_part(&s->c->crc32c, off_of(s, block));
}

/* The checksum of a whole block. */
static inline uint32_t block_crc32(const struct stamps *s, uint64_t block)
{
	return s->sums.crc32 ^ s->c->rest[block].crc32 ^ off_part(&s->c->crc32, off_of(s, block)) ^
	       crcjoin_past(&s->c->sum, block_crc32c(s, block));
}

static inline struct content_stamp stamp_of(const struct stamps *s, uint64_t block)
{
	struct content_stamp stamp = s->stamp;

	stamp.crc32c = htole32(block_crc32c(s, block));
	stamp.off = htole64(off_of(s, block));
	return stamp;
}

/* ---- ranges of a stamped slice ---- */

static void copy_range(const struct stamps *s, uint64_t at, unsigned char *to, uint64_t bytes)
{
	uint64_t last = blocks_of(at + bytes);

	memcpy(to, s->c->pool + at, bytes);
	for (uint64_t block = at / CONTENT_BLOCK; block < last; block++) {
		/* Copy the part of the block's stamp that is in the range. */
		const struct content_stamp stamp = stamp_of(s, block);
		uint64_t begin = block * CONTENT_BLOCK, end = begin + STAMP_BYTES;
		uint64_t from = begin > at ? begin : at;
		uint64_t until = u64_min(end, at + bytes);

		if (from < until)
			memcpy(to + (from - at), (const unsigned char *)&stamp + (from - begin),
			       until - from);
	}
}

/* Number of bytes of [at, at + bytes) in the block of `at`. */
static uint64_t in_block(uint64_t at, uint64_t bytes)
{
	return u64_min(CONTENT_BLOCK - at % CONTENT_BLOCK, bytes);
}

static uint32_t range_crc32(const struct stamps *s, uint64_t at, uint64_t bytes, uint32_t crc)
{
	unsigned char part[CONTENT_BLOCK];

	for (uint64_t n; bytes; at += n, bytes -= n) {
		n = in_block(at, bytes);
		if (n == CONTENT_BLOCK) {
			crc = crcjoin_past(&s->c->block, crc) ^ block_crc32(s, at / CONTENT_BLOCK);
		} else {
			copy_range(s, at, part, n);
			crc = crc32_of(crc, part, n);
		}
	}
	return crc;
}

/* The checksum of bytes in one repetition of the slice. */
static uint32_t repetition_crc32(const struct stamps *s, struct middle *m, uint64_t at,
				 uint64_t bytes, uint32_t crc)
{
	uint64_t span = s->c->span_bytes;

	if (at >= CONTENT_BLOCK || at + bytes < span)
		return range_crc32(s, at, bytes, crc);
	if (!m->is_known)
		m->crc32 = range_crc32(s, CONTENT_BLOCK, span - CONTENT_BLOCK, 0);
	m->is_known = true;
	crc = range_crc32(s, at, CONTENT_BLOCK - at, crc);
	crc = crcjoin_past(&s->c->middle, crc) ^ m->crc32;
	return range_crc32(s, span, at + bytes - span, crc);
}

#ifdef HAVE_ISAL

/* Check the stamp of a block, and its bytes by the checksum in the stamp. */
static bool block_is_right(const struct stamps *s, uint64_t block, const unsigned char *buf)
{
	const struct content_stamp stamp = stamp_of(s, block);
	/* ISA-L only reads, although its argument is not const. The caller has to invert the
	 * checksum before and after. */
	union {
		const unsigned char *from;
		unsigned char *to;
	} summed = { .from = buf + SUM_START };

	return memcmp(buf, &stamp, sizeof(stamp)) == 0 &&
	       ~crc32_iscsi(summed.to, CONTENT_BLOCK - SUM_START, ~0u) == le32toh(stamp.crc32c);
}

#else

/* Without a fast crc32c every block is compared. */
static bool block_is_right(const struct stamps *s, uint64_t block, const unsigned char *buf)
{
	(void)s;
	(void)block;
	(void)buf;
	return false;
}

#endif

/* Number of right bytes before the first wrong one; at most a block. */
static uint64_t content_compare(const struct stamps *s, uint64_t at, const unsigned char *buf,
				uint64_t bytes)
{
	unsigned char part[CONTENT_BLOCK];
	uint64_t i = 0;

	copy_range(s, at, part, bytes);
	if (memcmp(part, buf, bytes) == 0)
		return bytes;
	while (part[i] == buf[i])
		i++;
	return i;
}

static uint64_t content_check_range(const struct stamps *s, uint64_t at, const unsigned char *buf,
				    uint64_t bytes)
{
	uint64_t done = 0, n, right;

	for (; done < bytes; done += n) {
		n = in_block(at + done, bytes - done);
		if (n == CONTENT_BLOCK &&
		    block_is_right(s, (at + done) / CONTENT_BLOCK, buf + done))
			continue;
		right = content_compare(s, at + done, buf + done, n);
		if (right < n)
			return done + right;
	}
	return bytes;
}

/* ---- runs: one range for each repetition of the slice ---- */

static uint64_t in_slice(const struct content *c, uint64_t p)
{
	return p % c->span_bytes + CONTENT_SHIFT * (p / c->span_bytes);
}

/* Number of bytes of [p, p + bytes) in the repetition of p. */
static uint64_t in_repetition(const struct content *c, uint64_t p, uint64_t bytes)
{
	return u64_min(c->span_bytes - p % c->span_bytes, bytes);
}

struct content *content_new(uint64_t span_bytes, uint64_t seed)
{
	struct content *c = mem_zalloc(sizeof(*c));
	uint64_t bytes = span_bytes + CONTENT_SLACK, blocks = bytes / CONTENT_BLOCK;

	assert(span_bytes && span_bytes % CONTENT_BLOCK == 0);
	c->span_bytes = span_bytes;
	c->pool = mem_zalloc(bytes);
	rng_fill(c->pool, bytes, seed, POOL_STREAM, 0);
	joins_init(&c->crc32, CRCJOIN_CRC32);
	joins_init(&c->crc32c, CRCJOIN_CRC32C);
	crcjoin_init(&c->block, CRCJOIN_CRC32, CONTENT_BLOCK);
	crcjoin_init(&c->middle, CRCJOIN_CRC32, span_bytes - CONTENT_BLOCK);
	crcjoin_init(&c->sum, CRCJOIN_CRC32, SUM_TO_END);
	crcjoin_init(&c->word, CRCJOIN_CRC32C, sizeof(uint32_t));
	c->rest = mem_array(blocks, sizeof(*c->rest));
	for (uint64_t i = 0; i < blocks; i++) {
		const unsigned char *rest = c->pool + i * CONTENT_BLOCK + STAMP_BYTES;

		c->rest[i].crc32 = crc32_of(0, rest, REST_BYTES);
		c->rest[i].crc32c = crcjoin_sum(&c->word, 0, rest, REST_BYTES);
	}
	return c;
}

void content_free(struct content *c)
{
	if (!c)
		return;
	mem_free(c->rest);
	mem_free(c->pool);
	mem_free(c);
}

uint64_t content_span_bytes(const struct content *c)
{
	return c->span_bytes;
}

void content_fill(const struct content *c, void *slice)
{
	content_restore(c, slice, 0, c->span_bytes + CONTENT_SLACK);
}

unsigned content_stamp_run(const struct content *c, const struct content_of *of, void *slice,
			   uint64_t bytes, struct iovec *parts)
{
	const struct stamps s = stamps_of(c, of);
	uint64_t used = u64_min(bytes, c->span_bytes + CONTENT_SLACK);
	uint64_t blocks = blocks_of(used);
	unsigned char *at = slice;
	unsigned n = 0;

	for (uint64_t i = 0; i < blocks; i++) {
		const struct content_stamp stamp = stamp_of(&s, i);

		memcpy(at + i * CONTENT_BLOCK, &stamp, sizeof(stamp));
	}
	for (uint64_t p = 0; p < bytes; p += c->span_bytes, n++) {
		assert(n < CONTENT_PARTS);
		parts[n].iov_base = at + in_slice(c, p);
		parts[n].iov_len = in_repetition(c, p, bytes - p);
	}
	return n;
}

void content_restore(const struct content *c, void *slice, uint64_t at, uint64_t bytes)
{
	memcpy((unsigned char *)slice + at, c->pool + at, bytes);
}

void content_copy(const struct content *c, const struct content_of *of, uint64_t p, void *to,
		  uint64_t bytes)
{
	const struct stamps s = stamps_of(c, of);
	unsigned char *at = to;

	for (uint64_t n; bytes; p += n, at += n, bytes -= n) {
		n = in_repetition(c, p, bytes);
		copy_range(&s, in_slice(c, p), at, n);
	}
}

uint32_t content_crc32(const struct content *c, const struct content_of *of, uint64_t p,
		       uint64_t bytes, uint32_t crc)
{
	const struct stamps s = stamps_of(c, of);
	struct middle middle = { .is_known = false };

	for (uint64_t n; bytes; p += n, bytes -= n) {
		n = in_repetition(c, p, bytes);
		crc = repetition_crc32(&s, &middle, in_slice(c, p), n, crc);
	}
	return crc;
}

uint64_t content_check(const struct content *c, const struct content_of *of, uint64_t p,
		       const void *buf, uint64_t bytes)
{
	const struct stamps s = stamps_of(c, of);
	const unsigned char *at = buf;
	uint64_t done = 0, n, right;

	for (; done < bytes; done += n) {
		n = in_repetition(c, p + done, bytes - done);
		right = content_check_range(&s, in_slice(c, p + done), at + done, n);
		if (right < n)
			return done + right;
	}
	return bytes;
}
