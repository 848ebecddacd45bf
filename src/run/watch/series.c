/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - the intervals of a running job, which become longer during a run. */
#include "run/watch/watch_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* A phase, and when it began. */
struct series_phase {
	const char *phase;
	double begin_seconds;
};

/* ---- as plain data ---- */

/* clang-format off */

#define S struct series_phase
const struct mlgen_field metrics_series_phase_fields[] = {
	{ "phase", METRICS_TEXT(S, phase),
	  .help = "What the job is doing, as in the column of the log." },
	{ "begin_seconds", MLGEN_F_F64(S, begin_seconds), .unit = "s",
	  .help = "Start of the phase, since the start of the run." },
	{ 0 },
};
#undef S

#define S struct series_latency
const struct mlgen_field metrics_series_latency_fields[] = {
	{ "operation", METRICS_TEXT(S, operation),
	  .help = "The operation: read, write, sample or stall, as in the columns of these names." },
	{ "intervals_each", MLGEN_F_U64(S, intervals_each), .unit = "intervals",
	  .help = "Number of intervals in each row of counts; the last row may have fewer." },
	{ "from_ns", METRIC_F64S(S, from_ns), .unit = "ns",
	  .help = "Lowest latency of each bin, with four bins per power of two; a bin ends where the next begins." },
	{ "counts", METRIC_F64S(S, counts), .unit = "operations",
	  .help = "Operations in each bin, row by row." },
	{ 0 },
};
#undef S

#define S struct series_job
/* A list with the name, the unit and the meaning of the log's column. */
#define COLUMN(name) { #name, METRIC_F64S(S, name), .help = "As in the column of the log." }
const struct mlgen_field metrics_series_job_fields[] = {
	{ "job", METRICS_TEXT(S, job),
	  .help = "Name of the job." },
	{ "intervals", MLGEN_F_U64(S, intervals), .unit = "intervals",
	  .help = "Number of intervals; each list has this many values, null where a value does not apply." },
	{ "looks_each", MLGEN_F_U64(S, looks_each), .unit = "looks",
	  .help = "Length of an interval in multiples of interval_seconds; the last may be shorter." },
	{ "begin_seconds", METRIC_F64S(S, begin_seconds), .unit = "s",
	  .help = "Start of each interval, since the start of the run." },
	{ "end_seconds", METRIC_F64S(S, end_seconds), .unit = "s",
	  .help = "End of each interval." },
	{ "seconds", METRIC_F64S(S, seconds), .unit = "s",
	  .help = "Length of each interval, without gaps between its parts; rates refer to this length." },
	COLUMN(epoch),
	COLUMN(step),
	COLUMN(samples),
	COLUMN(sample_bytes),
	COLUMN(io_bytes),
	COLUMN(au_percent),
	COLUMN(stall_percent),
	COLUMN(cpu_percent),
	COLUMN(resident_bytes),
	COLUMN(page_cache_bytes),
	COLUMN(read_ios),
	COLUMN(write_ios),
	COLUMN(read_bytes),
	COLUMN(write_bytes),
	COLUMN(checkpoint),
	COLUMN(checkpoint_bytes),
	COLUMN(errors),
	COLUMN(hit_percent),
	COLUMN(read_p50_ns),
	COLUMN(read_p99_ns),
	COLUMN(read_max_ns),
	COLUMN(write_p50_ns),
	COLUMN(write_p99_ns),
	COLUMN(write_max_ns),
	COLUMN(sample_p50_ns),
	COLUMN(sample_p99_ns),
	COLUMN(sample_max_ns),
	COLUMN(stall_p50_ns),
	COLUMN(stall_p99_ns),
	COLUMN(stall_max_ns),
	COLUMN(switches_per_sec),
	COLUMN(received_bytes_per_sec),
	COLUMN(sent_bytes_per_sec),
	{ "phases", METRIC_LIST(S, phases, struct series_phase, metrics_series_phase_fields),
	  .help = "What the job was doing, in order." },
	{ "latencies", METRIC_LIST(S, latencies, struct series_latency, metrics_series_latency_fields),
	  .help = "Distribution of latencies over time." },
	{ 0 },
};
#undef COLUMN
#undef S

#define S struct series_result
const struct mlgen_field metrics_series_fields[] = {
	{ "interval_seconds", MLGEN_F_F64(S, interval_seconds), .unit = "s",
	  .help = "Time between two looks at the jobs (log_interval)." },
	{ "jobs", METRIC_LIST(S, jobs, struct series_job, metrics_series_job_fields),
	  .help = "One entry for each job of the command line that ran." },
	{ 0 },
};
#undef S

/* clang-format on */

