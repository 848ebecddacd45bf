/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_files.c - samples in two files, files that stay open, extents that take no call. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fake_engine.h"
#include "run/read/read.h"
#include "suites.h"

#define FILES 4
#define PART0_BYTES 400
#define PART1_BYTES 10

/* What a file is read by, extent by extent; in dataset.common. */
struct script {
	unsigned parts, extents;
	bool is_forward;
	struct plan_op ops[4][10]; /* up to `after` 0; all wait */
};

static void script_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	(void)x;
	p->step = 0;
}

static bool script_next(struct plan *p, struct plan_op *op)
{
	const struct script *s = p->config->dataset->common;
	const struct plan_op *next = &s->ops[p->extent.first_sample][p->step++];

	*op = *next;
	return next->after;
}

static const struct plan_kind scripted = { .init = script_init, .next = script_next };

static uint64_t file_bytes(const struct file_shape *shape)
{
	return shape->part ? PART1_BYTES : PART0_BYTES;
}

/* clang-format off */
#define FORMAT .name = "a", .parts = { [1] = { .folder = "labels", .suffix = "b" } }, \
	.file_bytes = file_bytes, .framework = { &scripted, &scripted }, \
	.at_start = &scripted
/* clang-format on */

static const struct format ordinary = { FORMAT };
static const struct format forward = { FORMAT, .is_forward = true };

struct fixture {
	struct fake fake; /* first: the engine knows it as job->priv */
	struct buf trace;
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct io *io;
	struct dataset dataset;
	struct plan_config plan;
	struct reader *reader;
};

/* Every call that the engine gets, as text. */
static void write_down(struct mlgen_ctx *ctx, const struct mlgen_io *op)
{
	static const char *const names[MLGEN_OPS] = { [MLGEN_OPEN] = "open",
						      [MLGEN_STAT] = "stat",
						      [MLGEN_READ] = "read",
						      [MLGEN_CLOSE] = "close" };
	struct fixture *f = ctx->job->priv;
	const char *path = strchr(op->file->path, '/');

	buf_addf(&f->trace, "%s %s", names[op->op], path + 1);
	if (op->op == MLGEN_READ)
		buf_addf(&f->trace, " %lu+%lu", (unsigned long)op->off,
			 (unsigned long)op->len_bytes);
	buf_add(&f->trace, "\n");
}

static int sync_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	write_down(ctx, io[0]);
	return fake_sync_submit(ctx, io, n);
}

static int async_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		write_down(ctx, io[i]);
	return fake_submit(ctx, io, n);
}

static const struct mlgen_engine engines[] = {
	{ FAKE_TABLE, .submit = sync_submit },
	{ FAKE_TABLE, .submit = async_submit, .reap = fake_reap },
};

static void set_up(struct fixture *f, const struct script *s, int engine)
{
	static char directory[] = "d";
	struct io_config cfg = { .job = &f->job,
				 .stat = &f->stat,
				 .iodepth = engine ? 4 : 1,
				 .transfers = engine ? 4 : 1,
				 .buf_bytes = 4 * 4096 };

	memset(f, 0, sizeof(*f));
	f->fake.op_ns = 1000;
	f->clock = cfg.clock = clock_new_virtual(5000);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->job = (struct mlgen_engine_job){ .engine = &engines[engine], .workers = 1, .priv = f };
	ck_assert_int_eq(io_new(&f->io, &cfg, NULL), 0);
	f->dataset = (struct dataset){
		.format = s->is_forward ? &forward : &ordinary,
		.directory = directory,
		.files = FILES,
		.files_named = FILES,
		.samples_per_file = s->extents,
		.subfolders = 1,
		.sample_size = { .a = 100 },
		.split = "train",
		.parts = s->parts,
		.extent_samples = 1,
		.common = (void *)(uintptr_t)s,
	};
	f->plan = (struct plan_config){ .dataset = &f->dataset, .access = ACCESS_FRAMEWORK };
	f->reader = reader_new(f->io, &f->stat, 1, cfg.iodepth);
}

