/* SPDX-License-Identifier: Apache-2.0 */
/* clean_walk.c - --clean goes through the folders below a directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/clean_inside.h"
#include "base/below.h"
#include "base/filekind.h"
#include "data/dataset/dataset.h"

/* Folders below each other, each with a descriptor. */
#define DEPTH_MAX 32u

/* A folder that is not gone through; what a dataset has in it stays with it. */
static void pass_by(struct clean *c, struct clean_set *of, const char *why)
{
	if (of && clean_set_has(c, of))
		of->stays = true;
	clean_stays(c, NULL, why);
}

static DIR *open_folder(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* With what lies below it. */
static void walk_folder(struct clean *c, DIR *dir, struct clean_set *of, unsigned depth)
{
	struct stat st;

	if (fstatat(dirfd(dir), MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) != 0)
		clean_walk(c, dir, of, depth);
	else if (!c->is_again)
		clean_dataset(c, dir, depth);
}

/* Empty, it goes if mlgen made it, or if what was removed lay in it. */
static void walk_below(struct clean *c, int parent_fd, const char *name, const struct stat *st,
		       struct clean_set *of, unsigned depth)
{
	uint64_t before = c->files + (of ? of->files : 0);
	uint64_t manifests = c->manifests;
	char why[128];
	DIR *dir;

	if (st->st_dev != c->dev) {
		pass_by(c, of, "is another filesystem; name it by itself");
		return;
	}
	if (depth == DEPTH_MAX) {
		pass_by(c, of, "lies too deep; name it by itself");
		return;
	}
	dir = open_folder(parent_fd, name);
	if (!dir) {
		snprintf(why, sizeof(why), "cannot be read: %s", strerror(errno));
		pass_by(c, of, why);
		return;
	}
	walk_folder(c, dir, of, depth + 1);
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

	if (of && !other && clean_set_takes(c, of, folder_fd, name, st, why, sizeof(why)))
		return;
	if (other)
		snprintf(why, sizeof(why), "is %s", other);
	if (of && other && clean_set_has(c, of))
		of->stays = true;
	clean_stays(c, NULL, why[0] ? why : NULL);
}

static void walk_entry(struct clean *c, int folder_fd, const char *name, struct clean_set *of,
		       unsigned depth)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* it has gone */
	if (!S_ISDIR(st.st_mode))
		walk_file(c, folder_fd, name, &st, of);
	else if (!clean_checkpoint(c, folder_fd, name))
		walk_below(c, folder_fd, name, &st, of, depth);
}

/* Whoever else owns a folder could have put files there by any names. */
static bool may_be_of(struct clean *c, int folder_fd, const struct clean_set *of)
{
	struct stat st;
	char why[128];

	if (!of || below_is_trusted(folder_fd, of->maker))
		return true;
	if (fstat(folder_fd, &st) != 0)
		return false;
	snprintf(why, sizeof(why), "this folder is user %u's; remove what is in it as that user",
		 (unsigned)st.st_uid);
	clean_stays(c, NULL, why);
	return false;
}

void clean_walk(struct clean *c, DIR *dir, struct clean_set *of, unsigned depth)
{
	struct dirent *entry;

	if (!may_be_of(c, dirfd(dir), of)) {
		of->stays = true;
		of = NULL;
	}
	while ((entry = readdir(dir))) {
		size_t length;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		length = clean_enter(c, entry->d_name);
		if (!length) {
			clean_stays(c, entry->d_name, "its path is too long");
			continue;
		}
		walk_entry(c, dirfd(dir), entry->d_name, of, depth);
		clean_leave(c, length);
	}
}
