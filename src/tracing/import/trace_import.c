/* SPDX-License-Identifier: Apache-2.0 */
/* trace_import.c - --import of a log: the file that becomes a trace, from the first look at it to
 * its name. */
#include "ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "tracing/import/importer.h"
#include "report/output/output.h"

/* From the file that is read to the one that is written. */
struct import {
	const struct ask *ask;
	const struct importer *importer;
	struct importing read;
	struct place place;
	struct replace file; /* beside it; no target = written in place */
	struct trace_filled filled;
};

/* ---- where it goes ---- */

/* Would a file be written while it is read? */
static bool is_read(const struct import *m)
{
	for (size_t i = 0; i < m->read.file_count; i++) {
		const char *file = m->read.files[i];

		if (strcmp(file, "-") == 0 ? place_is_fd(&m->place, STDIN_FILENO)
					   : place_is_path(&m->place, file))
			return true;
	}
	return false;
}

static int check_place(struct import *m, struct mlgen_err *err)
{
	const struct place *p = &m->place;
	int rc = tracefile_check(p, m->ask->set->settings.force, err);

	if (rc < 0)
		return rc;
	if (is_read(m))
		return mlgen_fail(err, -EINVAL,
				  "trace=%s: is the file that is read; name another file",
				  p->given);
	return p->kind == PLACE_FILE && !p->is_handed_over ? place_lock(p, err) : 0;
}

static int import_place(struct import *m, struct mlgen_err *err)
{
	const char *given = m->ask->set->settings.trace;
	struct place *p = &m->place;
	struct stat old;
	mode_t mode;
	int rc;

	if (strcmp(given, "-") == 0)
		return mlgen_fail(err, -EINVAL, "trace=-: name a file");
	rc = place_open(p, "trace", given, err);
	if (rc == 0)
		rc = check_place(m, err);
	if (rc < 0)
		return rc;
	if (p->is_handed_over)
		return ftruncate(p->fd, 0) < 0 ? -errno : 0;
	mode = p->kind == PLACE_FILE && fstat(p->fd, &old) == 0 ? old.st_mode & 07777
								: replace_new_mode();
	rc = replace_begin(&m->file, p->path, mode);
	return rc < 0 ? mlgen_fail(err, rc, "trace=%s: cannot be written: %s", given, strerror(-rc))
		      : 0;
}

/* An empty trace would look like a job without I/O: a log of another kind, or of calls that are not
 * on files, has to be told from that. */
static int refuse_empty(const struct import *m, struct mlgen_err *err)
{
	if (m->filled.records || m->filled.markers)
		return 0;
	import_tell(&m->read);
	return mlgen_fail(err, -EINVAL,
			  "import=%s: nothing in '%s' is a call on a file or a marker, and the "
			  "trace would be empty; is this what the option says?",
			  m->importer->name, m->read.files[0]);
}

static int read_all(struct import *m, struct mlgen_err *err)
{
	const char *markers = m->ask->set->settings.markers;
	int rc = trace_fill_new(&m->read.fill, m->file.target ? m->file.fd : m->place.fd,
				m->place.given, m->importer->name, err);

	if (rc == 0)
		rc = m->importer->read(&m->read, err);
	/* Only now is it known what the log's clock is. */
	if (rc == 0 && markers)
		rc = import_markers(&m->read, markers, err);
	if (rc == 0) {
		rc = trace_fill_finish(m->read.fill, &m->filled, err);
		m->read.fill = NULL;
	}
	if (rc == 0)
		rc = refuse_empty(m, err);
	if (rc < 0 || !m->file.target)
		return rc;
	rc = replace_commit(&m->file);
	return rc < 0 ? mlgen_fail(err, rc, "trace=%s: cannot be written: %s", m->place.given,
				   strerror(-rc))
		      : 0;
}

static int say_done(const struct import *m)
{
	const struct trace_filled *f = &m->filled;
	const char *unknown = !f->processes && !f->mounts
				      ? "processes, mounts and host are not known"
			      : !f->processes ? "processes and host are not known"
			      : !f->mounts    ? "mounts and host are not known"
					      : "the host is not known";

	import_tell(&m->read);
	fprintf(m->ask->to,
		"%s: %" PRIu64 " record%s and %" PRIu64 " marker%s with %" PRIu32 " name%s; %s\n",
		m->place.given, f->records, plural(f->records), f->markers, plural(f->markers),
		f->files, plural(f->files), unknown);
	return EXIT_RAN;
}

int ask_import_trace(const struct ask *a)
{
	const struct settings *s = &a->set->settings;
	struct import m = { .ask = a,
			    .importer = importer_of(s->import),
			    .place.fd = -1,
			    .file.fd = -1,
			    .read = { .files = a->set->files,
				      .file_count = a->set->file_count,
				      .is_lenient = s->lenient } };
	struct mlgen_err err = { 0 };
	int status;

	if (a->set->file_count > 1 && !m.importer->takes_several) {
		log_error("import=%s: '%s' is one file too many; a trace is made of one",
			  m.importer->name, a->set->files[1]);
		return EXIT_USAGE;
	}
	signals_attend(SIGNALS_LOOKED);
	if (import_place(&m, &err) == 0 && read_all(&m, &err) == 0) {
		status = say_done(&m);
	} else {
		log_error("%s", err.text);
		status = err.code == -EINTR ? EXIT_INTERRUPTED : EXIT_USAGE;
	}
	trace_fill_abandon(m.read.fill);
	replace_abandon(&m.file);
	place_close(&m.place);
	import_tally_fini(&m.read.tally);
	return status;
}
