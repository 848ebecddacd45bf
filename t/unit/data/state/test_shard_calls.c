/* SPDX-License-Identifier: Apache-2.0 */
/* test_shard_calls.c - files of a checkpoint: the calls that move them. */
#include "suites.h"

#include "shard_rig.h"

#define GIB (UINT64_C(1) << 30)

/* ---- runs ---- */

START_TEST(plain_runs_begin_at_multiples_of_a_span)
{
	struct shard_piece p = { 0 };
	struct shard_rig r;
	struct shard f;
	uint64_t off, bytes;

	rig_open_list(&r, "checkpoint_layout=torch access=plain ", "a 100000\nb 5\n", RIG_SPAN);
	shard_init(&f, &r.set, 0, 0, 1);
	while (!p.is_tensor)
		ck_assert(shard_next(&f, &p));
	shard_run(&f, &p, p.off, &off, &bytes);
	ck_assert_uint_eq(off, 0);
	ck_assert_uint_eq(bytes, RIG_SPAN);
	shard_run(&f, &p, 3 * RIG_SPAN + 77, &off, &bytes);
	ck_assert_uint_eq(off, 3 * RIG_SPAN);
	/* the last one ends with the file */
	shard_run(&f, &p, f.bytes - 1, &off, &bytes);
	ck_assert_uint_eq(off % RIG_SPAN, 0);
	ck_assert_uint_eq(off + bytes, f.bytes);
	rig_close(&r);
}
END_TEST

static void expect_write(const struct shard *f, struct shard_write *w, uint64_t head, uint64_t run)
{
	ck_assert(shard_write_next(f, w));
	ck_assert_uint_eq(w->head_bytes, head);
	ck_assert_uint_eq(w->bytes - w->head_bytes, run);
}

/* A part of every call is left for its head. */
START_TEST(a_tensor_too_long_for_a_call_is_several)
{
	uint64_t most = (CONTENT_PARTS - 1) * (2u << 20), off, bytes;
	struct shard_write w = { 0 };
	struct shard_rig r = { 0 };
	struct shard f;
	uint64_t from;

	rig_open_span(&r, "checkpoint_layout=torch checkpoint_size=5g access=framework ", 2u << 20);
	ck_assert_uint_eq(shard_max_run_bytes(&r.set), most);
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_gt(f.bytes, 5 * GIB);
	ck_assert(shard_write_next(&f, &w));
	from = w.head_bytes;
	ck_assert_uint_eq(from, w.at.off);
	ck_assert_uint_eq(w.bytes, from + most);
	shard_run(&f, &w.at, from + most + 5, &off, &bytes);
	ck_assert_uint_eq(off, from + most);
	ck_assert_uint_eq(bytes, most);
	expect_write(&f, &w, 0, most);
	expect_write(&f, &w, 0, 5 * GIB - 2 * most);
	shard_run(&f, &w.at, from + 5 * GIB - 1, &off, &bytes);
	ck_assert_uint_eq(off, from + 2 * most);
	ck_assert_uint_eq(bytes, 5 * GIB - 2 * most);
	ck_assert(shard_write_next(&f, &w));
	ck_assert_uint_eq(w.head_bytes, w.bytes);
	ck_assert(!shard_write_next(&f, &w));
	rig_close(&r);
}
END_TEST

/* ---- stream, pattern ---- */

START_TEST(a_stream_is_chunks_of_32_mib_and_the_rest)
{
	struct shard_write w = { 0 };
	struct shard_read rd = { 0 };
	struct shard_rig r;
	struct shard f;

	rig_open(&r, "checkpoint_layout=stream access=framework checkpoint_size=100000000 ");
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.bytes, 100000000);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t n = i < 2 ? 32u << 20 : 100000000 - 2 * (32u << 20);

		expect_write(&f, &w, 0, n);
		ck_assert(w.is_dropped);
		ck_assert(shard_read_next(&f, &rd));
		ck_assert_uint_eq(rd.off, i * (32u << 20));
		ck_assert_uint_eq(rd.bytes, n);
	}
	ck_assert(!shard_write_next(&f, &w));
	ck_assert(!shard_read_next(&f, &rd));
	rig_close(&r);
}
END_TEST

