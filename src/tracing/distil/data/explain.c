/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - compares calls of a trace with the calls of plans, for a file of the same size. */
#include "tracing/distil/data/data_internal.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"
#include "trace/model/model.h"
#include "trace/trace.h"

/* Rounds of correcting the row size of a Parquet file. Headers and footer hardly depend on it. */
enum { PARQUET_ROUNDS = 4 };

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
			     .columns = m->columns ? mem_strdup(m->columns) : NULL,
			     .read_columns = m->read_columns ? mem_strdup(m->read_columns) : NULL },
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

/* The smallest sample size, up to `high`, whose file has at least `file_bytes`. */
static uint64_t least_with(const struct dataset *ds, uint64_t file_bytes, uint64_t high)
{
	return BISECT(bytes, 1, high, bytes_with(ds, bytes) >= file_bytes);
}

static bool model_parquet(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes)
{
	uint64_t rows = m->samples_per_file, row = file_bytes / rows;

	for (unsigned i = 0; i < PARQUET_ROUNDS; i++) {
		if (i)
			dataset_fini(ds);
		if (!model_make(ds, m, u64_max(row, 1)))
			return false;
		uint64_t bytes = bytes_with(ds, row);
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
	/* ds->common does not depend on the sample size, which only has to be valid for the
	 * format. */
	if (!model_make(ds, m, most))
		return false;
	ds->sample_size.a = (double)filemodel_sample_bytes(ds, file_bytes);
	return true;
}

uint64_t filemodel_sample_bytes(const struct dataset *ds, uint64_t file_bytes)
{
	uint64_t most = u64_max(file_bytes / ds->samples_per_file, 1);
	uint64_t least = least_with(ds, file_bytes, most);
	uint64_t bytes = bytes_with(ds, least);

	return least + (least_with(ds, bytes + 1, most + 1) - least) / 2;
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

/* Convert a page fault to a read. False: the pages are part of an earlier read. */
static bool read_of_fault(const struct specimen *s, const struct specimen_call *c,
			  struct fault_run *run, struct explain_call *out)
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
			n += read_of_fault(s, c, &run, &out[n]);
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
	/* Reads at most this far apart count as equal. */
	NEAR_BYTES = 512,
	SECTOR_BYTES = 512,
	LONG_BYTES = 16384,
	/* Up to this many calls are skipped to find the next equal ones. */
	AHEAD = 16,
	ALIGN_BYTES = 4096,
};

/* Least part of the calls and reads that a framework's plan has to make, and least part of the
 * calls for plain reads, which are not specific to any framework. */
#define FRAMEWORK_CALLS 0.9
#define FRAMEWORK_READS 0.95
#define PLAIN_CALLS 0.97

/* Bonus of a candidate that has the format of the files, over an equally good one. */
#define HINT_WEIGHT 0.02

/* ---- calls of a plan ---- */

struct call_list {
	struct explain_call *at; /* SPECIMEN_CALLS_MOST of them */
	unsigned count, reads;
	uint64_t file_bytes;
};

static void add_call(struct call_list *c, const struct explain_call *x)
{
	if (x->op == MLGEN_CLOSE || c->count == SPECIMEN_CALLS_MOST)
		return;
	c->reads += x->op == MLGEN_READ;
	c->at[c->count++] = *x;
}

/* The extent that contains a place of the file. */
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

/* ---- comparison of calls ---- */

static uint64_t bytes_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Are the reads near each other, counted from the file's beginning or from its end? */
static bool is_near(const struct call_list *a, unsigned i, const struct call_list *b, unsigned j)
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

static bool is_same(const struct call_list *in_a, unsigned i, const struct call_list *in_b,
		    unsigned j)
{
	const struct explain_call *a = &in_a->at[i], *b = &in_b->at[j];

	if (a->op != b->op || a->op == MLGEN_OPS)
		return false;
	if (a->op != MLGEN_READ)
		return true;
	/* Both reads returned nothing, because they are at or after the end of the file. */
	if (a->got_bytes == 0 && b->got_bytes == 0)
		return true;
	/* Some traces have only the result of a read, not the requested length. */
	if (!is_as_long(a->len_bytes, b->len_bytes) &&
	    (a->len_bytes != a->got_bytes || a->got_bytes != b->got_bytes))
		return false;
	return a->off == TRACE_UNKNOWN || is_near(in_a, i, in_b, j);
}

/* Advance *i and *j to the nearest equal calls; false: there are none. */
static bool find_equal(const struct call_list *a, const struct call_list *b, unsigned *i,
		       unsigned *j)
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

static struct match match(const struct call_list *a, const struct call_list *b)
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
		} else if (!find_equal(a, b, &i, &j)) {
			i++;
			j++;
		}
	}
	return m;
}

