/* SPDX-License-Identifier: Apache-2.0 */
/* trace_csv.h - a trace as comma-separated values, and the way back. */
#pragma once

#include <stdio.h>

#include "trace/trace_fill.h"
#include "trace/trace_input.h"
#include "trace/trace_ordered.h"

/*
 * A row for each record and marker, by their starts; mlgen-trace(5) says what stands in the
 * columns. What is not known is an empty cell. There is none for processes, mounts, losses and
 * facts.
 */
#define TRACE_CSV_HEADER                                                                           \
	"start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_"                      \
	"ns,flags"

/* All that is left of `o`, with a header. A stream that fails ends it at once, and nothing is said
 * of that. 0 or -errno with err. */
int trace_csv_write(struct trace_ordered *o, FILE *to, struct mlgen_err *err);

/* What was met on the way, beside records. A zeroed one is empty. */
struct trace_csv_read {
	struct buf ignored; /* columns, with commas between them */
	bool is_cut;        /* the last line has no end */
	bool has_phases;    /* that no marker stands for */
};

/* Everything into `to`. 0, or -errno with err, which has file and line. */
int trace_csv_read(struct trace_input *in, struct trace_fill *to, struct trace_csv_read *what,
		   struct mlgen_err *err);
void trace_csv_read_fini(struct trace_csv_read *what);
