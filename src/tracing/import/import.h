/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - turn the log of another program into a trace. */
#pragma once

/*
 * An importer reads the log of another program and fills a trace through struct trace_fill. Each
 * format is a row in a table and one function. Unreadable lines are counted in a tally; an import
 * with too many unreadable lines fails. A model of each process's open files infers the offsets
 * that a log omits. One thread calls everything. The capture backend for strace uses the strace
 * parser, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* ---- importers ---- */

/* Counts and messages of one import. A zeroed tally is empty. */
struct import_tally {
	uint64_t lines;          /* lines or events of the log */
	uint64_t unread;         /* lines that could not be read */
	struct buf first_unread; /* "FILE:LINE: why" of the first unread lines, one per line */
	uint64_t inferred;       /* offsets or sizes inferred from earlier calls */
	uint64_t inexact;        /* inferred offsets that may be wrong */
	/* File calls unknown to the importer, by name. */
	struct import_unknown {
		char name[32];
		uint64_t count;
	} unknown[32];
	size_t unknown_count;
	uint64_t unknown_others; /* calls whose name did not fit the table */
	struct buf notes;        /* further messages for the user, one per line */
	bool is_cut;             /* the last line has no newline */
};

/* The state of one import. */
struct importing {
	const char *const *files; /* names from the command line; "-" is standard input */
	size_t file_count;
	struct trace_fill *fill;
	bool is_lenient; /* accept any number of unreadable lines */
	/* The current line is the last of its file and lacks a newline. If unreadable, it is a
	 * truncated line and does not count. */
	bool is_torn;
	/* Subtracted from a time of day to get a time on the trace's clock; 0 if the trace uses the
	 * time of day. */
	uint64_t clock_offset_ns;
	/* clock_offset_ns is known only modulo a day, in this host's time zone. */
	bool is_day_unknown;
	/* The reason why a time of day cannot be mapped to the trace, as a clause for a message;
	 * NULL = a time of day can be mapped. */
	const char *no_clock;
	struct import_tally tally;
};

struct importer {
	const char *name;   /* value of --format */
	bool takes_several; /* accepts several files of one recording */
	/* Read the whole log into m->fill. 0, or -errno with err. */
	int (*read)(struct importing *m, struct mlgen_err *err);
};

/* Count a line that could not be read, and keep the reasons for the first few. `line` 0 = without a
 * line number. 0, or -EINVAL with err if nothing at the beginning of the log could be read. */
__attribute__((format(printf, 5, 6))) int import_count_unread(struct importing *m, const char *file,
							      uint64_t line, struct mlgen_err *err,
							      const char *fmt, ...);

/* Count a file call whose name is unknown to the importer. */
void import_count_unknown(struct importing *m, const char *name);

/* Append the unknown calls to `names`: "NAME COUNT, NAME COUNT". */
void import_list_unknown(const struct import_tally *t, struct buf *names);

/* Append a message that the user sees after the import. */
__attribute__((format(printf, 2, 3))) void import_note(struct importing *m, const char *fmt, ...);

/*
 * Call at the end of the log. Refuses an empty log, a log without a readable line, and, unless
 * m->is_lenient, a log with more than one unreadable line in a thousand. 0, or -EINVAL with err.
 */
int import_check_unread(struct importing *m, const char *form, struct mlgen_err *err);

void import_tally_fini(struct import_tally *t);

int import_strace(struct importing *m, struct mlgen_err *err);
int import_mcgill(struct importing *m, struct mlgen_err *err);
int import_darshan(struct importing *m, struct mlgen_err *err);
int import_dftracer(struct importing *m, struct mlgen_err *err);
int import_blktrace(struct importing *m, struct mlgen_err *err);
int import_dio(struct importing *m, struct mlgen_err *err);

/*
 * --markers: read epochs, stages and checkpoints from the log of the application itself. The
 * contents of the log show its format: lines of MLPerf (:::MLLOG), the output of DLIO, or CSV of
 * time,text. Their times are times of day; m->clock_offset_ns is subtracted. Call after the
 * importer, which determines the clock. 0 or -errno with err.
 */
int import_markers(struct importing *m, const char *file, struct mlgen_err *err);

/*
 * Parse a date such as 2022-05-10T12:00:00.123456789Z into nanoseconds since 1970. A zone +HH:MM
 * may follow; the default is UTC. False: not a date, before 1970, or more than nine decimals.
 */
bool dio_time_parse(const char *text, uint64_t *ns);

/* ---- the strace reader: lines of strace become records of a trace ---- */

/*
 * The reader accepts the output of strace with or without -f, -y, -yy and -T. Each line needs a
 * time: -ttt (of any precision), -tt or -t. Times within a day continue over midnight; the first
 * line is on day 0.
 *
 * Records go to m->fill and counts to m->tally. The reader does not use m->files, which allows a
 * caller to feed lines from a pipe. Memory grows with open files, processes and pending calls, not
 * with the number of lines.
 */
struct strace_reader;

struct strace_reader *strace_reader_new(struct importing *m);
void strace_reader_free(struct strace_reader *r); /* NULL is fine */

/*
 * Describe a thread that strace attached to (-p), because the log does not describe it. Thread
 * `tid` belongs to process `pid` and shares its descriptors. `parent` is the parent of the process
 * (0 = unknown); `command` and `cwd` are its command line and working directory (NULL = unknown).
 * Call before the first line of the thread.
 */
void strace_reader_task(struct strace_reader *r, uint32_t tid, uint32_t pid, uint32_t parent,
			const char *command, const char *cwd);

/* Declare that process `pid` has descriptor `fd` open. `appends`: with O_APPEND, where a write
 * ignores the position. The log of an attached strace does not show either. */
