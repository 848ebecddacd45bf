/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_io.c - every engine that moves bytes through the io layer, at several depths. */
#include <sys/stat.h>

#include "engine_rig.h"
#include "suites.h"

#define BLOCK 4096u
#define DEEPEST 64u

/* clang-format off */
static const struct engine_case {
	const char *name;
	const char *options[RIG_OPTIONS];
} engines[] = {
	{ "psync", { NULL } },
	{ "psync", { "hipri=1", NULL } },
	{ "io_uring", { NULL } },
	{ "libaio", { NULL } },
	{ "libaio", { "userspace_reap=1", NULL } },
	{ "libaio", { "libaio_vectored=1", NULL } },
	{ "mmap", { NULL } },
	{ "mmap", { "thp=1", NULL } },
	{ "mmap", { "mmap_from=1g", NULL } },
	{ "fault", { "engine=psync", NULL } },
	{ "fault", { "engine=io_uring", NULL } },
	{ "fault", { "engine=libaio", NULL } },
	{ "fault", { "engine=mmap", NULL } },
	/* The same with short transfers, interruptions and late completions. */
	{ "fault", { "engine=psync", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=io_uring", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=libaio", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=mmap", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=io_uring", "short_every=3", "delay_every=2", "delay=1ms", NULL } },
	{ "fault", { "engine=libaio", "short_every=3", "delay_every=2", "delay=1ms", NULL } },
};
/* clang-format on */

static const unsigned depths[] = { 1, 8, DEEPEST };

#define ENGINES (int)(sizeof(engines) / sizeof(engines[0]))
#define CASES (ENGINES * 3)

static unsigned depth_of(int i)
{
	return depths[i % 3];
}

/* A buffer in which each operation in flight has a block to itself. */
static bool start(struct rig *r, int i)
{
	const struct engine_case *e = &engines[i / 3];

	return rig_start(r, e->name, e->options, depth_of(i), (size_t)depth_of(i) * BLOCK);
}

static const unsigned char *bytes_of(const struct io_op *op)
{
	const unsigned char *end = op->io.iov[0].iov_base;

	/* A resumed read ends where the last part of it does. */
	return end + op->io.iov[0].iov_len - op->done_bytes;
}

static void check_block(const struct io_op *op)
{
	ck_assert(rig_bytes_are(bytes_of(op), op->io.off, op->done_bytes));
}

START_TEST(a_full_queue_of_reads_brings_what_is_in_the_file)
{
	struct io_op ops[DEEPEST], *done[DEEPEST];
	unsigned depth = depth_of(_i);
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, 256 * BLOCK, O_RDONLY);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < depth; i++) {
			uint64_t block = (i * 37 + round * 11) % 256;

			ops[i] = rig_op(&r, MLGEN_READ, block * BLOCK, BLOCK);
			io_submit(r.io, &ops[i]);
		}
		ck_assert_uint_eq(io_room(r.io), 0);
		rig_reap(&r, done, depth);
		ck_assert_uint_eq(io_room(r.io), depth);
		for (unsigned i = 0; i < depth; i++) {
			ck_assert_int_eq(ops[i].io.result, BLOCK);
			/* Of a synchronous engine only the last is left. */
			if (r.job.engine->reap || i == depth - 1)
				check_block(&ops[i]);
		}
	}
	ck_assert_uint_eq(r.stat.lat[MLGEN_READ]->count, 3 * depth);
	ck_assert_uint_eq(r.stat.io_bytes[0], 3ull * depth * BLOCK);
	rig_end(&r);
}
END_TEST

static void fill_bytes(unsigned char *to, size_t bytes, unsigned char add)
{
	const unsigned char *content = rig_content(bytes);

	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(content[i] + add);
}

static void fill(struct io *io, unsigned char add)
{
	size_t bytes;
	unsigned char *buf = io_buffer(io, &bytes);

	fill_bytes(buf, bytes, add);
}

static void check_file(const struct rig *r, uint64_t bytes, uint64_t period, unsigned char add)
{
	unsigned char *content = mem_zalloc(bytes + 1);
	unsigned char *want = mem_zalloc(period);
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(read(fd, content, bytes + 1), (ssize_t)bytes);
	fill_bytes(want, period, add);
	for (uint64_t at = 0; at < bytes; at += period) {
		uint64_t n = bytes - at < period ? bytes - at : period;

		ck_assert(memcmp(content + at, want, n) == 0);
	}
	close(fd);
	mem_free(want);
	mem_free(content);
}

