/* SPDX-License-Identifier: Apache-2.0 */
/* test_fields.c - every type is read, checked, written and found. */
#include "suites.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "field/fields.h"

struct all {
	uint64_t count, size, time; /* count at offset 0 on purpose */
	bool flag;
	double number, percent;
	int choice;
	char *text;
	struct dist size_dist, time_dist;
	struct f64_list list;
	struct u64_pair sizes, counts;
	struct size_share share;
	struct u64_share part;
	struct cache_size cache;
	struct variant order, page;
	int word;
};

static const struct mlgen_choice colours[] = {
	{ "red", 1, "warm" },
	{ "blue", 2, "cold" },
	{ "rouge", 1, "as red" },
	{ 0 },
};

static const struct mlgen_choice orders[] = {
	{ "none", 0, "as it is" },
	{ "turned", 1, "from the end" },
	{ "pool:N", 2, "from a pool of so many" },
	{ "run:N[:GROUP]", 3, "in runs, and groups of them" },
	{ "last", 4, "behind them" },
	{ 0 },
};

static const struct mlgen_choice pages[] = {
	{ "none", 0, "whole" },
	{ "by:DIST", 2, "by a distribution" },
	{ "page:SIZE[:WINDOW]", 1, "in pages, and windows of them" },
	{ 0 },
};

static const struct mlgen_choice words[] = {
	{ "one_word_of_sixteen", 0, "long" },
	{ "two_words_of_fifteen", 1, "long, too" },
	{ "the_third", 2, "does not fit" },
	{ 0 },
};

/* clang-format off */
static const struct mlgen_field fields[] = {
	{ "count", MLGEN_F_U64(struct all, count), .def = "4", .min = 1, .max = 1024 },
	{ "size", MLGEN_F_SIZE(struct all, size), .def = "1m", .min = 512, .max = 1024.0 * 1024 * 1024 },
	{ "part", FIELD_U64_SHARE(struct all, part), .def = "0", .max = 1000 },
	{ "time", MLGEN_F_TIME(struct all, time), .def = "0", .max = 60e9, .unit = "us" },
	{ "flag", MLGEN_F_BOOL(struct all, flag), .def = "1", .alias = "a_flag" },
	{ "number", MLGEN_F_F64(struct all, number) },
	{ "percent", MLGEN_F_PERCENT(struct all, percent), .def = "50%", .max = 100 },
	{ "choice", MLGEN_F_ENUM(struct all, choice, colours), .def = "blue" },
	{ "text", MLGEN_F_STR(struct all, text) },
	{ "size_dist", FIELD_SIZE_DIST(struct all, size_dist), .def = "2m", .min = 1, .max = 1e9 },
	{ "time_dist", FIELD_TIME_DIST(struct all, time_dist), .def = "0", .max = 1e12, .unit = "s" },
	{ "list", FIELD_F64_LIST(struct all, list), .def = "50:99.9", .max = 100 },
	{ "sizes", FIELD_SIZE_PAIR(struct all, sizes), .def = "4k", .min = 512, .max = 1024.0 * 1024 * 1024 },
	{ "counts", FIELD_U64_PAIR(struct all, counts), .def = "0", .max = 1000 },
	{ "share", FIELD_SIZE_SHARE(struct all, share), .def = "0", .max = 1024.0 * 1024 * 1024 },
	{ "cache", FIELD_CACHE_SIZE(struct all, cache), .min = 1, .max = 1024.0 * 1024 * 1024 },
	{ "order", FIELD_VARIANT(struct all, order, orders), .def = "none" },
	{ "page", FIELD_VARIANT(struct all, page, pages), .def = "none" },
	{ "word", MLGEN_F_ENUM(struct all, word, words), .def = "the_third" },
	{ 0 },
};
/* clang-format on */

static struct all values;

static void setup(void)
{
	memset(&values, 0, sizeof(values));
	field_defaults(fields, &values);
}

static void teardown(void)
{
	field_fini(fields, &values);
}

