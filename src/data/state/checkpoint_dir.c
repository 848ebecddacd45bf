/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_dir.c - name, make, hold and delete the directory of one checkpoint. */
#include "data/state/state_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "io/devices.h"

/* ---- names ---- */

static const struct {
	const char *before, *after;
} places[] = {
	[CHECKPOINT_FINAL] = { "", "" },
	[CHECKPOINT_PART] = { ".", ".part" },
	[CHECKPOINT_OLD] = { ".", ".old" },
};

#define PLACES ARRAY_LEN(places)

void checkpoint_print_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch, uint64_t step,
			   enum checkpoint_place place)
{
	snprintf(to, CHECKPOINT_NAME_BYTES, "%sglobal_epoch%" PRIu64 "_step%" PRIu64 "%s",
		 places[place].before, epoch, step, places[place].after);
}

static const char *read_number(const char *s, const char *before, uint64_t *out)
{
	char *end;

	if (strncmp(s, before, strlen(before)) != 0)
		return NULL;
	s += strlen(before);
	errno = 0;
	*out = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && errno == 0 ? end : NULL;
}

bool checkpoint_parse_name(const char *name, struct checkpoint *k)
{
	const char *s = read_number(name + (*name == '.'), "global_epoch", &k->epoch);

	s = s ? read_number(s, "_step", &k->step) : NULL;
	for (unsigned i = 0; s && i < PLACES; i++) {
		k->place = (enum checkpoint_place)i;
		checkpoint_print_name(k->name, k->epoch, k->step, k->place);
		if (strcmp(k->name, name) == 0)
			return true;
	}
	return false;
}

void checkpoint_set_place(struct checkpoint *c, enum checkpoint_place place)
{
	c->place = place;
	checkpoint_print_name(c->name, c->epoch, c->step, place);
}

void checkpoint_final_name(const struct checkpoint *c, char to[CHECKPOINT_NAME_BYTES])
{
	checkpoint_print_name(to, c->epoch, c->step, CHECKPOINT_FINAL);
}

/* ---- the directory in which checkpoints are saved ---- */

#define PROBES 1000

static bool checkpoint_dir_exists(const struct checkpoints *c, const char *name)
{
	struct stat st;

	return fstatat(c->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void checkpoints_recover_old(struct checkpoints *c, uint64_t epoch, uint64_t step)
{
	const struct checkpoint *part = checkpoints_at(c, epoch, step, CHECKPOINT_PART);
	char final[CHECKPOINT_NAME_BYTES];

	checkpoint_print_name(final, epoch, step, CHECKPOINT_FINAL);
	if ((part && checkpoint_is_protected(c, part)) || checkpoint_dir_exists(c, final))
		return;
	for (size_t i = 0; i < c->count; i++) {
		struct checkpoint *k = &c->items[i];

		if (k->epoch != epoch || k->step != step || !k->is_complete ||
		    k->place != CHECKPOINT_OLD)
			continue;
		if (renameat(c->dir_fd, k->name, c->dir_fd, final) != 0)
			return;
		memcpy(k->name, final, sizeof(final));
		k->place = CHECKPOINT_FINAL;
	}
}

int checkpoints_prepare(struct checkpoints *c, struct mlgen_err *err)
{
	char path[PATH_MAX], why[NOROOM_BYTES], name[CHECKPOINT_NAME_BYTES];
	int fd = -EEXIST, rc = 0;

	if (c->has_no_files || c->knows_maker)
		return 0;
	if (!c->is_held) {
		if (snprintf(path, sizeof(path), "%s", c->directory) >= PATH_MAX)
			rc = -ENAMETOOLONG;
		else
			rc = dirs_make(path, NULL);
		if (rc < 0)
			return mlgen_fail(err, rc, "%s: mkdir: %s", path, strerror(-rc));
		rc = checkpoints_open_directory(c, err);
		if (rc < 0)
			return rc;
	}
	/* Make a file with a name that no checkpoint has and remove it at once: its owner owns
	 * every file that this process makes here. Another run may be doing the same. */
	checkpoint_print_name(name, CHECKPOINT_PROBE_EPOCH, 0, CHECKPOINT_PART);
	for (unsigned tries = 0; fd == -EEXIST && tries < PROBES; tries++)
		fd = below_create(c->dir_fd, name);
	rc = fd < 0 ? fd : below_creator(fd, &c->maker);
	if (fd >= 0) {
		close(fd);
		if (unlinkat(c->dir_fd, name, 0) != 0 && errno != ENOENT && rc == 0)
			rc = -errno;
	}
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s: cannot write here: %s%s; use another checkpoint_directory=, "
				  "or change its permissions",
				  c->directory, strerror(-rc),
				  noroom_text(why, c->directory, rc, 0));
	c->knows_maker = true;
	if (!c->only_adds) {
		/* Finish renames and remove empty directories, both with names that only mlgen
		 * gives. Whatever cannot be repaired is left alone. */
		int lock_fd = below_lock(c->dir_fd);

		for (size_t i = 0; i < c->count; i++)
			if (c->items[i].place == CHECKPOINT_OLD && c->items[i].is_complete)
				checkpoints_recover_old(c, c->items[i].epoch, c->items[i].step);
		for (size_t i = 0; i < c->foreign_count; i++) {
			struct checkpoint k = { 0 };

			if (checkpoint_parse_name(c->foreign[i].name, &k) &&
			    k.place != CHECKPOINT_FINAL)
				checkpoint_remove_bare(c, &k);
		}
		below_unlock(lock_fd);
	}
	return 0;
}

/* ---- making a checkpoint's directory ---- */

#define TRIES 100

/* Both set err to a message that names the directory, or its manifest, and return rc. */
static int checkpoint_fail(const struct checkpoints *c, const struct checkpoint *k,
			   const char *what, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s/%s: %s%s", c->directory, k->name, what, strerror(-rc));
}

static int checkpoint_fail_manifest(const struct checkpoints *c, const struct checkpoint *k, int rc,
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
			  "%s/%s: already exists, but is not a checkpoint that this job may "
			  "replace; use another checkpoint_directory=, or remove it by hand",
			  c->directory, name);
}

