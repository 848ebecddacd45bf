/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - break a text for people into lines. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

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
