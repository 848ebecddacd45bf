/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader.c - extents by chains and by single operations come to the same. */
#include <string.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "io/engines.h"
#include "run/read/read.h"
#include "suites.h"

#define OP_NS 1000u
#define FILE_BYTES 4096u
#define TASKS 4u

struct fixture {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	struct fake fake;
	struct io *io;
	struct dataset dataset;
	struct plan_config plan;
	struct reader *reader;
};

struct set_up {
	unsigned tasks, iodepth, ops; /* ops: room of the io */
	uint64_t bs, align;
	bool no_links;
};

static void make_dataset(struct dataset *ds)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_RAW,
				 .num_files = 16,
				 .samples_per_file = 1,
				 .sample_size = { .a = FILE_BYTES },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

static void set_up(struct fixture *f, const struct set_up *s)
{
	struct io_config cfg = { .job = &f->job,
				 .stat = &f->stat,
				 .iodepth = s->ops,
				 .transfers = s->iodepth,
				 .buf_bytes = s->iodepth * FILE_BYTES };

	memset(f, 0, sizeof(*f));
	f->fake.op_ns = OP_NS;
	f->fake.no_links = s->no_links;
	f->clock = cfg.clock = clock_new_virtual(5000);
	clock_join(f->clock);
	opstat_init(&f->stat);
	f->job = (struct mlgen_engine_job){ .engine = &fake_async, .workers = 1, .priv = &f->fake };
	ck_assert_int_eq(io_new(&f->io, &cfg, NULL), 0);
	make_dataset(&f->dataset);
	f->plan = (struct plan_config){ .dataset = &f->dataset,
					.bs_bytes = s->bs,
					.align_bytes = s->align };
	f->reader = reader_new(f->io, &f->stat, s->tasks, s->iodepth);
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

static void start(struct fixture *f, uint64_t id)
{
	struct extent x;

	ck_assert(reader_has_room(f->reader));
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

static const struct set_up linked = {
	.tasks = TASKS, .iodepth = TASKS, .ops = 3 * TASKS, .bs = FILE_BYTES
};

START_TEST(small_files_go_out_as_chains)
{
	struct fixture f;

	set_up(&f, &linked);
	for (uint64_t i = 0; i < TASKS; i++)
		start(&f, i);
	ck_assert(!reader_has_room(f.reader));
	for (uint64_t i = 0; i < TASKS; i++)
		ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.fake.submits, 1);
	ck_assert_uint_eq(f.fake.batch[0], 3 * TASKS);
	ck_assert_uint_eq(f.stat.linked[MLGEN_OPEN], TASKS);
	ck_assert_uint_eq(f.stat.linked[MLGEN_READ], TASKS);
	ck_assert_uint_eq(f.stat.linked[MLGEN_CLOSE], TASKS);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 0);
	ck_assert_uint_eq(f.stat.io_bytes[0], TASKS * FILE_BYTES);
	/* of a sample, whatever became of the others */
	ck_assert_uint_eq(f.stat.sample->count, TASKS);
	ck_assert_uint_eq(f.stat.sample->min_ns, 3 * OP_NS);
	ck_assert_uint_eq(f.stat.sample->max_ns, 3 * OP_NS);
	tear_down(&f);
}
END_TEST

START_TEST(one_sample_at_a_time_waits_once_for_its_chain)
{
	struct set_up s = linked;
	uint64_t reaps = 0;
	struct fixture f;

	s.tasks = 1;
	s.ops = TASKS + 2;
	set_up(&f, &s);
	for (uint64_t i = 0; i < 5; i++) {
		start(&f, i);
		ck_assert_int_eq(finish(&f)->error, 0);
	}
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++)
		reaps += f.stat.reaps[i];
	ck_assert_uint_eq(f.fake.submits, 5);
	ck_assert_uint_eq(reaps, 5);
	tear_down(&f);
}
END_TEST

/* clang-format off */
static const struct {
	const char *what;
	struct set_up s;
} singles[] = {
	{ "several requests", { TASKS, TASKS, 3 * TASKS, 1024, 0, false } },
	{ "an engine that cannot", { TASKS, TASKS, 3 * TASKS, FILE_BYTES, 0, true } },
	{ "too little room", { TASKS, TASKS, 3 * TASKS - 1, FILE_BYTES, 0, false } },
	{ "room for nothing else", { 1, 1, 1, FILE_BYTES, 0, false } },
};
/* clang-format on */

START_TEST(all_else_goes_in_single_operations)
{
	struct fixture f;

	set_up(&f, &singles[_i].s);
	for (uint64_t i = 0; i < singles[_i].s.tasks; i++)
		start(&f, i);
	for (uint64_t i = 0; i < singles[_i].s.tasks; i++)
		ck_assert_int_eq(finish(&f)->error, 0);
	for (unsigned i = 0; i < f.fake.logged; i++)
		ck_assert_msg(f.fake.log[i].flags == 0, "%s", singles[_i].what);
	ck_assert_uint_eq(f.stat.linked[MLGEN_READ], 0);
	ck_assert_uint_eq(f.stat.io_bytes[0], singles[_i].s.tasks * FILE_BYTES);
	tear_down(&f);
}
END_TEST

