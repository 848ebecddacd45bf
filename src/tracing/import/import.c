/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - run an importer: the table of formats, unreadable lines, and the output file. */
#include "tracing/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/files.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "job/job.h"
#include "report/output/output.h"
#include "trace/trace.h"

/* ---- csv and fio-iolog, in which any unreadable line is an error ---- */

static int import_csv(struct importing *m, struct mlgen_err *err)
{
	struct trace_csv_read read = { 0 };
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = trace_csv_read(&in, m->fill, &read, err);
	if (rc == 0 && read.ignored.len)
		log_warn("%s: unknown columns are left out: %s", in.name, buf_str(&read.ignored));
	if (rc == 0 && read.has_phases)
		log_note("%s: the column phase is left out; a trace has phases as rows with op "
			 "epoch, stage and checkpoint, but there are none",
			 in.name);
	m->tally.is_cut = read.is_cut;
	trace_csv_read_fini(&read);
	trace_input_close(&in);
	return rc;
}

static int import_iolog(struct importing *m, struct mlgen_err *err)
{
	struct trace_iolog_read read = { 0 };
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = trace_iolog_read(&in, m->fill, &read, err);
	if (rc == 0)
		trace_iolog_log_notes(in.name, &read);
	m->tally.is_cut = read.is_cut;
	trace_input_close(&in);
	return rc;
}

/* ---- the table of importers ---- */

/* An import fails early if none of the first LINES_TRIED lines can be read. */
enum { LINES_TRIED = 100, UNREAD_SHOWN = 5 };
/* Tolerated share of unreadable lines: one in this many. */
enum { UNREAD_ONE_OF = 1000 };

static const struct importer importers[] = {
	[IMPORT_CSV] = { "csv", .read = import_csv },
	[IMPORT_FIO_IOLOG] = { "fio-iolog", .read = import_iolog },
	[IMPORT_STRACE] = { "strace", true, import_strace },
	[IMPORT_MCGILL] = { "mcgill", true, import_mcgill },
	[IMPORT_DARSHAN] = { "darshan", true, import_darshan },
	[IMPORT_DFTRACER] = { "dftracer", true, import_dftracer },
	[IMPORT_BLKTRACE] = { "blktrace", true, import_blktrace },
	[IMPORT_DIO] = { "dio", true, import_dio },
};

/* ---- unreadable lines ---- */

int import_count_unread(struct importing *m, const char *file, uint64_t line, struct mlgen_err *err,
			const char *fmt, ...)
{
	struct import_tally *t = &m->tally;
	va_list ap;

	if (m->is_torn) {
		t->lines--;
		return 0;
	}
	if (t->unread++ < UNREAD_SHOWN) {
		char text[512];

		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		buf_add(&t->first_unread, strcmp(file, "-") == 0 ? "standard input" : file);
		if (line)
			buf_addf(&t->first_unread, ":%" PRIu64, line);
		buf_addf(&t->first_unread, ": %s\n", text);
	}
	if (m->is_lenient || t->unread != LINES_TRIED || t->lines > LINES_TRIED)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"%.*s. None of the first %d lines could be read; does the option match this file?",
		(int)strcspn(buf_str(&t->first_unread), "\n"), buf_str(&t->first_unread),
		LINES_TRIED);
}

void import_count_unknown(struct importing *m, const char *name)
{
	struct import_tally *t = &m->tally;

	for (size_t i = 0; i < t->unknown_count; i++) {
		if (strncmp(t->unknown[i].name, name, sizeof(t->unknown[i].name) - 1) == 0) {
			t->unknown[i].count++;
			return;
		}
	}
	if (t->unknown_count == ARRAY_LEN(t->unknown)) {
		t->unknown_others++;
		return;
	}
	struct import_unknown *u = &t->unknown[t->unknown_count++];

	snprintf(u->name, sizeof(u->name), "%s", name);
	u->count = 1;
}

