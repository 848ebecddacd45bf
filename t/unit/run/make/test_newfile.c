/* SPDX-License-Identifier: Apache-2.0 */
/* test_newfile.c - what has its name is whole, wherever its content comes from. */
#include "run/make/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "field/fields.h"
#include "io/engines.h"
#include "suites.h"
#include "temp.h"

#define CHUNKS 5u
#define CHUNK_BYTES 1000

static char top[TEMP_BYTES], path[TEMP_BELOW], temporary[PATH_MAX];
static struct clock *the_clock;
static struct filemaker_progress progress;
static struct newfile_kind kind;
static struct mlgen_err err;

/* As a download has it: chunks, of which one may not come. */
static struct {
	unsigned given, fails_at; /* fails_at 0: none */
	bool is_stopped;          /* in the middle */
	bool has_header;          /* the first chunk comes once more */
} source;

static int next_chunk(void *arg, void *buf, size_t size, uint64_t *off, size_t *len,
		      struct mlgen_err *e)
{
	unsigned i = source.given++;

	ck_assert_ptr_eq(arg, &source);
	ck_assert_uint_ge(size, CHUNK_BYTES);
	if (source.fails_at && i == source.fails_at)
		return mlgen_fail(e, -ECONNRESET, "the other side has gone");
	if (source.is_stopped && i == 2)
		progress.stop.is_set = true;
	if (i == CHUNKS + (source.has_header ? 1 : 0))
		return 0;
	*off = i == CHUNKS ? 0 : i * CHUNK_BYTES;
	*len = CHUNK_BYTES;
	memset(buf, i == CHUNKS ? 'h' : 'a' + (int)i, *len);
	return 1;
}

static void format_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	(void)x;
	snprintf(out, size, "%s to come", left);
}

static struct filemaker maker;
static const struct mlgen_engine *engine;
static void *engine_opts;
static uint64_t made_bytes; /* before */

static int make_file(struct pool_worker *w, uint64_t index, struct mlgen_err *e)
{
	struct newfile x = { .maker = &maker,
			     .w = w,
			     .path = path,
			     .bytes = CHUNKS * CHUNK_BYTES,
			     .file = { .path = temporary,
				       .fd = -1,
				       .flags = O_WRONLY | O_CREAT | O_EXCL,
				       .mode = 0666 } };

	(void)index;
	ck_assert_int_eq(pool_do(w, MLGEN_OPEN, &x.file), 0);
	return newfile_end(&x, newfile_fill(&x, &source, e), true, e);
}

static int make_one(void)
{
	const struct pool_task task = { make_file, NULL, 1 };

	memset(&err, 0, sizeof(err));
	maker = (struct filemaker){
		.kind = &kind,
		.progress = &progress,
		.pool = { .engine = engine, .engine_opts = engine_opts, .clock = the_clock },
		.missing_files = 1,
		.missing_bytes = made_bytes + CHUNKS * CHUNK_BYTES,
		.made_bytes = made_bytes
	};
	filemaker_init(&maker, CHUNKS * CHUNK_BYTES);
	filemaker_begin(&maker);
	return pool_run(&maker.pool, &task, &err);
}

/* Of so many bytes, and beginning with it; no file has no bytes. */
static void expect_file(const char *name, size_t bytes, char first)
{
	char got[CHUNKS * CHUNK_BYTES + 1];
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(got, 1, sizeof(got), f) : 0;

	if (f)
		fclose(f);
	ck_assert_uint_eq(n, bytes);
	ck_assert(n == 0 || got[0] == first);
	ck_assert(f || first == 0);
}

/* A suite may be one process: nothing is left of the test before. */
static void set_up(void)
{
	memset(&source, 0, sizeof(source));
	memset(&progress, 0, sizeof(progress));
	made_bytes = 0;
	engine_opts = NULL;
	temp_folder(top);
	snprintf(path, sizeof(path), "%s/got", top);
	kind = (struct newfile_kind){ .suffix = ".coming",
				      .next = next_chunk,
				      .format_no_room = format_no_room };
	ck_assert_int_eq(newfile_temporary(temporary, path, &kind), 0);
	engine = engines_find("psync");
	the_clock = clock_new_real();
	clock_join(the_clock);
}

static void tear_down(void)
{
	clock_leave(the_clock);
	clock_free(the_clock);
	unlink(path);
	unlink(temporary);
	ck_assert_int_eq(rmdir(top), 0);
}

