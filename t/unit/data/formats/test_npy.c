/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy.c - arrays and labels of format=npy, and numpy.load's calls on them. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "data/formats/formats.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

static int make(struct dataset *ds, int format, uint64_t per_file, double bytes, uint64_t label,
		struct mlgen_err *err)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 3,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .label_size_bytes = label,
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	return dataset_init(ds, &job, 0, err);
}

/* clang-format off */
static const struct array_case {
	struct file_shape shape;
	const char *header;
} arrays[] = {
	{ { .samples = 1, .sides = { 1, 1 } }, "(1, 1), } " },
	{ { .samples = 1, .sides = { 1, 100 } }, "(1, 100), } " },
	{ { .samples = 7, .sides = { 1, 30000 } }, "(7, 30000), } " },
	{ { .samples = 2, .sides = { 300, 200 }, .two_sides = true }, "(2, 300, 200), } " },
	{ { .samples = 1, .sides = { 1, 65536 - 128 } }, "(1, 65408), } " },
	{ { .samples = 1, .sides = { 1, 65536 - 127 } }, "(1, 65409), } " },
};
/* clang-format on */
#define ARRAYS ((int)(sizeof(arrays) / sizeof(arrays[0])))

START_TEST(an_array_is_its_header_and_the_samples)
{
	static const char begin[] =
		"\x93NUMPY\1\0\x76\0{'descr': '|u1', 'fortran_order': False, 'shape': ";
	const struct array_case *c = &arrays[_i];
	uint64_t one = c->shape.sides[0] * c->shape.sides[1];
	uint64_t bytes = c->shape.samples * one, off, len;
	uint8_t *file = whole(&format_npy, &c->shape, 5, LEAST_BUFFER);
	uint8_t *content = mem_zalloc(bytes);

	ck_assert_uint_eq(format_npy.file_bytes(&c->shape), 128 + bytes);
	ck_assert(memcmp(file, format_npy.magic, format_npy.magic_bytes) == 0);
	ck_assert(memcmp(file, begin, sizeof(begin) - 1) == 0);
	ck_assert(memcmp(file + sizeof(begin) - 1, c->header, strlen(c->header)) == 0);
	ck_assert_uint_eq(file[127], '\n');
	format_content(content, bytes, 5, 0);
	ck_assert(memcmp(file + 128, content, bytes) == 0);
	format_npy.sample_range(&c->shape, c->shape.samples - 1, 1, &off, &len);
	ck_assert_uint_eq(off, 128 + bytes - one);
	ck_assert_uint_eq(len, one);
	mem_free(content);
	mem_free(file);
}
END_TEST

START_TEST(a_label_is_a_file_beside_its_image)
{
	struct dataset ds;
	struct file_shape image, label;
	uint8_t *a, *b;
	char path[64];

	ck_assert_int_eq(make(&ds, FORMAT_NPY, 1, 1000, 700, NULL), 0);
	ck_assert_uint_eq(ds.parts, 2);
	ck_assert_uint_eq(dataset_all_files(&ds), 6);
	dataset_path(&ds, 2, path, sizeof(path));
	ck_assert_str_eq(path, "d/train/img_2_of_3.npy");
	dataset_path(&ds, 5, path, sizeof(path));
	ck_assert_str_eq(path, "d/train/img_2_of_3.label.npy");
	ck_assert_uint_eq(dataset_file_bytes(&ds, 2), 1128);
	ck_assert_uint_eq(dataset_file_bytes(&ds, 5), 828);
	format_shape(&ds, 2, &image);
	format_shape(&ds, 5, &label);
	a = whole(&format_npy, &image, 2, LEAST_BUFFER);
	b = whole(&format_npy, &label, 5, LEAST_BUFFER);
	ck_assert_ptr_nonnull(strstr((char *)b + 10, "'shape': (1, 700), }"));
	ck_assert(memcmp(a + 128, b + 128, 700) != 0);
	mem_free(a);
	mem_free(b);
	dataset_fini(&ds);
}
END_TEST