START_TEST(what_a_full_queue_writes_is_in_the_file)
{
	struct io_op ops[DEEPEST], *done[DEEPEST];
	unsigned depth = depth_of(_i);
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, 0, O_RDWR);
	fill(r.io, 5);
	for (unsigned i = 0; i < depth; i++) {
		ops[i] = rig_op(&r, MLGEN_WRITE, (uint64_t)(depth - 1 - i) * BLOCK, BLOCK);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, depth);
	for (unsigned i = 0; i < depth; i++)
		ck_assert_int_eq(ops[i].io.result, BLOCK);
	check_file(&r, (uint64_t)depth * BLOCK, BLOCK, 5);
	ck_assert_uint_eq(r.stat.io_bytes[1], (uint64_t)depth * BLOCK);
	rig_end(&r);
}
END_TEST

START_TEST(one_call_is_larger_than_the_buffer)
{
	const uint64_t bytes = 300 * BLOCK + 77;
	struct rig r;
	size_t span;

	if (!start(&r, _i))
		return;
	rig_file(&r, bytes, O_RDWR);
	const unsigned char *buf = io_buffer(r.io, &span);
	struct io_op op = rig_op(&r, MLGEN_READ, 0, bytes);
	ck_assert_int_eq(io_do(r.io, &op), (int64_t)bytes);
	/* Over what came before lies the last part of the file. */
	uint64_t off = bytes - span;
	while (off < bytes && buf[off % span] == rig_byte(off))
		off++;
	ck_assert_uint_eq(off, bytes);

	fill(r.io, 9);
	op = rig_op(&r, MLGEN_WRITE, 0, bytes);
	ck_assert_int_eq(io_do(r.io, &op), (int64_t)bytes);
	check_file(&r, bytes, span, 9);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct end_case {
	uint64_t off, bytes;
	bool eof_ok;
	int64_t result;
	uint64_t done;
} end_cases[] = {
	{ 0, 10000, false, 10000, 10000 },
	{ 8192, 4096, true, 1808, 1808 },
	{ 8192, 4096, false, -ENODATA, 1808 },
	{ 10000, 4096, true, 0, 0 },
	{ 10000, 4096, false, -ENODATA, 0 },
	{ 1ull << 40, 4096, true, 0, 0 },
	{ 0, 12000, true, 10000, 10000 },
	{ 0, 0, false, 0, 0 },
	{ 10000, 0, false, 0, 0 },
	{ 20000, 0, true, 0, 0 },
	{ 9999, 1, false, 1, 1 },
};
/* clang-format on */

START_TEST(a_read_ends_with_the_file)
{
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, 10000, O_RDONLY);
	for (size_t i = 0; i < sizeof(end_cases) / sizeof(end_cases[0]); i++) {
		const struct end_case *c = &end_cases[i];
		struct io_op op = rig_op(&r, MLGEN_READ, c->off, c->bytes);

		op.eof_ok = c->eof_ok;
		ck_assert_int_eq(io_do(r.io, &op), c->result);
		ck_assert_uint_eq(op.done_bytes, c->done);
	}
	rig_end(&r);
}
END_TEST

START_TEST(a_bad_operation_in_a_batch_fails_alone)
{
	struct mlgen_file bad = { .path = "nowhere", .fd = -1 };
	struct io_op ops[DEEPEST], *done[DEEPEST];
	unsigned depth = depth_of(_i);
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, DEEPEST * BLOCK, O_RDONLY);
	for (unsigned i = 0; i < depth; i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * BLOCK, BLOCK);
		if (i % 4 == 0)
			ops[i].io.file = &bad;
		if (i % 4 == 2)
			ops[i].io.op = MLGEN_WRITE; /* the file is read-only */
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, depth);
	for (unsigned i = 0; i < depth; i++)
		ck_assert_int_eq(ops[i].io.result, i % 2 ? (int)BLOCK : -EBADF);
	struct io_op op = rig_op(&r, MLGEN_READ, 0, BLOCK);
	ck_assert_int_eq(io_do(r.io, &op), BLOCK);
	rig_end(&r);
}
END_TEST

START_TEST(a_folder_is_not_read)
{
	struct mlgen_file folder = { .path = "/", .flags = O_RDONLY };
	struct rig r;

	if (!start(&r, _i * 3 + 1))
		return;
	folder.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct io_op op = rig_op(&r, MLGEN_READ, 0, BLOCK);
	op.io.file = &folder;
	int64_t rc = io_do(r.io, &op);
	/* Native AIO finds no function for it before it looks at the kind. */
	ck_assert_msg(rc == -EISDIR || rc == -EINVAL, "%d", (int)rc);
	close(folder.fd);
	rig_end(&r);
}
END_TEST

