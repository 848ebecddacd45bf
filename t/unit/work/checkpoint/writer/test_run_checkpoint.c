/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_checkpoint.c - checkpoints between the steps of a training, to the nanosecond. */
#include "suites.h"
#include "train_rig.h"

static const int barriers[] = { BARRIER_NONE, BARRIER_STEP, BARRIER_EPOCH };
#define BARRIERS 3

#define RANKS 2
#define STEPS 10 /* of an epoch, of 10 ms each */
#define STEP_NS (10 * MS)
#define WRITES 10 /* of a rank, of 3 ms each */
#define WRITE_NS (3 * MS)
#define SAVE_NS (WRITES * WRITE_NS)

static struct job *save_job(const char *every, int mode)
{
	struct job *j = new_job();

	j->accelerators = RANKS;
	j->num_files = RANKS * STEPS;
	j->shuffle.kind = SHUFFLE_NONE;
	j->checkpoint_every = mem_strdup(every);
	j->checkpoint_mode = mode;
	j->checkpoint_layout = LAYOUT_STREAM;
	j->bs.write = 4096;
	j->checkpoint_size_bytes = WRITES * j->bs.write;
	mock_of(j)->write_ns = WRITE_NS;
	return j;
}

static const struct checkpoint_result *saved(const struct rig *r, uint64_t i)
{
	const struct checkpoint_result *list = r->saves.items.items;

	ck_assert_uint_lt(i, r->saves.items.count);
	return &list[i];
}

/* Seconds of a result, as they are on the clock. */
static uint64_t ns_of(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

static void check_ran(const struct rig *r, uint64_t steps)
{
	ck_assert_msg(r->err.code == 0, "%s", r->err.text);
	for (uint64_t i = 0; i < r->job->accelerators; i++)
		ck_assert_uint_eq(count_get(&r->train.ranks[i].count.steps), steps);
}

/* The same steps as without: each of 10 ms, nothing of it a checkpoint. */
static void check_steps_are_undisturbed(const struct rig *r)
{
	for (uint64_t i = 0; i < r->job->accelerators; i++) {
		const struct rank *k = &r->train.ranks[i];
		uint64_t steps = count_get(&k->count.steps);

		ck_assert_uint_eq(count_get(&k->count.step_ns), steps * STEP_NS);
		ck_assert_uint_eq(count_get(&k->count.compute_ns), steps * STEP_NS);
		ck_assert_uint_eq(k->counted_wall_ns, k->counted_compute_ns);
		ck_assert_uint_eq(k->step->max_ns, STEP_NS);
	}
}

static void check_stood_still(const struct rig *r, uint64_t ns)
{
	for (uint64_t i = 0; i < r->job->accelerators; i++)
		ck_assert_uint_eq(count_get(&r->train.ranks[i].count.checkpoint_ns), ns);
}

/* ---- when ---- */

/* Two epochs of 10 steps, SAVE_NS a checkpoint: which are saved after. */
static const struct {
	const char *every;
	uint64_t count, steps[8];
} due[] = {
	{ "4 steps", 5, { 4, 8, 12, 16, 20 } },
	{ "7 steps", 2, { 7, 14 } },
	{ "20 steps", 1, { 20 } },
	{ "21 steps", 0, { 0 } },
	{ "1 epoch", 2, { 10, 20 } },
	{ "2 epochs", 1, { 20 } },
	/* From one's begin to the next: 70 ms, which is 4 steps and 30 ms. */
	{ "70ms", 4, { 7, 11, 15, 19 } },
	{ "65ms", 4, { 7, 11, 15, 19 } },
	{ "200ms", 1, { 20 } },
	{ "1s", 0, { 0 } },
};
#define DUES ((int)(sizeof(due) / sizeof(*due)))

START_TEST(it_is_saved_after_the_steps_asked_for)
{
	uint64_t n = due[_i % DUES].count;
	struct rig r = { .job = save_job(due[_i % DUES].every, CHECKPOINT_SYNC) };

	r.job->epochs = 2;
	r.job->barrier = barriers[_i / DUES];
	rig_go(&r);
	check_ran(&r, 2 * STEPS);
	ck_assert_uint_eq(r.saves.count, n);
	ck_assert_uint_eq(r.saves.completed, n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t step = due[_i % DUES].steps[i];

		ck_assert_uint_eq(saved(&r, i)->number, i + 1);
		ck_assert_uint_eq(saved(&r, i)->step, step);
		ck_assert_uint_eq(saved(&r, i)->epoch, 1 + (step - 1) / STEPS);
		ck_assert_uint_eq(ns_of(saved(&r, i)->stall_seconds), SAVE_NS);
	}
	ck_assert_uint_eq(atomic_load(&writes), n * RANKS * WRITES);
	check_steps_are_undisturbed(&r);
	check_stood_still(&r, n * SAVE_NS);
	ck_assert_uint_eq(r.elapsed_ns, 2 * STEPS * STEP_NS + n * SAVE_NS);
	rig_end(&r);
}
END_TEST

/* The last step of a run is one, too; what is due later is not saved. */
START_TEST(a_run_that_ends_saves_what_is_due_by_then)
{
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_SYNC) };

	r.job->barrier = barriers[_i / 2];
	if (_i % 2)
		r.job->steps = 8;
	else /* ends with the second checkpoint */
		r.job->runtime_ns = 8 * STEP_NS + 2 * SAVE_NS;
	rig_go(&r);
	check_ran(&r, 8);
	ck_assert_uint_eq(r.saves.completed, 2);
	check_stood_still(&r, 2 * SAVE_NS);
	ck_assert_uint_eq(r.elapsed_ns, 8 * STEP_NS + 2 * SAVE_NS);
	rig_end(&r);
}
END_TEST

