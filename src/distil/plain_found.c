/* SPDX-License-Identifier: Apache-2.0 */
/* plain_found.c - what a trace reads and writes that is of no training, as plain jobs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "distil/plain_pace.h"
#include "distil/plain_saying.h"

enum {
	LEAST_REQUEST = 512, /* of bs */
	MOST_REQUEST = 1 << 30,
	FAULT_REQUEST = 64 << 10, /* what the kernel brings in around a fault */
};
/* Requests of such a part are of other sizes, or out of order, and it is as if there were none. */
#define FEW 0.01
#define IN_ORDER 0.5
/* Beside a training, what has less than such a part of all bytes is left out. */
#define LITTLE_PART 100

static double seconds(uint64_t ns)
{
	return (double)ns / NS_PER_S;
}

/* ---- what ---- */

static const char *rw_of(const struct plain_saying *g)
{
	if (g->reads && g->writes)
		return g->is_random ? "randrw" : "rw";
	if (g->writes)
		return g->is_random ? "randwrite" : "write";
	return g->is_random ? "randread" : "read";
}

static void say_rw(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	double in_order = plain_stream_in_order(s);
	enum distil_sure sure = in_order < 0.05 || in_order > 0.95 ? DISTIL_SURE : DISTIL_LIKELY;
	char text[16];

	jobsection_say(g->to, sure, "rw", rw_of(g),
		       "%" PRIu64 " reads and %" PRIu64
		       " writes; %.1f%% of them begin where the one before ended",
		       s->dir[0].count, s->dir[1].count, 100 * in_order);
	if (!g->reads || !g->writes)
		return;
	snprintf(text, sizeof(text), "%.0f%%",
		 100 * (double)s->dir[0].count / (double)(s->dir[0].count + s->dir[1].count));
	jobsection_say(g->to, DISTIL_SURE, "rwmixread", text,
		       "the part of the requests that reads");
}

/* ---- how much at a time ---- */

static uint64_t request_of(uint64_t bytes)
{
	return u64_min(u64_max(bytes, LEAST_REQUEST), MOST_REQUEST);
}

/* What ends a file is shorter than the others, and no size of its own. */
static double of_size(const struct plain_account *a, unsigned i)
{
	return (double)a->sizes[i].count / (double)a->count;
}

static bool has_one_size(const struct plain_account *a, uint64_t most)
{
	for (unsigned i = 0; i < PLAIN_SIZES; i++)
		if (a->sizes[i].count && a->sizes[i].bytes == most)
			return a->count - a->sizes[i].count <=
			       u64_max(a->files, (uint64_t)(FEW * (double)a->count));
	return !a->count;
}

/* Of sizes that are not rare; the most frequent has what is left. */
static void put_split(struct buf *b, const struct plain_account *a, uint64_t most)
{
	double rest = 100;
	char size[UNITS_TEXT_BYTES];

	for (unsigned i = 0; i < PLAIN_SIZES; i++) {
		double percent = floor(1e4 * of_size(a, i)) / 100;

		if (!a->sizes[i].count || a->sizes[i].bytes == most || percent < 100 * FEW)
			continue;
		rest -= percent;
		units_put_size(size, request_of(a->sizes[i].bytes));
		buf_addf(b, "%s/%.4g:", size, percent);
	}
	units_put_size(size, request_of(most));
	buf_addf(b, "%s/%.4g", size, rest);
}

static void say_split(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	struct buf b = { 0 };

	for (unsigned w = 0; w < 2; w++) {
		if (!s->dir[w].count)
			continue;
		if (b.len)
			buf_addc(&b, ',');
		put_split(&b, &s->dir[w], plain_stream_size(s, w));
	}
	jobsection_say(g->to, DISTIL_SURE, "bssplit", buf_str(&b),
		       "by how often each size is asked for%s",
		       g->reads && g->writes ? ", reads and writes apart" : "");
	buf_fini(&b);
	if (s->dir[0].others || s->dir[1].others)
		jobsection_note(g->to,
				"%" PRIu64 " requests have sizes besides these; they are left out",
				s->dir[0].others + s->dir[1].others);
}

static void say_bs(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	uint64_t bytes[2] = { plain_stream_size(s, false), plain_stream_size(s, true) };
	char text[2][UNITS_TEXT_BYTES];
	struct buf b = { 0 };

	if (!has_one_size(&s->dir[0], bytes[0]) || !has_one_size(&s->dir[1], bytes[1])) {
		say_split(g);
		return;
	}
	for (unsigned w = 0; w < 2; w++)
		units_put_size(text[w], request_of(bytes[w]));
	buf_add(&b, text[g->reads ? 0 : 1]);
	if (g->reads && g->writes && bytes[0] != bytes[1])
		buf_addf(&b, ",%s", text[1]);
	jobsection_say(g->to, DISTIL_SURE, "bs", buf_str(&b),
		       "all requests, but the last of a file, are as long");
	buf_fini(&b);
	if ((g->reads && bytes[0] < LEAST_REQUEST) || (g->writes && bytes[1] < LEAST_REQUEST))
		jobsection_note(g->to,
				"in the trace they have %" PRIu64
				" bytes; 512 is the least there is",
				bytes[g->reads ? 0 : 1]);
}

