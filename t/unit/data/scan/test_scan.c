/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan.c - a directory is listed once, in one order, whatever lies in it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "data/file/file.h"
#include "data/scan/scan.h"
#include "scan_rig.h"
#include "suites.h"

static const char *said(void)
{
	static char text[8192];
	int fd = open(log_path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static struct scan *found(enum job_scan_errors errors)
{
	struct scan *s = NULL;
	const struct scan_request req = { .directory = directory, .errors = errors };
	int r = scan_new(&s, &req, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	return s;
}

static void refused(enum job_scan_errors errors, int code, const char *words)
{
	const struct scan_request req = { .directory = directory, .errors = errors };
	struct scan *s;

	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(scan_new(&s, &req, &err), code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static void expect_name(const struct scan *s, uint64_t i, const char *name)
{
	char got[4096];
	int n = scan_name(s, i, got, sizeof(got));

	ck_assert_str_eq(got, name);
	ck_assert_int_eq(n, (int)strlen(name));
	ck_assert_int_eq(scan_name(s, i, got, strlen(name)), -ENAMETOOLONG);
}

START_TEST(files_are_in_the_order_of_their_paths)
{
	static const char *const names[] = { "a",    "a-1", "b.x",  "b/c/d", "b/z",
					     "b0/1", "b00", "c\nd", "\xff" };
	struct scan *s;

	folder("b0");
	folder("b");
	folder("b/c");
	folder("empty");
	for (size_t i = sizeof(names) / sizeof(names[0]); i-- > 0;)
		put(names[i], i + 1);
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 9);
	ck_assert_uint_eq(scan_bytes(s), 45);
	for (uint64_t i = 0; i < 9; i++) {
		expect_name(s, i, names[i]);
		ck_assert_uint_eq(scan_size(s, i), i + 1);
	}
	ck_assert_str_eq(said(), "");
	scan_free(s);
}
END_TEST

START_TEST(long_names_and_deep_folders_come_back_whole)
{
	char name[256], path[4096] = "y/";
	struct scan *s;

	memset(name, 'x', 255);
	name[255] = '\0';
	put(name, 7);
	folder("y");
	ck_assert_int_eq(chdir("y"), 0);
	for (int i = 0; i < 13; i++) {
		folder(name);
		ck_assert_int_eq(chdir(name), 0);
		strcat(path, name);
		strcat(path, "/");
	}
	put("f", 3);
	strcat(path, "f");
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 2);
	expect_name(s, 0, name);
	expect_name(s, 1, path);
	scan_free(s);
	/* one that no path can name */
	for (int i = 0; i < 3; i++) {
		folder(name);
		ck_assert_int_eq(chdir(name), 0);
	}
	put("g", 3);
	refused(SCAN_REFUSE, -EINVAL, "1 path that is too long");
	s = found(SCAN_SKIP);
	ck_assert_uint_eq(scan_files(s), 2);
	scan_free(s);
}
END_TEST

START_TEST(links_are_followed_each_way_once)
{
	struct scan_skipped skipped;
	struct scan *s;

	folder("d");
	folder("d/x");
	put("d/one", 11);
	put("d/x/two", 12);
	put("three", 13);
	ck_assert_int_eq(symlink("d/one", "link"), 0);
	ck_assert_int_eq(symlink("d", "e"), 0);
	ck_assert_int_eq(symlink("d", "f"), 0);
	ck_assert_int_eq(symlink("../d/x", "d/y"), 0);
	ck_assert_int_eq(symlink("three", "a"), 0);
	ck_assert_int_eq(symlink("a", "b"), 0);
	s = found(SCAN_REFUSE);
	/* by itself, and by the first link in order */
	ck_assert_uint_eq(scan_files(s), 6);
	expect_name(s, 0, "a");
	expect_name(s, 1, "d/one");
	expect_name(s, 2, "d/x/two");
	expect_name(s, 3, "d/y/two");
	expect_name(s, 4, "e/one");
	expect_name(s, 5, "three");
	ck_assert_uint_eq(scan_size(s, 4), 11);
	ck_assert_uint_eq(scan_bytes(s), 11 + 12 + 12 + 11 + 13 + 13);
	scan_skipped(s, &skipped);
	/* b, link, f, e/x/two, e/y */
	ck_assert_uint_eq(skipped.again, 5);
	ck_assert_ptr_nonnull(strstr(said(), "out: 5 paths found before\n"));
	scan_free(s);
}
END_TEST

START_TEST(many_links_lead_to_few_files)
{
	char name[32];
	struct scan *s;

	put("one", 1);
	folder("d");
	put("d/two", 2);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%03u", i);
		ck_assert_int_eq(symlink("one", name), 0);
		snprintf(name, sizeof(name), "g%03u", i);
		folder(name);
		snprintf(name, sizeof(name), "h%03u", i);
		ck_assert_int_eq(symlink("d", name), 0);
		/* of each a folder of its own */
		snprintf(name, sizeof(name), "g%03u", i);
		ck_assert_int_eq(chdir(name), 0);
		put("x", 3);
		ck_assert_int_eq(chdir(".."), 0);
		snprintf(name, sizeof(name), "k%03u", i);
		char to[32];
		snprintf(to, sizeof(to), "g%03u", i);
		ck_assert_int_eq(symlink(to, name), 0);
	}
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 2 + 100 + 100 + 2);
	expect_name(s, 0, "d/two");
	expect_name(s, 1, "f000");
	expect_name(s, 102, "h000/two");
	expect_name(s, 103, "k000/x");
	scan_free(s);
}
END_TEST

/* Two folders of two links each to the next: 2^20 ways. */
START_TEST(a_web_of_links_is_walked_once)
{
	char name[32], to[32];
	struct scan *s;

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%02u", i);
		folder(name);
		for (unsigned k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "%02u/%c", i, 'a' + (char)k);
			snprintf(to, sizeof(to), "../%02u", i + 1);
			ck_assert_int_eq(symlink(to, name), 0);
		}
	}
	folder("20");
	put("20/file", 1);
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 2);
	scan_free(s);
}
END_TEST

