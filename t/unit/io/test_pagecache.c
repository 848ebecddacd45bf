/* SPDX-License-Identifier: Apache-2.0 */
/* test_pagecache.c - what of a file is in the page cache, and dropping it. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/host.h"
#include "suites.h"
#include "temp.h"

static char path[TEMP_BYTES];

/* A file of `bytes`, written to storage, so that its pages can be dropped. */
static void make_file(size_t bytes)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	int fd = temp_file_in(path, temp_disk());
	for (size_t n; bytes; bytes -= n) {
		n = bytes < sizeof(block) ? bytes : sizeof(block);
		ck_assert_int_eq(write(fd, block, n), (ssize_t)n);
	}
	ck_assert_int_eq(fsync(fd), 0);
	close(fd);
}

static uint64_t resident(uint64_t file_bytes)
{
	uint64_t in = UINT64_MAX, size = UINT64_MAX;

	ck_assert_int_eq(pagecache_resident(path, &in, &size), 0);
	ck_assert_uint_eq(size, file_bytes);
	return in;
}

START_TEST(a_written_file_is_resident_to_the_byte)
{
	static const size_t sizes[] = { 0, 1, 4096, 10001, 1 << 20, 65 << 20 /* two windows */ };

	make_file(sizes[_i]);
	uint64_t in = resident(sizes[_i]);
	unlink(path);
	/* A host short of memory may have taken some of a large one back. */
	ck_assert_uint_le(in, sizes[_i]);
	if (sizes[_i] <= 1 << 20)
		ck_assert_uint_eq(in, sizes[_i]);
	else
		ck_assert_uint_ge(in, sizes[_i] / 10 * 9);
}
END_TEST

START_TEST(a_dropped_file_is_not_resident)
{
	const size_t bytes = 300000;

	make_file(bytes);
	ck_assert_int_eq(pagecache_drop(path), 0);
	if (!temp_is_memory(path)) /* which is its own storage */
		ck_assert_uint_eq(resident(bytes), 0);
	unlink(path);
}
END_TEST

/* Just copied, by whoever did. */
START_TEST(a_file_that_is_not_on_storage_yet_is_dropped_too)
{
	const size_t bytes = 8 << 20;
	char *data = calloc(1, bytes);
	int fd;

	make_file(0);
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, bytes), (ssize_t)bytes);
	close(fd);
	free(data);
	ck_assert_int_eq(pagecache_drop(path), 0);
	if (!temp_is_memory(path))
		ck_assert_uint_eq(resident(bytes), 0);
	unlink(path);
}
END_TEST

/* Of a large file no more than so much, at any place it may begin. */
START_TEST(a_look_at_a_file_is_bounded)
{
	static const size_t sizes[] = { 0, 10001, PAGECACHE_SAMPLE_BYTES,
					PAGECACHE_SAMPLE_BYTES + 1, 11 << 20 };
	uint64_t in, looked;
	size_t bytes = sizes[_i];
	size_t most = bytes < PAGECACHE_SAMPLE_BYTES ? bytes : PAGECACHE_SAMPLE_BYTES;

	make_file(bytes);
	for (uint64_t seed = 0; seed < 100; seed++) {
		ck_assert_int_eq(pagecache_sample(path, seed, &in, &looked), 0);
		ck_assert_uint_eq(looked, most);
		ck_assert_uint_eq(in, most);
	}
	ck_assert_int_eq(pagecache_drop(path), 0);
	ck_assert_int_eq(pagecache_sample(path, 0, &in, &looked), 0);
	if (!temp_is_memory(path))
		ck_assert_uint_eq(in, 0);
	unlink(path);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	uint64_t in, size;

	ck_assert_int_eq(pagecache_drop("/no/such/file"), -ENOENT);
	ck_assert_int_eq(pagecache_resident("/no/such/file", &in, &size), -ENOENT);
	ck_assert_int_eq(pagecache_resident("/", &in, &size), -EINVAL);
	ck_assert_int_eq(pagecache_sample("/no/such/file", 0, &in, &size), -ENOENT);
	ck_assert_int_eq(pagecache_sample("/", 0, &in, &size), -EINVAL);
}
END_TEST

Suite *suite_pagecache(void)
{
	Suite *s = suite_create("pagecache");
	TCase *t = tcase_create("residency");

	tcase_add_loop_test(t, a_written_file_is_resident_to_the_byte, 0, 6);
	tcase_add_test(t, a_dropped_file_is_not_resident);
	tcase_add_test(t, a_file_that_is_not_on_storage_yet_is_dropped_too);
	tcase_add_loop_test(t, a_look_at_a_file_is_bounded, 0, 5);
	tcase_add_test(t, what_is_no_file_is_refused);
	suite_add_tcase(s, t);
	return s;
}
