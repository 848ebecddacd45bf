/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - what a plain job moves is what fio moves, of one region or many. */
#include <errno.h>

#include "pattern_rig.h"
#include "suites.h"

/* clang-format off */
#define R1(bytes)    { { 0, (bytes) * KI } }, 1
#define R2(one, two) { { 0, (one) * KI }, { 0, (two) * KI } }, 2

/* fio 3.33 ran each of these; the last two columns are its figures. */
static const struct {
	int rw;
	struct pattern_region regions[2];
	unsigned count;
	uint64_t size, io_size; /* KiB, 0 = not given */
	double io_percent;
	uint64_t loops;
	bool norandommap;
	uint64_t ops, kib;
} fio[] = {
	/* less than a request is left at the end */
	{ RW_READ,     R1(30), 0, 0, 0, 1, false, 7, 28 },
	{ RW_RANDREAD, R1(30), 0, 0, 0, 1, false, 7, 28 },
	{ RW_WRITE,    R1(30), 0, 0, 0, 1, false, 7, 28 },
	{ RW_RANDRW,   R1(30), 0, 0, 0, 1, false, 7, 28 },
	{ RW_READ,     R1(30), 0, 0, 0, 3, false, 21, 84 },
	/* unless the end is not met, but a total */
	{ RW_RW,       R1(30), 0, 0, 0, 1, false, 8, 32 },
	{ RW_RW,       R1(30), 0, 0, 0, 2, false, 15, 60 },
	{ RW_RW,       R1(30), 0, 0, 0, 3, false, 23, 92 },
	{ RW_RANDREAD, R1(30), 0, 0, 0, 1, true, 8, 32 },
	{ RW_RANDREAD, R1(30), 0, 0, 0, 2, true, 15, 60 },
	{ RW_RANDREAD, R1(30), 0, 0, 0, 3, true, 23, 92 },
	{ RW_RANDREAD, R1(29), 0, 0, 0, 3, true, 22, 88 },
	{ RW_RANDREAD, R1(31), 0, 0, 0, 3, true, 24, 96 },
	{ RW_RANDREAD, R1(30), 0, 0, 0, 4, true, 30, 120 },
	/* io_size */
	{ RW_READ,     R1(64), 0, 32, 0, 1, false, 8, 32 },
	{ RW_READ,     R1(64), 0, 96, 0, 1, false, 24, 96 },
	{ RW_READ,     R1(64), 0, 98, 0, 1, false, 25, 100 },
	{ RW_WRITE,    R1(64), 0, 96, 0, 1, false, 24, 96 },
	{ RW_READ,     R1(64), 0, 0, 50, 1, false, 8, 32 },
	{ RW_READ,     R1(64), 0, 0, 51, 1, false, 9, 36 },
	{ RW_READ,     R1(64), 0, 0, 49, 1, false, 8, 32 },
	{ RW_READ,     R1(30), 0, 15, 0, 1, false, 4, 16 },
	{ RW_READ,     R1(30), 0, 30, 0, 1, false, 7, 28 },
	{ RW_READ,     R1(30), 0, 60, 0, 1, false, 15, 60 },
	{ RW_RANDREAD, R1(64), 0, 96, 0, 1, false, 24, 96 },
	{ RW_RANDREAD, R1(64), 0, 32, 0, 1, false, 8, 32 },
	{ RW_RANDREAD, R1(30), 0, 60, 0, 1, false, 15, 60 },
	{ RW_RANDREAD, R1(64), 0, 96, 0, 1, true, 24, 96 },
	{ RW_RANDREAD, R1(30), 0, 15, 0, 1, true, 4, 16 },
	{ RW_RANDREAD, R1(30), 0, 90, 0, 1, true, 23, 92 },
	{ RW_RW,       R1(64), 0, 96, 0, 1, false, 24, 96 },
	/* loops, and both */
	{ RW_READ,     R1(64), 0, 0, 0, 3, false, 48, 192 },
	{ RW_RANDREAD, R1(16), 0, 0, 0, 3, false, 12, 48 },
	{ RW_READ,     R1(64), 0, 15, 0, 3, false, 12, 48 },
	{ RW_READ,     R1(64), 0, 32, 0, 3, false, 24, 96 },
	{ RW_READ,     R1(64), 0, 64, 0, 3, false, 48, 192 },
	{ RW_READ,     R1(64), 0, 96, 0, 2, false, 32, 128 },
	{ RW_READ,     R1(64), 0, 96, 0, 3, false, 48, 192 },
	{ RW_READ,     R1(64), 0, 200, 0, 3, false, 64, 256 },
	{ RW_RANDREAD, R1(64), 0, 32, 0, 3, false, 24, 96 },
	{ RW_RANDREAD, R1(64), 0, 96, 0, 3, false, 48, 192 },
	{ RW_RW,       R1(64), 0, 32, 0, 3, false, 24, 96 },
	{ RW_RW,       R1(64), 0, 96, 0, 3, false, 72, 288 },
	/* two files: half of size each, or filesize, or as they are */
	{ RW_READ,     R2(32, 32), 64, 0, 0, 1, false, 16, 64 },
	{ RW_READ,     R2(30, 30), 60, 0, 0, 1, false, 14, 56 },
	{ RW_READ,     R2(32, 32), 40, 0, 0, 1, false, 10, 40 },
	{ RW_READ,     R2(32, 32), 40, 0, 0, 2, false, 20, 80 },
	{ RW_RANDREAD, R2(32, 32), 40, 0, 0, 2, false, 20, 80 },
	{ RW_READ,     R2(32, 32), 40, 96, 0, 1, false, 24, 96 },
	{ RW_RANDREAD, R2(32, 32), 40, 0, 0, 1, false, 10, 40 },
	{ RW_READ,     R2(32, 32), 100, 0, 0, 1, false, 16, 64 },
	{ RW_READ,     R2(32, 64), 0, 0, 0, 1, false, 24, 96 },
	{ RW_RANDREAD, R2(32, 64), 0, 0, 0, 1, false, 24, 96 },
	{ RW_RANDREAD, R2(16, 64), 0, 0, 0, 1, true, 20, 80 },
	{ RW_READ,     R2(32, 32), 64, 0, 0, 2, false, 32, 128 },
	{ RW_READ,     R2(32, 32), 64, 96, 0, 1, false, 24, 96 },
	{ RW_RANDREAD, R2(32, 32), 64, 96, 0, 1, false, 24, 96 },
	{ RW_RANDRW,   R2(32, 32), 64, 0, 0, 1, false, 16, 64 },
};
/* clang-format on */

