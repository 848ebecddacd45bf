/* SPDX-License-Identifier: Apache-2.0 */
/* clean.c - --clean: list files that mlgen's manifests own below a directory, or remove them. */
#include "ask/clean/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/state/state.h"

/* ---- folders ---- */

/* Nested folders, each with an open descriptor. */
#define DEPTH_MAX 32u

/* A folder is not walked; files of a dataset in it stay. */
static void skip_folder(struct clean *c, struct clean_set *of, const char *why)
{
	if (of && clean_set_has(c, of))
		of->stays = true;
	clean_report_remaining(c, NULL, why);
}

/* Walk a subfolder. If it is empty afterwards, remove it if mlgen made it or if files in it were
 * removed. */
static void walk_below(struct clean *c, int parent_fd, const char *name, const struct stat *st,
		       struct clean_set *of, unsigned depth)
{
	uint64_t before = c->files + (of ? of->files : 0);
	uint64_t manifests = c->manifests;
	struct stat manifest;
	char why[128];

	if (st->st_dev != c->dev) {
		skip_folder(c, of, "is on another filesystem; clean it separately");
		return;
	}
	if (depth == DEPTH_MAX) {
		skip_folder(c, of, "is nested too deep; clean it separately");
		return;
	}

	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	if (!dir) {
		snprintf(why, sizeof(why), "cannot be read: %s", strerror(errno));
		skip_folder(c, of, why);
		return;
	}
	if (fstatat(dirfd(dir), MANIFEST_NAME, &manifest, AT_SYMLINK_NOFOLLOW) != 0)
		clean_walk(c, dir, of, depth + 1);
	else if (!c->is_repeat)
		clean_dataset(c, dir, depth + 1);
	closedir(dir);
	if (c->removes && (before != c->files + (of ? of->files : 0) || manifests != c->manifests ||
			   (of && clean_set_has_folder(c, of))))
		unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static void walk_file(struct clean *c, int folder_fd, const char *name, const struct stat *st,
		      struct clean_set *of)
{
	const char *other = filekind_other(st->st_mode);
	char why[128] = "";

	if (of && !other && clean_set_remove(c, of, folder_fd, name, st, why, sizeof(why)))
		return;
	if (other)
		snprintf(why, sizeof(why), "is %s", other);
	if (of && other && clean_set_has(c, of))
		of->stays = true;
	clean_report_remaining(c, NULL, why[0] ? why : NULL);
}

static void walk_entry(struct clean *c, int folder_fd, const char *name, struct clean_set *of,
		       unsigned depth)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* the entry no longer exists */
	if (!S_ISDIR(st.st_mode))
		walk_file(c, folder_fd, name, &st, of);
	else if (!clean_checkpoint(c, folder_fd, name))
		walk_below(c, folder_fd, name, &st, of, depth);
}

/* If another user owns the folder, that user could have created files with any name. */
static bool is_trusted(struct clean *c, int folder_fd, const struct clean_set *of)
{
	struct stat st;
	char why[128];

	if (!of || below_is_trusted(folder_fd, of->maker))
		return true;
	if (fstat(folder_fd, &st) != 0)
		return false;
	snprintf(why, sizeof(why), "this folder belongs to user %u; clean it as that user",
		 (unsigned)st.st_uid);
	clean_report_remaining(c, NULL, why);
	return false;
}

/* Append NAME to c->path. Returns the previous length, or 0 if the path is too long. */
static size_t path_append(struct clean *c, const char *name)
{
	size_t length = strlen(c->path), more = strlen(name);

	if (length + 1 + more >= sizeof(c->path))
		return 0;
	c->path[length] = '/';
	memcpy(c->path + length + 1, name, more + 1);
	return length;
}

void clean_walk(struct clean *c, DIR *dir, struct clean_set *of, unsigned depth)
{
	struct dirent *entry;

	if (of && !is_trusted(c, dirfd(dir), of)) {
		of->stays = true;
		of = NULL;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		size_t length = path_append(c, entry->d_name);
		if (!length) {
			clean_report_remaining(c, entry->d_name, "its path is too long");
			continue;
		}
		walk_entry(c, dirfd(dir), entry->d_name, of, depth);
		c->path[length] = '\0';
	}
}

/* ---- reports ---- */

/* At most this many kept files, and this many errors, are reported one by one. */
#define CLEAN_SHOWN 20

void clean_report_remaining(struct clean *c, const char *name, const char *why)
{
	if (c->is_quiet || c->strangers++ >= CLEAN_SHOWN)
		return;
	fprintf(c->to, "%s%s%s: stays%s%s\n", c->path, name ? "/" : "", name ? name : "",
		why ? ": " : "", why ? why : "");
}

void clean_report_remaining_text(struct clean *c, const char *sentence)
{
	if (!c->is_quiet && c->strangers++ < CLEAN_SHOWN)
		fprintf(c->to, "%s\n", sentence);
}

void clean_fault(struct clean *c, const struct mlgen_err *err)
{
	if (c->faults++ < CLEAN_SHOWN)
		log_error("%s", err->text);
}

