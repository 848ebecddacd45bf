/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - the options of a job, their defaults and their rules. */
#include "suites.h"

#include <math.h>
#include <string.h>

#include "job/fio_options.h"
#include "job/job.h"
#include "job/settings.h"

static const struct mlgen_engine files_engine = {
	.name = "files",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP_DIRECT,
};
static const struct mlgen_engine cached_engine = {
	.name = "cached",
	.caps = MLGEN_CAP(MLGEN_READ),
};
static const struct mlgen_engine no_files_engine = {
	.name = "none",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP_NO_FILES,
};

static const struct mlgen_field *const tables[] = { job_fields,
						    settings_fields };

START_TEST(every_row_is_complete)
{
	for (size_t t = 0; t < 2; t++) {
		for (const struct mlgen_field *f = tables[t]; f->name; f++) {
			size_t len = strcspn(f->help, "\n");

			ck_assert_msg(f->group != NULL, "%s", f->name);
			ck_assert_msg(f->help[len - 1] == '.', "%s", f->name);
			ck_assert_msg(field_find(tables[t], f->name) == f,
				      "%s is there twice", f->name);
			if (f->alias)
				ck_assert_msg(field_find(tables[t], f->alias) ==
						      f,
					      "%s is there twice", f->alias);
			for (const struct mlgen_choice *c = f->choices;
			     c && c->name; c++)
				ck_assert_msg(c->help != NULL, "%s", c->name);
		}
	}
}
END_TEST

START_TEST(no_name_is_both_of_a_job_and_of_the_program)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		ck_assert_msg(!field_find(settings_fields, f->name), "%s",
			      f->name);
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
	ck_assert_uint_eq(j->bs_bytes, 1 << 20);
	ck_assert_int_eq(j->kb_base, 1024);
	ck_assert_int_eq(j->invalidate, INVALIDATE_RUN);
	ck_assert(j->drop_last);
	ck_assert(isnan(j->target_au));
	ck_assert_ptr_null(j->accelerator);
	ck_assert_uint_eq(j->percentile_list.count, 4);
	job_free(j);
}
END_TEST

