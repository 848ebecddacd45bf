/* SPDX-License-Identifier: Apache-2.0 */
/* test_indexed.c - samples and index files of the indexed formats, and DLIO's calls on them. */
#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

static void make(struct dataset *ds, int format, uint64_t per_file, double bytes)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 3,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

START_TEST(index_files_have_their_samples_file_in_their_names)
{
	static const struct {
		int format;
		uint64_t file;
		const char *path;
	} names[] = {
		{ FORMAT_INDEXED_BINARY, 1, "d/train/img_1_of_3.indexed_binary" },
		{ FORMAT_INDEXED_BINARY, 4, "d/train/img_1_of_3.indexed_binary.off.idx" },
		{ FORMAT_INDEXED_BINARY, 7, "d/train/img_1_of_3.indexed_binary.sz.idx" },
		{ FORMAT_MMAP_INDEXED_BINARY, 2, "d/train/img_2_of_3.mmap_indexed_binary" },
		{ FORMAT_MMAP_INDEXED_BINARY, 5, "d/train/img_2_of_3.mmap_indexed_binary.off.idx" },
		{ FORMAT_MMAP_INDEXED_BINARY, 8, "d/train/img_2_of_3.mmap_indexed_binary.sz.idx" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct dataset ds;
		char path[80];

		make(&ds, names[i].format, 4, 100);
		ck_assert_uint_eq(dataset_all_files(&ds), 9);
		dataset_path(&ds, names[i].file, path, sizeof(path));
		ck_assert_str_eq(path, names[i].path);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(index_files_tell_where_every_sample_lies)
{
	/* more entries than the buffer holds, and a buffer of odd length */
	const uint64_t samples = 20000, bytes = 33;
	struct file_shape shape = { .samples = samples, .sides = { 1, bytes } };
	uint8_t *parts[3], *content = mem_zalloc(samples * bytes);

	for (shape.part = 0; shape.part < 3; shape.part++)
		parts[shape.part] = whole(&format_indexed_binary, &shape, 6, LEAST_BUFFER + 13);
	shape.part = 1;
	ck_assert_uint_eq(format_indexed_binary.file_bytes(&shape), 8 * samples);
	shape.part = 0;
	format_content(content, samples * bytes, 6, 0);
	ck_assert(memcmp(parts[0], content, samples * bytes) == 0);
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t off, len;

		format_indexed_binary.sample_range(&shape, i, 1, &off, &len);
		ck_assert_uint_eq(number(parts[1] + 8 * i, 8), off);
		ck_assert_uint_eq(number(parts[2] + 8 * i, 8), len);
	}
	for (unsigned i = 0; i < 3; i++)
		mem_free(parts[i]);
	mem_free(content);
}
END_TEST

START_TEST(offsets_do_not_end_at_4_gib)
{
	struct file_shape shape = { .samples = 3, .sides = { 1, UINT64_C(3) << 30 }, .part = 1 };
	uint8_t *file = whole(&format_mmap_indexed_binary, &shape, 0, LEAST_BUFFER);

	ck_assert_uint_eq(number(file + 16, 8), UINT64_C(6) << 30);
	mem_free(file);
}
END_TEST

/* clang-format off */
static const struct plan_case {
	int format;
	uint64_t per_file;
	double bytes;
	uint64_t id;	/* of the extent; START: what is read at the start */
	const char *text;
} plans[] = {
#define START UINT64_MAX
	{ FORMAT_INDEXED_BINARY, 10, 5000, 12, "open stat 5000@10000 close" },
	{ FORMAT_INDEXED_BINARY, 10, 5000, 9, "open stat 5000@45000 close" },
	/* as large as Python's buffer and smaller: through it */
	{ FORMAT_INDEXED_BINARY, 10, 4097, 1, "open stat 4097@4097 close" },
	{ FORMAT_INDEXED_BINARY, 10, 4096, 1, "open stat 4096@4096 close" },
	{ FORMAT_INDEXED_BINARY, 10, 160, 1, "open stat 4096@160=1440 close" },
	{ FORMAT_INDEXED_BINARY, 100, 160, 1, "open stat 4096@160 close" },
	{ FORMAT_INDEXED_BINARY, 1, 671088640, 0, "open stat 671088640@0 close" },
	/* the kernel's limit for a call, and a rest as small as the buffer */
	{ FORMAT_INDEXED_BINARY, 2, 3e9, 1, "open stat 2147479552@3000000000 852520448@5147479552 close" },
	{ FORMAT_INDEXED_BINARY, 2, 2147479553.0, 0, "open stat 2147479552@0 4096@2147479552 close" },
	{ FORMAT_INDEXED_BINARY, 10, 5000, START, "open1 stat 4096@0=80 close open2 stat 4096@0=80 close" },
	{ FORMAT_INDEXED_BINARY, 1000, 50, START, "open1 stat 8000@0 close open2 stat 8000@0 close" },
	{ FORMAT_MMAP_INDEXED_BINARY, 1000, 50, START, "open1 stat 8000@0 close open2 stat 8000@0 close open stat close" },
	{ FORMAT_MMAP_INDEXED_BINARY, 1000, 50, 7, "" },
};
/* clang-format on */
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

START_TEST(dlio_reads_them_so)
{
	const struct plan_case *c = &plans[_i];
	struct plan_config config = { .access = ACCESS_FRAMEWORK };
	struct extent x = { .file = 1 };
	char text[PLAN_TEXT_BYTES];
	struct dataset ds;

	make(&ds, c->format, c->per_file, c->bytes);
	config.dataset = &ds;
	if (c->id != START)
		dataset_extent(&ds, c->id, &x);
	ck_assert_str_eq(plan_text(&config, &x, text), c->text);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_indexed(void)
{
	Suite *s = suite_create("indexed");
	TCase *t = tcase_create("indexed");

	tcase_add_test(t, index_files_have_their_samples_file_in_their_names);
	tcase_add_test(t, index_files_tell_where_every_sample_lies);
	tcase_add_test(t, offsets_do_not_end_at_4_gib);
	tcase_add_loop_test(t, dlio_reads_them_so, 0, PLANS);
	suite_add_tcase(s, t);
	return s;
}
