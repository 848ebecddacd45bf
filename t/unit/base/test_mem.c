/* SPDX-License-Identifier: Apache-2.0 */
/* test_mem.c - memory for set-up is zeroed, never NULL and page-aligned where asked. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
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

START_TEST(an_array_grows_with_need_and_keeps_what_is_in_it)
{
	size_t room = 0;
	unsigned *a = NULL;

	for (unsigned i = 0; i < 1000; i++) {
		size_t before = room;

		a = mem_grow(a, &room, i + 1, sizeof(*a));
		ck_assert_uint_gt(room, i);
		ck_assert(room == before || room >= 2 * before);
		a[i] = i;
	}
	ck_assert_uint_le(room, 2 * 1000);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_uint_eq(a[i], i);
	ck_assert_ptr_eq(mem_grow(a, &room, 1000, sizeof(*a)), a);
	mem_free(a);
}
END_TEST

START_TEST(growth_that_overflows_ends_the_program)
{
	size_t room = 1;

	mem_grow(NULL, &room, SIZE_MAX / 2, 8);
}
END_TEST

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

/* clang-format off */
static const struct kind_case {
	enum mem_kind kind;
	const char *name;
} kinds[] = {
	{ MEM_MALLOC, "malloc" },
	{ MEM_MMAP, "mmap" },
	{ MEM_HUGEPAGE, "hugepage" },
};
/* clang-format on */

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))
#define RESERVED "/proc/sys/vm/nr_hugepages"

static long reserved_pages(void)
{
	FILE *f = fopen(RESERVED, "re");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* As far as this user may, and memory is not too fragmented. */
static void reserve_pages(long pages)
{
	FILE *f = fopen(RESERVED, "we");

	if (!f)
		return;
	fprintf(f, "%ld\n", pages);
	fclose(f);
}

/* Every page that holds a byte of it is in memory before it is used. */
static void check_touched(char *p, size_t bytes, size_t page)
{
	unsigned char in_memory[1300];
	size_t pages = (bytes + page - 1) / page;

	ck_assert_uint_le(pages, sizeof(in_memory));
	ck_assert_int_eq(mincore(p, bytes, in_memory), 0);
	for (size_t i = 0; i < pages; i++)
		ck_assert_uint_eq(in_memory[i] & 1, 1);
}

static void check_buffers(enum mem_kind kind)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t sizes[] = { 0, 1, page, page + 1, 256 * page };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *p = mem_buffer(sizes[i], kind);

		ck_assert_msg(p != NULL, "%zu bytes: %s", sizes[i], strerror(errno));
		ck_assert_uint_eq((uintptr_t)p % page, 0);
		check_touched(p, sizes[i], page);
		memset(p, 1, sizes[i]);
		mem_buffer_free(p, sizes[i], kind);
	}
}

/* Where a sanitizer does not fill what it gives. */
#ifndef OWN_ALLOCATOR
START_TEST(what_is_reserved_is_in_memory_once_it_is_touched)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 256 * page;
	enum mem_kind kind = kinds[_i].kind;
	unsigned char in_memory[256];
	unsigned pages = 0;
	char *p = mem_reserve(bytes, kind);

	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq((uintptr_t)p % page, 0);
	ck_assert_int_eq(mincore(p, bytes, in_memory), 0);
	for (size_t i = 0; i < 256; i++)
		pages += in_memory[i] & 1;
	ck_assert_uint_le(pages, 2); /* malloc's own words */
	memset(p, 1, bytes);
	check_touched(p, bytes, page);
	mem_buffer_free(p, bytes, kind);
}
END_TEST
#endif

START_TEST(a_buffer_is_page_aligned_touched_and_writable)
{
	long before = reserved_pages();

	if (kinds[_i].kind == MEM_HUGEPAGE) {
		reserve_pages(before + 2);
		if (before < 0 || reserved_pages() < before + 1) {
			reserve_pages(before);
			fprintf(stderr, "skipped: no huge page to be had\n");
			return;
		}
	}
	check_buffers(kinds[_i].kind);
	if (kinds[_i].kind == MEM_HUGEPAGE) {
		size_t huge = mem_huge_page_bytes();
		char *p = mem_buffer(1, MEM_HUGEPAGE);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % huge, 0);
		p[huge - 1] = 1; /* a whole one, whatever was asked for */
		mem_buffer_free(p, 1, MEM_HUGEPAGE);
		reserve_pages(before);
	}
}
END_TEST

START_TEST(a_table_is_page_aligned_touched_and_writable)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t sizes[] = { 0, page + 1, 512 * page, 1200 * page + 1 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char *p = mem_table(sizes[i]);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % page, 0);
		check_touched(p, sizes[i], page);
		memset(p, 1, sizes[i]);
		mem_buffer_free(p, sizes[i], MEM_MMAP);
	}
	ck_assert_ptr_null(mem_table(SIZE_MAX / 2));
}
END_TEST

START_TEST(no_buffer_is_nothing_to_free)
{
	mem_buffer_free(NULL, 0, kinds[_i].kind);
	mem_buffer_free(NULL, 1 << 20, kinds[_i].kind);
}
END_TEST

START_TEST(a_buffer_too_large_is_null)
{
#ifdef OWN_ALLOCATOR
	if (kinds[_i].kind == MEM_MALLOC)
		return;
#endif
	/* Sizes that the compiler cannot see, else it warns. */
	volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2;
	ck_assert_ptr_null(mem_buffer(most, kinds[_i].kind));
	ck_assert_ptr_null(mem_buffer(most - 1, kinds[_i].kind));
	errno = 0;
	ck_assert_ptr_null(mem_buffer(half, kinds[_i].kind));
	ck_assert_msg(errno == ENOMEM || kinds[_i].kind == MEM_HUGEPAGE, "%s", strerror(errno));
}
END_TEST

START_TEST(huge_pages_that_nobody_reserved_are_no_memory)
{
	/* More than any host has, and no size that overflows. */
	size_t bytes = (size_t)1 << 46;

	if (mem_huge_page_bytes() == 0) {
		fprintf(stderr, "skipped: this kernel has no huge pages\n");
		return;
	}
	ck_assert_uint_eq(mem_huge_page_bytes() % 4096, 0);
	errno = 0;
	ck_assert_ptr_null(mem_buffer(bytes, MEM_HUGEPAGE));
	ck_assert_int_eq(errno, ENOMEM);
	if (reserved_pages() == 0) {
		ck_assert_ptr_null(mem_buffer(1, MEM_HUGEPAGE));
		ck_assert_int_eq(errno, ENOMEM);
	}
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
	tcase_add_test(tc, an_array_grows_with_need_and_keeps_what_is_in_it);
	tcase_add_exit_test(tc, growth_that_overflows_ends_the_program, 1);
	tcase_add_test(tc, strings_are_copied);
	tcase_add_test(tc, replace_takes_null_and_a_part_of_the_old_string);
	tcase_add_loop_test(tc, a_buffer_is_page_aligned_touched_and_writable, 0, KINDS);
#ifndef OWN_ALLOCATOR
	/* But for huge pages, of which the system may have none. */
	tcase_add_loop_test(tc, what_is_reserved_is_in_memory_once_it_is_touched, 0, KINDS - 1);
#endif
	tcase_add_test(tc, a_table_is_page_aligned_touched_and_writable);
	tcase_add_loop_test(tc, no_buffer_is_nothing_to_free, 0, KINDS);
	tcase_add_loop_test(tc, a_buffer_too_large_is_null, 0, KINDS);
	tcase_add_test(tc, huge_pages_that_nobody_reserved_are_no_memory);
	suite_add_tcase(s, tc);
	return s;
}
