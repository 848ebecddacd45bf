/* SPDX-License-Identifier: Apache-2.0 */
/* intervals.c - a trace over time: intervals of one length, phases, and rows of CSV. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/describe_internal.h"

/* Bytes in one direction are ignored if they are less than 1 / PHASES_PART of the bytes in the
 * other direction. */
#define PHASES_PART 10

void intervals_init(struct intervals *s, uint64_t start_ns, uint64_t end_ns, uint64_t length_ns)
{
	uint64_t span = end_ns > start_ns ? end_ns - start_ns : 1;

	while (divide_up(span, length_ns) > INTERVALS_MAX)
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

void intervals_add(struct intervals *s, const struct trace_record *r)
{
	unsigned kind = opkind_of(r->op);

	if (!opkind_has_time(r) || opkind_end_ns(r) < s->start_ns)
		return;
	uint64_t n = (opkind_end_ns(r) - s->start_ns) / s->length_ns;
	struct interval *i = &s->at[u64_min(n, s->count - 1)];
	if (kind & OPKIND_CALL) {
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
		return;
	}
	i->faults += r->op == TRACE_FAULT;
	i->switches += r->op == TRACE_ON_CPU;
	if (r->op == TRACE_CACHE_ADD)
		i->cache_bytes += opkind_bytes(r);
	if (r->op == TRACE_BLOCK_ISSUE)
		*(r->flags & TRACE_WRITES ? &i->block_written_bytes : &i->block_read_bytes) +=
			opkind_bytes(r);
}

/* Bytes that were read ahead are counted in the interval in which they were read from storage. */
static double hit_of(const struct interval *i, uint64_t from_storage)
{
	if (!i->read_bytes)
		return (double)NAN;
	return fmax(0, 100 - 100 * (double)from_storage / (double)i->read_bytes);
}

void intervals_finish(struct intervals *s, const uint64_t seen[TRACE_OPS])
{
	for (size_t n = 0; n < s->count; n++) {
		struct interval *i = &s->at[n];

		i->seconds = (double)(n + 1) * (double)s->length_ns / NS_PER_S;
		i->hit_percent = seen[TRACE_CACHE_ADD]     ? hit_of(i, i->cache_bytes)
				 : seen[TRACE_BLOCK_ISSUE] ? hit_of(i, i->block_read_bytes)
							   : (double)NAN;
		if (!seen[TRACE_CACHE_ADD])
			i->cache_bytes = TRACE_UNKNOWN;
		if (!seen[TRACE_BLOCK_ISSUE])
			i->block_read_bytes = i->block_written_bytes = TRACE_UNKNOWN;
		if (!seen[TRACE_ON_CPU])
			i->switches = TRACE_UNKNOWN;
	}
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
	for (size_t i = 0; i < from->count; i++) {
		struct interval *sum = &to->at[i / each];
		const struct interval *add = &from->at[i];

		sum->opens += add->opens;
		sum->metadata += add->metadata;
		sum->reads += add->reads;
		sum->read_bytes += add->read_bytes;
		sum->writes += add->writes;
		sum->written_bytes += add->written_bytes;
		sum->errors += add->errors;
		sum->faults += add->faults;
		sum->cache_bytes += add->cache_bytes;
		sum->block_read_bytes += add->block_read_bytes;
		sum->block_written_bytes += add->block_written_bytes;
		sum->switches += add->switches;
	}
}

/* ---- phases ---- */

static enum phase_kind kind_of(const struct interval *i)
{
	uint64_t read = i->read_bytes, written = i->written_bytes;

	if (!read && !written)
		return MOVES_NOTHING;
	if (written < read / PHASES_PART || !written)
		return MOVES_IN;
	return read < written / PHASES_PART || !read ? MOVES_OUT : MOVES_BOTH;
}

size_t phases_find(const struct intervals *s, struct phase *to, size_t most)
{
	struct phase now = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		enum phase_kind kind = kind_of(&s->at[i]);

		if (i == 0 || kind != now.kind) {
			now = (struct phase){ .kind = kind, .first = i };
			n++;
		}
		now.count++;
		now.bytes += s->at[i].read_bytes + s->at[i].written_bytes;
		if (n <= most)
			to[n - 1] = now;
	}
	return n;
}

/* ---- CSV ---- */

/* A cell that is unknown is empty. */
static void print_cell(FILE *to, const struct mlgen_field *f, const struct interval *i)
{
	const char *at = (const char *)i + f->off;
	double real;
	uint64_t whole;

	if (f->type == MLGEN_F64) {
		memcpy(&real, at, sizeof(real));
		if (!isnan(real))
			fprintf(to, "%.*f", f == interval_fields ? 3 : 2, real);
		return;
	}
	memcpy(&whole, at, sizeof(whole));
	if (whole != UINT64_MAX)
		fprintf(to, "%" PRIu64, whole);
}

void describe_log(FILE *to, const struct description *d)
{
	for (const struct mlgen_field *f = interval_fields; f->name; f++)
		fprintf(to, "%s%s", f == interval_fields ? "" : ",", f->name);
	fputc('\n', to);
	for (size_t i = 0; i < d->log.count; i++) {
		for (const struct mlgen_field *f = interval_fields; f->name; f++) {
			if (f != interval_fields)
				fputc(',', to);
			print_cell(to, f, &d->log.at[i]);
		}
		fputc('\n', to);
	}
}
