/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - the operations of every plan, one by one. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/format.h"
#include "data/plan.h"
#include "suites.h"

static void make(struct dataset *ds, int format, uint64_t per_file,
		 double bytes)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 10,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

/* clang-format off */
static const struct plan_case {
	const char *what;
	int format;
	uint64_t per_file;
	double bytes;
	uint64_t id;		/* of the extent */
	uint64_t bs, align;
	struct {
		uint64_t off, len;
		bool eof_ok;
	} reads[8];
	uint64_t io_bytes;
} cases[] = {
	{ "raw in four requests, the last one short", FORMAT_RAW, 1, 3500, 2,
	  1024, 0,
	  { { 0, 1024, false }, { 1024, 1024, false }, { 2048, 1024, false },
	    { 3072, 428, false } }, 3500 },
	{ "one request when bs is larger", FORMAT_RAW, 1, 3500, 2, 1 << 20, 0,
	  { { 0, 3500, false } }, 3500 },
	{ "no empty request at an even end", FORMAT_RAW, 1, 2048, 2, 1024, 0,
	  { { 0, 1024, false }, { 1024, 1024, false } }, 2048 },
	{ "npz with one sample is read whole", FORMAT_NPZ, 1, 1000, 0, 4096, 0,
	  { { 0, 1498, false } }, 1498 },
	{ "npz with several: the sample's bytes", FORMAT_NPZ, 4, 1000, 6, 4096,
	  0, { { 183 + 2000, 1000, false } }, 1000 },
	{ "direct: whole blocks, past the end", FORMAT_RAW, 1, 3500, 2, 1024,
	  512,
	  { { 0, 1024, false }, { 1024, 1024, false }, { 2048, 1024, false },
	    { 3072, 512, true } }, 3500 },
	{ "direct: both sides rounded inside a file", FORMAT_NPZ, 4, 1000, 6,
	  1024, 512, { { 2048, 1024, false }, { 3072, 512, false } }, 1536 },
	{ "direct: a block that ends with the file", FORMAT_RAW, 1, 4096, 1,
	  1 << 20, 4096, { { 0, 4096, false } }, 4096 },
	{ "direct: the last sample of a file", FORMAT_RAW, 3, 1000, 2, 4096,
	  512, { { 1536, 1536, true } }, 1464 },
};
/* clang-format on */

static const struct plan_case *set_up(int i, struct dataset *ds,
				      struct plan_config *config,
				      struct extent *x)
{
	const struct plan_case *c = &cases[i];

	make(ds, c->format, c->per_file, c->bytes);
	*config = (struct plan_config){ .dataset = ds,
					.bs_bytes = c->bs,
					.align_bytes = c->align };
	dataset_extent(ds, c->id, x);
	return c;
}

static void add(struct plan_counts *c, const struct plan_op *op)
{
	c->ops[op->op]++;
	if (op->op == MLGEN_READ)
		sizes_add(&c->reads, op->len_bytes, 1);
	c->io_bytes += op->got_bytes;
}

START_TEST(operations_come_in_order)
{
	struct dataset ds;
	struct plan_config config;
	struct extent x;
	struct plan_op op;
	struct plan p;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	ck_assert(plan_next(&p, &op));
	ck_assert_int_eq(op.op, MLGEN_OPEN);
	for (size_t i = 0; i < 8 && c->reads[i].len; i++) {
		ck_assert_msg(plan_next(&p, &op), "%s", c->what);
		ck_assert_int_eq(op.op, MLGEN_READ);
		ck_assert_msg(op.off == c->reads[i].off &&
				      op.len_bytes == c->reads[i].len &&
				      (op.got_bytes < op.len_bytes) ==
					      c->reads[i].eof_ok,
			      "%s: read %lu at %lu", c->what,
			      (unsigned long)op.len_bytes,
			      (unsigned long)op.off);
		ck_assert(op.after == (i == 0));
	}
	ck_assert(plan_next(&p, &op));
	ck_assert_msg(op.op == MLGEN_CLOSE, "%s", c->what);
	ck_assert(op.after);
	ck_assert(!plan_next(&p, &op));
	ck_assert(!plan_next(&p, &op));
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_chain_is_an_open_one_read_and_a_close)
{
	struct plan_config config;
	struct plan_op read;
	struct dataset ds;
	struct extent x;
	struct plan p;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	ck_assert_int_eq(plan_is_chain(&p, &read), c->reads[1].len == 0);
	if (c->reads[1].len == 0) {
		ck_assert_uint_eq(read.off, c->reads[0].off);
		ck_assert_uint_eq(read.len_bytes, c->reads[0].len);
	}
	/* the plan has not moved, and from its read on it is none */
	ck_assert(plan_next(&p, &read));
	ck_assert_int_eq(read.op, MLGEN_OPEN);
	ck_assert(!plan_is_chain(&p, &read));
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_framework_waits_and_chains_nothing)
{
	struct plan_config config = { .access = ACCESS_FRAMEWORK,
				      .direct = _i };
	struct plan_op read;
	struct dataset ds;
	struct extent x;
	struct plan p;

	make(&ds, FORMAT_NPZ, 1, 1000);
	config.dataset = &ds;
	dataset_extent(&ds, 1, &x);
	plan_init(&p, &config, &x);
	ck_assert(!plan_is_chain(&p, &read));
	dataset_fini(&ds);
}
END_TEST

