/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_queue.c - the io layer's batches, deadlines and chains over an engine that takes them. */
#include <errno.h>
#include <string.h>

#include "fake_engine.h"
#include "io/io.h"
#include "suites.h"

#define OP_NS 1000u
#define START_NS 5000u

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct fake fake;
	struct io *io;
	struct mlgen_file file;
	struct io_op *done[FAKE_HELD];
};

static void set_up_as(struct fixture *f, const struct mlgen_engine *e, struct io_config cfg)
{
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->fake.op_ns = OP_NS;
	f->file = (struct mlgen_file){ .path = "f", .fd = -1 };
	f->clock = clock_new_virtual(START_NS);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->job = (struct mlgen_engine_job){ .engine = e, .workers = 1, .priv = &f->fake };
	cfg.job = &f->job;
	cfg.clock = f->clock;
	cfg.stat = &f->stat;
	ck_assert_msg(io_new(&f->io, &cfg, &err) == 0, "%s", err.text);
}

static void set_up(struct fixture *f, const struct mlgen_engine *e, unsigned depth)
{
	set_up_as(f, e, (struct io_config){ .iodepth = depth, .buf_bytes = (size_t)depth * 4096 });
}

static void tear_down(struct fixture *f)
{
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static uint64_t elapsed(const struct fixture *f)
{
	return clock_now(f->clock) - START_NS;
}

static void submit(struct fixture *f, struct io_op *op, enum mlgen_op kind, unsigned flags,
		   uint64_t bytes)
{
	*op = (struct io_op){
		.io = { .op = kind, .flags = flags, .file = &f->file, .len_bytes = bytes }
	};
	io_submit(f->io, op);
}

static void submit_reads(struct fixture *f, struct io_op *ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		submit(f, &ops[i], MLGEN_READ, 0, 4096);
}

static void submit_chain(struct fixture *f, struct io_op ops[3])
{
	submit(f, &ops[0], MLGEN_OPEN, MLGEN_IO_LINK, 0);
	submit(f, &ops[1], MLGEN_READ, MLGEN_IO_LINK, 4096);
	submit(f, &ops[2], MLGEN_CLOSE, 0, 0);
}

START_TEST(a_flush_hands_over_what_was_kept_back)
{
	struct io_op ops[3];
	struct fixture f;

	set_up(&f, &fake_async, 8);
	submit_reads(&f, ops, 3);
	ck_assert_uint_eq(f.fake.submits, 0);
	clock_sleep_until(f.clock, START_NS + 700);
	io_flush(f.io);
	ck_assert_uint_eq(f.fake.submits, 1);
	ck_assert_uint_eq(f.fake.batch[0], 3);
	io_flush(f.io); /* nothing left */
	ck_assert_uint_eq(f.fake.submits, 1);
	ck_assert_int_eq(io_reap(f.io, f.done, 3, 3), 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(ops[i].start_ns, START_NS + 700);
	tear_down(&f);
}
END_TEST

START_TEST(an_error_of_a_flush_comes_from_reap)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, &fake_async, 4);
	f.fake.submit_rc = -EBADF;
	submit_reads(&f, &op, 1);
	io_flush(f.io);
	f.fake.submit_rc = 0;
	ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), -EBADF);
	tear_down(&f);
}
END_TEST

START_TEST(a_batch_starts_where_the_call_before_ended_unless_the_worker_slept)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, &fake_async, 4);
	submit_reads(&f, &op, 1);
	ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), 1);
	clock_sleep_until(f.clock, START_NS + 5 * OP_NS);
	if (_i)
		io_wake(f.io);
	submit_reads(&f, &op, 1);
	ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), 1);
	ck_assert_uint_eq(op.start_ns, START_NS + (_i ? 5 : 1) * OP_NS);
	ck_assert_uint_eq(op.end_ns, START_NS + 6 * OP_NS);
	tear_down(&f);
}
END_TEST

/* Four reads, done 1000, 2000, 3000 and 4000 ns after the start. */
/* clang-format off */
static const struct {
	uint64_t deadline_ns; /* after the start; CLOCK_NEVER */
	unsigned min, max;
	int got;
	uint64_t ns; /* it took */
} deadlines[] = {
	{ 2500, 4, 4, 2, 2500 },
	{ 2000, 4, 4, 2, 2000 },
	{ 1999, 2, 4, 1, 1999 },
	{ 4000, 4, 4, 4, 4000 },
	{ 9000, 4, 4, 4, 4000 },
	{ 9000, 2, 4, 2, 2000 },
	{ 9000, 1, 1, 1, 1000 },
	{ 9000, 0, 4, 0, 0 },
	{ 0, 4, 4, 0, 0 },
	{ CLOCK_NEVER, 4, 4, 4, 4000 },
};
/* clang-format on */

