/* SPDX-License-Identifier: Apache-2.0 */
/* scan_walk.c - the walk of a scan: each folder is listed once, its files in order. */
#include "data/scan/scan_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

/* ---- targets of links ---- */

/* Size of an entry that is removed. */
#define GONE UINT64_MAX

COMPARE_BY(by_name, struct scan_link, name_at)

COMPARE_BY3(by_file, struct scan_link, dev, ino, rank)

void links_fini(struct scan_links *l)
{
	vec_fini(&l->files);
	map_text_fini(&l->folders);
}

/* Record that a link leads to this folder. False if an earlier link did. */
static bool links_enter(struct scan_links *l, const struct stat *st)
{
	const uint64_t folder[] = { st->st_dev, st->st_ino };
	bool is_new;

	map_text_number(&l->folders, folder, sizeof(folder), &is_new);
	return is_new;
}

uint64_t links_keep_single(struct scan_links *l, struct scan *s)
{
	const struct scan_link *x = l->files.at;
	uint64_t left = 0, before = s->count;

	if (l->files.count < 2)
		return 0;

	/* Set the rank of each linked file, and sort the files by target and rank. */
	qsort(l->files.at, l->files.count, sizeof(*l->files.at), by_name);
	for (uint64_t i = 0; i < s->count; i++) {
		struct scan_link key = { .name_at = entry_name_at(&s->entries[i]) };
		struct scan_link *found;

		if (!(s->entries[i].name & THROUGH_LINK))
			continue;
		found = bsearch(&key, l->files.at, l->files.count, sizeof(*l->files.at), by_name);
		if (found)
			found->rank = i;
	}
	qsort(l->files.at, l->files.count, sizeof(*l->files.at), by_file);

	for (uint64_t i = 1; i < l->files.count; i++)
		if (x[i - 1].dev == x[i].dev && x[i - 1].ino == x[i].ino && x[i].rank < before)
			s->entries[x[i].rank].size_bytes = GONE;
	for (uint64_t i = 0; i < before; i++)
		if (s->entries[i].size_bytes != GONE)
			s->entries[left++] = s->entries[i];
	s->count = left;
	return before - left;
}

/* ---- entries ---- */

/* Add an entry; w->path is the folder, followed by the name. A folder's name ends in a slash, so
 * that sorting the names in a folder sorts the paths of all files. */
static int scan_add(struct scan_walk *w, size_t name, const struct stat *st, bool is_linked)
{
	size_t n = w->length + name - w->top_length;
	struct namefile *names = &w->scan->names;
	bool is_folder = S_ISDIR(st->st_mode);
	uint64_t ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	int64_t mtime_ns = (int64_t)ns;
	uint64_t at = names->end + sizeof(mtime_ns);
	struct scan_entry e = { .name = at << LENGTH_BITS | (is_linked ? THROUGH_LINK : 0),
				.size_bytes = is_folder ? IS_FOLDER : (uint64_t)st->st_size };
	const char *path = w->path + w->top_length;
	int r = namefile_add(names, (const char *)&mtime_ns, sizeof(mtime_ns), w->err);

	if (r == 0)
		r = namefile_add(names, path, n, w->err);
	if (r == 0 && is_folder)
		r = namefile_add(names, "/", 1, w->err);
	if (r)
		return r;
	if (is_linked && !is_folder)
		vec_push(&w->links.files, (struct scan_link){ .dev = st->st_dev,
							      .ino = st->st_ino,
							      .name_at = entry_name_at(&e),
							      .rank = UINT64_MAX });
	e.name += n + is_folder;
	scan_push(w->scan, e);
	if (!is_folder)
		scan_marks_add(&w->scan->marks, e.name, st);
	return 0;
}

/* ---- one folder ---- */

/* Does the name stand for the folder itself, its parent, or a file that mlgen writes? */
static bool is_ignored(const char *name)
{
	static const char temporary[] = ".mlgen-dataset.";
	size_t n = strlen(name);

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	       strcmp(name, MANIFEST_NAME) == 0 ||
	       strncmp(name, temporary, strlen(temporary)) == 0 ||
	       (*name == '.' && n > 6 && strcmp(name + n - 5, ".part") == 0);
}

static void skip_failed(struct scan_walk *w, int fd, const char *name, int code)
{
	struct scan_skipped *s = &w->scan->skipped;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    errno == ENOENT) /* removed during the scan */
		return;
	if (code == ELOOP)
		scan_skip(w, &s->links, "a circular link");
	else if (code == ENOENT)
		scan_skip(w, &s->links, "a broken link");
	else
		scan_skip(w, &s->unreadable, strerror(code));
}

/* Is it the file that the request ignores? Compare it by inode, as the path may be replaced during
 * the scan. */
static bool is_excepted(const struct scan_walk *w, const char *name, const struct stat *st)
{
	const char *path = w->req->except, *slash;
	struct stat except;

	if (!path)
		return false;
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	return strcmp(name, path) == 0 && stat(w->req->except, &except) == 0 &&
	       except.st_dev == st->st_dev && except.st_ino == st->st_ino;
}

