/* SPDX-License-Identifier: Apache-2.0 */
/* test_bpf_files.c - an inode has the name that it was seen with, and paths are what programs
 * meant. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "suites.h"

#ifdef HAVE_BPF
#include <sys/stat.h>

#include "tracing/capture/bpf/bpf.h"

#define DEV (253u << 20 | 1)

static struct trace_writer *writer;
static struct bpf_files *files;

static void setup(void)
{
	struct trace_head head = { .clock_ns = 1 };
	struct mlgen_err err = { 0 };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(trace_writer_new(&writer, fd, "x", &head, &err), 0);
	files = files_new(writer);
}

static void teardown(void)
{
	files_free(files);
	trace_writer_finish(writer, NULL, NULL);
}

/* As the kernel tells it: "leaf\0folder\0". */
static uint32_t name(uint64_t ino, const char *text, size_t bytes, uint32_t mode)
{
	static struct capture_name n;

	n = (struct capture_name){
		.ino = ino, .dev = DEV, .mode = mode, .text_bytes = (uint16_t)bytes
	};
	memcpy(n.text, text, bytes);
	files_name(files, &n);
	return files_find(files, DEV, ino);
}

#define NAME(ino, text, mode) name(ino, text, sizeof(text) - 1, mode)
#define PATH(ino, text) files_path(files, DEV, ino, text, strlen(text))

START_TEST(names_are_joined)
{
	uint32_t file = NAME(10, "x.npz\0data\0", S_IFREG);

	ck_assert_uint_ne(file, 0);
	ck_assert_uint_eq(files_text(files, "/data/x.npz"), file);
	ck_assert_uint_eq(NAME(2, "", S_IFDIR), files_text(files, "/"));
	ck_assert_uint_eq(files_known(files, DEV, 11), 0);
	ck_assert_uint_eq(files_known(files, DEV + 1, 10), 0);
	/* One whose name was lost has one that says so, always the same. */
	uint32_t lost = files_find(files, DEV, 11);
	ck_assert_uint_eq(files_text(files, "(inode 11 of 253:1)"), lost);
	ck_assert_uint_eq(files_find(files, DEV, 11), lost);
}
END_TEST

START_TEST(paths_are_below_their_directory)
{
	static const struct {
		uint64_t ino;
		const char *text, *want;
	} paths[] = {
		{ 0, "/a/b", "/a/b" },
		{ 0, "//a/./b/", "/a/b" },
		{ 0, "/a/../../b", "/b" },
		{ 0, "/", "/" },
		{ 7, "x", "/data/set/x" },
		{ 7, "./x/../y", "/data/set/y" },
		{ 7, "../x", "/data/x" },
		{ 7, "../../../x", "/x" },
		{ 7, "..", "/data" },
		{ 7, ".x/..y", "/data/set/.x/..y" },
		{ 2, "x", "/x" },
		/* Of a directory that nobody named: as it was said. */
		{ 99, "a/x", "a/x" },
	};

	NAME(7, "set\0data\0", S_IFDIR);
	NAME(2, "", S_IFDIR);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		ck_assert_uint_eq(PATH(paths[i].ino, paths[i].text),
				  files_text(files, paths[i].want));
}
END_TEST

START_TEST(a_rename_gives_another_name)
{
	uint32_t old = NAME(10, "tmp\0d\0", S_IFREG);
	uint32_t new = files_text(files, "/d/final");

	files_renamed(files, old, new);
	ck_assert_uint_eq(files_find(files, DEV, 10), new);
	/* Another one that gets the old name has it to itself. */
	ck_assert_uint_eq(NAME(11, "tmp\0d\0", S_IFREG), old);
	ck_assert_uint_eq(files_find(files, DEV, 10), new);
	/* A name that is no inode's changes nothing. */
	files_renamed(files, files_text(files, "/none"), old);
	ck_assert_uint_eq(files_find(files, DEV, 10), new);
	/* An inode that is used again is another file. */
	ck_assert_uint_eq(NAME(10, "other\0d\0", S_IFREG), files_text(files, "/d/other"));
}
END_TEST

START_TEST(many_are_kept)
{
	char text[32];

	for (unsigned i = 1; i < 20000; i++) {
		int n = snprintf(text, sizeof(text), "%u", i);

		ck_assert_uint_eq(name(i, text, (size_t)n + 1, S_IFREG), i);
	}
	for (unsigned i = 1; i < 20000; i++)
		ck_assert_uint_eq(files_known(files, DEV, i), i);
	ck_assert_uint_eq(files_count(files), 19999);
}
END_TEST

START_TEST(mappings_are_of_a_process)
{
	struct bpf_mapped *m = mapped_new();

	mapped_add(m, 5, 0x7f0000000000, (struct bpf_mapped_file){ 3, 4096 });
	mapped_add(m, 6, 0x7f0000000000, (struct bpf_mapped_file){ 4, 0 });
	ck_assert_uint_eq(mapped_find(m, 5, 0x7f0000000000).file, 3);
	ck_assert_uint_eq(mapped_find(m, 5, 0x7f0000000000).off, 4096);
	ck_assert_uint_eq(mapped_find(m, 6, 0x7f0000000000).file, 4);
	ck_assert_uint_eq(mapped_find(m, 7, 0x7f0000000000).file, 0);
	mapped_add(m, 5, 0x7f0000000000, (struct bpf_mapped_file){ 9, 0 });
	ck_assert_uint_eq(mapped_find(m, 5, 0x7f0000000000).file, 9);
	mapped_free(m);
}
END_TEST
#endif

Suite *suite_bpf_files(void)
{
	Suite *s = suite_create("bpf_files");
	TCase *t = tcase_create("files");

#ifdef HAVE_BPF
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, names_are_joined);
	tcase_add_test(t, paths_are_below_their_directory);
	tcase_add_test(t, a_rename_gives_another_name);
	tcase_add_test(t, many_are_kept);
	tcase_add_test(t, mappings_are_of_a_process);
#endif
	suite_add_tcase(s, t);
	return s;
}
