/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - sentences for the person at the terminal, on stderr. */
#pragma once

/*
 * Each call is one line and one write(2), so lines of threads never mix. On a terminal the line
 * first clears what the status line has drawn there. The text is made printable (printable.h).
 */

#include <stdbool.h>

/* The name that begins messages: "mlgen", unless main() sets another one before anything else. */
void log_set_name(const char *name);
const char *log_name(void);
/* Drop notes from now on. */
void log_set_quiet(bool quiet);

/* "mlgen: ..." */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);
/* "mlgen: warning: ..." */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);
/* "mlgen: note: ..." */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);
/* How far something is that takes its time: on a terminal, where it stays until the next line of
 * any kind; elsewhere nothing. */
__attribute__((format(printf, 1, 2))) void log_progress(const char *fmt, ...);
/* The text as it is, with a newline; for messages that begin file:line. */
__attribute__((format(printf, 1, 2))) void log_plain(const char *fmt, ...);
