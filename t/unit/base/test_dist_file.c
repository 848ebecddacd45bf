/* SPDX-License-Identifier: Apache-2.0 */
/* test_dist_file.c - values of a file are drawn as they stand in it, and many of them become a
 * short one. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/files.h"
#include "base/mem.h"
#include "suites.h"
#include "textfile_rig.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define DRAWS 100000

static void setup(void)
{
	make_place("x.sizes");
}

static int parse(struct dist *d, const char *behind, enum dist_unit unit, struct mlgen_err *err)
{
	char text[TEMP_BELOW + 8];

	snprintf(text, sizeof(text), "file:%s%s", path, behind);
	return dist_parse(d, text, unit, "ms", 1024, err);
}

static struct dist good(const char *text, const char *behind, enum dist_unit unit)
{
	struct mlgen_err err = { 0 };
	struct dist d;

	put(text, strlen(text));
	ck_assert_msg(parse(&d, behind, unit, &err) == 0, "%s", err.text);
	return d;
}

START_TEST(few_values_come_out_as_they_are_and_as_often)
{
	struct dist d = good("# sizes\n\n4096 x3\n 5000 x1 # one\n64k x4\n", "", DIST_BYTES);
	unsigned n[3] = { 0 };

	for (uint64_t i = 0; i < DRAWS; i++) {
		uint64_t v = dist_draw(&d, 7, RNG_TEST, i);

		n[0] += v == 4096;
		n[1] += v == 5000;
		n[2] += v == 65536;
	}
	ck_assert_uint_eq(n[0] + n[1] + n[2], DRAWS);
	ck_assert_double_eq_tol(n[0], DRAWS * 3 / 8.0, 800);
	ck_assert_double_eq_tol(n[1], DRAWS / 8.0, 600);
	ck_assert_double_eq_tol(dist_mean(&d), (3 * 4096 + 5000 + 4 * 65536) / 8.0, 1e-6);
	dist_unref(&d);
}
END_TEST

/* All lists of words are read by the same function (log.h). */
START_TEST(a_byte_order_mark_is_no_part_of_the_first_value)
{
	struct dist d = good(BOM "512\r\n1536\r\n", "", DIST_BYTES);

	ck_assert_double_eq_tol(dist_mean(&d), 1024, 1);
	dist_unref(&d);
	d = good(BOM "# sizes\n7 x2\n", "", DIST_BYTES);
	ck_assert_double_eq(dist_mean(&d), 7);
	dist_unref(&d);
}
END_TEST

START_TEST(between_plain_values_all_are_as_likely)
{
	struct dist d = good("1000\n2000\n6000\n", "", DIST_BYTES);
	unsigned below = 0, least = UINT32_MAX, most = 0;
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < DRAWS; i++) {
		unsigned v = (unsigned)dist_draw(&d, 7, RNG_TEST, i);

		below += v < 2000;
		least = v < least ? v : least;
		most = v > most ? v : most;
		sum += v;
		squares += (double)v * v;
	}
	ck_assert_uint_ge(least, 1000);
	ck_assert_uint_le(most, 6000);
	ck_assert_uint_lt(least, 1010);
	ck_assert_uint_gt(most, 5990);
	ck_assert_double_eq_tol(below, DRAWS / 2.0, 800);
	ck_assert_double_eq(dist_mean(&d), 2750);
	ck_assert_double_eq_tol(sum / DRAWS, 2750, 25);
	ck_assert_double_eq_tol(sqrt(squares / DRAWS - pow(sum / DRAWS, 2)), dist_stdev(&d), 15);
	dist_unref(&d);
}
END_TEST

START_TEST(a_run_of_equal_values_is_exactly_that)
{
	struct dist d = good("500\n500\n500\n", "", DIST_BYTES);
	struct dist alone = good("500\n", "", DIST_BYTES);

	for (uint64_t i = 0; i < 100; i++) {
		ck_assert_uint_eq(dist_draw(&d, 7, RNG_TEST, i), 500);
		ck_assert_uint_eq(dist_draw(&alone, 7, RNG_TEST, i), 500);
	}
	ck_assert_double_eq(dist_stdev(&d), 0);
	dist_unref(&d);
	dist_unref(&alone);
}
END_TEST

