/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_trace.c - trace of the JSON document, declared once. */
#include "report/metrics_trace.h"

#include "report/metrics_tables.h"
#include "run/results.h"

/* clang-format off */

#define T struct trace_result
const struct mlgen_field metrics_trace_fields[] = {
	{ "file", METRICS_TEXT(T, file),
	  .help = "File of --trace, as it was given." },
	{ "complete", MLGEN_F_BOOL(T, complete),
	  .help = "It holds everything: nothing was lost, and all of it was written." },
	{ "records", MLGEN_F_U64(T, records), .unit = "records",
	  .help = "Operations and markers in it, of preparations only with phase=prepare." },
	{ "bytes", MLGEN_F_U64(T, bytes), .unit = "bytes",
	  .help = "Its size." },
	{ "lost", MLGEN_F_U64(T, lost), .unit = "records",
	  .help = "Records that found no room on their way, or could not be written; the trace has their number by operation." },
	{ "cpu_ns", MLGEN_F_U64(T, cpu_ns), .unit = "ns",
	  .help = "CPU time of the thread that wrote it, which is none of the workers." },
	{ 0 },
};
#undef T

/* clang-format on */
