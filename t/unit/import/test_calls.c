/* SPDX-License-Identifier: Apache-2.0 */
/* test_calls.c - calls are known by any of their names, and files that are open keep their
 * positions. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "suites.h"
#include "trace/trace.h"
#include "tracing/import/import_internal.h"

static const struct {
	const char *name;
	uint16_t op;
	enum call_kind kind;
} known[] = {
	{ "access", TRACE_NONE, CALL_IGNORED },
	{ "clone3", TRACE_FORK, CALL_FORK },
	{ "fadvise64", TRACE_ADVISE, CALL_AT },
	{ "fopen64", TRACE_OPEN, CALL_OPEN },
	{ "getdents64", TRACE_GETDENTS, CALL_FILE },
	{ "lgetxattr", TRACE_NONE, CALL_IGNORED },
	{ "llistxattr", TRACE_NONE, CALL_IGNORED },
	{ "_llseek", TRACE_NONE, CALL_SEEK },
	{ "newfstatat", TRACE_STAT, CALL_FILE },
	{ "openat2", TRACE_OPEN, CALL_OPEN },
	{ "pread64", TRACE_READ, CALL_AT },
	{ "pwritev2", TRACE_WRITE, CALL_AT },
	{ "renameat2", TRACE_RENAME, CALL_RENAME },
	{ "rewinddir", TRACE_NONE, CALL_IGNORED },
	{ "sys_enter_read", TRACE_READ, CALL_TRANSFER },
	{ "__x64_sys_close", TRACE_CLOSE, CALL_CLOSE },
	{ "__xstat64", TRACE_STAT, CALL_FILE },
	{ "__lxstat", TRACE_STAT, CALL_FILE },
	{ "__fxstat64", TRACE_STAT, CALL_FILE },
	{ "__fxstatat", TRACE_STAT, CALL_FILE },
	{ "writev", TRACE_WRITE, CALL_TRANSFER },
};

START_TEST(a_call_has_several_names)
{
	const struct call *k = call_find(known[_i].name);

	ck_assert_ptr_nonnull(k);
	ck_assert_uint_eq(k->op, known[_i].op);
	ck_assert_int_eq(k->kind, known[_i].kind);
}
END_TEST

START_TEST(others_are_not_known)
{
	static const char *const names[] = {
		"",          "64",
		"_",         "sys_",
		"ftruncate", "reads",
		"Read",      "a name that is much longer than that of any call could be",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_ptr_null(call_find(names[i]));
}
END_TEST

/* ---- positions ---- */

struct rig {
	struct importing m;
	struct calls *calls;
	struct mlgen_err err;
	int fd;
	uint64_t now_ns;
};

static void begin(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = memfd_create("trace", MFD_CLOEXEC);
	ck_assert_int_eq(trace_fill_new(&r->m.fill, r->fd, "t", "t", &r->err), 0);
	r->calls = calls_new(&r->m, true);
}

static void end(struct rig *r)
{
	calls_free(r->calls);
	trace_fill_abandon(r->m.fill);
	import_tally_fini(&r->m.tally);
	close(r->fd);
}

/* By descriptor, or where that is -1 by name. */
static struct call_event seen(int64_t fd, const char *name, int64_t result, struct rig *r)
{
	return (struct call_event){
		.pid = 1,
		.tid = 1,
		.start_ns = r->now_ns += 10,
		.duration_ns = 1,
		.fd = fd,
		.file = name ? trace_fill_name(r->m.fill, name, strlen(name)) : 0,
		.off = TRACE_UNKNOWN,
		.bytes = TRACE_UNKNOWN,
		.flags = TRACE_UNKNOWN,
		.whence = -1,
		.has_result = true,
		.result = result,
	};
}

static void take(struct rig *r, const char *name, struct call_event s)
{
	ck_assert_int_eq(calls_add(r->calls, call_find(name), &s, &r->err), 0);
}

