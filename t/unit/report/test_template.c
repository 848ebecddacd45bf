/* SPDX-License-Identifier: Apache-2.0 */
/* test_template.c - sentences with figures in them, and every one that the program has. */
#include <math.h>
#include <string.h>

#include "job/job.h"
#include "report/text/text.h"
#include "field/fields.h"
#include "suites.h"
#include "work/workloads.h"

struct inner {
	uint64_t found;
};

struct figures {
	uint64_t files, bytes, none;
	double rate, percent, asked, seconds, late_ns;
	const char *name;
	char chars[8];
	bool is_there;
	struct inner inner;
	struct hist *hist;
};

#define F struct figures
static const struct mlgen_field inner_fields[] = {
	{ "found", MLGEN_F_U64(struct inner, found) },
	{ 0 },
};

static const struct mlgen_field figure_fields[] = {
	{ "files", MLGEN_F_U64(F, files), .unit = "files" },
	{ "bytes", MLGEN_F_U64(F, bytes), .unit = "bytes" },
	{ "none", MLGEN_F_U64(F, none), .flags = MLGEN_NULLABLE },
	{ "rate", MLGEN_F_F64(F, rate), .unit = "bytes/s" },
	{ "percent", MLGEN_F_PERCENT(F, percent), .unit = "%" },
	{ "asked", MLGEN_F_PERCENT(F, asked) },
	{ "seconds", MLGEN_F_F64(F, seconds), .unit = "s" },
	{ "late", MLGEN_F_F64(F, late_ns), .unit = "ns" },
	{ "name", MLGEN_F_STR(F, name) },
	{ "chars", .type = MLGEN_STR, .off = offsetof(F, chars), .stride = 8 },
	{ "is_there", MLGEN_F_BOOL(F, is_there) },
	{ "inner", METRIC_OBJECT(F, inner, struct inner, inner_fields) },
	{ "hist", METRIC_HIST(F, hist) },
	{ 0 },
};
#undef F

/* A page points to its figures, and has a job. */
struct given {
	const struct figures *figures;
	const struct job *job;
};

static const struct template_scope scopes[] = {
	{ "", job_fields, TEMPLATE_AT(struct given, job, struct job) },
	{ "of", figure_fields, TEMPLATE_AT(struct given, figures, struct figures) },
	{ 0 },
};

static struct figures some(void)
{
	return (struct figures){
		.files = 28000,
		.bytes = 3 << 20,
		.none = UINT64_MAX,
		.rate = 2147483648.0,
		.percent = 12.34,
		.asked = 33.333,
		.seconds = 12.345,
		.late_ns = 54321,
		.name = "h100",
		.chars = "ext4",
		.is_there = true,
		.inner = { .found = 1 },
	};
}

static void check_says(const struct figures *f, const char *text, const char *want)
{
	struct job *job = job_new("j");
	const struct given page = { f, job };
	const struct template t = { text, scopes };
	struct mlgen_err err = { 0 };
	struct buf out = { 0 };

	ck_assert_msg(template_check(&t, &err) == 0, "%s: %s", text, err.text);
	template_append(&out, &t, &page);
	ck_assert_str_eq(buf_str(&out), want);
	buf_fini(&out);
	job_free(job);
}

START_TEST(a_figure_is_shown_as_its_row_says)
{
	const struct figures f = some();

	check_says(&f, "nothing to resolve", "nothing to resolve");
	check_says(&f, "{of.files} of {of.bytes}", "28,000 of 3 MiB");
	check_says(&f, "n={of.files}", "n=28000");
	check_says(&f, "{of.rate}", "2.00 GiB/s");
	check_says(&f, "{of.percent}, {of.asked}", "12.3%, 33.333%");
	check_says(&f, "{of.seconds} s, {of.late} ms", "12.3 s, 0.054 ms");
	check_says(&f, "{of.name} on {of.chars}", "h100 on ext4");
	check_says(&f, "{of.inner.found}", "1");
	check_says(&f, "{of.is_there}", "1");
}
END_TEST

START_TEST(an_option_is_shown_as_a_job_file_has_it)
{
	const struct figures f = some();

	check_says(&f, "{direct=}", "direct=0");
	check_says(&f, "a[, {direct=}]", "a");
	check_says(&f, "{phase}", "train");
	check_says(&f, "{scale}", "100%");
}
END_TEST

