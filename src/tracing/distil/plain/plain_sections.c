/* SPDX-License-Identifier: Apache-2.0 */
/* plain_sections.c - print streams as sections of plain jobs: files, amounts and pace. */
#include "tracing/distil/plain/plain_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"

enum {
	LEAST_REQUEST = 512, /* the smallest bs */
	MOST_REQUEST = 1 << 30,
	FAULT_REQUEST = 64 << 10, /* the kernel maps pages around a fault (fault_around_bytes) */
};
/* A size is left out if fewer than this part of the requests have it. */
#define RARE_PART 0.01
/* If the trace has a training run, the streams are left out unless together they have at least 1 /
 * LITTLE_PART of all bytes. */
#define LITTLE_PART 100

/* The section that is printed. */
struct plain_section {
	struct distil *d;
	const struct plain_stream *s;
	struct jobsection *to;
	bool reads, writes, is_random, is_mapped;
	uint64_t thread_bytes; /* read and written by each thread */
};

static void print_size(struct jobsection *to, enum distil_sure sure, const char *option,
		       uint64_t bytes, const char *why)
{
	char text[UNITS_TEXT_BYTES];

	units_format_size(text, bytes);
	jobsection_set(to, sure, option, text, "%s", why);
}

/* ---- files ---- */

/* Size of the first file; 0 = unknown. */
static uint64_t file_bytes(const struct plain_section *g)
{
	const struct file_account *f = trace_files_at(&g->d->files, g->s->files[0]);

	return f && f->size_bytes ? f->size_bytes - 1 : 0;
}

/* Can the name be used in a job file without quotes? */
static bool is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-+", *p))
			return false;
	return *name && strlen(name) < 128;
}

/* Append all file names. False = a name needs quotes, or is used twice. */
static bool append_names(const struct plain_section *g, struct buf *b)
{
	const char *side = g->d->side_name;
	const char *prefix = has_text(side) && is_name(side) ? side : "distilled";

	for (uint32_t i = 0; i < g->s->file_count; i++) {
		const char *path = distil_path(g->d, g->s->files[i]);
		const char *name = distil_basename(path);

		if (!is_name(name) || (b->len && strstr(buf_str(b), name)))
			return false;
		/* The prefix keeps a job that writes away from the files of the trace. */
		buf_addf(b, "%s%s.%s", i ? ":" : "", prefix, name);
	}
	return true;
}

/* Random offsets hardly ever hit the ends of a region. Round the offset down as far as `slack`
 * allows. */
static uint64_t round_edge(uint64_t off, uint64_t slack)
{
	for (uint64_t unit = UINT64_C(1) << 50; unit > 1; unit /= 2)
		if (off % unit <= slack)
			return off - off % unit;
	return off;
}

/* Print the amount as a multiple of the size of all files, or in bytes. */
static void print_amount(const struct plain_section *g, uint64_t bytes)
{
	double times = (double)g->thread_bytes / (double)bytes;

	if (g->is_mapped)
		return;
	if (times >= 1.9 && fabs(times - round(times)) < 0.02 * times) {
		jobsection_set_u64(g->to, DISTIL_LIKELY, "loops", (uint64_t)llround(times),
				   "number of times that this size is read or written");
		return;
	}
	if (times > 0.99 && times < 1.01)
		return;
	print_size(g->to, DISTIL_SURE, "io_size", g->thread_bytes,
		   times < 1 ? "amount read and written, less than size"
			     : "amount read and written, some of it repeatedly");
}

