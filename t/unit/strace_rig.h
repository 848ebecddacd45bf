/* SPDX-License-Identifier: Apache-2.0 */
/* strace_rig.h - lines of strace as the rows of CSV that their trace is. */
#pragma once

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace.h"
#include "tracing/import/import.h"

static struct mlgen_err err;
static struct importing m;
static char *text;
/* What the reader knows before its first line; NULL = nothing. */
static void (*before)(struct strace_reader *r);

/* All lines into a trace, and that as rows of CSV. Negative: refused. */
static int import(const char *lines)
{
	char *copy = strdup(lines), *at = copy;
	int fd = memfd_create("trace", MFD_CLOEXEC), rc;
	struct strace_reader *r;
	uint64_t lineno = 0;

	import_tally_fini(&m.tally);
	memset(&err, 0, sizeof(err));
	memset(&m, 0, sizeof(m));
	rc = trace_fill_new(&m.fill, fd, "t", "strace", &err);
	ck_assert_int_eq(rc, 0);
	r = strace_reader_new(&m);
	if (before)
		before(r);
	while (rc == 0 && *at) {
		char *end = strchrnul(at, '\n');
		bool more = *end;

		rc = strace_reader_line(r, at, (size_t)(end - at), "log", ++lineno, &err);
		at = end + more;
	}
	if (rc == 0)
		rc = strace_reader_end(r, &err);
	strace_reader_free(r);
	free(copy);
	free(text);
	text = NULL;
	if (rc < 0) {
		trace_fill_abandon(m.fill);
		close(fd);
		return rc;
	}
	return fd;
}

/* The last column, which the tests of descriptors look at by themselves, goes: all behind a line's
 * last comma. */
static void cut_flags(char *rows)
{
	char *to = rows, *comma = NULL;

	for (const char *at = rows; *at; at++) {
		if (*at == ',')
			comma = to;
		if (*at == '\n' && comma && at > rows + sizeof(TRACE_CSV_HEADER))
			to = comma;
		*to++ = *at;
	}
	*to = '\0';
}

__attribute__((unused)) static const char *rows_of(const char *lines)
{
	int fd = import(lines);
	char path[32];
	const char *const paths[] = { path };
	struct trace_fill_totals filled;
	struct trace_reader *reader;
	struct trace_ordered *o;
	size_t bytes;
	FILE *to;

	ck_assert_msg(fd >= 0, "%s", err.text);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(trace_fill_finish(m.fill, &filled, &err), 0);
	to = open_memstream(&text, &bytes);
	ck_assert_int_eq(trace_reader_open(&reader, paths, 1, &err), 0);
	ck_assert_int_eq(trace_ordered_read(&o, reader, &err), 0);
	ck_assert_int_eq(trace_csv_write(o, to, &err), 0);
	fclose(to);
	trace_ordered_free(o);
	trace_reader_close(reader);
	close(fd);
	cut_flags(text);
	return text + sizeof(TRACE_CSV_HEADER);
}

#define ROWS(lines, want) ck_assert_str_eq(rows_of(lines), want)
#define S "000000000"

static void free_all(void)
{
	before = NULL;
	import_tally_fini(&m.tally);
	memset(&m, 0, sizeof(m));
	free(text);
	text = NULL;
}