/*
 * Compare the calls of a visit with those of a plan. A visit to a file that is already open is
 * compared with a part of a forward plan. If not all calls of the visit were recorded, only its
 * first calls are compared.
 */
static struct match match_piece(const struct specimen *s, const struct call_list *a,
				struct call_list b, bool is_forward)
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
	const struct explain_input *ask;
	struct call_list trace, plan;
	struct explain_call *all;
	uint64_t align_bytes; /* 0 without direct=1 */
	struct explained best;
	double best_weight;
};

struct plan_candidate {
	struct filemodel model;
	enum job_access access;
	uint64_t bs_bytes;
};

/* Set e->trace to the calls of a visit. Returns the longest sequential read. */
static struct explain_piece set_trace(struct explaining *e, const struct explain_visit *v)
{
	unsigned n = explain_calls_of(v->specimen, e->all, SPECIMEN_CALLS_MOST);

	e->trace.count = e->trace.reads = 0;
	e->trace.file_bytes = v->file_bytes;
	for (unsigned i = 0; i < n; i++)
		add_call(&e->trace, &e->all[i]);
	return explain_longest(e->all, n);
}

/* The place of the sample that a visit reads. The longest read of a Parquet file may be its footer,
 * which is read before the chunks; rows begin after a chunk's header. */
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
	const struct dataset *ds = config->dataset;
	struct explain_piece piece = set_trace(e, v);
	bool is_forward = ds->format->is_forward;
	unsigned tries = config->direct ? 2 : 1;
	uint64_t at = extent_at(ds, place_of(e, format, &piece));

	for (unsigned i = 0; i < tries; i++) {
		struct extent x;

		dataset_extent(ds, u64_min(at + i, dataset_extents(ds) - 1), &x);
		/* A reader that goes from the beginning to the end reads all samples. */
		if (is_forward)
			x = (struct extent){ .samples = (uint32_t)ds->samples_per_file };

		struct plan p;
		struct plan_op op;
		e->plan.count = e->plan.reads = 0;
		plan_init(&p, config, &x);
		e->plan.file_bytes = p.file_bytes;
		while (e->plan.count < SPECIMEN_CALLS_MOST && plan_next(&p, &op)) {
			const struct explain_call c = { .op = op.op,
							.off = op.off,
							.len_bytes = op.len_bytes,
							.got_bytes = op.got_bytes };

			add_call(&e->plan, &c);
		}

		struct match m = match_piece(v->specimen, &e->trace, e->plan,
					     config->access == ACCESS_FRAMEWORK && is_forward);
		if (i == 0 || m.reads > best.reads)
			best = m;
	}
	return best;
}

static uint64_t samples_for(const struct explain_input *ask, const struct filemodel *m,
			    const struct explain_visit *v)
{
	bool is_known = ask->hint == m->format && ask->known.samples_per_file;
	bool is_forward = format_of(m->format)->is_forward;

	/* If an array is read whole each time, a row need not be a sample. */
	if (is_known && (is_forward || v->stride_bytes || m->format == FORMAT_PARQUET))
		return ask->known.samples_per_file;
	if (is_forward || m->format == FORMAT_JPEG || m->format == FORMAT_PNG)
		return 1;
	if (v->stride_bytes == 0)
		return u64_max(ask->visits_per_file, 1);

	/* Size of a file without the samples in it. */
	struct filemodel one = *m;
	struct dataset ds;
	uint64_t overhead = 0;
	one.samples_per_file = 1;
	if (filemodel_init(&ds, &one, v->file_bytes))
		overhead = v->file_bytes - u64_min((uint64_t)ds.sample_size.a, v->file_bytes);
	dataset_fini(&ds);

	return u64_max((v->file_bytes - overhead) / v->stride_bytes, 1);
}