START_TEST(every_operation_comes_back_once)
{
	enum { OPERATIONS = 2000 };
	struct io_op ops[DEEPEST], *unused[DEEPEST], *done[DEEPEST];
	static unsigned char seen[OPERATIONS];
	unsigned depth = depth_of(_i), left = depth, next = 0, back = 0;
	struct rig r;

	if (!start(&r, _i))
		return;
	memset(seen, 0, sizeof(seen));
	rig_file(&r, 256 * BLOCK, O_RDONLY);
	for (unsigned i = 0; i < depth; i++)
		unused[i] = &ops[i];
	while (back < OPERATIONS) {
		while (left && next < OPERATIONS) {
			struct io_op *op = unused[--left];

			*op = rig_op(&r, MLGEN_READ, next * 7919 % 256 * BLOCK, next % BLOCK);
			op->owner = &seen[next++];
			io_submit(r.io, op);
		}
		int n = io_reap(r.io, done, 1, next % 3 ? depth : 1);
		ck_assert_int_gt(n, 0);
		for (int i = 0; i < n; i++, back++) {
			++*(unsigned char *)done[i]->owner;
			ck_assert_int_eq(done[i]->io.result, (int64_t)done[i]->io.len_bytes);
			unused[left++] = done[i];
		}
	}
	for (unsigned i = 0; i < OPERATIONS; i++)
		ck_assert_uint_eq(seen[i], 1);
	ck_assert_uint_eq(r.stat.lat[MLGEN_READ]->count, OPERATIONS);
	rig_end(&r);
}
END_TEST

START_TEST(what_is_under_way_at_the_end_does_no_harm)
{
	struct io_op ops[DEEPEST], *none;
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, DEEPEST * BLOCK, O_RDONLY);
	for (unsigned i = 0; i < depth_of(_i); i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * BLOCK, BLOCK);
		io_submit(r.io, &ops[i]);
	}
	ck_assert_int_ge(io_reap(r.io, &none, 0, 1), 0);
	rig_end(&r);
}
END_TEST

static int64_t do_meta_to(struct rig *r, enum mlgen_op kind, struct mlgen_file *file,
			  uint64_t bytes, const char *path2)
{
	struct io_op op = rig_op(r, kind, 0, bytes);

	op.io.file = file;
	op.io.path2 = path2;
	op.io.advice = POSIX_FADV_DONTNEED;
	int64_t rc = io_do(r->io, &op);
	if (kind == MLGEN_STAT && rc == 0)
		ck_assert_uint_eq(op.io.size_bytes, bytes);
	return rc;
}

static int64_t do_meta(struct rig *r, enum mlgen_op kind, struct mlgen_file *file, uint64_t bytes)
{
	return do_meta_to(r, kind, file, bytes, r->path);
}

START_TEST(metadata_works_on_every_engine)
{
	char other[320], folder[320];
	struct rig r;

	if (!start(&r, _i * 3 + 1))
		return;
	rig_file(&r, 0, O_RDWR);
	snprintf(other, sizeof(other), "%s/other", r.dir);
	snprintf(folder, sizeof(folder), "%s/folder", r.dir);
	struct mlgen_file f = {
		.path = other, .fd = -1, .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0600
	};
	struct mlgen_file d = { .path = folder, .fd = -1, .mode = 0700 };
	ck_assert_int_eq(do_meta(&r, MLGEN_STAT, &f, 0), -ENOENT);
	ck_assert_int_eq(do_meta(&r, MLGEN_OPEN, &f, 0), 0);
	ck_assert(f.fd >= 0 || f.word); /* here, or the engine's to know */
	ck_assert_int_eq(do_meta(&r, MLGEN_ALLOCATE, &f, 10000), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_STAT, &f, 10000), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_WRITE, &f, 5000), 5000);
	ck_assert_int_eq(do_meta(&r, MLGEN_FDATASYNC, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_FSYNC, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_ADVISE, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_RENAME, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_CLOSE, &f, 0), 0);
	ck_assert_int_eq(f.fd, -1);
	ck_assert_uint_eq(f.word, 0);
	f.path = r.path;
	f.flags = O_RDONLY;
	ck_assert_int_eq(do_meta(&r, MLGEN_STAT, &f, 10000), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_UNLINK, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_OPEN, &f, 0), -ENOENT);
	ck_assert_int_eq(f.fd, -1);
	ck_assert_int_eq(do_meta(&r, MLGEN_MKDIR, &d, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_RMDIR, &d, 0), 0);
	rig_end(&r);
}
END_TEST

