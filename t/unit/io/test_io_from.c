/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_from.c - writes from parts of the caller's: as they are, and resumed. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "engine_rig.h"
#include "fake_engine.h"
#include "suites.h"

#define BLOCK 4096u
#define DEPTH 4u
#define STAMP UINT64_C(0x1122334455660000)
#define PARTS 1024u
#define TEXT (160u * 1024)

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct fake fake;
	struct io *io;
	struct mlgen_file file;
	unsigned char text[TEXT];
	struct iovec parts[PARTS], kept[PARTS];
};

static void set_up_deep(struct fixture *f, bool is_sync, unsigned depth)
{
	struct io_config cfg = { .job = &f->job,
				 .stat = &f->stat,
				 .iodepth = is_sync ? 1 : depth,
				 .buf_bytes = (size_t)(is_sync ? 1 : depth) * 2 * BLOCK,
				 .stamp = STAMP };

	memset(f, 0, sizeof(*f));
	f->fake.op_ns = 1;
	f->fake.content = mem_zalloc(FAKE_CONTENT);
	f->file = (struct mlgen_file){ .path = "f", .fd = -1 };
	f->clock = cfg.clock = clock_new_virtual(1);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->job = (struct mlgen_engine_job){ .engine = is_sync ? &fake_sync : &fake_async,
					    .workers = 1,
					    .priv = &f->fake };
	ck_assert_int_eq(io_new(&f->io, &cfg, NULL), 0);
	for (unsigned i = 0; i < TEXT; i++)
		f->text[i] = rig_byte(i);
}

static void set_up(struct fixture *f, bool is_sync)
{
	set_up_deep(f, is_sync, DEPTH);
}

static void tear_down(struct fixture *f)
{
	io_free(f->io);
	mem_free(f->fake.content);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

/*
 * `count` parts of 1, 2, ... `most`, 1, ... bytes, from the end of a text down, so that the order
 * of parts shows. An op that writes them.
 */
static struct io_op from_op(struct mlgen_file *file, unsigned char *end, struct iovec *parts,
			    unsigned count, unsigned most, uint64_t off)
{
	struct io_op op = { .io = { .op = MLGEN_WRITE, .file = file, .off = off },
			    .from = parts,
			    .from_parts = count };
	uint64_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		parts[i].iov_len = i % most + 1;
		bytes += parts[i].iov_len;
		ck_assert_uint_le(bytes, TEXT);
		parts[i].iov_base = end - bytes;
	}
	op.io.len_bytes = bytes;
	return op;
}

/* As from_op; the list is remembered. */
static struct io_op kept_op(struct fixture *f, unsigned count, unsigned most, uint64_t off)
{
	struct io_op op = from_op(&f->file, f->text + TEXT, f->parts, count, most, off);

	memcpy(f->kept, f->parts, sizeof(f->kept));
	return op;
}

/* `content` is what the parts say. */
static void check_content(const struct io_op *op, const unsigned char *content)
{
	for (unsigned i = 0; i < op->from_parts; i++) {
		const struct iovec *part = &op->from[i];

		ck_assert_msg(memcmp(content, part->iov_base, part->iov_len) == 0, "part %u", i);
		content += part->iov_len;
	}
}

/* All of it is where it belongs, and the caller's is as it was. */
static void check_written(struct fixture *f, const struct io_op *op)
{
	ck_assert_int_eq(op->io.result, (int64_t)op->io.len_bytes);
	ck_assert_uint_eq(op->done_bytes, op->io.len_bytes);
	check_content(op, f->fake.content + op->io.off);
	ck_assert_int_eq(memcmp(f->kept, f->parts, sizeof(f->kept)), 0);
	unsigned same = 0;
	while (same < TEXT && f->text[same] == rig_byte(same))
		same++;
	ck_assert_uint_eq(same, TEXT);
}

static const unsigned counts[] = { 1, 2, 3, 17, PARTS };

