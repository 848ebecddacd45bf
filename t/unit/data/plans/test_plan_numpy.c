/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_numpy.c - what Python calls to read npz files, and the formats that a framework
 * reads. */
#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "plan_rig.h"
#include "suites.h"

/*
 * The Python between NumPy and read(2), layer by layer, as its sources have it:
 * _bufferedreader_read_generic and _io__Buffered_seek_impl of CPython's Modules/_io/bufferedio.c,
 * Lib/zipfile.py, numpy/lib/format.py. It knows nothing of plans.
 */
#define PY_BUFFER 4096u /* st_blksize */

#define PY_MIN_READ 4096u        /* ZipExtFile.MIN_READ_SIZE */
#define NUMPY_BUFFER 262144u     /* numpy.lib.format.BUFFER_SIZE */
#define ZIP64_FROM 0xffffffffull /* of mlgen's own files */

struct call {
	enum mlgen_op op;
	uint64_t off, len, got;
};

struct python {
	struct call *calls;
	size_t count, room;
	uint64_t file_bytes;
	uint64_t raw_at; /* of the descriptor */
	uint64_t filled; /* in the buffer, which ends at raw_at */
	uint64_t left;   /* of that, not taken yet */
	/* ZipExtFile */
	uint64_t member_at, member_left, member_buffered;
};

static void py_call(struct python *py, enum mlgen_op op, uint64_t len, uint64_t got)
{
	if (py->count == py->room) {
		py->room = 2 * py->room + 16;
		py->calls = mem_realloc(py->calls, py->room * sizeof(*py->calls));
	}
	py->calls[py->count++] = (struct call){ op, py->raw_at, len, got };
}

static uint64_t raw_read(struct python *py, uint64_t len)
{
	uint64_t left = py->file_bytes - py->raw_at;
	uint64_t got = len < left ? len : left;

	py_call(py, MLGEN_READ, len, got);
	py->raw_at += got;
	return got;
}

static void buffered_read(struct python *py, uint64_t n)
{
	uint64_t take = n < py->left ? n : py->left;

	py->left -= take;
	n -= take;
	if (n == 0)
		return;
	py->left = py->filled = 0;
	while (n >= PY_BUFFER) {
		uint64_t got = raw_read(py, n / PY_BUFFER * PY_BUFFER);

		if (got == 0)
			return;
		n -= got;
	}
	while (n > 0) {
		py->filled = raw_read(py, PY_BUFFER);
		if (py->filled == 0)
			return;
		take = n < py->filled ? n : py->filled;
		py->left = py->filled - take;
		n -= take;
	}
}

static void buffered_seek(struct python *py, uint64_t to)
{
	uint64_t first = py->raw_at - py->filled;

	if (py->left > 0 && to >= first && to <= py->raw_at) {
		py->left = py->raw_at - to;
		return;
	}
	py->raw_at = to;
	py->left = py->filled = 0;
}

/* whence=SEEK_END never stays in the buffer. */
static void buffered_seek_end(struct python *py, uint64_t before)
{
	py->left = 0;
	buffered_seek(py, py->file_bytes - before);
}

/* read() without a size: FileIO.readall, a buffer one byte too large. */
static void read_all(struct python *py)
{
	uint64_t size = py->file_bytes - py->raw_at + 1;

	py_call(py, MLGEN_STAT, 0, 0);
	while (size > 0) {
		uint64_t got = raw_read(py, size);

		if (got == 0)
			break;
		size -= got;
	}
}

/* _SharedFile: every read goes to its place first. */
static void shared_read(struct python *py, uint64_t n)
{
	buffered_seek(py, py->member_at);
	buffered_read(py, n);
	py->member_at += n;
}

static void zip_open(struct python *py, uint64_t bytes)
{
	py->member_at = 0;
	shared_read(py, 30);
	shared_read(py, 5);  /* x.npy */
	shared_read(py, 20); /* zip64 */
	py->member_left = bytes;
	py->member_buffered = 0;
}

static void member_read(struct python *py, uint64_t n)
{
	if (n <= py->member_buffered) {
		py->member_buffered -= n;
		return;
	}
	n -= py->member_buffered;
	py->member_buffered = 0;
	while (n > 0 && py->member_left > 0) {
		uint64_t want = n > PY_MIN_READ ? n : PY_MIN_READ;

		if (want > py->member_left)
			want = py->member_left;
		shared_read(py, want);
		py->member_left -= want;
		if (n < want)
			py->member_buffered = want - n;
		n -= n < want ? n : want;
	}
}

static void zip_directory(struct python *py, uint64_t dir_bytes, bool is_zip64)
{
	buffered_seek_end(py, 22);
	read_all(py);
	buffered_seek_end(py, 22 + 20);
	buffered_read(py, 20);
	if (is_zip64) {
		buffered_seek_end(py, 22 + 20 + 56);
		buffered_read(py, 56);
	}
	buffered_seek(py, py->file_bytes - 22 - (is_zip64 ? 20 + 56 : 0) - dir_bytes);
	buffered_read(py, dir_bytes);
}

