/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - turn the log of another program into a trace. */
#pragma once

/*
 * An importer reads a log and fills a trace through struct trace_fill: a row and a function for
 * each format. Lines that cannot be read are counted in a tally, and refuse the log when there are
 * too many. Logs that have no offsets get them from a model of each process's open files. One
 * thread calls everything; the strace parser is used by capture, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* ---- what turns another program's log into a trace: a row and a function each ---- */

/* What was met on the way. A zeroed one has met nothing. */
struct import_tally {
	uint64_t lines;          /* or events, that the log has */
	uint64_t unread;         /* of them, that could not be read */
	struct buf first_unread; /* "FILE:LINE: why", some of them, a line each */
	uint64_t inferred;       /* offsets or sizes that a model gave */
	uint64_t inexact;        /* offsets that it could not be sure of */
	/* Calls on files that an importer does not know, by name. */
	struct import_unknown {
		char name[32];
		uint64_t count;
	} unknown[32];
	size_t unknown_count;
	uint64_t unknown_others; /* when there is no room for more names */
	struct buf notes;        /* anything else a person should know, a line each */
	bool is_cut;             /* the last line has no end */
};

/* One import. */
struct importing {
	const char *const *files; /* as given; "-" is standard input */
	size_t file_count;
	struct trace_fill *fill;
	bool is_lenient; /* however many lines cannot be read */
	/* The line at hand is the last one of a file and has no end: where it cannot be read it is
	 * the part that a cut left, and not counted. */
	bool is_torn;
	/* To be taken off each time of day, so that it is of the trace's clock; 0 where the trace's
	 * clock is the time of day. */
	uint64_t clock_offset_ns;
	/* Only the time within a day, in this host's zone, is right of it. */
	bool is_day_unknown;
	/* Why a time of day has no place in the trace: "it has no times", and such; NULL = it has
	 * one. */
	const char *no_clock;
	struct import_tally tally;
};

struct importer {
	const char *name;   /* of --import */
	bool takes_several; /* files of one recording */
	/* Everything into m->fill. 0, or -errno with err. */
	int (*read)(struct importing *m, struct mlgen_err *err);
};

/* One more line that could not be read, and why. `line` 0 = none. -EINVAL with err: there are too
 * many of them (import_judge), and only looked at once in a while. */
__attribute__((format(printf, 5, 6))) int import_unread(struct importing *m, const char *file,
							uint64_t line, struct mlgen_err *err,
							const char *fmt, ...);

/* A call on a file by a name that is not known to the importer. */
void import_unknown(struct importing *m, const char *name);

__attribute__((format(printf, 2, 3))) void import_note(struct importing *m, const char *fmt, ...);

/* At the end: more than a thousandth that could not be read, or nothing that could, refuses the log
 * unless m->is_lenient. 0, or -EINVAL with err. */
int import_judge(struct importing *m, const char *form, struct mlgen_err *err);

void import_tally_fini(struct import_tally *t);

int import_strace(struct importing *m, struct mlgen_err *err);
int import_mcgill(struct importing *m, struct mlgen_err *err);
int import_darshan(struct importing *m, struct mlgen_err *err);
int import_dftracer(struct importing *m, struct mlgen_err *err);
int import_blktrace(struct importing *m, struct mlgen_err *err);
int import_dio(struct importing *m, struct mlgen_err *err);

/*
 * --markers: epochs, stages and checkpoints from the log of the application itself. Lines of MLPerf
 * (:::MLLOG), DLIO's output, or CSV of time,text; told apart by what is in it. Their times are of
 * day; m->clock_offset_ns is taken off. Before the log itself or behind it. 0 or -errno with err.
 */
int import_markers(struct importing *m, const char *file, struct mlgen_err *err);

/* A time of day as text, such as 2022-05-10T12:00:00.123456789Z, in nanoseconds: UTC, or what a
 * +HH:MM says; from 1970 on, at most nine decimals. */
bool dio_time_take(const char *text, uint64_t *ns);

/* ---- what strace printed, line by line, as records of a trace ---- */

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

/* ---- what a line of strace is, and the call in it, as pieces of the line: numbers, quoted
 * strings, lists, and words that stand for numbers ---- */

/* A part of a line; not terminated. s is NULL where there is none. */
struct strace_text {
	const char *s;
	size_t n;
};

static inline bool strace_text_is(struct strace_text t, const char *word)
{
	return t.n == strlen(word) && memcmp(t.s, word, t.n) == 0;
}

