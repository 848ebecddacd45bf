/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_access.c - whose calls those of a trace are. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "specimen_rig.h"
#include "suites.h"

enum { VISITS = 4 };

/* clang-format off */
static const struct explain_case {
	int format, access;
	uint64_t per_file;
	double bytes; /* of a sample */
	uint64_t bs;
	bool direct;
	/* What comes back, where it is not the same. */
	int as_format;
	uint64_t as_bs;
} cases[] = {
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 1, 102400 },
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 1, 8388608 },
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 1, 999 },
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 4, 70000 },
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 1, 8388608, .direct = true },
	{ .format = FORMAT_NPZ, .access = ACCESS_FRAMEWORK, 1, 1 << 30 },
	{ .format = FORMAT_NPY, .access = ACCESS_FRAMEWORK, 1, 102400 },
	{ .format = FORMAT_NPY, .access = ACCESS_FRAMEWORK, 1, 8388608 },
	{ .format = FORMAT_NPY, .access = ACCESS_FRAMEWORK, 3, 100 },
	{ .format = FORMAT_TFRECORD, .access = ACCESS_FRAMEWORK, 1, 2828486 },
	{ .format = FORMAT_TFRECORD, .access = ACCESS_FRAMEWORK, 1, 114244 },
	{ .format = FORMAT_TAR, .access = ACCESS_FRAMEWORK, 1, 114244 },
	{ .format = FORMAT_JPEG, .access = ACCESS_FRAMEWORK, 1, 556074 },
	{ .format = FORMAT_JPEG, .access = ACCESS_FRAMEWORK, 1, 3000 },
	{ .format = FORMAT_PNG, .access = ACCESS_FRAMEWORK, 1, 323629 },
	{ .format = FORMAT_CSV, .access = ACCESS_FRAMEWORK, 1, 114244 },
	{ .format = FORMAT_CSV, .access = ACCESS_FRAMEWORK, 5, 1000 },
	{ .format = FORMAT_INDEXED_BINARY, .access = ACCESS_FRAMEWORK, 100, 5000 },
	{ .format = FORMAT_INDEXED_BINARY, .access = ACCESS_FRAMEWORK, 64, 160 },
	{ .format = FORMAT_HDF5, .access = ACCESS_FRAMEWORK, 8, 114244 },
	{ .format = FORMAT_RAW, .access = ACCESS_PLAIN, 1, 1000000, 65536 },
	{ .format = FORMAT_RAW, .access = ACCESS_PLAIN, 32, 1000000, 65536 },
	{ .format = FORMAT_RAW, .access = ACCESS_PLAIN, 1, 3000, 65536, .as_bs = 4096 },
	{ .format = FORMAT_RAW, .access = ACCESS_PLAIN, 16, 1 << 20, 131072, .direct = true },
	{ .format = FORMAT_NPZ, .access = ACCESS_PLAIN, 1, 8388608, 1 << 20, .as_format = FORMAT_RAW },
};
/* clang-format on */

static void make_dataset(struct dataset *ds, const struct explain_case *c)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = c->format,
				 .num_files = 10,
				 .samples_per_file = c->per_file,
				 .sample_size = { .a = c->bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };
	struct mlgen_err err = { 0 };

	ck_assert_msg(dataset_init(ds, &job, 0, &err) == 0, "%s", err.text);
}

/* Visits to the first and the last sample of files, and two between. */
static void make_visits(struct explain_visit visits[VISITS], struct specimen s[VISITS],
			const struct dataset *ds, const struct explain_case *c)
{
	const struct plan_config config = {
		.dataset = ds,
		.access = (enum job_access)c->access,
		.bs_bytes = c->bs,
		.direct = c->direct,
		.align_bytes = c->direct ? 4096 : 0,
	};
	bool is_whole =
		c->access == ACCESS_FRAMEWORK &&
		(c->format == FORMAT_NPZ || c->format == FORMAT_NPY || c->format == FORMAT_CSV);

	for (unsigned i = 0; i < VISITS; i++) {
		struct extent x;

		dataset_extent(ds, i * (ds->samples_per_file - 1) / (VISITS - 1), &x);
		specimen_of_plan(&s[i], &config, &x);
		visits[i] = (struct explain_visit){
			.specimen = &s[i],
			.file_bytes = s[i].file_bytes,
			.stride_bytes = c->per_file > 1 && !is_whole ? (uint64_t)c->bytes : 0,
		};
	}
}

