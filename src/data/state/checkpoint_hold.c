/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_hold.c - a directory that checkpoints are going to be saved in; see state.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/dirs.h"
#include "data/state/state.h"
#include "io/noroom.h"

#define PROBES 1000

static int make_path(const struct checkpoints *c, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc;

	if (snprintf(path, sizeof(path), "%s", c->directory) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	else
		rc = dirs_make(path, NULL);
	return rc < 0 ? mlgen_fail(err, rc, "%s: mkdir: %s", path, strerror(-rc)) : 0;
}

/* A file by no checkpoint's name, which goes at once: who owns it owns what we make here. Another
 * run may be just about to do the same. */
static int make_probe(struct checkpoints *c)
{
	char name[CHECKPOINT_NAME_BYTES];
	int fd = -EEXIST, rc;

	checkpoint_put_name(name, CHECKPOINT_PROBE_EPOCH, 0, CHECKPOINT_PART);
	for (unsigned tries = 0; fd == -EEXIST && tries < PROBES; tries++)
		fd = below_create(c->dir_fd, name);
	if (fd < 0)
		return fd;
	rc = below_maker(fd, &c->maker);
	close(fd);
	if (unlinkat(c->dir_fd, name, 0) != 0 && errno != ENOENT && rc == 0)
		rc = -errno;
	return rc;
}

static bool checkpoint_hold_is_there(const struct checkpoints *c, const char *name)
{
	struct stat st;

	return fstatat(c->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void checkpoints_put_back(struct checkpoints *c, uint64_t epoch, uint64_t step)
{
	const struct checkpoint *part = checkpoints_at(c, epoch, step, CHECKPOINT_PART);
	char final[CHECKPOINT_NAME_BYTES];

	checkpoint_put_name(final, epoch, step, CHECKPOINT_FINAL);
	if ((part && checkpoint_is_left(c, part)) || checkpoint_hold_is_there(c, final))
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

/* Of names that only we give; what fails is left as it is. */
static void repair(struct checkpoints *c)
{
	int lock_fd = below_lock(c->dir_fd);

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].place == CHECKPOINT_OLD && c->items[i].is_complete)
			checkpoints_put_back(c, c->items[i].epoch, c->items[i].step);
	for (size_t i = 0; i < c->foreign_count; i++) {
		struct checkpoint k = { 0 };

		if (checkpoint_read_name(c->foreign[i].name, &k) && k.place != CHECKPOINT_FINAL)
			checkpoint_drop_bare(c, &k);
	}
	below_unlock(lock_fd);
}

int checkpoints_hold(struct checkpoints *c, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];
	int rc = 0;

	if (c->touches_nothing || c->knows_maker)
		return 0;
	if (!c->is_held) {
		rc = make_path(c, err);
		if (rc == 0)
			rc = checkpoints_reach(c, err);
	}
	if (rc < 0)
		return rc;
	rc = make_probe(c);
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s: cannot write here: %s%s; another checkpoint_directory=, or "
				  "its permissions",
				  c->directory, strerror(-rc),
				  noroom_put(why, c->directory, rc, 0));
	c->knows_maker = true;
	if (!c->only_adds)
		repair(c);
	return 0;
}
