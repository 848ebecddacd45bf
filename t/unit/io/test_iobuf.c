/* SPDX-License-Identifier: Apache-2.0 */
/* test_iobuf.c - what is written, no two blocks of it alike, and where reads go. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "io/io.h"
#include "suites.h"

#define BLOCK 4096u
#define STAMP UINT64_C(0x1122334455660000)
#define DEPTH 4u
#define FILL 0x5a

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct fake fake;
	struct io *io;
	struct mlgen_file file;
	unsigned char *buf;
};

/* A buffer of two blocks for each of DEPTH operations. */
static void set_up(struct fixture *f, bool is_sync, uint64_t stamp)
{
	struct io_config cfg = { .job = &f->job,
				 .stat = &f->stat,
				 .iodepth = is_sync ? 1 : DEPTH,
				 .buf_bytes = (is_sync ? 1 : DEPTH) * 2 * BLOCK,
				 .stamp = stamp };
	size_t bytes;

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
	f->buf = io_buffer(f->io, &bytes);
	memset(f->buf, FILL, bytes);
}

static void tear_down(struct fixture *f)
{
	io_free(f->io);
	mem_free(f->fake.content);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static struct io_op write_op(struct fixture *f, uint64_t off, uint64_t bytes)
{
	return (struct io_op){
		.io = { .op = MLGEN_WRITE, .file = &f->file, .off = off, .len_bytes = bytes }
	};
}

static uint64_t word_at(const unsigned char *p, unsigned i)
{
	uint64_t word;

	memcpy(&word, p + 8 * i, sizeof(word));
	return word;
}

/* The content of one write: stamped each 4 KiB, the rest as it was. */
static void check_content(const unsigned char *content, uint64_t off, uint64_t bytes,
			  uint64_t stamp)
{
	uint64_t words[2] = { 0, stamp };
	unsigned char want;

	for (uint64_t i = 0; i < bytes; i++) {
		words[0] = off + i / BLOCK * BLOCK;
		want = FILL;
		if (i % BLOCK < sizeof(words))
			memcpy(&want, (char *)words + i % BLOCK, 1);
		ck_assert_msg(content[off + i] == want, "byte %u", (unsigned)i);
	}
}

/* Rounds of writes over the same place, each kept beside the others. */
#define ROUNDS 8u

START_TEST(no_two_blocks_written_are_alike)
{
	unsigned char *all = mem_zalloc((size_t)ROUNDS * 8 * BLOCK);
	size_t kept = 0;
	struct fixture f;

	set_up(&f, _i, STAMP);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct io_op ops[DEPTH], *done[DEPTH];

		for (unsigned i = 0; i < DEPTH; i++) {
			ops[i] = write_op(&f, i * 2 * BLOCK, 2 * BLOCK);
			io_submit(f.io, &ops[i]);
			if (_i)
				ck_assert_int_eq(io_reap(f.io, done, 1, 1), 1);
		}
		if (!_i)
			ck_assert_int_eq(io_reap(f.io, done, DEPTH, DEPTH), DEPTH);
		memcpy(all + kept, f.fake.content, 8 * BLOCK);
		kept += 8 * BLOCK;
	}
	for (size_t a = 0; a < kept; a += BLOCK)
		for (size_t b = 0; b < a; b += BLOCK)
			ck_assert_int_ne(memcmp(all + a, all + b, BLOCK), 0);
	mem_free(all);
	tear_down(&f);
}
END_TEST

START_TEST(a_block_begins_with_its_offset_and_the_number_of_the_write)
{
	struct fixture f;

	set_up(&f, _i, STAMP);
	for (unsigned n = 0; n < 3; n++) {
		struct io_op op = write_op(&f, 3 * BLOCK + 512, 2 * BLOCK);

		ck_assert_int_eq(io_do(f.io, &op), 2 * BLOCK);
		check_content(f.fake.content, op.io.off, 2 * BLOCK, STAMP + n);
	}
	tear_down(&f);
}
END_TEST

/* Resumed at these places, and in the middle of a stamp. */
static const int64_t cuts[] = { 1, 8, 15, 16, 512, 4095, 4096, 4100, 8191 };

#define CUTS ((int)(sizeof(cuts) / sizeof(cuts[0])))

