/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler_files.c - extents of several samples, and shards of whole files. */
#include <errno.h>

#include "base/mem.h"
#include "data/order/order.h"
#include "sampler_files_rig.h"
#include "suites.h"

/* How often each extent is read in an epoch. */
static void check_epoch(const struct sampler *s, uint64_t epoch, const struct setting *c)
{
	uint64_t read = s->ranks * s->rank_extents, missing = 0, more = 0;
	unsigned *seen = mem_array(s->extents, sizeof(*seen));
	struct sampler_epoch e;

	sampler_epoch(&e, s, epoch);
	for (uint64_t i = 0; i < read; i++) {
		uint64_t id = sampler_at(&e, i / s->rank_extents, i % s->rank_extents);

		/* Not for each: libcheck writes down what holds, too. */
		if (id >= s->extents)
			ck_abort_msg("%s", name_of(c));
		more += seen[id]++ > 0;
	}
	for (uint64_t i = 0; i < s->extents; i++)
		missing += seen[i] == 0;
	ck_assert_msg(missing == (s->drop_last ? s->extents - read : 0), "%s", name_of(c));
	ck_assert_msg(more == (s->drop_last ? 0 : read - s->extents), "%s", name_of(c));
	ck_assert_msg(!s->is_whole || (missing == 0 && more == 0), "%s", name_of(c));
	/* The last extent may be one that is not used up. */
	ck_assert_msg(s->is_whole || missing || more ||
			      s->steps * s->batch * s->ranks < s->extents * s->extent_samples,
		      "%s", name_of(c));
	mem_free(seen);
}

/* Batches lie one behind the other and hold what they say. */
static void check_batches(const struct sampler *s, const struct setting *c)
{
	uint64_t samples = 0;
	struct sampler_epoch e;

	sampler_epoch(&e, s, 0);
	ck_assert_msg(s->steps > 0 && sampler_batch_start(&e, 0, 0) == 0 &&
			      sampler_extents(&e, 0) == s->rank_extents,
		      "%s", name_of(c));
	for (uint64_t b = 0; b < s->steps; b++) {
		uint64_t end = sampler_batch_start(&e, 0, b + 1);

		uint64_t i = sampler_batch_start(&e, 0, b);
		while (i < end && sampler_batch_of(&e, 0, i) == b)
			i++;
		ck_assert_msg(i == end, "%s", name_of(c));
		samples += sampler_batch_samples(s, b);
		ck_assert_msg(end * s->extent_samples >= samples, "%s", name_of(c));
		ck_assert_msg(b + 1 == s->steps || sampler_batch_samples(s, b) == s->batch, "%s",
			      name_of(c));
	}
	ck_assert_msg(samples == sampler_rank_samples(s), "%s", name_of(c));
	ck_assert_msg(samples <= s->rank_extents * s->extent_samples &&
			      samples + s->extent_samples > s->rank_extents * s->extent_samples,
		      "%s", name_of(c));
}

/* True: it was one that can be. */
static bool check_setting(const struct setting *c)
{
	struct dataset ds;
	struct sampler s;
	bool can = make(&s, &ds, c, NULL) == 0;

	if (can) {
		check_batches(&s, c);
		check_epoch(&s, 0, c);
		check_epoch(&s, 3, c);
	}
	dataset_fini(&ds);
	return can;
}

static unsigned check_orders(struct setting *c)
{
	static const int shuffles[] = { SHUFFLE_NONE, SHUFFLE_FILE, SHUFFLE_SAMPLE,
					SHUFFLE_BUFFER };
	static const uint64_t lanes[] = { 0, 1, 2, 3, 8 };
	unsigned done = 0;

	for (unsigned k = 0; k < 4 * 5 * 3 * 2; k++) {
		c->shuffle = shuffles[k % 4];
		c->lanes = lanes[k / 4 % 5];
		c->shard = (int)(k / 20 % 3);
		c->drop_last = k / 60;
		done += check_setting(c);
	}
	return done;
}

START_TEST(every_extent_is_read_once_whatever_the_order)
{
	static const uint64_t files[] = { 1, 2, 5, 8, 13 };
	static const uint64_t shapes[][2] = { { 1, 1 }, { 4, 1 }, { 4, 4 }, { 12, 3 }, { 12, 6 } };
	static const uint64_t batches[] = { 1, 3, 4, 16 };
	unsigned done = 0;

	for (unsigned k = 0; k < 5 * 5 * 4 * 4; k++) {
		struct setting c = { .files = files[k % 5],
				     .per_file = shapes[k / 5 % 5][0],
				     .extent_samples = shapes[k / 5 % 5][1],
				     .batch = batches[k / 25 % 4],
				     .ranks = 1 + k / 100 };

		done += check_orders(&c);
	}
	ck_assert_uint_gt(done, 15000);
}
END_TEST

