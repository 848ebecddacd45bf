/* SPDX-License-Identifier: Apache-2.0 */
/* view_terminal.h - a full screen of letters on the terminal, by ncurses. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "report/view_pen.h"

struct view_terminal;

/* Can there be one? 0, or -errno with err: mlgen was built without it, there is no terminal, or it
 * is another one's (a job in the background). */
int view_terminal_check(struct mlgen_err *err);

/*
 * The terminal of standard error, or else of standard output, shows pictures from here on;
 * view_restore.h has what becomes of messages. The calling thread has the locale of the environment
 * until it is closed. 0, or -errno with err, and the terminal is as it was. All that follows on the
 * same thread.
 */
int view_terminal_open(struct view_terminal **out, struct mlgen_err *err);
void view_terminal_close(struct view_terminal *t); /* NULL is fine */

/* A picture, as large as the terminal is now: draw with the pen, then show. */
void view_terminal_begin(struct view_terminal *t, struct view_pen *pen);
void view_terminal_show(struct view_terminal *t);

/* Has its size changed since the last picture? */
bool view_terminal_is_resized(const struct view_terminal *t);

/* A key that was pressed; 0 = none. Never waits. Ctrl-L draws all anew, Ctrl-Z stops the program,
 * and comes back when it goes on. */
int view_terminal_key(struct view_terminal *t);
