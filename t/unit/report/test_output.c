/* SPDX-License-Identifier: Apache-2.0 */
/* test_output.c - a file appears whole or not at all. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/thread.h"
#include "report/output/output.h"
#include "suites.h"
#include "temp.h"

static char directory[TEMP_BYTES], path[TEMP_BELOW];

static void set_up(void)
{
	temp_folder(directory);
	snprintf(path, sizeof(path), "%s/out", directory);
}

static void tear_down(void)
{
	temp_remove(directory);
}

static unsigned files_in_directory(void)
{
	DIR *d = opendir(directory);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

static void put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void expect(const char *file, const char *want)
{
	char got[64];
	FILE *f = fopen(file, "r");

	ck_assert_ptr_nonnull(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	ck_assert_str_eq(got, want);
}

static mode_t mode_of(const char *file)
{
	struct stat st;

	ck_assert_int_eq(stat(file, &st), 0);
	return st.st_mode & 07777;
}

static int open_output(struct output *o, const char *file, struct mlgen_err *err)
{
	struct place p;
	int rc = place_open(&p, "output", file, err);

	memset(o, 0, sizeof(*o));
	return rc ? rc : output_open(o, &p, err);
}

static void write_output(const char *file, const char *text)
{
	struct mlgen_err err = { 0 };
	struct output o;

	ck_assert_msg(open_output(&o, file, &err) == 0, "%s", err.text);
	fputs(text, o.to);
	ck_assert_msg(output_close(&o, &err) == 0, "%s", err.text);
	ck_assert_ptr_null(o.to);
}

START_TEST(a_new_file_has_the_mode_of_the_umask)
{
	umask(027);
	write_output(path, "new\n");
	expect(path, "new\n");
	ck_assert_uint_eq(mode_of(path), 0640);
	ck_assert_uint_eq(files_in_directory(), 1);
}
END_TEST

START_TEST(an_old_file_is_replaced_and_keeps_its_mode)
{
	put(path, "a longer text than the new one\n");
	ck_assert_int_eq(chmod(path, 0604), 0);
	write_output(path, "new\n");
	expect(path, "new\n");
	ck_assert_uint_eq(mode_of(path), 0604);
	ck_assert_uint_eq(files_in_directory(), 1);
}
END_TEST

START_TEST(until_it_is_closed_the_old_file_is_there)
{
	struct mlgen_err err = { 0 };
	struct output o;

	put(path, "old\n");
	ck_assert_int_eq(open_output(&o, path, &err), 0);
	fputs("new\n", o.to);
	fflush(o.to);
	expect(path, "old\n");
	output_abandon(&o);
	expect(path, "old\n");
	ck_assert_uint_eq(files_in_directory(), 1);
	output_abandon(&o);
}
END_TEST

START_TEST(a_link_stays_and_its_target_is_replaced)
{
	char link_path[192];
	struct stat st;

	snprintf(link_path, sizeof(link_path), "%s/link", directory);
	put(path, "old\n");
	ck_assert_int_eq(symlink("out", link_path), 0);
	write_output(link_path, "new\n");
	expect(path, "new\n");
	ck_assert_int_eq(lstat(link_path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_uint_eq(files_in_directory(), 2);
}
END_TEST

START_TEST(a_link_to_nothing_makes_its_target)
{
	char link_path[192];

	snprintf(link_path, sizeof(link_path), "%s/link", directory);
	ck_assert_int_eq(symlink("out", link_path), 0);
	write_output(link_path, "new\n");
	expect(path, "new\n");
}
END_TEST

START_TEST(a_device_is_written_in_place)
{
	struct stat st;

	write_output("/dev/null", "text\n");
	ck_assert_int_eq(stat("/dev/null", &st), 0);
	ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

START_TEST(a_pipe_is_written_in_place)
{
	char got[8] = "";

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	write_output(path, "text\n");
	ck_assert_int_eq((int)read(fd, got, sizeof(got) - 1), 5);
	ck_assert_str_eq(got, "text\n");
	close(fd);
}
END_TEST

START_TEST(a_full_device_is_an_error_in_the_systems_words)
{
	struct mlgen_err err = { 0 };
	struct output o;

	ck_assert_int_eq(open_output(&o, "/dev/full", &err), 0);
	for (unsigned i = 0; i < 10000; i++)
		fputs("a report\n", o.to);
	ck_assert_int_eq(output_close(&o, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "/dev/full"));
	ck_assert_ptr_nonnull(strstr(err.text, strerror(ENOSPC)));
}
END_TEST

START_TEST(what_is_streamed_is_not_kept_and_replaces_all_the_same)
{
	struct mlgen_err err = { 0 };
	struct output o;
	struct stat st;

	put(path, "old\n");
	ck_assert_int_eq(open_output(&o, path, &err), 0);
	ck_assert_int_eq(output_stream(&o, &err), 0);
	for (unsigned i = 0; i < 1000000; i++)
		fputs("a row\n", o.to);
	ck_assert_ptr_null(o.text);
	ck_assert_int_eq(fstat(o.file.fd, &st), 0);
	ck_assert_int_gt(st.st_size, 5000000);
	expect(path, "old\n");
	ck_assert_int_eq(output_close(&o, &err), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 6000000);
	ck_assert_uint_eq(files_in_directory(), 1);
}
END_TEST

START_TEST(what_is_streamed_and_given_up_leaves_the_old_file)
{
	struct mlgen_err err = { 0 };
	struct output o;

	put(path, "old\n");
	ck_assert_int_eq(open_output(&o, path, &err), 0);
	ck_assert_int_eq(output_stream(&o, &err), 0);
	fputs("half a row", o.to);
	output_abandon(&o);
	expect(path, "old\n");
	ck_assert_uint_eq(files_in_directory(), 1);
}
END_TEST

START_TEST(a_stream_that_fails_says_why_when_it_is_closed)
{
	struct mlgen_err err = { 0 };
	struct output o;

	ck_assert_int_eq(open_output(&o, "/dev/full", &err), 0);
	ck_assert_int_eq(output_stream(&o, &err), 0);
	for (unsigned i = 0; i < 1000000; i++)
		fputs("a row\n", o.to);
	ck_assert(ferror(o.to));
	ck_assert_int_eq(output_close(&o, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, strerror(ENOSPC)));
}
END_TEST

static const struct {
	const char *name; /* in the directory */
	int code;
} refused[] = {
	{ "", -EISDIR },
	{ "/missing/out", -ENOENT },
	{ "/file/out", -ENOTDIR },
};

