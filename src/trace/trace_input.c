/* SPDX-License-Identifier: Apache-2.0 */
/* trace_input.c - bytes and lines of text, plain or in gzip files. */
#include "trace/trace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

enum { BLOCK_BYTES = 256 << 10, GZIP_BLOCK_BYTES = 64 << 10, WAIT_MS = 200 };

/* windowBits (zlib.h): the largest window, and 16 to accept only gzip headers. */
enum { GZIP_ONLY = 15 + 16 };

struct trace_gunzip {
	z_stream z;
	uint64_t in_bytes, out_bytes;
	bool is_inside; /* a member has begun and not ended */
	bool has_ended; /* a member has ended */
	unsigned char *buffer;
	size_t buffer_bytes;
};

static void gunzip_set_input(struct trace_gunzip *g, size_t bytes)
{
	g->z.next_in = g->buffer;
	g->z.avail_in = (uInt)bytes;
	g->in_bytes += bytes;
}

/* `begun` is the part of the file that was read already; it is copied. */
static struct trace_gunzip *gunzip_new(const char *begun, size_t bytes)
{
	struct trace_gunzip *g = mem_zalloc(sizeof(*g));

	if (inflateInit2(&g->z, GZIP_ONLY) != Z_OK)
		mem_out_of_memory(sizeof(*g));
	g->buffer_bytes = (size_t)u64_max(bytes, GZIP_BLOCK_BYTES);
	g->buffer = mem_zalloc(g->buffer_bytes);
	memcpy(g->buffer, begun, bytes);
	gunzip_set_input(g, bytes);
	return g;
}

enum gunzip_state { GUNZIP_HAS_MORE, GUNZIP_NEEDS_INPUT, GUNZIP_FAILED };

/* Decompress *bytes of text to `to`; on a failure *why is set. */
static enum gunzip_state gunzip_read(struct trace_gunzip *g, char *to, size_t room, size_t *bytes,
				     const char **why)
{
	*bytes = 0;
	if (!g->is_inside) {
		/* Skip zeros after a member, which are padding. */
		while (g->has_ended && g->z.avail_in && !*g->z.next_in) {
			g->z.next_in++;
			g->z.avail_in--;
		}
		g->is_inside = g->z.avail_in > 0;
		if (!g->is_inside)
			return GUNZIP_NEEDS_INPUT;
	}
	g->z.next_out = (unsigned char *)to;
	g->z.avail_out = (uInt)room;
	int code = inflate(&g->z, Z_NO_FLUSH);
	*bytes = room - g->z.avail_out;
	g->out_bytes += *bytes;
	if (code == Z_STREAM_END) {
		g->is_inside = false;
		g->has_ended = true;
		code = inflateReset(&g->z);
	} else if (code == Z_BUF_ERROR) {
		return GUNZIP_NEEDS_INPUT; /* no input was left, and no output was produced */
	}
	if (code != Z_OK) {
		*why = g->z.msg ? g->z.msg : zError(code);
		return GUNZIP_FAILED;
	}
	return g->z.avail_in || !g->z.avail_out ? GUNZIP_HAS_MORE : GUNZIP_NEEDS_INPUT;
}

/* Bytes of the file that were decompressed. */
static uint64_t gunzip_position(const struct trace_gunzip *g)
{
	return g->in_bytes - g->z.avail_in;
}

static int input_fail(const struct trace_input *in, int error, struct mlgen_err *err)
{
	if (error == EINTR)
		return mlgen_fail(err, -EINTR, "interrupted");
	return mlgen_fail(err, -error, "%s: cannot be read: %s", in->name, strerror(error));
}

void trace_input_init(struct trace_input *in, int fd, const char *name)
{
	*in = (struct trace_input){ .fd = fd, .name = name, .line = 1 };
	in->buffer = mem_zalloc(BLOCK_BYTES);
}

int trace_input_open(struct trace_input *in, const char *path, struct mlgen_err *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0) {
		trace_input_init(in, STDIN_FILENO, "standard input");
		return 0;
	}
	trace_input_init(in, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), path);
	in->owns_fd = true;
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return input_fail(in, errno, err);
	return S_ISDIR(st.st_mode) ? input_fail(in, EISDIR, err) : 0;
}

void trace_input_close(struct trace_input *in)
{
	if (in->is_cut_off && !in->only_looks) {
		uint64_t lines = in->line - 1;

		log_warn("%s: the gzip file is cut off at byte %" PRIu64
			 "; the text before it is read, %" PRIu64 " line%s",
			 in->name, gunzip_position(in->gunzip), lines, plural(lines));
	}
	if (in->owns_fd && in->fd >= 0)
		close(in->fd);
	if (in->gunzip) {
		inflateEnd(&in->gunzip->z);
		mem_free(in->gunzip->buffer);
		mem_free(in->gunzip);
	}
	mem_free(in->buffer);
	*in = (struct trace_input){ .fd = -1 };
}

