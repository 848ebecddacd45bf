/* SPDX-License-Identifier: Apache-2.0 */
/* layout_rig.h - files that are laid out in a folder of the test's own: whole, stopped, with
 * operations that fail. */
#pragma once

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/engines.h"
#include "job/job.h"
#include "run/make/make.h"
#include "temp.h"

static char top[TEMP_BYTES];
static struct clock *the_clock;
static struct job job;
static struct filemaker_progress progress;
static struct mlgen_err err;

static inline void shell(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* What is said on stderr goes to a file that tests may read. */
static inline void layout_begin(void)
{
	int fd;

	temp_folder_in(top, temp_disk());
	ck_assert_int_eq(chdir(top), 0);
	fd = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0600);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	the_clock = clock_new_real();
	clock_join(the_clock);
}

static inline void layout_end(void)
{
	clock_leave(the_clock);
	clock_free(the_clock);
	ck_assert_int_eq(chdir("/"), 0);
	temp_remove(top);
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

/* Percent of the first 100 kB that gzip leaves. */
static inline int compressed_percent(const char *path)
{
	char command[128];
	unsigned long n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "head -c 100000 '%s' | gzip -1 | wc -c", path);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lu", &n), 1);
	pclose(f);
	return (int)(n * 100 / 100000);
}

/* Around the border of pieces: no block is another's copy or zero. */
static inline void expect_pieces_fit(const char *path)
{
	const size_t bytes = 3 << 20;
	char *one = mem_zalloc(bytes), *two = mem_zalloc(bytes);
	int fd = open(path, O_RDONLY);

	ck_assert_int_eq(pread(fd, one, bytes, (64 << 20) - (1 << 20)), (ssize_t)bytes);
	ck_assert_int_eq(pread(fd, two, bytes, 0), (ssize_t)bytes);
	close(fd);
	for (size_t at = 0; at < bytes; at += 4096)
		ck_assert(memcmp(one + at, two, 4096) != 0 &&
			  memcmp(one + at, two + (1 << 20), 4096) != 0);
	mem_free(one);
	mem_free(two);
}

/* Stops at some write, as a signal would. */
static inline int stopping_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	if (io[0]->op == MLGEN_WRITE && io[0]->off == 8 << 20)
		progress.stop.is_set = true;
	return engines_find("psync")->submit(ctx, io, n);
}

static inline void set_fault(const char *name, const char *value)
{
	const struct mlgen_field *f = field_find(engines_find("fault")->opts, name);

	ck_assert_int_eq(field_parse(f, job.engine_opts, value, 1024, NULL), 0);
}

/* The job has the engine whose operations fail, as they are told to. */
static inline void faults_begin(const char *fail_errno)
{
	const struct mlgen_engine *fault = engines_find("fault");

	job.engine = fault;
	job.engine_opts = mem_zalloc(fault->opts_size);
	field_defaults(fault->opts, job.engine_opts);
	set_fault("fail_errno", fail_errno);
}

static inline void faults_end(void)
{
	field_fini(job.engine->opts, job.engine_opts);
	mem_free(job.engine_opts);
}

/* Two files of 2500 KiB, by `make`: each of its operations fails once, which leaves whole files or
 * none. Messages begin with so. */
struct fault_case {
	int (*make)(void);
	const char *path[2];
	const char *begins;
};

static const struct {
	const char *word;
	int code;
} faults[] = { { "EIO", -EIO }, { "ENOSPC", -ENOSPC } };

/* Then they go. */
static inline void expect_whole_or_absent(const struct fault_case *c, bool all)
{
	ck_assert_uint_eq(temp_count("d", "*.mlgen-part"), 0);
	for (size_t i = 0; i < 2; i++) {
		uint64_t bytes = size_of(c->path[i]);

		ck_assert(bytes == 2500 << 10 || (!all && bytes == UINT64_MAX));
		unlink(c->path[i]);
	}
}

static inline void expect_faults_leave_whole_files(const struct fault_case *c, int which)
{
	int code = faults[which].code, r = -1;
	unsigned fails = 0, passed = 0;
	char number[16];

	faults_begin(faults[which].word);
	/* Of some nothing depends: there are five only behind the last. */
	for (unsigned at = 1; at < 60 && passed < 5; at++) {
		snprintf(number, sizeof(number), "%u", at);
		set_fault("fail_after", number);
		err = (struct mlgen_err){ 0 };
		r = c->make();
		ck_assert_msg(r == 0 || (r == code &&
					 strncmp(err.text, c->begins, strlen(c->begins)) == 0 &&
					 strstr(err.text, strerror(-r))),
			      "%u: %d %s", at, r, err.text);
		fails += r != 0;
		passed = r ? 0 : passed + 1;
		expect_whole_or_absent(c, r == 0);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(fails, 12);
	faults_end();
}
