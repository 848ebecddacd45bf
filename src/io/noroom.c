/* SPDX-License-Identifier: Apache-2.0 */
/* noroom.c - see noroom.h. */
#include "io/noroom.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/units.h"
#include "io/mount.h"

static const char *target_of(const struct mount *m)
{
	return m->target[0] ? m->target : "this filesystem";
}

/* A quota of inodes is one of these, too. */
static void put_quota(char out[NOROOM_BYTES], const struct mount *m)
{
	snprintf(out, NOROOM_BYTES,
		 "; a quota of this user, group or project is used up on %s, whatever df says: "
		 "raise it, or remove files",
		 target_of(m));
}

static void put_no_inodes(char out[NOROOM_BYTES], const struct mount *m)
{
	char text[UNITS_TEXT_BYTES];

	snprintf(out, NOROOM_BYTES,
		 "; no inodes are left on %s (df -i), though %s are free: fewer and larger files, "
		 "or remove some",
		 target_of(m), units_human_bytes(text, (double)m->free_bytes));
}

/* write(2) fails at the limit of the process, or at that of the filesystem. */
static void put_too_large(char out[NOROOM_BYTES], const struct mount *m, uint64_t end_bytes)
{
	struct rlimit limit;
	char text[UNITS_TEXT_BYTES];

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (!end_bytes || end_bytes > limit.rlim_cur))
		snprintf(out, NOROOM_BYTES,
			 "; ulimit -f allows files of %s: raise it, or make smaller files",
			 units_human_bytes(text, (double)limit.rlim_cur));
	else
		snprintf(out, NOROOM_BYTES, "; %s on %s takes no file as large: make smaller ones",
			 m->type[0] ? m->type : "the filesystem", target_of(m));
}

const char *noroom_put(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes)
{
	struct mount m = { 0 };

	out[0] = '\0';
	if (code != -ENOSPC && code != -EDQUOT && code != -EFBIG)
		return out;
	if (mount_read(&m, path, NULL) < 0)
		m.free_inodes = UINT64_MAX;
	if (code == -EDQUOT)
		put_quota(out, &m);
	else if (code == -EFBIG)
		put_too_large(out, &m, end_bytes);
	else if (m.free_inodes == 0 && m.free_bytes > 0)
		put_no_inodes(out, &m);
	return out;
}
