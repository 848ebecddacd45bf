/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_read.c - structs come back from the JSON that was made of them. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dist.h"
#include "report/document/document.h"
#include "stat/hist.h"
#include "field/fields.h"
#include "suites.h"

struct inner {
	uint64_t n;
	double share;
};

struct all {
	bool yes;
	uint64_t count, bytes, unknown;
	double share, nothing;
	int word;
	char *text, *absent;
	char chars[8];
	struct hist *hist, *no_hist;
	struct inner inner;
	struct metric_list list, doubles, map;
	const char *lines, *no_lines;
};

static const struct mlgen_choice words[] = {
	{ "none", 0, "" },
	{ "some", 3, "" },
	{ 0 },
};

static const struct mlgen_field inner_fields[] = {
	{ "n", MLGEN_F_U64(struct inner, n) },
	{ "share", MLGEN_F_PERCENT(struct inner, share) },
	{ 0 },
};

/* clang-format off */
static const struct mlgen_field all_fields[] = {
	{ "yes", MLGEN_F_BOOL(struct all, yes) },
	{ "count", MLGEN_F_U64(struct all, count) },
	{ "bytes", MLGEN_F_SIZE(struct all, bytes) },
	{ "unknown", MLGEN_F_U64(struct all, unknown), .flags = MLGEN_NULLABLE },
	{ "share", MLGEN_F_PERCENT(struct all, share) },
	{ "nothing", MLGEN_F_F64(struct all, nothing) },
	{ "word", MLGEN_F_ENUM(struct all, word, words) },
	{ "text", MLGEN_F_STR(struct all, text) },
	{ "absent", MLGEN_F_STR(struct all, absent) },
	{ "chars", .type = MLGEN_STR, .off = offsetof(struct all, chars), .stride = 8 },
	{ "hist", METRIC_HIST(struct all, hist) },
	{ "no_hist", METRIC_HIST(struct all, no_hist) },
	{ "inner", METRIC_OBJECT(struct all, inner, struct inner, inner_fields) },
	{ "list", METRIC_LIST(struct all, list, struct inner, inner_fields) },
	{ "doubles", METRIC_F64S(struct all, doubles) },
	{ "lines", METRICS_LINES(struct all, lines) },
	{ "no_lines", METRICS_LINES(struct all, no_lines) },
	{ "map", METRIC_MAP(struct all, map) },
	{ 0 },
};
/* clang-format on */

static struct json_store store;
static struct mlgen_err err;

static void setup(void)
{
	memset(&store, 0, sizeof(store));
	memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
	json_store_fini(&store);
}

static json_t *parse(const char *text)
{
	json_error_t e;
	json_t *o = json_loads(text, 0, &e);

	ck_assert_msg(o != NULL, "%s: %s", e.text, text);
	return o;
}

static json_t *written(const struct all *a)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	json_t *o = NULL;

	ck_assert_int_eq(json_struct(to, all_fields, a, NULL), 0);
	fclose(to);
	o = parse(text);
	free(text);
	return o;
}

static int read_all(json_t *o, struct all *out)
{
	const struct json_reader r = { &store, "f.json" };
	int rc = json_read_struct(&r, o, all_fields, out, "top", &err);

	json_decref(o);
	return rc;
}

static void check_alike(const struct hist *a, const struct hist *b)
{
	ck_assert_uint_eq(a->count, b->count);
	ck_assert_uint_eq(a->min_ns, b->min_ns);
	ck_assert_uint_eq(a->max_ns, b->max_ns);
	ck_assert_int_eq(memcmp(a->buckets, b->buckets, sizeof(a->buckets)), 0);
	ck_assert_double_eq_tol(hist_mean(a), hist_mean(b), 1e-12 * hist_mean(b));
	ck_assert_double_eq_tol(hist_stddev(a), hist_stddev(b), 1e-6 * hist_stddev(b) + 1e-3);
}

