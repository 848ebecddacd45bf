/* SPDX-License-Identifier: Apache-2.0 */
/* test_combine.c - runs of clients and repetitions add up to one result. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/document/document.h"
#include "run/result/result.h"
#include "suites.h"
#include "work/workloads.h"

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
static void training(struct job_result *r, uint64_t accelerators, double au, double seconds)
{
	static struct epoch_result epochs[8][2];
	static double per[8][2];
	static unsigned next;
	unsigned i = next++ % 8;
	struct ml_result *ml = &r->ml;

	memset(r, 0, sizeof(*r));
	r->work = &work_train;
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
	r->wall_seconds = seconds;
	ml->samples_per_sec = 100 * (double)accelerators / seconds;
	ml->demand_bytes_per_sec = 10 * (double)accelerators;
	ml->au_percent = au;
	ml->target_au_percent = 80;
	r->storage.memory_percent = 10;
	r->storage.device_read_bytes = UINT64_MAX;
	r->storage.jobs_read_bytes = 1000 * accelerators;
	r->storage.slowest_sample_ns = NONE;
	r->host.cpu_percent = au / 2;
	r->complete = true;
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
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
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
	ck_assert_double_eq(to.wall_seconds, 20);
	ck_assert_double_eq(to.ml.au_percent, (8 * 90 + 4 * 60) / 12.0);
	ck_assert(to.ml.target_met);
	/* By the time of accelerators: 8 x 10 s and 4 x 20 s. */
	ck_assert_double_eq(to.host.cpu_percent, (45 + 30) / 2.0);
	ck_assert_uint_eq(to.ml.epochs.count, 2);
	ck_assert_uint_eq(e[1].samples, 600);
	ck_assert_double_eq(e[1].samples_per_sec, 100);
	ck_assert(isnan(e[1].stall_p99_ns));
	ck_assert_uint_eq(to.ml.au_percent_per_accelerator.count, 4);
	ck_assert_uint_eq(to.ml.stall_ns->count, 4);
	ck_assert_uint_eq(to.ml.stall_ns->max_ns, 8000);
	ck_assert_uint_eq(to.storage.device_read_bytes, UINT64_MAX);
	ck_assert_uint_eq(to.storage.jobs_read_bytes, 12000);
	ck_assert(isnan(to.ml.mlperf.v2_0.train_au_mean_percentage));
}
END_TEST

START_TEST(repetitions_have_the_mean_of_their_rates)
{
	struct job_result to, from;
	const struct epoch_result *e;

	training(&to, 8, 90, 10);
	training(&from, 8, 60, 30);
	merge_jobs(&to, &from, MERGE_TURNS, &json_store_memory, &store);
	e = to.ml.epochs.items;
	ck_assert_uint_eq(to.ml.accelerators, 8);
	ck_assert_uint_eq(to.ml.samples, 1600);
	ck_assert_uint_eq(to.ml.steps, 200);
	ck_assert_double_eq(to.wall_seconds, 40);
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
		merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	}
	ck_assert_double_eq_tol(to.ml.au_percent, 25, 1e-9);
	ck_assert_double_eq_tol(to.host.cpu_percent, 12.5, 1e-9);
	training(&to, 1, 10, 10);
	for (int i = 2; i <= 4; i++) {
		training(&from, 1, 10 * i, 10);
		merge_jobs(&to, &from, MERGE_TURNS, &json_store_memory, &store);
	}
	ck_assert_double_eq_tol(to.ml.au_percent, 25, 1e-9);
	ck_assert_double_eq_tol(to.host.cpu_percent, 12.5, 1e-9);
	ck_assert_double_eq_tol(to.ml.samples_per_sec, 10, 1e-9);
}
END_TEST

START_TEST(epochs_that_one_client_has_not_are_none_of_all)
{
	struct job_result to, from;

	training(&to, 1, 50, 10);
	training(&from, 1, 50, 10);
	from.ml.epochs.count = 1;
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	ck_assert_uint_eq(to.ml.epochs.count, 1);
}
END_TEST

/* Clients of 10 s each are a turn of 10 s, as the one before them. */
START_TEST(weights_of_clients_are_not_those_of_turns)
{
	struct job_result turn, to, from;

	training(&turn, 2, 10, 10);
	training(&to, 1, 50, 10);
	training(&from, 1, 70, 10);
	turn.ml.counted_steps = 100;
	to.ml.counted_steps = from.ml.counted_steps = 50;
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	merge_jobs(&turn, &to, MERGE_TURNS, &json_store_memory, &store);
	ck_assert_double_eq_tol(turn.ml.au_percent, (10 + 60) / 2.0, 1e-9);
	ck_assert_double_eq_tol(turn.ml.samples_per_sec, 20, 1e-9);
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
	static const struct job jobs[2];
	struct job_result to = { .work = &work_io, .job = &jobs[0] };
	struct job_result from = { .work = &work_io, .job = &jobs[1] };

	to.wall_seconds = from.wall_seconds = 10;
	to.io.numjobs = from.io.numjobs = 2;
	to.read = seconds_of(10, 100, 0);
	from.read = seconds_of(10, 200, 0);
	merge_jobs(&to, &from, MERGE_TURNS, &json_store_memory, &store);
	ck_assert_uint_eq(to.io.numjobs, 2);
	ck_assert_double_eq(to.wall_seconds, 20);
	ck_assert_double_eq(to.read.bw_kib.mean, 150);
	ck_assert_double_eq(to.read.bw_kib.dev, 50);
	ck_assert_double_eq(to.read.bw_kib.min, 100);
	ck_assert_double_eq(to.read.bw_kib.max, 200);
	ck_assert_uint_eq(to.read.bw_kib.samples, 20);

	/* Less than 1 KiB/s apart, too. */
	to.read = seconds_of(10, 100, .5);
	from.read = seconds_of(10, 100, .5);
	merge_jobs(&to, &from, MERGE_TURNS, &json_store_memory, &store);
	ck_assert_double_eq_tol(to.read.bw_kib.dev, .5, 1e-9);

	to.read = seconds_of(10, 100, 0);
	from.read = seconds_of(10, 200, 0);
	to.wall_seconds = 10;
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	ck_assert_uint_eq(to.io.numjobs, 4);
	ck_assert_double_eq(to.wall_seconds, 10);
	ck_assert_double_eq(to.read.bw_kib.mean, 300);
	ck_assert(isnan(to.read.bw_kib.dev));
}
END_TEST