void import_list_unknown(const struct import_tally *t, struct buf *names)
{
	for (size_t i = 0; i < t->unknown_count; i++)
		buf_addf(names, "%s%s %" PRIu64, i ? ", " : "", t->unknown[i].name,
			 t->unknown[i].count);
}

void import_note(struct importing *m, const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_addf(&m->tally.notes, "%s\n", text);
}

int import_check_unread(struct importing *m, const char *form, struct mlgen_err *err)
{
	const struct import_tally *t = &m->tally;
	const char *first = buf_str(&m->tally.first_unread);

	if (!t->lines)
		return mlgen_fail(err, -EINVAL, "format=%s: '%s' is empty", form, m->files[0]);
	if (t->unread == t->lines)
		return mlgen_fail(
			err, -EINVAL,
			"%.*s. Nothing in the file could be read; does the option match this file?",
			(int)strcspn(first, "\n"), first);
	if (m->is_lenient || t->unread * UNREAD_ONE_OF <= t->lines)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"%.*s. %" PRIu64 " of %" PRIu64
		" lines could not be read, and up to one of %d may fail; --lenient leaves them out",
		(int)strcspn(first, "\n"), first, t->unread, t->lines, UNREAD_ONE_OF);
}

/* ---- messages ---- */

typedef void (*log_fn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void log_lines(const struct buf *lines, log_fn log)
{
	const char *at = buf_str(lines);

	for (size_t n; *at; at += n + 1) {
		n = strcspn(at, "\n");
		log("%.*s", (int)n, at);
	}
}

/* Print warnings and notes on standard error. */
static void import_report(const struct importing *m)
{
	const struct import_tally *t = &m->tally;
	struct buf names = { 0 };

	if (t->is_cut)
		log_warn("%s: the last line is incomplete; is the file complete?",
			 m->files[m->file_count - 1]);
	if (t->unread) {
		log_lines(&t->first_unread, log_warn);
		log_warn("%" PRIu64 " line%s of %" PRIu64 " could not be read, and %s left out",
			 t->unread, plural(t->unread), t->lines, t->unread == 1 ? "is" : "are");
	}
	if (t->unknown_count) {
		import_list_unknown(t, &names);
		if (t->unknown_others)
			buf_addf(&names, ", others %" PRIu64, t->unknown_others);
		log_note("unknown calls are left out: %s", buf_str(&names));
		buf_fini(&names);
	}
	if (t->inferred || t->inexact)
		log_note("%" PRIu64 " offset%s or sizes were inferred from earlier calls and are "
			 "marked as inferred; %" PRIu64
			 " of them may be wrong, because another process or thread moved the file "
			 "position",
			 t->inferred + t->inexact, plural(t->inferred + t->inexact), t->inexact);
	log_lines(&t->notes, log_note);
}

void import_tally_fini(struct import_tally *t)
{
	buf_fini(&t->first_unread);
	buf_fini(&t->notes);
}

/* An import from the log to the output file. */
struct import {
	const struct import_args *args;
	const struct importer *importer;
	struct importing read;
	struct place place;
	struct replace file; /* temporary file next to the output; no target = written in place */
	struct trace_fill_totals filled;
};

/* ---- the output ---- */

/* Is the output one of the files that are read? */
static bool is_output_read(const struct import *m)
{
	for (size_t i = 0; i < m->read.file_count; i++) {
		const char *file = m->read.files[i];

		if (strcmp(file, "-") == 0 ? place_is_fd(&m->place, STDIN_FILENO)
					   : place_is_path(&m->place, file))
			return true;
	}
	return false;
}

static int open_output(struct import *m, struct mlgen_err *err)
{
	const char *given = m->args->output;
	struct place *p = &m->place;
	struct stat old;
	mode_t mode;
	int rc;

	if (strcmp(given, "-") == 0)
		return mlgen_fail(err, -EINVAL, "output=-: name a file");
	rc = place_open(p, "output", given, err);
	if (rc == 0)
		rc = tracefile_check(p, m->args->force, err);
	if (rc < 0)
		return rc;
	if (is_output_read(m))
		return mlgen_fail(err, -EINVAL,
				  "output=%s: is also an input file; name another file", given);
	if (p->kind == PLACE_FILE && !p->is_handed_over)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	if (p->is_handed_over)
		return ftruncate(p->fd, 0) < 0 ? -errno : 0;
	mode = p->kind == PLACE_FILE && fstat(p->fd, &old) == 0 ? old.st_mode & 07777
								: replace_new_mode();
	rc = replace_begin(&m->file, p->path, mode);
	return rc < 0 ? mlgen_fail(err, rc, "output=%s: cannot be written: %s", given,
				   strerror(-rc))
		      : 0;
}

static int read_all(struct import *m, struct mlgen_err *err)
{
	const char *markers = m->args->markers;
	int rc = trace_fill_new(&m->read.fill, m->file.target ? m->file.fd : m->place.fd,
				m->place.given, m->importer->name, err);

	if (rc == 0)
		rc = m->importer->read(&m->read, err);
	/* The importer has determined the log's clock. */
	if (rc == 0 && markers)
		rc = import_markers(&m->read, markers, err);
	if (rc == 0) {
		rc = trace_fill_finish(m->read.fill, &m->filled, err);
		m->read.fill = NULL;
	}
	if (rc < 0)
		return rc;
	/* An empty trace would look like a job without I/O, but most likely the log is of another
	 * format or has no calls on files. */
	if (!m->filled.records && !m->filled.markers) {
		import_report(&m->read);
		return mlgen_fail(err, -EINVAL,
				  "format=%s: '%s' contains neither calls on files nor markers, so "
				  "the trace would be empty; does the option match this file?",
				  m->importer->name, m->read.files[0]);
	}
	if (!m->file.target)
		return 0;
	rc = replace_commit(&m->file);
	return rc < 0 ? mlgen_fail(err, rc, "output=%s: cannot be written: %s", m->place.given,
				   strerror(-rc))
		      : 0;
}

static int report_done(const struct import *m)
{
	const struct trace_fill_totals *f = &m->filled;
	const char *unknown = !f->processes && !f->mounts ? "processes, mounts and host are unknown"
			      : !f->processes             ? "processes and host are unknown"
			      : !f->mounts                ? "mounts and host are unknown"
							  : "the host is unknown";

	import_report(&m->read);
	if (!m->args->summary)
		return EXIT_RAN;
	fprintf(m->args->summary,
		"%s: %" PRIu64 " record%s and %" PRIu64 " marker%s with %" PRIu32 " name%s; %s\n",
		m->place.given, f->records, plural(f->records), f->markers, plural(f->markers),
		f->files, plural(f->files), unknown);
	return EXIT_RAN;
}

int import_run(const struct import_args *args)
{
	struct import m = { .args = args,
			    .importer = &importers[args->format],
			    .place.fd = -1,
			    .file.fd = -1,
			    .read = { .files = args->files,
				      .file_count = args->file_count,
				      .is_lenient = args->is_lenient } };
	struct mlgen_err err = { 0 };
	int status;

	/* mlgen itself writes these formats, so every line must be valid. */
	if (args->is_lenient && (args->format == IMPORT_CSV || args->format == IMPORT_FIO_IOLOG)) {
		log_error("lenient: does not apply to format=%s, where every line must be valid",
			  m.importer->name);
		return EXIT_USAGE;
	}
	if (args->file_count > 1 && !m.importer->takes_several) {
		log_error(
			"format=%s: '%s' is one file too many; this format needs exactly one file",
			m.importer->name, args->files[1]);
		return EXIT_USAGE;
	}
	signals_set_mode(SIGNALS_POLLED);
	if (open_output(&m, &err) == 0 && read_all(&m, &err) == 0) {
		status = report_done(&m);
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
