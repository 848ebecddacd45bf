/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge_rules.c - every member of a result has a rule, and records merge in any order and grouping alike. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "run/merge.h"
#include "run/metrics_result.h"
#include "suites.h"
#include "work/workloads.h"

#define NONE ((double)NAN)
#define RECORDS 3
#define TRIALS 30

/* ---- memory that one trial takes ---- */

static void **taken;
static size_t taken_count;

static void *keep(void *p)
{
	taken = mem_realloc(taken, (taken_count + 1) * sizeof(*taken));
	return taken[taken_count++] = p;
}

static void *grow(void *owner, void *p, size_t had, size_t bytes)
{
	void *all = keep(mem_zalloc(bytes));

	(void)owner;
	return had ? memcpy(all, p, had) : all;
}

static struct hist *copy_hist(void *owner, struct hist *from)
{
	struct hist *h = keep(hist_new());

	(void)owner;
	hist_merge(h, from);
	return h;
}

static const char *borrow(void *owner, const char *text)
{
	(void)owner;
	return text;
}

static const struct merge_memory memory = { grow, copy_hist, borrow };

static void free_all(void)
{
	while (taken_count)
		mem_free(taken[--taken_count]);
	mem_free(taken);
	taken = NULL;
}

/* ---- tables ---- */

static size_t size_of(const struct mlgen_field *f)
{
	switch (f->type) {
	case MLGEN_BOOL:
		return sizeof(bool);
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		return sizeof(struct metric_list);
	default:
		return f->stride ? f->stride : sizeof(uint64_t);
	}
}

/* Bytes of the struct that a row describes; 0 = none does. */
static void cover(char *covered, const struct mlgen_field *table, size_t off)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		const struct merge_rule *r = f->merge;
		bool is_double =
			f->type == MLGEN_F64 || f->type == MLGEN_PERCENT;

		ck_assert_msg(r, "%s has no rule", f->name);
		ck_assert_msg(r->whole || (is_double ? !!r->f64 : !!r->u64),
			      "the rule of %s is of another type", f->name);
		if (f->type == MLGEN_OBJECT && f->sub)
			cover(covered, f->sub, off + f->off);
		else
			memset(covered + off + f->off, 1, size_of(f));
	}
}

