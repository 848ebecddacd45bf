/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_index.c - files that hold different numbers of samples: counted once, found again, read
 * in every order. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "data/scan/scan.h"
#include "suites.h"
#include "temp.h"

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

/* A format of which each byte is a sample, and says which: its place times its value. What begins
 * with '!' is damaged. */
static int byte_look(struct look *l)
{
	for (uint64_t i = 0; i < l->file_bytes; i++) {
		const uint8_t *at = look_at(l, i, 1);

		if (!at)
			return l->err->code;
		if (*at == '!')
			return look_fail(l, i, "damaged");
		if (*at == '-')
			return 0;
		ck_assert_int_eq(look_add_word(l, i * *at), 0);
		l->samples++;
		l->sample_bytes++;
	}
	l->facts[1] = l->file_bytes;
	return 0;
}

static void byte_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		       uint64_t *len)
{
	(void)shape;
	*off = first;
	*len = n;
}

static const struct format byte_format = { .name = "byte",
					   .look = byte_look,
					   .scanned_range = byte_range };

static void put(unsigned number, char what, size_t bytes)
{
	char path[TEMP_BELOW], *text = mem_zalloc(bytes + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%06u", directory, number);
	f = fopen(path, "w");
	memset(text, what, bytes);
	ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
	fclose(f);
	mem_free(text);
}

static int make(struct dataset *ds, enum job_scan_errors errors)
{
	int r;

	*ds = (struct dataset){ .format = &byte_format,
				.directory = mem_strdup(directory),
				.parts = 1,
				.extent_samples = 1 };
	r = scan_new(&ds->scan, &(struct scan_request){ .directory = directory, .errors = errors },
		     &err);
	if (r == 0)
		r = scan_index_new(&ds->found, ds->scan, ds, errors, NULL, &err);
	if (r == 0)
		ds->files = ds->files_named = scan_files(ds->scan);
	if (r == 0)
		ds->uneven_samples = scan_index_first_sample(ds->found, ds->files);
	return r;
}

static void unmake(struct dataset *ds)
{
	ds->format = NULL;
	dataset_fini(ds);
}

START_TEST(each_file_is_counted)
{
	struct file_shape shape = { 0 };
	struct dataset ds;
	uint64_t before = 0;

	for (unsigned i = 0; i < 700; i++)
		put(i, (char)('A' + i % 20), 1 + i * 7 % 100);
	ck_assert_int_eq(make(&ds, SCAN_REFUSE), 0);
	ck_assert_uint_eq(ds.files, 700);
	for (unsigned i = 0; i < 700; i++) {
		uint64_t n = 1 + i * 7 % 100;

		ck_assert_uint_eq(scan_index_first_sample(ds.found, i), before);
		ck_assert_uint_eq(scan_index_file_of(ds.found, before), i);
		ck_assert_uint_eq(scan_index_file_of(ds.found, before + n - 1), i);
		scan_index_shape(ds.found, i, &shape);
		ck_assert_uint_eq(shape.samples, n);
		ck_assert_uint_eq(shape.facts[1], n);
		for (uint64_t k = 0; k < n; k++)
			ck_assert_uint_eq(shape.words[k], k * (uint64_t)('A' + i % 20));
		before += n;
	}
	ck_assert_uint_eq(dataset_samples(&ds), before);
	ck_assert_uint_eq(scan_index_sample_bytes(ds.found, 700), before);
	ck_assert_uint_eq(scan_index_equal_samples(ds.found), 0);
	ck_assert_uint_eq(scan_index_max_samples(ds.found), 100);
	unmake(&ds);
}
END_TEST

START_TEST(what_is_damaged_is_named_or_left_out)
{
	struct dataset ds;

	for (unsigned i = 0; i < 200; i++)
		put(i, i == 150 || i == 170 ? '!' : i == 3 ? '-' : 'a', 5);
	ck_assert_int_eq(make(&ds, SCAN_REFUSE), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "/000150: at byte 0: damaged"));
	unmake(&ds);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(make(&ds, SCAN_SKIP_DAMAGED), 0);
	ck_assert_uint_eq(ds.files, 197);
	unmake(&ds);
	ck_assert_int_eq(make(&ds, SCAN_SKIP), 0);
	ck_assert_uint_eq(ds.files, 197);
	ck_assert_uint_eq(dataset_samples(&ds), 197 * 5);
	ck_assert_uint_eq(scan_bytes(ds.scan), 197 * 5);
	ck_assert_uint_eq(scan_index_equal_samples(ds.found), 5);
	unmake(&ds);
}
END_TEST

