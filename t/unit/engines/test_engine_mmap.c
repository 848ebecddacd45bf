/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_mmap.c - mappings grow with their files, which are opened, synced and advised. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "engine_rig.h"
#include "mmap_rig.h"
#include "suites.h"

static void fill(struct rig *r, uint64_t off)
{
	size_t bytes;
	unsigned char *buf = io_buffer(r->io, &bytes);

	for (size_t i = 0; i < bytes; i++)
		buf[i] = rig_byte(off + i);
}

/* Writing. */

/* clang-format off */
static const struct piece_case {
	uint64_t pieces[6]; /* up to a 0 */
} piece_cases[] = {
	{ { 1 } },
	{ { BLOCK } },
	{ { 100, 5000, 1, 65536 } },
	{ { 65536, 65536, 65536, 65536, 65536, 77 } },
};
/* clang-format on */

START_TEST(a_new_file_is_as_long_as_what_was_written)
{
	const struct piece_case *c = &piece_cases[_i];
	unsigned char *content = mem_zalloc(1 << 20);
	uint64_t off = 0, i = 0;
	struct rig r;

	begin(&r, 65536);
	open_by_engine(&r, 10000, O_WRONLY | O_CREAT | O_TRUNC);
	for (unsigned k = 0; k < 6 && c->pieces[k]; k++) {
		fill(&r, off);
		ck_assert_int_eq(do_one(&r, MLGEN_WRITE, off, c->pieces[k]), (int64_t)c->pieces[k]);
		off += c->pieces[k];
		ck_assert_uint_eq(size_of(&r), off);
	}
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, 1), -EBADF);
	ck_assert_int_eq(do_one(&r, MLGEN_FSYNC, 0, 0), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	ck_assert_int_eq(r.file.fd, -1);
	ck_assert_uint_eq(r.file.word, 0);
	ck_assert_uint_eq(size_of(&r), off);
	int fd = open(r.path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(read(fd, content, 1 << 20), (ssize_t)off);
	close(fd);
	while (i < off && content[i] == rig_byte(i))
		i++;
	ck_assert_uint_eq(i, off);
	mem_free(content);
	rig_end(&r);
}
END_TEST

START_TEST(a_write_far_behind_the_end_leaves_a_hole)
{
	const uint64_t off = 3ull << 30; /* behind the first step of growth */
	const unsigned char *buf;
	struct rig r;
	size_t n;

	begin(&r, BLOCK);
	open_by_engine(&r, 10, O_RDWR);
	fill(&r, off);
	ck_assert_int_eq(do_one(&r, MLGEN_WRITE, off, 100), 100);
	ck_assert_uint_eq(size_of(&r), off + 100);
	buf = io_buffer(r.io, &n);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 1 << 20, BLOCK), BLOCK);
	ck_assert_uint_eq(buf[0], 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, off + 1, BLOCK), 99);
	ck_assert_uint_eq(buf[0], rig_byte(off + 1));
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, 10), 10);
	ck_assert_uint_eq(buf[9], rig_byte(9));
	rig_end(&r);
}
END_TEST

START_TEST(what_others_append_is_read)
{
	struct rig r;

	begin(&r, BLOCK);
	open_by_engine(&r, _i ? 100 : 0, O_RDONLY);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 100, BLOCK), 0);
	ck_assert_int_eq(truncate(r.path, 50000), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 100, BLOCK), BLOCK);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 49999, BLOCK), 1);
	rig_end(&r);
}
END_TEST

