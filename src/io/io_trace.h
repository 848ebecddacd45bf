/* SPDX-License-Identifier: Apache-2.0 */
/* io_trace.h - an operation of the io layer becomes a record of a trace. */
#pragma once

#include <stdbool.h>

#include "io/io.h"
#include "trace/trace_ring.h"

/*
 * On the worker's thread, once it is complete: op->end_ns is set, offset and length are those of
 * the whole. is_async: it was handed over to an engine that gives it back later.
 *
 * A file that is opened gets a number of the ring, in file->trace, and loses it when it is closed;
 * what has none brings its path each time. What names a file (an open, a rename) always does. An
 * open has the file's size where its caller knows it. Nothing is recorded of what was not begun.
 */
void io_trace(struct trace_ring *ring, struct io_op *op, bool is_async);
