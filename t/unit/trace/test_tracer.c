/* SPDX-License-Identifier: Apache-2.0 */
/* test_tracer.c - what threads put into their rings, and io into them, is what a trace holds. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/io_internal.h"
#include "suites.h"
#include "temp.h"
#include "trace/trace.h"
#include "trace/tracer.h"

#define NAMES_MOST 256

/* A trace as it is read back. */
struct seen_records {
	char names[NAMES_MOST][64]; /* by id */
	struct trace_record *records;
	size_t count;
	uint64_t lost, lost_entries;
	char roles[8][64];
	size_t role_count;
	char fact[64];
	uint64_t process_end_ns;
};

struct fixture {
	char path[TEMP_BYTES];
	int fd;
	struct clock *clock;
	struct tracer *t;
	struct seen_records seen;
};

static void set_up(struct fixture *f, uint64_t threads)
{
	struct tracer_config cfg = { .threads = threads };
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->fd = temp_file(f->path);
	f->clock = clock_new_virtual(1000);
	cfg.fd = f->fd;
	cfg.path = f->path;
	cfg.clock = f->clock;
	f->t = tracer_new(&cfg);
	tracer_fact(f->t, "program", "test");
	tracer_fact(f->t, "nothing", "");
	tracer_entry(f->t, TRACE_PROCESS, (const uint64_t[]){ 1, 2 }, 2, "me");
	ck_assert_msg(tracer_start(f->t, &err) == 0, "%s", err.text);
}

static void take_entry(struct seen_records *s, const struct trace_entry *e)
{
	uint64_t id = e->number[0];

	if (e->kind == TRACE_FILE && id < NAMES_MOST)
		snprintf(s->names[id], sizeof(s->names[id]), "%s", e->text);
	if (e->kind == TRACE_THREAD && s->role_count < 8)
		snprintf(s->roles[s->role_count++], sizeof(s->roles[0]), "%s", e->text);
	if (e->kind == TRACE_FACT)
		snprintf(s->fact, sizeof(s->fact), "%s", e->text);
	if (e->kind == TRACE_PROCESS)
		s->process_end_ns = e->number[3];
	if (e->kind != TRACE_LOST)
		return;
	s->lost += e->number[1];
	s->lost_entries++;
	ck_assert_uint_le(e->number[2], e->number[3]);
}

static void read_back(struct fixture *f)
{
	const char *paths[] = { f->path };
	struct seen_records *s = &f->seen;
	struct mlgen_err err = { 0 };
	struct trace_reader *r;
	struct trace_batch b;

	ck_assert_msg(trace_reader_open(&r, paths, 1, &err) == 0, "%s", err.text);
	while (trace_reader_next(r, &b, &err) > 0) {
		for (size_t i = 0; i < b.entry_count; i++)
			take_entry(s, &b.entries[i]);
		s->records =
			mem_realloc(s->records, (s->count + b.record_count) * sizeof(*s->records));
		if (b.record_count)
			memcpy(s->records + s->count, b.records,
			       b.record_count * sizeof(*b.records));
		s->count += b.record_count;
	}
	ck_assert_uint_eq(trace_reader_totals(r)->truncated, 0);
	ck_assert_uint_eq(trace_reader_totals(r)->damaged_chunks, 0);
	trace_reader_close(r);
}

static struct tracer_total stop(struct fixture *f, bool always)
{
	struct tracer_total total;
	struct mlgen_err err = { 0 };

	ck_assert_msg(tracer_stop(f->t, always, &total, &err) == 0, "%s", err.text);
	return total;
}

static void tear_down(struct fixture *f)
{
	tracer_free(f->t);
	clock_free(f->clock);
	close(f->fd);
	unlink(f->path);
	mem_free(f->seen.records);
}

