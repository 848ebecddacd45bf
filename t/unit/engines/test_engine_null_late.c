/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_null_late.c - the null engine below a clock whose sleepers wake late, or below
 * none. */
#include "engine_rig.h"
#include "suites.h"

/* A clock of its own, below one worker, that wakes late. */
struct late_clock {
	uint64_t now_ns, late_ns;
};

static uint64_t late_now(const struct mlgen_ctx *ctx)
{
	const struct late_clock *c = ctx->clock;

	return c->now_ns;
}

static bool late_sleep(const struct mlgen_ctx *ctx, uint64_t ns)
{
	struct late_clock *c = ctx->buf; /* the same, to be written */

	ck_assert_uint_gt(ns, c->now_ns);
	c->now_ns = ns < UINT64_MAX - c->late_ns ? ns + c->late_ns : ns;
	return true;
}

static void late_begin(struct bare_rig *b, struct late_clock *c, const char *const *options)
{
	bare_prepare(b, "null", options, 1);
	ck_assert_int_eq(b->engine->job_init(&b->job, NULL), 0);
	b->ctx.buf = c;
	b->ctx.clock = c;
	b->ctx.now_ns = late_now;
	b->ctx.sleep_until = late_sleep;
	ck_assert_int_eq(b->engine->init(&b->ctx, NULL), 0);
}

static void late_end(struct bare_rig *b)
{
	b->ctx.buf = NULL;
	bare_end(b);
	b->engine->job_fini(&b->job);
	ck_assert_ptr_null(b->job.priv);
}

static void read_many(struct bare_rig *b, uint64_t bytes, unsigned count)
{
	struct mlgen_file file = { .fd = -1 };
	struct mlgen_io op = { .op = MLGEN_READ, .file = &file, .len_bytes = bytes };
	struct mlgen_io *one = &op;

	for (unsigned i = 0; i < count; i++) {
		ck_assert_int_eq(b->engine->submit(&b->ctx, &one, 1), 1);
		ck_assert_int_eq(op.result, (int64_t)bytes);
	}
}

/* It costs what it has always cost. */
START_TEST(without_a_model_no_clock_is_read_and_nothing_kept)
{
	static const char *const options[] = { "latency=0s", "bandwidth=0", NULL };
	struct bare_rig b;

	for (int i = 0; i < 2; i++) {
		bare_prepare(&b, "null", i ? options : NULL, 1);
		ck_assert_int_eq(b.engine->job_init(&b.job, NULL), 0);
		ck_assert_ptr_null(b.job.priv);
		ck_assert_int_eq(b.engine->init(&b.ctx, NULL), 0);
		ck_assert_ptr_null(b.ctx.priv);
		read_many(&b, 1 << 20, 3); /* there is no clock to read */
		bare_end(&b);
		b.engine->job_fini(&b.job);
	}
}
END_TEST

/* clang-format off */
static const struct late_case {
	const char *options[RIG_OPTIONS];
	uint64_t each_ns, late_ns;
} late_cases[] = {
	{ { "bandwidth=40960000", NULL }, 100000, 60000 },
	{ { "bandwidth=409600000", NULL }, 10000, 60000 },
	{ { "bandwidth=409600000", NULL }, 10000, 9000000 },
	{ { "bandwidth=4096000", "latency=1us", NULL }, 1001000, 60000 },
};
/* clang-format on */

START_TEST(what_a_thread_wakes_late_by_is_made_up_for)
{
	const struct late_case *t = &late_cases[_i];
	struct late_clock c = { 50000000, t->late_ns };
	struct bare_rig b;

	late_begin(&b, &c, t->options);
	read_many(&b, 4096, 1000);
	ck_assert_uint_ge(c.now_ns, 50000000 + 1000 * t->each_ns);
	ck_assert_uint_le(c.now_ns, 50000000 + 1000 * t->each_ns + t->late_ns);
	late_end(&b);
}
END_TEST

START_TEST(a_host_that_stood_still_is_owed_a_hundredth_of_a_second)
{
	static const char *const options[] = { "bandwidth=4096000", NULL };
	struct late_clock c = { 1000, 5000000000 };
	struct bare_rig b;

	late_begin(&b, &c, options);
	read_many(&b, 4096, 1);
	ck_assert_uint_eq(c.now_ns, 1000 + 1000000 + 5000000000);
	c.late_ns = 0;
	read_many(&b, 4096, 10);
	ck_assert_uint_eq(c.now_ns, 1000 + 1000000 + 5000000000);
	read_many(&b, 4096, 1);
	ck_assert_uint_eq(c.now_ns, 1000 + 2000000 + 5000000000);
	late_end(&b);
}
END_TEST

START_TEST(no_operation_takes_less_than_its_latency)
{
	static const char *const options[] = { "latency=1ms", "bandwidth=4096000", NULL };
	struct late_clock c = { 1000, 30000000 };
	struct bare_rig b;

	late_begin(&b, &c, options);
	read_many(&b, 4096, 1);
	c.late_ns = 0;
	for (unsigned i = 0; i < 20; i++) {
		uint64_t before = c.now_ns;

		read_many(&b, i % 2 ? 0 : 4096, 1);
		ck_assert_uint_ge(c.now_ns, before + 1000000);
	}
	late_end(&b);
}
END_TEST

START_TEST(operations_without_bytes_in_between_forget_nothing)
{
	static const char *const options[] = { "bandwidth=4096000", NULL };
	struct late_clock c = { 1000, 500000 };
	struct bare_rig b;

	late_begin(&b, &c, options);
	for (unsigned i = 0; i < 100; i++) {
		read_many(&b, 4096, 1);
		read_many(&b, 0, 2);
	}
	ck_assert_uint_ge(c.now_ns, 1000 + 100 * 1000000);
	ck_assert_uint_le(c.now_ns, 1000 + 100 * 1000000 + 500000);
	late_end(&b);
}
END_TEST

START_TEST(what_never_ends_does_not_begin_again)
{
	static const char *const options[] = { "bandwidth=1k", NULL };
	struct late_clock c = { 1000, 0 };
	struct bare_rig b;

	late_begin(&b, &c, options);
	read_many(&b, UINT64_C(1) << 62, 3);
	ck_assert_uint_gt(c.now_ns, 3 * (UINT64_C(1) << 61));
	read_many(&b, UINT64_C(1) << 62, 2);
	ck_assert_uint_eq(c.now_ns, UINT64_MAX);
	late_end(&b);
}
END_TEST

Suite *suite_engine_null_late(void)
{
	Suite *s = suite_create("engine_null_late");
	TCase *t = tcase_create("late threads");

	tcase_add_test(t, without_a_model_no_clock_is_read_and_nothing_kept);
	tcase_add_loop_test(t, what_a_thread_wakes_late_by_is_made_up_for, 0,
			    sizeof(late_cases) / sizeof(late_cases[0]));
	tcase_add_test(t, a_host_that_stood_still_is_owed_a_hundredth_of_a_second);
	tcase_add_test(t, no_operation_takes_less_than_its_latency);
	tcase_add_test(t, operations_without_bytes_in_between_forget_nothing);
	tcase_add_test(t, what_never_ends_does_not_begin_again);
	suite_add_tcase(s, t);
	return s;
}
