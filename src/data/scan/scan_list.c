/* SPDX-License-Identifier: Apache-2.0 */
/* scan_list.c - read the files, and samples within files, that a list names. */
#include "data/scan/scan_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"

/* Limit for a line: a path and two numbers. */
#define LINE_BYTES (PATH_MAX + 128)

struct list_reader {
	struct scan_walk *w;
	const char *name; /* used in messages */
	char *folder;     /* parent of relative paths; owned, NULL = current directory */
	int fd;
	off_t off; /* offset of the next read */
	uint64_t line;
	size_t at, end; /* unread part of the buffer */
	char buffer[65536];
	char text[LINE_BYTES]; /* current line; only its path once columns are parsed */
	char path[PATH_MAX];
	uint64_t first_line; /* number of the first line with text; 0 = none yet */
	bool has_columns;
	/* Previous sample: the path as written, and its file. */
	bool has_last;
	char last[LINE_BYTES];
	struct listed_file file;
};

/* ---- standard input ---- */

static int copy_stdin(struct namefile *to, struct mlgen_err *err)
{
	char buffer[4096];

	for (;;) {
		ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR && !signals_received())
			continue;
		if (n < 0)
			return mlgen_fail(err, -errno, "file_list: stdin: %s", strerror(errno));
		if (n == 0)
			return namefile_flush(to, err);
		int r = namefile_add(to, buffer, (size_t)n, err);
		if (r)
			return r;
	}
}

static int open_stdin(struct list_reader *l)
{
	struct stat st;
	int r = fstat(STDIN_FILENO, &st) ? -errno : 0;

	l->name = "stdin";
	if (r)
		return mlgen_fail(l->w->err, r, "file_list: stdin: %s", strerror(-r));
	if (!S_ISREG(st.st_mode)) {
		/* A pipe can be read only once, so a copy of its content replaces it. */
		struct namefile copy;

		r = namefile_open(&copy, NULL, l->w->err);
		if (r == 0)
			r = copy_stdin(&copy, l->w->err);
		if (r == 0 && (lseek(copy.fd, 0, SEEK_SET) < 0 || dup2(copy.fd, STDIN_FILENO) < 0))
			r = mlgen_fail(l->w->err, -errno, "file_list: stdin: %s", strerror(errno));
		namefile_close(&copy);
	}
	/* Reads use pread(2), so the offset remains for the next reader. */
	l->off = r ? 0 : lseek(STDIN_FILENO, 0, SEEK_CUR);
	return r;
}

