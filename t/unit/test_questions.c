/* SPDX-License-Identifier: Apache-2.0 */
/* test_questions.c - a question about files has arguments that are no jobs. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "job/jobset.h"
#include "suites.h"

static const struct mlgen_engine psync_engine = { .name = "psync" };
static const struct mlgen_engine *const engines[] = { &psync_engine, NULL };

static struct jobset set;
static struct diag faults;

static void setup(void)
{
	diag_init(&faults);
	memset(&set, 0, sizeof(set));
}

static void teardown(void)
{
	diag_fini(&faults);
	jobset_fini(&set);
}

static int load(const char *line)
{
	const struct jobset_env env = { .engines = engines };
	char *words = mem_strdup(line), *at = words;
	char *argv[16] = { words };
	int argc = 1, rc = 0;

	while (*at && argc < 16) {
		argv[argc++] = at;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	rc = jobset_load(&set, argc, argv, &env, &faults);
	mem_free(words);
	return rc;
}

static const char *const questions[] = {
	"--table=au no.json such.json",
	"no.json --compare such.json",
	"--merge no.json such.json --json=x",
	"--import=dlio no.json -- such.json",
};

START_TEST(the_arguments_are_files)
{
	ck_assert_int_eq(load(questions[_i]), 0);
	ck_assert_uint_eq(set.file_count, 2);
	ck_assert_str_eq(set.files[0], "no.json");
	ck_assert_str_eq(set.files[1], "such.json");
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

static const struct {
	const char *line, *fault;
} refusals[] = {
	{ "--table=au", "table: no file; name what --json=FILE of a run" },
	{ "--merge", "merge: no file" },
	{ "--import=dlio", "import: no file; name the YAML file" },
	{ "--compare a.json", "compare: 'a.json' alone; name two files" },
	{ "--compare --merge a b", "compare: one of table, compare, merge" },
	{ "--table=au --bs=4k a", "bs: is of a job, and --table looks at" },
	{ "--table=au --x.bs=4k a", "bs: is of a job" },
	{ "--table=au --name=x a", "name: is of a job" },
	{ "--table=au --tabel=x a", "tabel: unknown option; did you mean" },
	{ "--name=x --output-format=csv", "output-format=csv: goes with" },
	{ "--merge --tolerance=3 a", "tolerance: goes with --compare" },
	{ "--compare --tolerance=101 a b", "tolerance: " },
};

START_TEST(what_makes_no_sense_is_refused)
{
	bool found = false;

	ck_assert_int_eq(load(refusals[_i].line), -EINVAL);
	for (size_t i = 0; i < faults.count; i++)
		found |= strstr(faults.entries[i].text, refusals[_i].fault) !=
			 NULL;
	ck_assert_msg(found, "%s: %s", refusals[_i].line,
		      faults.entries[0].text);
}
END_TEST

Suite *suite_questions(void)
{
	Suite *s = suite_create("questions");
	TCase *t = tcase_create("questions");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_arguments_are_files, 0,
			    sizeof(questions) / sizeof(*questions));
	tcase_add_loop_test(t, what_makes_no_sense_is_refused, 0,
			    sizeof(refusals) / sizeof(*refusals));
	suite_add_tcase(s, t);
	return s;
}
