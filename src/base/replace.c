/* SPDX-License-Identifier: Apache-2.0 */
/* replace.c - see replace.h. */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define SUFFIX ".part"

static char *name_beside(const char *target)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	struct buf name = { 0 };

	buf_addf(&name, "%.*s.%s.XXXXXX" SUFFIX, folder, target,
		 target + folder);
	return buf_take(&name);
}

static void replace_fini(struct replace *r)
{
	if (r->target && r->fd >= 0)
		close(r->fd);
	replace_discard(r);
	mem_free(r->target);
	r->target = NULL;
	r->fd = -1;
}

mode_t replace_new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

int replace_begin(struct replace *r, const char *target, mode_t mode)
{
	char *path = name_beside(target);
	int rc = 0;

	r->target = mem_strdup(target);
	r->fd = mkostemps(path, (int)strlen(SUFFIX), O_CLOEXEC);
	if (r->fd < 0)
		rc = -errno;
	if (rc)
		mem_free(path);
	else
		atomic_store(&r->temporary, path);
	if (rc == 0 && fchmod(r->fd, mode) != 0)
		rc = -errno;
	if (rc)
		replace_fini(r);
	return rc;
}

int replace_commit(struct replace *r)
{
	char *temporary = atomic_load(&r->temporary);
	/* A server may tell only here that it had no room. */
	int rc = close(r->fd) ? -errno : 0;

	r->fd = -1;
	if (rc == 0 && temporary && rename(temporary, r->target) != 0)
		rc = -errno;
	if (rc == 0)
		mem_free(atomic_exchange(&r->temporary, NULL));
	replace_fini(r);
	return rc;
}

void replace_abandon(struct replace *r)
{
	replace_fini(r);
}

void replace_discard(struct replace *r)
{
	/* Whoever gets it removes it. */
	char *temporary = atomic_exchange(&r->temporary, NULL);

	if (temporary)
		unlink(temporary);
	mem_free(temporary);
}