static void say_faults(const struct plain_saying *g)
{
	jobsection_note(g->to, "Nothing is read by calls: pages of mapped files are. Of 64 KiB the "
			       "first touch alone is in a trace, so that requests are that long.");
	jobsection_say(g->to, DISTIL_SURE, "ioengine", "mmap",
		       "%" PRIu64 " page faults and no read", g->s->dir[0].count);
	plain_say_size(g->to, DISTIL_LIKELY, "bs", FAULT_REQUEST,
		       "what the kernel brings in around a fault");
}

/* ---- by whom, how ---- */

static void say_threads(const struct plain_saying *g)
{
	const struct plain_stream *s = g->s;
	uint32_t depth = (uint32_t)u64_max(s->dir[0].depth, s->dir[1].depth);
	bool is_direct = s->dir[0].is_direct || s->dir[1].is_direct;

	if (s->threads > 1)
		plain_say_number(g->to, DISTIL_SURE, "numjobs", s->threads,
				 s->is_shared
					 ? "so many threads do this, in the same files"
					 : "so many threads do this, each in files of its own");
	if (depth > 1 && !g->is_mapped) {
		plain_say_number(g->to, DISTIL_LIKELY, "iodepth", depth,
				 "so many requests of a thread are under way at a time, at most");
		jobsection_say(g->to, DISTIL_GUESS, "ioengine", is_direct ? "libaio" : "io_uring",
			       "requests overlap; which interface they went by no trace says");
	}
	plain_say_number(g->to, DISTIL_SURE, "direct", is_direct,
			 is_direct ? "the files are opened with O_DIRECT"
				   : "no file is opened with O_DIRECT");
}

static void say_sync(const struct plain_saying *g, const char *option, uint64_t syncs)
{
	const struct plain_account *w = &g->s->dir[1];
	uint64_t most = (uint64_t)g->s->threads * u64_max(1, g->s->file_count);

	if (!syncs || !g->writes)
		return;
	if (syncs <= most && strcmp(option, "fsync") == 0) {
		plain_say_number(g->to,
				 w->last_sync_ns >= w->last_start_ns ? DISTIL_SURE : DISTIL_LIKELY,
				 "end_fsync", 1, "each file is flushed once, at the end");
		return;
	}
	plain_say_number(g->to, DISTIL_LIKELY, option, u64_max(1, (w->count + syncs / 2) / syncs),
			 "the writes for each of these calls");
}

/* ---- when ---- */

static void say_pace(const struct plain_saying *g)
{
	struct plain_pace p;

	plain_pace_find(&p, g->s);
	switch (p.kind) {
	case PLAIN_PACE_NONE:
		break;
	case PLAIN_PACE_RATE:
		jobsection_say(g->to, DISTIL_LIKELY, "rate", p.rate,
			       "requests begin at even times, whatever the one before took: %.3g "
			       "ms apart, give or take %.1f%%",
			       p.gap_ns / 1e6, 100 * p.gap_spread);
		break;
	case PLAIN_PACE_THINK:
		jobsection_say(g->to, DISTIL_LIKELY, "thinktime", p.think,
			       "a thread is so long between its calls, on average; half of the "
			       "times are below %s, one of twenty is above %s",
			       p.think_p50, p.think_p95);
		if (p.blocks > 1)
			plain_say_number(g->to, DISTIL_LIKELY, "thinktime_blocks", p.blocks,
					 "the requests for each of these times");
		break;
	}
	jobsection_note(g->to, "In the trace it takes %.3f s and moves %" PRIu64 " bytes%s.",
			seconds(g->s->end_ns - g->s->start_ns),
			g->s->dir[0].bytes + g->s->dir[1].bytes,
			g->s->threads > 1 ? ", all threads together" : "");
}

/* ---- a section ---- */

static void say_stream(struct plain_saying *g)
{
	jobsection_heading(g->to, "what is read and written");
	say_rw(g);
	if (g->is_mapped)
		say_faults(g);
	else
		say_bs(g);
	plain_say_place(g);
	jobsection_heading(g->to, "by whom, and when");
	say_threads(g);
	say_sync(g, "fsync", g->s->dir[1].syncs);
	say_sync(g, "fdatasync", g->s->dir[1].datasyncs);
	say_pace(g);
	if (g->s->summed)
		jobsection_note(
			g->to,
			"%" PRIu32
			" more that are unlike any are in these figures, with all their bytes",
			g->s->summed);
}

