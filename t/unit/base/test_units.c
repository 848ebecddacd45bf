/* SPDX-License-Identifier: Apache-2.0 */
/* test_units.c - numbers are taken whole or refused, and written so that they read back. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/dist.h"
#include "base/units.h"
#include "suites.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

#define K UINT64_C(1024)

struct whole_row {
	const char *text;
	unsigned kb_base;
	uint64_t want;
};

/* clang-format off */
static const struct whole_row sizes[] = {
	{ "0", 1024, 0 },
	{ "1", 1024, 1 },
	{ "00512", 1024, 512 },
	{ "512b", 1024, 512 },
	{ "4k", 1024, 4 * K },
	{ "4K", 1024, 4 * K },
	{ "4kb", 1024, 4 * K },
	{ "4kB", 1024, 4 * K },
	{ "4KiB", 1024, 4 * K },
	{ "4kib", 1024, 4 * K },
	{ "1m", 1024, K * K },
	{ "1mib", 1024, K * K },
	{ "1.5m", 1024, 3 * K * K / 2 },
	{ ".5k", 1024, 512 },
	{ "1.k", 1024, K },
	{ "1.000000000000000000000000k", 1024, K },
	{ "0.0009765625k", 1024, 1 },
	{ "2g", 1024, 2 * K * K * K },
	{ "3TiB", 1024, 3 * K * K * K * K },
	{ "1p", 1024, K * K * K * K * K },
	{ "16383.9990234375p", 1024, UINT64_MAX - K * K * K * K * K / 1024 + 1 },
	{ "146600628", 1024, 146600628 },
	{ "18446744073709551615", 1024, UINT64_MAX },
	{ "1k", 1000, 1000 },
	{ "1kB", 1000, 1000 },
	{ "1KiB", 1000, 1024 },
	{ "1.5MB", 1000, 1500000 },
	{ "1GiB", 1000, K * K * K },
	{ "2PB", 1000, UINT64_C(2000000000000000) },
};
/* clang-format on */