START_TEST(folders_are_followed_as_deep_as_asked)
{
	static const uint64_t files[] = { 4, 1, 2, 3, 4, 4 };
	struct scan_request req = { .directory = directory };

	folder("a");
	folder("a/b");
	folder("a/b/c");
	put("1", 1);
	put("a/2", 1);
	put("a/b/3", 1);
	put("a/b/c/4", 1);
	for (uint64_t depth = 0; depth < 6; depth++) {
		struct scan_skipped skipped;
		struct scan *s;

		req.depth = depth;
		ck_assert_int_eq(scan_new(&s, &req, &err), 0);
		ck_assert_uint_eq(scan_files(s), files[depth]);
		scan_skipped(s, &skipped);
		ck_assert_uint_eq(skipped.deeper, depth > 0 && depth < 4);
		scan_free(s);
	}
	ck_assert_ptr_nonnull(strstr(said(), "out: 1 folder deeper than scan_depth\n"));
}
END_TEST

static void put_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

START_TEST(what_is_no_file_is_refused_or_skipped_and_counted)
{
	struct scan_skipped skipped;
	struct scan *s;

	put("file", 5);
	put("none", 0);
	folder("d");
	put_socket("socket");
	ck_assert_int_eq(mkfifo("pi\npe", 0644), 0);
	ck_assert_int_eq(symlink("circle", "circle"), 0);
	ck_assert_int_eq(symlink("nowhere", "broken"), 0);
	ck_assert_int_eq(symlink("..", "d/up"), 0);
	refused(SCAN_REFUSE, -EINVAL,
		": dataset=scan found 2 sockets, pipes or devices, 3 broken or circular "
		"links; --scan_errors=skip");
	ck_assert_ptr_nonnull(strstr(said(), "/socket: a socket, pipe"));
	ck_assert_ptr_nonnull(strstr(said(), "/pi\\npe: "));
	ck_assert_ptr_nonnull(strstr(said(), "/circle: a circular link\n"));
	ck_assert_ptr_nonnull(strstr(said(), "/broken: a broken link"));
	ck_assert_ptr_nonnull(strstr(said(), "/d/up/: a link back to"));
	s = found(SCAN_SKIP);
	ck_assert_uint_eq(scan_files(s), 1);
	scan_skipped(s, &skipped);
	ck_assert_uint_eq(skipped.special, 2);
	ck_assert_uint_eq(skipped.links, 3);
	ck_assert_uint_eq(skipped.empty, 1);
	ck_assert_uint_eq(skipped.unreadable, 0);
	ck_assert_ptr_nonnull(strstr(said(), "circular links, 1 empty file\n"));
	scan_free(s);
}
END_TEST

START_TEST(only_a_few_are_named)
{
	const char *at;
	unsigned lines = 0;

	put("file", 5);
	for (unsigned i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "p%u", i);
		ck_assert_int_eq(mkfifo(name, 0644), 0);
	}
	refused(SCAN_REFUSE, -EINVAL, "20 sockets, pipes or devices;");
	for (at = said(); (at = strchr(at, '\n')); at++)
		lines++;
	ck_assert_uint_eq(lines, 5);
}
END_TEST

