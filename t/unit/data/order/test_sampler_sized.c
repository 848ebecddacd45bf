/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler_sized.c - extents that have different numbers of samples, in every order, against a
 * sum over all of them. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "data/scan/scan.h"
#include "suites.h"
#include "temp.h"

#define MOST 64u

static char directory[TEMP_BYTES];
static struct mlgen_err err;

static void set_up(void)
{
	int fd = open("/dev/null", O_WRONLY);

	temp_folder(directory);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	memset(&err, 0, sizeof(err));
}

static void tear_down(void)
{
	temp_remove(directory);
}

/* A format of which each byte is an extent of as many samples; words are how many there are before
 * each, and before the end. */
enum { EXTENTS, EXTENTS_BEFORE };

static int counts_look(struct look *l)
{
	ck_assert_int_eq(look_add_word(l, 0), 0);
	for (uint64_t i = 0; i < l->file_bytes; i++) {
		l->samples += *look_at(l, i, 1);
		ck_assert_int_eq(look_add_word(l, l->samples), 0);
	}
	l->sample_bytes = l->samples;
	l->facts[EXTENTS] = l->facts[EXTENTS_BEFORE] = l->file_bytes;
	return 0;
}

static void counts_extent(const struct file_shape *shape, uint64_t n, uint64_t *first,
			  uint64_t *samples)
{
	ck_assert_uint_lt(n, shape->facts[EXTENTS]);
	*first = shape->words[n];
	*samples = shape->words[n + 1] - shape->words[n];
}

static const struct format counts_format = { .name = "counts",
					     .look = counts_look,
					     .found_extent = counts_extent };

static void put(unsigned number, const uint8_t *counts, size_t n)
{
	char path[TEMP_BELOW];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%06u", directory, number);
	f = fopen(path, "w");
	ck_assert_uint_eq(fwrite(counts, 1, n, f), n);
	fclose(f);
}

/* As files are written: groups of one size, and a shorter one at the end. Or all of them anyhow. */
static void put_files(unsigned files, unsigned seed, bool is_usual)
{
	for (unsigned i = 0; i < files; i++) {
		unsigned n = (unsigned)(1 + rng_u64(seed, 1, i) % 9);
		uint8_t counts[MOST];

		for (unsigned k = 0; k < n; k++) {
			uint64_t at = (uint64_t)i * MOST + k;
			bool is_full = is_usual && k + 1 < n;

			counts[k] = is_full ? 20 : (uint8_t)(1 + rng_u64(seed, 2, at) % 20);
		}
		put(i, counts, n);
	}
}

static void make(struct dataset *ds)
{
	*ds = (struct dataset){ .format = &counts_format,
				.directory = mem_strdup(directory),
				.parts = 1,
				.extents_differ = true };
	ck_assert_int_eq(
		scan_new(&ds->scan, &(struct scan_request){ .directory = directory }, &err), 0);
	ck_assert_int_eq(scan_index_new(&ds->found, ds->scan, ds, SCAN_REFUSE, NULL, &err), 0);
	ds->files = ds->files_named = scan_files(ds->scan);
	ds->uneven_samples = scan_index_first_sample(ds->found, ds->files);
	ds->samples_per_file = divide_up(ds->uneven_samples, ds->files);
	scan_index_count_extents(ds->found, EXTENTS_BEFORE);
	ds->extent_samples = dataset_samples(ds) / dataset_extents(ds);
}

static void unmake(struct dataset *ds)
{
	ds->format = NULL;
	dataset_fini(ds);
}

