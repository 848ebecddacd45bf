/* SPDX-License-Identifier: Apache-2.0 */
/* test_iofiles.c - files of a plain job: their names, sizes and regions, and what is refused. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/engines.h"
#include "iofiles_rig.h"
#include "suites.h"
#include "work/plain/plain.h"

/* ---- names */

/* clang-format off */
static const struct {
	const char *name, *directory, *filename;
	uint64_t numjobs;
	const char *paths; /* with blanks between them; NULL = refused */
	const char *words;
} names[] = {
	{ "x", "d", NULL, 1, "d/x.0.0", NULL },
	{ "x", NULL, NULL, 1, "x.0.0", NULL },
	{ "x", "d", NULL, 3, "d/x.0.0 d/x.1.0 d/x.2.0", NULL },
	{ "a/b", "d", NULL, 1, "d/a/b.0.0", NULL },
	{ "a:b", "d", NULL, 1, "d/a:b.0.0", NULL },
	{ "x", "d", "f", 3, "d/f", NULL },
	{ "x", "d", "f:g", 1, "d/f d/g", NULL },
	{ "x", "d", "f::g:", 1, "d/f d/g", NULL },
	{ "x", NULL, "f", 1, "f", NULL },
	{ "x", "d", "f\\:g", 1, "d/f:g", NULL },
	{ "x", "d", "f\\:g:h\\i", 1, "d/f:g d/h\\i", NULL },
	{ "x", "d", "s/f", 1, "d/s/f", NULL },
	{ "x", "d", "/var/tmp/mlgen-none", 1, "/var/tmp/mlgen-none", NULL },
	{ "x", "d\\:e", "f", 1, "d:e/f", NULL },
	{ "/dev/zero", "d", NULL, 2, "/dev/zero", NULL },
	{ "x", "d:e", "f", 1, NULL, "directory: 'd:e' is a list" },
	{ "x", "d", "f:g:f", 1, NULL, "filename: 'f' is named twice" },
	{ "x", "d", "-", 1, NULL, "filename: '-' (standard input" },
	{ "x", "d", ":", 1, NULL, "filename: contains no name" },
};
/* clang-format on */

START_TEST(files_have_the_names_that_fio_gives)
{
	char paths[256] = "", name[32], directory[32];

	shell("mkdir d:e");
	make_job(RW_READ, names[_i].filename, "64k");
	snprintf(name, sizeof(name), "%s", names[_i].name);
	job.name = name;
	job.numjobs = names[_i].numjobs;
	job.directory = NULL;
	if (names[_i].directory) {
		snprintf(directory, sizeof(directory), "%s", names[_i].directory);
		job.directory = directory;
	}
	if (!names[_i].paths) {
		look_fails(-EINVAL, names[_i].words);
		return;
	}
	look_ok();
	for (size_t i = 0; i < files.count; i++)
		snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s%s", i ? " " : "",
			 files.files[i].path);
	ck_assert_str_eq(paths, names[_i].paths);
}
END_TEST

START_TEST(a_default_directory_is_none)
{
	struct job *j = job_new("x");

	job_set_engine(j, engines_find("psync"));
	j->phase = PHASE_IO;
	j->size.bytes = K;
	request.job = j;
	look_ok();
	ck_assert_str_eq(files.files[0].path, "x.0.0");
	ck_assert_str_eq(files.directory, ".");
	job_free(j);
}
END_TEST

