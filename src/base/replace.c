/* SPDX-License-Identifier: Apache-2.0 */
/* replace.c - see replace.h. */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define SUFFIX ".part"

/* replace_stop() waits this long for files that are being made, in steps of 1 ms. A filesystem may
 * hang in there. */
#define STOP_STEPS 1000
#define STOP_STEP_NS 1000000

/* A process ends as a whole, so this is one state for all files. */
static struct {
	_Atomic unsigned making; /* files that are not in r->temporary yet */
	_Atomic bool is_stopped;
} state;

static char *name_beside(const char *target)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	struct buf name = { 0 };

	buf_addf(&name, "%.*s.%s.XXXXXX" SUFFIX, folder, target, target + folder);
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

/* Make the file and note its name: replace_stop() sees both or neither. */
static int make_temporary(struct replace *r, char *path)
{
	/* Either this load sees the flag, or replace_stop() sees the count. */
	atomic_fetch_add(&state.making, 1);
	if (atomic_load(&state.is_stopped)) {
		atomic_fetch_sub(&state.making, 1);
		for (;;)
			pause();
	}
	r->fd = mkostemps(path, (int)strlen(SUFFIX), O_CLOEXEC);
	int rc = r->fd < 0 ? -errno : 0;
	if (rc)
		mem_free(path);
	else
		atomic_store(&r->temporary, path);
	atomic_fetch_sub(&state.making, 1);
	return rc;
}

int replace_begin(struct replace *r, const char *target, mode_t mode)
{
	r->target = mem_strdup(target);
	int rc = make_temporary(r, name_beside(target));
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

void replace_stop(void)
{
	const struct timespec step = { .tv_nsec = STOP_STEP_NS };

	atomic_store(&state.is_stopped, true);
	for (int i = 0; i < STOP_STEPS && atomic_load(&state.making); i++)
		nanosleep(&step, NULL);
}

void replace_discard(struct replace *r)
{
	/* Whoever gets it removes it. */
	char *temporary = atomic_exchange(&r->temporary, NULL);

	if (temporary)
		unlink(temporary);
	mem_free(temporary);
}
