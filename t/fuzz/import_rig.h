/* SPDX-License-Identifier: Apache-2.0 */
/* import_rig.h - what the targets of importers of logs share: a log in memory, and the trace that
 * it becomes as text and back. */
#pragma once

#include "trace_rig.h"

#include "trace/trace.h"
#include "tracing/import/import.h"

typedef int (*rig_log)(struct importing *m, struct mlgen_err *err);

static int rig_csv(struct trace_input *in, struct trace_fill *to, struct mlgen_err *err)
{
	struct trace_csv_read what = { 0 };
	int rc = trace_csv_read(in, to, &what, err);

	trace_csv_read_fini(&what);
	return rc;
}

static void rig_put_csv(struct trace_ordered *o, FILE *to)
{
	struct mlgen_err err = { 0 };

	MUST(trace_csv_write(o, to, &err) == 0);
}

/* Into `trace`. False: it was refused, in words. */
static bool rig_take_log(rig_log take, const char *const *files, size_t count, bool is_lenient,
			 int trace)
{
	struct mlgen_err err = { 0 };
	struct trace_fill_totals filled;
	struct trace_head head = { .run_id = "one run" };
	struct trace_writer *writer;
	struct importing m = { .files = files, .file_count = count, .is_lenient = is_lenient };
	int rc;

	/* Room to sort half a million records would be most of the time. */
	MUST(trace_writer_new(&writer, trace, "t", &head, &err) == 0);
	m.fill = trace_fill_append(writer);
	rc = take(&m, &err);
	MUST(rc <= 0 && !rc == !err.code && !rc == !*err.text);
	MUST(m.tally.unread <= m.tally.lines);
	import_tally_fini(&m.tally);
	MUST(trace_fill_finish(m.fill, &filled, &err) == 0);
	MUST(trace_writer_finish(writer, NULL, &err) == 0 || rc < 0);
	return rc == 0;
}

/* What is taken is a trace that a text can have, and says the same again. */
static void rig_check_trace(int trace)
{
	static int again = -1;
	size_t bytes, same;
	char *text = rig_export(rig_put_csv, trace, &bytes), *back;

	MUST(rig_import(rig_csv, text, bytes, rig_file(&again)));
	back = rig_export(rig_put_csv, again, &same);
	MUST(same == bytes && memcmp(text, back, bytes) == 0);
	free(text);
	free(back);
}

/* A log of one file, taken strictly and leniently; what is taken strictly has to be taken
 * leniently, too. */
__attribute__((unused)) static void rig_log_and_back(rig_log take, const uint8_t *data, size_t size)
{
	static int log = -1, trace = -1;
	char path[64];
	const char *const files[] = { path };
	bool is_strict;

	rig_file(&log);
	MUST(pwrite(log, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", log);
	is_strict = rig_take_log(take, files, 1, false, rig_file(&trace));
	if (is_strict)
		rig_check_trace(trace);
	if (rig_take_log(take, files, 1, true, rig_file(&trace)))
		rig_check_trace(trace);
	else
		MUST(!is_strict);
}