void series_job_fini(struct series_job *s)
{
	const struct series_latency *l = s->latencies.items;

	for (size_t i = 0; i < s->latencies.count; i++) {
		mem_free(l[i].from_ns.items);
		mem_free(l[i].counts.items);
	}
	for (const struct mlgen_field *f = metrics_series_job_fields; f->name; f++)
		if (f->type == MLGEN_F64_ARRAY || f->type == MLGEN_LIST)
			mem_free(((struct metric_list *)((char *)s + f->off))->items);
}

void series_result_fini(struct series_result *s)
{
	struct series_job *jobs = s->jobs.items;

	for (size_t i = 0; i < s->jobs.count; i++)
		series_job_fini(&jobs[i]);
	mem_free(jobs);
	s->jobs = (struct metric_list){ 0 };
}

/* ---- from intervals to plain data ---- */

/* Maximum number of rows of latencies over time; a chart cannot show more. */
#define ROWS_MAX 180
/* Buckets per bin, as a power of two; this makes four bins to a power of two. */
#define BIN_BITS (HIST_BITS - 2)
#define BINS (HIST_BUCKETS >> BIN_BITS)

/* Allocate the list of that name with n unknown values; NULL if the document has no such list. */
static double *add_list(struct series_job *out, const char *name, size_t n)
{
	const struct mlgen_field *f = metrics_series_job_fields;

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	if (!f->name)
		return NULL;
	double *values = mem_array(n, sizeof(*values));
	for (size_t i = 0; i < n; i++)
		values[i] = (double)NAN;
	*(struct metric_list *)((char *)out + f->off) = (struct metric_list){ values, n };
	return values;
}

static double cell_value(const struct series_cell *c, enum live_kind kind)
{
	if (!(c->weight > 0))
		return (double)NAN;
	if (kind == LIVE_SHARE)
		return fmin(c->sum / c->weight * 100, 100);
	return kind == LIVE_HOST_GAUGE ? c->sum / c->weight : c->sum;
}

static void add_percentiles(struct series *s, const struct live_field *f, struct series_job *out)
{
	double *values = add_list(out, f->field.name, s->count);
	unsigned h = 0;

	while (s->hists[h]->field.off != f->field.off)
		h++;
	for (size_t i = 0; values && i < s->count; i++) {
		if (!s->intervals[i].hists[h])
			continue;
		hist_reset(s->scratch);
		series_unpack(s->scratch, s->intervals[i].hists[h]);
		values[i] = (double)hist_percentile(s->scratch, f->percent);
	}
}

/* ---- latencies over time ---- */

static void add_to_bins(double bins[BINS], const struct series_bins *p)
{
	for (uint64_t i = 0; p && i < p->used; i++)
		bins[series_bucket(p->bins[i]) >> BIN_BITS] += (double)series_count_in(p->bins[i]);
}

static struct metric_list count_rows(const struct series *s, unsigned h, unsigned first,
				     unsigned used, size_t each)
{
	size_t rows = (s->count + each - 1) / each;
	double *counts = mem_array(rows * used, sizeof(*counts));

	for (size_t row = 0; row < rows; row++) {
		double bins[BINS] = { 0 };

		for (size_t i = row * each; i < (row + 1) * each && i < s->count; i++)
			add_to_bins(bins, s->intervals[i].hists[h]);
		memcpy(counts + row * used, bins + first, used * sizeof(*counts));
	}
	return (struct metric_list){ counts, rows * used };
}

/* The operation in the name of a column: "read" of "read_p50_ns". */
static const char *operation_of(const struct live_field *f)
{
	static const char *const names[] = { "read", "write", "sample", "stall" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(f->field.name, names[i], strlen(names[i])) == 0)
			return names[i];
	return f->field.name;
}

static void add_latencies(const struct series *s, struct series_job *out)
{
	struct series_latency *l = mem_array(SERIES_HISTS, sizeof(*l));
	size_t each = 1 + s->count / ROWS_MAX, n = 0;

	for (unsigned h = 0; h < s->hist_count; h++) {
		double bins[BINS] = { 0 };
		unsigned first = 0, end = BINS;

		for (size_t i = 0; i < s->count; i++)
			add_to_bins(bins, s->intervals[i].hists[h]);
		while (first < BINS && !(bins[first] > 0))
			first++;
		while (end > first && !(bins[end - 1] > 0))
			end--;
		if (first == end)
			continue;
		double *from = mem_array(end - first, sizeof(*from));
		for (unsigned i = first; i < end; i++)
			from[i - first] = (double)hist_bucket_least(i << BIN_BITS);
		l[n++] = (struct series_latency){
			.operation = operation_of(s->hists[h]),
			.intervals_each = each,
			.from_ns = { from, end - first },
			.counts = count_rows(s, h, first, end - first, each),
		};
	}
	out->latencies = (struct metric_list){ l, n };
}

