/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare.c - what is missing is written, and nothing else is touched. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dist.h"
#include "base/mem.h"
#include "data/format.h"
#include "data/manifest.h"
#include "io/engines.h"
#include "run/crew.h"
#include "run/prepare.h"
#include "suites.h"
#include "work/workloads.h"

static char top[64], directory[96];
static struct clock *the_clock;
static struct dataset ds, eval;
static struct filemaker_progress progress;
static struct prepare_request request;
static struct prepare_result result;
static struct mlgen_err err;
static bool started;

static int format_named(const char *name)
{
	for (int f = FORMAT_NPZ; f <= FORMAT_CSV; f++)
		if (strcmp(format_of((enum job_format)f)->name, name) == 0)
			return f;
	ck_abort_msg("%s", name);
}

static void make(const char *format, const char *size, uint64_t files,
		 uint64_t subfolders)
{
	struct job job = { .directory = directory,
			   .format = format_named(format),
			   .phase = PHASE_PREPARE,
			   .num_files = files,
			   .samples_per_file = 1,
			   .subfolders = subfolders,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	dataset_fini(&ds);
	ck_assert_int_eq(dist_parse(&job.sample_size, size, DIST_BYTES, NULL,
				    1024, NULL),
			 0);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
}

/* What is said on stderr goes to a file that tests may read. */
static void set_up(void)
{
	char path[96];
	int fd;

	snprintf(top, sizeof(top), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(directory, sizeof(directory), "%s/a/b", top);
	snprintf(path, sizeof(path), "%s/stderr", top);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	the_clock = clock_new_real();
	clock_join(the_clock);
	request = (struct prepare_request){ .job_name = "j",
					    .dataset = &ds,
					    .engine = engines_find("psync"),
					    .clock = the_clock,
					    .progress = &progress };
	make("raw", "100000", 20, 0);
}

static void tear_down(void)
{
	char command[256];

	dataset_fini(&eval);
	dataset_fini(&ds);
	clock_leave(the_clock);
	clock_free(the_clock);
	snprintf(command, sizeof(command), "chmod -R u+w '%s'; rm -rf '%s'",
		 top, top);
	ck_assert_int_eq(system(command), 0);
}

static int prepare(void)
{
	memset(&err, 0, sizeof(err));
	started = false;
	return prepare_dataset(&request, &result, &started, &err);
}

static void prepare_ok(uint64_t written, uint64_t kept)
{
	int r = prepare();

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_uint_eq(result.files_written, written);
	ck_assert_uint_eq(result.files_kept, kept);
	ck_assert(started == (written > 0));
	ck_assert(!result.interrupted);
}

static void prepare_fails(int code, const char *words)
{
	ck_assert_int_eq(prepare(), code);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static char *file_path(uint64_t i)
{
	static char path[256];

	ck_assert_int_gt(dataset_path(&ds, i, path, sizeof(path)), 0);
	return path;
}

static char *path_in(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

/* How many names lie below the directory: files, and temporary ones. */
static int count_names(const char *pattern)
{
	char command[256];
	int n = -1;
	FILE *f;

	snprintf(command, sizeof(command),
		 "find '%s' -type f -name '%s' | wc -l", directory, pattern);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static bool file_is_right(uint64_t i)
{
	static char want[4 << 20], got[4 << 20], chunk[1 << 20];
	struct format_writer w = { .seed_index = dataset_content(&ds, i) };
	uint64_t bytes = dataset_file_bytes(&ds, i), off;
	int fd = open(file_path(i), O_RDONLY);
	ssize_t n = read(fd, got, sizeof(got));
	size_t len;

	close(fd);
	format_shape(&ds, i, &w.shape);
	while (ds.format->write_next(&w, chunk, sizeof(chunk), &off, &len))
		memcpy(want + off, chunk, len);
	return n == (ssize_t)bytes && memcmp(want, got, bytes) == 0;
}

static void expect_whole(void)
{
	enum manifest_state state;

	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_COMPLETE);
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++)
		ck_assert_msg(file_is_right(i), "%s", file_path(i));
	ck_assert_int_eq(count_names("img_*"),
			 (int)(ds.files_named * ds.parts + ds.eval_files));
	ck_assert_int_eq(count_names(".*"), 0);
}

START_TEST(a_dataset_is_made_whole)
{
	static const struct {
		const char *format, *size;
		uint64_t files, subfolders;
	} cases[] = {
		{ "raw", "100000", 20, 0 },
		{ "npz", "100000", 20, 0 },
		{ "npz", "3m", 3, 0 },
		{ "npz", "dlio:200k:90k", 30, 7 },
		{ "raw", "normal:1k:300", 100, 20 },
		{ "raw", "1", 1, 5 },
	};

	make(cases[_i].format, cases[_i].size, cases[_i].files,
	     cases[_i].subfolders);
	prepare_ok(cases[_i].files, 0);
	ck_assert_uint_eq(progress.files_done, cases[_i].files);
	ck_assert_uint_eq(progress.bytes_done, progress.bytes_total);
	ck_assert_uint_eq(progress.bytes_done, result.bytes_written);
	expect_whole();
}
END_TEST

START_TEST(names_of_a_complete_dataset_are_asked_for)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(truncate(file_path(4), 10), 0);
	prepare_fails(-EINVAL, "has 10 bytes instead of");
	ck_assert_int_eq(unlink(file_path(3)), 0);
	prepare_fails(-ENOENT, "img_03_of_20");
	/* who may fail to read them is told then */
	request.forgiving = true;
	prepare_ok(0, 20);
	request.readonly = true;
	prepare_ok(0, 20);
}
END_TEST

START_TEST(of_many_files_a_thousand_are_asked_for_unless_all_are)
{
	make("raw", "16", 1500, 0);
	prepare_ok(1500, 0);
	/* the first two of three are */
	ck_assert_int_eq(unlink(file_path(2)), 0);
	prepare_ok(0, 1500);
	request.thorough = true;
	prepare_fails(-ENOENT, "img_0002_of_1500");
	ck_assert_int_eq(unlink(file_path(1000)), 0);
	prepare_fails(-ENOENT, "img_0002_of_1500");
	request.thorough = false;
	prepare_fails(-ENOENT, "img_1000_of_1500");
}
END_TEST

START_TEST(what_a_dry_run_asks_is_what_a_preparation_says)
{
	struct mlgen_err told = { 0 };

	ck_assert_int_eq(prepare_ask(&request, &told), 0);
	ck_assert_int_eq(access(directory, F_OK), -1);
	prepare_ok(20, 0);
	ck_assert_int_eq(prepare_ask(&request, &told), 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	ck_assert_int_eq(prepare_ask(&request, &told), -ENOENT);
	prepare_fails(-ENOENT, told.text);
}
END_TEST

START_TEST(phase_prepare_mends_a_complete_dataset)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	ck_assert_int_eq(truncate(file_path(4), 10), 0);
	request.check_all = true;
	prepare_ok(2, 18);
	expect_whole();
	prepare_ok(0, 20);
}
END_TEST

START_TEST(an_incomplete_dataset_is_resumed)
{
	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	for (uint64_t i = 0; i < 20; i += 2)
		ck_assert_int_eq(unlink(file_path(i)), 0);
	/* what a killed run leaves */
	put_text(path_in("train/.img_02_of_20.raw.part"), "half");
	prepare_ok(10, 10);
	expect_whole();
}
END_TEST

START_TEST(a_subset_is_no_reason_to_call_the_whole_complete)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(unlink(file_path(1)), 0);
	ck_assert_int_eq(unlink(file_path(15)), 0);
	make("raw", "100000", 8, 0);
	prepare_ok(1, 7);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	make("raw", "100000", 20, 0);
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

START_TEST(what_mlgen_did_not_write_is_never_overwritten)
{
	char command[256];

	snprintf(command, sizeof(command), "mkdir -p '%s/train'", directory);
	ck_assert_int_eq(system(command), 0);
	put_text(path_in("notes"), "mine");
	prepare_ok(20, 0); /* other names are in nobody's way */
	ck_assert_int_eq(unlink(path_in(MANIFEST_NAME)), 0);
	put_text(file_path(5), "mine");
	prepare_fails(-EEXIST, "/train/img_");
	ck_assert(!started);
	ck_assert_uint_eq(size_of(file_path(5)), 4);
	ck_assert_uint_eq(size_of(path_in("notes")), 4);
	ck_assert_int_eq(access(path_in(MANIFEST_NAME), F_OK), -1);
}
END_TEST

START_TEST(a_temporary_name_of_others_stays_too)
{
	char command[256];

	snprintf(command, sizeof(command), "mkdir -p '%s/train'", directory);
	ck_assert_int_eq(system(command), 0);
	put_text(path_in("train/.img_02_of_20.raw.part"), "mine");
	prepare_fails(-EEXIST, ".img_02_of_20.raw.part: is in the way");
	ck_assert_uint_eq(size_of(path_in("train/.img_02_of_20.raw.part")), 4);
}
END_TEST

START_TEST(readonly_refuses_to_write_and_writes_nothing)
{
	request.readonly = true;
	prepare_fails(-EROFS, "readonly: 20 of the 20 files");
	ck_assert(!started);
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(readonly_runs_where_all_files_are_there)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	request.readonly = true;
	prepare_ok(0, 20);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
}
END_TEST

START_TEST(too_little_space_is_refused_before_anything_is_written)
{
	make("raw", "1t", 1000000, 0);
	prepare_fails(-ENOSPC, "of which half may be used");
	ck_assert_ptr_nonnull(strstr(err.text, "to write"));
	request.allow_fill = true;
	prepare_fails(-ENOSPC, "free; another directory");
	make("raw", "1m", 100000000, 0);
	request.allow_fill = false;
	prepare_fails(-ENOSPC, "--num_files=");
	ck_assert_ptr_nonnull(strstr(err.text, "would fit"));
	ck_assert_ptr_null(strstr(err.text, "allow_fill"));
	ck_assert(!started);
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(a_mismatch_is_passed_on_and_nothing_is_touched)
{
	prepare_ok(20, 0);
	make("raw", "5000", 20, 0);
	prepare_fails(-EINVAL, "sample_size=100000, the job says 5000");
	ck_assert_uint_eq(size_of(file_path(0)), 100000);
}
END_TEST

START_TEST(replace_deletes_what_the_manifest_describes_and_no_more)
{
	make("npz", "100000", 20, 4);
	prepare_ok(20, 0);
	put_text(path_in("train/2/mine"), "mine");
	put_text(path_in("mine"), "mine");
	make("raw", "5000", 10, 0);
	request.replace = true;
	request.check_all = true;
	prepare_ok(10, 0);
	expect_whole();
	ck_assert_uint_eq(size_of(path_in("train/2/mine")), 4);
	ck_assert_uint_eq(size_of(path_in("mine")), 4);
	ck_assert_int_eq(access(path_in("train/1"), F_OK), -1);
	/* the same again: nothing to replace */
	prepare_ok(0, 10);
}
END_TEST

START_TEST(replace_obeys_readonly)
{
	prepare_ok(20, 0);
	make("raw", "5000", 10, 0);
	request.replace = true;
	request.readonly = true;
	prepare_fails(-EROFS, "readonly");
	ck_assert_int_eq(count_names("img_*"), 20);
}
END_TEST

START_TEST(two_at_once_are_refused)
{
	int fd;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(unlink(file_path(1)), 0);
	fd = open(path_in(".mlgen-dataset.lock"), O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	prepare_fails(-EBUSY, "another mlgen is preparing");
	ck_assert_int_eq(access(file_path(1), F_OK), -1);
	close(fd);
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

START_TEST(a_stopped_one_leaves_no_temporary_file_and_is_resumed)
{
	enum manifest_state state;

	progress.stop.is_set = true;
	prepare_fails(CREW_STOPPED, "the next run goes on from there");
	ck_assert(result.interrupted);
	ck_assert_int_eq(count_names("*.part"), 0);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	progress.stop.is_set = false;
	prepare_ok(20, 0);
	expect_whole();
}
END_TEST

START_TEST(an_engine_without_files_needs_none)
{
	request.engine = engines_find("null");
	prepare_ok(0, 0);
	ck_assert(isnan(result.resident_percent));
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(one_line_says_how_much_where_and_how_long)
{
	char path[96], text[512], want[256];
	size_t n;
	FILE *f;

	make("npz", "100000", 20, 0);
	prepare_ok(20, 0);
	prepare_ok(0, 20); /* nothing to do, nothing to say */
	snprintf(path, sizeof(path), "%s/stderr", top);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	snprintf(want, sizeof(want),
		 "j: writing 20 npz files, 1.92 MiB to %s "
		 "(",
		 directory);
	ck_assert_msg(strstr(text, want), "%s", text);
	/* what is written within a second needs no estimate */
	ck_assert(strstr(text, " (in ") || strstr(text, "s, estimate)\n"));
	ck_assert_uint_eq(strcspn(text, "\n") + 1, n);
}
END_TEST

/* A disk that is full after so many writes. */
static _Atomic unsigned writes_left;

static int faulty_submit(struct mlgen_ctx *ctx, struct mlgen_io **io,
			 unsigned n)
{
	(void)ctx;
	(void)n;
	struct mlgen_io *op = io[0];
	ssize_t done = -1;

	errno = ENOSPC;
	if (writes_left > 0 && writes_left-- > 0)
		done = pwrite(op->file->fd, op->iov->iov_base, op->iov->iov_len,
			      (off_t)op->off);
	op->result = done < 0 ? -errno : done;
	return 1;
}

static const struct mlgen_engine faulty = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "faulty",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE),
	.submit = faulty_submit,
};

START_TEST(a_full_disk_names_the_file_and_what_is_missing)
{
	for (unsigned n = 0; n < 20; n += 4) {
		char *left;

		writes_left = n;
		request.engine = &faulty;
		prepare_fails(-ENOSPC, "/train/img_");
		left = strstr(err.text, "No space left on device; ");
		ck_assert_msg(left != NULL, "%s", err.text);
		ck_assert_ptr_nonnull(strstr(left, "still to be written"));
		ck_assert(started);
		ck_assert_int_eq(count_names("*.part"), 0);
		ck_assert_int_eq(count_names(".*"), 0);
		ck_assert_uint_eq(result.files_written,
				  (uint64_t)count_names("img_*"));
		for (uint64_t i = 0; i < 20; i++)
			unlink(file_path(i));
	}
	request.engine = engines_find("psync");
	prepare_ok(20, 0);
	expect_whole();
}
END_TEST

START_TEST(a_file_in_the_place_of_the_directory_is_an_error)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/a", top);
	put_text(path, "mine");
	prepare_fails(-ENOTDIR, "Not a directory");
	ck_assert(!started);
	ck_assert_uint_eq(size_of(path), 4);
}
END_TEST

START_TEST(files_do_not_stay_in_the_page_cache)
{
	make("raw", "3m", 8, 0);
	prepare_ok(8, 0);
	/* tmpfs keeps what it has, elsewhere all of it has gone */
	ck_assert(result.resident_percent < 1 || result.resident_percent > 99);
}
END_TEST

/* Formats that this build has, with what other libraries they need. */
static bool make_of_parts(const char *format, uint64_t files)
{
	if (format_find(format)->needs)
		return false;
	make(format, "30000", files, 3);
	return true;
}

START_TEST(all_parts_of_a_format_are_made_mended_and_replaced)
{
	static const char *const formats[] = { "tfrecord", "indexed_binary",
					       "mmap_indexed_binary" };
	uint64_t all;

	if (!make_of_parts(formats[_i], 7))
		return;
	all = dataset_all_files(&ds);
	ck_assert_uint_ge(all, 14);
	prepare_ok(all, 0);
	expect_whole();
	ck_assert_uint_eq(progress.bytes_done, progress.bytes_total);
	/* the last part's last file */
	ck_assert_int_eq(unlink(file_path(all - 1)), 0);
	ck_assert_int_eq(truncate(file_path(7), 1), 0);
	request.check_all = true;
	prepare_ok(2, all - 2);
	expect_whole();
	/* a part of it */
	make(formats[_i], "30000", 3, 3);
	prepare_ok(0, dataset_all_files(&ds));
	make("raw", "5000", 4, 0);
	request.replace = true;
	prepare_ok(4, 0);
	expect_whole();
	ck_assert_int_eq(access(path_in("index"), F_OK), -1);
	ck_assert_int_eq(access(path_in("train/1"), F_OK), -1);
}
END_TEST

START_TEST(what_others_have_in_its_folders_stays)
{
	if (!make_of_parts("tfrecord", 7))
		return;
	prepare_ok(14, 0);
	put_text(path_in("index/mine"), "mine");
	put_text(path_in("index/train/1/mine"), "mine");
	make("raw", "5000", 4, 0);
	request.replace = request.check_all = true;
	prepare_ok(4, 0);
	ck_assert_uint_eq(size_of(path_in("index/mine")), 4);
	ck_assert_uint_eq(size_of(path_in("index/train/1/mine")), 4);
	ck_assert_int_eq(access(path_in("index/train/0"), F_OK), -1);
}
END_TEST

START_TEST(a_folder_of_any_part_may_be_of_others)
{
	char command[256];

	if (!make_of_parts("tfrecord", 7))
		return;
	snprintf(command, sizeof(command), "mkdir -p '%s/index/train/2'",
		 directory);
	ck_assert_int_eq(system(command), 0);
	put_text(file_path(7 + 2), "mine");
	prepare_fails(-EEXIST, "/index/train/2/img_2_of_7");
	ck_assert(!started);
}
END_TEST

START_TEST(files_to_evaluate_with_are_made_too)
{
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(25, 0);
	expect_whole();
	ck_assert_uint_eq(size_of(path_in("valid/img_4_of_5.raw")), 100000);
	ck_assert_int_eq(unlink(path_in("valid/img_4_of_5.raw")), 0);
	prepare_fails(-ENOENT, "valid/img_4_of_5.raw");
	request.check_all = true;
	prepare_ok(1, 24);
	ck_assert_uint_eq(size_of(path_in("valid/img_4_of_5.raw")), 100000);
	ck_assert_int_eq(count_names("img_*"), 25);
	make("raw", "5000", 4, 0);
	request.replace = true;
	dataset_fini(&eval);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 2, NULL), 0);
	prepare_ok(6, 0);
	expect_whole();
	request.eval = NULL;
	make("raw", "4000", 4, 0);
	prepare_ok(4, 0);
	ck_assert_int_eq(access(path_in("valid"), F_OK), -1);
	expect_whole();
}
END_TEST

START_TEST(an_evaluation_is_added_to_a_dataset)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(unlink(file_path(3)), 0);
	request.forgiving = true; /* trusted all the same */
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(5, 20);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_COMPLETE);
	ck_assert_uint_eq(ds.eval_files, 5);
	prepare_ok(0, 25);
	/* who does not evaluate does not forget it, nor calls it complete */
	request.eval = NULL;
	make("raw", "100000", 20, 0);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	prepare_ok(1, 19);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
	ck_assert_uint_eq(ds.eval_files, 5);
}
END_TEST

