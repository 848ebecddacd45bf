/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - compares calls of a trace with those of plans, for a file of the same size. */
#include "tracing/distil/data/data_internal.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"
#include "trace/model/model.h"
#include "trace/trace.h"

/* Rows of Parquet are of one size for the whole file, which its headers and footer hardly depend
 * on. */
enum { PARQUET_ROUNDS = 4 };

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static bool model_make(struct dataset *ds, const struct filemodel *m, uint64_t sample_bytes)
{
	struct mlgen_err ignored = { 0 };

	*ds = (struct dataset){
		.format = format_of(m->format),
		.directory = mem_strdup("."),
		.files = 1,
		.files_named = 1,
		.subfolders = 1,
		.samples_per_file = m->samples_per_file,
		.sample_size = { .kind = DIST_CONST, .a = (double)sample_bytes },
		.options = { .row_group_size = m->row_group_size,
			     .columns = copy_of(m->columns),
			     .read_columns = copy_of(m->read_columns) },
	};
	return ds->format && dataset_init_format(ds, &ignored) == 0;
}

static uint64_t bytes_with(const struct dataset *ds, uint64_t sample_bytes)
{
	const struct file_shape shape = { .samples = ds->samples_per_file,
					  .sides = { 1, sample_bytes },
					  .common = ds->common };

	return ds->format->file_bytes(&shape);
}

/* The smallest sample whose file has so many bytes, at most `high`. */
static uint64_t least_with(const struct dataset *ds, uint64_t file_bytes, uint64_t high)
{
	return BISECT(bytes, 1, high, bytes_with(ds, bytes) >= file_bytes);
}

static uint64_t middle_with(const struct dataset *ds, uint64_t file_bytes, uint64_t most)
{
	uint64_t least = least_with(ds, file_bytes, most);
	uint64_t bytes = bytes_with(ds, least);

	return least + (least_with(ds, bytes + 1, most + 1) - least) / 2;
}

static bool model_parquet(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes)
{
	uint64_t rows = m->samples_per_file, row = file_bytes / rows;

	for (unsigned i = 0; i < PARQUET_ROUNDS; i++) {
		uint64_t bytes;

		if (i)
			dataset_fini(ds);
		if (!model_make(ds, m, u64_max(row, 1)))
			return false;
		bytes = bytes_with(ds, row);
		if (bytes > file_bytes)
			row -= u64_min(row, divide_up(bytes - file_bytes, rows));
		else if (file_bytes - bytes < rows)
			break;
		else
			row += (file_bytes - bytes) / rows;
	}
	return true;
}

bool filemodel_init(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes)
{
	uint64_t most = u64_max(file_bytes / m->samples_per_file, 1);

	if (m->format == FORMAT_PARQUET && m->columns)
		return model_make(ds, m, m->row_bytes);
	if (m->format == FORMAT_PARQUET)
		return model_parquet(ds, m, file_bytes);
	/* What a format has in common does not depend on the size, which only has to be one that it
	 * takes. */
	if (!model_make(ds, m, most))
		return false;
	ds->sample_size.a = (double)filemodel_sample_bytes(ds, file_bytes);
	return true;
}

uint64_t filemodel_sample_bytes(const struct dataset *ds, uint64_t file_bytes)
{
	return middle_with(ds, file_bytes, u64_max(file_bytes / ds->samples_per_file, 1));
}

static enum mlgen_op op_of(unsigned trace_op)
{
	switch (trace_op) {
	case TRACE_OPEN:
		return MLGEN_OPEN;
	case TRACE_STAT:
		return MLGEN_STAT;
	case TRACE_READ:
		return MLGEN_READ;
	case TRACE_CLOSE:
		return MLGEN_CLOSE;
	default:
		return MLGEN_OPS;
	}
}

/* Pages that are touched, as a read of them; false: they were there. */
static bool touch(const struct specimen *s, const struct specimen_call *c, struct fault_run *run,
		  struct explain_call *out)
{
	uint64_t from, bytes;

	if (c->off == TRACE_UNKNOWN || !fault_run_next(run, c->off, s->file_bytes, &from, &bytes))
		return false;
	*out = (struct explain_call){
		.op = MLGEN_READ,
		.off = from,
		.len_bytes = round_up(bytes, FAULT_AROUND_BYTES),
		.got_bytes = bytes,
	};
	return true;
}

