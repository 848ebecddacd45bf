/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_cache_damage.c - a cache of a scan that is damaged, of others, or cannot be written. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/file/file_internal.h"
#include "data/scan/scan.h"
#include "scan_cache_rig.h"
#include "suites.h"

/* Where it is done many times. */
#define FEW_FILES 10u

/* ---- a dataset, and what is found in it ---- */

static void refuses(int code, const char *why)
{
	const struct scan_cache_request keeps = { .path = cache };
	struct dataset ds;

	ck_assert_int_eq(make(&ds, &keeps), code);
	ck_assert_ptr_nonnull(strstr(err.text, "scan_cache: "));
	ck_assert_ptr_nonnull(strstr(err.text, cache));
	ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
	unmake(&ds);
}

/* ---- the cache as bytes ---- */

static void write_cache(const char *bytes, size_t n)
{
	FILE *f = fopen(cache, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* ---- what is wrong with it ---- */

START_TEST(one_that_is_cut_off_is_as_if_there_were_none)
{
	char *bytes;
	size_t n;

	put_some(FEW_FILES);
	scan_by_cache();
	n = read_cache(&bytes);
	for (size_t cut = 0; cut < n; cut += cut < 160 ? 8 : 499) {
		write_cache(bytes, cut);
		ck_assert_uint_eq(scan_by_cache(), 0);
	}
	write_cache(bytes, sizeof(struct scan_header) - 1);
	ck_assert_uint_eq(scan_by_cache(), 0);
	write_cache(bytes, n - 1);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FEW_FILES);
	mem_free(bytes);
}
END_TEST

/* Of the words only those of one file are lost. */
START_TEST(a_bit_that_is_another_one_is_seen)
{
	struct scan_header h;
	struct scan_layout l;
	char *bytes;
	size_t n;

	put_some(FEW_FILES);
	scan_by_cache();
	n = read_cache(&bytes);
	memcpy(&h, bytes, sizeof(h));
	ck_assert(scan_cache_layout(&h, &l));
	for (size_t at = sizeof(h.magic); at < n; at += at < 160 ? 1 : 491) {
		bool is_padding = at >= l.names + h.name_bytes[0] && at < l.words;
		bool is_key_padding = at >= sizeof(h) + h.key_bytes && at < l.records;
		char old = bytes[at];

		bytes[at] = (char)(old ^ 1 << at % 8);
		write_cache(bytes, n);
		bytes[at] = old;
		if (!is_padding && !is_key_padding)
			ck_assert_uint_eq(scan_by_cache(), at < l.words ? 0 : FEW_FILES - 1);
	}
	ck_assert_uint_eq(scan_by_cache(), FEW_FILES);
	mem_free(bytes);
}
END_TEST

START_TEST(other_versions_and_hosts_are_not_read)
{
	struct scan_header h;
	char *bytes;
	size_t n;

	put_all();
	scan_by_cache();
	n = read_cache(&bytes);
	memcpy(&h, bytes, sizeof(h));
	h.version--;
	memcpy(bytes, &h, sizeof(h));
	write_cache(bytes, n);
	ck_assert_uint_eq(scan_by_cache(), 0);
	h.version++;
	h.byte_order = __builtin_bswap32(h.byte_order);
	memcpy(bytes, &h, sizeof(h));
	write_cache(bytes, n);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	mem_free(bytes);
}
END_TEST

START_TEST(what_is_no_cache_is_refused_and_stays)
{
	static const char text[] = "a letter of somebody's";
	char *bytes;

	put_all();
	write_cache(text, sizeof(text));
	refuses(-EINVAL, "is not a scan cache and was not changed");
	ck_assert_uint_eq(read_cache(&bytes), sizeof(text));
	ck_assert_str_eq(bytes, text);
	mem_free(bytes);
	write_cache("m?", 2);
	refuses(-EINVAL, "is not a scan cache");
	ck_assert_int_eq(unlink(cache), 0);
	ck_assert_int_eq(mkfifo(cache, 0600), 0);
	refuses(-EINVAL, "is a fifo, not a regular file");
	ck_assert_int_eq(unlink(cache), 0);
	ck_assert_int_eq(mkdir(cache, 0700), 0);
	refuses(-EINVAL, "is a directory, not a regular file");
	snprintf(cache, sizeof(cache), "%s/none/cache", directory);
	refuses(-ENOENT, "cannot be created");
}
END_TEST

/* Between the limits nothing is asserted: what check notes of that goes to a file, too. */
START_TEST(without_room_nothing_is_kept_and_nothing_left)
{
	const struct scan_cache_request keeps = { .path = cache };
	struct rlimit no_room, room;
	struct dataset first, ds;
	char *bytes, *after;
	size_t n;
	int r;

	put_all();
	ck_assert_int_eq(make(&first, &keeps), 0);
	unmake(&first);
	n = read_cache(&bytes);
	put(0, 'x', 1000);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &room), 0);
	no_room = room;
	/* The words of all files, in one list at most, are less. */
	no_room.rlim_cur = 48 << 10;
	ck_assert_uint_gt(n, no_room.rlim_cur);
	setrlimit(RLIMIT_FSIZE, &no_room);
	r = make(&ds, &keeps);
	setrlimit(RLIMIT_FSIZE, &room);
	signal(SIGXFSZ, SIG_DFL);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(scan_index_cached_files(ds.found), FILES - 1);
	unmake(&ds);
	ck_assert_uint_eq(files_in(directory), 2);
	ck_assert_uint_eq(read_cache(&after), n);
	ck_assert_mem_eq(bytes, after, n);
	mem_free(bytes);
	mem_free(after);
}
END_TEST

START_TEST(it_is_no_file_of_the_dataset)
{
	struct dataset ds;

	snprintf(cache, sizeof(cache), "%.80s/cache", data);
	put_all();
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(files_in(data), FILES + 1);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_int_eq(make(&ds, &(struct scan_cache_request){ .path = cache }), 0);
	/* Of 50 each the one is empty of samples. */
	ck_assert_uint_eq(ds.files, FILES - FILES / 50);
	unmake(&ds);
}
END_TEST

Suite *suite_scan_cache_damage(void)
{
	Suite *s = suite_create("scan_cache_damage");
	TCase *c = tcase_create("scan_cache_damage");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, one_that_is_cut_off_is_as_if_there_were_none);
	tcase_add_test(c, a_bit_that_is_another_one_is_seen);
	tcase_add_test(c, other_versions_and_hosts_are_not_read);
	tcase_add_test(c, what_is_no_cache_is_refused_and_stays);
	tcase_add_test(c, without_room_nothing_is_kept_and_nothing_left);
	tcase_add_test(c, it_is_no_file_of_the_dataset);
	suite_add_tcase(s, c);
	return s;
}