START_TEST(plans_are_found_by_their_calls)
{
	const struct explain_case *c = &cases[_i];
	struct explain_visit visits[VISITS];
	struct specimen s[VISITS];
	struct dataset ds;
	struct explained x;
	struct explain_input ask = { .visits = visits,
				     .count = VISITS,
				     .direct = c->direct,
				     .visits_per_file = c->per_file,
				     .hint = FORMAT_AUTO };
	int format = c->as_bs || !c->as_format ? c->format : c->as_format;

	make_dataset(&ds, c);
	make_visits(visits, s, &ds, c);
	explain(&x, &ask);
	ck_assert_msg(x.is_explained && (int)x.format == format && (int)x.access == c->access,
		      "%s per_file %u: format %u, access %u, calls %.3f, reads %.3f",
		      format_of((enum job_format)c->format)->name, (unsigned)c->per_file, x.format,
		      x.access, x.calls, x.reads);
	ck_assert_uint_eq(x.of, VISITS);
	ck_assert_uint_eq(x.equal, VISITS);
	ck_assert_uint_eq(x.samples_per_file, c->per_file);
	if (c->access == ACCESS_PLAIN)
		ck_assert_uint_eq(x.bs_bytes, c->as_bs ? c->as_bs : c->bs);
	for (unsigned i = 0; i < VISITS; i++)
		specimen_rig_fini(&s[i]);
	dataset_fini(&ds);
}
END_TEST