START_TEST(a_plain_value_between_counted_ones_counts_once)
{
	struct dist d = good("10 x1\n20\n30 x2\n", "", DIST_BYTES);
	unsigned n = 0;

	for (uint64_t i = 0; i < DRAWS; i++)
		n += dist_draw(&d, 7, RNG_TEST, i) == 20;
	ck_assert_double_eq_tol(n, DRAWS / 4.0, 800);
	dist_unref(&d);
}
END_TEST

START_TEST(times_have_units_and_a_factor)
{
	struct mlgen_err err = { 0 };
	struct dist d = good("1\n2ms\n0.003s\n", "*2.5", DIST_NS);
	struct dist twice = dist_scale(&d, 2);
	struct buf text = { 0 };

	ck_assert_double_eq(dist_mean(&d), 5e6);
	ck_assert_double_eq(dist_mean(&twice), 1e7);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t v = dist_draw(&d, 7, RNG_TEST, i);

		ck_assert_uint_ge(v, 2500000);
		ck_assert_uint_le(v, 7500000);
		ck_assert_int_le(
			llabs((long long)dist_draw(&twice, 7, RNG_TEST, i) - (long long)(2 * v)),
			1);
	}
	ck_assert_double_eq_tol(dist_stdev(&twice), 2 * dist_stdev(&d), 1e-3);
	dist_format(&text, &twice, DIST_NS);
	ck_assert_ptr_nonnull(strstr(buf_str(&text), "x.sizes*5"));
	dist_unref(&d);
	ck_assert_int_eq(dist_parse(&d, buf_str(&text), DIST_NS, "ms", 1024, &err), 0);
	ck_assert_double_eq(dist_mean(&d), 1e7);
	dist_unref(&d);
	buf_fini(&text);
}
END_TEST

START_TEST(who_holds_it_may_outlive_who_parsed_it)
{
	struct dist d = good("1\n2\n", "", DIST_BYTES), other = d;

	dist_ref(&other);
	dist_unref(&d);
	ck_assert_int_eq(d.kind, DIST_CONST);
	ck_assert_double_eq(dist_mean(&other), 1.5);
	dist_unref(&other);
	dist_unref(&other);
}
END_TEST

START_TEST(its_identity_is_its_content)
{
	struct dist a = good("# a\n10 x1\n20 x2\n", "", DIST_BYTES);
	struct dist b = good("# b\n10 x1\n20 x2\n", "", DIST_BYTES);
	struct dist c = good("10 x2\n20 x1\n", "", DIST_BYTES), back;
	static const char *const damaged[] = { NULL,   "",  "5,", ",5",  "5-4", "5,4", "5x0",
					       "5x-1", "x", "-5", "nan", "5-",  "0",   "1e99" };
	struct buf content = { 0 };
	struct buf text[3] = { 0 };
	struct mlgen_err err = { 0 };

	dist_identify(&text[0], &a, DIST_BYTES);
	dist_identify(&text[1], &b, DIST_BYTES);
	dist_identify(&text[2], &c, DIST_BYTES);
	ck_assert_str_eq(buf_str(&text[0]), buf_str(&text[1]));
	ck_assert_str_ne(buf_str(&text[0]), buf_str(&text[2]));
	dist_content(&content, &a);
	ck_assert_str_eq(buf_str(&content), "10,20x2");
	ck_assert_int_eq(
		dist_restore(&back, buf_str(&text[0]), buf_str(&content), DIST_BYTES, &err), 0);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(dist_draw(&back, 7, RNG_TEST, i), dist_draw(&a, 7, RNG_TEST, i));
	dist_unref(&back);
	ck_assert_int_lt(dist_restore(&back, "file-12:x", "5", DIST_BYTES, NULL), 0);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		ck_assert_int_lt(dist_restore(&back, "file-12:5", damaged[i], DIST_BYTES, NULL), 0);
	ck_assert_int_eq(dist_restore(&back, "normal:5:1", NULL, DIST_BYTES, NULL), 0);
	ck_assert_int_eq(back.kind, DIST_NORMAL);
	buf_fini(&content);
	for (int i = 0; i < 3; i++)
		buf_fini(&text[i]);
	dist_unref(&a);
	dist_unref(&b);
	dist_unref(&c);
}
END_TEST

