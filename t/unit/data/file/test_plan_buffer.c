/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_buffer.c - how large the buffer of a plan is. */
#include <check.h>

#include "data/file/file.h"
#include "plan_rig.h"
#include "suites.h"

/* clang-format off */
static const struct buffer_case {
	const char *what;
	int format;
	enum job_access access;
	uint64_t per_file;
	double bytes;
	uint64_t bs, align;
	unsigned depth;
	size_t want;
} buffers[] = {
	{ "a small file is one request", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  1 << 20, 0, 1, 116 * 1024 },
	{ "each request has its own", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  1 << 20, 0, 3, 3 * 116 * 1024 },
	{ "bs is smaller than the file", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  8192, 0, 1, 8192 },
	{ "a sample is smaller than its file", FORMAT_NPZ, ACCESS_PLAIN, 64,
	  10000, 1 << 20, 0, 1, 12288 },
	{ "whole blocks", FORMAT_RAW, ACCESS_PLAIN, 1, 3500, 1 << 20, 512, 1,
	  4096 },
	{ "never less than a page", FORMAT_RAW, ACCESS_PLAIN, 1, 1, 1 << 20, 0,
	  1, 4096 },
	{ "never more than 1 MiB", FORMAT_RAW, ACCESS_PLAIN, 1, 1 << 28,
	  1 << 22, 0, 1, 1 << 20 },
	{ "together never more than 16 MiB", FORMAT_RAW, ACCESS_PLAIN, 1,
	  1 << 28, 1 << 22, 0, 64, 16 << 20 },
	{ "NumPy's block of a small file", FORMAT_NPZ, ACCESS_FRAMEWORK, 1, 1000,
	  1 << 20, 0, 1, 4096 },
	{ "a stream's own request, whatever the file", FORMAT_TFRECORD,
	  ACCESS_FRAMEWORK, 64, 1000, 1 << 20, 0, 1, 262144 },
	{ "an index that is larger than a sample", FORMAT_INDEXED_BINARY,
	  ACCESS_FRAMEWORK, 4096, 100, 1 << 20, 0, 1, 32768 },
};
/* clang-format on */

START_TEST(a_buffer_is_as_large_as_the_largest_request)
{
	const struct buffer_case *c = &buffers[_i];
	struct plan_config config = { .access = c->access,
				      .bs_bytes = c->bs,
				      .align_bytes = c->align };
	struct dataset ds;

	make(&ds, c->format, c->per_file, c->bytes);
	config.dataset = &ds;
	ck_assert_msg(plan_buffer_bytes(&config, c->depth) == c->want, "%s: %zu", c->what,
		      plan_buffer_bytes(&config, c->depth));
	dataset_fini(&ds);
}
END_TEST

/* Sizes that are drawn: of file 0, which is read first, it says nothing. */
START_TEST(the_largest_file_decides_the_buffer)
{
	struct plan_config config = { .bs_bytes = 1 << 20 };
	struct dataset ds;
	uint64_t most = 0;

	make(&ds, FORMAT_RAW, 1, 100000);
	ds.sample_size = (struct dist){ DIST_UNIFORM, 1, 200000 };
	for (uint64_t i = 0; i < ds.files; i++)
		if (dataset_file_bytes(&ds, i) > most)
			most = dataset_file_bytes(&ds, i);
	ck_assert_uint_gt(most, dataset_file_bytes(&ds, 0));
	config.dataset = &ds;
	ck_assert_uint_eq(plan_buffer_bytes(&config, 1), (most + 4095) / 4096 * 4096);
	dataset_fini(&ds);
}
END_TEST

START_TEST(who_needs_no_more_looks_no_further)
{
	struct dataset ds;
	uint64_t file = 0, most;

	make(&ds, FORMAT_RAW, 1, 100000);
	ds.sample_size = (struct dist){ DIST_UNIFORM, 1, 200000 };
	ck_assert_uint_eq(dataset_large_file(&ds, 1), 0);
	for (uint64_t i = 0; i < dataset_large_file(&ds, 100000); i++)
		ck_assert_uint_lt(dataset_file_bytes(&ds, i), 100000);
	for (uint64_t i = 1; i < 100000; i++)
		if (dataset_file_bytes(&ds, i) > dataset_file_bytes(&ds, file))
			file = i;
	most = dataset_file_bytes(&ds, file);
	ck_assert_uint_eq(dataset_large_file(&ds, most), file);
	ck_assert_uint_eq(dataset_large_file(&ds, most + 1), file);
	/* Once it is known it is large enough for all. */
	ck_assert_uint_eq(dataset_largest_file(&ds), file);
	ck_assert_uint_eq(dataset_large_file(&ds, 1), file);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_plan_buffer(void)
{
	Suite *s = suite_create("plan_buffer");
	TCase *t = tcase_create("plan_buffer");
	int n = (int)(sizeof(buffers) / sizeof(buffers[0]));

	tcase_add_loop_test(t, a_buffer_is_as_large_as_the_largest_request, 0, n);
	tcase_add_test(t, the_largest_file_decides_the_buffer);
	tcase_add_test(t, who_needs_no_more_looks_no_further);
	suite_add_tcase(s, t);
	return s;
}
