/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_io_uring_files.c - every operation of the ring on real files. */
#include <sys/stat.h>
#include <sys/uio.h>

#include "suites.h"
#include "uring_scene.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

static int64_t transfer(struct scene *s, enum mlgen_op kind, struct mlgen_file *file,
			const struct iovec *iov, int iovcnt, uint64_t off)
{
	struct mlgen_io op = an_op(kind, file);

	op.iov = iov;
	op.iovcnt = iovcnt;
	op.off = off;
	for (int i = 0; i < iovcnt; i++)
		op.len_bytes += iov[i].iov_len;
	return bare_do(&s->b, &op);
}

static void check_bytes(const void *bytes, uint64_t off, size_t len)
{
	const unsigned char *b = bytes;
	size_t i = 0;

	while (i < len && b[i] == rig_byte(off + i))
		i++;
	ck_assert_uint_eq(i, len);
}

static int64_t stat_size(struct scene *s, struct mlgen_file *file, uint64_t *size)
{
	struct mlgen_io op = an_op(MLGEN_STAT, file);
	int64_t rc = bare_do(&s->b, &op);

	*size = op.size_bytes;
	return rc;
}

/* clang-format off */
static const struct how {
	const char *options[3];
	bool in_table, by_fd;
} hows[] = {
	{ { "registerfiles=1", NULL }, true, false },
	{ { "registerfiles=0", NULL }, false, true },
	{ { "registerfiles=0", "fixedbufs=0", NULL }, false, true },
	{ { "registerfiles=1", "fixedbufs=0", NULL }, true, false },
	{ { "registerfiles=1", "sqthread_poll=1", NULL }, true, false },
	{ { "registerfiles=1", "force_async=2", NULL }, true, false },
	{ { "registerfiles=1", "hipri=1", NULL }, true, true },
	{ { "registerfiles=0", "hipri=1", NULL }, false, true },
};
/* clang-format on */

static bool polls(const struct how *h)
{
	return h->options[1] && strcmp(h->options[1], "hipri=1") == 0;
}

/* What a polled ring cannot do with a buffered file. */
static void write_and_read(struct scene *s, struct mlgen_file *file)
{
	struct iovec iov = { s->b.ctx.buf, 2 * BLOCK };
	unsigned char *buf = s->b.ctx.buf;

	for (unsigned i = 0; i < 2 * BLOCK; i++)
		buf[i] = rig_byte(i);
	ck_assert_int_eq(transfer(s, MLGEN_WRITE, file, &iov, 1, 0), 2 * BLOCK);
	memset(buf, 0, 2 * BLOCK);
	ck_assert_int_eq(transfer(s, MLGEN_READ, file, &iov, 1, 0), 2 * BLOCK);
	check_bytes(buf, 0, 2 * BLOCK);
}

static void advise(struct scene *s, struct mlgen_file *file)
{
	struct mlgen_io op = an_op(MLGEN_ADVISE, file);

	op.advice = POSIX_FADV_DONTNEED;
	ck_assert_int_eq(bare_do(&s->b, &op), 0);
	op.len_bytes = BLOCK;
	ck_assert_int_eq(bare_do(&s->b, &op), 0);
	op.advice = 99;
	ck_assert_int_eq(bare_do(&s->b, &op), -EINVAL);
	/* Kernels that cannot say so long a length refuse it. */
	op.advice = POSIX_FADV_DONTNEED;
	op.len_bytes = 5ull << 30;
	ck_assert(bare_do(&s->b, &op) == 0 || file->fd < 0);
}

static void allocate(struct scene *s, struct mlgen_file *file)
{
	struct mlgen_io op = an_op(MLGEN_ALLOCATE, file);
	int64_t rc;

	op.off = BLOCK;
	op.len_bytes = 2 * BLOCK;
	rc = bare_do(&s->b, &op);
	ck_assert(rc == 0 || rc == -EOPNOTSUPP);
	if (rc == -EOPNOTSUPP)
		ck_assert_int_eq(truncate(file->path, 3 * BLOCK), 0);
}

