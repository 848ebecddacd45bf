/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_csv.c - the parts of a trace are one text, in the order of time and with the phase
 * that holds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"
#include "trace/trace.h"

static struct mlgen_err err;

/* A part of a trace in memory. */
struct part {
	int fd;
	char path[32];
	struct trace_writer *writer;
};

static void begin(struct part *p, uint32_t number)
{
	struct trace_head head = { .run_id = "one run", .part = number };

	memset(&err, 0, sizeof(err));
	p->fd = memfd_create("trace", MFD_CLOEXEC);
	ck_assert_int_ge(p->fd, 0);
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->fd);
	ck_assert_int_eq(trace_writer_new(&p->writer, p->fd, p->path, &head, &err), 0);
}

static uint32_t name_in(struct part *p, const char *name)
{
	return name ? trace_writer_name(p->writer, name, strlen(name)) : 0;
}

static struct trace_record *add(struct part *p, struct trace_record *r, uint16_t op,
				uint64_t start_ns, uint64_t duration_ns, const char *name)
{
	*r = (struct trace_record){ .start_ns = start_ns,
				    .duration_ns = duration_ns,
				    .off = TRACE_UNKNOWN,
				    .len_bytes = TRACE_UNKNOWN,
				    .cpu_ns = TRACE_UNKNOWN,
				    .file = name_in(p, name),
				    .op = op };
	return r;
}

static void put(struct part *p, uint16_t op, uint64_t start_ns, uint64_t duration_ns,
		const char *name)
{
	struct trace_record r;

	trace_writer_record(p->writer, add(p, &r, op, start_ns, duration_ns, name));
}

static void end(struct part *p)
{
	ck_assert_int_eq(trace_writer_finish(p->writer, NULL, &err), 0);
}

/* Without the header. */
static char *text_of(const struct part *parts, size_t count)
{
	const char *const paths[] = { parts[0].path, parts[count > 1].path };
	struct trace_reader *reader;
	struct trace_ordered *o;
	static char *text;
	size_t bytes;
	FILE *to;

	free(text);
	to = open_memstream(&text, &bytes);
	ck_assert_int_eq(trace_reader_open(&reader, paths, count, &err), 0);
	ck_assert_int_eq(trace_ordered_read(&o, reader, &err), 0);
	ck_assert_int_eq(trace_csv_write(o, to, &err), 0);
	fclose(to);
	trace_ordered_free(o);
	trace_reader_close(reader);
	for (size_t i = 0; i < count; i++)
		close(parts[i].fd);
	ck_assert_int_eq(strncmp(text, TRACE_CSV_HEADER "\n", sizeof(TRACE_CSV_HEADER)), 0);
	return text + sizeof(TRACE_CSV_HEADER);
}

START_TEST(parts_have_ids_of_their_own)
{
	struct part p[2];
	struct trace_record r;

	begin(&p[0], 0);
	put(&p[0], TRACE_CLOSE, 10, 1, "/a");
	put(&p[0], TRACE_CLOSE, 40, 1, "/b");
	begin(&p[1], 1);
	put(&p[1], TRACE_CLOSE, 30, 1, "/c");
	add(&p[1], &r, TRACE_RENAME, 20, 1, "/b");
	r.off = name_in(&p[1], "/a");
	trace_writer_record(p[1].writer, &r);
	/* Of a name that is in no part. */
	add(&p[1], &r, TRACE_CLOSE, 50, 1, NULL);
	r.file = 77;
	trace_writer_record(p[1].writer, &r);
	end(&p[0]);
	end(&p[1]);
	ck_assert_str_eq(text_of(p, 2), "10,1,,,,close,/a,,,0,,\n"
					"20,1,,,,rename,/b\\x00/a,,,0,,\n"
					"30,1,,,,close,/c,,,0,,\n"
					"40,1,,,,close,/b,,,0,,\n"
					"50,1,,,,close,,,,0,,\n");
}
END_TEST

