/* SPDX-License-Identifier: Apache-2.0 */
/* test_dist.c - what is drawn has the mean, the spread and the shape that was written. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/dist.h"
#include "suites.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define DRAWS 40000

static struct dist parse(const char *text, enum dist_unit unit)
{
	struct dist d;
	struct mlgen_err err = { 0 };

	ck_assert_msg(dist_parse(&d, text, unit, "s", 1024, &err) == 0, "%s", err.text);
	return d;
}

struct good_row {
	const char *text;
	enum dist_unit unit;
	struct dist want;
	const char *written;
};

/* clang-format off */
static const struct good_row good[] = {
	{ "1m", DIST_BYTES, { DIST_CONST, 1048576, 0 }, "1m" },
	{ "0", DIST_NS, { DIST_CONST, 0, 0 }, "0" },
	{ "0.323", DIST_NS, { DIST_CONST, 323e6, 0 }, "323ms" },
	{ "1360.4ms", DIST_NS, { DIST_CONST, 1360.4e6, 0 }, "1360.4ms" },
	{ "9007199254740991", DIST_BYTES, { DIST_CONST, 0x1p53 - 1, 0 }, "9007199254740991" },
	{ "normal:5m:1m", DIST_BYTES, { DIST_NORMAL, 5242880, 1048576 }, "normal:5m:1m" },
	{ "normal:0.323:0", DIST_NS, { DIST_NORMAL, 323e6, 0 }, "normal:323ms:0" },
	{ "uniform:1:9", DIST_BYTES, { DIST_UNIFORM, 1, 9 }, "uniform:1:9" },
	{ "uniform:3:3", DIST_BYTES, { DIST_UNIFORM, 3, 3 }, "uniform:3:3" },
	{ "lognormal:10ms:2ms", DIST_NS, { DIST_LOGNORMAL, 1e7, 2e6 }, "lognormal:10ms:2ms" },
	{ "exponential:4k", DIST_BYTES, { DIST_EXPONENTIAL, 4096, 0 }, "exponential:4k" },
	{ "gamma:2.5:1ms", DIST_NS, { DIST_GAMMA, 2.5, 1e6 }, "gamma:2.5:1ms" },
	{ "dlio:146600628:68341808", DIST_BYTES, { DIST_DLIO, 146600628, 68341808 }, "dlio:146600628:68341808" },
	{ "dlio:114660.07:0", DIST_BYTES, { DIST_DLIO, 114660.07, 0 }, "dlio:114660.07:0" },
	{ "dlio:2:0.0000000001", DIST_BYTES, { DIST_DLIO, 2, 1e-10 }, "dlio:2:1e-10" },
	{ "dlio:1.5m:1k", DIST_BYTES, { DIST_DLIO, 1572864, 1024 }, "dlio:1536k:1k" },
};
/* clang-format on */

START_TEST(what_is_written_reads_back)
{
	const struct good_row *r = &good[_i];
	struct dist d = parse(r->text, r->unit);

	ck_assert_int_eq(d.kind, r->want.kind);
	ck_assert_double_eq(d.a, r->want.a);
	ck_assert_double_eq(d.b, r->want.b);

	struct buf text = { 0 }, again = { 0 };
	dist_format(&text, &d, r->unit);
	ck_assert_str_eq(buf_str(&text), r->written);
	struct dist back = parse(buf_str(&text), r->unit);
	dist_format(&again, &back, r->unit);
	ck_assert_str_eq(buf_str(&again), r->written);
	ck_assert_double_eq(back.a, d.a);
	ck_assert_double_eq(back.b, d.b);
	ck_assert_int_eq(dist_is_const(&d), d.kind == DIST_CONST);
	buf_fini(&text);
	buf_fini(&again);
}
END_TEST

struct bad_row {
	const char *text;
	enum dist_unit unit;
	const char *in_message;
};

