/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_null_ahead.c - the null engine's read-ahead: who reads on has less to wait for. */
#include "engine_rig.h"
#include "suites.h"

#define K UINT64_C(1024)
#define M (K * K)
#define MS UINT64_C(1000000)

/* 128 KiB take a millisecond. */
#define PASSES "bandwidth=131072000"

struct step {
	uint64_t off, bytes, ms; /* ms: what the read takes */
	uint64_t pause_ms;       /* before it */
};

#define STEPS 8

/* clang-format off */
static const struct ahead_case {
	const char *what;
	const char *options[RIG_OPTIONS];
	int flags;
	struct step steps[STEPS]; /* up to one of no bytes */
} ahead_cases[] = {
	{ "two windows are asked for, and the third once the second is begun",
	  { "latency=1ms", NULL }, 0,
	  { { 0, 128 * K, 1, 0 }, { 128 * K, 128 * K, 0, 0 },
	    { 256 * K, 128 * K, 1, 0 }, { 384 * K, 128 * K, 0, 0 },
	    { 512 * K, 128 * K, 1, 0 } } },
	{ "small requests find a whole window",
	  { "latency=1ms", "readahead=8k", NULL }, 0,
	  { { 0, 4 * K, 1, 0 }, { 4 * K, 4 * K, 0, 0 }, { 8 * K, 4 * K, 0, 0 },
	    { 12 * K, 4 * K, 0, 0 }, { 16 * K, 4 * K, 1, 0 },
	    { 20 * K, 4 * K, 0, 0 }, { 24 * K, 4 * K, 0, 0 } } },
	{ "a request larger than a window is asked for as one",
	  { "latency=1ms", NULL }, 0,
	  { { 0, M, 1, 0 }, { M, M, 0, 0 }, { 2 * M, M, 1, 0 } } },
	{ "who takes his time waits for nothing",
	  { "latency=1ms", NULL }, 0,
	  { { 0, 128 * K, 1, 0 }, { 128 * K, 128 * K, 0, 1 },
	    { 256 * K, 128 * K, 0, 1 }, { 384 * K, 128 * K, 0, 1 } } },
	{ "without a window each read waits",
	  { "latency=1ms", "readahead=0", NULL }, 0,
	  { { 0, 4 * K, 1, 0 }, { 4 * K, 4 * K, 1, 0 }, { 4 * K, 4 * K, 1, 0 } } },
	{ "direct reads have none",
	  { "latency=1ms", NULL }, O_DIRECT,
	  { { 0, 4 * K, 1, 0 }, { 4 * K, 4 * K, 1, 0 }, { 4 * K, 4 * K, 1, 0 } } },
	{ "nor have reads here and there",
	  { "latency=1ms", NULL }, 0,
	  { { M, 4 * K, 1, 0 }, { 0, 4 * K, 1, 0 }, { 2 * M, 4 * K, 1, 0 },
	    { 64 * K, 4 * K, 1, 0 }, { M, 4 * K, 1, 0 } } },
	{ "a read behind a lonely one makes it a row",
	  { "latency=1ms", NULL }, 0,
	  { { M, 4 * K, 1, 0 }, { M + 4 * K, 4 * K, 1, 0 },
	    { M + 8 * K, 124 * K, 0, 0 }, { M + 132 * K, 128 * K, 0, 0 },
	    { M + 260 * K, 4 * K, 1, 0 } } },
	{ "what was just read is there, and a look at the end costs no window",
	  { "latency=1ms", NULL }, 0,
	  { { 0, 4 * K, 1, 0 }, { M, 22, 1, 0 }, { M, 22, 0, 0 },
	    { 0, 4 * K, 0, 0 }, { 4 * K, 4 * K, 0, 0 }, { 0, 4 * K, 0, 0 },
	    { 8 * K, 120 * K, 0, 0 } } },
	{ "what lies further back is not",
	  { "latency=1ms", NULL }, 0,
	  { { 0, 64 * K, 1, 0 }, { 52 * K, 4 * K, 1, 0 }, { 0, 64 * K, 1, 0 } } },
	{ "bandwidth is kept to, with one latency in front",
	  { "latency=1ms", PASSES, NULL }, 0,
	  { { 0, 128 * K, 2, 0 }, { 128 * K, 128 * K, 1, 0 },
	    { 256 * K, 256 * K, 2, 0 }, { 512 * K, 128 * K, 1, 0 } } },
	{ "a byte that is not consumed takes no bandwidth",
	  { PASSES, NULL }, 0,
	  { { 0, 128 * K, 1, 0 }, { 10 * M, 128 * K, 1, 0 },
	    { 20 * M, 128 * K, 1, 0 } } },
	{ "while one window is consumed the next one passes",
	  { "latency=1ms", PASSES, NULL }, 0,
	  { { 0, 256 * K, 3, 0 }, { 256 * K, 256 * K, 1, 1 },
	    { 512 * K, 256 * K, 0, 3 } } },
};
/* clang-format on */

static void open_file(struct rig *r, struct mlgen_file *file, int flags)
{
	struct io_op op;

	*file = (struct mlgen_file){ .path = "/no/such/file", .fd = -1, .flags = flags };
	op = (struct io_op){ .io = { .op = MLGEN_OPEN, .file = file } };
	ck_assert_int_eq(io_do(r->io, &op), 0);
}