#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

START_TEST(parts_go_out_as_they_are_in_one_call)
{
	struct fixture f;

	set_up(&f, _i >= COUNTS);
	struct io_op op = kept_op(&f, counts[_i % COUNTS], 200, 4000);
	uint64_t bytes = op.io.len_bytes;
	io_do(f.io, &op);
	check_written(&f, &op);
	ck_assert_uint_eq(f.fake.logged, 1);
	ck_assert_ptr_eq(f.fake.log[0].base, f.parts[0].iov_base);
	ck_assert_uint_eq(f.fake.log[0].len_bytes, bytes);
	ck_assert_uint_eq(op.io.off, 4000);
	ck_assert_uint_eq(op.io.len_bytes, bytes);
	ck_assert_uint_eq(f.stat.io_bytes[1], bytes);
	ck_assert_uint_eq(f.stat.short_ios[1], 0);
	ck_assert_uint_eq(f.stat.lat[MLGEN_WRITE]->count, 1);
	tear_down(&f);
}
END_TEST

/* In the first part, at its end, behind it, in one of the last. */
static const int64_t cuts[] = { 1, 2, 3, 4, 27, 28, 29, 5000, 100000 };

#define CUTS ((int)(sizeof(cuts) / sizeof(cuts[0])))

START_TEST(a_short_write_goes_on_within_the_parts)
{
	int64_t cut = cuts[_i % CUTS];
	struct fixture f;

	set_up(&f, _i >= CUTS);
	fake_script(&f.fake, MLGEN_WRITE, cut);
	fake_script(&f.fake, MLGEN_WRITE, -EINTR);
	fake_script(&f.fake, MLGEN_WRITE, 1);
	fake_script(&f.fake, MLGEN_WRITE, -EINTR);
	fake_script(&f.fake, MLGEN_WRITE, 300);
	struct io_op op = kept_op(&f, PARTS, 200, 4000);
	uint64_t bytes = op.io.len_bytes;
	io_do(f.io, &op);
	check_written(&f, &op);
	ck_assert_uint_eq(f.fake.logged, 6);
	ck_assert_uint_eq(f.fake.log[1].off, 4000 + (uint64_t)cut);
	ck_assert_uint_eq(f.fake.log[2].off, 4000 + (uint64_t)cut);
	ck_assert_uint_eq(f.fake.log[3].off, 4001 + (uint64_t)cut);
	ck_assert_uint_eq(f.fake.log[5].len_bytes, bytes - (uint64_t)cut - 301);
	ck_assert_uint_eq(f.stat.io_bytes[1], bytes);
	ck_assert_uint_eq(f.stat.short_ios[1], 3);
	ck_assert_uint_eq(op.io.off, 4000);
	ck_assert_uint_eq(op.io.len_bytes, bytes);
	tear_down(&f);
}
END_TEST

START_TEST(what_fails_says_how_far_it_came)
{
	struct fixture f;

	set_up(&f, _i);
	fake_script(&f.fake, MLGEN_WRITE, 100);
	fake_script(&f.fake, MLGEN_WRITE, -ENOSPC);
	struct io_op op = kept_op(&f, 17, 200, 0);
	uint64_t bytes = op.io.len_bytes;
	ck_assert_int_eq(io_do(f.io, &op), -ENOSPC);
	ck_assert_uint_eq(op.done_bytes, 100);
	ck_assert_uint_eq(op.io.off, 0);
	ck_assert_uint_eq(op.io.len_bytes, bytes);
	fake_script(&f.fake, MLGEN_WRITE, 0); /* takes nothing */
	op = kept_op(&f, 17, 200, 0);
	ck_assert_int_eq(io_do(f.io, &op), -EIO);
	tear_down(&f);
}
END_TEST

