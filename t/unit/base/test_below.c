/* SPDX-License-Identifier: Apache-2.0 */
/* test_below.c - what is made and removed below a directory stays below it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "suites.h"
#include "temp.h"

static char root[TEMP_BYTES];
static int root_fd;

static const char *at(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void check_text(const char *name, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(at(name), "r");

	ck_assert_ptr_nonnull(f);
	found[fread(found, 1, sizeof(found) - 1, f)] = '\0';
	fclose(f);
	ck_assert_str_eq(found, text);
}

/* inside/deep, outside/secret, and links from one to the other. */
static void set_up(void)
{
	temp_folder(root);
	ck_assert_int_eq(mkdir(at("inside"), 0700), 0);
	ck_assert_int_eq(mkdir(at("inside/deep"), 0700), 0);
	ck_assert_int_eq(mkdir(at("outside"), 0700), 0);
	ck_assert_int_eq(mkdir(at("outside/deep"), 0700), 0);
	put("outside/secret", "secret");
	put("inside/file", "file");
	ck_assert_int_eq(symlink("../outside", at("inside/link")), 0);
	ck_assert_int_eq(symlink("inside", at("named")), 0);
	root_fd = below_open_root(at("named")); /* through a link of the user's */
	ck_assert_int_ge(root_fd, 0);
}

static void tear_down(void)
{
	close(root_fd);
	temp_remove(root);
}

static const struct folder_case {
	const char *relative;
	int code;
} folder_cases[] = {
	{ "", 0 },
	{ "deep", 0 },
	{ "deep/", 0 },
	{ "link", -ELOOP },
	{ "link/deep", -ELOOP },
	{ "file", -ENOTDIR },
	{ "none", -ENOENT },
	{ "..", -EINVAL },
	{ "deep/../../outside", -EINVAL },
	{ "/tmp", -EINVAL },
	{ "deep//none", -EINVAL },
};

START_TEST(a_folder_is_reached_through_no_link)
{
	const struct folder_case *c = &folder_cases[_i];
	int fd = below_folder(root_fd, c->relative);

	ck_assert_msg(c->code ? fd == c->code : fd >= 0, "%s: %d", c->relative, fd);
	if (fd >= 0)
		close(fd);
}
END_TEST

START_TEST(a_step_is_no_longer_than_a_name_can_be)
{
	char name[400];

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(below_folder(root_fd, name), -ENAMETOOLONG);
}
END_TEST

/* Looked at here, exchanged there. */
START_TEST(a_folder_that_is_held_cannot_be_exchanged)
{
	int fd = below_folder(root_fd, "deep");

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rename(at("inside/deep"), at("moved")), 0);
	ck_assert_int_eq(symlink("../outside", at("inside/deep")), 0);
	ck_assert_int_eq(unlinkat(fd, "secret", 0), -1);
	check_text("outside/secret", "secret");
	int file = below_create(fd, "new");
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(access(at("moved/new"), F_OK), 0);
	close(file);
	close(fd);
}
END_TEST

START_TEST(a_file_is_new_and_no_link_s_target)
{
	static const char *const made[] = { "soft", "hard", "old", "none" };

	ck_assert_int_eq(symlink("../outside/secret", at("inside/soft")), 0);
	ck_assert_int_eq(link(at("outside/secret"), at("inside/hard")), 0);
	put("inside/old", "left by a killed run");
	for (unsigned i = 0; i < 4; i++) {
		int fd = below_create(root_fd, made[i]);
		struct stat st;

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_int_eq(st.st_size, 0);
		ck_assert_uint_eq(st.st_nlink, 1);
		ck_assert_int_eq(write(fd, "x", 1), 1);
		close(fd);
	}
	check_text("outside/secret", "secret");
	ck_assert_int_eq(below_create(root_fd, "deep"), -EISDIR);
}
END_TEST

START_TEST(a_document_replaces_a_link_and_leaves_its_target)
{
	json_t *doc = json_pack("{s:i}", "answer", 42);

	ck_assert_int_eq(symlink("../outside/secret", at("inside/m.json")), 0);
	ck_assert_int_eq(link(at("outside/secret"), at("inside/.m.json.part")), 0);
	ck_assert_int_eq(jsonfile_replace(root_fd, "m.json", doc, true), 0);
	check_text("outside/secret", "secret");
	check_text("inside/m.json", "{\n  \"answer\": 42\n}\n");
	ck_assert_int_eq(access(at("inside/.m.json.part"), F_OK), -1);
	json_decref(doc);
}
END_TEST

/* A FIFO would be opened, and waited for. */
START_TEST(a_fifo_in_the_place_of_a_document_is_replaced)
{
	json_t *doc = json_pack("{s:i}", "answer", 42);

	ck_assert_int_eq(mkfifo(at("inside/m.json"), 0600), 0);
	ck_assert_int_eq(mkfifo(at("inside/.m.json.part"), 0600), 0);
	ck_assert_int_eq(jsonfile_replace(root_fd, "m.json", doc, false), 0);
	check_text("inside/m.json", "{\n  \"answer\": 42\n}\n");
	json_decref(doc);
}
END_TEST

START_TEST(a_folder_of_somebody_else_is_not_trusted)
{
	uid_t maker;
	int file = below_create(root_fd, "made");

	ck_assert_int_eq(below_creator(file, &maker), 0);
	close(file);
	ck_assert_uint_eq(maker, geteuid());
	ck_assert(below_is_trusted(root_fd, maker));
	ck_assert(geteuid() == 0 || !below_is_trusted(root_fd, maker + 1));
	int of_root = below_open_root("/");
	ck_assert(below_is_trusted(of_root, maker));
	close(of_root);
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: only root gives folders away\n");
		return;
	}
	ck_assert_int_eq(chown(at("inside"), 12345, (gid_t)-1), 0);
	ck_assert(!below_is_trusted(root_fd, maker));
	ck_assert(below_is_trusted(root_fd, 12345));
}
END_TEST

START_TEST(a_folder_is_synced)
{
	ck_assert_int_eq(below_sync(root_fd), 0);
	ck_assert_int_eq(below_sync(-1), -EBADF);
}
END_TEST

START_TEST(a_folder_is_locked_for_one)
{
	int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY);
	int lock_fd = below_lock(root_fd);

	ck_assert_int_ge(lock_fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	below_unlock(lock_fd);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
	ck_assert_int_eq(below_lock(-1), -EBADF);
	below_unlock(-EBADF);
}
END_TEST

Suite *suite_below(void)
{
	Suite *s = suite_create("below");
	TCase *t = tcase_create("below");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_folder_is_reached_through_no_link, 0,
			    sizeof(folder_cases) / sizeof(folder_cases[0]));
	tcase_add_test(t, a_step_is_no_longer_than_a_name_can_be);
	tcase_add_test(t, a_folder_that_is_held_cannot_be_exchanged);
	tcase_add_test(t, a_file_is_new_and_no_link_s_target);
	tcase_add_test(t, a_document_replaces_a_link_and_leaves_its_target);
	tcase_add_test(t, a_fifo_in_the_place_of_a_document_is_replaced);
	tcase_add_test(t, a_folder_of_somebody_else_is_not_trusted);
	tcase_add_test(t, a_folder_is_synced);
	tcase_add_test(t, a_folder_is_locked_for_one);
	suite_add_tcase(s, t);
	return s;
}