/* When two runs want the same name, mkdir decides. */
static int make_folder(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	int rc = mkdirat(c->dir_fd, k->name, 0777) == 0 ? 0 : -errno;

	if (rc == -EEXIST && checkpoint_remove_bare(c, k))
		rc = mkdirat(c->dir_fd, k->name, 0777) == 0 ? 0 : -errno;
	if (rc == -EEXIST)
		return checkpoint_dir_refuse(c, k->name, err);
	if (rc < 0)
		return checkpoint_fail(c, k, "mkdir: ", rc, err);
	k->ino = 0;

	/* Record the identity of the new folder. Its owner proves that nobody has replaced it. */
	int fd = checkpoint_folder(c, k);
	struct stat st;

	rc = fd < 0 ? fd : 0;
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
	return rc < 0 ? checkpoint_fail(c, k, "", rc, err) : 0;
}

static void remove_part(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = checkpoint_folder(c, k);

	if (fd < 0)
		return;
	unlinkat(fd, CHECKPOINT_MANIFEST, 0);
	close(fd);
	unlinkat(c->dir_fd, k->name, AT_REMOVEDIR);
}

/* Check that a .part directory can be renamed later: a directory with the final name has to be the
 * checkpoint to replace, and its .old name has to be free. */
static int check_final_name(const struct checkpoints *c, const struct checkpoint *k,
			    struct mlgen_err *err)
{
	struct checkpoint old = *k;
	char final[CHECKPOINT_NAME_BYTES];

	checkpoint_final_name(k, final);
	if (!checkpoint_dir_exists(c, final))
		return 0;
	if (!checkpoints_replaced(c, k->epoch, k->step))
		return checkpoint_dir_refuse(c, final, err);
	checkpoint_set_place(&old, CHECKPOINT_OLD);
	return checkpoint_remove_bare(c, &old) ? 0 : checkpoint_dir_refuse(c, old.name, err);
}

/* Give a .part directory the final name. The rename fails if the name is in use, but replaces an
 * empty folder. On filesystems that cannot rename folders a new one is made, which is safe because
 * no other run makes one while this run has .part. */
