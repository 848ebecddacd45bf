/* SPDX-License-Identifier: Apache-2.0 */
/* fresh_found.c - is what a reader reads into new each time, which the kernel has to make pages
 * for: fresh_memory=. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "distil/pipeline_inside.h"

/* Of less no allocator asks the kernel; glibc does from 128 KiB on (M_MMAP_THRESHOLD,
 * mallopt(3)). */
#define LEAST_BYTES UINT64_C(65536)
/* CPU of a read that only copies: from the page cache that is 0.05 to 0.3 ns a byte. Where making
 * pages adds less than that, it does not count. */
#define COPY_NS_A_BYTE 1.0
/* Of the bytes of those that are large enough, so many say so. */
#define SLOW_PERCENT 60
#define READS_LEAST 20

struct fresh_read {
	uint64_t bytes;
	bool is_slow;
	double cpu_ns;
};

struct fresh_reads {
	struct fresh_read *at;
	size_t count, room;
};

COMPARE_BY(by_bytes, struct fresh_read, bytes)

/* What the thread did before the call was no more than all its time. */
static double cpu_of(const struct specimen_call *c)
{
	return c->cpu_ns > c->think_ns ? (double)(c->cpu_ns - c->think_ns) : 0;
}

static void add_reads(struct fresh_reads *r, const struct specimen *x)
{
	for (uint32_t k = 1; k < x->count; k++) {
		const struct specimen_call *c = &x->calls[k];
		double ns = cpu_of(c);

		if (c->op != TRACE_READ || c->cpu_ns == TRACE_UNKNOWN ||
		    c->result < (int64_t)LEAST_BYTES)
			continue;
		vec_push(r, (struct fresh_read){
				    .bytes = (uint64_t)c->result,
				    .is_slow = ns > COPY_NS_A_BYTE * (double)c->result,
				    .cpu_ns = ns,
			    });
	}
}

/* The first of those, sorted, that are slow together: where most bytes are on the right side of
 * it. */
static size_t first_slow(const struct fresh_reads *r)
{
	double wrong = 0, least;
	size_t best = 0;

	for (size_t i = 0; i < r->count; i++)
		wrong += r->at[i].is_slow ? 0 : (double)r->at[i].bytes;
	least = wrong;
	for (size_t i = 0; i < r->count; i++) {
		double bytes = (double)r->at[i].bytes;

		wrong += r->at[i].is_slow ? bytes : -bytes;
		if (wrong >= least || (i + 1 < r->count && r->at[i + 1].bytes == r->at[i].bytes))
			continue;
		least = wrong;
		best = i + 1;
	}
	return best;
}

static void say_fresh(struct pipeline *f, const struct fresh_reads *r, size_t first)
{
	double bytes = 0, slow = 0, ns = 0;
	char text[UNITS_TEXT_BYTES];
	uint64_t least;

	for (size_t i = first; i < r->count; i++) {
		bytes += (double)r->at[i].bytes;
		slow += r->at[i].is_slow ? (double)r->at[i].bytes : 0;
		ns += r->at[i].cpu_ns;
	}
	if (r->count - first < READS_LEAST || slow * 100 < SLOW_PERCENT * bytes)
		return;
	/* These reads are slow each time, so the threshold must not be the one that moves. */
	least = r->at[first].bytes;
	snprintf(text, sizeof(text), "%" PRIu64, least - (least == JOB_MALLOC_MAPS_BYTES));
	jobsection_say(f->to, DISTIL_LIKELY, "fresh_memory", text,
		       "reads of so many bytes and more take %.1f ns of CPU a byte, and no copying "
		       "does: memory that is new each time has its pages made",
		       ns / bytes);
}

void pipeline_fresh(struct pipeline *f)
{
	const struct specimens *s = &f->d->specimens;
	struct fresh_reads r = { 0 };

	for (uint32_t i = 0; i < s->count; i++)
		if (pipeline_is_whole(f, &s->at[i]))
			add_reads(&r, &s->at[i]);
	if (r.count) {
		qsort(r.at, r.count, sizeof(*r.at), by_bytes);
		say_fresh(f, &r, first_slow(&r));
	}
	mem_free(r.at);
}