/* clang-format off */
static const struct bad_row bad[] = {
	{ "normal:5", DIST_BYTES, "incomplete distribution; write normal:MEAN:STDEV" },
	{ "normal:", DIST_BYTES, "incomplete distribution; write normal:MEAN:STDEV" },
	{ "normal", DIST_BYTES, "incomplete distribution; write normal:MEAN:STDEV" },
	{ "normal::5", DIST_BYTES, "incomplete distribution; write normal:MEAN:STDEV" },
	{ "normal:5:", DIST_BYTES, "incomplete distribution; write normal:MEAN:STDEV" },
	{ "normal:5:1:2", DIST_BYTES, "too many parameters; write normal:MEAN:STDEV" },
	{ "normal:-5:1", DIST_BYTES, "not below 0, in 'normal:-5:1'; write normal:MEAN:STDEV" },
	{ "normal:5:-1", DIST_NS, "not below 0" },
	{ "normal:0:1", DIST_BYTES, "MEAN must be above 0; write normal:MEAN:STDEV" },
	{ "normal:5 :1", DIST_BYTES, "without a space after it" },
	{ "normal:1.5:1", DIST_BYTES, "whole number of bytes" },
	{ "normal:5m:1ms", DIST_BYTES, "'ms' was not understood" },
	{ "normal(5,1)", DIST_BYTES, "'normal' is not a distribution" },
	{ "uniform:9:1", DIST_BYTES, "MIN is above MAX; write uniform:MIN:MAX" },
	{ "exponential", DIST_NS, "write exponential:MEAN" },
	{ "exponential:1:2", DIST_NS, "too many parameters; write exponential:MEAN" },
	{ "gamma:0:1", DIST_NS, "SHAPE must lie between" },
	{ "gamma:2ms:1", DIST_NS, "write gamma:SHAPE:SCALE" },
	{ "gamma:2:0", DIST_NS, "SCALE must be above 0; write gamma:SHAPE:SCALE" },
	{ "lognormal:0:1", DIST_NS, "MEAN must be above 0; write lognormal:MEAN:STDEV" },
	{ "dlio:1:2", DIST_NS, "only for sizes" },
	{ "dlio:5:-1", DIST_BYTES, "not below 0" },
	{ "dlio:1.2.3:1", DIST_BYTES, "write dlio:MEAN:STDEV" },
	{ "dlio:0:1", DIST_BYTES, "MEAN must be above 0; write dlio:MEAN:STDEV" },
	{ "foo:1", DIST_BYTES, "'foo' is not a distribution; write a plain value, normal:MEAN:STDEV" },
	{ "1:2", DIST_BYTES, "'1' is not a distribution" },
	{ ":", DIST_BYTES, "is not a distribution" },
	{ "Normal:1:2", DIST_BYTES, "'Normal' is not a distribution" },
	{ "", DIST_BYTES, "is empty" },
	{ "-1", DIST_BYTES, "not below 0" },
	{ "5x", DIST_BYTES, "'x' was not understood" },
	{ "9007199254740993", DIST_BYTES, "too large" },
	{ "18446744073709551615", DIST_BYTES, "too large" },
	{ "normal:1111111111111111111111111111111111111111111111111111:1", DIST_BYTES, "normal:MEAN:STDEV" },
};
/* clang-format on */

START_TEST(half_and_wrong_ones_are_refused_with_the_right_form)
{
	const struct bad_row *r = &bad[_i];
	struct mlgen_err err = { 0 };
	struct dist d = { DIST_GAMMA, 1, 2 };
	int rc = dist_parse(&d, r->text, r->unit, "s", 1024, &err);

	ck_assert_msg(rc == -EINVAL || rc == -ERANGE, "rc %d", rc);
	ck_assert_msg(strstr(err.text, r->in_message), "'%s' is not in: %s", r->in_message,
		      err.text);
	/* Untouched. */
	ck_assert_int_eq(d.kind, DIST_GAMMA);
	ck_assert_double_eq(d.a, 1);
}
END_TEST

