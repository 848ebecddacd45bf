/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge_order.c - records merge in any order and grouping alike. */
#include <check.h>

#include "merge_rig.h"
#include "run/result/result.h"
#include "suites.h"

#define RECORDS 3
#define TRIALS 15

/* ---- merged in some order ---- */

static void copy_lists(const struct mlgen_field *table, char *base)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		struct metric_list *l = (void *)(base + f->off);
		struct hist **h = (void *)(base + f->off);

		if (f->type == MLGEN_OBJECT && f->sub)
			copy_lists(f->sub, base + f->off);
		else if (f->type == MLGEN_HIST && *h)
			*h = copy_hist(NULL, *h);
		else if (f->type == MLGEN_LIST || f->type == MLGEN_F64_ARRAY)
			l->items =
				l->count ? grow(NULL, l->items, l->count * (f->sub ? f->stride : 8),
						l->count * (f->sub ? f->stride : 8))
					 : NULL;
	}
}

static void copy(struct job_result *to, const struct job_result *from)
{
	*to = *from;
	copy_lists(metrics_result_fields, (char *)to);
}

/* (x y) z, or x (y z). */
static void merge_all(struct job_result *out, const struct job_result *records,
		      const unsigned *order, bool ends_first, enum merge_how how)
{
	struct job_result *r = keep(mem_array(RECORDS, sizeof(*r)));

	for (unsigned i = 0; i < RECORDS; i++)
		copy(&r[i], &records[order[i]]);
	if (ends_first) {
		merge_jobs(&r[1], &r[2], how, &memory, NULL);
		merge_jobs(&r[0], &r[1], how, &memory, NULL);
	} else {
		merge_jobs(&r[0], &r[1], how, &memory, NULL);
		merge_jobs(&r[0], &r[2], how, &memory, NULL);
	}
	*out = r[0];
	keep(r[0].numa.loader_nodes);
	keep(r[1].numa.loader_nodes);
}

static bool is_near(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)) || a == b;
}

static bool is_same_hist(const struct hist *a, const struct hist *b)
{
	if (!a || !b)
		return a == b;
	return a->count == b->count && a->sum_ns == b->sum_ns && a->min_ns == b->min_ns &&
	       a->max_ns == b->max_ns && memcmp(a->buckets, b->buckets, sizeof(a->buckets)) == 0;
}

static bool is_same_text(const struct mlgen_field *f, const char *a, const char *b)
{
	const char *texts[] = { a, b };

	if (!f->stride) {
		memcpy(&texts[0], a, sizeof(texts[0]));
		memcpy(&texts[1], b, sizeof(texts[1]));
	}
	if (!texts[0] || !texts[1])
		return texts[0] == texts[1];
	return strcmp(texts[0], texts[1]) == 0;
}

/* `ordered` is the bit of the way to merge where another order was taken. */
static void check_table(const struct mlgen_field *table, const char *a, const char *b,
			unsigned ordered);

static bool is_same_list(const struct mlgen_field *f, const char *a, const char *b,
			 unsigned ordered)
{
	const struct metric_list *x = (const void *)a, *y = (const void *)b;
	const double *u = x->items, *v = y->items;
	bool is_same = x->count == y->count;

	for (size_t i = 0; is_same && i < x->count; i++)
		if (f->sub)
			check_table(f->sub, (char *)x->items + i * f->stride,
				    (char *)y->items + i * f->stride, ordered);
		else if (f->type == MLGEN_F64_ARRAY)
			is_same = is_near(u[i], v[i]);
	return is_same;
}

/* Doubles and counts of which structs without a table consist; a variance is the difference of two
 * large ones. */
static bool is_same_interval(const struct interval_stat *a, const struct interval_stat *b)
{
	return is_near(a->min, b->min) && is_near(a->max, b->max) && is_near(a->mean, b->mean) &&
	       a->samples == b->samples &&
	       ((isnan(a->dev) && isnan(b->dev)) || fabs(a->dev - b->dev) < 1e-9 * a->dev);
}

static bool is_same_part(const struct mlgen_field *f, const char *a, const char *b)
{
	bool is_same = true;

	if (f->stride == sizeof(struct interval_stat))
		return is_same_interval((const void *)a, (const void *)b);
	if (f->stride != sizeof(struct depth_result))
		return memcmp(a, b, f->stride) == 0;
	for (size_t i = 0; i < f->stride / sizeof(double); i++)
		is_same &= is_near(((const double *)(const void *)a)[i],
				   ((const double *)(const void *)b)[i]);
	return is_same;
}

static bool is_same_row(const struct mlgen_field *f, const char *a, const char *b, unsigned ordered)
{
	switch (f->type) {
	case MLGEN_F64:
	case MLGEN_PERCENT:
		return is_near(*(const double *)(const void *)a, *(const double *)(const void *)b);
	case MLGEN_STR:
		return is_same_text(f, a, b);
	case MLGEN_HIST:
		return is_same_hist(*(struct hist *const *)(const void *)a,
				    *(struct hist *const *)(const void *)b);
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		return is_same_list(f, a, b, ordered);
	case MLGEN_OBJECT:
		if (!f->sub)
			return is_same_part(f, a, b);
		check_table(f->sub, a, b, ordered);
		return true;
	default:
		return memcmp(a, b, size_of(f)) == 0;
	}
}

static void check_table(const struct mlgen_field *table, const char *a, const char *b,
			unsigned ordered)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		if (!(f->merge->ordered & ordered))
			ck_assert_msg(is_same_row(f, a + f->off, b + f->off, ordered),
				      "%s depends on the %s (%s)", f->name,
				      ordered ? "order" : "grouping", f->help ? f->help : "");
}

static void check_trial(const struct job_result *records, enum merge_how how)
{
	static const unsigned orders[][RECORDS] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	static struct job_result first, other;

	merge_all(&first, records, orders[0], false, how);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		for (unsigned k = 0; k < 2; k++) {
			merge_all(&other, records, orders[i], k, how);
			check_table(metrics_result_fields, (char *)&first, (char *)&other,
				    i ? 1u << how : 0);
		}
}

START_TEST(order_and_grouping_do_not_matter)
{
	static const struct workload *const works[] = { &work_train, &work_io, &work_checkpoint };
	static struct job_result records[RECORDS];
	struct job *jobs[RECORDS];

	draws = 1000000 * (uint64_t)_i;
	for (unsigned i = 0; i < RECORDS; i++)
		jobs[i] = job_new("a");
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		for (unsigned i = 0; i < RECORDS; i++)
			fill_record(&records[i], jobs[i], works[trial % 3]);
		check_trial(records, (enum merge_how)_i);
		free_all();
	}
	for (unsigned i = 0; i < RECORDS; i++)
		job_free(jobs[i]);
}
END_TEST

Suite *suite_merge_order(void)
{
	Suite *s = suite_create("merge_order");
	TCase *t = tcase_create("merge_order");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, order_and_grouping_do_not_matter, MERGE_GROUP, MERGE_TURNS + 1);
	suite_add_tcase(s, t);
	return s;
}