START_TEST(a_job_moves_what_fio_moves)
{
	for (size_t i = 0; i < sizeof(fio) / sizeof(fio[0]); i++) {
		struct job job = job_of(fio[i].rw, 4 * KI, 4 * KI);

		job.size.bytes = fio[i].size * KI;
		job.io_size.bytes = fio[i].io_size * KI;
		job.io_size.percent = fio[i].io_percent;
		job.loops = fio[i].loops;
		job.norandommap = fio[i].norandommap;
		struct pattern *p = pattern_of(&job, fio[i].regions, fio[i].count, 0);
		uint64_t said = pattern_bytes(p);
		struct sums s = run_out(p);
		ck_assert_msg(s.ops == fio[i].ops && s.bytes == fio[i].kib * KI,
			      "row %zu: %lu requests of %lu bytes", i, (unsigned long)s.ops,
			      (unsigned long)s.bytes);
		ck_assert_uint_eq(said, s.bytes);
		pattern_free(p);
	}
}
END_TEST

START_TEST(regions_take_turns_and_drop_out)
{
	static const struct pattern_region regions[] = { { 0, 12 * KI },
							 { 8 * KI, 32 * KI },
							 { 0, 18 * KI } };
	static const uint32_t turns[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 1, 1, 1, 1 };
	static const int ways[] = { RW_READ, RW_RANDREAD };

	for (unsigned way = 0; way < 2; way++) {
		struct job job = job_of(ways[way], 4 * KI, 4 * KI);
		struct pattern *p = pattern_of(&job, regions, 3, 0);
		unsigned seen[3][8] = { { 0 } };
		struct pattern_op op;

		for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
			ck_assert(pattern_next(p, &op));
			ck_assert_uint_eq(op.region, turns[i]);
			uint64_t at = op.off - regions[op.region].off;
			ck_assert_uint_eq(seen[op.region][at / 4 / KI]++, 0);
		}
		ck_assert(!pattern_next(p, &op));
		pattern_free(p);
	}
}
END_TEST

START_TEST(many_regions_take_turns_too)
{
	static struct pattern_region regions[150];
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);
	uint64_t counts[150] = { 0 }, ops = 0;
	struct pattern_op op;

	for (unsigned i = 0; i < 150; i++)
		regions[i].bytes = (i % 7 + 1) * 4 * KI;
	struct pattern *p = pattern_of(&job, regions, 150, 0);
	for (; pattern_next(p, &op); ops++) {
		/* The first round has each, in order. */
		if (ops < 150)
			ck_assert_uint_eq(op.region, ops);
		counts[op.region]++;
	}
	for (unsigned i = 0; i < 150; i++)
		ck_assert_uint_eq(counts[i], i % 7 + 1);
	pattern_free(p);
}
END_TEST