START_TEST(counts_are_those_of_the_operations)
{
	struct dataset ds;
	struct plan_config config;
	struct extent x;
	struct plan_op op;
	struct plan p;
	struct plan_counts want = { 0 }, got;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	while (plan_next(&p, &op))
		add(&want, &op);
	plan_count(&config, &x, &got);
	ck_assert_uint_eq(got.io_bytes, c->io_bytes);
	ck_assert(memcmp(&got, &want, sizeof(got)) == 0);
	ck_assert_uint_eq(plan_largest_read(&config), c->bs);
	dataset_fini(&ds);
}
END_TEST

/*
 * The Python between NumPy and read(2), layer by layer, as its sources have
 * it: _bufferedreader_read_generic and _io__Buffered_seek_impl of CPython's
 * Modules/_io/bufferedio.c, Lib/zipfile.py, numpy/lib/format.py. It knows
 * nothing of plans.
 */
#define PY_BUFFER 4096u          /* st_blksize */
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

static void py_call(struct python *py, enum mlgen_op op, uint64_t len,
		    uint64_t got)
{
	if (py->count == py->room) {
		py->room = 2 * py->room + 16;
		py->calls =
			mem_realloc(py->calls, py->room * sizeof(*py->calls));
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
	buffered_seek(py, py->file_bytes - 22 - (is_zip64 ? 20 + 56 : 0) -
				  dir_bytes);
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
		member_read(py, payload - at < NUMPY_BUFFER ? payload - at
							    : NUMPY_BUFFER);
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

static void set_framework(struct plan_config *config, struct dataset *ds,
			  uint64_t per_file, uint64_t bytes)
{
	make(ds, FORMAT_NPZ, per_file, (double)bytes);
	*config = (struct plan_config){ .dataset = ds,
					.access = ACCESS_FRAMEWORK,
					.bs_bytes = 512 };
}

static void expect_call(const struct plan_op *op, const struct call *c,
			size_t i)
{
	ck_assert_msg(op->op == c->op, "%zu: %d, not %d", i, op->op, c->op);
	ck_assert_msg(op->after, "%zu does not wait", i);
	if (op->op != MLGEN_READ)
		return;
	ck_assert_msg(op->off == c->off && op->len_bytes == c->len &&
			      op->got_bytes == c->got,
		      "%zu: %lu at %lu gives %lu, not %lu at %lu gives %lu", i,
		      (unsigned long)op->len_bytes, (unsigned long)op->off,
		      (unsigned long)op->got_bytes, (unsigned long)c->len,
		      (unsigned long)c->off, (unsigned long)c->got);
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
			ck_assert_uint_le(op.len_bytes,
					  plan_largest_read(&config));
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

/* What strace saw of NumPy 1.24 (t/func/traces); 8 MiB: then 31 times 252 KiB
 * and 4 KiB in turn, the last short. */
static const struct {
	uint64_t len, got;
} head[] = { { 4096, 4096 }, { 23, 22 },     { 1, 0 },
	     { 4096, 42 },   { 4096, 124 },  { 4096, 4096 },
	     { 4096, 4096 }, { 4096, 4096 }, { 4096, 4096 } };

static void expect_read(struct plan *p, uint64_t len, uint64_t got)
{
	struct plan_op op;

	do
		ck_assert(plan_next(p, &op));
	while (op.op != MLGEN_READ);
	ck_assert_uint_eq(op.len_bytes, len);
	ck_assert_uint_eq(op.got_bytes, got);
}

static void expect_head(struct plan *p, struct plan_config *config,
			struct dataset *ds, uint64_t bytes)
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
			j->shuffle = SHUFFLE_NONE;
			job_check(j, &d);
			ck_assert_int_eq(d.count == 0,
					 format_of((enum job_format)format)
							 ->framework[direct] !=
						 NULL);
			diag_fini(&d);
			job_free(j);
		}
	}
}
END_TEST

