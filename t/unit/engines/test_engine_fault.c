/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_fault.c - faults hit the operation of their number, and only that one. */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>

#include "engine_rig.h"
#include "suites.h"

#define BLOCK 4096u

/* Engines that fault wraps; _i of the loops below. */
static const char *const inners[] = { "engine=psync", "engine=io_uring", "engine=libaio",
				      "engine=mmap", "engine=null" };

#define INNERS (int)(sizeof(inners) / sizeof(inners[0]))
#define MOVERS 4 /* the first of them, that open files */
#define NULL_INNER 4

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!dir)
		return 0; /* /proc is not mounted */
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool begin(struct rig *r, int inner, unsigned depth, const char *one, const char *two,
		  const char *three)
{
	const char *const options[] = { inners[inner], one, two, three, NULL };

	return rig_start(r, "fault", options, depth, (size_t)depth * BLOCK);
}

/* What reading one file comes to: open, stat, write, sync, read, close. */
static const enum mlgen_op steps[] = { MLGEN_OPEN, MLGEN_STAT,   MLGEN_WRITE,     MLGEN_FSYNC,
				       MLGEN_READ, MLGEN_ADVISE, MLGEN_FDATASYNC, MLGEN_CLOSE };

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Go through the steps on a new file; results by step. */
static void go_through(struct rig *r, int64_t *results)
{
	struct mlgen_file file = { .path = r->path, .flags = O_RDWR };

	for (size_t i = 0; i < STEPS; i++) {
		struct io_op op = rig_op(r, steps[i], 0, BLOCK);

		op.io.file = &file;
		results[i] = io_do(r->io, &op);
		if (i == 0 && results[i] < 0)
			ck_assert_int_eq(file.fd, -1);
	}
	ck_assert_int_eq(file.fd, -1);
}

START_TEST(the_operation_of_that_number_fails_and_no_other)
{
	for (unsigned n = 0; n <= STEPS + 1; n++) {
		char option[32];
		int64_t results[STEPS];
		unsigned before = open_files();
		struct rig r;

		snprintf(option, sizeof(option), "fail_after=%u", n);
		if (!begin(&r, _i, 1, option, "fail_errno=ENOSPC", NULL))
			return;
		rig_file(&r, BLOCK, O_RDONLY);
		go_through(&r, results);
		for (unsigned i = 1; i < STEPS; i++) {
			if (i + 1 == n)
				ck_assert_int_eq(results[i], -ENOSPC);
			else if (n != 1) /* else nothing is open */
				ck_assert_int_ge(results[i], 0);
		}
		ck_assert_int_eq(results[0], n == 1 ? -ENOSPC : 0);
		rig_end(&r);
		/* Also where the close "failed". */
		ck_assert_uint_eq(open_files(), before);
	}
}
END_TEST

START_TEST(the_same_operation_of_a_full_queue_fails_in_every_run)
{
	struct io_op ops[16], *done[16];

	for (unsigned run = 0; run < 3; run++) {
		struct rig r;

		if (!begin(&r, _i, 16, "fail_after=6", NULL, NULL))
			return;
		rig_file(&r, 16 * BLOCK, O_RDONLY);
		for (unsigned i = 0; i < 16; i++) {
			ops[i] = rig_op(&r, MLGEN_READ, i * BLOCK, BLOCK);
			io_submit(r.io, &ops[i]);
		}
		rig_reap(&r, done, 16);
		for (unsigned i = 0; i < 16; i++)
			ck_assert_int_eq(ops[i].io.result, i == 5 ? -EIO : (int)BLOCK);
		rig_end(&r);
	}
}
END_TEST