/* Options set one after the other, and the fault that follows; NULL = none. */
static const struct {
	const char *options;
	const struct mlgen_engine *engine;
	const char *fault;
} checks[] = {
	{ "", &files_engine, NULL },
	{ "time_based=1", &files_engine, "time_based: needs a runtime" },
	{ "time_based=1 runtime=1", &files_engine, NULL },
	/* runtime begins when ramp_time is over, as in fio */
	{ "runtime=10 ramp_time=10", &files_engine, NULL },
	{ "ramp_time=10", &files_engine, NULL },
	{ "num_files=8 subfolders=9", &files_engine, "subfolders: 9 folders" },
	{ "num_files=8 subfolders=8", &files_engine, NULL },
	{ "num_files=10000000000 sample_size=1t", &files_engine,
	  "sample_size: the dataset would" },
	{ "num_files=1000000000", &files_engine, NULL },
	{ "accelerators=65536 read_threads=65", &files_engine,
	  "read_threads: 65 for each" },
	{ "accelerators=65536 read_threads=64 prefetch=1", &files_engine,
	  NULL },
	{ "prefetch=1024 batch_size=16777216", &files_engine, "prefetch: " },
	{ "prefetch=128 batch_size=16777216 loader=plain", &files_engine,
	  NULL },
	{ "direct=1", &files_engine, NULL },
	{ "direct=1 bs=1000", &files_engine, "bs: 1000 is no multiple" },
	{ "direct=1", &cached_engine, "direct: ioengine=cached cannot" },
	{ "direct=1 bs=1000", &no_files_engine, NULL },
	{ "direct=1 bs=1000 access=framework", &files_engine, NULL },
	{ "access=framework", &files_engine, NULL },
	{ "access=framework format=raw", &files_engine,
	  "access: framework means the calls" },
	{ "phase=prepare", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=prepare", &files_engine, NULL },
	{ "percentile_list=50:99:50", &files_engine,
	  "percentile_list: 50 stands" },
	{ "cpus_allowed=0-3,8", &files_engine, NULL },
	{ "cpus_allowed=3-1", &files_engine, "cpus_allowed: '3-1'" },
	{ "cpus_allowed=1,", &files_engine, "cpus_allowed: '1,'" },
	{ "cpus_allowed=a", &files_engine, "cpus_allowed: 'a'" },
	{ "numa_cpu_nodes=0,2-3", &files_engine, NULL },
	{ "numa_cpu_nodes=all", &files_engine, NULL },
	{ "numa_cpu_nodes=all,1", &files_engine, "numa_cpu_nodes: 'all,1'" },
	{ "numa_cpu_nodes=2-1", &files_engine, "numa_cpu_nodes: '2-1'" },
	{ "cpus_allowed=99999999999", &files_engine, "cpus_allowed: " },
	{ "target_au=90", &files_engine, "compute_time: 0 leaves" },
	{ "target_au=90 compute_time=1ms", &files_engine, NULL },
};

static void set_options(struct job *j, const char *options)
{
	while (*options) {
		char name[64] = "", value[64] = "";
		int used = 0;

		ck_assert_int_eq(sscanf(options, "%63[^=]=%63[^ ]%n", name,
					value, &used),
				 2);
		ck_assert_int_eq(field_parse(field_find(job_fields, name), j,
					     value, 1024, NULL),
				 0);
		options += used;
		options += strspn(options, " ");
	}
}

START_TEST(options_that_do_not_fit_are_found)
{
	struct job *j = job_new("x");
	struct diag d;

	diag_init(&d);
	job_set_engine(j, checks[_i].engine);
	set_options(j, checks[_i].options);
	job_check(j, &d);
	ck_assert_uint_eq(d.count, checks[_i].fault ? 1 : 0);
	if (checks[_i].fault)
		ck_assert_msg(strncmp(d.entries[0].text, checks[_i].fault,
				      strlen(checks[_i].fault)) == 0,
			      "%s", d.entries[0].text);
	diag_fini(&d);
	job_free(j);
}
END_TEST

START_TEST(texts_read_back_whatever_kb_base_is)
{
	static const char *const sizes[] = {
		"1m",         "4096", "3g", "normal:2m:1k", "dlio:146600628:0",
		"gamma:2:64k"
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct job *j = job_new("x"), *copy = job_new("x");
		const struct mlgen_field *f =
			field_find(job_fields, "sample_size");
		struct buf text = { 0 };

		ck_assert_int_eq(field_parse(f, j, sizes[i], 1024, NULL), 0);
		j->kb_base = 1000;
		job_option_text(j, "sample_size", &text);
		ck_assert_int_eq(
			field_parse(f, copy, buf_str(&text), 1000, NULL), 0);
		ck_assert_double_eq(j->sample_size.a, copy->sample_size.a);
		ck_assert_double_eq(j->sample_size.b, copy->sample_size.b);
		buf_fini(&text);
		job_free(j);
		job_free(copy);
	}
}
END_TEST

/* A hint must not send anybody to an option that is not there. */
START_TEST(hints_name_options_that_there_are)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		char word[64] = "";

		if (!o->hint || sscanf(o->hint, "use %63[a-z_]", word) != 1)
			continue;
		ck_assert_msg(field_find(job_fields, word) != NULL, "%s: %s",
			      o->name, o->hint);
	}
	ck_assert_ptr_nonnull(fio_option_find("hugepage_size"));
	ck_assert_ptr_null(fio_option_find("hugepage"));
}
END_TEST

START_TEST(options_of_fio_have_its_names)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++)
		ck_assert_msg(!(f->flags & MLGEN_FIO) ==
				      !fio_option_find(f->name),
			      "%s", f->name);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_job(void)
{
	Suite *s = suite_create("job");
	TCase *t = tcase_create("job");

	tcase_add_test(t, every_row_is_complete);
	tcase_add_test(t, no_name_is_both_of_a_job_and_of_the_program);
	tcase_add_test(t, every_default_parses);
	tcase_add_test(t, defaults_are_those_of_the_manual);
	tcase_add_loop_test(t, options_that_do_not_fit_are_found, 0,
			    ROWS(checks));
	tcase_add_test(t, texts_read_back_whatever_kb_base_is);
	tcase_add_test(t, hints_name_options_that_there_are);
	tcase_add_test(t, options_of_fio_have_its_names);
	suite_add_tcase(s, t);
	return s;
}