START_TEST(a_resumed_write_has_the_stamps_of_one_in_one_go)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, _i >= CUTS, STAMP);
	fake_script(&f.fake, MLGEN_WRITE, cuts[_i % CUTS]);
	fake_script(&f.fake, MLGEN_WRITE, -EINTR);
	fake_script(&f.fake, MLGEN_WRITE, -EINTR);
	fake_script(&f.fake, MLGEN_WRITE, 1);
	op = write_op(&f, 5 * BLOCK, 2 * BLOCK);
	ck_assert_int_eq(io_do(f.io, &op), 2 * BLOCK);
	check_content(f.fake.content, 5 * BLOCK, 2 * BLOCK, STAMP);
	ck_assert_uint_eq(f.stat.io_bytes[1], 2 * BLOCK);
	/* the next one is the next */
	op = write_op(&f, 5 * BLOCK, BLOCK);
	ck_assert_int_eq(io_do(f.io, &op), BLOCK);
	check_content(f.fake.content, 5 * BLOCK, BLOCK, STAMP + 1);
	tear_down(&f);
}
END_TEST

START_TEST(writes_under_way_do_not_share_a_stamp)
{
	struct io_op ops[DEPTH], *done[DEPTH];
	struct fixture f;

	set_up(&f, false, STAMP);
	f.fake.accept = 1;
	for (unsigned i = 0; i < DEPTH; i++) {
		/* cut and interrupted while others are on their way */
		fake_script(&f.fake, MLGEN_WRITE, 1000);
		ops[i] = write_op(&f, i * 2 * BLOCK, 2 * BLOCK);
		io_submit(f.io, &ops[i]);
	}
	ck_assert_int_eq(io_reap(f.io, done, DEPTH, DEPTH), DEPTH);
	for (unsigned i = 0; i < DEPTH; i++)
		check_content(f.fake.content, i * 2 * BLOCK, 2 * BLOCK, STAMP + i);
	tear_down(&f);
}
END_TEST

START_TEST(a_small_write_leaves_what_is_behind_it)
{
	static const uint64_t sizes[] = { 1, 8, 16, 512, BLOCK + 8 };
	struct fixture f;

	set_up(&f, _i % 2, STAMP);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct io_op op = write_op(&f, i * BLOCK, sizes[i]);

		ck_assert_int_eq(io_do(f.io, &op), (int64_t)sizes[i]);
		check_content(f.fake.content, i * BLOCK, sizes[i], STAMP + i);
	}
	tear_down(&f);
}
END_TEST

START_TEST(what_has_no_slice_is_not_stamped)
{
	const uint64_t bytes = 2 * BLOCK * (_i ? 1 : DEPTH) + 100;
	struct fixture f;

	set_up(&f, _i, STAMP);
	struct io_op op = write_op(&f, 0, bytes);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)bytes);
	for (uint64_t i = 0; i < bytes; i++)
		ck_assert_uint_eq(f.fake.content[i], FILL);
	tear_down(&f);
}
END_TEST

START_TEST(without_a_stamp_the_buffer_is_written_as_it_is)
{
	struct fixture f;

	set_up(&f, _i, 0);
	for (unsigned n = 0; n < 3; n++) {
		struct io_op op = write_op(&f, n * BLOCK, BLOCK);

		ck_assert_int_eq(io_do(f.io, &op), BLOCK);
		ck_assert_uint_eq(word_at(f.fake.content + n * BLOCK, 0), word_at(f.buf, 1));
		ck_assert_ptr_eq(f.fake.log[n].base, f.buf);
	}
	tear_down(&f);
}
END_TEST

START_TEST(reads_are_not_stamped)
{
	struct fixture f;

	set_up(&f, _i, STAMP);
	struct io_op op = write_op(&f, 0, BLOCK);
	op.io.op = MLGEN_READ;
	ck_assert_int_eq(io_do(f.io, &op), BLOCK);
	ck_assert_uint_eq(word_at(f.buf, 0), word_at(f.buf, 2));
	op = write_op(&f, 0, BLOCK);
	ck_assert_int_eq(io_do(f.io, &op), BLOCK);
	check_content(f.fake.content, 0, BLOCK, STAMP);
	tear_down(&f);
}
END_TEST

/* Reads into room of the caller's own. */

static unsigned char room[32 * BLOCK];

static struct io_op read_op(struct fixture *f, uint64_t off, uint64_t bytes)
{
	struct io_op op = write_op(f, off, bytes);

