/* SPDX-License-Identifier: Apache-2.0 */
/* describe_fill.c - what the books of a trace come to, as figures. */
#include "tracing/describe/describe_inside.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tracing/describe/opkind.h"
#include "report/metrics/metrics.h"

static double fill_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : (double)NAN;
}

static double per_second(const struct described_trace *t, uint64_t n)
{
	return t->seconds > 0 ? (double)n / t->seconds : (double)NAN;
}

double describe_seconds(const struct describe *d, uint64_t ns)
{
	if (ns == TRACE_UNKNOWN)
		return (double)NAN;
	return ns >= d->start_ns ? (double)(ns - d->start_ns) / NS_PER_S
				 : -(double)(d->start_ns - ns) / NS_PER_S;
}

/* ---- the trace itself ---- */

/* When it began, by the clock on the wall: "2026-11-21 14:02:11 UTC". */
static void fill_time(struct describe *d)
{
	const struct trace_head *h = trace_reader_head(d->reader);
	uint64_t wall = h->wall_ns + (d->start_ns - h->clock_ns);
	time_t seconds = (time_t)(wall / NS_PER_S);
	struct tm utc;
	char text[64];

	if (!h->wall_ns || h->wall_ns == TRACE_UNKNOWN || !gmtime_r(&seconds, &utc) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc))
		return;
	d->to->figures.trace.time = json_store_text(&d->to->store, text);
}

static void fill_read(struct describe *d)
{
	const struct trace_read *r = trace_reader_read(d->reader);
	struct described_trace *t = &d->to->figures.trace;
	struct described_loss *parts = t->lost.parts.items;

	t->files = r->files;
	t->chunks = r->chunks;
	t->records = r->records;
	t->entries = r->entries;
	t->bytes = r->bytes;
	t->damaged_chunks = r->damaged_chunks;
	t->damaged_bytes = r->damaged_bytes;
	t->truncated = r->truncated;
	t->unknown_ops = r->unknown_ops;
	t->is_complete =
		!r->damaged_chunks && !r->damaged_bytes && !r->truncated && !t->lost.events;
	for (size_t i = 0; i < t->lost.parts.count; i++) {
		/* Doubles hold them to a millisecond of a century. */
		double first = parts[i].first_seconds;
		double last = parts[i].last_seconds;

		parts[i].first_seconds =
			first < 1.8e19 ? (first - (double)d->start_ns) / 1e9 : (double)NAN;
		parts[i].last_seconds =
			last < 1.8e19 ? (last - (double)d->start_ns) / 1e9 : (double)NAN;
	}
	fill_time(d);
}

static void fill_rates(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	const struct described_op *read = &t->operations.of[TRACE_READ];
	const struct described_op *write = &t->operations.of[TRACE_WRITE];

	t->seconds = (double)(d->end_ns - d->start_ns) / NS_PER_S;
	t->read_bytes = read->bytes;
	t->written_bytes = write->bytes;
	t->samples = d->marks.has_samples ? t->operations.of[TRACE_SAMPLE].count : TRACE_UNKNOWN;
	t->read_bytes_per_sec = per_second(t, read->bytes);
	t->write_bytes_per_sec = per_second(t, write->bytes);
	t->reads_per_sec = per_second(t, read->count);
	t->writes_per_sec = per_second(t, write->count);
	/* Little's law: what they took together, of the time there was. */
	t->in_flight_mean = d->moved_ns ? per_second(t, d->moved_ns) / NS_PER_S : (double)NAN;
	t->steps.count = t->operations.of[TRACE_STEP].count;
	t->steps.step_ns = t->operations.of[TRACE_STEP].lat_ns;
	t->steps.compute_ns = t->operations.of[TRACE_COMPUTE].lat_ns;
	t->async.submitted = t->operations.of[TRACE_ASYNC_SUBMIT].count;
	t->async.completed = t->operations.of[TRACE_ASYNC_COMPLETE].count;
	t->async.depth_most = pairing_most(d->async);
}

/* ---- what the kernel did ---- */

