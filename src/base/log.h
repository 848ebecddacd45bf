/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - messages for the user, on stderr. */
#pragma once

/* Each call prints one line with one write(2), so lines of threads never mix. On a terminal the
 * status line is cleared first. The text is made printable (printable.h). */

#include <stdbool.h>

/* The name at the start of messages: "mlgen", unless main() sets another one before anything
 * else. */
void log_set_name(const char *name);
const char *log_name(void);
/* Suppress notes from now on. */
void log_set_quiet(bool quiet);

/* Print "mlgen: ...". */
__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);
/* Print "mlgen: warning: ...". */
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);
/* Print "mlgen: note: ...". */
__attribute__((format(printf, 1, 2))) void log_note(const char *fmt, ...);
/* Show the progress of a long task on a terminal, until the next line of any kind. Without a
 * terminal nothing is printed. */
__attribute__((format(printf, 1, 2))) void log_progress(const char *fmt, ...);
/* Print the text without a prefix, for messages that begin with file:line. */
__attribute__((format(printf, 1, 2))) void log_plain(const char *fmt, ...);