/* What strace has seen of Python, but for lseek, fcntl and ioctl. */
static const struct capture_case {
	const char *what, *calls;
	uint64_t file_bytes;
	bool is_explained;
	int format;
	uint64_t stride_bytes;
} captures[] = {
	{ "numpy.load of a large npz file",
	  "open stat 4096@0 stat 23@8388842=22 1@8388864=0 4096@8388822=42 4096@8388791=73 4096@0 "
	  "4096@4096 4096@0 4096@4096 253952@8192 4096@262144 258048@266240 4096@524288 "
	  "258048@528384 4096@786432 258048@790528 4096@1048576 258048@1052672 4096@1310720 "
	  "258048@1314816 4096@1572864 258048@1576960 4096@1835008 258048@1839104 4096@2097152 "
	  "258048@2101248 4096@2359296 258048@2363392 4096@2621440 258048@2625536 4096@2883584 "
	  "258048@2887680 4096@3145728 258048@3149824 4096@3407872 258048@3411968 4096@3670016 "
	  "258048@3674112 4096@3932160 258048@3936256 4096@4194304 258048@4198400 4096@4456448 "
	  "258048@4460544 4096@4718592 258048@4722688 4096@4980736 258048@4984832 4096@5242880 "
	  "258048@5246976 4096@5505024 258048@5509120 4096@5767168 258048@5771264 4096@6029312 "
	  "258048@6033408 4096@6291456 258048@6295552 4096@6553600 258048@6557696 4096@6815744 "
	  "258048@6819840 4096@7077888 258048@7081984 4096@7340032 258048@7344128 4096@7602176 "
	  "258048@7606272 4096@7864320 258048@7868416 4096@8126464 258048@8130560 4096@8388608=256 "
	  "close",
	  8388864, true, FORMAT_NPZ, 0 },
	{ "both arrays of it",
	  "open stat 4096@0 stat 23@8389084=22 1@8389106=0 4096@8389064=42 4096@8388982=124 4096@0 "
	  "4096@4096 4096@0 4096@4096 253952@8192 4096@262144 258048@266240 4096@524288 "
	  "258048@528384 4096@786432 258048@790528 4096@1048576 258048@1052672 4096@1310720 "
	  "258048@1314816 4096@1572864 258048@1576960 4096@1835008 258048@1839104 4096@2097152 "
	  "258048@2101248 4096@2359296 258048@2363392 4096@2621440 258048@2625536 4096@2883584 "
	  "258048@2887680 4096@3145728 258048@3149824 4096@3407872 258048@3411968 4096@3670016 "
	  "258048@3674112 4096@3932160 258048@3936256 4096@4194304 258048@4198400 4096@4456448 "
	  "258048@4460544 4096@4718592 258048@4722688 4096@4980736 258048@4984832 4096@5242880 "
	  "258048@5246976 4096@5505024 258048@5509120 4096@5767168 258048@5771264 4096@6029312 "
	  "258048@6033408 4096@6291456 258048@6295552 4096@6553600 258048@6557696 4096@6815744 "
	  "258048@6819840 4096@7077888 258048@7081984 4096@7340032 258048@7344128 4096@7602176 "
	  "258048@7606272 4096@7864320 258048@7868416 4096@8126464 258048@8130560 4096@8388608=498 "
	  "close",
	  8389106, true, FORMAT_NPZ, 0 },
	{ "numpy.load of a large npy file",
	  "open stat 4096@0 stat 128@0 4096@0 8384512@4096 4096@8388608=128 close close", 8388736,
	  true, FORMAT_NPY, 0 },
	{ "h5py and a row of a contiguous data set",
	  "open stat 8@0 16@0 80@16 512@96 512@680 544@136 328@1072 512@800 114244@344780 close",
	  916000, true, FORMAT_HDF5, .stride_bytes = 114244 },
	{ "numpy.load of an npz file with one array, where mlgen makes two: of so small a file "
	  "other requests",
	  "open stat 4096@0 stat 23@102634=22 1@102656=0 4096@102614=42 4096@102583=73 4096@0 "
	  "4096@4096 4096@0 4096@4096 94208@8192 4096@102400=256 close",
	  102656, false, 0, 0 },
	{ "numpy.load of an npy file: a copy of the descriptor is closed",
	  "open stat 4096@0 stat 128@0 4096@0 98304@4096 4096@102400=128 close close", 102528, true,
	  FORMAT_NPY, 0 },
	{ "Pillow and a JPEG file",
	  "open stat 4096@0 61440@4096 65536@65536 65536@131072 65536@196608 65536@262144 "
	  "65536@327680 65536@393216 65536@458752 65536@524288=31786 32768@556074=0 close",
	  556074, true, FORMAT_JPEG, 0 },
	{ "the same, never closed",
	  "open stat 4096@0 61440@4096 65536@65536 65536@131072 65536@196608 65536@262144 "
	  "65536@327680 65536@393216 65536@458752 65536@524288=31786 32768@556074=0",
	  556074, true, FORMAT_JPEG, 0 },
	{ "pandas.read_csv",
	  "open stat 262144@0 262144@262144=145550 116594@407694=0 262144@407694=0", 407694, true,
	  FORMAT_CSV, 0 },
	{ "open(f).read() of Python is nobody's plan",
	  "open stat 100001@0=100000 65536@100000=0 close", 100000, false, 0, 0 },
	{ "two small reads and a large one", "open 8@0 8@99992 16384@40000 close", 100000, false, 0,
	  0 },
	{ "a file that is mapped", "open stat mmap close", 100000, false, 0, 0 },
};

START_TEST(calls_of_frameworks_are_known)
{
	const struct capture_case *c = &captures[_i];
	struct specimen s;
	struct explain_visit visit = { .specimen = &s,
				       .file_bytes = c->file_bytes,
				       .stride_bytes = c->stride_bytes };
	const struct explain_input ask = {
		.visits = &visit, .count = 1, .visits_per_file = 1, .hint = FORMAT_AUTO
	};
	struct explained x;

	specimen_of_text(&s, c->calls);
	explain(&x, &ask);
	ck_assert_msg(x.is_explained == c->is_explained,
		      "%s: format %u, access %u, calls %.3f, reads %.3f", c->what, x.format,
		      x.access, x.calls, x.reads);
	if (c->is_explained) {
		ck_assert_int_eq(x.format, c->format);
		ck_assert_int_eq(x.access, ACCESS_FRAMEWORK);
	}
	specimen_rig_fini(&s);
}
END_TEST

Suite *suite_distil_access(void)
{
	Suite *s = suite_create("distil_access");
	TCase *tc = tcase_create("explain");

	tcase_add_loop_test(tc, plans_are_found_by_their_calls, 0, ARRAY_LEN(cases));
	tcase_add_loop_test(tc, calls_of_frameworks_are_known, 0, ARRAY_LEN(captures));
	suite_add_tcase(s, tc);
	return s;
}
