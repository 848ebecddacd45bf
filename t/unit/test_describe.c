/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - figures of traces that are small enough to be counted by hand, or naively. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "describe/describe.h"
#include "describe/phases.h"
#include "suites.h"
#include "trace/trace_writer.h"

#define US UINT64_C(1000)

/* A trace in a file of its own, while it is made. */
static struct {
	char path[64];
	int fd;
	struct trace_writer *w;
} rig;
static struct mlgen_err err;
static struct description d;

static void set_up(void)
{
	const struct trace_head head = { .run_id = "a run",
					 .wall_ns = 1000 * NS_PER_S,
					 .clock_ns = 0 };

	snprintf(rig.path, sizeof(rig.path), "/tmp/mlgen-describe-XXXXXX");
	rig.fd = mkstemp(rig.path);
	ck_assert_int_ge(rig.fd, 0);
	ck_assert_int_eq(
		trace_writer_new(&rig.w, rig.fd, rig.path, &head, &err), 0);
}

static void tear_down(void)
{
	description_fini(&d);
	if (rig.w)
		trace_writer_finish(rig.w, NULL, &err);
	close(rig.fd);
	unlink(rig.path);
}

static uint32_t file(const char *path)
{
	return trace_writer_name(rig.w, path, strlen(path));
}

/* One that took a microsecond; what is special of it is set by the caller. */
static struct trace_record record(unsigned op, uint64_t at_us, uint32_t task,
				  uint32_t f)
{
	return (struct trace_record){ .start_ns = at_us * US,
				      .duration_ns = US,
				      .cpu_ns = TRACE_UNKNOWN,
				      .pid = task,
				      .tid = task,
				      .file = f,
				      .op = (uint16_t)op };
}

static void put(unsigned op, uint64_t at_us, uint32_t task, uint32_t f)
{
	struct trace_record r = record(op, at_us, task, f);

	trace_writer_record(rig.w, &r);
}

static void put_read(uint64_t at_us, uint32_t task, uint32_t f, uint64_t off,
		     uint64_t bytes)
{
	struct trace_record r = record(TRACE_READ, at_us, task, f);

	r.off = off;
	r.len_bytes = bytes;
	r.result = (int64_t)bytes;
	trace_writer_record(rig.w, &r);
}

static void put_marker(unsigned op, uint64_t from_us, uint64_t to_us,
		       uint64_t number, uint64_t bytes, int rank)
{
	struct trace_record r = record(op, from_us, 1, 0);

	r.duration_ns = (to_us - from_us) * US;
	r.off = number;
	r.len_bytes = bytes;
	r.result = rank;
	trace_writer_record(rig.w, &r);
}

static void put_entry(uint32_t kind, uint64_t a, uint64_t b, const char *text)
{
	struct trace_entry e = { .kind = kind,
				 .number = { a, b, TRACE_UNKNOWN, TRACE_UNKNOWN,
					     0 },
				 .text = text,
				 .text_bytes = strlen(text) };

	trace_writer_entry(rig.w, &e);
}

