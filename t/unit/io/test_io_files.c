/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_files.c - real files below the io layer: metadata, psync and the end of a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/engines.h"
#include "mock_engine.h"
#include "suites.h"
#include "temp.h"

struct place {
	char dir[TEMP_BYTES];
	char a[300], b[300];
};

static void make_place(struct place *p)
{
	temp_folder(p->dir);
	snprintf(p->a, sizeof(p->a), "%s/a", p->dir);
	snprintf(p->b, sizeof(p->b), "%s/b", p->dir);
}

static void remove_place(const struct place *p)
{
	unlink(p->a);
	unlink(p->b);
	ck_assert_int_eq(rmdir(p->dir), 0);
}

static void make_file(const char *path, size_t bytes)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < bytes; i++)
		fputc((int)(i * 31 % 251), f);
	ck_assert_int_eq(fclose(f), 0);
}

/* One metadata operation. */
static int64_t meta_op(struct fixture *f, enum mlgen_op kind, struct mlgen_file *file,
		       uint64_t bytes)
{
	struct io_op op = transfer(kind, file, 0, bytes);

	op.io.advice = POSIX_FADV_DONTNEED;
	return io_do(f->io, &op);
}

static void open_file(struct fixture *f, struct mlgen_file *file)
{
	ck_assert_int_eq(meta_op(f, MLGEN_OPEN, file, 0), 0);
	ck_assert_int_ge(file->fd, 0);
}