/* Print the files, the region in them, and the amount. */
static void print_place(const struct plain_section *g)
{
	const struct plain_stream *s = g->s;
	uint64_t off, bytes, file = file_bytes(g);
	uint64_t files = s->is_after ? 1 : u64_max(1, s->file_count);

	struct buf b = { 0 };
	if ((s->threads == 1 || s->is_shared) && !s->is_after &&
	    s->file_count <= PLAIN_FILES_MOST && s->files[0] != UINT32_MAX && append_names(g, &b))
		jobsection_set(g->to, DISTIL_SURE, "filename", buf_str(&b), "%s%s, as %s",
			       s->file_count > 1 ? "files that are used in turn" : "the file",
			       s->is_shared ? " by all threads" : "",
			       distil_path(g->d, s->files[0]));
	else if (s->file_count > 1)
		jobsection_comment(
			g->to,
			"%" PRIu32
			" files, %s; this job has one file per thread, with the bytes of all",
			s->file_count, s->is_after ? "one after another" : "in turn");
	buf_fini(&b);

	/* If random requests touch nearly all of a file, the region is the whole file. */
	off = s->low == UINT64_MAX ? 0 : s->low;
	bytes = s->high > off ? s->high - off : g->thread_bytes;
	if (s->is_after || s->file_count > PLAIN_FILES_MOST) {
		off = 0;
		bytes = g->thread_bytes;
	}
	uint64_t requests = s->dir[0].count + s->dir[1].count;
	if (g->is_random && !s->is_after && bytes && requests) {
		uint64_t slack = 4 * bytes / requests;
		uint64_t end = off + bytes;

		off = round_edge(off, slack);
		if (file >= end && file - end <= slack)
			end = file;
		bytes = end - off;
	}
	/* Sequential reads and writes have separate positions in the region, so size= is the sum of
	 * both amounts. */
	if (g->reads && g->writes && !g->is_random && g->thread_bytes > bytes &&
	    g->thread_bytes <= 2 * bytes)
		bytes = g->thread_bytes;

	if (off)
		print_size(g->to, DISTIL_SURE, "offset", off,
			   "nothing before this offset is read or written");
	if (file > off + bytes && !s->is_after)
		print_size(g->to, DISTIL_SURE, "filesize", file, "size of the file");
	print_size(g->to, DISTIL_SURE, "size", bytes * files,
		   files > 1 ? "reads and writes lie within this range, in all files"
			     : "reads and writes lie within this range");
	print_amount(g, bytes * files);

	/* Print norandommap= if random reads hit blocks again that were read before. */
	uint64_t unique;
	double could;
	if (!g->is_random || g->writes || g->s->threads > 1 || g->s->file_count > 1 ||
	    g->s->files[0] == UINT32_MAX)
		return;
	unique = trace_files_unique_bytes(&g->d->files,
					  trace_files_at(&g->d->files, g->s->files[0]));
	could = (double)u64_min(g->thread_bytes, bytes * files);
	if (unique == TRACE_UNKNOWN || (double)unique > 0.97 * could)
		return;
	jobsection_set(
		g->to, DISTIL_LIKELY, "norandommap", "1",
		"%" PRIu64
		" different bytes are read; if each block were read once, there would be %.0f",
		unique, could);
}

/* ---- times between requests ---- */

#define GAPS_LEAST 20 /* fewer gaps say nothing about the pace */
/* Gaps between starts are even if they vary by less than this part of their mean. */
#define EVEN 0.2
#define UNEVEN 1.1
#define RUNS_LEAST 5
#define RUNS_APART 0.4
/* Number of gaps from which on the distances of starts from a line say more than the variance of
 * the gaps. */
#define LINE_LEAST 100
#define OFF_MOST 2.0
/* Pauses are reported if they are at least this part of the thread's time, and have at least this
 * mean. */
#define THINKS_LEAST 0.1
#define THINK_LEAST_NS 5000.0
/* Long pauses are those that make up this share of the time. If they are few, each one follows
 * several requests. */
#define LONG_SHARE 0.9

struct plain_pace {
	enum { PACE_NONE, PACE_RATE, PACE_THINK } kind;
	char rate[2 * UNITS_TEXT_BYTES]; /* value of rate=: "16m", "8m,2m" */
	double gap_ns, gap_spread;       /* mean time between starts; its deviation / mean */
	char think[UNITS_TEXT_BYTES], think_p50[UNITS_TEXT_BYTES], think_p95[UNITS_TEXT_BYTES];
	uint64_t blocks; /* requests per pause */
};

