/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_iolog.c - any text as fio's iolog: refused with its line, or a trace that is an iolog
 * again. */
#include "trace_rig.h"

#include "trace/trace.h"

static int take(struct trace_input *in, struct trace_fill *to, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };

	return trace_iolog_read(in, to, &what, err);
}

/* All that was read can be said, but for what moved no byte, names that are longer, and what ends
 * beyond all offsets. */
static void put(struct trace_ordered *o, FILE *to)
{
	struct trace_iolog_omitted left = { 0 };
	struct mlgen_err err = { 0 };

	MUST(trace_iolog_write(o, to, &left, &err) == 0);
	MUST(!left.markers && !left.others && !left.unplaced);
	trace_iolog_omitted_fini(&left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_there_and_back(take, put, take, data, size);
	return 0;
}