unsigned explain_calls_of(const struct specimen *s, struct explain_call *out, unsigned most)
{
	struct fault_run run = { 0 };
	unsigned n = 0;

	for (uint32_t i = 0; i < s->count && n < most; i++) {
		const struct specimen_call *c = &s->calls[i];
		bool is_map = c->op == TRACE_MMAP || c->op == TRACE_MUNMAP;

		if (is_map)
			run = (struct fault_run){ 0 };
		if (c->op == TRACE_FAULT)
			n += touch(s, c, &run, &out[n]);
		if (c->op >= TRACE_FAULT || is_map || c->result < 0)
			continue;
		out[n++] = (struct explain_call){
			.op = op_of(c->op),
			.off = c->off,
			.len_bytes = c->len_bytes,
			.got_bytes = c->op == TRACE_READ ? (uint64_t)c->result : 0,
		};
	}
	return n;
}

struct explain_piece explain_longest(const struct explain_call *calls, unsigned count)
{
	struct explain_piece best = { 0 }, now = { 0 };

	for (unsigned i = 0; i < count; i++) {
		const struct explain_call *c = &calls[i];

		if (c->op != MLGEN_READ || c->off == TRACE_UNKNOWN)
			continue;
		if (c->off != now.off + now.len_bytes)
			now = (struct explain_piece){ .off = c->off };
		now.len_bytes += c->got_bytes;
		if (now.len_bytes > best.len_bytes)
			best = now;
	}
	return best;
}

enum {
	/* A read this far from its place is the same. */
	NEAR_BYTES = 512,
	SECTOR_BYTES = 512,
	LONG_BYTES = 16384,
	/* Calls that differ may be alike again after up to this many. */
	AHEAD = 16,
	ALIGN_BYTES = 4096,
};

/* What a framework's plan has to have of the calls, and bs of plain reads, which is nobody's own
 * way. */
#define FRAMEWORK_CALLS 0.9
#define FRAMEWORK_READS 0.95
#define PLAIN_CALLS 0.97

/* Of equally good candidates the one with the format of the files wins. */
#define HINT_WEIGHT 0.02

/* ---- calls of a plan ---- */

struct calls {
	struct explain_call *at; /* SPECIMEN_CALLS_MOST of them */
	unsigned count, reads;
	uint64_t file_bytes;
};

static void add_call(struct calls *c, const struct explain_call *x)
{
	if (x->op == MLGEN_CLOSE || c->count == SPECIMEN_CALLS_MOST)
		return;
	c->reads += x->op == MLGEN_READ;
	c->at[c->count++] = *x;
}

static void plan_calls(struct calls *to, const struct plan_config *config, const struct extent *x)
{
	struct plan p;
	struct plan_op op;

	to->count = to->reads = 0;
	plan_init(&p, config, x);
	to->file_bytes = p.file_bytes;
	while (to->count < SPECIMEN_CALLS_MOST && plan_next(&p, &op)) {
		const struct explain_call c = { .op = op.op,
						.off = op.off,
						.len_bytes = op.len_bytes,
						.got_bytes = op.got_bytes };

		add_call(to, &c);
	}
}

