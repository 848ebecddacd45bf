/* SPDX-License-Identifier: Apache-2.0 */
/* test_pyfile.c - the reads of a Python program on a file, and those of a zip archive's member. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/file/file.h"
#include "data/plans/plans_internal.h"
#include "suites.h"

/* clang-format off */
/* r = read, s = seek, e = seek from the end, a = read all. */
static const struct program {
	uint64_t file_bytes;
	struct { char call; uint64_t v; } calls[6];
	const char *reads;
	uint64_t tell;
} programs[] = {
	{ 10000, { { 'r', 6 } }, "4096@0", 6 },
	{ 100, { { 'r', 6 } }, "4096@0", 6 },
	{ 10000, { { 'r', 6 }, { 's', 0 }, { 'r', 100 } }, "4096@0", 100 },
	{ 10000, { { 'r', 4096 } }, "4096@0", 4096 },
	{ 10000, { { 'r', 5000 } }, "4096@0 4096@4096", 5000 },
	{ 10000, { { 'r', 8192 } }, "8192@0", 8192 },
	{ 10000, { { 'r', 6 }, { 'r', 5000 } }, "4096@0 4096@4096", 5006 },
	{ 20000, { { 'r', 6 }, { 'r', 12282 } }, "4096@0 8192@4096", 12288 },
	{ 20000, { { 'r', 6 }, { 'r', 12283 } },
	  "4096@0 8192@4096 4096@12288", 12289 },
	/* a buffer that is used up is no buffer */
	{ 10000, { { 'r', 4096 }, { 's', 0 }, { 'r', 1 } }, "4096@0 4096@0", 1 },
	{ 10000, { { 'r', 1 }, { 'r', 4095 }, { 's', 0 }, { 'r', 1 } },
	  "4096@0 4096@0", 1 },
	{ 10000, { { 'r', 1 }, { 's', 4096 }, { 'r', 1 } }, "4096@0 4096@4096", 4097 },
	{ 10000, { { 'r', 1 }, { 's', 4097 }, { 'r', 1 } }, "4096@0 4096@4097", 4098 },
	{ 10000, { { 's', 5000 }, { 'r', 9 }, { 's', 4999 }, { 'r', 1 } },
	  "4096@5000 4096@4999", 5000 },
	/* the end: what is asked for goes on until nothing comes */
	{ 5000, { { 'r', 9000 } }, "8192@0 4096@5000", 5000 },
	{ 5000, { { 'r', 5000 } }, "4096@0 4096@4096", 5000 },
	{ 5000, { { 'r', 5001 } }, "4096@0 4096@4096 3192@5000", 5000 },
	{ 8192, { { 'r', 16384 } }, "16384@0 8192@8192", 8192 },
	{ 5000, { { 's', 4000 }, { 'r', 4096 } }, "4096@4000 4096@5000", 5000 },
	{ 5000, { { 'e', 4978 }, { 'a', 0 } }, "23@4978 1@5000", 5000 },
	{ 5000, { { 'e', 5000 }, { 'a', 0 } }, "1@5000", 5000 },
	{ 5000, { { 'r', 1 }, { 'e', 1 }, { 'r', 1 } }, "4096@0 4096@1", 2 },
	{ 0, { { 'r', 1 } }, "4096@0", 0 },
	/* what the kernel gives in one call */
	{ UINT64_C(5) << 30, { { 'r', UINT64_C(5) << 30 } },
	  "2147479552@0 2147479552@2147479552 1073750016@4294959104",
	  UINT64_C(5) << 30 },
};
/* clang-format on */
#define PROGRAMS ((int)(sizeof(programs) / sizeof(programs[0])))

static void add_reads(struct pyfile *f, char *out, size_t size)
{
	uint64_t off, bytes;

	while (pyfile_next(f, &off, &bytes)) {
		size_t n = strlen(out);

		snprintf(out + n, size - n, "%s%" PRIu64 "@%" PRIu64, n ? " " : "", bytes, off);
	}
}

