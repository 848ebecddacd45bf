/* SPDX-License-Identifier: Apache-2.0 */
/* access_found.c - by which calls a training reads its samples; or templates of these calls. */
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

/* As far from a file's beginning, or its end, or the read before, a place is thought to follow from
 * it: it holds headers, tables and their copies. */
#define NEAR_BYTES (UINT64_C(1) << 20)

enum { TEMPLATES_MOST = 64, WHY_BYTES = 96 };

/* Visits as templates of calls, for access=recorded. */
struct templates {
	struct recorded recorded;
	char *why[TEMPLATES_MOST]; /* by template: how many visits */
	unsigned visits;           /* that became templates */
	unsigned kinds;            /* different templates; those beyond TEMPLATES_MOST are merged
				    * into the nearest */
	bool is_cut;               /* not all calls of some visits are kept */
	unsigned without;          /* visits with calls that no template can have, which are left
				    * out */
};

/* A visit, on the way to its template. */
struct encoding {
	const struct explain_visit *visit;
	struct explain_piece sample; /* len 0 = the file is one */
	const struct explain_call *calls;
	unsigned count;
	uint64_t behind; /* where the read before ended */
	bool has_read;
	struct recorded_template *to;
};

static struct recorded_call *add_line(struct encoding *e, enum mlgen_op op)
{
	struct recorded_template *t = e->to;
	struct recorded_call *c;

	t->calls = mem_grow(t->calls, &t->room, t->count + 1, sizeof(*t->calls));
	c = &t->calls[t->count++];
	memset(c, 0, sizeof(*c));
	c->op = op;
	return c;
}

/* ---- one read ---- */

static void set_anchor(const struct encoding *e, struct recorded_call *to,
		       const struct explain_call *c)
{
	uint64_t file = e->visit->file_bytes, off = c->off;

	if (e->has_read && off == e->behind) {
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
	} else if (e->has_read && off > e->behind && off - e->behind < NEAR_BYTES) {
		to->anchor = RECORDED_HERE;
		to->off = off - e->behind;
	} else {
		to->anchor = RECORDED_ANY;
	}
}

/* Python's read() of all that is left asks for one byte more. */
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

/* Number of reads from here on that go on where the one before ended. */
static unsigned run_of(const struct explain_call *c, unsigned left)
{
	unsigned n = 1;

	while (n < left && c[n].op == MLGEN_READ && c[n].off == c[n - 1].off + c[n - 1].got_bytes &&
	       c[n].got_bytes > 0)
		n++;
	return n;
}

/* Of these, how many take lengths in turn that repeat after `period`. */
static unsigned repeats(const struct explain_call *c, unsigned run, unsigned period)
{
	unsigned n = period;

	while (n < run && c[n].len_bytes == c[n - period].len_bytes)
		n++;
	return n;
}

static unsigned best_period(const struct explain_call *c, unsigned run, unsigned *covered)
{
	unsigned best = 1;

	*covered = repeats(c, run, 1);
	for (unsigned p = 2; p <= RECORDED_LENGTHS_MAX && 2 * p <= run; p++) {
		unsigned n = repeats(c, run, p);

		/* The one that is shorter says the same. */
		if (n < 2 * p || n <= *covered)
			continue;
		best = p;
		*covered = n;
	}
	return best;
}

/* Several calls: lengths in turn, so many times or up to the file's end. */
static void add_run(struct encoding *e, const struct explain_call *c, unsigned period,
		    unsigned calls)
{
	const struct explain_call *last = &c[calls - 1];
	struct recorded_call *to = add_line(e, MLGEN_READ);
	uint64_t file = e->visit->file_bytes;
	bool is_cut = last == &e->calls[e->count - 1] &&
		      e->visit->specimen->count < e->visit->specimen->visit.calls;

	set_anchor(e, to, c);
	to->lengths = period;
	for (unsigned i = 0; i < period; i++)
		to->length[i] = (struct recorded_length){
			.kind = RECORDED_BYTES,
			.bytes = c[i].len_bytes,
		};
	to->until =
		is_cut || last->off + last->len_bytes >= file ? RECORDED_TO_END : RECORDED_TIMES;
	to->times = to->until == RECORDED_TIMES ? calls : 1;
}

static void add_one(struct encoding *e, const struct explain_call *c)
{
	struct recorded_call *to = add_line(e, MLGEN_READ);

	set_anchor(e, to, c);
	to->lengths = 1;
	to->length[0] = length_of(e, c);
	to->until = RECORDED_TIMES;
	to->times = 1;
}

/* Reads from calls[i] on that become one line: how many. */
static unsigned add_reads(struct encoding *e, unsigned i)
{
	const struct explain_call *c = &e->calls[i];
	unsigned run = run_of(c, e->count - i), covered, period;

	period = best_period(c, run, &covered);
	if (covered > 1)
		add_run(e, c, period, covered);
	else
		add_one(e, c);
	e->behind = c[covered - 1].off + c[covered - 1].got_bytes;
	e->has_read = true;
	return covered;
}