	op.io.op = MLGEN_READ;
	op.into = room + BLOCK;
	return op;
}

static void check_call(const struct fake_call *call, uint64_t off, uint64_t bytes,
		       const unsigned char *at)
{
	ck_assert_int_eq(call->op, MLGEN_READ);
	ck_assert_uint_eq(call->off, off);
	ck_assert_uint_eq(call->len_bytes, bytes);
	ck_assert_ptr_eq(call->base, at);
}

/* Smaller than a slice, as large as the buffer, larger. */
static const uint64_t read_sizes[] = { 1, BLOCK, 2 * BLOCK, 8 * BLOCK, 8 * BLOCK + 1, 24 * BLOCK };

#define READ_SIZES ((int)(sizeof(read_sizes) / sizeof(read_sizes[0])))

START_TEST(a_read_goes_into_the_room_of_its_caller_in_one_piece)
{
	uint64_t bytes = read_sizes[_i % READ_SIZES];
	struct fixture f;

	set_up(&f, _i >= READ_SIZES, 0);
	struct io_op op = read_op(&f, 7, bytes);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)bytes);
	ck_assert_uint_eq(f.fake.logged, 1);
	check_call(&f.fake.log[0], 7, bytes, room + BLOCK);
	ck_assert_uint_eq(op.done_bytes, bytes);
	ck_assert_uint_eq(op.io.off, 7);
	ck_assert_uint_eq(op.io.len_bytes, bytes);
	ck_assert_uint_eq(f.stat.short_ios[0], 0);
	/* the next one has none */
	op = read_op(&f, 0, BLOCK);
	op.into = NULL;
	ck_assert_int_eq(io_do(f.io, &op), BLOCK);
	ck_assert(f.fake.log[1].base >= f.buf && f.fake.log[1].base < f.buf + (uint64_t)8 * BLOCK);
	tear_down(&f);
}
END_TEST

START_TEST(a_resumed_read_goes_on_in_that_room)
{
	const uint64_t bytes = 12 * BLOCK;
	uint64_t cut = (uint64_t)cuts[_i % CUTS];
	unsigned char *into = room + BLOCK;
	struct fixture f;

	set_up(&f, _i >= CUTS, 0);
	fake_script(&f.fake, MLGEN_READ, (int64_t)cut);
	fake_script(&f.fake, MLGEN_READ, -EINTR);
	fake_script(&f.fake, MLGEN_READ, 1);
	struct io_op op = read_op(&f, 3 * BLOCK, bytes);
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)bytes);
	ck_assert_uint_eq(f.fake.logged, 4);
	check_call(&f.fake.log[0], 3 * BLOCK, bytes, into);
	check_call(&f.fake.log[1], 3 * BLOCK + cut, bytes - cut, into + cut);
	check_call(&f.fake.log[2], 3 * BLOCK + cut, bytes - cut, into + cut);
	check_call(&f.fake.log[3], 3 * BLOCK + cut + 1, bytes - cut - 1, into + cut + 1);
	ck_assert_uint_eq(op.io.off, 3 * BLOCK);
	ck_assert_uint_eq(op.io.len_bytes, bytes);
	ck_assert_uint_eq(f.stat.io_bytes[0], bytes);
	tear_down(&f);
}
END_TEST

START_TEST(a_direct_read_goes_on_at_whole_sectors_of_it)
{
	struct fixture f;

	set_up(&f, _i, 0);
	f.file.flags = O_DIRECT;
	fake_script(&f.fake, MLGEN_READ, 1536);
	fake_script(&f.fake, MLGEN_READ, 600); /* the end of the file */
	struct io_op op = read_op(&f, BLOCK, 12 * BLOCK);
	op.eof_ok = true;
	op.eof_bytes = 2136;
	ck_assert_int_eq(io_do(f.io, &op), 2136);
	ck_assert_uint_eq(f.fake.logged, 2);
	check_call(&f.fake.log[1], BLOCK + 1536, 12 * BLOCK - 1536, room + BLOCK + 1536);
	tear_down(&f);
}
END_TEST