static void check_covered(const char *covered, const void *ones, size_t bytes)
{
	const unsigned char *is_used = ones;

	for (size_t i = 0; i < bytes; i++)
		ck_assert_msg(covered[i] || !is_used[i],
			      "no row has the member at byte %zu", i);
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define HAS_CLEAR_PADDING
#endif
#endif

/* A member that is forgotten would be the first record's for ever. */
START_TEST(every_member_has_a_rule)
{
#ifdef HAS_CLEAR_PADDING
	static struct job_result ones;
	static char covered[sizeof(ones)];
	struct epoch_result epoch;
	struct checkpoint_result item;
	struct replay_slice slice;

#define COVER(s, m) memset(covered + offsetof(s, m), 1, sizeof(((s *)0)->m))
	/* What both have alike, or whoever merges sees to. */
	COVER(struct job_result, job);
	COVER(struct job_result, dataset);
	COVER(struct job_result, totals);
	COVER(struct job_result, group);
	COVER(struct job_result, work);
	COVER(struct job_result, marks);
	COVER(struct job_result, members);
	COVER(struct job_result, sums);
	cover(covered, metrics_result_fields, 0);
	memset(&ones, 0xff, sizeof(ones));
	__builtin_clear_padding(&ones);
	check_covered(covered, &ones, sizeof(ones));

	memset(covered, 0, sizeof(covered));
	cover(covered, metrics_epoch_fields, 0);
	memset(&epoch, 0xff, sizeof(epoch));
	__builtin_clear_padding(&epoch);
	check_covered(covered, &epoch, sizeof(epoch));

	memset(covered, 0, sizeof(covered));
	cover(covered, metrics_checkpoint_fields, 0);
	memset(&item, 0xff, sizeof(item));
	__builtin_clear_padding(&item);
	check_covered(covered, &item, sizeof(item));

	memset(covered, 0, sizeof(covered));
	cover(covered, metrics_replay_slice_fields, 0);
	memset(&slice, 0xff, sizeof(slice));
	check_covered(covered, &slice, sizeof(slice));
#else
	(void)cover;
	(void)check_covered;
#endif
}
END_TEST

/* ---- records of anything ---- */

static uint64_t draws;

static uint64_t any(uint64_t below)
{
	return rng_u64(7, 0, draws++) % below;
}

static double any_f64(void)
{
	return 1 + (double)any(1000000) / 1e4;
}

static struct hist *any_hist(void)
{
	struct hist *h;

	if (any(3) == 0)
		return NULL;
	h = keep(hist_new());
	for (uint64_t i = any(4); i > 0; i--)
		hist_add(h, any(100000));
	return h;
}

static void fill(const struct mlgen_field *table, char *base, bool is_element);

static void fill_list(const struct mlgen_field *f, struct metric_list *l)
{
	size_t each = f->sub ? f->stride : sizeof(double);

	l->count = 2;
	l->items = keep(mem_zalloc(l->count * (each ? each : 8)));
	for (size_t i = 0; i < l->count; i++)
		if (f->sub)
			fill(f->sub, (char *)l->items + i * each, true);
		else if (f->type == MLGEN_F64_ARRAY)
			((double *)l->items)[i] = any_f64();
}

static void fill_text(const struct mlgen_field *f, void *to)
{
	static const char *const texts[] = { "", "one", "two", "three" };
	const char *text = texts[any(4)];

	if (f->stride)
		snprintf(to, f->stride, "%s", text);
	else
		memcpy(to, &text, sizeof(text));
}

static void fill_row(const struct mlgen_field *f, void *to, bool is_element)
{
	bool can_lack = f->flags & MLGEN_NULLABLE && !is_element;
	bool lacks = can_lack && any(5) == 0;

	switch (f->type) {
	case MLGEN_BOOL:
		*(bool *)to = any(2);
		break;
	case MLGEN_F64:
	case MLGEN_PERCENT:
		*(double *)to = lacks ? NONE : any_f64();
		break;
	case MLGEN_STR:
		fill_text(f, to);
		break;
	case MLGEN_HIST:
		*(struct hist **)to = any_hist();
		break;
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		fill_list(f, to);
		break;
	case MLGEN_OBJECT:
		if (f->sub)
			fill(f->sub, to, is_element);
		break;
	default:
		*(uint64_t *)to = lacks ? UINT64_MAX : 1 + any(1000);
	}
}

static void fill(const struct mlgen_field *table, char *base, bool is_element)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		fill_row(f, base + f->off, is_element);
}

/* All complete, so that what follows from them is the same in any order. */
static void fill_checkpoints(struct checkpoints_result *c)
{
	struct checkpoint_result *k = c->items.items;
	double sum = 0;

	c->is_restore = false;
	if (any(4) == 0) {
		checkpoints_result_init(c);
		return;
	}
	c->count = c->completed = c->items.count = 1 + any(2);
	for (size_t i = 0; i < c->count; i++) {
		k[i].complete = true;
		k[i].bytes_per_sec = (double)k[i].bytes / k[i].seconds;
		sum += k[i].seconds;
	}
	c->bytes_per_checkpoint = 1 + any(1000);
	c->bytes = c->count * c->bytes_per_checkpoint;
	c->seconds_mean = sum / (double)c->count;
	c->seconds_min = c->count > 1 ? fmin(k[0].seconds, k[1].seconds) : sum;
	c->seconds_max = c->count > 1 ? fmax(k[0].seconds, k[1].seconds) : sum;
	c->first_seconds = k[0].seconds;
	c->later_seconds = c->count > 1 ? k[1].seconds : NONE;
	c->bytes_per_sec = (double)c->bytes / sum;
	c->in_memory_bytes = any(1000);
	c->job_ranks = c->ranks + any(3);
	c->slowest_rank_bytes_per_sec = any_f64();
}

static void fill_interval(struct interval_stat *s)
{
	*s = (struct interval_stat){ any_f64(), any_f64(), any_f64(), any_f64(),
				     1 + any(100) };
}

static void fill_slowest(struct storage_result *s)
{
	if (!isnan(s->slowest_sample_ns))
		return;
	s->slowest_file[0] = '\0';
	s->slowest_file_bytes = 0;
}