static const struct described_trace *described_every(uint64_t interval_ns)
{
	const char *paths[] = { rig.path };

	ck_assert_int_eq(trace_writer_finish(rig.w, NULL, &err), 0);
	rig.w = NULL;
	int rc = describe_trace(&d, paths, 1, interval_ns, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return &d.figures.trace;
}

static const struct described_trace *described(void)
{
	return described_every(NS_PER_S);
}

/* Reads a file as loaders do. */
static void visit(uint64_t at_us, uint32_t task, const char *path)
{
	uint32_t f = file(path);

	put(TRACE_OPEN, at_us, task, f);
	put_read(at_us + 2, task, f, 0, 4096);
	put_read(at_us + 4, task, f, 4096, 1000);
	put_read(at_us + 6, task, f, 5096, 0);
	put(TRACE_CLOSE, at_us + 8, task, f);
}

START_TEST(operations_are_counted_without_those_that_failed)
{
	struct trace_record r = record(TRACE_READ, 5, 1, file("/a"));

	put_read(0, 1, file("/a"), 0, 100);
	r.result = -EIO;
	r.len_bytes = 100;
	trace_writer_record(rig.w, &r);
	r.result = 70;
	r.flags = TRACE_CHAINED;
	trace_writer_record(rig.w, &r);
	put(TRACE_STAT, 20, 1, file("/a"));
	const struct described_op *o = described()->operations.of;
	ck_assert_uint_eq(o[TRACE_READ].count, 2);
	ck_assert_uint_eq(o[TRACE_READ].errors, 1);
	ck_assert_uint_eq(o[TRACE_READ].chained, 1);
	ck_assert_uint_eq(o[TRACE_READ].bytes, 170);
	ck_assert_uint_eq(o[TRACE_READ].lat_ns->count, 1);
	ck_assert_uint_eq(o[TRACE_READ].lat_ns->min_ns, US);
	ck_assert_uint_eq(o[TRACE_STAT].count, 1);
	ck_assert_uint_eq(o[TRACE_WRITE].count, 0);
	ck_assert_double_eq_tol(d.figures.trace.seconds, 21e-6, 1e-15);
}
END_TEST

START_TEST(a_table_has_each_operation_by_its_name)
{
	const struct mlgen_field *ops = NULL;
	unsigned n = 0;

	for (const struct mlgen_field *f = described_trace_fields; f->name; f++)
		if (!strcmp(f->name, "operations"))
			ops = f->sub;
	ck_assert_ptr_nonnull(ops);
	for (unsigned op = 1; op < TRACE_OPS; op++) {
		if (!trace_op_name(op))
			continue;
		ck_assert_str_eq(ops[n].name, trace_op_name(op));
		ck_assert_uint_eq(ops[n].off, op * sizeof(struct described_op));
		n++;
	}
	ck_assert_ptr_null(ops[n].name);
}
END_TEST

START_TEST(reads_behind_another_are_in_order_or_not)
{
	uint32_t a = file("/a");

	put(TRACE_OPEN, 0, 1, a);
	put_read(1, 1, a, 0, 10);
	put_read(2, 1, a, 10, 10); /* sequential */
	put_read(3, 2, a, 20, 10); /* another thread's first */
	put_read(4, 1, a, 20, 10); /* sequential */
	put_read(5, 1, a, 50, 10); /* ahead */
	put_read(6, 1, a, 5, 10);  /* back */
	put(TRACE_OPEN, 7, 1, a);
	put_read(8, 1, a, 0, 10); /* first again */
	put_read(9, 1, a, TRACE_UNKNOWN, 10);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->access.followed, 4);
	ck_assert_double_eq(t->access.sequential_percent, 50);
	ck_assert_double_eq(t->access.ahead_percent, 25);
	ck_assert_double_eq(t->access.back_percent, 25);
	ck_assert_uint_eq(t->access.unknown_offsets, 1);
	ck_assert_ptr_null(t->access.unknown);
	/* 0 to 30 and 50 to 60; of 80 bytes, of which 10 lay nowhere. */
	ck_assert_uint_eq(t->unique.bytes, 40);
	ck_assert(t->unique.is_exact);
	ck_assert_double_eq(t->unique.reread_percent, 50);
}
END_TEST

START_TEST(epochs_follow_from_files_that_are_read_again)
{
	static const char *const order[3][4] = {
		{ "/d/a", "/d/b", "/d/c", "/d/e" },
		{ "/d/e", "/d/c", "/d/b", "/d/a" },
		{ "/d/e", "/d/b", "/d/c", "/d/a" },
	};

	for (unsigned e = 0; e < 3; e++)
		for (unsigned i = 0; i < 4; i++)
			visit(1000 * e + 100 * i, 1, order[e][i]);
	/* One that is read once is of no epoch. */
	put_read(5000, 1, file("/other"), 0, 100);
	const struct described_trace *t = described();
	const struct described_epoch *e = t->epochs.items;
	ck_assert_uint_eq(t->epochs.count, 3);
	ck_assert_int_eq(t->order.sure, SURE_LIKELY);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(e[i].number, i);
		ck_assert_uint_eq(e[i].files, 4);
		ck_assert_uint_eq(e[i].reads, 12);
		ck_assert_uint_eq(e[i].read_bytes, 4 * 5096);
		ck_assert_double_eq_tol(e[i].start_seconds,
					(1000 * i + 2) / 1e6, 1e-12);
	}
	ck_assert_double_nan(e[0].order_correlation);
	ck_assert_double_eq_tol(e[1].order_correlation, -1, 1e-12);
	/* b and c change places: 1 - 6 * 2 / (4 * 15). */
	ck_assert_double_eq_tol(e[2].order_correlation, 0.8, 1e-12);
	ck_assert_double_eq_tol(t->order.correlation, -0.1, 1e-12);
	ck_assert_str_eq(t->order.of, "files");
}
END_TEST