static inline bool strace_text_begins(struct strace_text t, const char *with)
{
	return t.n >= strlen(with) && memcmp(t.s, with, strlen(with)) == 0;
}

bool strace_text_has(struct strace_text t, const char *part);

/* The number that it begins with: decimal, or 0x; a sign may be. NULL is 0. */
bool strace_text_number(struct strace_text t, int64_t *out);

/* What a string in quotes stands for, or a path without them, added to `out`. False: it has no
 * quotes, or is cut, or has a byte of zero. */
bool strace_text_unquote(struct strace_text t, struct buf *out);
bool strace_text_unescape(struct strace_text t, struct buf *out);

/* The next one of a list in [] or {}, which is what is left of it. */
bool strace_text_item(struct strace_text *list, struct strace_text *item);
/* Of {a=1, b=2} what stands behind "b=". */
bool strace_text_member(struct strace_text list, const char *name, struct strace_text *value);
bool strace_text_member_number(struct strace_text list, const char *name, int64_t *value);

/* ---- words ---- */

struct strace_words {
	struct strace_word {
		const char *name; /* NULL = empty */
		size_t bytes;
		int64_t value;
	} * words;
	size_t count, size;
};

/* `name` stays the caller's, of `bytes`. */
void strace_words_add(struct strace_words *w, const char *name, size_t bytes, int64_t value);
/* NULL = there is none. */
const struct strace_word *strace_words_find(const struct strace_words *w, struct strace_text t);
void strace_words_fini(struct strace_words *w);

/* The sum of "A|B|0x8000"; words that are not known are nothing. */
uint64_t strace_words_flags(const struct strace_words *w, struct strace_text t);

/* ---- lines ---- */

/* Linux has no greater pid. */
enum { STRACE_TID_MOST = 4194304 };

enum strace_clock {
	STRACE_TIMELESS,
	STRACE_UNIX,     /* -ttt: since 1970 */
	STRACE_DAY,      /* -t, -tt: since midnight */
	STRACE_RELATIVE, /* -r: since the line before */
};

/* What stands before a call, and the rest. */
struct strace_line {
	bool has_tid;
	uint32_t tid;
	enum strace_clock clock;
	uint64_t ns;
	struct strace_text body;
};

/* Takes any line. */
void strace_line_split(struct strace_line *l, struct strace_text line);

/* Takes " <0.000012>" off its end: how long the call took, or TRACE_UNKNOWN. */
uint64_t strace_line_duration(struct strace_text *t);

/* What stands in < > behind a descriptor. */
enum strace_place_kind { PLACE_NONE, PLACE_PATH, PLACE_OTHER };
struct strace_place {
	enum strace_place_kind kind;
	struct strace_text path; /* with escapes */
	bool is_char;            /* a character device, as -yy says */
};

enum { STRACE_ARGS = 8 };

struct strace_call {
	struct strace_text name;
	struct strace_text all; /* arguments */
	struct strace_text args[STRACE_ARGS];
	size_t arg_count;
	bool has_result; /* else it never ended, or nobody knows how */
	int64_t result;  /* a number, or -errno */
	bool failed;
	struct strace_text error; /* its name: ENOENT */
	struct strace_place place;
	uint64_t duration_ns; /* or TRACE_UNKNOWN */
};

/* "NAME(" at its beginning. */
bool strace_call_name(struct strace_text body, struct strace_text *name);

/* A call with its result. NULL, or what is wrong with it: of one without an end there are the
 * arguments, as far as they go. */
const char *strace_call_split(struct strace_call *c, struct strace_text body);

/* "3</a/b>": the number, and the place. False = it is none. AT_FDCWD is AT_FDCWD. */
bool strace_fd(struct strace_text t, int *fd, struct strace_place *place);

/* ---- an import ---- */

enum import_format {
	IMPORT_CSV = 1,
	IMPORT_FIO_IOLOG,
	IMPORT_STRACE,
	IMPORT_MCGILL,
	IMPORT_DARSHAN,
	IMPORT_DFTRACER,
	IMPORT_BLKTRACE,
	IMPORT_DIO,
};

/* Texts stay the caller's. */
struct import_args {
	int format;               /* enum import_format */
	const char *const *files; /* "-" = standard input */
	size_t file_count;
	const char *output;  /* the trace */
	const char *markers; /* the application's own log; NULL = none */
	bool is_lenient;
	bool force;    /* replace a file that is no trace */
	FILE *summary; /* one line is printed there; NULL = none */
};

/* Import. The exit status, as ask/ask.h has it; what went wrong has been reported. */
int import_run(const struct import_args *args);