static void saves(struct job_result *r, struct checkpoint_result *items, uint64_t ranks,
		  double first, double second)
{
	struct checkpoints_result *c = &r->ml.saves;
	double seconds[2] = { first, second };

	memset(r, 0, sizeof(*r));
	r->work = &work_checkpoint;
	r->wall_seconds = NONE;
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
	c->deleted_files = 3;
	r->majf = 2;
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
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
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
	ck_assert_double_eq(c->first_seconds, 2);
	ck_assert_uint_eq(c->deleted_files, 6);
	ck_assert_uint_eq(to.majf, 4);
	ck_assert_uint_eq(c->ranks, 8);
	ck_assert_uint_eq(c->job_ranks, 8);
	ck_assert_uint_eq(c->bytes_per_checkpoint, 800);
	ck_assert_double_eq(c->bytes_per_sec, 1600 / 6.0);
	ck_assert_double_eq(c->slowest_rank_bytes_per_sec, 25);
}
END_TEST

/* Of three: 2, 4 and 6 s, though no host's mean, least or later time is that. */
static void three_saves(struct job_result *r, struct checkpoint_result *items,
			const double *seconds)
{
	struct checkpoints_result *c = &r->ml.saves;

	saves(r, items, 1, seconds[0], seconds[1]);
	items[2] = items[1];
	for (int i = 0; i < 3; i++)
		items[i].seconds = seconds[i];
	c->items.count = c->count = c->completed = 3;
	c->seconds_mean = (seconds[0] + seconds[1] + seconds[2]) / 3;
	c->seconds_min = fmin(c->seconds_min, seconds[2]);
	c->seconds_max = fmax(c->seconds_max, seconds[2]);
	c->later_seconds = (seconds[1] + seconds[2]) / 2;
}

START_TEST(each_checkpoint_takes_as_long_as_its_slowest_host)
{
	static const double seconds[2][3] = { { 1, 4, 1 }, { 2, 1, 6 } };
	struct checkpoint_result a[3], b[3];
	struct job_result to, from;
	const struct checkpoints_result *c = &to.ml.saves;

	three_saves(&to, a, seconds[0]);
	three_saves(&from, b, seconds[1]);
	b[0].complete = _i == 0 || _i == 3;
	b[2].complete = _i != 3;
	if (_i == 2)
		to.ml.saves.count = from.ml.saves.count = 4;
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	/* All; all but the first; of one nothing more is known; without the last, which one host
	 * did not complete. */
	ck_assert_double_eq_tol(c->seconds_mean, _i > 1 ? 3 : 4 + _i, 1e-9);
	ck_assert_double_eq(c->seconds_min, _i == 2 ? 1 : _i == 1 ? 4 : 2);
	ck_assert_double_eq(c->seconds_max, _i == 3 ? 4 : 6);
	if (_i == 0)
		ck_assert_double_eq(c->later_seconds, 5);
}
END_TEST

START_TEST(checkpoints_of_repetitions_follow_each_other)
{
	struct checkpoint_result a[2], b[2];
	struct job_result to, from;
	const struct checkpoints_result *c = &to.ml.saves;

	saves(&to, a, 4, 1, 4);
	saves(&from, b, 4, 2, 2);
	merge_jobs(&to, &from, MERGE_TURNS, &json_store_memory, &store);
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
	to.ml.saves.ranks = 3; /* of none that was begun */
	saves(&from, items, 2, 1, 2);
	mlgen_fail(&from.err, -EIO, "b");
	from.ml.saves.write_ns = hist_of(5, 7);
	from.wall_seconds = 1;
	from.ml.stall_ns = hist_of(3, 4);
	merge_jobs(&to, &from, MERGE_CLIENTS, &json_store_memory, &store);
	ck_assert_uint_eq(to.ml.saves.count, 2);
	ck_assert_uint_eq(to.ml.saves.ranks, 2);
	ck_assert_str_eq(to.err.text, "b");
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
	tcase_add_loop_test(t, each_checkpoint_takes_as_long_as_its_slowest_host, 0, 4);
	tcase_add_test(t, epochs_that_one_client_has_not_are_none_of_all);
	tcase_add_test(t, weights_of_clients_are_not_those_of_turns);
	tcase_add_test(t, checkpoints_of_repetitions_follow_each_other);
	tcase_add_test(t, what_only_one_has_is_taken_over);
	suite_add_tcase(s, t);
	return s;
}
