/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobfile.c - a file becomes sections and options, each with its line. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "job/job_internal.h"
#include "temp.h"

static char dir[TEMP_BYTES];

static void setup(void)
{
	temp_folder(dir);
	ck_assert_int_eq(chdir(dir), 0);
	setenv("MLGEN_TEST_SET", "seven", 1);
	setenv("MLGEN_TEST_EMPTY", "", 1);
	setenv("MLGEN_TEST_LINES", "a\nb=1", 1);
	setenv("MLGEN_TEST_SIGNS", "a ;b #c", 1);
	unsetenv("MLGEN_TEST_UNSET");
}

static void teardown(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	temp_remove(dir);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* "[name]@line key=value@line ..." */
static void describe(struct buf *out, const struct jobfile *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct section *s = &f->sections[i];

		buf_addf(out, "%s%s%s@%u", i ? " " : "", s->kind == SECTION_VARIANT ? "?" : "",
			 s->name, s->at.line);
		for (size_t k = 0; k < s->opts.count; k++) {
			const struct opt *o = s->opts.opts[k];

			buf_addf(out, " %s%s%s@%u", o->key, o->is_bare ? "" : "=",
				 o->is_bare ? "" : o->value, o->at.line);
		}
	}
}

static const struct {
	const char *text, *want;
	const char *fault; /* the first, or NULL */
} files[] = {
	{ "[a]\nbs=1", "a@1 bs=1@2", NULL },
	{ "[a]\r\nbs=1\r\n\r\n[b]\r\n", "a@1 bs=1@2 b@4", NULL },
	{ "\xef\xbb\xbf[a]\n", "a@1", NULL },
	{ "# x\n; y\n\n  [ a b ]  \n", "a b@4", NULL },
	/* an indented line is no continuation */
	{ "[a]\nbs=1\n\tdirect=1\n   epochs = 2  \n", "a@1 bs=1@2 direct=1@3 epochs=2@4", NULL },
	{ "[a]\nstonewall\ntime_based\n", "a@1 stonewall@2 time_based@3", NULL },
	{ "[a]\ndirectory=/a:b=c d\n", "a@1 directory=/a:b=c d@2", NULL },
	/* a comment begins behind a blank */
	{ "[a] # x\nbs=1 # x\nepochs=2\t; y # z\ndirect ;\n", "a@1 bs=1@2 epochs=2@3 direct@4",
	  NULL },
	{ "[a]\ninclude b.inc # x\n", "a@1 bs=9@1", NULL },
	{ "[a]\nx=a;b\ny=1\n", "a@1 y=1@3", "'x=a;b': fio would cut the line at ';'" },
	{ "[a]\ny=a#b # c\n", "a@1", "'y=a#b # c': fio would cut the line" },
	{ "[a#b]\n", "", "'[a#b]': fio would cut the line" },
	{ "[a]\ny=${MLGEN_TEST_SIGNS}\n", "a@1 y=a ;b #c@2", NULL },
	/* empty and repeated sections are seen */
	{ "[a]\n[b]\n[global]\n[global]\n", "a@1 b@2 global@3 global@4", NULL },
	{ "[global]\n[a=b]\n[accelerator=x]\n[accelerator = y]\n",
	  "global@1 a=b@2 ?accelerator=x@3 ?accelerator = y@4", NULL },
	{ "[a]\nbs=${MLGEN_TEST_SET}\nb=${MLGEN_TEST_UNSET:-}${MLGEN_TEST_EMPTY:-3}\n",
	  "a@1 bs=seven@2 b=3@3", NULL },
	{ "[a]\ninclude b.inc\nepochs=2\n", "a@1 bs=9@1 epochs=2@3", NULL },
	{ "[a]\nbs=1\nbs=2\n", "a@1 bs=2@3", "bs: already set in line 2" },
	{ "[a]\nbs=1\nblocksize=2\n", "a@1 bs=2@3", "bs: already set in line 2" },
	{ "[a]\nread-threads=1\nread_threads=2\n", "a@1 read-threads=2@3",
	  "read-threads: already set in line 2" },
	{ "bs=1\n[a]\n", "a@2", "bs: option before any section" },
	{ "[a\nbs=1\n", "a@1 bs=1@2", "[a: ']' is missing" },
	{ "[a]\n[b]\n[a]\n", "a@1 b@2 a@3", "[a]: line 1 already has a section" },
	{ "[a]\n[accelerator=x]\n[accelerator=X]\n", "a@1 ?accelerator=x@2 ?accelerator=X@3",
	  "[accelerator=X]: line 2" },
	{ "[a]\n[accelerator=x]\n[b]\n[accelerator=x]\n",
	  "a@1 ?accelerator=x@2 b@3 ?accelerator=x@4", NULL },
	/* pages are text, programs are not, and nothing of them is read */
	{ "# \f\n# \v\n[a]\nbs=1\n", "a@3 bs=1@4", NULL },
	{ " # \x1b\n[a]\n; \x07\n\tbs=1\n", "a@2 bs=1@4", NULL },
	{ "[a]\nbs=\x01\n# \x1b\n[b\n", "", "byte 0x01 is not text" },
	{ "[a]\nbs=${MLGEN_TEST_UNSET}\n", "a@1", "${MLGEN_TEST_UNSET} is not set" },
	{ "[a]\nbs=${MLGEN_TEST_LINES}\n", "a@1", "byte 0x0a is not text" },
	{ "[a]\nx:1\n", "a@1", "x:1: ':' in the name" },
	{ "", "", "no job" },
	{ "[global]\n", "global@1", "no job" },
};

