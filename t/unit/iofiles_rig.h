/* SPDX-License-Identifier: Apache-2.0 */
/* iofiles_rig.h - a plain job with files p and q in a folder of its own, looked at and laid out. */
#pragma once

#include "layout_rig.h"
#include "work/plain/plain.h"
#include "work/workloads.h"

#define K UINT64_C(1024)

static struct iofiles_request request;
static struct iolayout layout;
static struct iofiles files;

/* "32k", "25%" or NULL. */
static inline struct size_share share(const char *text)
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
static inline void make_job(int rw, const char *filename, const char *size)
{
	snprintf(word_directory, sizeof(word_directory), "d");
	snprintf(word_filename, sizeof(word_filename), "%s", filename ? filename : "");
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

static inline void set_up(void)
{
	layout_begin();
	shell("mkdir d; head -c 64k /dev/urandom >d/p;head -c 128k /dev/urandom >d/q");
	request = (struct iofiles_request){ .job = &job };
	layout = (struct iolayout){ .req = &request, .clock = the_clock, .progress = &progress };
	make_job(RW_READ, NULL, "64k");
}

static inline void tear_down(void)
{
	iofiles_fini(&files);
	layout_end();
}

static inline int look(void)
{
	err = (struct mlgen_err){ 0 };
	iofiles_fini(&files);
	return iofiles_init(&files, &request, &err);
}

static inline void look_ok(void)
{
	int r = look();

	ck_assert_msg(r == 0, "%s", err.text);
}

static inline void look_fails(int code, const char *words)
{
	int r = look();

	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
	ck_assert_uint_eq(files.count, 0);
}

static inline void lay_out_ok(uint64_t made)
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

/* Files below the current folder but for p, q and stderr; "" = none. */
static inline const char *others(void)
{
	static char list[1024];
	FILE *f = popen("find . -type f ! -name p ! -name q ! -name stderr |sort | tr '\\n' ' '",
			"r");
	size_t n = fread(list, 1, sizeof(list) - 1, f);

	list[n] = '\0';
	pclose(f);
	return list;
}