START_TEST(where_all_are_damaged_the_first_is_why)
{
	struct dataset ds;

	for (unsigned i = 0; i < 200; i++)
		put(i, i == 2 ? '-' : '!', 5);
	ck_assert_int_eq(make(&ds, SCAN_SKIP_DAMAGED), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "/000000: at byte 0: damaged"));
	unmake(&ds);
}
END_TEST

START_TEST(no_sample_at_all_is_refused)
{
	struct dataset ds;

	put(0, '-', 3);
	ck_assert_int_eq(make(&ds, SCAN_REFUSE), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "no byte file here"));
	unmake(&ds);
}
END_TEST

static struct dataset uneven(unsigned files, unsigned seed)
{
	struct dataset ds;

	for (unsigned i = 0; i < files; i++)
		put(i, 'a', 1 + rng_u64(seed, 1, i) % 9);
	ck_assert_int_eq(make(&ds, SCAN_REFUSE), 0);
	return ds;
}

/* What the order of the files says, by going through it once. */
struct model {
	uint64_t *ids, *files, *extents; /* of a rank's positions */
	uint64_t count;
};

static uint64_t model_file(const struct sampler *s, const struct perm *perm, uint64_t rank,
			   uint64_t n)
{
	uint64_t files = s->dataset->files;

	if (s->shard == SHARD_FILE || s->lanes)
		n = (n * s->ranks + rank) % files;
	return s->shuffle == SHUFFLE_FILE ? perm_at(perm, n) : n;
}

static void model_add(struct model *m, uint64_t id, uint64_t file, uint64_t extent)
{
	m->ids[m->count] = id;
	m->files[m->count] = file;
	m->extents[m->count++] = extent;
}

/* A round of lanes after the other, a record of each that has one in turn. */
static void model_round(struct model *m, const struct sampler *s, const struct perm *perm,
			uint64_t rank, uint64_t cycle, uint64_t first)
{
	uint64_t width = s->lanes ? s->lanes : 1, any = 1;
	uint64_t period = round_up(s->rank_files, width);

	for (uint64_t row = 0; any && m->count < s->rank_extents; row++) {
		any = 0;
		for (uint64_t i = first;
		     i < first + width && i < s->rank_files && m->count < s->rank_extents; i++) {
			uint64_t at = model_file(s, perm, rank, i);
			uint64_t start = scan_index_first_sample(s->dataset->found, at);

			if (start + row >= scan_index_first_sample(s->dataset->found, at + 1))
				continue;
			any = 1;
			model_add(m, start + row, cycle * period + i, row);
		}
	}
}

static void model_make(struct model *m, const struct sampler *s, const struct perm *perm,
		       uint64_t rank)
{
	uint64_t width = s->lanes ? s->lanes : 1;

	m->count = 0;
	for (uint64_t cycle = 0; m->count < s->rank_extents; cycle++)
		for (uint64_t i = 0; i < s->rank_files; i += width)
			model_round(m, s, perm, rank, cycle, i);
}

static void check_rank(struct sampler_epoch *e, const struct model *m, uint64_t rank)
{
	const struct sampler *s = e->sampler;

	for (uint64_t k = 0; k < s->rank_extents; k++) {
		/* Forwards, and anywhere. */
		uint64_t other = rng_u64(5, rank, k) % s->rank_extents;

		ck_assert_uint_eq(sampler_at(e, rank, k), m->ids[k]);
		ck_assert_uint_eq(sampler_at(e, rank, other), m->ids[other]);
		if (!s->lanes)
			continue;
		ck_assert_uint_eq(sampler_lane_position(e, rank, m->files[k], m->extents[k]), k);
		ck_assert_uint_eq(sampler_lane_at(e, rank, other).file, m->files[other]);
	}
}