static void do_op(struct trace_ring *ring, struct mlgen_file *file, enum mlgen_op kind,
		  int64_t result)
{
	struct io_op op = { .io = { .op = kind,
				    .file = file,
				    .off = 4096,
				    .len_bytes = 512,
				    .path2 = "b",
				    .size_bytes = 77,
				    .result = result },
			    .start_ns = 2000,
			    .end_ns = 2300 };

	io_trace(ring, &op, false);
}

static const char *name_of(const struct fixture *f, uint64_t id)
{
	ck_assert_uint_lt(id, NAMES_MOST);
	return f->seen.names[id];
}

START_TEST(operations_have_the_names_of_their_files)
{
	struct mlgen_file a = { .path = "d/a", .name = "a", .flags = O_RDWR };
	struct mlgen_file c = { .path = "d/c" };
	struct fixture f;

	set_up(&f, 1);
	struct trace_ring *ring = tracer_ring(f.t, "worker 0", 1);
	ck_assert_ptr_nonnull(ring);
	do_op(ring, &a, MLGEN_OPEN, 0);
	do_op(ring, &c, MLGEN_OPEN, 0); /* there is one number, and a has it */
	ck_assert_uint_ne(a.trace, 0);
	ck_assert_uint_eq(c.trace, 0);
	do_op(ring, &a, MLGEN_READ, 512);
	do_op(ring, &c, MLGEN_WRITE, -EIO);
	do_op(ring, &a, MLGEN_READ, -ECANCELED); /* was not begun */
	do_op(ring, &a, MLGEN_STAT, 0);
	do_op(ring, &a, MLGEN_CLOSE, 0);
	ck_assert_uint_eq(a.trace, 0);
	do_op(ring, &c, MLGEN_OPEN, 0); /* has the number now */
	do_op(ring, &c, MLGEN_FSYNC, 0);
	do_op(ring, &a, MLGEN_RENAME, 0);
	trace_ring_end(ring);
	struct tracer_total total = stop(&f, false);
	read_back(&f);
	static const struct {
		uint16_t op;
		const char *name;
		uint64_t off, len_bytes;
		int64_t result;
	} want[] = {
		{ TRACE_OPEN, "d/a", TRACE_UNKNOWN, O_RDWR, 0 },
		{ TRACE_OPEN, "d/c", TRACE_UNKNOWN, 0, 0 },
		{ TRACE_READ, "d/a", 4096, 512, 512 },
		{ TRACE_WRITE, "d/c", 4096, 512, -EIO },
		{ TRACE_STAT, "d/a", TRACE_UNKNOWN, 77, 0 },
		{ TRACE_CLOSE, "d/a", TRACE_UNKNOWN, 0, 0 },
		{ TRACE_OPEN, "d/c", TRACE_UNKNOWN, 0, 0 },
		{ TRACE_FSYNC, "d/c", TRACE_UNKNOWN, 0, 0 },
		{ TRACE_RENAME, "d/a", 0, 0, 0 },
	};
	ck_assert_uint_eq(f.seen.count, sizeof(want) / sizeof(*want));
	ck_assert_uint_eq(total.records, f.seen.count);
	for (size_t i = 0; i < f.seen.count; i++) {
		const struct trace_record *r = &f.seen.records[i];

		ck_assert_uint_eq(r->op, want[i].op);
		ck_assert_str_eq(name_of(&f, r->file), want[i].name);
		ck_assert_uint_eq(r->len_bytes, want[i].len_bytes);
		ck_assert_int_eq(r->result, want[i].result);
		ck_assert_uint_eq(r->start_ns, 2000);
		ck_assert_uint_eq(r->duration_ns, 300);
		ck_assert_uint_eq(r->tid, (uint32_t)gettid());
		ck_assert_uint_eq(r->pid, (uint32_t)getpid());
		if (r->op == TRACE_RENAME)
			ck_assert_str_eq(name_of(&f, r->off), "d/b");
		else
			ck_assert_uint_eq(r->off, want[i].off);
	}
	tear_down(&f);
}
END_TEST

