/* SPDX-License-Identifier: Apache-2.0 */
/* unnamed.c - see unnamed.h. */
#include "base/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"

int unnamed_open(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

	/* A filesystem without O_TMPFILE takes it for an open of a folder. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd < 0 ? -errno : fd;
	if (snprintf(path, sizeof(path), "%s/mlgen.XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Memory is what it is to spare, and what is read beside the dataset would be seen as its own. */
static bool is_better_left(const char *folder, const char *beside)
{
	struct stat here, there;
	struct statfs fs;

	if (statfs(folder, &fs) != 0 || fs.f_type == TMPFS_MAGIC)
		return true;
	return beside && stat(folder, &here) == 0 && stat(beside, &there) == 0 &&
	       here.st_dev == there.st_dev;
}

const char *unnamed_folder(const char *beside)
{
	static const char *const folders[] = { "/var/tmp", "/tmp" };
	const char *folder = getenv("TMPDIR");

	if (has_text(folder))
		return folder;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_better_left(folders[i], beside))
			return folders[i];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_better_left(folders[i], NULL))
			return folders[i];
	return "/tmp";
}