/* A path that leads nowhere shows that it is not looked at. */
START_TEST(a_name_is_looked_for_in_the_folder_that_is_held)
{
	char other[320];
	struct rig r;

	if (!start(&r, _i * 3 + 1))
		return;
	rig_file(&r, 0, O_RDWR);
	snprintf(other, sizeof(other), "%s/second", r.dir);
	struct mlgen_file f = { .path = "/no/such/folder/first",
				.name = "first",
				.fd = -1,
				.flags = O_RDWR | O_CREAT | O_EXCL,
				.mode = 0700 };
	f.dir_fd = open(r.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(f.dir_fd, 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_OPEN, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_WRITE, &f, 5000), 5000);
	ck_assert_int_eq(do_meta(&r, MLGEN_CLOSE, &f, 0), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_STAT, &f, 5000), 0);
	ck_assert_int_eq(do_meta_to(&r, MLGEN_RENAME, &f, 0, "second"), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	f.name = "second";
	ck_assert_int_eq(do_meta(&r, MLGEN_UNLINK, &f, 0), 0);
	ck_assert_int_eq(access(other, F_OK), -1);
	ck_assert_int_eq(do_meta(&r, MLGEN_MKDIR, &f, 0), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	ck_assert_int_eq(do_meta(&r, MLGEN_RMDIR, &f, 0), 0);
	ck_assert_int_eq(access(other, F_OK), -1);
	close(f.dir_fd);
	rig_end(&r);
}
END_TEST

START_TEST(direct_reads_and_writes_pass_the_page_cache)
{
	struct io_op ops[DEEPEST], *done[DEEPEST];
	unsigned depth = depth_of(_i);
	struct rig r;

	if (!start(&r, _i))
		return;
	rig_file(&r, DEEPEST * BLOCK, O_RDWR | O_DIRECT);
	if (r.file.fd < 0) {
		fprintf(stderr, "skipped: no O_DIRECT in %s\n", r.dir);
		rig_end(&r);
		return;
	}
	for (unsigned i = 0; i < depth; i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * BLOCK, BLOCK);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, depth);
	for (unsigned i = 0; i < depth; i++) {
		ck_assert_int_eq(ops[i].io.result, BLOCK);
		if (r.job.engine->reap || i == depth - 1)
			check_block(&ops[i]);
	}
	struct io_op op = rig_op(&r, MLGEN_READ, 0, DEEPEST * BLOCK);
	ck_assert_int_eq(io_do(r.io, &op), DEEPEST * BLOCK);
	fill(r.io, 3);
	op = rig_op(&r, MLGEN_WRITE, 0, DEEPEST * BLOCK);
	ck_assert_int_eq(io_do(r.io, &op), DEEPEST * BLOCK);
	check_file(&r, DEEPEST * BLOCK, (uint64_t)depth * BLOCK, 3);
	rig_end(&r);
}
END_TEST

static TCase *matrix_case(void)
{
	TCase *t = tcase_create("engines");

	tcase_add_loop_test(t, a_full_queue_of_reads_brings_what_is_in_the_file, 0, CASES);
	tcase_add_loop_test(t, what_a_full_queue_writes_is_in_the_file, 0, CASES);
	tcase_add_loop_test(t, one_call_is_larger_than_the_buffer, 0, CASES);
	tcase_add_loop_test(t, a_read_ends_with_the_file, 0, CASES);
	tcase_add_loop_test(t, a_bad_operation_in_a_batch_fails_alone, 0, CASES);
	tcase_add_loop_test(t, a_folder_is_not_read, 0, ENGINES);
	tcase_add_loop_test(t, every_operation_comes_back_once, 0, CASES);
	tcase_add_loop_test(t, what_is_under_way_at_the_end_does_no_harm, 0, CASES);
	tcase_add_loop_test(t, metadata_works_on_every_engine, 0, ENGINES);
	tcase_add_loop_test(t, a_name_is_looked_for_in_the_folder_that_is_held, 0, ENGINES);
	tcase_add_loop_test(t, direct_reads_and_writes_pass_the_page_cache, 0, CASES);
	return t;
}

Suite *suite_engine_io(void)
{
	Suite *s = suite_create("engine_io");

	suite_add_tcase(s, matrix_case());
	return s;
}
