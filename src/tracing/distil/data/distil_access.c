/* SPDX-License-Identifier: Apache-2.0 */
/* distil_access.c - options for the calls that read samples, or templates of these calls. */
#include "tracing/distil/data/data_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "trace/model/model.h"
#include "trace/trace.h"
#include "tracing/distil/facts/facts.h"

/* Offsets up to this far from a file's beginning or end, or from the end of the previous read, are
 * stored relative to that place. There are headers, tables and their copies. */
#define NEAR_BYTES (UINT64_C(1) << 20)

enum { TEMPLATES_MOST = 64, WHY_BYTES = 96 };

/* Visits as templates of calls, for access=recorded. */
struct templates {
	struct recorded recorded;
	char *why[TEMPLATES_MOST]; /* comment of a template: its number of visits */
	unsigned visits;           /* visits that became templates */
	unsigned kinds;            /* different templates before rare ones were merged */
	bool is_cut;               /* some visits have more calls than were recorded */
	unsigned incomplete;       /* visits with calls that no template can have, such as mmap */
};

/* State of converting a visit to a template. */
struct encoding {
	const struct explain_visit *visit;
	struct explain_piece sample; /* len_bytes 0 = the file is a sample */
	const struct explain_call *calls;
	unsigned count;
	uint64_t last_end; /* end of the previous read */
	bool has_read;
	struct recorded_template *to;
};

static struct recorded_call *add_line(struct encoding *e, enum mlgen_op op)
{
	struct recorded_template *t = e->to;

	t->calls = mem_grow(t->calls, &t->room, t->count + 1, sizeof(*t->calls));
	struct recorded_call *c = &t->calls[t->count++];
	memset(c, 0, sizeof(*c));
	c->op = op;
	return c;
}

/* ---- single reads ---- */

static void set_anchor(const struct encoding *e, struct recorded_call *to,
		       const struct explain_call *c)
{
	uint64_t file = e->visit->file_bytes, off = c->off;

	if (e->has_read && off == e->last_end) {
		to->anchor = RECORDED_HERE;
	} else if (off == 0) {
		to->anchor = RECORDED_START;
	} else if (e->sample.len_bytes && off >= e->sample.off &&
		   off - e->sample.off < e->visit->stride_bytes) {
		to->anchor = RECORDED_SAMPLE;
		to->off = off - e->sample.off;
	} else if (off <= file && file - off < off && file - off < NEAR_BYTES) {
		to->anchor = RECORDED_END;
		to->off = file - off;
	} else if (off < NEAR_BYTES) {
		to->anchor = RECORDED_START;
		to->off = off;
	} else if (e->has_read && off > e->last_end && off - e->last_end < NEAR_BYTES) {
		to->anchor = RECORDED_HERE;
		to->off = off - e->last_end;
	} else {
		to->anchor = RECORDED_ANY;
	}
}

/* Python's read() of the rest of a file asks for one byte more. */
static struct recorded_length length_of(const struct encoding *e, const struct explain_call *c)
{
	uint64_t file = e->visit->file_bytes;
	uint64_t rest = c->off < file ? file - c->off : 0;
	uint64_t sample_end = e->sample.off + e->visit->stride_bytes;

	if (rest && (c->len_bytes == rest || c->len_bytes == rest + 1))
		return (struct recorded_length){ .kind = RECORDED_REST };
	if (e->sample.len_bytes && c->off >= e->sample.off && c->off + c->len_bytes == sample_end)
		return (struct recorded_length){
			.kind = RECORDED_REST_OF_SAMPLE,
		};
	return (struct recorded_length){ .kind = RECORDED_BYTES, .bytes = c->len_bytes };
}

/* ---- reads that repeat ---- */

/* Number of reads, from the start of the run, whose lengths repeat after `period` reads. */
static unsigned repeats(const struct explain_call *c, unsigned run, unsigned period)
{
	unsigned n = period;

	while (n < run && c[n].len_bytes == c[n - period].len_bytes)
		n++;
	return n;
}

