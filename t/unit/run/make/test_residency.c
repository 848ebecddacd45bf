/* SPDX-License-Identifier: Apache-2.0 */
/* test_residency.c - how much of a dataset is in memory, by a sample of its files. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/dist.h"
#include "io/host.h"
#include "run/make/make.h"
#include "suites.h"
#include "tree.h"
#include "work/workloads.h"

#define TMPFS 0x01021994

static char root[TREE_BYTES];
static struct dataset ds;
static struct clock *the_clock;

static void make(uint64_t files, const char *size)
{
	struct job job = { .directory = root,
			   .format = FORMAT_RAW,
			   .phase = PHASE_PREPARE,
			   .num_files = files,
			   .samples_per_file = 1,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	dataset_fini(&ds);
	ck_assert_int_eq(dist_parse(&job.sample_size, size, DIST_BYTES, NULL, 1024, NULL), 0);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	tree_folder(root, "/train");
}

/* A file of its size, synced; a hole would not be in the cache. */
static void write_file(uint64_t i)
{
	static char block[1 << 16];
	char path[PATH_MAX];
	uint64_t left = dataset_file_bytes(&ds, i);
	int fd;

	ck_assert_int_gt(dataset_path(&ds, i, path, sizeof(path)), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	for (uint64_t n; left; left -= n) {
		n = left < sizeof(block) ? left : sizeof(block);
		ck_assert_int_eq(write(fd, block, n), (ssize_t)n);
	}
	ck_assert_int_eq(fsync(fd), 0);
	close(fd);
}

static void drop(uint64_t i)
{
	char path[PATH_MAX];

	ck_assert_int_gt(dataset_path(&ds, i, path, sizeof(path)), 0);
	ck_assert_int_eq(pagecache_drop(path), 0);
}

static bool is_tmpfs(void)
{
	struct statfs s;

	return statfs(root, &s) == 0 && s.f_type == TMPFS;
}

static void set_up(void)
{
	tree_make(root);
	the_clock = clock_new_virtual(1000);
	clock_join(the_clock);
}

static void tear_down(void)
{
	clock_leave(the_clock);
	clock_free(the_clock);
	dataset_fini(&ds);
	tree_remove(root);
}

START_TEST(what_was_written_is_there_until_it_is_dropped)
{
	struct residency r;

	make(20, "10001");
	for (uint64_t i = 0; i < 20; i++)
		write_file(i);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_uint_eq(r.files, 20);
	ck_assert_double_eq(r.percent, 100);
	ck_assert(!r.is_nothing);
	ck_assert(!residency_is_nothing(&ds, 0, the_clock, CLOCK_NEVER));
	if (is_tmpfs())
		return;
	for (uint64_t i = 0; i < 20; i++)
		drop(i);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_double_eq(r.percent, 0);
	ck_assert(r.is_nothing);
	ck_assert(residency_is_nothing(&ds, 3, the_clock, CLOCK_NEVER));
}
END_TEST

/* One file in memory is something: of 20, all are looked at. */
START_TEST(one_file_is_found)
{
	struct residency r;

	make(20, "10001");
	for (uint64_t i = 0; i < 20; i++)
		write_file(i);
	if (is_tmpfs())
		return;
	for (uint64_t i = 0; i < 20; i++)
		if (i != 13)
			drop(i);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_double_eq_tol(r.percent, 5, 1e-9);
	ck_assert(!r.is_nothing);
	for (uint64_t round = 0; round < 5; round++)
		ck_assert(!residency_is_nothing(&ds, round, the_clock, CLOCK_NEVER));
}
END_TEST

/* Of a large file parts are looked at; bytes count, not files. */
START_TEST(a_large_file_counts_by_its_size)
{
	struct residency r;

	make(2, "9m");
	write_file(0);
	write_file(1);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_double_eq(r.percent, 100);
	if (is_tmpfs())
		return;
	drop(1);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_double_eq_tol(r.percent, 50, 1e-9);
	drop(0);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert(r.is_nothing);
}
END_TEST

START_TEST(no_more_than_256_files_are_looked_at)
{
	struct residency r;

	make(300, "1");
	for (uint64_t i = 0; i < 300; i++)
		write_file(i);
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_uint_eq(r.files, RESIDENCY_FILES);
}
END_TEST

/* What was not looked at may be there. */
START_TEST(a_sample_cut_short_is_not_nothing)
{
	struct residency r;

	make(20, "10001");
	for (uint64_t i = 0; i < 20; i++) {
		write_file(i);
		drop(i);
	}
	residency_sample(&r, &ds, the_clock, 1000); /* now */
	ck_assert_uint_eq(r.files, 0);
	ck_assert(isnan(r.percent));
	ck_assert(!r.is_nothing);
	ck_assert(!residency_is_nothing(&ds, 0, the_clock, 1000));
}
END_TEST

START_TEST(files_that_cannot_be_looked_at_are_unknown)
{
	struct residency r;

	make(20, "10001");
	residency_sample(&r, &ds, the_clock, CLOCK_NEVER);
	ck_assert_uint_eq(r.files, 0);
	ck_assert(isnan(r.percent));
	ck_assert(!r.is_nothing);
}
END_TEST

Suite *suite_residency(void)
{
	Suite *s = suite_create("residency");
	TCase *t = tcase_create("residency");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, what_was_written_is_there_until_it_is_dropped);
	tcase_add_test(t, one_file_is_found);
	tcase_add_test(t, a_large_file_counts_by_its_size);
	tcase_add_test(t, no_more_than_256_files_are_looked_at);
	tcase_add_test(t, a_sample_cut_short_is_not_nothing);
	tcase_add_test(t, files_that_cannot_be_looked_at_are_unknown);
	suite_add_tcase(s, t);
	return s;
}