/* On a storage that is only played: of calls that are made it is waited for. */
START_TEST(runtime_cuts_one_that_is_under_way)
{
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_SYNC) };

	r.job->barrier = barriers[_i];
	r.job->runtime_ns = 8 * STEP_NS + SAVE_NS + MS;
	rig_go(&r);
	check_ran(&r, 8);
	ck_assert_uint_eq(r.saves.count, 2);
	ck_assert_uint_eq(r.saves.completed, 1);
	ck_assert_str_eq(saved(&r, 1)->error, "its time was over");
	check_stood_still(&r, SAVE_NS + MS);
	ck_assert_uint_eq(r.elapsed_ns, r.job->runtime_ns);
	rig_end(&r);
}
END_TEST

START_TEST(an_evaluation_comes_behind_it_and_loses_nothing)
{
	struct rig r = { .job = save_job("1 epoch", CHECKPOINT_SYNC) };
	const struct rank_count *c;

	r.job->barrier = barriers[_i];
	r.job->epochs = 2;
	r.job->eval_files = 3 * RANKS;
	r.job->eval_time = constant(4 * MS);
	rig_go(&r);
	c = &rig_rank(&r)->count;
	check_ran(&r, 2 * STEPS);
	check_steps_are_undisturbed(&r);
	check_stood_still(&r, 2 * SAVE_NS);
	ck_assert_uint_eq(count_get(&c->eval_steps), 2 * 3);
	ck_assert_uint_eq(count_get(&c->eval_ns), 2 * 12 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 2 * (STEPS * STEP_NS + SAVE_NS + 12 * MS));
	rig_end(&r);
}
END_TEST

/* ---- while it is written ---- */

/* 40960 bytes at 8192000 a second: 5 ms. */
#define BANDWIDTH 8192000
#define SNAPSHOT_NS (5 * MS)

START_TEST(async_ones_cost_their_snapshots_only)
{
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_ASYNC) };
	uint64_t lost = _i % 2 ? SNAPSHOT_NS : 0;

	r.job->barrier = barriers[_i / 2];
	r.job->snapshot_bandwidth = _i % 2 ? BANDWIDTH : 0;
	r.job->epochs = 2;
	rig_go(&r);
	check_ran(&r, 2 * STEPS);
	/* the last one was waited for */
	ck_assert_uint_eq(r.saves.completed, 5);
	for (uint64_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(ns_of(saved(&r, i)->seconds), SAVE_NS);
		ck_assert_uint_eq(ns_of(saved(&r, i)->stall_seconds), lost);
		ck_assert_uint_eq(ns_of(saved(&r, i)->snapshot_seconds), lost);
		ck_assert_uint_eq(ns_of(saved(&r, i)->wait_seconds), 0);
	}
	check_steps_are_undisturbed(&r);
	check_stood_still(&r, 5 * lost);
	ck_assert_uint_eq(r.elapsed_ns, 2 * STEPS * STEP_NS + 5 * lost);
	rig_end(&r);
}
END_TEST

/* 90 ms to write, 40 of steps: each waits for the other 50, and has its snapshot behind that. An
 * evaluation of 60 ms leaves nothing to wait for. */