/* Add a line for one or more reads from calls[i] on. Returns the number of reads. */
static unsigned add_reads(struct encoding *e, unsigned i)
{
	const struct explain_call *c = &e->calls[i];
	unsigned run = 1, left = e->count - i, period = 1;

	/* Each read of a run begins at the end of the previous one. */
	while (run < left && c[run].op == MLGEN_READ &&
	       c[run].off == c[run - 1].off + c[run - 1].got_bytes && c[run].got_bytes > 0)
		run++;
	unsigned covered = repeats(c, run, 1);
	for (unsigned p = 2; p <= RECORDED_LENGTHS_MAX && 2 * p <= run; p++) {
		unsigned n = repeats(c, run, p);

		/* A shorter period covers as many reads. */
		if (n < 2 * p || n <= covered)
			continue;
		period = p;
		covered = n;
	}
	struct recorded_call *to = add_line(e, MLGEN_READ);
	set_anchor(e, to, c);
	if (covered > 1) {
		const struct explain_call *last = &c[covered - 1];
		uint64_t file = e->visit->file_bytes;
		bool is_cut = last == &e->calls[e->count - 1] &&
			      e->visit->specimen->count < e->visit->specimen->visit.calls;

		to->lengths = period;
		for (unsigned k = 0; k < period; k++)
			to->length[k] = (struct recorded_length){
				.kind = RECORDED_BYTES,
				.bytes = c[k].len_bytes,
			};
		to->until = is_cut || last->off + last->len_bytes >= file ? RECORDED_TO_END
									  : RECORDED_TIMES;
		to->times = to->until == RECORDED_TIMES ? covered : 1;
	} else {
		to->lengths = 1;
		to->length[0] = length_of(e, c);
		to->until = RECORDED_TIMES;
		to->times = 1;
	}
	e->last_end = c[covered - 1].off + c[covered - 1].got_bytes;
	e->has_read = true;
	return covered;
}

/* Convert the calls to lines. The lines have an open before the first read, and the last close
 * after all reads. */
static void encode(struct encoding *e)
{
	bool is_open = false, opens = false;

	for (unsigned i = 0; i < e->count; i++)
		opens |= e->calls[i].op == MLGEN_OPEN;
	for (unsigned i = 0; i < e->count;) {
		enum mlgen_op op = e->calls[i].op;

		if (op == MLGEN_OPEN || (!is_open && (!opens || op == MLGEN_READ))) {
			/* A template has one descriptor. */
			if (is_open)
				add_line(e, MLGEN_CLOSE);
			add_line(e, MLGEN_OPEN);
			is_open = true;
		}
		if (op == MLGEN_READ && e->calls[i].off != TRACE_UNKNOWN) {
			i += add_reads(e, i);
			continue;
		}
		if (op == MLGEN_STAT)
			add_line(e, MLGEN_STAT);
		i++;
	}
	if (e->has_read)
		add_line(e, MLGEN_CLOSE);
}

/* ---- templates ---- */

static bool is_line_equal(const struct recorded_call *a, const struct recorded_call *b)
{
	if (a->op != b->op || a->anchor != b->anchor || a->off != b->off ||
	    a->lengths != b->lengths || a->until != b->until || a->times != b->times)
		return false;
	for (unsigned i = 0; i < a->lengths; i++)
		if (a->length[i].kind != b->length[i].kind ||
		    a->length[i].bytes != b->length[i].bytes)
			return false;
	return true;
}

static bool is_template_equal(const struct recorded_template *a, const struct recorded_template *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!is_line_equal(&a->calls[i], &b->calls[i]))
			return false;
	return true;
}

/* Number of positions at which the lines of two templates differ. */
static uint32_t template_distance(const struct recorded_template *a,
				  const struct recorded_template *b)
{
	uint32_t both = a->count < b->count ? a->count : b->count;
	uint32_t apart = a->count + b->count - 2 * both;

	for (uint32_t i = 0; i < both; i++)
		apart += !is_line_equal(&a->calls[i], &b->calls[i]);
	return apart;
}

