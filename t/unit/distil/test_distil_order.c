/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_order.c - orders of known kind are told from one another. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "tracing/distil/data/data_internal.h"
#include "suites.h"

/* ---- epochs, by arithmetic ---- */

enum { FILES = 600, RANKS = 4, WORKERS = 3, EPOCHS = 3 };

struct shape {
	uint32_t ranks, samples; /* of a file */
	/* Which file stands at a position of an epoch's order of all? */
	uint32_t (*file)(uint32_t at, uint32_t epoch);
	/* Whose is what stands there? NULL: every RANKS-th. */
	uint32_t (*rank)(uint32_t at, uint32_t file, uint32_t epoch);
	bool mixes_samples;
};

/* A permutation: by sorting what was drawn for each. */
struct drawn {
	double value;
	uint32_t file;
};

static int by_value(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static uint32_t permuted(uint32_t at, uint64_t stream)
{
	static struct {
		bool is_drawn;
		uint64_t stream;
		struct drawn of[FILES];
	} kept[16];
	struct drawn *of = kept[stream % 16].of;

	if (!kept[stream % 16].is_drawn || kept[stream % 16].stream != stream) {
		for (uint32_t i = 0; i < FILES; i++)
			of[i] = (struct drawn){ rng_f64(5, stream, i), i };
		qsort(of, FILES, sizeof(*of), by_value);
		kept[stream % 16].is_drawn = true;
		kept[stream % 16].stream = stream;
	}
	return of[at].file;
}

static uint32_t by_name(uint32_t at, uint32_t epoch)
{
	(void)epoch;
	return at;
}

static uint32_t anew(uint32_t at, uint32_t epoch)
{
	return permuted(at, epoch);
}

static uint32_t once(uint32_t at, uint32_t epoch)
{
	(void)epoch;
	return permuted(at, 77);
}

static uint32_t near_by(uint32_t at, uint32_t epoch)
{
	uint32_t block = at / 10 * 10;

	return block + (at - block + epoch * 3 + 7) % 10;
}

static uint32_t with_replacement(uint32_t at, uint32_t epoch)
{
	return (uint32_t)(rng_f64(5, 900 + epoch, at) * FILES);
}

/* A tenth of the files is half of what is read. */
static uint32_t by_weight(uint32_t at, uint32_t epoch)
{
	double draw = rng_f64(5, 800 + epoch, at);

	return (uint32_t)(draw < 0.5 ? draw * FILES / 5 : (draw - 0.5) * 2 * FILES);
}

static uint32_t contiguous(uint32_t at, uint32_t file, uint32_t epoch)
{
	(void)at;
	(void)epoch;
	return file / (FILES / RANKS);
}

static uint32_t of_file(uint32_t at, uint32_t file, uint32_t epoch)
{
	(void)at;
	(void)epoch;
	return file % RANKS;
}

static void play(struct ordering *o, const struct shape *s, uint32_t epoch)
{
	uint32_t reads = FILES * s->samples;

	for (uint32_t i = 0; i < reads; i++) {
		/* In the order of all samples, or of files. */
		uint32_t place = s->mixes_samples ? i % FILES : i / s->samples;
		uint32_t sample = s->mixes_samples ? permuted(place, i / FILES) : i % s->samples;
		uint32_t file = s->file(place, epoch);
		uint32_t rank = s->ranks < 2 ? 0
				: s->rank    ? s->rank(place, file, epoch)
					     : i % s->ranks;
		/* Batches of five go from worker to worker. */
		uint32_t worker = rank * WORKERS + i / (s->ranks * 5) % WORKERS;

		ordering_add(o, &(struct ordering_read){ file, epoch, rank, worker, sample });
	}
}

static struct ordered order_of(const struct shape *s)
{
	struct ordering *o = ordering_new(FILES, RANKS, RANKS * WORKERS);
	struct ordered is;

	for (uint32_t e = 0; e < EPOCHS; e++)
		play(o, s, e);
	ordering_end(o, &is);
	ordering_free(o);
	return is;
}

#define BY_CHANCE (3 / sqrt(FILES))

/* ---- tests ---- */

START_TEST(the_order_of_names_is_that)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, by_name, NULL, 0 });

	ck_assert_uint_eq(is.epochs, EPOCHS);
	ck_assert_uint_eq(is.files, FILES);
	ck_assert_uint_eq(is.reads, FILES * EPOCHS);
	ck_assert_double_eq(is.per_file, 1);
	ck_assert_double_eq_tol(is.by_name, 1, 1e-9);
	ck_assert_double_eq_tol(is.by_epoch, 1, 1e-9);
	ck_assert_double_eq(is.ascending, 1);
	ck_assert_uint_eq(is.displaced, 0);
}
END_TEST

START_TEST(a_new_order_in_each_epoch_is_that_of_nothing)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, anew, NULL, 0 });

	ck_assert_double_lt(fabs(is.by_name), BY_CHANCE);
	ck_assert_double_lt(fabs(is.by_epoch), BY_CHANCE);
	ck_assert_double_eq_tol(is.ascending, 0.5, 0.1);
	ck_assert_double_eq(is.twice, 0);
	ck_assert_double_eq(is.unread, 0);
	ck_assert_double_eq_tol(is.count_variance, 0, 1e-9);
}
END_TEST

START_TEST(an_order_that_was_shuffled_once_is_that_of_the_epoch_before)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, once, NULL, 0 });

	ck_assert_double_lt(fabs(is.by_name), BY_CHANCE);
	ck_assert_double_eq_tol(is.by_epoch, 1, 1e-9);
}
END_TEST