START_TEST(the_next_one_waits_until_the_last_is_written)
{
	static const uint64_t waits[2][5] = { { 0, 50, 50, 50, 50 }, { 0, 50, 0, 50, 50 } };
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_ASYNC) };
	uint64_t stood_ns = 0;

	r.job->barrier = barriers[_i / 2];
	r.job->snapshot_bandwidth = BANDWIDTH;
	r.job->epochs = 2;
	r.job->eval_files = _i % 2 ? 3 * RANKS : 0;
	r.job->eval_time = constant(20 * MS);
	mock_of(r.job)->write_ns = 9 * MS;
	rig_go(&r);
	check_ran(&r, 2 * STEPS);
	ck_assert_uint_eq(r.saves.completed, 5);
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t wait_ns = waits[_i % 2][i] * MS;

		stood_ns += wait_ns + SNAPSHOT_NS;
		ck_assert_uint_eq(ns_of(saved(&r, i)->wait_seconds), wait_ns);
		ck_assert_uint_eq(ns_of(saved(&r, i)->snapshot_seconds), SNAPSHOT_NS);
		ck_assert_uint_eq(ns_of(saved(&r, i)->stall_seconds), wait_ns + SNAPSHOT_NS);
	}
	check_steps_are_undisturbed(&r);
	check_stood_still(&r, stood_ns);
	rig_end(&r);
}
END_TEST

/* All stand still for the snapshot of the rank that has one. */
START_TEST(only_ranks_that_save_something_copy_it)
{
	struct rig r = { .job = save_job("10 steps", CHECKPOINT_ASYNC) };

	mem_free(r.job->checkpoint_ranks);
	r.job->checkpoint_ranks = mem_strdup("zero");
	r.job->checkpoint_mode = _i ? CHECKPOINT_ASYNC : CHECKPOINT_SYNC;
	r.job->snapshot_bandwidth = BANDWIDTH;
	rig_go(&r);
	check_ran(&r, STEPS);
	ck_assert_uint_eq(atomic_load(&writes), WRITES);
	check_stood_still(&r, _i ? SNAPSHOT_NS : SAVE_NS);
	rig_end(&r);
}
END_TEST

/* A read takes 8 ms: what a step waits for has been read meanwhile. */
START_TEST(loaders_read_ahead_meanwhile)
{
	struct rig r = { .job = save_job("5 steps", CHECKPOINT_SYNC) };
	const struct rank *k;

	r.job->compute_time = constant(2 * MS);
	r.job->prefetch = 3;
	mock_of(r.job)->read_ns = 8 * MS;
	rig_go(&r);
	check_ran(&r, STEPS);
	k = rig_rank(&r);
	/* 5 steps wait, 3 find what was read within 30 ms, one a part of it */
	ck_assert_uint_eq(count_get(&k->count.stall_ns), (8 + 4 * 6 + 3 * 0 + 2 + 6) * MS);
	rig_end(&r);
}
END_TEST

/* ---- ranks that are not at the same place ---- */

static const char *const everies[] = { "3 steps", "1 epoch", "50ms", "7ms" };
#define EVERIES 4

static struct job *uneven_job(int i)
{
	struct job *j = save_job(everies[i % EVERIES],
				 i / EVERIES % 2 ? CHECKPOINT_SYNC : CHECKPOINT_ASYNC);

	j->barrier = barriers[i / EVERIES / 2];
	j->snapshot_bandwidth = BANDWIDTH;
	j->accelerators = 4;
	j->num_files = 4 * STEPS;
	j->epochs = 5;
	j->compute_time =
		(struct dist){ .kind = DIST_UNIFORM, .a = (double)MS, .b = 30 * (double)MS };
	return j;
}
#define UNEVEN (EVERIES * 2 * BARRIERS)

/* Nobody waits for ever: the clock would say so. */
START_TEST(they_meet_after_the_same_step)
{
	struct rig r = { .job = uneven_job(_i) };
	uint64_t before = 0;

	r.job->eval_files = 8;
	r.job->eval_time = constant(4 * MS);
	rig_go(&r);
	check_ran(&r, 5 * STEPS);
	ck_assert_uint_gt(r.saves.count, 3);
	ck_assert_uint_eq(r.saves.completed, r.saves.count);
	for (uint64_t i = 0; i < r.saves.count; i++) {
		ck_assert_uint_gt(saved(&r, i)->step, before);
		before = saved(&r, i)->step;
	}
	/* the times of a rank are all of what it went through */
	for (unsigned i = 0; i < 4; i++) {
		const struct rank_count *c = &r.train.ranks[i].count;

		ck_assert_uint_le(count_get(&c->step_ns) + count_get(&c->eval_ns) +
					  count_get(&c->checkpoint_ns),
				  r.elapsed_ns);
		ck_assert_uint_eq(count_get(&c->step_ns), count_get(&c->compute_ns) +
								  count_get(&c->stall_ns) +
								  count_get(&c->barrier_ns));
	}
	rig_end(&r);
}
END_TEST

