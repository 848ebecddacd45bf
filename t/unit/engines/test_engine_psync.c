/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_psync.c - the flags of preadv2 move the same bytes, or say what the file cannot
 * do. */
#include <signal.h>
#include <sys/resource.h>

#include "engine_rig.h"
#include "suites.h"

#define BLOCK 4096u

/* clang-format off */
static const struct flags_case {
	const char *options[RIG_OPTIONS];
	int64_t or_else; /* what a filesystem without it says */
} flags_cases[] = {
	{ { NULL }, BLOCK },
	{ { "nowait=0", "uncached=0", "hipri=0", NULL }, BLOCK },
	{ { "hipri=1", NULL }, BLOCK },
	{ { "uncached=1", NULL }, -EOPNOTSUPP },
	{ { "nowait=1", NULL }, -EOPNOTSUPP },
	{ { "uncached=1", "hipri=1", NULL }, -EOPNOTSUPP },
};
/* clang-format on */

#define FLAGS (int)(sizeof(flags_cases) / sizeof(flags_cases[0]))

START_TEST(flags_change_no_byte)
{
	const struct flags_case *c = &flags_cases[_i];
	const unsigned char *buf;
	uint64_t i = 0;
	struct io_op op;
	struct rig r;
	int64_t rc;
	size_t n;

	ck_assert(rig_start(&r, "psync", c->options, 1, BLOCK));
	rig_file(&r, 3 * BLOCK, O_RDWR);
	buf = io_buffer(r.io, &n);
	op = rig_op(&r, MLGEN_READ, BLOCK, BLOCK);
	rc = io_do(r.io, &op);
	ck_assert_msg(rc == BLOCK || rc == c->or_else, "%d", (int)rc);
	while (rc == BLOCK && i < BLOCK && buf[i] == rig_byte(BLOCK + i))
		i++;
	ck_assert(rc < 0 || i == BLOCK);
	op = rig_op(&r, MLGEN_WRITE, BLOCK, BLOCK);
	rc = io_do(r.io, &op);
	/* A write that may not wait need not find everything at hand. */
	ck_assert_msg(rc == BLOCK || rc == c->or_else || (rc == -EAGAIN && c->or_else < 0), "%d",
		      (int)rc);
	rig_end(&r);
}
END_TEST

START_TEST(an_offset_that_is_none_is_not_the_files_own_position)
{
	static const uint64_t offs[] = { UINT64_MAX, (uint64_t)INT64_MAX + 1 };
	struct rig r;

	ck_assert(rig_start(&r, "psync", flags_cases[_i].options, 1, BLOCK));
	rig_file(&r, 2 * BLOCK, O_RDWR);
	for (unsigned i = 0; i < 2; i++) {
		struct io_op op = rig_op(&r, MLGEN_READ, offs[i], BLOCK);

		ck_assert_int_eq(io_do(r.io, &op), -EINVAL);
		op = rig_op(&r, MLGEN_WRITE, offs[i], BLOCK);
		ck_assert_int_eq(io_do(r.io, &op), -EINVAL);
	}
	rig_end(&r);
}
END_TEST

START_TEST(what_may_not_wait_and_is_not_cached_is_eagain)
{
	static const char *const options[] = { "nowait=1", NULL };
	struct io_op op;
	struct rig r;
	int64_t rc;

	ck_assert(rig_start(&r, "psync", options, 1, BLOCK));
	rig_file(&r, 64 * BLOCK, O_RDWR);
	ck_assert_int_eq(fsync(r.file.fd), 0);
	posix_fadvise(r.file.fd, 0, 0, POSIX_FADV_DONTNEED);
	op = rig_op(&r, MLGEN_READ, 32 * BLOCK, BLOCK);
	rc = io_do(r.io, &op);
	/* The first try starts to read ahead, and one of the next may find it; a filesystem may
	 * keep its pages, or have no such reads. */
	ck_assert(rc == -EAGAIN || rc == BLOCK || rc == -EOPNOTSUPP);
	rig_end(&r);
}
END_TEST

START_TEST(a_file_that_may_not_grow_is_efbig_after_what_fits)
{
	struct rlimit before, limit = { 10 * BLOCK, 0 };
	struct io_op op;
	struct rig r;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert(rig_start(&r, "psync", flags_cases[_i].options, 1, 16 * BLOCK));
	rig_file(&r, 4 * BLOCK, O_RDWR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	op = rig_op(&r, MLGEN_WRITE, 2 * BLOCK, 16 * BLOCK);
	int64_t rc = io_do(r.io, &op);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_uint_eq(op.done_bytes, 8 * BLOCK);
	rig_end(&r);
}
END_TEST

Suite *suite_engine_psync(void)
{
	Suite *s = suite_create("engine_psync");
	TCase *t = tcase_create("flags");

	tcase_add_loop_test(t, flags_change_no_byte, 0, FLAGS);
	tcase_add_loop_test(t, an_offset_that_is_none_is_not_the_files_own_position, 0, 3);
	tcase_add_test(t, what_may_not_wait_and_is_not_cached_is_eagain);
	tcase_add_loop_test(t, a_file_that_may_not_grow_is_efbig_after_what_fits, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
