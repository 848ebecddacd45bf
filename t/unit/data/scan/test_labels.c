/* SPDX-License-Identifier: Apache-2.0 */
/* test_labels.c - label files are paired with the files of a scan by folder and name. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/search/search_internal.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/scan/scan.h"
#include "scan_rig.h"
#include "suites.h"
#include "work/workloads.h"

static struct job pair_job(const char *pair)
{
	return (struct job){ .directory = directory,
			     .dataset = DATASET_SCAN,
			     .format = FORMAT_RAW,
			     .scan_pair = (char *)(uintptr_t)pair,
			     .num_files = 256,
			     .samples_per_file = 1,
			     .sample_size = { .kind = DIST_CONST, .a = 1000 },
			     .scale = 100,
			     .accelerators = 1,
			     .batch_size = 1,
			     .drop_last = true };
}

/* Three images, the second without a label; a label without an image. */
static void put_folders(void)
{
	folder("images");
	folder("images/train");
	folder("labels");
	folder("labels/train");
	put("images/train/1.jpg", 1000);
	put("images/train/2.png", 2000);
	put("images/train/3.jpeg", 4000);
	put("labels/train/1.txt", 10);
	put("labels/train/3.json", 30);
	put("labels/train/9.txt", 90);
}

static const char *below(const char *path)
{
	return path + strlen(directory) + 1;
}

START_TEST(labels_have_the_names_of_images_in_another_folder)
{
	static const char *const pairs[] = { "images:labels", "/images/:/labels/", NULL };
	struct job job = pair_job(pairs[_i]);
	struct dataset_totals t;
	struct dataset ds;
	struct extent x;
	char path[256];

	put_folders();
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 3);
	ck_assert_uint_eq(dataset_existing_files(&ds), 5);
	ck_assert_int_gt(dataset_path(&ds, 3, path, sizeof(path)), 0);
	ck_assert_str_eq(below(path), "labels/train/1.txt");
	ck_assert(!dataset_has_file(&ds, 4));
	ck_assert_int_eq(dataset_path(&ds, 4, path, sizeof(path)), -ENOENT);
	ck_assert_int_gt(dataset_path(&ds, 5, path, sizeof(path)), 0);
	ck_assert_str_eq(below(path), "labels/train/3.json");
	ck_assert_uint_eq(dataset_file_bytes(&ds, 2), 4000);
	ck_assert_uint_eq(dataset_file_bytes(&ds, 5), 30);
	ck_assert_uint_eq(dataset_parts_of(&ds, 0), 2);
	ck_assert_uint_eq(dataset_parts_of(&ds, 1), 1);
	dataset_extent(&ds, 2, &x);
	ck_assert_uint_eq(dataset_extent_bytes(&ds, &x), 4030);
	dataset_totals(&ds, &t);
	ck_assert_uint_eq(t.bytes, 7040);
	ck_assert_uint_eq(t.sample_bytes, 7040);
	ck_assert_double_eq(t.label_files, 2);
	dataset_fini(&ds);
}
END_TEST

START_TEST(suffixes_of_one_folder_are_a_pair)
{
	struct job job = pair_job(".jpg:.txt");
	struct dataset ds;

	put("a.jpg", 100);
	put("a.txt", 7);
	put("b.jpg", 100);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 2);
	ck_assert_uint_eq(labels_bytes(ds.labels, 0), 7);
	ck_assert_uint_eq(labels_bytes(ds.labels, 1), 0);
	dataset_fini(&ds);
}
END_TEST

START_TEST(labels_outside_the_directory_are_looked_for)
{
	struct job job = pair_job("images:labels");
	char images[TEMP_BELOW];
	struct dataset ds;

	put_folders();
	snprintf(images, sizeof(images), "%s/images/train", directory);
	job.directory = images;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(labels_bytes(ds.labels, 0), 10);
	ck_assert_uint_eq(labels_bytes(ds.labels, 1), 0);
	ck_assert_uint_eq(labels_bytes(ds.labels, 2), 30);
	dataset_fini(&ds);
}
END_TEST

