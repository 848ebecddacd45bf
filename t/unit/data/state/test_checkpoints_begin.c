/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints_begin.c - of runs in one directory one begins a name, and what a killed one left
 * is taken up. */
#include <errno.h>
#include <pthread.h>

#include "checkpoints_rig.h"
#include "suites.h"

START_TEST(a_name_that_is_taken_is_refused)
{
	struct mlgen_err err = { 0 };
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	checkpoints_next(&r.c, 1, 5, &k);
	put_directory("global_epoch1_step5"); /* cut off behind mkdir */
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "remove it by hand"));
	put_directory("global_epoch1_step6");
	put_file("global_epoch1_step6/x", "y");
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	r.job->rename_commit = true; /* it will be in the way at the end */
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	ck_assert(!exists(".global_epoch1_step6.part"));
	rig_close(&r);
}
END_TEST

START_TEST(one_that_was_cut_before_its_manifest_is_begun_anew)
{
	struct mlgen_err err = { 0 };
	struct checkpoint k;
	struct rig r;

	put_directory(".global_epoch1_step5.part");
	put_file(".global_epoch1_step5.part/." CHECKPOINT_MANIFEST ".part", "{ ");
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	checkpoints_next(&r.c, 1, 5, &k);
	ck_assert_msg(checkpoint_create(&r.c, &k, &err) == 0, "%s", err.text);
	ck_assert(exists("global_epoch1_step5/" CHECKPOINT_MANIFEST));
	ck_assert(!exists(".global_epoch1_step5.part"));
	put_directory(".global_epoch1_step6.part");
	put_file(".global_epoch1_step6.part/mine", "");
	checkpoints_next(&r.c, 1, 6, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), -EEXIST);
	ck_assert(exists(".global_epoch1_step6.part/mine"));
	rig_close(&r);
}
END_TEST

enum { AT_ONCE = 4, NAMES = 200 };

struct starter {
	struct rig rig;
	pthread_barrier_t *all;
	unsigned made[NAMES]; /* of each name */
	int odd;              /* a failure other than a name in use */
};

static void *begin_each_name(void *arg)
{
	struct starter *s = arg;

	for (unsigned i = 0; i < NAMES; i++) {
		struct checkpoint k;
		int rc;

		checkpoints_next(&s->rig.c, 1, i + 1, &k);
		pthread_barrier_wait(s->all);
		rc = checkpoint_create(&s->rig.c, &k, NULL);
		s->made[i] = rc == 0;
		if (rc < 0 && rc != -EEXIST)
			s->odd = rc;
	}
	return NULL;
}

START_TEST(of_runs_that_begin_a_name_at_once_one_has_it)
{
	static struct starter starters[AT_ONCE];
	pthread_t threads[AT_ONCE];
	pthread_barrier_t all;

	pthread_barrier_init(&all, NULL, AT_ONCE);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct starter *s = &starters[i];

		*s = (struct starter){ .all = &all };
		rig_open(&s->rig, SMALL, i % 2 ? "rename_commit=1" : "");
		ck_assert_int_eq(checkpoints_prepare(&s->rig.c, NULL), 0);
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_create(&threads[i], NULL, begin_each_name, &starters[i]);
	for (unsigned i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		unsigned made = 0;

		for (unsigned s = 0; s < AT_ONCE; s++)
			made += starters[s].made[i];
		ck_assert_msg(made == 1, "%u runs have name %u", made, i);
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		ck_assert_int_eq(starters[i].odd, 0);
		rig_close(&starters[i].rig);
	}
	pthread_barrier_destroy(&all);
}
END_TEST

/* The list of a run is as old as its last look. */
START_TEST(a_name_that_was_taken_meanwhile_is_another_runs)
{
	struct checkpoint k, late;
	struct rig r, other;

	rig_open(&r, SMALL, _i ? "rename_commit=1" : "");
	rig_open(&other, SMALL, "");
	ck_assert_int_eq(checkpoints_prepare(&other.c, NULL), 0);
	checkpoints_next(&other.c, 1, UINT64_MAX, &late);
	k = save(&r, false);
	ck_assert_int_eq(checkpoint_create(&other.c, &late, NULL), -EEXIST);
	ck_assert_int_eq(checkpoints_refresh(&other.c, NULL), 0);
	checkpoints_next(&other.c, 1, UINT64_MAX, &late);
	ck_assert_uint_eq(late.step, 2);
	ck_assert_uint_eq(late.number, 2);
	ck_assert_int_eq(checkpoint_create(&other.c, &late, NULL), 0);
	ck_assert(exists(k.name));
	ck_assert(_i || !exists(".global_epoch1_step1.part"));
	rig_close(&other);
	rig_close(&r);
}
END_TEST

static void rename_to(const char *from_name, const char *to_name)
{
	char from[PATH_MAX], to[PATH_MAX];

	name_of(from, from_name);
	name_of(to, to_name);
	ck_assert_int_eq(rename(from, to), 0);
}

/* As a run that was killed between two renames leaves it. */
START_TEST(what_was_put_aside_is_whole_and_gets_its_name_back)
{
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	rig_close(&r);
	rename_to("global_epoch1_step1", ".global_epoch1_step1.old");
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, NULL), 0);
	ck_assert_str_eq(to.name, ".global_epoch1_step1.old");
	ck_assert(!exists("global_epoch1_step1")); /* it has only looked */
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert_str_eq(r.c.items[0].name, "global_epoch1_step1");
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	ck_assert(!exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

START_TEST(what_was_put_aside_is_not_needed_once_another_is_there)
{
	struct checkpoint to[2];
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	rename_to("global_epoch1_step1", ".global_epoch1_step1.old");
	r.c.count = 0;
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 2);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, to, NULL), 0);
	ck_assert_str_eq(to[0].name, "global_epoch1_step1");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 2, to, NULL), -EINVAL);
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert(exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

/* A run that goes on would be in the middle of it. */
START_TEST(nothing_is_put_back_while_another_run_replaces_it)
{
	struct process other;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "rename_commit=1");
	save(&r, false);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	k = r.c.items[0];
	process_self(&other);
	snprintf(other.host, sizeof(other.host), "elsewhere");
	k.writer = other;
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	put_directory(".global_epoch1_step1.old");
	forge(".global_epoch1_step1.old", "rank_1.pt");
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert(exists(".global_epoch1_step1.old"));
	rig_close(&r);
}
END_TEST

Suite *suite_checkpoints_begin(void)
{
	Suite *s = suite_create("checkpoints_begin");
	TCase *t = tcase_create("begun");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_name_that_is_taken_is_refused);
	tcase_add_test(t, one_that_was_cut_before_its_manifest_is_begun_anew);
	tcase_add_test(t, of_runs_that_begin_a_name_at_once_one_has_it);
	tcase_add_loop_test(t, a_name_that_was_taken_meanwhile_is_another_runs, 0, 2);
	tcase_add_test(t, what_was_put_aside_is_whole_and_gets_its_name_back);
	tcase_add_test(t, what_was_put_aside_is_not_needed_once_another_is_there);
	tcase_add_test(t, nothing_is_put_back_while_another_run_replaces_it);
	suite_add_tcase(s, t);
	return s;
}
