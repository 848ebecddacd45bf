/* SPDX-License-Identifier: Apache-2.0 */
/* fstab.c - see fstab.h. */
#include "io/fstab.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/mount.h"

/* An entry may lead to the directory through links, or end with a slash. */
static bool is_same(const char *entry, const char *directory)
{
	char real[PATH_MAX];

	return strcmp(entry, directory) == 0 ||
	       (realpath(entry, real) && strcmp(real, directory) == 0);
}

static bool is_named(const char *root, const char *directory)
{
	char path[PATH_MAX], text[4096];
	struct mntent entry;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/etc/fstab", root);
	f = setmntent(path, "re");
	while (f && !found && getmntent_r(f, &entry, text, sizeof(text)))
		found = is_same(entry.mnt_dir, directory);
	if (f)
		endmntent(f);
	return found;
}

bool fstab_awaits(const char *root, const char *directory)
{
	struct stat st = { 0 };
	struct mount m;

	if (!is_named(root, directory))
		return false;
	if (!*root && stat(directory, &st) != 0)
		return false;
	mount_read_at(&m, root, directory, st.st_dev);
	return strcmp(m.target, directory) != 0;
}