START_TEST(a_program_becomes_reads)
{
	const struct program *p = &programs[_i];
	char reads[256] = "";
	struct pyfile f;

	pyfile_open(&f, p->file_bytes);
	for (unsigned i = 0; i < 6 && p->calls[i].call; i++) {
		uint64_t v = p->calls[i].v;

		if (p->calls[i].call == 'r')
			pyfile_read(&f, v);
		else if (p->calls[i].call == 's')
			pyfile_seek(&f, v);
		else if (p->calls[i].call == 'e')
			pyfile_seek_end(&f, v);
		else
			pyfile_read_all(&f);
		add_reads(&f, reads, sizeof(reads));
	}
	ck_assert_str_eq(reads, p->reads);
	ck_assert_uint_eq(pyfile_tell(&f), p->tell);
}
END_TEST

/* What a member gives, asked for so many bytes again and again. */
static void read_member(const struct zip_member *m, uint64_t each, char *out, size_t size)
{
	uint64_t left = m->plain_bytes;
	struct zipread z;
	struct pyfile f;

	*out = '\0';
	pyfile_open(&f, m->stored_bytes);
	zipread_open(&z, m);
	while (left) {
		zipread_read(&z, each < left ? each : left);
		while (zipread_more(&z, &f))
			add_reads(&f, out, size);
		left -= each < left ? each : left;
	}
	ck_assert_uint_eq(z.taken, m->stored_bytes);
	ck_assert_uint_eq(z.ready, 0);
}

/* clang-format off */
static const struct member_case {
	struct zip_member member;
	uint64_t each;
	const char *reads;
} members[] = {
	{ { .stored_bytes = 100, .plain_bytes = 100 }, 10, "4096@0" },
	{ { .stored_bytes = 10000, .plain_bytes = 10000 }, 6000,
	  "4096@0 4096@4096 4096@8192" },
	{ { .stored_bytes = 9000, .plain_bytes = 9000 }, 128,
	  "4096@0 4096@4096 4096@8192" },
	/* 4 KiB give 40: they last for some requests */
	{ { .stored_bytes = 10000, .plain_bytes = 100000, .is_deflated = true },
	  30000, "8192@0 4096@8192" },
	/* no less than 4 KiB is asked for, and no more than there is */
	{ { .stored_bytes = 100000, .plain_bytes = 1000, .is_deflated = true },
	  1000, "4096@0 4096@4096 4096@8192 4096@12288 4096@16384 4096@20480 4096@24576 4096@28672 4096@32768 4096@36864 4096@40960 4096@45056 4096@49152 4096@53248 4096@57344 4096@61440 4096@65536 4096@69632 4096@73728 4096@77824 4096@81920 4096@86016 4096@90112 4096@94208 4096@98304" },
};
/* clang-format on */
#define MEMBERS ((int)(sizeof(members) / sizeof(members[0])))

START_TEST(a_member_is_read_to_its_end)
{
	const struct member_case *c = &members[_i];
	char reads[1024];

	read_member(&c->member, c->each, reads, sizeof(reads));
	ck_assert_str_eq(reads, c->reads);
}
END_TEST

START_TEST(a_member_that_lies_about_its_sizes_ends)
{
	const struct zip_member wrong[] = {
		{ .stored_bytes = 0, .plain_bytes = 100, .is_deflated = true },
		{ .stored_bytes = 100, .plain_bytes = 0, .is_deflated = true },
		{ .stored_bytes = 1, .plain_bytes = 1000000, .is_deflated = true },
		{ .stored_bytes = 10, .plain_bytes = 100 },
	};

	for (unsigned i = 0; i < 4; i++) {
		unsigned asked = 0;
		struct zipread z;
		struct pyfile f;
		char reads[64];

		pyfile_open(&f, 1000);
		zipread_open(&z, &wrong[i]);
		zipread_read(&z, 2000000);
		for (; zipread_more(&z, &f); asked++) {
			*reads = '\0';
			add_reads(&f, reads, sizeof(reads));
		}
		ck_assert_uint_le(asked, 2);
	}
}
END_TEST

Suite *suite_pyfile(void)
{
	Suite *s = suite_create("pyfile");
	TCase *t = tcase_create("pyfile");

	tcase_add_loop_test(t, a_program_becomes_reads, 0, PROGRAMS);
	tcase_add_loop_test(t, a_member_is_read_to_its_end, 0, MEMBERS);
	tcase_add_test(t, a_member_that_lies_about_its_sizes_ends);
	suite_add_tcase(s, t);
	return s;
}
