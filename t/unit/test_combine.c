/* SPDX-License-Identifier: Apache-2.0 */
/* test_combine.c - runs of clients and repetitions add up to one result. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "ask/combine.h"
#include "suites.h"

#define NONE ((double)NAN)

static struct json_store store;

static void setup(void)
{
	memset(&store, 0, sizeof(store));
}

static void teardown(void)
{
	json_store_fini(&store);
}

static struct hist *hist_of(uint64_t a, uint64_t b)
{
	struct hist *h = json_store_hist(&store);

	hist_add(h, a);
	hist_add(h, b);
	return h;
}

/* A training of `accelerators` at `au`, that took `seconds`. */
static void training(struct job_result *r, uint64_t accelerators, double au,
		     double seconds)
{
	static struct epoch_result epochs[8][2];
	static double per[8][2];
	static unsigned next;
	unsigned i = next++ % 8;
	struct ml_result *ml = &r->ml;

	memset(r, 0, sizeof(*r));
	r->kind = RESULT_TRAIN;
	for (uint64_t e = 0; e < 2; e++) {
		epochs[i][e] = (struct epoch_result){
			.epoch = e + 1,
			.samples = 50 * accelerators,
			.seconds = seconds / 2,
			.samples_per_sec = 100 * (double)accelerators / seconds,
			.au_percent = au,
			.stall_p99_ns = 5,
		};
		per[i][e] = au;
	}
	ml->epochs = (struct metric_list){ epochs[i], 2 };
	ml->epochs_total = 2;
	ml->au_percent_per_accelerator = (struct metric_list){ per[i], 2 };
	ml->accelerators = accelerators;
	ml->steps = 100;
	ml->counted_steps = 98 * accelerators;
	ml->samples = 100 * accelerators;
	ml->io_bytes = 1000 * accelerators;
	ml->wall_seconds = seconds;
	ml->samples_per_sec = 100 * (double)accelerators / seconds;
	ml->demand_bytes_per_sec = 10 * (double)accelerators;
	ml->au_percent = au;
	ml->target_au_percent = 80;
	ml->storage.memory_percent = 10;
	ml->storage.device_read_bytes = UINT64_MAX;
	ml->storage.jobs_read_bytes = 1000 * accelerators;
	ml->storage.slowest_sample_ns = NONE;
	ml->host.cpu_percent = au / 2;
	ml->complete = true;
	ml->stall_ns = hist_of(10, 1000 * accelerators);
}

START_TEST(clients_add_their_rates)
{
	struct job_result to, from;
	const struct epoch_result *e;

	training(&to, 8, 90, 10);
	training(&from, 4, 60, 20);
	to.ml.eval.io_bytes = 10;
	from.ml.eval.io_bytes = 32;
	to.ml.eval.io_bytes_per_sec = 1;
	from.ml.eval.io_bytes_per_sec = 3;
	to.ml.runtime_seconds = 12;
	from.ml.runtime_seconds = 25;
	to.ml.samples_per_extent = 2;
	from.ml.samples_per_extent = 4;
	combine_jobs(&store, &to, &from, SIDE_BY_SIDE);
	ck_assert_uint_eq(to.ml.eval.io_bytes, 42);
	ck_assert_double_eq(to.ml.eval.io_bytes_per_sec, 4);
	ck_assert_double_eq(to.ml.runtime_seconds, 25);
	ck_assert_uint_eq(to.ml.samples_per_extent, UINT64_MAX);
	e = to.ml.epochs.items;
	ck_assert_uint_eq(to.ml.accelerators, 12);
	ck_assert_uint_eq(to.ml.samples, 1200);
	ck_assert_uint_eq(to.ml.steps, 100);
	ck_assert_uint_eq(to.ml.counted_steps, 98 * 12);
	ck_assert_double_eq(to.ml.samples_per_sec, 80 + 20);
	ck_assert_double_eq(to.ml.demand_bytes_per_sec, 120);
	ck_assert_double_eq(to.ml.wall_seconds, 20);
	ck_assert_double_eq(to.ml.au_percent, (8 * 90 + 4 * 60) / 12.0);
	ck_assert(to.ml.target_met);
	/* By the time of accelerators: 8 x 10 s and 4 x 20 s. */
	ck_assert_double_eq(to.ml.host.cpu_percent, (45 + 30) / 2.0);
	ck_assert_uint_eq(to.ml.epochs.count, 2);
	ck_assert_uint_eq(e[1].samples, 600);
	ck_assert_double_eq(e[1].samples_per_sec, 100);
	ck_assert(isnan(e[1].stall_p99_ns));
	ck_assert_uint_eq(to.ml.au_percent_per_accelerator.count, 4);
	ck_assert_uint_eq(to.ml.stall_ns->count, 4);
	ck_assert_uint_eq(to.ml.stall_ns->max_ns, 8000);
	ck_assert_uint_eq(to.ml.storage.device_read_bytes, UINT64_MAX);
	ck_assert_uint_eq(to.ml.storage.jobs_read_bytes, 12000);
	ck_assert(isnan(to.ml.mlperf.v2_0.train_au_mean_percentage));
}
END_TEST