/* numpy.load(f)['x'], of `payload` bytes. */
static void numpy_load(struct python *py, uint64_t payload, uint64_t file_bytes)
{
	bool is_zip64 = file_bytes > ZIP64_FROM;

	py->file_bytes = file_bytes;
	py_call(py, MLGEN_OPEN, 0, 0);
	py_call(py, MLGEN_STAT, 0, 0);
	buffered_read(py, 6);
	zip_directory(py, is_zip64 ? 102 + 20 + 12 : 102, is_zip64);
	zip_open(py, 128 + payload);
	member_read(py, 6);
	zip_open(py, 128 + payload);
	member_read(py, 8);
	member_read(py, 2);
	member_read(py, 118);
	for (uint64_t at = 0; at < payload; at += NUMPY_BUFFER)
		member_read(py, payload - at < NUMPY_BUFFER ? payload - at : NUMPY_BUFFER);
	py_call(py, MLGEN_CLOSE, 0, 0);
}

/* clang-format off */
static const struct {
	uint64_t per_file, bytes;
} arrays[] = {
	{ 1, 1 }, { 1, 100 }, { 1, 4096 }, { 1, 102400 }, { 1, 262143 },
	{ 1, 262144 }, { 1, 262145 }, { 1, 8388608 }, { 1, 146600628 },
	/* the member ends with the file's first block, or next to it */
	{ 1, 3912 }, { 1, 3913 }, { 1, 3914 },
	/* ... with zipfile's first request */
	{ 1, 3967 }, { 1, 3968 }, { 1, 3969 },
	/* ... with a block: nothing is left for the buffer */
	{ 1, 8008 }, { 1, 8009 }, { 1, 8010 }, { 1, 12105 }, { 1, 262144 - 183 },
	{ 1, 266056 }, { 1, 266057 }, { 1, 266058 }, { 1, 270153 },
	{ 1, 524287 }, { 1, 524288 }, { 1, 524289 },
	{ 7, 30000 }, { 200000, 10 }, { 4, 65536 }, { 3, 1048576 },
	/* zip64 */
	{ 1, UINT64_C(5) << 30 },
};
/* clang-format on */

static void set_framework(struct plan_config *config, struct dataset *ds, uint64_t per_file,
			  uint64_t bytes)
{
	make(ds, FORMAT_NPZ, per_file, (double)bytes);
	*config =
		(struct plan_config){ .dataset = ds, .access = ACCESS_FRAMEWORK, .bs_bytes = 512 };
}

static void expect_call(const struct plan_op *op, const struct call *c, size_t i)
{
	ck_assert_msg(op->op == c->op, "%zu: %d, not %d", i, op->op, c->op);
	ck_assert_msg(op->after, "%zu does not wait", i);
	if (op->op != MLGEN_READ)
		return;
	ck_assert_msg(op->off == c->off && op->len_bytes == c->len && op->got_bytes == c->got,
		      "%zu: %lu at %lu gives %lu, not %lu at %lu gives %lu", i,
		      (unsigned long)op->len_bytes, (unsigned long)op->off,
		      (unsigned long)op->got_bytes, (unsigned long)c->len, (unsigned long)c->off,
		      (unsigned long)c->got);
}

START_TEST(framework_reads_npz_as_python_does)
{
	uint64_t per_file = arrays[_i].per_file, bytes = arrays[_i].bytes;
	struct python py = { 0 };
	struct dataset ds;
	struct plan_config config;
	struct extent x;
	struct plan_op op;
	struct plan p;

	set_framework(&config, &ds, per_file, bytes);
	numpy_load(&py, per_file * bytes, dataset_file_bytes(&ds, 0));
	/* the whole array, whichever sample of it is wanted */
	for (unsigned last = 0; last < 2; last++) {
		struct plan_counts want = { 0 }, got;

		dataset_extent(&ds, last ? per_file - 1 : 0, &x);
		plan_init(&p, &config, &x);
		for (size_t i = 0; i < py.count; i++) {
			ck_assert_msg(plan_next(&p, &op), "ends at %zu", i);
			expect_call(&op, &py.calls[i], i);
			add(&want, &op);
			ck_assert_uint_le(op.len_bytes, plan_largest_read(&config));
		}
		ck_assert(!plan_next(&p, &op));
		ck_assert(!plan_next(&p, &op));
		plan_count(&config, &x, &got);
		ck_assert(memcmp(&got, &want, sizeof(got)) == 0);
	}
	mem_free(py.calls);
	dataset_fini(&ds);
}
END_TEST

/* What strace saw of NumPy 1.24 (t/func/traces); 8 MiB: then 31 times 252 KiB and 4 KiB in turn,
 * the last short. */
static const struct {
	uint64_t len, got;
} head[] = { { 4096, 4096 }, { 23, 22 },     { 1, 0 },       { 4096, 42 },  { 4096, 124 },
	     { 4096, 4096 }, { 4096, 4096 }, { 4096, 4096 }, { 4096, 4096 } };