static void fill_cache(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_cache *c = &t->cache;
	uint64_t from = TRACE_UNKNOWN, ahead = 0;

	c->added_bytes = TRACE_UNKNOWN;
	c->hit_percent = c->read_ahead_percent = (double)NAN;
	if (d->seen[TRACE_CACHE_ADD]) {
		c->source = "pages added to the cache";
		from = t->operations.of[TRACE_CACHE_ADD].bytes;
		ahead = d->cache_ahead_bytes;
		c->added_bytes = from;
	} else if (d->seen[TRACE_BLOCK_ISSUE]) {
		c->source = "block requests";
		from = t->block.read_bytes;
		ahead = d->block_ahead_bytes;
	} else {
		c->unknown = "neither pages that came into the page cache nor block requests were "
			     "recorded";
		return;
	}
	c->read_ahead_percent = fill_percent(ahead, from);
	if (t->read_bytes)
		c->hit_percent = fmax(0, 100 - fill_percent(from, t->read_bytes));
	else
		c->unknown = "no call read a byte";
}

static void fill_block(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_block *b = &t->block;

	b->depth_most = pairing_most(d->block);
	b->depth_mean = per_second(t, d->block_ns) / NS_PER_S;
	b->read_ahead_percent = fill_percent(d->block_ahead_bytes, b->read_bytes);
	if (d->seen[TRACE_BLOCK_ISSUE] || d->seen[TRACE_BLOCK_COMPLETE])
		return;
	b->unknown = "block requests were not recorded";
	b->reads = b->writes = b->read_bytes = b->written_bytes = b->depth_most = TRACE_UNKNOWN;
	b->depth_mean = (double)NAN;
}

static void fill_mmap(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_mmap *m = &t->mmap;
	uint64_t ns =
		d->fault_last_ns > d->fault_first_ns ? d->fault_last_ns - d->fault_first_ns : 0;

	m->maps = t->operations.of[TRACE_MMAP].count;
	m->faults = d->seen[TRACE_FAULT];
	m->faults_per_sec = ns ? (double)m->faults / ((double)ns / NS_PER_S) : (double)NAN;
	if (m->faults)
		return;
	m->unknown = m->maps ? "page faults were not recorded" : "no file was mapped";
	if (m->maps)
		m->faults = m->pages = TRACE_UNKNOWN;
}

static void fill_metadata(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_metadata *m = &t->metadata;
	double mib = (double)(t->read_bytes + t->written_bytes) / BYTES_PER_MIB;

	for (unsigned op = 0; op < TRACE_OPS; op++)
		if (opkind_of(op) & OPKIND_METADATA)
			m->operations += t->operations.of[op].count;
	m->per_mib = mib > 0 ? (double)m->operations / mib : (double)NAN;
	m->opens_per_sample = (double)NAN;
	if (t->samples != TRACE_UNKNOWN && t->samples)
		m->opens_per_sample =
			(double)t->operations.of[TRACE_OPEN].count / (double)t->samples;
	else
		m->opens_unknown = "no marker says what a sample is";
}

/* ---- everything ---- */

static void fill_cpu(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;

	taskbook_totals(&d->tasks, t);
	if (t->cpu.switches != TRACE_UNKNOWN)
		t->cpu.switches_per_sec = per_second(t, t->cpu.switches);
}

static void fill_series(struct describe *d)
{
	struct description *to = d->to;
	const struct intervals_has has = { .pages = d->seen[TRACE_CACHE_ADD],
					   .blocks = d->seen[TRACE_BLOCK_ISSUE],
					   .switches = d->seen[TRACE_ON_CPU] };

	intervals_coarsen(&to->series, &to->log, DESCRIBE_SERIES);
	intervals_finish(&to->log, &has);
	intervals_finish(&to->series, &has);
	to->figures.trace.interval_seconds = (double)to->series.length_ns / NS_PER_S;
	to->figures.trace.series = (struct metric_list){ to->series.at, to->series.count };
}

void describe_fill(struct describe *d)
{
	struct described *f = &d->to->figures;

	f->version = metrics_version();
	f->schema_version = METRICS_SCHEMA_VERSION;
	fill_read(d);
	fill_rates(d);
	filebook_sum(&d->files, &f->trace);
	fill_cpu(d);
	fill_block(d);
	fill_cache(d);
	fill_mmap(d);
	fill_metadata(d);
	fill_series(d);
	describe_fill_lists(d);
}