struct pauses {
	uint64_t count[PLAIN_TIMES], ns[PLAIN_TIMES];
	uint64_t all, all_ns;
	double gap_ns, gap_squares, off_squares, think_squares;
	uint64_t gaps;
	uint64_t runs, run_sum, run_squares;
};

/* Format a quantile of pauses: the mean of the power of two in which it lies. */
static void format_quantile(char *to, const struct pauses *p, double q)
{
	uint64_t n = 0, at = (uint64_t)(q * (double)p->all);

	for (unsigned i = 0; i < PLAIN_TIMES; i++) {
		n += p->count[i];
		if (p->count[i] && n > at) {
			units_human_time(to, p->ns[i] / p->count[i]);
			return;
		}
	}
	units_human_time(to, 0);
}

/* Round to three digits, because people write no more. */
static uint64_t rounded(double v)
{
	double unit = v < 1000 ? 1 : pow(10, floor(log10(v)) - 2);

	return (uint64_t)llround(round(v / unit) * unit);
}

/* Bytes per second of one thread in a direction. */
static double rate_of(const struct plain_stream *s, unsigned w)
{
	const struct plain_account *a = &s->dir[w];

	if (!a->count || a->gap_ns <= 0)
		return 0;
	/* Gaps are summed over all threads. */
	return (double)a->bytes / (double)a->count * (double)a->gaps /
	       (a->gap_ns / (double)NS_PER_S);
}

/* Prefer a round size within 0.5%, because programs are given round rates and keep them. */
static uint64_t round_rate(double rate)
{
	for (double unit = 1024 * BYTES_PER_MIB; unit >= 1024; unit /= 2)
		if (rate >= unit && fabs(rate / unit - round(rate / unit)) * unit < 0.005 * rate)
			return (uint64_t)(round(rate / unit) * unit);
	return rounded(rate);
}

/* Does each pause follow the same number of requests? Runs before the first long pause are left
 * out, see add_run(). */
static bool is_in_blocks(const struct pauses *x)
{
	double n = (double)x->runs, mean = (double)x->run_sum / fmax(n, 1);

	return n >= RUNS_LEAST && mean >= 1.8 &&
	       sqrt(fmax((double)x->run_squares / n - mean * mean, 0)) < RUNS_APART * mean;
}

static void set_think(struct plain_pace *p, const struct pauses *x)
{
	uint64_t count = 0, ns = 0;

	for (unsigned i = PLAIN_TIMES; i-- > 0;) {
		count += x->count[i];
		ns += x->ns[i];
		if ((double)ns >= LONG_SHARE * (double)x->all_ns)
			break;
	}
	p->blocks = count ? (x->all + count / 2) / count : 1;
	if (is_in_blocks(x))
		p->blocks = (x->run_sum + x->runs / 2) / x->runs;
	/* Every request is followed by a pause, of any length. */
	if (p->blocks < 2) {
		p->blocks = 1;
		count = x->all;
		ns = x->all_ns;
	}
	units_format_time(p->think, rounded((double)ns / (double)count));
	format_quantile(p->think_p50, x, 0.5);
	format_quantile(p->think_p95, x, 0.95);
	p->kind = PACE_THINK;
}

static double spread_of(double squares, double mean, uint64_t n)
{
	return sqrt(fmax(squares / (double)n - mean * mean, 0));
}

/* Does the thread keep a rate? At a rate, a late request is made up for, so starts stay near a
 * line. If a thread pauses between requests instead, each late request delays all later ones. */
static bool is_at_rate(const struct pauses *x, double gap, double spread, double think_spread)
{
	double off = sqrt(x->off_squares / (double)x->gaps);

	if (x->gaps >= LINE_LEAST)
		return off < OFF_MOST * fmax(spread, EVEN * gap) && spread <= UNEVEN * think_spread;
	return spread < EVEN * gap && spread < think_spread;
}

