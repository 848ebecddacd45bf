/* SPDX-License-Identifier: Apache-2.0 */
/* trace_input.c - the text of a file or a pipe, byte by byte or by lines, with the line that it is at. */
#include "trace/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signals.h"

enum { BLOCK_BYTES = 256 << 10, WAIT_MS = 200 };

static int input_fail(const struct trace_input *in, int error,
		      struct mlgen_err *err)
{
	if (error == EINTR)
		return mlgen_fail(err, -EINTR, "interrupted");
	return mlgen_fail(err, -error, "%s: cannot be read: %s", in->name,
			  strerror(error));
}

void trace_input_from(struct trace_input *in, int fd, const char *name)
{
	*in = (struct trace_input){ .fd = fd, .name = name, .line = 1 };
	in->buffer = mem_zalloc(BLOCK_BYTES);
}

int trace_input_open(struct trace_input *in, const char *path,
		     struct mlgen_err *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0) {
		trace_input_from(in, STDIN_FILENO, "standard input");
		return 0;
	}
	trace_input_from(in, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), path);
	in->owns_fd = true;
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return input_fail(in, errno, err);
	return S_ISDIR(st.st_mode) ? input_fail(in, EISDIR, err) : 0;
}

void trace_input_close(struct trace_input *in)
{
	if (in->owns_fd && in->fd >= 0)
		close(in->fd);
	mem_free(in->buffer);
	*in = (struct trace_input){ .fd = -1 };
}

/* A pipe may be silent for as long as its other end likes. */
static ssize_t read_block(struct trace_input *in)
{
	struct pollfd wait = { .fd = in->fd, .events = POLLIN };
	ssize_t n;

	do {
		while (poll(&wait, 1, WAIT_MS) == 0)
			if (signals_taken())
				break;
		if (signals_taken()) {
			errno = EINTR;
			return -1;
		}
		n = read(in->fd, in->buffer + in->end, BLOCK_BYTES - in->end);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

static int refuse_zero(const struct trace_input *in, const char *zero,
		       struct mlgen_err *err)
{
	uint64_t line = in->line;

	for (const char *c = in->buffer; c < zero; c++)
		line += *c == '\n';
	return trace_input_refuse(in, line, err,
				  "a byte of zero, which no text has; is this "
				  "file what the option says?");
}

/* Three bytes may come one by one. */
static int skip_mark(struct trace_input *in, struct mlgen_err *err)
{
	static const char mark[] = "\xef\xbb\xbf";

	while (in->end < 3 && memcmp(in->buffer, mark, in->end) == 0) {
		ssize_t n = read_block(in);

		if (n < 0)
			return input_fail(in, errno, err);
		if (n == 0)
			break;
		in->end += (size_t)n;
	}
	if (in->end >= 3 && memcmp(in->buffer, mark, 3) == 0)
		in->at = 3;
	return 0;
}

int trace_input_more(struct trace_input *in, struct mlgen_err *err)
{
	const char *zero;
	int rc = 0;

	while (in->at == in->end) {
		in->at = in->end = 0;
		ssize_t n = read_block(in);

		if (n < 0)
			return input_fail(in, errno, err);
		if (n == 0)
			return 0;
		in->end = (size_t)n;
		if (in->is_binary)
			return 1;
		if (!in->is_begun)
			rc = skip_mark(in, err);
		in->is_begun = true;
		if (rc)
			return rc;
		zero = memchr(in->buffer, '\0', in->end);
		if (zero)
			return refuse_zero(in, zero, err);
	}
	return 1;
}

int trace_input_line(struct trace_input *in, struct buf *line, bool *is_cut,
		     struct mlgen_err *err)
{
	const char *at, *newline = NULL;
	int rc = 1;

	buf_reset(line);
	while (!newline && (rc = trace_input_more(in, err)) > 0) {
		at = in->buffer + in->at;
		newline = memchr(at, '\n', in->end - in->at);
		size_t n = newline ? (size_t)(newline - at) : in->end - in->at;

		if (line->len + n > TRACE_INPUT_LINE_MAX)
			return trace_input_refuse(in, in->line, err,
						  "a line of more than 1 MiB");
		buf_addn(line, at, n);
		in->at += n + (newline ? 1 : 0);
	}
	if (rc < 0 || (rc == 0 && !line->len))
		return rc;
	*is_cut = !newline;
	in->line += newline ? 1 : 0;
	if (newline && line->len && line->s[line->len - 1] == '\r')
		buf_cut(line, line->len - 1);
	return 1;
}

int trace_input_refuse(const struct trace_input *in, uint64_t line,
		       struct mlgen_err *err, const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(err, -EINVAL, "%s:%" PRIu64 ": %s", in->name, line,
			  text);
}
