/* SPDX-License-Identifier: Apache-2.0 */
/* trace_source.h - what is to be replayed, as a trace, be it a trace or a log of fio's. */
#pragma once

#include "trace/trace_reader.h"

/*
 * Open what replay_trace= or read_iolog= names: a trace of mlgen's, by its magic, or a log of fio's
 * (version 2 or 3, also as a gzip file), which becomes a trace in a temporary file without a name
 * first. That one goes with the reader, has the fact import=fio-iolog, and the path where messages
 * name it. What a trace cannot have of the log is noted on standard error.
 *
 * The path is the caller's, and is needed as long as the reader is. 0, or -errno with err, which
 * has file and, of a log, line; what is neither is named with what makes a trace of it.
 */
int trace_source_open(struct trace_reader **out, const char *path, struct mlgen_err *err);