START_TEST(workers_of_a_job_count_together)
{
	static const char *const options[] = { "engine=null", "fail_after=4", NULL };
	struct io *first;
	struct rig r;

	ck_assert(rig_start(&r, "fault", options, 1, BLOCK));
	first = r.io;
	ck_assert_int_eq(rig_io(&r, 1, BLOCK), 0);
	for (unsigned i = 0; i < 6; i++) {
		struct io_op op = rig_op(&r, MLGEN_READ, 0, BLOCK);

		ck_assert_int_eq(io_do(i % 2 ? first : r.io, &op), i == 3 ? -EIO : (int)BLOCK);
	}
	io_free(first);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct errno_case {
	const char *option;
	int code;
} errno_cases[] = {
	{ "fail_errno=EIO", EIO },
	{ "fail_errno=enospc", ENOSPC },
	{ "fail_errno=ESTALE", ESTALE },
	{ "fail_errno=121", EREMOTEIO },
	{ "fail_errno=1", EPERM },
	{ "fail_errno=4095", 4095 },
};

static const struct refusal_case {
	const char *option, *says;
} refusal_cases[] = {
	{ "fail_errno=EFOO", "fail_errno: 'EFOO' is neither the name of a storage error, such as EIO or ENOSPC, nor a number from 1 to 4095" },
	{ "fail_errno=0", "fail_errno: '0' is neither" },
	{ "fail_errno=-5", "fail_errno: '-5' is neither" },
	{ "fail_errno=5x", "fail_errno: '5x' is neither" },
	{ "fail_errno=4096", "fail_errno: '4096' is neither" },
	{ "engine=warp", "engine: 'warp' is not built in; --enghelp lists the engines" },
	{ "engine=fault", "engine: 'fault' cannot wrap itself; name an engine that does I/O, such as engine=psync" },
};
/* clang-format on */

START_TEST(the_error_is_named_or_numbered)
{
	struct rig r;

	ck_assert(begin(&r, NULL_INNER, 1, errno_cases[_i].option, "fail_after=1", NULL));
	struct io_op op = rig_op(&r, MLGEN_STAT, 0, 0);
	ck_assert_int_eq(io_do(r.io, &op), -errno_cases[_i].code);
	rig_end(&r);
}
END_TEST

START_TEST(what_cannot_be_wrapped_or_failed_with_is_refused)
{
	const char *const options[] = { refusal_cases[_i].option, NULL };
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "fault", options), -EINVAL);
	ck_assert_msg(strncmp(r.err.text, refusal_cases[_i].says, strlen(refusal_cases[_i].says)) ==
			      0,
		      "%s", r.err.text);
	ck_assert_ptr_null(r.job.priv);
	rig_end(&r);
}
END_TEST

START_TEST(the_wrapped_engine_may_refuse_to_start)
{
	static const char *const options[] = { "engine=io_uring", NULL };
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "fault", options), 0);
	ck_assert_int_eq(rig_io(&r, 40000, (size_t)40000 * 4096), -EINVAL);
	ck_assert_ptr_null(r.io);
	ck_assert_msg(strstr(r.err.text, "iodepth: 40000") != NULL, "%s", r.err.text);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct short_case {
	const char *option;
	uint64_t bytes, shorts;
} short_cases[] = {
	{ "short_every=0", 4096, 0 },
	{ "short_every=2", 4096, 0 },
	{ "short_every=1", 4096, 12 }, /* 2048 and so on to 1, and 1 */
	{ "short_every=1", 1, 0 },     /* half of it would be the end */
	{ "short_every=1", 3, 2 },     /* 1, 1, 1 */
	{ "short_every=1", 0, 0 },
	/* Of 17 parts 8, 4, 2, 1, 1; of the 5 bytes of the last 2, 1, 1, 1. */
	{ "short_every=1", 65536 + 5, 8 },
};
/* clang-format on */

START_TEST(a_short_transfer_is_real_and_resumed)
{
	const struct short_case *c = &short_cases[_i / MOVERS];
	struct rig r;
	size_t span;

	if (!begin(&r, _i % MOVERS, 1, c->option, NULL, NULL))
		return;
	rig_file(&r, 65536 + 5, O_RDONLY);
	const unsigned char *buf = io_buffer(r.io, &span);
	struct io_op op = rig_op(&r, MLGEN_READ, 0, c->bytes);
	ck_assert_int_eq(io_do(r.io, &op), (int64_t)c->bytes);
	uint64_t at = c->bytes > span ? c->bytes - span : 0;
	while (at < c->bytes && buf[at % span] == rig_byte(at))
		at++;
	ck_assert_uint_eq(at, c->bytes);
	ck_assert_uint_eq(r.stat.io_bytes[0], c->bytes);
	ck_assert_uint_eq(r.stat.lat[MLGEN_READ]->count, 1);
	ck_assert_uint_eq(r.stat.short_ios[0], c->shorts);
	rig_end(&r);
}
END_TEST