START_TEST(a_file_that_may_not_grow_is_efbig_after_what_fits)
{
	struct rlimit before, limit = { 10 * BLOCK, 0 };
	struct rig r;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	begin(&r, 16 * BLOCK);
	open_by_engine(&r, 4 * BLOCK, O_RDWR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct io_op op = rig_op(&r, MLGEN_WRITE, 2 * BLOCK, 16 * BLOCK);
	int64_t rc = io_do(r.io, &op);
	int64_t in_limit = do_one(&r, MLGEN_WRITE, 9 * BLOCK, BLOCK);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_uint_eq(op.done_bytes, 2 * BLOCK); /* what was there */
	ck_assert_int_eq(in_limit, BLOCK);
	ck_assert_uint_eq(size_of(&r), 10 * BLOCK);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct bad_case {
	int flags;
	enum mlgen_op op;
	uint64_t off;
	int64_t result;
} bad_cases[] = {
	{ O_RDONLY, MLGEN_WRITE, 0, -EBADF },
	{ O_WRONLY, MLGEN_READ, 0, -EBADF },
	{ O_RDWR, MLGEN_READ, UINT64_MAX, -EINVAL },
	{ O_RDWR, MLGEN_READ, INT64_MAX, -EINVAL },
	{ O_RDWR, MLGEN_WRITE, UINT64_MAX, -EINVAL },
	{ O_RDWR, MLGEN_WRITE, INT64_MAX, -EINVAL },
	{ O_RDWR, MLGEN_READ, INT64_MAX - BLOCK, 0 },
};
/* clang-format on */

START_TEST(what_a_file_does_not_allow_is_refused)
{
	const struct bad_case *c = &bad_cases[_i];
	struct rig r;

	begin(&r, BLOCK);
	open_by_engine(&r, 3 * BLOCK, c->flags);
	ck_assert_int_eq(do_one(&r, c->op, c->off, BLOCK), c->result);
	ck_assert_uint_eq(size_of(&r), 3 * BLOCK);
	rig_end(&r);
}
END_TEST

/* Everything else. */

START_TEST(no_more_files_than_it_was_told_are_open)
{
	const struct mlgen_engine *e = engines_find("mmap");
	struct mlgen_file files[4];
	struct mlgen_io ios[4], *io;
	struct mlgen_err err = { 0 };
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "mmap", NULL), 0);
	rig_file(&r, BLOCK, O_RDONLY);
	struct mlgen_ctx ctx = { .job = &r.job, .iodepth = 1, .files = 3 };
	ck_assert_int_eq(e->init(&ctx, &err), 0);
	for (unsigned i = 0; i < 4; i++) {
		files[i] = (struct mlgen_file){ .path = r.path, .fd = -1 };
		ios[i] = (struct mlgen_io){ .op = MLGEN_OPEN, .file = &files[i] };
		io = &ios[i];
		ck_assert_int_eq(e->submit(&ctx, &io, 1), 1);
		ck_assert_int_eq(ios[i].result, i < 3 ? 0 : -EMFILE);
	}
	ck_assert_int_eq(files[3].fd, -1);
	ck_assert_uint_eq(files[3].word, 0);
	ios[1].op = MLGEN_CLOSE;
	io = &ios[1];
	e->submit(&ctx, &io, 1);
	ck_assert_int_eq(ios[1].result, 0);
	io = &ios[3];
	e->submit(&ctx, &io, 1);
	ck_assert_int_eq(ios[3].result, 0);
	e->fini(&ctx);
	ck_assert_ptr_null(ctx.priv);
	for (unsigned i = 0; i < 4; i++)
		if (files[i].fd >= 0)
			close(files[i].fd);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct advice_case {
	int advice;
	uint64_t off, bytes;
} advice_cases[] = {
	{ POSIX_FADV_NORMAL, 0, 0 },
	{ POSIX_FADV_RANDOM, 0, 0 },
	{ POSIX_FADV_SEQUENTIAL, 0, 100 },
	{ POSIX_FADV_WILLNEED, 5000, 10000 },
	{ POSIX_FADV_WILLNEED, 1ull << 40, 10000 },
	{ POSIX_FADV_DONTNEED, 1, 0 },
	{ POSIX_FADV_DONTNEED, 0, 1ull << 40 },
	{ POSIX_FADV_NOREUSE, 0, 0 },
};
/* clang-format on */

START_TEST(files_are_synced_and_advised_empty_or_not)
{
	static const uint64_t sizes[] = { 0, 1, 10 * BLOCK };
	struct rig r;

	begin(&r, BLOCK);
	open_by_engine(&r, sizes[_i], O_RDWR);
	ck_assert_int_eq(do_one(&r, MLGEN_WRITE, 0, 1), 1);
	for (unsigned i = 0; i < sizeof(advice_cases) / sizeof(advice_cases[0]); i++) {
		const struct advice_case *c = &advice_cases[i];
		struct io_op op = rig_op(&r, MLGEN_ADVISE, c->off, c->bytes);

		op.io.advice = c->advice;
		ck_assert_int_eq(io_do(r.io, &op), 0);
		ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, 1), 1);
	}
	ck_assert_int_eq(do_one(&r, MLGEN_FDATASYNC, 0, 0), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_FSYNC, 0, 0), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	rig_end(&r);
}
END_TEST