static void tear_down(struct fixture *f)
{
	ck_assert_int_eq(f->fake.open_files, 0);
	ck_assert(!reader_is_busy(f->reader));
	reader_free(f->reader);
	io_free(f->io);
	opstat_fini(&f->stat);
	buf_fini(&f->trace);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static void start(struct fixture *f, uint64_t id)
{
	struct extent x;

	dataset_extent(&f->dataset, id, &x);
	reader_start(f->reader, &f->plan, &x);
}

static const struct read_task *finish(struct fixture *f)
{
	int rc;
	const struct read_task *t = reader_finish_one(f->reader, &rc);

	ck_assert_int_eq(rc, 0);
	ck_assert_ptr_nonnull(t);
	return t;
}

/* Its error. */
static int read_one(struct fixture *f, uint64_t id)
{
	start(f, id);
	return finish(f)->error;
}

/* What was called since the last time. */
static void traced(struct fixture *f, const char *want)
{
	ck_assert_str_eq(buf_str(&f->trace), want);
	buf_reset(&f->trace);
}

/* clang-format off */
#define OPEN(p) { .op = MLGEN_OPEN, .after = true, .part = p }
#define STAT(p) { .op = MLGEN_STAT, .after = true, .part = p }
#define READ(p, at, n) { .op = MLGEN_READ, .after = true, .part = p, .off = at, .len_bytes = n }
#define CLOSE(p) { .op = MLGEN_CLOSE, .after = true, .part = p }

static const struct script two_files = { .parts = 2, .extents = 1, .ops = {
	{ OPEN(0), STAT(0), READ(0, 0, 300), READ(0, 300, 100), CLOSE(0),
	  OPEN(1), STAT(1), READ(1, 0, 10), CLOSE(1) },
} };

static const struct script label_first = { .parts = 2, .extents = 1, .ops = {
	{ STAT(1), STAT(0), OPEN(1), READ(1, 0, 10), CLOSE(1),
	  OPEN(0), READ(0, 0, 400), CLOSE(0) },
} };

static const struct script stays_open = { .parts = 1, .extents = 4,
	.is_forward = true, .ops = {
	{ OPEN(0), READ(0, 0, 200) },
	{ { 0 } },
	{ READ(0, 200, 200) },
	{ READ(0, 400, 200), CLOSE(0) },
} };

#define IMAGE "train/img_2_of_4.a"
#define LABEL "labels/train/img_2_of_4.b"
/* clang-format on */

START_TEST(a_sample_in_two_files_is_read_from_both)
{
	struct fixture f;

	set_up(&f, &two_files, _i);
	for (unsigned again = 0; again < 2; again++) {
		ck_assert_int_eq(read_one(&f, 2), 0);
		/* clang-format off */
		traced(&f, "open " IMAGE "\nstat " IMAGE "\nread " IMAGE
			   " 0+300\nread " IMAGE " 300+100\nclose " IMAGE "\n"
			   "open " LABEL "\nstat " LABEL "\nread " LABEL
			   " 0+10\nclose " LABEL "\n");
		/* clang-format on */
	}
	ck_assert_uint_eq(f.stat.io_bytes[0], 2 * 410);
	ck_assert_uint_eq(f.stat.sample->count, 2);
	ck_assert_uint_eq(f.stat.sample->max_ns, 9 * 1000);
	tear_down(&f);
}
END_TEST

START_TEST(a_stat_without_an_open_has_the_path_of_its_part)
{
	struct fixture f;

	set_up(&f, &label_first, _i);
	ck_assert_int_eq(read_one(&f, 2), 0);
	/* clang-format off */
	traced(&f, "stat " LABEL "\nstat " IMAGE "\n"
		   "open " LABEL "\nread " LABEL " 0+10\nclose " LABEL "\n"
		   "open " IMAGE "\nread " IMAGE " 0+400\nclose " IMAGE "\n");
	/* clang-format on */
	tear_down(&f);
}
END_TEST

/* clang-format off */
static const struct {
	enum mlgen_op op;
	unsigned call;          /* of that kind */
	int64_t result;
	const char *text;
	const char *last_calls; /* from the one that fails on */
} failures[] = {
	{ MLGEN_OPEN, 0, -ENOENT,
	  "d/" IMAGE ": open: No such file or directory (there); the dataset was complete: --phase=prepare writes what is missing",
	  "open " IMAGE "\n" },
	{ MLGEN_OPEN, 1, -EACCES,
	  "d/" LABEL ": open: Permission denied (there)",
	  "open " LABEL "\n" },
	{ MLGEN_STAT, 0, -EIO,
	  "d/" IMAGE ": stat: Input/output error (there)",
	  "stat " IMAGE "\nclose " IMAGE "\n" },
	{ MLGEN_READ, 0, -EIO,
	  "d/" IMAGE ": read at 0: Input/output error (there)",
	  "read " IMAGE " 0+300\nclose " IMAGE "\n" },
	{ MLGEN_READ, 1, -EIO,
	  "d/" IMAGE ": read at 300: Input/output error (there)",
	  "read " IMAGE " 300+100\nclose " IMAGE "\n" },
	{ MLGEN_READ, 1, 0,
	  "d/" IMAGE ": the file ends at 300 of 400 bytes; it was truncated or replaced (there); --phase=prepare writes it again",
	  "read " IMAGE " 300+100\nclose " IMAGE "\n" },
	{ MLGEN_CLOSE, 0, -EIO,
	  "d/" IMAGE ": close: Input/output error (there)",
	  "close " IMAGE "\n" },
	{ MLGEN_READ, 2, 0,
	  "d/" LABEL ": the file ends at 0 of 10 bytes; it was truncated or replaced (there); --phase=prepare writes it again",
	  "read " LABEL " 0+10\nclose " LABEL "\n" },
	{ MLGEN_CLOSE, 1, -EDQUOT,
	  "d/" LABEL ": close: Disk quota exceeded (there)",
	  "close " LABEL "\n" },
};
/* clang-format on */

START_TEST(a_failure_names_its_file_and_ends_the_sample)
{
	size_t i = (size_t)_i / 2;
	struct mlgen_err err = { 0 };
	struct fixture f;
	size_t calls, last;

	set_up(&f, &two_files, _i % 2);
	for (unsigned k = 0; k < failures[i].call; k++)
		fake_script(&f.fake, failures[i].op, FAKE_ALL);
	fake_script(&f.fake, failures[i].op, failures[i].result);
	start(&f, 2);
	const struct read_task *t = finish(&f);
	ck_assert_int_ne(t->error, 0);
	reader_describe(t, "there", &err);
	ck_assert_str_eq(err.text, failures[i].text);
	calls = strlen(buf_str(&f.trace));
	last = strlen(failures[i].last_calls);
	ck_assert_uint_ge(calls, last);
	ck_assert_str_eq(buf_str(&f.trace) + calls - last, failures[i].last_calls);
	ck_assert_uint_eq(f.stat.sample->count, 0);
	/* and the next one is whole again */
	ck_assert_int_eq(read_one(&f, 3), 0);
	ck_assert_uint_eq(f.stat.sample->count, 1);
	tear_down(&f);
}
END_TEST

START_TEST(a_file_stays_open_from_extent_to_extent)
{
	static const bool does_io[] = { true, false, true, true };
	struct fixture f;

	set_up(&f, &stays_open, _i);
	for (unsigned i = 0; i < 4; i++) {
		start(&f, 8 + i);
		ck_assert(reader_is_busy(f.reader));
		ck_assert(reader_does_io(f.reader) == does_io[i]);
		ck_assert_int_eq(finish(&f)->error, 0);
		ck_assert_int_eq(f.fake.open_files, i < 3);
	}
	/* clang-format off */
	traced(&f, "open " IMAGE "\nread " IMAGE " 0+200\n"
		   "read " IMAGE " 200+200\n"
		   "read " IMAGE " 400+200\nclose " IMAGE "\n");
	/* clang-format on */
	/* what takes no call has no latency */
	ck_assert_uint_eq(f.stat.sample->count, 3);
	ck_assert_int_eq(read_one(&f, 12), 0);
	traced(&f, "open train/img_3_of_4.a\nread train/img_3_of_4.a 0+200\n");
	reader_close(f.reader);
	tear_down(&f);
}
END_TEST

START_TEST(reader_close_ends_a_file_early)
{
	struct fixture f;

	set_up(&f, &stays_open, _i);
	reader_close(f.reader); /* nothing was started yet */
	ck_assert_int_eq(read_one(&f, 8), 0);
	buf_reset(&f.trace);
	reader_close(f.reader);
	traced(&f, "close " IMAGE "\n");
	reader_close(f.reader); /* once is enough */
	traced(&f, "");
	ck_assert_uint_eq(f.stat.lat[MLGEN_CLOSE]->count, 1);
	tear_down(&f);
}
END_TEST

/* The next epoch begins, with another file or with the same one. */
START_TEST(a_file_that_was_left_is_closed_first)
{
	struct fixture f;

	set_up(&f, &stays_open, _i);
	ck_assert_int_eq(read_one(&f, 8), 0);
	buf_reset(&f.trace);
	ck_assert_int_eq(read_one(&f, 8), 0);
	traced(&f, "close " IMAGE "\nopen " IMAGE "\nread " IMAGE " 0+200\n");
	ck_assert_int_eq(read_one(&f, 0), 0);
	traced(&f, "close " IMAGE "\nopen train/img_0_of_4.a\nread train/img_0_of_4.a 0+200\n");
	ck_assert_int_eq(f.fake.open_files, 1);
	reader_close(f.reader);
	tear_down(&f);
}
END_TEST

START_TEST(a_file_whose_read_fails_is_read_on)
{
	struct fixture f;

	set_up(&f, &stays_open, _i);
	fake_script(&f.fake, MLGEN_READ, FAKE_ALL);
	fake_script(&f.fake, MLGEN_READ, -EIO);
	ck_assert_int_eq(read_one(&f, 8), 0);
	ck_assert_int_eq(read_one(&f, 9), 0);
	ck_assert_int_eq(read_one(&f, 10), -EIO);
	ck_assert_int_eq(read_one(&f, 11), 0);
	ck_assert_uint_eq(f.stat.sample->count, 2);
	ck_assert_int_eq(f.fake.open_files, 0);
	tear_down(&f);
}
END_TEST

START_TEST(nothing_of_a_file_is_there_without_its_open)
{
	struct fixture f;

	set_up(&f, &stays_open, _i);
	fake_script(&f.fake, MLGEN_OPEN, -ENOENT);
	ck_assert_int_eq(read_one(&f, 8), -ENOENT);
	for (unsigned id = 9; id < 12; id++)
		ck_assert_int_eq(read_one(&f, id), -EBADF);
	traced(&f, "open " IMAGE "\n");
	for (unsigned id = 12; id < 16; id++)
		ck_assert_int_eq(read_one(&f, id), 0);
	ck_assert_uint_eq(f.stat.sample->count, 3);
	tear_down(&f);
}
END_TEST

START_TEST(what_is_read_at_the_start_is_no_sample)
{
	struct extent x = { .file = 2 };
	struct fixture f;

	set_up(&f, &two_files, _i);
	reader_start(f.reader, &f.plan, &x);
	ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 3);
	ck_assert_uint_eq(f.stat.sample->count, 0);
	tear_down(&f);
}
END_TEST