void series_finish(struct series *s, struct series_job *out)
{
	*out = (struct series_job){ .job = s->job, .intervals = s->count, .looks_each = s->looks };
	double *begin = add_list(out, "begin_seconds", s->count);
	double *end = add_list(out, "end_seconds", s->count);
	double *seconds = add_list(out, "seconds", s->count);

	for (size_t i = 0; i < s->count; i++) {
		const struct series_interval *v = &s->intervals[i];

		begin[i] = (double)(v->begin_ns - s->start_ns) / 1e9;
		end[i] = (double)(v->end_ns - s->start_ns) / 1e9;
		seconds[i] = (double)v->covered_ns / 1e9;
	}
	for (unsigned k = 0; k < s->column_count; k++) {
		const struct live_field *f = s->columns[k];
		double *values = add_list(out, f->field.name, s->count);

		for (size_t i = 0; values && i < s->count; i++)
			values[i] = cell_value(&s->intervals[i].cells[k], f->kind);
	}
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f) && f->kind == LIVE_DISTRIBUTION)
			add_percentiles(s, f, out);
	add_latencies(s, out);
	out->phases = s->phases;
	s->phases = (struct metric_list){ 0 };
}

/* ---- histograms without their empty buckets ---- */

static struct series_bins *pack(const struct hist *h)
{
	uint64_t used = 0;

	for (unsigned i = hist_first_bucket(h); i <= hist_last_bucket(h); i++)
		used += h->buckets[i] != 0;
	if (used == 0)
		return NULL;
	struct series_bins *p = mem_zalloc(sizeof(*p) + used * sizeof(p->bins[0]));
	*p = (struct series_bins){ .sum_ns = h->sum_ns, .min_ns = h->min_ns, .max_ns = h->max_ns };
	for (unsigned i = hist_first_bucket(h); i <= hist_last_bucket(h); i++)
		if (h->buckets[i])
			p->bins[p->used++] = h->buckets[i] << SERIES_BUCKET_BITS | i;
	return p;
}

void series_unpack(struct hist *to, const struct series_bins *p)
{
	for (uint64_t i = 0; p && i < p->used; i++) {
		uint64_t n = series_count_in(p->bins[i]);

		to->buckets[series_bucket(p->bins[i])] += n;
		to->count += n;
	}
	if (!p)
		return;
	to->sum_ns += p->sum_ns;
	if (p->min_ns < to->min_ns)
		to->min_ns = p->min_ns;
	if (p->max_ns > to->max_ns)
		to->max_ns = p->max_ns;
}

/* ---- columns and histograms ---- */

static bool is_stored(const struct live_field *f)
{
	return !f->is_unlogged && f->field.type != MLGEN_STR && f->field.type != MLGEN_ENUM &&
	       f->field.type != MLGEN_TIME && f->field.type != MLGEN_HIST;
}

/* Rows with the same name are one column. */
static bool is_first_of_name(const struct live_field *f)
{
	const struct live_field *first = live_fields;

	while (strcmp(first->field.name, f->field.name) != 0)
		first++;
	return first == f;
}

static void add_hist(struct series *s, const struct live_field *f)
{
	for (unsigned i = 0; i < s->hist_count; i++)
		if (s->hists[i]->field.off == f->field.off)
			return;
	assert(s->hist_count < SERIES_HISTS);
	s->hists[s->hist_count++] = f;
}

struct series *series_new(uint64_t start_ns, size_t jobs)
{
	struct series *s = mem_zalloc(sizeof(*s));

	s->start_ns = start_ns;
	s->looks = 1;
	s->most_bytes = SERIES_BYTES / (jobs ? jobs : 1);
	s->scratch = hist_new();
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (is_stored(f) && is_first_of_name(f)) {
			assert(s->column_count < SERIES_COLUMNS);
			s->columns[s->column_count++] = f;
		}
		if (live_is_column(f) && f->kind == LIVE_DISTRIBUTION)
			add_hist(s, f);
	}
	s->room = u64_min(SERIES_INTERVALS, 2 + s->most_bytes / sizeof(*s->intervals));
	s->intervals = mem_array(s->room, sizeof(*s->intervals));
	return s;
}

void series_free(struct series *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		for (unsigned h = 0; h < SERIES_HISTS; h++)
			mem_free(s->intervals[i].hists[h]);
	hist_free(s->scratch);
	mem_free(s->phases.items);
	mem_free(s->intervals);
	mem_free(s);
}