START_TEST(files_that_are_read_once_have_no_epochs)
{
	visit(0, 1, "/a");
	visit(100, 1, "/b");
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->epochs.count, 0);
	ck_assert_double_nan(t->order.correlation);
	ck_assert_ptr_nonnull(strstr(t->order.unknown, "not read again"));
}
END_TEST

START_TEST(markers_say_what_epochs_are_and_samples_their_order)
{
	static const uint64_t order[2][5] = { { 4, 0, 3, 1, 2 },
					      { 0, 4, 3, 2, 1 } };

	for (unsigned e = 0; e < 2; e++) {
		for (unsigned i = 0; i < 5; i++) {
			uint64_t at = 1000 * e + 100 * i + 10;

			put_read(at, 2, file("/shard"), order[e][i] * 10, 10);
			put_marker(TRACE_SAMPLE, at, at + 5, order[e][i], 10,
				   0);
		}
		/* The second rank begins later, and ends later. */
		put_marker(TRACE_EPOCH, 1000 * e, 1000 * e + 900, e, 0, 0);
		put_marker(TRACE_EPOCH, 1000 * e + 50, 1000 * e + 950, e, 0, 1);
	}
	const struct described_trace *t = described();
	const struct described_epoch *e = t->epochs.items;
	ck_assert_uint_eq(t->epochs.count, 2);
	ck_assert_int_eq(t->order.sure, SURE_SAID);
	ck_assert_str_eq(t->order.of, "samples");
	ck_assert_uint_eq(t->samples, 10);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(e[i].ranks, 2);
		ck_assert_uint_eq(e[i].samples, 5);
		ck_assert_uint_eq(e[i].files, 1);
		ck_assert_uint_eq(e[i].read_bytes, 50);
		ck_assert_double_eq_tol(e[i].seconds, 950e-6, 1e-12);
	}
	ck_assert_double_nan(e[0].order_correlation);
	/* Two pairs of neighbours change places: 1 - 6 * 4 / (5 * 24). */
	ck_assert_double_eq_tol(e[1].order_correlation, 0.8, 1e-12);
}
END_TEST

START_TEST(what_was_not_recorded_is_unknown_and_says_why)
{
	put_read(0, 1, file("/a"), TRACE_UNKNOWN, 10);
	const struct described_trace *t = described();
	ck_assert_double_nan(t->cache.hit_percent);
	ck_assert_ptr_nonnull(t->cache.unknown);
	ck_assert_uint_eq(t->block.reads, UINT64_MAX);
	ck_assert_ptr_nonnull(t->block.unknown);
	ck_assert_double_nan(t->cpu.on_percent);
	ck_assert_ptr_nonnull(t->cpu.unknown);
	ck_assert_uint_eq(t->cpu.switches, UINT64_MAX);
	ck_assert_ptr_nonnull(t->mmap.unknown);
	ck_assert_uint_eq(t->samples, UINT64_MAX);
	ck_assert_ptr_nonnull(t->metadata.opens_unknown);
	ck_assert_uint_eq(t->unique.bytes, UINT64_MAX);
	ck_assert_ptr_nonnull(t->unique.unknown);
	ck_assert_ptr_nonnull(t->access.unknown);
}
END_TEST

