/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_list.c - an extent that is read, and kept, piece by piece. */
#include <string.h>

#include "fake_engine.h"
#include "run/read/read.h"
#include "suites.h"

#define FILE_BYTES 4096u

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job engine_job;
	struct fake fake;
	struct io *io;
	struct dataset dataset;
	struct plan_config plan;
	struct reader *reader;
	unsigned char room[FILE_BYTES];
	struct read_piece pieces[3];
	struct read_list list;
	unsigned asked;
	bool refuses;
};

static bool may_begin(void *arg)
{
	struct fixture *f = arg;

	f->asked++;
	return !f->refuses;
}

static void set_up(struct fixture *f)
{
	struct io_config cfg = { .job = &f->engine_job,
				 .stat = &f->stat,
				 .iodepth = 4,
				 .transfers = 4,
				 .buf_bytes = FILE_BYTES };
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_RAW,
				 .num_files = 16,
				 .samples_per_file = 1,
				 .sample_size = { .a = FILE_BYTES },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	memset(f, 0, sizeof(*f));
	f->clock = cfg.clock = clock_new_virtual(1);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->engine_job =
		(struct mlgen_engine_job){ .engine = &fake_async, .workers = 1, .priv = &f->fake };
	ck_assert_int_eq(io_new(&f->io, &cfg, NULL), 0);
	ck_assert_int_eq(dataset_init(&f->dataset, &job, 0, NULL), 0);
	f->plan = (struct plan_config){ .dataset = &f->dataset, .bs_bytes = 1024 };
	f->reader = reader_new(f->io, &f->stat, 1, 4);
	/* A miss: two requests of storage, and then a file of a cache. */
	f->pieces[0] = (struct read_piece){ .op = MLGEN_READ,
					    .file = { .path = "a", .fd = -1 },
					    .off = 512,
					    .bytes = 1500,
					    .memory = f->room };
	f->pieces[1] = (struct read_piece){ .op = MLGEN_UNLINK,
					    .is_tier = true,
					    .is_fill = true,
					    .file = { .path = "o", .fd = -1 } };
	f->pieces[2] = (struct read_piece){ .op = MLGEN_WRITE,
					    .is_tier = true,
					    .is_fill = true,
					    .file = { .path = "b", .fd = -1 },
					    .bytes = 1500,
					    .memory = f->room };
	f->list = (struct read_list){ f->pieces, 3, may_begin, f };
}