START_TEST(a_chain_that_comes_back_in_another_order_keeps_its_names)
{
	struct mlgen_file a = { .path = "d/a" };
	struct fixture f;

	set_up(&f, 1);
	struct trace_ring *ring = tracer_ring(f.t, "loader 0 of rank 0", 4);
	for (unsigned i = 0; i < 10; i++) {
		static const enum mlgen_op order[] = { MLGEN_CLOSE, MLGEN_READ, MLGEN_OPEN };

		a = (struct mlgen_file){ .path = "d/a" };
		for (unsigned k = 0; k < 3; k++) {
			struct io_op op = { .io = { .op = order[k], .file = &a },
					    .is_linked = true };

			io_trace(ring, &op, true);
		}
		/* Nobody would give it back. */
		ck_assert_uint_eq(trace_ring_number(ring, a.trace), 0);
	}
	trace_ring_end(ring);
	stop(&f, false);
	read_back(&f);
	ck_assert_uint_eq(f.seen.count, 30);
	for (size_t i = 0; i < 30; i++) {
		ck_assert_str_eq(name_of(&f, f.seen.records[i].file), "d/a");
		ck_assert_uint_eq(f.seen.records[i].flags, TRACE_CHAINED | TRACE_ASYNC);
	}
	tear_down(&f);
}
END_TEST

START_TEST(what_holds_for_all_comes_first_and_who_does_what)
{
	struct fixture f;

	set_up(&f, 1);
	struct trace_ring *a = tracer_ring(f.t, "rank 0", 0);
	struct trace_ring *b = tracer_ring(f.t, "saver 3", 0);
	trace_ring_end(b);
	trace_ring_end(a);
	stop(&f, false);
	read_back(&f);
	ck_assert_str_eq(f.seen.fact, "program=test");
	ck_assert_uint_eq(f.seen.role_count, 2);
	ck_assert_str_eq(f.seen.roles[0], "rank 0");
	ck_assert_str_eq(f.seen.roles[1], "saver 3");
	ck_assert_uint_eq(f.seen.process_end_ns, 1000);
	tear_down(&f);
}
END_TEST

START_TEST(without_a_ring_the_file_stays_as_it_was_but_where_one_is_asked_for)
{
	char text[8] = "";
	struct fixture f;

	set_up(&f, 1);
	ck_assert_int_eq(pwrite(f.fd, "before", 6, 0), 6);
	ck_assert(!stop(&f, false).is_begun);
	ck_assert_int_eq(pread(f.fd, text, 7, 0), 6);
	ck_assert_str_eq(text, "before");
	tear_down(&f);

	set_up(&f, 1);
	ck_assert_int_eq(pwrite(f.fd, "before", 6, 0), 6);
	ck_assert(stop(&f, true).is_begun);
	read_back(&f);
	ck_assert_uint_eq(f.seen.count, 0);
	ck_assert_str_eq(f.seen.fact, "program=test");
	tear_down(&f);
}
END_TEST

#define THREADS 4
#define OPS 200000u

struct worker {
	pthread_t thread;
	struct fixture *f;
	unsigned index;
	uint64_t sum;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	char role[32], path[32];
	struct mlgen_file file = { .path = path };

	snprintf(role, sizeof(role), "worker %u", w->index);
	struct trace_ring *ring = tracer_ring(w->f->t, role, 1);
	for (unsigned i = 0; i < OPS; i++) {
		if (i % 1000 == 0) {
			snprintf(path, sizeof(path), "w%u", w->index);
			do_op(ring, &file, MLGEN_OPEN, 0);
		}
		do_op(ring, &file, MLGEN_READ, w->index);
		if (i % 1000 == 999)
			do_op(ring, &file, MLGEN_CLOSE, 0);
	}
	trace_ring_end(ring);
	return NULL;
}

