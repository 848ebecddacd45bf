/* SPDX-License-Identifier: Apache-2.0 */
/* test_hdf5.c - HDF5 files are those of libhdf5, and are read as h5py reads them. */
#include <check.h>

#include "config.h"
#include "data/file/file.h"
#include "suites.h"

#ifdef HAVE_HDF5

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/formats/hdf5/hdf5.h"
#include "data/formats/hdf5/hdf5_internal.h"
#include "tree.h"

#define LEAST_BUFFER 65536u
/* Of this layout: as seen of h5py for every shape. */
#define HEAD_BYTES 2048u

/* Sides of `records`: of two dimensions where the third is 0. */
static const uint64_t shapes[][HDF5_RANK_MAX] = {
	{ 1, 1 },
	{ 1, 2 },
	{ 2, 1 },
	{ 8, 114244 },
	{ 1, 2047 },
	{ 1, 2048 },
	{ 1, 2049 },
	{ 3, 500 },
	{ 255, 256 },
	{ 65536, 65537 }, /* more than 4 GiB */
	{ 1009, 113 },    /* the numbers that hdf5.c looks for */
	{ 113, 1009 },
	{ 2048, 2048 },
	{ 96, 136 }, /* that the metadata has, too */
	{ 1, UINT64_C(70000000000) },
	{ UINT64_C(5000000000), 2 },
	{ 1, 1, 1 },
	{ 1, 338, 338 },
	{ 64, 1, 700 },
	{ 3, 2, 1 },
	{ 40, 30000, 50000 },
	{ 1009, 113, 11 },
	{ 11, 1009, 113 },
};
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

static unsigned rank_of(const uint64_t *sides)
{
	return sides[2] ? 3 : 2;
}

static struct hdf5_image *image(unsigned rank)
{
	struct hdf5_image *im = mem_zalloc(sizeof(*im));
	struct mlgen_err err = { 0 };

	ck_assert_msg(hdf5_image_init(im, rank, &err) == 0, "%s", err.text);
	return im;
}

/* A file of that shape by libhdf5, with holes for samples. */
static void make_file(const char *path, const uint64_t *sides)
{
	static const hsize_t first[HDF5_RANK_MAX] = { 0 };
	const hsize_t dims[] = { sides[0], sides[1], sides[2] };
	const struct hdf5_library *h5 = hdf5_library(NULL);
	const uint8_t byte = 0;
	hid_t file = h5->Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t space = h5->Screate_simple((int)rank_of(sides), dims, NULL);
	hid_t plist = h5->Pcreate(*h5->P_CLS_DATASET_CREATE_ID);
	hid_t one = h5->Screate(H5S_SCALAR);
	hid_t dataset;

	h5->Pset_obj_track_times(plist, 0);
	dataset = h5->Dcreate2(file, "records", *h5->T_NATIVE_UINT8, space, H5P_DEFAULT, plist,
			       H5P_DEFAULT);
	ck_assert_int_ge(h5->Sselect_elements(space, H5S_SELECT_SET, 1, first), 0);
	ck_assert_int_ge(h5->Dwrite(dataset, *h5->T_NATIVE_UINT8, one, space, H5P_DEFAULT, &byte),
			 0);
	ck_assert_uint_eq(h5->Dget_offset(dataset), HEAD_BYTES);
	h5->Sclose(one);
	h5->Pclose(plist);
	h5->Sclose(space);
	h5->Dclose(dataset);
	ck_assert_int_ge(h5->Fclose(file), 0);
}

START_TEST(metadata_is_what_libhdf5_makes_of_that_shape)
{
	const uint64_t *sides = shapes[_i];
	struct hdf5_image *im = image(rank_of(sides));
	uint8_t theirs[HEAD_BYTES], mine[HDF5_IMAGE_MAX];
	char root[TREE_BYTES], path[TREE_BYTES + 16];
	int fd;

	tree_make(root);
	tree_name(path, sizeof(path), root, "/file.h5");
	make_file(path, sides);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(im->head_bytes, HEAD_BYTES);
	hdf5_image_fill(im, sides, mine);
	ck_assert_int_eq(pread(fd, theirs, HEAD_BYTES, 0), HEAD_BYTES);
	ck_assert(memcmp(mine, theirs, HEAD_BYTES) == 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END),
			 (off_t)(HEAD_BYTES + sides[0] * sides[1] * (sides[2] ? sides[2] : 1)));
	close(fd);
	tree_remove(root);
	mem_free(im);
}
END_TEST

