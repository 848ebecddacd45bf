/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_source.c - what is replayed is a trace or a log of fio's, and all else is refused with
 * what would be right. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "suites.h"
#include "temp.h"
#include "trace/trace.h"

#define V3 "fio version 3 iolog\n"

static const char name[] = "source-test";
static struct mlgen_err err;

static void forget(void)
{
	memset(&err, 0, sizeof(err));
}

static void remove_file(void)
{
	unlink(name);
}

static void write_text(const char *text, size_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	close(fd);
}

static void write_gzip(const char *text, size_t bytes)
{
	gzFile gz = gzopen(name, "wb");

	ck_assert_ptr_nonnull(gz);
	ck_assert_int_eq(gzwrite(gz, text, (unsigned)bytes), (int)bytes);
	ck_assert_int_eq(gzclose(gz), Z_OK);
}

static void write_trace(void)
{
	const struct trace_head head = { .run_id = "a run" };
	struct trace_record r = { .op = TRACE_READ, .len_bytes = 7 };
	struct trace_writer *w;
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(trace_writer_new(&w, fd, name, &head, &err), 0);
	r.file = trace_writer_name(w, "a", 1);
	trace_writer_record(w, &r);
	ck_assert_int_eq(trace_writer_finish(w, NULL, &err), 0);
	close(fd);
}

/* Records' operations, offsets, lengths and times in us, and how many. */
static unsigned read_all(struct trace_reader *r, char *text, size_t room)
{
	struct trace_batch b;
	unsigned count = 0;

	text[0] = '\0';
	while (trace_reader_next(r, &b, &err) > 0) {
		for (size_t i = 0; i < b.record_count; i++) {
			size_t at = strlen(text);

			snprintf(text + at, room - at, "%s %lld %lld %llu;",
				 trace_op_name(b.records[i].op), (long long)b.records[i].off,
				 (long long)b.records[i].len_bytes,
				 (unsigned long long)b.records[i].start_ns / 1000);
		}
		count += (unsigned)b.record_count;
	}
	return count;
}

static void expect(const char *want, unsigned count)
{
	struct trace_reader *r;
	char text[256];

	forget();
	ck_assert_msg(trace_source_open(&r, name, &err) == 0, "%s", err.text);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(read_all(r, text, sizeof(text)), count);
		ck_assert_str_eq(text, want);
		ck_assert_uint_eq(trace_reader_totals(r)->truncated, 0);
		ck_assert_int_eq(trace_reader_rewind(r, &err), 0);
	}
	trace_reader_close(r);
}

static void refused(const char *path, const char *want)
{
	struct trace_reader *r;

	forget();
	ck_assert_int_lt(trace_source_open(&r, path, &err), 0);
	ck_assert_ptr_null(r);
	ck_assert_msg(strstr(err.text, want), "'%s' is not in '%s'", want, err.text);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
}

static void refused_text(const char *text, size_t bytes, const char *want)
{
	write_text(text, bytes);
	refused(name, want);
}

/* Descriptors that are open. */
static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(a_trace_is_read_as_it_is)
{
	write_trace();
	expect("read 0 7 0;", 1);
}
END_TEST

START_TEST(a_log_of_fios_becomes_a_trace)
{
	static const char v3[] = V3 "0 a add\n5 a open\n9 a write 4096 512\n"
				    "7 a read 0 512\n";
	static const char v2[] = "fio version 2 iolog\na add\na write 0 1\n"
				 "a wait 2 0\na sync 0 0\n";

	write_text(v3, sizeof(v3) - 1);
	expect("open -1 -1 5;read 0 512 7;write 4096 512 9;", 3);
	write_text(v2, sizeof(v2) - 1);
	expect("write 0 1 0;fsync -1 0 2000;", 2);
	write_gzip(v3, sizeof(v3) - 1);
	expect("open -1 -1 5;read 0 512 7;write 4096 512 9;", 3);
	write_text(V3, sizeof(V3) - 1);
	expect("", 0);
}
END_TEST

START_TEST(the_log_may_go_and_nothing_stays_open)
{
	static const char v3[] = V3 "1 a read 0 1\n";
	unsigned before = open_files();
	struct trace_reader *r;
	char text[256];

	write_text(v3, sizeof(v3) - 1);
	ck_assert_int_eq(trace_source_open(&r, name, &err), 0);
	unlink(name);
	ck_assert_int_eq(trace_reader_rewind(r, &err), 0);
	ck_assert_uint_eq(read_all(r, text, sizeof(text)), 1);
	trace_reader_close(r);
	ck_assert_uint_eq(open_files(), before);
	refused_text(V3 "1 a rea\n", sizeof(V3) + 7, "'rea' is not an action");
	ck_assert_uint_eq(open_files(), before);
}
END_TEST

START_TEST(a_log_with_a_fault_is_refused_with_its_line)
{
	refused_text(V3 "0 a add\n1 a read 0\n", sizeof(V3) + 18, "source-test:3: 4 words");
	refused_text("fio version 1 iolog\n", 20, "source-test:1: is not a known fio iolog");
	refused_text(V3 "0 a re\0ad 0 1\n", sizeof(V3) + 14, "source-test:2: a NUL byte");
}
END_TEST

START_TEST(what_is_neither_is_told_how_it_becomes_one)
{
	char path[] = "source-none";

	refused_text("", 0, "is empty");
	refused_text("17 openat(AT_FDCWD, \"a\") = 3\n", 29,
		     "mltrace import --format=strace FILE -o OUT");
	refused_text("start_ns,op\n1,read\n", 19, "--format=csv");
	refused_text("\x07tae\0\0\0\0", 8, "--format=blktrace");
	refused_text("\0\0\0\0", 4, "is neither an mlgen trace");
	refused_text("fio", 3, "is neither an mlgen trace");
	refused_text("MLgenTRC\1\0\0", 12, "first 64 bytes are damaged");
	write_gzip("MLgenTRC", 8);
	refused(name, "unpack it first");
	refused(path, "No such file");
	refused(".", "is a directory");
	refused("-", "name a file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused(path, "is a fifo");
	unlink(path);
}
END_TEST

START_TEST(without_a_place_for_the_trace_the_place_is_named)
{
	struct trace_reader *r;

	write_text(V3, sizeof(V3) - 1);
	temp_pretend("/nowhere");
	ck_assert_int_eq(trace_source_open(&r, name, &err), -ENOENT);
	temp_pretend(NULL);
	ck_assert_msg(strstr(err.text, "/nowhere (set TMPDIR=DIR"), "%s", err.text);
}
END_TEST

Suite *suite_trace_source(void)
{
	Suite *s = suite_create("trace_source");
	TCase *t = tcase_create("trace_source");

	tcase_add_checked_fixture(t, forget, remove_file);
	tcase_add_test(t, a_trace_is_read_as_it_is);
	tcase_add_test(t, a_log_of_fios_becomes_a_trace);
	tcase_add_test(t, the_log_may_go_and_nothing_stays_open);
	tcase_add_test(t, a_log_with_a_fault_is_refused_with_its_line);
	tcase_add_test(t, what_is_neither_is_told_how_it_becomes_one);
	tcase_add_test(t, without_a_place_for_the_trace_the_place_is_named);
	suite_add_tcase(s, t);
	return s;
}
