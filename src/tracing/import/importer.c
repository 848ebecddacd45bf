/* SPDX-License-Identifier: Apache-2.0 */
/* importer.c - what turns another program's log into a trace: the rows, and what of a log could not
 * be read. */
#include "tracing/import/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "job/job.h"
#include "trace/trace.h"

/* ---- csv and fio-iolog, which mlgen writes, too, and of which all lines count ---- */

static int import_csv(struct importing *m, struct mlgen_err *err)
{
	struct trace_csv_read what = { 0 };
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = trace_csv_read(&in, m->fill, &what, err);
	if (rc == 0 && what.ignored.len)
		log_warn("%s: columns that a trace does not have are left out: %s", in.name,
			 buf_str(&what.ignored));
	if (rc == 0 && what.has_phases)
		log_note("%s: phases are not kept; a trace has them by rows of op epoch, stage and "
			 "checkpoint, and there are none",
			 in.name);
	m->tally.is_cut = what.is_cut;
	trace_csv_read_fini(&what);
	trace_input_close(&in);
	return rc;
}

static int import_iolog(struct importing *m, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = trace_iolog_read(&in, m->fill, &what, err);
	if (rc == 0)
		trace_iolog_tell(in.name, &what);
	m->tally.is_cut = what.is_cut;
	trace_input_close(&in);
	return rc;
}

/* ---- the rows ---- */

/* Of so many at the beginning one has to be of use; of more, so many shown. */
enum { LINES_TRIED = 100, UNREAD_SHOWN = 5 };
/* One line of so many may be of no use. */
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

const struct importer *importer_of(int import)
{
	return (size_t)import < ARRAY_LEN(importers) && importers[import].name ? &importers[import]
									       : NULL;
}

/* ---- what of a log could not be read ---- */

int import_unread(struct importing *m, const char *file, uint64_t line, struct mlgen_err *err,
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
		"%.*s. Nothing in the first %d lines could be read; is this what the option says?",
		(int)strcspn(buf_str(&t->first_unread), "\n"), buf_str(&t->first_unread),
		LINES_TRIED);
}

void import_unknown(struct importing *m, const char *name)
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

void import_note(struct importing *m, const char *fmt, ...)
{
	char text[MLGEN_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_addf(&m->tally.notes, "%s\n", text);
}

int import_judge(struct importing *m, const char *form, struct mlgen_err *err)
{
	const struct import_tally *t = &m->tally;
	const char *first = buf_str(&m->tally.first_unread);

	if (!t->lines)
		return mlgen_fail(err, -EINVAL, "import=%s: there is nothing in '%s'", form,
				  m->files[0]);
	if (t->unread == t->lines)
		return mlgen_fail(
			err, -EINVAL,
			"%.*s. Nothing in it could be read; is this what the option says?",
			(int)strcspn(first, "\n"), first);
	if (m->is_lenient || t->unread * UNREAD_ONE_OF <= t->lines)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"%.*s. %" PRIu64 " of %" PRIu64
		" lines could not be read, and one of %d may be so; --lenient leaves them out",
		(int)strcspn(first, "\n"), first, t->unread, t->lines, UNREAD_ONE_OF);
}

/* ---- what people are told ---- */

typedef void (*tell)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void tell_lines(const struct buf *lines, tell how)
{
	const char *at = buf_str(lines);

	for (size_t n; *at; at += n + 1) {
		n = strcspn(at, "\n");
		how("%.*s", (int)n, at);
	}
}

static void tell_unknown(const struct import_tally *t)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < t->unknown_count; i++)
		buf_addf(&names, "%s%s %" PRIu64, i ? ", " : "", t->unknown[i].name,
			 t->unknown[i].count);
	if (t->unknown_others)
		buf_addf(&names, ", others %" PRIu64, t->unknown_others);
	log_note("calls that are not known here, and are left out: %s", buf_str(&names));
	buf_fini(&names);
}

void import_tell(const struct importing *m)
{
	const struct import_tally *t = &m->tally;

	if (t->is_cut)
		log_warn("%s: the last line has no end; is the file whole?",
			 m->files[m->file_count - 1]);
	if (t->unread) {
		tell_lines(&t->first_unread, log_warn);
		log_warn("%" PRIu64 " line%s of %" PRIu64 " could not be read, and %s left out",
			 t->unread, plural(t->unread), t->lines, t->unread == 1 ? "is" : "are");
	}
	if (t->unknown_count)
		tell_unknown(t);
	if (t->inferred || t->inexact)
		log_note("%" PRIu64 " offset%s or sizes follow from the calls before, and are "
			 "marked as that; %" PRIu64
			 " of them may be wrong, since somebody else moved the position",
			 t->inferred + t->inexact, plural(t->inferred + t->inexact), t->inexact);
	tell_lines(&t->notes, log_note);
}

void import_tally_fini(struct import_tally *t)
{
	buf_fini(&t->first_unread);
	buf_fini(&t->notes);
}