/* Compare all visits with a candidate. False: the format has no file of such a size. */
static bool compare_visits(struct explaining *e, const struct plan_candidate *c,
			   struct explained *out)
{
	const struct explain_input *ask = e->ask;
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

		model.samples_per_file = samples_for(ask, &model, v);
		bool has_file = filemodel_init(&ds, &model, v->file_bytes);
		config.dataset = &ds;
		if (has_file)
			m = match_visit(e, &config, v, model.format);
		dataset_fini(&ds);
		if (!has_file)
			return false;
		out->samples_per_file = u64_max(out->samples_per_file, model.samples_per_file);
		sum.calls += m.calls;
		sum.reads += m.reads;
		sum.of_calls += m.of_calls;
		sum.of_reads += m.of_reads;
		out->equal += m.calls == m.of_calls;
		out->of++;
	}
	out->calls = sum.of_calls ? (double)sum.calls / (double)sum.of_calls : 0;
	out->reads = sum.of_reads ? (double)sum.reads / (double)sum.of_reads : 0;
	return true;
}

/* Keep the candidate if it is better than the best one so far. */
static void consider(struct explaining *e, const struct plan_candidate *c)
{
	struct explained x = { .format = c->model.format,
			       .access = c->access,
			       .bs_bytes = c->bs_bytes };
	const struct format *f = format_of(c->model.format);
	bool has_plan = c->access == ACCESS_PLAIN || f->framework[e->ask->direct];

	if (f->needs || !has_plan || !compare_visits(e, c, &x))
		return;
	x.is_explained = c->access == ACCESS_PLAIN
				 ? x.calls >= PLAIN_CALLS
				 : x.calls >= FRAMEWORK_CALLS && x.reads >= FRAMEWORK_READS;
	if (c->access == ACCESS_FRAMEWORK)
		x.reader = f->reader;
	double weight = x.calls + x.reads + (x.format == e->ask->hint ? HINT_WEIGHT : 0) +
			(x.is_explained ? 2 : 0);
	if (weight <= e->best_weight)
		return;
	e->best_weight = weight;
	e->best = x;
}

/* Find bs, and e->align_bytes for O_DIRECT, which is a sector or a page. bs is the largest request.
 * If each visit is one request, nothing shows where a larger file would be split, and bs is the
 * next power of two. */
static uint64_t find_bs(struct explaining *e)
{
	uint64_t all = 0, most = 0, bs = ALIGN_BYTES;
	bool is_one = true;

	for (unsigned i = 0; i < e->ask->count; i++) {
		set_trace(e, &e->ask->visits[i]);
		for (unsigned k = 0; k < e->trace.count; k++) {
			const struct explain_call *c = &e->trace.at[k];

			if (c->op != MLGEN_READ)
				continue;
			all |= c->off | c->len_bytes;
			most = u64_max(most, c->len_bytes);
		}
		is_one &= e->trace.reads <= 1;
	}
	if (e->ask->direct)
		e->align_bytes = all % ALIGN_BYTES ? SECTOR_BYTES : ALIGN_BYTES;
	while (bs < most && bs < UINT64_C(1) << 62)
		bs *= 2;
	return is_one ? bs : most;
}

static void consider_all(struct explaining *e)
{
	const struct explain_input *ask = e->ask;
	struct plan_candidate c = { .access = ACCESS_FRAMEWORK };
	uint64_t bs_bytes = find_bs(e);

	for (unsigned f = 0; f < FORMAT_AUTO; f++) {
		c.model = (struct filemodel){ .format = (enum job_format)f };
		if (f == ask->hint)
			c.model = ask->known;
		/* A Parquet file without its footer is unknown. */
		if (f != FORMAT_PARQUET || c.model.samples_per_file)
			consider(e, &c);
	}
	c = (struct plan_candidate){ .model = { .format = FORMAT_RAW },
				     .access = ACCESS_PLAIN,
				     .bs_bytes = bs_bytes };
	if (bs_bytes == 0)
		return;
	consider(e, &c);
	if (ask->hint == FORMAT_AUTO || ask->hint == FORMAT_RAW)
		return;
	c.model = ask->known;
	consider(e, &c);
}

void explain(struct explained *out, const struct explain_input *ask)
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
