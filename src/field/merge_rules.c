/* SPDX-License-Identifier: Apache-2.0 */
/* merge_rules.c - merge two records by the rules of fields.h. */
#include "field/fields.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* ---- two figures ---- */

double merge_mean_of(double a, double weight_a, double b, double weight_b)
{
	if (isnan(a))
		return b;
	if (isnan(b) || !(weight_a + weight_b > 0))
		return a;
	return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

double merge_sum_of(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* clang-format off */
MERGE_PAIR(sum_u64, uint64_t, a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b)
MERGE_PAIR(sum_f64, double, merge_sum_of(a, b))
MERGE_PAIR(max_u64, uint64_t, a == UINT64_MAX ? b : b == UINT64_MAX || a > b ? a : b)
MERGE_PAIR(max_f64, double, fmax(a, b))
MERGE_PAIR(min_u64, uint64_t, a < b ? a : b)
MERGE_PAIR(and_u64, uint64_t, a & b)
MERGE_PAIR(or_u64, uint64_t, a | b)
MERGE_PAIR(same_u64, uint64_t, a == b ? a : UINT64_MAX)
MERGE_PAIR(parts_u64, uint64_t, m->how == MERGE_TURNS ? max_u64(m, a, b) : sum_u64(m, a, b))
MERGE_PAIR(turns_u64, uint64_t, m->how == MERGE_TURNS ? sum_u64(m, a, b) : max_u64(m, a, b))
MERGE_PAIR(joined_u64, uint64_t, m->how == MERGE_CLIENTS ? max_u64(m, a, b) : sum_u64(m, a, b))
MERGE_PAIR(joined_f64, double, m->how == MERGE_CLIENTS ? fmax(a, b) : merge_sum_of(a, b))
MERGE_PAIR(span_f64, double, m->how == MERGE_TURNS ? merge_sum_of(a, b) : fmax(a, b))
/* clang-format on */

/* ---- means ---- */

/* Stored weight of the mean at `to` in record `to` (0) or b (1); NULL = not stored, e.g. for
 * elements of a list. */
static double *stored_weight(const struct merging *m, int which, const double *to)
{
	const char *begin = m->record.to, *at = (const char *)to;

	if (!m->sums[which] || at < begin || at >= begin + m->bytes)
		return NULL;
	return &m->sums[which]->at[(size_t)(at - begin) / sizeof(double)];
}

static double weight_of(const double *sum, double own, double value)
{
	if (isnan(value))
		return 0;
	return sum && *sum > 0 ? *sum : own;
}

void merge_mean(struct merging *m, const struct mlgen_field *f, const struct merge_at *at,
		double weight_a, double weight_b)
{
	double *to = (void *)(at->to + f->off);
	const double *a = (const void *)(at->a + f->off);
	const double *b = (const void *)(at->b + f->off);
	size_t n = f->stride ? f->stride / sizeof(*to) : 1;

	for (size_t i = 0; i < n; i++) {
		double *sum = stored_weight(m, 0, &to[i]);
		double x = weight_of(sum, weight_a, a[i]);
		double y = weight_of(stored_weight(m, 1, &to[i]), weight_b, b[i]);

		to[i] = merge_mean_of(a[i], x, b[i], y);
		if (sum)
			*sum = x + y;
	}
}

static void mean_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	enum merge_weight w = f->merge->weight;

	merge_mean(m, f, at, m->weights[0][w], m->weights[1][w]);
}

void merge_mean_by(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	const uint64_t *a = (const void *)(at->a + f->merge->member);
	const uint64_t *b = (const void *)(at->b + f->merge->member);

	merge_mean(m, f, at, (double)*a, (double)*b);
}

static void rate_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (m->how == MERGE_TURNS)
		mean_row(m, f, at);
	else
		*(double *)(void *)(at->to + f->off) =
			merge_sum_of(*(const double *)(const void *)(at->a + f->off),
				     *(const double *)(const void *)(at->b + f->off));
}

/* ---- objects and histograms ---- */

static bool is_done(struct merging *m, const struct hist *h)
{
	for (unsigned i = 0; i < m->done_count; i++)
		if (m->done[i] == h)
			return true;
	if (m->done_count < MERGE_HISTS)
		m->done[m->done_count++] = h;
	return false;
}

void merge_latencies(struct merging *m, struct hist **to, struct hist *from)
{
	if (from && !*to)
		*to = m->memory->take(m->owner, from);
	else if (from && !is_done(m, *to))
		hist_merge(*to, from);
}

static void hist_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	struct hist *const *from = (const void *)(at->b + f->off);

	merge_latencies(m, (void *)(at->to + f->off), *from);
}

static void object_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	const struct merge_at in = { at->to + f->off, at->a + f->off, at->b + f->off };

	merge_table(m, f->sub, &in);
}

static void apart_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (m->how != MERGE_GROUP)
		object_row(m, f, at);
}

static void forget_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	field_set_unknown(f, at->to + f->off);
}

