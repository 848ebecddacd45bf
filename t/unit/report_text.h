/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.h - the text report of a result, and what tests ask of it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"
#include "report/verdict.h"

/* The report as a string; freed with free(). Inline, gcc 12 takes what it gives
 * for a pointer to its local. */
static __attribute__((noinline, unused)) char *
report_text(struct run_result *run, bool quiet)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(to);
	verdict_fill(run);
	text_report(to, run, quiet);
	ck_assert_int_eq(fclose(to), 0);
	return text;
}

/* Line by line: the one that differs says more than both texts. */
static inline void check_text(const char *text, const char *expected)
{
	for (unsigned line = 1; *text || *expected; line++) {
		size_t is = strcspn(text, "\n"), was = strcspn(expected, "\n");

		ck_assert_msg(is == was && !memcmp(text, expected, is),
			      "line %u is\n%.*s\nnot\n%.*s", line, (int)is,
			      text, (int)was, expected);
		text += is + (text[is] == '\n');
		expected += was + (expected[was] == '\n');
	}
}

/* 45 lines, 90 columns, plain ASCII, nothing at the ends of lines. */
static inline void check_shape(const char *text)
{
	unsigned lines = 0;

	for (const char *s = text; *s; lines++) {
		size_t len = strcspn(s, "\n");

		ck_assert_msg(len <= 90, "%zu columns: %.*s", len, (int)len, s);
		ck_assert_msg(len == 0 || s[len - 1] != ' ',
			      "blank at the end: %.*s|", (int)len, s);
		for (size_t i = 0; i < len; i++)
			ck_assert_msg(s[i] >= ' ' && s[i] < 0x7f,
				      "not ASCII: %.*s", (int)len, s);
		s += len + (s[len] == '\n');
	}
	ck_assert_msg(lines <= 45, "%u lines:\n%s", lines, text);
}

/* All of it. */
static inline void check_report(struct run_result *run, const char *expected)
{
	char *text = report_text(run, false);

	check_shape(text);
	check_text(text, expected);
	free(text);
}

/* A line of the report is this, to the letter. */
static inline void check_line(struct run_result *run, const char *line)
{
	char *text = report_text(run, false);
	const char *at = text;
	size_t len = strlen(line);

	check_shape(text);
	while (*at && (strcspn(at, "\n") != len || memcmp(at, line, len) != 0))
		at += strcspn(at, "\n") + 1;
	ck_assert_msg(*at != '\0', "no line '%s' in:\n%s", line, text);
	free(text);
}

static inline void check_report_lacks(struct run_result *run, const char *part)
{
	char *text = report_text(run, false);

	ck_assert_msg(!strstr(text, part), "'%s' in:\n%s", part, text);
	free(text);
}

/* Quiet: the first line, and no other. */
static inline void check_first(struct run_result *run, const char *line)
{
	char *text = report_text(run, true);

	check_text(text, line);
	ck_assert_uint_le(strlen(text), 91);
	free(text);
}
