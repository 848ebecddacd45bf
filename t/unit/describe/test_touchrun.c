/* SPDX-License-Identifier: Apache-2.0 */
/* test_touchrun.c - page faults become the reads that they stand for, wherever in memory a file is
 * mapped. */
#include <check.h>
#include <stdint.h>

#include "base/util.h"
#include "tracing/describe/touchrun.h"
#include "suites.h"

#define PAGE 4096
#define FILE_BYTES 409728

/* All reads follow each other from 0 on: how many there are, and their bytes. */
static unsigned reads_of(const unsigned *pages, unsigned count, uint64_t *sum)
{
	struct touchrun t = { 0 };
	uint64_t from, bytes;
	unsigned n = 0;

	*sum = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!touchrun_next(&t, pages[i] * (uint64_t)PAGE, FILE_BYTES, &from, &bytes))
			continue;
		ck_assert_uint_eq(from, *sum);
		*sum += bytes;
		n++;
	}
	return n;
}

/* As three captures of one loader have them. */
START_TEST(in_order)
{
	static const unsigned one[] = { 0, 16, 18, 34, 50, 66, 82, 98 };
	static const unsigned two[] = { 0, 16, 19, 35, 51, 67, 83, 99 };
	static const unsigned three[] = { 0, 16, 27, 43, 59, 75, 91 };
	uint64_t sum;

	ck_assert_uint_eq(reads_of(one, ARRAY_LEN(one), &sum), 7);
	ck_assert_uint_eq(sum, FILE_BYTES);
	ck_assert_uint_eq(reads_of(two, ARRAY_LEN(two), &sum), 7);
	ck_assert_uint_eq(sum, FILE_BYTES);
	ck_assert_uint_eq(reads_of(three, ARRAY_LEN(three), &sum), 7);
	ck_assert_uint_eq(sum, FILE_BYTES);
}
END_TEST

START_TEST(here_and_there)
{
	struct touchrun t = { 0 };
	uint64_t from, bytes;

	ck_assert(touchrun_next(&t, 70 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 4 * TOUCHRUN_BYTES);
	ck_assert_uint_eq(bytes, TOUCHRUN_BYTES);
	ck_assert(touchrun_next(&t, 3 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 0);
	ck_assert(!touchrun_next(&t, FILE_BYTES, FILE_BYTES, &from, &bytes));
	ck_assert(touchrun_next(&t, 99 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 6 * TOUCHRUN_BYTES);
	ck_assert_uint_eq(bytes, FILE_BYTES - 6 * TOUCHRUN_BYTES);
	/* The same page again, as of another mapping. */
	ck_assert(!touchrun_next(&t, 99 * PAGE, FILE_BYTES, &from, &bytes));
}
END_TEST

Suite *suite_touchrun(void)
{
	Suite *s = suite_create("touchrun");
	TCase *c = tcase_create("touchrun");

	tcase_add_test(c, in_order);
	tcase_add_test(c, here_and_there);
	suite_add_tcase(s, c);
	return s;
}
