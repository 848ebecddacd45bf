/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_text.c - a score for people, from figures filled by hand. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracing/score/score.h"
#include "suites.h"

#define NONE ((double)NAN)

/* Of two metrics, the first and the last. */
static struct scored_part parts[2];
static struct scored_phase phase;
static struct scored some;

static void setup(void)
{
	for (int i = 0; i < 2; i++)
		parts[i] = (struct scored_part){ .name = i ? "block size: D" : "operations: mix",
						 .number = i ? 12 : 1,
						 .distance = .5,
						 .limit = 1,
						 .threshold = 1,
						 .preset = NONE,
						 .floor = NONE,
						 .chance = NONE,
						 .verdict = SCORE_PASS };
	phase = (struct scored_phase){ .name = "train",
				       .verdict = SCORE_PASS,
				       .parts = { parts, 2 } };
	some = (struct scored){ .verdict = SCORE_PASS, .phases = { &phase, 1 } };
	for (unsigned m = 0; m < SCORE_METRICS; m++)
		some.worst[m] = NONE;
	some.worst[0] = some.worst[SCORE_METRICS - 1] = .5;
}

static void check_has(const char *want)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	score_text(f, &some);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_msg(strstr(text, want) != NULL, "no '%s' in:\n%s", want, text);
	free(text);
}

START_TEST(those_that_are_known_are_counted)
{
	check_has("score: alike in all 2 known metrics\n");
	some.verdict = SCORE_UNKNOWN;
	check_has("score: unknown, 2 metrics are known\n");
}
END_TEST

START_TEST(those_that_fail_are_named_first_to_last)
{
	some.verdict = phase.verdict = SCORE_FAIL;
	parts[0].verdict = parts[1].verdict = SCORE_FAIL;
	check_has("M1, M12 of train");
	check_has("FAIL\n");
	parts[0].verdict = SCORE_PASS;
	check_has("M12 of train");
}
END_TEST

START_TEST(what_is_not_known_says_why)
{
	parts[1].verdict = SCORE_UNKNOWN;
	parts[1].why = "block requests were not recorded";
	check_has("M12 (block requests were not recorded)");
}
END_TEST

Suite *suite_score_text(void)
{
	Suite *s = suite_create("score_text");
	TCase *t = tcase_create("score_text");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, those_that_are_known_are_counted);
	tcase_add_test(t, those_that_fail_are_named_first_to_last);
	tcase_add_test(t, what_is_not_known_says_why);
	suite_add_tcase(s, t);
	return s;
}
