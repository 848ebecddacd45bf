/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_dataset.c - sizes of files become options of a data set. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dist.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"
#include "tracing/distil/data/data_internal.h"
#include "tracing/distil/facts/facts.h"
#include "suites.h"
#include "temp.h"

/* ---- sample sizes of files ---- */

static const struct model_case {
	enum job_format format;
	uint64_t samples, bytes; /* of a sample */
} models[] = {
	{ FORMAT_NPZ, 1, 1000 },
	{ FORMAT_NPZ, 7, 146600628 },
	{ FORMAT_NPZ, 1, UINT64_C(5) << 30 },
	{ FORMAT_NPY, 1, 1 },
	{ FORMAT_NPY, 100, 300000 },
	{ FORMAT_RAW, 3, 4097 },
	{ FORMAT_TFRECORD, 1251, 114244 },
	{ FORMAT_TFRECORD, 1, 2828486 },
	{ FORMAT_JPEG, 1, 300000 },
	{ FORMAT_PNG, 1, 100000 },
	{ FORMAT_CSV, 4, 114244 },
	{ FORMAT_INDEXED_BINARY, 64, 160 },
	{ FORMAT_HDF5, 8, 114244 },
	{ FORMAT_TAR, 16, 100000 },
	{ FORMAT_PARQUET, 4096, 1000 },
};

static uint64_t bytes_of(const struct dataset *ds)
{
	return dataset_file_bytes(ds, 0);
}

START_TEST(a_file_of_the_same_size_has_samples_of_the_same_size)
{
	const struct model_case *c = &models[_i];
	struct filemodel model = { .format = c->format,
				   .samples_per_file = c->samples,
				   .row_group_size = 1024 };
	char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = (int)c->format,
				 .num_files = 1,
				 .samples_per_file = c->samples,
				 .row_group_size = 1024,
				 .sample_size = { .a = (double)c->bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };
	struct dataset made, found;

	if (format_of(c->format)->needs)
		return;
	ck_assert_int_eq(dataset_init(&made, &job, 0, NULL), 0);
	ck_assert(filemodel_init(&found, &model, bytes_of(&made)));
	ck_assert_uint_eq(bytes_of(&found), bytes_of(&made));
	/* Padding of a tar file hides some bytes. */
	if (c->format != FORMAT_TAR)
		ck_assert_uint_eq((uint64_t)found.sample_size.a, c->bytes);
	dataset_fini(&found);
	dataset_fini(&made);
}
END_TEST

START_TEST(a_format_that_has_no_such_file_is_none)
{
	const struct filemodel png = { .format = FORMAT_PNG, .samples_per_file = 1 };
	const struct filemodel two = { .format = FORMAT_PNG, .samples_per_file = 2 };
	struct dataset ds;

	ck_assert(!filemodel_init(&ds, &png, 10));
	dataset_fini(&ds);
	ck_assert(!filemodel_init(&ds, &two, 1 << 20));
	dataset_fini(&ds);
}
END_TEST

/* ---- distributions ---- */

enum { VALUES = 1000 };

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void draw(uint64_t values[], size_t n, const struct dist *d)
{
	for (size_t i = 0; i < n; i++)
		values[i] = dist_draw(d, DATASET_SEED, RNG_SAMPLE_SIZE, i);
	qsort(values, n, sizeof(*values), by_value);
}

static const struct dist drawn[] = {
	{ .kind = DIST_CONST, .a = 146600628 },
	{ .kind = DIST_NORMAL, .a = 1000000, .b = 100000 },
	{ .kind = DIST_LOGNORMAL, .a = 1000000, .b = 900000 },
	{ .kind = DIST_UNIFORM, .a = 5000, .b = 900000 },
};

START_TEST(what_sizes_were_drawn_from_is_found)
{
	const struct dist *d = &drawn[_i];
	uint64_t values[VALUES];
	struct sizefit fit;

	draw(values, VALUES, d);
	sizefit(&fit, values, VALUES);
	ck_assert_int_eq(fit.dist.kind, d->kind);
	ck_assert(fit.is_good);
	ck_assert_double_lt(fit.distance, 0.03);
	sizefit_settle(&fit, values, VALUES, VALUES);
	/* A long tail settles slowly. */
	ck_assert_double_lt(fabs(fit.dist.a - d->a), 0.01 * d->a + 20);
	ck_assert_double_lt(fabs(fit.dist.b - d->b), 0.02 * d->b + 20);
}
END_TEST

START_TEST(what_is_drawn_then_has_the_mean_of_the_files)
{
	const struct dist d = { .kind = DIST_NORMAL, .a = 300000, .b = 60000 };
	uint64_t values[VALUES], again[VALUES];
	double want = 0, got = 0;
	struct sizefit fit;

	/* Drawn by somebody else. */
	for (size_t i = 0; i < VALUES; i++)
		values[i] = dist_draw(&d, 1234, RNG_SAMPLE_SIZE, i);
	qsort(values, VALUES, sizeof(*values), by_value);
	sizefit(&fit, values, VALUES);
	sizefit_settle(&fit, values, VALUES, VALUES);
	draw(again, VALUES, &fit.dist);
	for (size_t i = 0; i < VALUES; i++) {
		want += (double)values[i];
		got += (double)again[i];
	}
	ck_assert(fit.is_good);
	ck_assert_double_lt(fabs(got / want - 1), 0.0001);
}
END_TEST

