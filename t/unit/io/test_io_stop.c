/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_stop.c - once a job is to end, the io layer begins no call any more. */
#include "fake_engine.h"
#include "io/io.h"
#include "suites.h"

#define OP_NS 1000u
#define START_NS 5000u
#define DEPTH 16u

/* clang-format off */
static const struct mlgen_engine with_files = {
	FAKE_TABLE,
	.submit = fake_sync_submit,
};
/* clang-format on */

struct fixture {
	struct clock *clock;
	struct stop stop;
	struct opstat stat;
	struct mlgen_engine engine;
	struct mlgen_engine_job job;
	struct fake fake;
	struct io *io;
	struct mlgen_file file;
	struct io_op ops[DEPTH], *done[DEPTH];
};

static void set_up(struct fixture *f, const struct mlgen_engine *e, bool is_played,
		   bool ends_in_time)
{
	struct io_config cfg = { .iodepth = DEPTH,
				 .buf_bytes = DEPTH * 4096,
				 .ends_in_time = ends_in_time };
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->fake.op_ns = OP_NS;
	f->file = (struct mlgen_file){ .path = "f", .fd = -1 };
	f->clock = clock_new_virtual(START_NS);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->engine = *e;
	if (!is_played)
		f->engine.caps &= ~MLGEN_CAP_NO_FILES;
	f->job = (struct mlgen_engine_job){ .engine = &f->engine, .workers = 1, .priv = &f->fake };
	cfg.job = &f->job;
	cfg.clock = f->clock;
	cfg.stat = &f->stat;
	cfg.stop = &f->stop;
	ck_assert_msg(io_new(&f->io, &cfg, &err) == 0, "%s", err.text);
}

static void tear_down(struct fixture *f)
{
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static struct io_op *make(struct fixture *f, unsigned i, enum mlgen_op kind, unsigned flags,
			  uint64_t bytes)
{
	f->ops[i] = (struct io_op){
		.io = { .op = kind, .flags = flags, .file = &f->file, .len_bytes = bytes }
	};
	return &f->ops[i];
}

static uint64_t latencies(const struct fixture *f)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < MLGEN_OPS; i++)
		n += f->stat.lat[i]->count;
	return n;
}

/* Of each kind: which are done once the stop is set, and behind its time. */
static const struct {
	enum mlgen_op kind;
	bool when_set, behind_time;
} kinds[] = { { MLGEN_OPEN, false, false },  { MLGEN_STAT, false, false },
	      { MLGEN_READ, false, false },  { MLGEN_WRITE, false, false },
	      { MLGEN_FSYNC, false, true },  { MLGEN_FDATASYNC, false, true },
	      { MLGEN_CLOSE, true, true },   { MLGEN_RENAME, false, false },
	      { MLGEN_UNLINK, true, true },  { MLGEN_MKDIR, false, false },
	      { MLGEN_ADVISE, false, false } };
#define KINDS ((int)(sizeof(kinds) / sizeof(*kinds)))

static void check_one(struct fixture *f, int kind, bool is_done)
{
	struct io_op *op = make(f, 0, kinds[kind].kind, 0, 4096);
	int64_t rc = io_do(f->io, op);

	ck_assert_int_eq(rc < 0 ? rc : 0, is_done ? 0 : -ECANCELED);
	ck_assert_uint_eq(f->fake.logged, is_done);
	ck_assert_uint_eq(latencies(f), is_done);
	ck_assert_uint_eq(f->stat.io_bytes[0] + f->stat.io_bytes[1], 0);
	tear_down(f);
}

START_TEST(no_call_is_begun_once_it_is_set)
{
	struct fixture f;

	set_up(&f, _i % 2 ? &fake_async : &with_files, false, false);
	stop_set(&f.stop, f.clock);
	check_one(&f, _i / 2, kinds[_i / 2].when_set);
}
END_TEST

START_TEST(nor_behind_its_time_where_that_ends_it)
{
	struct fixture f;

	set_up(&f, _i % 2 ? &fake_async : &with_files, _i / 2 % 2, !(_i / 2 % 2));
	stop_at(&f.stop, START_NS);
	check_one(&f, _i / 4, kinds[_i / 4].behind_time);
}
END_TEST

