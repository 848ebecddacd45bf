/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_csv.c - any text as a trace in comma-separated values: refused with its line, or kept
 * exactly. */
#include "trace_rig.h"

#include "trace/trace.h"

static int take(struct trace_input *in, struct trace_fill *to, struct mlgen_err *err)
{
	struct trace_csv_read what = { 0 };
	int rc = trace_csv_read(in, to, &what, err);

	trace_csv_read_fini(&what);
	return rc;
}

static void put(struct trace_ordered *o, FILE *to)
{
	struct mlgen_err err = { 0 };

	MUST(trace_csv_write(o, to, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_there_and_back(take, put, take, data, size);
	return 0;
}
