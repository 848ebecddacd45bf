/* SPDX-License-Identifier: Apache-2.0 */
/* test_strace.c - lines of strace, in all of its forms, are the calls that they say. */
#include "suites.h"

#include "strace_rig.h"

/* ---- what stands before a call ---- */

START_TEST(a_line_has_a_pid_or_none_and_a_time_of_any_form)
{
	static const struct {
		const char *line, *begins;
	} forms[] = {
		{ "7 00:00:02 fsync(3</a>) = 0 <0.000005>", "2" S ",5000,7,7,,fsync,/a,,0,0,\n" },
		{ "00:00:02 fsync(3</a>) = 0 <0.000005>", "2" S ",5000,,,,fsync,/a,,0,0,\n" },
		{ "[pid  7] 00:00:02.000001 fsync(3</a>) = 0 <0.000005>",
		  "2000001000,5000,7,7,,fsync,/a,,0,0,\n" },
		{ "7<name of it> 00:00:02 fsync(3</a>) = 0 <0.000005>",
		  "2" S ",5000,7,7,,fsync,/a,,0,0,\n" },
		{ "[pid 7<it>] 00:00:02 fsync(3</a>) = 0 <0.000005>",
		  "2" S ",5000,7,7,,fsync,/a,,0,0,\n" },
		{ "7 00:00:02.123456789 fsync(3</a>) = 0 <0.000005123>",
		  "2123456789,5123,7,7,,fsync,/a,,0,0,\n" },
		{ "7 1795455328.058407 fsync(3</a>) = 0",
		  "1795455328058407000,,7,7,,fsync,/a,,0,0,\n" },
		{ "7 1795455328 fsync(3</a>) = 0 <0>", "1795455328" S ",0,7,7,,fsync,/a,,0,0,\n" },
		{ "1795455328 fsync(3</a>) = 0", "1795455328" S ",,,,,fsync,/a,,0,0,\n" },
		{ "7 00:00:02 (+     0.000123) [  74] [00007f01] fsync(3</a>)      = 0",
		  "2" S ",,7,7,,fsync,/a,,0,0,\n" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		ROWS(forms[i].line, forms[i].begins);
		ck_assert_uint_eq(m.tally.unread, 0);
	}
}
END_TEST

START_TEST(times_of_day_go_on_over_midnight)
{
	ROWS("7 23:59:59 fsync(3</a>) = 0 <0.000001>\n"
	     "7 00:00:01 fsync(3</b>) = 0 <0.000001>\n"
	     "7 00:00:00.5 fsync(3</c>) = 0 <0.000001>\n"
	     "7 12:00:02 fsync(3</d>) = 0 <0.000001>\n"
	     "7 00:00:00 fsync(3</e>) = 0 <0.000001>\n",
	     "86399" S ",1000,7,7,,fsync,/a,,0,0,\n"
	     "86400500000000,1000,7,7,,fsync,/c,,0,0,\n"
	     "86401" S ",1000,7,7,,fsync,/b,,0,0,\n"
	     "129602" S ",1000,7,7,,fsync,/d,,0,0,\n"
	     "172800" S ",1000,7,7,,fsync,/e,,0,0,\n");
	ck_assert_ptr_nonnull(strstr(buf_str(&m.tally.notes), "day 0"));
}
END_TEST

START_TEST(a_log_without_times_is_refused_with_what_makes_them)
{
	ck_assert_int_eq(import("7 fsync(3</a>) = 0\n"), -EINVAL);
	ck_assert_str_eq(err.text, "log:1: has no time; let strace write the time of each call, "
				   "best with strace -f -ttt -T -yy");
	ck_assert_int_eq(import("\n     0.000123 fsync(3</a>) = 0\n"), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(err.text, "log:2: has only the time since the previous line (-r)"));
	ck_assert_int_eq(import("read(3, \"\", 0 <unfinished ...>\n"), -EINVAL);
}
END_TEST

START_TEST(what_is_no_call_is_passed_over)
{
	ROWS("strace: Process 7 attached\n"
	     "strace: something\n"
	     "\n"
	     "7 00:00:01 --- SIGCHLD {si_signo=SIGCHLD, si_pid=8} ---\n"
	     "7 00:00:01 --- stopped by SIGSTOP ---\n"
	     "[ Process PID=7 runs in 32 bit mode. ]\n"
	     "7 00:00:02 restart_syscall(<... resuming interrupted nanosleep ...>) = 0\n"
	     "7 00:00:02 rt_sigreturn({mask=[]}) = 59\n"
	     "7 00:00:02 exit_group(0) = ?\n"
	     " > /usr/lib/libc.so.6(__read+0x1) [0xf1]\n"
	     "7 00:00:02 wait4(8, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 8\n"
	     "7 00:00:02 ioctl(3, SNDCTL_TMR_START or TCSETS, {c_iflag=ICRNL, ...}) = -1 ENOTTY "
	     "(Inappropriate ioctl for device)\n"
	     "7 00:00:03 read(0</a>, strace: Process 7 detached\n"
	     " <detached ...>\n"
	     "% time     seconds  usecs/call     calls    errors syscall\n"
	     "------ ----------- ----------- --------- --------- -------\n",
	     "");
	ck_assert_uint_eq(m.tally.unread, 0);
	ck_assert_uint_eq(m.tally.unknown_count, 0);
}
END_TEST

START_TEST(what_cannot_be_read_is_told_with_its_line)
{
	rows_of("7 00:00:01 fsync(3</a>) = 0\n"
		"hello, world\n"
		"7 00:00:01 fsync(3</a>\n"
		"7 00:00:01 fsync(3</a>)\n"
		"7 00:00:01 fsync(3</a>) = no\n"
		"7 00:00:01 fsync(\"a\") = 0\n"
		"7 00:00:01 <... read resumed>\"\", 1) = 0\n"
		"7 00:00:01 read(3</a>, \"\") = 0\n"
		"fsync(3</a>) = 0\n");
	ck_assert_uint_eq(m.tally.lines, 9);
	ck_assert_uint_eq(m.tally.unread, 8);
	ck_assert_ptr_nonnull(strstr(buf_str(&m.tally.first_unread),
				     "log:2: no time, or no call\n"
				     "log:3: a call without an end\n"
				     "log:4: a call without a result\n"
				     "log:5: the result is not a number\n"
				     "log:6: a descriptor is not a number\n"));
}
END_TEST

START_TEST(calls_on_files_that_have_no_record_are_counted_by_name)
{
	rows_of("7 00:00:01 chmod(\"/a\", 0600) = 0\n"
		"7 00:00:01 chmod(\"/a\", 0600) = 0\n"
		"7 00:00:01 syscall_0x1ff(0, 0) = -1 ENOSYS (Function not implemented)\n"
		"7 00:00:01 futex(0x7f01, FUTEX_WAKE, 1) = 0\n"
		"7 00:00:01 access(\"/a\", R_OK) = 0\n");
	ck_assert_uint_eq(m.tally.unknown_count, 2);
	ck_assert_str_eq(m.tally.unknown[0].name, "chmod");
	ck_assert_uint_eq(m.tally.unknown[0].count, 2);
	ck_assert_str_eq(m.tally.unknown[1].name, "syscall_0x1ff");
}
END_TEST

/* ---- halves ---- */

START_TEST(two_halves_are_one_call)
{
	ROWS("7 00:00:01 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.000001>\n"
	     "7 00:00:02 read(3,  <unfinished ...>\n"
	     "8 00:00:03 openat(AT_FDCWD, \"/b\", O_RDONLY <unfinished ...>\n"
	     "7 00:00:04 <... read resumed>\"x\", 4) = 1\n"
	     "8 00:00:05 <... openat resumed>) = 4 <2.000000>\n"
	     "8 00:00:06 futex(0x7f01, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
	     "7 00:00:07 read(3,  <unfinished ...>) = ?\n"
	     "7 00:00:08 +++ killed by SIGKILL (core dumped) +++\n"
	     "8 00:00:09 <... futex resumed> <unfinished ...>) = ?\n"
	     "8 00:00:09 +++ exited with 3 +++\n",
	     "1" S ",1000,7,7,,open,/a,,0,3,\n"
	     "2" S ",2" S ",7,7,,read,/a,0,4,1,\n"
	     "3" S ",2" S ",8,8,,open,/b,,0,4,\n"
	     "8" S ",0,7,7,,exit,,,0,137,\n"
	     "9" S ",0,8,8,,exit,,,0,3,\n");
	ck_assert_uint_eq(m.tally.unread, 0);
}
END_TEST

START_TEST(a_message_in_the_middle_of_a_line_does_not_break_it)
{
	ROWS("00:00:01 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLDstrace: Process 8 "
	     "attached\n"
	     ", child_tidptr=0x7f01) = 8 <0.000001>\n"
	     "[pid     7] 00:00:02 fsync(3</a>) = 0 <0.000001>\n"
	     "[pid     8] 00:00:02 +++ exited with 0 +++\n"
	     "00:00:03 fsync(3</a>) = 0 <0.000001>\n",
	     "1" S ",1000,7,7,,fork,,,0,8,\n"
	     "2" S ",1000,7,7,,fsync,/a,,0,0,\n"
	     "2" S ",0,8,8,,exit,,,0,0,\n"
	     "3" S ",1000,7,7,,fsync,/a,,0,0,\n");
	ck_assert_uint_eq(m.tally.unread, 0);
}
END_TEST

START_TEST(a_descriptor_is_free_when_its_close_begins)
{
	ROWS("7 00:00:01 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0>\n"
	     "7 00:00:02 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f01} => "
	     "{parent_tid=[8]}, 88) = 8 <0>\n"
	     "7 00:00:03 close(3 <unfinished ...>\n"
	     "8 00:00:04 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3 <0>\n"
	     "7 00:00:05 <... close resumed>) = 0 <2.0>\n"
	     "8 00:00:06 read(3, \"\"..., 5) = 5 <0>\n",
	     "1" S ",0,7,7,,open,/a,,0,3,\n"
	     "3" S ",2" S ",7,7,,close,/a,,0,0,\n"
	     "4" S ",0,7,8,,open,/b,,0,3,\n"
	     "6" S ",0,7,8,,read,/b,0,5,5,\n");
}
END_TEST

Suite *suite_strace(void)
{
	Suite *s = suite_create("strace");
	TCase *c = tcase_create("lines");

	tcase_add_checked_fixture(c, NULL, free_all);
	tcase_add_test(c, a_line_has_a_pid_or_none_and_a_time_of_any_form);
	tcase_add_test(c, times_of_day_go_on_over_midnight);
	tcase_add_test(c, a_log_without_times_is_refused_with_what_makes_them);
	tcase_add_test(c, what_is_no_call_is_passed_over);
	tcase_add_test(c, what_cannot_be_read_is_told_with_its_line);
	tcase_add_test(c, calls_on_files_that_have_no_record_are_counted_by_name);
	tcase_add_test(c, two_halves_are_one_call);
	tcase_add_test(c, a_message_in_the_middle_of_a_line_does_not_break_it);
	tcase_add_test(c, a_descriptor_is_free_when_its_close_begins);
	suite_add_tcase(s, c);
	return s;
}
