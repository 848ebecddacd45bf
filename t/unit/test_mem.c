/* SPDX-License-Identifier: Apache-2.0 */
/* test_mem.c - memory for set-up is zeroed, never NULL and page-aligned where asked. */
#include <check.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "suites.h"

/* A sanitizer's allocator ends the program by itself, in its own way. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1
#endif

START_TEST(nothing_is_a_valid_pointer_too)
{
	void *p = mem_zalloc(0);
	ck_assert_ptr_nonnull(p);
	p = mem_realloc(p, 0);
	ck_assert_ptr_nonnull(p);
	mem_free(p);
	mem_free(NULL);
}
END_TEST

START_TEST(memory_is_zeroed)
{
	unsigned char *p = mem_array(1000, 8);
	for (size_t i = 0; i < 8000; i++)
		ck_assert_uint_eq(p[i], 0);
	mem_free(p);
}
END_TEST

START_TEST(a_product_that_overflows_ends_the_program)
{
	mem_array(SIZE_MAX / 2, 3);
}
END_TEST

#ifndef OWN_ALLOCATOR
START_TEST(too_much_memory_ends_the_program)
{
	/* A size that the compiler cannot see, else it warns. */
	volatile size_t bytes = SIZE_MAX / 2 - 4096;
	mem_zalloc(bytes);
}
END_TEST
#endif

START_TEST(strings_are_copied)
{
	char *all = mem_strdup("storage");
	char *part = mem_strndup("storage", 4);
	char *shorter = mem_strndup("st", 100);
	ck_assert_str_eq(all, "storage");
	ck_assert_str_eq(part, "stor");
	ck_assert_str_eq(shorter, "st");
	mem_free(all);
	mem_free(part);
	mem_free(shorter);
}
END_TEST

START_TEST(replace_takes_null_and_a_part_of_the_old_string)
{
	char *s = NULL;
	mem_replace(&s, "io_uring");
	mem_replace(&s, s + 3);
	ck_assert_str_eq(s, "uring");
	mem_replace(&s, NULL);
	ck_assert_ptr_null(s);
}
END_TEST

START_TEST(a_buffer_is_page_aligned_and_writable)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t sizes[] = { 0, 1, page, page + 1, 1 << 20 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *p = mem_buffer(sizes[i]);
		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % page, 0);
		memset(p, 1, sizes[i]);
		mem_buffer_free(p, sizes[i]);
	}
	mem_buffer_free(NULL, 0);
}
END_TEST

START_TEST(a_buffer_too_large_is_null)
{
	ck_assert_ptr_null(mem_buffer(SIZE_MAX - 1));
	ck_assert_ptr_null(mem_buffer(SIZE_MAX / 2));
}
END_TEST

Suite *suite_mem(void)
{
	Suite *s = suite_create("mem");
	TCase *tc = tcase_create("mem");
	tcase_add_test(tc, nothing_is_a_valid_pointer_too);
	tcase_add_test(tc, memory_is_zeroed);
	tcase_add_exit_test(tc, a_product_that_overflows_ends_the_program, 1);
#ifndef OWN_ALLOCATOR
	tcase_add_exit_test(tc, too_much_memory_ends_the_program, 1);
#endif
	tcase_add_test(tc, strings_are_copied);
	tcase_add_test(tc, replace_takes_null_and_a_part_of_the_old_string);
	tcase_add_test(tc, a_buffer_is_page_aligned_and_writable);
	tcase_add_test(tc, a_buffer_too_large_is_null);
	suite_add_tcase(s, tc);
	return s;
}