START_TEST(every_type_comes_back)
{
	struct inner items[2] = { { 1, 0.5 }, { 2, (double)NAN } };
	double doubles[3] = { 1.5, (double)NAN, 3 };
	struct metric_pair pairs[2] = { { "a", "x" }, { "b", NULL } };
	char text[] = "a \"quote\"";
	struct hist *h = hist_new();
	struct all a = { .yes = true,
			 .count = 7,
			 .bytes = 146600628,
			 .unknown = UINT64_MAX,
			 .share = 63.1,
			 .nothing = (double)NAN,
			 .word = 3,
			 .text = text,
			 .chars = "seven77",
			 .hist = h,
			 .inner = { 5, 1 },
			 .list = { items, 2 },
			 .doubles = { doubles, 3 },
			 .lines = "one\ntwo",
			 .map = { pairs, 2 } };
	struct all b;
	const struct inner *list;
	const struct metric_pair *map;

	hist_add(h, 1000);
	hist_add(h, UINT64_C(1) << 43);
	ck_assert_int_eq(read_all(written(&a), &b), 0);
	ck_assert(b.yes);
	ck_assert_uint_eq(b.count, 7);
	ck_assert_uint_eq(b.bytes, 146600628);
	ck_assert_uint_eq(b.unknown, UINT64_MAX);
	ck_assert_double_eq(b.share, 63.1);
	ck_assert(isnan(b.nothing));
	ck_assert_int_eq(b.word, 3);
	ck_assert_str_eq(b.text, text);
	ck_assert_ptr_null(b.absent);
	ck_assert_str_eq(b.chars, "seven77");
	check_alike(b.hist, h);
	ck_assert_ptr_null(b.no_hist);
	ck_assert_uint_eq(b.inner.n, 5);
	list = b.list.items;
	ck_assert_uint_eq(b.list.count, 2);
	ck_assert_uint_eq(list[1].n, 2);
	ck_assert(isnan(list[1].share));
	ck_assert_uint_eq(b.doubles.count, 3);
	ck_assert(isnan(((double *)b.doubles.items)[1]));
	ck_assert_str_eq(b.lines, "one\ntwo");
	ck_assert_ptr_null(b.no_lines);
	map = b.map.items;
	ck_assert_str_eq(map[0].value, "x");
	ck_assert_ptr_null(map[1].value);
	hist_free(h);
}
END_TEST

START_TEST(what_is_missing_is_not_known)
{
	struct all b;

	memset(&b, 0xa5, sizeof(b));
	ck_assert_int_eq(read_all(parse("{\"new key\": [1]}"), &b), 0);
	ck_assert(!b.yes);
	ck_assert_uint_eq(b.count, 0);
	ck_assert_uint_eq(b.unknown, UINT64_MAX);
	ck_assert(isnan(b.share));
	ck_assert_ptr_null(b.text);
	ck_assert_str_eq(b.chars, "");
	ck_assert_ptr_null(b.hist);
	ck_assert(isnan(b.inner.share));
	ck_assert_uint_eq(b.list.count, 0);
}
END_TEST

static const struct mlgen_field *row_of(const struct mlgen_field *table, const char *name)
{
	while (strcmp(table->name, name) != 0)
		table++;
	return table;
}

/* A key that is missing reads as 0; whoever asks for it has to know. */
START_TEST(what_a_document_lacks_is_told_from_nothing)
{
	const struct mlgen_field *n = row_of(inner_fields, "n");
	struct all b;
	const struct inner *list;

	ck_assert_int_eq(
		read_all(parse("{\"count\": 0, \"inner\": null, \"list\": [{\"n\": 1}, {}]}"), &b),
		0);
	list = b.list.items;
	ck_assert(!json_store_is_missing(&store, row_of(all_fields, "count"), &b));
	ck_assert(json_store_is_missing(&store, row_of(all_fields, "bytes"), &b));
	ck_assert(json_store_is_missing(&store, row_of(all_fields, "inner"), &b));
	ck_assert(!json_store_is_missing(&store, n, &list[0]));
	ck_assert(json_store_is_missing(&store, n, &list[1]));
}
END_TEST

/* Of 3 s and 1 ns more the sum of squares knows no deviation. */
START_TEST(a_deviation_keeps_its_digits)
{
	static const char text[] =
		"{\"hist\": {\"N\": 2, \"min\": 3000000000, \"max\": 3000000001, \"mean\": "
		"3000000000.5, \"stddev\": 0.5, \"bins\": {\"2994733056\": 2}}}";
	struct all b;

	ck_assert_msg(read_all(parse(text), &b) == 0, "%s", err.text);
	ck_assert_double_ne(hist_stddev(b.hist), 0.5);
	ck_assert_double_eq(json_read_stddev(b.hist), 0.5);
}
END_TEST

START_TEST(texts_of_others_are_made_printable)
{
	static const char text[] = "{\"text\": \"a\\u001bb\", \"chars\": \"\\u001b\", \"map\": "
				   "{\"k\": \"\\n\", \"\\u001b\": \"x\"}}";
	const struct metric_pair *map;
	struct all b;

	ck_assert_msg(read_all(parse(text), &b) == 0, "%s", err.text);
	ck_assert_str_eq(b.text, "a\\x1bb");
	ck_assert_str_eq(b.chars, "\\x1b");
	map = b.map.items;
	ck_assert_uint_eq(b.map.count, 1);
	ck_assert_str_eq(map[0].key, "k");
	ck_assert_str_eq(map[0].value, "\\n");
}
END_TEST

#define LATENCY(n, bins)                                                                           \
	"{\"hist\": {\"N\": " n ", \"min\": 1, \"max\": 9, \"mean\": 2, "                          \
	"\"stddev\": 1, \"bins\": " bins "}}"