static int rename_to_final(const struct checkpoints *c, const struct checkpoint *part,
			   struct checkpoint *k, struct mlgen_err *err)
{
	if (renameat(c->dir_fd, part->name, c->dir_fd, k->name) == 0) {
		k->dev = part->dev;
		k->ino = part->ino;
		return 0;
	}
	if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
		return checkpoint_dir_refuse(c, k->name, err);
	int rc = make_folder(c, k, err);
	if (rc == 0)
		rc = checkpoint_write_manifest(c, k, false, err);
	if (rc == 0)
		remove_part(c, part);
	return rc;
}

/* The directory is made under the .part name and renamed when it has a manifest. Other runs
 * therefore never see a final name whose writer is unknown. */
static int create_locked(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	struct checkpoint part = *k;

	checkpoint_set_place(&part, CHECKPOINT_PART);

	/* Make a folder with a manifest. While a folder has no manifest, another run may remove it:
	 * a run that deletes its own checkpoint of that name or, where locks do not work, any
	 * run. */
	struct mlgen_err why = { 0 };
	int rc = -ENOENT;

	for (unsigned tries = 0; (rc == -ENOENT || rc == -ESTALE) && tries < TRIES; tries++) {
		why = (struct mlgen_err){ 0 };
		rc = make_folder(c, &part, &why);
		if (rc == 0)
			rc = checkpoint_write_manifest(c, &part, false, &why);
	}
	if (rc < 0 && rc != -EEXIST)
		unlinkat(c->dir_fd, part.name, AT_REMOVEDIR);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s", why.text);
	if (k->place == CHECKPOINT_FINAL) {
		rc = rename_to_final(c, &part, k, err);
	} else {
		rc = check_final_name(c, k, err);
		*k = part;
	}
	if (rc < 0)
		remove_part(c, &part);
	return rc;
}

/* Before its manifest is written, the new folder looks like a folder that a killed run has left.
 * checkpoint_remove_bare() removes such folders, and only with the lock held, so the new folder is
 * made under the lock. */
int checkpoint_create(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err)
{
	if (c->has_no_files)
		return 0;
	int lock_fd = below_lock(c->dir_fd);
	int rc = create_locked(c, k, err);
	below_unlock(lock_fd);
	return rc;
}

int checkpoint_write_manifest(const struct checkpoints *c, const struct checkpoint *k,
			      bool is_complete, struct mlgen_err *err)
{
	int fd, rc;

	if (c->has_no_files)
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

/* ---- deleting a checkpoint, and no other file ---- */

static bool is_of_manifest(const char *name)
{
	return strcmp(name, CHECKPOINT_MANIFEST) == 0 ||
	       strcmp(name, JSONFILE_PART(CHECKPOINT_MANIFEST)) == 0;
}

static bool is_checkpoint_file(const char *name)
{
	return is_of_manifest(name) || shard_is_name(name);
}

/* Does a folder hold files other than the expected ones? */
static bool holds_other_files(int folder_fd, bool (*is_expected)(const char *name))
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool holds = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return true; /* assume the worst */
	}
	while (!holds && (entry = readdir(dir)))
		holds = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			!is_expected(entry->d_name);
	closedir(dir);
	return holds;
}