START_TEST(repetitions_have_the_mean_of_their_rates)
{
	struct job_result to, from;
	const struct epoch_result *e;

	training(&to, 8, 90, 10);
	training(&from, 8, 60, 30);
	combine_jobs(&store, &to, &from, ONE_AFTER_THE_OTHER);
	e = to.ml.epochs.items;
	ck_assert_uint_eq(to.ml.accelerators, 8);
	ck_assert_uint_eq(to.ml.samples, 1600);
	ck_assert_uint_eq(to.ml.steps, 200);
	ck_assert_double_eq(to.ml.wall_seconds, 40);
	/* All samples by all the time. */
	ck_assert_double_eq_tol(to.ml.samples_per_sec, 1600 / 40.0, 1e-9);
	ck_assert_double_eq(to.ml.demand_bytes_per_sec, 80);
	ck_assert_double_eq(to.ml.au_percent, 75);
	ck_assert(!to.ml.target_met);
	ck_assert_uint_eq(to.ml.epochs.count, 4);
	ck_assert_uint_eq(to.ml.epochs_total, 4);
	ck_assert_uint_eq(e[3].epoch, 4);
	ck_assert_uint_eq(to.ml.au_percent_per_accelerator.count, 2);
	ck_assert_uint_eq(to.ml.stall_ns->count, 4);
}
END_TEST

START_TEST(means_of_many_are_those_of_all)
{
	struct job_result to, from;

	training(&to, 1, 10, 10);
	for (int i = 2; i <= 4; i++) {
		training(&from, 1, 10 * i, 10);
		combine_jobs(&store, &to, &from, SIDE_BY_SIDE);
	}
	ck_assert_double_eq_tol(to.ml.au_percent, 25, 1e-9);
	ck_assert_double_eq_tol(to.ml.host.cpu_percent, 12.5, 1e-9);
	training(&to, 1, 10, 10);
	for (int i = 2; i <= 4; i++) {
		training(&from, 1, 10 * i, 10);
		combine_jobs(&store, &to, &from, ONE_AFTER_THE_OTHER);
	}
	ck_assert_double_eq_tol(to.ml.au_percent, 25, 1e-9);
	ck_assert_double_eq_tol(to.ml.host.cpu_percent, 12.5, 1e-9);
	ck_assert_double_eq_tol(to.ml.samples_per_sec, 10, 1e-9);
}
END_TEST

static struct direction_result seconds_of(uint64_t n, double mean, double dev)
{
	return (struct direction_result){
		.io_bytes = n * (uint64_t)mean * 1024,
		.total_ios = n,
		.bw_kib = { mean - dev, mean + dev, mean, dev, n },
	};
}

START_TEST(seconds_of_repetitions_are_pooled)
{
	struct job_result to = { .kind = RESULT_IO }, from = to;

	to.io.wall_seconds = from.io.wall_seconds = 10;
	to.io.numjobs = from.io.numjobs = 2;
	to.read = seconds_of(10, 100, 0);
	from.read = seconds_of(10, 200, 0);
	combine_jobs(&store, &to, &from, ONE_AFTER_THE_OTHER);
	ck_assert_uint_eq(to.io.numjobs, 2);
	ck_assert_double_eq(to.io.wall_seconds, 20);
	ck_assert_double_eq(to.read.bw_kib.mean, 150);
	ck_assert_double_eq(to.read.bw_kib.dev, 50);
	ck_assert_double_eq(to.read.bw_kib.min, 100);
	ck_assert_double_eq(to.read.bw_kib.max, 200);
	ck_assert_uint_eq(to.read.bw_kib.samples, 20);

	to.read = seconds_of(10, 100, 0);
	to.io.wall_seconds = 10;
	combine_jobs(&store, &to, &from, SIDE_BY_SIDE);
	ck_assert_uint_eq(to.io.numjobs, 4);
	ck_assert_double_eq(to.io.wall_seconds, 10);
	ck_assert_double_eq(to.read.bw_kib.mean, 300);
	ck_assert(isnan(to.read.bw_kib.dev));
}
END_TEST