static void tear_down(struct fixture *f)
{
	ck_assert_int_eq(f->fake.open_files, 0);
	ck_assert(!reader_is_busy(f->reader));
	reader_free(f->reader);
	dataset_fini(&f->dataset);
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

static const struct read_task *run_list(struct fixture *f)
{
	const struct read_task *t;
	struct extent x;
	int rc;

	dataset_extent(&f->dataset, 7, &x);
	reader_start_list(f->reader, &f->plan, &x, &f->list);
	t = reader_finish_one(f->reader, &rc);
	ck_assert_ptr_nonnull(t);
	return t;
}

static void check_calls(const struct fixture *f, const enum mlgen_op *ops, unsigned n)
{
	ck_assert_uint_eq(f->fake.logged, n);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(f->fake.log[i].op, ops[i]);
}

static const enum mlgen_op of_a_miss[] = { MLGEN_OPEN,  MLGEN_READ,   MLGEN_READ,
					   MLGEN_CLOSE, MLGEN_UNLINK, MLGEN_OPEN,
					   MLGEN_WRITE, MLGEN_WRITE,  MLGEN_CLOSE };

START_TEST(a_miss_is_read_and_then_kept)
{
	struct fixture f;

	set_up(&f);
	ck_assert_int_eq(run_list(&f)->error, 0);
	check_calls(&f, of_a_miss, 9);
	ck_assert_uint_eq(f.fake.log[1].off, 512);
	ck_assert_uint_eq(f.fake.log[2].off, 1536);
	ck_assert_uint_eq(f.fake.log[2].len_bytes, 476);
	ck_assert_ptr_eq(f.fake.log[2].base, f.room + 1024);
	ck_assert_uint_eq(f.fake.log[7].off, 1024);
	ck_assert_uint_eq(f.fake.log[7].len_bytes, 476);
	ck_assert_ptr_eq(f.fake.log[7].base, f.room + 1024);
	ck_assert_uint_eq(f.asked, 1);
	ck_assert_uint_eq(f.stat.sample->count, 1);
	tear_down(&f);
}
END_TEST

START_TEST(what_may_not_begin_is_left)
{
	struct fixture f;

	set_up(&f);
	f.refuses = true;
	ck_assert_int_eq(run_list(&f)->error, 0);
	check_calls(&f, of_a_miss, 4);
	tear_down(&f);
}
END_TEST

START_TEST(a_full_cache_fails_no_extent)
{
	const struct read_task *t;
	struct fixture f;

	set_up(&f);
	fake_script(&f.fake, MLGEN_WRITE, -ENOSPC);
	t = run_list(&f);
	ck_assert_int_eq(t->error, 0);
	ck_assert_int_eq(t->fill_error, -ENOSPC);
	ck_assert_int_eq(f.fake.log[f.fake.logged - 1].op, MLGEN_CLOSE);
	tear_down(&f);
}
END_TEST

START_TEST(what_was_not_read_is_not_kept)
{
	const struct read_task *t;
	struct fixture f;

	set_up(&f);
	fake_script(&f.fake, MLGEN_READ, -EIO);
	t = run_list(&f);
	ck_assert_int_eq(t->error, -EIO);
	ck_assert_uint_eq(f.asked, 0);
	ck_assert_int_eq(f.fake.log[f.fake.logged - 1].op, MLGEN_CLOSE);
	tear_down(&f);
}
END_TEST

START_TEST(a_file_that_is_open_stays_open)
{
	struct mlgen_file slab = { .path = "slab", .fd = 3 };
	struct fixture f;

	set_up(&f);
	f.pieces[0] = (struct read_piece){
		.op = MLGEN_READ, .is_tier = true, .open = &slab, .off = 8192, .bytes = 2048
	};
	f.list.count = 1;
	ck_assert_int_eq(run_list(&f)->error, 0);
	ck_assert_uint_eq(f.fake.logged, 2);
	ck_assert_uint_eq(f.fake.log[0].off, 8192);
	ck_assert_uint_eq(f.fake.log[1].off, 9216);
	tear_down(&f);
}
END_TEST

START_TEST(one_that_took_no_operation_has_its_time)
{
	const struct read_task *t;
	struct extent x;
	struct fixture f;
	int rc;

	set_up(&f);
	dataset_extent(&f.dataset, 3, &x);
	reader_add_finished(f.reader, &f.plan, &x, 100, 350);
	t = reader_finish_one(f.reader, &rc);
	ck_assert_uint_eq(t->start_ns, 100);
	ck_assert_uint_eq(t->end_ns, 350);
	ck_assert_uint_eq(f.stat.sample->max_ns, 250);
	ck_assert_uint_eq(f.fake.logged, 0);
	tear_down(&f);
}
END_TEST

Suite *suite_reader_list(void)
{
	Suite *s = suite_create("reader_list");
	TCase *tc = tcase_create("pieces");

	tcase_add_test(tc, a_miss_is_read_and_then_kept);
	tcase_add_test(tc, what_may_not_begin_is_left);
	tcase_add_test(tc, a_full_cache_fails_no_extent);
	tcase_add_test(tc, what_was_not_read_is_not_kept);
	tcase_add_test(tc, a_file_that_is_open_stays_open);
	tcase_add_test(tc, one_that_took_no_operation_has_its_time);
	suite_add_tcase(s, tc);
	return s;
}
