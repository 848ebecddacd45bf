/* SPDX-License-Identifier: Apache-2.0 */
/* samplevisits.c - see samplevisits.h. */
#include "distil/samplevisits.h"

#include <fcntl.h>

#include "base/mem.h"
#include "base/util.h"

struct explain_visit *samplevisits_all(const struct distil *d, uint32_t party,
				       const struct samplebook *b, unsigned *count)
{
	struct explain_visit *all = mem_array((size_t)d->specimens.count + 1, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; i < d->specimens.count; i++) {
		const struct specimen *s = &d->specimens.at[i];
		uint32_t file = s->visit.file;

		if (!samplebook_at(b, file) || !samplebook_is_of(d, party, &s->visit) ||
		    !(s->visit.flags & VISIT_READS))
			continue;
		all[(*count)++] = (struct explain_visit){
			.specimen = s,
			.file_bytes = samplebook_bytes(b, d, file),
			.stride_bytes = samplebook_stride(b, file),
		};
	}
	return all;
}

unsigned samplevisits(struct explain_visit out[SAMPLEVISITS_MOST], const struct distil *d,
		      uint32_t party, const struct samplebook *b)
{
	unsigned count, n;
	struct explain_visit *all = samplevisits_all(d, party, b, &count);

	n = count < SAMPLEVISITS_MOST ? count : SAMPLEVISITS_MOST;
	for (unsigned i = 0; i < n; i++)
		out[i] = all[(uint64_t)i * count / n];
	mem_free(all);
	return n;
}

bool samplevisits_direct(const struct explain_visit *visits, unsigned count)
{
	unsigned opens = 0, direct = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;

		for (uint32_t k = 0; k < s->count; k++) {
			if (s->calls[k].op != TRACE_OPEN || s->calls[k].len_bytes == TRACE_UNKNOWN)
				continue;
			opens++;
			direct += (s->calls[k].len_bytes & O_DIRECT) != 0;
		}
	}
	return direct * 2 > opens;
}

static bool touches(const struct specimen *s)
{
	uint32_t k = 0;

	while (k < s->count && s->calls[k].op != TRACE_FAULT)
		k++;
	return k < s->count;
}

bool samplevisits_mapped(const struct explain_visit *visits, unsigned count)
{
	unsigned mapped = 0;

	for (unsigned i = 0; i < count; i++)
		mapped += touches(visits[i].specimen);
	return mapped * 2 > count;
}

uint64_t samplevisits_read_beside(const struct explain_visit *visits, unsigned count)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;

		if (!touches(s))
			continue;
		for (uint32_t k = 0; k < s->count; k++)
			if (s->calls[k].op == TRACE_READ && s->calls[k].len_bytes > most)
				most = s->calls[k].len_bytes;
	}
	return most;
}