/* The same distribution, but these few are others than those. */
START_TEST(of_few_files_it_would_be_others_that_are_drawn)
{
	const struct dist d = { .kind = DIST_UNIFORM, .a = 300000, .b = 600000 };
	uint64_t values[40];
	struct sizefit fit;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		values[i] = dist_draw(&d, 1234, RNG_SAMPLE_SIZE, i);
	qsort(values, ARRAY_LEN(values), sizeof(*values), by_value);
	sizefit(&fit, values, ARRAY_LEN(values));
	ck_assert(fit.is_good);
	sizefit_settle(&fit, values, ARRAY_LEN(values), ARRAY_LEN(values));
	ck_assert(!fit.is_good);
}
END_TEST

START_TEST(sizes_of_two_kinds_are_of_no_distribution)
{
	uint64_t values[VALUES];
	struct sizefit fit;

	for (size_t i = 0; i < VALUES; i++)
		values[i] = i < VALUES / 2 ? 1000 + i : 900000 + i;
	sizefit(&fit, values, VALUES);
	ck_assert(!fit.is_good);
	ck_assert_double_gt(fit.distance, 0.1);
}
END_TEST

START_TEST(a_few_different_sizes_are_of_no_distribution)
{
	const uint64_t values[] = { 10, 20, 30 };
	struct sizefit fit;

	sizefit(&fit, values, ARRAY_LEN(values));
	ck_assert(!fit.is_good);
	ck_assert_double_eq(fit.mean, 20);
}
END_TEST

START_TEST(files_drawn_from_weighed_sizes_are_those_of_the_trace)
{
	char path[TEMP_BYTES], text[TEMP_BYTES + 8];
	uint64_t values[VALUES], again[VALUES], *weighed;
	struct mlgen_err err = { 0 };
	struct dist d = { 0 };
	size_t count;
	FILE *f;
	int fd = temp_file(path);

	for (size_t i = 0; i < VALUES; i++)
		values[i] = 1000 + i * i * i;
	weighed = sizefit_weigh(values, VALUES, &count);
	f = fdopen(fd, "w");
	dist_file_write(f, weighed, count, DIST_BYTES, "sizes");
	ck_assert_int_eq(fclose(f), 0);
	snprintf(text, sizeof(text), "file:%s", path);
	ck_assert_msg(dist_parse(&d, text, DIST_BYTES, NULL, 1024, &err) == 0, "%s", err.text);
	draw(again, VALUES, &d);
	ck_assert_mem_eq(again, values, sizeof(values));
	dist_unref(&d);
	mem_free(weighed);
	unlink(path);
}
END_TEST

/* ---- side files ---- */

static void write_text(FILE *to, const void *arg)
{
	fputs(arg, to);
}

static void read_back(const char *path, char text[64])
{
	FILE *f = fopen(path, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, 63, f);
	text[n] = '\0';
	fclose(f);
}

START_TEST(a_side_file_is_never_written_over_another)
{
	char folder[TEMP_BYTES], with[TEMP_BYTES + 1], path[TEMP_BYTES + 8];
	char text[64];
	char name[SIDE_FILE_BYTES];
	struct mlgen_err err = { 0 };

	temp_folder(folder);
	snprintf(with, sizeof(with), "%s/", folder);
	snprintf(path, sizeof(path), "%s/a.sizes", folder);
	ck_assert_int_eq(side_file(name, with, "a", "sizes", write_text, "1\n2\n", &err), 0);
	ck_assert_str_eq(name, "a.sizes");
	/* The same content may be there. */
	ck_assert_int_eq(side_file(name, with, "a", "sizes", write_text, "1\n2\n", &err), 0);
	ck_assert_int_eq(side_file(name, with, "a", "sizes", write_text, "1\n2\n3\n", &err),
			 -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	read_back(path, text);
	ck_assert_str_eq(text, "1\n2\n");
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(side_file(name, with, "a", "sizes", write_text, "1\n", &err), -EEXIST);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(side_file(name, with, "a", "sizes", write_text, "1\n", &err), -ENOENT);
}
END_TEST

Suite *suite_distil_dataset(void)
{
	Suite *s = suite_create("distil_dataset");
	TCase *tc = tcase_create("sizes");

	tcase_add_loop_test(tc, a_file_of_the_same_size_has_samples_of_the_same_size, 0,
			    ARRAY_LEN(models));
	tcase_add_test(tc, a_format_that_has_no_such_file_is_none);
	tcase_add_loop_test(tc, what_sizes_were_drawn_from_is_found, 0, ARRAY_LEN(drawn));
	tcase_add_test(tc, what_is_drawn_then_has_the_mean_of_the_files);
	tcase_add_test(tc, of_few_files_it_would_be_others_that_are_drawn);
	tcase_add_test(tc, sizes_of_two_kinds_are_of_no_distribution);
	tcase_add_test(tc, a_few_different_sizes_are_of_no_distribution);
	tcase_add_test(tc, files_drawn_from_weighed_sizes_are_those_of_the_trace);
	tcase_add_test(tc, a_side_file_is_never_written_over_another);
	suite_add_tcase(s, tc);
	return s;
}