static void close_file(struct rig *r, struct mlgen_file *file)
{
	struct io_op op = { .io = { .op = MLGEN_CLOSE, .file = file } };

	ck_assert_int_eq(io_do(r->io, &op), 0);
	ck_assert_uint_eq(file->word, 0);
}

static uint64_t read_ns(struct rig *r, struct mlgen_file *file, uint64_t off, uint64_t bytes)
{
	struct io_op op = {
		.io = { .op = MLGEN_READ, .file = file, .off = off, .len_bytes = bytes }
	};

	io_wake(r->io);
	ck_assert_int_eq(io_do(r->io, &op), (int64_t)bytes);
	return op.end_ns - op.start_ns;
}

START_TEST(reads_wait_for_what_was_not_read_ahead)
{
	const struct ahead_case *c = &ahead_cases[_i];
	struct mlgen_file file;
	struct rig r;

	ck_assert(rig_start(&r, "null", c->options, 1, 4 * M));
	open_file(&r, &file, c->flags);
	for (unsigned i = 0; i < STEPS && c->steps[i].bytes; i++) {
		const struct step *s = &c->steps[i];
		uint64_t ns;

		if (s->pause_ms)
			clock_sleep_until(r.clock, clock_now(r.clock) + s->pause_ms * MS);
		ns = read_ns(&r, &file, s->off, s->bytes);
		ck_assert_msg(ns == s->ms * MS, "%s: read %u takes %llu ns", c->what, i,
			      (unsigned long long)ns);
	}
	close_file(&r, &file);
	rig_end(&r);
}
END_TEST

START_TEST(a_file_that_is_opened_again_has_nothing_read)
{
	static const char *const options[] = { "latency=1ms", NULL };
	struct mlgen_file file;
	struct rig r;

	ck_assert(rig_start(&r, "null", options, 1, 4 * M));
	for (unsigned i = 0; i < 3; i++) {
		open_file(&r, &file, 0);
		ck_assert_uint_eq(read_ns(&r, &file, 0, 4 * K), MS);
		ck_assert_uint_eq(read_ns(&r, &file, 4 * K, 4 * K), 0);
		close_file(&r, &file);
	}
	rig_end(&r);
}
END_TEST

/* Its worker said that it opens two at most. */
START_TEST(files_are_read_ahead_each_by_itself_and_too_many_are_not)
{
	static const char *const options[] = { "latency=1ms", NULL };
	struct mlgen_file files[3];
	struct rig r;

	ck_assert(rig_start(&r, "null", options, 2, 8 * M));
	for (unsigned i = 0; i < 3; i++)
		open_file(&r, &files[i], 0);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(read_ns(&r, &files[i], 0, 4 * K), MS);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(read_ns(&r, &files[i], 4 * K, 4 * K), i < 2 ? 0 : MS);
	for (unsigned i = 0; i < 3; i++)
		close_file(&r, &files[i]);
	open_file(&r, &files[2], 0);
	ck_assert_uint_eq(read_ns(&r, &files[2], 0, 4 * K), MS);
	ck_assert_uint_eq(read_ns(&r, &files[2], 4 * K, 4 * K), 0);
	close_file(&r, &files[2]);
	rig_end(&r);
}
END_TEST

START_TEST(a_window_that_makes_no_sense_is_refused)
{
	static const struct {
		const char *options[RIG_OPTIONS];
		const char *message; /* NULL = it is taken */
	} rows[] = {
		{ { "readahead=128", "latency=1ms", NULL },
		  "128 bytes are below the minimum 4k; for KiB write 128k" },
		{ { "readahead=4095", "bandwidth=1m", NULL }, "below the minimum 4k" },
		{ { "readahead=256k", NULL }, "needs latency= or bandwidth=" },
		{ { "readahead=0", NULL }, NULL },
		{ { "readahead=4k", "latency=1ms", NULL }, NULL },
		{ { "readahead=0", "latency=1ms", NULL }, NULL },
		{ { "readahead=1g", "bandwidth=1m", NULL }, NULL },
		{ { "readahead=128k", NULL }, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mlgen_err err = { 0 };
		struct bare_rig b;
		int rc;

		bare_prepare(&b, "null", rows[i].options, 1);
		rc = b.engine->job_init(&b.job, &err);
		ck_assert_int_eq(rc, rows[i].message ? -EINVAL : 0);
		ck_assert(!rows[i].message || strstr(err.text, rows[i].message));
		b.engine->job_fini(&b.job);
		bare_end(&b);
	}
}
END_TEST

Suite *suite_engine_null_ahead(void)
{
	Suite *s = suite_create("engine_null_ahead");
	TCase *t = tcase_create("read-ahead");

	tcase_add_loop_test(t, reads_wait_for_what_was_not_read_ahead, 0,
			    sizeof(ahead_cases) / sizeof(ahead_cases[0]));
	tcase_add_test(t, a_file_that_is_opened_again_has_nothing_read);
	tcase_add_test(t, files_are_read_ahead_each_by_itself_and_too_many_are_not);
	tcase_add_test(t, a_window_that_makes_no_sense_is_refused);
	suite_add_tcase(s, t);
	return s;
}
