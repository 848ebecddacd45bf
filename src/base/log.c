/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - messages for the user, on stderr. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

/* Enough for an err of include/mlgen/err.h, a path and a few words. */
#define LINE_BYTES 8192

/* Return to column 1 and clear the status line (ECMA-48). */
#define CLEAR_LINE "\r\033[K"

static const char *program = "mlgen";
static bool is_quiet;

void log_set_name(const char *name)
{
	program = name;
}

const char *log_name(void)
{
	return program;
}

void log_set_quiet(bool quiet)
{
	is_quiet = quiet;
}

/* The buffers are on the stack: memory may be short, and threads must not wait here. */
__attribute__((format(printf, 2, 0))) static void log_line(const char *prefix, const char *fmt,
							   va_list ap)
{
	int saved_errno = errno;
	char text[LINE_BYTES], line[LINE_BYTES];
	const char *clear = isatty(STDERR_FILENO) ? CLEAR_LINE : "";
	size_t len = (size_t)snprintf(line, sizeof(line), "%s%s%s", clear, *prefix ? program : "",
				      prefix);

	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	/* Leave room for the only newline. */
	len += printable_copy(line + len, sizeof(line) - len - 1, text);
	line[len++] = '\n';
	/* A failed write to stderr cannot be reported anywhere. */
	(void)writeall(STDERR_FILENO, line, len);
	errno = saved_errno;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(": ", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(": warning: ", fmt, ap);
	va_end(ap);
}

void log_note(const char *fmt, ...)
{
	va_list ap;

	if (is_quiet)
		return;
	va_start(ap, fmt);
	log_line(": note: ", fmt, ap);
	va_end(ap);
}

void log_progress(const char *fmt, ...)
{
	char text[512], line[1024];
	size_t len = sizeof(CLEAR_LINE) - 1;
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(line, CLEAR_LINE, len);
	len += printable_copy(line + len, sizeof(line) - len, text);
	(void)writeall(STDERR_FILENO, line, len);
}

void log_plain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("", fmt, ap);
	va_end(ap);
}