START_TEST(pages_that_were_added_tell_what_the_cache_had)
{
	struct trace_record r = record(TRACE_CACHE_ADD, 0, 1, file("/a"));

	r.len_bytes = 1000;
	r.flags = TRACE_READ_AHEAD;
	trace_writer_record(rig.w, &r);
	r.len_bytes = 500;
	r.flags = 0;
	trace_writer_record(rig.w, &r);
	put_read(5, 1, file("/a"), 0, 2000);
	put_read(7, 1, file("/a"), 0, 4000);
	const struct described_trace *t = described();
	ck_assert_double_eq_tol(t->cache.hit_percent, 75, 1e-12);
	ck_assert_uint_eq(t->cache.added_bytes, 1500);
	ck_assert_double_eq_tol(t->cache.read_ahead_percent, 100 / 1.5, 1e-12);
	ck_assert_ptr_null(t->cache.unknown);
}
END_TEST

static void put_block(unsigned op, uint64_t at_us, uint64_t off, uint64_t bytes,
		      unsigned flags)
{
	struct trace_record r = record(op, at_us, 0, file("/dev/x"));

	r.off = off;
	r.len_bytes = bytes;
	r.flags = (uint16_t)flags;
	r.duration_ns = 0;
	trace_writer_record(rig.w, &r);
}

START_TEST(block_requests_are_paired)
{
	put_read(0, 1, file("/a"), 0, 8000);
	put_block(TRACE_BLOCK_ISSUE, 10, 0, 4096, TRACE_READ_AHEAD);
	put_block(TRACE_BLOCK_ISSUE, 20, 4096, 4096, 0);
	put_block(TRACE_BLOCK_ISSUE, 30, 65536, 4096, TRACE_WRITES);
	put_block(TRACE_BLOCK_COMPLETE, 40, 4096, 4096, 0);
	put_block(TRACE_BLOCK_COMPLETE, 50, 0, 4096, 0);
	put_block(TRACE_BLOCK_COMPLETE, 100, 65536, 4096, TRACE_WRITES);
	/* Its issue was not seen. */
	put_block(TRACE_BLOCK_COMPLETE, 100, 99, 4096, 0);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->block.reads, 2);
	ck_assert_uint_eq(t->block.read_bytes, 8192);
	ck_assert_uint_eq(t->block.writes, 1);
	ck_assert_uint_eq(t->block.depth_most, 3);
	ck_assert_double_eq(t->block.read_ahead_percent, 50);
	ck_assert_uint_eq(t->block.lat_ns->count, 3);
	ck_assert_uint_eq(t->block.lat_ns->sum_ns, (20 + 40 + 70) * US);
	ck_assert_double_eq_tol(t->block.depth_mean, 1.3, 1e-9);
	/* 8192 came for 8000 that were read. */
	ck_assert_double_eq(t->cache.hit_percent, 0);
	/* A device is no file of the program. */
	ck_assert_uint_eq(t->unique.files, 1);
}
END_TEST

START_TEST(faults_touch_pages)
{
	static const uint64_t offsets[] = { 0, 4096, 16384, 8192, 0 };

	put(TRACE_MMAP, 0, 1, file("/m"));
	for (unsigned i = 0; i < ARRAY_LEN(offsets); i++) {
		struct trace_record r =
			record(TRACE_FAULT, 10 + i, 1, file("/m"));

		r.off = offsets[i];
		trace_writer_record(rig.w, &r);
	}
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->mmap.faults, 5);
	ck_assert_uint_eq(t->mmap.pages, 4);
	ck_assert_double_eq(t->mmap.ascending_percent, 50);
	ck_assert_double_eq_tol(t->mmap.faults_per_sec, 1e6, 1e-3);
	ck_assert_ptr_null(t->mmap.unknown);
	ck_assert_double_eq_tol(t->fault_percent, 100 * 5 / 15.0, 1e-9);
}
END_TEST

static const struct described_task *task_of(const struct metric_list *l,
					    uint64_t pid)
{
	const struct described_task *t = l->items;

	for (size_t i = 0; i < l->count; i++)
		if (t[i].pid == pid)
			return &t[i];
	ck_abort_msg("no such task");
	return NULL;
}