/* As captured of h5py 3.7.0 on HDF5 1.10.8, strace 6.1. */
/* Behind them is the second stat. */
enum { ROOT_READS = 4 };

static const struct hdf5_read captured[] = {
	{ 0, 8 },     { 0, 16 },    { 16, 80 },    { 96, 512 },
	{ 680, 512 }, { 136, 544 }, { 1072, 328 }, { 800, 512 },
};
#define CAPTURED (sizeof(captured) / sizeof(captured[0]))

START_TEST(metadata_is_read_alike_for_every_shape)
{
	const uint64_t *sides = shapes[_i];
	struct hdf5_image *im = image(rank_of(sides));
	struct hdf5_image *other = mem_zalloc(sizeof(*other));

	*other = *im;
	ck_assert_int_eq(hdf5_image_record_reads(other, sides), 0);
	ck_assert_uint_gt(im->read_count, 0);
	ck_assert_uint_eq(other->read_count, im->read_count);
	ck_assert(memcmp(other->reads, im->reads, sizeof(im->reads)) == 0);
	mem_free(other);
	mem_free(im);
}
END_TEST

START_TEST(a_damaged_file_is_an_error_and_nothing_is_printed)
{
	static const unsigned places[] = { 0, 96, 680, 800 };
	struct hdf5_image *im = image(2);

	im->head[places[_i]] ^= 0x55;
	ck_assert_int_lt(hdf5_image_record_reads(im, shapes[3]), 0);
	mem_free(im);
}
END_TEST

static void make(struct dataset *ds, uint64_t per_file, struct dist size)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_HDF5,
				 .num_files = 10,
				 .samples_per_file = per_file,
				 .sample_size = size,
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

static struct dist bytes_each(double bytes)
{
	return (struct dist){ .a = bytes };
}

static struct dist as_dlio(double mean, double stdev)
{
	return (struct dist){ .kind = DIST_DLIO, .a = mean, .b = stdev };
}

START_TEST(sizes_and_places_are_computed)
{
	static const struct {
		uint64_t samples, bytes;
	} cases[] = { { 1, 1 }, { 7, 33 }, { 8, 114244 }, { 1, UINT64_C(70000000000) } };
	uint64_t n = cases[_i].samples, bytes = cases[_i].bytes, off, len;
	struct file_shape shape;
	struct dataset ds;

	make(&ds, n, bytes_each((double)bytes));
	format_shape(&ds, 3, &shape);
	ck_assert_uint_eq(format_hdf5.file_bytes(&shape), HEAD_BYTES + n * bytes);
	format_hdf5.sample_range(&shape, 0, n, &off, &len);
	ck_assert_uint_eq(off, HEAD_BYTES);
	ck_assert_uint_eq(len, n * bytes);
	format_hdf5.sample_range(&shape, n - 1, 1, &off, &len);
	ck_assert_uint_eq(off, HEAD_BYTES + (n - 1) * bytes);
	ck_assert_uint_eq(len, bytes);
	dataset_fini(&ds);
}
END_TEST

/* The whole file, written in chunks of at most `chunk` bytes. */
static uint8_t *whole(const struct file_shape *shape, size_t chunk)
{
	struct format_writer w = { .shape = *shape, .seed_index = 3 };
	uint64_t total = format_hdf5.file_bytes(shape), end = 0, off;
	uint8_t *file = mem_zalloc(total), *buf = mem_zalloc(chunk);
	size_t len;

	while (format_hdf5.write_next(&w, buf, chunk, &off, &len)) {
		ck_assert_uint_gt(len, 0);
		ck_assert_uint_le(len, chunk);
		ck_assert_uint_eq(off, end);
		end = off + len;
		ck_assert_uint_le(end, total);
		memcpy(file + off, buf, len);
	}
	ck_assert_uint_eq(end, total);
	mem_free(buf);
	return file;
}

