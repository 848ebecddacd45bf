/* SPDX-License-Identifier: Apache-2.0 */
/* interval.c - what happened over time, in intervals of one length. */
#include "tracing/describe/interval.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/opkind.h"

void intervals_init(struct intervals *s, uint64_t start_ns, uint64_t end_ns, uint64_t length_ns)
{
	uint64_t span = end_ns > start_ns ? end_ns - start_ns : 1;

	while (divide_up(span, length_ns) > INTERVALS_MOST)
		length_ns = length_ns > UINT64_MAX / 2 ? UINT64_MAX : 2 * length_ns;
	*s = (struct intervals){ .start_ns = start_ns, .length_ns = length_ns };
	s->count = (size_t)divide_up(span, length_ns);
	s->at = mem_array(s->count, sizeof(*s->at));
}

void intervals_fini(struct intervals *s)
{
	mem_free(s->at);
	memset(s, 0, sizeof(*s));
}

static void add_call(struct interval *i, const struct trace_record *r, unsigned kind)
{
	if (opkind_failed(r)) {
		i->errors++;
		return;
	}
	i->opens += r->op == TRACE_OPEN;
	i->metadata += (kind & OPKIND_METADATA) != 0;
	if (kind & OPKIND_READ) {
		i->reads++;
		i->read_bytes += opkind_bytes(r);
	}
	if (kind & OPKIND_WRITE) {
		i->writes++;
		i->written_bytes += opkind_bytes(r);
	}
}

static void add_event(struct interval *i, const struct trace_record *r)
{
	i->faults += r->op == TRACE_FAULT;
	i->switches += r->op == TRACE_ON_CPU;
	if (r->op == TRACE_CACHE_ADD)
		i->cache_bytes += opkind_bytes(r);
	if (r->op == TRACE_BLOCK_ISSUE && r->flags & TRACE_WRITES)
		i->block_written_bytes += opkind_bytes(r);
	else if (r->op == TRACE_BLOCK_ISSUE)
		i->block_read_bytes += opkind_bytes(r);
}

void intervals_add(struct intervals *s, const struct trace_record *r)
{
	unsigned kind = opkind_of(r->op);

	if (!opkind_has_time(r) || opkind_end_ns(r) < s->start_ns)
		return;
	uint64_t n = (opkind_end_ns(r) - s->start_ns) / s->length_ns;
	struct interval *i = &s->at[u64_min(n, s->count - 1)];
	if (kind & OPKIND_CALL)
		add_call(i, r, kind);
	else
		add_event(i, r);
}

/* Of the bytes read; what came ahead of its read is in an earlier interval. */
static double hit_of(const struct interval *i, uint64_t from_storage)
{
	if (!i->read_bytes)
		return (double)NAN;
	return fmax(0, 100 - 100 * (double)from_storage / (double)i->read_bytes);
}

void intervals_finish(struct intervals *s, const struct intervals_has *has)
{
	for (size_t n = 0; n < s->count; n++) {
		struct interval *i = &s->at[n];

		i->seconds = (double)(n + 1) * (double)s->length_ns / NS_PER_S;
		i->hit_percent = has->pages    ? hit_of(i, i->cache_bytes)
				 : has->blocks ? hit_of(i, i->block_read_bytes)
					       : (double)NAN;
		if (!has->pages)
			i->cache_bytes = TRACE_UNKNOWN;
		if (!has->blocks)
			i->block_read_bytes = i->block_written_bytes = TRACE_UNKNOWN;
		if (!has->switches)
			i->switches = TRACE_UNKNOWN;
	}
}

/* Counts of both. */
static void add_interval(struct interval *to, const struct interval *from)
{
	to->opens += from->opens;
	to->metadata += from->metadata;
	to->reads += from->reads;
	to->read_bytes += from->read_bytes;
	to->writes += from->writes;
	to->written_bytes += from->written_bytes;
	to->errors += from->errors;
	to->faults += from->faults;
	to->cache_bytes += from->cache_bytes;
	to->block_read_bytes += from->block_read_bytes;
	to->block_written_bytes += from->block_written_bytes;
	to->switches += from->switches;
}

void intervals_coarsen(struct intervals *to, const struct intervals *from, size_t most)
{
	size_t each = 1;

	while (divide_up(from->count, each) > most)
		each *= 2;
	*to = (struct intervals){ .start_ns = from->start_ns,
				  .length_ns = from->length_ns * each,
				  .count = (size_t)divide_up(from->count, each) };
	to->at = mem_array(to->count, sizeof(*to->at));
	for (size_t i = 0; i < from->count; i++)
		add_interval(&to->at[i / each], &from->at[i]);
}

/* clang-format off */
#define I struct interval
#define COUNT(m) MLGEN_F_U64(I, m), .flags = MLGEN_NULLABLE
const struct mlgen_field interval_fields[] = {
	{ "seconds", MLGEN_F_F64(I, seconds), .unit = "s",
	  .help = "The end of the interval, since the trace began." },
	{ "opens", COUNT(opens), .unit = "operations",
	  .help = "Files that were opened." },
	{ "metadata", COUNT(metadata), .unit = "operations",
	  .help = "Calls that move no byte: open, close, stat, rename, unlink, mkdir, rmdir, getdents." },
	{ "reads", COUNT(reads), .unit = "operations",
	  .help = "Reads that ended in the interval." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes",
	  .help = "Bytes that they got." },
	{ "writes", COUNT(writes), .unit = "operations",
	  .help = "Writes that ended in the interval." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes",
	  .help = "Bytes that they wrote." },
	{ "errors", COUNT(errors), .unit = "operations",
	  .help = "Calls on files that failed." },
	{ "faults", COUNT(faults), .unit = "faults",
	  .help = "Page faults on mapped files." },
	{ "cache_bytes", COUNT(cache_bytes), .unit = "bytes",
	  .help = "Bytes that came into the page cache; null = not recorded." },
	{ "block_read_bytes", COUNT(block_read_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that read; null = not recorded." },
	{ "block_written_bytes", COUNT(block_written_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that write; null = not recorded." },
	{ "switches", COUNT(switches), .unit = "switches",
	  .help = "Times that a thread came off a CPU; null = not recorded." },
	{ "hit_percent", MLGEN_F_F64(I, hit_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "As cache.hit_percent, of this interval; pages that were read ahead count where they were read." },
	{ 0 },
};
#undef COUNT
#undef I
/* clang-format on */