START_TEST(dlio_is_not_offered_for_times)
{
	struct mlgen_err err = { 0 };
	struct dist d;

	dist_parse(&d, "foo:1", DIST_NS, "s", 1024, &err);
	ck_assert_ptr_null(strstr(err.text, "dlio"));
}
END_TEST

START_TEST(kb_base_holds_inside_a_distribution)
{
	struct dist d;

	ck_assert_int_eq(dist_parse(&d, "normal:1m:1KiB", DIST_BYTES, NULL, 1000, NULL), 0);
	ck_assert_double_eq(d.a, 1e6);
	ck_assert_double_eq(d.b, 1024);
}
END_TEST

/* Drawn mean and stdev; tolerances are five standard errors or more. */
struct moments_row {
	const char *text;
	enum dist_unit unit;
	double mean, stdev;
};

static const struct moments_row moments[] = {
	{ "323ms", DIST_NS, 323e6, 0 },
	{ "normal:323ms:20ms", DIST_NS, 323e6, 20e6 },
	{ "normal:323ms:0", DIST_NS, 323e6, 0 },
	{ "uniform:1000:9000", DIST_BYTES, 5000, 2309.69 },
	{ "uniform:1:6", DIST_BYTES, 3.5, 1.707825 },
	{ "lognormal:10ms:2ms", DIST_NS, 10e6, 2e6 },
	{ "lognormal:10ms:10ms", DIST_NS, 10e6, 10e6 },
	{ "exponential:1m", DIST_BYTES, 1048576, 1048576 },
	{ "gamma:0.5:10ms", DIST_NS, 5e6, 7.0711e6 },
	{ "gamma:1:10ms", DIST_NS, 10e6, 10e6 },
	{ "gamma:9:10ms", DIST_NS, 90e6, 30e6 },
	{ "gamma:400:1ms", DIST_NS, 400e6, 20e6 },
	{ "gamma:40000:10us", DIST_NS, 400e6, 2e6 },
	/* facts: unet3d file sd 49 MB; cosmoflow 2.8243 MB, sd 50.1 kB */
	{ "dlio:146600628:68341808", DIST_BYTES, 146.6e6, 49.0e6 },
	{ "dlio:2828486:71311", DIST_BYTES, 2.827e6, 50.4e3 },
	/* facts: 338 x 338 and 50 x 50, no spread */
	{ "dlio:114660.07:0", DIST_BYTES, 114244, 0 },
	{ "dlio:2500:0", DIST_BYTES, 2500, 0 },
};

START_TEST(draws_have_the_mean_and_the_stdev)
{
	const struct moments_row *r = &moments[_i];
	struct dist d = parse(r->text, r->unit);
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < DRAWS; i++) {
		double v = (double)dist_draw(&d, 42, RNG_TEST, i) - r->mean;

		sum += v;
		squares += v * v;
	}
	double mean = r->mean + sum / DRAWS;
	double stdev = sqrt(squares / DRAWS - (sum / DRAWS) * (sum / DRAWS));
	ck_assert_double_eq_tol(mean, r->mean, r->stdev * 0.016 + r->mean * 1e-4);
	ck_assert_double_eq_tol(stdev, r->stdev, r->stdev * 0.03 + 1e-6);
	/* What it says of itself is what it draws. */
	ck_assert_double_eq_tol(mean, dist_expectation(&d), r->stdev * 0.016 + 0.5);
	ck_assert_double_eq_tol(stdev, dist_stdev(&d), dist_stdev(&d) * 0.03 + 1e-6);
}
END_TEST

/* Cumulative shares below some values, by the formulas of each kind. */
struct share_row {
	const char *text;
	double below, share;
};

