/* SPDX-License-Identifier: Apache-2.0 */
/* test_questions.c - a question about files has arguments that are no jobs. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "ask/ask.h"
#include "base/mem.h"
#include "job/job.h"
#include "suites.h"

static const struct mlgen_engine psync_engine = {
	.name = "psync",
	.caps = MLGEN_CAP_DIRECT | (MLGEN_CAP(MLGEN_OPS) - 1),
};
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
	const struct jobset_env env = { .engines = engines, .questions = ask_questions };
	char *words = mem_strdup(line), *at = words;
	char *argv[32] = { words };
	int argc = 1, rc = 0;

	while (*at && argc < 32) {
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
	"--report no.json such.json",
	"no.json such.json --quiet",
	"no.json such.json --output-format=csv",
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

#define LETTERS_11 "abcdefghij\u00e4"
#define LETTERS_121                                                                                \
	LETTERS_11 LETTERS_11 LETTERS_11 LETTERS_11 LETTERS_11 LETTERS_11 LETTERS_11 LETTERS_11    \
		LETTERS_11 LETTERS_11 LETTERS_11
#define NOTES_7 " --note=a --note=b --note=c --note=d --note=e --note=f --note=g"

static const struct {
	const char *line, *fault;
} refusals[] = {
	{ "--table=au", "table: no file; name JSON documents of runs (--json=FILE)" },
	{ "--merge", "merge: no file" },
	{ "--import=dlio", "import: no file; name the YAML file" },
	{ "--compare a.json", "compare: only 'a.json' is given; name two files" },
	{ "--compare --merge a b", "compare: use only one of table, compare, merge, report, page, "
				   "import, clean and check at "
				   "a time" },
	{ "--clean --merge a b", "merge: use only one of table, compare, merge" },
	{ "--clean", "clean: no file; name the directory of a dataset" },
	{ "--yes d", "yes: works only with --clean" },
	{ "--clean --yes --readonly d", "yes: removes files, but --readonly" },
	{ "--clean --yes --dry-run d", "yes: removes files, but --dry-run" },
	{ "--clean --yes --parse-only d", "yes: removes files, but --parse" },
	{ "--clean --output-format=json d", "clean prints only text" },
	{ "--clean --json=x d", "json: is for a run" },
	{ "--clean --directory=d e", "directory: is an option of a job, but --clean" },
	{ "--merge --check=mlperf-v2 a b", "merge: use only one of table, compare" },
	{ "--table=au --json=x a", "json: is for a run; use --output=x" },
	{ "--table=au --bs=4k a", "bs: is an option of a job, but --table works" },
	{ "--table=au --x.bs=4k a", "bs: is an option of a job" },
	{ "--table=au --name=x a", "name: is an option of a job" },
	{ "--table=au --tabel=x a", "tabel: unknown option; did you mean" },
	{ "--name=x --output-format=csv", "output-format=csv: requires" },
	{ "--merge --output-format=csv a b", "output-format=csv: requires" },
	{ "--report", "report: no file; name JSON documents of runs (--json=FILE)" },
	{ "a.json --bs=4k", "bs: is an option of a job, but --report works" },
	{ "a.json --json=x", "json: is for a run; use --output=x" },
	{ "--find-max=epochs a.json", "a.json: is a JSON document of a run, not" },
	{ "--merge --tolerance=3 a", "tolerance: works only with --compare" },
	{ "--compare --tolerance=101 a b", "tolerance: " },
	{ "--name=x --memory=64g", "memory: works only with --datasize and --check" },
	{ "--name=x --hosts=2", "hosts: works only with --datasize and --check" },
	{ "--page --require=au>=90 a.json",
	  "require=au>=90: works with a run, --merge, --report, --find-max, --find-min; --page "
	  "has no figures to check" },
	{ "--table=au --require=au>=90 a.json", "--table has no figures" },
	{ "--compare --require=au>=90 a.json b.json", "--compare has no figures" },
	{ "--check=mlperf-v2 --require=au>=90 a.json", "--check has no figures" },
	{ "--clean --require=au>=90 d", "--clean has no figures" },
	{ "--capture=t.mlt --capture-user=me -- ls --describe",
	  "capture: is now a command of mltrace: mltrace record -o t.mlt --user=me -- ls "
	  "--describe" },
	{ "--import=strace log --trace=t.mlt --lenient",
	  "mltrace import --format=strace log -o t.mlt --lenient" },
	{ "a.mlt --export=csv", "mltrace export a.mlt --format=csv" },
	{ "--describe a.mlt --json=a.json", "mltrace describe a.mlt --json=a.json" },
	{ "--score a.mlt b.job --epochs=2", "mltrace score a.mlt b.job --epochs=2" },
	{ "--distil a.mlt --output=b.job", "mltrace distil a.mlt --output=b.job" },
	{ "--name=x --title=", "title: no value; write --title=VALUE" },
	{ "--name=x --title=a\x1b[1m", "title: must be one line of UTF-8 text" },
	{ "--name=x --note=a\xff", "note: must be one line of UTF-8 text" },
	{ "--name=x --note=a\n\nb", "note: is empty; leave it out" },
	{ "--name=x --title=" LETTERS_121, "title: 121 characters are too many; the limit is 120" },
	{ "--name=x" NOTES_7 NOTES_7 NOTES_7, "note: 21 notes are too many" },
	{ "--table=au --title=t a.json", "title: is for a report or a page, but --table prints "
					 "neither; leave out --title, or add --html=FILE" },
	{ "--clean --note=t d", "leave out --note" },
};

static const struct {
	const char *line;
	const char *option; /* NULL = no question */
} asked[] = {
	{ "--name=x", NULL },
	{ "--name=x --compare=0 --check=none", NULL },
	{ "--name=x --check=mlperf-v2", NULL },
	{ "--check=mlperf-v2 a.json", "check" },
	{ "--check=mlperf-v2 --hosts=2 --datasize a.json", "check" },
	{ "a.json", "report" },
	{ "a.json b.json --require=au>=90 --output-format=fio-json", "report" },
	{ "a.json --compare b.json", "compare" },
	{ "--name=x --datasize --check=mlperf-v2", "datasize" },
	{ "--name=x --find-max=epochs --datasize", "datasize" },
	{ "--name=x --x.find-max=epochs", "find-max" },
	{ "--name=x --title=t --note=a,b --note=c", NULL },
	{ "--table=au --title=t --html=p.html a.json", "table" },
};

