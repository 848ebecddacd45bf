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

#include "data/dataset.h"
#include "data/format.h"
#include "data/scan.h"
#include "suites.h"
#include "work/workloads.h"

static char directory[64], log_path[80];
static struct mlgen_err err;

/* What is said on stderr goes to a file that tests may read. */
static void set_up(void)
{
	int fd;

	snprintf(directory, sizeof(directory), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(log_path, sizeof(log_path), "%s.log", directory);
	fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(chdir(directory), 0);
}

static void tear_down(void)
{
	char command[256];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command),
		 "chmod -R u+rwx '%s'; rm -rf '%s' '%s'", directory, directory,
		 log_path);
	ck_assert_int_eq(system(command), 0);
}

static void put(const char *path, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static void folder(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

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
	const struct scan_request req = { .directory = directory,
					  .errors = errors };
	int r = scan_new(&s, &req, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	return s;
}

static void refused(enum job_scan_errors errors, int code, const char *words)
{
	const struct scan_request req = { .directory = directory,
					  .errors = errors };
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
	static const char *const names[] = { "a",     "a-1",  "b.x",
					     "b/c/d", "b/z",  "b0/1",
					     "b00",   "c\nd", "\xff" };
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
	ck_assert_ptr_nonnull(strstr(said(), "out: 5 that were met before\n"));
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
			snprintf(name, sizeof(name), "%02u/%c", i,
				 'a' + (char)k);
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
	ck_assert_ptr_nonnull(
		strstr(said(), "out: 1 folder deeper than scan_depth\n"));
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
		": dataset=scan found 2 sockets, pipes or devices, 3 links "
		"that lead nowhere or in a circle; --scan_errors=skip");
	ck_assert_ptr_nonnull(strstr(said(), "/socket: a socket, pipe"));
	ck_assert_ptr_nonnull(strstr(said(), "/pi\\npe: "));
	ck_assert_ptr_nonnull(strstr(said(), "/circle: a link in a circle\n"));
	ck_assert_ptr_nonnull(strstr(said(), "/broken: a link that leads "));
	ck_assert_ptr_nonnull(strstr(said(), "/d/up/: a link back to"));
	s = found(SCAN_SKIP);
	ck_assert_uint_eq(scan_files(s), 1);
	scan_skipped(s, &skipped);
	ck_assert_uint_eq(skipped.special, 2);
	ck_assert_uint_eq(skipped.links, 3);
	ck_assert_uint_eq(skipped.empty, 1);
	ck_assert_uint_eq(skipped.unreadable, 0);
	ck_assert_ptr_nonnull(strstr(said(), "circle, 1 empty file\n"));
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
	refused(SCAN_REFUSE, -EACCES, "found 2 that cannot be read");
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
	refused(SCAN_SKIP, -ENOENT, "holds no file that could be read");
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
	refused(SCAN_REFUSE, -ENOENT, "holds no file that could be read");
}
END_TEST

START_TEST(names_need_a_place_and_leave_nothing_there)
{
	struct scan *s;
	char inside[96];

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
		snprintf(name, sizeof(name), "%u/img_%06u_of_020000.jpeg",
			 i % 2, i);
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

static struct job scan_job(void)
{
	return (struct job){ .directory = directory,
			     .dataset = DATASET_SCAN,
			     .format = FORMAT_RAW,
			     .num_files = 256,
			     .samples_per_file = 1,
			     .sample_size = { .kind = DIST_CONST, .a = 1000 },
			     .scale = 100,
			     .accelerators = 1,
			     .batch_size = 1,
			     .drop_last = true };
}

START_TEST(a_dataset_has_names_and_sizes_of_a_scan)
{
	struct job job = scan_job();
	struct dataset_totals t;
	struct file_shape shape;
	struct dataset ds;
	char path[256], want[256];

	put("a", 1000);
	put("b", 3000);
	put("c", 8001);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(dataset_samples(&ds), 3);
	ck_assert_uint_eq(dataset_all_files(&ds), 3);
	dataset_totals(&ds, &t);
	ck_assert_uint_eq(t.bytes, 12001);
	ck_assert_uint_eq(t.sample_bytes, 12001);
	ck_assert_double_eq(t.mean_sample_bytes, 12001.0 / 3);
	ck_assert_double_eq(dist_mean(&ds.sample_size), 12001.0 / 3);
	ck_assert(!t.estimate);
	ck_assert_uint_eq(dataset_file_bytes(&ds, 2), 8001);
	ck_assert_uint_eq(dataset_sample_bytes(&ds, 1), 3000);
	format_shape(&ds, 1, &shape);
	ck_assert_uint_eq(shape.sides[0], 1);
	ck_assert_uint_eq(shape.sides[1], 3000);
	ck_assert_uint_eq(shape.samples, 1);
	snprintf(want, sizeof(want), "%s/b", directory);
	ck_assert_int_eq(dataset_path(&ds, 1, path, sizeof(path)),
			 (int)strlen(want));
	ck_assert_str_eq(path, want);
	ck_assert_int_eq(dataset_path(&ds, 1, path, strlen(want)),
			 -ENAMETOOLONG);
	dataset_fini(&ds);
}
END_TEST

START_TEST(scale_takes_the_first_files_of_a_scan)
{
	struct job job = scan_job();
	struct dataset ds;

	for (unsigned i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%02u", i);
		put(name, i + 1);
	}
	job.scale = 50;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 10);
	ck_assert_double_eq(dist_mean(&ds.sample_size), 5.5);
	dataset_fini(&ds);
	job.scale = 1; /* four batches */
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 4);
	dataset_fini(&ds);
}
END_TEST

