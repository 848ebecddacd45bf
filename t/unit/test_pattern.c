/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - what a plain job moves is what fio moves; in which order is random where it should be. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/pattern.h"
#include "suites.h"

#define KI UINT64_C(1024)
#define MI (1024 * KI)

static struct job job_of(int rw, uint64_t read, uint64_t write)
{
	return (struct job){ .rw = rw,
			     .bs = { read, write },
			     .rwmixread = 50,
			     .loops = 1,
			     .numjobs = 1,
			     .kb_base = 1024,
			     .randseed = 1 };
}

static struct pattern *pattern_of(const struct job *job,
				  const struct pattern_region *regions,
				  unsigned count, uint64_t worker)
{
	struct mlgen_err err = { 0 };
	struct pattern *p = NULL;
	struct pattern_config cfg = {
		.job = job, .regions = regions, .count = count, .worker = worker
	};

	ck_assert_msg(pattern_new(&p, &cfg, &err) == 0, "%s", err.text);
	return p;
}

static struct pattern *one_file(const struct job *job, uint64_t bytes)
{
	struct pattern_region whole = { 0, bytes };

	return pattern_of(job, &whole, 1, 0);
}

struct sums {
	uint64_t ops, bytes, writes;
};

static struct sums run_out(struct pattern *p)
{
	struct sums s = { 0, 0, 0 };
	struct pattern_op op;

	while (pattern_next(p, &op)) {
		s.ops++;
		s.bytes += op.len_bytes;
		s.writes += op.is_write;
		if (s.ops > 1000000)
			ck_abort_msg("no end");
	}
	ck_assert(!pattern_next(p, &op));
	return s;
}

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
		struct pattern *p =
			pattern_of(&job, fio[i].regions, fio[i].count, 0);
		uint64_t said = pattern_bytes(p);
		struct sums s = run_out(p);
		ck_assert_msg(s.ops == fio[i].ops && s.bytes == fio[i].kib * KI,
			      "row %zu: %lu requests of %lu bytes", i,
			      (unsigned long)s.ops, (unsigned long)s.bytes);
		ck_assert_uint_eq(said, s.bytes);
		pattern_free(p);
	}
}
END_TEST

/* A check for each request would take minutes: counted, then checked. */
static void expect_each_block_once(const struct job *job, uint64_t off,
				   uint64_t bytes, uint64_t worker)
{
	struct pattern_region region = { off, bytes };
	struct pattern *p = pattern_of(job, &region, 1, worker);
	uint64_t bs = job->bs.read, ops = 0, good = 0;
	unsigned char *seen = mem_zalloc(bytes / bs);
	struct pattern_op op;

	for (; pattern_next(p, &op); ops++) {
		uint64_t block = (op.off - off) / bs;

		good += op.len_bytes == bs && op.region == 0 && op.off >= off &&
			block < bytes / bs && (op.off - off) % bs == 0 &&
			!seen[block]++;
	}
	ck_assert_uint_eq(ops, bytes / bs);
	ck_assert_uint_eq(good, ops);
	mem_free(seen);
	pattern_free(p);
}

