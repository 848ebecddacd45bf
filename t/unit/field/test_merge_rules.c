/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge_rules.c - every member of a result has a rule, and what follows from it. */
#include <check.h>

#include "base/util.h"
#include "merge_rig.h"
#include "run/result/result.h"
#include "suites.h"

/* Bytes of the struct that a row describes; 0 = none does. */
static void cover(char *covered, const struct mlgen_field *table, size_t off)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		const struct merge_rule *r = f->merge;
		bool is_double = f->type == MLGEN_F64 || f->type == MLGEN_PERCENT;

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
		ck_assert_msg(covered[i] || !is_used[i], "no row has the member at byte %zu", i);
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
	/* Documents have them, which are made of what was merged. */
	COVER(struct job_result, read.fio);
	COVER(struct job_result, write.fio);
	COVER(struct job_result, doc);
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

/* Two records of a training, which a test merges. */
static struct job *job;
static struct job_result to, from;

static void setup(void)
{
	job = job_new("a");
	fill_record(&to, job, &work_train);
	fill_record(&from, job, &work_train);
}

static void teardown(void)
{
	keep(to.numa.loader_nodes);
	free_all();
	job_free(job);
}

/* The load of a group's host and what storage delivered are measured as one, but these are the
 * jobs' own. */
START_TEST(a_group_keeps_latencies_and_the_slowest_of_all)
{
	to.host.oversleep_ns = copy_hist(NULL, keep(hist_new()));
	from.host.oversleep_ns = copy_hist(NULL, keep(hist_new()));
	hist_add(from.host.oversleep_ns, 1);
	to.host.cpu_percent = to.storage.slowest_sample_ns = 5;
	from.host.cpu_percent = from.storage.slowest_sample_ns = 6;
	from.storage.slowest_file_bytes = 66;
	to.storage.cache_drops = to.prepare.files_written = 7;
	to.prepare.is_nothing_resident = true;
	to.ml.restores.is_restore = true;
	from.ml.restores.is_restore = false;
	merge_jobs(&to, &from, MERGE_GROUP, &memory, NULL);
	ck_assert_uint_eq(to.host.oversleep_ns->count, 1);
	ck_assert_double_eq(to.host.cpu_percent, 5);
	ck_assert_double_eq(to.storage.slowest_sample_ns, 6);
	ck_assert_uint_eq(to.storage.slowest_file_bytes, 66);
	ck_assert_uint_eq(to.storage.cache_drops, 7);
	ck_assert_uint_eq(to.prepare.files_written, 7);
	ck_assert(to.prepare.is_nothing_resident);
	ck_assert(to.ml.restores.is_restore);
}
END_TEST

/* What clients weighed is nothing that turns go by: 2 workers of 20 s each and one of 40 s weigh
 * alike. */
START_TEST(turns_of_clients_weigh_by_their_own_time)
{
	static struct job_result last;
	struct job_result *r[] = { &to, &from, &last };

	fill_record(&last, job, &work_train);
	for (unsigned i = 0; i < 3; i++) {
		r[i]->wall_seconds = 10 << i;
		r[i]->ml.accelerators = 1;
		r[i]->ml.time_percent.compute = i < 2 ? 10 : 20;
	}
	merge_jobs(&to, &from, MERGE_CLIENTS, &memory, NULL);
	merge_jobs(&to, &last, MERGE_TURNS, &memory, NULL);
	ck_assert_double_eq_tol(to.ml.time_percent.compute, 15, 1e-9);
}
END_TEST