static void pace_find(struct plain_pace *p, const struct plain_stream *s)
{
	*p = (struct plain_pace){ .blocks = 1 };

	struct pauses x = (struct pauses){ 0 };
	for (unsigned w = 0; w < 2; w++) {
		const struct plain_account *a = &s->dir[w];

		for (unsigned i = 0; i < PLAIN_TIMES; i++) {
			x.count[i] += a->thinks[i];
			x.ns[i] += a->think_ns[i];
			x.all += a->thinks[i];
			x.all_ns += a->think_ns[i];
		}
		x.gaps += a->gaps;
		x.runs += a->runs;
		x.run_sum += a->run_sum;
		x.run_squares += a->run_squares;
		x.gap_ns += a->gap_ns;
		x.gap_squares += a->gap_squares;
		x.off_squares += a->start_squares;
		x.think_squares += a->think_squares;
	}

	if (x.gaps < GAPS_LEAST || x.all == 0)
		return;
	double mean = (double)x.all_ns / (double)x.all;
	if (mean < THINK_LEAST_NS || (double)x.all_ns < THINKS_LEAST * x.gap_ns)
		return;
	p->gap_ns = x.gap_ns / (double)x.gaps;
	double spread = spread_of(x.gap_squares, p->gap_ns, x.gaps);
	double think_spread = spread_of(x.think_squares, mean, x.all);
	p->gap_spread = spread / p->gap_ns;
	if (!is_in_blocks(&x) && is_at_rate(&x, p->gap_ns, spread, think_spread)) {
		char read[UNITS_TEXT_BYTES], write[UNITS_TEXT_BYTES];

		units_format_size(read, round_rate(rate_of(s, 0)));
		units_format_size(write, round_rate(rate_of(s, 1)));
		if (s->dir[0].count && s->dir[1].count)
			snprintf(p->rate, sizeof(p->rate), "%s,%s", read, write);
		else
			snprintf(p->rate, sizeof(p->rate), "%s", s->dir[1].count ? write : read);
		p->kind = PACE_RATE;
	} else {
		set_think(p, &x);
	}
}

/* ---- direction and order ---- */

static const char *rw_of(const struct plain_section *g)
{
	if (g->reads && g->writes)
		return g->is_random ? "randrw" : "rw";
	if (g->writes)
		return g->is_random ? "randwrite" : "write";
	return g->is_random ? "randread" : "read";
}

static void print_rw(const struct plain_section *g)
{
	const struct plain_stream *s = g->s;
	double in_order = plain_stream_in_order(s);
	enum distil_sure sure = in_order < 0.05 || in_order > 0.95 ? DISTIL_SURE : DISTIL_LIKELY;
	char text[16];

	jobsection_set(g->to, sure, "rw", rw_of(g),
		       "%" PRIu64 " reads and %" PRIu64
		       " writes; %.1f%% of them begin where the previous one ended",
		       s->dir[0].count, s->dir[1].count, 100 * in_order);
	if (!g->reads || !g->writes)
		return;
	snprintf(text, sizeof(text), "%.0f%%",
		 100 * (double)s->dir[0].count / (double)(s->dir[0].count + s->dir[1].count));
	jobsection_set(g->to, DISTIL_SURE, "rwmixread", text, "share of reads among the requests");
}

/* ---- sizes of requests ---- */

static uint64_t request_of(uint64_t bytes)
{
	return u64_min(u64_max(bytes, LEAST_REQUEST), MOST_REQUEST);
}

/* Do all requests have this size, except the last requests of files and rare requests? */
static bool has_one_size(const struct plain_account *a, uint64_t most)
{
	for (unsigned i = 0; i < PLAIN_SIZES; i++)
		if (a->sizes[i].count && a->sizes[i].bytes == most)
			return a->count - a->sizes[i].count <=
			       u64_max(a->files, (uint64_t)(RARE_PART * (double)a->count));
	return !a->count;
}