static const struct {
	const char *text;
	size_t bytes;
	enum dist_unit unit;
	int code;
	const char *in_message;
} bad[] = {
	{ TEXT(""), DIST_BYTES, -EINVAL, "x.sizes: contains no value" },
	{ TEXT("# only\n\n"), DIST_BYTES, -EINVAL, "contains no value" },
	{ TEXT("5\n4\n"), DIST_BYTES, -EINVAL, "x.sizes:2: '4': is below" },
	{ TEXT("1\n-5\n"), DIST_BYTES, -EINVAL, "x.sizes:2: '-5'" },
	{ TEXT("small\n"), DIST_BYTES, -EINVAL, "x.sizes:1: 'small'" },
	{ TEXT("1ms\n"), DIST_BYTES, -EINVAL, "'ms' was not understood" },
	{ TEXT("1 2\n"), DIST_BYTES, -EINVAL, "'2': is not a count; write xN" },
	{ TEXT("1 x0\n"), DIST_BYTES, -EINVAL, "'x0': is not a count" },
	{ TEXT("1 x-1\n"), DIST_BYTES, -EINVAL, "'x-1': is not a count" },
	{ TEXT("1 xnan\n"), DIST_BYTES, -EINVAL, "'xnan': is not a count" },
	{ TEXT("1 x2 3\n"), DIST_BYTES, -EINVAL, "more than two words" },
	{ TEXT("0\n0 x3\n"), DIST_NS, -EINVAL, "all values are 0" },
	{ TEXT("1\n\0\n"), DIST_BYTES, -EINVAL, "zero bytes" },
	{ TEXT("\x7f"
	       "ELF\x02\x01\x01\n"),
	  DIST_BYTES, -EINVAL, "x.sizes:1: " },
	{ TEXT("9223372036854775808\n"), DIST_BYTES, -ERANGE, "is too large" },
};

START_TEST(bad_files_are_refused_by_line)
{
	struct mlgen_err err = { 0 };
	struct dist d = { .kind = DIST_GAMMA, .a = 1, .b = 2 };

	put(bad[_i].text, bad[_i].bytes);
	ck_assert_int_eq(parse(&d, "", bad[_i].unit, &err), bad[_i].code);
	ck_assert_msg(strstr(err.text, bad[_i].in_message), "'%s' is not in: %s",
		      bad[_i].in_message, err.text);
	ck_assert_int_eq(d.kind, DIST_GAMMA);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	struct mlgen_err none = { 0 }, folder = { 0 }, fifo = { 0 };
	struct mlgen_err empty = { 0 };
	struct dist d;

	ck_assert_int_eq(parse(&d, "", DIST_BYTES, &none), -ENOENT);
	ck_assert_ptr_nonnull(strstr(none.text, "x.sizes: "));
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(parse(&d, "", DIST_BYTES, &folder), -EISDIR);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(parse(&d, "", DIST_BYTES, &fifo), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fifo.text, "fifo"));
	ck_assert_int_eq(dist_parse(&d, "file:", DIST_BYTES, NULL, 1024, &empty), -EINVAL);
	ck_assert_ptr_nonnull(strstr(empty.text, "write file:PATH"));
}
END_TEST

START_TEST(one_too_many_and_one_too_large_are_refused)
{
	struct mlgen_err many = { 0 }, large = { 0 };
	struct buf text = { 0 };
	struct dist d;

	for (unsigned i = 0; i < DIST_FILE_VALUES; i++)
		buf_addf(&text, "%u\n", i + 1);
	put(text.s, text.len);
	ck_assert_int_eq(parse(&d, "", DIST_BYTES, NULL), 0);
	dist_unref(&d);
	buf_add(&text, "5000\n");
	put(text.s, text.len);
	ck_assert_int_eq(parse(&d, "", DIST_BYTES, &many), -E2BIG);
	ck_assert_ptr_nonnull(strstr(many.text, "x.sizes:4097: more than 4096"));
	ck_assert_int_eq(truncate(path, 5 << 20), 0);
	ck_assert_int_eq(parse(&d, "", DIST_BYTES, &large), -EFBIG);
	buf_fini(&text);
}
END_TEST

