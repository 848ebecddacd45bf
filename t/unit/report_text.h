/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.h - the text report of a result, and what tests ask of it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flowed.h"
#include "report/text/text.h"

/* The report as a string; freed with free(). Inline, gcc 12 takes what it gives for a pointer to
 * its local. */
static __attribute__((noinline, unused)) char *report_text(struct run_result *run,
							   enum detail detail)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(to);
	verdict_fill(run);
	text_report(to, run, detail);
	ck_assert_int_eq(fclose(to), 0);
	return text;
}

static inline void check_text(const char *text, const char *expected)
{
	char *is = flowed(text), *was = flowed(expected);
	size_t same = 0, from;

	ck_assert_ptr_nonnull(is);
	ck_assert_ptr_nonnull(was);
	while (is[same] && is[same] == was[same])
		same++;
	from = same > 40 ? same - 40 : 0;
	ck_assert_msg(is[same] == was[same], "it is '%.120s', not '%.120s'", is + from, was + from);
	free(is);
	free(was);
}

/* 52 lines, 80 columns, plain ASCII, nothing at the ends of lines. */
static inline void check_shape(const char *text)
{
	unsigned lines = 0;

	for (const char *s = text; *s; lines++) {
		size_t len = strcspn(s, "\n");

		ck_assert_msg(len <= 80, "%zu columns: %.*s", len, (int)len, s);
		ck_assert_msg(len == 0 || s[len - 1] != ' ', "blank at the end: %.*s|", (int)len,
			      s);
		for (size_t i = 0; i < len; i++)
			ck_assert_msg(s[i] >= ' ' && s[i] < 0x7f, "not ASCII: %.*s", (int)len, s);
		s += len + (s[len] == '\n');
	}
	ck_assert_msg(lines <= 52, "%u lines:\n%s", lines, text);
}

/* All of it. */
static inline void check_report(struct run_result *run, const char *expected)
{
	char *text = report_text(run, DETAIL_USUAL);

	check_shape(text);
	check_text(text, expected);
	free(text);
}

/* The report has this, however its lines break. */
static inline void check_line(struct run_result *run, const char *line)
{
	char *text = report_text(run, DETAIL_USUAL);

	check_shape(text);
	ck_assert_msg(has_flowed(text, line), "no line '%s' in:\n%s", line, text);
	free(text);
}

static inline void check_report_lacks(struct run_result *run, const char *part)
{
	char *text = report_text(run, DETAIL_USUAL);

	ck_assert_msg(strstr(text, part) == NULL, "'%s' in:\n%s", part, text);
	free(text);
}

/* Quiet: the first line, and no other. */
static inline void check_first(struct run_result *run, const char *line)
{
	char *text = report_text(run, DETAIL_FIRST);

	check_text(text, line);
	free(text);
}