START_TEST(children_that_read_are_loaders_and_their_parent_trains)
{
	struct trace_record r = record(TRACE_WRITE, 500, 10, file("/ckpt"));

	put_entry(TRACE_PROCESS, 10, 1, "python train.py");
	put_entry(TRACE_PROCESS, 11, 10, "python train.py");
	put_entry(TRACE_PROCESS, 12, 10, "python train.py");
	put_entry(TRACE_PROCESS, 13, 10, "saver");
	visit(0, 11, "/a");
	visit(10, 12, "/b");
	visit(20, 12, "/c");
	put(TRACE_STAT, 30, 10, file("/a"));
	r.pid = r.tid = 13;
	r.result = 100000;
	trace_writer_record(rig.w, &r);
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 10)->sure, SURE_LIKELY);
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 12)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 12)->sure, SURE_LIKELY);
	ck_assert_int_eq(task_of(l, 13)->role, ROLE_CHECKPOINT);
	ck_assert_uint_eq(task_of(l, 12)->parent, 10);
	ck_assert_str_eq(task_of(l, 12)->text, "python train.py");
	ck_assert_uint_eq(task_of(l, 12)->read_bytes, 2 * 5096);
	/* 5096, 10192 and 100000 bytes. */
	const struct described_share *s = &d.figures.trace.skew.processes;
	ck_assert_uint_eq(s->count, 3);
	ck_assert_double_eq_tol(s->bytes_most_over_mean, 300000 / 115288.0,
				1e-9);
	ck_assert_double_eq_tol(s->bytes_gini,
				2 * (5096 + 2 * 10192 + 3 * 100000.0) /
						(3 * 115288.0) -
					4 / 3.0,
				1e-9);
}
END_TEST

/* One of a hundred bytes is the least; and an only child is a guess. */
START_TEST(a_child_that_reads_next_to_nothing_is_no_loader)
{
	put_entry(TRACE_PROCESS, 10, 1, "train");
	put_entry(TRACE_PROCESS, 11, 10, "train");
	put_entry(TRACE_PROCESS, 12, 10, "git describe");
	put_read(0, 11, file("/a"), 0, 99000);
	put_read(10, 12, file("/b"), 0, 900);
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 11)->sure, SURE_GUESS);
	ck_assert_int_eq(task_of(l, 12)->role, ROLE_OTHER);
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 10)->sure, SURE_GUESS);
}
END_TEST

START_TEST(a_shell_around_a_program_is_no_trainer)
{
	put_entry(TRACE_PROCESS, 10, 1, "sh -c train");
	put_entry(TRACE_PROCESS, 11, 10, "train");
	put(TRACE_STAT, 0, 10, file("/x"));
	put(TRACE_EXEC, 1, 11, file("/bin/train"));
	visit(10, 11, "/a");
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_OTHER);
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 11)->sure, SURE_GUESS);
}
END_TEST

START_TEST(threads_that_say_what_they_are_are_believed)
{
	struct trace_record r = record(TRACE_READ, 0, 5, file("/a"));

	put_entry(TRACE_THREAD, 6, 5, "rank 0");
	put_entry(TRACE_THREAD, 7, 5, "loader 1 of rank 0");
	put_entry(TRACE_THREAD, 8, 5, "saver 0");
	for (uint32_t tid = 5; tid <= 8; tid++) {
		r.tid = tid;
		r.result = tid;
		trace_writer_record(rig.w, &r);
	}
	const struct described_trace *t = described();
	const struct described_task *threads = t->threads.items;
	static const int roles[] = { ROLE_CHECKPOINT, ROLE_LOADER, ROLE_TRAINER,
				     ROLE_OTHER };
	ck_assert_uint_eq(t->threads.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(threads[i].tid, 8 - i);
		ck_assert_int_eq(threads[i].role, roles[i]);
	}
	ck_assert_int_eq(threads[0].sure, SURE_SAID);
	ck_assert_int_eq(task_of(&t->processes, 5)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(&t->processes, 5)->sure, SURE_SAID);
}
END_TEST