static void expect_read(struct plan *p, uint64_t len, uint64_t got)
{
	struct plan_op op;

	do
		ck_assert(plan_next(p, &op));
	while (op.op != MLGEN_READ);
	ck_assert_uint_eq(op.len_bytes, len);
	ck_assert_uint_eq(op.got_bytes, got);
}

static void expect_head(struct plan *p, struct plan_config *config, struct dataset *ds,
			uint64_t bytes)
{
	struct extent x;

	set_framework(config, ds, 1, bytes);
	dataset_extent(ds, 0, &x);
	plan_init(p, config, &x);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		expect_read(p, head[i].len, head[i].got);
}

static void expect_close(struct plan *p, struct dataset *ds)
{
	struct plan_op op;

	ck_assert(plan_next(p, &op));
	ck_assert_int_eq(op.op, MLGEN_CLOSE);
	ck_assert(!plan_next(p, &op));
	dataset_fini(ds);
}

START_TEST(framework_reads_npz_as_traced)
{
	struct plan_config config;
	struct dataset ds;
	struct plan p;

	expect_head(&p, &config, &ds, 102400);
	expect_read(&p, 94208, 94208);
	expect_read(&p, 4096, 498);
	expect_close(&p, &ds);
	expect_head(&p, &config, &ds, 8388608);
	expect_read(&p, 253952, 253952);
	for (int i = 0; i < 31; i++) {
		expect_read(&p, 4096, 4096);
		expect_read(&p, 258048, 258048);
	}
	expect_read(&p, 4096, 498);
	expect_close(&p, &ds);
}
END_TEST

START_TEST(framework_with_direct_reads_the_file_in_one_go)
{
	static const struct {
		uint64_t bytes, align, len;
	} files[] = {
		{ 1000, 0, 4096 },         { 1000, 512, 4096 },
		{ 4096 - 498, 512, 4096 }, { 4096 - 497, 4096, 8192 },
		{ 100000, 16384, 114688 }, { 146600628, 512, 146604032 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct plan_config config;
		struct plan_counts want = { 0 }, got;
		struct dataset ds;
		struct extent x;
		struct plan_op op[4];
		struct plan p;

		set_framework(&config, &ds, 1, files[i].bytes);
		config.direct = true;
		config.align_bytes = files[i].align;
		dataset_extent(&ds, 0, &x);
		plan_init(&p, &config, &x);
		for (int k = 0; k < 4; k++) {
			ck_assert(plan_next(&p, &op[k]));
			ck_assert(op[k].after);
			add(&want, &op[k]);
		}
		ck_assert(!plan_next(&p, &op[0]));
		ck_assert_int_eq(op[1].op, MLGEN_STAT);
		ck_assert_int_eq(op[2].op, MLGEN_READ);
		ck_assert_uint_eq(op[2].off, 0);
		ck_assert_uint_eq(op[2].len_bytes, files[i].len);
		ck_assert_uint_eq(op[2].got_bytes, files[i].bytes + 498);
		ck_assert_int_eq(op[3].op, MLGEN_CLOSE);
		plan_count(&config, &x, &got);
		ck_assert(memcmp(&got, &want, sizeof(got)) == 0);
		ck_assert_uint_ge(plan_largest_read(&config), files[i].len);
		dataset_fini(&ds);
	}
}
END_TEST

/* A job that passes job_check has a plan. */
START_TEST(job_check_knows_which_formats_a_framework_reads)
{
	static const struct mlgen_engine engine = {
		.name = "e",
		.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP_DIRECT,
	};

	for (int format = FORMAT_NPZ; format <= FORMAT_CSV; format++) {
		for (int direct = 0; direct < 2; direct++) {
			struct job *j = job_new("x");
			struct diag d;

			diag_init(&d);
			job_set_engine(j, &engine);
			j->format = format;
			j->direct = direct;
			j->access = ACCESS_FRAMEWORK;
			j->loader = LOADER_TFDATA; /* fits all of them */
			j->shuffle.kind = SHUFFLE_NONE;
			job_check(j, &d);
			ck_assert_int_eq(d.count == 0,
					 format_of((enum job_format)format)->framework[direct] !=
						 NULL);
			diag_fini(&d);
			job_free(j);
		}
	}
}
END_TEST

Suite *suite_plan_numpy(void)
{
	Suite *s = suite_create("plan_numpy");
	TCase *t = tcase_create("plan_numpy");
	int n = (int)(sizeof(arrays) / sizeof(arrays[0]));

	tcase_add_loop_test(t, framework_reads_npz_as_python_does, 0, n);
	tcase_add_test(t, framework_reads_npz_as_traced);
	tcase_add_test(t, framework_with_direct_reads_the_file_in_one_go);
	tcase_add_test(t, job_check_knows_which_formats_a_framework_reads);
	suite_add_tcase(s, t);
	return s;
}