START_TEST(files_that_are_near_their_place_have_a_bound)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, near_by, NULL, 0 });

	ck_assert_double_gt(is.by_name, 0.99);
	ck_assert_uint_ge(is.displaced, 7);
	ck_assert_uint_le(is.displaced, 12);
}
END_TEST

START_TEST(samples_in_order_of_files_that_are_not)
{
	struct ordered is = order_of(&(struct shape){ 1, 10, anew, NULL, 0 });

	ck_assert_double_eq(is.per_file, 10);
	/* A worker has five samples of a file, and then the same of another. */
	ck_assert_double_gt(is.runs, 0.7);
	ck_assert_double_eq(is.inner, 1);
	ck_assert_double_lt(fabs(is.by_name), BY_CHANCE);
}
END_TEST

START_TEST(samples_that_are_mixed_are_in_no_order_of_files)
{
	struct ordered is = order_of(&(struct shape){ 1, 10, anew, NULL, 1 });

	ck_assert_double_eq(is.per_file, 10);
	ck_assert_double_lt(is.runs, 0.1);
}
END_TEST

START_TEST(ranks_that_keep_every_so_many_of_the_names)
{
	struct ordered is = order_of(&(struct shape){ RANKS, 1, by_name, NULL, 0 });

	ck_assert_double_eq(is.same_rank, 1);
	ck_assert_double_eq(is.strided, 1);
	ck_assert_double_lt(is.contiguous, 0.1);
	ck_assert_double_eq(is.several, 0);
	ck_assert_double_eq_tol(is.by_name, 1, 1e-9);
}
END_TEST

START_TEST(ranks_that_keep_names_that_stand_together)
{
	struct ordered is = order_of(&(struct shape){ RANKS, 1, by_name, contiguous, 0 });

	ck_assert_double_eq(is.same_rank, 1);
	ck_assert_double_eq(is.contiguous, 1);
	ck_assert_double_lt(is.strided, 0.5);
}
END_TEST

START_TEST(ranks_that_keep_their_files_in_another_order)
{
	struct ordered is = order_of(&(struct shape){ RANKS, 1, anew, of_file, 0 });

	ck_assert_double_eq(is.same_rank, 1);
	ck_assert_double_eq(is.strided, 1);
	ck_assert_double_lt(fabs(is.by_name), BY_CHANCE);
}
END_TEST

START_TEST(ranks_that_get_files_anew)
{
	struct ordered is = order_of(&(struct shape){ RANKS, 1, anew, NULL, 0 });

	ck_assert_double_eq_tol(is.same_rank, 1.0 / RANKS, 0.08);
}
END_TEST

START_TEST(files_of_which_several_ranks_read_samples)
{
	struct ordered is = order_of(&(struct shape){ RANKS, 10, anew, NULL, 0 });

	ck_assert_double_eq(is.several, 1);
}
END_TEST

/* As many as chance would have: a Poisson distribution of mean 1. */
START_TEST(what_is_drawn_with_replacement_is_read_twice)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, with_replacement, NULL, 0 });

	ck_assert_double_eq_tol(is.unread, exp(-1), 0.04);
	ck_assert_double_eq_tol(is.twice, 1 - 2 * exp(-1), 0.04);
	ck_assert_double_eq_tol(is.count_variance, 1, 0.15);
	ck_assert_double_lt(fabs(is.count_by_epoch), 0.1);
	ck_assert_uint_ge(is.most, 4);
}
END_TEST

START_TEST(what_is_drawn_by_weight_is_the_same_in_each_epoch)
{
	struct ordered is = order_of(&(struct shape){ 1, 1, by_weight, NULL, 0 });

	ck_assert_double_gt(is.count_by_epoch, 0.5);
	ck_assert_double_gt(is.count_variance, 2);
}
END_TEST

START_TEST(nothing_shows_nothing)
{
	struct ordering *o = ordering_new(0, 0, 0);
	struct ordered is;

	ordering_add(o, &(struct ordering_read){ 0, 0, 0, 0, 0 });
	ordering_end(o, &is);
	ordering_free(o);
	ck_assert_uint_eq(is.reads, 0);
	ck_assert(isnan(is.by_name) && isnan(is.by_epoch) && isnan(is.runs) &&
		  isnan(is.same_rank) && isnan(is.strided));
}
END_TEST

Suite *suite_distil_order(void)
{
	Suite *s = suite_create("distil_order");
	TCase *c = tcase_create("ordering");

	tcase_add_test(c, the_order_of_names_is_that);
	tcase_add_test(c, a_new_order_in_each_epoch_is_that_of_nothing);
	tcase_add_test(c, an_order_that_was_shuffled_once_is_that_of_the_epoch_before);
	tcase_add_test(c, files_that_are_near_their_place_have_a_bound);
	tcase_add_test(c, samples_in_order_of_files_that_are_not);
	tcase_add_test(c, samples_that_are_mixed_are_in_no_order_of_files);
	tcase_add_test(c, ranks_that_keep_every_so_many_of_the_names);
	tcase_add_test(c, ranks_that_keep_names_that_stand_together);
	tcase_add_test(c, ranks_that_keep_their_files_in_another_order);
	tcase_add_test(c, ranks_that_get_files_anew);
	tcase_add_test(c, files_of_which_several_ranks_read_samples);
	tcase_add_test(c, what_is_drawn_with_replacement_is_read_twice);
	tcase_add_test(c, what_is_drawn_by_weight_is_the_same_in_each_epoch);
	tcase_add_test(c, nothing_shows_nothing);
	suite_add_tcase(s, c);
	return s;
}
