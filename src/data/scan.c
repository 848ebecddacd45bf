/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - list a directory once: names to an unnamed file (namefile.h), 16 bytes a file here. */
#include "data/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/units.h"
#include "data/manifest.h"
#include "data/namefile.h"

/* So many of what is skipped are named; the others are counted. */
#define TOLD_MAX 5

/* A path has fewer bytes than PATH_MAX, 4096. */
#define LENGTH_BITS 12
#define LENGTH_MASK ((UINT64_C(1) << LENGTH_BITS) - 1)

/* Of a folder that is still to be listed. */
#define IS_FOLDER UINT64_MAX

/* No filesystem holds more, and sums of sizes stay within 64 bits. */
#define MOST_BYTES (UINT64_C(1) << 62)

struct entry {
	uint64_t name; /* where in the file of names, and its length */
	uint64_t size_bytes;
};

struct scan {
	struct entry *entries;
	uint64_t count, room;
	uint64_t bytes;
	struct namefile names;
	struct scan_skipped skipped;
};

/* The way down to the folder that is looked at, to find circles. */
struct folder {
	const struct folder *above;
	dev_t dev;
	ino_t ino;
};

struct walk {
	struct scan *scan;
	struct mlgen_err *err;
	enum job_scan_errors errors;
	char path[PATH_MAX]; /* of the folder, with a slash behind it */
	size_t length;       /* of path */
	size_t top_length;   /* of the directory in it */
	unsigned told;
};

/* The entries */

static uint64_t name_at(const struct entry *e)
{
	return e->name >> LENGTH_BITS;
}

static size_t name_length(const struct entry *e)
{
	return (size_t)(e->name & LENGTH_MASK);
}

static int read_name(const struct scan *s, const struct entry *e, char *out,
		     size_t size)
{
	return namefile_read(&s->names, name_at(e), name_length(e), out, size);
}

static void push(struct scan *s, struct entry e)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->entries =
			mem_realloc(s->entries, s->room * sizeof(*s->entries));
	}
	s->entries[s->count++] = e;
}

/* w->path has the name behind it. A folder's ends in a slash, so that the
 * order of names in a folder is that of the paths of all files. */
static int scan_add(struct walk *w, size_t name, uint64_t size_bytes)
{
	size_t n = w->length + name - w->top_length;
	struct namefile *names = &w->scan->names;
	struct entry e = { names->end << LENGTH_BITS, size_bytes };
	const char *path = w->path + w->top_length;
	int r = namefile_add(names, path, n, w->err);

	if (r == 0 && size_bytes == IS_FOLDER)
		r = namefile_add(names, "/", 1, w->err);
	if (r)
		return r;
	e.name += n + (size_bytes == IS_FOLDER);
	push(w->scan, e);
	return 0;
}

/* What is left out */

static void skip(struct walk *w, uint64_t *counter, const char *why)
{
	++*counter;
	if (w->told++ >= TOLD_MAX)
		return;
	log_note("%s: %s%s", w->path, why,
		 w->errors == SCAN_SKIP ? "; left out" : "");
}

static void put_some(struct buf *to, uint64_t n, const char *one,
		     const char *many)
{
	char text[UNITS_TEXT_BYTES];

	if (n)
		buf_addf(to, "%s%s %s", to->len ? ", " : "",
			 units_human_count(text, n), n == 1 ? one : many);
}

static void put_skipped(struct buf *to, const struct scan_skipped *s)
{
	put_some(to, s->special, "socket, pipe or device",
		 "sockets, pipes or devices");
	put_some(to, s->links, "link that leads nowhere or in a circle",
		 "links that lead nowhere or in a circle");
	put_some(to, s->unreadable, "that cannot be read",
		 "that cannot be read");
	put_some(to, s->too_long, "path that is too long",
		 "paths that are too long");
}

static int judge_skipped(const struct walk *w, const char *directory)
{
	const struct scan_skipped *s = &w->scan->skipped;
	struct buf text = { 0 };
	int r = 0;

	put_skipped(&text, s);
	if (text.len && w->errors == SCAN_REFUSE)
		r = mlgen_fail(w->err, s->unreadable ? -EACCES : -EINVAL,
			       "%s: dataset=scan found %s; "
			       "--scan_errors=skip goes without",
			       directory, buf_str(&text));
	put_some(&text, s->empty, "empty file", "empty files");
	if (r == 0 && text.len)
		log_note("%s: left out: %s", directory, buf_str(&text));
	buf_fini(&text);
	return r;
}

