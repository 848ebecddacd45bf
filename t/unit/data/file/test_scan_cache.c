/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_cache.c - what a scan has found is found again without a look, and never where it is
 * not so. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/file/file_internal.h"
#include "data/scan/scan.h"
#include "scan_cache_rig.h"
#include "suites.h"

/* ---- a dataset, and what is found in it ---- */

static bool byte_beside(const char *path, unsigned i, char *out, size_t size)
{
	(void)path;
	snprintf(out, size, "%s/beside", directory);
	return i == 0;
}

/* ---- what is known ---- */

START_TEST(what_was_found_is_not_looked_for_again)
{
	put_all();
	ck_assert_uint_eq(scan_by_cache(), 0);
	/* Those without a sample, too. */
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_uint_eq(files_in(directory), 2);
}
END_TEST

START_TEST(nothing_is_written_where_nothing_is_new)
{
	struct stat before, after;

	put_all();
	scan_by_cache();
	ck_assert_int_eq(stat(cache, &before), 0);
	scan_by_cache();
	ck_assert_int_eq(stat(cache, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

START_TEST(only_files_that_changed_are_looked_into)
{
	const struct timespec times[] = { { 0, 0 }, { 1000000000, 999999999 } };
	char path[TEMP_BELOW];

	put_all();
	scan_by_cache();
	put(3, 'x', 500); /* another size */
	put(FILES, 'n', 5);
	snprintf(path, sizeof(path), "%s/%06u", data, 4);
	put(4, 'y', 29); /* of the same size */
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	snprintf(path, sizeof(path), "%s/%06u", data, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES - 3);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	/* A nanosecond is enough. */
	snprintf(path, sizeof(path), "%s/%06u", data, 4);
	ck_assert_int_eq(utimensat(AT_FDCWD, path,
				   (struct timespec[]){ times[0], { 1000000000, 999999998 } }, 0),
			 0);
	ck_assert_uint_eq(scan_by_cache(), FILES - 1);
}
END_TEST

START_TEST(files_that_have_gone_leave_the_cache)
{
	char *bytes, path[TEMP_BELOW];
	size_t n, m;

	put_all();
	scan_by_cache();
	n = read_cache(&bytes);
	mem_free(bytes);
	for (unsigned i = 0; i < FILES / 2; i++) {
		snprintf(path, sizeof(path), "%s/%06u", data, i);
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_uint_eq(scan_by_cache(), FILES / 2);
	m = read_cache(&bytes);
	mem_free(bytes);
	ck_assert_uint_lt(m, n * 2 / 3);
}
END_TEST

START_TEST(damaged_files_are_looked_into_each_time)
{
	put_all();
	put(9, '!', 30);
	put(10, 'x', 30);
	scan_by_cache();
	ck_assert_uint_eq(scan_by_cache(), FILES - 1);
}
END_TEST

START_TEST(what_stands_beside_a_file_counts_for_it)
{
	char path[TEMP_BELOW];
	FILE *f;

	byte_format.sidecar_path = byte_beside;
	put_all();
	scan_by_cache();
	ck_assert_uint_eq(scan_by_cache(), FILES);
	snprintf(path, sizeof(path), "%s/beside", directory);
	f = fopen(path, "w");
	fclose(f);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_int_eq(truncate(path, 1), 0);
	ck_assert_uint_eq(scan_by_cache(), 0);
}
END_TEST

START_TEST(both_parts_are_in_one_file)
{
	const struct scan_cache_request train = { .path = cache, .part = SCAN_TRAINING };
	const struct scan_cache_request eval = { .path = cache, .part = SCAN_EVALUATION };

	put_all();
	ck_assert_uint_eq(scan_with(&eval), 0);
	ck_assert_uint_eq(scan_with(&train), 0);
	ck_assert_uint_eq(scan_with(&eval), FILES);
	ck_assert_uint_eq(scan_with(&train), FILES);
	put(1, 'x', 1000);
	ck_assert_uint_eq(scan_with(&train), FILES - 1);
	ck_assert_uint_eq(scan_with(&eval), FILES - 1);
	ck_assert_uint_eq(scan_with(&train), FILES);
	ck_assert_uint_eq(scan_with(&eval), FILES);
}
END_TEST

START_TEST(other_options_find_other_things)
{
	const struct scan_cache_request keeps = { .path = cache };
	struct dataset ds = { .format = &byte_format, .directory = data };
	struct scan_cache_store *k;

	put_all();
	scan_by_cache();
	ck_assert_int_eq(scan_cache_store_open(&k, &keeps, &ds, &err), 0);
	ck_assert(k->has_cache);
	scan_cache_store_free(k);
	for (unsigned i = 0; i < 5; i++) {
		struct format other = byte_format;
		char value[] = "other";

		other.name = i == 0 ? "bite" : "byte";
		ds.format = &other;
		ds.options = (struct format_options){
			.access = i == 1 ? ACCESS_FRAMEWORK : ACCESS_PLAIN,
			.scan_key = i == 2 ? value : NULL,
			.hdf5_dataset = i == 3 ? value : NULL,
			.read_columns = i == 4 ? value : NULL,
		};
		ck_assert_int_eq(scan_cache_store_open(&k, &keeps, &ds, &err), 0);
		ck_assert(!k->has_cache);
		scan_cache_store_free(k);
	}
}
END_TEST

START_TEST(probes_share_a_file_without_a_name)
{
	struct job_reuse memory = { .scan_fd = -1 };
	const struct scan_cache_request keeps = { .memory = &memory };

	put_all();
	ck_assert_uint_eq(scan_with(&keeps), 0);
	ck_assert_int_ge(memory.scan_fd, 0);
	ck_assert_uint_eq(scan_with(&keeps), FILES);
	put(1, 'x', 1000);
	ck_assert_uint_eq(scan_with(&keeps), FILES - 1);
	ck_assert_uint_eq(scan_with(&keeps), FILES);
	ck_assert_uint_eq(files_in(directory), 1);
	close(memory.scan_fd);
}
END_TEST

START_TEST(of_two_writers_the_last_stays)
{
	const struct scan_cache_request keeps = { .path = cache };
	struct dataset ds = { .format = &byte_format, .directory = data };
	const struct scan_cached none = { 0 };
	const struct scan_stamp stamp = { .size_bytes = 1 };
	struct scan_cache_store *k[2];

	put_all();
	scan_by_cache();
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(scan_cache_store_open(&k[i], &keeps, &ds, &err), 0);
		ck_assert_int_eq(scan_cache_replace_begin(k[i], 1, 1), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(scan_cache_add(&k[i]->writer, SCAN_TRAINING, i ? "b" : "a", 1,
						&stamp, &none),
				 0);
	/* Until then there is the old one. */
	ck_assert_uint_eq(scan_by_cache(), FILES);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(scan_cache_replace_end(k[i]), 0);
		scan_cache_store_free(k[i]);
	}
	ck_assert_int_eq(scan_cache_store_open(&k[0], &keeps, &ds, &err), 0);
	ck_assert(k[0]->has_cache);
	ck_assert_uint_eq(k[0]->cache.header.files[SCAN_TRAINING], 1);
	scan_cache_store_free(k[0]);
	ck_assert_uint_eq(files_in(directory), 2);
}
END_TEST

Suite *suite_scan_cache(void)
{
	Suite *s = suite_create("scan_cache");
	TCase *c = tcase_create("scan_cache");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, what_was_found_is_not_looked_for_again);
	tcase_add_test(c, nothing_is_written_where_nothing_is_new);
	tcase_add_test(c, only_files_that_changed_are_looked_into);
	tcase_add_test(c, files_that_have_gone_leave_the_cache);
	tcase_add_test(c, damaged_files_are_looked_into_each_time);
	tcase_add_test(c, what_stands_beside_a_file_counts_for_it);
	tcase_add_test(c, both_parts_are_in_one_file);
	tcase_add_test(c, other_options_find_other_things);
	tcase_add_test(c, probes_share_a_file_without_a_name);
	tcase_add_test(c, of_two_writers_the_last_stays);
	suite_add_tcase(s, c);
	return s;
}
