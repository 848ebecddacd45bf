/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_options.c - options are echoed where they were given. */
#include <check.h>

#include "base/mem.h"
#include "metrics_rig.h"
#include "suites.h"
#include "work/workloads.h"

static void set_option(struct job *j, const char *option, const char *raw, const char *how)
{
	size_t row = 0;

	while (strcmp(job_fields[row].name, option) != 0)
		row++;
	mem_replace(&j->origins[row].raw, raw);
	mem_replace(&j->origins[row].how, how);
}

/* The value of a key, "" for null; NULL = no such key. */
static const char *value_of(const struct metric_list *map, const char *key)
{
	const struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(pairs[i].key, key) == 0)
			return pairs[i].value ? pairs[i].value : "";
	return NULL;
}

START_TEST(options_are_echoed_raw_resolved_and_with_origin)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job, .members = 1 };
	struct job_result m;

	set_option(job, "bs", "1024k", "command line");
	job->bs.read = 1 << 20;
	fill(&m, &r);
	ck_assert_str_eq(value_of(&m.doc.options, "bs"), "1024k");
	ck_assert_ptr_null(value_of(&m.doc.options, "epochs"));
	ck_assert_str_eq(value_of(&m.doc.options_resolved, "bs"), "1m");
	ck_assert_str_eq(value_of(&m.doc.options_resolved, "cpus_allowed"), "");
	ck_assert_str_eq(value_of(&m.doc.options_origin, "bs"), "command line");
	ck_assert_str_eq(value_of(&m.doc.options_origin, "epochs"), "default");
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

START_TEST(what_global_says_to_all_stands_at_the_top)
{
	struct job *jobs[] = { job_new("a"), job_new("b") };
	struct jobset set = { .jobs = jobs, .count = 2 };
	struct run_result r = { 0 };
	struct job_result result = { .job = jobs[0], .members = 1 };
	struct run_result top;
	struct job_result m;

	set_option(jobs[0], "epochs", "3", "[global]");
	set_option(jobs[1], "epochs", "3", "[global]");
	set_option(jobs[0], "bs", "4k", "[global]");
	metrics_top_init(&top, &r, &set);
	metrics_job_init(&m, &result, &set);
	ck_assert_str_eq(value_of(&top.doc.global_options, "epochs"), "3");
	ck_assert_ptr_null(value_of(&top.doc.global_options, "bs"));
	ck_assert_str_eq(value_of(&m.doc.options, "bs"), "4k");
	ck_assert_ptr_null(value_of(&m.doc.options, "epochs"));
	metrics_job_fini(&m);
	metrics_top_fini(&top);
	job_free(jobs[0]);
	job_free(jobs[1]);
}
END_TEST

START_TEST(a_merged_record_lists_members_and_what_they_share)
{
	struct job *jobs[] = { job_new("a"), job_new("b"), job_new("alone") };
	struct jobset set = { .jobs = jobs, .count = 3 };
	struct job_result result = { .job = jobs[0], .members = 2 };
	struct job_result m;

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	set_option(jobs[0], "epochs", "3", "[a]");
	set_option(jobs[1], "epochs", "3", "[b]");
	set_option(jobs[0], "bs", "4k", "[a]");
	set_option(jobs[1], "bs", "8k", "[b]");
	metrics_job_init(&m, &result, &set);
	const struct metric_pair *members = m.doc.members.items;
	ck_assert_uint_eq(m.doc.members.count, 2);
	ck_assert_str_eq(members[1].key, "b");
	ck_assert_str_eq(value_of(&m.doc.options, "epochs"), "3");
	ck_assert_ptr_null(value_of(&m.doc.options, "bs"));
	metrics_job_fini(&m);
	for (unsigned i = 0; i < 3; i++)
		job_free(jobs[i]);
}
END_TEST

Suite *suite_metrics_options(void)
{
	Suite *s = suite_create("metrics_options");
	TCase *t = tcase_create("metrics_options");

	tcase_add_test(t, options_are_echoed_raw_resolved_and_with_origin);
	tcase_add_test(t, what_global_says_to_all_stands_at_the_top);
	tcase_add_test(t, a_merged_record_lists_members_and_what_they_share);
	suite_add_tcase(s, t);
	return s;
}