START_TEST(waiting_ends_at_the_deadline)
{
	uint64_t at = deadlines[_i].deadline_ns;
	struct io_op ops[4];
	struct fixture f;

	set_up(&f, &fake_async, 8);
	f.fake.one_by_one = true;
	submit_reads(&f, ops, 4);
	int got = io_reap_until(f.io, f.done, deadlines[_i].min, deadlines[_i].max,
				at == CLOCK_NEVER ? at : START_NS + at);
	ck_assert_int_eq(got, deadlines[_i].got);
	ck_assert_uint_eq(elapsed(&f), deadlines[_i].ns);
	/* nothing is lost */
	ck_assert_int_eq(io_reap(f.io, f.done, 4, 4), 4 - got);
	ck_assert_uint_eq(io_room(f.io), 8);
	tear_down(&f);
}
END_TEST

START_TEST(a_deadline_that_has_passed_still_takes_what_is_ready)
{
	struct io_op ops[2];
	struct fixture f;

	set_up(&f, &fake_async, 4);
	submit_reads(&f, ops, 2);
	io_flush(f.io);
	clock_sleep_until(f.clock, START_NS + 3 * OP_NS);
	io_wake(f.io);
	ck_assert_int_eq(io_reap_until(f.io, f.done, 2, 2, START_NS), 2);
	tear_down(&f);
}
END_TEST

START_TEST(a_timeout_of_the_engine_ends_the_wait_whatever_the_clock_says)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, &fake_async, 4);
	f.fake.is_frozen = true;
	submit_reads(&f, &op, 1);
	ck_assert_int_eq(io_reap_until(f.io, f.done, 1, 1, START_NS + 10), 0);
	f.fake.is_frozen = false;
	ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), 1);
	tear_down(&f);
}
END_TEST

START_TEST(what_is_resumed_can_be_too_late)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, &fake_async, 4);
	fake_script(&f.fake, MLGEN_READ, 100);
	submit_reads(&f, &op, 1);
	ck_assert_int_eq(io_reap_until(f.io, f.done, 1, 1, START_NS + 1500), 0);
	ck_assert_uint_eq(elapsed(&f), 1500);
	ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), 1);
	ck_assert_int_eq(op.io.result, 4096);
	ck_assert_uint_eq(elapsed(&f), 2 * OP_NS);
	tear_down(&f);
}
END_TEST

START_TEST(a_synchronous_engine_never_waits)
{
	struct io_op op;
	struct fixture f;

	set_up(&f, &fake_sync, 1);
	ck_assert_int_eq(io_reap_until(f.io, f.done, 1, 1, CLOCK_NEVER), 0);
	submit_reads(&f, &op, 1);
	io_flush(f.io);
	ck_assert_int_eq(io_reap_until(f.io, f.done, 1, 1, START_NS + 9000), 1);
	ck_assert_uint_eq(elapsed(&f), OP_NS);
	ck_assert_uint_eq(f.stat.depth[1], 1);
	ck_assert_uint_eq(f.stat.submits[1], 1);
	ck_assert_uint_eq(f.stat.reaps[1], 1);
	tear_down(&f);
}
END_TEST

static void check_classes(const uint64_t counted[OPSTAT_DEPTHS], const uint64_t want[OPSTAT_DEPTHS])
{
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		ck_assert_msg(counted[i] == want[i], "class %u: %u", i, (unsigned)counted[i]);
}

START_TEST(depths_and_batches_are_counted)
{
	struct io_op ops[6], more[6];
	struct fixture f;

	set_up(&f, &fake_async, 8);
	f.fake.one_by_one = true;
	fake_script(&f.fake, MLGEN_READ, 10); /* and once more: still one */
	submit_reads(&f, ops, 6);
	ck_assert_int_eq(io_reap(f.io, f.done, 2, 2), 2);
	submit_reads(&f, more, 2);
	for (int left = 6; left > 0;) {
		int n = io_reap(f.io, f.done, 0, 8);

		left -= n;
		if (n == 0)
			clock_sleep_until(f.clock, clock_now(f.clock) + 100);
	}
	/* six with six in flight, two with four left and two of them */
	check_classes(f.stat.depth, (uint64_t[OPSTAT_DEPTHS]){ 0, 0, 0, 8 });
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 8);
	uint64_t calls = 0;
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		calls += f.stat.submits[i];
	ck_assert_uint_eq(calls, f.fake.submits);
	ck_assert_uint_eq(f.stat.submits[2], 1); /* the six */
	ck_assert_uint_ge(f.stat.reaps[0], 1);
	tear_down(&f);
}
END_TEST