/* In the test's own process: libcheck forks for each. */
START_TEST(what_may_not_be_read_is_refused_or_skipped_and_counted)
{
	struct scan_skipped skipped;
	struct scan *s;

	put("file", 5);
	put("mine", 5);
	folder("closed");
	put("closed/f", 5);
	ck_assert_int_eq(chmod("mine", 0), 0);
	ck_assert_int_eq(chmod("closed", 0), 0);
	ck_assert_int_eq(chmod(directory, 0755), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	refused(SCAN_REFUSE, -EACCES, "found 2 unreadable paths");
	ck_assert_ptr_nonnull(strstr(said(), "/mine: Permission denied\n"));
	ck_assert_ptr_nonnull(strstr(said(), "/closed/: Permission denied\n"));
	s = found(SCAN_SKIP);
	ck_assert_uint_eq(scan_files(s), 1);
	scan_skipped(s, &skipped);
	ck_assert_uint_eq(skipped.unreadable, 2);
	scan_free(s);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(what_mlgen_leaves_beside_its_files_is_not_seen)
{
	struct scan *s;

	put("mlgen-dataset.json", 5);
	put(".mlgen-dataset.json.part", 5);
	put(".mlgen-dataset.lock", 5);
	put(".img_1_of_9.raw.part", 5);
	refused(SCAN_SKIP, -ENOENT, "contains no file that mlgen can read");
	put("img.part", 5); /* of somebody else */
	put(".hidden", 5);
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 2);
	scan_free(s);
}
END_TEST

START_TEST(without_a_directory_nothing_is_found)
{
	snprintf(directory + strlen(directory), 4, "/no");
	refused(SCAN_SKIP, -ENOENT, "/no: No such file or directory; dataset=");
	*strrchr(directory, '/') = '\0';
	put("no", 3);
	snprintf(directory + strlen(directory), 6, "/no/x");
	refused(SCAN_SKIP, -ENOTDIR, "/no/x: Not a directory; dataset=scan");
	*strrchr(directory, '/') = '\0';
	*strrchr(directory, '/') = '\0';
	ck_assert_int_eq(unlink("no"), 0);
	put("none", 0);
	refused(SCAN_REFUSE, -ENOENT, "contains no file that mlgen can read");
}
END_TEST

START_TEST(names_need_a_place_and_leave_nothing_there)
{
	struct scan *s;
	char inside[TEMP_BELOW];

	put("file", 5);
	ck_assert_int_eq(setenv("TMPDIR", "/nonexistent", 1), 0);
	refused(SCAN_SKIP, -ENOENT, "another folder with TMPDIR=");
	snprintf(inside, sizeof(inside), "%s/tmp", directory);
	folder("tmp");
	ck_assert_int_eq(setenv("TMPDIR", inside, 1), 0);
	s = found(SCAN_REFUSE);
	ck_assert_uint_eq(scan_files(s), 1);
	expect_name(s, 0, "file");
	scan_free(s);
	ck_assert_int_eq(rmdir("tmp"), 0);
}
END_TEST

START_TEST(files_take_little_memory)
{
	struct rusage before, after;
	struct scan *s;
	char name[64];

	folder("0");
	folder("1");
	put("one", 1);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%u/img_%06u_of_020000.jpeg", i % 2, i);
		ck_assert_int_eq(link("one", name), 0);
	}
	getrusage(RUSAGE_SELF, &before);
	s = found(SCAN_REFUSE);
	getrusage(RUSAGE_SELF, &after);
	ck_assert_uint_eq(scan_files(s), 20001);
	expect_name(s, 1, "0/img_000002_of_020000.jpeg");
	expect_name(s, 20000, "one");
	/* 240 bytes a file while it is sorted; 16 remain */
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 20000 * 240 >> 10);
	scan_free(s);
}
END_TEST

Suite *suite_scan(void)
{
	Suite *s = suite_create("scan");
	TCase *t = tcase_create("scan");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, files_are_in_the_order_of_their_paths);
	tcase_add_test(t, long_names_and_deep_folders_come_back_whole);
	tcase_add_test(t, links_are_followed_each_way_once);
	tcase_add_test(t, many_links_lead_to_few_files);
	tcase_add_test(t, a_web_of_links_is_walked_once);
	tcase_add_test(t, folders_are_followed_as_deep_as_asked);
	tcase_add_test(t, what_is_no_file_is_refused_or_skipped_and_counted);
	tcase_add_test(t, only_a_few_are_named);
	tcase_add_test(t, what_may_not_be_read_is_refused_or_skipped_and_counted);
	tcase_add_test(t, what_mlgen_leaves_beside_its_files_is_not_seen);
	tcase_add_test(t, without_a_directory_nothing_is_found);
	tcase_add_test(t, names_need_a_place_and_leave_nothing_there);
	tcase_add_test(t, files_take_little_memory);
	suite_add_tcase(s, t);
	return s;
}
