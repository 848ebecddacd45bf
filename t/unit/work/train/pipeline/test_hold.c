/* SPDX-License-Identifier: Apache-2.0 */
/* test_hold.c - what is read ahead has memory of its own until its batch is taken. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "suites.h"
#include "work/train/pipeline/pipeline.h"

#define MIB ((uint64_t)1 << 20)

static struct hold *make(uint64_t window, uint64_t slots, uint64_t slot_bytes)
{
	const struct hold_config cfg = { .window = window,
					 .slots = slots,
					 .slot_bytes = slot_bytes };
	struct hold *h;

	ck_assert_int_eq(hold_new(&h, &cfg, NULL), 0);
	return h;
}

static void *take(struct hold *h, uint64_t batch, uint64_t taken)
{
	uint64_t bytes = 0;

	return hold_reserve(h, batch, taken, &bytes);
}

START_TEST(slots_are_apart_and_can_be_written)
{
	uint64_t bytes = 0;
	unsigned char *at[5];
	struct hold *h = make(5, 5, 1088);

	for (unsigned i = 0; i < 5; i++) {
		at[i] = hold_reserve(h, i, 0, &bytes);
		ck_assert_ptr_nonnull(at[i]);
		ck_assert_uint_eq(bytes, 1088);
		memset(at[i], (int)i, bytes);
	}
	ck_assert_ptr_null(take(h, 4, 0));
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < bytes; k++)
			ck_assert_uint_eq(at[i][k], i);
	hold_free(h);
	hold_free(NULL);
}
END_TEST

START_TEST(a_slot_is_free_when_its_batch_is_taken)
{
	struct hold *h = make(2, 3, 4096);
	void *first = take(h, 0, 0), *second = take(h, 0, 0);
	void *other = take(h, 1, 0);

	hold_commit(h, other, 4096);
	hold_commit(h, first, 4096);
	ck_assert_ptr_null(take(h, 1, 0));
	/* of batch 0 only what has been read; what came last goes first */
	ck_assert_ptr_eq(take(h, 2, 1), first);
	ck_assert_ptr_null(take(h, 2, 1));
	hold_commit(h, second, 4096);
	ck_assert_ptr_eq(take(h, 2, 1), second);
	/* what another thread knew before is no step back */
	ck_assert_ptr_null(take(h, 2, 0));
	ck_assert_ptr_eq(take(h, 3, 2), other);
	/* all at once, at the end of an epoch */
	hold_commit(h, first, 1);
	hold_commit(h, second, 1);
	hold_commit(h, other, 1);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_nonnull(take(h, 1000, 1000));
	ck_assert_ptr_null(take(h, 1000, 1000));
	hold_free(h);
}
END_TEST

/*
 * An accelerator and its loaders, each with one extent on its way. Batches are taken by what has
 * arrived, whoever read it, so some are slow to come.
 */
#define WINDOW 3u
#define BATCH 4u
#define LOADERS 3u
#define ROUNDS 20000u

struct flight {
	uint64_t batch;
	unsigned char *at;
};

static void finish(struct hold *h, struct flight *f, uint64_t number)
{
	ck_assert_msg(*f->at == number + 1, "a slot was given twice");
	*f->at = 0;
	hold_commit(h, f->at, 64);
	f->at = NULL;
}

START_TEST(no_slot_has_two_owners_and_none_is_missing)
{
	const uint64_t slots = WINDOW * BATCH + LOADERS;
	struct hold *h = make(WINDOW, slots, 64);
	uint64_t claim = 0, arrived = 0, taken = 0;
	struct flight flights[LOADERS] = { 0 };

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t r = rng_u64((uint64_t)_i, RNG_TEST, i);
		unsigned who = (unsigned)(r % (_i == 0 ? 4 : 11)) % LOADERS;
		struct flight *f = &flights[who];

		if (f->at) {
			finish(h, f, who);
			arrived++;
		} else if (claim / BATCH < taken + WINDOW) {
			f->batch = claim++ / BATCH;
			f->at = take(h, f->batch, taken);
			ck_assert_ptr_nonnull(f->at);
			ck_assert_msg(*f->at == 0, "still on its way");
			*f->at = (unsigned char)(who + 1);
		}
		if (r >> 60 == 0 && arrived >= (taken + 1) * BATCH)
			taken++;
	}
	ck_assert_uint_gt(taken, 100);
	hold_free(h);
}
END_TEST

