/* SPDX-License-Identifier: Apache-2.0 */
/* test_marker_line.c - lines of applications' logs: their times, and what they mark. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "suites.h"
#include "trace/trace.h"
#include "tracing/import/import_internal.h"

static const struct {
	const char *text;
	uint64_t ns;
	size_t bytes;
	bool is_local;
} times[] = {
	{ "0", 0, 1, false },
	{ "1772280001.5,", UINT64_C(1772280001500000000), 12, false },
	{ "1772280001.1234567899", UINT64_C(1772280001123456789), 21, false },
	{ "1772280001500", UINT64_C(1772280001500000000), 13, false },
	{ "1772280001500.25", UINT64_C(1772280001500250000), 16, false },
	{ "1772280001500000", UINT64_C(1772280001500000000), 16, false },
	{ "1772280001500000001", UINT64_C(1772280001500000001), 19, false },
	{ "1772280001.", UINT64_C(1772280001000000000), 10, false },
	{ "2026-02-28T12:00:01", UINT64_C(1772280001000000000), 19, true },
	{ "2026-02-28 12:00:01.5 x", UINT64_C(1772280001500000000), 21, true },
	{ "2026-02-28T12:00:01Z", UINT64_C(1772280001000000000), 20, false },
	{ "2026-02-28T13:30:01+01:30", UINT64_C(1772280001000000000), 25, false },
	{ "2026-02-28T10:00:01-0200", UINT64_C(1772280001000000000), 24, false },
	{ "1969-12-31T23:59:59Z", 1969, 4, false }, /* no such date; a number */
	{ "2026-13-01T00:00:00Z", 2026, 4, false },
	{ "2026-02-28T24:00:00Z", 2026, 4, false },
	{ "", 0, 0, false },
	{ "-5", 0, 0, false },
	{ "soon", 0, 0, false },
	{ "18446744073709551615", 0, 0, false },
	{ "99999999999999999999999", 0, 0, false },
};

START_TEST(times_are_of_many_forms)
{
	uint64_t ns = 0;
	bool is_local = false;
	size_t bytes = marker_time(times[_i].text, &ns, &is_local);

	ck_assert_msg(bytes == times[_i].bytes, "%s: %zu bytes", times[_i].text, bytes);
	if (!bytes)
		return;
	/* A bare year is a number of seconds. */
	ck_assert_uint_eq(ns, ns < 10000 * NS_PER_S && times[_i].ns ? times[_i].ns * NS_PER_S
								    : times[_i].ns);
	ck_assert(is_local == times[_i].is_local);
}
END_TEST

static const struct {
	const char *text;
	uint16_t op;
	enum marker_edge edge;
	uint64_t number;
	const char *name;
} words[] = {
	{ "epoch_start", TRACE_EPOCH, MARKER_BEGINS, TRACE_UNKNOWN, "" },
	{ "epoch 12 end", TRACE_EPOCH, MARKER_ENDS, 12, "" },
	{ "Epoch 3", TRACE_EPOCH, MARKER_BEGINS, 3, "" },
	{ "epoch", TRACE_EPOCH, MARKER_BEGINS, TRACE_UNKNOWN, "" },
	{ "epoch three start", TRACE_STAGE, MARKER_BEGINS, TRACE_UNKNOWN, "epoch three" },
	{ "epoch 99999999999999999999", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN,
	  "epoch 99999999999999999999" },
	{ "epoch_count", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN, "epoch_count" },
	{ "block_stop", TRACE_STAGE, MARKER_ENDS, TRACE_UNKNOWN, "block" },
	{ "  eval   begin ", TRACE_STAGE, MARKER_BEGINS, TRACE_UNKNOWN, "eval" },
	{ "data_loading_start", TRACE_STAGE, MARKER_BEGINS, TRACE_UNKNOWN, "data_loading" },
	{ "save_checkpoint_start", TRACE_CHECKPOINT, MARKER_BEGINS, TRACE_UNKNOWN, "save" },
	{ "ckpt end", TRACE_CHECKPOINT, MARKER_ENDS, TRACE_UNKNOWN, "save" },
	{ "load checkpoint start", TRACE_CHECKPOINT, MARKER_BEGINS, TRACE_UNKNOWN, "restore" },
	{ "checkpoint restored", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN, "checkpoint restored" },
	{ "start", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN, "start" },
	{ "restart", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN, "restart" },
	{ "", TRACE_TEXT, MARKER_POINT, TRACE_UNKNOWN, "" },
};