/* What weighs a mean is known, and what one would not merge is alike. */
static void fill_record(struct job_result *r, const struct job *job,
			const struct workload *work)
{
	struct ml_result *ml = &r->ml;
	struct direction_result *d[] = { &r->read, &r->write };

	memset(r, 0, sizeof(*r));
	fill(metrics_result_fields, (char *)r, false);
	r->job = job;
	r->work = work;
	r->wall_seconds = any_f64();
	r->numa.loader_nodes = NULL;
	node_set_add(&r->numa.seen, (unsigned)any(4));
	fill_slowest(&r->storage);
	fill_checkpoints(&ml->saves);
	fill_checkpoints(&ml->restores);
	for (size_t i = 0; i < 2; i++) {
		fill_interval(&d[i]->bw_kib);
		fill_interval(&d[i]->iops);
		sizes_add(&d[i]->sizes, any(10000), any(100));
	}
	for (size_t i = 0; i < sizeof(r->depths) / sizeof(double); i++)
		((double *)&r->depths)[i] = any_f64();
	ml->target_au_percent = 50;
	r->failed.is_too_many = any(4) == 0;
	ml->saves.items.count = ml->saves.count;
	ml->restores.items.count = ml->restores.count;
	r->err.code = any(2) ? -5 : 0;
	/* Slices that stand below each other, or do not. */
	r->io.replay.slice_seconds = any(4) ? 2 : 3;
	r->io.replay.slices.count = any(3);
	if (work->is_plain)
		memset(&r->ml, 0, sizeof(r->ml));
	else
		memset(&r->io, 0, sizeof(r->io));
}

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
			l->items = l->count
					   ? grow(NULL, l->items,
						  l->count * (f->sub ? f->stride
								     : 8),
						  l->count * (f->sub ? f->stride
								     : 8))
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
		      const unsigned *order, bool ends_first,
		      enum merge_how how)
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
	return (isnan(a) && isnan(b)) ||
	       fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)) || a == b;
}

static bool is_same_hist(const struct hist *a, const struct hist *b)
{
	if (!a || !b)
		return a == b;
	return a->count == b->count && a->sum_ns == b->sum_ns &&
	       a->min_ns == b->min_ns && a->max_ns == b->max_ns &&
	       memcmp(a->buckets, b->buckets, sizeof(a->buckets)) == 0;
}

static bool is_same_text(const struct mlgen_field *f, const char *a,
			 const char *b)
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
static void check_table(const struct mlgen_field *table, const char *a,
			const char *b, unsigned ordered);

static bool is_same_list(const struct mlgen_field *f, const char *a,
			 const char *b, unsigned ordered)
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

/* Doubles and counts of which structs without a table consist; a variance is
 * the difference of two large ones. */
static bool is_same_interval(const struct interval_stat *a,
			     const struct interval_stat *b)
{
	return is_near(a->min, b->min) && is_near(a->max, b->max) &&
	       is_near(a->mean, b->mean) && a->samples == b->samples &&
	       ((isnan(a->dev) && isnan(b->dev)) ||
		fabs(a->dev - b->dev) < 1e-9 * a->dev);
}

static bool is_same_part(const struct mlgen_field *f, const char *a,
			 const char *b)
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