START_TEST(every_operation_does_its_work)
{
	const struct how *h = &hows[_i];
	char sub[300], path[320], other[320];
	struct mlgen_file dir = { .path = sub, .fd = -1, .mode = 0750 };
	struct mlgen_file file = {
		.path = path, .fd = -1, .flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, .mode = 0640
	};
	struct mlgen_io rename = an_op(MLGEN_RENAME, &file);
	struct scene s;
	struct stat st;
	uint64_t size;

	if (!scene_init(&s, h->options, 4, 2, 1))
		return;
	snprintf(sub, sizeof(sub), "%.280s/sub", s.r.dir);
	snprintf(path, sizeof(path), "%s/a", sub);
	snprintf(other, sizeof(other), "%s/b", sub);
	ck_assert_int_eq(one(&s, MLGEN_MKDIR, &dir), 0);
	ck_assert_int_eq(one(&s, MLGEN_MKDIR, &dir), -EEXIST);
	ck_assert_int_eq(stat(sub, &st), 0);
	ck_assert_int_eq(st.st_mode, S_IFDIR | 0750);
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &file), 0);
	check_open(&file, h->in_table, h->by_fd);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG | 0640);
	allocate(&s, &file);
	ck_assert_int_eq(stat_size(&s, &file, &size), 0);
	ck_assert_uint_eq(size, 3 * BLOCK);
	if (!polls(h))
		write_and_read(&s, &file);
	ck_assert_int_eq(one(&s, MLGEN_FSYNC, &file), 0);
	ck_assert_int_eq(one(&s, MLGEN_FDATASYNC, &file), 0);
	advise(&s, &file);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &file), 0);
	check_open(&file, false, false);
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &file), -EEXIST);
	check_open(&file, false, false);
	rename.path2 = other;
	ck_assert_int_eq(bare_do(&s.b, &rename), 0);
	ck_assert_int_eq(stat_size(&s, &file, &size), -ENOENT);
	ck_assert_int_eq(one(&s, MLGEN_UNLINK, &file), -ENOENT);
	ck_assert_int_eq(one(&s, MLGEN_RMDIR, &dir), -ENOTEMPTY);
	file.path = other;
	ck_assert_int_eq(one(&s, MLGEN_UNLINK, &file), 0);
	ck_assert_int_eq(one(&s, MLGEN_RMDIR, &dir), 0);
	ck_assert_int_eq(stat(sub, &st), -1);
	scene_end(&s);
}
END_TEST

START_TEST(a_read_lands_where_its_parts_say)
{
	const struct how *h = &hows[_i];
	unsigned char outside[64], *buf;
	struct iovec parts[3];
	struct scene s;

	if (polls(h) || !scene_init(&s, h->options, 4, 2, 4 * BLOCK))
		return;
	buf = s.b.ctx.buf;
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	parts[0] = (struct iovec){ buf + 100, 5000 };
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, parts, 1, 33), 5000);
	check_bytes(buf + 100, 33, 5000);
	parts[0] = (struct iovec){ outside, sizeof(outside) };
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, parts, 1, BLOCK), sizeof(outside));
	check_bytes(outside, BLOCK, sizeof(outside));
	/* The last byte of the buffer, a part that repeats, and one outside. */
	parts[0] = (struct iovec){ buf + BUF_BYTES - 1, 1 };
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, parts, 1, 7), 1);
	check_bytes(buf + BUF_BYTES - 1, 7, 1);
	parts[0] = (struct iovec){ buf, BLOCK };
	parts[1] = (struct iovec){ buf, BLOCK };
	parts[2] = (struct iovec){ outside, 10 };
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, parts, 3, 0), 2 * BLOCK + 10);
	check_bytes(buf, BLOCK, BLOCK);
	check_bytes(outside, 2 * BLOCK, 10);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	scene_end(&s);
}
END_TEST

