/* SPDX-License-Identifier: Apache-2.0 */
/* strace.h - what strace printed, line by line, as records of a trace. */
#pragma once

#include "tracing/import/importer.h"

/*
 * With -f or without, with or without -y or -yy, -T and the like. Needs a time on each line: -ttt
 * (of any precision), -tt or -t; those of a day go on over midnight, the first line's day being day
 * 0.
 *
 * m->fill and m->tally take what there is; m->files is not looked at, so that lines of a pipe can
 * be given as they come. What is kept grows with the files, processes and calls that are open,
 * never with lines.
 */
struct strace_reader;

struct strace_reader *strace_reader_new(struct importing *m);
void strace_reader_free(struct strace_reader *r); /* NULL is fine */

/*
 * What the log of a strace that was attached (-p) does not say: thread `tid` is of process `pid`,
 * with its descriptors. Of the process `parent` (0 = not known), command line and working directory
 * (NULL = not known). Before its first line.
 */
void strace_reader_task(struct strace_reader *r, uint32_t tid, uint32_t pid, uint32_t parent,
			const char *command, const char *cwd);

/* Likewise: process `pid` has the descriptor fd open, with O_APPEND or without. The log shows
 * neither, and a position says nothing of where such a one writes. */
void strace_reader_fd(struct strace_reader *r, uint32_t pid, int fd, bool appends);

/*
 * One line of `bytes`, without its newline, which is written into. `line[bytes]` has to be there,
 * and is made 0. `file` is for messages, `lineno` from 1. 0, or -errno with err: it is of no use to
 * go on.
 */
int strace_reader_line(struct strace_reader *r, char *line, size_t bytes, const char *file,
		       uint64_t lineno, struct mlgen_err *err);

/* No line any more: what is unfinished never ended, and notes of what the log cannot say. 0 or
 * -errno with err. */
int strace_reader_end(struct strace_reader *r, struct mlgen_err *err);
