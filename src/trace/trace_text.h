/* SPDX-License-Identifier: Apache-2.0 */
/* trace_text.h - a name of any bytes as printable UTF-8, and exactly back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Append it: control characters (those of Unicode, too) and bytes that are no UTF-8 as \xHH each, a
 * backslash as two of them. */
void trace_text_put(struct buf *out, const char *s, size_t bytes);

/* The way back, in its place; *bytes becomes less. NULL, or where what stands behind a backslash is
 * no such escape. */
const char *trace_text_take(char *s, size_t *bytes);