START_TEST(what_only_made_files_have_is_refused)
{
	static const struct {
		int format, phase;
		uint64_t per_file, eval_files, batch;
		double ratio;
		const char *words;
	} cases[] = {
		{ FORMAT_RAW, PHASE_PREPARE, 1, 0, 1, 0, "phase: prepare" },
		{ FORMAT_RAW, PHASE_TRAIN, 2, 0, 1, 0, "samples_per_file: " },
		{ FORMAT_RAW, PHASE_TRAIN, 1, 0, 1, 5, "dataset_ratio: 5 x" },
		{ FORMAT_RAW, PHASE_TRAIN, 1, 0, 2, 0, "batch_size: 2 is " },
	};
	struct job job = scan_job();
	struct dataset ds;

	put("a", 10);
	job.format = cases[_i].format;
	job.phase = cases[_i].phase;
	job.samples_per_file = cases[_i].per_file;
	job.eval_files = cases[_i].eval_files;
	job.batch_size = cases[_i].batch;
	job.dataset_ratio = cases[_i].ratio;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, cases[_i].words) == err.text, "%s",
		      err.text);
}
END_TEST

START_TEST(files_to_evaluate_with_lie_in_valid)
{
	struct job job = scan_job();
	struct dataset ds, eval;
	char path[256], want[256];

	folder("train");
	put("train/b", 1);
	put("train/a", 10);
	put("labels", 1000);
	job.eval_files = 2;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 2);
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "eval_files: "));
	ck_assert_ptr_nonnull(strstr(err.text, "no folders train and valid"));
	folder("valid");
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), -ENOENT);
	put("valid/c", 100);
	put("valid/d", 300);
	put("valid/e", 500);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 3);
	ck_assert_double_eq(dist_mean(&eval.sample_size), 300);
	snprintf(want, sizeof(want), "%s/valid/d", directory);
	ck_assert_int_eq(dataset_path(&eval, 1, path, sizeof(path)),
			 (int)strlen(want));
	ck_assert_str_eq(path, want);
	dataset_fini(&eval);
	job.scale = 50;
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 2);
	dataset_fini(&eval);
	job.eval_files = 0;
	ck_assert_int_eq(dataset_init_eval(&eval, &ds, &job, &err), 0);
	ck_assert_uint_eq(eval.files, 0);
	dataset_fini(&ds);
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
	tcase_add_test(t,
		       what_may_not_be_read_is_refused_or_skipped_and_counted);
	tcase_add_test(t, what_mlgen_leaves_beside_its_files_is_not_seen);
	tcase_add_test(t, without_a_directory_nothing_is_found);
	tcase_add_test(t, names_need_a_place_and_leave_nothing_there);
	tcase_add_test(t, files_take_little_memory);
	tcase_add_test(t, a_dataset_has_names_and_sizes_of_a_scan);
	tcase_add_test(t, scale_takes_the_first_files_of_a_scan);
	tcase_add_loop_test(t, what_only_made_files_have_is_refused, 0, 4);
	tcase_add_test(t, files_to_evaluate_with_lie_in_valid);
	suite_add_tcase(s, t);
	return s;
}
