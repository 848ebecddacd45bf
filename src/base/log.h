/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - messages for the user, and text made safe for terminals and shells. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- make foreign text safe for terminals ---- */

/*
 * Names, paths and values come from users, file systems and documents of other hosts. Everything
 * that a terminal would interpret, or that changes the order of letters, is escaped: invalid UTF-8
 * and control characters as \xHH (\n, \r and \t as such), C1 controls, line separators and
 * direction characters as \uHHHH. All other letters are unchanged, including backslashes, so that
 * escaping twice changes nothing.
 */

/* Write the next letter of *s, escaped if necessary, to `out`, and advance *s. The text ends at
 * `end`. Returns the number of bytes written. */
#define PRINTABLE_BYTES 8
size_t printable_next(const char **s, const char *end, char out[PRINTABLE_BYTES]);

/* Append a text of one line. */
void printable_add(struct buf *out, const char *s);

/* Append a text of many lines: '\n' and '\t' are kept. */
void printable_add_lines(struct buf *out, const char *s, size_t bytes);

/* Like printable_add, into `size` bytes including the zero byte; the rest is cut off. Allocates
 * nothing. Returns the length. */
size_t printable_copy(char *out, size_t size, const char *s);

/* Number of letters of a printable text, which is its width, except for scripts with wide or
 * combining letters. */
size_t printable_columns(const char *s);
/* Append a text, aligned to the right in `columns`, or to the left in -columns. */
void printable_pad(struct buf *out, const char *s, int columns);

/* Is the text printable already? */
bool printable_is(const char *s);

/* ---- wrap text ---- */

/* The width that every terminal has; tables are made for it. */
#define WRAP_COLUMNS 80

/* Line length: WRAP_COLUMNS, or the width of the terminal at standard output if larger. */
size_t wrap_columns(void);

/* Length of the last line of `out`. */
size_t wrap_column_of(const struct buf *out);

/*
 * Both functions append to the last line of `out`, which may hold a label. Further lines are
 * indented by `indent` and at most `columns` long, except for a single longer word. Spaces at line
 * breaks are dropped; the last line is not terminated.
 */

/* Wrap words. If the label reaches beyond `indent`, a space precedes the text. */
void wrap_words(struct buf *out, size_t indent, size_t columns, const char *text);

/* Wrap lists and clauses: a line breaks after a comma or semicolon if this leaves it more than
 * half full; a text of two lines breaks after a semicolon if possible. */
void wrap_lists(struct buf *out, size_t indent, size_t columns, const char *text);

/* ---- text files written by people, a few words per line ---- */

/* Words are separated by white space, # begins a comment, and lines without words are ignored. A
 * byte order mark may precede the first line. Messages about a line begin with "PATH:LINE: ". */
struct wordlines {
	const char *path;
	unsigned line; /* current or last line; from 1 */
	struct mlgen_err *err;
};

/* A kind of file that consists of lines of words. */
struct wordlines_format {
	const char *option; /* "tensor_sizes: " before the path, or "" */
	const char *noun;   /* "a list of tensors" */
	uint64_t most_bytes;
	/* Called for each line that has words, which it reads with wordlines_word(). A nonzero
	 * result ends the reading. */
	int (*take)(void *arg, char *line);
};

/* Read the file w->path. 0, the result of `take`, or -errno with w->err: missing, not a regular
 * file, too large, or not text. */
int wordlines_read(struct wordlines *w, const struct wordlines_format *sort, void *arg);

/* Return the next word at *at, zero-terminated, and advance *at. NULL = none. */
char *wordlines_word(char **at);

/* Set w->err for the current line; returns `code`. */
__attribute__((format(printf, 3, 4))) int wordlines_fail(const struct wordlines *w, int code,
							 const char *fmt, ...);

/* ---- quote arguments for a shell ---- */

/* Append an argument, quoted if necessary, after a space unless `out` is empty. */
void shellword_add(struct buf *out, const char *arg);

/* ---- messages on stderr ---- */

/* Each call prints one line with one write(2), so lines of threads never mix. On a terminal the
 * status line is cleared first. The text is made printable. */

/* The name at the start of messages: "mlgen", unless main() sets another one before anything
 * else. */
void log_set_name(const char *name);
const char *log_name(void);
/* Suppress notes from now on. */
void log_set_quiet(bool quiet);

/* Print "mlgen: ...". */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);
/* Print "mlgen: warning: ...". */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);
/* Print "mlgen: note: ...". */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);
/* Show the progress of a long task on a terminal, until the next line of any kind. Without a
 * terminal nothing is printed. */
__attribute__((format(printf, 1, 2))) void log_progress(const char *fmt, ...);
/* Print the text without a prefix, for messages that begin with file:line. */
__attribute__((format(printf, 1, 2))) void log_plain(const char *fmt, ...);