/* Add a template or count an equal one; `percent` is the count until finish() converts it. */
static void add_template(struct recorded *r, struct recorded_template *t, size_t *room)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (is_template_equal(&r->templates[i], t)) {
			r->templates[i].percent += 1;
			mem_free(t->calls);
			return;
		}
	r->templates = mem_grow(r->templates, room, r->count + 1, sizeof(*r->templates));
	t->percent = 1;
	r->templates[r->count++] = *t;
}

static int by_percent(const void *a, const void *b)
{
	const struct recorded_template *x = a, *y = b;

	return COMPARE(y->percent, x->percent);
}

static void finish(struct templates *c)
{
	struct recorded *r = &c->recorded;

	c->kinds = r->count;
	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);

	/* Merge the templates whose lines do not fit into a file into the most similar ones. */
	uint64_t lines = 0;
	uint32_t most = 0;
	while (most < r->count && most < TEMPLATES_MOST) {
		lines += r->templates[most].count;
		if (most && lines > RECORDED_CALLS_MAX)
			break;
		most++;
	}
	for (uint32_t i = most; i < r->count; i++) {
		uint32_t best = 0, least = UINT32_MAX;

		for (uint32_t k = 0; k < most; k++) {
			uint32_t distance = template_distance(&r->templates[k], &r->templates[i]);

			if (distance >= least)
				continue;
			least = distance;
			best = k;
		}
		r->templates[best].percent += r->templates[i].percent;
		mem_free(r->templates[i].calls);
	}
	if (r->count > most)
		r->count = most;

	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);
	for (uint32_t i = 0; i < r->count; i++) {
		char *why = mem_array(WHY_BYTES, 1);

		snprintf(why, WHY_BYTES, "%.0f of %u visits examined", r->templates[i].percent,
			 c->visits);
		c->why[i] = why;
		r->templates[i].percent *= 100.0 / c->visits;
	}
	r->percent = 100;
}

/*
 * Convert visits to templates. Offsets become relative to the file's beginning or end, to the
 * sample or to the previous read; requests that repeat become one line. Visits with the same lines
 * share one template. False: no visit reads.
 */
static bool find_templates(struct templates *c, const struct explain_visit *visits, unsigned count)
{
	struct explain_call *calls = mem_array(SPECIMEN_CALLS_MOST, sizeof(*calls));
	size_t room = 0;

	*c = (struct templates){ 0 };
	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;
		struct recorded_template t = { 0 };
		struct encoding e = { .visit = &visits[i], .calls = calls, .to = &t };
		bool is_incomplete = false;

		e.count = explain_calls_of(s, calls, SPECIMEN_CALLS_MOST);
		if (visits[i].stride_bytes)
			e.sample = explain_longest(calls, e.count);
		encode(&e);
		for (unsigned k = 0; k < e.count; k++)
			is_incomplete |= calls[k].op == MLGEN_OPS;
		c->incomplete += is_incomplete;
		if (!e.has_read) {
			mem_free(t.calls);
			continue;
		}
		c->is_cut |= s->count < s->visit.calls;
		c->visits++;
		add_template(&c->recorded, &t, &room);
	}
	mem_free(calls);
	if (c->visits)
		finish(c);
	return c->visits > 0;
}

/* ---- options ---- */

static void write_calls(FILE *to, const void *arg)
{
	const struct templates *c = arg;

	recorded_write(to, &c->recorded, (const char *const *)c->why);
}

static int set_recorded(struct distil *d, const struct explained *x, const struct templates *c,
			struct jobsection *to, struct mlgen_err *err)
{
	char name[SIDE_FILE_BYTES];
	int rc = side_file(name, d->side_folder, d->side_name, "calls", write_calls, c, err);