/* ---- the writer ---- */

static struct dist write_and_read(const uint64_t *values, size_t n, enum dist_unit unit)
{
	struct mlgen_err err = { 0 };
	struct dist d;
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	dist_file_write(f, values, n, unit, "some values");
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_msg(parse(&d, "", unit, &err) == 0, "%s", err.text);
	return d;
}

START_TEST(few_different_values_are_written_exactly)
{
	static const uint64_t values[] = { 1000, 1000, 1000, 2000, 5000, 5000 };
	struct dist d = write_and_read(values, 6, DIST_NS);

	ck_assert_double_eq(dist_mean(&d), 15000 / 6.0);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t v = dist_draw(&d, 1, RNG_TEST, i);

		ck_assert(v == 1000 || v == 2000 || v == 5000);
	}
	dist_unref(&d);
}
END_TEST

static int values_by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The share of what is drawn that is at most v, by bisection. */
static double share_until(const struct dist_file *f, double v)
{
	double low = 0, high = 1;

	for (int i = 0; i < 40; i++) {
		double p = (low + high) / 2;

		if (dist_file_quantile(f, p) <= v)
			low = p;
		else
			high = p;
	}
	return low;
}

/* kind 0: all different; 1: every third one is 4096; 2: some hundred that come often among
 * others. */
static uint64_t some_value(int kind, uint64_t i)
{
	double p = rng_f64(3, RNG_TEST, i);

	if (kind == 1 && i % 3 == 0)
		return 4096;
	if (kind == 2 && i % 2)
		return 1000 * (1 + i / 2 % 300);
	return (uint64_t)(1 + p * p * 1e6);
}

START_TEST(many_values_keep_their_distribution)
{
	enum { N = 60000 };
	uint64_t *values = mem_array(N, sizeof(*values));
	struct mlgen_err err = { 0 };
	struct dist_file *f;

	for (uint64_t i = 0; i < N; i++)
		values[i] = some_value(_i, i);
	qsort(values, N, sizeof(*values), values_by_size);
	struct dist d = write_and_read(values, N, DIST_BYTES);
	ck_assert_msg(dist_file_read(&f, path, DIST_BYTES, NULL, 1024, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < N; i += 37) {
		size_t end = i;

		while (end + 1 < N && values[end + 1] == values[i])
			end++;
		ck_assert_double_eq_tol(share_until(f, (double)values[i]), (double)(end + 1) / N,
					0.001);
	}
	dist_file_unref(f);
	dist_unref(&d);
	mem_free(values);
}
END_TEST

Suite *suite_dist_file(void)
{
	Suite *s = suite_create("dist_file");
	TCase *tc = tcase_create("values");

	tcase_add_checked_fixture(tc, setup, remove_place);
	tcase_add_test(tc, few_values_come_out_as_they_are_and_as_often);
	tcase_add_test(tc, a_byte_order_mark_is_no_part_of_the_first_value);
	tcase_add_test(tc, between_plain_values_all_are_as_likely);
	tcase_add_test(tc, a_run_of_equal_values_is_exactly_that);
	tcase_add_test(tc, a_plain_value_between_counted_ones_counts_once);
	tcase_add_test(tc, times_have_units_and_a_factor);
	tcase_add_test(tc, who_holds_it_may_outlive_who_parsed_it);
	tcase_add_test(tc, its_identity_is_its_content);
	tcase_add_loop_test(tc, bad_files_are_refused_by_line, 0, COUNT(bad));
	tcase_add_test(tc, what_is_no_file_is_refused);
	tcase_add_test(tc, one_too_many_and_one_too_large_are_refused);
	tcase_add_test(tc, few_different_values_are_written_exactly);
	tcase_add_loop_test(tc, many_values_keep_their_distribution, 0, 3);
	suite_add_tcase(s, tc);
	return s;
}