START_TEST(an_engine_that_is_full_is_counted_as_such)
{
	struct io_op ops[4];
	struct fixture f;

	set_up(&f, &fake_async, 4);
	f.fake.accept = 2;
	submit_reads(&f, ops, 4);
	ck_assert_int_eq(io_reap(f.io, f.done, 4, 4), 4);
	check_classes(f.stat.depth, (uint64_t[OPSTAT_DEPTHS]){ [3] = 4 });
	ck_assert_uint_eq(f.stat.submits[0], 2);
	ck_assert_uint_eq(f.stat.submits[1], 2);
	tear_down(&f);
}
END_TEST

/* clang-format off */
static const struct chain_case {
	const char *what;
	enum mlgen_op op; /* that gets another result */
	int64_t result;
	int64_t results[3];
	uint64_t bytes;
} chains[] = {
	{ "all is well", MLGEN_READ, FAKE_ALL, { 0, 4096, 0 }, 4096 },
	{ "no file", MLGEN_OPEN, -ENOENT, { -ENOENT, -ECANCELED, -ECANCELED }, 0 },
	{ "short", MLGEN_READ, 1000, { 0, 1000, 0 }, 1000 },
	{ "empty", MLGEN_READ, 0, { 0, 0, 0 }, 0 },
	{ "interrupted", MLGEN_READ, -EINTR, { 0, -EINTR, 0 }, 0 },
	{ "busy", MLGEN_OPEN, -EAGAIN, { -EAGAIN, -ECANCELED, -ECANCELED }, 0 },
	{ "broken", MLGEN_READ, -EIO, { 0, -EIO, 0 }, 0 },
	{ "not closed", MLGEN_CLOSE, -EIO, { 0, 4096, -EIO }, 4096 },
};
/* clang-format on */

static void check_chain(const struct chain_case *c, bool backwards)
{
	static const enum mlgen_op kinds[] = { MLGEN_OPEN, MLGEN_READ, MLGEN_CLOSE };
	struct io_op ops[3];
	struct fixture f;

	set_up(&f, &fake_async, 3);
	f.fake.backwards = backwards;
	fake_script(&f.fake, c->op, c->result);
	submit_chain(&f, ops);
	/* it fills the queue, so it is out; whole, and one by one it returns */
	ck_assert_uint_eq(f.fake.submits, 1);
	ck_assert_uint_eq(f.fake.batch[0], 3);
	clock_sleep_until(f.clock, START_NS + 3 * OP_NS);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(io_reap(f.io, f.done, 1, 1), 1);
		ck_assert_ptr_eq(f.done[0], &ops[backwards ? 2 - i : i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_msg(ops[i].io.result == c->results[i], "%s: %u: result %lld", c->what, i,
			      (long long)ops[i].io.result);
		ck_assert_uint_eq(ops[i].start_ns, START_NS);
		ck_assert_uint_eq(ops[i].end_ns, START_NS + 3 * OP_NS);
		ck_assert_uint_eq(f.stat.linked[kinds[i]], c->results[i] >= 0);
		ck_assert_uint_eq(f.stat.lat[kinds[i]]->count, 0);
	}
	ck_assert_uint_eq(ops[1].done_bytes, c->bytes);
	ck_assert_uint_eq(f.stat.io_bytes[0], c->bytes);
	ck_assert_uint_eq(f.stat.sizes[0].count[12], 1);
	ck_assert_uint_eq(f.stat.short_ios[0], 0);
	ck_assert_uint_eq(f.fake.submits, 1); /* nothing is resumed */
	ck_assert_int_eq(f.fake.open_files, 0);
	ck_assert_uint_eq(io_room(f.io), 3);
	tear_down(&f);
}

START_TEST(a_chain_goes_out_whole_and_is_not_resumed)
{
	check_chain(&chains[_i], false);
	check_chain(&chains[_i], true);
}
END_TEST

START_TEST(what_follows_a_chain_is_by_itself_again)
{
	struct io_op chain[3], op;
	struct fixture f;

	set_up(&f, &fake_async, 8);
	submit_chain(&f, chain);
	fake_script(&f.fake, MLGEN_READ, FAKE_ALL);
	fake_script(&f.fake, MLGEN_READ, 1000);
	submit_reads(&f, &op, 1);
	ck_assert_uint_eq(f.fake.submits, 0);
	ck_assert_int_eq(io_reap(f.io, f.done, 4, 4), 4);
	ck_assert_uint_eq(f.fake.batch[0], 4);
	ck_assert_int_eq(op.io.result, 4096);
	ck_assert_uint_eq(f.stat.short_ios[0], 1);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 1);
	ck_assert_uint_eq(f.stat.linked[MLGEN_READ], 1);
	tear_down(&f);
}
END_TEST