static int open_list(struct list_reader *l)
{
	struct stat st;

	l->fd = open(l->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (l->fd < 0 || fstat(l->fd, &st) != 0)
		return mlgen_fail(l->w->err, -errno, "file_list: %s: %s", l->name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(l->w->err, -EINVAL,
				  "file_list: %s: not a regular file, but a list is read more than "
				  "once; use file_list=- for standard input",
				  l->name);
	const char *slash = strrchr(l->name, '/');
	if (!l->folder && slash)
		l->folder = mem_strndup(l->name, slash == l->name ? 1 : (size_t)(slash - l->name));
	return 0;
}

/* ---- lines ---- */

/* Return the next byte, -1 at the end, or -errno - 1. */
static int next_byte(struct list_reader *l)
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

__attribute__((format(printf, 2, 3))) static int bad_line(struct list_reader *l, const char *fmt,
							  ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return mlgen_fail(l->w->err, -EINVAL, "%s:%" PRIu64 ": %s", l->name, l->line, text);
}

/* Read a line into l->text. Returns 1, 0 at the end, or -errno with err. */
static int next_line(struct list_reader *l)
{
	size_t n = 0;
	int c;

	l->line++;
	while ((c = next_byte(l)) >= 0 && c != '\n') {
		if (c == '\0')
			return bad_line(l, "a zero byte; a list is text with one path per line");
		if (n + 1 >= sizeof(l->text))
			return bad_line(l, "the line is longer than a path can be");
		l->text[n++] = (char)c;
	}
	if (c < -1)
		return mlgen_fail(l->w->err, c + 1, "file_list: %s: %s", l->name,
				  strerror(-(c + 1)));
	if (l->line == 1) {
		size_t bom = bom_bytes(l->text, n);

		n -= bom;
		memmove(l->text, l->text + bom, n);
	}
	if (n && l->text[n - 1] == '\r')
		n--;
	l->text[n] = '\0';
	return c >= 0 || n > 0;
}

/* ---- paths ---- */

/* Set l->path, the path that is opened. */
static int make_path(struct list_reader *l)
{
	bool is_below = l->folder && *l->text != '/';
	int n = snprintf(l->path, sizeof(l->path), "%s%s%s", is_below ? l->folder : "",
			 is_below ? "/" : "", l->text);

	return n < 0 || (size_t)n >= sizeof(l->path) ? bad_line(l, "the path is too long") : 0;
}

/* Add the file to the places. Returns 1 and its size, or 0 if it is left out. */
static int add_path(struct list_reader *l, struct scan_places *p, uint64_t *bytes)
{
	struct scan_skipped *s = &l->w->scan->skipped;
	struct stat st;

	/* scan_skip prints w->path. */
	if (snprintf(l->w->path, sizeof(l->w->path), "%s:%" PRIu64 ": %s", l->name, l->line,
		     l->path) < 0)
		return bad_line(l, "the path is too long");
	if (stat(l->path, &st) != 0)
		scan_skip(l->w, errno == ENOENT ? &s->missing : &s->unreadable, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		scan_skip(l->w, &s->folders, "a folder, but a file is needed");
	else if (!S_ISREG(st.st_mode))
		scan_skip(l->w, &s->special, "a socket, pipe or device");
	else {
		places_add_file(p, l->path);
		*bytes = (uint64_t)st.st_size;
		return 1;
	}
	return 0;
}

/* ---- samples ---- */

/* Set l->file to the file of l->text, which is added if it is new. Samples of a file are often
 * adjacent, so the previous path is compared first. */
static int select_file(struct list_reader *l, struct scan_places *p)
{
	struct listed *listed = l->w->scan->listed;
	uint64_t bytes = 0;

	if (l->has_last && strcmp(l->text, l->last) == 0)
		return 0;
	l->has_last = false;
	int r = make_path(l);
	if (r)
		return r;
	const struct listed_file *f = listed_find(listed, l->path);
	if (!f) {
		r = add_path(l, p, &bytes);
		if (r < 0)
			return r;
		listed_add_path(listed, l->path, r ? p->count - 1 : LISTED_NONE, bytes);
		f = listed_find(listed, l->path);
	}
	l->file = *f;
	memcpy(l->last, l->text, strlen(l->text) + 1);
	l->has_last = true;
	return 0;
}

static int parse_column(struct list_reader *l, const char *column, const char *text, uint64_t *out)
{
	struct mlgen_err why = { 0 };

	return units_size(text, 1024, out, &why) ? bad_line(l, "%s %s", column, why.text) : 0;
}

static int add_sample(struct list_reader *l, struct scan_places *p, char *columns)
{
	uint64_t off = 0, bytes = 0;
	char *tab = strchr(columns, '\t');

	if (!tab || strchr(tab + 1, '\t'))
		return bad_line(l,
				"%s column after the path, but two are needed: OFFSET and LENGTH, "
				"each after a TAB",
				tab ? "a third" : "one");
	*tab = '\0';
	int r = parse_column(l, "OFFSET", columns, &off);
	if (r == 0)
		r = parse_column(l, "LENGTH", tab + 1, &bytes);
	if (r)
		return r;
	if (bytes == 0)
		return bad_line(l, "LENGTH 0; a sample has at least one byte");

	if (!*l->text)
		return bad_line(l, "no path before the columns");
	r = select_file(l, p);
	if (r || l->file.place == LISTED_NONE)
		return r;
	if (off > l->file.bytes || bytes > l->file.bytes - off)
		return bad_line(l,
				"%s: %" PRIu64 " bytes at %" PRIu64
				" reach beyond the end of the file at %" PRIu64,
				l->text, bytes, off, l->file.bytes);
	return listed_add(l->w->scan->listed, l->file.place, off, bytes, l->w->err);
}

/* Check that either all lines have columns or none has, as the first line decides. */
static int check_columns(struct list_reader *l, bool has_columns)
{
	if (l->first_line == 0) {
		l->first_line = l->line;
		l->has_columns = has_columns;
		if (has_columns)
			return listed_new(&l->w->scan->listed, l->w->req->directory, l->w->err);
	}
	if (has_columns == l->has_columns)
		return 0;
	return has_columns ? bad_line(l,
				      "OFFSET and LENGTH after the path, but not in line %" PRIu64
				      "; either all lines need them or no line",
				      l->first_line)
			   : bad_line(l,
				      "no OFFSET and LENGTH after the path, but line %" PRIu64
				      " has them; for a whole file, write offset 0 and its size",
				      l->first_line);
}

static int add_line(struct list_reader *l, struct scan_places *p)
{
	char *tab = strchr(l->text, '\t');
	uint64_t bytes;
	int r = check_columns(l, tab != NULL);

	if (r)
		return r;
	if (tab) {
		*tab = '\0';
		return add_sample(l, p, tab + 1);
	}
	r = make_path(l);
	if (r == 0)
		r = add_path(l, p, &bytes);
	return r < 0 ? r : 0;
}

int scan_list_read(struct scan_walk *w, struct scan_places *p)
{
	const struct scan_request *req = w->req;
	bool is_stdin = strcmp(req->file_list, "-") == 0;
	struct list_reader *l = mem_zalloc(sizeof(*l));

	*p = (struct scan_places){ 0 };
	l->w = w;
	l->name = req->file_list;
	l->fd = is_stdin ? STDIN_FILENO : -1;
	l->folder = req->directory ? mem_strdup(req->directory) : NULL;
	int r = is_stdin ? open_stdin(l) : open_list(l);
	while (r == 0 && (r = next_line(l)) > 0) {
		if (signals_received())
			r = mlgen_fail(w->err, -EINTR, "%s: interrupted", l->name);
		else
			r = *l->text ? add_line(l, p) : 0;
	}
	if (r == 0)
		r = scan_judge_list(w, l->name);
	if (r == 0 && p->count == 0)
		r = mlgen_fail(w->err, -ENOENT, "file_list: %s names no existing file", l->name);
	if (r == 0)
		r = places_settle(p, w->err);
	if (!is_stdin && l->fd >= 0)
		close(l->fd);
	mem_free(l->folder);
	mem_free(l);
	return r;
}
