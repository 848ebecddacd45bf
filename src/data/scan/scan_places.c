/* SPDX-License-Identifier: Apache-2.0 */
/* scan_places.c - the folders and files that directory= names, for a scan. */
#include "data/scan/scan.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/scan/scan_internal.h"

/* ---- one place ---- */

static void push_place(struct scan_places *p, char *path, bool is_folder)
{
	vec_push(p, (struct scan_place){ .path = path, .is_folder = is_folder });
}

/* Without the slashes behind it. */
static char *without_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_strndup(path, n);
}

static int add_place(struct scan_places *p, const char *path, struct mlgen_err *err)
{
	struct stat st;

	if (strlen(path) >= PATH_MAX)
		return mlgen_fail(err, -ENAMETOOLONG, "directory: %.60s... is too long", path);
	if (stat(path, &st) != 0)
		return mlgen_fail(err, -errno,
				  "%s: %s; dataset=scan reads the files of a directory that exists",
				  path, strerror(errno));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return mlgen_fail(err, -EINVAL,
				  "%s: a socket, pipe or device; dataset=scan reads files and "
				  "those of a directory",
				  path);
	push_place(p, without_slashes(path), S_ISDIR(st.st_mode));
	return 0;
}

/* ---- how they are written ---- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int add_matches(struct scan_places *p, const char *pattern, struct mlgen_err *err)
{
	glob_t g = { 0 };
	int r = glob(pattern, 0, NULL, &g), rc = 0;

	if (r == GLOB_NOMATCH)
		rc = mlgen_fail(err, -ENOENT, "directory: nothing is there that matches %s",
				pattern);
	else if (r)
		rc = mlgen_fail(err, r == GLOB_NOSPACE ? -ENOMEM : -EIO,
				"directory: %s: it cannot be seen what matches this", pattern);
	for (size_t i = 0; r == 0 && i < g.gl_pathc && rc == 0; i++)
		rc = add_place(p, g.gl_pathv[i], err);
	globfree(&g);
	return rc;
}

static int add_name(struct scan_places *p, const char *name, struct mlgen_err *err)
{
	return strpbrk(name, "*?[") && !is_there(name) ? add_matches(p, name, err)
						       : add_place(p, name, err);
}

static size_t count_missing(const struct namelist *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += !strpbrk(l->at[i], "*?[") && !is_there(l->at[i]);
	return n;
}

static int add_names(struct scan_places *p, const char *entry, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	struct namelist names = { 0 };
	size_t missing;
	int r = braces_expand(&names, entry, err);

	for (size_t i = 0; i < names.count && r == 0; i++)
		r = add_name(p, names.at[i], &why);
	missing = r == -ENOENT && names.count > 1 ? count_missing(&names) : 0;
	if (why.code && missing > 1)
		mlgen_fail(err, r, "%s (so it is with %zu of the %zu of %s)", why.text, missing,
			   names.count, entry);
	else if (why.code)
		mlgen_fail(err, r, "%s", why.text);
	namelist_fini(&names);
	return r;
}

/* The next of a list with ':'; "" behind the last. */
static char *next_entry(const char **at)
{
	const char *from = *at + strspn(*at, ":");
	char *entry = mem_zalloc(strlen(from) + 1);
	size_t n = 0;

	for (; *from && *from != ':'; from++) {
		if (from[0] == '\\' && from[1] == ':')
			from++;
		entry[n++] = *from;
	}
	*at = from;
	return entry;
}

static int add_entries(struct scan_places *p, const char *directory, struct mlgen_err *err)
{
	const char *at = directory;
	int r = 0;

	while (r == 0) {
		char *entry = next_entry(&at);
		bool is_end = !*entry;

		if (!is_end)
			r = is_there(entry) ? add_place(p, entry, err) : add_names(p, entry, err);
		mem_free(entry);
		if (is_end)
			break;
	}
	if (r == 0 && p->count == 0)
		r = mlgen_fail(err, -EINVAL, "directory: '%s' names nothing", directory);
	return r;
}

/* ---- their base ---- */

static bool is_relative(const struct scan_places *p, bool relative)
{
	for (size_t i = 0; i < p->count; i++)
		if ((p->at[i].path[0] != '/') != relative)
			return false;
	return true;
}

/* In place: no "//", no "/." and no "./" in front. */
static void tidy(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		bool begins = from == path || from[-1] == '/';

		if (begins && (from[0] == '/' ? from > path : from[0] == '.' && from[1] == '/'))
			from += from[0] == '/' ? 1 : 2;
		else
			*to++ = *from++;
	}
	*to = '\0';
	while (to - path > 1 && to[-1] == '.' && to[-2] == '/')
		*(to -= to - path > 2 ? 2 : 1) = '\0';
}

/* One way of writing for all of several. */
static int settle_paths(struct scan_places *p, struct mlgen_err *err)
{
	bool mixed = !is_relative(p, true) && !is_relative(p, false);
	char cwd[PATH_MAX];

	if (mixed && !getcwd(cwd, sizeof(cwd)))
		return mlgen_fail(err, -errno, "directory: getcwd: %s", strerror(errno));
	for (size_t i = 0; i < p->count; i++) {
		char *path = p->at[i].path;

		if (mixed && *path != '/') {
			size_t n = strlen(cwd) + strlen(path) + 2;

			p->at[i].path = mem_zalloc(n);
			snprintf(p->at[i].path, n, "%s/%s", cwd, path);
			mem_free(path);
		}
		tidy(p->at[i].path);
	}
	return 0;
}