/* An open of a file that is open already closes it before: a template has one descriptor. */
static void add_open(struct encoding *e, bool *is_open)
{
	if (*is_open)
		add_line(e, MLGEN_CLOSE);
	add_line(e, MLGEN_OPEN);
	*is_open = true;
}

/* An open at least, before the first read; the last close behind all. */
static void encode(struct encoding *e)
{
	bool is_open = false, opens = false;

	for (unsigned i = 0; i < e->count; i++)
		opens |= e->calls[i].op == MLGEN_OPEN;
	for (unsigned i = 0; i < e->count;) {
		enum mlgen_op op = e->calls[i].op;

		if (op == MLGEN_OPEN || (!is_open && (!opens || op == MLGEN_READ)))
			add_open(e, &is_open);
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

static bool is_length_same(const struct recorded_length *a, const struct recorded_length *b)
{
	return a->kind == b->kind && a->bytes == b->bytes;
}

static bool is_line_same(const struct recorded_call *a, const struct recorded_call *b)
{
	if (a->op != b->op || a->anchor != b->anchor || a->off != b->off ||
	    a->lengths != b->lengths || a->until != b->until || a->times != b->times)
		return false;
	for (unsigned i = 0; i < a->lengths; i++)
		if (!is_length_same(&a->length[i], &b->length[i]))
			return false;
	return true;
}

static bool is_template_same(const struct recorded_template *a, const struct recorded_template *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!is_line_same(&a->calls[i], &b->calls[i]))
			return false;
	return true;
}

/* Lines that one of them has and the other has not, by their place. */
static uint32_t template_apart(const struct recorded_template *a, const struct recorded_template *b)
{
	uint32_t both = a->count < b->count ? a->count : b->count;
	uint32_t apart = a->count + b->count - 2 * both;

	for (uint32_t i = 0; i < both; i++)
		apart += !is_line_same(&a->calls[i], &b->calls[i]);
	return apart;
}

/* While they are counted, `percent` is how many. */
static void add_template(struct recorded *r, struct recorded_template *t, size_t *room)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (is_template_same(&r->templates[i], t)) {
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

static void merge_rare(struct recorded *r, uint32_t most)
{
	for (uint32_t i = most; i < r->count; i++) {
		uint32_t best = 0, least = UINT32_MAX;

		for (uint32_t k = 0; k < most; k++) {
			uint32_t apart = template_apart(&r->templates[k], &r->templates[i]);

			if (apart >= least)
				continue;
			least = apart;
			best = k;
		}
		r->templates[best].percent += r->templates[i].percent;
		mem_free(r->templates[i].calls);
	}
	if (r->count > most)
		r->count = most;
}

/* The number of templates whose lines fit into a file. */
static uint32_t most_of(const struct recorded *r)
{
	uint64_t lines = 0;
	uint32_t n = 0;

	while (n < r->count && n < TEMPLATES_MOST) {
		lines += r->templates[n].count;
		if (n && lines > RECORDED_CALLS_MAX)
			break;
		n++;
	}
	return n;
}

static void finish(struct templates *c)
{
	struct recorded *r = &c->recorded;

	c->kinds = r->count;
	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);
	merge_rare(r, most_of(r));
	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);
	for (uint32_t i = 0; i < r->count; i++) {
		char *why = mem_array(WHY_BYTES, 1);

		snprintf(why, WHY_BYTES, "%.0f of %u visits that were looked at",
			 r->templates[i].percent, c->visits);
		c->why[i] = why;
		r->templates[i].percent *= 100.0 / c->visits;
	}
	r->percent = 100;
}

static bool has_others(const struct explain_call *calls, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (calls[i].op == MLGEN_OPS)
			return true;
	return false;
}

/*
 * Offsets become relative to the file's beginning or end, the sample or the read before; requests
 * that repeat become one line. Visits with the same lines are one template. False: none of them
 * reads.
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

		e.count = explain_calls_of(s, calls, SPECIMEN_CALLS_MOST);
		if (visits[i].stride_bytes)
			e.sample = explain_longest(calls, e.count);
		encode(&e);
		c->without += has_others(calls, e.count);
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

static void templates_fini(struct templates *c)
{
	for (uint32_t i = 0; i < c->recorded.count; i++) {
		mem_free(c->recorded.templates[i].calls);
		mem_free(c->why[i]);
	}
	mem_free(c->recorded.templates);
	memset(c, 0, sizeof(*c));
}

/* ---- options ---- */

static void say_framework(const struct explained *x, struct jobsection *to)
{
	if (x->equal == x->of)
		jobsection_say(
			to, DISTIL_SURE, "access", "framework",
			"%u visits were looked at, and each of them has the very calls of %s",
			x->of, x->reader);
	else
		jobsection_say(to, DISTIL_LIKELY, "access", "framework",
			       "of %u visits that were looked at %u have the very calls of %s; of "
			       "all their calls %.1f %% are alike",
			       x->of, x->equal, x->reader, 100 * x->calls);
}