START_TEST(time_is_in_calls_and_on_a_cpu)
{
	struct trace_record r = record(TRACE_READ, 0, 1, file("/a"));

	r.cpu_ns = 500;
	r.result = 10;
	trace_writer_record(rig.w, &r);
	r.start_ns = 9 * US;
	r.cpu_ns = 2000;
	trace_writer_record(rig.w, &r);
	/* Asynchronous: the thread does something else meanwhile. */
	r.start_ns = 2 * US;
	r.duration_ns = 5 * US;
	r.cpu_ns = TRACE_UNKNOWN;
	r.flags = TRACE_ASYNC;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	ck_assert_double_eq_tol(t->io_percent, 20, 1e-9);
	ck_assert_double_eq_tol(t->cpu.on_percent, 25, 1e-9);
	ck_assert_double_eq_tol(t->cpu.off_percent, 75, 1e-9);
	ck_assert_double_eq_tol(t->in_flight_mean, 0.7, 1e-9);
	ck_assert_uint_eq(t->clock_steps, 0);
}
END_TEST

START_TEST(a_clock_that_was_set_back_is_noticed)
{
	put_read(1000, 1, file("/a"), 0, 10);
	put_read(10, 1, file("/a"), 10, 10);
	put_read(20, 2, file("/a"), 10, 10);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->clock_steps, 1);
	ck_assert_double_eq_tol(t->seconds, 991e-6, 1e-12);
}
END_TEST

START_TEST(what_was_lost_is_said)
{
	struct trace_entry e = { .kind = TRACE_LOST,
				 .number = { TRACE_READ, 5, 10 * US, 20 * US,
					     3 },
				 .text = "ring full",
				 .text_bytes = 9 };

	trace_writer_entry(rig.w, &e);
	const struct described_trace *t = described();
	const struct described_loss *l = t->lost.parts.items;
	ck_assert(!t->is_complete);
	ck_assert_uint_eq(t->lost.events, 5);
	ck_assert_uint_eq(t->lost.parts.count, 1);
	ck_assert_str_eq(l->operation, "read");
	ck_assert_str_eq(l->why, "ring full");
	ck_assert_uint_eq(l->tid, 3);
	ck_assert_uint_eq(t->records, 0);
}
END_TEST

START_TEST(an_empty_trace_is_whole)
{
	const struct described_trace *t = described();

	ck_assert(t->is_complete);
	ck_assert_uint_eq(t->records, 0);
	ck_assert_uint_eq(t->unique.files, 0);
	ck_assert_double_eq(t->seconds, 0);
	ck_assert_double_nan(t->read_bytes_per_sec);
}
END_TEST

START_TEST(names_are_those_of_files_that_count)
{
	visit(0, 1, "/d/small");
	put_read(10, 1, file("/d/large\xff\n"), 0, 100000);
	put_read(20, 1, file("/e/f/none"), 0, 0);
	const struct described_trace *t = described();
	const struct described_file *f = t->top_files.items;
	const struct described_directory *dirs = t->directories.items;
	ck_assert_uint_eq(t->top_files.count, 3);
	ck_assert_str_eq(f[0].path, "/d/large\\xff\\n");
	ck_assert_str_eq(f[1].path, "/d/small");
	ck_assert_uint_eq(f[1].opens, 1);
	ck_assert_uint_eq(f[1].unique_bytes, 5096);
	ck_assert_double_eq(f[1].sequential_percent, 100);
	ck_assert_uint_eq(t->directories.count, 2);
	ck_assert_str_eq(dirs[0].path, "/d");
	ck_assert_uint_eq(dirs[0].files, 2);
	ck_assert_uint_eq(dirs[0].read_bytes, 105096);
	ck_assert_str_eq(dirs[1].path, "/e/f");
}
END_TEST