/* One folder */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Itself and its parent, and what mlgen writes beside a dataset's files. */
static bool is_of_no_interest(const char *name)
{
	size_t n = strlen(name);

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	       strcmp(name, MANIFEST_NAME) == 0 ||
	       begins(name, ".mlgen-dataset.") ||
	       (*name == '.' && n > 6 && strcmp(name + n - 5, ".part") == 0);
}

static void skip_failed(struct walk *w, int fd, const char *name, int code)
{
	struct scan_skipped *s = &w->scan->skipped;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    errno == ENOENT) /* it has gone in the meantime */
		return;
	if (code == ELOOP)
		skip(w, &s->links, "a link in a circle");
	else if (code == ENOENT)
		skip(w, &s->links, "a link that leads nowhere");
	else
		skip(w, &s->unreadable, strerror(code));
}

static bool is_readable(int fd, const char *name, const struct stat *st)
{
	return (st->st_mode & 0444) == 0444 ||
	       faccessat(fd, name, R_OK, AT_EACCESS) == 0;
}

static int scan_look(struct walk *w, int fd, const char *name)
{
	struct scan_skipped *s = &w->scan->skipped;
	size_t n = strlen(name);
	struct stat st;

	if (w->length + n + 1 >= sizeof(w->path)) {
		skip(w, &s->too_long, "its names are too long for a path");
		return 0;
	}
	memcpy(w->path + w->length, name, n + 1);
	if (fstatat(fd, name, &st, 0) != 0)
		skip_failed(w, fd, name, errno);
	else if (S_ISDIR(st.st_mode))
		return scan_add(w, n, IS_FOLDER);
	else if (!S_ISREG(st.st_mode))
		skip(w, &s->special, "a socket, pipe or device");
	else if (st.st_size == 0)
		s->empty++;
	else if (!is_readable(fd, name, &st))
		skip(w, &s->unreadable, strerror(errno));
	else
		return scan_add(w, n, (uint64_t)st.st_size);
	return 0;
}

static int list(struct walk *w, DIR *dir)
{
	struct dirent *d;
	int r = 0;

	while (r == 0 && (errno = 0, d = readdir(dir))) {
		if (signals_taken())
			r = mlgen_fail(w->err, -EINTR, "%.*s: interrupted",
				       (int)w->top_length - 1, w->path);
		else if (!is_of_no_interest(d->d_name))
			r = scan_look(w, dirfd(dir), d->d_name);
		w->path[w->length] = '\0';
	}
	if (r == 0 && errno)
		skip(w, &w->scan->skipped.unreadable, strerror(errno));
	return r;
}

static bool is_circle(const struct folder *f)
{
	for (const struct folder *a = f->above; a; a = a->above)
		if (a->dev == f->dev && a->ino == f->ino)
			return true;
	return false;
}