/* Append the sizes that are not rare. The most frequent size gets the remaining percentage. */
static void append_split(struct buf *b, const struct plain_account *a, uint64_t most)
{
	double rest = 100;
	char size[UNITS_TEXT_BYTES];

	for (unsigned i = 0; i < PLAIN_SIZES; i++) {
		double part = (double)a->sizes[i].count / (double)a->count;
		double percent = floor(1e4 * part) / 100;

		if (!a->sizes[i].count || a->sizes[i].bytes == most || percent < 100 * RARE_PART)
			continue;
		rest -= percent;
		units_format_size(size, request_of(a->sizes[i].bytes));
		buf_addf(b, "%s/%.4g:", size, percent);
	}
	units_format_size(size, request_of(most));
	buf_addf(b, "%s/%.4g", size, rest);
}

static void print_split(const struct plain_section *g)
{
	const struct plain_stream *s = g->s;
	struct buf b = { 0 };

	for (unsigned w = 0; w < 2; w++) {
		if (!s->dir[w].count)
			continue;
		if (b.len)
			buf_addc(&b, ',');
		append_split(&b, &s->dir[w], plain_stream_size(s, w));
	}
	jobsection_set(g->to, DISTIL_SURE, "bssplit", buf_str(&b),
		       "share of each size in the requests%s",
		       g->reads && g->writes ? ", separately for reads and writes" : "");
	buf_fini(&b);
	if (s->dir[0].other_sizes || s->dir[1].other_sizes)
		jobsection_comment(g->to,
				   "%" PRIu64 " requests have other sizes; they are left out",
				   s->dir[0].other_sizes + s->dir[1].other_sizes);
}

/* Print the size of requests, or how often each size occurs. */
static void print_bs(const struct plain_section *g)
{
	const struct plain_stream *s = g->s;
	uint64_t bytes[2] = { plain_stream_size(s, false), plain_stream_size(s, true) };
	char text[2][UNITS_TEXT_BYTES];
	struct buf b = { 0 };

	if (!has_one_size(&s->dir[0], bytes[0]) || !has_one_size(&s->dir[1], bytes[1])) {
		print_split(g);
		return;
	}
	for (unsigned w = 0; w < 2; w++)
		units_format_size(text[w], request_of(bytes[w]));
	buf_add(&b, text[g->reads ? 0 : 1]);
	if (g->reads && g->writes && bytes[0] != bytes[1])
		buf_addf(&b, ",%s", text[1]);
	jobsection_set(g->to, DISTIL_SURE, "bs", buf_str(&b),
		       "all requests have this size, except the last of a file");
	buf_fini(&b);
	if ((g->reads && bytes[0] < LEAST_REQUEST) || (g->writes && bytes[1] < LEAST_REQUEST))
		jobsection_comment(
			g->to, "in the trace, requests have %" PRIu64 " bytes; the minimum is 512",
			bytes[g->reads ? 0 : 1]);
}

/* ---- threads and calls ---- */

static void print_sync(const struct plain_section *g, const char *option, uint64_t syncs)
{
	const struct plain_account *w = &g->s->dir[1];
	uint64_t most = (uint64_t)g->s->threads * u64_max(1, g->s->file_count);

	if (!syncs || !g->writes)
		return;
	if (syncs <= most && strcmp(option, "fsync") == 0) {
		jobsection_set_u64(
			g->to, w->last_sync_ns >= w->last_start_ns ? DISTIL_SURE : DISTIL_LIKELY,
			"end_fsync", 1, "each file is flushed once, at the end");
		return;
	}
	jobsection_set_u64(g->to, DISTIL_LIKELY, option, u64_max(1, (w->count + syncs / 2) / syncs),
			   "number of writes for each of these calls");
}

/* ---- pace and section ---- */