START_TEST(time_based_never_ends)
{
	static char split[] = "4k/50:8k/50";
	static const int ways[] = { RW_READ,     RW_RW,   RW_RANDREAD, RW_RANDRW,
				    RW_RANDREAD, RW_READ, RW_RANDREAD };

	for (unsigned way = 0; way < 7; way++) {
		struct job job = job_of(ways[way], 4 * KI, 4 * KI);
		struct pattern_op op;

		job.time_based = true;
		job.size.bytes = 40 * KI;
		job.io_size.bytes = 32 * KI;
		job.norandommap = way == 4;
		job.bssplit = way > 4 ? split : NULL;
		struct pattern *p = one_file(&job, 64 * KI);
		unsigned last = 0, bad = 0;
		ck_assert_uint_eq(pattern_bytes(p), UINT64_MAX);
		for (unsigned i = 0; i < 100000; i++) {
			bad += !pattern_next(p, &op) || op.off + op.len_bytes > 64 * KI;
			last += op.off + op.len_bytes == 64 * KI;
		}
		ck_assert_uint_eq(bad, 0);
		/* Through all of the region, again and again. */
		ck_assert_uint_gt(last, 100000 / 16 / 2);
		pattern_free(p);
	}
}
END_TEST

static void expect_error(const struct job *job, const struct pattern_region *regions,
			 unsigned count, const char *want)
{
	struct mlgen_err err = { 0 };
	struct pattern *p = NULL;
	struct pattern_config cfg = { .job = job, .regions = regions, .count = count };

	ck_assert_int_eq(pattern_new(&p, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(p);
	ck_assert_str_eq(err.text, want);
}

START_TEST(a_region_without_room_for_a_request_is_an_error)
{
	static char split[] = "4k/50:oops";
	static const struct pattern_region small[] = { { 0, MI }, { 0, 2 * KI } };
	static const struct pattern_region two_blocks = { 0, 8 * KI };
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);

	expect_error(&job, &small[1], 1,
		     "size: 2 KiB is less than one request of 4 KiB; raise size or lower bs");
	expect_error(&job, small, 2,
		     "size: file 2 of 2 has 2 KiB for this job, less than one request of 4 KiB; "
		     "raise size or lower bs");
	/* Both directions of a mix need room. */
	job = job_of(RW_RW, 4 * KI, 16 * KI);
	expect_error(&job, &two_blocks, 1,
		     "size: 8 KiB is less than one request of 16 KiB; raise size or lower bs");
	/* A direction that is not used does not. */
	job.rw = RW_READ;
	pattern_free(pattern_of(&job, &two_blocks, 1, 0));
	job.bssplit = split;
	ck_assert_int_eq(pattern_new(&(struct pattern *){ NULL },
				     &(struct pattern_config){ &job, &two_blocks, 1, 0 }, NULL),
			 -EINVAL);
	pattern_free(NULL);
}
END_TEST

START_TEST(the_largest_request_is_that_of_the_directions_in_use)
{
	static char split[] = "4k/50:64k/50,8k";
	struct job job = job_of(RW_READ, 4 * KI, 16 * KI);

	ck_assert_uint_eq(pattern_largest_bytes(&job), 4 * KI);
	job.rw = RW_RANDWRITE;
	ck_assert_uint_eq(pattern_largest_bytes(&job), 16 * KI);
	job.rw = RW_RW;
	ck_assert_uint_eq(pattern_largest_bytes(&job), 16 * KI);
	job.bssplit = split;
	ck_assert_uint_eq(pattern_largest_bytes(&job), 64 * KI);
	job.rw = RW_WRITE;
	ck_assert_uint_eq(pattern_largest_bytes(&job), 8 * KI);
}
END_TEST

Suite *suite_pattern(void)
{
	Suite *s = suite_create("pattern");
	TCase *tc = tcase_create("pattern");

	tcase_add_test(tc, a_job_moves_what_fio_moves);
	tcase_add_test(tc, regions_take_turns_and_drop_out);
	tcase_add_test(tc, many_regions_take_turns_too);
	tcase_add_test(tc, time_based_never_ends);
	tcase_add_test(tc, a_region_without_room_for_a_request_is_an_error);
	tcase_add_test(tc, the_largest_request_is_that_of_the_directions_in_use);
	suite_add_tcase(s, tc);
	return s;
}