START_TEST(each_worker_has_its_own_file_or_all_share_them)
{
	const struct iofile *f;
	size_t n;

	job.numjobs = 3;
	look_ok();
	f = iofiles_of(&files, 2, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(f->path, "d/x.2.0");
	ck_assert_str_eq(files.directory, "d");
	make_job(RW_READ, "p:q", NULL);
	job.numjobs = 3;
	look_ok();
	ck_assert_ptr_eq(iofiles_of(&files, 2, &n), files.files);
	ck_assert_uint_eq(n, 2);
}
END_TEST

/* ---- sizes: p has 64k, q 128k, the others are missing */

/* clang-format off */
static const struct {
	const char *filename, *size, *offset, *filesize;
	uint64_t bytes[2], off[2], part[2]; /* in k */
	const char *words; /* of the refusal; NULL = none */
} sizes[] = {
	/* what is there */
	{ "p:q", NULL, NULL, NULL, { 64, 128 }, { 0, 0 }, { 64, 128 }, NULL },
	{ "p:q", "64k", NULL, NULL, { 64, 128 }, { 0, 0 }, { 32, 32 }, NULL },
	{ "p:q", "50%", NULL, NULL, { 64, 128 }, { 0, 0 }, { 32, 64 }, NULL },
	{ "p:q", NULL, "16k", NULL, { 64, 128 }, { 16, 16 }, { 48, 112 }, NULL },
	{ "p:q", NULL, "25%", NULL, { 64, 128 }, { 16, 32 }, { 48, 96 }, NULL },
	{ "p:q", "64k", "16k", NULL, { 64, 128 }, { 16, 16 }, { 32, 32 }, NULL },
	{ "p", "100%", "50%", NULL, { 64 }, { 32 }, { 32 }, NULL },
	{ "p", "50%", "25%", NULL, { 64 }, { 16 }, { 32 }, NULL },
	{ "p", "16k", "25%", NULL, { 64 }, { 16 }, { 16 }, NULL },
	{ "p", NULL, "33%", NULL, { 64 }, { 20 }, { 44 }, NULL },
	{ "q", NULL, NULL, "64k", { 128 }, { 0 }, { 64 }, NULL },
	{ "q", "16k", NULL, "64k", { 128 }, { 0 }, { 64 }, NULL },
	{ "q", "16k", "8k", "64k", { 128 }, { 8 }, { 56 }, NULL },
	{ "q", "50%", NULL, "64k", { 128 }, { 0 }, { 32 }, NULL },
	{ "p", "128k", NULL, NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 128k" },
	{ "p:q", "192k", NULL, NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 96k" },
	{ "p", "64k", "16k", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 80k" },
	{ "p", "64k", "50%", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 96k" },
	{ "p", "16k", "80k", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 96k" },
	{ "p", NULL, NULL, "128k", { 0 }, { 0 }, { 0 }, "d/p: has 64k, but size=, offset= and filesize= ask for 128k" },
	{ "p", NULL, "64k", NULL, { 0 }, { 0 }, { 0 }, "offset: 64k is not below the 64k of d/p" },
	/* what is not */
	{ "f", "64k", NULL, NULL, { 64 }, { 0 }, { 64 }, NULL },
	{ "f", "64k", "16k", NULL, { 80 }, { 16 }, { 64 }, NULL },
	{ "f:g", "64k", NULL, NULL, { 32, 32 }, { 0, 0 }, { 32, 32 }, NULL },
	{ "f:q", "64k", NULL, NULL, { 32, 128 }, { 0, 0 }, { 32, 32 }, NULL },
	{ "f", NULL, NULL, "64k", { 64 }, { 0 }, { 64 }, NULL },
	{ "f", NULL, "16k", "64k", { 64 }, { 16 }, { 48 }, NULL },
	{ "f", NULL, "25%", "64k", { 64 }, { 16 }, { 48 }, NULL },
	{ "f", "50%", NULL, "64k", { 64 }, { 0 }, { 32 }, NULL },
	{ "f:g", "96k", NULL, "64k", { 64, 64 }, { 0, 0 }, { 64, 64 }, NULL },
	{ NULL, "64k", NULL, NULL, { 64 }, { 0 }, { 64 }, NULL },
	{ "f", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: d/f is missing; give its size" },
	{ "p:f", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: d/f is missing; give its size" },
	{ "f", "50%", NULL, NULL, { 0 }, { 0 }, { 0 }, "size: 50% of d/f, which is missing; give it in bytes, or filesize=" },
	{ "f", "64k", "50%", NULL, { 0 }, { 0 }, { 0 }, "offset: 50% of d/f, which is missing" },
	{ "f:g", "1", NULL, NULL, { 0 }, { 0 }, { 0 }, "size: '1' is less than a byte for each of the 2 files" },
	{ "f", NULL, "64k", "64k", { 0 }, { 0 }, { 0 }, "offset: 64k is not below the 64k of d/f" },
	/* what has no size of its own */
	{ "/dev/zero", "64k", "16k", NULL, { 80 }, { 16 }, { 64 }, NULL },
	{ "/dev/zero", NULL, NULL, "64k", { 64 }, { 0 }, { 64 }, NULL },
	{ "/dev/zero", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: /dev/zero has no size of its own; give its size" },
	{ "/dev/zero", "50%", NULL, NULL, { 0 }, { 0 }, { 0 }, "size: 50% of /dev/zero, which has no size of its own" },
};
/* clang-format on */

START_TEST(sizes_and_offsets_mean_what_they_do_in_fio)
{
	make_job(RW_READ, sizes[_i].filename, sizes[_i].size);
	job.offset = share(sizes[_i].offset);
	job.filesize_bytes = share(sizes[_i].filesize).bytes;
	if (sizes[_i].words) {
		ck_assert_int_lt(look(), 0);
		ck_assert_msg(strstr(err.text, sizes[_i].words), "%s", err.text);
		return;
	}
	look_ok();
	for (size_t i = 0; i < files.count; i++) {
		const struct iofile *f = &files.files[i];

		ck_assert_uint_eq(f->bytes, sizes[_i].bytes[i] * K);
		ck_assert_uint_eq(f->region.off, sizes[_i].off[i] * K);
		ck_assert_uint_eq(f->region.bytes, sizes[_i].part[i] * K);
	}
}
END_TEST

START_TEST(files_of_their_own_have_the_whole_size_each)
{
	job.numjobs = 2;
	look_ok();
	ck_assert_uint_eq(files.missing_files, 2);
	ck_assert_uint_eq(files.missing_bytes, 128 * K);
	ck_assert_uint_eq(files.files[1].region.bytes, 64 * K);
}
END_TEST

START_TEST(an_engine_without_files_looks_at_nothing)
{
	make_job(RW_WRITE, "d:p:f:/dev/mlgen-none", "64k");
	job.engine = engines_find("null");
	job.offset = share("16k");
	look_ok();
	ck_assert_uint_eq(files.count, 4);
	ck_assert_uint_eq(files.missing_files, 0);
	ck_assert_uint_eq(files.files[1].region.off, 16 * K);
	ck_assert_uint_eq(files.files[1].region.bytes, 16 * K);
	ck_assert_str_eq(files.directory, "");
	lay_out_ok(0);
	ck_assert_str_eq(others(), "");
	job.size = share("50%");
	ck_assert_int_eq(look(), -EINVAL);
}
END_TEST

/* ---- refused */

/* clang-format off */
static const struct {
	int rw;
	const char *before, *filename;
	int code;
	const char *words;
} refused[] = {
	{ RW_READ, "mkdir d/f", "f", -EISDIR, "d/f: is a directory" },
	{ RW_READ, ":", "f/", -EISDIR, "d/f/: is the name of a directory" },
	{ RW_READ, "mkfifo d/f", "f", -EINVAL, "d/f: is a fifo" },
	{ RW_READ, ":", "/dev/tty", -EINVAL, "/dev/tty: is a character device" },
	{ RW_READ, ":>d/f", "f", -EFBIG, "d/f: has 0, but size=" },
	{ RW_READ, "ln -s none d/f", "f", -ENOENT, "d/f: is a link to a file that does not exist" },
	{ RW_READ, "ln -s f d/f", "f", -ELOOP, "d/f: Too many levels of symbolic links" },
	{ RW_READ, ":", "p/f", -ENOTDIR, "d/p/f: Not a directory" },
	{ RW_READ, "mv d e", "f", -ENOENT, "directory: d of job 'x': No such file or directory; create it" },
	{ RW_READ, "mv d e; ln -s e/p d", "f", -ENOTDIR, "d/f: Not a directory" },
};
/* clang-format on */

START_TEST(what_is_no_file_is_refused_by_words)
{
	shell(refused[_i].before);
	make_job(refused[_i].rw, refused[_i].filename, "64k");
	look_fails(refused[_i].code, refused[_i].words);
}
END_TEST

START_TEST(an_empty_file_has_nothing_to_read)
{
	shell(":>d/f");
	make_job(RW_READ, "f", NULL);
	look_fails(-EINVAL, "d/f: is empty; remove it");
}
END_TEST

START_TEST(readonly_refuses_to_write_and_to_lay_out)
{
	request.readonly = true;
	look_fails(-EROFS, "readonly: d/x.0.0 is missing, and would be created with 64k");
	make_job(RW_RANDRW, "p", NULL);
	look_fails(-EROFS, "readonly: job 'x' writes");
	make_job(RW_READ, "p", NULL);
	look_ok();
}
END_TEST

START_TEST(permissions_are_looked_at_before_the_run)
{
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	make_job(RW_WRITE, top, NULL);
	snprintf(word_filename, sizeof(word_filename), "/etc/passwd");
	look_fails(-EACCES, "/etc/passwd: cannot be written: Permission denied");
	job.rw = RW_READ;
	look_ok();
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

Suite *suite_iofiles(void)
{
	Suite *s = suite_create("iofiles");
	TCase *t = tcase_create("iofiles");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, files_have_the_names_that_fio_gives, 0,
			    sizeof(names) / sizeof(names[0]));
	tcase_add_test(t, a_default_directory_is_none);
	tcase_add_test(t, each_worker_has_its_own_file_or_all_share_them);
	tcase_add_loop_test(t, sizes_and_offsets_mean_what_they_do_in_fio, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(t, files_of_their_own_have_the_whole_size_each);
	tcase_add_test(t, an_engine_without_files_looks_at_nothing);
	tcase_add_loop_test(t, what_is_no_file_is_refused_by_words, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(t, an_empty_file_has_nothing_to_read);
	tcase_add_test(t, readonly_refuses_to_write_and_to_lay_out);
	tcase_add_test(t, permissions_are_looked_at_before_the_run);
	suite_add_tcase(s, t);
	return s;
}