/* Add a file or folder, or skip it. With `in` NULL it must be a file. */
static int scan_look(struct scan_walk *w, const struct scan_folder *in, int fd, const char *name,
		     bool is_linked)
{
	bool is_too_deep = in && w->req->depth && in->depth >= w->req->depth;
	struct scan_skipped *s = &w->scan->skipped;
	size_t n = strlen(name);
	struct stat st;

	if (w->length + n + 1 >= sizeof(w->path)) {
		scan_skip(w, &s->too_long, "the path of a file in it would be too long");
		return 0;
	}
	memcpy(w->path + w->length, name, n + 1);
	if (fstatat(fd, name, &st, 0) != 0)
		skip_failed(w, fd, name, errno);
	else if (in && S_ISDIR(st.st_mode) && is_too_deep)
		s->deeper++;
	else if (in && S_ISDIR(st.st_mode))
		return scan_add(w, n, &st, is_linked);
	else if (!S_ISREG(st.st_mode)) /* includes a folder in place of a file */
		scan_skip(w, &s->special, "a socket, pipe or device");
	else if (is_excepted(w, name, &st))
		return 0;
	else if (st.st_size == 0)
		s->empty++;
	else if ((st.st_mode & 0444) != 0444 && faccessat(fd, name, R_OK, AT_EACCESS) != 0)
		scan_skip(w, &s->unreadable, strerror(errno));
	else
		return scan_add(w, n, &st, is_linked);
	return 0;
}

static bool is_link(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_LNK;
	return fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

static bool is_circle(const struct scan_folder *f)
{
	for (const struct scan_folder *a = f->above; a; a = a->above)
		if (a->dev == f->dev && a->ino == f->ino)
			return true;
	return false;
}

/* Append the entries of the folder w->path; f->dev and f->ino are set here. */
static int list_folder(struct scan_walk *w, struct scan_folder *f)
{
	struct scan_skipped *s = &w->scan->skipped;
	DIR *dir = opendir(w->path);
	struct stat st;
	int r = 0;

	if (!dir || fstat(dirfd(dir), &st) != 0) {
		int code = errno;

		if (!f->above)
			r = mlgen_fail(w->err, -code,
				       "%.*s: %s; dataset=scan reads the files of a directory that "
				       "exists",
				       (int)w->length - 1, w->path, strerror(code));
		else if (code != ENOENT) /* ENOENT: removed during the scan */
			scan_skip(w, &s->unreadable, strerror(code));
		if (dir)
			closedir(dir);
		return r;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (is_circle(f))
		scan_skip(w, &s->links, "a link back to a folder above it");
	else if (f->is_linked && !links_enter(&w->links, &st))
		s->again++;
	else {
		struct dirent *d;

		while (r == 0 && (errno = 0, d = readdir(dir))) {
			if (signals_received())
				r = mlgen_fail(w->err, -EINTR, "%s: interrupted", w->scan->base);
			else if (!is_ignored(d->d_name))
				r = scan_look(w, f, dirfd(dir), d->d_name,
					      f->is_linked || is_link(dirfd(dir), d));
			w->path[w->length] = '\0';
		}
		if (r == 0 && errno)
			scan_skip(w, &w->scan->skipped.unreadable, strerror(errno));
	}
	closedir(dir);
	return r;
}

/* ---- all folders ---- */

static int walk(struct scan_walk *w, struct scan_folder *f);

/* Walk through the folder of an entry below `f`. */
static int descend(struct scan_walk *w, const struct scan_folder *f, struct scan_entry e)
{
	struct scan_folder below = { .above = f,
				     .depth = f->depth + 1,
				     .is_linked = e.name & THROUGH_LINK };
	size_t length = w->length;
	int r = scan_entry_name(w->scan, &e, w->path + w->top_length,
				sizeof(w->path) - w->top_length);

	if (r < 0)
		return namefile_failed(&w->scan->names, r, w->err);
	w->length = w->top_length + (size_t)r;
	r = walk(w, &below);
	w->length = length;
	w->path[length] = '\0';
	return r;
}

/* Files up to the folder's first subfolder are at their final positions. The entries from there on
 * are set aside and added again in order, each subfolder followed by its content. */
static int walk(struct scan_walk *w, struct scan_folder *f)
{
	struct scan *s = w->scan;
	uint64_t first = s->count, n;
	int r = list_folder(w, f);

	if (r == 0)
		r = scan_sort(s, first, w->err);
	if (r)
		return r;
	while (first < s->count && s->entries[first].size_bytes != IS_FOLDER)
		first++;
	n = s->count - first;
	if (n == 0)
		return 0;
	struct scan_entry *rest = mem_array((size_t)n, sizeof(*rest));
	memcpy(rest, &s->entries[first], (size_t)n * sizeof(*rest));
	s->count = first;
	for (uint64_t i = 0; i < n && r == 0; i++)
		if (rest[i].size_bytes == IS_FOLDER)
			r = descend(w, f, rest[i]);
		else
			scan_push(s, rest[i]);
	mem_free(rest);
	return r;
}

static int too_long(struct scan_walk *w, const char *path)
{
	return mlgen_fail(w->err, -ENAMETOOLONG, "directory: %.60s... is too long", path);
}

int scan_walk_begin(struct scan_walk *w)
{
	const char *base = w->scan->base;
	int n = snprintf(w->path, sizeof(w->path), "%s%s", base, strcmp(base, "/") == 0 ? "" : "/");

	if (n < 0 || (size_t)n >= sizeof(w->path))
		return too_long(w, base);
	w->length = w->top_length = (size_t)n;
	return 0;
}

int scan_walk_folder(struct scan_walk *w, const char *name)
{
	struct scan_folder f = { .depth = 1 };
	size_t room = sizeof(w->path) - w->top_length;
	int n = snprintf(w->path + w->top_length, room, "%s%s", name, *name ? "/" : "");

	if (n < 0 || (size_t)n >= room)
		return too_long(w, name);
	w->length = w->top_length + (size_t)n;
	int r = walk(w, &f);
	w->length = w->top_length;
	w->path[w->length] = '\0';
	return r;
}

int scan_walk_file(struct scan_walk *w, const char *name)
{
	int fd = open(w->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return mlgen_fail(w->err, -errno, "%s: %s", w->path, strerror(errno));
	int r = scan_look(w, NULL, fd, name, false);
	close(fd);
	w->path[w->length] = '\0';
	return r;
}