START_TEST(extents_are_found_by_their_number)
{
	struct dataset ds;
	uint64_t id = 0, samples = 0;

	put_files(50, 4, false);
	make(&ds);
	for (uint64_t file = 0; file < ds.files; file++) {
		uint64_t n = dataset_first_extent(&ds, file + 1) - id, at = 0;

		ck_assert_uint_eq(dataset_first_extent(&ds, file), id);
		for (uint64_t k = 0; k < n; k++, id++) {
			struct extent x;

			dataset_extent(&ds, id, &x);
			ck_assert_uint_eq(x.id, id);
			ck_assert_uint_eq(x.file, file);
			ck_assert_uint_eq(x.first_sample, at);
			at += x.samples;
		}
		ck_assert_uint_eq(at, scan_index_first_sample(ds.found, file + 1) - samples);
		samples += at;
	}
	ck_assert_uint_eq(id, dataset_extents(&ds));
	ck_assert_uint_eq(samples, dataset_samples(&ds));
	ds.distinct_files = 3;
	for (id = 0; id < dataset_extents(&ds); id += 7) {
		struct extent x;

		dataset_extent(&ds, id, &x);
		ck_assert_uint_eq(x.id, id);
		ck_assert_uint_lt(x.file, 3);
	}
	unmake(&ds);
}
END_TEST

static uint64_t samples_of(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	struct extent x;

	dataset_extent(e->sampler->dataset, sampler_at(e, rank, position), &x);
	return x.samples;
}

/* Is all that is said of a position what follows from the samples before it? Not an assertion for
 * each: libcheck writes down what holds, too. */
static bool is_right(struct sampler_epoch *e, uint64_t rank, uint64_t position, uint64_t before)
{
	uint64_t batch = before / e->sampler->batch;

	return sampler_samples_before(e, rank, position) == before &&
	       sampler_batch_of(e, rank, position) == batch && sampler_has(e, rank, position) &&
	       sampler_batch_start(e, rank, batch) <= position &&
	       sampler_batch_start(e, rank, batch + 1) > position;
}

/* Each batch has the extents whose first samples are in it; how often each id was read goes into
 * `seen`. */
static uint64_t check_rank(struct sampler_epoch *e, uint64_t rank, uint64_t *seen)
{
	const struct sampler *s = e->sampler;
	uint64_t before = 0, position = 0;

	for (; before < s->rank_samples; position++) {
		if (!is_right(e, rank, position, before))
			ck_abort_msg("rank %lu at %lu", (unsigned long)rank,
				     (unsigned long)position);
		seen[sampler_at(e, rank, position)]++;
		before += samples_of(e, rank, position);
	}
	ck_assert(!sampler_has(e, rank, position));
	ck_assert_uint_eq(sampler_extents(e, rank), position);
	ck_assert_uint_eq(sampler_batch_start(e, rank, s->steps), position);
	return position;
}

/* From anywhere to anywhere it is what it is when gone through from the beginning. */
static void check_jumps(struct sampler_epoch *e, uint64_t rank, uint64_t n)
{
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t position = rng_u64(6, rank, i) % n;
		struct sampler_epoch fresh;

		sampler_epoch(&fresh, e->sampler, 0);
		fresh.perm = e->perm;
		ck_assert_uint_eq(sampler_samples_before(e, rank, position),
				  sampler_samples_before(&fresh, rank, position));
	}
}