START_TEST(files_do_not_depend_on_the_buffer)
{
	static const struct {
		uint64_t samples;
		double bytes;
		bool two_sides;
	} cases[] = { { 1, 1, false },
		      { 5, 100000, false },
		      { 1, LEAST_BUFFER - HEAD_BYTES, false },
		      { 1, LEAST_BUFFER - HEAD_BYTES + 1, false },
		      { 3, 200000, true } };
	double bytes = cases[_i].bytes;
	struct file_shape shape;
	struct dataset ds;
	size_t total;
	uint8_t *a, *b, *c;

	make(&ds, cases[_i].samples, cases[_i].two_sides ? as_dlio(bytes, 10) : bytes_each(bytes));
	format_shape(&ds, 2, &shape);
	ck_assert(shape.two_sides == cases[_i].two_sides);
	total = format_hdf5.file_bytes(&shape);
	a = whole(&shape, LEAST_BUFFER);
	b = whole(&shape, LEAST_BUFFER + 13);
	c = whole(&shape, 1 << 20);
	ck_assert(memcmp(a, b, total) == 0);
	ck_assert(memcmp(a, c, total) == 0);
	ck_assert(memcmp(a, format_hdf5.magic, format_hdf5.magic_bytes) == 0);
	/* behind the metadata nothing but content */
	format_content(b, total - HEAD_BYTES, 3, 0);
	ck_assert(memcmp(a + HEAD_BYTES, b, total - HEAD_BYTES) == 0);
	mem_free(a);
	mem_free(b);
	mem_free(c);
	dataset_fini(&ds);
}
END_TEST

START_TEST(metadata_has_the_sides_of_the_file)
{
	const bool two = _i == 1;
	uint64_t sides[HDF5_RANK_MAX] = { 3 };
	uint8_t want[HDF5_IMAGE_MAX];
	struct file_shape shape;
	struct dataset ds;
	uint8_t *file;

	make(&ds, 3, two ? as_dlio(200000, 90000) : bytes_each(5000));
	for (uint64_t i = 0; i < 10; i++) {
		format_shape(&ds, i, &shape);
		sides[1] = two ? shape.sides[0] : 5000;
		sides[2] = two ? shape.sides[1] : 0;
		hdf5_image_fill(ds.common, sides, want);
		file = whole(&shape, 1 << 20);
		ck_assert(memcmp(file, want, HEAD_BYTES) == 0);
		mem_free(file);
	}
	dataset_fini(&ds);
}
END_TEST

static void plan_of(struct plan *p, struct plan_config *config, const struct dataset *ds,
		    uint64_t sample)
{
	struct extent x;

	*config =
		(struct plan_config){ .dataset = ds, .access = ACCESS_FRAMEWORK, .bs_bytes = 512 };
	dataset_extent(ds, sample, &x);
	plan_init(p, config, &x);
}

static void expect(struct plan *p, enum mlgen_op op, uint64_t off, uint64_t len)
{
	struct plan_op got;

	ck_assert(plan_next(p, &got));
	ck_assert_int_eq(got.op, op);
	ck_assert_msg(got.off == off && got.len_bytes == len, "%lu at %lu, not %lu at %lu",
		      (unsigned long)got.len_bytes, (unsigned long)got.off, (unsigned long)len,
		      (unsigned long)off);
	ck_assert(got.after);
	ck_assert_uint_eq(got.got_bytes, len);
}

START_TEST(a_sample_is_read_as_h5py_was_seen_to)
{
	struct plan_config config;
	struct plan_op op;
	struct dataset ds;
	struct plan p;

	make(&ds, 8, bytes_each(114244));
	plan_of(&p, &config, &ds, 2 * 8 + 3);
	expect(&p, MLGEN_OPEN, 0, 0);
	expect(&p, MLGEN_STAT, 0, 0);
	for (size_t i = 0; i < CAPTURED; i++) {
		if (i == ROOT_READS)
			expect(&p, MLGEN_STAT, 0, 0);
		expect(&p, MLGEN_READ, captured[i].off, captured[i].len_bytes);
	}
	expect(&p, MLGEN_READ, 344780, 114244);
	expect(&p, MLGEN_CLOSE, 0, 0);
	ck_assert(!plan_next(&p, &op));
	ck_assert(!plan_next(&p, &op));
	dataset_fini(&ds);
}
END_TEST