START_TEST(a_name_too_long_fails_before_any_call)
{
	struct fixture f;
	char *directory;

	set_up(&f, &two_files, _i);
	directory = mem_zalloc(5000);
	memset(directory, 'x', 4999);
	f.dataset.directory = directory;
	start(&f, 2);
	ck_assert(reader_is_busy(f.reader));
	ck_assert(!reader_does_io(f.reader));
	const struct read_task *t = finish(&f);
	ck_assert_int_eq(t->error, -ENAMETOOLONG);
	ck_assert_int_eq((int)t->error_op, MLGEN_OPEN);
	traced(&f, "");
	mem_free(directory);
	tear_down(&f);
}
END_TEST

Suite *suite_reader_files(void)
{
	Suite *s = suite_create("reader_files");
	TCase *t = tcase_create("reader_files");
	int engines_count = 2;

	tcase_add_loop_test(t, a_sample_in_two_files_is_read_from_both, 0, engines_count);
	tcase_add_loop_test(t, a_stat_without_an_open_has_the_path_of_its_part, 0, engines_count);
	tcase_add_loop_test(t, a_failure_names_its_file_and_ends_the_sample, 0,
			    engines_count * (int)(sizeof(failures) / sizeof(failures[0])));
	tcase_add_loop_test(t, a_file_stays_open_from_extent_to_extent, 0, engines_count);
	tcase_add_loop_test(t, reader_close_ends_a_file_early, 0, engines_count);
	tcase_add_loop_test(t, a_file_that_was_left_is_closed_first, 0, engines_count);
	tcase_add_loop_test(t, a_file_whose_read_fails_is_read_on, 0, engines_count);
	tcase_add_loop_test(t, nothing_of_a_file_is_there_without_its_open, 0, engines_count);
	tcase_add_loop_test(t, what_is_read_at_the_start_is_no_sample, 0, engines_count);
	tcase_add_loop_test(t, a_name_too_long_fails_before_any_call, 0, engines_count);
	suite_add_tcase(s, t);
	return s;
}
