/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_into.c - where a reader puts what it reads. */
#include <string.h>

#include "base/mem.h"
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
	unsigned char room[2 * FILE_BYTES];
};

static void set_up(struct fixture *f, uint64_t bs)
{
	struct io_config cfg = { .job = &f->engine_job,
				 .stat = &f->stat,
				 .iodepth = 3,
				 .transfers = 1,
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
	f->plan = (struct plan_config){ .dataset = &f->dataset, .bs_bytes = bs };
	f->reader = reader_new(f->io, &f->stat, 1, 1);
}

static void tear_down(struct fixture *f)
{
	reader_free(f->reader);
	dataset_fini(&f->dataset);
	io_free(f->io);
	opstat_fini(&f->stat);
	clock_leave(f->clock);
	clock_free(f->clock);
}

/* Bytes of the room that one extent used. */
static uint64_t read_one(struct fixture *f, uint64_t room)
{
	const struct read_task *t;
	struct extent x;
	int rc;

	dataset_extent(&f->dataset, 7, &x);
	reader_start(f->reader, &f->plan, &x);
	reader_into(f->reader, room ? f->room : NULL, room);
	t = reader_finish_one(f->reader, &rc);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(t->error, 0);
	ck_assert_ptr_eq(t->into, room ? f->room : NULL);
	return t->into_used;
}

static const unsigned char *base_of_read(const struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < f->fake.logged; i++)
		if (f->fake.log[i].op == MLGEN_READ && n-- == 0)
			return f->fake.log[i].base;
	return NULL;
}

START_TEST(reads_lie_one_behind_the_other)
{
	struct fixture f;

	set_up(&f, 1024);
	ck_assert_uint_eq(read_one(&f, FILE_BYTES), FILE_BYTES);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_ptr_eq(base_of_read(&f, i), f.room + 1024 * i);
	tear_down(&f);
}
END_TEST

START_TEST(what_does_not_fit_goes_to_the_buffer)
{
	size_t bytes;
	struct fixture f;

	set_up(&f, 1024);
	ck_assert_uint_eq(read_one(&f, 3000), 2048);
	ck_assert_ptr_eq(base_of_read(&f, 1), f.room + 1024);
	ck_assert_ptr_eq(base_of_read(&f, 2), io_buffer(f.io, &bytes));
	ck_assert_uint_eq(read_one(&f, 0), 0);
	for (unsigned i = 4; i < 8; i++)
		ck_assert_ptr_eq(base_of_read(&f, i), io_buffer(f.io, &bytes));
	ck_assert_uint_eq(read_one(&f, FILE_BYTES), FILE_BYTES);
	ck_assert_ptr_eq(base_of_read(&f, 8), f.room);
	tear_down(&f);
}
END_TEST

START_TEST(a_chain_that_came_short_goes_on_where_it_stopped)
{
	struct fixture f;

	set_up(&f, FILE_BYTES);
	fake_script(&f.fake, MLGEN_READ, 1000);
	ck_assert_uint_eq(read_one(&f, FILE_BYTES), FILE_BYTES);
	ck_assert_ptr_eq(base_of_read(&f, 0), f.room);
	ck_assert_ptr_eq(base_of_read(&f, 1), f.room + 1000);
	ck_assert_ptr_null(base_of_read(&f, 2));
	tear_down(&f);
}
END_TEST

Suite *suite_reader_into(void)
{
	Suite *s = suite_create("reader_into");
	TCase *t = tcase_create("reader_into");

	tcase_add_test(t, reads_lie_one_behind_the_other);
	tcase_add_test(t, what_does_not_fit_goes_to_the_buffer);
	tcase_add_test(t, a_chain_that_came_short_goes_on_where_it_stopped);
	suite_add_tcase(s, t);
	return s;
}
