/* SPDX-License-Identifier: Apache-2.0 */
/* trace_import.c - --import=csv and fio-iolog: what others have of a trace, as one of mlgen's. */
#include "ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/replace.h"
#include "base/signals.h"
#include "base/util.h"
#include "report/place.h"
#include "report/tracefile.h"
#include "trace/trace_csv.h"
#include "trace/trace_iolog.h"

/* From the file that is read to the one that is written. */
struct import {
	const struct ask *ask;
	struct trace_input in;
	struct place place;
	struct replace file; /* beside it; no target = written in place */
	struct trace_fill *fill;
	struct trace_filled filled;
	const char *form;
};

/* ---- where it goes ---- */

static int check_place(struct import *m, struct mlgen_err *err)
{
	const struct place *p = &m->place;
	int rc = tracefile_check(p, err);

	if (rc < 0)
		return rc;
	if (place_is_fd(p, m->in.fd))
		return mlgen_fail(err, -EINVAL,
				  "trace=%s: is the file that is read; name "
				  "another file",
				  p->given);
	return p->kind == PLACE_FILE && !p->is_handed_over ? place_lock(p, err)
							   : 0;
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
	mode = p->kind == PLACE_FILE && fstat(p->fd, &old) == 0
		       ? old.st_mode & 07777
		       : replace_new_mode();
	rc = replace_begin(&m->file, p->path, mode);
	return rc < 0 ? mlgen_fail(err, rc, "trace=%s: cannot be written: %s",
				   given, strerror(-rc))
		      : 0;
}

static int import_fd(const struct import *m)
{
	return m->file.target ? m->file.fd : m->place.fd;
}

static int commit(struct import *m, struct mlgen_err *err)
{
	int rc = m->file.target ? replace_commit(&m->file) : 0;

	return rc < 0 ? mlgen_fail(err, rc, "trace=%s: cannot be written: %s",
				   m->place.given, strerror(-rc))
		      : 0;
}

/* ---- what it comes from ---- */

static void tell_cut(const struct import *m, bool is_cut)
{
	if (is_cut)
		log_warn("%s: the last line has no end; is the file whole?",
			 m->in.name);
}

static int import_csv(struct import *m, struct mlgen_err *err)
{
	struct trace_csv_read what = { 0 };
	int rc = trace_csv_read(&m->in, m->fill, &what, err);

	if (rc == 0 && what.ignored.len)
		log_warn("%s: columns that a trace does not have are left out: "
			 "%s",
			 m->in.name, buf_str(&what.ignored));
	if (rc == 0 && what.has_phases)
		log_note("%s: phases are not kept; a trace has them by rows of "
			 "op epoch, stage and checkpoint, and there are none",
			 m->in.name);
	if (rc == 0)
		tell_cut(m, what.is_cut);
	trace_csv_read_fini(&what);
	return rc;
}

static int import_iolog(struct import *m, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };
	int rc = trace_iolog_read(&m->in, m->fill, &what, err);

	if (rc == 0 && what.waits)
		log_note("%s: a wait is taken as fio replays it, until so many "
			 "milliseconds from the beginning; fio's manual has "
			 "microseconds from the one before. Version 3 has "
			 "times",
			 m->in.name);
	if (rc == 0 && what.trims)
		log_note("%s: %" PRIu64 " trim%s left out; a trace has none",
			 m->in.name, what.trims, plural(what.trims));
	if (rc == 0)
		tell_cut(m, what.is_cut);
	return rc;
}

static int read_all(struct import *m, struct mlgen_err *err)
{
	int rc = trace_fill_new(&m->fill, import_fd(m), m->place.given, m->form,
				err);

	if (rc == 0)
		rc = m->ask->set->settings.import == IMPORT_CSV
			     ? import_csv(m, err)
			     : import_iolog(m, err);
	if (rc == 0) {
		rc = trace_fill_finish(m->fill, &m->filled, err);
		m->fill = NULL;
	}
	return rc < 0 ? rc : commit(m, err);
}

static void import_fini(struct import *m)
{
	trace_fill_abandon(m->fill);
	replace_abandon(&m->file);
	place_close(&m->place);
	trace_input_close(&m->in);
}

static int say_done(const struct import *m)
{
	const struct trace_filled *f = &m->filled;

	fprintf(m->ask->to,
		"%s: %" PRIu64 " record%s and %" PRIu64
		" marker%s with %" PRIu32
		" name%s; processes, mounts and host are not known\n",
		m->place.given, f->records, plural(f->records), f->markers,
		plural(f->markers), f->files, plural(f->files));
	return EXIT_RAN;
}

static int status_of(const struct mlgen_err *err)
{
	log_error("%s", err->text);
	return err->code == -EINTR ? EXIT_INTERRUPTED : EXIT_USAGE;
}

int ask_import_trace(const struct ask *a)
{
	const struct settings *s = &a->set->settings;
	struct import m = { .ask = a,
			    .place.fd = -1,
			    .file.fd = -1,
			    .in.fd = -1,
			    .form = s->import == IMPORT_CSV ? "csv"
							    : "fio-iolog" };
	struct mlgen_err err = { 0 };
	int status;

	if (a->set->file_count > 1) {
		log_error("import=%s: '%s' is one file too many; a trace is "
			  "made of one",
			  m.form, a->set->files[1]);
		return EXIT_USAGE;
	}
	signals_attend(SIGNALS_LOOKED);
	status = trace_input_open(&m.in, a->set->files[0], &err) < 0 ||
				 import_place(&m, &err) < 0 ||
				 read_all(&m, &err) < 0
			 ? status_of(&err)
			 : say_done(&m);
	import_fini(&m);
	return status;
}