START_TEST(of_many_threads_all_is_written_or_counted_and_nothing_mixed_up)
{
	struct worker w[THREADS];
	uint64_t all = THREADS * (OPS + 2 * OPS / 1000);
	struct fixture f;
	char name[32];

	set_up(&f, 100000); /* the smallest rings */
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .f = &f, .index = i };
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	struct tracer_total total = stop(&f, false);
	read_back(&f);
	ck_assert_uint_eq(total.records, f.seen.count);
	ck_assert_uint_eq(total.lost, f.seen.lost);
	ck_assert_uint_eq(total.records + total.lost, all);
	ck_assert_uint_gt(total.records, 0);
	for (size_t i = 0; i < f.seen.count; i++) {
		const struct trace_record *r = &f.seen.records[i];

		if (r->op != TRACE_READ)
			continue;
		snprintf(name, sizeof(name), "w%u", (unsigned)r->result);
		ck_assert_str_eq(name_of(&f, r->file), name);
	}
	tear_down(&f);
}
END_TEST

START_TEST(a_thread_that_never_ends_has_what_it_did)
{
	struct mlgen_file a = { .path = "a" };
	struct fixture f;

	set_up(&f, 1);
	struct trace_ring *ring = tracer_ring(f.t, "worker 0", 1);
	do_op(ring, &a, MLGEN_OPEN, 0);
	do_op(ring, &a, MLGEN_READ, 5);
	stop(&f, false);
	do_op(ring, &a, MLGEN_READ, 6); /* nobody takes it */
	read_back(&f);
	ck_assert_uint_eq(f.seen.count, 2);
	tear_down(&f);
}
END_TEST

START_TEST(what_cannot_be_written_is_told_at_the_end)
{
	struct mlgen_file a = { .path = "a" };
	struct tracer_total total;
	struct mlgen_err err = { 0 };
	struct fixture f;
	int fd;

	set_up(&f, 1);
	fd = open(f.path, O_RDONLY); /* in the place of the one that writes */
	ck_assert_int_eq(dup2(fd, f.fd), f.fd);
	close(fd);
	struct trace_ring *ring = tracer_ring(f.t, "worker 0", 1);
	do_op(ring, &a, MLGEN_OPEN, 0);
	trace_ring_end(ring);
	ck_assert_int_lt(tracer_stop(f.t, false, &total, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, f.path));
	ck_assert_uint_eq(total.records, 0);
	ck_assert_uint_eq(total.lost, 1);
	tear_down(&f);
}
END_TEST

START_TEST(rings_are_as_large_as_all_of_them_may_be)
{
	const uint64_t mib = UINT64_C(1) << 20;

	ck_assert_uint_eq(tracer_ring_bytes(0), 0);
	ck_assert_uint_eq(tracer_ring_bytes(1), 4 * mib);
	ck_assert_uint_eq(tracer_ring_bytes(64), 256 * mib);
	ck_assert_uint_eq(tracer_ring_bytes(65), 65 * 2 * mib);
	ck_assert_uint_eq(tracer_ring_bytes(256), 256 * mib);
	ck_assert_uint_eq(tracer_ring_bytes(257), 257 * mib / 2);
	ck_assert_uint_eq(tracer_ring_bytes(4096), 256 * mib);
	ck_assert_uint_eq(tracer_ring_bytes(8192), 512 * mib);
}
END_TEST

Suite *suite_tracer(void)
{
	Suite *s = suite_create("tracer");
	TCase *t = tcase_create("tracer");

	tcase_add_test(t, operations_have_the_names_of_their_files);
	tcase_add_test(t, a_chain_that_comes_back_in_another_order_keeps_its_names);
	tcase_add_test(t, what_holds_for_all_comes_first_and_who_does_what);
	tcase_add_test(t, without_a_ring_the_file_stays_as_it_was_but_where_one_is_asked_for);
	tcase_add_test(t, of_many_threads_all_is_written_or_counted_and_nothing_mixed_up);
	tcase_add_test(t, a_thread_that_never_ends_has_what_it_did);
	tcase_add_test(t, what_cannot_be_written_is_told_at_the_end);
	tcase_add_test(t, rings_are_as_large_as_all_of_them_may_be);
	suite_add_tcase(s, t);
	return s;
}
