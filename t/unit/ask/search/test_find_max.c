/* SPDX-License-Identifier: Apache-2.0 */
/* test_find_max.c - a search that ends at the network says so, and at which interface. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/search/search_internal.h"
#include "base/mem.h"
#include "suites.h"
#include "work/workloads.h"

/* The text below a search for the most numjobs: 2 held, 3 ended in `verdict`. */
static char *answer_of(const char *verdict, const char *headline)
{
	struct job *job = job_new("x");
	char requirement[] = "read.iops>=1";
	struct metrics_probe probe = { .value = 3,
				       .possible = true,
				       .au_percent = (double)NAN,
				       .supply_percent = (double)NAN };
	struct find_max f = {
		.job = job,
		.option = field_find(job_fields, "numjobs"),
		.requirement = requirement,
		.probes = &probe,
		.probe_count = 1,
		.answer = { .found = true,
			    .value = 2,
			    .at_most = 2,
			    .is_limited = true,
			    .limited_by = 3 },
		.without_storage = (double)NAN,
		.fraction = (double)NAN,
	};
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	job->phase = PHASE_IO;
	snprintf(probe.verdict, sizeof(probe.verdict), "%s", verdict);
	f.missed.value = 3;
	f.missed.headline = mem_strdup(headline);
	f.missed.memory_percent = f.held.memory_percent = (double)NAN;
	f.missed.epochs_differ = f.held.epochs_differ = (double)NAN;
	find_limit(&f);
	find_lines(&f);
	ck_assert_ptr_nonnull(f.limit);
	ck_assert_str_eq(f.limit, verdict);
	find_text_answer(&f, to, false);
	fclose(to);
	mem_free(f.missed.headline);
	for (size_t i = 0; i < f.line_count; i++)
		mem_free(f.lines[i].text);
	mem_free(f.lines);
	job_free(job);
	return text;
}

START_TEST(a_search_may_end_at_the_network)
{
	char *text = answer_of("network", "eth0 carried 9.9 of 10 Gb/s");

	ck_assert_msg(strstr(text, "\nlimit     network: eth0 carried 9.9 of 10 Gb/s\n") != NULL,
		      "%s", text);
	free(text);
}
END_TEST

Suite *suite_find_max(void)
{
	Suite *s = suite_create("find_max");
	TCase *t = tcase_create("find_max");

	tcase_add_test(t, a_search_may_end_at_the_network);
	suite_add_tcase(s, t);
	return s;
}
