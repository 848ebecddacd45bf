/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - the options of a job: their rows, their defaults, and how their texts are read. */
#include <math.h>
#include <string.h>

#include "job/job.h"
#include "job_options.h"
#include "suites.h"

static const struct mlgen_field *const tables[] = { job_fields, settings_fields };

START_TEST(every_row_is_complete)
{
	for (size_t t = 0; t < 2; t++) {
		for (const struct mlgen_field *f = tables[t]; f->name; f++) {
			size_t len = strcspn(f->help, "\n");

			ck_assert_msg(f->group != NULL, "%s", f->name);
			ck_assert_msg(f->help[len - 1] == '.', "%s", f->name);
			ck_assert_msg(field_find(tables[t], f->name) == f, "%s is there twice",
				      f->name);
			if (f->alias)
				ck_assert_msg(field_find(tables[t], f->alias) == f,
					      "%s is there twice", f->alias);
			for (const struct mlgen_choice *c = f->choices; c && c->name; c++)
				ck_assert_msg(c->help != NULL, "%s", c->name);
		}
	}
}
END_TEST

START_TEST(no_name_is_both_of_a_job_and_of_the_program)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		ck_assert_msg(!field_find(settings_fields, f->name), "%s", f->name);
		ck_assert_msg(!strchr(f->name, '.'), "%s", f->name);
	}
}
END_TEST

START_TEST(every_default_parses)
{
	struct job *j = job_new("x");
	struct settings s = { 0 };
	void *bases[] = { j, &s };

	field_defaults(settings_fields, &s);
	for (size_t t = 0; t < 2; t++) {
		for (const struct mlgen_field *f = tables[t]; f->name; f++) {
			struct mlgen_err err = { 0 };

			if (f->def)
				field_parse(f, bases[t], f->def, 1024, &err);
			ck_assert_str_eq(err.text, "");
		}
	}
	field_fini(settings_fields, &s);
	job_free(j);
}
END_TEST

START_TEST(defaults_are_those_of_the_manual)
{
	struct job *j = job_new("x");

	ck_assert_str_eq(j->directory, "mlgen-data/x");
	ck_assert_uint_eq(j->num_files, 256);
	ck_assert_uint_eq(j->read_threads, 4);
	ck_assert_uint_eq(j->bs.read, 1 << 20);
	ck_assert_int_eq(j->kb_base, 1024);
	ck_assert_int_eq(j->invalidate, INVALIDATE_RUN);
	ck_assert(j->drop_last);
	ck_assert(isnan(j->target_au));
	ck_assert_ptr_null(j->accelerator);
	ck_assert_uint_eq(j->percentile_list.count, 4);
	ck_assert(j->direct != j->buffered);
	ck_assert_double_eq(j->rwmixread + j->rwmixwrite, 100);
	ck_assert_uint_eq(j->numjobs, 1);
	ck_assert_uint_eq(j->iodepth_batch_submit, 0);
	ck_assert_uint_eq(j->iodepth_batch_complete_min, 1);
	ck_assert_uint_eq(j->thinktime_blocks, 1);
	job_free(j);
}
END_TEST

START_TEST(texts_read_back_whatever_kb_base_is)
{
	static const char *const sizes[] = {
		"1m", "4096", "3g", "normal:2m:1k", "dlio:146600628:0", "gamma:2:64k"
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct job *j = job_new("x"), *copy = job_new("x");
		const struct mlgen_field *f = field_find(job_fields, "sample_size");
		struct buf text = { 0 };

		ck_assert_int_eq(field_parse(f, j, sizes[i], 1024, NULL), 0);
		j->kb_base = 1000;
		job_option_text(j, "sample_size", &text);
		ck_assert_int_eq(field_parse(f, copy, buf_str(&text), 1000, NULL), 0);
		ck_assert_double_eq(j->sample_size.a, copy->sample_size.a);
		ck_assert_double_eq(j->sample_size.b, copy->sample_size.b);
		buf_fini(&text);
		job_free(j);
		job_free(copy);
	}
}
END_TEST

START_TEST(what_a_job_does_follows_from_rw)
{
	static const struct {
		const char *rw;
		bool reads, writes, is_random;
	} rows[] = {
		{ "rw=read", true, false, false },    { "rw=write", false, true, false },
		{ "rw=rw", true, true, false },       { "rw=readwrite", true, true, false },
		{ "rw=randread", true, false, true }, { "rw=randwrite", false, true, true },
		{ "rw=randrw", true, true, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct job *j = job_new("x");

		set_options(j, rows[i].rw);
		ck_assert_int_eq(job_reads(j), rows[i].reads);
		ck_assert_int_eq(job_writes(j), rows[i].writes);
		ck_assert_int_eq(job_is_random(j), rows[i].is_random);
		job_free(j);
	}
}
END_TEST

Suite *suite_job(void)
{
	Suite *s = suite_create("job");
	TCase *t = tcase_create("job");

	tcase_add_test(t, every_row_is_complete);
	tcase_add_test(t, no_name_is_both_of_a_job_and_of_the_program);
	tcase_add_test(t, every_default_parses);
	tcase_add_test(t, defaults_are_those_of_the_manual);
	tcase_add_test(t, texts_read_back_whatever_kb_base_is);
	tcase_add_test(t, what_a_job_does_follows_from_rw);
	suite_add_tcase(s, t);
	return s;
}