/* ... nor for one that has left. */
START_TEST(a_rank_whose_time_is_up_is_not_waited_for)
{
	struct rig r = { .job = uneven_job(_i % UNEVEN) };

	r.job->runtime_ns = (100 + 17 * (uint64_t)(_i / UNEVEN)) * MS;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	/* the last one may be cut */
	ck_assert_uint_le(r.saves.completed, r.saves.count);
	ck_assert_uint_ge(r.saves.completed + 1, r.saves.count);
	ck_assert_uint_eq(r.elapsed_ns, r.job->runtime_ns);
	rig_end(&r);
}
END_TEST

/* ---- the rest ---- */

START_TEST(what_comes_within_ramp_time_is_saved_but_not_counted)
{
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_SYNC) };

	r.job->ramp_time_ns = 4 * STEP_NS + SAVE_NS + 2 * STEP_NS;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(r.saves.completed, 2);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.steps), 4);
	check_steps_are_undisturbed(&r);
	check_stood_still(&r, SAVE_NS);
	rig_end(&r);
}
END_TEST

START_TEST(one_that_fails_ends_the_run)
{
	struct rig r = { .job = save_job("4 steps", _i % 2 ? CHECKPOINT_SYNC : CHECKPOINT_ASYNC) };

	r.job->barrier = barriers[_i / 2];
	r.job->epochs = 1000;
	/* the third one of 20 writes */
	mock_of(r.job)->fail_write_at = 2 * RANKS * WRITES + 5;
	rig_go(&r);
	ck_assert_int_eq(r.err.code, -EIO);
	ck_assert_uint_eq(r.saves.count, 3);
	ck_assert_uint_eq(r.saves.completed, 2);
	ck_assert_uint_lt(count_get(&rig_rank(&r)->count.steps), 16);
	rig_end(&r);
}
END_TEST

START_TEST(an_interruption_gives_it_up)
{
	struct rig r = { .job = save_job("4 steps", _i % 2 ? CHECKPOINT_SYNC : CHECKPOINT_ASYNC),
			 /* 7 ms after it began */
			 .interrupt_at_ns = 4 * STEP_NS + 7 * MS };

	r.job->barrier = barriers[_i / 2];
	r.job->snapshot_bandwidth = BANDWIDTH;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(r.saves.count, 1);
	ck_assert_uint_eq(r.saves.completed, 0);
	ck_assert_uint_le(count_get(&rig_rank(&r)->count.steps), 5);
	ck_assert_uint_eq(r.elapsed_ns, 4 * STEP_NS + 7 * MS);
	rig_end(&r);
}
END_TEST

/* In the middle of a long snapshot nothing has begun. */
START_TEST(an_interruption_cuts_a_snapshot_short)
{
	struct rig r = { .job = save_job("4 steps", CHECKPOINT_ASYNC),
			 .interrupt_at_ns = 4 * STEP_NS + 7 * MS };

	r.job->barrier = barriers[_i];
	r.job->snapshot_bandwidth = 10;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(r.saves.count, 0);
	check_stood_still(&r, 7 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 4 * STEP_NS + 7 * MS);
	rig_end(&r);
}
END_TEST

Suite *suite_run_checkpoint(void)
{
	Suite *s = suite_create("run_checkpoint");
	TCase *tc = tcase_create("run_checkpoint");

	tcase_add_loop_test(tc, it_is_saved_after_the_steps_asked_for, 0, DUES * BARRIERS);
	tcase_add_loop_test(tc, a_run_that_ends_saves_what_is_due_by_then, 0, 2 * BARRIERS);
	tcase_add_loop_test(tc, runtime_cuts_one_that_is_under_way, 0, BARRIERS);
	tcase_add_loop_test(tc, an_evaluation_comes_behind_it_and_loses_nothing, 0, BARRIERS);
	tcase_add_loop_test(tc, async_ones_cost_their_snapshots_only, 0, 2 * BARRIERS);
	tcase_add_loop_test(tc, the_next_one_waits_until_the_last_is_written, 0, 2 * BARRIERS);
	tcase_add_loop_test(tc, only_ranks_that_save_something_copy_it, 0, 2);
	tcase_add_test(tc, loaders_read_ahead_meanwhile);
	tcase_add_loop_test(tc, they_meet_after_the_same_step, 0, UNEVEN);
	tcase_add_loop_test(tc, a_rank_whose_time_is_up_is_not_waited_for, 0, 5 * UNEVEN);
	tcase_add_test(tc, what_comes_within_ramp_time_is_saved_but_not_counted);
	tcase_add_loop_test(tc, one_that_fails_ends_the_run, 0, 2 * BARRIERS);
	tcase_add_loop_test(tc, an_interruption_gives_it_up, 0, 2 * BARRIERS);
	tcase_add_loop_test(tc, an_interruption_cuts_a_snapshot_short, 0, BARRIERS);
	suite_add_tcase(s, tc);
	return s;
}
