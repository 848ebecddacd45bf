/* SPDX-License-Identifier: Apache-2.0 */
/* test_listed.c - samples that a list gives of files, in any order: each file gets its own, in that
 * order. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/scan/scan.h"
#include "suites.h"
#include "temp.h"

#define FILES 3000u
#define SAMPLES 20000u
#define FILE_BYTES 100u

static char directory[TEMP_BYTES];
static struct mlgen_err err;

static void path_of(char *path, size_t size, unsigned number)
{
	snprintf(path, size, "%s/%u", directory, number);
}

static void set_up(void)
{
	temp_folder(directory);
	memset(&err, 0, sizeof(err));
}

static void tear_down(void)
{
	temp_remove(directory);
}

static void make_files(unsigned n)
{
	char path[TEMP_BELOW];

	for (unsigned i = 0; i < n; i++) {
		path_of(path, sizeof(path), i);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);

		ck_assert_int_eq(ftruncate(fd, FILE_BYTES), 0);
		close(fd);
	}
}

/* The listed samples of a scan of all files. */
struct rig {
	struct listed *listed;
	struct scan_places places;
	struct scan *scan;
	struct namefile words;
	struct namefile_map map;
	struct listed_count *counts;
};

static void begin(struct rig *g)
{
	memset(g, 0, sizeof(*g));
	ck_assert_int_eq(listed_new(&g->listed, NULL, &err), 0);
	ck_assert_int_eq(namefile_open(&g->words, NULL, &err), 0);
}

/* As a list does: by path, which is added when it is met first. */
static void add(struct rig *g, unsigned number, uint64_t off, uint64_t bytes)
{
	const struct listed_file *f;
	char path[TEMP_BELOW];

	path_of(path, sizeof(path), number);
	f = listed_find(g->listed, path);
	if (!f && number < FILES) {
		places_add_file(&g->places, path);
		listed_add_path(g->listed, path, g->places.count - 1, FILE_BYTES);
	} else if (!f) {
		listed_add_path(g->listed, path, LISTED_NONE, 0);
	}
	f = listed_find(g->listed, path);
	ck_assert_ptr_nonnull(f);
	if (number >= FILES)
		ck_assert_uint_eq(f->place, LISTED_NONE);
	else
		ck_assert_int_eq(listed_add(g->listed, f->place, off, bytes, &err), 0);
}

static int group(struct rig *g)
{
	ck_assert_int_eq(places_settle(&g->places, &err), 0);
	ck_assert_int_eq(scan_new(&g->scan, &(struct scan_request){ .directory = directory }, &err),
			 0);
	ck_assert_int_eq(listed_settle(g->listed, g->scan, &g->places, &err), 0);
	g->counts = mem_array((size_t)scan_files(g->scan), sizeof(*g->counts));
	return listed_group(g->listed, g->scan, g->counts, &g->words, &err);
}

static void end(struct rig *g)
{
	listed_free(g->listed);
	places_fini(&g->places);
	scan_free(g->scan);
	namefile_close(&g->words);
	mem_free(g->counts);
}

START_TEST(samples_are_grouped_by_file_and_stay_in_order)
{
	struct rig g;
	const uint64_t *word;

	make_files(FILES);
	begin(&g);
	/* Of a file they are SAMPLES / FILES apart; every ninth path is none. */
	for (unsigned i = 0; i < SAMPLES; i++)
		add(&g, i % 9 ? i * 7919u % FILES : FILES + i % 50, i % 90, 1 + i % 10);
	ck_assert_int_eq(group(&g), 0);
	ck_assert_uint_eq(scan_files(g.scan), FILES);
	ck_assert_int_eq(namefile_map(&g.words, 0, &g.map, &err), 0);
	word = (const void *)g.map.bytes;
	for (unsigned file = 0; file < FILES; file++) {
		uint64_t samples = 0, bytes = 0;
		char name[16];

		ck_assert_int_gt(scan_name(g.scan, file, name, sizeof(name)), 0);
		unsigned number = (unsigned)atoi(name);
		for (unsigned i = 0; i < SAMPLES; i++) {
			if (i % 9 == 0 || i * 7919u % FILES != number)
				continue;
			ck_assert_uint_eq(*word++, i % 90);
			ck_assert_uint_eq(*word++, 1 + i % 10);
			samples++;
			bytes += 1 + i % 10;
		}
		ck_assert_uint_eq(g.counts[file].samples, samples);
		ck_assert_uint_eq(g.counts[file].bytes, bytes);
	}
	ck_assert_uint_eq((uint64_t)((const char *)word - g.map.bytes), g.words.end);
	namefile_unmap(&g.map);
	end(&g);
}
END_TEST

START_TEST(a_file_that_became_shorter_is_named)
{
	struct rig g;

	make_files(2);
	begin(&g);
	add(&g, 0, 0, FILE_BYTES);
	add(&g, 1, FILE_BYTES - 1, 2);
	ck_assert_int_eq(group(&g), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(err.text,
		       "/1: it now ends at byte 100, but a sample of the list has 2 bytes at 99"));
	end(&g);
}
END_TEST

START_TEST(what_is_no_file_of_the_scan_takes_its_samples_along)
{
	char path[TEMP_BELOW];
	struct rig g;

	make_files(3);
	begin(&g);
	add(&g, 0, 0, 5);
	add(&g, 1, 0, 6);
	add(&g, 2, 0, 7);
	add(&g, 1, 1, 8);
	path_of(path, sizeof(path), 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(group(&g), 0);
	ck_assert_uint_eq(scan_files(g.scan), 2);
	ck_assert_uint_eq(g.counts[0].samples, 1);
	ck_assert_uint_eq(g.counts[0].bytes, 5);
	ck_assert_uint_eq(g.counts[1].bytes, 7);
	ck_assert_uint_eq(g.words.end, 32);
	end(&g);
}
END_TEST

Suite *suite_listed(void)
{
	Suite *s = suite_create("listed");
	TCase *t = tcase_create("listed");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, samples_are_grouped_by_file_and_stay_in_order);
	tcase_add_test(t, a_file_that_became_shorter_is_named);
	tcase_add_test(t, what_is_no_file_of_the_scan_takes_its_samples_along);
	suite_add_tcase(s, t);
	return s;
}
