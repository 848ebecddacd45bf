/* SPDX-License-Identifier: Apache-2.0 */
/* printable.h - text of others as a terminal can show it without obeying it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

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