START_TEST(defaults_are_set)
{
	ck_assert_uint_eq(values.count, 4);
	ck_assert_uint_eq(values.size, 1 << 20);
	ck_assert(values.flag);
	ck_assert(isnan(values.number));
	ck_assert_int_eq(values.choice, 2);
	ck_assert_ptr_null(values.text);
	ck_assert_uint_eq(values.list.count, 2);
	for (const struct mlgen_field *f = fields; f->name; f++)
		ck_assert_msg(field_is_default(f, &values), "%s", f->name);
	ck_assert_uint_eq(field_count(fields), 19);
}
END_TEST

/* Text, and what it is written as; NULL = itself. */
static const struct {
	const char *name, *text, *want;
} good[] = {
	{ "count", "1", NULL },
	{ "count", "1024", NULL },
	{ "count", "1k", "1024" },
	{ "size", "512", NULL },
	{ "size", "1.5m", "1536k" },
	{ "time", "20", "20us" },
	{ "time", "1m", NULL },
	{ "flag", "no", "0" },
	{ "flag", "on", "1" },
	{ "number", "0.25", NULL },
	{ "number", "-3", NULL },
	{ "percent", "2", "2%" },
	{ "percent", "99.9%", NULL },
	{ "choice", "red", NULL },
	{ "choice", "rouge", "red" },
	{ "text", "a b", NULL },
	{ "size_dist", "4k", NULL },
	{ "size_dist", "normal:2m:1k", NULL },
	{ "size_dist", "dlio:146600628:68341808", NULL },
	{ "time_dist", "0.323", "323ms" },
	{ "time_dist", "uniform:1ms:2ms", NULL },
	{ "time_dist", "gamma:2:5ms", NULL },
	{ "list", "1:2.5:99", NULL },
	{ "sizes", "64k", NULL },
	{ "sizes", "64k,64k", "64k" },
	{ "sizes", "4k,64k", NULL },
	{ "sizes", ",64k", "4k,64k" },
	{ "sizes", "8k,", "8k,4k" },
	{ "sizes", "8k,16k,32k", "8k,16k" },
	{ "sizes", "8k,,32k", "8k,4k" },
	{ "sizes", "1.5m", "1536k" },
	{ "counts", "7", NULL },
	{ "counts", "0,5", NULL },
	{ "counts", "1,1", "1" },
	{ "share", "1g", NULL },
	{ "share", "20%", NULL },
	{ "share", "0.5%", NULL },
	{ "share", "100%", NULL },
	{ "part", "12", NULL },
	{ "cache", "1g", NULL },
	{ "cache", "15%", NULL },
	{ "cache", "120%", NULL },
	{ "cache", "5000 samples", NULL },
	{ "cache", "5ksamples", "5120 samples" },
	{ "cache", "1 sample", "1 samples" },
	{ "part", "0.001%", NULL },
	{ "order", "turned", NULL },
	{ "order", "pool:1", NULL },
	{ "order", "pool:64", NULL },
	{ "order", "pool:2k", "pool:2048" },
	{ "order", "pool:1000000000", NULL },
	{ "order", "last", NULL },
	{ "order", "run:7", NULL },
	{ "order", "Run:7:1k", "run:7:1024" },
	{ "page", "page:8m", NULL },
	{ "page", "by:0.25", NULL },
	{ "page", "by:lognormal:1:0.5", NULL },
	{ "page", "page:4k:64", NULL },
};

START_TEST(what_is_written_reads_back)
{
	const struct mlgen_field *f = field_find(fields, good[_i].name);
	const char *want = good[_i].want ? good[_i].want : good[_i].text;
	struct mlgen_err err = { 0 };
	struct buf once = { 0 }, twice = { 0 };

	ck_assert_int_eq(field_parse(f, &values, good[_i].text, 1024, &err), 0);
	ck_assert_str_eq(err.text, "");
	ck_assert(!field_is_default(f, &values) || !strcmp(want, f->def));
	field_format(&once, f, &values);
	ck_assert_str_eq(buf_str(&once), want);
	ck_assert_int_eq(field_parse(f, &values, want, 1024, &err), 0);
	field_format(&twice, f, &values);
	ck_assert_str_eq(buf_str(&twice), want);
	buf_fini(&once);
	buf_fini(&twice);
}
END_TEST