static void check_order(const struct dataset *ds, const struct sampler_config *cfg)
{
	uint64_t all = dataset_samples(ds), *seen;
	uint64_t share = cfg->drop_last ? all / cfg->ranks : divide_up(all, cfg->ranks);
	struct sampler s;

	ck_assert_msg(sampler_init(&s, cfg, ds, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(s.steps,
			  cfg->drop_last ? share / cfg->batch : divide_up(share, cfg->batch));
	ck_assert_uint_eq(sampler_rank_samples(&s), cfg->drop_last ? s.steps * cfg->batch : share);
	ck_assert_uint_eq(s.is_whole, cfg->ranks == 1 && sampler_rank_samples(&s) == all);
	seen = mem_array(s.extents, sizeof(*seen));
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		struct sampler_epoch e;

		sampler_epoch(&e, &s, epoch);
		memset(seen, 0, s.extents * sizeof(*seen));
		for (uint64_t rank = 0; rank < cfg->ranks; rank++)
			check_jumps(&e, rank, check_rank(&e, rank, seen));
		for (uint64_t i = 0; s.is_whole && i < s.extents; i++)
			if (seen[i] != 1)
				ck_abort_msg("extent %lu was read %lu times", (unsigned long)i,
					     (unsigned long)seen[i]);
	}
	mem_free(seen);
}

static void check_orders(const struct dataset *ds, unsigned trial)
{
	static const uint64_t lanes[] = { 0, 0, 1, 3, 40 };
	static const int shuffles[] = { SHUFFLE_NONE, SHUFFLE_FILE, SHUFFLE_SAMPLE,
					SHUFFLE_BUFFER };

	for (unsigned k = 0; k < 5 * 4 * 3 * 3 * 2; k++) {
		struct sampler_config cfg = { .lanes = lanes[k % 5],
					      .shuffle.kind = shuffles[k / 5 % 4],
					      .shard = (int)(k / 20 % 3),
					      .ranks = 1 + k / 60 % 3,
					      .drop_last = k / 180,
					      .batch = 1 + trial * 7,
					      .seed = 3 };
		bool has_files = cfg.lanes || cfg.shard == SHARD_FILE;

		if (!has_files || cfg.shuffle.kind != SHUFFLE_SAMPLE)
			check_order(ds, &cfg);
	}
}

START_TEST(batches_are_those_of_the_sums)
{
	for (unsigned trial = 0; trial < 5; trial++) {
		struct dataset ds;

		put_files(3 + trial * 3, trial, trial % 2);
		make(&ds);
		check_orders(&ds, trial);
		unmake(&ds);
	}
}
END_TEST

/* By hand: groups of 20, 20, 10 and 20, 5; batches of 25. */
START_TEST(a_shorter_last_group_moves_the_batches_behind_it)
{
	const struct sampler_config cfg = { .ranks = 1, .batch = 25, .drop_last = true };
	const uint64_t starts[] = { 0, 2, 3, 5 };
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	put(0, (const uint8_t[]){ 20, 20, 10 }, 3);
	put(1, (const uint8_t[]){ 20, 5 }, 2);
	make(&ds);
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, &err), 0);
	sampler_epoch(&e, &s, 0);
	ck_assert_uint_eq(s.steps, 3);
	ck_assert(s.is_whole);
	for (uint64_t b = 0; b < ARRAY_LEN(starts); b++)
		ck_assert_uint_eq(sampler_batch_start(&e, 0, b), starts[b]);
	unmake(&ds);
}
END_TEST

/* Of two ranks one has the large groups: both deliver as many. */
START_TEST(a_rank_of_small_extents_begins_again)
{
	const struct sampler_config cfg = { .ranks = 2, .batch = 11, .drop_last = true };
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	put(0, (const uint8_t[]){ 20, 2, 20, 2, 20, 2 }, 6);
	make(&ds);
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, &err), 0);
	sampler_epoch(&e, &s, 0);
	ck_assert_uint_eq(s.steps, 3);
	ck_assert(!s.is_whole);
	ck_assert_uint_eq(sampler_extents(&e, 0), 2);
	ck_assert_uint_eq(sampler_extents(&e, 1), 17);
	ck_assert_uint_eq(sampler_at(&e, 1, 3), sampler_at(&e, 1, 0));
	unmake(&ds);
}
END_TEST

START_TEST(whole_files_in_any_order_of_samples_are_refused)
{
	struct sampler_config cfg = {
		.ranks = 1, .batch = 1, .shuffle.kind = SHUFFLE_SAMPLE, .shard = SHARD_FILE
	};
	struct dataset ds;
	struct sampler s;

	put_files(4, 1, true);
	make(&ds);
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "row groups with equal numbers of samples"), "%s", err.text);
	unmake(&ds);
}
END_TEST

Suite *suite_sampler_sized(void)
{
	Suite *s = suite_create("sampler_sized");
	TCase *t = tcase_create("all");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, extents_are_found_by_their_number);
	tcase_add_test(t, batches_are_those_of_the_sums);
	tcase_add_test(t, a_shorter_last_group_moves_the_batches_behind_it);
	tcase_add_test(t, a_rank_of_small_extents_begins_again);
	tcase_add_test(t, whole_files_in_any_order_of_samples_are_refused);
	return s;
}