START_TEST(small_samples_are_read_with_what_follows)
{
	static const struct {
		uint64_t samples, bytes, sample, len;
	} cases[] = {
		{ 1, 1, 0, 1 },           { 10, 1000, 3, 7000 },
		{ 10, 1000, 9, 1000 },    { 10, 10000, 3, 65536 },
		{ 10, 10000, 6, 40000 },  { 20, 65535, 3, 65536 },
		{ 20, 65536, 3, 65536 },  { 20, 65537, 3, 65537 },
		{ 20, 65537, 19, 65537 }, { 1, UINT64_C(5) << 30, 0, UINT64_C(5) << 30 },
	};
	const uint64_t bytes = cases[_i].bytes, sample = cases[_i].sample;
	const struct hdf5_image *im;
	struct plan_config config;
	struct dataset ds;
	struct plan p;

	make(&ds, cases[_i].samples, bytes_each((double)bytes));
	im = ds.common;
	plan_of(&p, &config, &ds, sample);
	expect(&p, MLGEN_OPEN, 0, 0);
	expect(&p, MLGEN_STAT, 0, 0);
	for (unsigned i = 0; i < im->read_count; i++) {
		if (i == ROOT_READS)
			expect(&p, MLGEN_STAT, 0, 0);
		expect(&p, MLGEN_READ, im->reads[i].off, im->reads[i].len_bytes);
	}
	expect(&p, MLGEN_READ, HEAD_BYTES + sample * bytes, cases[_i].len);
	expect(&p, MLGEN_CLOSE, 0, 0);
	dataset_fini(&ds);
}
END_TEST

START_TEST(reads_are_counted)
{
	struct plan_config config;
	struct plan_counts counts;
	struct dataset ds;
	struct extent x;
	uint64_t bytes;
	struct plan p;

	make(&ds, 8, as_dlio(114244, 1000));
	plan_of(&p, &config, &ds, 3);
	dataset_extent(&ds, 3, &x);
	plan_count(&config, &x, &counts);
	ck_assert_uint_eq(counts.ops[MLGEN_OPEN], 1);
	ck_assert_uint_eq(counts.ops[MLGEN_STAT], 2);
	ck_assert_uint_eq(counts.ops[MLGEN_READ], CAPTURED + 1);
	ck_assert_uint_eq(counts.ops[MLGEN_CLOSE], 1);
	bytes = dataset_sample_bytes(&ds, 0);
	for (size_t i = 0; i < CAPTURED; i++)
		bytes += captured[i].len_bytes;
	ck_assert_uint_eq(counts.io_bytes, bytes);
	ck_assert_uint_eq(plan_largest_read(&config), UINT64_MAX);
	dataset_fini(&ds);
}
END_TEST

static TCase *reading(void)
{
	TCase *t = tcase_create("reading");

	tcase_add_loop_test(t, metadata_is_read_alike_for_every_shape, 0, SHAPES);
	tcase_add_loop_test(t, a_damaged_file_is_an_error_and_nothing_is_printed, 0, 4);
	tcase_add_test(t, a_sample_is_read_as_h5py_was_seen_to);
	tcase_add_loop_test(t, small_samples_are_read_with_what_follows, 0, 10);
	tcase_add_test(t, reads_are_counted);
	return t;
}

Suite *suite_hdf5(void)
{
	Suite *s = suite_create("hdf5");
	TCase *t = tcase_create("files");

	tcase_add_loop_test(t, metadata_is_what_libhdf5_makes_of_that_shape, 0, SHAPES);
	tcase_add_loop_test(t, sizes_and_places_are_computed, 0, 4);
	tcase_add_loop_test(t, files_do_not_depend_on_the_buffer, 0, 5);
	tcase_add_loop_test(t, metadata_has_the_sides_of_the_file, 0, 2);
	suite_add_tcase(s, t);
	suite_add_tcase(s, reading());
	return s;
}

#else

START_TEST(what_is_missing_is_named)
{
	ck_assert_str_eq(format_hdf5.needs, "hdf5 (" PACKAGES_HDF5 ")");
}
END_TEST

Suite *suite_hdf5(void)
{
	Suite *s = suite_create("hdf5");
	TCase *t = tcase_create("left out");

	tcase_add_test(t, what_is_missing_is_named);
	suite_add_tcase(s, t);
	return s;
}

#endif
