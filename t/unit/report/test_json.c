/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - structs become valid JSON by their tables. */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_rig.h"
#include "report/document/document.h"
#include "stat/hist.h"
#include "field/fields.h"
#include "suites.h"

struct inner {
	uint64_t n;
};

struct all {
	bool yes;
	uint64_t count, bytes, ns, unknown, huge;
	double share, nothing, endless;
	int word, no_word;
	char *text, *absent, *odd;
	struct hist *hist, *no_hist;
	struct inner inner;
	struct metric_list list, doubles, map;
	const char *lines;
};

static const struct mlgen_choice words[] = {
	{ "none", 0, "" },
	{ "some", 3, "" },
	{ 0 },
};

static const struct mlgen_field inner_fields[] = {
	{ "n", MLGEN_F_U64(struct inner, n) },
	{ 0 },
};

/* clang-format off */
static const struct mlgen_field all_fields[] = {
	{ "yes", MLGEN_F_BOOL(struct all, yes) },
	{ "count", MLGEN_F_U64(struct all, count) },
	{ "bytes", MLGEN_F_SIZE(struct all, bytes) },
	{ "ns", MLGEN_F_TIME(struct all, ns) },
	{ "unknown", MLGEN_F_U64(struct all, unknown), .flags = MLGEN_NULLABLE },
	{ "huge", MLGEN_F_U64(struct all, huge) },
	{ "share", MLGEN_F_PERCENT(struct all, share) },
	{ "nothing", MLGEN_F_F64(struct all, nothing), .flags = MLGEN_NULLABLE },
	{ "endless", MLGEN_F_F64(struct all, endless) },
	{ "word", MLGEN_F_ENUM(struct all, word, words) },
	{ "no_word", MLGEN_F_ENUM(struct all, no_word, words) },
	{ "text", MLGEN_F_STR(struct all, text) },
	{ "absent", MLGEN_F_STR(struct all, absent) },
	{ "odd", MLGEN_F_STR(struct all, odd) },
	{ "hist", METRIC_HIST(struct all, hist) },
	{ "no_hist", METRIC_HIST(struct all, no_hist) },
	{ "inner", METRIC_OBJECT(struct all, inner, struct inner, inner_fields) },
	{ "list", METRIC_LIST(struct all, list, struct inner, inner_fields) },
	{ "doubles", METRIC_F64S(struct all, doubles) },
	{ "map", METRIC_MAP(struct all, map) },
	{ "lines", METRICS_LINES(struct all, lines) },
	{ 0 },
};
/* clang-format on */

static char *text_of(const struct all *a, const struct f64_list *percentiles)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_int_eq(json_struct(to, all_fields, a, percentiles), 0);
	fclose(to);
	return text;
}

static json_t *written(const struct all *a, const struct f64_list *percentiles)
{
	return parse(text_of(a, percentiles));
}

START_TEST(every_type_has_its_form)
{
	struct all a = { .yes = true,
			 .count = 7,
			 .bytes = 146600628,
			 .ns = 323000000,
			 .share = 63.1,
			 .word = 3,
			 .no_word = 2,
			 .inner.n = 5 };
	char text[] = "a \"quote\"";

	a.text = text;
	json_t *o = written(&a, NULL);

	ck_assert(json_is_true(json_object_get(o, "yes")));
	ck_assert_int_eq(int_at(o, "count"), 7);
	ck_assert_int_eq(int_at(o, "bytes"), 146600628);
	ck_assert_int_eq(int_at(o, "ns"), 323000000);
	ck_assert_double_eq(real_at(o, "share"), 63.1);
	ck_assert_str_eq(json_string_value(json_object_get(o, "word")), "some");
	ck_assert(json_is_null(json_object_get(o, "no_word")));
	ck_assert_str_eq(json_string_value(json_object_get(o, "text")), text);
	ck_assert(json_is_null(json_object_get(o, "absent")));
	ck_assert_int_eq(int_at(json_object_get(o, "inner"), "n"), 5);
	json_decref(o);
}
END_TEST

/* A threshold that is decided again on what was stored has the same answer. */
START_TEST(numbers_are_stored_whole_and_as_short_as_can_be)
{
	static const struct {
		double v;
		const char *text;
	} numbers[] = {
		{ 63.1, ": 63.1," },
		{ 90, ": 90.0," },
		{ 1e300, ": 1e+300," },
		{ -2.5e-9, ": -2.5e-09," },
		{ 0.1 + 0.2, ": 0.30000000000000004," },
		{ 100.0 / 3, ": 33.333333333333336," },
	};
	char like_a_number[] = "0.10000000000000001";
	char quoted[] = "\"0.10000000000000001";

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct all a = { .share = numbers[i].v, .text = like_a_number, .odd = quoted };
		char *text = text_of(&a, NULL);

		ck_assert_msg(strstr(text, numbers[i].text), "%s: %s", numbers[i].text, text);
		ck_assert_ptr_nonnull(strstr(text, "\"text\": \"0.10000000000000001\""));
		ck_assert_ptr_nonnull(strstr(text, "\\\"0.10000000000000001\""));
		free(text);
	}
	for (double v = nextafter(90, 0), n = 0; n < 100; n++, v *= 1.37) {
		struct all a = { .share = v };
		json_t *o = written(&a, NULL);

		ck_assert(real_at(o, "share") == v);
		json_decref(o);
	}
}
END_TEST