static const struct {
	const char *name, *text;
	int code;
	const char *want; /* within the message */
} bad[] = {
	{ "count", "0", -ERANGE, "count: 0 is below the minimum 1" },
	{ "count", "1025", -ERANGE, "count: 1025 is above the maximum 1024" },
	{ "count", "2 batches", -EINVAL, "count: '2 batches': must be" },
	{ "count", "", -EINVAL, "count: the value is missing" },
	{ "count", "-1", -EINVAL, "count: '-1'" },
	{ "size", "511", -ERANGE, "size: 511 is below the minimum 512" },
	{ "size", "2g", -ERANGE, "size: 2g is above the maximum 1g" },
	{ "time", "2m", -ERANGE, "time: 2m is above the maximum 1m" },
	{ "time", "5minutes", -EINVAL, "time: '5minutes'" },
	{ "flag", "maybe", -EINVAL, "flag: 'maybe'" },
	{ "number", "nan", -EINVAL, "number: 'nan'" },
	{ "number", "0x10", -EINVAL, "number: '0x10'" },
	{ "percent", "101%", -ERANGE, "percent: 101% is above the maximum 100%" },
	{ "choice", "gren", -EINVAL, "choice: 'gren' is not one of red blue rouge" },
	{ "choice", "blu", -EINVAL, "did you mean 'blue'?" },
	{ "size_dist", "0", -ERANGE, "below the minimum 1" },
	{ "size_dist", "normal:0:0", -EINVAL, "size_dist: " },
	{ "size_dist", "normal:2m", -EINVAL, "size_dist: " },
	{ "time_dist", "dlio:1:1", -EINVAL, "time_dist: " },
	{ "list", "50::99", -EINVAL, "list: " },
	{ "list", "50:101", -ERANGE, "list: 101 is above the maximum 100" },
	{ "list", "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", -EINVAL,
	  "list: more than 20 numbers" },
	{ "sizes", "4k,511", -ERANGE, "sizes: 511 is below the minimum" },
	{ "sizes", "2g,4k", -ERANGE, "sizes: 2g is above the maximum 1g" },
	{ "sizes", "4k-8k", -EINVAL, "sizes: '4k-8k' is a range" },
	{ "sizes", ",", -EINVAL, "sizes: ',': write one value, or READ,WRITE" },
	{ "sizes", "4k,4k,4k,", -EINVAL, "write one value, or READ,WRITE" },
	{ "sizes", "4k,4k,x", -EINVAL, "sizes: 'x'" },
	{ "sizes", "4k 8k", -EINVAL, "sizes: '4k 8k'" },
	{ "counts", "1.5", -EINVAL, "counts: '1.5'" },
	{ "counts", "1,1001", -ERANGE, "counts: 1001 is above" },
	{ "share", "101%", -ERANGE, "share: 101% is not between" },
	{ "share", "-1%", -ERANGE, "share: -1% is not between" },
	{ "share", "%", -EINVAL, "share: '%'" },
	{ "share", "2g", -ERANGE, "share: 2g is above the maximum 1g" },
	{ "share", "20%k", -EINVAL, "share: '20%k'" },
	{ "part", "101%", -ERANGE, "part: 101% is not between" },
	{ "part", "1001", -ERANGE, "part: 1001 is above the maximum 1000" },
	{ "part", "1.5", -EINVAL, "part: '1.5'" },
	{ "part", "-1", -EINVAL, "part: '-1'" },
	{ "cache", "0", -ERANGE, "cache: '0' must be above 0; write a size" },
	{ "cache", "0%", -ERANGE, "cache: '0%' must be above 0" },
	{ "cache", "0 samples", -ERANGE, "cache: '0 samples' must be above 0" },
	{ "cache", "-1%", -ERANGE, "cache: '-1%' must be above 0" },
	{ "cache", "5 batches", -EINVAL, "cache: '5 batches'" },
	{ "cache", "samples", -EINVAL, "cache: 'samples'" },
	{ "cache", "2g", -ERANGE, "cache: 2g is above the maximum 1g" },
	{ "order", "pool", -EINVAL, "order: 'pool' is not one of none turned pool:N" },
	{ "order", "pools:4", -EINVAL, "order: 'pools:4' is not one of" },
	{ "order", "pool:", -EINVAL, "order: " },
	{ "order", "pool:x", -EINVAL, "order: 'x'" },
	{ "order", "pool:4:4", -EINVAL, "order: '4:4'" },
	{ "order", "pool:-1", -EINVAL, "order: '-1'" },
	{ "order", "pool:0", -ERANGE, "order: 'pool:0': write a number from 1 to 1000000000" },
	{ "order", "pool:1000000001", -ERANGE, "write a number from 1 to" },
	{ "order", "pol:8", -EINVAL, "did you mean 'pool:N'?" },
	{ "order", "run:7:0", -ERANGE, "order: 'run:7:0': write a number from 1 to 1000000000" },
	{ "order", "run:7:", -EINVAL, "order: " },
	{ "order", "run:7:8:9", -EINVAL, "order: '8:9'" },
	{ "order", "last:7", -EINVAL, "order: 'last:7' is not one of" },
	{ "page", "page:0", -ERANGE, "page: 'page:0': write a size from 1 byte to 4e" },
	{ "page", "page:4x", -EINVAL, "page: '4x'" },
	{ "page", "by:", -EINVAL, "page: " },
	{ "page", "by:0", -ERANGE, "page: '0': the mean must be above 0" },
	{ "page", "by:-1", -ERANGE, "page: '-1': is below 0" },
	{ "page", "by:normal:1", -EINVAL, "incomplete distribution" },
};