/* The extent that a place of the file belongs to. */
static uint64_t extent_at(const struct dataset *ds, uint64_t place)
{
	uint64_t low = 0, high = dataset_extents(ds) - 1;
	struct file_shape shape;

	format_shape(ds, 0, &shape);
	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2, off, len;
		struct extent x;

		dataset_extent(ds, middle, &x);
		format_sample_range(ds->format, &shape, x.first_sample, x.samples, &off, &len);
		if (off <= place)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* A reader that goes from the beginning to the end makes the calls of all. */
static void extent_for(const struct dataset *ds, uint64_t place, unsigned next, struct extent *x)
{
	uint64_t last = dataset_extents(ds) - 1;

	dataset_extent(ds, u64_min(extent_at(ds, place) + next, last), x);
	if (ds->format->is_forward)
		*x = (struct extent){
			.samples = (uint32_t)ds->samples_per_file,
		};
}

/* ---- compared ---- */

static uint64_t bytes_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Places are counted from the file's beginning, or from its end. */
static bool is_near(const struct calls *a, unsigned i, const struct calls *b, unsigned j)
{
	uint64_t x = a->at[i].off, y = b->at[j].off;

	return bytes_apart(x, y) <= NEAR_BYTES ||
	       bytes_apart(a->file_bytes - x, b->file_bytes - y) <= NEAR_BYTES;
}

/* Lengths of long pieces may differ by the size of headers. */
static bool is_as_long(uint64_t a, uint64_t b)
{
	return a == b || (a >= LONG_BYTES && bytes_apart(a, b) <= NEAR_BYTES);
}

static bool is_same(const struct calls *in_a, unsigned i, const struct calls *in_b, unsigned j)
{
	const struct explain_call *a = &in_a->at[i], *b = &in_b->at[j];

	if (a->op != b->op || a->op == MLGEN_OPS)
		return false;
	if (a->op != MLGEN_READ)
		return true;
	/* Behind the end of the file. */
	if (a->got_bytes == 0 && b->got_bytes == 0)
		return true;
	/* Some traces know only what a read returned. */
	if (!is_as_long(a->len_bytes, b->len_bytes) &&
	    (a->len_bytes != a->got_bytes || a->got_bytes != b->got_bytes))
		return false;
	return a->off == TRACE_UNKNOWN || is_near(in_a, i, in_b, j);
}

/* From a[*i] and b[*j] on, the nearest two that are the same; false: none. */
static bool meet_again(const struct calls *a, const struct calls *b, unsigned *i, unsigned *j)
{
	for (unsigned d = 1; d <= AHEAD; d++) {
		for (unsigned k = 0; k <= d; k++) {
			unsigned x = *i + k, y = *j + d - k;

			if (x >= a->count || y >= b->count || !is_same(a, x, b, y))
				continue;
			*i = x;
			*j = y;
			return true;
		}
	}
	return false;
}

struct match {
	uint64_t calls, reads, of_calls, of_reads;
};

static struct match match(const struct calls *a, const struct calls *b)
{
	struct match m = { .of_calls = u64_max(a->count, b->count),
			   .of_reads = u64_max(a->reads, b->reads) };
	unsigned i = 0, j = 0;

	while (i < a->count && j < b->count) {
		if (is_same(a, i, b, j)) {
			m.calls++;
			m.reads += a->at[i].op == MLGEN_READ;
			i++;
			j++;
		} else if (!meet_again(a, b, &i, &j)) {
			i++;
			j++;
		}
	}
	return m;
}

/* A visit to a file that was open already is a piece of what a plan does that goes through all of
 * it; of one that has more calls than are kept only the first are compared. */
static struct match match_piece(const struct specimen *s, const struct calls *a, struct calls b,
				bool is_forward)
{
	bool is_cut = s->count < s->visit.calls;

	if (!(s->visit.flags & VISIT_OPENS) && a->count && is_forward) {
		unsigned first = 0;

		while (first < b.count && !is_same(a, 0, &b, first))
			first++;
		b.at += first;
		b.count -= first;
		is_cut = true;
	}
	if (is_cut && b.count > a->count)
		b.count = a->count;
	b.reads = 0;
	for (unsigned i = 0; i < b.count; i++)
		b.reads += b.at[i].op == MLGEN_READ;
	return match(a, &b);
}

/* ---- candidates ---- */

struct explaining {
	const struct explain_ask *ask;
	struct calls trace, plan;
	struct explain_call *all;
	uint64_t align_bytes; /* of direct=1 */
	struct explained best;
	double best_weight;
};

struct candidate {
	struct filemodel model;
	enum job_access access;
	uint64_t bs_bytes;
};

static void add_match(struct match *sum, const struct match *m)
{
	sum->calls += m->calls;
	sum->reads += m->reads;
	sum->of_calls += m->of_calls;
	sum->of_reads += m->of_reads;
}

static void take_trace(struct explaining *e, const struct explain_visit *v,
		       struct explain_piece *piece)
{
	unsigned n = explain_calls_of(v->specimen, e->all, SPECIMEN_CALLS_MOST);

	*piece = explain_longest(e->all, n);
	e->trace.count = e->trace.reads = 0;
	e->trace.file_bytes = v->file_bytes;
	for (unsigned i = 0; i < n; i++)
		add_call(&e->trace, &e->all[i]);
}

/* Of Parquet chunks are read behind the footer, which may be the longest; rows begin behind a
 * chunk's header. */
static uint64_t place_of(const struct explaining *e, enum job_format format,
			 const struct explain_piece *longest)
{
	unsigned i = e->trace.count;

	if (format != FORMAT_PARQUET)
		return longest->off;
	while (i > 0 && e->trace.at[i - 1].op != MLGEN_READ)
		i--;
	return i ? e->trace.at[i - 1].off + NEAR_BYTES : 0;
}

/* The best match of a visit among the extents that it may read. */
static struct match match_visit(struct explaining *e, const struct plan_config *config,
				const struct explain_visit *v, enum job_format format)
{
	struct match best = { 0 };
	struct explain_piece piece;
	unsigned tries = config->direct ? 2 : 1;
	uint64_t place;

	take_trace(e, v, &piece);
	place = place_of(e, format, &piece);
	for (unsigned i = 0; i < tries; i++) {
		struct extent x;
		struct match m;

		extent_for(config->dataset, place, i, &x);
		plan_calls(&e->plan, config, &x);
		m = match_piece(v->specimen, &e->trace, e->plan,
				config->access == ACCESS_FRAMEWORK &&
					config->dataset->format->is_forward);
		if (i == 0 || m.reads > best.reads)
			best = m;
	}
	return best;
}

/* Bytes of a file without its samples. */
static uint64_t overhead_bytes(const struct filemodel *m, uint64_t file_bytes)
{
	struct filemodel one = *m;
	struct dataset ds;
	uint64_t bytes = 0;

	one.samples_per_file = 1;
	if (filemodel_init(&ds, &one, file_bytes))
		bytes = file_bytes - u64_min((uint64_t)ds.sample_size.a, file_bytes);
	dataset_fini(&ds);
	return bytes;
}

static uint64_t samples_for(const struct explain_ask *ask, const struct filemodel *m,
			    const struct explain_visit *v)
{
	bool is_known = ask->hint == m->format && ask->known.samples_per_file;
	bool is_forward = format_of(m->format)->is_forward;
	uint64_t overhead;

	/* A row of an array that is read whole each time need not be a sample. */
	if (is_known && (is_forward || v->stride_bytes || m->format == FORMAT_PARQUET))
		return ask->known.samples_per_file;
	if (is_forward || m->format == FORMAT_JPEG || m->format == FORMAT_PNG)
		return 1;
	if (v->stride_bytes == 0)
		return u64_max(ask->visits_per_file, 1);
	overhead = overhead_bytes(m, v->file_bytes);
	return u64_max((v->file_bytes - overhead) / v->stride_bytes, 1);
}

/* Could these be the plan's calls at all? */
static const struct plan_kind *kind_of(const struct explain_ask *ask, const struct candidate *c)
{
	const struct format *f = format_of(c->model.format);

	if (f->needs)
		return NULL;
	return c->access == ACCESS_PLAIN ? &plan_plain : f->framework[ask->direct];
}

static bool hold_against(struct explaining *e, const struct candidate *c, struct explained *out)
{
	const struct explain_ask *ask = e->ask;
	struct match sum = { 0 };

	for (unsigned i = 0; i < ask->count; i++) {
		const struct explain_visit *v = &ask->visits[i];
		struct filemodel model = c->model;
		struct plan_config config = {
			.access = c->access,
			.bs_bytes = c->bs_bytes,
			.direct = ask->direct,
			.align_bytes = e->align_bytes,
		};
		struct dataset ds;
		struct match m = { 0 };
		bool is_one;

		model.samples_per_file = samples_for(ask, &model, v);
		is_one = filemodel_init(&ds, &model, v->file_bytes);
		config.dataset = &ds;
		if (is_one)
			m = match_visit(e, &config, v, model.format);
		dataset_fini(&ds);
		if (!is_one)
			return false;
		out->samples_per_file = u64_max(out->samples_per_file, model.samples_per_file);
		add_match(&sum, &m);
		out->equal += m.calls == m.of_calls;
		out->of++;
	}
	out->calls = sum.of_calls ? (double)sum.calls / (double)sum.of_calls : 0;
	out->reads = sum.of_reads ? (double)sum.reads / (double)sum.of_reads : 0;
	return true;
}

static bool is_enough(const struct explained *x)
{
	if (x->access == ACCESS_PLAIN)
		return x->calls >= PLAIN_CALLS;
	return x->calls >= FRAMEWORK_CALLS && x->reads >= FRAMEWORK_READS;
}

static void consider(struct explaining *e, const struct candidate *c)
{
	struct explained x = { .format = c->model.format,
			       .access = c->access,
			       .bs_bytes = c->bs_bytes };
	double weight;

	if (!kind_of(e->ask, c) || !hold_against(e, c, &x))
		return;
	x.is_explained = is_enough(&x);
	if (c->access == ACCESS_FRAMEWORK)
		x.reader = format_of(x.format)->reader;
	weight = x.calls + x.reads + (x.format == e->ask->hint ? HINT_WEIGHT : 0) +
		 (x.is_explained ? 2 : 0);
	if (weight <= e->best_weight)
		return;
	e->best_weight = weight;
	e->best = x;
}

/* Requests of O_DIRECT are whole sectors, or whole pages. */
static uint64_t align_of(struct explaining *e)
{
	uint64_t all = 0;

	if (!e->ask->direct)
		return 0;
	for (unsigned i = 0; i < e->ask->count; i++) {
		struct explain_piece piece;

		take_trace(e, &e->ask->visits[i], &piece);
		for (unsigned k = 0; k < e->trace.count; k++)
			if (e->trace.at[k].op == MLGEN_READ)
				all |= e->trace.at[k].off | e->trace.at[k].len_bytes;
	}
	return all % ALIGN_BYTES ? SECTOR_BYTES : ALIGN_BYTES;
}

/* The largest request; where each visit is one, nothing says where requests would end, and it is
 * the next power of two. */
static uint64_t bs_of(struct explaining *e)
{
	uint64_t most = 0, bs = ALIGN_BYTES;
	bool is_one = true;

	for (unsigned i = 0; i < e->ask->count; i++) {
		struct explain_piece piece;

		take_trace(e, &e->ask->visits[i], &piece);
		for (unsigned k = 0; k < e->trace.count; k++)
			if (e->trace.at[k].op == MLGEN_READ)
				most = u64_max(most, e->trace.at[k].len_bytes);
		is_one &= e->trace.reads <= 1;
	}
	while (bs < most && bs < UINT64_C(1) << 62)
		bs *= 2;
	return is_one ? bs : most;
}

static void consider_all(struct explaining *e)
{
	const struct explain_ask *ask = e->ask;
	struct candidate c = { .access = ACCESS_FRAMEWORK };

	e->align_bytes = align_of(e);
	for (unsigned f = 0; f < FORMAT_AUTO; f++) {
		c.model = (struct filemodel){ .format = (enum job_format)f };
		if (f == ask->hint)
			c.model = ask->known;
		/* A Parquet file without its footer is unknown. */
		if (f != FORMAT_PARQUET || c.model.samples_per_file)
			consider(e, &c);
	}
	c = (struct candidate){ .model = { .format = FORMAT_RAW },
				.access = ACCESS_PLAIN,
				.bs_bytes = bs_of(e) };
	if (c.bs_bytes == 0)
		return;
	consider(e, &c);
	if (ask->hint == FORMAT_AUTO || ask->hint == FORMAT_RAW)
		return;
	c.model = ask->known;
	consider(e, &c);
}

void explain(struct explained *out, const struct explain_ask *ask)
{
	size_t bytes = sizeof(struct explain_call);
	struct explaining e = {
		.ask = ask,
		.trace.at = mem_array(SPECIMEN_CALLS_MOST, bytes),
		.plan.at = mem_array(SPECIMEN_CALLS_MOST, bytes),
		.all = mem_array(SPECIMEN_CALLS_MOST, bytes),
	};

	if (ask->count)
		consider_all(&e);
	*out = e.best;
	mem_free(e.trace.at);
	mem_free(e.plan.at);
	mem_free(e.all);
	if (out->is_explained)
		return;
	out->format = ask->hint == FORMAT_AUTO ? FORMAT_RAW : ask->hint;
}
