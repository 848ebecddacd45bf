/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - direction and size of each request of a plain job. */
#include "data/pattern/pattern_internal.h"

#include <string.h>

#include "base/dist.h"

/* Number of requests within which reads and writes are balanced. */
#define STRATUM 64

static int read_sizes(struct mix_sizes *s, const struct job *job, unsigned direction,
		      struct mlgen_err *err)
{
	struct job_size sizes[JOB_SIZES_MAX];
	int n = job_sizes(job, direction, sizes, err);
	double sum = 0;

	for (int i = 0; i < n; i++) {
		uint64_t bytes = sizes[i].bytes;

		if (sizes[i].percent <= 0)
			continue;
		if (s->count == 0 || bytes < s->smallest)
			s->smallest = bytes;
		if (bytes > s->largest)
			s->largest = bytes;
		sum += sizes[i].percent;
		s->bytes[s->count] = bytes;
		s->percent[s->count] = sizes[i].percent;
		s->upto[s->count++] = sum < 100 ? (uint64_t)(sum / 100 * 0x1p64) : UINT64_MAX;
	}
	if (s->count > 0) /* the last share ends at 2^64, whatever the sum was rounded to */
		s->upto[s->count - 1] = UINT64_MAX;
	return n < 0 ? n : 0;
}

static inline uint64_t draw_size(struct mix *m, const struct mix_sizes *s)
{
	unsigned i = 0;

	if (s->count == 1)
		return s->largest;
	uint64_t random = mix_random(m);
	while (random > s->upto[i])
		i++;
	return s->bytes[i];
}

int mix_init(struct mix *m, const struct job *job, uint64_t seed, struct mlgen_err *err)
{
	int r = 0;

	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->is_mixed = job_reads(job) && job_writes(job);
	m->only_write = !job_reads(job);
	m->write_share = m->only_write;
	if (m->is_mixed)
		m->write_share = 1 - job->rwmixread / 100;
	if (job_reads(job))
		r = read_sizes(&m->dir[0], job, 0, err);
	if (!r && job_writes(job))
		r = read_sizes(&m->dir[1], job, 1, err);
	m->one_size = m->dir[0].count < 2 && m->dir[1].count < 2 &&
		      (!m->is_mixed || m->dir[0].largest == m->dir[1].largest);
	return r;
}

unsigned mix_kinds(const struct mix *m, struct piece_kind kinds[MIX_KINDS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct mix_sizes *s = &m->dir[i];
		double share = i ? m->write_share : 1 - m->write_share;

		for (unsigned k = 0; k < s->count && share > 0; k++)
			kinds[n++] = (struct piece_kind){
				.bytes = s->bytes[k],
				.percent = s->percent[k] * share,
				.is_write = i,
			};
	}
	return n;
}

void mix_draw(struct mix *m, struct pattern_op *ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bool is_write = m->only_write;

		if (m->is_mixed) {
			/* The direction is random, but the share is exact to one request after each
			 * stratum: 70 percent are 70 percent in a short run, too. */
			if (m->stratum_left == 0) {
				double each = m->write_share * STRATUM;
				double k = (double)m->strata++;

				m->stratum_left = STRATUM;
				m->writes_left = (unsigned)((uint64_t)(each * (k + 1)) -
							    (uint64_t)(each * k));
			}
			if (m->bits_left == 0) {
				m->bits = rng_u64(m->seed, RNG_DIRECTION, m->words++);
				m->bits_left = 64;
			}
			uint64_t part = ((m->bits & 0xffff) * m->stratum_left) >> 16;
			is_write = part < m->writes_left;
			m->bits >>= 16;
			m->bits_left -= 16;
			m->stratum_left--;
			m->writes_left -= is_write;
		}
		ops[i].is_write = is_write;
		ops[i].len_bytes = draw_size(m, &m->dir[is_write]);
	}
}

uint64_t mix_random(struct mix *m)
{
	return rng_u64(m->seed, RNG_REQUEST, m->requests++);
}
