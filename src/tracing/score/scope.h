/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - which files of a trace are data set or checkpoint, by their paths. */
#pragma once

#include <stdbool.h>

struct trace_record;

/*
 * All are, but what a program brings along: pipes, sockets and the like, what lies in a folder of
 * the system, libraries, sources of Python and packages of it, memory that processes share, and
 * logs. mlgen(1) has the list.
 */
bool scope_has(const char *path);

/* Is it what Python's tempfile writes and removes, to see whether a folder takes files? The record
 * is the first of the file. */
bool scope_is_probe(const char *path, const struct trace_record *first);
