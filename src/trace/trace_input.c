/* SPDX-License-Identifier: Apache-2.0 */
/* trace_input.c - lines of text, also of compressed files. */
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

enum trace_gunzip_state {
	GUNZIP_HAS_MORE, /* there may be more from what went in */
	GUNZIP_NEEDS,    /* trace_gunzip_give */
	GUNZIP_IS_BAD,
};

enum { ROOM_BYTES = 64 << 10 };
/* The largest window, and no other head than that of gzip (zlib.h). */
enum { GZIP_ONLY = 15 + 16 };

struct trace_gunzip {
	z_stream z;
	uint64_t in_bytes, out_bytes;
	const char *why;
	bool is_inside; /* a member, which has begun and not ended */
	bool has_ended; /* one of them */
	unsigned char *room;
	size_t room_bytes;
};

/* So many are there now. */
static void trace_gunzip_give(struct trace_gunzip *g, size_t bytes)
{
	g->z.next_in = g->room;
	g->z.avail_in = (uInt)bytes;
	g->in_bytes += bytes;
}

/* With what was read of the file already, which is copied. */
static struct trace_gunzip *trace_gunzip_new(const char *begun, size_t bytes)
{
	struct trace_gunzip *g = mem_zalloc(sizeof(*g));

	if (inflateInit2(&g->z, GZIP_ONLY) != Z_OK)
		mem_none(sizeof(*g));
	g->room_bytes = (size_t)u64_max(bytes, ROOM_BYTES);
	g->room = mem_zalloc(g->room_bytes);
	memcpy(g->room, begun, bytes);
	trace_gunzip_give(g, bytes);
	return g;
}

void trace_gunzip_free(struct trace_gunzip *g)
{
	if (!g)
		return;
	inflateEnd(&g->z);
	mem_free(g->room);
	mem_free(g);
}

/* Where the next bytes of the file go, and how many there may be; only when it needs some. */
static char *trace_gunzip_room(struct trace_gunzip *g, size_t *bytes)
{
	*bytes = g->room_bytes;
	return (char *)g->room;
}

/* Behind a member: another, zeros, or the end. */
static bool begin_member(struct trace_gunzip *g)
{
	while (g->has_ended && g->z.avail_in && !*g->z.next_in) {
		g->z.next_in++;
		g->z.avail_in--;
	}
	if (!g->z.avail_in)
		return false;
	g->is_inside = true;
	return true;
}

static enum trace_gunzip_state trace_gunzip_fail(struct trace_gunzip *g, int code)
{
	g->why = g->z.msg ? g->z.msg : zError(code);
	return GUNZIP_IS_BAD;
}

/* *bytes of the text to `to`, 0 of them where it needs more or is bad. */
static enum trace_gunzip_state trace_gunzip_take(struct trace_gunzip *g, char *to, size_t room,
						 size_t *bytes)
{
	int code;

	*bytes = 0;
	if (!g->is_inside && !begin_member(g))
		return GUNZIP_NEEDS;
	g->z.next_out = (unsigned char *)to;
	g->z.avail_out = (uInt)room;
	code = inflate(&g->z, Z_NO_FLUSH);
	*bytes = room - g->z.avail_out;
	g->out_bytes += *bytes;
	if (code == Z_STREAM_END) {
		g->is_inside = false;
		g->has_ended = true;
		code = inflateReset(&g->z);
	} else if (code == Z_BUF_ERROR) {
		return GUNZIP_NEEDS; /* nothing came of nothing */
	}
	if (code != Z_OK)
		return trace_gunzip_fail(g, code);
	return g->z.avail_in || !g->z.avail_out ? GUNZIP_HAS_MORE : GUNZIP_NEEDS;
}

/* May the file end here? */
static bool trace_gunzip_is_whole(const struct trace_gunzip *g)
{
	return !g->is_inside;
}

/* Of the file, that went in. */
static uint64_t trace_gunzip_at_bytes(const struct trace_gunzip *g)
{
	return g->in_bytes - g->z.avail_in;
}

/* Of the text, that came out. */
static uint64_t trace_gunzip_out_bytes(const struct trace_gunzip *g)
{
	return g->out_bytes;
}

/* Where it is bad. */
static const char *trace_gunzip_why(const struct trace_gunzip *g)
{
	return g->why;
}

enum { BLOCK_BYTES = 256 << 10, WAIT_MS = 200 };

static int input_fail(const struct trace_input *in, int error, struct mlgen_err *err)
{
	if (error == EINTR)
		return mlgen_fail(err, -EINTR, "interrupted");
	return mlgen_fail(err, -error, "%s: cannot be read: %s", in->name, strerror(error));
}

void trace_input_from(struct trace_input *in, int fd, const char *name)
{
	*in = (struct trace_input){ .fd = fd, .name = name, .line = 1 };
	in->buffer = mem_zalloc(BLOCK_BYTES);
}

int trace_input_open(struct trace_input *in, const char *path, struct mlgen_err *err)
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

static void warn_cut(const struct trace_input *in)
{
	uint64_t lines = in->line - 1;

	log_warn("%s: is a gzip file that is cut off, at byte %" PRIu64
		 " of it; what is before that is read, %" PRIu64 " line%s",
		 in->name, trace_gunzip_at_bytes(in->gunzip), lines, plural(lines));
}

