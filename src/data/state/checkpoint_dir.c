/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_dir.c - make the directory of one checkpoint; see state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "data/state/state.h"

#define TRIES 100

int checkpoint_fail(const struct checkpoints *c, const struct checkpoint *k, const char *what,
		    int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s/%s: %s%s", c->directory, k->name, what, strerror(-rc));
}

int checkpoint_fail_manifest(const struct checkpoints *c, const struct checkpoint *k, int rc,
			     struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s/%s/%s: %s", c->directory, k->name, CHECKPOINT_MANIFEST,
			  strerror(-rc));
}

int checkpoint_folder(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = below_folder(c->dir_fd, k->name);
	struct stat st;

	if (fd < 0 || k->ino == 0)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_dev == k->dev && st.st_ino == k->ino)
		return fd;
	close(fd);
	return -ESTALE;
}

static int checkpoint_dir_refuse(const struct checkpoints *c, const char *name,
				 struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s/%s: is there already, and not as a checkpoint that this job may "
			  "replace; another checkpoint_directory=, or remove it by hand",
			  c->directory, name);
}

static bool checkpoint_dir_is_there(const struct checkpoints *c, const char *name)
{
	struct stat st;

	return fstatat(c->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Which folder it is, and whose: nobody has put another one in its place. */
static int know_folder(const struct checkpoints *c, struct checkpoint *k)
{
	int fd = checkpoint_folder(c, k);
	int rc = fd < 0 ? fd : 0;
	struct stat st;

	if (rc == 0 && fstat(fd, &st) != 0)
		rc = -errno;
	if (rc == 0 && !below_is_trusted(fd, c->maker))
		rc = -ESTALE;
	if (rc == 0) {
		k->dev = st.st_dev;
		k->ino = st.st_ino;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* mkdir decides which run has a name. */
static int make_folder(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	int rc = mkdirat(c->dir_fd, k->name, 0777) == 0 ? 0 : -errno;

	if (rc == -EEXIST && checkpoint_drop_bare(c, k))
		rc = mkdirat(c->dir_fd, k->name, 0777) == 0 ? 0 : -errno;
	if (rc == -EEXIST)
		return checkpoint_dir_refuse(c, k->name, err);
	if (rc < 0)
		return checkpoint_fail(c, k, "mkdir: ", rc, err);
	k->ino = 0;
	rc = know_folder(c, k);
	return rc < 0 ? checkpoint_fail(c, k, "", rc, err) : 0;
}

/* With a manifest in it. A run that deletes its own of that name, or where no lock keeps others out
 * any run, may take a folder away that has none yet. */
static int make_part(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	struct mlgen_err found = { 0 };
	int rc = -ENOENT;

	for (unsigned tries = 0; (rc == -ENOENT || rc == -ESTALE) && tries < TRIES; tries++) {
		found = (struct mlgen_err){ 0 };
		rc = make_folder(c, k, &found);
		if (rc == 0)
			rc = checkpoint_write_manifest(c, k, false, &found);
	}
	if (rc < 0 && rc != -EEXIST)
		unlinkat(c->dir_fd, k->name, AT_REMOVEDIR);
	return rc < 0 ? mlgen_fail(err, rc, "%s", found.text) : 0;
}

static void undo_part(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = checkpoint_folder(c, k);

	if (fd < 0)
		return;
	unlinkat(fd, CHECKPOINT_MANIFEST, 0);
	close(fd);
	unlinkat(c->dir_fd, k->name, AT_REMOVEDIR);
}

/* It will be renamed: what is there has to be what it replaces, and there has to be a name to put
 * that aside. */
static int check_names(const struct checkpoints *c, const struct checkpoint *k, const char *final,
		       struct mlgen_err *err)
{
	struct checkpoint old = *k;

	if (!checkpoint_dir_is_there(c, final))
		return 0;
	if (!checkpoints_replaced(c, k->epoch, k->step))
		return checkpoint_dir_refuse(c, final, err);
	checkpoint_move(&old, CHECKPOINT_OLD);
	return checkpoint_drop_bare(c, &old) ? 0 : checkpoint_dir_refuse(c, old.name, err);
}

/* A rename finds out whether there is something, and takes an empty folder. Some filesystems rename
 * no folders; nobody else makes one while we have .part. */
static int take_final(const struct checkpoints *c, const struct checkpoint *part,
		      struct checkpoint *k, struct mlgen_err *err)
{
	int rc;

	if (renameat(c->dir_fd, part->name, c->dir_fd, k->name) == 0) {
		k->dev = part->dev;
		k->ino = part->ino;
		return 0;
	}
	if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
		return checkpoint_dir_refuse(c, k->name, err);
	rc = make_folder(c, k, err);
	if (rc == 0)
		rc = checkpoint_write_manifest(c, k, false, err);
	if (rc == 0)
		undo_part(c, part);
	return rc;
}

/* It is made under the .part name and has a manifest before it has another one: so nobody meets a
 * checkpoint of which it cannot be told who writes it. */
static int create(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	struct checkpoint part = *k;
	char final[CHECKPOINT_NAME_BYTES];
	int rc;

	checkpoint_move(&part, CHECKPOINT_PART);
	rc = make_part(c, &part, err);
	if (rc < 0)
		return rc;
	if (k->place == CHECKPOINT_FINAL) {
		rc = take_final(c, &part, k, err);
	} else {
		checkpoint_final_name(k, final);
		rc = check_names(c, k, final, err);
		*k = part;
	}
	if (rc < 0)
		undo_part(c, &part);
	return rc;
}

/* Between its mkdir and its manifest a folder looks like one that a killed run has left; who
 * removes such ones (checkpoint_drop_bare) has the lock, too. */
int checkpoint_create(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	int lock_fd, rc;

	if (c->touches_nothing)
		return 0;
	lock_fd = below_lock(c->dir_fd);
	rc = create(c, k, err);
	below_unlock(lock_fd);
	return rc;
}

int checkpoint_write_manifest(const struct checkpoints *c, const struct checkpoint *k,
			      bool is_complete, struct mlgen_err *err)
{
	int fd, rc;

	if (c->touches_nothing)
		return 0;
	fd = rc = checkpoint_folder(c, k);
	if (fd >= 0) {
		rc = checkpoint_manifest_store(fd, c->set, k, is_complete);
		close(fd);
	}
	if (rc < 0)
		return checkpoint_fail_manifest(c, k, rc, err);
	return is_complete ? checkpoints_sync(c, err) : 0;
}

int checkpoints_sync(const struct checkpoints *c, struct mlgen_err *err)
{
	int rc = below_sync(c->dir_fd);

	return rc < 0 ? mlgen_fail(err, rc, "%s: fsync: %s", c->directory, strerror(-rc)) : 0;
}