/* 6144 rows are read together: dlrm's row groups, batches of 16384. */
START_TEST(a_batch_begins_with_the_first_extent_that_begins_in_it)
{
	/* clang-format off */
	static const struct {
		uint64_t extent, batch, steps, starts[6];
	} cases[] = {
		{ 6144, 16384, 3, { 0, 3, 6, 8 } },
		{ 6144, 6144, 10, { 0, 1, 2, 3, 4, 5 } },
		{ 6144, 2048, 30, { 0, 1, 1, 1, 2, 2 } },
		{ 6144, 4000, 15, { 0, 1, 2, 2, 3, 4 } },
		{ 61440, 16384, 3, { 0, 1, 1, 1 } },
	};

	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct setting c = { .files = 1,
				     .per_file = 61440,
				     .extent_samples = cases[i].extent,
				     .ranks = 1,
				     .batch = cases[i].batch,
				     .drop_last = true };
		struct sampler_epoch e;
		struct dataset ds;
		struct sampler s;

		ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
		ck_assert_uint_eq(s.steps, cases[i].steps);
		sampler_epoch(&e, &s, 0);
		for (uint64_t b = 0; b < 6 && b <= s.steps; b++)
			ck_assert_uint_eq(sampler_batch_start(&e, 0, b), cases[i].starts[b]);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(what_no_batch_needs_is_not_read)
{
	struct setting c = { .files = 4,
			     .per_file = 6,
			     .extent_samples = 2,
			     .ranks = 1,
			     .batch = 5,
			     .drop_last = true };
	struct dataset ds;
	struct sampler s;

	/* 24 samples: 4 batches are 20, or 10 of 12 extents. */
	ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
	ck_assert_uint_eq(s.rank_extents, 10);
	ck_assert(!s.is_whole);
	dataset_fini(&ds);
	c.drop_last = false;
	ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
	ck_assert_uint_eq(s.rank_extents, 12);
	ck_assert_uint_eq(sampler_batch_samples(&s, 4), 4);
	ck_assert(s.is_whole);
	dataset_fini(&ds);
}
END_TEST

/* Whole files: strided, or where lanes ask for them, contiguous too. */
START_TEST(shards_of_files)
{
	/* clang-format off */
	static const struct {
		struct setting c;
		uint64_t rank_extents;
		uint64_t files[3][3]; /* of the ranks, in order */
	} cases[] = {
		{ { 7, 2, 1, 3, 1, 0, SHARD_FILE, SHUFFLE_NONE, true, false }, 4,
		  { { 0, 3 }, { 1, 4 }, { 2, 5 } } },
		{ { 7, 2, 1, 3, 1, 0, SHARD_FILE, SHUFFLE_NONE, false, false }, 6,
		  { { 0, 3, 6 }, { 1, 4, 0 }, { 2, 5, 1 } } },
		{ { 7, 2, 1, 3, 1, 1, SHARD_STRIDED, SHUFFLE_NONE, true, false }, 4,
		  { { 0, 3 }, { 1, 4 }, { 2, 5 } } },
		{ { 7, 2, 1, 3, 1, 1, SHARD_CONTIGUOUS, SHUFFLE_NONE, true, false }, 4,
		  { { 0, 1 }, { 2, 3 }, { 4, 5 } } },
		{ { 7, 2, 1, 3, 1, 1, SHARD_CONTIGUOUS, SHUFFLE_NONE, false, false }, 6,
		  { { 0, 1, 2 }, { 3, 4, 5 }, { 6, 0, 1 } } },
	};

	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_epoch e;
		struct dataset ds;
		struct sampler s;

		ck_assert_int_eq(make(&s, &ds, &cases[i].c, NULL), 0);
		ck_assert_uint_eq(s.rank_extents, cases[i].rank_extents);
		sampler_epoch(&e, &s, 0);
		for (uint64_t r = 0; r < 3; r++)
			for (uint64_t k = 0; k < s.rank_extents; k++)
				ck_assert_msg(sampler_at(&e, r, k) ==
						      cases[i].files[r][k / 2] * 2 + k % 2,
					      "case %zu rank %lu at %lu", i, (unsigned long)r,
					      (unsigned long)k);
		dataset_fini(&ds);
	}
}
END_TEST

/* shuffle=file moves files among the ranks from epoch to epoch, and each is read from its front to
 * its back. */
