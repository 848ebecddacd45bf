/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_strace.c - any lines as a log of strace: refused with a sentence, or a trace that can be read. */
#include "trace_rig.h"

#include "import/trace/strace.h"
#include "trace/trace_csv.h"

/* As from a pipe. */
static int take(struct importing *m, const uint8_t *data, size_t size,
		struct mlgen_err *err)
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
	struct mlgen_err err = { 0 };
	struct trace_filled filled;
	size_t bytes;
	int rc;

	MUST(trace_fill_new(&m.fill, rig_file(&trace), "t", "fuzz", &err) == 0);
	rc = take(&m, data, size, &err);
	MUST(rc <= 0 && !rc == !err.code);
	MUST(m.tally.unread <= m.tally.lines);
	import_tally_fini(&m.tally);
	if (rc < 0) {
		trace_fill_abandon(m.fill);
		return 0;
	}
	MUST(trace_fill_finish(m.fill, &filled, &err) == 0);
	free(rig_export(put, trace, &bytes));
	return 0;
}
