/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_fio.c - options of fio: those that mean the same, that change nothing, and that have a
 * hint. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "job/job_internal.h"
#include "job_options.h"
#include "suites.h"

/* As fio reads them, beside bs=4k,8k. */
static const struct {
	const char *bssplit;
	unsigned direction;
	int count; /* -1 = refused */
	struct job_size sizes[3];
	const char *fault;
} splits[] = {
	{ "", 0, 1, { { 4096, 100 } }, NULL },
	{ "", 1, 1, { { 8192, 100 } }, NULL },
	{ "16k", 0, 1, { { 16384, 100 } }, NULL },
	{ "16k", 1, 1, { { 16384, 100 } }, NULL },
	{ "4k/10:64k/50:32k/40", 0, 3, { { 4096, 10 }, { 65536, 50 }, { 32768, 40 } }, NULL },
	{ "4k:64k", 0, 2, { { 4096, 50 }, { 65536, 50 } }, NULL },
	{ "4k/50:64k/:32k", 0, 3, { { 4096, 50 }, { 65536, 25 }, { 32768, 25 } }, NULL },
	/* what is missing goes to the largest */
	{ "64k/20:4k/10", 0, 2, { { 65536, 90 }, { 4096, 10 } }, NULL },
	{ "4k/33.3:8k/66.7", 0, 2, { { 4096, 33.3 }, { 8192, 66.7 } }, NULL },
	{ "4k/0:8k", 0, 2, { { 4096, 0 }, { 8192, 100 } }, NULL },
	{ "4k/100,64k/100", 0, 1, { { 4096, 100 } }, NULL },
	{ "4k/100,64k/100", 1, 1, { { 65536, 100 } }, NULL },
	{ "4k/100,64k/100,1k", 1, 1, { { 65536, 100 } }, NULL },
	{ ",64k/100", 0, 1, { { 4096, 100 } }, NULL },
	{ "64k/100,", 1, 1, { { 8192, 100 } }, NULL },
	{ "4k/60:64k/41", 0, -1, { { 0 } }, "sum to 101" },
	{ "4k/101", 0, -1, { { 0 } }, "101 is not between" },
	{ "4k/x", 0, -1, { { 0 } }, "bssplit: 'x'" },
	{ "4k/10/20", 0, -1, { { 0 } }, "bssplit: '10/20'" },
	{ "4k::8k", 0, -1, { { 0 } }, "bssplit: " },
	{ "4k:", 0, -1, { { 0 } }, "bssplit: " },
	{ "511/100", 0, -1, { { 0 } }, "511 is not between 512 and 1g" },
	{ "2g", 0, -1, { { 0 } }, "2g is not between" },
	{ "4j", 0, -1, { { 0 } }, "bssplit: '4j'" },
};

START_TEST(bssplit_is_read_as_by_fio)
{
	struct job *j = job_new("x");
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	int n = 0;

	set_options(j, "phase=io bs=4k,8k");
	if (*splits[_i].bssplit)
		mem_replace(&j->bssplit, splits[_i].bssplit);
	n = job_sizes(j, splits[_i].direction, sizes, &err);
	if (splits[_i].fault) {
		ck_assert_int_eq(n, -EINVAL);
		ck_assert_msg(strstr(err.text, splits[_i].fault), "%s", err.text);
	} else {
		ck_assert_str_eq(err.text, "");
		ck_assert_int_eq(n, splits[_i].count);
	}
	for (int i = 0; i < n; i++) {
		ck_assert_uint_eq(sizes[i].bytes, splits[_i].sizes[i].bytes);
		ck_assert_double_eq_tol(sizes[i].percent, splits[_i].sizes[i].percent, 1e-9);
	}
	job_free(j);
}
END_TEST

START_TEST(bssplit_has_an_end)
{
	struct job *j = job_new("x");
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	struct buf list = { 0 };

	buf_add(&list, "4k");
	for (int i = 1; i < JOB_SIZES_MAX; i++)
		buf_add(&list, ":4k");
	mem_replace(&j->bssplit, buf_str(&list));
	ck_assert_int_eq(job_sizes(j, 0, sizes, &err), JOB_SIZES_MAX);
	buf_add(&list, ":4k");
	mem_replace(&j->bssplit, buf_str(&list));
	ck_assert_int_eq(job_sizes(j, 0, sizes, &err), -EINVAL);
	ck_assert_str_eq(err.text, "bssplit: more than 64 sizes");
	buf_fini(&list);
	job_free(j);
}
END_TEST

static const struct {
	const char *name, *value;
	bool is_harmless;
} harmless[] = {
	{ "thread", "1", true },       { "gtod_reduce", "1", true },  { "randrepeat", "0", true },
	{ "fallocate", "none", true }, { "nrfiles", "1", true },      { "nrfiles", "10", false },
	{ "nrfiles", "", false },      { "sync", "0", true },         { "sync", "none", true },
	{ "sync", "non", false },      { "sync", "0|none", false },   { "sync", "1", false },
	{ "exitall", "1", false },     { "force_async", "1", false }, { "rw", "read", false },
};

START_TEST(what_changes_nothing_is_harmless)
{
	const struct fio_option *o = fio_option_find(harmless[_i].name);

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(fio_option_is_harmless(o, harmless[_i].value), harmless[_i].is_harmless);
	ck_assert(!fio_option_is_harmless(NULL, harmless[_i].value));
}
END_TEST

/* What mlgen has needs no hint, and is not waved through either. */
START_TEST(an_option_that_is_there_is_not_excused)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		if (!field_find(job_fields, o->name))
			continue;
		ck_assert_msg(!o->hint && !o->note, "%s", o->name);
	}
}
END_TEST

/* A hint must not send anybody to an option that is not there. */
START_TEST(hints_name_options_that_there_are)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		char word[64] = "";

		if (!o->hint || sscanf(o->hint, "use %63[a-z_]", word) != 1 || !strcmp(word, "a"))
			continue;
		ck_assert_msg(field_find(job_fields, word) != NULL, "%s: %s", o->name, o->hint);
	}
	ck_assert_ptr_nonnull(fio_option_find("hugepage_size"));
	ck_assert_ptr_null(fio_option_find("hugepage"));
}
END_TEST

START_TEST(options_of_fio_have_its_names)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++)
		ck_assert_msg(!(f->flags & MLGEN_FIO) == !fio_option_find(f->name), "%s", f->name);
}
END_TEST

Suite *suite_job_fio(void)
{
	Suite *s = suite_create("job_fio");
	TCase *t = tcase_create("job_fio");

	tcase_add_loop_test(t, bssplit_is_read_as_by_fio, 0, ARRAY_LEN(splits));
	tcase_add_test(t, bssplit_has_an_end);
	tcase_add_loop_test(t, what_changes_nothing_is_harmless, 0, ARRAY_LEN(harmless));
	tcase_add_test(t, an_option_that_is_there_is_not_excused);
	tcase_add_test(t, hints_name_options_that_there_are);
	tcase_add_test(t, options_of_fio_have_its_names);
	suite_add_tcase(s, t);
	return s;
}