/* Not all of the room comes into use where half of it does. */
/* The beginning of files that are opened ahead: it stays until its batch was taken, however far
 * that is. */
START_TEST(what_lies_behind_the_window_stays_until_it_is_taken)
{
	struct hold *h = make(2, 4, 4096);
	void *far = take(h, 1000, 0), *near = take(h, 3, 0);
	void *first = take(h, 0, 0);

	hold_commit(h, far, 4096);
	hold_commit(h, near, 4096);
	hold_commit(h, first, 4096);
	ck_assert_ptr_nonnull(take(h, 1, 0));
	ck_assert_ptr_null(take(h, 1, 0));
	/* 3 comes into the window, and leaves it */
	ck_assert_ptr_eq(take(h, 2, 2), first);
	ck_assert_ptr_null(take(h, 2, 2));
	ck_assert_ptr_null(take(h, 2, 3));
	ck_assert_ptr_eq(take(h, 5, 4), near);
	ck_assert_ptr_null(take(h, 5, 1000));
	ck_assert_ptr_eq(take(h, 1001, 1001), far);
	hold_free(h);
}
END_TEST

START_TEST(what_was_let_go_last_is_taken_first)
{
	struct hold *h = make(1, 100, 4096);
	unsigned char *least = NULL, *most = NULL;

	for (uint64_t batch = 0; batch < 500; batch++) {
		unsigned char *at[10];

		for (unsigned i = 0; i < 10; i++) {
			at[i] = take(h, batch, batch);
			least = !least || at[i] < least ? at[i] : least;
			most = at[i] > most ? at[i] : most;
		}
		for (unsigned i = 0; i < 10; i++)
			hold_commit(h, at[i], 4096);
	}
	ck_assert_uint_eq((uint64_t)(most - least), 9 * 4096);
	hold_free(h);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t slot, first, then;	/* bytes */
	bool is_given_back;
} sizes[] = {
	{ MIB, MIB, 100, true },
	{ MIB, MIB, 0, true },
	{ MIB + 64, MIB + 64, 4096, true },	/* slots share pages */
	{ MIB, MIB, MIB, false },
	{ MIB, 4096, MIB, false },
	{ MIB, 65536, 60000, false },		/* not worth a call */
};
/* clang-format on */

static uint64_t count(const unsigned char *at, uint64_t bytes, int value)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < bytes; i++)
		n += at[i] == value;
	return n;
}

START_TEST(what_a_smaller_extent_does_not_need_goes_back)
{
	uint64_t slot = sizes[_i].slot, zeroes;
	struct hold *h = make(1, 3, slot);
	unsigned char *low = take(h, 0, 0), *at = take(h, 0, 0), *high = take(h, 0, 0);

	ck_assert_ptr_eq(low + slot, at);
	ck_assert_ptr_eq(at + slot, high);
	memset(low, 1, 3 * slot);
	hold_commit(h, at, sizes[_i].first);
	ck_assert_ptr_eq(take(h, 1, 1), at);
	hold_commit(h, at, sizes[_i].then);
	ck_assert_uint_eq(count(low, slot, 1), slot);
	ck_assert_uint_eq(count(high, slot, 1), slot);
	ck_assert_uint_eq(count(at, sizes[_i].then, 1), sizes[_i].then);
	zeroes = count(at, slot, 0);
	if (sizes[_i].is_given_back)
		ck_assert_uint_gt(zeroes + 65536, slot - sizes[_i].then);
	else
		ck_assert_uint_eq(zeroes, 0);
	hold_free(h);
}
END_TEST

