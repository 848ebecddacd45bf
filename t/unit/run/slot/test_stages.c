/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages.c - epochs and the evaluations between them, by hand. */
#include <stdio.h>
#include <string.h>

#include "run/slot/slot.h"
#include "suites.h"

#define STEPS 5
#define EVAL_STEPS 2

static void make(struct stages *s, uint64_t after, uint64_t every)
{
	memset(s, 0, sizeof(*s));
	s->train.sampler.steps = STEPS;
	s->eval.is_eval = true;
	s->eval.sampler.steps = EVAL_STEPS;
	s->has_eval = every > 0;
	s->eval_after = after;
	s->eval_every = every;
}

/* clang-format off */
static const struct {
	uint64_t after, every; /* every 0 = no evaluation */
	const char *order;     /* T an epoch, e an evaluation */
	const char *runs_on;   /* + the next one is an epoch, read ahead of */
} orders[] = {
	{ 0, 0, "TTTTTTTT", "++++++++" },
	{ 1, 1, "TeTeTeTe", "--------" },
	{ 1, 2, "TeTTeTTe", "--+--+--" },
	{ 2, 1, "TTeTeTeT", "+-------" },
	{ 3, 2, "TTTeTTeT", "++--+--+" },
	{ 4, 3, "TTTTeTTT", "+++--++-" },
	{ 9, 1, "TTTTTTTT", "++++++++" },
};
/* clang-format on */

START_TEST(evaluations_come_after_their_epochs)
{
	struct stages s;
	struct stage at;

	make(&s, orders[_i].after, orders[_i].every);
	at = stage_first(&s);
	for (uint64_t i = 0; orders[_i].order[i]; i++) {
		ck_assert_uint_eq(at.number, i);
		ck_assert_msg(at.pass->is_eval == (orders[_i].order[i] == 'e'), "%s at %lu",
			      orders[_i].order, (unsigned long)i);
		ck_assert_msg(stage_runs_on(&s, &at) == (orders[_i].runs_on[i] == '+'), "%s at %lu",
			      orders[_i].order, (unsigned long)i);
		stage_next(&s, &at);
	}
}
END_TEST

START_TEST(batches_are_numbered_through_all_stages)
{
	struct stages s;
	struct stage at;
	uint64_t batches = 0, epochs = 0;

	make(&s, 2, 3);
	at = stage_first(&s);
	for (unsigned i = 0; i < 100; i++) {
		bool is_eval = at.pass->is_eval;

		ck_assert_uint_eq(at.first_batch, batches);
		/* that of an evaluation is the one before it */
		ck_assert_uint_eq(at.epoch, is_eval ? epochs - 1 : epochs);
		batches += is_eval ? EVAL_STEPS : STEPS;
		epochs += !is_eval;
		ck_assert_uint_eq(stage_end_batch(&at), batches);
		stage_next(&s, &at);
	}
	/* 2 epochs and an evaluation, 24 times 3 and one, and one more */
	ck_assert_uint_eq(epochs, 75);
}
END_TEST

Suite *suite_stages(void)
{
	Suite *s = suite_create("stages");
	TCase *t = tcase_create("stages");

	tcase_add_loop_test(t, evaluations_come_after_their_epochs, 0,
			    (int)(sizeof(orders) / sizeof(orders[0])));
	tcase_add_test(t, batches_are_numbered_through_all_stages);
	suite_add_tcase(s, t);
	return s;
}
