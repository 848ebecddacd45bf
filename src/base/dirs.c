/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.c - see dirs.h. */
#include "base/dirs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int dirs_make(char *path)
{
	char *slash = path;

	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		/* Of one that exists, a read-only filesystem may say EROFS. */
		if (access(path, F_OK) != 0 && mkdir(path, 0777) != 0 &&
		    errno != EEXIST)
			return -errno;
		if (slash)
			*slash = '/';
	} while (slash);
	return 0;
}