static void check_order(const struct dataset *ds, const struct sampler_config *cfg)
{
	uint64_t most = dataset_samples(ds) + 1;
	struct model m = { .ids = mem_array(most, 8),
			   .files = mem_array(most, 8),
			   .extents = mem_array(most, 8) };
	struct sampler s;

	ck_assert_msg(sampler_init(&s, cfg, ds, &err) == 0, "%s", err.text);
	ck_assert(s.is_uneven);
	ck_assert_uint_eq(s.is_whole, cfg->ranks == 1 && s.rank_extents == s.extents);
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		struct sampler_epoch e;

		sampler_epoch(&e, &s, epoch);
		for (uint64_t rank = 0; rank < cfg->ranks; rank++) {
			model_make(&m, &s, &e.perm, rank);
			check_rank(&e, &m, rank);
		}
	}
	mem_free(m.ids);
	mem_free(m.files);
	mem_free(m.extents);
}

START_TEST(files_in_order_are_those_of_the_model)
{
	static const uint64_t lanes[] = { 0, 1, 2, 3, 7, 40 };

	for (unsigned trial = 0; trial < 6; trial++) {
		struct dataset ds = uneven(3 + trial * 8, trial);

		for (size_t i = 0; i < ARRAY_LEN(lanes); i++)
			for (uint64_t ranks = 1; ranks <= 3; ranks++)
				check_order(&ds, &(struct sampler_config){
							 .ranks = ranks,
							 .batch = 1 + trial,
							 .lanes = lanes[i],
							 .seed = 3,
							 .shuffle.kind = trial % 2 ? SHUFFLE_FILE
										   : SHUFFLE_NONE,
							 .shard = SHARD_FILE,
							 .drop_last = trial != 2 });
		unmake(&ds);
	}
}
END_TEST

/* One after the other in an order of files, cut into shards of samples. */
START_TEST(shuffled_files_are_each_read_whole)
{
	const struct sampler_config cfg = { .ranks = 2,
					    .batch = 1,
					    .seed = 9,
					    .shuffle.kind = SHUFFLE_FILE,
					    .shard = SHARD_CONTIGUOUS };
	struct dataset ds = uneven(40, 8);
	uint64_t n = dataset_samples(&ds), last = UINT64_MAX;
	unsigned *seen = mem_array(n, sizeof(*seen)), jumps = 0;
	struct sampler_epoch e;
	struct sampler s;

	memset(seen, 0, n * sizeof(*seen));
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, &err), 0);
	sampler_epoch(&e, &s, 0);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id = sampler_at(&e, i / s.rank_extents, i % s.rank_extents);

		jumps += id != last + 1;
		last = id;
		seen[id]++;
	}
	for (uint64_t i = 0; i < n; i++)
		ck_assert_uint_eq(seen[i], 1);
	ck_assert_uint_le(jumps, 40);
	ck_assert_uint_ge(jumps, 30);
	mem_free(seen);
	unmake(&ds);
}
END_TEST

START_TEST(samples_at_random_need_even_shards_of_files)
{
	struct sampler_config cfg = {
		.ranks = 2, .batch = 1, .shuffle.kind = SHUFFLE_SAMPLE, .shard = SHARD_FILE
	};
	struct dataset ds = uneven(10, 1);
	struct sampler s;

	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "shuffle: sample"));
	cfg.shard = SHARD_STRIDED;
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, NULL), 0);
	ck_assert(!s.is_uneven);
	unmake(&ds);
}
END_TEST

Suite *suite_scan_index(void)
{
	Suite *s = suite_create("found");
	TCase *t = tcase_create("all");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, each_file_is_counted);
	tcase_add_test(t, what_is_damaged_is_named_or_left_out);
	tcase_add_test(t, where_all_are_damaged_the_first_is_why);
	tcase_add_test(t, no_sample_at_all_is_refused);
	tcase_add_test(t, files_in_order_are_those_of_the_model);
	tcase_add_test(t, shuffled_files_are_each_read_whole);
	tcase_add_test(t, samples_at_random_need_even_shards_of_files);
	return s;
}