START_TEST(files_to_evaluate_with_of_others_are_not_touched)
{
	char command[256];

	prepare_ok(20, 0);
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	snprintf(command, sizeof(command), "mkdir -p '%s/valid'", directory);
	ck_assert_int_eq(system(command), 0);
	put_text(path_in("valid/img_3_of_5.raw"), "mine");
	prepare_fails(-EEXIST, "valid/img_3_of_5.raw: is in the way");
	ck_assert_uint_eq(size_of(path_in("valid/img_3_of_5.raw")), 4);
}
END_TEST

/* What a run that trusts a dataset looks at: its first file. */
START_TEST(a_first_file_that_is_wrong_is_found_before_the_run)
{
	static const struct {
		const char *command, *words;
		int code;
	} cases[] = {
		{ "rm -f $f",
		  "open: No such file or directory; the dataset "
		  "was complete: --phase=prepare writes",
		  -ENOENT },
		{ "truncate -s 99 $f",
		  "has 99 bytes instead of 100000; it was truncated or "
		  "replaced; --phase=prepare writes it again",
		  -EINVAL },
		{ "truncate -s 0 $f", "has 0 bytes instead of 100000",
		  -EINVAL },
		{ "truncate -s 100001 $f", "has 100001 bytes instead of",
		  -EINVAL },
		{ "rm $f; mkdir $f",
		  "is a directory, and no regular file; remove it, and "
		  "--phase=prepare writes",
		  -EISDIR },
		{ "rm $f; ln -s $f $f",
		  "open: Too many levels of symbolic links", -ELOOP },
		{ "rm $f; mkfifo $f", "is a fifo, and no regular file; remove",
		  -EINVAL },
		{ "ln -sf /dev/zero $f",
		  "is a character device, and no regular file; remove",
		  -EINVAL },
	};
	char command[512], fill[256];

	prepare_ok(20, 0);
	snprintf(fill, sizeof(fill), "%s", file_path(0));
	snprintf(command, sizeof(command), "f='%s'; %s", fill,
		 cases[_i].command);
	ck_assert_int_eq(system(command), 0);
	prepare_fails(cases[_i].code, cases[_i].words);
	ck_assert_ptr_eq(strstr(err.text, fill), err.text);
	ck_assert(!started);
	if (!strstr(cases[_i].words, "writes it") &&
	    !strstr(cases[_i].words, "bytes") && cases[_i].code != -ENOENT)
		return;
	request.check_all = true;
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

static void overwrite(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, text, strlen(text), 0),
			 (ssize_t)strlen(text));
	close(fd);
}