START_TEST(flags_have_their_names_and_those_of_later_ones_a_number)
{
	static const struct {
		uint16_t flags;
		const char *text;
	} rows[] = {
		{ 0, "" },
		{ TRACE_ASYNC, "async" },
		{ TRACE_ASYNC | TRACE_OFF_INEXACT, "off_inexact|async" },
		{ 0x7f, "off_inexact|off_inferred|chained|writes|read_ahead|async|begins" },
		{ 0x8100, "33024" },
		{ 0x8000 | TRACE_WRITES, "writes|32768" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct trace_record r;
		struct part p;
		char want[128];

		begin(&p, 0);
		add(&p, &r, TRACE_CLOSE, 10, 1, NULL)->flags = rows[i].flags;
		trace_writer_record(p.writer, &r);
		end(&p);
		snprintf(want, sizeof(want), "10,1,,,,close,,,,0,,%s\n", rows[i].text);
		ck_assert_str_eq(text_of(&p, 1), want);
	}
}
END_TEST

START_TEST(a_phase_is_what_began_last_and_else_the_epoch)
{
	struct part p;
	struct trace_record r;

	begin(&p, 0);
	/* Each marker is written when it has ended, as a run does. */
	put(&p, TRACE_CLOSE, 5, 1, NULL);
	put(&p, TRACE_CLOSE, 20, 1, NULL);
	put(&p, TRACE_CHECKPOINT, 30, 10, "save");
	put(&p, TRACE_CLOSE, 30, 1, NULL);
	put(&p, TRACE_CLOSE, 40, 1, NULL);
	put(&p, TRACE_STAGE, 10, 40, "train");
	put(&p, TRACE_STAGE, 12, 48, "train"); /* of another rank */
	put(&p, TRACE_CLOSE, 59, 1, NULL);
	put(&p, TRACE_CLOSE, 60, 1, NULL);
	add(&p, &r, TRACE_EPOCH, 10, 70, NULL);
	r.off = 3;
	trace_writer_record(p.writer, &r);
	put(&p, TRACE_CLOSE, 80, 1, NULL);
	end(&p);
	ck_assert_str_eq(text_of(&p, 1), "5,1,,,,close,,,,0,,\n"
					 "10,40,,,train,stage,train,,,0,,\n"
					 "10,70,,,train,epoch,,3,,0,,\n"
					 "12,48,,,train,stage,train,,,0,,\n"
					 "20,1,,,train,close,,,,0,,\n"
					 "30,10,,,save,checkpoint,save,,,0,,\n"
					 "30,1,,,save,close,,,,0,,\n"
					 "40,1,,,train,close,,,,0,,\n"
					 "59,1,,,train,close,,,,0,,\n"
					 "60,1,,,epoch 3,close,,,,0,,\n"
					 "80,1,,,,close,,,,0,,\n");
}
END_TEST

START_TEST(a_step_that_begins_with_its_phase_is_in_it)
{
	struct part p;
	struct trace_record r;

	begin(&p, 0);
	/* A step ends before its epoch does, and is written first. */
	put(&p, TRACE_CLOSE, 10, 1, NULL);
	put(&p, TRACE_STEP, 10, 5, NULL);
	put(&p, TRACE_SAMPLE, 10, 2, NULL);
	add(&p, &r, TRACE_EPOCH, 10, 10, NULL);
	r.off = 0;
	trace_writer_record(p.writer, &r);
	put(&p, TRACE_STEP, 20, 5, NULL);
	add(&p, &r, TRACE_EPOCH, 20, 10, NULL);
	r.off = 1;
	trace_writer_record(p.writer, &r);
	end(&p);
	ck_assert_str_eq(text_of(&p, 1), "10,10,,,epoch 0,epoch,,0,,0,,\n"
					 "10,5,,,epoch 0,step,,,,0,,\n"
					 "10,2,,,epoch 0,sample,,,,0,,\n"
					 "10,1,,,epoch 0,close,,,,0,,\n"
					 "20,10,,,epoch 1,epoch,,1,,0,,\n"
					 "20,5,,,epoch 1,step,,,,0,,\n");
}
END_TEST

START_TEST(a_marker_whose_end_was_not_seen_holds_to_the_end)
{
	struct part p;
	struct trace_record r;

	begin(&p, 0);
	add(&p, &r, TRACE_STAGE, 10, 5, "eval");
	r.flags = TRACE_BEGINS;
	trace_writer_record(p.writer, &r);
	put(&p, TRACE_CLOSE, 1000, 1, NULL);
	put(&p, TRACE_CHECKPOINT, 2000, TRACE_UNKNOWN, NULL);
	end(&p);
	ck_assert_str_eq(text_of(&p, 1), "10,,,,eval,stage,eval,,,0,,begins\n"
					 "1000,1,,,eval,close,,,,0,,\n"
					 "2000,,,,checkpoint,checkpoint,,,,0,,begins\n");
}
END_TEST

/* More at a time than anybody has: those that end last count, and nothing is written beyond the
 * table. */
START_TEST(of_very_many_phases_some_hold)
{
	struct part p;
	char name[16], *last;

	begin(&p, 0);
	for (unsigned i = 0; i < 10 * TRACE_PHASES; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		put(&p, TRACE_STAGE, i, 5000 - i, name);
	}
	put(&p, TRACE_CLOSE, 4000, 1, NULL);
	end(&p);
	last = strstr(text_of(&p, 1), "\n4000,");
	ck_assert_ptr_nonnull(last);
	ck_assert_ptr_nonnull(strstr(last, ",,,s"));
}
END_TEST

START_TEST(a_trace_of_nothing_is_a_header)
{
	struct part p;

	begin(&p, 0);
	end(&p);
	ck_assert_str_eq(text_of(&p, 1), "");
}
END_TEST

Suite *suite_trace_csv(void)
{
	Suite *s = suite_create("trace_csv");
	TCase *t = tcase_create("trace_csv");

	tcase_add_test(t, parts_have_ids_of_their_own);
	tcase_add_test(t, flags_have_their_names_and_those_of_later_ones_a_number);
	tcase_add_test(t, a_phase_is_what_began_last_and_else_the_epoch);
	tcase_add_test(t, a_step_that_begins_with_its_phase_is_in_it);
	tcase_add_test(t, a_marker_whose_end_was_not_seen_holds_to_the_end);
	tcase_add_test(t, of_very_many_phases_some_hold);
	tcase_add_test(t, a_trace_of_nothing_is_a_header);
	suite_add_tcase(s, t);
	return s;
}