/* clang-format off */
static const struct buffer_case {
	const char *what;
	int format;
	enum job_access access;
	uint64_t per_file;
	double bytes;
	uint64_t bs, align;
	unsigned depth;
	size_t want;
} buffers[] = {
	{ "a small file is one request", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  1 << 20, 0, 1, 116 * 1024 },
	{ "each request has its own", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  1 << 20, 0, 3, 3 * 116 * 1024 },
	{ "bs is smaller than the file", FORMAT_RAW, ACCESS_PLAIN, 1, 114 * 1024,
	  8192, 0, 1, 8192 },
	{ "a sample is smaller than its file", FORMAT_NPZ, ACCESS_PLAIN, 64,
	  10000, 1 << 20, 0, 1, 12288 },
	{ "whole blocks", FORMAT_RAW, ACCESS_PLAIN, 1, 3500, 1 << 20, 512, 1,
	  4096 },
	{ "never less than a page", FORMAT_RAW, ACCESS_PLAIN, 1, 1, 1 << 20, 0,
	  1, 4096 },
	{ "never more than 1 MiB", FORMAT_RAW, ACCESS_PLAIN, 1, 1 << 28,
	  1 << 22, 0, 1, 1 << 20 },
	{ "together never more than 16 MiB", FORMAT_RAW, ACCESS_PLAIN, 1,
	  1 << 28, 1 << 22, 0, 64, 16 << 20 },
	{ "NumPy's block of a small file", FORMAT_NPZ, ACCESS_FRAMEWORK, 1, 1000,
	  1 << 20, 0, 1, 4096 },
	{ "a stream's own request, whatever the file", FORMAT_TFRECORD,
	  ACCESS_FRAMEWORK, 64, 1000, 1 << 20, 0, 1, 262144 },
	{ "an index that is larger than a sample", FORMAT_INDEXED_BINARY,
	  ACCESS_FRAMEWORK, 4096, 100, 1 << 20, 0, 1, 32768 },
};
/* clang-format on */

START_TEST(a_buffer_is_as_large_as_the_largest_request)
{
	const struct buffer_case *c = &buffers[_i];
	struct plan_config config = { .access = c->access,
				      .bs_bytes = c->bs,
				      .align_bytes = c->align };
	struct dataset ds;

	make(&ds, c->format, c->per_file, c->bytes);
	config.dataset = &ds;
	ck_assert_msg(plan_buffer_bytes(&config, c->depth) == c->want,
		      "%s: %zu", c->what, plan_buffer_bytes(&config, c->depth));
	dataset_fini(&ds);
}
END_TEST

/* Sizes that are drawn: of file 0, which is read first, it says nothing. */
START_TEST(the_largest_file_decides_the_buffer)
{
	struct plan_config config = { .bs_bytes = 1 << 20 };
	struct dataset ds;
	uint64_t most = 0;

	make(&ds, FORMAT_RAW, 1, 100000);
	ds.sample_size = (struct dist){ DIST_UNIFORM, 1, 200000 };
	for (uint64_t i = 0; i < ds.files; i++)
		if (dataset_file_bytes(&ds, i) > most)
			most = dataset_file_bytes(&ds, i);
	ck_assert_uint_gt(most, dataset_file_bytes(&ds, 0));
	config.dataset = &ds;
	ck_assert_uint_eq(plan_buffer_bytes(&config, 1),
			  (most + 4095) / 4096 * 4096);
	dataset_fini(&ds);
}
END_TEST

START_TEST(who_needs_no_more_looks_no_further)
{
	struct dataset ds;
	uint64_t file = 0, most;

	make(&ds, FORMAT_RAW, 1, 100000);
	ds.sample_size = (struct dist){ DIST_UNIFORM, 1, 200000 };
	ck_assert_uint_eq(dataset_large_file(&ds, 1), 0);
	for (uint64_t i = 0; i < dataset_large_file(&ds, 100000); i++)
		ck_assert_uint_lt(dataset_file_bytes(&ds, i), 100000);
	for (uint64_t i = 1; i < 100000; i++)
		if (dataset_file_bytes(&ds, i) > dataset_file_bytes(&ds, file))
			file = i;
	most = dataset_file_bytes(&ds, file);
	ck_assert_uint_eq(dataset_large_file(&ds, most), file);
	ck_assert_uint_eq(dataset_large_file(&ds, most + 1), file);
	/* Once it is known it is large enough for all. */
	ck_assert_uint_eq(dataset_largest_file(&ds), file);
	ck_assert_uint_eq(dataset_large_file(&ds, 1), file);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_plan(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");
	int n = (int)(sizeof(cases) / sizeof(cases[0]));

	tcase_add_loop_test(t, operations_come_in_order, 0, n);
	tcase_add_loop_test(t, a_chain_is_an_open_one_read_and_a_close, 0, n);
	tcase_add_loop_test(t, a_framework_waits_and_chains_nothing, 0, 2);
	tcase_add_loop_test(t, counts_are_those_of_the_operations, 0, n);
	n = (int)(sizeof(arrays) / sizeof(arrays[0]));
	tcase_add_loop_test(t, framework_reads_npz_as_python_does, 0, n);
	tcase_add_test(t, framework_reads_npz_as_traced);
	tcase_add_test(t, framework_with_direct_reads_the_file_in_one_go);
	tcase_add_test(t, job_check_knows_which_formats_a_framework_reads);
	n = (int)(sizeof(buffers) / sizeof(buffers[0]));
	tcase_add_loop_test(t, a_buffer_is_as_large_as_the_largest_request, 0,
			    n);
	tcase_add_test(t, the_largest_file_decides_the_buffer);
	tcase_add_test(t, who_needs_no_more_looks_no_further);
	suite_add_tcase(s, t);
	return s;
}
