/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_forward.c - files read forward: the requests of TensorFlow and WebDataset, extent by
 * extent. */
#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "data/formats/formats.h"
#include "suites.h"

static void make(struct dataset *ds, int format, uint64_t per_file, uint64_t bytes)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 3,
				 .samples_per_file = per_file,
				 .sample_size = { .a = (double)bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

/* What the readers do, layer by layer; they know nothing of plans. */
struct call {
	enum mlgen_op op;
	uint64_t off, len, got;
	uint64_t sample; /* that is waited for */
};

struct trace {
	struct call *calls;
	size_t count, room;
	uint64_t file_bytes;
	uint64_t raw_at; /* of the descriptor */
	uint64_t sample;
	/* the buffer above it */
	uint64_t buffered;
	bool has_ended;
	/* tarfile's stream above that */
	uint64_t block;
	bool has_block;
};

static void add_call(struct trace *t, enum mlgen_op op, uint64_t len, uint64_t got)
{
	if (t->count == t->room) {
		t->room = 2 * t->room + 64;
		t->calls = mem_realloc(t->calls, t->room * sizeof(*t->calls));
	}
	t->calls[t->count++] = (struct call){ op, t->raw_at, len, got, t->sample };
}

static uint64_t raw_read(struct trace *t, uint64_t len)
{
	uint64_t left = t->file_bytes - t->raw_at;
	uint64_t got = len < left ? len : left;

	add_call(t, MLGEN_READ, len, got);
	t->raw_at += got;
	return got;
}

/* PosixRandomAccessFile::Read: until it has all, or nothing comes. */
static uint64_t posix_read(struct trace *t, uint64_t len)
{
	uint64_t done = 0;

	while (done < len) {
		uint64_t got = raw_read(t, len - done);

		if (got == 0) {
			t->has_ended = true;
			break;
		}
		done += got;
	}
	return done;
}

/* BufferedInputStream::ReadNBytes; false at the end. */
static bool tf_read(struct trace *t, uint64_t n)
{
	while (n > 0) {
		uint64_t take;

		if (t->buffered == 0 && !t->has_ended)
			t->buffered = posix_read(t, 262144);
		if (t->buffered == 0)
			return false;
		take = n < t->buffered ? n : t->buffered;
		t->buffered -= take;
		n -= take;
	}
	return true;
}

static void tensorflow(struct trace *t, uint64_t samples, uint64_t record)
{
	add_call(t, MLGEN_OPEN, 0, 0);
	for (uint64_t i = 0; i < samples; i++) {
		t->sample = i;
		if (!tf_read(t, 12) || !tf_read(t, record - 12))
			ck_abort_msg("the file is short");
	}
	ck_assert(!tf_read(t, 12));
	add_call(t, MLGEN_CLOSE, 0, 0);
}

/* BufferedReader.read, with a buffer of 4096 bytes. */
static uint64_t py_read(struct trace *t, uint64_t n)
{
	uint64_t done = n < t->buffered ? n : t->buffered, filled = 0;

	t->buffered -= done;
	if (done == n)
		return done;
	while (n - done >= 4096) {
		uint64_t got = raw_read(t, (n - done) / 4096 * 4096);

		if (got == 0)
			return done;
		done += got;
	}
	while (done < n && filled < 4096) {
		uint64_t got = raw_read(t, 4096 - filled), take;

		if (got == 0)
			return done;
		filled += got;
		take = n - done < got ? n - done : got;
		done += take;
		t->buffered = got - take;
	}
	return done;
}

/* tarfile._Stream.read over _StreamProxy, whose first block is a header. */
static void stream_read(struct trace *t, uint64_t n)
{
	while (t->block < n) {
		uint64_t got = py_read(t, t->has_block ? 10240 : 512);

		t->has_block = true;
		if (got == 0)
			ck_abort_msg("the archive has no end");
		t->block += got;
	}
	t->block -= n;
}

static void member(struct trace *t, uint64_t bytes)
{
	stream_read(t, 512);
	stream_read(t, bytes);
}

static void padding(struct trace *t, uint64_t bytes)
{
	stream_read(t, (512 - bytes % 512) % 512);
}

static void webdataset(struct trace *t, uint64_t samples, uint64_t bytes)
{
	add_call(t, MLGEN_OPEN, 0, 0);
	add_call(t, MLGEN_STAT, 0, 0);
	for (uint64_t i = 0; i < samples; i++) {
		member(t, bytes);
		t->sample = i; /* the one before is complete */
		padding(t, bytes);
		member(t, 2);
		padding(t, 2);
	}
	stream_read(t, 512);
	add_call(t, MLGEN_CLOSE, 0, 0);
}

static void trace(struct trace *t, const struct dataset *ds)
{
	uint64_t bytes = dataset_sample_bytes(ds, 0);

	*t = (struct trace){ .calls = t->calls,
			     .room = t->room,
			     .file_bytes = dataset_file_bytes(ds, 0) };
	if (ds->format == &format_tfrecord)
		tensorflow(t, ds->samples_per_file, t->file_bytes / ds->samples_per_file);
	else
		webdataset(t, ds->samples_per_file, bytes);
}

static void add(struct plan_counts *c, const struct plan_op *op)
{
	c->ops[op->op]++;
	if (op->op == MLGEN_READ)
		sizes_add(&c->reads, op->len_bytes, 1);
	c->io_bytes += op->got_bytes;
}

static bool is_call(const struct plan_op *op, const struct call *c)
{
	return op->op == c->op && op->after &&
	       (op->op != MLGEN_READ ||
		(op->off == c->off && op->len_bytes == c->len && op->got_bytes == c->got));
}

/* Each assertion writes to a file: none for every call and extent. */
static void fail_call(const struct dataset *ds, const struct extent *x, const struct plan_op *op,
		      const struct call *c)
{
	ck_abort_msg("%s, %lu samples of %lu, extent %lu of %u: %d %lu at %lu gives %lu, not %d "
		     "%lu at %lu gives %lu",
		     ds->format->name, (unsigned long)ds->samples_per_file,
		     (unsigned long)dataset_sample_bytes(ds, 0), (unsigned long)x->id, x->samples,
		     op->op, (unsigned long)op->len_bytes, (unsigned long)op->off,
		     (unsigned long)op->got_bytes, c->op, (unsigned long)c->len,
		     (unsigned long)c->off, (unsigned long)c->got);
}

/* An extent has the calls that deliver its samples; gives their number. */
static size_t check_extent(const struct plan_config *config, const struct extent *x,
			   const struct call *calls, size_t count)
{
	struct plan_counts want = { 0 }, got;
	uint64_t last = x->first_sample + x->samples - 1;
	struct plan_op op;
	struct plan p;
	size_t n = 0;

	plan_init(&p, config, x);
	for (; n < count && calls[n].sample <= last; n++) {
		if (!plan_next(&p, &op) || !is_call(&op, &calls[n]) ||
		    op.len_bytes > plan_largest_read(config))
			fail_call(config->dataset, x, &op, &calls[n]);
		add(&want, &op);
	}
	if (plan_next(&p, &op) || plan_next(&p, &op))
		fail_call(config->dataset, x, &op, &(struct call){ 0 });
	plan_count(config, x, &got);
	if (memcmp(&got, &want, sizeof(got)) != 0)
		ck_abort_msg("%s, %lu samples of %lu: extent %lu counts wrong",
			     config->dataset->format->name,
			     (unsigned long)config->dataset->samples_per_file,
			     (unsigned long)dataset_sample_bytes(config->dataset, 0),
			     (unsigned long)x->id);
	return n;
}

/* Of the second file. */
static void check_extents(const struct dataset *ds, const struct trace *t)
{
	struct plan_config config = { .dataset = ds, .access = ACCESS_FRAMEWORK };
	uint64_t extents = ds->samples_per_file / ds->extent_samples;
	size_t done = 0;

	for (uint64_t i = 0; i < extents; i++) {
		struct extent x;

		dataset_extent(ds, extents + i, &x);
		done += check_extent(&config, &x, t->calls + done, t->count - done);
	}
	ck_assert_uint_eq(done, t->count);
}

/* With every number of samples that may make an extent. */
static void check_file(struct trace *t, int format, uint64_t per_file, uint64_t bytes)
{
	struct dataset ds;

	make(&ds, format, per_file, bytes);
	trace(t, &ds);
	check_extents(&ds, t);
	for (uint64_t n = 1; n <= per_file; n++) {
		if (per_file % n)
			continue;
		ds.extent_samples = n;
		check_extents(&ds, t);
	}
	dataset_fini(&ds);
}

/* The payload of a record of so many bytes. */
static uint64_t payload_of(uint64_t record)
{
	for (uint64_t bytes = record - 30; bytes > 0; bytes--) {
		struct file_shape shape = { .samples = 1, .sides = { 1, bytes } };

		if (format_tfrecord.file_bytes(&shape) == record)
			return bytes;
	}
	ck_abort_msg("no record has %lu bytes", (unsigned long)record);
	return 0;
}

static const uint64_t counts[] = { 1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 40, 60, 127, 256, 257, 512 };
#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

START_TEST(tensorflow_reads_its_buffer_after_buffer)
{
	/* records that end where the buffer does, or next to it */
	static const uint64_t records[] = { 512,    1024,   1023,   1025,   3000,   16384,
					    65536,  65537,  131072, 262143, 262144, 262145,
					    393216, 524288, 700001, 2825827 };
	struct trace t = { 0 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		check_file(&t, FORMAT_TFRECORD, counts[_i], payload_of(records[i]));
	check_file(&t, FORMAT_TFRECORD, counts[_i], 1);
	mem_free(t.calls);
}
END_TEST

START_TEST(webdataset_reads_through_two_buffers)
{
	static const uint64_t others[] = { 20480, 102400, 114244, 262144, 300001, 1048576 };
	struct trace t = { 0 };

	/* every place that a shard's last member can have in its block */
	for (uint64_t blocks = 1; blocks <= 20; blocks++) {
		check_file(&t, FORMAT_TAR, counts[_i], 512 * blocks - 511);
		check_file(&t, FORMAT_TAR, counts[_i], 512 * blocks - 1);
		check_file(&t, FORMAT_TAR, counts[_i], 512 * blocks);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (counts[_i] * others[i] < 16u << 20)
			check_file(&t, FORMAT_TAR, counts[_i], others[i]);
	mem_free(t.calls);
}
END_TEST

START_TEST(every_byte_is_read_once)
{
	static const struct {
		uint64_t per_file, bytes, reads;
	} files[] = {
		{ 1, 2825761, 12 },     /* cosmoflow: 11, and an empty one */
		{ 1251, 114244, 547 },  /* resnet50 */
		{ 313532, 2500, 3056 }, /* bert */
		{ 1, 262144 - 64, 2 },  /* a whole buffer, then nothing */
		{ 1, 2147000000, 8192 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct plan_counts sum = { 0 };
		struct plan_config config = { .access = ACCESS_FRAMEWORK };
		struct dataset ds;
		uint64_t extents;

		make(&ds, FORMAT_TFRECORD, files[i].per_file, files[i].bytes);
		config.dataset = &ds;
		extents = dataset_extents(&ds) / ds.files;
		for (uint64_t id = 0; id < extents; id++) {
			struct plan_counts c;
			struct extent x;

			dataset_extent(&ds, id, &x);
			plan_count(&config, &x, &c);
			sum.io_bytes += c.io_bytes;
			for (int op = 0; op < MLGEN_OPS; op++)
				sum.ops[op] += c.ops[op];
		}
		ck_assert_uint_eq(sum.io_bytes, dataset_file_bytes(&ds, 0));
		ck_assert_uint_eq(sum.ops[MLGEN_READ], files[i].reads);
		ck_assert_uint_eq(sum.ops[MLGEN_OPEN], 1);
		ck_assert_uint_eq(sum.ops[MLGEN_CLOSE], 1);
		ck_assert_uint_eq(sum.ops[MLGEN_STAT], 0);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(a_large_file_is_counted_without_its_reads)
{
	static const struct {
		int format;
		uint64_t bytes;
	} files[] = { { FORMAT_TFRECORD, 2147000000 }, { FORMAT_TAR, UINT64_C(8) << 29 } };
	struct plan_config config = { .access = ACCESS_FRAMEWORK };

	for (int i = 0; i < 2; i++) {
		struct plan_counts c = { 0 };
		struct dataset ds;
		struct extent x;
		struct plan_op op;
		struct plan p;
		unsigned left = 0;

		make(&ds, files[i].format, 4, files[i].bytes);
		config.dataset = &ds;
		dataset_extent(&ds, 2, &x);
		plan_init(&p, &config, &x);
		p.kind->skip(&p, &c);
		while (plan_next(&p, &op))
			left++;
		ck_assert_uint_gt(c.ops[MLGEN_READ], 8000);
		ck_assert_uint_lt(left, 8);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(with_direct_a_short_read_is_the_last)
{
	/* record bytes, how many; what the last read gets */
	static const struct {
		uint64_t record, per_file, got;
	} files[] = { { 300000, 1, 300000 - 262144 },
		      { 100000, 8, 800000 - 3 * 262144 },
		      { 262144, 3, 0 } };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct plan_config config = { .access = ACCESS_FRAMEWORK,
					      .direct = true,
					      .align_bytes = 4096 };
		struct plan_op op = { 0 }, last = { 0 };
		struct dataset ds;
		struct extent x;
		struct plan p;

		make(&ds, FORMAT_TFRECORD, files[i].per_file, payload_of(files[i].record));
		config.dataset = &ds;
		x = (struct extent){ 0, 0, 0, (uint32_t)ds.samples_per_file };
		plan_init(&p, &config, &x);
		while (plan_next(&p, &op)) {
			ck_assert_uint_eq(op.off % 4096, 0);
			ck_assert_uint_eq(op.len_bytes % 4096, 0);
			if (op.op == MLGEN_READ)
				last = op;
		}
		ck_assert_uint_eq(last.got_bytes, files[i].got);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(extents_are_divisors_within_a_buffer)
{
	static const struct {
		uint64_t per_file, record, want;
	} cases[] = {
		{ 1, 1, 1 },
		{ 1, 1 << 30, 1 },
		{ 1251, 114304, 1 },
		{ 1252, 114304, 2 },
		{ 313532, 2554, 4 },
		{ 100, 2554, 100 },
		{ 103, 2554, 1 },
		{ 256, 1024, 256 },
		{ 256, 1025, 128 },
		{ 7, 262144, 1 },
		{ 1000, 26214, 10 },
		{ 1000, 26215, 8 },
		{ 1u << 31, 100, 2048 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(forward_extent_samples(cases[i].per_file, cases[i].record),
				  cases[i].want);
}
END_TEST

Suite *suite_plan_forward(void)
{
	Suite *s = suite_create("plan_forward");
	TCase *t = tcase_create("plan_forward");

	tcase_add_loop_test(t, webdataset_reads_through_two_buffers, 0, COUNTS);
	tcase_add_test(t, extents_are_divisors_within_a_buffer);
	suite_add_tcase(s, t);
	if (format_tfrecord.needs)
		return s;
	tcase_add_loop_test(t, tensorflow_reads_its_buffer_after_buffer, 0, COUNTS);
	tcase_add_test(t, every_byte_is_read_once);
	tcase_add_test(t, a_large_file_is_counted_without_its_reads);
	tcase_add_test(t, with_direct_a_short_read_is_the_last);
	return s;
}
