/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_rig.h - a folder and a job whose dataset is prepared in it. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dist.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "io/engines.h"
#include "run/make/make.h"
#include "temp.h"
#include "work/workloads.h"

static char top[TEMP_BYTES], directory[TEMP_BELOW];

static struct clock *the_clock;

static struct dataset ds, eval;

static struct filemaker_progress progress;

static struct prepare_request request;

static struct prepare_result result;

static struct mlgen_err err;

static bool started;

static inline int format_named(const char *name)
{
	for (int f = FORMAT_NPZ; f <= FORMAT_CSV; f++)
		if (strcmp(format_of((enum job_format)f)->name, name) == 0)
			return f;
	ck_abort_msg("%s", name);
}

static inline void make(const char *format, const char *size, uint64_t files, uint64_t subfolders)
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
	ck_assert_int_eq(dist_parse(&job.sample_size, size, DIST_BYTES, NULL, 1024, NULL), 0);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
}

/* What is said on stderr goes to a file that tests may read. */
static inline void set_up(void)
{
	char path[TEMP_BELOW];
	int fd;

	temp_folder(top);
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

static inline void tear_down(void)
{
	dataset_fini(&eval);
	dataset_fini(&ds);
	clock_leave(the_clock);
	clock_free(the_clock);
	temp_remove(top);
}

static inline int prepare(void)
{
	memset(&err, 0, sizeof(err));
	started = false;
	return prepare_dataset(&request, &result, &started, &err);
}

static inline void prepare_ok(uint64_t written, uint64_t kept)
{
	int r = prepare();

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_uint_eq(result.files_written, written);
	ck_assert_uint_eq(result.files_kept, kept);
	ck_assert(started == (written > 0));
	ck_assert(!result.interrupted);
}

static inline void prepare_fails(int code, const char *words)
{
	ck_assert_int_eq(prepare(), code);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static inline char *file_path(uint64_t i)
{
	static char path[256];

	ck_assert_int_gt(dataset_path(&ds, i, path, sizeof(path)), 0);
	return path;
}

static inline char *path_in(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static inline void make_folder(const char *name)
{
	temp_parents(path_in(name));
	ck_assert_int_eq(mkdir(path_in(name), 0755), 0);
}

static inline void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

/* How many names lie below the directory: files, and temporary ones. */
static inline int count_names(const char *pattern)
{
	return (int)temp_count(directory, pattern);
}

static inline bool file_is_right(uint64_t i)
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

static inline void expect_whole(void)
{
	enum manifest_state state;

	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_COMPLETE);
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++)
		ck_assert_msg(file_is_right(i), "%s", file_path(i));
	ck_assert_int_eq(count_names("img_*"), (int)(ds.files_named * ds.parts + ds.eval_files));
	ck_assert_int_eq(count_names(".*"), 0);
}