static void say_plain(const struct explained *x, struct jobsection *to)
{
	char text[UNITS_TEXT_BYTES];

	jobsection_say(to, x->equal == x->of ? DISTIL_SURE : DISTIL_LIKELY, "access", "plain",
		       "open, reads in order and close: %.1f %% of the calls of %u visits that "
		       "were looked at",
		       100 * x->calls, x->of);
	units_put_size(text, x->bs_bytes);
	jobsection_say(to, DISTIL_SURE, "bs", text,
		       "no read is larger, and all but the last are as large");
}

static void write_calls(FILE *to, const void *arg)
{
	const struct templates *c = arg;

	recorded_write(to, &c->recorded, (const char *const *)c->why);
}

static void note_calls(const struct templates *c, struct jobsection *to)
{
	if (c->kinds > c->recorded.count)
		jobsection_note(to,
				"Visits are of %u kinds; the rare ones among them are in the "
				"template next to them.",
				c->kinds);
	if (c->is_cut)
		jobsection_note(to,
				"Of long visits only the first %d calls were looked at; the last "
				"of these goes on to the file's end.",
				SPECIMEN_CALLS_MOST);
	if (c->without)
		jobsection_note(to,
				"%u visits that were looked at have calls that no template can "
				"have, such as mmap(2).",
				c->without);
}

static int say_recorded(struct distil *d, const struct explained *x, const struct templates *c,
			struct jobsection *to, struct mlgen_err *err)
{
	char name[SIDE_FILE_BYTES];
	int rc = side_file(name, d->side_folder, d->side_name, "calls", write_calls, c, err);

	if (rc < 0)
		return rc;
	if (x->reader && x->calls > 0)
		jobsection_say(to, DISTIL_SURE, "access", "recorded",
			       "no plan of mlgen makes these calls; those of %s are the nearest, "
			       "with %.1f %% of them",
			       x->reader, 100 * x->calls);
	else
		jobsection_say(to, DISTIL_SURE, "access", "recorded",
			       "no plan of mlgen makes these calls");
	jobsection_say(to, c->kinds == 1 ? DISTIL_SURE : DISTIL_LIKELY, "recorded_calls", name,
		       "of %u visits that were looked at, as %" PRIu32 " template%s of calls",
		       c->visits, c->recorded.count, plural(c->recorded.count));
	note_calls(c, to);
	return 0;
}

/* There are no reads to go by: pages of a mapping, or sizes alone. */
static void say_nothing(struct jobsection *to)
{
	jobsection_say(to, DISTIL_GUESS, "access", "plain",
		       "the trace has no reads of samples, as of files that are mapped; they are "
		       "read whole here");
}

static int record(struct distil *d, uint32_t party, const struct explained *x,
		  struct jobsection *to, struct mlgen_err *err)
{
	struct explain_visit *visits;
	struct samplebook book;
	struct templates calls = { 0 };
	unsigned count;
	int rc = samplebook_init(&book, d, party, err);

	if (rc < 0)
		return rc;
	visits = samplevisits_all(d, party, &book, &count);
	if (find_templates(&calls, visits, count))
		rc = say_recorded(d, x, &calls, to, err);
	else
		say_nothing(to);
	templates_fini(&calls);
	mem_free(visits);
	samplebook_fini(&book);
	return rc;
}

/* Faults bring as much as they do: whatever is read in less is told apart by it. */
static void say_mapped(const struct distil_found *f, struct jobsection *to)
{
	char text[UNITS_TEXT_BYTES];
	bool reads = f->read_beside_bytes > 0;
	bool apart = reads && f->read_beside_bytes < FAULT_AROUND_BYTES;

	units_put_size(text, FAULT_AROUND_BYTES);
	jobsection_say(to, DISTIL_LIKELY, "ioengine", "mmap",
		       "samples are pages of mapped files, of which each fault brings 64 KiB%s",
		       reads && !apart ? "; whatever else is read of them is mapped here, too"
				       : "");
	if (apart)
		jobsection_say(to, DISTIL_SURE, "mmap_from", text,
			       "no call reads more than %" PRIu64 " bytes", f->read_beside_bytes);
}

int distil_access(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	const struct distil_found *f = &d->found[party];
	const struct explained *x = &f->access;
	int rc = 0;

	if (f->num_files == 0)
		return 0;
	if (!x->is_explained)
		rc = record(d, party, x, to, err);
	else if (x->access == ACCESS_FRAMEWORK)
		say_framework(x, to);
	else
		say_plain(x, to);
	if (rc == 0 && f->is_mapped)
		say_mapped(f, to);
	if (rc == 0 && f->is_direct)
		jobsection_say(to, DISTIL_SURE, "direct", "1", "files are opened with O_DIRECT");
	return rc;
}