/* Lists it into the entries from where they end; *f is what it is. */
static int list_folder(struct walk *w, struct folder *f)
{
	struct scan_skipped *s = &w->scan->skipped;
	DIR *dir = opendir(w->path);
	struct stat st;
	int r = 0;

	if (!dir || fstat(dirfd(dir), &st) != 0) {
		r = errno;
		if (!f->above)
			r = mlgen_fail(w->err, -r,
				       "%.*s: %s; dataset=scan "
				       "reads the files of a directory that "
				       "exists",
				       (int)w->length - 1, w->path,
				       strerror(r));
		else if (r != ENOENT) /* it has gone in the meantime */
			skip(w, &s->unreadable, strerror(r));
		if (dir)
			closedir(dir);
		return r < 0 ? r : 0;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (is_circle(f))
		skip(w, &s->links, "a link back to a folder above it");
	else
		r = list(w, dir);
	closedir(dir);
	return r;
}

/* The order */

static int scan_by_name(const void *a, const void *b, void *names)
{
	const struct entry *x = a, *y = b;
	size_t n = name_length(x), m = name_length(y);
	const char *base = names;
	int r = memcmp(base + name_at(x), base + name_at(y), n < m ? n : m);

	return r ? r : (n > m) - (n < m);
}

/* Those from `first` on, in place. Their names are together, and mapped for
 * the time: the page cache holds them, or gets them again. */
static int sort(struct walk *w, uint64_t first)
{
	struct scan *s = w->scan;
	struct namefile_map map;
	uint64_t start;
	int r = namefile_flush(&s->names, w->err);

	if (r || s->count - first < 2)
		return r;
	r = namefile_map(&s->names, name_at(&s->entries[first]), &map, w->err);
	if (r)
		return r;
	start = map.start;
	for (uint64_t i = first; i < s->count; i++)
		s->entries[i].name -= start << LENGTH_BITS;
	qsort_r(&s->entries[first], (size_t)(s->count - first),
		sizeof(*s->entries), scan_by_name, map.bytes);
	for (uint64_t i = first; i < s->count; i++)
		s->entries[i].name += start << LENGTH_BITS;
	namefile_unmap(&map);
	return 0;
}

/* All folders */

static uint64_t first_folder(const struct scan *s, uint64_t from)
{
	while (from < s->count && s->entries[from].size_bytes != IS_FOLDER)
		from++;
	return from;
}

static int walk(struct walk *w, const struct folder *above);

static int descend(struct walk *w, const struct folder *f, struct entry e)
{
	size_t length = w->length;
	int r = read_name(w->scan, &e, w->path + w->top_length,
			  sizeof(w->path) - w->top_length);

	if (r < 0)
		return namefile_failed(&w->scan->names, r, w->err);
	w->length = w->top_length + (size_t)r;
	r = walk(w, f);
	w->length = length;
	w->path[length] = '\0';
	return r;
}

/* The files of a folder lie where they belong already, up to its first folder;
 * what comes behind makes room for what is in that. */
static int walk(struct walk *w, const struct folder *above)
{
	struct scan *s = w->scan;
	struct folder f = { .above = above };
	uint64_t first = s->count, n;
	struct entry *rest;
	int r = list_folder(w, &f);

	if (r == 0)
		r = sort(w, first);
	if (r)
		return r;
	first = first_folder(s, first);
	n = s->count - first;
	if (n == 0)
		return 0;
	rest = mem_array((size_t)n, sizeof(*rest));
	memcpy(rest, &s->entries[first], (size_t)n * sizeof(*rest));
	s->count = first;
	for (uint64_t i = 0; i < n && r == 0; i++)
		if (rest[i].size_bytes == IS_FOLDER)
			r = descend(w, &f, rest[i]);
		else
			push(s, rest[i]);
	mem_free(rest);
	return r;
}

static int set_top(struct walk *w, const char *directory)
{
	int n = snprintf(w->path, sizeof(w->path), "%s/", directory);

	if (n < 0 || (size_t)n >= sizeof(w->path))
		return mlgen_fail(w->err, -ENAMETOOLONG,
				  "directory: %.60s... is too long", directory);
	w->length = w->top_length = (size_t)n;
	return 0;
}

static int sum_up(struct scan *s, const char *directory, struct mlgen_err *err)
{
	if (s->count == 0)
		return mlgen_fail(err, -ENOENT,
				  "%s: holds no file that could be read; "
				  "another directory, or dataset=made to have "
				  "files written",
				  directory);
	for (uint64_t i = 0; i < s->count; i++) {
		uint64_t bytes = s->entries[i].size_bytes;

		if (bytes >= MOST_BYTES - s->bytes)
			return mlgen_fail(err, -EFBIG,
					  "%s: its files are larger together "
					  "than offsets can count",
					  directory);
		s->bytes += bytes;
	}
	s->entries = mem_realloc(s->entries, s->count * sizeof(*s->entries));
	return 0;
}

static int scan_look_at_all(struct scan *s, const char *directory,
			    enum job_scan_errors errors, struct mlgen_err *err)
{
	struct walk *w = mem_zalloc(sizeof(*w));
	int r;

	w->scan = s;
	w->err = err;
	w->errors = errors;
	r = set_top(w, directory);
	if (r == 0)
		r = walk(w, NULL);
	if (r == 0)
		r = judge_skipped(w, directory);
	mem_free(w);
	return r ? r : sum_up(s, directory, err);
}

int scan_new(struct scan **out, const char *directory,
	     enum job_scan_errors errors, struct mlgen_err *err)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	int r = namefile_open(&s->names, directory, err);

	if (r == 0)
		r = scan_look_at_all(s, directory, errors, err);
	namefile_end(&s->names);
	if (r) {
		scan_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	namefile_close(&s->names);
	mem_free(s->entries);
	mem_free(s);
}

uint64_t scan_files(const struct scan *s)
{
	return s->count;
}

uint64_t scan_bytes(const struct scan *s)
{
	return s->bytes;
}

uint64_t scan_size(const struct scan *s, uint64_t file)
{
	return s->entries[file].size_bytes;
}

int scan_name(const struct scan *s, uint64_t file, char *out, size_t size)
{
	return read_name(s, &s->entries[file], out, size);
}

void scan_keep(struct scan *s, bool (*keep)(const void *arg, uint64_t file),
	       const void *arg)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < s->count; i++)
		if (keep(arg, i))
			s->entries[kept++] = s->entries[i];
		else
			s->bytes -= s->entries[i].size_bytes;
	s->count = kept;
}

void scan_skipped(const struct scan *s, struct scan_skipped *out)
{
	*out = s->skipped;
}