static const struct {
	const char *text, *fault;
} wrong[] = {
	{ "[]", "top: must be an object" },
	{ "{\"yes\": 1}", "top.yes: must be true or false" },
	{ "{\"count\": \"7\"}", "top.count: must be a whole number from 0" },
	{ "{\"count\": -1}", "top.count: must be a whole number from 0" },
	{ "{\"count\": 1.5}", "top.count: must be a whole number from 0" },
	{ "{\"share\": true}", "top.share: must be a number" },
	{ "{\"word\": \"any\"}", "top.word: is not a known value" },
	{ "{\"text\": 7}", "top.text: must be text" },
	{ "{\"inner\": 7}", "top.inner: must be an object" },
	{ "{\"inner\": {\"n\": []}}", "top.inner.n: must be a whole" },
	{ "{\"list\": {}}", "top.list: must be a list" },
	{ "{\"list\": [{}, {\"n\": {}}]}", "top.list[1].n: must be a whole" },
	{ "{\"doubles\": [1, \"a\"]}", "top.doubles[1]: must be a number" },
	{ "{\"lines\": \"one\"}", "top.lines: must be a list" },
	{ "{\"lines\": [\"one\", 2]}", "top.lines[1]: must be text" },
	{ "{\"map\": {\"a\": 1}}", "top.map.a: must be text" },
	{ "{\"hist\": 1}", "top.hist: must be an object" },
	{ "{\"hist\": {}}", "top.hist.N: must be a whole number" },
	{ LATENCY("2", "{\"2\": 1}"), "top.hist: its bins do not add up to N" },
	{ LATENCY("1", "{\"2\": 2}"), "top.hist: its bins do not add up to N" },
	{ LATENCY("1", "{\"20\": 1}"), "top.hist: has a bin below min or above max" },
	{ LATENCY("1", "[]"), "top.hist.bins: must be an object" },
	{ LATENCY("1", "{\"2\": -1}"), "top.hist.bins.2: must be a whole" },
	{ LATENCY("1", "{\"x\": 1}"), "top.hist.bins.x: is not a bin" },
	{ LATENCY("1", "{\"1000\": 1}"), "top.hist.bins.1000: is not a bin" },
};

START_TEST(a_wrong_value_is_named_with_its_place)
{
	struct all b;

	ck_assert_int_eq(read_all(parse(wrong[_i].text), &b), -EINVAL);
	ck_assert_msg(strstr(err.text, wrong[_i].fault), "%s: %s", wrong[_i].text, err.text);
	ck_assert_msg(strncmp(err.text, "f.json: ", 8) == 0, "%s", err.text);
}
END_TEST

/* Values over the whole range, many of them small. */
static uint64_t draw(uint64_t i)
{
	uint64_t r = rng_u64(7, RNG_TEST, i);

	return r >> (r & 63) & ((UINT64_C(1) << 42) - 1);
}

START_TEST(parts_merge_to_the_histogram_of_all_values)
{
	enum { PARTS = 5, VALUES = 20000 };
	struct hist *all = hist_new(), *parts[PARTS];
	struct hist *merged = hist_new();

	for (int k = 0; k < PARTS; k++)
		parts[k] = hist_new();
	for (uint64_t i = 0; i < VALUES; i++) {
		hist_add(all, draw(i));
		hist_add(parts[i * i % PARTS], draw(i));
	}
	for (int k = 0; k < PARTS; k++) {
		struct all a = { .hist = parts[k] }, b;

		ck_assert_int_eq(read_all(written(&a), &b), 0);
		if (b.hist)
			hist_merge(merged, b.hist);
		hist_free(parts[k]);
	}
	check_alike(merged, all);
	for (double p = 0; p <= 100; p += 0.125)
		ck_assert_uint_eq(hist_percentile(merged, p), hist_percentile(all, p));
	hist_free(all);
	hist_free(merged);
}
END_TEST

START_TEST(every_bucket_is_found_again)
{
	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		ck_assert_uint_eq(hist_bucket_of(hist_bucket_midpoint(b)), b);
}
END_TEST

Suite *suite_json_read(void)
{
	Suite *s = suite_create("json_read");
	TCase *t = tcase_create("json_read");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, every_type_comes_back);
	tcase_add_test(t, what_is_missing_is_not_known);
	tcase_add_test(t, what_a_document_lacks_is_told_from_nothing);
	tcase_add_test(t, a_deviation_keeps_its_digits);
	tcase_add_test(t, texts_of_others_are_made_printable);
	tcase_add_loop_test(t, a_wrong_value_is_named_with_its_place, 0,
			    sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(t, parts_merge_to_the_histogram_of_all_values);
	tcase_add_test(t, every_bucket_is_found_again);
	suite_add_tcase(s, t);
	return s;
}
