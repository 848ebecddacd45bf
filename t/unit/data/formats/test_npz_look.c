/* SPDX-License-Identifier: Apache-2.0 */
/* test_npz_look.c - arrays of archives and headers that somebody else wrote, whole and damaged. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/formats/formats.h"
#include "data/formats/formats_internal.h"
#include "found_file.h"
#include "plan_text.h"
#include "suites.h"
#include "written.h"

#define SAMPLE 300000u

static uint8_t *archive(size_t *bytes)
{
	const struct file_shape shape = { .samples = 1, .sides = { 1, SAMPLE } };

	*bytes = (size_t)format_npz.file_bytes(&shape);
	return whole(&format_npz, &shape, 3, LEAST_BUFFER);
}

static void look(struct found *f, const void *data, size_t bytes, const char *key)
{
	char key_copy[64], name[64];
	struct format_options options = { .scan_key = NULL };
	int fd = found_make(data, bytes, name);

	ck_assert_int_ge(fd, 0);
	if (key) {
		snprintf(key_copy, sizeof(key_copy), "%s", key);
		options.scan_key = key_copy;
	}
	found_path(f, &format_npz, name, bytes, &options);
	close(fd);
}

START_TEST(what_mlgen_makes_is_found_and_read_as_it_was_made)
{
	const struct file_shape made = { .samples = 1, .sides = { 1, SAMPLE } };
	struct npz_array a, b;
	struct found f;
	size_t bytes;
	uint8_t *file = archive(&bytes);
	uint64_t off, len;

	look(&f, file, bytes, NULL);
	ck_assert_msg(f.result == 0, "%s", f.err.text);
	ck_assert_uint_eq(f.look.samples, 1);
	ck_assert_uint_eq(f.look.word_count, 0);
	npz_array(&made, &a);
	npz_array(&f.shape, &b);
	ck_assert_uint_eq(a.dir_off, b.dir_off);
	ck_assert_uint_eq(a.dir_bytes, b.dir_bytes);
	ck_assert_uint_eq(a.end_off, b.end_off);
	ck_assert_uint_eq(a.data_bytes, b.data_bytes);
	ck_assert_uint_eq(a.header_bytes, b.header_bytes);
	ck_assert_uint_eq(a.item_bytes, b.item_bytes);
	ck_assert(memcmp(&a.member, &b.member, sizeof(a.member)) == 0);
	format_sample_range(&format_npz, &f.shape, 0, 1, &off, &len);
	ck_assert_uint_eq(off, NPZ_HEAD_BYTES);
	ck_assert_uint_eq(len, SAMPLE);
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

START_TEST(a_key_names_a_member)
{
	static const struct {
		const char *key;
		uint64_t data_bytes;
	} keys[] = { { "x", SAMPLE }, { "x.npy", SAMPLE }, { "y", 8 } };
	struct found f;
	size_t bytes;
	uint8_t *file = archive(&bytes);

	for (unsigned i = 0; i < 3; i++) {
		struct npz_array a;

		look(&f, file, bytes, keys[i].key);
		ck_assert_msg(f.result == 0, "%s", f.err.text);
		npz_array(&f.shape, &a);
		ck_assert_uint_eq(a.data_bytes, keys[i].data_bytes);
		scanned_fini(&f);
	}
	look(&f, file, bytes, "z");
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.err.text, "no member 'z'; scan_key"));
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

/* Bytes put into the archive, from its end where the offset is negative. */
static const struct damage {
	int off;
	const char *bytes;
	size_t n;
	const char *why;
} damages[] = {
	{ 0, "PK\3\3", 4, "the header of member 'x.npy' is not here" },
	{ 26, "\6\0", 2, "the header of member 'x.npy' is not here" },
	{ 28, "\xff\xff", 2, "reaches into the archive's" },
	{ 55, "\x93NUMPZ", 6, "no NumPy array begins here" },
	{ 61, "\7", 1, "other than 1.0, 2.0 and 3.0" },
	{ 63, "\xff\xff", 2, "the array is incomplete" },
	{ -22, "PK\5\7", 4, "no zip archive ends here" },
	{ -10, "\xff\xff\xff\x7f", 4, "directory should have" },
	{ -6, "\xff\xff\xff\x7f", 4, "directory should have" },
	{ -124, "PK\1\1", 4, "no entry of the archive's directory" },
	{ -124 + 8, "\1\0", 2, "encrypted" },
	{ -124 + 10, "\14\0", 2, "bzip2" },
	{ -124 + 10, "\10\0", 2, "no NumPy array begins here" },
	{ -124 + 20, "\xff\xff\xff\x7f", 4, "reaches into the archive's" },
	{ -124 + 24, "\1\1\1\1", 4, "is stored in" },
	{ -124 + 42, "\xff\xff\xff\x7f", 4, "after the archive's members" },
	{ -124 + 46, "x.txt", 5, NULL }, /* y.npy is the first array then */
	{ -124 + 28, "\xff\xff", 2, "the file ends here" },
};
#define DAMAGES ((int)(sizeof(damages) / sizeof(damages[0])))