void clean_report_owned(struct clean *c, const char *what, uint64_t files, uint64_t bytes)
{
	char count[UNITS_TEXT_BYTES], size[UNITS_TEXT_BYTES];

	c->files += files;
	c->bytes += bytes;
	if (!c->is_quiet)
		fprintf(c->to, "%s: %s: %s file%s, %s\n", c->path, what,
			units_human_count(count, files), plural(files),
			units_human_bytes(size, (double)bytes));
}

/* ---- directories on the command line ---- */

static DIR *clean_open(struct clean *c, const char *directory, struct mlgen_err *err)
{
	size_t length = strlen(directory);
	struct stat st;

	while (length > 1 && directory[length - 1] == '/')
		length--;
	if (length >= sizeof(c->path)) {
		mlgen_fail(err, -ENAMETOOLONG, "%.60s...: %s", directory, strerror(ENAMETOOLONG));
		return NULL;
	}
	memcpy(c->path, directory, length);
	c->path[length] = '\0';
	DIR *dir = opendir(c->path);
	if (!dir && errno == ENOTDIR)
		mlgen_fail(err, -ENOTDIR,
			   "%s: is not a directory; name the directory of a dataset "
			   "or of checkpoints, or a parent of it",
			   directory);
	else if (!dir)
		mlgen_fail(err, -errno, "%s: %s", directory, strerror(errno));
	else if (fstatat(dirfd(dir), CHECKPOINT_MANIFEST, &st, AT_SYMLINK_NOFOLLOW) == 0)
		mlgen_fail(err, -EINVAL,
			   "%s: is a single checkpoint; name the directory that contains it",
			   directory);
	if (dir && err->code) {
		closedir(dir);
		return NULL;
	}
	return dir;
}

static void walk_directory(struct clean *c, DIR *dir)
{
	struct stat st = { 0 };

	rewinddir(dir);
	c->dev = fstat(dirfd(dir), &st) == 0 ? st.st_dev : 0;
	if (fstatat(dirfd(dir), MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		clean_dataset(c, dir, 0);
	else
		clean_walk(c, dir, NULL, 0);
}

static void print_sum(const struct clean *c)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];

	if (c->strangers > CLEAN_SHOWN)
		fprintf(c->to, "%s more stay\n",
			units_human_count(files, c->strangers - CLEAN_SHOWN));
	fprintf(c->to, "%s %s file%s, %s\n", c->removes ? "removed" : "--yes removes",
		units_human_count(files, c->files), plural(c->files),
		units_human_bytes(bytes, (double)c->bytes));
}

static void report_more_faults(const struct clean *c)
{
	if (c->faults > CLEAN_SHOWN)
		log_error("%" PRIu64 " more errors", c->faults - CLEAN_SHOWN);
}

/* List the files that mlgen owns in a directory, or check whether they can be removed. */
static int list_directory(struct clean *c, const char *directory)
{
	struct mlgen_err err = { 0 };
	DIR *dir = clean_open(c, directory, &err);

	if (!dir) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	walk_directory(c, dir);
	closedir(dir);
	if (!c->faults && !c->manifests)
		log_error("%s: no " MANIFEST_NAME " and no " CHECKPOINT_MANIFEST
			  " in it or below it: no file there is known to be from mlgen",
			  directory);
	report_more_faults(c);
	if (c->faults || !c->manifests)
		return EXIT_USAGE;
	if (!c->is_quiet)
		print_sum(c);
	return EXIT_RAN;
}

/* The directory may no longer exist, because it was removed together with a directory that
 * contained it. */
static int remove_directory(struct clean *c, const char *directory)
{
	struct mlgen_err err = { 0 };
	DIR *dir = clean_open(c, directory, &err);

	if (dir) {
		walk_directory(c, dir);
		closedir(dir);
		report_more_faults(c);
	} else if (err.code != -ENOENT) {
		clean_fault(c, &err);
	}
	print_sum(c);
	return c->faults ? EXIT_FAILED : EXIT_RAN;
}

/* Call a function for each directory of the command line. Returns the worst status. */
static int each_directory(const struct ask *a, const struct clean *first,
			  int (*handle)(struct clean *c, const char *directory))
{
	struct clean *c = mem_zalloc(sizeof(*c));
	int status = EXIT_RAN;

	for (size_t i = 0; i < a->set->file_count; i++) {
		*c = *first;
		process_self(&c->self);
		int one = handle(c, a->set->files[i]);
		if (one != EXIT_RAN)
			status = one;
	}
	mem_free(c);
	return status;
}

/* All directories are checked before --yes removes anything from one of them. */
int ask_clean(const struct ask *a)
{
	const struct settings *set = &a->set->settings;
	struct clean first = { .to = a->to, .replaces = set->replace, .is_quiet = set->yes };
	int status = each_directory(a, &first, list_directory);

	if (!set->yes)
		return status;
	if (status != EXIT_RAN) {
		if (a->set->file_count > 1)
			log_error("clean: nothing was removed from any of the %zu directories",
				  a->set->file_count);
		return status;
	}
	first.is_quiet = false;
	first.removes = true;
	return each_directory(a, &first, remove_directory);
}
