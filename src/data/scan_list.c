/* SPDX-License-Identifier: Apache-2.0 */
/* scan_list.c - see scan_list.h. */
#include "data/scan_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signals.h"
#include "data/namefile.h"
#include "data/scan_inside.h"

struct list {
	struct walk *w;
	const char *name; /* for messages */
	char *folder;     /* of relative paths; owned, NULL = this one */
	int fd;
	off_t off;
	uint64_t line;
	size_t at, end; /* of buffer */
	char buffer[65536];
	char text[PATH_MAX]; /* of the line */
	char path[PATH_MAX];
};

/* ---- standard input ---- */

static int copy_all(struct namefile *to, struct mlgen_err *err)
{
	char buffer[4096];

	for (;;) {
		ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
		int r;

		if (n < 0 && errno == EINTR && !signals_taken())
			continue;
		if (n < 0)
			return mlgen_fail(err, -errno, "file_list: stdin: %s",
					  strerror(errno));
		if (n == 0)
			return namefile_flush(to, err);
		r = namefile_add(to, buffer, (size_t)n, err);
		if (r)
			return r;
	}
}

/* A pipe is read once: what came through it takes its place. */
static int spool_stdin(struct mlgen_err *err)
{
	struct namefile copy;
	int r = namefile_open(&copy, NULL, err);

	if (r == 0)
		r = copy_all(&copy, err);
	if (r == 0 && (lseek(copy.fd, 0, SEEK_SET) < 0 ||
		       dup2(copy.fd, STDIN_FILENO) < 0))
		r = mlgen_fail(err, -errno, "file_list: stdin: %s",
			       strerror(errno));
	namefile_close(&copy);
	return r;
}

static int open_stdin(struct list *l)
{
	struct stat st;
	int r = fstat(STDIN_FILENO, &st) ? -errno : 0;

	l->name = "stdin";
	if (r)
		return mlgen_fail(l->w->err, r, "file_list: stdin: %s",
				  strerror(-r));
	if (!S_ISREG(st.st_mode))
		r = spool_stdin(l->w->err);
	/* Read by pread, which leaves the offset to the next who reads. */
	l->off = r ? 0 : lseek(STDIN_FILENO, 0, SEEK_CUR);
	return r;
}

static int open_list(struct list *l)
{
	const char *slash;
	struct stat st;

	l->fd = open(l->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (l->fd < 0 || fstat(l->fd, &st) != 0)
		return mlgen_fail(l->w->err, -errno, "file_list: %s: %s",
				  l->name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(l->w->err, -EINVAL,
				  "file_list: %s: no regular file, and a list "
				  "is read more than once; standard input is "
				  "taken by file_list=-",
				  l->name);
	slash = strrchr(l->name, '/');
	if (!l->folder && slash)
		l->folder = mem_strndup(
			l->name,
			slash == l->name ? 1 : (size_t)(slash - l->name));
	return 0;
}

/* ---- lines ---- */

/* The next byte, -1 at the end, or -errno - 1. */
static int next_byte(struct list *l)
{
	ssize_t n;

	if (l->at < l->end)
		return (unsigned char)l->buffer[l->at++];
	do
		n = pread(l->fd, l->buffer, sizeof(l->buffer), l->off);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno - 1 : -1;
	l->off += n;
	l->end = (size_t)n;
	l->at = 1;
	return (unsigned char)l->buffer[0];
}

static int bad_line(struct list *l, const char *what)
{
	return mlgen_fail(l->w->err, -EINVAL, "%s:%" PRIu64 ": %s", l->name,
			  l->line, what);
}

/* 1: a line is in l->text; 0: there is none; or -errno with err. */
static int next_line(struct list *l)
{
	size_t n = 0;
	int c;

	l->line++;
	while ((c = next_byte(l)) >= 0 && c != '\n') {
		if (c == '\0')
			return bad_line(l, "a zero byte; a list has one path a "
					   "line, as text");
		if (n + 1 >= sizeof(l->text))
			return bad_line(l, "the line is longer than a path can "
					   "be");
		l->text[n++] = (char)c;
	}
	if (c < -1)
		return mlgen_fail(l->w->err, c + 1, "file_list: %s: %s",
				  l->name, strerror(-(c + 1)));
	if (n && l->text[n - 1] == '\r')
		n--;
	l->text[n] = '\0';
	return c >= 0 || n > 0;
}

static int add_line(struct list *l, struct places *p)
{
	struct scan_skipped *s = &l->w->scan->skipped;
	bool is_below = l->folder && *l->text != '/';
	struct stat st;
	int n;

	if (strchr(l->text, '\t'))
		return bad_line(l, "a TAB; a list has one path a line and "
				   "nothing else");
	n = snprintf(l->path, sizeof(l->path), "%s%s%s",
		     is_below ? l->folder : "", is_below ? "/" : "", l->text);
	if (n < 0 || (size_t)n >= sizeof(l->path))
		return bad_line(l, "the path is too long");
	/* It stands in messages. */
	if (snprintf(l->w->path, sizeof(l->w->path), "%s:%" PRIu64 ": %s",
		     l->name, l->line, l->path) < 0)
		return bad_line(l, "the path is too long");
	if (stat(l->path, &st) != 0)
		scan_skip(l->w, errno == ENOENT ? &s->missing : &s->unreadable,
			  strerror(errno));
	else if (S_ISDIR(st.st_mode))
		scan_skip(l->w, &s->folders,
			  "a folder, where a file has to be");
	else if (!S_ISREG(st.st_mode))
		scan_skip(l->w, &s->special, "a socket, pipe or device");
	else
		places_add_file(p, l->path);
	return 0;
}

static int read_lines(struct list *l, struct places *p)
{
	int r;

	while ((r = next_line(l)) > 0) {
		if (signals_taken())
			return mlgen_fail(l->w->err, -EINTR, "%s: interrupted",
					  l->name);
		r = *l->text ? add_line(l, p) : 0;
		if (r)
			return r;
	}
	return r;
}

int scan_list_read(struct walk *w, struct places *p)
{
	const struct scan_request *req = w->req;
	bool is_stdin = strcmp(req->file_list, "-") == 0;
	struct list *l = mem_zalloc(sizeof(*l));
	int r;

	*p = (struct places){ 0 };
	l->w = w;
	l->name = req->file_list;
	l->fd = is_stdin ? STDIN_FILENO : -1;
	l->folder = req->directory ? mem_strdup(req->directory) : NULL;
	r = is_stdin ? open_stdin(l) : open_list(l);
	if (r == 0)
		r = read_lines(l, p);
	if (r == 0)
		r = scan_judge_list(w, l->name);
	if (r == 0 && p->count == 0)
		r = mlgen_fail(w->err, -ENOENT,
			       "file_list: %s names no file that is there",
			       l->name);
	if (r == 0)
		r = places_settle(p, w->err);
	if (!is_stdin && l->fd >= 0)
		close(l->fd);
	mem_free(l->folder);
	mem_free(l);
	return r;
}