START_TEST(files_of_another_format_are_found_and_written_anew)
{
	make("jpeg", "100000", 20, 0);
	prepare_ok(20, 0);
	overwrite(file_path(0), "GIF89a");
	overwrite(file_path(7), "GIF89a");
	prepare_fails(-EILSEQ, "begins with the bytes 47 49 46, and "
			       "format=jpeg with ff d8 ff");
	ck_assert_ptr_eq(strstr(err.text, file_path(0)), err.text);
	ck_assert_ptr_nonnull(strstr(err.text, "--phase=prepare writes"));
	request.check_all = true;
	prepare_ok(2, 18);
	expect_whole();
	request.check_all = false;
	prepare_ok(0, 20);
}
END_TEST

START_TEST(of_an_evaluation_the_first_file_is_looked_at_too)
{
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(25, 0);
	ck_assert_int_eq(truncate(path_in("valid/img_0_of_5.raw"), 9), 0);
	prepare_fails(-EINVAL, "valid/img_0_of_5.raw: has 9 bytes");
}
END_TEST

START_TEST(a_scan_is_left_alone)
{
	struct job job = { .directory = top,
			   .dataset = DATASET_SCAN,
			   .format = FORMAT_RAW,
			   .samples_per_file = 1,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };
	char path[96];

	snprintf(path, sizeof(path), "%s/one", top);
	put_text(path, "12345");
	dataset_fini(&ds);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_uint_eq(ds.files, 1);
	prepare_ok(0, 1);
	ck_assert_uint_eq(result.resident_files, 1);
	request.readonly = true;
	prepare_ok(0, 1);
	snprintf(directory, sizeof(directory), "%s", top);
	ck_assert_int_eq(access(path_in(MANIFEST_NAME), F_OK), -1);
	ck_assert_uint_eq(size_of(path), 5);
}
END_TEST

