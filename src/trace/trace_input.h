/* SPDX-License-Identifier: Apache-2.0 */
/* trace_input.h - the text of a file or a pipe, byte by byte or by lines, with the line that it is
 * at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"

/*
 * It is read from front to back in blocks, so that any pipe will do and memory does not grow with
 * it. A byte order mark at its beginning is no part of it, and a byte of zero, which no text has,
 * is refused, unless it is_binary, which is said when it is open. Signals are looked at (signals.h)
 * while it waits: then a call gives -EINTR.
 *
 * A gzip file, of any number of members, is the text that is in it; what it is follows from its
 * first bytes, and not from its name. Where it is damaged the text up to there comes first, and
 * then -EINVAL. Where it is cut off the text ends with its last whole line, and closing warns of
 * that; nothing at all is -EINVAL.
 */
struct trace_gunzip;

struct trace_input {
	int fd;
	bool owns_fd;
	const char *name; /* for messages; the caller's */
	uint64_t line;    /* from 1: that the next byte is on */
	char *buffer;
	size_t at, end;
	bool is_begun;
	bool is_binary;              /* no text: all bytes are its own */
	bool only_looks;             /* somebody else reads it, and is warned */
	bool is_cut_off;             /* the gzip file was, and it is over */
	struct trace_gunzip *gunzip; /* NULL: it is the text itself */
};

/* No line, and no row, may have more bytes than this. */
#define TRACE_INPUT_LINE_MAX (1u << 20)

/* "-" is standard input. A directory is refused. 0 or -errno with err. */
int trace_input_open(struct trace_input *in, const char *path, struct mlgen_err *err);
/* What a descriptor has, which stays the caller's. */
void trace_input_from(struct trace_input *in, int fd, const char *name);
void trace_input_close(struct trace_input *in); /* takes a zeroed one */

/* There are more bytes at in->buffer + in->at, up to in->end: 1, 0 = the text is over, or -errno
 * with err. */
int trace_input_more(struct trace_input *in, struct mlgen_err *err);

/*
 * The next line, without its end (a newline, or one behind a return), which is missing only of the
 * last one: *is_cut. Such a line of a gzip file that is cut off does not come. Other returns stay.
 * 1, 0 = there is none, or -errno with err.
 */
int trace_input_line(struct trace_input *in, struct buf *line, bool *is_cut, struct mlgen_err *err);

/* "FILE:LINE: ..." of -EINVAL, which it gives. */
__attribute__((format(printf, 4, 5))) int trace_input_refuse(const struct trace_input *in,
							     uint64_t line, struct mlgen_err *err,
							     const char *fmt, ...);