/* Wait for input, which a pipe may not have for long, and for signals. */
static ssize_t wait_and_read(const struct trace_input *in, char *to, size_t room)
{
	struct pollfd wait = { .fd = in->fd, .events = POLLIN };
	ssize_t n;

	do {
		while (poll(&wait, 1, WAIT_MS) == 0)
			if (signals_received())
				break;
		if (signals_received()) {
			errno = EINTR;
			return -1;
		}
		n = read(in->fd, to, room);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

/* ---- the text of a gzip file ---- */

static int fail_gzip(const struct trace_input *in, const char *what, struct mlgen_err *err)
{
	uint64_t lines = in->line - 1;

	return mlgen_fail(err, -EINVAL,
			  "%s: the gzip file %s, at byte %" PRIu64
			  "; only the text before it can be read, %" PRIu64 " line%s and %" PRIu64
			  " bytes: 'gzip -dc' prints it",
			  in->name, what, gunzip_position(in->gunzip), lines, plural(lines),
			  in->gunzip->out_bytes);
}

/* Read more of the file. 1, 0 at its end, or -errno with err. */
static int gunzip_fill(struct trace_input *in, struct mlgen_err *err)
{
	struct trace_gunzip *g = in->gunzip;
	ssize_t n = wait_and_read(in, (char *)g->buffer, g->buffer_bytes);

	if (n < 0)
		return input_fail(in, errno, err);
	if (n == 0 && g->is_inside && !g->out_bytes)
		return fail_gzip(in, "is cut off", err);
	in->is_cut_off = n == 0 && g->is_inside;
	if (n > 0)
		gunzip_set_input(g, (size_t)n);
	return n > 0;
}

/* Decompress more text. 1, 0 at its end, or -errno with err. */
static int read_gzip(struct trace_input *in, struct mlgen_err *err)
{
	const char *why = NULL;
	char what[128];
	size_t bytes = 0;
	int rc = 1;

	while (rc > 0 && !bytes) {
		switch (gunzip_read(in->gunzip, in->buffer + in->end, BLOCK_BYTES - in->end, &bytes,
				    &why)) {
		case GUNZIP_HAS_MORE:
			break;
		case GUNZIP_NEEDS_INPUT:
			rc = bytes ? 1 : gunzip_fill(in, err);
			break;
		case GUNZIP_FAILED:
			snprintf(what, sizeof(what), "is damaged (%s)", why);
			rc = bytes ? 1 : fail_gzip(in, what, err);
			break;
		}
	}
	in->end += bytes;
	return rc;
}

/* Append a block to the buffer. 1, 0 at the end of the text, or -errno with err. */
static int fill_buffer(struct trace_input *in, struct mlgen_err *err)
{
	if (in->gunzip)
		return read_gzip(in, err);
	ssize_t n = wait_and_read(in, in->buffer + in->end, BLOCK_BYTES - in->end);
	if (n < 0)
		return input_fail(in, errno, err);
	in->end += (size_t)n;
	return n > 0;
}

/* Does the file begin with these bytes? A pipe may deliver them singly. 1, 0 or -errno with err. */
static int begins_with(struct trace_input *in, const char *mark, size_t bytes,
		       struct mlgen_err *err)
{
	int rc = 1;

	while (rc > 0 && in->end < bytes && memcmp(in->buffer, mark, in->end) == 0)
		rc = fill_buffer(in, err);
	if (rc < 0)
		return rc;
	return in->end >= bytes && memcmp(in->buffer, mark, bytes) == 0;
}

/* Recognise gzip and skip a byte order mark. */
static int begin_text(struct trace_input *in, struct mlgen_err *err)
{
	int rc = begins_with(in, "\x1f\x8b", 2, err);

	if (rc > 0) {
		in->gunzip = gunzip_new(in->buffer, in->end);
		in->end = 0;
	}
	in->is_begun = true;
	if (rc < 0 || in->is_binary)
		return rc < 0 ? rc : 0;
	rc = begins_with(in, BOM, BOM_BYTES, err);
	if (rc > 0)
		in->at = BOM_BYTES;
	return rc < 0 ? rc : 0;
}

int trace_input_more(struct trace_input *in, struct mlgen_err *err)
{
	while (in->at == in->end) {
		bool is_begun = in->is_begun;

		in->at = in->end = 0;
		int rc = is_begun ? fill_buffer(in, err) : begin_text(in, err);
		if (rc < 0 || (rc == 0 && is_begun))
			return rc;
		const char *zero = in->is_binary ? NULL : memchr(in->buffer, '\0', in->end);
		if (zero) {
			uint64_t line = in->line;

			for (const char *c = in->buffer; c < zero; c++)
				line += *c == '\n';
			return trace_input_fail(in, line, err,
						"a NUL byte, which no text contains; does the "
						"option match this file?");
		}
	}
	return 1;
}

int trace_input_line(struct trace_input *in, struct buf *line, bool *is_cut, struct mlgen_err *err)
{
	const char *at, *newline = NULL;
	int rc = 1;

	buf_reset(line);
	while (!newline && (rc = trace_input_more(in, err)) > 0) {
		at = in->buffer + in->at;
		newline = memchr(at, '\n', in->end - in->at);
		size_t n = newline ? (size_t)(newline - at) : in->end - in->at;

		if (line->len + n > TRACE_INPUT_LINE_MAX)
			return trace_input_fail(in, in->line, err, "a line of more than 1 MiB");
		buf_addn(line, at, n);
		in->at += n + (newline ? 1 : 0);
	}
	if (rc < 0 || (rc == 0 && (!line->len || in->is_cut_off)))
		return rc;
	*is_cut = !newline;
	in->line += newline ? 1 : 0;
	if (newline && line->len && line->s[line->len - 1] == '\r')
		buf_cut(line, line->len - 1);
	return 1;
}

int trace_input_fail(const struct trace_input *in, uint64_t line, struct mlgen_err *err,
		     const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(err, -EINVAL, "%s:%" PRIu64 ": %s", in->name, line, text);
}
