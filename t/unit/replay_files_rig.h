/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_rig.h - files of a trace, looked at and made below "d" in a folder of the test's
 * own. */
#pragma once

#include "layout_rig.h"
#include "work/replay/replay_internal.h"

#define THERE REPLAY_FILE_PRESENT
#define CHANGED REPLAY_FILE_CHANGED
#define FOLDER REPLAY_FILE_FOLDER
#define READ REPLAY_FILE_READ

static char directory[PATH_MAX], job_name[] = "x";
static struct replay_files files;
static struct replay_files_maker maker;

static inline void use(const char *path)
{
	replay_files_fini(&files);
	snprintf(directory, sizeof(directory), "%s", path);
	job = (struct job){ .name = job_name,
			    .directory = directory,
			    .engine = engines_find("psync") };
	replay_files_init(&files, &job);
}

static inline void set_up(void)
{
	layout_begin();
	use("d");
	maker = (struct replay_files_maker){ .clock = the_clock, .progress = &progress };
}

static inline void tear_down(void)
{
	replay_files_fini(&files);
	layout_end();
}

static inline uint32_t add(const char *name, unsigned flags, uint64_t bytes)
{
	uint32_t id = replay_files_id(&files, name, strlen(name));
	struct replay_file *file = replay_file(&files, id);

	file->flags |= flags;
	file->bytes = bytes;
	return id;
}

/* Below the test's own folder. */
static inline uint32_t add_here(const char *name, unsigned flags, uint64_t bytes)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return add(path, flags, bytes);
}

static inline void look_ok(void)
{
	int r;

	err = (struct mlgen_err){ 0 };
	r = replay_files_look(&files, &err);
	ck_assert_msg(r == 0, "%s", err.text);
}

static inline void look_fails(int code, const char *words)
{
	int r;

	err = (struct mlgen_err){ 0 };
	r = replay_files_look(&files, &err);
	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static inline void make_ok(uint64_t made)
{
	int r;

	err = (struct mlgen_err){ 0 };
	r = replay_files_make(&files, &maker, &err);
	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_uint_eq(maker.made_files, made);
	ck_assert_uint_eq(files.missing_files, 0);
	ck_assert_uint_eq(files.missing_bytes, 0);
	ck_assert_uint_eq(files.missing_folders, 0);
}

static inline void make_fails(int code, const char *words)
{
	int r;

	err = (struct mlgen_err){ 0 };
	r = replay_files_make(&files, &maker, &err);
	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

/* What `find` lists of the current folder but for stderr; "" = nothing. */
static inline const char *found(const char *test)
{
	static char list[2048];
	char command[128];
	FILE *f;
	size_t n;

	snprintf(command, sizeof(command),
		 "find . ! -name stderr %s | LC_ALL=C sort | tr '\\n' ' '", test);
	f = popen(command, "r");
	n = fread(list, 1, sizeof(list) - 1, f);
	list[n] = '\0';
	pclose(f);
	return list;
}

#define FILES "-type f"