START_TEST(what_is_alike_is_known_of_all)
{
	uint64_t *of[2][5];

	for (unsigned i = 0; i < 2; i++) {
		struct job_result *r = i ? &from : &to;
		uint64_t *rows[] = { &r->ml.cache.size_bytes, &r->ml.cache.size_samples,
				     &r->ml.cache.data_bytes, &r->ml.samples_per_extent,
				     &r->numa.device_node };

		memcpy(of[i], rows, sizeof(rows));
		for (unsigned row = 0; row < ARRAY_LEN(rows); row++)
			*rows[row] = 7;
	}
	merge_jobs(&to, &from, MERGE_CLIENTS, &memory, NULL);
	for (unsigned row = 0; row < ARRAY_LEN(of[0]); row++)
		ck_assert_uint_eq(*of[0][row], 7);
}
END_TEST

/* Of ranks that were as slow as each other the first one is named. */
START_TEST(the_slowest_rank_is_the_first_of_its_like)
{
	static const struct {
		double first, second;
		uint64_t slowest;
	} cases[] = { { 10, 10, 1 }, { 10, 9, 2 }, { 9, 10, 1 }, { NONE, 9, 2 } };
	struct checkpoints_result *c[] = { &to.ml.saves, &from.ml.saves };

	for (unsigned i = 0; i < 2; i++) {
		struct checkpoint_result *k = keep(mem_zalloc(sizeof(*k)));

		c[i]->items.items = k;
		c[i]->items.count = c[i]->count = c[i]->completed = 1;
		c[i]->slowest_rank_bytes_per_sec = k->slowest_rank_bytes_per_sec =
			i ? cases[_i].second : cases[_i].first;
		c[i]->slowest_rank = k->slowest_rank = 1 + i;
		k->complete = true;
	}
	merge_jobs(&to, &from, MERGE_CLIENTS, &memory, NULL);
	ck_assert_uint_eq(c[0]->slowest_rank, cases[_i].slowest);
	ck_assert_uint_eq(((struct checkpoint_result *)c[0]->items.items)->slowest_rank,
			  cases[_i].slowest);
}
END_TEST

START_TEST(without_au_the_reason_stays)
{
	to.ml.au_percent = from.ml.au_percent = NONE;
	to.failed.is_too_many = from.failed.is_too_many = false;
	to.ml.au_unmeasured = from.ml.au_unmeasured = "compute_time=0";
	merge_jobs(&to, &from, MERGE_CLIENTS, &memory, NULL);
	ck_assert_str_eq(to.ml.au_unmeasured, "compute_time=0");
}
END_TEST

/* Epochs that some have not are none of all clients; turns are kept up to 1,024. */
START_TEST(epochs_of_two_lengths_merge_as_they_were_run)
{
	static const struct {
		enum merge_how how;
		size_t had, more, count;
	} cases[] = {
		{ MERGE_GROUP, 2, 3, 3 },       { MERGE_GROUP, 3, 2, 3 },
		{ MERGE_CLIENTS, 2, 3, 2 },     { MERGE_CLIENTS, 3, 2, 2 },
		{ MERGE_TURNS, 2, 3, 5 },       { MERGE_TURNS, 1023, 1, 1024 },
		{ MERGE_TURNS, 1023, 3, 1024 }, { MERGE_TURNS, 1024, 1, 1024 },
	};
	size_t had = cases[_i].had, more = cases[_i].more;
	to.ml.epochs =
		(struct metric_list){ keep(mem_zalloc(had * sizeof(struct epoch_result))), had };
	from.ml.epochs =
		(struct metric_list){ keep(mem_zalloc(more * sizeof(struct epoch_result))), more };
	to.ml.cache.epochs =
		(struct metric_list){ keep(mem_zalloc(had * sizeof(struct cache_epoch))), had };
	from.ml.cache.epochs =
		(struct metric_list){ keep(mem_zalloc(more * sizeof(struct cache_epoch))), more };
	merge_jobs(&to, &from, cases[_i].how, &memory, NULL);
	ck_assert_uint_eq(to.ml.epochs.count, cases[_i].count);
	ck_assert_uint_eq(to.ml.cache.epochs.count, cases[_i].count);
}
END_TEST

