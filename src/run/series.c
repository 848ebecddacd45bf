/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h: intervals, and how two become one. */
#include "run/series.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "run/series_inside.h"

/* ---- a histogram without its empty buckets ---- */

static struct series_bins *pack(const struct hist *h)
{
	uint64_t used = 0;

	for (unsigned i = hist_first(h); i <= hist_last(h); i++)
		used += h->buckets[i] != 0;
	if (used == 0)
		return NULL;
	struct series_bins *p = mem_zalloc(sizeof(*p) + used * sizeof(p->bins[0]));
	*p = (struct series_bins){ .sum_ns = h->sum_ns, .min_ns = h->min_ns, .max_ns = h->max_ns };
	for (unsigned i = hist_first(h); i <= hist_last(h); i++)
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

static size_t packed_bytes(const struct series_bins *p)
{
	return p ? sizeof(*p) + p->used * sizeof(p->bins[0]) : 0;
}

/* ---- what is stored ---- */

static bool is_stored(const struct live_field *f)
{
	return !f->is_unlogged && f->field.type != MLGEN_STR && f->field.type != MLGEN_ENUM &&
	       f->field.type != MLGEN_TIME && f->field.type != MLGEN_HIST;
}

/* Rows of one name are one column. */
static const struct live_field *column_of(const struct live_field *f)
{
	const struct live_field *first = live_fields;

	while (strcmp(first->field.name, f->field.name) != 0)
		first++;
	return first;
}

static void add_column(struct series *s, const struct live_field *f)
{
	assert(s->column_count < SERIES_COLUMNS);
	s->columns[s->column_count++] = f;
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
		if (is_stored(f) && column_of(f) == f)
			add_column(s, f);
		if (live_is_column(f) && f->kind == LIVE_DISTRIBUTION)
			add_hist(s, f);
	}
	s->room = u64_min(SERIES_INTERVALS, 2 + s->most_bytes / sizeof(*s->intervals));
	s->intervals = mem_array(s->room, sizeof(*s->intervals));
	return s;
}

static void interval_fini(struct series_interval *v)
{
	for (unsigned i = 0; i < SERIES_HISTS; i++)
		mem_free(v->hists[i]);
}

void series_free(struct series *s)
{
	for (size_t i = 0; s && i < s->count; i++)
		interval_fini(&s->intervals[i]);
	if (s) {
		hist_free(s->scratch);
		mem_free(s->phases.items);
		mem_free(s->intervals);
	}
	mem_free(s);
}

/* ---- one interval ---- */

static void take_cell(struct series_cell *c, const struct live_field *f, const struct live_span *s)
{
	double ns = (double)(s->now->now_ns - s->before->now_ns);
	double value;

	switch (f->kind) {
	case LIVE_SHARE:
		*c = (struct series_cell){ (double)live_part(f, s), (double)live_whole(f, s) };
		return;
	case LIVE_OF_HOST:
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

static void series_take(struct series *s, struct series_interval *v, const struct live_span *span)
{
	*v = (struct series_interval){
		.begin_ns = span->before->now_ns,
		.end_ns = span->now->now_ns,
		.covered_ns = span->now->now_ns - span->before->now_ns,
		.looks = 1,
	};
	for (unsigned i = 0; i < s->column_count; i++) {
		const char *name = s->columns[i]->field.name;
		const struct live_field *f = live_find(name, strlen(name), span);

		if (f)
			take_cell(&v->cells[i], f, span);
	}
	for (unsigned i = 0; i < s->hist_count; i++)
		if (live_distribution(s->hists[i], span, s->scratch))
			v->hists[i] = pack(s->scratch);
}

/* ---- two become one ---- */

static void join_cell(struct series_cell *to, const struct series_cell *from, enum live_kind kind)
{
	bool is_last = kind == LIVE_PROGRESS || kind == LIVE_GAUGE;

	if (is_last && from->weight > 0) {
		*to = *from;
	} else if (!is_last) {
		to->sum += from->sum;
		to->weight += from->weight;
	}
}

static void join_hist(struct series *s, struct series_bins **to, struct series_bins *from)
{
	if (!from)
		return;
	hist_reset(s->scratch);
	series_unpack(s->scratch, *to);
	series_unpack(s->scratch, from);
	mem_free(*to);
	mem_free(from);
	*to = pack(s->scratch);
}

/* `from`, which is the next, is gone then. */
static void join(struct series *s, struct series_interval *to, struct series_interval *from)
{
	to->end_ns = from->end_ns;
	to->covered_ns += from->covered_ns;
	to->looks += from->looks;
	for (unsigned i = 0; i < s->column_count; i++)
		join_cell(&to->cells[i], &from->cells[i], s->columns[i]->kind);
	for (unsigned i = 0; i < s->hist_count; i++)
		join_hist(s, &to->hists[i], from->hists[i]);
}

static uint64_t interval_bytes(const struct series *s, const struct series_interval *v)
{
	uint64_t n = sizeof(*v);

	for (unsigned i = 0; i < s->hist_count; i++)
		n += packed_bytes(v->hists[i]);
	return n;
}

uint64_t series_bytes(const struct series *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += interval_bytes(s, &s->intervals[i]);
	return n;
}

size_t series_count(const struct series *s)
{
	return s->count;
}

static void thin(struct series *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i += 2) {
		struct series_interval v = s->intervals[i];

		if (i + 1 < s->count)
			join(s, &v, &s->intervals[i + 1]);
		s->intervals[kept++] = v;
	}
	s->count = kept;
	s->looks *= 2;
}

static void note_phase(struct series *s, const struct live_span *span)
{
	struct series_phase *p = s->phases.items;
	size_t n = s->phases.count;
	const char *name = live_phase_name(span->now->phase);
	double at = (double)(span->before->now_ns - s->start_ns) / 1e9;

	if (n > 0 && strcmp(p[n - 1].phase, name) == 0)
		return;
	/* Epochs without end may drop their files between them. */
	if (n >= SERIES_INTERVALS || span->now->phase == LIVE_DONE)
		return;
	p = mem_realloc(p, (n + 1) * sizeof(*p));
	p[n] = (struct series_phase){ name, at };
	s->phases = (struct metric_list){ p, n + 1 };
}

void series_add(struct series *s, const struct live_span *span)
{
	struct series_interval v;
	struct series_interval *last = s->count ? &s->intervals[s->count - 1] : NULL;

	if (span->now->now_ns <= span->before->now_ns)
		return;
	s->job = span->now->job_name;
	note_phase(s, span);
	series_take(s, &v, span);
	if (last && last->looks < s->looks)
		join(s, last, &v);
	else {
		assert(s->intervals);
		s->intervals[s->count++] = v;
	}
	while (s->count == s->room || (s->count > 1 && series_bytes(s) > s->most_bytes))
		thin(s);
}
