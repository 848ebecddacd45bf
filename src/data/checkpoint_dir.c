/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_dir.c - make, mark and clear away the directory of one checkpoint; see checkpoints.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dirs.h"
#include "base/mem.h"
#include "data/checkpoint_manifest.h"
#include "data/jsonfile.h"

static int fail_at(const char *path, const char *what, int rc,
		   struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s: %s%s", path, what, strerror(-rc));
}

static int fail_manifest(const struct checkpoints *c,
			 const struct checkpoint *k, int rc,
			 struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s/%s/%s: %s", c->directory, k->name,
			  CHECKPOINT_MANIFEST, strerror(-rc));
}

static bool is_of_manifest(const char *name)
{
	return strcmp(name, CHECKPOINT_MANIFEST) == 0 ||
	       strcmp(name, JSONFILE_PART(CHECKPOINT_MANIFEST)) == 0;
}

/* Anything but a manifest? */
static bool holds_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool holds = false;

	if (!dir)
		return false;
	while (!holds && (entry = readdir(dir)))
		holds = strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0 &&
			!is_of_manifest(entry->d_name);
	closedir(dir);
	return holds;
}

static int refuse(const char *path, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is there already, and not as a checkpoint that "
			  "this job may replace; another "
			  "checkpoint_directory=, or remove it by hand",
			  path);
}

/* Would the rename find something? */
static int check_final(const struct checkpoints *c, const struct checkpoint *k,
		       struct mlgen_err *err)
{
	struct checkpoint final = *k;
	char path[PATH_MAX];
	int rc;

	checkpoint_final_name(k, final.name);
	rc = checkpoint_path(c, &final, NULL, path);
	if (rc < 0)
		return fail_at(c->directory, "", rc, err);
	if (strcmp(final.name, k->name) != 0 && access(path, F_OK) == 0)
		return refuse(path, err);
	return 0;
}

/* One that was left before its manifest was written may be had. */
static int make_directory(const struct checkpoints *c,
			  const struct checkpoint *k, struct mlgen_err *err)
{
	char path[PATH_MAX], manifest[PATH_MAX];
	int rc = checkpoint_path(c, k, NULL, path);

	if (rc == 0)
		rc = checkpoint_path(c, k, CHECKPOINT_MANIFEST, manifest);
	if (rc < 0)
		return fail_at(c->directory, "", rc, err);
	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_at(path, "mkdir: ", -errno, err);
	if (access(manifest, F_OK) != 0 && !holds_files(path))
		return 0;
	return refuse(path, err);
}

int checkpoint_create(const struct checkpoints *c, const struct checkpoint *k,
		      struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc;

	if (c->touches_nothing)
		return 0;
	if (snprintf(path, sizeof(path), "%s", c->directory) >= PATH_MAX)
		return fail_at(c->directory, "", -ENAMETOOLONG, err);
	rc = dirs_make(path);
	if (rc < 0)
		return fail_at(path, "mkdir: ", rc, err);
	rc = check_final(c, k, err);
	if (rc == 0)
		rc = make_directory(c, k, err);
	if (rc < 0)
		return rc;
	rc = checkpoint_write_manifest(c, k, false, err);
	if (rc < 0 && checkpoint_path(c, k, NULL, path) == 0)
		rmdir(path);
	return rc;
}

int checkpoint_write_manifest(const struct checkpoints *c,
			      const struct checkpoint *k, bool is_complete,
			      struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc;

	if (c->touches_nothing)
		return 0;
	rc = checkpoint_path(c, k, NULL, path);
	if (rc == 0)
		rc = checkpoint_manifest_store(path, c->set, k, is_complete);
	if (rc < 0)
		return fail_manifest(c, k, rc, err);
	rc = is_complete ? jsonfile_sync_directory(c->directory) : 0;
	return rc < 0 ? fail_at(c->directory, "fsync: ", rc, err) : 0;
}

int checkpoint_mark(const struct checkpoints *c, const struct checkpoint *k,
		    struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc;

	if (c->touches_nothing)
		return 0;
	rc = checkpoint_path(c, k, NULL, path);
	if (rc == 0)
		rc = checkpoint_manifest_mark(path);
	return rc < 0 ? fail_manifest(c, k, rc, err) : 0;
}

int checkpoint_files_read(struct checkpoint_files *f,
			  const struct checkpoints *c,
			  const struct checkpoint *k, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc;

	*f = (struct checkpoint_files){ 0 };
	if (c->touches_nothing)
		return 0;
	rc = checkpoint_path(c, k, NULL, path);
	if (rc == 0)
		rc = checkpoint_manifest_files(path, f);
	return rc < 0 ? fail_manifest(c, k, rc, err) : 0;
}

void checkpoint_files_fini(struct checkpoint_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		mem_free(f->names[i]);
	mem_free(f->names);
	*f = (struct checkpoint_files){ 0 };
}

/* The manifest of a directory that has to stay stays, too: it says whose it is. */
int checkpoint_clear(const struct checkpoints *c, const struct checkpoint *k,
		     struct mlgen_err *err)
{
	static const char *const names[] = { JSONFILE_PART(CHECKPOINT_MANIFEST),
					     CHECKPOINT_MANIFEST };
	char path[PATH_MAX], file[PATH_MAX];
	int rc;

	if (c->touches_nothing)
		return 0;
	rc = checkpoint_path(c, k, NULL, path);
	if (rc < 0)
		return fail_at(c->directory, "", rc, err);
	if (holds_files(path))
		return mlgen_fail(err, -ENOTEMPTY,
				  "%s: stays, with files that mlgen did not "
				  "write",
				  path);
	for (unsigned i = 0; i < 2; i++) {
		rc = checkpoint_path(c, k, names[i], file);
		if (rc < 0)
			return fail_at(path, "", rc, err);
		if (unlink(file) != 0 && errno != ENOENT)
			return fail_at(file, "unlink: ", -errno, err);
	}
	if (rmdir(path) != 0 && errno != ENOENT)
		return fail_at(path, "rmdir: ", -errno, err);
	return 0;
}
