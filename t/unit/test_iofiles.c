/* SPDX-License-Identifier: Apache-2.0 */
/* test_iofiles.c - files of a plain job: their names, sizes and regions, what is refused, what is made. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/cache.h"
#include "io/engines.h"
#include "run/crew.h"
#include "work/plain/iofiles.h"
#include "work/plain/iolayout.h"
#include "suites.h"
#include "work/workloads.h"

#define K UINT64_C(1024)

static char top[64];
static struct clock *the_clock;
static struct job job;
static struct iofiles_request request;
static struct filemaker_progress progress;
static struct iolayout layout;
static struct iofiles files;
static struct mlgen_err err;

static void shell(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* "32k", "25%" or NULL. */
static struct size_share share(const char *text)
{
	struct size_share s = { 0 };
	char *end;
	double v;

	if (!text)
		return s;
	v = strtod(text, &end);
	if (*end == '%')
		s.percent = v;
	else
		s.bytes = (uint64_t)v * (*end == 'k' ? K : 1);
	return s;
}

static char word_name[] = "x", word_filename[256], word_directory[64];

/* In the folder "d" of the current directory, unless it is set otherwise. */
static void make_job(int rw, const char *filename, const char *size)
{
	snprintf(word_directory, sizeof(word_directory), "d");
	snprintf(word_filename, sizeof(word_filename), "%s",
		 filename ? filename : "");
	job = (struct job){
		.name = word_name,
		.phase = PHASE_IO,
		.directory = word_directory,
		.engine = engines_find("psync"),
		.rw = rw,
		.bs = { 4 * K, 4 * K },
		.filename = filename ? word_filename : NULL,
		.size = share(size),
		.numjobs = 1,
		.loops = 1,
		.randseed = 1,
	};
}

/* What is said on stderr goes to a file that tests may read. */
static void set_up(void)
{
	int fd;

	snprintf(top, sizeof(top), "/var/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	fd = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0600);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	shell("mkdir d; head -c 64k /dev/urandom >d/p;"
	      "head -c 128k /dev/urandom >d/q");
	the_clock = clock_new_real();
	clock_join(the_clock);
	request = (struct iofiles_request){ .job = &job };
	layout = (struct iolayout){ .req = &request,
				    .clock = the_clock,
				    .progress = &progress };
	make_job(RW_READ, NULL, "64k");
}

static void tear_down(void)
{
	char command[96];

	iofiles_fini(&files);
	clock_leave(the_clock);
	clock_free(the_clock);
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	shell(command);
}

static int look(void)
{
	err = (struct mlgen_err){ 0 };
	iofiles_fini(&files);
	return iofiles_init(&files, &request, &err);
}

static void look_ok(void)
{
	int r = look();

	ck_assert_msg(r == 0, "%s", err.text);
}

static void look_fails(int code, const char *words)
{
	int r = look();

	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
	ck_assert_uint_eq(files.count, 0);
}

static void lay_out_ok(uint64_t made)
{
	int r;

	look_ok();
	r = iolayout_run(&files, &layout, &err);
	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_uint_eq(layout.made_files, made);
	ck_assert(layout.started == (made > 0));
	ck_assert_uint_eq(files.missing_files, 0);
	ck_assert_uint_eq(files.missing_bytes, 0);
}

static void lay_out_fails(int code, const char *words)
{
	int r;

	look_ok();
	r = iolayout_run(&files, &layout, &err);
	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

static bool holds(const char *path, const char *words)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -Eq '%s' '%s'", words, path);
	return system(command) == 0;
}

