/* SPDX-License-Identifier: Apache-2.0 */
/* sysfile.h - read the one-line files of /proc and /sys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Paths are joined to `root`, "" for the machine itself: tests put a tree of their own there.
 */

/* The first line, without newline and trailing blanks. 0 or -errno. */
int sysfile_line(char *out, size_t size, const char *root, const char *path);

/* A decimal number, the first word of the file. 0 or -errno; -EINVAL for words such as "max". */
int sysfile_u64(uint64_t *out, const char *root, const char *path);

/* As sysfile_u64, of the line "KEY: 123 kB" (or "KEY 123"), times 1024 if kB. -ENODATA where no
 * line has the key. */
int sysfile_keyed(uint64_t *out, const char *root, const char *path, const char *key);

/* In place: the kernel writes blanks, tabs, newlines and backslashes of names as \ooo, for example
 * in /proc/self/mountinfo. */
void sysfile_unescape(char *s);
