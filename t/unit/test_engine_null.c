/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_null.c - the null engine takes no time, or exactly what it is told. */
#include "engine_rig.h"
#include "suites.h"

/* clang-format off */
static const struct latency_case {
	const char *options[RIG_OPTIONS];
	uint64_t each_ns;
} latency_cases[] = {
	{ { NULL }, 0 },
	{ { "latency=0", NULL }, 0 },
	{ { "latency=250us", NULL }, 250000 },
	{ { "latency=2", NULL }, 2000000000 },
};
/* clang-format on */

START_TEST(every_operation_takes_its_latency_and_moves_its_bytes)
{
	const struct latency_case *c = &latency_cases[_i];
	struct rig r;

	ck_assert(rig_start(&r, "null", c->options, 1, 4096));
	r.file = (struct mlgen_file){ .path = "/no/such/file", .fd = -1 };
	for (unsigned kind = 0; kind < MLGEN_OPS; kind++) {
		struct io_op op = rig_op(&r, (enum mlgen_op)kind, 0, 5000);
		bool moves = kind == MLGEN_READ || kind == MLGEN_WRITE;
		ck_assert_int_eq(io_do(r.io, &op), moves ? 5000 : 0);
		ck_assert_uint_eq(op.end_ns - op.start_ns, c->each_ns);
	}
	ck_assert_uint_eq(clock_now(r.clock), 1000 + MLGEN_OPS * c->each_ns);
	rig_end(&r);
}
END_TEST

START_TEST(several_at_a_time_are_done_one_after_the_other)
{
	static const char *const options[] = { "latency=1ms", NULL };
	struct io_op ops[8], *done[8];
	struct rig r;

	ck_assert(rig_start(&r, "null", options, 8, 8 * 4096));
	for (unsigned i = 0; i < 8; i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * 4096, 4096);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, 8);
	ck_assert_uint_eq(clock_now(r.clock), 1000 + 8000000);
	ck_assert_uint_eq(r.stat.lat[MLGEN_READ]->max_ns, 1000000);
	rig_end(&r);
}
END_TEST

Suite *suite_engine_null(void)
{
	Suite *s = suite_create("engine_null");
	TCase *t = tcase_create("latency");

	tcase_add_loop_test(
		t, every_operation_takes_its_latency_and_moves_its_bytes, 0,
		sizeof(latency_cases) / sizeof(latency_cases[0]));
	tcase_add_test(t, several_at_a_time_are_done_one_after_the_other);
	suite_add_tcase(s, t);
	return s;
}