/* Files below the current folder but for p, q and stderr; "" = none. */
static const char *others(void)
{
	static char list[1024];
	FILE *f = popen("find . -type f ! -name p ! -name q ! -name stderr |"
			"sort | tr '\\n' ' '",
			"r");
	size_t n = fread(list, 1, sizeof(list) - 1, f);

	list[n] = '\0';
	pclose(f);
	return list;
}

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
	{ "x", "d", ":", 1, NULL, "filename: there is no name in it" },
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
		snprintf(directory, sizeof(directory), "%s",
			 names[_i].directory);
		job.directory = directory;
	}
	if (!names[_i].paths) {
		look_fails(-EINVAL, names[_i].words);
		return;
	}
	look_ok();
	for (size_t i = 0; i < files.count; i++)
		snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths),
			 "%s%s", i ? " " : "", files.files[i].path);
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
	{ "p", "128k", NULL, NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 128k of it" },
	{ "p:q", "192k", NULL, NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 96k of it" },
	{ "p", "64k", "16k", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 80k of it" },
	{ "p", "64k", "50%", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 96k of it" },
	{ "p", "16k", "80k", NULL, { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 96k of it" },
	{ "p", NULL, NULL, "128k", { 0 }, { 0 }, { 0 }, "d/p: has 64k, and 128k of it" },
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
	{ "f", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: d/f is missing; say how large" },
	{ "p:f", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: d/f is missing; say how large" },
	{ "f", "50%", NULL, NULL, { 0 }, { 0 }, { 0 }, "size: 50% of d/f, which is missing; give it in bytes, or filesize=" },
	{ "f", "64k", "50%", NULL, { 0 }, { 0 }, { 0 }, "offset: 50% of d/f, which is missing" },
	{ "f:g", "1", NULL, NULL, { 0 }, { 0 }, { 0 }, "size: '1' is less than a byte for each of the 2 files" },
	{ "f", NULL, "64k", "64k", { 0 }, { 0 }, { 0 }, "offset: 64k is not below the 64k of d/f" },
	/* what has no size of its own */
	{ "/dev/zero", "64k", "16k", NULL, { 80 }, { 16 }, { 64 }, NULL },
	{ "/dev/zero", NULL, NULL, "64k", { 64 }, { 0 }, { 64 }, NULL },
	{ "/dev/zero", NULL, NULL, NULL, { 0 }, { 0 }, { 0 }, "size: /dev/zero has no size of its own; say how large" },
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
		ck_assert_msg(strstr(err.text, sizes[_i].words), "%s",
			      err.text);
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
	{ RW_READ, ":>d/f", "f", -EFBIG, "d/f: has 0, and 64k" },
	{ RW_READ, "ln -s none d/f", "f", -ENOENT, "d/f: is a link that leads nowhere" },
	{ RW_READ, "ln -s f d/f", "f", -ELOOP, "d/f: Too many levels of symbolic links" },
	{ RW_READ, ":", "p/f", -ENOTDIR, "d/p/f: Not a directory" },
	{ RW_READ, "mv d e", "f", -ENOENT, "directory: d: No such file or directory; make it" },
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
	look_fails(-EROFS, "readonly: d/x.0.0 is missing, and would be made "
			   "with 64k");
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
	look_fails(-EACCES,
		   "/etc/passwd: cannot be written: Permission denied");
	job.rw = RW_READ;
	look_ok();
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* ---- layout */

/* Percent of the first 100 kB that gzip leaves. */
static int compressed_percent(const char *path)
{
	char command[128];
	unsigned long n = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "head -c 100000 '%s' | gzip -1 | wc -c", path);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lu", &n), 1);
	pclose(f);
	return (int)(n * 100 / 100000);
}

START_TEST(a_missing_file_is_made_whole_and_cold)
{
	uint64_t resident, bytes;
	struct stat st;

	make_job(RW_RANDRW, "s/t/f:g", "6000001");
	lay_out_ok(2);
	ck_assert_str_eq(others(), "./d/g ./d/s/t/f ");
	ck_assert_uint_eq(size_of("d/g"), 3000000);
	ck_assert_uint_eq(layout.made_bytes, 6000000);
	ck_assert_uint_eq(progress.bytes_done, 6000000);
	ck_assert_uint_eq(progress.bytes_total, 6000000);
	ck_assert_uint_eq(progress.files_done, 2);
	if (cache_resident("d/g", &resident, &bytes) == 0)
		ck_assert_uint_eq(resident, 0);
	ck_assert_int_ge(compressed_percent("d/g"), 99);
	ck_assert_int_eq(stat("d/g", &st), 0);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, 3000000);
	ck_assert(system("cmp -s d/g d/s/t/f") != 0);
	ck_assert(holds("stderr", "^x: laying out 2 files, 5.72 MiB in "
				  "d/s/t and elsewhere \\((in .*s|about "
				  ".*s, estimate)\\)$"));
	lay_out_ok(0);
}
END_TEST

START_TEST(pieces_of_a_large_file_fit_together)
{
	char *one = mem_zalloc(3 << 20), *two = mem_zalloc(3 << 20);
	int fd;

	/* Two pieces and a bit. */
	make_job(RW_READ, "f", "131077k");
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 131077 * K);
	fd = open("d/f", O_RDONLY);
	/* Around the border of pieces: no block is another's copy or zero. */
	ck_assert_int_eq(pread(fd, one, 3 << 20, (64 << 20) - (1 << 20)),
			 3 << 20);
	ck_assert_int_eq(pread(fd, two, 3 << 20, 0), 3 << 20);
	close(fd);
	for (size_t at = 0; at < 3 << 20; at += 4096)
		ck_assert(memcmp(one + at, two, 4096) != 0 &&
			  memcmp(one + at, two + (1 << 20), 4096) != 0);
	ck_assert_int_ge(compressed_percent("d/f"), 99);
	mem_free(one);
	mem_free(two);
}
END_TEST

START_TEST(a_job_that_only_writes_gets_space)
{
	struct stat st;

	make_job(RW_WRITE, "f", "100000k");
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 100000 * K);
	ck_assert_int_eq(stat("d/f", &st), 0);
	ck_assert(st.st_blocks == 0 ||
		  (uint64_t)st.st_blocks * 512 >= 100000 * K);
	ck_assert(holds(
		"stderr",
		"^x: laying out 1 file, [0-9.]+ MiB in d \\(space only\\)"));
}
END_TEST

START_TEST(an_existing_file_stays_as_it_is)
{
	shell("cksum d/p >sum; touch -d 2001-01-01 d/p;"
	      "stat -c '%i %s %b %y %z' d/p >stat");
	make_job(RW_WRITE, "p:f", "64k");
	lay_out_ok(1);
	shell("cksum d/p | cmp - sum &&"
	      "stat -c '%i %s %b %y %z' d/p | cmp - stat");
}
END_TEST

START_TEST(leftovers_of_a_killed_layout_are_replaced)
{
	shell("head -c 200k /dev/zero >d/.f.mlgen-part");
	make_job(RW_READ, "f", "64k");
	lay_out_ok(1);
	ck_assert_str_eq(others(), "./d/f ");
	ck_assert_uint_eq(size_of("d/f"), 64 * K);
}
END_TEST

START_TEST(a_file_made_meanwhile_is_taken_if_it_is_large_enough)
{
	make_job(RW_READ, "f", "64k");
	look_ok();
	shell("cp d/q d/f");
	ck_assert_int_eq(iolayout_run(&files, &layout, &err), 0);
	ck_assert_uint_eq(layout.made_files, 0);
	ck_assert_uint_eq(files.files[0].bytes, 128 * K);
	shell("rm d/f; head -c 1k d/q >d/g");
	look_ok();
	shell("mv d/g d/f");
	ck_assert_int_eq(iolayout_run(&files, &layout, &err), -EEXIST);
	ck_assert_msg(strstr(err.text, "d/f: was made meanwhile with 1k, and "
				       "64k are needed"),
		      "%s", err.text);
	ck_assert_uint_eq(size_of("d/f"), K);
}
END_TEST

START_TEST(two_at_once_in_a_folder_are_refused)
{
	int fd = open("d/.mlgen-dataset.lock", O_RDWR | O_CREAT, 0600);

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	lay_out_fails(-EBUSY, "d: another mlgen is preparing this directory");
	close(fd);
	ck_assert(!layout.started);
	lay_out_ok(1);
}
END_TEST

START_TEST(more_than_half_of_the_free_space_needs_leave)
{
	make_job(RW_WRITE, "f:g", NULL);
	job.filesize_bytes = UINT64_C(1) << 60;
	lay_out_fails(-ENOSPC, "of which half may be used");
	ck_assert_msg(strstr(err.text, "d: 2 EiB to lay out, ") ||
			      strstr(err.text, "d: 2048 PiB to lay out, "),
		      "%s", err.text);
	request.allow_fill = true;
	lay_out_fails(-ENOSPC, "free; a smaller size=, another directory=");
	ck_assert_ptr_null(strstr(err.text, "--allow_fill"));
	ck_assert_str_eq(others(), "");
	ck_assert(!layout.started);
}
END_TEST

START_TEST(a_stopped_one_leaves_nothing_half_made)
{
	progress.stop.is_set = true;
	make_job(RW_READ, "f:g", "64k");
	lay_out_fails(CREW_STOPPED, "interrupted with 0 of 2 files laid out");
	ck_assert_str_eq(others(), "");
	progress.stop.is_set = false;
	lay_out_ok(2);
}
END_TEST

/* Stops the layout at some write, as a signal would. */
static int stopping_submit(struct mlgen_ctx *ctx, struct mlgen_io **io,
			   unsigned n)
{
	if (io[0]->op == MLGEN_WRITE && io[0]->off == 8 << 20)
		progress.stop.is_set = true;
	return engines_find("psync")->submit(ctx, io, n);
}

START_TEST(so_does_one_that_is_stopped_in_the_middle)
{
	struct mlgen_engine stopping = *engines_find("psync");

	stopping.submit = stopping_submit;
	make_job(RW_READ, "f", "20000k");
	job.engine = &stopping;
	lay_out_fails(CREW_STOPPED, "interrupted with 0 of 1 files laid out");
	progress.stop.is_set = false;
	ck_assert_str_eq(others(), "");
	ck_assert_uint_gt(progress.bytes_done, 8 << 20);
}
END_TEST

static void set_fault(void *opts, const char *name, const char *value)
{
	const struct mlgen_field *f =
		field_find(engines_find("fault")->opts, name);

	ck_assert_int_eq(field_parse(f, opts, value, 1024, NULL), 0);
}

static void expect_whole_or_absent(bool all)
{
	static const char *const paths[] = { "d/f", "d/g" };

	ck_assert(system("find d -name '*.mlgen-part' | grep .") != 0);
	for (size_t i = 0; i < 2; i++) {
		uint64_t bytes = size_of(paths[i]);

		ck_assert(bytes == 2500 * K || (!all && bytes == UINT64_MAX));
	}
}

static const char *const faults[] = { "EIO", "ENOSPC" };
static const int codes[] = { -EIO, -ENOSPC };

START_TEST(any_operation_that_fails_leaves_whole_files_only)
{
	const struct mlgen_engine *fault = engines_find("fault");
	void *opts = mem_zalloc(fault->opts_size);
	unsigned fails = 0;
	char number[16];
	int r = -1;

	field_defaults(fault->opts, opts);
	set_fault(opts, "fail_errno", faults[_i]);
	make_job(RW_READ, "f:g", "5000k");
	job.engine = fault;
	job.engine_opts = opts;
	for (unsigned at = 1; at < 60; at++) {
		snprintf(number, sizeof(number), "%u", at);
		set_fault(opts, "fail_after", number);
		look_ok();
		r = iolayout_run(&files, &layout, &err);
		ck_assert_msg(r == 0 || (r == codes[_i] &&
					 strncmp(err.text, "d/", 2) == 0 &&
					 strstr(err.text, strerror(-r))),
			      "%u: %d %s", at, r, err.text);
		fails += r != 0;
		expect_whole_or_absent(r == 0);
		shell("rm -f d/f d/g");
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(fails, 12);
	field_fini(fault->opts, opts);
	mem_free(opts);
}
END_TEST

START_TEST(space_that_cannot_be_given_is_a_hole)
{
	const struct mlgen_engine *fault = engines_find("fault");
	void *opts = mem_zalloc(fault->opts_size);

	/* The second operation gives the space. */
	field_defaults(fault->opts, opts);
	set_fault(opts, "fail_errno", "EOPNOTSUPP");
	set_fault(opts, "fail_after", "2");
	make_job(RW_WRITE, "f", "5000k");
	job.engine = fault;
	job.engine_opts = opts;
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 5000 * K);
	field_fini(fault->opts, opts);
	mem_free(opts);
}
END_TEST

/* ---- devices, as root */

static char loop[64];

static bool set_loop(void)
{
	FILE *f;
	size_t n;

	if (geteuid() != 0)
		return false;
	shell("truncate -s 8m image");
	f = popen("losetup -f --show image 2>/dev/null", "r");
	n = fread(loop, 1, sizeof(loop) - 1, f);
	pclose(f);
	loop[n ? n - 1 : 0] = '\0';
	return n > 1;
}

static void drop_loop(void)
{
	char command[96];

	iofiles_fini(&files); /* or the device is not let go */
	snprintf(command, sizeof(command), "losetup -d %s", loop);
	shell(command);
}

START_TEST(a_block_device_is_read_and_never_extended)
{
	if (!set_loop())
		return;
	make_job(RW_READ, loop, NULL);
	look_ok();
	ck_assert_int_eq(files.files[0].kind, IOFILE_BLOCK);
	ck_assert_uint_eq(files.files[0].bytes, 8 << 20);
	ck_assert_uint_eq(files.files[0].region.bytes, 8 << 20);
	ck_assert_str_eq(files.directory, loop);
	job.size = share("50%");
	look_ok();
	ck_assert_uint_eq(files.files[0].region.bytes, 4 << 20);
	job.size = share("8193k");
	look_fails(-EFBIG, "a device cannot be extended");
	drop_loop();
}
END_TEST

START_TEST(a_block_device_is_written_only_where_it_is_named)
{
	char link[96], command[256];

	if (!set_loop())
		return;
	snprintf(link, sizeof(link), "%s/by-id", top);
	snprintf(command, sizeof(command), "ln -s %s by-id", loop);
	shell(command);
	make_job(RW_WRITE, loop, "1024k");
	look_fails(-EPERM, "is a block device, and this job would overwrite");
	request.allow_device = "/dev/zero:/dev/mlgen-none";
	look_fails(-EPERM, "if that is meant, say --allow_device=/dev/loop");
	snprintf(command, sizeof(command), "/dev/zero:%s", link);
	request.allow_device = command;
	look_ok();
	ck_assert_uint_eq(files.held_count, 1);
	lay_out_ok(0);
	request.readonly = true;
	look_fails(-EROFS, "readonly");
	drop_loop();
}
END_TEST

START_TEST(a_device_in_use_is_not_written)
{
	struct blockdev_guards guards = { 0 };
	struct iofiles second;
	int fd;

	if (!set_loop())
		return;
	make_job(RW_WRITE, loop, "1024k");
	request.allow_device = loop;
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_ge(fd, 0);
	look_fails(-EBUSY, "is held by another program");
	close(fd);
	look_ok();
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_msg(fd < 0 && errno == EBUSY, "the guard holds it");
	/* Jobs of one run may share it, until the last one lets it go. */
	ck_assert_int_eq(iofiles_init(&second, &request, NULL), -EBUSY);
	request.guards = &guards;
	look_ok();
	ck_assert_int_eq(iofiles_init(&second, &request, NULL), 0);
	iofiles_fini(&second);
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_lt(fd, 0);
	iofiles_fini(&files);
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_uint_eq(guards.count, 0);
	drop_loop();
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
	tcase_add_test(t, a_missing_file_is_made_whole_and_cold);
	tcase_add_test(t, pieces_of_a_large_file_fit_together);
	tcase_add_test(t, a_job_that_only_writes_gets_space);
	tcase_add_test(t, an_existing_file_stays_as_it_is);
	tcase_add_test(t, leftovers_of_a_killed_layout_are_replaced);
	tcase_add_test(t, a_file_made_meanwhile_is_taken_if_it_is_large_enough);
	tcase_add_test(t, two_at_once_in_a_folder_are_refused);
	tcase_add_test(t, more_than_half_of_the_free_space_needs_leave);
	tcase_add_test(t, a_stopped_one_leaves_nothing_half_made);
	tcase_add_test(t, so_does_one_that_is_stopped_in_the_middle);
	tcase_add_loop_test(t, any_operation_that_fails_leaves_whole_files_only,
			    0, 2);
	tcase_add_test(t, space_that_cannot_be_given_is_a_hole);
	tcase_add_test(t, a_block_device_is_read_and_never_extended);
	tcase_add_test(t, a_block_device_is_written_only_where_it_is_named);
	tcase_add_test(t, a_device_in_use_is_not_written);
	suite_add_tcase(s, t);
	return s;
}