/* A deep queue has room for few parts of each: more calls, the same bytes. */
START_TEST(a_deep_queue_resumes_in_several_calls)
{
	struct fixture f;

	set_up_deep(&f, false, 500);
	fake_script(&f.fake, MLGEN_WRITE, 3);
	struct io_op op = kept_op(&f, PARTS, 200, 0);
	io_do(f.io, &op);
	check_written(&f, &op);
	ck_assert_uint_gt(f.fake.logged, 2);
	/* only the first call was short */
	ck_assert_uint_eq(f.stat.short_ios[1], 1);
	tear_down(&f);
}
END_TEST

START_TEST(writes_under_way_keep_apart)
{
	struct io_op ops[DEPTH], *done[DEPTH];
	struct iovec parts[DEPTH][16];
	struct fixture f;

	set_up(&f, false);
	for (unsigned i = 0; i < DEPTH; i++) {
		fake_script(&f.fake, MLGEN_WRITE, 20 + (int64_t)i);
		ops[i] = from_op(&f.file, f.text + TEXT - 1000 * i, parts[i], 16, 16,
				 (uint64_t)i * BLOCK);
		io_submit(f.io, &ops[i]);
	}
	ck_assert_int_eq(io_reap(f.io, done, DEPTH, DEPTH), DEPTH);
	for (unsigned i = 0; i < DEPTH; i++)
		check_content(&ops[i], f.fake.content + (size_t)i * BLOCK);
	tear_down(&f);
}
END_TEST

START_TEST(they_are_not_stamped_and_the_next_write_is)
{
	uint64_t words[2];
	struct fixture f;
	size_t bytes;

	set_up(&f, _i);
	unsigned char *buf = io_buffer(f.io, &bytes);
	memset(buf, 0x5a, bytes);
	struct io_op op = kept_op(&f, 17, 200, 0);
	io_do(f.io, &op);
	check_written(&f, &op);
	size_t same = 0;
	while (same < bytes && buf[same] == 0x5a)
		same++;
	ck_assert_uint_eq(same, bytes);
	op.from = NULL;
	op.from_parts = 0;
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)op.io.len_bytes);
	memcpy(words, f.fake.content, sizeof(words));
	ck_assert_uint_eq(words[0], 0);
	ck_assert_uint_eq(words[1], STAMP);
	tear_down(&f);
}
END_TEST

/* As long as a call can be; only looked at, never touched. */
START_TEST(the_longest_call_is_one_call)
{
	const uint64_t part = 2u << 20, bytes = 0x7fff0000u;
	unsigned char *at =
		mmap(NULL, part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct fixture f;

	ck_assert_ptr_ne(at, MAP_FAILED);
	set_up(&f, _i);
	mem_free(f.fake.content);
	f.fake.content = NULL;
	struct io_op op = kept_op(&f, PARTS, 1, 0);
	for (unsigned i = 0; i < PARTS; i++)
		f.parts[i] = (struct iovec){ at, part };
	f.parts[PARTS - 1].iov_len = bytes - (PARTS - 1) * part;
	op.io.len_bytes = bytes;
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)bytes);
	ck_assert_uint_eq(f.fake.logged, 1);
	ck_assert_uint_eq(f.fake.log[0].len_bytes, bytes);
	tear_down(&f);
	munmap(at, part);
}
END_TEST

/* Real engines, also with short writes and interruptions. */

/* clang-format off */
static const struct engine_case {
	const char *name;
	const char *options[RIG_OPTIONS];
} engines[] = {
	{ "psync", { NULL } },
	{ "psync", { "hipri=1", NULL } },
	{ "io_uring", { NULL } },
	{ "libaio", { NULL } },
	{ "libaio", { "libaio_vectored=1", NULL } },
	{ "mmap", { NULL } },
	{ "null", { NULL } },
	{ "fault", { "engine=psync", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=io_uring", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=libaio", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
	{ "fault", { "engine=mmap", "short_every=2", "fail_after=3", "fail_errno=EINTR", NULL } },
};
/* clang-format on */

#define ENGINES ((int)(sizeof(engines) / sizeof(engines[0])))

static void check_file(const struct rig *r, const struct io_op *op)
{
	unsigned char *content = mem_zalloc(op->io.len_bytes);
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, content, op->io.len_bytes, (off_t)op->io.off),
			 (ssize_t)op->io.len_bytes);
	check_content(op, content);
	close(fd);
	mem_free(content);
}