START_TEST(iodepth_holds_though_there_is_room_for_more)
{
	struct fixture f;

	set_up(&f, &(struct set_up){ 1, 2, 4, 512, 0, false });
	start(&f, 0);
	ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.fake.most_held, 2);
	ck_assert_uint_eq(f.stat.lat[MLGEN_READ]->count, 8);
	tear_down(&f);
}
END_TEST

/* clang-format off */
static const struct {
	int64_t result;		/* of the chain's read */
	uint64_t align, off;	/* where it is gone on */
	uint64_t bytes;		/* moved in all */
} shorts[] = {
	{ 1, 0, 1, FILE_BYTES },
	{ 1000, 0, 1000, FILE_BYTES },
	{ 4095, 0, 4095, FILE_BYTES },
	{ 1024, 512, 1024, FILE_BYTES },
	{ 1000, 512, 512, FILE_BYTES + 1000 - 512 },
	{ 100, 512, 0, FILE_BYTES + 100 },
};
/* clang-format on */

START_TEST(a_short_read_in_a_chain_is_gone_on_with)
{
	struct set_up s = linked;
	struct fixture f;

	s.align = shorts[_i].align;
	set_up(&f, &s);
	fake_script(&f.fake, MLGEN_READ, shorts[_i].result);
	start(&f, 3);
	ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.fake.logged, 6);
	ck_assert_uint_eq(f.fake.log[4].op, MLGEN_READ);
	ck_assert_uint_eq(f.fake.log[4].off, shorts[_i].off);
	ck_assert_uint_eq(f.fake.log[4].len_bytes, FILE_BYTES - shorts[_i].off);
	ck_assert_uint_eq(f.fake.log[4].flags, 0);
	ck_assert_uint_eq(f.stat.io_bytes[0], shorts[_i].bytes);
	ck_assert_uint_eq(f.stat.short_ios[0], 1);
	/* one sample, from its first operation to its last */
	ck_assert_uint_eq(f.stat.sample->count, 1);
	ck_assert_uint_eq(f.stat.sample->max_ns, 6 * OP_NS);
	/* and the next one of this task is a chain again */
	start(&f, 4);
	ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.stat.linked[MLGEN_READ], 2);
	ck_assert_uint_eq(f.stat.short_ios[0], 1);
	tear_down(&f);
}
END_TEST

static const struct {
	enum mlgen_op op;
	int error;
} transients[] = {
	{ MLGEN_OPEN, -EINTR },
	{ MLGEN_OPEN, -EAGAIN },
	{ MLGEN_READ, -EINTR },
	{ MLGEN_CLOSE, -EINTR },
};

START_TEST(an_interrupted_chain_is_gone_on_with)
{
	struct fixture f;

	set_up(&f, &linked);
	f.fake.backwards = true;
	fake_script(&f.fake, transients[_i].op, transients[_i].error);
	start(&f, 3);
	ck_assert_int_eq(finish(&f)->error, 0);
	ck_assert_uint_eq(f.stat.io_bytes[0], FILE_BYTES);
	tear_down(&f);
}
END_TEST

/* clang-format off */
static const struct failure {
	enum mlgen_op op;
	int64_t results[2];
	uint64_t align;
	int error;
	const char *text;
} failures[] = {
	{ MLGEN_OPEN, { -ENOENT, FAKE_ALL }, 0, -ENOENT,
	  "d/train/img_03_of_16.raw: open: No such file or directory (there); the dataset was complete: --phase=prepare writes what is missing" },
	{ MLGEN_OPEN, { -EACCES, FAKE_ALL }, 0, -EACCES,
	  "d/train/img_03_of_16.raw: open: Permission denied (there)" },
	{ MLGEN_READ, { -EIO, FAKE_ALL }, 0, -EIO,
	  "d/train/img_03_of_16.raw: read at 0: Input/output error (there)" },
	{ MLGEN_READ, { 1000, 0 }, 0, -ENODATA,
	  "d/train/img_03_of_16.raw: the file ends at 1000 of 4096 bytes; it was truncated or replaced (there); --phase=prepare writes it again" },
	{ MLGEN_READ, { 0, 0 }, 0, -ENODATA,
	  "d/train/img_03_of_16.raw: the file ends at 0 of 4096 bytes; it was truncated or replaced (there); --phase=prepare writes it again" },
	{ MLGEN_READ, { 1024, 0 }, 512, -ENODATA,
	  "d/train/img_03_of_16.raw: the file ends at 1024 of 4096 bytes; it was truncated or replaced (there); --phase=prepare writes it again" },
	{ MLGEN_READ, { 1000, -EIO }, 0, -EIO, NULL },
	{ MLGEN_CLOSE, { -EIO, FAKE_ALL }, 0, -EIO,
	  "d/train/img_03_of_16.raw: close: Input/output error (there)" },
};
/* clang-format on */

static void check_failure(const struct failure *c, const struct set_up *like, bool backwards,
			  struct mlgen_err *err)
{
	struct set_up s = *like;
	struct fixture f;