static void no_row(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	(void)f;
	(void)at;
}

/* ---- lists ---- */

void merge_append(const struct merging *m, struct metric_list *to, const struct metric_list *from,
		  size_t element_bytes, size_t most)
{
	size_t room = to->count < most ? most - to->count : 0;
	size_t n = from->count < room ? from->count : room;
	size_t had = to->count * element_bytes;
	char *all;

	if (n == 0)
		return;
	all = m->memory->grow(m->owner, to->items, had, had + n * element_bytes);
	memcpy(all + had, from->items, n * element_bytes);
	*to = (struct metric_list){ all, to->count + n };
}

void merge_by_index(struct merging *m, const struct mlgen_field *list, struct metric_list *to,
		    const struct metric_list *from, size_t most)
{
	size_t n = to->count < from->count ? to->count : from->count;
	size_t bytes = list->stride;
	char *before = mem_zalloc(bytes);
	struct merge_at at = { to->items, before, from->items };
	struct metric_list rest = { NULL, from->count - n };

	for (size_t i = 0; i < n; i++) {
		memcpy(before, at.to, bytes);
		merge_table(m, list->sub, &at);
		at.to += bytes;
		at.b += bytes;
	}
	mem_free(before);
	memcpy(&rest.items, &at.b, sizeof(rest.items));
	merge_append(m, to, &rest, bytes, most);
}

/* ---- rows ---- */

void merge_table(struct merging *m, const struct mlgen_field *table, const struct merge_at *at)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		const struct merge_rule *r = f->merge;
		void *to = at->to + f->off;
		const void *a = at->a + f->off, *b = at->b + f->off;

		if (r->whole)
			r->whole(m, f, at);
		else if (f->type == MLGEN_BOOL)
			*(bool *)to = r->u64(m, *(const bool *)a, *(const bool *)b);
		else if (f->type == MLGEN_F64 || f->type == MLGEN_PERCENT)
			*(double *)to = r->f64(m, *(const double *)a, *(const double *)b);
		else
			*(uint64_t *)to = r->u64(m, *(const uint64_t *)a, *(const uint64_t *)b);
	}
}

void fields_merge(struct merging *m, const struct mlgen_field *table, struct merge_sums **sums)
{
	size_t sums_bytes = sizeof(**sums) + m->bytes;
	char *before = mem_zalloc(m->bytes);
	bool is_new = !*sums;

	memcpy(before, m->record.to, m->bytes);
	m->record.a = before;
	if (is_new)
		*sums = m->memory->grow(m->owner, NULL, 0, sums_bytes);
	/* Weights that were added in another kind of merge are discarded. */
	if (is_new || (*sums)->how != m->how)
		memset(*sums, 0, sums_bytes);
	(*sums)->how = m->how;
	m->sums[0] = *sums;
	if (m->sums[1] && m->sums[1]->how != m->how)
		m->sums[1] = NULL;
	merge_table(m, table, &m->record);
	mem_free(before);
}

/* clang-format off */
const struct merge_rule merge_sum = { .u64 = sum_u64, .f64 = sum_f64 };
const struct merge_rule merge_parts = { .u64 = parts_u64 };
const struct merge_rule merge_turns = { .u64 = turns_u64 };
const struct merge_rule merge_joined = { .u64 = joined_u64, .f64 = joined_f64 };
const struct merge_rule merge_span = { .f64 = span_f64 };
const struct merge_rule merge_rate = { .whole = rate_row, .weight = WEIGHT_WALL };
const struct merge_rule merge_max = { .u64 = max_u64, .f64 = max_f64 };
const struct merge_rule merge_min = { .u64 = min_u64 };
const struct merge_rule merge_and = { .u64 = and_u64 };
const struct merge_rule merge_or = { .u64 = or_u64 };
const struct merge_rule merge_same = { .u64 = same_u64 };
const struct merge_rule merge_forget = { .whole = forget_row };
const struct merge_rule merge_mean_time = { .whole = mean_row, .weight = WEIGHT_TIME };
const struct merge_rule merge_mean_accelerators = { .whole = mean_row, .weight = WEIGHT_ACCELERATORS };
const struct merge_rule merge_mean_bytes = { .whole = mean_row, .weight = WEIGHT_BYTES };
const struct merge_rule merge_mean_looks = { .whole = mean_row, .weight = WEIGHT_OBSERVATIONS };
const struct merge_rule merge_mean_ios = { .whole = mean_row, .weight = WEIGHT_IOS };
const struct merge_rule merge_hist = { .whole = hist_row };
const struct merge_rule merge_members = { .whole = object_row };
const struct merge_rule merge_apart = { .whole = apart_row, .ordered = 1 << MERGE_GROUP };
const struct merge_rule merge_first = { .whole = no_row, .ordered = MERGE_ORDERED };
const struct merge_rule merge_with = { .whole = no_row };
const struct merge_rule merge_later = { .whole = no_row, .ordered = MERGE_ORDERED };
/* clang-format on */