START_TEST(sizes_are_asked_for_as_often_as_one_likes)
{
	const struct how *h = &hows[_i];
	struct mlgen_io op[4], *io[4];
	struct scene s;

	if (!scene_init(&s, h->options, 4, 2, 12345))
		return;
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 4; i++) {
			op[i] = an_op(MLGEN_STAT, &s.file);
			io[i] = &op[i];
		}
		ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, io, 4), 4);
		reap_all(&s, 4);
		for (unsigned i = 0; i < 4; i++)
			ck_assert_uint_eq(op[i].size_bytes, 12345);
	}
	scene_end(&s);
}
END_TEST

/* Its thread gives room back after what was in it has completed. */
START_TEST(a_polling_thread_always_leaves_room)
{
	static const char *const options[] = { "sqthread_poll=1", NULL };
	struct mlgen_io op[4], *io[4], *done[4];
	struct scene s;
	struct iovec iov;

	if (!scene_init(&s, options, 4, 2, BLOCK))
		return;
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	for (unsigned i = 0; i < 4; i++) {
		op[i] = an_op(MLGEN_READ, &s.file);
		op[i].iov = &iov;
		op[i].iovcnt = 1;
		io[i] = &op[i];
	}
	for (unsigned round = 0; round < 2000; round++) {
		unsigned left = 4;

		ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, io, 4), 4);
		while (left > 0) /* looks on, to be as early as can be */
			left -= (unsigned)s.b.engine->reap(&s.b.ctx, done, 0, left, 0);
	}
	scene_end(&s);
}
END_TEST

START_TEST(a_file_opened_elsewhere_is_as_good)
{
	const struct how *h = &hows[_i];
	struct scene s;
	struct iovec iov;
	uint64_t size;

	if (polls(h) || !scene_init(&s, h->options, 4, 2, 4 * BLOCK))
		return;
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	s.file.fd = open(s.file.path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, BLOCK), BLOCK);
	check_bytes(s.b.ctx.buf, BLOCK, BLOCK);
	unlink(s.file.path); /* so that only the open file has a size */
	ck_assert_int_eq(stat_size(&s, &s.file, &size), 0);
	ck_assert_uint_eq(size, 4 * BLOCK);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	check_open(&s.file, false, false);
	scene_end(&s);
}
END_TEST

/* Whatever a file cannot do is its own operation's result. */
START_TEST(a_failure_is_the_result_of_its_operation)
{
	const struct how *h = &hows[_i];
	struct scene s;
	struct iovec iov;

	if (polls(h) || !scene_init(&s, h->options, 4, 2, BLOCK))
		return;
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	ck_assert_int_eq(transfer(&s, MLGEN_WRITE, &s.file, &iov, 1, 0), -EBADF);
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, BLOCK), 0);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	s.file.path = s.r.dir;
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, 0), -EISDIR);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	scene_end(&s);
}
END_TEST

START_TEST(direct_reads_work)
{
	const struct how *h = &hows[_i];
	struct scene s;
	struct iovec iov;
	int64_t rc;

	if (polls(h) || !scene_init(&s, h->options, 4, 2, 4 * BLOCK))
		return;
	iov = (struct iovec){ (char *)s.b.ctx.buf + BLOCK, 2 * BLOCK };
	s.file.flags |= O_DIRECT;
	rc = one(&s, MLGEN_OPEN, &s.file);
	ck_assert(rc == 0 || rc == -EINVAL); /* not on this filesystem */
	if (rc == 0) {
		ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, BLOCK), 2 * BLOCK);
		check_bytes(iov.iov_base, BLOCK, 2 * BLOCK);
		ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	}
	scene_end(&s);
}
END_TEST

