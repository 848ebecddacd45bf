/* SPDX-License-Identifier: Apache-2.0 */
/* tracefile.c - see tracefile.h. */
#include "report/tracefile.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signals.h"
#include "report/ours.h"

int tracefile_check(const struct place *p, bool force, struct mlgen_err *err)
{
	if (p->kind == PLACE_STREAM)
		return mlgen_fail(err, -ENOTSUP,
				  "%s=%s: is no regular file, which a trace is; name another one",
				  p->option, p->given);
	return ours_check(p, OURS_TRACE, force, err);
}

int tracefile_open(struct tracefile *f, struct place *p, struct mlgen_err *err)
{
	bool is_new = p->kind == PLACE_NEW;
	int rc = 0;

	if (is_new)
		rc = place_make(p, err);
	else if (p->kind == PLACE_FILE && !p->is_handed_over)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	struct tracefile opened = { .path = mem_strdup(p->given),
				    .fd = p->fd,
				    .made = is_new ? mem_strdup(p->path) : NULL };
	signals_hold();
	*f = opened;
	signals_release();
	p->fd = -1;
	place_close(p);
	return 0;
}

int tracefile_read(const struct tracefile *f)
{
	return ours_open(f->fd, f->path);
}

void tracefile_discard(const struct tracefile *f)
{
	struct stat st;

	if (f->made && fstat(f->fd, &st) == 0 && st.st_size == 0)
		unlink(f->made);
}

int tracefile_close(struct tracefile *f)
{
	struct tracefile closed = *f;
	int rc = 0;

	if (!f->path)
		return 0;
	tracefile_discard(f);
	/* The thread that handles signals reads it, too. */
	signals_hold();
	*f = (struct tracefile){ 0 };
	signals_release();
	if (close(closed.fd) < 0)
		rc = -errno;
	mem_free(closed.made);
	mem_free(closed.path);
	return rc;
}