START_TEST(room_that_cannot_be_had_is_told)
{
	struct mlgen_err err = { 0 };
	const struct hold_config huge[] = { { 1, 1ull << 40, 1ull << 40 },
					    { 1, 1ull << 30, 1ull << 30 } };
	struct hold *h;

	ck_assert_int_eq(hold_new(&h, &huge[_i], &err), -ENOMEM);
	ck_assert_ptr_null(h);
	ck_assert_ptr_nonnull(strstr(err.text, "hold_samples=0"));
}
END_TEST

/* How much. */

static const struct mlgen_engine no_files = { .name = "none", .caps = MLGEN_CAP_NO_FILES };
static const struct mlgen_engine files = { .name = "files" };

static struct job job_of(enum job_loader loader, uint64_t file_bytes)
{
	static char directory[] = "d";

	return (struct job){ .directory = directory,
			     .engine = &files,
			     .hold_samples = true,
			     .format = FORMAT_RAW,
			     .loader = (int)loader,
			     .num_files = 1000,
			     .samples_per_file = 1,
			     .sample_size = { .a = (double)file_bytes },
			     .scale = 100,
			     .accelerators = 2,
			     .read_threads = 4,
			     .prefetch = 3,
			     .batch_size = 5,
			     .drop_last = true,
			     .bs = { .read = 4096 } };
}

static void stages_of(struct stages *s, const struct job *job, struct dataset *ds)
{
	*s = (struct stages){ 0 };
	ck_assert_int_eq(dataset_init(ds, job, 0, NULL), 0);
	ck_assert_int_eq(train_pass(&s->train, job, ds, false, job->direct ? 512 : 0, NULL), 0);
}

/* clang-format off */
static const struct {
	enum job_loader loader;
	uint64_t file_bytes;
	bool direct;
	uint64_t window, slots, slot_bytes;
} plans[] = {
	{ LOADER_PYTORCH, 10000, false, 12, 12 * 5 + 4, 10048 },
	{ LOADER_PYTORCH, 10000, true,  12, 12 * 5 + 4, 12288 },
	{ LOADER_PLAIN,   640,   false, 3,  3 * 5 + 4,  640 },
};
/* clang-format on */

START_TEST(a_plan_has_room_for_all_that_may_be_ahead)
{
	struct job job = job_of(plans[_i].loader, plans[_i].file_bytes);
	struct hold_config c;
	struct dataset ds;
	struct stages s;

	job.direct = plans[_i].direct;
	stages_of(&s, &job, &ds);
	hold_plan(&c, &job, &s);
	ck_assert_uint_eq(c.window, plans[_i].window);
	ck_assert_uint_eq(c.slots, plans[_i].slots);
	ck_assert_uint_eq(c.slot_bytes, plans[_i].slot_bytes);
	dataset_fini(&ds);
}
END_TEST

START_TEST(of_sizes_that_vary_the_largest_fits)
{
	struct job job = job_of(LOADER_PYTORCH, 100000);
	uint64_t largest = 0;
	struct hold_config c;
	struct dataset ds;
	struct stages s;

	job.sample_size.kind = DIST_NORMAL;
	job.sample_size.b = 30000;
	stages_of(&s, &job, &ds);
	hold_plan(&c, &job, &s);
	for (uint64_t i = 0; i < ds.files; i++)
		if (dataset_file_bytes(&ds, i) > largest)
			largest = dataset_file_bytes(&ds, i);
	ck_assert_uint_gt(largest, 150000);
	ck_assert_uint_ge(c.slot_bytes, largest);
	ck_assert_uint_lt(c.slot_bytes, largest + 64);
	/* what is in use is the mean */
	double bytes = hold_bytes(&job, &s);
	ck_assert_double_gt(bytes, 2 * 12 * 5 * 97000.0);
	ck_assert_double_lt(bytes, 2 * 12 * 5 * 103000.0);
	dataset_fini(&ds);
}
END_TEST