/* Bytes of the folder that holds both, of which one is `a`'s first n. */
static size_t common(const char *a, size_t n, const char *b)
{
	size_t same = 0;

	while (same < n && a[same] == b[same])
		same++;
	if (same == n && (b[n] == '/' || b[n] == '\0' || (n == 1 && *a == '/')))
		return n;
	if (b[same] == '\0' && a[same] == '/')
		return same;
	while (same > 0 && a[same - 1] != '/')
		same--;
	return same > 1 ? same - 1 : same;
}

/* Of a file the folder that it is in. */
static size_t folder_length(const struct scan_place *at)
{
	const char *slash = strrchr(at->path, '/');

	if (at->is_folder)
		return strcmp(at->path, ".") == 0 ? 0 : strlen(at->path);
	if (!slash)
		return 0;
	return slash == at->path ? 1 : (size_t)(slash - at->path);
}

static void place_name(struct scan_place *at, const char *base)
{
	size_t n = strlen(base);

	if (strcmp(at->path, base) == 0)
		at->name = at->path + n;
	else if (strcmp(base, ".") == 0 && strncmp(at->path, "./", 2) != 0)
		at->name = at->path;
	else
		at->name = at->path + n + (base[n - 1] != '/');
}

int places_settle(struct scan_places *p, struct mlgen_err *err)
{
	const char *first;
	size_t n;
	int r = p->count > 1 ? settle_paths(p, err) : 0;

	if (r)
		return r;
	first = p->at[0].path;
	n = folder_length(&p->at[0]);
	for (size_t i = 1; i < p->count; i++) {
		size_t length = folder_length(&p->at[i]);

		n = common(first, n, p->at[i].path);
		if (n > length)
			n = length;
	}
	p->base = n ? mem_strndup(first, n) : mem_strdup(".");
	for (size_t i = 0; i < p->count; i++)
		place_name(&p->at[i], p->base);
	return 0;
}

/* ---- train/ and valid/ ---- */

static bool is_folder(const char *path, const char *name)
{
	char full[PATH_MAX];
	struct stat st;
	int n = snprintf(full, sizeof(full), "%s/%s", path, name);

	return n > 0 && (size_t)n < sizeof(full) && stat(full, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_beside_train(const char *name)
{
	static const char *const known[] = {
		"train", "valid", "val",    "validation", "eval",       "dev",
		"test",  "index", "labels", "metadata",   "lost+found",
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return *name == '.';
}

static bool has_other_folder(const char *path)
{
	DIR *dir = opendir(path);
	bool other = !dir;
	struct dirent *d;

	while (dir && !other && (d = readdir(dir)))
		other = d->d_type != DT_REG && !is_beside_train(d->d_name) &&
			is_folder(path, d->d_name);
	if (dir)
		closedir(dir);
	return other;
}

static bool is_laid_out(const struct scan_place *at, bool is_known)
{
	return at->is_folder && is_folder(at->path, "train") &&
	       (is_known || is_folder(at->path, "valid") || !has_other_folder(at->path));
}

static void take_folder(struct scan_places *p, struct scan_place *at, const char *name)
{
	size_t n = strlen(at->path) + strlen(name) + 2;
	char *path = mem_zalloc(n);

	snprintf(path, n, "%s%s%s", strcmp(at->path, "/") == 0 ? "" : at->path, "/", name);
	mem_free(at->path);
	at->path = path;
	place_name(at, p->base);
}

int places_find(struct scan_places *p, const char *directory, struct mlgen_err *err)
{
	int r;

	*p = (struct scan_places){ 0 };
	/* Of a name with colons or braces in it, too. */
	r = is_there(directory) ? add_place(p, directory, err) : add_entries(p, directory, err);
	if (r == 0)
		r = places_settle(p, err);
	if (r)
		places_fini(p);
	return r;
}

void places_add_file(struct scan_places *p, const char *path)
{
	push_place(p, mem_strdup(path), false);
}

void places_fini(struct scan_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		mem_free(p->at[i].path);
	mem_free(p->at);
	mem_free(p->base);
	*p = (struct scan_places){ 0 };
}

void places_take_training(struct scan_places *p, bool is_known)
{
	for (size_t i = 0; i < p->count; i++)
		if (is_laid_out(&p->at[i], is_known))
			take_folder(p, &p->at[i], "train");
}

int places_take_evaluation(struct scan_places *p, bool is_known, struct mlgen_err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct scan_place *at = &p->at[i];

		if (!is_laid_out(at, is_known) || !is_folder(at->path, "valid")) {
			mem_free(at->path);
			continue;
		}
		take_folder(p, at, "valid");
		p->at[kept++] = *at;
	}
	p->count = kept;
	return kept ? 0
		    : mlgen_fail(
			      err, -EINVAL,
			      "eval_files: %s has no folders train and valid, of which "
			      "dataset=scan reads one to train and one to evaluate; eval_files=0",
			      p->base);
}