/* ---- intervals ---- */

static void set_cell(struct series_cell *c, const struct live_field *f, const struct live_span *s)
{
	double ns = (double)(s->now->now_ns - s->before->now_ns);
	double value;

	switch (f->kind) {
	case LIVE_SHARE:
		*c = (struct series_cell){ (double)live_gained(f, s),
					   (double)live_total_gained(f, s) };
		return;
	case LIVE_HOST_GAUGE:
		value = f->field.type == MLGEN_PERCENT ? live_percent(f, s)
						       : (double)live_count(f, s);
		if (isnan(value) || value >= (double)UINT64_MAX)
			return;
		*c = (struct series_cell){ value * ns, ns };
		return;
	default:
		*c = (struct series_cell){ (double)live_count(f, s), 1 };
	}
}

/* Join `from`, the interval after `to`, into `to`, and free the histograms of `from`. */
static void join(struct series *s, struct series_interval *to, struct series_interval *from)
{
	to->end_ns = from->end_ns;
	to->covered_ns += from->covered_ns;
	to->looks += from->looks;
	for (unsigned i = 0; i < s->column_count; i++) {
		enum live_kind kind = s->columns[i]->kind;
		bool is_last = kind == LIVE_PROGRESS || kind == LIVE_GAUGE;

		if (is_last && from->cells[i].weight > 0) {
			to->cells[i] = from->cells[i];
		} else if (!is_last) {
			to->cells[i].sum += from->cells[i].sum;
			to->cells[i].weight += from->cells[i].weight;
		}
	}
	for (unsigned i = 0; i < s->hist_count; i++) {
		if (!from->hists[i])
			continue;
		hist_reset(s->scratch);
		series_unpack(s->scratch, to->hists[i]);
		series_unpack(s->scratch, from->hists[i]);
		mem_free(to->hists[i]);
		mem_free(from->hists[i]);
		to->hists[i] = pack(s->scratch);
	}
}

uint64_t series_bytes(const struct series *s)
{
	uint64_t n = s->count * sizeof(*s->intervals);

	for (size_t i = 0; i < s->count; i++)
		for (unsigned h = 0; h < s->hist_count; h++) {
			const struct series_bins *p = s->intervals[i].hists[h];

			n += p ? sizeof(*p) + p->used * sizeof(p->bins[0]) : 0;
		}
	return n;
}

size_t series_count(const struct series *s)
{
	return s->count;
}

/* Join each pair of neighbouring intervals. */
static void halve(struct series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i += 2) {
		struct series_interval v = s->intervals[i];

		if (i + 1 < s->count)
			join(s, &v, &s->intervals[i + 1]);
		s->intervals[n++] = v;
	}
	s->count = n;
	s->looks *= 2;
}

static void add_phase(struct series *s, const struct live_span *span)
{
	struct series_phase *p = s->phases.items;
	size_t n = s->phases.count;
	const char *name = live_phase_name(span->now->phase);
	double at = (double)(span->before->now_ns - s->start_ns) / 1e9;

	if (n > 0 && strcmp(p[n - 1].phase, name) == 0)
		return;
	/* A run of unlimited epochs may change between train and drop any number of times. */
	if (n >= SERIES_INTERVALS || span->now->phase == LIVE_DONE)
		return;
	p = mem_realloc(p, (n + 1) * sizeof(*p));
	p[n] = (struct series_phase){ name, at };
	s->phases = (struct metric_list){ p, n + 1 };
}

void series_add(struct series *s, const struct live_span *span)
{
	struct series_interval v = {
		.begin_ns = span->before->now_ns,
		.end_ns = span->now->now_ns,
		.covered_ns = span->now->now_ns - span->before->now_ns,
		.looks = 1,
	};
	struct series_interval *last = s->count ? &s->intervals[s->count - 1] : NULL;

	if (span->now->now_ns <= span->before->now_ns)
		return;
	s->job = span->now->job_name;
	add_phase(s, span);
	for (unsigned i = 0; i < s->column_count; i++) {
		const char *name = s->columns[i]->field.name;
		const struct live_field *f = live_find(name, strlen(name), span);

		if (f)
			set_cell(&v.cells[i], f, span);
	}
	for (unsigned i = 0; i < s->hist_count; i++)
		if (live_distribution(s->hists[i], span, s->scratch))
			v.hists[i] = pack(s->scratch);
	if (last && last->looks < s->looks)
		join(s, last, &v);
	else {
		assert(s->intervals);
		s->intervals[s->count++] = v;
	}
	while (s->count == s->room || (s->count > 1 && series_bytes(s) > s->most_bytes))
		halve(s);
}