	s.align = c->align;
	set_up(&f, &s);
	f.fake.backwards = backwards;
	fake_script(&f.fake, c->op, c->results[0]);
	fake_script(&f.fake, c->op, c->results[1]);
	start(&f, 3);
	const struct read_task *t = finish(&f);
	ck_assert_int_eq(t->error, c->error);
	reader_describe(t, "there", err);
	ck_assert_uint_eq(f.stat.sample->count, 0);
	tear_down(&f);
}

START_TEST(a_failure_has_the_same_words_in_a_chain)
{
	const struct failure *c = &failures[_i];
	struct mlgen_err chain = { 0 }, reversed = { 0 }, single = { 0 };
	struct set_up alone = linked;

	alone.no_links = true;
	check_failure(c, &linked, false, &chain);
	check_failure(c, &linked, true, &reversed);
	check_failure(c, &alone, false, &single);
	ck_assert_str_eq(chain.text, reversed.text);
	if (!c->text) /* where a resumed one fails, its rest begins there */
		return;
	ck_assert_str_eq(chain.text, c->text);
	ck_assert_str_eq(single.text, c->text);
}
END_TEST

START_TEST(one_that_fails_does_not_touch_the_others)
{
	unsigned failed = 0;
	struct fixture f;

	set_up(&f, &linked);
	fake_script(&f.fake, MLGEN_OPEN, FAKE_ALL);
	fake_script(&f.fake, MLGEN_OPEN, -ENOENT);
	for (uint64_t i = 0; i < TASKS; i++)
		start(&f, i);
	for (uint64_t i = 0; i < TASKS; i++) {
		const struct read_task *t = finish(&f);

		failed += t->error != 0;
		ck_assert_int_eq(t->error, t->extent.id == 1 ? -ENOENT : 0);
	}
	ck_assert_uint_eq(failed, 1);
	ck_assert_uint_eq(f.stat.io_bytes[0], (TASKS - 1) * FILE_BYTES);
	ck_assert_uint_eq(f.stat.sample->count, TASKS - 1);
	tear_down(&f);
}
END_TEST

START_TEST(many_in_turn_all_come_back)
{
	uint64_t ids = 0;
	struct fixture f;

	set_up(&f, &linked);
	f.fake.one_by_one = f.fake.backwards = true;
	for (uint64_t i = 0; i < 64; i++) {
		if (i % 7 == 0 && f.fake.script[MLGEN_READ].count < 8)
			fake_script(&f.fake, MLGEN_READ, (int64_t)i * 50 + 1);
		if (!reader_has_room(f.reader))
			ids += finish(&f)->extent.id;
		start(&f, i % 16);
	}
	while (reader_is_busy(f.reader))
		ids += finish(&f)->extent.id;
	ck_assert_uint_eq(ids, 4 * 120);
	ck_assert_uint_eq(f.stat.sample->count, 64);
	ck_assert_uint_eq(f.stat.io_bytes[0], 64 * FILE_BYTES);
	tear_down(&f);
}
END_TEST

START_TEST(the_io_has_room_for_chains_where_they_can_be)
{
	static const struct mlgen_engine few = { .caps = MLGEN_CAP(MLGEN_READ), .reap = fake_reap };
	static const struct {
		const struct mlgen_engine *engine;
		uint64_t iodepth;
		int loader;
		unsigned ops;
	} cases[] = {
		{ &fake_async, 16, LOADER_PLAIN, 48 },
		{ &fake_async, 16, LOADER_PYTORCH, 18 },
		{ &fake_async, 1, LOADER_PYTORCH, 3 },
		{ &fake_async, 4096, LOADER_PLAIN, 3 * 4096 },
		{ &fake_async, 4097, LOADER_PLAIN, 4097 },
		{ &few, 16, LOADER_PLAIN, 16 },
		{ &fake_sync, 16, LOADER_PLAIN, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job *j = job_new("t");

		j->engine = cases[i].engine;
		j->iodepth = cases[i].iodepth;
		j->loader = cases[i].loader;
		ck_assert_uint_eq(reader_ops(j), cases[i].ops);
		j->engine = NULL;
		job_free(j);
	}
}
END_TEST

Suite *suite_reader(void)
{
	Suite *s = suite_create("reader");
	TCase *t = tcase_create("reader");

	tcase_add_test(t, small_files_go_out_as_chains);
	tcase_add_test(t, one_sample_at_a_time_waits_once_for_its_chain);
	tcase_add_loop_test(t, all_else_goes_in_single_operations, 0, 4);
	tcase_add_test(t, iodepth_holds_though_there_is_room_for_more);
	tcase_add_loop_test(t, a_short_read_in_a_chain_is_gone_on_with, 0, 6);
	tcase_add_loop_test(t, an_interrupted_chain_is_gone_on_with, 0, 4);
	tcase_add_loop_test(t, a_failure_has_the_same_words_in_a_chain, 0, 8);
	tcase_add_test(t, one_that_fails_does_not_touch_the_others);
	tcase_add_test(t, many_in_turn_all_come_back);
	tcase_add_test(t, the_io_has_room_for_chains_where_they_can_be);
	suite_add_tcase(s, t);
	return s;
}