START_TEST(what_is_wrong_is_refused_and_changes_nothing)
{
	const struct mlgen_field *f = field_find(fields, bad[_i].name);
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(field_parse(f, &values, bad[_i].text, 1024, &err), bad[_i].code);
	ck_assert_int_eq(err.code, bad[_i].code);
	ck_assert_msg(strstr(err.text, bad[_i].want), "%s", err.text);
	ck_assert(field_is_default(f, &values));
}
END_TEST

START_TEST(an_empty_text_unsets_what_has_no_default)
{
	const struct mlgen_field *text = field_find(fields, "text");
	const struct mlgen_field *number = field_find(fields, "number");

	ck_assert_int_eq(field_parse(text, &values, "x", 1024, NULL), 0);
	ck_assert_str_eq(values.text, "x");
	ck_assert_int_eq(field_parse(text, &values, "", 1024, NULL), 0);
	ck_assert_ptr_null(values.text);
	ck_assert_int_eq(field_parse(number, &values, "1", 1024, NULL), 0);
	ck_assert_int_eq(field_parse(number, &values, "", 1024, NULL), 0);
	ck_assert(isnan(values.number));
}
END_TEST

START_TEST(kb_base_reaches_the_sizes)
{
	const struct mlgen_field *f = field_find(fields, "size");

	ck_assert_int_eq(field_parse(f, &values, "1m", 1000, NULL), 0);
	ck_assert_uint_eq(values.size, 1000000);
	ck_assert_int_eq(field_parse(f, &values, "1mib", 1000, NULL), 0);
	ck_assert_uint_eq(values.size, 1 << 20);
}
END_TEST

START_TEST(half_a_pair_leaves_the_other_as_it_is)
{
	const struct mlgen_field *f = field_find(fields, "sizes");

	ck_assert_int_eq(field_parse(f, &values, "8k,16k", 1024, NULL), 0);
	ck_assert_int_eq(field_parse(f, &values, ",32k", 1024, NULL), 0);
	ck_assert_int_eq(field_parse(f, &values, "1000,", 1024, NULL), 0);
	ck_assert_uint_eq(values.sizes.read, 1000);
	ck_assert_uint_eq(values.sizes.write, 32768);
	ck_assert_int_eq(field_parse(f, &values, "1,", 1024, NULL), -ERANGE);
	ck_assert_uint_eq(values.sizes.read, 1000);
}
END_TEST

START_TEST(a_share_is_bytes_or_percent)
{
	const struct mlgen_field *f = field_find(fields, "share");

	ck_assert_int_eq(field_parse(f, &values, "25%", 1024, NULL), 0);
	ck_assert_double_eq(values.share.percent, 25);
	ck_assert_uint_eq(values.share.bytes, 0);
	ck_assert_int_eq(field_parse(f, &values, "1m", 1000, NULL), 0);
	ck_assert_double_eq(values.share.percent, 0);
	ck_assert_uint_eq(values.share.bytes, 1000000);
}
END_TEST

