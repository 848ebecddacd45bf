/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern_order.c - requests of a plain job come in order, or in one that is random. */
#include "base/mem.h"
#include "pattern_rig.h"
#include "suites.h"

/* A check for each request would take minutes: counted, then checked. */
static void expect_each_block_once(const struct job *job, uint64_t off, uint64_t bytes,
				   uint64_t worker)
{
	struct pattern_region region = { off, bytes };
	struct pattern *p = pattern_of(job, &region, 1, worker);
	uint64_t bs = job->bs.read, ops = 0, good = 0;
	unsigned char *seen = mem_zalloc(bytes / bs);
	struct pattern_op op;

	for (; pattern_next(p, &op); ops++) {
		uint64_t block = (op.off - off) / bs;

		good += op.len_bytes == bs && op.region == 0 && op.off >= off &&
			block < bytes / bs && (op.off - off) % bs == 0 && !seen[block]++;
	}
	ck_assert_uint_eq(ops, bytes / bs);
	ck_assert_uint_eq(good, ops);
	mem_free(seen);
	pattern_free(p);
}

START_TEST(a_random_map_has_every_block_once)
{
	static const uint64_t more[] = { 4095, 4096, 4097, 28000, 65536, 100003 };
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);

	for (uint64_t n = 1; n <= 2000; n++)
		expect_each_block_once(&job, 0, n * 4 * KI, n % 5);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		expect_each_block_once(&job, 1000, more[i] * 4 * KI + 5, i);
	/* across both directions of a mix */
	job.rw = RW_RANDRW;
	expect_each_block_once(&job, 16 * KI, 16 * MI, 0);
}
END_TEST

START_TEST(a_map_starts_again_in_another_order)
{
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);
	uint64_t first[1000];
	unsigned seen[1000] = { 0 }, same = 0;
	struct pattern_op op;

	job.loops = 3;
	struct pattern *p = one_file(&job, 1000 * 4 * KI);
	for (unsigned i = 0; i < 3000; i++) {
		ck_assert(pattern_next(p, &op));
		uint64_t block = op.off / (4 * KI);
		ck_assert_uint_eq(seen[block]++, i / 1000);
		if (i < 1000)
			first[i] = block;
		else
			same += first[i % 1000] == block;
	}
	ck_assert(!pattern_next(p, &op));
	ck_assert_uint_lt(same, 15);
	pattern_free(p);
}
END_TEST

START_TEST(a_sequence_goes_forward_and_wraps)
{
	struct job job = job_of(RW_WRITE, 4 * KI, 4 * KI);
	struct pattern_region region = { 16 * KI, 802 * KI };
	struct pattern_op op;

	job.loops = 2;
	struct pattern *p = pattern_of(&job, &region, 1, 7);
	for (uint64_t i = 0; i < 400; i++) {
		ck_assert(pattern_next(p, &op));
		ck_assert_uint_eq(op.off, 16 * KI + i % 200 * 4 * KI);
		ck_assert(op.is_write);
	}
	ck_assert(!pattern_next(p, &op));
	pattern_free(p);
}
END_TEST

START_TEST(without_a_map_any_block_may_come)
{
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);
	static unsigned seen[1000];
	unsigned none = 0;
	struct pattern_op op;
	struct pattern_region region = { 8 * KI, 4000 * KI };

	job.norandommap = true;
	struct pattern *p = pattern_of(&job, &region, 1, 0);
	while (pattern_next(p, &op)) {
		ck_assert_uint_ge(op.off, 8 * KI);
		seen[(op.off - 8 * KI) / (4 * KI)]++;
	}
	for (unsigned i = 0; i < 1000; i++)
		none += !seen[i];
	/* 1/e of them; a standard deviation is 10 */
	ck_assert_double_eq_tol(none, 368, 50);
	pattern_free(p);
}
END_TEST

static void first_offsets(const struct job *job, uint64_t worker, uint64_t out[1000])
{
	struct pattern_region region = { 0, 1000 * 4 * KI };
	struct pattern *p = pattern_of(job, &region, 1, worker);
	struct pattern_op op;

	for (unsigned i = 0; i < 1000; i++) {
		ck_assert(pattern_next(p, &op));
		out[i] = op.off | op.is_write;
	}
	pattern_free(p);
}

START_TEST(an_order_is_that_of_seed_and_worker)
{
	for (unsigned way = 0; way < 3; way++) {
		struct job job = job_of(RW_RANDRW, 4 * KI, 4 * KI), other;
		uint64_t a[1000], again[1000], seed[1000], worker[1000];
		unsigned same_seed = 0, same_worker = 0;

		job.norandommap = way == 1;
		if (way == 2)
			job.rw = RW_RANDREAD;
		other = job;
		other.randseed = 2;
		first_offsets(&job, 0, a);
		first_offsets(&job, 0, again);
		first_offsets(&other, 0, seed);
		first_offsets(&job, 1, worker);
		for (unsigned i = 0; i < 1000; i++) {
			ck_assert_uint_eq(a[i], again[i]);
			same_seed += a[i] == seed[i];
			same_worker += a[i] == worker[i];
		}
		ck_assert_uint_lt(same_seed, 10);
		ck_assert_uint_lt(same_worker, 10);
	}
}
END_TEST

/* numjobs on one file: all start at its start. */
START_TEST(workers_of_a_sequence_go_the_same_way)
{
	struct job job = job_of(RW_READ, 4 * KI, 4 * KI);
	uint64_t a[1000], b[1000];

	first_offsets(&job, 0, a);
	first_offsets(&job, 3, b);
	ck_assert_mem_eq(a, b, sizeof(a));
}
END_TEST

Suite *suite_pattern_order(void)
{
	Suite *s = suite_create("pattern_order");
	TCase *tc = tcase_create("pattern_order");

	tcase_add_test(tc, a_random_map_has_every_block_once);
	tcase_add_test(tc, a_map_starts_again_in_another_order);
	tcase_add_test(tc, a_sequence_goes_forward_and_wraps);
	tcase_add_test(tc, without_a_map_any_block_may_come);
	tcase_add_test(tc, an_order_is_that_of_seed_and_worker);
	tcase_add_test(tc, workers_of_a_sequence_go_the_same_way);
	suite_add_tcase(s, tc);
	return s;
}