START_TEST(words_say_what_begins_and_ends)
{
	struct marker_line m = { .number = TRACE_UNKNOWN };

	marker_line_words(&m, words[_i].text, strlen(words[_i].text));
	ck_assert_uint_eq(m.op, words[_i].op);
	ck_assert_int_eq(m.edge, words[_i].edge);
	ck_assert_uint_eq(m.number, words[_i].number);
	ck_assert_str_eq(buf_str(&m.name), words[_i].name);
	marker_line_fini(&m);
}
END_TEST

static const struct {
	const char *line;
	int found;
	int64_t rank;
} prefixes[] = {
	{ ":::MLLOG {\"key\": \"a\", \"time_ms\": 1}", 1, -1 },
	{ "7: :::MLLOG {\"key\": \"a\", \"time_ms\": 1} and more", 1, 7 },
	{ "host | [12] :::MLLOG {\"key\": \"a\", \"time_ms\": 1.5}", 1, 12 },
	{ "v2:::MLLOG {\"key\": \"a\", \"time_ms\": 1}", 1, -1 },
	{ "99999999999999: :::MLLOG {\"key\": \"a\", \"time_ms\": 1}", 1, -1 },
	{ "a line", 0, 0 },
	{ ":::MLLOG", -1, 0 },
	{ ":::MLLOG []", -1, 0 },
	{ ":::MLLOG {}", -1, 0 },
	{ ":::MLLOG {\"key\": 5, \"time_ms\": 1}", -1, 0 },
	{ ":::MLLOG {\"key\": \"a\", \"time_ms\": -1}", -1, 0 },
	{ ":::MLLOG {\"key\": \"a\", \"time_ms\": 1e300}", -1, 0 },
};

START_TEST(lines_of_mlperf_have_a_rank_before_them)
{
	struct marker_line m = { 0 };
	const char *line = prefixes[_i].line;
	int found = marker_line_mllog(&m, line, strlen(line));

	ck_assert_int_eq(found, prefixes[_i].found);
	ck_assert(!*m.wrong == (found >= 0));
	if (found > 0)
		ck_assert_int_eq(m.rank, prefixes[_i].rank);
	marker_line_fini(&m);
}
END_TEST

START_TEST(a_log_with_a_comma_in_its_dates_is_no_table)
{
	ck_assert(marker_line_is_csv("time,text"));
	ck_assert(marker_line_is_csv("5,epoch 0"));
	ck_assert(marker_line_is_csv("5,job begins"));
	ck_assert(marker_line_is_csv("2026-02-28 12:00:01,eval start"));
	ck_assert(!marker_line_is_csv("2026-02-28 12:00:01,123 INFO started"));
	ck_assert(!marker_line_is_csv("[OUTPUT] 2026-02-28T12:00:01 x"));
	ck_assert(!marker_line_is_csv("5 epoch 0"));
	ck_assert(!marker_line_is_csv(""));
}
END_TEST

static void set_zone(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
}

Suite *suite_marker_line(void)
{
	Suite *s = suite_create("marker_line");
	TCase *t = tcase_create("lines");

	tcase_add_checked_fixture(t, set_zone, NULL);
	tcase_add_loop_test(t, times_are_of_many_forms, 0, ARRAY_LEN(times));
	tcase_add_loop_test(t, words_say_what_begins_and_ends, 0, ARRAY_LEN(words));
	tcase_add_loop_test(t, lines_of_mlperf_have_a_rank_before_them, 0, ARRAY_LEN(prefixes));
	tcase_add_test(t, a_log_with_a_comma_in_its_dates_is_no_table);
	suite_add_tcase(s, t);
	return s;
}