START_TEST(files_are_read_as_they_stand)
{
	struct jobfile f;
	struct diag d;
	struct buf got = { 0 };

	diag_init(&d);
	write_file("b.inc", "bs=9\n", 5);
	write_file("a.job", files[_i].text, strlen(files[_i].text));
	jobfile_read(&f, "a.job", &d);
	describe(&got, &f);
	ck_assert_str_eq(buf_str(&got), files[_i].want);
	ck_assert_msg((d.count > 0) == (files[_i].fault != NULL), "%s",
		      d.count ? d.entries[0].text : "no fault");
	if (files[_i].fault)
		ck_assert_msg(
			strncmp(d.entries[0].text, files[_i].fault, strlen(files[_i].fault)) == 0,
			"%s", d.entries[0].text);
	buf_fini(&got);
	jobfile_fini(&f);
	diag_fini(&d);
}
END_TEST

static void read_long_line(size_t bytes, const char *before, struct jobfile *f, struct diag *d)
{
	struct buf text = { 0 };

	buf_addf(&text, "[a]\nx=%s", before);
	for (size_t i = 0; i < bytes; i++)
		buf_addc(&text, i == bytes / 2 ? '=' : 'v');
	buf_add(&text, "\nbs=1\n");
	diag_init(d);
	write_file("a.job", buf_str(&text), text.len);
	jobfile_read(f, "a.job", d);
	buf_fini(&text);
}

/* Around what libinih takes, 200 bytes, and what we do: nothing is cut, and nothing is split. */
START_TEST(a_line_arrives_whole_or_is_refused)
{
	static const size_t lengths[] = { 150, 196, 199, 200, 5000, 65534, 65535, 100000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		bool fits = lengths[i] + 2 <= 65536;
		struct jobfile f;
		struct diag d;

		read_long_line(lengths[i], "", &f, &d);
		ck_assert_uint_eq(d.errors, !fits);
		ck_assert_uint_eq(f.sections[0].opts.count, fits ? 2 : 1);
		if (fits)
			ck_assert_uint_eq(strlen(f.sections[0].opts.opts[0]->value), lengths[i]);
		else
			ck_assert_int_eq(strncmp(d.entries[0].text,
						 "a line of 100002 bytes; the limit is 65536",
						 i == 7 ? 35 : 8),
					 0);
		jobfile_fini(&f);
		diag_fini(&d);
	}
}
END_TEST

START_TEST(what_a_variable_holds_makes_no_line_long)
{
	struct buf value = { 0 };
	struct jobfile f;
	struct diag d;

	for (size_t i = 0; i < 70000; i++)
		buf_addc(&value, 'v');
	setenv("MLGEN_TEST_LONG", buf_str(&value), 1);
	read_long_line(10, "${MLGEN_TEST_LONG}", &f, &d);
	ck_assert_uint_eq(d.errors, 0);
	ck_assert_uint_eq(strlen(f.sections[0].opts.opts[0]->value), 70010);
	unsetenv("MLGEN_TEST_LONG");
	buf_fini(&value);
	jobfile_fini(&f);
	diag_fini(&d);
}
END_TEST

static const struct {
	const char *text, *want; /* NULL = refused */
} words[] = {
	{ "a$b", NULL },
	{ "$jobname/$jobname.x", "j/j.x" },
	{ "$", "$" },
	{ "$5 $ $-", "$5 $ $-" },
	{ "$jobnames", NULL },
	{ "${x}", NULL },
	{ "", "" },
};

START_TEST(words_are_replaced)
{
	struct mlgen_err err = { 0 };
	struct buf got = { 0 };
	int rc = words_expand(&got, words[_i].text, "j", &err);

	ck_assert_int_eq(rc == 0, words[_i].want != NULL);
	if (words[_i].want)
		ck_assert_str_eq(buf_str(&got), words[_i].want);
	buf_fini(&got);
}
END_TEST

START_TEST(words_of_the_machine_are_its_own)
{
	struct buf got = { 0 };

	ck_assert_int_eq(words_expand(&got, "$pagesize $ncpus $mb_memory", "j", NULL), 0);
	ck_assert_int_eq(strtol(buf_str(&got), NULL, 10), sysconf(_SC_PAGESIZE));
	ck_assert_ptr_null(strchr(buf_str(&got), '$'));
	ck_assert_ptr_null(strstr(buf_str(&got), " 0"));
	buf_fini(&got);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_jobfile(void)
{
	Suite *s = suite_create("jobfile");
	TCase *t = tcase_create("jobfile");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, files_are_read_as_they_stand, 0, ROWS(files));
	tcase_add_test(t, a_line_arrives_whole_or_is_refused);
	tcase_add_test(t, what_a_variable_holds_makes_no_line_long);
	tcase_add_loop_test(t, words_are_replaced, 0, ROWS(words));
	tcase_add_test(t, words_of_the_machine_are_its_own);
	suite_add_tcase(s, t);
	return s;
}
