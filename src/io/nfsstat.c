/* SPDX-License-Identifier: Apache-2.0 */
/* nfsstat.c - see nfsstat.h. */
#include "io/nfsstat.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "io/sysfile.h"

/* Is this the first line of the mount at `target`? device SOURCE mounted on TARGET with fstype TYPE
 * statvers=1.1 */
static bool nfsstat_begins(char *line, const char *target)
{
	static const char before[] = " mounted on ", after[] = " with fstype ";
	char *at = strstr(line, before);
	char *end = at ? strstr(at, after) : NULL;

	if (!end || strncmp(end + strlen(after), "nfs", 3))
		return false;
	at += strlen(before);
	*end = '\0';
	sysfile_unescape(at);
	return !strcmp(at, target);
}

/* bytes: of read(), of write(), direct read and written, FROM THE SERVER, ... */
static bool put_bytes(struct nfsstat *s, const char *line)
{
	return sscanf(line, "bytes: %*u %*u %*u %*u %" SCNu64, &s->server_read_bytes) == 1;
}

/* READ: REQUESTS transmissions timeouts bytes bytes queue rtt execute ... */
static void put_requests(struct nfsstat *s, const char *line)
{
	uint64_t n;

	if (sscanf(line, "READ: %" SCNu64, &n) == 1 || sscanf(line, "READ_PLUS: %" SCNu64, &n) == 1)
		s->reads += n;
}

int nfsstat_read(struct nfsstat *s, const char *root, const char *target)
{
	char text[4096];
	bool is_ours = false, has_bytes = false;
	FILE *f;

	snprintf(text, sizeof(text), "%s/proc/self/mountstats", root);
	f = fopen(text, "re");
	*s = (struct nfsstat){ 0 };
	while (f && fgets(text, sizeof(text), f)) {
		const char *line = text + strspn(text, " \t");

		if (!strncmp(text, "device ", 7)) {
			is_ours = nfsstat_begins(text, target);
			if (is_ours)
				*s = (struct nfsstat){ 0 };
			has_bytes &= !is_ours;
		} else if (is_ours) {
			has_bytes |= put_bytes(s, line);
			put_requests(s, line);
		}
	}
	if (f)
		fclose(f);
	return has_bytes ? 0 : -ENODATA;
}
