/* SPDX-License-Identifier: Apache-2.0 */
/* sysfile.c - read the one-line files of /proc and /sys. */

#include "io/sysfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];
	int len = snprintf(name, sizeof(name), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(name, "re");
}

static int sysfile_number(const char *text, uint64_t *out, const char **end)
{
	unsigned long long v;
	char *stop;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &stop, 10);
	if (errno)
		return -errno;
	*out = v;
	*end = stop;
	return 0;
}

int sysfile_line(char *out, size_t size, const char *root, const char *path)
{
	FILE *f = open_below(root, path);
	int rc = 0;

	out[0] = '\0';
	if (!f)
		return -errno;
	if (!fgets(out, (int)size, f))
		rc = ferror(f) ? -EIO : -ENODATA;
	fclose(f);
	for (size_t n = strlen(out); n && strchr(" \n", out[n - 1]); n--)
		out[n - 1] = '\0';
	return rc;
}

int sysfile_u64(uint64_t *out, const char *root, const char *path)
{
	char line[64];
	const char *end;
	int rc = sysfile_line(line, sizeof(line), root, path);

	return rc ? rc : sysfile_number(line, out, &end);
}

int sysfile_keyed(uint64_t *out, const char *root, const char *path, const char *key)
{
	FILE *f = open_below(root, path);
	size_t len = strlen(key);
	int rc = -ENODATA;
	char line[256];
	const char *end = "";

	if (!f)
		return -errno;
	while (rc == -ENODATA && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, len) || !strchr(": ", line[len]))
			continue;
		rc = sysfile_number(line + len + strspn(line + len, ": \t"), out, &end);
		if (rc == 0 && strncmp(end, " kB", 3) == 0)
			*out *= 1024;
	}
	fclose(f);
	return rc;
}

void sysfile_unescape(char *s)
{
	char *to = s;

	for (; *s; to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}
