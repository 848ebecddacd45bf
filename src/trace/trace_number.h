/* SPDX-License-Identifier: Apache-2.0 */
/* trace_number.h - whole numbers as digits, of which a trace as text has ten million. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The digits there, and nothing else, as a number of at most `most`. NULL, or what is wrong, to
 * stand behind the text: "is negative". */
const char *trace_number_take(const char *s, size_t bytes, uint64_t most, uint64_t *out);
/* The same with a sign that may be. */
const char *trace_number_take_signed(const char *s, size_t bytes, int64_t *out);

void trace_number_put(struct buf *out, uint64_t v);
void trace_number_put_signed(struct buf *out, int64_t v);
