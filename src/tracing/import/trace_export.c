/* SPDX-License-Identifier: Apache-2.0 */
/* trace_export.c - --export: a trace as comma-separated values, or as what fio replays. */
#include "ask/ask.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/util.h"
#include "trace/trace.h"

/* What is missing of a trace is missing of its other form. False: the files themselves are not
 * whole. */
static bool tell_missing(const struct trace_read *read)
{
	if (read->lost)
		log_warn("%" PRIu64 " event%s were lost when the trace was recorded", read->lost,
			 plural(read->lost));
	if (read->damaged_chunks)
		log_warn("%" PRIu64 " chunk%s of the trace are damaged, of %" PRIu64
			 " bytes; what is in them is left out",
			 read->damaged_chunks, plural(read->damaged_chunks), read->damaged_bytes);
	if (read->truncated)
		log_warn("%u file%s of the trace ended early; what is behind is not known",
			 read->truncated, plural(read->truncated));
	return !read->damaged_chunks && !read->truncated;
}

static int export_iolog(struct trace_ordered *o, FILE *to, struct mlgen_err *err)
{
	struct trace_iolog_left left = { 0 };
	int rc = trace_iolog_write(o, to, &left, err);

	trace_iolog_left_tell(&left, "");
	trace_iolog_left_fini(&left);
	return rc;
}

int ask_export(const struct ask *a)
{
	struct mlgen_err err = { 0 };
	struct trace_reader *r = NULL;
	struct trace_ordered *o = NULL;
	int rc =
		trace_reader_open(&r, (const char *const *)a->set->files, a->set->file_count, &err);
	int status = EXIT_USAGE;

	if (rc == 0)
		rc = trace_ordered_read(&o, r, &err);
	if (rc == 0) {
		status = tell_missing(trace_reader_read(r)) ? EXIT_RAN : EXIT_FAILED;
		rc = a->set->settings.export == EXPORT_CSV ? trace_csv_write(o, a->to, &err)
							   : export_iolog(o, a->to, &err);
		if (rc < 0)
			status = EXIT_FAILED;
	}
	if (rc < 0)
		log_error("%s", err.text);
	trace_ordered_free(o);
	trace_reader_close(r);
	return status;
}