/* Operations of an extent as letters, with the bytes of each read. */
static const char *ops_of(const struct plan_config *c, uint64_t id, char *out)
{
	static const char letters[] = {
		[MLGEN_OPEN] = 'o', [MLGEN_STAT] = 's', [MLGEN_READ] = 'r', [MLGEN_CLOSE] = 'c'
	};
	struct extent x;
	struct plan plan;
	struct plan_op op;
	int n = 0;

	dataset_extent(c->dataset, id, &x);
	plan_init(&plan, c, &x);
	while (plan_next(&plan, &op)) {
		n += snprintf(out + n, 8, "%c", letters[op.op]);
		if (op.op == MLGEN_READ)
			n += snprintf(out + n, 24, "%u/%u", (unsigned)op.len_bytes,
				      (unsigned)op.got_bytes);
	}
	return out;
}

START_TEST(a_label_is_read_after_its_sample)
{
	struct job job = pair_job("images:labels");
	struct plan_config c = { .access = ACCESS_PLAIN, .bs_bytes = 3000 };
	struct dataset ds;
	char out[256];

	put_folders();
	put("labels/train/3.json", 3500);
	job.format = FORMAT_JPEG;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	c.dataset = &ds;
	ck_assert_str_eq(ops_of(&c, 0, out), "or1000/1000cor10/10c");
	ck_assert_str_eq(ops_of(&c, 1, out), "or2000/2000c");
	ck_assert_str_eq(ops_of(&c, 2, out), "or3000/3000r1000/1000cor3000/3000r500/500c");
	c.direct = true;
	c.align_bytes = 512;
	ck_assert_str_eq(ops_of(&c, 0, out), "or1024/1000cor512/10c");
	c.direct = false;
	c.align_bytes = 0;
	c.access = ACCESS_FRAMEWORK;
	ck_assert_str_eq(ops_of(&c, 0, out) + strlen("osr4096/1000"), "r61440/0cossr11/10r1/0c");
	ck_assert_uint_ge(plan_largest_read(&c), 3501);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_ceiling_passes_over_labels_that_are_missing)
{
	struct job job = pair_job("images:labels");
	struct clock *clock = clock_new_virtual(1000);
	struct ceiling_warm w;
	struct dataset ds;

	put_folders();
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_int_eq(ceiling_warm(&w, &ds, 3, clock, CLOCK_NEVER, &err), 0);
	ck_assert_uint_eq(w.files, 3);
	ck_assert_uint_eq(w.bytes, 7040);
	dataset_fini(&ds);
	clock_free(clock);
}
END_TEST

START_TEST(pairs_that_are_none_are_refused)
{
	static const struct {
		const char *pair, *words;
		int code;
	} cases[] = {
		{ "images:masks", "masks/train: No such file", -ENOENT },
		{ "train/1:train/7", "no file in ", -EINVAL },
		{ "pictures:labels", "no file in ", -EINVAL },
	};
	struct job job = pair_job(cases[_i].pair);
	struct dataset ds;

	put_folders();
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), cases[_i].code);
	ck_assert_ptr_nonnull(strstr(err.text, "scan_pair: "));
	ck_assert_ptr_nonnull(strstr(err.text, cases[_i].words));
}
END_TEST

START_TEST(folders_of_the_usual_names_are_no_pair_without_a_match)
{
	struct job job = pair_job(NULL);
	struct dataset ds;

	folder("images");
	folder("labels");
	put("images/a", 100);
	put("labels/b.txt", 100);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_ptr_null(ds.labels);
	ck_assert_uint_eq(dataset_all_files(&ds), 1);
	dataset_fini(&ds);
}
END_TEST

START_TEST(none_reads_all_files_as_samples)
{
	struct job job = pair_job("none");
	struct dataset ds;

	put_folders();
	ck_assert_int_eq(dataset_init(&ds, &job, 0, &err), 0);
	ck_assert_uint_eq(ds.files, 6);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_labels(void)
{
	Suite *s = suite_create("labels");
	TCase *t = tcase_create("labels");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, labels_have_the_names_of_images_in_another_folder, 0, 3);
	tcase_add_test(t, suffixes_of_one_folder_are_a_pair);
	tcase_add_test(t, labels_outside_the_directory_are_looked_for);
	tcase_add_test(t, a_label_is_read_after_its_sample);
	tcase_add_test(t, a_ceiling_passes_over_labels_that_are_missing);
	tcase_add_loop_test(t, pairs_that_are_none_are_refused, 0, 3);
	tcase_add_test(t, folders_of_the_usual_names_are_no_pair_without_a_match);
	tcase_add_test(t, none_reads_all_files_as_samples);
	suite_add_tcase(s, t);
	return s;
}