/* clang-format off */
static const struct pattern_case {
	const char *options;
	uint64_t bytes, small, least, one_large;
	double mean; /* of what is drawn: the rest of the normal's left side is `least` */
} patterns[] = {
	{ "checkpoint_pattern=unet3d ", 499153191, 1280, 64, 0, 0 },
	{ "checkpoint_pattern=unet3d checkpoint_size=4g ", 4 * GIB, 1280, 64, 0, 3060000 },
	{ "checkpoint_pattern=unet3d scale=10% ", 49915319, 1280, 64, 0, 0 },
	{ "checkpoint_pattern=bert ", 4034713312, 4096, 4096, 8384512, 0 },
	{ "checkpoint_pattern=dlrm checkpoint_size=1t ", 1024 * GIB, 7348, 98, 0, 640000000 },
	{ "checkpoint_pattern=dlrm ", 27129166561, 7348, 98, 0, 0 },
};
/* clang-format on */

#define PATTERNS ((int)(sizeof(patterns) / sizeof(patterns[0])))

START_TEST(a_pattern_is_a_small_write_and_a_large_one_in_turn)
{
	const struct pattern_case *c = &patterns[_i];
	char options[200];
	struct shard_piece p = { 0 };
	struct shard_rig r = { 0 };
	struct shard f;
	uint64_t large = 0, at_least = 0, drawn = 0;

	snprintf(options, sizeof(options), "checkpoint_layout=pattern access=framework %s",
		 c->options);
	rig_open_span(&r, options, 2u << 20);
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.bytes, c->bytes);
	for (uint64_t i = 0; shard_next(&f, &p); i++) {
		if (p.off + p.bytes == f.bytes)
			break; /* whatever remains */
		if (i % 2 == 0) {
			ck_assert_uint_eq(p.bytes, c->small);
			continue;
		}
		ck_assert_uint_ge(p.bytes, c->least);
		if (c->one_large)
			ck_assert_uint_eq(p.bytes, c->one_large);
		at_least += p.bytes == c->least;
		drawn += p.bytes;
		large++;
	}
	ck_assert_uint_eq(p.off + p.bytes, f.bytes);
	if (c->one_large == 0)
		ck_assert_uint_gt(at_least, 0);
	if (c->mean > 0)
		ck_assert_double_eq_tol((double)drawn / (double)large, c->mean, 0.1 * c->mean);
	rig_close(&r);
}
END_TEST

START_TEST(its_calls_are_the_same_in_each_checkpoint_but_not_each_rank)
{
	struct shard_write a = { 0 }, b = { 0 }, c = { 0 };
	struct shard_rig r;
	struct shard fa, fb, fc;
	bool differs = false;

	rig_open(&r, "checkpoint_layout=pattern access=framework checkpoint_pattern=unet3d ");
	shard_init(&fa, &r.set, 0, 0, 1);
	shard_init(&fb, &r.set, 0, 0, 2);
	fc = fa;
	fc.rank = 1;
	while (shard_write_next(&fa, &a)) {
		ck_assert(shard_write_next(&fb, &b));
		ck_assert_uint_eq(a.off, b.off);
		ck_assert_uint_eq(a.bytes, b.bytes);
		differs |= shard_write_next(&fc, &c) && a.bytes != c.bytes;
	}
	ck_assert(differs);
	rig_close(&r);
}
END_TEST

Suite *suite_shard_calls(void)
{
	Suite *s = suite_create("shard_calls");
	TCase *calls = tcase_create("calls");

	tcase_add_test(calls, plain_runs_begin_at_multiples_of_a_span);
	tcase_add_test(calls, a_tensor_too_long_for_a_call_is_several);
	tcase_add_test(calls, a_stream_is_chunks_of_32_mib_and_the_rest);
	tcase_add_loop_test(calls, a_pattern_is_a_small_write_and_a_large_one_in_turn, 0, PATTERNS);
	tcase_add_test(calls, its_calls_are_the_same_in_each_checkpoint_but_not_each_rank);
	suite_add_tcase(s, calls);
	return s;
}