START_TEST(a_direct_transfer_is_cut_at_whole_blocks)
{
	struct rig r;

	if (!begin(&r, _i, 16, "short_every=1", NULL, NULL))
		return;
	rig_file(&r, 16 * BLOCK, O_RDONLY | O_DIRECT);
	if (r.file.fd < 0) {
		fprintf(stderr, "skipped: no O_DIRECT in %s\n", r.dir);
	} else {
		struct io_op op = rig_op(&r, MLGEN_READ, 0, 7 * BLOCK);

		ck_assert_int_eq(io_do(r.io, &op), 7 * BLOCK);
		ck_assert_uint_gt(r.stat.short_ios[0], 0);
	}
	rig_end(&r);
}
END_TEST

START_TEST(a_delayed_operation_holds_up_no_other)
{
	struct io_op ops[6], *done[6];
	struct rig r;

	if (!begin(&r, _i, 6, "delay_every=2", "delay=5ms", NULL))
		return;
	rig_file(&r, 6 * BLOCK, O_RDONLY);
	for (unsigned i = 0; i < 6; i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * BLOCK, BLOCK);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, 3);
	ck_assert_uint_eq(clock_now(r.clock), 1000);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq((done[i] - ops) % 2, 0);
	ck_assert_int_eq(io_reap(r.io, done, 0, 6), 0);
	rig_reap(&r, done, 3);
	ck_assert_uint_eq(clock_now(r.clock), 1000 + 5000000);
	for (unsigned i = 0; i < 6; i++) {
		ck_assert_int_eq(ops[i].io.result, BLOCK);
		ck_assert_uint_eq(ops[i].end_ns - ops[i].start_ns, i % 2 ? 5000000 : 0);
	}
	rig_end(&r);
}
END_TEST

START_TEST(a_failure_can_be_late_too)
{
	struct rig r;

	if (!begin(&r, _i, 1, "delay_every=1", "delay=5ms", "fail_after=1"))
		return;
	struct io_op op = rig_op(&r, MLGEN_STAT, 0, 0);
	ck_assert_int_eq(io_do(r.io, &op), -EIO);
	ck_assert_uint_eq(op.end_ns - op.start_ns, 5000000);
	rig_end(&r);
}
END_TEST

/* open, read, close as one chain. */
static void do_chain(struct rig *r, struct mlgen_file *file, struct io_op ops[3])
{
	static const enum mlgen_op kinds[] = { MLGEN_OPEN, MLGEN_READ, MLGEN_CLOSE };
	struct io_op *done[3];

	for (unsigned i = 0; i < 3; i++) {
		ops[i] = rig_op(r, kinds[i], 0, i == 1 ? BLOCK : 0);
		ops[i].io.file = file;
		ops[i].io.flags = i < 2 ? MLGEN_IO_LINK : 0;
		ops[i].eof_ok = true;
		io_submit(r->io, &ops[i]);
	}
	rig_reap(r, done, 3);
}

/* clang-format off */
static const struct chain_case {
	const char *option;
	const char *path; /* NULL: one that is there */
	int64_t results[3];
} chain_cases[] = {
	{ "fail_after=0", NULL, { 0, 100, 0 } },
	{ "fail_after=0", "/no/such/file", { -ENOENT, -ECANCELED, -ECANCELED } },
	{ "fail_after=1", NULL, { -EIO, -ECANCELED, -ECANCELED } },
	{ "fail_after=2", NULL, { 0, -EIO, 0 } },
	{ "fail_after=3", NULL, { 0, 100, -EIO } },
	{ "short_every=2", NULL, { 0, 100, 0 } },
};
/* clang-format on */