static const struct share_row shares[] = {
	{ "normal:100m:10m", 90 * 1048576.0, 0.158655 },
	{ "normal:100m:10m", 120 * 1048576.0, 0.977250 },
	{ "lognormal:1m:1m", 1048576 / 1.41421356, 0.5 },
	{ "exponential:1m", 1048576 * 0.69314718, 0.5 },
	{ "exponential:1m", 1048576 * 2.30258509, 0.9 },
	/* chi square with 4 degrees of freedom, halved: 50 % and 95 % */
	{ "gamma:2:1m", 1048576 * 3.356694 / 2, 0.5 },
	{ "gamma:2:1m", 1048576 * 9.487729 / 2, 0.95 },
	/* one degree of freedom: 90 % */
	{ "gamma:0.5:1m", 1048576 * 2.705543 / 2, 0.9 },
	/* facts: p50 142.3, p95 234.4 MB of unet3d */
	{ "dlio:146600628:68341808", 142.3e6, 0.5 },
	{ "dlio:146600628:68341808", 234.4e6, 0.95 },
};

START_TEST(draws_have_the_shape)
{
	const struct share_row *r = &shares[_i];
	struct dist d = parse(r->text, DIST_BYTES);
	unsigned below = 0;

	for (uint64_t i = 0; i < DRAWS; i++)
		below += (double)dist_draw(&d, 7, RNG_TEST, i) < r->below;
	/* Standard error 0.0025 at most; the published ones have 3 digits. */
	ck_assert_double_eq_tol((double)below / DRAWS, r->share, 0.009);
}
END_TEST

START_TEST(both_ends_of_a_uniform_come)
{
	struct dist d = parse("uniform:3:5", DIST_BYTES);
	unsigned counts[3] = { 0 };

	for (uint64_t i = 0; i < 30000; i++) {
		uint64_t v = dist_draw(&d, 1, RNG_TEST, i);

		ck_assert(v >= 3 && v <= 5);
		counts[v - 3]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert_double_eq_tol(counts[i], 10000, 500);
}
END_TEST

START_TEST(nothing_drawn_is_below_one)
{
	static const char *const texts[] = { "normal:1:100", "uniform:0:3", "exponential:1",
					     "gamma:0.01:1", "dlio:1:100",  "lognormal:1:50" };

	for (int k = 0; k < COUNT(texts); k++) {
		struct dist d = parse(texts[k], DIST_BYTES);

		for (uint64_t i = 0; i < 5000; i++)
			ck_assert_uint_ge(dist_draw(&d, 1, RNG_TEST, i), 1);
	}
	struct dist none = parse("0", DIST_NS);
	ck_assert_uint_eq(dist_draw(&none, 1, RNG_TEST, 0), 0);
}
END_TEST

START_TEST(the_largest_values_stay_in_range)
{
	struct dist d = parse("normal:4096p:4096p", DIST_BYTES);
	struct dist wide = parse("dlio:4096p:4096p", DIST_BYTES);

	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t v = dist_draw(&d, 1, RNG_TEST, i);

		ck_assert_uint_le(v, UINT64_C(1) << 62);
		v = dist_draw(&wide, 1, RNG_TEST, i);
		ck_assert_uint_le(v, UINT64_C(1) << 62);
	}
}
END_TEST

START_TEST(sides_multiply_to_the_value)
{
	struct dist d = parse("dlio:146600628:68341808", DIST_BYTES);
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < DRAWS; i++) {
		uint64_t sides[2];

		dist_draw_sides(&d, 10, RNG_SAMPLE_SIZE, i, sides);
		ck_assert_uint_eq(sides[0] * sides[1], dist_draw(&d, 10, RNG_SAMPLE_SIZE, i));
		for (int k = 0; k < 2; k++) {
			sum += (double)sides[k];
			squares += (double)sides[k] * (double)sides[k];
		}
	}
	/* facts: side N(12107, 2822.2) */
	double mean = sum / (2 * DRAWS);
	ck_assert_double_eq_tol(mean, 12107.5, 40);
	ck_assert_double_eq_tol(sqrt(squares / (2 * DRAWS) - mean * mean), 2822.2, 30);

	struct dist plain = parse("4k", DIST_BYTES);
	uint64_t sides[2];
	dist_draw_sides(&plain, 1, 2, 3, sides);
	ck_assert_uint_eq(sides[0], 1);
	ck_assert_uint_eq(sides[1], 4096);
}
END_TEST

