/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_input.c - the text of a gzip file is read like any other, and where it ends too early
 * that is said. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "suites.h"
#include "trace/trace.h"

static struct mlgen_err err;

/* One more member with this text. */
static void add_member(struct buf *file, const char *text, size_t bytes)
{
	size_t room = compressBound(bytes) + 64;
	unsigned char *out = malloc(room), *in = malloc(bytes + 1);
	z_stream z = { .avail_in = (uInt)bytes, .avail_out = (uInt)room };

	memcpy(in, text, bytes);
	z.next_in = in;
	z.next_out = out;
	ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_addn(file, (char *)out, room - z.avail_out);
	deflateEnd(&z);
	free(out);
	free(in);
}

static void member(struct buf *file, const char *text)
{
	add_member(file, text, strlen(text));
}

/* Lines with '|' behind each, and what is wrong. `step` = bytes that come at a time through a pipe;
 * 0 = a file. */
static bool was_cut_off;

static void read_text(struct buf *out, const char *bytes, size_t count, size_t step)
{
	struct trace_input in;
	struct buf line = { 0 };
	bool is_cut;
	int fds[2], rc = 0;
	pid_t child = -1;

	memset(&err, 0, sizeof(err));
	buf_reset(out);
	if (step) {
		ck_assert_int_eq(pipe(fds), 0);
		child = fork();
		for (size_t at = 0; child == 0 && at < count; at += step) {
			size_t n = count - at < step ? count - at : step;

			if (write(fds[1], bytes + at, n) != (ssize_t)n)
				_exit(1);
		}
		if (child == 0)
			_exit(0);
		close(fds[1]);
	} else {
		fds[0] = memfd_create("gz", MFD_CLOEXEC);
		ck_assert_int_eq(write(fds[0], bytes, count), (ssize_t)count);
		lseek(fds[0], 0, SEEK_SET);
	}
	trace_input_init(&in, fds[0], "f.gz");
	in.owns_fd = true;
	while ((rc = trace_input_line(&in, &line, &is_cut, &err)) > 0)
		buf_addf(out, "%s|", buf_str(&line));
	if (rc < 0)
		buf_add(out, err.text);
	was_cut_off = in.is_cut_off;
	in.only_looks = true;
	trace_input_close(&in);
	buf_fini(&line);
}

static void expect(const struct buf *file, const char *want)
{
	struct buf out = { 0 };

	read_text(&out, file->s, file->len, 0);
	ck_assert_str_eq(buf_str(&out), want);
	read_text(&out, file->s, file->len, 1);
	ck_assert_str_eq(buf_str(&out), want);
	buf_fini(&out);
}

START_TEST(a_gzip_file_is_its_text)
{
	struct buf file = { 0 };

	member(&file, "one\ntwo\r\n");
	expect(&file, "one|two|");
	buf_fini(&file);
}
END_TEST

START_TEST(members_are_one_text)
{
	struct buf file = { 0 };

	member(&file, "\xef\xbb\xbfone\ntw");
	member(&file, "");
	member(&file, "o\nthree\n");
	expect(&file, "one|two|three|");
	buf_addn(&file, "\0\0\0", 3); /* a tape's padding */
	expect(&file, "one|two|three|");
	buf_fini(&file);
}
END_TEST

START_TEST(a_text_that_only_begins_like_one_is_a_text)
{
	struct buf file = { 0 };

	buf_add(&file, "\x1f");
	expect(&file, "\x1f|");
	buf_add(&file, "x\n");
	expect(&file, "\x1fx|");
	buf_reset(&file);
	buf_add(&file, "\xef\xbb\xbf");
	expect(&file, "");
	buf_fini(&file);
}
END_TEST

START_TEST(a_large_one_is_whole)
{
	struct buf text = { 0 }, file = { 0 }, want = { 0 }, out = { 0 };

	for (unsigned i = 0; i < 200000; i++) {
		buf_addf(&text, "%u\n", i * 2654435761u);
		buf_addf(&want, "%u|", i * 2654435761u);
	}
	add_member(&file, text.s, text.len / 3);
	add_member(&file, text.s + text.len / 3, text.len - text.len / 3);
	read_text(&out, file.s, file.len, 0);
	ck_assert_uint_eq(out.len, want.len);
	ck_assert(memcmp(out.s, want.s, want.len) == 0);
	buf_fini(&text);
	buf_fini(&file);
	buf_fini(&want);
	buf_fini(&out);
}
END_TEST

START_TEST(one_that_is_cut_off_is_its_whole_lines)
{
	struct buf file = { 0 }, out = { 0 };

	member(&file, "one\ntwo\nthree\n");
	for (size_t bytes = 2; bytes < file.len; bytes++) {
		read_text(&out, file.s, bytes, 0);
		if (err.code < 0)
			ck_assert_ptr_nonnull(strstr(buf_str(&out), "is cut off"));
		else
			ck_assert_int_eq(strncmp("one|two|three|", buf_str(&out), out.len), 0);
		ck_assert_int_eq(was_cut_off, !err.code);
	}
	ck_assert_str_eq(buf_str(&out), "one|two|three|");
	read_text(&out, file.s, 11, 0);
	ck_assert_int_eq(err.code, -EINVAL);
	buf_fini(&file);
	buf_fini(&out);
}
END_TEST

START_TEST(one_that_is_damaged_says_where)
{
	struct buf file = { 0 }, out = { 0 };

	member(&file, "one\ntwo\n");
	size_t whole = file.len;

	buf_add(&file, "garbage");
	read_text(&out, file.s, file.len, 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "one|two|f.gz: the gzip file is damaged ("));
	file.s[whole - 6] ^= 1; /* of the checksum */
	read_text(&out, file.s, whole, 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "incorrect data check"));
	buf_fini(&file);
	buf_fini(&out);
}
END_TEST

START_TEST(a_zero_in_it_is_refused_with_its_line)
{
	struct buf file = { 0 };

	add_member(&file, "one\nt\0wo\n", 9);
	expect(&file,
	       "f.gz:2: a NUL byte, which no text contains; does the option match this file?");
	buf_fini(&file);
}
END_TEST

Suite *suite_trace_input(void)
{
	Suite *s = suite_create("trace_input");
	TCase *t = tcase_create("trace_input");

	tcase_add_test(t, a_gzip_file_is_its_text);
	tcase_add_test(t, members_are_one_text);
	tcase_add_test(t, a_text_that_only_begins_like_one_is_a_text);
	tcase_add_test(t, a_large_one_is_whole);
	tcase_add_test(t, one_that_is_cut_off_is_its_whole_lines);
	tcase_add_test(t, one_that_is_damaged_says_where);
	tcase_add_test(t, a_zero_in_it_is_refused_with_its_line);
	suite_add_tcase(s, t);
	return s;
}