START_TEST(shuffled_files_are_read_front_to_back)
{
	struct setting c = { .files = 30,
			     .per_file = 5,
			     .extent_samples = 1,
			     .ranks = 3,
			     .batch = 1,
			     .shard = SHARD_FILE,
			     .shuffle = SHUFFLE_FILE };
	struct sampler_epoch a, b;
	unsigned moved = 0;
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
	sampler_epoch(&a, &s, 0);
	sampler_epoch(&b, &s, 1);
	for (uint64_t k = 0; k < s.rank_extents; k++) {
		uint64_t id = sampler_at(&a, 1, k);

		ck_assert_uint_eq(id % 5, k % 5);
		if (k % 5)
			ck_assert_uint_eq(id, sampler_at(&a, 1, k - 1) + 1);
		moved += id != sampler_at(&b, 1, k);
	}
	ck_assert_uint_gt(moved, 25);
	dataset_fini(&ds);
}
END_TEST

/* clang-format off */
static const struct {
	struct setting c;
	const char *text;
} refused[] = {
	{ { 4, 8, 1, 5, 1, 0, SHARD_FILE, SHUFFLE_NONE, true, false },
	  "accelerators: 5 are more than the 4 files of the dataset, but each accelerator needs whole files; use more num_files, or shard=strided" },
	{ { 4, 8, 1, 5, 1, 2, SHARD_STRIDED, SHUFFLE_NONE, false, false },
	  "accelerators: 5 are more than the 4 files of the dataset, but each accelerator needs whole files; use more num_files, or shard=strided with loader=pytorch" },
	{ { 4, 8, 1, 5, 1, 2, SHARD_STRIDED, SHUFFLE_NONE, true, true },
	  "accelerators: 5 are more than the 4 files of the evaluation, but each accelerator needs whole files; use more eval_files, or shard=strided with loader=pytorch" },
	{ { 4, 8, 1, 3, 9, 0, SHARD_FILE, SHUFFLE_NONE, true, false },
	  "batch_size: 9 is more than the 8 samples of one accelerator's shard (4 files, 3 accelerators); use more num_files, a smaller batch_size or fewer accelerators" },
	{ { 1, 8, 8, 1, 9, 0, SHARD_STRIDED, SHUFFLE_NONE, true, true },
	  "eval_batch_size: 9 is more than the 8 samples of one accelerator's shard (1 file, 1 accelerator); use more eval_files, a smaller eval_batch_size or fewer accelerators" },
	{ { 1, 8, 8, 2, 1, 0, SHARD_STRIDED, SHUFFLE_NONE, true, false },
	  "batch_size: 1 is more than the 0 samples of one accelerator's shard (1 file, 2 accelerators); use more num_files, a smaller batch_size or fewer accelerators" },
};
/* clang-format on */

START_TEST(a_rank_without_a_file_or_batch_is_an_error)
{
	struct mlgen_err err = { 0 };
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(make(&s, &ds, &refused[_i].c, &err), -EINVAL);
	ck_assert_str_eq(err.text, refused[_i].text);
	dataset_fini(&ds);
}
END_TEST

START_TEST(as_many_ranks_as_files_are_fine)
{
	struct setting c = { .files = 5,
			     .per_file = 2,
			     .extent_samples = 2,
			     .ranks = 5,
			     .batch = 2,
			     .lanes = 4,
			     .drop_last = true };
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
	ck_assert(s.is_whole);
	ck_assert_uint_eq(s.steps, 1);
	dataset_fini(&ds);
}
END_TEST

START_TEST(ten_billion_files_are_no_larger_than_ten)
{
	struct setting c = { .files = 10000000000,
			     .per_file = 1000,
			     .extent_samples = 10,
			     .ranks = 1000,
			     .batch = 1024,
			     .lanes = 32,
			     .shuffle = SHUFFLE_FILE,
			     .drop_last = true };
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(make(&s, &ds, &c, NULL), 0);
	sampler_epoch(&e, &s, 3);
	ck_assert_uint_lt(sampler_at(&e, 999, s.rank_extents - 1), 1000000000000);
	ck_assert_uint_eq(sampler_lane_position(&e, 999, s.rank_files - 1, 99),
			  s.rank_files * 100 - 1);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_sampler_files(void)
{
	Suite *s = suite_create("sampler_files");
	TCase *t = tcase_create("sampler_files");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, every_extent_is_read_once_whatever_the_order);
	tcase_add_test(t, a_batch_begins_with_the_first_extent_that_begins_in_it);
	tcase_add_test(t, what_no_batch_needs_is_not_read);
	tcase_add_test(t, shards_of_files);
	tcase_add_test(t, shuffled_files_are_read_front_to_back);
	tcase_add_loop_test(t, a_rank_without_a_file_or_batch_is_an_error, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(t, as_many_ranks_as_files_are_fine);
	tcase_add_test(t, ten_billion_files_are_no_larger_than_ten);
	suite_add_tcase(s, t);
	return s;
}