START_TEST(checkpoints_and_stages_are_those_of_their_ranks)
{
	struct trace_record r = record(TRACE_CHECKPOINT, 100, 1, file("save"));

	for (unsigned rank = 0; rank < 4; rank++) {
		r.start_ns = (100 + rank) * US;
		r.duration_ns = 50 * US;
		r.off = rank / 2;
		r.len_bytes = 1000;
		r.result = (int64_t)(rank % 2);
		trace_writer_record(rig.w, &r);
	}
	r = record(TRACE_STAGE, 0, 1, file("eval"));
	r.duration_ns = 300 * US;
	trace_writer_record(rig.w, &r);
	r.tid = 2;
	r.start_ns += US;
	trace_writer_record(rig.w, &r);
	r.start_ns = 500 * US;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	const struct described_checkpoint *c = t->checkpoints.items;
	const struct described_stage *s = t->stages.items;
	ck_assert_uint_eq(t->checkpoints.count, 2);
	ck_assert_uint_eq(c[1].number, 1);
	ck_assert_uint_eq(c[1].ranks, 2);
	ck_assert_uint_eq(c[1].bytes, 2000);
	ck_assert_double_eq_tol(c[1].seconds, 51e-6, 1e-12);
	ck_assert_str_eq(c[1].name, "save");
	ck_assert_uint_eq(t->stages.count, 2);
	ck_assert_str_eq(s[0].name, "eval");
	ck_assert_uint_eq(s[0].ranks, 2);
	ck_assert_double_eq_tol(s[0].seconds, 301e-6, 1e-12);
}
END_TEST

START_TEST(intervals_add_up_to_all)
{
	uint64_t bytes = 0, reads = 0;

	for (unsigned i = 0; i < 5000; i++)
		put_read(10 * i, 1, file("/a"), 0, i);
	const struct described_trace *t = described_every(10 * US);
	const struct interval *s = t->series.items;
	ck_assert_uint_eq(d.log.count, 5000);
	ck_assert_uint_eq(d.log.at[77].read_bytes, 77);
	ck_assert_uint_eq(t->series.count, 625);
	ck_assert_double_eq_tol(t->interval_seconds, 80e-6, 1e-12);
	for (size_t i = 0; i < t->series.count; i++) {
		bytes += s[i].read_bytes;
		reads += s[i].reads;
	}
	ck_assert_uint_eq(reads, 5000);
	ck_assert_uint_eq(bytes, t->read_bytes);
}
END_TEST

START_TEST(phases_are_what_most_bytes_do)
{
	static const struct {
		uint64_t read, written;
		enum phase_kind kind;
	} at[] = {
		{ 100, 9, MOVES_IN },    { 100, 0, MOVES_IN },
		{ 0, 0, MOVES_NOTHING }, { 9, 100, MOVES_OUT },
		{ 100, 10, MOVES_BOTH }, { 5, 5, MOVES_BOTH },
		{ 1, 0, MOVES_IN },
	};
	static const size_t counts[] = { 2, 1, 1, 2, 1 };
	struct intervals s;
	struct phase p[3];

	intervals_init(&s, 0, ARRAY_LEN(at), 1);
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		s.at[i].read_bytes = at[i].read;
		s.at[i].written_bytes = at[i].written;
	}
	ck_assert_uint_eq(phases_find(&s, p, 3), 5);
	for (size_t i = 0, first = 0; i < 3; first += counts[i++]) {
		ck_assert_uint_eq(p[i].first, first);
		ck_assert_uint_eq(p[i].count, counts[i]);
		ck_assert_int_eq(p[i].kind, at[first].kind);
	}
	ck_assert_uint_eq(p[0].bytes, 209);
	intervals_fini(&s);
}
END_TEST

/* A year in microseconds takes no more rows than any other trace. */
START_TEST(too_many_intervals_are_longer_ones)
{
	put_read(0, 1, file("/a"), 0, 1);
	put_read(UINT64_C(31536000) * 1000000, 1, file("/a"), 0, 1);
	described_every(US);
	ck_assert_uint_le(d.log.count, INTERVALS_MOST);
	ck_assert_uint_gt(d.log.count, INTERVALS_MOST / 2);
	ck_assert_uint_eq(d.log.at[0].reads, 1);
	ck_assert_uint_eq(d.log.at[d.log.count - 1].reads, 1);
}
END_TEST

