/* SPDX-License-Identifier: Apache-2.0 */
/* series_finish.c - the intervals of a series as lists for the document; see series.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "run/series_inside.h"

/* A row of latencies over time: as wide as a person can tell apart. */
#define ROWS_MAX 180
/* Buckets of a bin: four to a power of two. */
#define BIN_BITS (HIST_BITS - 2)
#define BINS (HIST_BUCKETS >> BIN_BITS)

static struct metric_list *list_of(struct series_job *out, const char *name)
{
	const struct mlgen_field *f = metrics_series_job_fields;

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? (struct metric_list *)((char *)out + f->off) : NULL;
}

/* A list of so many values, all unknown. */
static double *values_of(struct series_job *out, const char *name, size_t n)
{
	struct metric_list *l = list_of(out, name);

	if (!l)
		return NULL;
	double *values = mem_array(n, sizeof(*values));
	for (size_t i = 0; i < n; i++)
		values[i] = (double)NAN;
	*l = (struct metric_list){ values, n };
	return values;
}

static double cell_value(const struct series_cell *c, enum live_kind kind)
{
	if (!(c->weight > 0))
		return (double)NAN;
	if (kind == LIVE_SHARE)
		return fmin(c->sum / c->weight * 100, 100);
	return kind == LIVE_OF_HOST ? c->sum / c->weight : c->sum;
}

static void put_times(const struct series *s, struct series_job *out)
{
	double *begin = values_of(out, "begin_seconds", s->count);
	double *end = values_of(out, "end_seconds", s->count);
	double *seconds = values_of(out, "seconds", s->count);

	for (size_t i = 0; i < s->count; i++) {
		const struct series_interval *v = &s->intervals[i];

		begin[i] = (double)(v->begin_ns - s->start_ns) / 1e9;
		end[i] = (double)(v->end_ns - s->start_ns) / 1e9;
		seconds[i] = (double)v->covered_ns / 1e9;
	}
}

static void put_column(const struct series *s, unsigned column, struct series_job *out)
{
	const struct live_field *f = s->columns[column];
	double *values = values_of(out, f->field.name, s->count);

	for (size_t i = 0; values && i < s->count; i++)
		values[i] = cell_value(&s->intervals[i].cells[column], f->kind);
}

static unsigned hist_index(const struct series *s, const struct live_field *f)
{
	unsigned i = 0;

	while (s->hists[i]->field.off != f->field.off)
		i++;
	return i;
}

static void put_percentiles(struct series *s, const struct live_field *f, struct series_job *out)
{
	double *values = values_of(out, f->field.name, s->count);
	unsigned of = hist_index(s, f);

	for (size_t i = 0; values && i < s->count; i++) {
		if (!s->intervals[i].hists[of])
			continue;
		hist_reset(s->scratch);
		series_unpack(s->scratch, s->intervals[i].hists[of]);
		values[i] = (double)hist_percentile(s->scratch, f->percent);
	}
}

/* ---- latencies over time ---- */

/* Bins from the first to the last that is used. */
struct range {
	unsigned first, count;
};

static void add_to_bins(double bins[BINS], const struct series_bins *p)
{
	for (uint64_t i = 0; p && i < p->used; i++)
		bins[series_bucket(p->bins[i]) >> BIN_BITS] += (double)series_count_in(p->bins[i]);
}

static struct range used_range(const struct series *s, unsigned of)
{
	double bins[BINS] = { 0 };
	unsigned first = 0, last = BINS;

	for (size_t i = 0; i < s->count; i++)
		add_to_bins(bins, s->intervals[i].hists[of]);
	while (first < BINS && !(bins[first] > 0))
		first++;
	while (last > first && !(bins[last - 1] > 0))
		last--;
	return (struct range){ first, last - first };
}

static struct metric_list least_of_bins(struct range r)
{
	double *from = mem_array(r.count, sizeof(*from));

	for (unsigned i = 0; i < r.count; i++)
		from[i] = (double)hist_bucket_least((r.first + i) << BIN_BITS);
	return (struct metric_list){ from, r.count };
}

static struct metric_list rows_of(const struct series *s, unsigned of, struct range r, size_t each)
{
	size_t rows = (s->count + each - 1) / each;
	double *counts = mem_array(rows * r.count, sizeof(*counts));

	for (size_t row = 0; row < rows; row++) {
		double bins[BINS] = { 0 };

		for (size_t i = row * each; i < (row + 1) * each && i < s->count; i++)
			add_to_bins(bins, s->intervals[i].hists[of]);
		memcpy(counts + row * r.count, bins + r.first, r.count * sizeof(*counts));
	}
	return (struct metric_list){ counts, rows * r.count };
}

/* The column's name begins with it: "read_p50_ns". */
static const char *operation_of(const struct live_field *f)
{
	static const char *const names[] = { "read", "write", "sample", "stall" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(f->field.name, names[i], strlen(names[i])) == 0)
			return names[i];
	return f->field.name;
}

static void put_latencies(const struct series *s, struct series_job *out)
{
	struct series_latency *l = mem_array(SERIES_HISTS, sizeof(*l));
	size_t each = 1 + s->count / ROWS_MAX, n = 0;

	for (unsigned i = 0; i < s->hist_count; i++) {
		struct range r = used_range(s, i);

		if (r.count == 0)
			continue;
		l[n++] = (struct series_latency){
			.operation = operation_of(s->hists[i]),
			.intervals_each = each,
			.from_ns = least_of_bins(r),
			.counts = rows_of(s, i, r, each),
		};
	}
	out->latencies = (struct metric_list){ l, n };
}

void series_finish(struct series *s, struct series_job *out)
{
	*out = (struct series_job){ .job = s->job, .intervals = s->count, .looks_each = s->looks };
	put_times(s, out);
	for (unsigned i = 0; i < s->column_count; i++)
		put_column(s, i, out);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f) && f->kind == LIVE_DISTRIBUTION)
			put_percentiles(s, f, out);
	put_latencies(s, out);
	out->phases = s->phases;
	s->phases = (struct metric_list){ 0 };
}