START_TEST(brackets_vanish_where_a_figure_says_nothing)
{
	struct figures f = some();

	check_says(&f, "a[, b {of.none}][, {of.files}]", "a, 28,000");
	check_says(&f, "[{of.files} and {of.none}]z", "z");
	check_says(&f, "[{of.none} and {of.files}]z", "z");
	f.files = 0;
	f.name = "";
	f.chars[0] = '\0';
	f.rate = f.percent = (double)NAN;
	f.is_there = false;
	check_says(&f, "a[{of.files}][{of.name}][{of.chars}]", "a");
	check_says(&f, "a[{of.rate}][{of.percent}][{of.is_there}]", "a");
	f.name = NULL;
	f.rate = 0;
	check_says(&f, "[{of.name}][{of.rate}]", "0 MiB/s");
}
END_TEST

START_TEST(what_is_null_is_unknown_outside_of_brackets)
{
	struct figures f = some();

	f.files = 0;
	f.name = NULL;
	f.percent = (double)NAN;
	check_says(&f, "{of.files}, {of.none}", "0, unknown");
	check_says(&f, "{of.name}, {of.percent}", "unknown, unknown");
}
END_TEST

START_TEST(a_plural_is_of_the_count_before_it)
{
	struct figures f = some();

	check_says(&f, "{of.files} file{s}, {of.inner.found} part{s}", "28,000 files, 1 part");
	check_says(&f, "{of.files} file{s} of {of.bytes} byte{s}", "28,000 files of 3 MiB bytes");
	f.files = 0;
	check_says(&f, "{of.files} file{s}", "0 files");
}
END_TEST

START_TEST(a_template_that_cannot_be_resolved_is_refused)
{
	static const char *const wrong[][2] = {
		{ "{of.file}", "{of.file}: no such row" },
		{ "{files}", "{files}: no such row" },
		{ "{of.inner}", "{of.inner}: no figure" },
		{ "{of.inner.lost}", "{of.inner.lost}: no such row" },
		{ "{of.files.found}", "{of.files.found}: no such row" },
		{ "{of.hist}", "{of.hist}: no figure" },
		{ "{of.files=}", "{of.files=}: no option" },
		{ "file{s}", "{s}: no count before it" },
		{ "{of.bytes} byte{s}", "{s}: no count before it" },
		{ "a[b[{of.files}]]", "'[{of.files}]]': not expected" },
		{ "a]b", "']b': not expected" },
		{ "a}b", "'}b': not expected" },
		{ "a[{of.files}", "'a[{of.files}': no ] after [" },
		{ "a {of.files", "'of.files': not expected" },
		{ "a {}", "'}': not expected" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct template t = { wrong[i][0], scopes };
		struct mlgen_err err = { 0 };

		ck_assert_msg(template_check(&t, &err) < 0, "%s passes", t.text);
		ck_assert_str_eq(err.text, wrong[i][1]);
	}
}
END_TEST

START_TEST(every_template_of_the_program_resolves)
{
	const struct template *t = NULL;
	struct mlgen_err err = { 0 };
	unsigned n = 0;

	ck_assert_ptr_nonnull(workloads[0]); /* all of their pages are here */
	while ((t = template_next(t))) {
		ck_assert_msg(template_check(t, &err) == 0, "\"%s\": %s", t->text, err.text);
		n++;
	}
	ck_assert_uint_ge(n, 20);
}
END_TEST

Suite *suite_template(void)
{
	Suite *s = suite_create("template");
	TCase *c = tcase_create("template");

	tcase_add_test(c, a_figure_is_shown_as_its_row_says);
	tcase_add_test(c, an_option_is_shown_as_a_job_file_has_it);
	tcase_add_test(c, brackets_vanish_where_a_figure_says_nothing);
	tcase_add_test(c, what_is_null_is_unknown_outside_of_brackets);
	tcase_add_test(c, a_plural_is_of_the_count_before_it);
	tcase_add_test(c, a_template_that_cannot_be_resolved_is_refused);
	tcase_add_test(c, every_template_of_the_program_resolves);
	suite_add_tcase(s, c);
	return s;
}