START_TEST(metadata_that_the_engine_leaves_is_done_here)
{
	struct place p;
	struct fixture f;
	struct mlgen_file file = { .fd = -1, .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0644 };
	struct stat st;

	make_place(&p);
	file.path = p.a;
	set_up(&f, _i ? &mock_async : engines_find("psync"), 1, 4096);
	open_file(&f, &file);
	ck_assert_int_eq(fcntl(file.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	int64_t rc = meta_op(&f, MLGEN_ALLOCATE, &file, 10000);
	if (rc == 0) /* not every filesystem has it */
		ck_assert(fstat(file.fd, &st) == 0 && st.st_size == 10000);
	else
		ck_assert_int_eq(rc, -EOPNOTSUPP);
	ck_assert_int_eq(ftruncate(file.fd, 10000), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_FSYNC, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_FDATASYNC, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_ADVISE, &file, 0), 0);
	struct io_op op = transfer(MLGEN_STAT, &file, 0, 0);
	ck_assert_int_eq(io_do(f.io, &op), 0);
	ck_assert_uint_eq(op.io.size_bytes, 10000);
	/* of what is open, whatever its name leads to by now */
	file.path = p.b;
	ck_assert_int_eq(meta_op(&f, MLGEN_STAT, &file, 0), 0);
	file.path = p.a;
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	ck_assert_int_eq(file.fd, -1);
	ck_assert_int_eq(meta_op(&f, MLGEN_STAT, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), -EBADF);
	struct io_op move = transfer(MLGEN_RENAME, &file, 0, 0);
	move.io.path2 = p.b;
	ck_assert_int_eq(io_do(f.io, &move), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_UNLINK, &file, 0), -ENOENT);
	ck_assert_int_eq(access(p.b, F_OK), 0);
	file.mode = 0755;
	ck_assert_int_eq(meta_op(&f, MLGEN_MKDIR, &file, 0), 0);
	ck_assert_int_eq(meta_op(&f, MLGEN_MKDIR, &file, 0), -EEXIST);
	ck_assert_int_eq(meta_op(&f, MLGEN_RMDIR, &file, 0), 0);
	ck_assert_uint_eq(f.stat.lat[MLGEN_MKDIR]->count, 1);
	ck_assert_uint_eq(f.mock.calls, 0);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(psync_reads_what_is_in_the_file)
{
	static const struct {
		size_t file;
		uint64_t off, want;
		bool eof_ok;
		int64_t result;
	} cases[] = {
		/* clang-format off */
		{ 4096, 0, 4096, false, 4096 },
		{ 4096, 100, 1000, false, 1000 },
		{ 100000, 0, 100000, false, 100000 },	/* 25 buffers */
		{ 100000, 5, 99995, false, 99995 },
		{ 100000, 0, 102400, true, 100000 },	/* rounded up */
		{ 100000, 0, 102400, false, -ENODATA },
		{ 0, 0, 4096, true, 0 },
		{ 0, 0, 4096, false, -ENODATA },
		{ 0, 0, 0, false, 0 },
		{ 10, 4096, 4096, true, 0 },
		{ 5000000, 0, 5000000, false, 5000000 }, /* > 1024 parts */
		/* clang-format on */
	};
	struct mlgen_file file = { .fd = -1, .flags = O_RDONLY };
	struct place p;
	struct fixture f;
	size_t bytes;

	make_place(&p);
	make_file(p.a, cases[_i].file);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 4096);
	open_file(&f, &file);
	struct io_op op = transfer(MLGEN_READ, &file, cases[_i].off, cases[_i].want);
	op.eof_ok = cases[_i].eof_ok;
	ck_assert_int_eq(io_do(f.io, &op), cases[_i].result);
	const unsigned char *buf = io_buffer(f.io, &bytes);
	if (op.io.result > 0 && op.done_bytes <= bytes)
		for (uint64_t i = 0; i < op.done_bytes; i++)
			ck_assert_uint_eq(buf[i], (cases[_i].off + i) * 31 % 251);
	ck_assert_uint_eq(f.stat.io_bytes[0], op.done_bytes);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(psync_writes_the_buffer_again_and_again)
{
	struct mlgen_file file = { .fd = -1, .mode = 0600, .flags = O_RDWR | O_CREAT | O_EXCL };
	const uint64_t want = 3 * 4096 + 17;
	unsigned char *back = mem_zalloc(want);
	struct place p;
	struct fixture f;
	size_t bytes;

	make_place(&p);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 4096);
	unsigned char *buf = io_buffer(f.io, &bytes);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = (unsigned char)(i % 253);
	open_file(&f, &file);
	struct io_op op = transfer(MLGEN_WRITE, &file, 0, want);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)want);
	ck_assert_int_eq(pread(file.fd, back, want, 0), (ssize_t)want);
	for (uint64_t i = 0; i < want; i++)
		ck_assert_uint_eq(back[i], buf[i % bytes]);
	ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	mem_free(back);
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(a_direct_read_ends_with_the_file)
{
	struct mlgen_file file = { .fd = -1, .flags = O_RDONLY | O_DIRECT };
	struct place p;
	struct fixture f;

	make_place(&p);
	make_file(p.a, 100001);
	file.path = p.a;
	set_up(&f, engines_find("psync"), 1, 16384);
	if (meta_op(&f, MLGEN_OPEN, &file, 0) == 0) {
		struct io_op op = transfer(MLGEN_READ, &file, 0, 102400);

		op.eof_ok = true;
		ck_assert_int_eq(io_do(f.io, &op), 100001);
		op.eof_ok = false;
		ck_assert_int_eq(io_do(f.io, &op), -ENODATA);
		ck_assert_uint_eq(op.done_bytes, 100001);
		ck_assert_int_eq(meta_op(&f, MLGEN_CLOSE, &file, 0), 0);
	}
	tear_down(&f);
	remove_place(&p);
}
END_TEST

START_TEST(a_missing_file_and_a_wrong_descriptor_are_told)
{
	struct mlgen_file file = { .path = "/no/such/file", .fd = -1 };
	struct fixture f;

	set_up(&f, engines_find("psync"), 1, 4096);
	ck_assert_int_eq(meta_op(&f, MLGEN_OPEN, &file, 0), -ENOENT);
	ck_assert_int_eq(file.fd, -1);
	struct io_op op = transfer(MLGEN_READ, &file, 0, 4096);
	ck_assert_int_eq(io_do(f.io, &op), -EBADF);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 0);
	tear_down(&f);
}
END_TEST

Suite *suite_io_files(void)
{
	Suite *s = suite_create("io_files");
	TCase *t = tcase_create("files");

	tcase_add_loop_test(t, metadata_that_the_engine_leaves_is_done_here, 0, 2);
	tcase_add_loop_test(t, psync_reads_what_is_in_the_file, 0, 11);
	tcase_add_test(t, psync_writes_the_buffer_again_and_again);
	tcase_add_test(t, a_direct_read_ends_with_the_file);
	tcase_add_test(t, a_missing_file_and_a_wrong_descriptor_are_told);
	suite_add_tcase(s, t);
	return s;
}