static void print_pace(const struct plain_section *g)
{
	struct plain_pace p;

	pace_find(&p, g->s);
	switch (p.kind) {
	case PACE_NONE:
		break;
	case PACE_RATE:
		jobsection_set(g->to, DISTIL_LIKELY, "rate", p.rate,
			       "requests begin at regular intervals, regardless of the duration of "
			       "the previous one: %.3g ms apart, plus or minus %.1f%%",
			       p.gap_ns / 1e6, 100 * p.gap_spread);
		break;
	case PACE_THINK:
		jobsection_set(g->to, DISTIL_LIKELY, "thinktime", p.think,
			       "mean time between the calls of a thread; half of the times are "
			       "below %s, one in twenty is above %s",
			       p.think_p50, p.think_p95);
		if (p.blocks > 1)
			jobsection_set_u64(g->to, DISTIL_LIKELY, "thinktime_blocks", p.blocks,
					   "number of requests for each of these pauses");
		break;
	}
	jobsection_comment(g->to, "In the trace, this took %.3f s and moved %" PRIu64 " bytes%s.",
			   (double)(g->s->end_ns - g->s->start_ns) / NS_PER_S,
			   g->s->dir[0].bytes + g->s->dir[1].bytes,
			   g->s->threads > 1 ? ", for all threads together" : "");
}

/* The sections so far that run at the same time. */
struct overlap {
	uint64_t start_ns, end_ns;
	bool has_any;
};

/* Does the stream wait for the previous streams? If not, it runs at the same time, and *late_ns is
 * the delay of its start after the first of them. */
static bool add_stream_time(struct overlap *t, const struct plain_stream *s, uint64_t *late_ns)
{
	bool waits = t->has_any && s->start_ns >= t->end_ns;

	*late_ns = 0;
	if (!t->has_any || waits) {
		*t = (struct overlap){ s->start_ns, s->end_ns, true };
		return waits;
	}
	uint64_t span = u64_max(t->end_ns, s->end_ns) - t->start_ns;
	/* Threads never start at exactly the same time. */
	if (s->start_ns - t->start_ns > span / 20 &&
	    s->start_ns - t->start_ns > 10 * NS_PER_S / 1000)
		*late_ns = s->start_ns - t->start_ns;
	t->end_ns = u64_max(t->end_ns, s->end_ns);
	return false;
}

/* The name that markers give to the stage in the middle of the stream's time; NULL = there is
 * none. */
static const char *marked_name(const struct distil *d, const struct plain_stream *s)
{
	const struct mark_list *stages = &d->marks.stages;
	uint64_t middle = s->start_ns + (s->end_ns - s->start_ns) / 2;

	for (uint32_t i = 0; i < stages->count; i++) {
		const struct mark_account *m = mark_at(stages, i);

		if (m->start_ns > middle || m->end_ns < middle || !m->name)
			continue;
		const char *name = distil_path(d, m->name);
		if (is_name(name) && strcmp(name, "global") != 0)
			return name;
	}
	return NULL;
}