static void begin_section(struct plain_saying *g, bool waits, uint64_t late_ns)
{
	char text[UNITS_TEXT_BYTES];

	if (waits)
		jobsection_say(g->to, DISTIL_LIKELY, "stonewall", "",
			       "in the trace it begins when what is above is over");
	jobsection_say(g->to, DISTIL_GUESS, "phase", "io",
		       "what it reads and writes fits no training");
	jobsection_say(g->to, DISTIL_GUESS, "directory", "${MLGEN_DIR:-.}",
		       "in the trace files lie elsewhere; missing ones are made");
	if (!late_ns)
		return;
	units_put_time(text, late_ns / 1000000 * 1000000);
	jobsection_say(g->to, DISTIL_LIKELY, "startdelay", text,
		       "so much later than the first beside it");
}

/* When it begins against those that run already: behind all, or beside some. */
struct turn {
	uint64_t start_ns, end_ns; /* of those beside each other */
	bool has_any;
};

static bool take_turn(struct turn *t, const struct plain_stream *s, uint64_t *late_ns)
{
	bool waits = t->has_any && s->start_ns >= t->end_ns;
	uint64_t span;

	*late_ns = 0;
	if (!t->has_any || waits) {
		*t = (struct turn){ s->start_ns, s->end_ns, true };
		return waits;
	}
	span = u64_max(t->end_ns, s->end_ns) - t->start_ns;
	/* Threads do not begin in the same millisecond. */
	if (s->start_ns - t->start_ns > span / 20 &&
	    s->start_ns - t->start_ns > 10 * NS_PER_S / 1000)
		*late_ns = s->start_ns - t->start_ns;
	t->end_ns = u64_max(t->end_ns, s->end_ns);
	return false;
}

/* The stage that markers name, if it is there at that time; NULL = none is. */
static const char *marked_name(const struct distil *d, const struct plain_stream *s)
{
	const struct mark_list *stages = &d->marks.stages;
	uint64_t middle = s->start_ns + (s->end_ns - s->start_ns) / 2;

	for (uint32_t i = 0; i < stages->count; i++) {
		const struct mark_account *m = mark_at(stages, i);
		const char *name;

		if (m->start_ns > middle || m->end_ns < middle || !m->name)
			continue;
		name = distil_path(d, m->name);
		if (plain_is_name(name) && strcmp(name, "global") != 0)
			return name;
	}
	return NULL;
}

static void say_section(struct distil *d, const struct plain_stream *s, bool waits,
			uint64_t late_ns)
{
	struct plain_saying g = {
		.d = d,
		.s = s,
		.reads = s->dir[0].count > 0,
		.writes = s->dir[1].count > 0,
		.is_random = plain_stream_in_order(s) < IN_ORDER,
		.is_mapped = s->dir[0].is_fault && !s->dir[1].count,
		.thread_bytes = (s->dir[0].bytes + s->dir[1].bytes) / u64_max(1, s->threads),
	};
	const char *name;

	name = marked_name(d, s);
	g.to = jobtext_section(d->to, name                  ? name
				      : g.reads && g.writes ? "mixed"
				      : g.writes            ? "write"
							    : "read");
	begin_section(&g, waits, late_ns);
	say_stream(&g);
}

/* Beside trainings, what is hardly anything is no job. */
static bool is_little(const struct distil *d, const struct plain_streams *s)
{
	uint64_t all = 0, here = 0;

	for (uint32_t i = 0; i < d->tasks.process_keys.count; i++) {
		const struct task_account *a = taskbook_process(&d->tasks, i);

		all += a->read_bytes + a->written_bytes;
	}
	for (uint32_t i = 0; i < s->count; i++)
		here += s->at[i].dir[0].bytes + s->at[i].dir[1].bytes;
	if (here >= all / LITTLE_PART)
		return false;
	jobtext_head(d->to,
		     "LEFT OUT: %" PRIu64 " bytes in %" PRIu32
		     " other patterns, less than 1%% of all.",
		     here, s->count);
	return true;
}

int distil_plain(struct distil *d, bool is_first, struct mlgen_err *err)
{
	struct turn turn = { 0 };
	struct plain_streams s = { 0 };
	struct plain_book b;
	int rc = plain_book_read(&b, d, err);

	if (rc == 0)
		plain_streams_find(&s, &b);
	if (rc == 0 && s.count && (is_first || !is_little(d, &s)))
		for (uint32_t i = 0; i < s.count; i++) {
			uint64_t late_ns;
			bool waits = take_turn(&turn, &s.at[i], &late_ns);

			say_section(d, &s.at[i], waits || (i == 0 && !is_first), late_ns);
		}
	plain_streams_fini(&s);
	plain_book_fini(&b);
	return rc;
}