static void saves(struct job_result *r, struct checkpoint_result *items,
		  uint64_t ranks, double first, double second)
{
	struct checkpoints_result *c = &r->ml.saves;
	double seconds[2] = { first, second };

	memset(r, 0, sizeof(*r));
	r->kind = RESULT_CHECKPOINT;
	r->ml.wall_seconds = NONE;
	checkpoints_result_init(c);
	checkpoints_result_init(&r->ml.restores);
	for (int i = 0; i < 2; i++)
		items[i] = (struct checkpoint_result){
			.seconds = seconds[i],
			.bytes = 100 * ranks,
			.ranks = ranks,
			.complete = true,
			.slowest_rank_bytes_per_sec = 100 / seconds[i],
		};
	c->items = (struct metric_list){ items, 2 };
	c->count = c->completed = 2;
	c->ranks = c->threads = ranks;
	c->job_ranks = 8;
	c->bytes = 200 * ranks;
	c->bytes_per_checkpoint = 100 * ranks;
	c->seconds_mean = (first + second) / 2;
	c->seconds_min = fmin(first, second);
	c->seconds_max = fmax(first, second);
	c->first_seconds = first;
	c->later_seconds = second;
	c->slowest_rank_bytes_per_sec = 100 / c->seconds_max;
	c->bytes_per_sec = (double)c->bytes / (first + second);
	c->durable = true;
}

START_TEST(hosts_of_one_checkpoint_wait_for_the_slowest)
{
	struct checkpoint_result a[2], b[2];
	const struct checkpoint_result *all;
	struct job_result to, from;
	const struct checkpoints_result *c = &to.ml.saves;

	saves(&to, a, 4, 1, 4);
	saves(&from, b, 4, 2, 2);
	combine_jobs(&store, &to, &from, SIDE_BY_SIDE);
	all = c->items.items;
	ck_assert_uint_eq(c->count, 2);
	ck_assert_uint_eq(c->completed, 2);
	ck_assert_uint_eq(c->items.count, 2);
	ck_assert_uint_eq(all[0].bytes, 800);
	ck_assert_double_eq(all[0].seconds, 2);
	ck_assert_double_eq(all[1].seconds, 4);
	ck_assert_double_eq(c->seconds_mean, 3);
	ck_assert_double_eq(c->seconds_min, 2);
	ck_assert_double_eq(c->later_seconds, 4);
	ck_assert_uint_eq(c->ranks, 8);
	ck_assert_uint_eq(c->job_ranks, 8);
	ck_assert_uint_eq(c->bytes_per_checkpoint, 800);
	ck_assert_double_eq(c->bytes_per_sec, 1600 / 6.0);
	ck_assert_double_eq(c->slowest_rank_bytes_per_sec, 25);
}
END_TEST

START_TEST(checkpoints_of_repetitions_follow_each_other)
{
	struct checkpoint_result a[2], b[2];
	struct job_result to, from;
	const struct checkpoints_result *c = &to.ml.saves;

	saves(&to, a, 4, 1, 4);
	saves(&from, b, 4, 2, 2);
	combine_jobs(&store, &to, &from, ONE_AFTER_THE_OTHER);
	ck_assert_uint_eq(c->count, 4);
	ck_assert_uint_eq(c->completed, 4);
	ck_assert_uint_eq(c->items.count, 4);
	ck_assert_uint_eq(c->ranks, 4);
	ck_assert_double_eq(c->seconds_mean, 9 / 4.0);
	ck_assert_double_eq(c->later_seconds, 8 / 3.0);
	ck_assert_double_eq(c->seconds_min, 1);
	ck_assert_double_eq(c->seconds_max, 4);
	ck_assert_uint_eq(c->bytes_per_checkpoint, 400);
	ck_assert_double_eq(c->bytes_per_sec, 1600 / 9.0);
}
END_TEST

START_TEST(what_only_one_has_is_taken_over)
{
	struct checkpoint_result items[2];
	struct job_result to, from;

	training(&to, 1, 50, 1);
	checkpoints_result_init(&to.ml.saves);
	checkpoints_result_init(&to.ml.restores);
	to.ml.stall_ns = NULL;
	saves(&from, items, 2, 1, 2);
	from.ml.saves.write_ns = hist_of(5, 7);
	from.ml.wall_seconds = 1;
	from.ml.stall_ns = hist_of(3, 4);
	combine_jobs(&store, &to, &from, SIDE_BY_SIDE);
	ck_assert_uint_eq(to.ml.saves.count, 2);
	ck_assert_ptr_ne(to.ml.saves.items.items, items);
	ck_assert_ptr_ne(to.ml.saves.write_ns, from.ml.saves.write_ns);
	ck_assert_uint_eq(to.ml.saves.write_ns->max_ns, 7);
	ck_assert_ptr_ne(to.ml.stall_ns, from.ml.stall_ns);
	ck_assert_uint_eq(to.ml.stall_ns->count, 2);
}
END_TEST

Suite *suite_combine(void)
{
	Suite *s = suite_create("combine");
	TCase *t = tcase_create("combine");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, clients_add_their_rates);
	tcase_add_test(t, repetitions_have_the_mean_of_their_rates);
	tcase_add_test(t, means_of_many_are_those_of_all);
	tcase_add_test(t, seconds_of_repetitions_are_pooled);
	tcase_add_test(t, hosts_of_one_checkpoint_wait_for_the_slowest);
	tcase_add_test(t, checkpoints_of_repetitions_follow_each_other);
	tcase_add_test(t, what_only_one_has_is_taken_over);
	suite_add_tcase(s, t);
	return s;
}