START_TEST(names_are_found_whole_or_not)
{
	ck_assert_ptr_eq(field_find(fields, "size-dist"), field_find(fields, "size_dist"));
	ck_assert_str_eq(field_find(fields, "a-flag")->name, "flag");
	ck_assert_ptr_null(field_find(fields, "siz"));
	ck_assert_ptr_null(field_find(fields, "size_"));
	ck_assert_ptr_null(field_find(fields, ""));
	ck_assert_ptr_null(field_find(NULL, "size"));
}
END_TEST

static const struct {
	const char *name, *nearest;
} typos[] = {
	{ "conut", "count" }, /* two neighbours swapped */
	{ "cuont", "count" },
	{ "cunt", "count" },
	{ "COUNT", "count" },
	{ "size-dst", "size_dist" },
	{ "a-flga", "a_flag" },
	{ "lst", "list" },
	{ "ls", NULL }, /* two off of two */
	{ "percentages", NULL },
	{ "x", NULL },
	{ "", NULL },
};

START_TEST(the_nearest_name_is_offered)
{
	const struct mlgen_field *const tables[] = { fields, NULL };
	const char *got = field_nearest(tables, typos[_i].name);

	if (typos[_i].nearest)
		ck_assert_pstr_eq(got, typos[_i].nearest);
	else
		ck_assert_ptr_null(got);
}
END_TEST

START_TEST(a_name_of_any_length_is_measured)
{
	const struct mlgen_field *const tables[] = { fields, NULL };
	char name[200];

	for (size_t n = 0; n < sizeof(name); n++) {
		memset(name, 'c', n);
		name[n] = '\0';
		ck_assert_ptr_null(field_nearest(tables, name));
	}
}
END_TEST

static const struct {
	const char *name, *type, *range;
} texts[] = {
	{ "count", "INT", "default 4, 1 to 1024" },
	{ "size", "SIZE", "default 1m, 512 to 1g" },
	{ "time", "TIME", "default 0, 0 to 1m" },
	{ "flag", "BOOL", "default 1" },
	{ "number", "NUMBER", "not set by default" },
	{ "percent", "PERCENT", "default 50%, 0% to 100%" },
	{ "choice", "red|blue", "default blue" },
	{ "order", "none|turned|pool:N|run:N[:GROUP]|last", "default none" },
	{ "word", "WORD", "default the_third" },
	{ "sizes", "SIZE[,SIZE]", "default 4k, 512 to 1g" },
	{ "counts", "INT[,INT]", "default 0, 0 to 1000" },
	{ "share", "SIZE|PERCENT", "default 0, 0 to 1g" },
	{ "part", "INT|PERCENT", "default 0, 0 to 1000" },
};

START_TEST(fields_describe_themselves)
{
	const struct mlgen_field *f = field_find(fields, texts[_i].name);
	struct buf type = { 0 }, range = { 0 };

	field_type_text(&type, f);
	field_range_text(&range, f);
	ck_assert_str_eq(buf_str(&type), texts[_i].type);
	ck_assert_str_eq(buf_str(&range), texts[_i].range);
	buf_fini(&type);
	buf_fini(&range);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_fields(void)
{
	Suite *s = suite_create("fields");
	TCase *t = tcase_create("fields");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, defaults_are_set);
	tcase_add_loop_test(t, what_is_written_reads_back, 0, ROWS(good));
	tcase_add_loop_test(t, what_is_wrong_is_refused_and_changes_nothing, 0, ROWS(bad));
	tcase_add_test(t, an_empty_text_unsets_what_has_no_default);
	tcase_add_test(t, kb_base_reaches_the_sizes);
	tcase_add_test(t, half_a_pair_leaves_the_other_as_it_is);
	tcase_add_test(t, a_share_is_bytes_or_percent);
	tcase_add_test(t, names_are_found_whole_or_not);
	tcase_add_loop_test(t, the_nearest_name_is_offered, 0, ROWS(typos));
	tcase_add_test(t, a_name_of_any_length_is_measured);
	tcase_add_loop_test(t, fields_describe_themselves, 0, ROWS(texts));
	suite_add_tcase(s, t);
	return s;
}