START_TEST(reads_under_way_keep_apart)
{
	struct io_op ops[DEPTH], *done[DEPTH];
	struct fixture f;

	set_up(&f, false, 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		ops[i] = read_op(&f, i * BLOCK, BLOCK);
		ops[i].into = i % 2 ? room + i * BLOCK : NULL;
		io_submit(f.io, &ops[i]);
	}
	ck_assert_int_eq(io_reap(f.io, done, DEPTH, DEPTH), DEPTH);
	for (unsigned i = 1; i < DEPTH; i += 2)
		check_call(&f.fake.log[i], i * BLOCK, BLOCK, room + i * BLOCK);
	ck_assert_ptr_ne(f.fake.log[0].base, f.fake.log[2].base);
	tear_down(&f);
}
END_TEST

START_TEST(a_linked_read_goes_there_too_and_is_not_resumed)
{
	struct io_op ops[3] = { 0 }, *done[3];
	static const enum mlgen_op kinds[] = { MLGEN_OPEN, MLGEN_READ, MLGEN_CLOSE };
	struct fixture f;

	set_up(&f, false, 0);
	if (_i)
		fake_script(&f.fake, MLGEN_READ, 512);
	for (unsigned i = 0; i < 3; i++) {
		if (kinds[i] == MLGEN_READ)
			ops[i] = read_op(&f, 0, 9 * BLOCK);
		ops[i].io.op = kinds[i];
		ops[i].io.file = &f.file;
		ops[i].io.flags = i < 2 ? MLGEN_IO_LINK : 0;
		io_submit(f.io, &ops[i]);
	}
	ck_assert_int_eq(io_reap(f.io, done, 3, 3), 3);
	ck_assert_uint_eq(f.fake.logged, 3);
	check_call(&f.fake.log[1], 0, 9 * BLOCK, room + BLOCK);
	ck_assert_int_eq(ops[1].io.result, _i ? 512 : 9 * BLOCK);
	ck_assert_uint_eq(ops[1].io.len_bytes, 9 * BLOCK);
	tear_down(&f);
}
END_TEST

START_TEST(one_call_reads_at_most_a_gibibyte_into_it)
{
	const uint64_t gib = 1ull << 30, bytes = 2 * gib + 5;
	unsigned char *at =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct fixture f;

	ck_assert_ptr_ne(at, MAP_FAILED);
	set_up(&f, _i, 0);
	struct io_op op = read_op(&f, 0, bytes);
	op.into = at;
	ck_assert_int_eq(io_do(f.io, &op), (int64_t)bytes);
	ck_assert_uint_eq(f.fake.logged, 3);
	check_call(&f.fake.log[0], 0, gib, at);
	check_call(&f.fake.log[1], gib, gib, at + gib);
	check_call(&f.fake.log[2], 2 * gib, 5, at + 2 * gib);
	ck_assert_uint_eq(f.stat.short_ios[0], 0);
	tear_down(&f);
	munmap(at, bytes);
}
END_TEST

Suite *suite_iobuf(void)
{
	Suite *s = suite_create("iobuf");
	TCase *t = tcase_create("iobuf");

	tcase_add_loop_test(t, no_two_blocks_written_are_alike, 0, 2);
	tcase_add_loop_test(t, a_block_begins_with_its_offset_and_the_number_of_the_write, 0, 2);
	tcase_add_loop_test(t, a_resumed_write_has_the_stamps_of_one_in_one_go, 0, 2 * CUTS);
	tcase_add_test(t, writes_under_way_do_not_share_a_stamp);
	tcase_add_loop_test(t, a_small_write_leaves_what_is_behind_it, 0, 2);
	tcase_add_loop_test(t, what_has_no_slice_is_not_stamped, 0, 2);
	tcase_add_loop_test(t, without_a_stamp_the_buffer_is_written_as_it_is, 0, 2);
	tcase_add_loop_test(t, reads_are_not_stamped, 0, 2);
	tcase_add_loop_test(t, a_read_goes_into_the_room_of_its_caller_in_one_piece, 0,
			    2 * READ_SIZES);
	tcase_add_loop_test(t, a_resumed_read_goes_on_in_that_room, 0, 2 * CUTS);
	tcase_add_loop_test(t, a_direct_read_goes_on_at_whole_sectors_of_it, 0, 2);
	tcase_add_test(t, reads_under_way_keep_apart);
	tcase_add_loop_test(t, a_linked_read_goes_there_too_and_is_not_resumed, 0, 2);
	tcase_add_loop_test(t, one_call_reads_at_most_a_gibibyte_into_it, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