START_TEST(real_calls_go_on_behind_it_elsewhere)
{
	struct fixture f;

	set_up(&f, _i ? &fake_async : &with_files, false, false);
	stop_at(&f.stop, START_NS);
	ck_assert_int_eq(io_do(f.io, make(&f, 0, MLGEN_READ, 0, 4096)), 4096);
	tear_down(&f);
}
END_TEST

/* By which a stream notices that it is over. */
START_TEST(what_is_refused_has_a_time)
{
	struct fixture f;

	set_up(&f, _i ? &fake_async : &with_files, true, true);
	stop_at(&f.stop, START_NS);
	ck_assert_int_eq(io_do(f.io, make(&f, 0, MLGEN_READ, 0, 4096)), -ECANCELED);
	ck_assert_uint_ge(io_last_ns(f.io), START_NS);
	tear_down(&f);
}
END_TEST

/* Those that are in the engine come back whole, the others do not go there. */
START_TEST(what_is_kept_back_is_cancelled)
{
	struct fixture f;
	unsigned whole = 0, cancelled = 0;

	set_up(&f, &fake_async, false, false);
	for (unsigned i = 0; i < 6; i++) {
		io_submit(f.io, make(&f, i, MLGEN_READ, 0, 4096));
		if (i == 2)
			io_flush(f.io);
	}
	stop_set(&f.stop, f.clock);
	for (unsigned n = 0; n < 6;)
		n += (unsigned)io_reap(f.io, f.done + n, 1, DEPTH);
	for (unsigned i = 0; i < 6; i++) {
		whole += f.ops[i].io.result == 4096;
		cancelled += f.ops[i].io.result == -ECANCELED;
	}
	ck_assert_uint_eq(f.fake.logged, 3);
	ck_assert_uint_eq(cancelled, 3);
	ck_assert_uint_eq(io_room(f.io), DEPTH);
	ck_assert_uint_eq(whole + cancelled, 6);
	tear_down(&f);
}
END_TEST

/* Also its close: there is nothing to be closed. */
START_TEST(a_chain_is_cancelled_as_a_whole)
{
	static const enum mlgen_op of[] = { MLGEN_OPEN, MLGEN_READ, MLGEN_CLOSE };
	struct fixture f;

	set_up(&f, &fake_async, false, false);
	stop_set(&f.stop, f.clock);
	for (unsigned i = 0; i < 3; i++)
		io_submit(f.io, make(&f, i, of[i], i < 2 ? MLGEN_IO_LINK : 0, 4096));
	ck_assert_int_eq(io_reap(f.io, f.done, 3, 3), 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(f.ops[i].io.result, -ECANCELED);
	ck_assert_uint_eq(f.fake.logged, 0);
	ck_assert_uint_eq(f.stat.linked[MLGEN_OPEN], 0);
	tear_down(&f);
}
END_TEST

/* The first part of a transfer is done when it comes. */
static int stopping_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct fake *f = ctx->job->priv;
	struct fixture *all =
		(struct fixture *)(void *)((char *)f - offsetof(struct fixture, fake));

	atomic_store(&all->stop.is_set, 1);
	return fake_sync_submit(ctx, io, n);
}

START_TEST(the_rest_of_a_transfer_is_left)
{
	struct fixture f;
	struct mlgen_engine e = with_files;

	e.submit = stopping_submit;
	set_up(&f, &e, false, false);
	fake_script(&f.fake, MLGEN_READ, 512);
	ck_assert_int_eq(io_do(f.io, make(&f, 0, MLGEN_READ, 0, 4096)), -ECANCELED);
	ck_assert_uint_eq(f.fake.logged, 1);
	ck_assert_uint_eq(f.stat.io_bytes[0], 512);
	tear_down(&f);
}
END_TEST

Suite *suite_io_stop(void)
{
	Suite *s = suite_create("io_stop");
	TCase *t = tcase_create("io_stop");

	tcase_add_loop_test(t, no_call_is_begun_once_it_is_set, 0, 2 * KINDS);
	tcase_add_loop_test(t, nor_behind_its_time_where_that_ends_it, 0, 4 * KINDS);
	tcase_add_loop_test(t, real_calls_go_on_behind_it_elsewhere, 0, 2);
	tcase_add_loop_test(t, what_is_refused_has_a_time, 0, 2);
	tcase_add_test(t, what_is_kept_back_is_cancelled);
	tcase_add_test(t, a_chain_is_cancelled_as_a_whole);
	tcase_add_test(t, the_rest_of_a_transfer_is_left);
	suite_add_tcase(s, t);
	return s;
}