START_TEST(uncached_is_what_the_filesystem_makes_of_it)
{
	static const char *const options[] = { "uncached=1", NULL };
	struct scene s;
	struct iovec iov;
	ssize_t want;
	int fd;

	if (!scene_init(&s, options, 4, 2, 4 * BLOCK))
		return;
	ck_assert_ptr_nonnull(strstr(s.b.ctx.in_use, "RWF_DONTCACHE"));
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	fd = open(s.file.path, O_RDONLY | O_CLOEXEC);
	want = preadv2(fd, &iov, 1, BLOCK, RWF_DONTCACHE);
	if (want < 0)
		want = -errno;
	ck_assert(want == BLOCK || want == -EOPNOTSUPP);
	close(fd);
	memset(s.b.ctx.buf, 0, BLOCK);
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, BLOCK), want);
	if (want > 0)
		check_bytes(s.b.ctx.buf, BLOCK, BLOCK);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	scene_end(&s);
}
END_TEST

START_TEST(nowait_does_not_wait)
{
	static const char *const options[] = { "nowait=1", NULL };
	struct scene s;
	struct iovec iov;
	ssize_t want;
	int fd;

	if (!scene_init(&s, options, 4, 2, 4 * BLOCK))
		return;
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	fd = open(s.file.path, O_RDONLY | O_CLOEXEC);
	want = preadv2(fd, &iov, 1, BLOCK, RWF_NOWAIT); /* just written */
	if (want < 0)
		want = -errno;
	close(fd);
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	ck_assert_int_eq(transfer(&s, MLGEN_READ, &s.file, &iov, 1, BLOCK), want);
	ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	scene_end(&s);
}
END_TEST

/* No such queues under most of what tests run on; then it is said. */
START_TEST(polling_a_device_without_poll_queues_is_told)
{
	static const char *const options[] = { "hipri=1", NULL };
	struct mlgen_io op, *io = &op, *done;
	struct scene s;
	struct iovec iov;

	if (!scene_init(&s, options, 4, 2, 4 * BLOCK))
		return;
	ck_assert(!s.b.ctx.can_link);
	ck_assert_ptr_nonnull(strstr(s.b.ctx.in_use, "polled completions"));
	ck_assert_str_eq(s.b.ctx.note, "");
	iov = (struct iovec){ s.b.ctx.buf, BLOCK };
	s.file.flags |= _i ? O_DIRECT : 0;
	if (one(&s, MLGEN_OPEN, &s.file) == 0) {
		op = an_op(MLGEN_READ, &s.file);
		op.iov = &iov;
		op.iovcnt = 1;
		op.len_bytes = BLOCK;
		ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, &io, 1), 1);
		/* A wait with a limit sees it as well. */
		ck_assert_int_eq(s.b.engine->reap(&s.b.ctx, &done, 1, 1, 60000000000u), 1);
		ck_assert(op.result == -EOPNOTSUPP || (_i && op.result == BLOCK));
		if (op.result < 0)
			ck_assert_ptr_nonnull(strstr(s.b.ctx.note, "no poll queues"));
		ck_assert_int_eq(one(&s, MLGEN_CLOSE, &s.file), 0);
	}
	scene_end(&s);
}
END_TEST

static TCase *case_of_operations(void)
{
	const int n = (int)(sizeof(hows) / sizeof(hows[0]));
	TCase *t = tcase_create("operations");

	tcase_add_loop_test(t, every_operation_does_its_work, 0, n);
	tcase_add_loop_test(t, a_read_lands_where_its_parts_say, 0, n);
	tcase_add_loop_test(t, sizes_are_asked_for_as_often_as_one_likes, 0, n);
	tcase_add_test(t, a_polling_thread_always_leaves_room);
	tcase_add_loop_test(t, a_file_opened_elsewhere_is_as_good, 0, n);
	tcase_add_loop_test(t, a_failure_is_the_result_of_its_operation, 0, n);
	tcase_add_loop_test(t, direct_reads_work, 0, n);
	tcase_add_test(t, uncached_is_what_the_filesystem_makes_of_it);
	tcase_add_test(t, nowait_does_not_wait);
	tcase_add_loop_test(t, polling_a_device_without_poll_queues_is_told, 0, 2);
	return t;
}

Suite *suite_engine_io_uring_files(void)
{
	Suite *s = suite_create("engine_io_uring_files");

	suite_add_tcase(s, case_of_operations());
	return s;
}