START_TEST(a_temporary_name_lies_beside_the_file)
{
	char name[NAME_MAX + 1] = { 0 }, out[PATH_MAX];

	ck_assert_int_eq(newfile_temporary(out, "a/b/c", &kind), 0);
	ck_assert_str_eq(out, "a/b/.c.coming");
	ck_assert_int_eq(newfile_temporary(out, "c", &kind), 0);
	ck_assert_str_eq(out, ".c.coming");
	memset(name, 'n', NAME_MAX - strlen("..coming"));
	ck_assert_int_eq(newfile_temporary(out, name, &kind), 0);
	memset(name, 'n', NAME_MAX - strlen("..coming") + 1);
	ck_assert_int_eq(newfile_temporary(out, name, &kind), -ENAMETOOLONG);
}
END_TEST

START_TEST(a_whole_one_gets_its_name_and_counts)
{
	ck_assert_int_eq(make_one(), 0);
	expect_file(path, CHUNKS * CHUNK_BYTES, 'a');
	expect_file(temporary, 0, 0);
	ck_assert_uint_eq(maker.made_files, 1);
	ck_assert_uint_eq(maker.made_bytes, CHUNKS * CHUNK_BYTES);
	ck_assert_uint_eq(maker.synced_bytes, CHUNKS * CHUNK_BYTES);
	ck_assert_uint_eq(progress.files_done, 1);
	ck_assert_uint_eq(progress.bytes_done, CHUNKS * CHUNK_BYTES);
}
END_TEST

START_TEST(a_header_that_comes_again_is_written_and_not_counted)
{
	source.has_header = true;
	ck_assert_int_eq(make_one(), 0);
	expect_file(path, CHUNKS * CHUNK_BYTES, 'h');
	ck_assert_uint_eq(progress.bytes_done, CHUNKS * CHUNK_BYTES);
	ck_assert_uint_eq(maker.synced_bytes, CHUNKS * CHUNK_BYTES);
}
END_TEST

START_TEST(a_source_that_fails_gives_it_no_name)
{
	source.fails_at = 3;
	ck_assert_int_eq(make_one(), -ECONNRESET);
	ck_assert_str_eq(err.text, "the other side has gone");
	expect_file(path, 0, 0);
	expect_file(temporary, 3 * CHUNK_BYTES, 'a');
	ck_assert_uint_eq(maker.made_files, 0);
	ck_assert_uint_eq(progress.files_done, 0);
}
END_TEST

START_TEST(one_that_is_stopped_has_none_either)
{
	source.is_stopped = true;
	ck_assert_int_eq(make_one(), POOL_STOPPED);
	expect_file(path, 0, 0);
	ck_assert_uint_eq(maker.made_files, 0);
}
END_TEST

static void set_fault(const char *name, const char *value)
{
	const struct mlgen_field *f = field_find(engine->opts, name);

	ck_assert_int_eq(field_parse(f, engine_opts, value, 1024, NULL), 0);
}

START_TEST(of_no_room_it_says_what_is_left)
{
	char text[TEMP_BELOW + 64];

	engine = engines_find("fault");
	engine_opts = mem_zalloc(engine->opts_size);
	field_defaults(engine->opts, engine_opts);
	set_fault("fail_after", "4"); /* open, and two chunks are written */
	set_fault("fail_errno", "ENOSPC");
	made_bytes = 100000;
	ck_assert_int_eq(make_one(), -ENOSPC);
	snprintf(text, sizeof(text), "%s: write at 2000: No space left on device; 4.88 KiB to come",
		 path);
	ck_assert_str_eq(err.text, text);
	expect_file(path, 0, 0);
	field_fini(engine->opts, engine_opts);
	mem_free(engine_opts);
}
END_TEST

static void put_other(void)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs("other", f), 0);
	fclose(f);
}

START_TEST(what_has_its_name_by_then_stays)
{
	put_other();
	ck_assert_int_eq(make_one(), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "the file is kept"));
	expect_file(path, 5, 'o');
	ck_assert_uint_eq(maker.made_files, 0);
}
END_TEST

START_TEST(or_is_replaced_where_the_kind_says_so)
{
	kind.replaces = true;
	put_other();
	ck_assert_int_eq(make_one(), 0);
	expect_file(path, CHUNKS * CHUNK_BYTES, 'a');
}
END_TEST

Suite *suite_newfile(void)
{
	Suite *s = suite_create("newfile");
	TCase *t = tcase_create("newfile");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_temporary_name_lies_beside_the_file);
	tcase_add_test(t, a_whole_one_gets_its_name_and_counts);
	tcase_add_test(t, a_header_that_comes_again_is_written_and_not_counted);
	tcase_add_test(t, a_source_that_fails_gives_it_no_name);
	tcase_add_test(t, one_that_is_stopped_has_none_either);
	tcase_add_test(t, of_no_room_it_says_what_is_left);
	tcase_add_test(t, what_has_its_name_by_then_stays);
	tcase_add_test(t, or_is_replaced_where_the_kind_says_so);
	suite_add_tcase(s, t);
	return s;
}