bool checkpoint_remove_bare(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = below_folder(c->dir_fd, k->name);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT;
	bool is_bare = below_is_trusted(fd, c->maker) && !holds_other_files(fd, is_of_manifest) &&
		       fstatat(fd, CHECKPOINT_MANIFEST, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
		       errno == ENOENT;
	if (is_bare)
		unlinkat(fd, JSONFILE_PART(CHECKPOINT_MANIFEST), 0);
	close(fd);
	return is_bare && (unlinkat(c->dir_fd, k->name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}

static int checkpoint_fail_stays(const struct checkpoints *c, const struct checkpoint *k,
				 const char *why, struct mlgen_err *err)
{
	return mlgen_fail(err, -EPERM, "%s/%s: stays: %s", c->directory, k->name, why);
}

int checkpoint_removal_begin(struct checkpoint_removal *r, const struct checkpoints *c,
			     const struct checkpoint *k, struct mlgen_err *err)
{
	char why[160] = "";

	*r = (struct checkpoint_removal){ .now = *k };
	if (c->has_no_files)
		return 0;
	r->folder_fd = checkpoint_folder(c, k);
	r->is_held = r->folder_fd >= 0;
	if (r->folder_fd == -ELOOP)
		return checkpoint_fail_stays(c, k, "it is a symbolic link", err);
	if (!r->is_held)
		return checkpoint_fail(c, k, "", r->folder_fd == -ESTALE ? -ENOENT : r->folder_fd,
				       err);
	if (!below_is_trusted(r->folder_fd, c->maker))
		return checkpoint_fail_stays(c, k,
					     "it belongs to another user, who may have put files "
					     "there that mlgen did not write",
					     err);
	int rc = checkpoint_manifest_files(r->folder_fd, c->set, r, why, sizeof(why));
	if (rc == -EPERM)
		return checkpoint_fail_stays(c, k, why, err);
	if (rc < 0)
		return checkpoint_fail_manifest(c, k, rc, err);

	/* The checkpoint may have been replaced since it was listed, or is still needed. */
	char who[256];

	if (r->now.is_complete && (r->now.number != k->number || r->now.begun_s != k->begun_s))
		return mlgen_fail(err, -ENOENT, "%s/%s: was replaced by another checkpoint",
				  c->directory, k->name);
	if (!checkpoint_is_protected(c, &r->now))
		return 0;
	return mlgen_fail(err, -EBUSY,
			  "%s/%s: %s; use another checkpoint_directory=, or --replace to remove it",
			  c->directory, k->name,
			  checkpoint_print_writer(c, &r->now, who, sizeof(who)));
}

bool checkpoint_removal_leaves_nothing(const struct checkpoint_removal *r)
{
	return !r->is_held || !holds_other_files(r->folder_fd, is_checkpoint_file);
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

/* An incomplete manifest marks a removal that may be killed half way. On a full filesystem, where a
 * manifest cannot be replaced, it is removed instead. */
int checkpoint_removal_mark(const struct checkpoint_removal *r, const struct checkpoints *c,
			    struct mlgen_err *err)
{
	if (!r->is_held || !r->now.is_complete)
		return 0;
	int rc = checkpoint_manifest_mark(r->folder_fd, &c->self);
	if (rc == -ENOSPC || rc == -EDQUOT)
		rc = unlinkat(r->folder_fd, CHECKPOINT_MANIFEST, 0) == 0 ? 0 : -errno;
	return rc < 0 ? checkpoint_fail_manifest(c, &r->now, rc, err) : 0;
}

/* A directory that has to stay keeps its manifest, which names its owner. */
int checkpoint_removal_end(const struct checkpoint_removal *r, const struct checkpoints *c,
			   struct mlgen_err *err)
{
	static const char *const names[] = { JSONFILE_PART(CHECKPOINT_MANIFEST),
					     CHECKPOINT_MANIFEST };
	struct checkpoint k = r->now, old = r->now;

	if (!r->is_held)
		return 0;
	if (holds_other_files(r->folder_fd, is_of_manifest))
		return mlgen_fail(
			err, -ENOTEMPTY,
			"%s/%s: was not removed: it contains files that mlgen did not write",
			c->directory, k.name);

	/* Another run may have given the name to its own directory in the meantime. */
	struct stat by_name, held;
	bool has_name = fstatat(c->dir_fd, r->now.name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
			fstat(r->folder_fd, &held) == 0 && by_name.st_dev == held.st_dev &&
			by_name.st_ino == held.st_ino;

	/* If mlgen is killed before the rmdir, the name .old shows what the directory was. */
	checkpoint_set_place(&old, CHECKPOINT_OLD);
	if (has_name && k.place == CHECKPOINT_FINAL &&
	    renameat(c->dir_fd, k.name, c->dir_fd, old.name) == 0)
		k = old;
	for (unsigned i = 0; i < 2; i++)
		if (unlinkat(r->folder_fd, names[i], 0) != 0 && errno != ENOENT)
			return checkpoint_fail(c, &k, "unlink: ", -errno, err);
	if (has_name && unlinkat(c->dir_fd, k.name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return checkpoint_fail(c, &k, "rmdir: ", -errno, err);
	return 0;
}