START_TEST(a_random_map_has_every_block_once)
{
	static const uint64_t more[] = {
		4095, 4096, 4097, 28000, 65536, 100003
	};
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
			ck_assert_double_eq_tol(100 - 100 * (double)s.writes /
								4096,
						reads[i], 0.1);
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
static struct sums count_sizes(struct pattern *p, uint64_t counts[4],
			       uint64_t bytes, uint64_t unit)
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
	static const int ways[] = { RW_READ, RW_RANDREAD, RW_RANDRW,
				    RW_RANDREAD };

	for (unsigned way = 0; way < 4; way++) {
		struct job job = job_of(ways[way], 4 * KI, 4 * KI);
		uint64_t counts[4];

		job.bssplit = split;
		job.norandommap = way == 3;
		struct pattern *p = one_file(&job, 128 * MI + 13 * KI);
		struct sums s =
			count_sizes(p, counts, 128 * MI + 13 * KI, 8 * KI);
		for (unsigned k = 0; k < 4; k++)
			ck_assert_double_eq_tol(100 * (double)counts[k] /
							(double)s.ops,
						want[k], 2.5);
		/* fio's total: all but what is less than 8 KiB; without a
		 * map, until it is reached. */
		if (way < 3)
			ck_assert_uint_eq(s.bytes, 128 * MI + 8 * KI);
		else
			ck_assert(s.bytes >= 128 * MI + 13 * KI &&
				  s.bytes < 128 * MI + 77 * KI);
		pattern_free(p);
	}
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

START_TEST(regions_take_turns_and_drop_out)
{
	static const struct pattern_region regions[] = { { 0, 12 * KI },
							 { 8 * KI, 32 * KI },
							 { 0, 18 * KI } };
	static const uint32_t turns[] = { 0, 1, 2, 0, 1, 2, 0, 1,
					  2, 1, 2, 1, 1, 1, 1 };
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
	static const int ways[] = { RW_READ,    RW_RW,       RW_RANDREAD,
				    RW_RANDRW,  RW_RANDREAD, RW_READ,
				    RW_RANDREAD };

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
			bad += !pattern_next(p, &op) ||
			       op.off + op.len_bytes > 64 * KI;
			last += op.off + op.len_bytes == 64 * KI;
		}
		ck_assert_uint_eq(bad, 0);
		/* Through all of the region, again and again. */
		ck_assert_uint_gt(last, 100000 / 16 / 2);
		pattern_free(p);
	}
}
END_TEST

static void first_offsets(const struct job *job, uint64_t worker,
			  uint64_t out[1000])
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

static void expect_error(const struct job *job,
			 const struct pattern_region *regions, unsigned count,
			 const char *want)
{
	struct mlgen_err err = { 0 };
	struct pattern *p = NULL;
	struct pattern_config cfg = { .job = job,
				      .regions = regions,
				      .count = count };

	ck_assert_int_eq(pattern_new(&p, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(p);
	ck_assert_str_eq(err.text, want);
}

START_TEST(a_region_without_room_for_a_request_is_an_error)
{
	static char split[] = "4k/50:oops";
	static const struct pattern_region small[] = { { 0, MI },
						       { 0, 2 * KI } };
	static const struct pattern_region two_blocks = { 0, 8 * KI };
	struct job job = job_of(RW_RANDREAD, 4 * KI, 4 * KI);

	expect_error(&job, &small[1], 1,
		     "size: 2 KiB is less than one request of 4 KiB; raise "
		     "size or lower bs");
	expect_error(&job, small, 2,
		     "size: file 2 of 2 has 2 KiB for this job, less than one "
		     "request of 4 KiB; raise size or lower bs");
	/* Both directions of a mix need room. */
	job = job_of(RW_RW, 4 * KI, 16 * KI);
	expect_error(&job, &two_blocks, 1,
		     "size: 8 KiB is less than one request of 16 KiB; raise "
		     "size or lower bs");
	/* A direction that is not used does not. */
	job.rw = RW_READ;
	pattern_free(pattern_of(&job, &two_blocks, 1, 0));
	job.bssplit = split;
	ck_assert_int_eq(
		pattern_new(&(struct pattern *){ NULL },
			    &(struct pattern_config){ &job, &two_blocks, 1, 0 },
			    NULL),
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
	tcase_add_test(tc, a_random_map_has_every_block_once);
	tcase_add_test(tc, a_map_starts_again_in_another_order);
	tcase_add_test(tc, a_sequence_goes_forward_and_wraps);
	tcase_add_test(tc,
		       directions_of_a_sequential_mix_have_their_own_positions);
	tcase_add_test(tc, a_mix_has_the_share_asked_for);
	tcase_add_test(tc, directions_of_a_mix_have_no_beat);
	tcase_add_test(tc, bssplit_has_the_shares_asked_for);
	tcase_add_test(tc, without_a_map_any_block_may_come);
	tcase_add_test(tc, regions_take_turns_and_drop_out);
	tcase_add_test(tc, many_regions_take_turns_too);
	tcase_add_test(tc, time_based_never_ends);
	tcase_add_test(tc, an_order_is_that_of_seed_and_worker);
	tcase_add_test(tc, workers_of_a_sequence_go_the_same_way);
	tcase_add_test(tc, a_region_without_room_for_a_request_is_an_error);
	tcase_add_test(tc,
		       the_largest_request_is_that_of_the_directions_in_use);
	suite_add_tcase(s, tc);
	return s;
}