START_TEST(a_size_is_read_exactly)
{
	const struct whole_row *r = &sizes[_i];
	struct mlgen_err err = { 0 };
	uint64_t got = 0;

	ck_assert_msg(units_size(r->text, r->kb_base, &got, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(got, r->want);
}
END_TEST

static const struct whole_row counts[] = {
	{ "0", 0, 0 },
	{ "28000", 0, 28000 },
	{ "1k", 0, 1024 },
	{ "2M", 0, 2 * K *K },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "16383p", 0, 16383 * K *K *K *K *K },
};

START_TEST(a_count_is_read_exactly)
{
	struct mlgen_err err = { 0 };
	uint64_t got = 0;

	ck_assert_msg(units_u64(counts[_i].text, &got, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(got, counts[_i].want);
}
END_TEST

struct time_row {
	const char *text, *default_unit;
	uint64_t want;
};

/* clang-format off */
static const struct time_row times[] = {
	{ "0", "s", 0 },
	{ "1", "s", 1000000000 },
	{ "1", "us", 1000 },
	{ "1", NULL, 1000000000 },
	{ "0.323", "s", 323000000 },
	{ "323ms", "us", 323000000 },
	{ "323msec", "us", 323000000 },
	{ "435us", "s", 435000 },
	{ "435usec", "s", 435000 },
	{ "7ns", "s", 7 },
	{ "7nsec", "s", 7 },
	{ "1.5s", "us", 1500000000 },
	{ "5m", "s", UINT64_C(300000000000) },
	{ "5min", "s", UINT64_C(300000000000) },
	{ "5sec", "us", UINT64_C(5000000000) },
	{ "1.5h", "s", UINT64_C(5400000000000) },
	{ "2d", "s", UINT64_C(172800000000000) },
	{ "1.4ns", "s", 1 },
	{ "1.5ns", "s", 2 },
	{ "0.0000000004", "s", 0 },
	{ "18446744073709551615ns", "s", UINT64_MAX },
};
/* clang-format on */

START_TEST(a_time_is_read_to_the_nanosecond)
{
	const struct time_row *r = &times[_i];
	struct mlgen_err err = { 0 };
	uint64_t got = 1;

	ck_assert_msg(units_time(r->text, r->default_unit, &got, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(got, r->want);
}
END_TEST

struct bad_row {
	char reader; /* u, s(ize), t(ime), f, p(ercent), b(ool) */
	const char *text;
	int code;
	const char *in_message;
};

/* clang-format off */
static const struct bad_row bad[] = {
	{ 'u', "2 batches", -EINVAL, "'2 batches': must be a whole number; 'batches' was not understood" },
	{ 'u', "", -EINVAL, "is empty" },
	{ 'u', " 1", -EINVAL, "must be a whole number" },
	{ 'u', "1 ", -EINVAL, "without a space" },
	{ 'u', "1.5", -EINVAL, "must be a whole number" },
	{ 'u', "1.0", -EINVAL, "must be a whole number" },
	{ 'u', "-1", -EINVAL, "not below 0" },
	{ 'u', "+1", -EINVAL, "must be a whole number" },
	{ 'u', "0x10", -EINVAL, "'x10' was not understood" },
	{ 'u', "1e6", -EINVAL, "'e6' was not understood" },
	{ 'u', "1kb", -EINVAL, "'kb' was not understood" },
	{ 'u', "1b", -EINVAL, "'b' was not understood" },
	{ 'u', "1,000", -EINVAL, "',000' was not understood" },
	{ 'u', "18446744073709551616", -ERANGE, "largest" },
	{ 'u', "99999999999999999999999", -ERANGE, "largest" },
	{ 'u', "16384p", -ERANGE, "largest" },
	{ 's', "4x", -EINVAL, "'x' was not understood" },
	{ 's', "4kk", -EINVAL, "'kk' was not understood" },
	{ 's', "4ki", -EINVAL, "'ki' was not understood" },
	{ 's', "4e", -EINVAL, "'e' was not understood" },
	{ 's', "0x10k", -EINVAL, "'x10k' was not understood" },
	{ 's', "4 k", -EINVAL, "'k' was not understood" },
	{ 's', "k", -EINVAL, "must be a size" },
	{ 's', ".", -EINVAL, "must be a size" },
	{ 's', "-4k", -EINVAL, "not below 0" },
	{ 's', "1.5", -EINVAL, "whole number of bytes" },
	{ 's', "0.3k", -EINVAL, "whole number of bytes" },
	{ 's', "1.0000000000000000000000001k", -EINVAL, "whole number of bytes" },
	{ 's', "16384p", -ERANGE, "largest" },
	{ 's', "20%", -EINVAL, "'%' was not understood" },
	{ 't', "5minutes", -EINVAL, "'minutes' was not understood" },
	{ 't', "5M", -EINVAL, "'M' was not understood" },
	{ 't', "1s2", -EINVAL, "'s2' was not understood" },
	{ 't', "-1s", -EINVAL, "not below 0" },
	{ 't', "s", -EINVAL, "must be a time" },
	{ 't', "300000d", -ERANGE, "584 years" },
	{ 'f', "0x1p3", -EINVAL, "'x1p3' was not understood" },
	{ 'f', "inf", -EINVAL, "must be a decimal number" },
	{ 'f', "nan", -EINVAL, "must be a decimal number" },
	{ 'f', "1e999", -ERANGE, "too large" },
	{ 'f', "1e", -EINVAL, "'e' was not understood" },
	{ 'f', "-", -EINVAL, "must be a decimal number" },
	{ 'f', "1.2.3", -EINVAL, "'.3' was not understood" },
	{ 'p', "2%%", -EINVAL, "'%%' was not understood" },
	{ 'p', "%", -EINVAL, "must be a percentage" },
	{ 'p', "2 %", -EINVAL, "'%' was not understood" },
	{ 'b', "2", -EINVAL, "must be one of" },
	{ 'b', "", -EINVAL, "must be one of" },
	{ 'b', "y", -EINVAL, "must be one of" },
};
/* clang-format on */

START_TEST(what_is_not_understood_whole_is_refused)
{
	const struct bad_row *r = &bad[_i];
	struct mlgen_err err = { 0 };
	uint64_t u = 77;
	double f = 77;
	int b = 77, rc = 0;

	switch (r->reader) {
	case 'u':
		rc = units_u64(r->text, &u, &err);
		break;
	case 's':
		rc = units_size(r->text, 1024, &u, &err);
		break;
	case 't':
		rc = units_time(r->text, "s", &u, &err);
		break;
	case 'f':
		rc = units_f64(r->text, &f, &err);
		break;
	case 'p':
		rc = units_percent(r->text, &f, &err);
		break;
	case 'b':
		rc = units_bool(r->text, &b, &err);
		break;
	default:
		ck_abort();
	}
	ck_assert_int_eq(rc, r->code);
	ck_assert_int_eq(err.code, r->code);
	ck_assert_msg(strstr(err.text, r->in_message), "'%s' is not in: %s", r->in_message,
		      err.text);
	ck_assert_msg(strstr(err.text, r->text), "text is not in: %s", err.text);
}
END_TEST

START_TEST(decimals_percentages_and_switches_are_read)
{
	double v;
	int b;

	ck_assert_int_eq(units_f64("-1.25e2", &v, NULL), 0);
	ck_assert_double_eq(v, -125);
	ck_assert_int_eq(units_f64(".5", &v, NULL), 0);
	ck_assert_double_eq(v, 0.5);
	ck_assert_int_eq(units_percent("99.9%", &v, NULL), 0);
	ck_assert_double_eq(v, 99.9);
	ck_assert_int_eq(units_percent("2", &v, NULL), 0);
	ck_assert_double_eq(v, 2);
	static const char *const on[] = { "1", "true", "yes", "on" };
	static const char *const off[] = { "0", "false", "no", "off" };
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(units_bool(on[i], &b, NULL), 0);
		ck_assert_int_eq(b, 1);
		ck_assert_int_eq(units_bool(off[i], &b, NULL), 0);
		ck_assert_int_eq(b, 0);
	}
}
END_TEST

static void expect_round_trips(uint64_t v)
{
	char text[UNITS_TEXT_BYTES];
	uint64_t back = ~v;

	ck_assert_int_eq(units_size(units_format_size(text, v), 1024, &back, NULL), 0);
	ck_assert_uint_eq(back, v);
	back = ~v;
	ck_assert_int_eq(units_time(units_format_time(text, v), "us", &back, NULL), 0);
	ck_assert_uint_eq(back, v);
}

START_TEST(every_whole_number_reads_back)
{
	for (uint64_t v = 0; v < 5000; v++) {
		expect_round_trips(v);
		expect_round_trips(UINT64_MAX - v);
		expect_round_trips(v * 1000 * 1000 * 100);
		expect_round_trips(v << 40);
		expect_round_trips(rng_u64(1, RNG_TEST, v) >> (v % 64));
	}
}
END_TEST

START_TEST(every_double_reads_back)
{
	static const double some[] = { 0,
				       -0.0,
				       1,
				       -1,
				       0.1,
				       1e-5,
				       9.999e-6,
				       1e16,
				       1e15,
				       5e-324,
				       1.7976931348623157e308,
				       114660.07,
				       99.99,
				       0.30000000000000004 };
	char text[UNITS_TEXT_BYTES];

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t bits = rng_u64(2, RNG_TEST, i);
		double v, back;

		memcpy(&v, &bits, sizeof(v));
		if (i % 2)
			v = rng_f64(2, RNG_TEST, i) * 1e6;
		if (i < (uint64_t)COUNT(some))
			v = some[i];
		if (!isfinite(v))
			continue;
		units_format_f64(text, v);
		ck_assert_uint_lt(strlen(text), UNITS_TEXT_BYTES - 1);
		ck_assert_int_eq(units_f64(text, &back, NULL), 0);
		ck_assert_mem_eq(&back, &v, sizeof(v));
	}
}
END_TEST

/* What a writer makes of a value. */
struct text_row {
	char writer;
	double v;
	const char *want;
};

/* clang-format off */
static const struct text_row texts[] = {
	{ 's', 0, "0" },
	{ 's', 1048576, "1m" },
	{ 's', 146600628, "146600628" },
	{ 's', 1536, "1536" },
	{ 's', 1572864, "1536k" },
	{ 't', 0, "0" },
	{ 't', 323e6, "323ms" },
	{ 't', 1360.4e6, "1360.4ms" },
	{ 't', 1e9, "1s" },
	{ 't', 1.5e9, "1.5s" },
	{ 't', 300e9, "5m" },
	{ 't', 375e3, "375us" },
	{ 't', 3.5e6, "3.5ms" },
	{ 't', 7, "7ns" },
	{ 'f', 0.1, "0.1" },
	{ 'f', 1e6, "1000000" },
	{ 'f', 114660.07, "114660.07" },
	{ 'f', 99.9, "99.9" },
	{ 'f', -2.5, "-2.5" },
	{ 'f', 1e20, "1e+20" },
	{ 'b', 0, "0 B" },
	{ 'b', 498, "498 B" },
	{ 'b', 4096, "4 KiB" },
	{ 'b', 536870912, "512 MiB" },
	{ 'b', 1023.999 * 1024, "1.00 MiB" },
	{ 'b', 1003 * 1024, "1003 KiB" },
	{ 'b', 104.7 * 1073741824, "104.7 GiB" },
	{ 'b', 28000.0 * 146600628, "3.73 TiB" },
	{ 'b', 1.5 * 1024, "1.50 KiB" },
	{ 'b', 1e30, "867361737988 EiB" },
	{ 'm', 146600628, "146.6 MB" },
	{ 'm', 2824300, "2.824 MB" },
	{ 'm', 2500, "0.00250 MB" },
	{ 'm', 0, "0 MB" },
	{ 'h', 0, "0 ns" },
	{ 'h', 498, "498 ns" },
	{ 'h', 375e3, "375 us" },
	{ 'h', 323e6, "323 ms" },
	{ 'h', 999.996e6, "1.00 s" },
	{ 'h', 1.63e9, "1.63 s" },
	{ 'h', 12e9, "12 s" },
	{ 'h', 59.999e9, "1m00s" },
	{ 'h', 440e9, "7m20s" },
	{ 'h', 964e9, "16m04s" },
	{ 'h', 3599.6e9, "1h00m" },
	{ 'h', 7385e9, "2h03m" },
	{ 'h', 86399e9, "1d00h" },
	{ 'h', 100800e9, "1d04h" },
	{ 'c', 0, "0" },
	{ 'c', 999, "999" },
	{ 'c', 28000, "28,000" },
	{ 'c', 158060000, "158,060,000" },
	{ '4', 14.86, "14.86" },
	{ '4', 1286.4, "1286" },
	{ '4', 0.3122, "0.312" },
	{ '4', 109.84, "109.8" },
	{ '4', 9.9996, "10.00" },
	{ '4', 99.996, "100.0" },
	{ '4', 999.96, "1000" },
	{ '4', 14156, "14156" },
	{ '4', 0.03124, "0.0312" },
	{ '4', 0.000375, "0.000375" },
	{ '4', 0, "0" },
	{ '4', -14.863, "-14.86" },
	{ '4', 1e300, "1e+300" },
	{ 'l', 4000, "0.004" },
	{ 'l', 12.4e6, "12.40" },
	{ 'l', 1488e6, "1488" },
	{ 'l', 293.9e6, "293.9" },
	{ 'l', 88.1e6, "88.10" },
	{ 'l', 1911e3, "1.911" },
	{ 'l', 0, "0.000" },
};
/* clang-format on */

START_TEST(texts_look_like_this)
{
	const struct text_row *r = &texts[_i];
	char got[UNITS_TEXT_BYTES] = "";
	uint64_t whole = r->v >= 0 && r->v < 1e18 ? (uint64_t)r->v : 0;

	switch (r->writer) {
	case 's':
		units_format_size(got, whole);
		break;
	case 't':
		units_format_time(got, whole);
		break;
	case 'f':
		units_format_f64(got, r->v);
		break;
	case 'b':
		units_human_bytes(got, r->v);
		break;
	case 'm':
		units_human_mb(got, r->v);
		break;
	case 'h':
		units_human_time(got, whole);
		break;
	case 'c':
		units_human_count(got, whole);
		break;
	case '4':
		units_sig4(got, r->v);
		break;
	default:
		units_human_ms(got, r->v);
		break;
	}
	ck_assert_str_eq(got, r->want);
}
END_TEST

START_TEST(the_largest_values_fit)
{
	char text[UNITS_TEXT_BYTES];

	ck_assert_str_eq(units_human_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	ck_assert_str_eq(units_human_time(text, UINT64_MAX), "213504d00h");
	units_human_bytes(text, 1e308);
	ck_assert_uint_lt(strlen(text), sizeof(text));
	ck_assert_str_eq(units_sig4(text, (double)NAN), "-");
	ck_assert_str_eq(units_human_ms(text, (double)NAN), "-");
}
END_TEST

Suite *suite_units(void)
{
	Suite *s = suite_create("units");
	TCase *tc = tcase_create("units");

	tcase_add_loop_test(tc, a_size_is_read_exactly, 0, COUNT(sizes));
	tcase_add_loop_test(tc, a_count_is_read_exactly, 0, COUNT(counts));
	tcase_add_loop_test(tc, a_time_is_read_to_the_nanosecond, 0, COUNT(times));
	tcase_add_loop_test(tc, what_is_not_understood_whole_is_refused, 0, COUNT(bad));
	tcase_add_test(tc, decimals_percentages_and_switches_are_read);
	tcase_add_test(tc, every_whole_number_reads_back);
	tcase_add_test(tc, every_double_reads_back);
	tcase_add_loop_test(tc, texts_look_like_this, 0, COUNT(texts));
	tcase_add_test(tc, the_largest_values_fit);
	suite_add_tcase(s, tc);
	return s;
}