	if (rc < 0)
		return rc;
	if (x->reader && x->calls > 0)
		jobsection_set(to, DISTIL_SURE, "access", "recorded",
			       "no access plan of mlgen makes these calls; the calls of %s are the "
			       "most similar, %.1f %% are equal",
			       x->reader, 100 * x->calls);
	else
		jobsection_set(to, DISTIL_SURE, "access", "recorded",
			       "no access plan of mlgen makes these calls");
	jobsection_set(to, c->kinds == 1 ? DISTIL_SURE : DISTIL_LIKELY, "recorded_calls", name,
		       "calls of %u visits examined, as %" PRIu32 " template%s", c->visits,
		       c->recorded.count, plural(c->recorded.count));
	if (c->kinds > c->recorded.count)
		jobsection_comment(to,
				   "Visits are of %u kinds; rare kinds are counted with the most "
				   "similar template.",
				   c->kinds);
	if (c->is_cut)
		jobsection_comment(to,
				   "Only the first %d calls of long visits were examined; the last "
				   "of these calls extends to the end of the file.",
				   SPECIMEN_CALLS_MOST);
	if (c->incomplete)
		jobsection_comment(to,
				   "%u visits examined have calls that no template can contain, "
				   "such as mmap(2).",
				   c->incomplete);
	return 0;
}

static int record(struct distil *d, uint32_t party, const struct explained *x,
		  struct jobsection *to, struct mlgen_err *err)
{
	struct samplebook book;
	struct templates calls = { 0 };
	unsigned count;
	int rc = samplebook_init(&book, d, party, err);

	if (rc < 0)
		return rc;
	struct explain_visit *visits = samplevisits_all(d, party, &book, &count);
	/* A trace may have no reads: only pages of a mapping, or sizes. */
	if (find_templates(&calls, visits, count))
		rc = set_recorded(d, x, &calls, to, err);
	else
		jobsection_set(to, DISTIL_GUESS, "access", "plain",
			       "the trace contains no reads of samples, for example because files "
			       "are mapped; this job reads them whole");
	for (uint32_t i = 0; i < calls.recorded.count; i++) {
		mem_free(calls.recorded.templates[i].calls);
		mem_free(calls.why[i]);
	}
	mem_free(calls.recorded.templates);
	mem_free(visits);
	samplebook_fini(&book);
	return rc;
}

int distil_access(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	const struct distil_results *f = &d->found[party];
	const struct explained *x = &f->access;
	int rc = 0;

	if (f->num_files == 0)
		return 0;
	if (!x->is_explained) {
		rc = record(d, party, x, to, err);
	} else if (x->access != ACCESS_FRAMEWORK) {
		char text[UNITS_TEXT_BYTES];

		jobsection_set(to, x->equal == x->of ? DISTIL_SURE : DISTIL_LIKELY, "access",
			       "plain",
			       "open, sequential reads and close: %.1f %% of the calls of %u "
			       "visits examined",
			       100 * x->calls, x->of);
		units_format_size(text, x->bs_bytes);
		jobsection_set(to, DISTIL_SURE, "bs", text,
			       "all reads have this size, except the last, which may be shorter");
	} else if (x->equal == x->of) {
		jobsection_set(to, DISTIL_SURE, "access", "framework",
			       "all %u visits examined have exactly the calls of %s", x->of,
			       x->reader);
	} else {
		jobsection_set(to, DISTIL_LIKELY, "access", "framework",
			       "of %u visits examined, %u have exactly the calls of %s; of all "
			       "their calls, %.1f %% are equal",
			       x->of, x->equal, x->reader, 100 * x->calls);
	}
	if (rc == 0 && f->is_mapped) {
		char text[UNITS_TEXT_BYTES];
		bool reads = f->largest_read_bytes > 0;
		bool is_separate = reads && f->largest_read_bytes < FAULT_AROUND_BYTES;

		/* A fault maps FAULT_AROUND_BYTES. If all read() calls are shorter, mmap_from
		 * separates the two. */
		units_format_size(text, FAULT_AROUND_BYTES);
		jobsection_set(to, DISTIL_LIKELY, "ioengine", "mmap",
			       "samples are pages of mapped files, and each fault maps 64 KiB%s",
			       reads && !is_separate
				       ? "; this job also maps the parts that calls read"
				       : "");
		if (is_separate)
			jobsection_set(to, DISTIL_SURE, "mmap_from", text,
				       "no call reads more than %" PRIu64 " bytes",
				       f->largest_read_bytes);
	}
	if (rc == 0 && f->is_direct)
		jobsection_set(to, DISTIL_SURE, "direct", "1", "files are opened with O_DIRECT");
	return rc;
}
