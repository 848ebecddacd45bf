/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_strace.c - any lines as a log of strace: refused with a sentence, or a trace that can
 * be read. */
#include "trace_rig.h"

#include "trace/trace.h"
#include "tracing/import/import.h"

/* As from a pipe. */
static int take(struct importing *m, const uint8_t *data, size_t size, struct mlgen_err *err)
{
	struct strace_reader *r = strace_reader_new(m);
	char *line = malloc(size + 1);
	uint64_t lineno = 0;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t bytes = end ? (size_t)(end - data) - at : size - at;

		memcpy(line, data + at, bytes);
		rc = strace_reader_line(r, line, bytes, "f", ++lineno, err);
		at += bytes + 1;
	}
	if (rc == 0)
		rc = strace_reader_end(r, err);
	strace_reader_free(r);
	free(line);
	return rc;
}

static void put(struct trace_ordered *o, FILE *to)
{
	struct mlgen_err err = { 0 };

	MUST(trace_csv_write(o, to, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int trace = -1;
	struct importing m = { .is_lenient = true };
	struct trace_head head = { .part = 0 };
	struct mlgen_err err = { 0 };
	struct trace_fill_totals filled;
	struct trace_writer *w;
	size_t bytes;
	int rc;

	/* As mltrace record has it; memory to sort them would take most of the time. */
	MUST(trace_writer_new(&w, rig_file(&trace), "t", &head, &err) == 0);
	m.fill = trace_fill_append(w);
	rc = take(&m, data, size, &err);
	MUST(rc <= 0 && !rc == !err.code);
	MUST(m.tally.unread <= m.tally.lines);
	import_tally_fini(&m.tally);
	err.code = 0;
	MUST(trace_fill_finish(m.fill, &filled, &err) == 0);
	MUST(trace_writer_finish(w, NULL, &err) == 0);
	/* To sort it takes much longer than to make it. */
	if (rc == 0 && size % 16 == 0)
		free(rig_export(put, trace, &bytes));
	return 0;
}