void strace_reader_fd(struct strace_reader *r, uint32_t pid, int fd, bool appends);

/*
 * Read one line of `bytes` bytes without its newline. The line is modified: line[bytes] must be
 * writable and becomes 0. `file` and `lineno` (from 1) are for messages. 0, or -errno with err if
 * reading on is pointless.
 */
int strace_reader_line(struct strace_reader *r, char *line, size_t bytes, const char *file,
		       uint64_t lineno, struct mlgen_err *err);

/* End the log: flush pending requests and add notes on missing information. 0 or -errno with
 * err. */
int strace_reader_end(struct strace_reader *r, struct mlgen_err *err);

/* ---- pieces of a strace line: numbers, quoted strings, lists and symbolic constants ---- */

/* A part of a line, not zero-terminated; s is NULL if absent. */
struct strace_text {
	const char *s;
	size_t n;
};

static inline bool strace_text_is(struct strace_text t, const char *word)
{
	return t.n == strlen(word) && memcmp(t.s, word, t.n) == 0;
}

static inline bool strace_text_begins(struct strace_text t, const char *prefix)
{
	return t.n >= strlen(prefix) && memcmp(t.s, prefix, strlen(prefix)) == 0;
}

/* Does the text contain `part` anywhere? */
bool strace_text_has(struct strace_text t, const char *part);

/* Parse the number at the beginning: decimal or 0x, with an optional sign. "NULL" is 0. */
bool strace_text_number(struct strace_text t, int64_t *out);

/* Decode escapes and append the result to `out`; unquote also requires and removes the quotes.
 * False: no quotes, a truncated string, or a zero byte. */
bool strace_text_unquote(struct strace_text t, struct buf *out);
bool strace_text_unescape(struct strace_text t, struct buf *out);

/* Remove the next item from a list in [] or {}. False: the list has ended. */
bool strace_text_item(struct strace_text *list, struct strace_text *item);
/* Find the value of a member, such as "b" in {a=1, b=2}. */
bool strace_text_member(struct strace_text list, const char *name, struct strace_text *value);
bool strace_text_member_number(struct strace_text list, const char *name, int64_t *value);

/* ---- symbol tables: names that stand for numbers ---- */

struct strace_words {
	struct strace_word {
		const char *name; /* NULL = empty */
		size_t bytes;
		int64_t value;
	} * words;
	size_t count, size;
};

/* Add a symbol or replace its value. The caller keeps `name`, which has `bytes` bytes. */
void strace_words_add(struct strace_words *w, const char *name, size_t bytes, int64_t value);
/* NULL = no such name. */
const struct strace_word *strace_words_find(const struct strace_words *w, struct strace_text t);
void strace_words_fini(struct strace_words *w);

/* The value of flags such as "A|B|0x8000"; unknown names are ignored. */
uint64_t strace_words_flags(const struct strace_words *w, struct strace_text t);

/* ---- lines ---- */

/* PID_MAX_LIMIT of 64-bit Linux. */
enum { STRACE_TID_MAX = 4194304 };

enum strace_clock {
	STRACE_TIMELESS,
	STRACE_UNIX,     /* -ttt: since 1970 */
	STRACE_DAY,      /* -t, -tt: since midnight */
	STRACE_RELATIVE, /* -r: since the previous line */
};

/* The parsed prefix of a line, and its body. */
struct strace_line {
	bool has_tid;
	uint32_t tid;
	enum strace_clock clock;
	uint64_t ns;
	struct strace_text body;
};

/* Split any line; a missing thread id or time is not an error. */
void strace_line_split(struct strace_line *l, struct strace_text line);

/* Remove the duration " <0.000012>" from the end of `t` and return it, or TRACE_UNKNOWN. */
uint64_t strace_line_duration(struct strace_text *t);

/* The annotation in < > after a descriptor (-y, -yy). */
enum strace_fd_kind { STRACE_FD_NONE, STRACE_FD_PATH, STRACE_FD_OTHER };
struct strace_fd_info {
	enum strace_fd_kind kind;
	struct strace_text path; /* still escaped */
	bool is_char;            /* a character device, according to -yy */
};

enum { STRACE_ARGS = 8 };

struct strace_call {
	struct strace_text name;
	struct strace_text all; /* all arguments */
	struct strace_text args[STRACE_ARGS];
	size_t arg_count;
	bool has_result; /* false: the call did not return, or its result is "?" */
	int64_t result;  /* return value, or -errno */
	bool failed;
	struct strace_text error;   /* name such as ENOENT; empty = none */
	struct strace_fd_info info; /* annotation of the result */
	uint64_t duration_ns;       /* or TRACE_UNKNOWN */
};

/* Does the body begin with "NAME("? */
bool strace_call_name(struct strace_text body, struct strace_text *name);

/* Split a call and its result. NULL, or the reason why the text is not a complete call. For an
 * unfinished call, `c` has the arguments up to the end of the text. */
const char *strace_call_split(struct strace_call *c, struct strace_text body);

/* Parse "3</a/b>" into a descriptor and its annotation; "AT_FDCWD" gives AT_FDCWD. False: not a
 * descriptor. */
bool strace_fd(struct strace_text t, int *fd, struct strace_fd_info *info);

/* ---- mltrace import ---- */

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

/* The caller owns all strings. */
struct import_args {
	int format;               /* enum import_format */
	const char *const *files; /* "-" = standard input */
	size_t file_count;
	const char *output;  /* path of the trace */
	const char *markers; /* the application's own log; NULL = none */
	bool is_lenient;
	bool force;    /* replace a file even if it is not a trace */
	FILE *summary; /* a line about the result is printed here; NULL = none */
};

/* Run an import. Returns an exit status of ask/ask.h; errors have been reported. */
int import_run(const struct import_args *args);
