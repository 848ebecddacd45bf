/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - a file that appears whole or not at all. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/writeall.h"

enum { STREAM_BUFFER_BYTES = 256 << 10 };

static int output_fail(const char *path, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error, "%s: cannot be written: %s", path ? path : "standard output",
			  strerror(error));
}

/* The mode of the file that is replaced, or what the umask leaves. */
static mode_t wanted_mode(const struct place *p)
{
	struct stat old;

	if (p->kind == PLACE_FILE && fstat(p->fd, &old) == 0)
		return old.st_mode & 07777;
	return replace_new_mode();
}

static int open_place(struct output *o, struct place *p, struct mlgen_err *err)
{
	int rc = 0;

	o->path = mem_strdup(p->given);
	if (p->kind == PLACE_STREAM || p->is_handed_over) {
		o->fd = p->fd;
		p->fd = -1;
	} else {
		rc = replace_begin(&o->file, p->path, wanted_mode(p));
		if (rc)
			output_fail(o->path, -rc, err);
	}
	place_close(p);
	return rc;
}

/* The one place through which all text for people goes. */
static int write_text(const struct output *o, int fd)
{
	struct buf shown = { 0 };

	printable_add_lines(&shown, o->text, o->bytes);
	int error = -writeall(fd, buf_str(&shown), shown.len);
	buf_fini(&shown);
	return error;
}

/* Where it is written in place a server may tell only here that it had no room. */
static int close_written(struct output *o)
{
	int error = o->path && close(o->fd) ? errno : 0;

	if (o->path)
		o->fd = -1;
	return error;
}

static int output_fd(const struct output *o)
{
	return o->file.target ? o->file.fd : o->fd;
}

/* Nothing more is written behind what could not be. */
static ssize_t write_streamed(void *cookie, const char *text, size_t bytes)
{
	struct output *o = cookie;

	if (!o->error)
		o->error = -writeall(output_fd(o), text, bytes);
	return o->error ? 0 : (ssize_t)bytes;
}

/* Everything that was printed, to where it belongs; an errno. */
static int deliver(struct output *o)
{
	int error = fclose(o->to) ? errno : 0;
	bool replaces = o->file.target;
	int fd = output_fd(o);

	o->to = NULL;
	if (o->error)
		error = o->error;
	/* Others may have printed to stdout before. */
	if (!error && !o->path)
		error = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;
	if (!error)
		error = o->is_text ? write_text(o, fd) : -writeall(fd, o->text, o->bytes);
	if (replaces)
		return error ? error : -replace_commit(&o->file);
	int closed = close_written(o);
	return error ? error : closed;
}

/* The thread that handles signals reads it, too, when it ends the program (output_discard). */
static void clear(struct output *o)
{
	signals_hold();
	memset(o, 0, sizeof(*o));
	signals_release();
}

int output_open(struct output *o, struct place *p, struct mlgen_err *err)
{
	int rc = 0;

	clear(o);
	o->fd = p ? -1 : STDOUT_FILENO;
	o->file.fd = -1;
	o->to = open_memstream(&o->text, &o->bytes);
	if (!o->to)
		return output_fail(p ? p->given : NULL, errno, err);
	if (p)
		rc = open_place(o, p, err);
	if (rc)
		output_abandon(o);
	return rc;
}

int output_stream(struct output *o, struct mlgen_err *err)
{
	FILE *to = fopencookie(o, "w", (cookie_io_functions_t){ .write = write_streamed });

	if (!to)
		return output_fail(o->path, errno, err);
	setvbuf(to, NULL, _IOFBF, STREAM_BUFFER_BYTES);
	fclose(o->to);
	free(o->text);
	o->text = NULL;
	o->bytes = 0;
	o->is_text = false;
	o->to = to;
	return 0;
}

int output_close(struct output *o, struct mlgen_err *err)
{
	int error = deliver(o);
	int rc = error ? output_fail(o->path, error, err) : 0;

	output_abandon(o);
	return rc;
}

void output_abandon(struct output *o)
{
	if (o->to)
		fclose(o->to);
	if (o->path && o->fd >= 0)
		close(o->fd);
	replace_abandon(&o->file);
	free(o->text);
	mem_free(o->path);
	clear(o);
}

void output_discard(struct output *o)
{
	replace_discard(&o->file);
}