static void print_section(struct distil *d, const struct plain_stream *s, bool waits,
			  uint64_t late_ns)
{
	struct plain_section g = {
		.d = d,
		.s = s,
		.reads = s->dir[0].count > 0,
		.writes = s->dir[1].count > 0,
		.is_random = plain_stream_in_order(s) < PLAIN_IN_ORDER,
		.is_mapped = s->dir[0].is_fault && !s->dir[1].count,
		.thread_bytes = (s->dir[0].bytes + s->dir[1].bytes) / u64_max(1, s->threads),
	};
	const char *name = marked_name(d, s);
	char text[UNITS_TEXT_BYTES];

	g.to = jobtext_section(d->to, name                  ? name
				      : g.reads && g.writes ? "mixed"
				      : g.writes            ? "write"
							    : "read");
	if (waits)
		jobsection_set(g.to, DISTIL_LIKELY, "stonewall", "",
			       "in the trace, this begins after the sections above end");
	jobsection_set(g.to, DISTIL_GUESS, "phase", "io",
		       "these reads and writes do not fit a training");
	jobsection_set(g.to, DISTIL_GUESS, "directory", "${MLGEN_DIR:-.}",
		       "in the trace, files are elsewhere; mlgen makes missing files");
	if (late_ns) {
		units_format_time(text, late_ns / 1000000 * 1000000);
		jobsection_set(g.to, DISTIL_LIKELY, "startdelay", text,
			       "delay in the trace after the first job of its group");
	}

	jobsection_heading(g.to, "reads and writes");
	print_rw(&g);
	if (g.is_mapped) {
		jobsection_comment(
			g.to,
			"No call reads data; pages of mapped files are touched. A trace contains "
			"only the first touch of each 64 KiB, so requests have this size.");
		jobsection_set(g.to, DISTIL_SURE, "ioengine", "mmap",
			       "%" PRIu64 " page faults and no read", s->dir[0].count);
		print_size(g.to, DISTIL_LIKELY, "bs", FAULT_REQUEST,
			   "amount that the kernel maps around a fault");
	} else {
		print_bs(&g);
	}
	print_place(&g);
	jobsection_heading(g.to, "threads and times");

	uint32_t depth = (uint32_t)u64_max(s->dir[0].depth, s->dir[1].depth);
	bool is_direct = s->dir[0].is_direct || s->dir[1].is_direct;
	if (s->threads > 1)
		jobsection_set_u64(
			g.to, DISTIL_SURE, "numjobs", s->threads,
			s->is_shared ? "this many threads do the same, on the same files"
				     : "this many threads do the same, each on its own files");
	if (depth > 1 && !g.is_mapped) {
		jobsection_set_u64(g.to, DISTIL_LIKELY, "iodepth", depth,
				   "largest number of requests of a thread in flight");
		jobsection_set(g.to, DISTIL_GUESS, "ioengine", is_direct ? "libaio" : "io_uring",
			       "requests overlap; the trace does not show their interface");
	}
	jobsection_set_u64(g.to, DISTIL_SURE, "direct", is_direct,
			   is_direct ? "the files are opened with O_DIRECT"
				     : "no file is opened with O_DIRECT");

	print_sync(&g, "fsync", s->dir[1].syncs);
	print_sync(&g, "fdatasync", s->dir[1].datasyncs);
	print_pace(&g);
	if (s->summed)
		jobsection_comment(g.to,
				   "These figures include the bytes of %" PRIu32
				   " other streams, each too different for a section of its own",
				   s->summed);
}

/* Are all streams together negligible compared to a training run? If so, report that they are left
 * out. */
static bool is_negligible(const struct distil *d, const struct plain_streams *s)
{
	uint64_t all = 0, bytes = 0;

	for (uint32_t i = 0; i < d->tasks.processes.keys.count; i++) {
		const struct task_account *a = trace_tasks_process(&d->tasks, i);

		all += a->read_bytes + a->written_bytes;
	}
	for (uint32_t i = 0; i < s->count; i++)
		bytes += s->at[i].dir[0].bytes + s->at[i].dir[1].bytes;
	if (bytes >= all / LITTLE_PART)
		return false;
	jobtext_comment(d->to,
			"LEFT OUT: %" PRIu64 " bytes in %" PRIu32
			" other patterns, less than 1%% of all bytes.",
			bytes, s->count);
	return true;
}

int distil_plain(struct distil *d, bool is_first, struct mlgen_err *err)
{
	struct overlap overlap = { 0 };
	struct plain_streams s;
	int rc = plain_streams_read(&s, d, err);

	if (rc == 0 && s.count && (is_first || !is_negligible(d, &s)))
		for (uint32_t i = 0; i < s.count; i++) {
			uint64_t late_ns;
			bool waits = add_stream_time(&overlap, &s.at[i], &late_ns);

			print_section(d, &s.at[i], waits || (i == 0 && !is_first), late_ns);
		}
	plain_streams_fini(&s);
	return rc;
}