START_TEST(writers_of_small_files_have_small_buffers)
{
	ck_assert_uint_eq(crew_writer_bytes(0), 65536);
	ck_assert_uint_eq(crew_writer_bytes(4096), 65536);
	ck_assert_uint_eq(crew_writer_bytes(114 * 1024 + 1), 118784);
	ck_assert_uint_eq(crew_writer_bytes(1 << 20), 1 << 20);
	ck_assert_uint_eq(crew_writer_bytes(UINT64_MAX), 1 << 20);
}
END_TEST

Suite *suite_prepare(void)
{
	Suite *s = suite_create("prepare");
	TCase *t = tcase_create("prepare");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_dataset_is_made_whole, 0, 6);
	tcase_add_test(t, names_of_a_complete_dataset_are_asked_for);
	tcase_add_test(t,
		       of_many_files_a_thousand_are_asked_for_unless_all_are);
	tcase_add_test(t, what_a_dry_run_asks_is_what_a_preparation_says);
	tcase_add_test(t, phase_prepare_mends_a_complete_dataset);
	tcase_add_test(t, an_incomplete_dataset_is_resumed);
	tcase_add_test(t, a_subset_is_no_reason_to_call_the_whole_complete);
	tcase_add_test(t, what_mlgen_did_not_write_is_never_overwritten);
	tcase_add_test(t, a_temporary_name_of_others_stays_too);
	tcase_add_test(t, readonly_refuses_to_write_and_writes_nothing);
	tcase_add_test(t, readonly_runs_where_all_files_are_there);
	tcase_add_test(t,
		       too_little_space_is_refused_before_anything_is_written);
	tcase_add_test(t, a_mismatch_is_passed_on_and_nothing_is_touched);
	tcase_add_test(t,
		       replace_deletes_what_the_manifest_describes_and_no_more);
	tcase_add_test(t, replace_obeys_readonly);
	tcase_add_test(t, two_at_once_are_refused);
	tcase_add_test(t,
		       a_stopped_one_leaves_no_temporary_file_and_is_resumed);
	tcase_add_test(t, an_engine_without_files_needs_none);
	tcase_add_test(t, one_line_says_how_much_where_and_how_long);
	tcase_add_test(t, a_full_disk_names_the_file_and_what_is_missing);
	tcase_add_test(t, a_file_in_the_place_of_the_directory_is_an_error);
	tcase_add_test(t, files_do_not_stay_in_the_page_cache);
	tcase_add_loop_test(
		t, all_parts_of_a_format_are_made_mended_and_replaced, 0, 3);
	tcase_add_test(t, what_others_have_in_its_folders_stays);
	tcase_add_test(t, a_folder_of_any_part_may_be_of_others);
	tcase_add_test(t, files_to_evaluate_with_are_made_too);
	tcase_add_test(t, an_evaluation_is_added_to_a_dataset);
	tcase_add_test(t, files_to_evaluate_with_of_others_are_not_touched);
	tcase_add_loop_test(
		t, a_first_file_that_is_wrong_is_found_before_the_run, 0, 8);
	tcase_add_test(t, files_of_another_format_are_found_and_written_anew);
	tcase_add_test(t, of_an_evaluation_the_first_file_is_looked_at_too);
	tcase_add_test(t, writers_of_small_files_have_small_buffers);
	tcase_add_test(t, a_scan_is_left_alone);
	suite_add_tcase(s, t);
	return s;
}