void trace_input_close(struct trace_input *in)
{
	if (in->is_cut_off && !in->only_looks)
		warn_cut(in);
	if (in->owns_fd && in->fd >= 0)
		close(in->fd);
	trace_gunzip_free(in->gunzip);
	mem_free(in->buffer);
	*in = (struct trace_input){ .fd = -1 };
}

/* A pipe may be silent for as long as its other end likes. */
static ssize_t read_some(const struct trace_input *in, char *to, size_t room)
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
		n = read(in->fd, to, room);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

/* 1, 0 = the file is over, or -errno with err. */
static int read_block(struct trace_input *in, struct mlgen_err *err)
{
	ssize_t n = read_some(in, in->buffer + in->end, BLOCK_BYTES - in->end);

	if (n < 0)
		return input_fail(in, errno, err);
	in->end += (size_t)n;
	return n > 0;
}

/* ---- the text of a gzip file ---- */

static int refuse_gzip(const struct trace_input *in, const char *what, struct mlgen_err *err)
{
	uint64_t lines = in->line - 1;

	return mlgen_fail(err, -EINVAL,
			  "%s: is a gzip file that %s, at byte %" PRIu64
			  " of it; the text up to there could be read, %" PRIu64
			  " line%s and %" PRIu64 " bytes: 'gzip -dc' prints it",
			  in->name, what, trace_gunzip_at_bytes(in->gunzip), lines, plural(lines),
			  trace_gunzip_out_bytes(in->gunzip));
}

/* As read_block, of what went in. */
static int give_gzip(struct trace_input *in, struct mlgen_err *err)
{
	size_t room;
	char *to = trace_gunzip_room(in->gunzip, &room);
	ssize_t n = read_some(in, to, room);

	if (n < 0)
		return input_fail(in, errno, err);
	if (n == 0 && trace_gunzip_is_whole(in->gunzip))
		return 0;
	if (n == 0 && !trace_gunzip_out_bytes(in->gunzip))
		return refuse_gzip(in, "is cut off", err);
	in->is_cut_off = n == 0;
	if (n == 0)
		return 0;
	trace_gunzip_give(in->gunzip, (size_t)n);
	return 1;
}

/* As read_block, of what came out. */
static int read_gzip(struct trace_input *in, struct mlgen_err *err)
{
	char what[128];
	size_t bytes = 0;
	int rc = 1;

	while (rc > 0 && !bytes) {
		switch (trace_gunzip_take(in->gunzip, in->buffer + in->end, BLOCK_BYTES - in->end,
					  &bytes)) {
		case GUNZIP_HAS_MORE:
			break;
		case GUNZIP_NEEDS:
			rc = bytes ? 1 : give_gzip(in, err);
			break;
		case GUNZIP_IS_BAD:
			snprintf(what, sizeof(what), "is damaged (%s)",
				 trace_gunzip_why(in->gunzip));
			rc = bytes ? 1 : refuse_gzip(in, what, err);
			break;
		}
	}
	in->end += bytes;
	return rc;
}

static int fill_buffer(struct trace_input *in, struct mlgen_err *err)
{
	return in->gunzip ? read_gzip(in, err) : read_block(in, err);
}

static int refuse_zero(const struct trace_input *in, const char *zero, struct mlgen_err *err)
{
	uint64_t line = in->line;

	for (const char *c = in->buffer; c < zero; c++)
		line += *c == '\n';
	return trace_input_refuse(
		in, line, err,
		"a byte of zero, which no text has; is this file what the option says?");
}

/* Are so many there? They may come one by one. 1, 0 or -errno with err. */
static int begin_bytes(struct trace_input *in, const char *mark, size_t bytes,
		       struct mlgen_err *err)
{
	int rc = 1;

	while (rc > 0 && in->end < bytes && memcmp(in->buffer, mark, in->end) == 0)
		rc = fill_buffer(in, err);
	if (rc < 0)
		return rc;
	return in->end >= bytes && memcmp(in->buffer, mark, bytes) == 0;
}

/* What stands before the text. */
static int begin_text(struct trace_input *in, struct mlgen_err *err)
{
	int rc = begin_bytes(in, "\x1f\x8b", 2, err);

	if (rc > 0) {
		in->gunzip = trace_gunzip_new(in->buffer, in->end);
		in->end = 0;
	}
	in->is_begun = true;
	if (rc < 0 || in->is_binary)
		return rc < 0 ? rc : 0;
	rc = begin_bytes(in, BOM, BOM_BYTES, err);
	if (rc > 0)
		in->at = BOM_BYTES;
	return rc < 0 ? rc : 0;
}

int trace_input_more(struct trace_input *in, struct mlgen_err *err)
{
	const char *zero;

	while (in->at == in->end) {
		bool is_begun = in->is_begun;
		int rc;

		in->at = in->end = 0;
		rc = is_begun ? fill_buffer(in, err) : begin_text(in, err);
		if (rc < 0 || (rc == 0 && is_begun))
			return rc;
		zero = in->is_binary ? NULL : memchr(in->buffer, '\0', in->end);
		if (zero)
			return refuse_zero(in, zero, err);
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
			return trace_input_refuse(in, in->line, err, "a line of more than 1 MiB");
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

int trace_input_refuse(const struct trace_input *in, uint64_t line, struct mlgen_err *err,
		       const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(err, -EINVAL, "%s:%" PRIu64 ": %s", in->name, line, text);
}
