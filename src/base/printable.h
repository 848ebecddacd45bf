/* SPDX-License-Identifier: Apache-2.0 */
/* printable.h - text as terminals, shells and people can take it: printable, wrapped, quoted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- text of others as a terminal can show it without obeying it ---- */

/*
 * Names, paths and values come from users, file systems and documents of other hosts. What a
 * terminal would take for an order, or what would show the letters in another order than they stand
 * in, is written as an escape: bytes that are no UTF-8 and control characters as \xHH (\n, \r and
 * \t as such), C1 controls, line separators and the characters that set the direction of text as
 * \uHHHH. All other letters stay as they are, backslashes too, so that to do it twice changes
 * nothing.
 */

/* The next letter or escape of `s`, which ends at `end`: written to `out`; its bytes are the
 * result, and *s moves on. */
#define PRINTABLE_BYTES 8
size_t printable_next(const char **s, const char *end, char out[PRINTABLE_BYTES]);

/* Append a text that belongs on one line. */
void printable_add(struct buf *out, const char *s);

/* Append a text of many lines: '\n' and '\t' are its own. */
void printable_add_lines(struct buf *out, const char *s, size_t bytes);

/* The same as printable_add in `size` bytes with the zero byte; what does not fit is cut off. Takes
 * no memory. The length. */
size_t printable_copy(char *out, size_t size, const char *s);

/* Letters of a printable text: the columns it takes, but for scripts whose letters take two or
 * none. */
size_t printable_columns(const char *s);
/* Append it to the right of so many columns, or to the left of -columns. */
void printable_pad(struct buf *out, const char *s, int columns);

/* Is it that already? */
bool printable_is(const char *s);

/* ---- break a text for people into lines ---- */

/* Every terminal has that many columns: tables are made for them. */
#define WRAP_COLUMNS 80

/* The length of a line: WRAP_COLUMNS, or what the terminal at standard output has, where that is
 * more. */
size_t wrap_columns(void);

/* The length of the last line of `out`. */
size_t wrap_column_of(const struct buf *out);

/*
 * Both append to the last line of `out`, which may hold a label; further lines begin `indent` from
 * the left and are at most `columns` long, but for a word that is longer than a line: it is left
 * whole. Blanks where a line breaks are left out; the last line has no end yet.
 */

/* As many words a line as it holds. Where the line goes beyond `indent` a blank comes before the
 * text. */
void wrap_words(struct buf *out, size_t indent, size_t columns, const char *text);

/*
 * Lists and clauses: a line breaks behind a comma or semicolon where that leaves it more than half
 * full, and two lines break behind a semicolon if they can.
 */
void wrap_lists(struct buf *out, size_t indent, size_t columns, const char *text);

/* ---- text files that people write: a few words a line ---- */

/*
 * Words stand between blanks; what stands behind a # is a comment, and lines without words are
 * none. A byte order mark may stand before the first line. A message about a line begins
 * "PATH:LINE: ".
 */
struct wordlines {
	const char *path;
	unsigned line; /* the one that is read, or was last; from 1 */
	struct mlgen_err *err;
};

/* Of one sort of such files. */
struct wordlines_sort {
	const char *option; /* "tensor_sizes: " before the path, or "" */
	const char *noun;   /* "a list of tensors" */
	uint64_t most_bytes;
	/* Called for each line that has words, which wordlines_word() takes from it. What is not 0
	 * ends the reading. */
	int (*take)(void *arg, char *line);
};

/* Read the file w->path, from its first line to its last. 0, what `take` has said, or -errno with
 * w->err: no such file, no regular one, one that is too large, or no text. */
int wordlines_read(struct wordlines *w, const struct wordlines_sort *sort, void *arg);

/* The word at *at, ended by a zero byte; *at goes behind it. NULL = none. */
char *wordlines_word(char **at);

/* Say what is wrong with the line; `code` comes back. */
__attribute__((format(printf, 3, 4))) int wordlines_fail(const struct wordlines *w, int code,
							 const char *fmt, ...);

/* ---- arguments as a shell takes them back ---- */

/* Append one argument, quoted if a shell would take it apart, behind a blank if there is something
 * before it. */
void shellword_add(struct buf *out, const char *arg);
