/* SPDX-License-Identifier: Apache-2.0 */
/* view_restore.h - a terminal as it was, on whatever way the program ends. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * While a view is on a terminal, standard error, where it is that terminal, is a file in memory, so
 * that no message falls into the picture. Both are put right by view_restore(): at the end of the
 * view, by exit(), by whoever calls _exit(), and before a signal that kills does so. A process has
 * one terminal; so this state is not handed down.
 */

/* `fd` is the terminal; `leave` the text that ends its picture. Before it is changed. 0 or
 * -errno. */
int view_restore_begin(int fd);
/* What the terminal has to be told then; kept up to a limit. */
void view_restore_text(const char *leave);

/* Of the messages so far: the last ones, at most size - 1 bytes, as a text. */
void view_restore_messages(char *out, size_t size);

/* Any thread, also in a handler of a signal: the terminal is as it was, and the messages are on it.
 * Once; without a view nothing. */
void view_restore(void);
