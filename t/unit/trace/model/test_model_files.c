/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_files.c - accesses in sequence, and page faults as the reads that they stand for. */
#include <check.h>
#include <stdint.h>

#include "base/util.h"
#include "suites.h"
#include "trace/model/model.h"

#define PAGE 4096
#define FILE_BYTES 409728

/* All reads follow each other from 0 on: how many there are, and their bytes. */
static unsigned reads_of(const unsigned *pages, unsigned count, uint64_t *sum)
{
	struct fault_run t = { 0 };
	uint64_t from, bytes;
	unsigned n = 0;

	*sum = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!fault_run_next(&t, pages[i] * (uint64_t)PAGE, FILE_BYTES, &from, &bytes))
			continue;
		ck_assert_uint_eq(from, *sum);
		*sum += bytes;
		n++;
	}
	return n;
}

/* As three captures of one loader have them. */
START_TEST(faults_in_order_read_each_block_once)
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

START_TEST(other_faults_read_their_block)
{
	struct fault_run t = { 0 };
	uint64_t from, bytes;

	ck_assert(fault_run_next(&t, 70 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 4 * FAULT_AROUND_BYTES);
	ck_assert_uint_eq(bytes, FAULT_AROUND_BYTES);
	ck_assert(fault_run_next(&t, 3 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 0);
	ck_assert(!fault_run_next(&t, FILE_BYTES, FILE_BYTES, &from, &bytes));
	ck_assert(fault_run_next(&t, 99 * PAGE, FILE_BYTES, &from, &bytes));
	ck_assert_uint_eq(from, 6 * FAULT_AROUND_BYTES);
	ck_assert_uint_eq(bytes, FILE_BYTES - 6 * FAULT_AROUND_BYTES);
	/* The same page again, as of another mapping. */
	ck_assert(!fault_run_next(&t, 99 * PAGE, FILE_BYTES, &from, &bytes));
}
END_TEST

START_TEST(a_thread_goes_on_where_it_left_off)
{
	struct positions f;

	positions_init(&f);
	ck_assert_int_eq(positions_access(&f, 1, 7, 0, 10, NULL), ACCESS_FIRST);
	ck_assert_int_eq(positions_access(&f, 1, 7, 10, 20, NULL), ACCESS_SEQUENTIAL);
	ck_assert_int_eq(positions_access(&f, 2, 7, 20, 30, NULL), ACCESS_FIRST);
	ck_assert_int_eq(positions_access(&f, 1, 8, 20, 30, NULL), ACCESS_FIRST);
	ck_assert_int_eq(positions_access(&f, 1, 7, 25, 30, NULL), ACCESS_AHEAD);
	ck_assert_int_eq(positions_access(&f, 1, 7, 29, 30, NULL), ACCESS_BACK);
	positions_remove(&f, 1, 7);
	ck_assert_int_eq(positions_access(&f, 1, 7, 30, 40, NULL), ACCESS_FIRST);
	ck_assert_int_eq(positions_access(&f, 1, 8, 30, 40, NULL), ACCESS_SEQUENTIAL);
	positions_fini(&f);
}
END_TEST

Suite *suite_model_files(void)
{
	Suite *s = suite_create("model_files");
	TCase *c = tcase_create("model_files");

	tcase_add_test(c, faults_in_order_read_each_block_once);
	tcase_add_test(c, other_faults_read_their_block);
	tcase_add_test(c, a_thread_goes_on_where_it_left_off);
	suite_add_tcase(s, c);
	return s;
}