START_TEST(what_cannot_be_written_is_refused_when_opened)
{
	struct mlgen_err err = { 0 };
	struct output o;
	char file[192];

	snprintf(file, sizeof(file), "%s/file", directory);
	put(file, "old\n");
	snprintf(file, sizeof(file), "%s%s", directory, refused[_i].name);
	ck_assert_int_eq(open_output(&o, file, &err), refused[_i].code);
	ck_assert_ptr_nonnull(strstr(err.text, file));
	ck_assert_ptr_null(o.to);
	ck_assert_uint_eq(files_in_directory(), 1);
}
END_TEST

START_TEST(a_zeroed_one_can_be_abandoned)
{
	struct output o = { 0 };

	output_abandon(&o);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD) >= 0, 1);
}
END_TEST

/* The letter of /proc/PID/stat. */
static char process_state(pid_t pid)
{
	char name[64], state = '?';
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	f = fopen(name, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state;
}

START_TEST(no_file_is_made_once_they_are_stopped)
{
	struct replace r = { 0 };
	pid_t child = fork();
	char state;
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		replace_stop();
		_exit(replace_begin(&r, path, 0600) < 0);
	}
	do
		state = process_state(child);
	while (state != 'S' && state != 'Z');
	ck_assert_uint_eq(files_in_directory(), 0);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
}
END_TEST

/* What the child changes, and whoever ends it looks at. */
static _Atomic bool is_changing;

static void leave(void *arg)
{
	(void)arg;
	_exit(is_changing ? 1 : 0);
}

START_TEST(nobody_ends_the_program_while_an_output_is_changed)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		signals_begin(leave, NULL);
		signals_hold();
		is_changing = true;
		kill(getpid(), SIGTERM);
		nanosleep(&moment, NULL); /* the guard is there by now */
		is_changing = false;
		signals_release();
		for (;;)
			pause();
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}
END_TEST

Suite *suite_output(void)
{
	Suite *s = suite_create("output");
	TCase *t = tcase_create("output");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_new_file_has_the_mode_of_the_umask);
	tcase_add_test(t, nobody_ends_the_program_while_an_output_is_changed);
	tcase_add_test(t, an_old_file_is_replaced_and_keeps_its_mode);
	tcase_add_test(t, until_it_is_closed_the_old_file_is_there);
	tcase_add_test(t, a_link_stays_and_its_target_is_replaced);
	tcase_add_test(t, a_link_to_nothing_makes_its_target);
	tcase_add_test(t, a_device_is_written_in_place);
	tcase_add_test(t, a_pipe_is_written_in_place);
	tcase_add_test(t, a_full_device_is_an_error_in_the_systems_words);
	tcase_add_test(t, what_is_streamed_is_not_kept_and_replaces_all_the_same);
	tcase_add_test(t, what_is_streamed_and_given_up_leaves_the_old_file);
	tcase_add_test(t, a_stream_that_fails_says_why_when_it_is_closed);
	tcase_add_loop_test(t, what_cannot_be_written_is_refused_when_opened, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(t, a_zeroed_one_can_be_abandoned);
	tcase_add_test(t, no_file_is_made_once_they_are_stopped);
	suite_add_tcase(s, t);
	return s;
}
