/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_look.c - another thread sees what is under way. */
#include <pthread.h>

#include "io/engines.h"
#include "mock_engine.h"
#include "suites.h"

START_TEST(what_is_under_way_can_be_seen_and_what_is_done_cannot)
{
	struct mlgen_file file = { .path = "dir/first", .fd = -1 };
	struct io_op op = transfer(MLGEN_READ, &file, 8192, 4096);
	struct io_outstanding after;
	struct fixture f;

	set_up(&f, _i ? &mock_async : &mock_sync, 1, 4096);
	f.mock.look = f.io;
	ck_assert_int_eq(io_do(f.io, &op), 4096);
	ck_assert_uint_eq(f.mock.seen.start_ns, 5000);
	ck_assert_uint_eq(f.mock.seen.off, 8192);
	ck_assert_int_eq((int)f.mock.seen.op, MLGEN_READ);
	ck_assert_str_eq(f.mock.seen.path, "dir/first");
	io_look(f.io, &after);
	ck_assert_uint_eq(after.start_ns, 0);
	/* the same struct for the next file: its open says so */
	struct io_op again = transfer(MLGEN_STAT, &file, 0, 0);
	file.path = "no/such/file/with/a/longer/name";
	ck_assert_int_eq(io_do(f.io, &again), -ENOENT);
	ck_assert_int_eq(io_do(f.io, &op), 4096);
	ck_assert_str_eq(f.mock.seen.path, file.path);
	tear_down(&f);
}
END_TEST

START_TEST(of_several_the_oldest_is_seen)
{
	struct mlgen_file a = { .path = "a" }, b = { .path = "b" };
	struct io_op first = transfer(MLGEN_READ, &a, 1, 512);
	struct io_op second = transfer(MLGEN_WRITE, &b, 2, 512);
	struct io_op *done[2];
	struct io_outstanding seen;
	struct fixture f;

	set_up(&f, &mock_async, 4, 16384);
	io_submit(f.io, &first);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 0);
	clock_sleep_until(f.clock, 5100);
	io_submit(f.io, &second);
	ck_assert_int_eq(io_reap(f.io, done, 0, 2), 0);
	io_look(f.io, &seen);
	ck_assert_str_eq(seen.path, "a");
	ck_assert_uint_eq(seen.start_ns, 5000);
	ck_assert_int_eq(io_reap(f.io, done, 2, 2), 2);
	tear_down(&f);
}
END_TEST

START_TEST(a_long_path_is_cut)
{
	char path[2000];
	struct mlgen_file file = { .path = path };
	struct io_op op = transfer(MLGEN_READ, &file, 0, 512);
	struct fixture f;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	set_up(&f, &mock_sync, 1, 4096);
	f.mock.look = f.io;
	ck_assert_int_eq(io_do(f.io, &op), 512);
	ck_assert_uint_eq(strlen(f.mock.seen.path), 511);
	tear_down(&f);
}
END_TEST

struct watcher {
	const struct io *io;
	_Atomic bool stop;
	unsigned looks;
};

static void *watch(void *arg)
{
	struct watcher *w = arg;
	struct io_outstanding seen;

	do {
		io_look(w->io, &seen);
		ck_assert_uint_lt(strlen(seen.path), sizeof(seen.path));
		w->looks++;
	} while (!atomic_load(&w->stop));
	return NULL;
}

START_TEST(another_thread_may_look_at_any_time)
{
	struct mlgen_file files[2] = { { .path = "short" }, { .path = "a/very/much/longer/path" } };
	struct watcher w = { 0 };
	struct fixture f;
	pthread_t t;

	set_up(&f, engines_find("null"), 1, 4096);
	w.io = f.io;
	ck_assert_int_eq(pthread_create(&t, NULL, watch, &w), 0);
	for (unsigned i = 0; i < 20000; i++) {
		struct io_op op = transfer(MLGEN_READ, &files[i % 2], i, 4096);

		ck_assert_int_eq(io_do(f.io, &op), 4096);
	}
	atomic_store(&w.stop, true);
	pthread_join(t, NULL);
	ck_assert_uint_gt(w.looks, 0);
	tear_down(&f);
}
END_TEST

Suite *suite_io_look(void)
{
	Suite *s = suite_create("io_look");
	TCase *t = tcase_create("look");

	tcase_add_loop_test(t, what_is_under_way_can_be_seen_and_what_is_done_cannot, 0, 2);
	tcase_add_test(t, of_several_the_oldest_is_seen);
	tcase_add_test(t, a_long_path_is_cut);
	tcase_add_test(t, another_thread_may_look_at_any_time);
	suite_add_tcase(s, t);
	return s;
}