START_TEST(an_archive_that_is_damaged_is_refused)
{
	const struct damage *d = &damages[_i];
	struct found f;
	size_t bytes;
	uint8_t *file = archive(&bytes);

	memcpy(d->off < 0 ? file + bytes - (size_t)-d->off : file + d->off, d->bytes, d->n);
	look(&f, file, bytes, NULL);
	ck_assert_int_eq(f.result, d->why ? -EINVAL : 0);
	if (d->why)
		ck_assert_msg(strstr(f.err.text, d->why) != NULL, "%s", f.err.text);
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

START_TEST(an_archive_that_is_cut_off_is_refused)
{
	static const size_t lengths[] = { 0, 1, 21, 22, 4096, SAMPLE };
	struct found f;
	size_t bytes;
	uint8_t *file = archive(&bytes);

	for (unsigned i = 0; i < 6; i++) {
		look(&f, file, lengths[i], NULL);
		ck_assert_int_eq(f.result, -EINVAL);
		scanned_fini(&f);
	}
	look(&f, file, bytes - 1, NULL);
	ck_assert_int_eq(f.result, -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.err.text, "no zip archive ends here"));
	scanned_fini(&f);
	mem_free(file);
}
END_TEST

/* clang-format off */
static const struct head_case {
	const char *text;
	uint64_t item, items, first;
	unsigned axes;
	bool fortran;
	const char *why;
} heads[] = {
	{ "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }   \n",
	  1, 12, 3, 2, false, NULL },
	{ "{'shape': (), 'descr': '<f8', 'fortran_order': False}", 8, 1, 1, 0, false, NULL },
	{ "{'descr': '<U7', 'fortran_order': True, 'shape': (5,)}", 28, 5, 5, 1, true, NULL },
	{ "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (10L, 2L)}", 8, 20, 10, 2, false, NULL },
	{ "{'descr': [('a', '<f8'), ('b', '<i4', (2, 3)), (('t', 'c'), '|S5')], 'fortran_order': False, 'shape': (2,)}", 37, 2, 2, 1, false, NULL },
	{ "{\"descr\": [('a\\'b', [('x', '|V3', (2,)), ('y', '?')]), ('', '|V1')], 'fortran_order': False, 'shape': (2, 0)}", 8, 0, 2, 2, false, NULL },
	{ "{'descr': ('<i2', (3,)), 'fortran_order': False, 'shape': (4,)}", 6, 4, 4, 1, false, NULL },
	{ "{'descr': '|O', 'fortran_order': False, 'shape': (4,)}", .why = "Python objects" },
	{ "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (4,)}", .why = "Python objects" },
	{ "{'descr': '<q9', 'fortran_order': False, 'shape': (4,)}", .why = "unknown type" },
	{ "{'descr': '<f', 'fortran_order': False, 'shape': (4,)}", .why = "number" },
	{ "{'descr': '', 'fortran_order': False, 'shape': (4,)}", .why = "empty" },
	{ "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", .why = "neither True" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", .why = "negative" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': 4}", .why = "dictionary" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", .why = "too large" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", .why = "more bytes" },
	{ "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", .why = "more bytes" },
	{ "{'descr': '<f4', 'fortran_order': False, }", .why = "lacks" },
	{ "{'descr': '<f4', 'order': False, }", .why = "a key" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)", .why = "dictionary" },
	{ "{'descr': '<f4", .why = "dictionary" },
	{ "", .why = "dictionary" },
	{ "[[[[", .why = "dictionary" },
};
/* clang-format on */
#define HEADS ((int)(sizeof(heads) / sizeof(heads[0])))

START_TEST(a_header_says_what_an_array_is)
{
	const struct head_case *c = &heads[_i];
	struct npy_head h = { 0 };
	const char *why = npy_head_text(&h, c->text, strlen(c->text));

	if (c->why) {
		ck_assert_ptr_nonnull(why);
		ck_assert_msg(strstr(why, c->why) != NULL, "%s", why);
		return;
	}
	ck_assert_msg(why == NULL, "%s", why);
	ck_assert_uint_eq(h.item_bytes, c->item);
	ck_assert_uint_eq(h.items, c->items);
	ck_assert_uint_eq(h.first_axis, c->first);
	ck_assert_uint_eq(h.axes, c->axes);
	ck_assert_int_eq(h.is_fortran, c->fortran);
}
END_TEST

START_TEST(a_header_nested_without_end_is_refused)
{
	struct npy_head h = { 0 };
	char text[1100] = "{'descr': ";
	const char *why;

	for (unsigned i = 0; i < 100; i++)
		strcat(text, "[('a', ");
	why = npy_head_text(&h, text, strlen(text));
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_nonnull(strstr(why, "nested"));
}
END_TEST

Suite *suite_npz_look(void)
{
	Suite *s = suite_create("npz_look");
	TCase *t = tcase_create("npz_look");

	tcase_add_test(t, what_mlgen_makes_is_found_and_read_as_it_was_made);
	tcase_add_test(t, a_key_names_a_member);
	tcase_add_loop_test(t, an_archive_that_is_damaged_is_refused, 0, DAMAGES);
	tcase_add_test(t, an_archive_that_is_cut_off_is_refused);
	tcase_add_loop_test(t, a_header_says_what_an_array_is, 0, HEADS);
	tcase_add_test(t, a_header_nested_without_end_is_refused);
	suite_add_tcase(s, t);
	return s;
}