START_TEST(what_nobody_opened_has_no_position)
{
	struct rig r;

	begin(&r);
	take(&r, "read", seen(3, "/a", 10, &r));
	ck_assert_uint_eq(r.m.tally.inferred, 0);
	take(&r, "lseek", seen(3, NULL, 40, &r));
	take(&r, "read", seen(3, NULL, 10, &r));
	ck_assert_uint_eq(r.m.tally.inferred, 1);
	end(&r);
}
END_TEST

START_TEST(a_descriptor_that_is_another_file_is_not_the_one_before)
{
	struct rig r;

	begin(&r);
	take(&r, "open", seen(-1, "/a", 3, &r));
	take(&r, "read", seen(3, "/a", 10, &r));
	ck_assert_uint_eq(r.m.tally.inferred, 1);
	take(&r, "read", seen(3, "/b", 10, &r));
	ck_assert_uint_eq(r.m.tally.inferred, 1);
	end(&r);
}
END_TEST

START_TEST(a_descriptor_without_a_file_is_left_out)
{
	struct rig r;

	begin(&r);
	take(&r, "read", seen(0, NULL, 10, &r));
	take(&r, "open", seen(-1, "/a", 3, &r));
	ck_assert(calls_has_fd(r.calls, 1, 3));
	take(&r, "close", seen(3, NULL, 0, &r));
	ck_assert(!calls_has_fd(r.calls, 1, 3));
	take(&r, "read", seen(3, NULL, 10, &r));
	calls_add_notes(r.calls);
	ck_assert_ptr_nonnull(strstr(buf_str(&r.m.tally.notes), "left out: read 2\n"));
	end(&r);
}
END_TEST

START_TEST(a_failed_open_opens_nothing)
{
	struct rig r;

	begin(&r);
	take(&r, "open", seen(-1, "/a", -ENOENT, &r));
	take(&r, "read", seen(-1, "/a", 10, &r));
	ck_assert_uint_eq(r.m.tally.inferred, 0);
	end(&r);
}
END_TEST

/* ---- times of day ---- */

static const struct {
	const char *text;
	uint64_t ns;
} times[] = {
	{ "1970-01-01T00:00:00Z", 0 },
	{ "2022-05-10T12:00:00.123456789Z", 1652184000123456789 },
	{ "2022-05-10T14:00:00+02:00", 1652184000000000000 },
	{ "2022-05-10 06:30:00.5-0530", 1652184000500000000 },
	{ "2022-05-10T12:00:00", 1652184000000000000 },
};

static const char *const no_times[] = {
	"",
	"2022-05-10",
	"2022-05-10T12:00",
	"2022-05-10T12:00:00.Z",
	"2022-05-10T12:00:00Zulu",
	"2022-05-10T12:00:00+2",
	"1969-12-31T23:59:59Z",
	"9999-12-31T23:59:59Z",
	"22-05-10T12:00:00Z",
};

START_TEST(a_time_of_day_is_read)
{
	uint64_t ns = 1;

	ck_assert(dio_time_parse(times[_i].text, &ns));
	ck_assert_uint_eq(ns, times[_i].ns);
}
END_TEST

START_TEST(what_is_none_is_not)
{
	uint64_t ns;

	ck_assert(!dio_time_parse(no_times[_i], &ns));
}
END_TEST

Suite *suite_calls(void)
{
	Suite *s = suite_create("calls");
	TCase *t = tcase_create("calls");

	tcase_add_loop_test(t, a_call_has_several_names, 0, ARRAY_LEN(known));
	tcase_add_test(t, others_are_not_known);
	tcase_add_test(t, what_nobody_opened_has_no_position);
	tcase_add_test(t, a_descriptor_that_is_another_file_is_not_the_one_before);
	tcase_add_test(t, a_descriptor_without_a_file_is_left_out);
	tcase_add_test(t, a_failed_open_opens_nothing);
	tcase_add_loop_test(t, a_time_of_day_is_read, 0, ARRAY_LEN(times));
	tcase_add_loop_test(t, what_is_none_is_not, 0, ARRAY_LEN(no_times));
	suite_add_tcase(s, t);
	return s;
}
