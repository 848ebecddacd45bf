/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_io_uring_chains.c - open to close in one submission, and the table they go
 * through. */
#include "suites.h"
#include "uring_scene.h"

struct chain {
	struct mlgen_io op[4]; /* open, two reads, close */
	struct mlgen_io *io[4];
	struct mlgen_file file;
	struct iovec iov[2];
};

static void chain_make(struct chain *c, struct scene *s, const char *path)
{
	static const enum mlgen_op kinds[] = { MLGEN_OPEN, MLGEN_READ, MLGEN_READ, MLGEN_CLOSE };

	*c = (struct chain){ .file = { .path = path, .fd = -1 } };
	for (unsigned i = 0; i < 4; i++) {
		c->op[i] = an_op(kinds[i], &c->file);
		c->op[i].flags = i < 3 ? MLGEN_IO_LINK : 0;
		c->op[i].result = 77;
		c->io[i] = &c->op[i];
	}
	for (unsigned i = 0; i < 2; i++) {
		c->iov[i] = (struct iovec){ (char *)s->b.ctx.buf + i * BLOCK, BLOCK };
		c->op[i + 1].iov = &c->iov[i];
		c->op[i + 1].iovcnt = 1;
		c->op[i + 1].off = i * BLOCK;
		c->op[i + 1].len_bytes = BLOCK;
	}
}

static void check_results(const struct chain *c, const int64_t *want)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(c->op[i].result, want[i]);
	ck_assert_int_eq(c->file.fd, -1);
	ck_assert_uint_eq(c->file.word, 0);
}

/* How many files the table takes now; they are closed again. */
static unsigned free_slots(struct scene *s, unsigned most)
{
	struct mlgen_file files[16];
	unsigned n = 0;

	for (unsigned i = 0; i < most; i++) {
		files[i] = (struct mlgen_file){ .path = s->r.dir, .fd = -1 };
		ck_assert_int_eq(one(s, MLGEN_OPEN, &files[i]), 0);
		n += files[i].word != 0;
	}
	for (unsigned i = 0; i < most; i++)
		ck_assert_int_eq(one(s, MLGEN_CLOSE, &files[i]), 0);
	return n;
}

/* clang-format off */
static const struct {
	uint64_t bytes;
	const char *path; /* NULL = the file */
	int64_t want[4];
} chain_cases[] = {
	{ 2 * BLOCK, NULL, { 0, BLOCK, BLOCK, 0 } },
	{ BLOCK + 10, NULL, { 0, BLOCK, 10, 0 } },
	{ 10, NULL, { 0, 10, 0, 0 } },
	{ 0, NULL, { 0, 0, 0, 0 } },
	{ 10, "/no/such", { -ENOENT, -ECANCELED, -ECANCELED, -ECANCELED } },
	{ 10, "/", { 0, -EISDIR, -EISDIR, 0 } },
};
/* clang-format on */
#define CHAIN_CASES (int)(sizeof(chain_cases) / sizeof(chain_cases[0]))

static void one_chain(const char *option, int i)
{
	const char *const options[] = { "registerfiles=1", option, NULL };
	struct chain c;
	struct scene s;
	const char *path = chain_cases[i].path;

	if (!scene_init(&s, options, 4, 4, chain_cases[i].bytes))
		return;
	ck_assert(s.b.ctx.can_link);
	chain_make(&c, &s, path ? path : s.file.path);
	/* More often than there are slots. */
	for (unsigned round = 0; round < 20; round++) {
		ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, c.io, 4), 4);
		reap_all(&s, 4);
		check_results(&c, chain_cases[i].want);
	}
	ck_assert_uint_eq(free_slots(&s, 5), 4);
	scene_end(&s);
}

START_TEST(a_chain_runs_to_its_close)
{
	one_chain(NULL, _i);
}
END_TEST

START_TEST(a_chain_runs_to_its_close_with_sqthread_poll)
{
	one_chain("sqthread_poll=1", _i);
}
END_TEST

START_TEST(a_chain_runs_to_its_close_unregistered_and_async)
{
	one_chain(_i % 2 ? "fixedbufs=0" : "force_async=1", _i);
}
END_TEST

/* Good, missing, short in turn; what was not accepted is handed over again. */
static void rounds(struct scene *s, const char *short_path)
{
	const char *paths[3] = { s->file.path, "/no/such", short_path };
	static const int64_t want[3][4] = {
		{ 0, BLOCK, BLOCK, 0 },
		{ -ENOENT, -ECANCELED, -ECANCELED, -ECANCELED },
		{ 0, BLOCK, 10, 0 },
	};
	struct mlgen_io *io[12];
	struct chain c[3];

	for (unsigned i = 0; i < 3; i++) {
		chain_make(&c[i], s, paths[i]);
		memcpy(io + i * 4, c[i].io, sizeof(c[i].io));
	}
	for (unsigned at = 0; at < 12;) {
		int n = s->b.engine->submit(&s->b.ctx, io + at, 12 - at);

		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(n % 4, 0); /* never a part of a chain */
		at += (unsigned)n;
		reap_all(s, (unsigned)n);
	}
	for (unsigned i = 0; i < 3; i++)
		check_results(&c[i], want[i]);
}