START_TEST(labels_are_for_npy_only)
{
	for (int f = FORMAT_NPZ; f <= FORMAT_CSV; f++) {
		struct mlgen_err err = { 0 };
		struct dataset ds;

		if (f == FORMAT_NPY || format_of((enum job_format)f)->needs)
			continue;
		ck_assert_int_eq(make(&ds, f, 1, 1000, 1, &err), -EINVAL);
		ck_assert_ptr_nonnull(strstr(err.text, "label_size: "));
		ck_assert_ptr_nonnull(strstr(err.text, "npy"));
	}
}
END_TEST

/* clang-format off */
static const struct plan_case {
	uint64_t per_file;
	double bytes;
	uint64_t label;
	bool is_direct;
	const char *text;
} plans[] = {
	/* as traced */
	{ 1, 102400, 0, false, "open stat 4096@0 stat 128@0 4096@0 98304@4096 4096@102400=128 close" },
	{ 1, 8388608, 0, false, "open stat 4096@0 stat 128@0 4096@0 8384512@4096 4096@8388608=128 close" },
	/* the file ends in its first block, with it, behind it */
	{ 1, 1, 0, false, "open stat 4096@0=129 stat 128@0 4096@0=129 close" },
	{ 1, 3968, 0, false, "open stat 4096@0 stat 128@0 4096@0 close" },
	{ 1, 3969, 0, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096=1 close" },
	/* ... in, with and behind its second */
	{ 1, 8063, 0, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096=4095 close" },
	{ 1, 8064, 0, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096 close" },
	{ 1, 8065, 0, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096 4096@8192=1 close" },
	/* all samples for one of them */
	{ 5, 2000, 0, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096 4096@8192=1936 close" },
	/* the kernel's limit for a call */
	{ 1, 5e9, 0, false, "open stat 4096@0 stat 128@0 4096@0 2147479552@4096 2147479552@2147483648 705036288@4294963200 4096@4999999488=640 close" },
	/* the label after the image */
	{ 1, 10000, 5000, false, "open stat 4096@0 stat 128@0 4096@0 4096@4096 4096@8192=1936 close open1 stat 4096@0 stat 128@0 4096@0 4096@4096=1032 close" },
	{ 1, 10, 20, false, "open stat 4096@0=138 stat 128@0 4096@0=138 close open1 stat 4096@0=148 stat 128@0 4096@0=148 close" },
	{ 1, 10000, 0, true, "open stat 12288@0=10128 close" },
	{ 1, 10000, 5000, true, "open stat 12288@0=10128 close open1 stat 8192@0=5128 close" },
};
/* clang-format on */
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

START_TEST(numpy_load_reads_a_file_so)
{
	const struct plan_case *c = &plans[_i];
	struct plan_config config = { .access = ACCESS_FRAMEWORK,
				      .bs_bytes = 512,
				      .direct = c->is_direct,
				      .align_bytes = c->is_direct ? 512 : 0 };
	char text[PLAN_TEXT_BYTES];
	struct dataset ds;
	struct extent x;

	ck_assert_int_eq(make(&ds, FORMAT_NPY, c->per_file, c->bytes, c->label, NULL), 0);
	config.dataset = &ds;
	for (unsigned last = 0; last < 2; last++) {
		dataset_extent(&ds, last ? c->per_file - 1 : 0, &x);
		ck_assert_str_eq(plan_text(&config, &x, text), c->text);
	}
	dataset_fini(&ds);
}
END_TEST

Suite *suite_npy(void)
{
	Suite *s = suite_create("npy");
	TCase *t = tcase_create("npy");

	tcase_add_loop_test(t, an_array_is_its_header_and_the_samples, 0, ARRAYS);
	tcase_add_test(t, a_label_is_a_file_beside_its_image);
	tcase_add_test(t, labels_are_for_npy_only);
	tcase_add_loop_test(t, numpy_load_reads_a_file_so, 0, PLANS);
	suite_add_tcase(s, t);
	return s;
}