START_TEST(the_mean_is_the_one_written)
{
	struct dist d = parse("dlio:114660.07:0", DIST_BYTES);

	ck_assert_double_eq(dist_mean(&d), 114660.07);
	ck_assert_double_eq(dist_expectation(&d), 114244);
	d = parse("gamma:4:10ms", DIST_NS);
	ck_assert_double_eq(dist_mean(&d), 40e6);
	d = parse("uniform:1:2", DIST_BYTES);
	ck_assert_double_eq(dist_mean(&d), 1.5);
}
END_TEST

START_TEST(draws_stay_what_they_are)
{
	/* Sizes of existing datasets: these may never change. */
	static const struct {
		const char *text;
		uint64_t want[2];
	} golden[] = {
		{ "normal:1g:100m", { 1138861897, 1182414049 } },
		{ "uniform:1k:1m", { 768577, 891430 } },
		{ "lognormal:1m:1m", { 1243467, 1757165 } },
		{ "exponential:1m", { 1383518, 1989186 } },
		{ "gamma:2.5:1m", { 3367006, 4254577 } },
		{ "gamma:0.3:1g", { 333044866, 672781351 } },
		{ "dlio:146600628:68341808", { 208343520, 96213624 } },
	};

	for (int k = 0; k < COUNT(golden); k++) {
		struct dist d = parse(golden[k].text, DIST_BYTES);

		for (uint64_t i = 0; i < 2; i++)
			ck_assert_uint_eq(dist_draw(&d, 42, RNG_SAMPLE_SIZE, i), golden[k].want[i]);
	}
}
END_TEST

START_TEST(the_normal_quantile_is_that_of_as_241)
{
	/* Test values of the publication, and the tails by symmetry. */
	ck_assert_double_eq_tol(dist_normal_quantile(0.25), -0.6744897501960817, 1e-15);
	ck_assert_double_eq_tol(dist_normal_quantile(0.001), -3.090232306167814, 1e-14);
	ck_assert_double_eq_tol(dist_normal_quantile(1e-20), -9.262340089798408, 1e-14);
	ck_assert_double_eq(dist_normal_quantile(0.5), 0);
	ck_assert_double_eq_tol(dist_normal_quantile(0.975), 1.959963984540054, 1e-14);
}
END_TEST

Suite *suite_dist(void)
{
	Suite *s = suite_create("dist");
	TCase *tc = tcase_create("dist");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, what_is_written_reads_back, 0, COUNT(good));
	tcase_add_loop_test(tc, half_and_wrong_ones_are_refused_with_the_right_form, 0, COUNT(bad));
	tcase_add_test(tc, dlio_is_not_offered_for_times);
	tcase_add_test(tc, kb_base_holds_inside_a_distribution);
	tcase_add_loop_test(tc, draws_have_the_mean_and_the_stdev, 0, COUNT(moments));
	tcase_add_loop_test(tc, draws_have_the_shape, 0, COUNT(shares));
	tcase_add_test(tc, both_ends_of_a_uniform_come);
	tcase_add_test(tc, nothing_drawn_is_below_one);
	tcase_add_test(tc, the_largest_values_stay_in_range);
	tcase_add_test(tc, sides_multiply_to_the_value);
	tcase_add_test(tc, the_mean_is_the_one_written);
	tcase_add_test(tc, draws_stay_what_they_are);
	tcase_add_test(tc, the_normal_quantile_is_that_of_as_241);
	suite_add_tcase(s, tc);
	return s;
}
