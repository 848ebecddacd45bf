/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - which files of a trace are data set or checkpoint, by their paths. */
#pragma once

#include <stdbool.h>

/*
 * All are, but what a program brings along: pipes, sockets and the like, what
 * lies in a folder of the system, libraries, sources of Python and packages of
 * it, and logs. mlgen(1) has the list.
 */
bool scope_has(const char *path);