START_TEST(of_several_those_about_files_come_first)
{
	ck_assert_msg(load(asked[_i].line) == 0, "%s", asked[_i].line);
	ck_assert_int_eq(set.question != NULL, asked[_i].option != NULL);
	if (set.question)
		ck_assert_str_eq(set.question->option, asked[_i].option);
}
END_TEST

START_TEST(a_row_names_options_there_are)
{
	for (const struct question *q = ask_questions; q->option; q++) {
		const char *const *other = q->goes_with;

		ck_assert_ptr_nonnull(field_find(settings_fields, q->option));
		for (; other && *other; other++)
			ck_assert_ptr_nonnull(field_find(settings_fields, *other));
		ck_assert_ptr_nonnull(q->answer);
		ck_assert_int_eq(q->files != NULL, q->about != ABOUT_JOBS);
	}
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	bool found = false;

	ck_assert_int_eq(load(refusals[_i].line), -EINVAL);
	for (size_t i = 0; i < faults.count; i++)
		found |= strstr(faults.entries[i].text, refusals[_i].fault) != NULL;
	ck_assert_msg(found, "%s: %s", refusals[_i].line, faults.entries[0].text);
}
END_TEST

Suite *suite_questions(void)
{
	Suite *s = suite_create("questions");
	TCase *t = tcase_create("questions");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_arguments_are_files, 0, sizeof(questions) / sizeof(*questions));
	tcase_add_loop_test(t, of_several_those_about_files_come_first, 0,
			    sizeof(asked) / sizeof(*asked));
	tcase_add_test(t, a_row_names_options_there_are);
	tcase_add_loop_test(t, what_makes_no_sense_is_refused, 0,
			    sizeof(refusals) / sizeof(*refusals));
	suite_add_tcase(s, t);
	return s;
}