START_TEST(requests_have_sizes_and_a_rate_each)
{
	for (unsigned i = 0; i < 3; i++)
		put_read(10 * i, 1, file("/a"), 0, 3000);
	put_read(40, 1, file("/a"), 0, 4097);
	const struct described_trace *t = described();
	const struct described_size *s = t->request_sizes.items;
	ck_assert_uint_eq(t->request_sizes.count, 2);
	ck_assert_str_eq(s[0].operation, "read");
	ck_assert_uint_eq(s[0].at_most_bytes, 4096);
	ck_assert_uint_eq(s[0].count, 3);
	ck_assert_double_eq(s[0].percent, 75);
	ck_assert_double_eq_tol(s[0].bytes_per_sec, 3e9, 1);
	ck_assert_double_eq_tol(s[0].lat_mean_ns, 1000, 1e-9);
	ck_assert_uint_eq(s[1].at_most_bytes, 8192);
}
END_TEST

/* Numbers that no program has. */
START_TEST(odd_records_are_counted_and_harm_nothing)
{
	struct trace_record r = record(TRACE_READ, 0, 1, file("/a"));

	r.off = UINT64_MAX - 5;
	r.len_bytes = UINT64_MAX - 1;
	r.result = INT64_MAX;
	trace_writer_record(rig.w, &r);
	r.start_ns = UINT64_MAX - 1;
	r.duration_ns = UINT64_MAX - 1;
	r.file = file("/b");
	trace_writer_record(rig.w, &r);
	r.op = 9999;
	trace_writer_record(rig.w, &r);
	r.op = TRACE_NONE;
	trace_writer_record(rig.w, &r);
	r = record(TRACE_EPOCH, 0, 1, 0);
	r.off = TRACE_UNKNOWN;
	r.flags = TRACE_BEGINS;
	trace_writer_record(rig.w, &r);
	r = record(TRACE_FAULT, 0, 1, file("/a"));
	r.off = INT64_MAX - 1;
	r.len_bytes = INT64_MAX;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->operations.of[TRACE_READ].count, 2);
	ck_assert_uint_ge(t->unknown_ops, 1);
}
END_TEST

Suite *suite_describe(void)
{
	Suite *s = suite_create("describe");
	TCase *t = tcase_create("describe");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, operations_are_counted_without_those_that_failed);
	tcase_add_test(t, a_table_has_each_operation_by_its_name);
	tcase_add_test(t, reads_behind_another_are_in_order_or_not);
	tcase_add_test(t, epochs_follow_from_files_that_are_read_again);
	tcase_add_test(t, files_that_are_read_once_have_no_epochs);
	tcase_add_test(t, markers_say_what_epochs_are_and_samples_their_order);
	tcase_add_test(t, what_was_not_recorded_is_unknown_and_says_why);
	tcase_add_test(t, pages_that_were_added_tell_what_the_cache_had);
	tcase_add_test(t, block_requests_are_paired);
	tcase_add_test(t, faults_touch_pages);
	tcase_add_test(t,
		       children_that_read_are_loaders_and_their_parent_trains);
	tcase_add_test(t, a_child_that_reads_next_to_nothing_is_no_loader);
	tcase_add_test(t, a_shell_around_a_program_is_no_trainer);
	tcase_add_test(t, threads_that_say_what_they_are_are_believed);
	tcase_add_test(t, time_is_in_calls_and_on_a_cpu);
	tcase_add_test(t, a_clock_that_was_set_back_is_noticed);
	tcase_add_test(t, what_was_lost_is_said);
	tcase_add_test(t, an_empty_trace_is_whole);
	tcase_add_test(t, names_are_those_of_files_that_count);
	tcase_add_test(t, checkpoints_and_stages_are_those_of_their_ranks);
	tcase_add_test(t, intervals_add_up_to_all);
	tcase_add_test(t, phases_are_what_most_bytes_do);
	tcase_add_test(t, too_many_intervals_are_longer_ones);
	tcase_add_test(t, requests_have_sizes_and_a_rate_each);
	tcase_add_test(t, odd_records_are_counted_and_harm_nothing);
	suite_add_tcase(s, t);
	return s;
}
