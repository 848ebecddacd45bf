/* SPDX-License-Identifier: Apache-2.0 */
/* pathname.c - see pathname.h. */
#include "job/pathname.h"

#include <string.h>
#include <strings.h>

/* "s3" of "s3://bucket"; 0: it is no address. */
static size_t scheme_length(const char *path)
{
	size_t len =
		strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

	return strncmp(path + len, "://", 3) == 0 ? len : 0;
}

void pathname_check(const char *option, const char *path, struct diag_place at, struct diag *d)
{
	size_t scheme = path ? scheme_length(path) : 0;

	if (scheme == 4 && strncasecmp(path, "file", 4) == 0)
		diag_add(d, DIAG_ERROR, at, "%s: %s: an address; write the path alone: %s", option,
			 path, path + strlen("file://"));
	else if (scheme)
		diag_add(d, DIAG_ERROR, at,
			 "%s: %s: an address, and mlgen works on files; mount what is there (of "
			 "S3: mount-s3, s3fs) and name the folder",
			 option, path);
	else if (path && *path == '~')
		diag_add(d, DIAG_ERROR, at,
			 "%s: %s: only a shell knows '~', and not behind '='; write $HOME, in a "
			 "job file ${HOME}, or ./~ for a name that begins so",
			 option, path);
}

void pathname_beside(struct buf *out, const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (slash && path[0] != '/')
		buf_addn(out, file, (size_t)(slash - file) + 1);
	buf_add(out, path);
}
