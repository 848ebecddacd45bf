/* SPDX-License-Identifier: Apache-2.0 */
/* help_text.h - what all lists of options say alike of one of them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <mlgen/field.h>

#include "base/buf.h"

/* Append the first line of a help text, as a clause: no capital, no full stop. */
void help_text_clause(struct buf *out, const char *help);

/* Is it an option of the program, and not of a job? */
bool help_text_is_setting(const struct mlgen_field *f);

/* Append "--json=TEXT", "bs=SIZE[,SIZE]". */
void help_text_usage(struct buf *out, const struct mlgen_field *f);

/* Print a line with the words behind it, from `indent` on, and end it. Lines of the text that end a
 * sentence stay lines; others are filled. */
void help_text_print(FILE *to, struct buf *line, const char *text, size_t indent, size_t columns);