START_TEST(a_folder_is_opened_to_be_synced_only)
{
	struct rig r;

	begin(&r, BLOCK);
	rig_file(&r, 1, O_RDONLY);
	close(r.file.fd);
	r.file = (struct mlgen_file){ .path = r.dir, .fd = -1, .flags = O_RDONLY | O_DIRECTORY };
	ck_assert_int_eq(do_one(&r, MLGEN_OPEN, 0, 0), 0);
	int64_t rc = do_one(&r, MLGEN_FSYNC, 0, 0);
	ck_assert(rc == 0 || rc == -EINVAL); /* some know no such thing */
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, 1), -EISDIR);
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	r.file.path = "/no/such/file";
	ck_assert_int_eq(do_one(&r, MLGEN_OPEN, 0, 0), -ENOENT);
	ck_assert_int_eq(r.file.fd, -1);
	rig_end(&r);
}
END_TEST

START_TEST(huge_pages_are_in_use_or_noted)
{
	static const char *const options[] = { "thp=1", NULL };
	const struct mlgen_engine *e = engines_find("mmap");
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "mmap", _i ? options : NULL), 0);
	struct mlgen_ctx ctx = { .job = &r.job, .opts = r.opts, .iodepth = 1 };
	ck_assert_int_eq(e->init(&ctx, &r.err), 0);
	if (_i == 0)
		ck_assert(!ctx.in_use[0] && !ctx.note[0]);
	else
		ck_assert_int_ne(strcmp(ctx.in_use, "thp") == 0,
				 strncmp(ctx.note, "thp: ", 5) == 0);
	e->fini(&ctx);
	rig_end(&r);
}
END_TEST

/* The first is read, as all below the limit are; only one that is not maps. */
START_TEST(what_is_short_is_read_and_maps_nothing)
{
	static const char *const options[] = { "mmap_from=8k", NULL };
	struct rig r;
	size_t bytes;

	ck_assert(rig_start(&r, "mmap", options, 1, 65536));
	open_by_engine(&r, 20000, O_RDONLY);
	const unsigned char *buf = io_buffer(r.io, &bytes);
	ck_assert_uint_eq(r.file.word, 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 16000, 8191), 4000);
	ck_assert_uint_eq(buf[3999], rig_byte(19999));
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 30000, 1), 0);
	ck_assert_uint_eq(r.file.word, 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 1, 8192), 8192);
	ck_assert_uint_eq(buf[8191], rig_byte(8192));
	ck_assert_uint_ne(r.file.word, 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 5, 1), 1);
	ck_assert_uint_eq(buf[0], rig_byte(5));
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	r.file.flags = O_WRONLY;
	ck_assert_int_eq(do_one(&r, MLGEN_OPEN, 0, 0), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, 1), -EBADF);
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	rig_end(&r);
}
END_TEST

Suite *suite_engine_mmap(void)
{
	Suite *s = suite_create("engine_mmap");
	TCase *t = tcase_create("engine_mmap");

	tcase_add_loop_test(t, a_new_file_is_as_long_as_what_was_written, 0,
			    sizeof(piece_cases) / sizeof(piece_cases[0]));
	tcase_add_test(t, a_write_far_behind_the_end_leaves_a_hole);
	tcase_add_loop_test(t, what_others_append_is_read, 0, 2);
	tcase_add_test(t, a_file_that_may_not_grow_is_efbig_after_what_fits);
	tcase_add_loop_test(t, what_a_file_does_not_allow_is_refused, 0,
			    sizeof(bad_cases) / sizeof(bad_cases[0]));
	tcase_add_test(t, no_more_files_than_it_was_told_are_open);
	tcase_add_loop_test(t, files_are_synced_and_advised_empty_or_not, 0, 3);
	tcase_add_test(t, a_folder_is_opened_to_be_synced_only);
	tcase_add_loop_test(t, huge_pages_are_in_use_or_noted, 0, 2);
	tcase_add_test(t, what_is_short_is_read_and_maps_nothing);
	suite_add_tcase(s, t);
	return s;
}