START_TEST(what_json_cannot_say_is_null_or_the_nearest)
{
	char odd[] = "/data/\xff\xfe";
	struct all a = { .unknown = UINT64_MAX,
			 .huge = UINT64_MAX,
			 .nothing = (double)NAN,
			 .endless = (double)INFINITY,
			 .odd = odd };
	json_t *o = written(&a, NULL);

	ck_assert(json_is_null(json_object_get(o, "unknown")));
	ck_assert(int_at(o, "huge") == INT64_MAX);
	ck_assert(json_is_null(json_object_get(o, "nothing")));
	ck_assert(json_is_null(json_object_get(o, "endless")));
	ck_assert_str_eq(json_string_value(json_object_get(o, "odd")), "/data/?\?");
	json_decref(o);
}
END_TEST

START_TEST(keys_stand_in_the_order_of_the_table)
{
	struct all a = { 0 };
	json_t *o = written(&a, NULL);
	const struct mlgen_field *f = all_fields;

	for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i))
		ck_assert_str_eq(json_object_iter_key(i), (f++)->name);
	ck_assert_ptr_null(f->name);
	json_decref(o);
}
END_TEST

START_TEST(lists_are_arrays_and_maps_are_objects)
{
	struct inner items[] = { { 1 }, { 2 } };
	double doubles[] = { 99.5, (double)NAN };
	struct metric_pair pairs[] = { { "bs", "1m" }, { "log", NULL } };
	struct all a = { .list = { items, 2 },
			 .doubles = { doubles, 2 },
			 .map = { pairs, 2 },
			 .lines = "one \"1\"\ntwo" };
	json_t *o = written(&a, NULL);
	json_t *lines = json_object_get(o, "lines");
	json_t *list = json_object_get(o, "list");
	json_t *values = json_object_get(o, "doubles");
	json_t *map = json_object_get(o, "map");

	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_int_eq(int_at(json_array_get(list, 1), "n"), 2);
	ck_assert_uint_eq(json_array_size(values), 2);
	ck_assert_double_eq(json_real_value(json_array_get(values, 0)), 99.5);
	ck_assert(json_is_null(json_array_get(values, 1)));
	ck_assert_str_eq(json_string_value(json_object_get(map, "bs")), "1m");
	ck_assert(json_is_null(json_object_get(map, "log")));
	ck_assert_uint_eq(json_array_size(lines), 2);
	ck_assert_str_eq(json_string_value(json_array_get(lines, 0)), "one \"1\"");
	ck_assert_str_eq(json_string_value(json_array_get(lines, 1)), "two");
	json_decref(o);
}
END_TEST

static void expect_empty(const json_t *h)
{
	const json_t *p = json_object_get(h, "percentile");

	ck_assert_int_eq(int_at(h, "min"), 0);
	ck_assert_int_eq(int_at(h, "max"), 0);
	ck_assert_int_eq(int_at(h, "N"), 0);
	ck_assert_double_eq(real_at(h, "mean"), 0);
	ck_assert_double_eq(real_at(h, "stddev"), 0);
	ck_assert_uint_eq(json_object_size(p), 2);
	ck_assert_int_eq(int_at(p, "99.000000"), 0);
	ck_assert_uint_eq(json_object_size(json_object_get(h, "bins")), 0);
}

START_TEST(an_empty_histogram_is_zeros)
{
	struct f64_list list = { 2, { 50, 99 } };
	struct all a = { .hist = hist_new() };
	json_t *o = written(&a, &list);

	expect_empty(json_object_get(o, "hist"));
	expect_empty(json_object_get(o, "no_hist"));
	json_decref(o);
	hist_free(a.hist);
}
END_TEST

START_TEST(a_histogram_has_its_percentiles_and_bins)
{
	struct f64_list list = { 3, { 50, 99.95, 100 } };
	struct all a = { .hist = hist_new() };

	for (unsigned i = 0; i < 3; i++)
		hist_add(a.hist, 100);
	hist_add(a.hist, 1000000);
	json_t *o = written(&a, &list);
	json_t *h = json_object_get(o, "hist");
	json_t *p = json_object_get(h, "percentile");
	json_t *bins = json_object_get(h, "bins");
	char midpoint[32];

	snprintf(midpoint, sizeof(midpoint), "%llu",
		 (unsigned long long)hist_bucket_midpoint(hist_bucket_of(1000000)));
	ck_assert_int_eq(int_at(h, "min"), 100);
	ck_assert_int_eq(int_at(h, "max"), 1000000);
	ck_assert_int_eq(int_at(h, "N"), 4);
	ck_assert_double_eq_tol(real_at(h, "mean"), 250075, 1e-6);
	ck_assert_int_eq(int_at(p, "50.000000"), 100);
	ck_assert_int_eq(int_at(p, "99.950000"), (long long)hist_percentile(a.hist, 99.95));
	ck_assert_int_eq(int_at(p, "100.000000"), 1000000);
	ck_assert_uint_eq(json_object_size(bins), 2);
	ck_assert_int_eq(int_at(bins, "100"), 3);
	ck_assert_int_eq(int_at(bins, midpoint), 1);
	json_decref(o);
	hist_free(a.hist);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct all a = { 0 };
	FILE *to = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(to);
	setvbuf(to, NULL, _IONBF, 0);
	ck_assert_int_eq(json_struct(to, all_fields, &a, NULL), -EIO);
	fclose(to);
}
END_TEST

Suite *suite_json(void)
{
	Suite *s = suite_create("json");
	TCase *t = tcase_create("json");

	tcase_add_test(t, every_type_has_its_form);
	tcase_add_test(t, numbers_are_stored_whole_and_as_short_as_can_be);
	tcase_add_test(t, what_json_cannot_say_is_null_or_the_nearest);
	tcase_add_test(t, keys_stand_in_the_order_of_the_table);
	tcase_add_test(t, lists_are_arrays_and_maps_are_objects);
	tcase_add_test(t, an_empty_histogram_is_zeros);
	tcase_add_test(t, a_histogram_has_its_percentiles_and_bins);
	tcase_add_test(t, a_full_disk_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