/* Far more than the worker's buffer, several at once. */
START_TEST(every_engine_writes_them)
{
	const struct engine_case *e = &engines[_i];
	unsigned char *text = mem_zalloc(TEXT);
	struct io_op ops[DEPTH], *done[DEPTH];
	struct iovec parts[DEPTH][200];
	struct rig r;

	for (unsigned i = 0; i < TEXT; i++)
		text[i] = rig_byte(i);
	if (!rig_start(&r, e->name, e->options, DEPTH, DEPTH * BLOCK))
		goto out;
	rig_file(&r, 0, O_RDWR);
	for (unsigned i = 0; i < DEPTH; i++) {
		ops[i] = from_op(&r.file, text + TEXT, parts[i], 200 - 60 * i, 200,
				 i ? ops[i - 1].io.off + ops[i - 1].io.len_bytes : 1000);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, DEPTH);
	for (unsigned i = 0; i < DEPTH; i++)
		ck_assert_int_eq(ops[i].io.result, (int64_t)ops[i].io.len_bytes);
	for (unsigned i = 0; i < DEPTH && strcmp(e->name, "null") != 0; i++)
		check_file(&r, &ops[i]);
	rig_end(&r);
out:
	mem_free(text);
}
END_TEST

/* Within the worker's buffer, which an engine may have registered: one part of it, and several. */
START_TEST(parts_of_the_buffer_are_written_too)
{
	const struct engine_case *e = &engines[_i];
	struct iovec parts[3];
	struct rig r;
	size_t bytes;

	if (strcmp(e->name, "null") == 0 || !rig_start(&r, e->name, e->options, DEPTH, TEXT))
		return;
	rig_file(&r, 0, O_RDWR);
	unsigned char *buf = io_buffer(r.io, &bytes);
	for (unsigned i = 0; i < TEXT; i++)
		buf[i] = rig_byte(i);
	for (unsigned n = 1; n <= 3; n += 2) {
		struct io_op op = from_op(&r.file, buf + TEXT, parts, n, 3, r.stat.io_bytes[1]);
		uint64_t sum = 0;

		for (unsigned i = 0; i < n; i++) {
			parts[i].iov_base = buf + 5000 * (n - i);
			parts[i].iov_len = 1234 + i;
			sum += parts[i].iov_len;
		}
		op.io.len_bytes = sum;
		ck_assert_int_eq(io_do(r.io, &op), (int64_t)sum);
		check_file(&r, &op);
	}
	rig_end(&r);
}
END_TEST

Suite *suite_io_from(void)
{
	Suite *s = suite_create("io_from");
	TCase *t = tcase_create("io_from");

	tcase_add_loop_test(t, parts_go_out_as_they_are_in_one_call, 0, 2 * COUNTS);
	tcase_add_loop_test(t, a_short_write_goes_on_within_the_parts, 0, 2 * CUTS);
	tcase_add_loop_test(t, what_fails_says_how_far_it_came, 0, 2);
	tcase_add_test(t, a_deep_queue_resumes_in_several_calls);
	tcase_add_test(t, writes_under_way_keep_apart);
	tcase_add_loop_test(t, they_are_not_stamped_and_the_next_write_is, 0, 2);
	tcase_add_loop_test(t, the_longest_call_is_one_call, 0, 2);
	tcase_add_loop_test(t, every_engine_writes_them, 0, ENGINES);
	tcase_add_loop_test(t, parts_of_the_buffer_are_written_too, 0, ENGINES);
	suite_add_tcase(s, t);
	return s;
}