/* The fake engine fails the test where a chain reaches it cut. */
START_TEST(chains_that_fill_the_queue_are_never_cut)
{
	struct io_op ops[4][3], single;
	struct fixture f;

	set_up(&f, &fake_async, 7);
	f.fake.accept = (unsigned)_i; /* 0: all; of 3 to 7 whole chains */
	for (unsigned round = 0; round < 3; round++) {
		submit_reads(&f, &single, 1);
		submit_chain(&f, ops[0]);
		ck_assert_uint_eq(io_room(f.io), 3);
		submit_chain(&f, ops[1]);
		ck_assert_uint_eq(io_room(f.io), 0);
		ck_assert_int_eq(io_reap(f.io, f.done, 7, 7), 7);
	}
	ck_assert_uint_eq(f.stat.linked[MLGEN_CLOSE], 6);
	ck_assert_int_eq(f.fake.open_files, 0);
	tear_down(&f);
}
END_TEST

START_TEST(only_transfers_have_slices_where_there_are_fewer)
{
	struct io_op ops[2][3], reads[4];
	struct fixture f;
	size_t bytes;

	set_up_as(
		&f, &fake_async,
		(struct io_config){ .iodepth = 6, .transfers = 2, .files = 2, .buf_bytes = 8192 });
	const unsigned char *buf = io_buffer(f.io, &bytes);
	ck_assert_uint_eq(f.fake.files, 2);
	submit_chain(&f, ops[0]);
	submit_chain(&f, ops[1]);
	ck_assert_int_eq(io_reap(f.io, f.done, 6, 6), 6);
	ck_assert_ptr_eq(f.fake.log[1].base, buf);
	ck_assert_ptr_eq(f.fake.log[4].base, buf + 4096);
	/* more of them than was said do no harm */
	submit_reads(&f, reads, 4);
	ck_assert_int_eq(io_reap(f.io, f.done, 4, 4), 4);
	for (unsigned i = 6; i < 10; i++)
		ck_assert(f.fake.log[i].base == buf || f.fake.log[i].base == buf + 4096);
	tear_down(&f);
}
END_TEST

START_TEST(an_engine_says_what_it_can)
{
	static const struct {
		const struct mlgen_engine *engine;
		bool no_links, can_link;
	} cases[] = {
		{ &fake_async, false, true },
		{ &fake_async, true, false },
		{ &fake_sync, false, false },
	};
	struct fixture f;

	set_up(&f, cases[_i].engine, 4);
	ck_assert_uint_eq(f.fake.files, 4); /* as iodepth */
	io_free(f.io);
	f.fake.no_links = cases[_i].no_links;
	const struct io_config cfg = { .job = &f.job,
				       .clock = f.clock,
				       .stat = &f.stat,
				       .iodepth = 4,
				       .mem = MEM_MMAP,
				       .buf_bytes = 4096 };
	ck_assert_int_eq(io_new(&f.io, &cfg, NULL), 0);
	ck_assert_int_eq(io_can_link(f.io), cases[_i].can_link);
	io_stop(f.io); /* what it said outlives it */
	ck_assert_str_eq(io_in_use(f.io), "registered files");
	ck_assert_str_eq(io_note(f.io), "no locked memory");
	tear_down(&f);
}
END_TEST

Suite *suite_io_queue(void)
{
	Suite *s = suite_create("io_queue");
	TCase *t = tcase_create("io_queue");

	tcase_add_test(t, a_flush_hands_over_what_was_kept_back);
	tcase_add_test(t, an_error_of_a_flush_comes_from_reap);
	tcase_add_loop_test(t, a_batch_starts_where_the_call_before_ended_unless_the_worker_slept,
			    0, 2);
	tcase_add_loop_test(t, waiting_ends_at_the_deadline, 0,
			    sizeof(deadlines) / sizeof(deadlines[0]));
	tcase_add_test(t, a_deadline_that_has_passed_still_takes_what_is_ready);
	tcase_add_test(t, a_timeout_of_the_engine_ends_the_wait_whatever_the_clock_says);
	tcase_add_test(t, what_is_resumed_can_be_too_late);
	tcase_add_test(t, a_synchronous_engine_never_waits);
	tcase_add_test(t, depths_and_batches_are_counted);
	tcase_add_test(t, an_engine_that_is_full_is_counted_as_such);
	tcase_add_loop_test(t, a_chain_goes_out_whole_and_is_not_resumed, 0,
			    sizeof(chains) / sizeof(chains[0]));
	tcase_add_test(t, what_follows_a_chain_is_by_itself_again);
	tcase_add_loop_test(t, chains_that_fill_the_queue_are_never_cut, 3, 8);
	tcase_add_test(t, only_transfers_have_slices_where_there_are_fewer);
	tcase_add_loop_test(t, an_engine_says_what_it_can, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
