/* SPDX-License-Identifier: Apache-2.0 */
/* clean_dataset.c - --clean for one dataset: list or remove the files that belong to it. */
#include "ask/clean/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "run/make/make.h"

static void set_fini(struct clean_set *s)
{
	for (unsigned i = 0; i < s->count; i++)
		dataset_fini(&s->sets[i]);
}

static int set_init(struct clean_set *s, const struct clean *c, int dir_fd, struct mlgen_err *err)
{
	struct dataset *train = &s->sets[0];
	int rc = manifest_describe_at(dir_fd, c->path, train, err);

	if (rc == -ENOENT)
		return mlgen_fail(err, rc, "%s/%s: no longer exists", c->path, MANIFEST_NAME);
	if (rc < 0)
		return rc;
	s->dir_fd = dir_fd;
	s->maker = geteuid();
	s->count = 1;
	if (!train->eval_files)
		return 0;
	rc = dataset_init_split(&s->sets[1], train, train->eval_files, err);
	if (rc < 0)
		set_fini(s);
	else
		s->count = 2;
	return rc;
}

bool clean_set_has_folder(const struct clean *c, const struct clean_set *of)
{
	for (unsigned i = 0; i < of->count; i++)
		if (dataset_has_folder(&of->sets[i], c->path))
			return true;
	return false;
}

static const struct dataset *clean_set_find(const struct clean_set *s, const char *path,
					    uint64_t *file)
{
	for (unsigned i = 0; i < s->count; i++)
		if (dataset_find(&s->sets[i], path, file))
			return &s->sets[i];
	return NULL;
}

bool clean_set_has(const struct clean *c, const struct clean_set *of)
{
	uint64_t file;

	return clean_set_has_folder(c, of) || clean_set_find(of, c->path, &file) != NULL;
}

/* Store the final path of a file that is still called ".NAME.part". False: c->path has no such
 * name. */
static bool final_path(const struct clean *c, char to[PATH_MAX])
{
	const char *name = strrchr(c->path, '/') + 1;
	size_t before = (size_t)(name - c->path), len = strlen(name);
	size_t suffix = strlen(datafile_kind.suffix);

	if (*name != '.' || len <= suffix + 1 ||
	    strcmp(name + len - suffix, datafile_kind.suffix) != 0)
		return false;
	memcpy(to, c->path, before);
	memcpy(to + before, name + 1, len - suffix - 1);
	to[before + len - suffix - 1] = '\0';
	return true;
}

/* Mark the dataset as incomplete, so that it does not count as whole if removal is interrupted. If
 * the filesystem is full, the mark is written as soon as removed files have made room. */
static int mark_set(struct clean_set *s, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };

	if (s->is_marked)
		return 0;
	int rc = manifest_write_at(s->dir_fd, &s->sets[0], false, &why);
	s->is_marked = rc == 0;
	return rc == 0 || rc == -ENOSPC || rc == -EDQUOT ? 0 : mlgen_fail(err, rc, "%s", why.text);
}

static void remove_file(struct clean *c, struct clean_set *s, int folder_fd, const char *name,
			uint64_t bytes)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (s->is_stopped)
		return;
	if (c->removes) {
		rc = mark_set(s, &err);
		s->is_stopped = rc < 0;
		if (rc == 0 && unlinkat(folder_fd, name, 0) != 0 && errno != ENOENT)
			rc = mlgen_fail(&err, -errno, "%s: unlink: %s", c->path, strerror(errno));
	}
	if (rc < 0) {
		s->stays = true;
		clean_fault(c, &err);
		return;
	}
	s->files++;
	s->bytes += bytes;
}

bool clean_set_remove(struct clean *c, struct clean_set *of, int folder_fd, const char *name,
		      const struct stat *st, char *why, size_t why_bytes)
{
	uint64_t bytes = (uint64_t)st->st_size, file, full;
	char path[PATH_MAX], is[UNITS_TEXT_BYTES], should[UNITS_TEXT_BYTES];
	bool is_part = final_path(c, path);
	const struct dataset *ds = clean_set_find(of, is_part ? path : c->path, &file);

	if (!ds)
		/* Preparation leaves these in the directory; they are removed with the manifest. */
		return folder_fd == of->dir_fd &&
		       (strcmp(name, MANIFEST_NAME) == 0 ||
			strcmp(name, JSONFILE_PART(MANIFEST_NAME)) == 0 ||
			strcmp(name, DIRLOCK_NAME) == 0);
	full = dataset_file_bytes(ds, file);
	if (is_part ? bytes > full : bytes != full)
		snprintf(why, why_bytes, "has %s bytes, not %s", units_human_count(is, bytes),
			 units_human_count(should, full));
	else if (st->st_uid != of->maker)
		snprintf(why, why_bytes, "belongs to user %u", (unsigned)st->st_uid);
	else
		remove_file(c, of, folder_fd, name, bytes);
	of->stays |= *why != '\0';
	return !*why;
}

static void report_set(struct clean *c, const struct clean_set *s)
{
	const struct dataset *ds = &s->sets[0];
	char what[128], count[UNITS_TEXT_BYTES];
	uint64_t files = dataset_all_files(ds);

	if (s->count > 1)
		files += dataset_all_files(&s->sets[1]);
	snprintf(what, sizeof(what), "dataset of %s %s file%s", units_human_count(count, files),
		 ds->format->name, plural(files));
	clean_report_owned(c, what, s->files, s->bytes);
}

/* Repeat the walk until it finds no more files: some filesystems skip names while other names are
 * removed. */
static void remove_set(struct clean *c, struct clean_set *s, DIR *dir, unsigned depth)
{
	bool was_quiet = c->is_quiet;
	uint64_t before;
	struct mlgen_err err = { 0 };

	do {
		before = s->files;
		rewinddir(dir);
		clean_walk(c, dir, s, depth);
		c->is_quiet = c->is_repeat = true;
	} while (s->files > before && !s->stays);
	c->is_quiet = was_quiet;
	c->is_repeat = false;
	report_set(c, s);
	if (s->stays)
		return;
	unlinkat(s->dir_fd, JSONFILE_PART(MANIFEST_NAME), 0);
	if (unlinkat(s->dir_fd, MANIFEST_NAME, 0) == 0)
		return;
	mlgen_fail(&err, -errno, "%s/%s: unlink: %s", c->path, MANIFEST_NAME, strerror(errno));
	clean_fault(c, &err);
}

static int lock_set(const struct clean *c, struct clean_set *s, struct dirlock *lock,
		    struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = dirlock_acquire_at(lock, s->dir_fd, c->path, &why);

	if (rc == -EBUSY)
		return mlgen_fail(err, rc, "%s", why.text);
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s: nothing can be removed here: %s; change its permissions, "
				  "or run as another user",
				  c->path, strerror(-rc));
	s->maker = lock->maker;
	return 0;
}

void clean_dataset(struct clean *c, DIR *dir, unsigned depth)
{
	struct mlgen_err err = { 0 };
	struct dirlock lock = { 0 };
	struct clean_set s = { 0 };
	int rc = set_init(&s, c, dirfd(dir), &err);

	if (rc < 0) {
		clean_fault(c, &err);
		return;
	}
	c->manifests++;
	if (c->removes)
		rc = lock_set(c, &s, &lock, &err);
	if (rc < 0) {
		clean_fault(c, &err);
	} else if (c->removes) {
		remove_set(c, &s, dir, depth);
	} else {
		clean_walk(c, dir, &s, depth);
		report_set(c, &s);
	}
	dirlock_drop(&lock);
	set_fini(&s);
}
