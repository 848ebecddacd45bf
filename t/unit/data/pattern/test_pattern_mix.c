/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern_mix.c - reads and writes of a plain job, and sizes of requests, have their
 * shares. */
#include "pattern_rig.h"
#include "suites.h"

START_TEST(directions_of_a_sequential_mix_have_their_own_positions)
{
	struct job job = job_of(RW_RW, 4 * KI, 8 * KI);
	uint64_t at[2] = { 0, 0 }, bytes = 0;
	struct pattern_op op;

	job.io_size.bytes = 5 * MI;
	struct pattern *p = one_file(&job, MI);
	while (pattern_next(p, &op)) {
		uint64_t size = op.is_write ? 8 * KI : 4 * KI;

		ck_assert_uint_eq(op.len_bytes, size);
		ck_assert_uint_eq(op.off, at[op.is_write]);
		at[op.is_write] = (at[op.is_write] + size) % MI;
		bytes += size;
	}
	/* The request that reaches the total is whole. */
	ck_assert_uint_ge(bytes, 5 * MI);
	ck_assert_uint_lt(bytes, 5 * MI + 8 * KI);
	pattern_free(p);
}
END_TEST

START_TEST(a_mix_has_the_share_asked_for)
{
	static const double reads[] = { 0, 1, 30, 50, 70, 99.5, 100 };
	static const int ways[] = { RW_RW, RW_RANDRW };

	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		for (unsigned way = 0; way < 4; way++) {
			struct job job = job_of(ways[way % 2], 4 * KI, 4 * KI);

			job.rwmixread = reads[i];
			job.norandommap = way > 1;
			struct pattern *p = one_file(&job, 4096 * 4 * KI);
			struct sums s = run_out(p);
			ck_assert_uint_eq(s.ops, 4096);
			ck_assert_double_eq_tol(100 - 100 * (double)s.writes / 4096, reads[i], 0.1);
			pattern_free(p);
		}
	}
}
END_TEST

/* As many changes of direction as independent draws have: 2 x 0.3 x 0.7. */
START_TEST(directions_of_a_mix_have_no_beat)
{
	struct job job = job_of(RW_RANDRW, 4 * KI, 4 * KI);
	unsigned changes = 0, spans[8] = { 0 };
	bool last = false;
	struct pattern_op op;

	job.rwmixread = 70;
	struct pattern *p = one_file(&job, 32768 * 4 * KI);
	for (unsigned i = 0; pattern_next(p, &op); i++) {
		changes += op.is_write != last;
		last = op.is_write;
		spans[i % 8] += op.is_write;
	}
	ck_assert_double_eq_tol(changes / 32768.0, 0.42, 0.02);
	for (unsigned i = 0; i < 8; i++)
		ck_assert_double_eq_tol(spans[i] / 4096.0, 0.3, 0.03);
	pattern_free(p);
}
END_TEST

/* Counts of 8, 32 and 64 KiB, cut ones last. */
static struct sums count_sizes(struct pattern *p, uint64_t counts[4], uint64_t bytes, uint64_t unit)
{
	struct sums s = { 0, 0, 0 };
	uint64_t bad = 0;
	struct pattern_op op;

	memset(counts, 0, 4 * sizeof(*counts));
	while (pattern_next(p, &op)) {
		uint64_t kib = op.len_bytes / KI;

		counts[kib == 8 ? 0 : kib == 32 ? 1 : kib == 64 ? 2 : 3]++;
		bad += op.off + op.len_bytes > bytes || op.off % unit != 0;
		s.bytes += op.len_bytes;
		s.ops++;
	}
	ck_assert_uint_eq(bad, 0);
	return s;
}

START_TEST(bssplit_has_the_shares_asked_for)
{
	static char split[] = "8k/10:64k/50:32k/40";
	static const double want[] = { 10, 40, 50, 0 };
	static const int ways[] = { RW_READ, RW_RANDREAD, RW_RANDRW, RW_RANDREAD };

	for (unsigned way = 0; way < 4; way++) {
		struct job job = job_of(ways[way], 4 * KI, 4 * KI);
		uint64_t counts[4];

		job.bssplit = split;
		job.norandommap = way == 3;
		struct pattern *p = one_file(&job, 128 * MI + 13 * KI);
		struct sums s = count_sizes(p, counts, 128 * MI + 13 * KI, 8 * KI);
		for (unsigned k = 0; k < 4; k++)
			ck_assert_double_eq_tol(100 * (double)counts[k] / (double)s.ops, want[k],
						2.5);
		/* fio's total: all but what is less than 8 KiB; without a map, until it is
		 * reached. */
		if (way < 3)
			ck_assert_uint_eq(s.bytes, 128 * MI + 8 * KI);
		else
			ck_assert(s.bytes >= 128 * MI + 13 * KI && s.bytes < 128 * MI + 77 * KI);
		pattern_free(p);
	}
}
END_TEST

Suite *suite_pattern_mix(void)
{
	Suite *s = suite_create("pattern_mix");
	TCase *tc = tcase_create("pattern_mix");

	tcase_add_test(tc, directions_of_a_sequential_mix_have_their_own_positions);
	tcase_add_test(tc, a_mix_has_the_share_asked_for);
	tcase_add_test(tc, directions_of_a_mix_have_no_beat);
	tcase_add_test(tc, bssplit_has_the_shares_asked_for);
	suite_add_tcase(s, tc);
	return s;
}