/* AU of accelerators in turn is the mean of those that were in both. */
START_TEST(accelerators_that_ran_once_keep_their_au)
{
	static const struct {
		size_t had, more;
	} cases[] = { { 2, 2 }, { 2, 3 }, { 1, 2 }, { 3, 2 } };
	size_t had = cases[_i].had, more = cases[_i].more;
	double to_au[] = { 10, 20, 30 }, from_au[] = { 30, 40, 50 };
	to.ml.counted_steps = from.ml.counted_steps = 3;
	to.ml.au_percent_per_accelerator = (struct metric_list){ to_au, had };
	from.ml.au_percent_per_accelerator = (struct metric_list){ from_au, more };
	merge_jobs(&to, &from, MERGE_TURNS, &memory, NULL);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(to_au[i], 10 * i + (i < had && i < more ? 20 : 10), 1e-9);
}
END_TEST

/* Time of workers is a mean by how many there were; nobody known counts as one. */
START_TEST(shares_of_time_weigh_by_workers)
{
	to.wall_seconds = from.wall_seconds = 10;
	to.ml.accelerators = from.ml.accelerators = 0;
	to.ml.saves.threads = to.ml.restores.threads = 0;
	from.ml.saves.threads = 1;
	from.ml.restores.threads = 2;
	to.ml.time_percent.compute = 20;
	from.ml.time_percent.compute = 40;
	merge_jobs(&to, &from, MERGE_CLIENTS, &memory, NULL);
	ck_assert_double_eq_tol(to.ml.time_percent.compute, 35, 1e-9);
}
END_TEST

static void fill_slices(struct job_result *r, double seconds, size_t n)
{
	struct replay_slice *s = keep(mem_array(n, sizeof(*s)));

	memset(r, 0, sizeof(*r));
	r->job = job;
	r->work = &work_replay;
	r->io.replay.slice_seconds = seconds;
	r->io.replay.slices = (struct metric_list){ s, n };
	for (size_t i = 0; i < n; i++)
		s[i] = (struct replay_slice){ 1, 10, 2, 20 };
	r->io.replay.blocks = 5 + n;
	r->io.replay.folded = n;
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
	const struct replay_result *r = &to.io.replay;

	fill_slices(&to, 2, 2);
	fill_slices(&from, cases[_i].seconds, 3);
	merge_jobs(&to, &from, cases[_i].how, &memory, NULL);
	ck_assert_uint_eq(r->blocks, 7 + 8);
	ck_assert_uint_eq(r->folded, 2 + 3);
	ck_assert_uint_eq(r->slices.count, cases[_i].count);
	ck_assert_int_eq(isnan(r->slice_seconds), cases[_i].count == 0);
	if (r->slices.count) {
		const struct replay_slice *s = r->slices.items;

		ck_assert_uint_eq(s[1].asked_bytes, 20);
		ck_assert_uint_eq(s[1].done_ios, 4);
		ck_assert_uint_eq(s[2].done_bytes, 20);
	}
}
END_TEST

Suite *suite_merge_rules(void)
{
	Suite *s = suite_create("merge_rules");
	TCase *t = tcase_create("merge_rules");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, every_member_has_a_rule);
	tcase_add_test(t, a_group_keeps_latencies_and_the_slowest_of_all);
	tcase_add_test(t, what_is_alike_is_known_of_all);
	tcase_add_test(t, turns_of_clients_weigh_by_their_own_time);
	tcase_add_loop_test(t, the_slowest_rank_is_the_first_of_its_like, 0, 4);
	tcase_add_test(t, without_au_the_reason_stays);
	tcase_add_test(t, shares_of_time_weigh_by_workers);
	tcase_add_loop_test(t, epochs_of_two_lengths_merge_as_they_were_run, 0, 8);
	tcase_add_loop_test(t, accelerators_that_ran_once_keep_their_au, 0, 4);
	tcase_add_loop_test(t, slices_of_a_replay_add_up_where_they_are_alike, 0, 4);
	suite_add_tcase(s, t);
	return s;
}