static bool is_same_row(const struct mlgen_field *f, const char *a,
			const char *b, unsigned ordered)
{
	switch (f->type) {
	case MLGEN_F64:
	case MLGEN_PERCENT:
		return is_near(*(const double *)(const void *)a,
			       *(const double *)(const void *)b);
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

static void check_table(const struct mlgen_field *table, const char *a,
			const char *b, unsigned ordered)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		if (!(f->merge->ordered & ordered))
			ck_assert_msg(
				is_same_row(f, a + f->off, b + f->off, ordered),
				"%s depends on the %s (%s)", f->name,
				ordered ? "order" : "grouping",
				f->help ? f->help : "");
}

static void check_trial(const struct job_result *records, enum merge_how how)
{
	static const unsigned orders[][RECORDS] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	static struct job_result first, other;

	merge_all(&first, records, orders[0], false, how);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		for (unsigned k = 0; k < 2; k++) {
			merge_all(&other, records, orders[i], k, how);
			check_table(metrics_result_fields, (char *)&first,
				    (char *)&other, i ? 1u << how : 0);
		}
}

/* The load of a group's host and what storage delivered are measured as one, but
 * these are the jobs' own. */
START_TEST(a_group_keeps_latencies_and_the_slowest_of_all)
{
	static struct job_result to, from;
	struct job *job = job_new("a");

	fill_record(&to, job, &work_train);
	fill_record(&from, job, &work_train);
	to.host.oversleep_ns = copy_hist(NULL, keep(hist_new()));
	from.host.oversleep_ns = copy_hist(NULL, keep(hist_new()));
	hist_add(from.host.oversleep_ns, 1);
	to.host.cpu_percent = to.storage.slowest_sample_ns = 5;
	from.host.cpu_percent = from.storage.slowest_sample_ns = 6;
	from.storage.slowest_file_bytes = 66;
	to.storage.cache_drops = to.prepare.files_written = 7;
	merge_jobs(&to, &from, MERGE_GROUP, &memory, NULL);
	ck_assert_uint_eq(to.host.oversleep_ns->count, 1);
	ck_assert_double_eq(to.host.cpu_percent, 5);
	ck_assert_double_eq(to.storage.slowest_sample_ns, 6);
	ck_assert_uint_eq(to.storage.slowest_file_bytes, 66);
	ck_assert_uint_eq(to.storage.cache_drops, 7);
	ck_assert_uint_eq(to.prepare.files_written, 7);
	keep(to.numa.loader_nodes);
	free_all();
	job_free(job);
}
END_TEST

static void fill_slices(struct job_result *r, const struct job *job,
			double seconds, size_t n)
{
	struct replay_slice *s = keep(mem_array(n, sizeof(*s)));

	memset(r, 0, sizeof(*r));
	r->job = job;
	r->work = &work_replay;
	r->io.replay.slice_seconds = seconds;
	r->io.replay.slices = (struct metric_list){ s, n };
	for (size_t i = 0; i < n; i++)
		s[i] = (struct replay_slice){ 1, 10, 2, 20 };
}

/* Only what was at the same time adds up, and only parts of the same length. */
START_TEST(slices_of_a_replay_add_up_where_they_are_alike)
{
	static const struct {
		enum merge_how how;
		double seconds;
		size_t count;
	} cases[] = {
		{ MERGE_GROUP, 2, 3 },
		{ MERGE_CLIENTS, 2, 3 },
		{ MERGE_CLIENTS, 3, 0 },
		{ MERGE_TURNS, 2, 0 },
	};
	static struct job_result to, from;
	struct job *job = job_new("a");
	const struct replay_result *r = &to.io.replay;

	fill_slices(&to, job, 2, 2);
	fill_slices(&from, job, cases[_i].seconds, 3);
	merge_jobs(&to, &from, cases[_i].how, &memory, NULL);
	ck_assert_uint_eq(r->slices.count, cases[_i].count);
	ck_assert_int_eq(isnan(r->slice_seconds), cases[_i].count == 0);
	if (r->slices.count) {
		const struct replay_slice *s = r->slices.items;

		ck_assert_uint_eq(s[1].asked_bytes, 20);
		ck_assert_uint_eq(s[1].done_ios, 4);
		ck_assert_uint_eq(s[2].done_bytes, 20);
	}
	keep(to.numa.loader_nodes);
	free_all();
	job_free(job);
}
END_TEST

START_TEST(order_and_grouping_do_not_matter)
{
	static const struct workload *const works[] = { &work_train, &work_io,
							&work_checkpoint };
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

Suite *suite_merge_rules(void)
{
	Suite *s = suite_create("merge_rules");
	TCase *t = tcase_create("merge_rules");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, every_member_has_a_rule);
	tcase_add_test(t, a_group_keeps_latencies_and_the_slowest_of_all);
	tcase_add_loop_test(t, slices_of_a_replay_add_up_where_they_are_alike,
			    0, 4);
	tcase_add_loop_test(t, order_and_grouping_do_not_matter, MERGE_GROUP,
			    MERGE_TURNS + 1);
	suite_add_tcase(s, t);
	return s;
}