START_TEST(nothing_is_held_where_nothing_is_asked_or_moved)
{
	struct job job = job_of(LOADER_PYTORCH, 100000);
	struct hold_config c;
	struct dataset ds;
	struct stages s;

	stages_of(&s, &job, &ds);
	if (_i)
		job.engine = &no_files;
	else
		job.hold_samples = false;
	hold_plan(&c, &job, &s);
	ck_assert_uint_eq(c.slots, 0);
	ck_assert_int_eq(hold_check(&job, &s, 1, NULL), 0);
	dataset_fini(&ds);
}
END_TEST

START_TEST(more_than_the_memory_is_refused)
{
	const uint64_t all = (uint64_t)2 * 12 * 5 * 100000;
	struct job job = job_of(LOADER_PYTORCH, 100000);
	struct mlgen_err err = { 0 };
	struct dataset ds;
	struct stages s;

	stages_of(&s, &job, &ds);
	ck_assert_int_eq(hold_check(&job, &s, all, &err), 0);
	ck_assert_int_eq(hold_check(&job, &s, all - 1, &err), -ENOMEM);
	ck_assert_str_eq(err.text,
			 "hold_samples: prefetched samples would need 11.44 MiB, but the memory of "
			 "this host is 11.44 MiB; lower prefetch, read_threads, batch_size or "
			 "accelerators, or set hold_samples=0");
	/* an epoch has no more than its samples */
	job.num_files = 20;
	dataset_fini(&ds);
	stages_of(&s, &job, &ds);
	ck_assert_double_eq(hold_bytes(&job, &s), 20 * 100000.0);
	dataset_fini(&ds);
}
END_TEST

/* Whichever of the two is more; the other one changes nothing. */
START_TEST(the_larger_of_training_and_evaluation_is_checked)
{
	const uint64_t of_train = (uint64_t)2 * 12 * 5 * 100000;
	const uint64_t batches[] = { 1, 50 };
	const uint64_t need = _i ? (uint64_t)2 * 300 * 100000 : of_train;
	struct job job = job_of(LOADER_PYTORCH, 100000);
	struct mlgen_err err = { 0 };
	struct dataset ds, eval;
	struct stages s;

	job.eval_files = 600; /* of each rank 300, fewer than 12 x 50 */
	job.eval_batch_size = batches[_i];
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, NULL), 0);
	ck_assert_int_eq(train_stages(&s, &job, &ds, &eval, 0, NULL), 0);
	ck_assert_double_eq(hold_bytes(&job, &s), (double)need);
	ck_assert_int_eq(hold_check(&job, &s, need, &err), 0);
	ck_assert_int_eq(hold_check(&job, &s, need - 1, &err), -ENOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, _i ? "eval_batch_size" : " batch_size"));
	dataset_fini(&eval);
	dataset_fini(&ds);
}
END_TEST

static TCase *case_of_memory(void)
{
	TCase *t = tcase_create("memory");

	tcase_add_test(t, slots_are_apart_and_can_be_written);
	tcase_add_test(t, a_slot_is_free_when_its_batch_is_taken);
	tcase_add_loop_test(t, no_slot_has_two_owners_and_none_is_missing, 0, 4);
	tcase_add_test(t, what_lies_behind_the_window_stays_until_it_is_taken);
	tcase_add_test(t, what_was_let_go_last_is_taken_first);
	tcase_add_loop_test(t, what_a_smaller_extent_does_not_need_goes_back, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_loop_test(t, room_that_cannot_be_had_is_told, 0, 2);
	return t;
}

static TCase *case_of_plans(void)
{
	TCase *t = tcase_create("plans");

	tcase_add_loop_test(t, a_plan_has_room_for_all_that_may_be_ahead, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(t, of_sizes_that_vary_the_largest_fits);
	tcase_add_loop_test(t, nothing_is_held_where_nothing_is_asked_or_moved, 0, 2);
	tcase_add_test(t, more_than_the_memory_is_refused);
	tcase_add_loop_test(t, the_larger_of_training_and_evaluation_is_checked, 0, 2);
	return t;
}

Suite *suite_hold(void)
{
	Suite *s = suite_create("hold");

	suite_add_tcase(s, case_of_memory());
	suite_add_tcase(s, case_of_plans());
	return s;
}
