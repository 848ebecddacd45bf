/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_remove.c - delete a checkpoint, and nothing else; see state.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/jsonfile.h"
#include "base/mem.h"
#include "data/state/state.h"

static bool is_of_manifest(const char *name)
{
	return strcmp(name, CHECKPOINT_MANIFEST) == 0 ||
	       strcmp(name, JSONFILE_PART(CHECKPOINT_MANIFEST)) == 0;
}

static bool is_file(const char *name)
{
	return is_of_manifest(name) || shard_is_name(name);
}

/* Anything but these? */
static bool holds_others(int folder_fd, bool (*is_one)(const char *name))
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool holds = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return true; /* nobody can tell */
	}
	while (!holds && (entry = readdir(dir)))
		holds = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			!is_one(entry->d_name);
	closedir(dir);
	return holds;
}

bool checkpoint_drop_bare(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = below_folder(c->dir_fd, k->name);
	struct stat st;
	bool is_bare;

	if (fd < 0)
		return fd == -ENOENT;
	is_bare = below_is_trusted(fd, c->maker) && !holds_others(fd, is_of_manifest) &&
		  fstatat(fd, CHECKPOINT_MANIFEST, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
		  errno == ENOENT;
	if (is_bare)
		unlinkat(fd, JSONFILE_PART(CHECKPOINT_MANIFEST), 0);
	close(fd);
	return is_bare && (unlinkat(c->dir_fd, k->name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}

static int stays(const struct checkpoints *c, const struct checkpoint *k, const char *why,
		 struct mlgen_err *err)
{
	return mlgen_fail(err, -EPERM, "%s/%s: stays: %s", c->directory, k->name, why);
}

static int hold(struct checkpoint_removal *r, const struct checkpoints *c,
		const struct checkpoint *k, struct mlgen_err *err)
{
	r->folder_fd = checkpoint_folder(c, k);
	r->is_held = r->folder_fd >= 0;
	if (r->folder_fd == -ELOOP)
		return stays(c, k, "it is a symbolic link", err);
	if (!r->is_held)
		return checkpoint_fail(c, k, "", r->folder_fd == -ESTALE ? -ENOENT : r->folder_fd,
				       err);
	if (!below_is_trusted(r->folder_fd, c->maker))
		return stays(c, k,
			     "it is another user's, who may have put files there that mlgen did "
			     "not write",
			     err);
	return 0;
}

/* What was listed may be something else by now, or somebody's. */
static int checkpoint_remove_judge(const struct checkpoint_removal *r, const struct checkpoints *c,
				   const struct checkpoint *listed, struct mlgen_err *err)
{
	char who[256];

	if (r->now.is_complete &&
	    (r->now.number != listed->number || r->now.begun_s != listed->begun_s))
		return mlgen_fail(err, -ENOENT, "%s/%s: is another checkpoint by now", c->directory,
				  listed->name);
	if (!checkpoint_is_left(c, &r->now))
		return 0;
	return mlgen_fail(
		err, -EBUSY, "%s/%s: %s; another checkpoint_directory=, or --replace removes it",
		c->directory, listed->name, checkpoint_word_writer(c, &r->now, who, sizeof(who)));
}

int checkpoint_removal_begin(struct checkpoint_removal *r, const struct checkpoints *c,
			     const struct checkpoint *k, struct mlgen_err *err)
{
	char why[160] = "";
	int rc;

	*r = (struct checkpoint_removal){ .now = *k };
	if (c->touches_nothing)
		return 0;
	rc = hold(r, c, k, err);
	if (rc < 0)
		return rc;
	rc = checkpoint_manifest_files(r->folder_fd, c->set, r, why, sizeof(why));
	if (rc == -EPERM)
		return stays(c, k, why, err);
	if (rc < 0)
		return checkpoint_fail_manifest(c, k, rc, err);
	return checkpoint_remove_judge(r, c, k, err);
}

bool checkpoint_removal_is_all(const struct checkpoint_removal *r)
{
	return !r->is_held || !holds_others(r->folder_fd, is_file);
}

void checkpoint_removal_fini(struct checkpoint_removal *r)
{
	if (r->is_held)
		close(r->folder_fd);
	for (size_t i = 0; i < r->count; i++)
		mem_free(r->names[i]);
	mem_free(r->names);
	*r = (struct checkpoint_removal){ 0 };
}

/*
 * Killed in the middle, it is not taken for a whole one: a manifest that says so, or on a full
 * filesystem none at all.
 */
int checkpoint_removal_mark(const struct checkpoint_removal *r, const struct checkpoints *c,
			    struct mlgen_err *err)
{
	int rc;

	if (!r->is_held || !r->now.is_complete)
		return 0;
	rc = checkpoint_manifest_mark(r->folder_fd, &c->self);
	if (rc == -ENOSPC || rc == -EDQUOT)
		rc = unlinkat(r->folder_fd, CHECKPOINT_MANIFEST, 0) == 0 ? 0 : -errno;
	return rc < 0 ? checkpoint_fail_manifest(c, &r->now, rc, err) : 0;
}

/* Another run may have put its own there meanwhile. */
static bool is_by_name(const struct checkpoints *c, const struct checkpoint_removal *r)
{
	struct stat by_name, held;

	return fstatat(c->dir_fd, r->now.name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(r->folder_fd, &held) == 0 && by_name.st_dev == held.st_dev &&
	       by_name.st_ino == held.st_ino;
}

/* Killed before its folder has gone, that has a name by which it is known. */
static void put_aside(const struct checkpoints *c, struct checkpoint *k)
{
	struct checkpoint old = *k;

	checkpoint_move(&old, CHECKPOINT_OLD);
	if (k->place == CHECKPOINT_FINAL && renameat(c->dir_fd, k->name, c->dir_fd, old.name) == 0)
		*k = old;
}

/* The manifest of a directory that has to stay stays, too: it says whose it is. */
int checkpoint_removal_end(const struct checkpoint_removal *r, const struct checkpoints *c,
			   struct mlgen_err *err)
{
	static const char *const names[] = { JSONFILE_PART(CHECKPOINT_MANIFEST),
					     CHECKPOINT_MANIFEST };
	struct checkpoint k = r->now;
	bool is_there;

	if (!r->is_held)
		return 0;
	if (holds_others(r->folder_fd, is_of_manifest))
		return mlgen_fail(err, -ENOTEMPTY,
				  "%s/%s: stays, with files that mlgen did not write", c->directory,
				  k.name);
	is_there = is_by_name(c, r);
	if (is_there)
		put_aside(c, &k);
	for (unsigned i = 0; i < 2; i++)
		if (unlinkat(r->folder_fd, names[i], 0) != 0 && errno != ENOENT)
			return checkpoint_fail(c, &k, "unlink: ", -errno, err);
	if (is_there && unlinkat(c->dir_fd, k.name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return checkpoint_fail(c, &k, "rmdir: ", -errno, err);
	return 0;
}