START_TEST(a_chain_runs_in_order_and_ends_with_an_open_that_failed)
{
	const struct chain_case *c = &chain_cases[_i / MOVERS];
	struct mlgen_file file = { .flags = O_RDONLY, .fd = -1 };
	unsigned before = open_files();
	struct io_op ops[3];
	struct rig r;

	if (!begin(&r, _i % MOVERS, 4, c->option, NULL, NULL))
		return;
	rig_file(&r, 100, O_RDONLY);
	file.path = c->path ? c->path : r.path;
	do_chain(&r, &file, ops);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(ops[i].io.result, c->results[i]);
	ck_assert_int_eq(file.fd, -1);
	rig_end(&r);
	ck_assert_uint_eq(open_files(), before);
}
END_TEST

/* What an engine says of itself, alone or wrapped; false = it may not run. */
static bool says(const char *name, const char *inner, struct mlgen_ctx *ctx)
{
	const char *const options[] = { inner, NULL };
	struct rig r;
	bool runs = rig_job(&r, name, inner ? options : NULL) == 0;

	*ctx = (struct mlgen_ctx){ .job = &r.job,
				   .opts = r.opts,
				   .iodepth = 4,
				   .files = 4,
				   .buf = mem_buffer(BLOCK, MEM_MMAP),
				   .buf_bytes = BLOCK };
	ck_assert_ptr_nonnull(ctx->buf);
	if (runs && r.job.engine->init)
		runs = r.job.engine->init(ctx, &r.err) == 0;
	if (r.job.engine->fini)
		r.job.engine->fini(ctx);
	mem_buffer_free(ctx->buf, BLOCK, MEM_MMAP);
	rig_end(&r);
	return runs;
}

START_TEST(what_the_wrapped_engine_says_of_itself_is_handed_on)
{
	const char *name = strchr(inners[_i], '=') + 1;
	struct mlgen_ctx alone, wrapped;

	if (!says(name, NULL, &alone))
		return;
	ck_assert(says("fault", inners[_i], &wrapped));
	ck_assert_int_eq(wrapped.can_link, alone.can_link);
	ck_assert_str_eq(wrapped.in_use, alone.in_use);
	ck_assert_str_eq(wrapped.note, alone.note);
}
END_TEST

static TCase *fault_case(void)
{
	TCase *t = tcase_create("faults");

	tcase_add_loop_test(t, the_operation_of_that_number_fails_and_no_other, 0, MOVERS);
	tcase_add_loop_test(t, the_same_operation_of_a_full_queue_fails_in_every_run, 0, INNERS);
	tcase_add_loop_test(t, what_the_wrapped_engine_says_of_itself_is_handed_on, 0, INNERS);
	tcase_add_test(t, workers_of_a_job_count_together);
	tcase_add_loop_test(t, the_error_is_named_or_numbered, 0,
			    sizeof(errno_cases) / sizeof(errno_cases[0]));
	tcase_add_loop_test(t, what_cannot_be_wrapped_or_failed_with_is_refused, 0,
			    sizeof(refusal_cases) / sizeof(refusal_cases[0]));
	tcase_add_test(t, the_wrapped_engine_may_refuse_to_start);
	tcase_add_loop_test(t, a_short_transfer_is_real_and_resumed, 0,
			    MOVERS * sizeof(short_cases) / sizeof(short_cases[0]));
	tcase_add_loop_test(t, a_direct_transfer_is_cut_at_whole_blocks, 0, MOVERS);
	tcase_add_loop_test(t, a_delayed_operation_holds_up_no_other, 0, INNERS);
	tcase_add_loop_test(t, a_failure_can_be_late_too, 0, INNERS);
	tcase_add_loop_test(t, a_chain_runs_in_order_and_ends_with_an_open_that_failed, 0,
			    MOVERS * sizeof(chain_cases) / sizeof(chain_cases[0]));
	return t;
}

Suite *suite_engine_fault(void)
{
	Suite *s = suite_create("engine_fault");

	suite_add_tcase(s, fault_case());
	return s;
}