START_TEST(no_slot_is_lost_in_many_chains)
{
	static const char *const options[] = { NULL };
	struct mlgen_file held[11];
	char short_path[300];
	struct scene s;
	int fd;

	if (!scene_init(&s, options, 12, 0, 2 * BLOCK))
		return;
	ck_assert(s.b.ctx.can_link);
	snprintf(short_path, sizeof(short_path), "%.280s/short", s.r.dir);
	fd = open(short_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, BLOCK + 10), 0);
	close(fd);
	for (unsigned round = 0; round < 100; round++)
		rounds(&s, short_path);
	ck_assert_uint_eq(free_slots(&s, 13), 12);
	/* And with one slot for all of them. */
	for (unsigned i = 0; i < 11; i++) {
		held[i] = (struct mlgen_file){ .path = s.r.dir, .fd = -1 };
		ck_assert_int_eq(one(&s, MLGEN_OPEN, &held[i]), 0);
	}
	for (unsigned round = 0; round < 100; round++)
		rounds(&s, short_path);
	for (unsigned i = 0; i < 11; i++)
		ck_assert_int_eq(one(&s, MLGEN_CLOSE, &held[i]), 0);
	ck_assert_uint_eq(free_slots(&s, 13), 12);
	unlink(short_path);
	scene_end(&s);
}
END_TEST

START_TEST(a_full_table_opens_others_by_descriptor_and_refuses_chains)
{
	static const char *const options[] = { "registerfiles=1", NULL };
	static const int64_t want[] = { -EMFILE, -ECANCELED, -ECANCELED, -ECANCELED };
	struct mlgen_file held[5];
	struct chain c;
	struct scene s;

	if (!scene_init(&s, options, 4, 3, 2 * BLOCK))
		return;
	for (unsigned i = 0; i < 5; i++) {
		held[i] = (struct mlgen_file){ .path = s.r.dir, .fd = -1 };
		ck_assert_int_eq(one(&s, MLGEN_OPEN, &held[i]), 0);
		check_open(&held[i], i < 4, i >= 4);
	}
	chain_make(&c, &s, s.file.path);
	ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, c.io, 4), 4);
	reap_all(&s, 4);
	check_results(&c, want);
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_int_eq(one(&s, MLGEN_CLOSE, &held[i]), 0);
		check_open(&held[i], false, false);
	}
	ck_assert_int_eq(s.b.engine->submit(&s.b.ctx, c.io, 4), 4);
	reap_all(&s, 4);
	ck_assert_int_eq(c.op[2].result, BLOCK);
	scene_end(&s);
}
END_TEST

/* Nobody else may have a file open that one takes a write lease on. */
START_TEST(files_left_open_are_closed_with_the_engine)
{
	static const char *const options[] = { "registerfiles=1", NULL };
	struct scene s;
	int fd, before;

	if (!scene_init(&s, options, 4, 3, 2 * BLOCK))
		return;
	ck_assert_int_eq(one(&s, MLGEN_OPEN, &s.file), 0);
	fd = open(s.file.path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	before = fcntl(fd, F_SETLEASE, F_WRLCK) < 0 ? errno : 0;
	ck_assert_int_ne(before, 0);
	s.b.engine->fini(&s.b.ctx);
	if (before == EAGAIN) /* else there are no leases here */
		ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	close(fd);
	scene_end(&s);
}
END_TEST

static TCase *case_of_chains(void)
{
	TCase *t = tcase_create("chains");

	tcase_add_loop_test(t, a_chain_runs_to_its_close, 0, CHAIN_CASES);
	tcase_add_loop_test(t, a_chain_runs_to_its_close_with_sqthread_poll, 0, CHAIN_CASES);
	tcase_add_loop_test(t, a_chain_runs_to_its_close_unregistered_and_async, 0, CHAIN_CASES);
	tcase_add_test(t, no_slot_is_lost_in_many_chains);
	tcase_add_test(t, a_full_table_opens_others_by_descriptor_and_refuses_chains);
	tcase_add_test(t, files_left_open_are_closed_with_the_engine);
	return t;
}

Suite *suite_engine_io_uring_chains(void)
{
	Suite *s = suite_create("engine_io_uring_chains");

	suite_add_tcase(s, case_of_chains());
	return s;
}
