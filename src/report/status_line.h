/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.h - what the status line says of one job. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "run/live.h"
#include "stat/hist.h"

#define STATUS_COLUMNS 80

/* A job as it was at some second; what a difference needs, no more. */
struct status_look {
	uint64_t now_ns, sample_bytes, compute_ns, step_ns, bytes_done;
	uint64_t io_ios[2], io_moved[2];
	uint64_t checkpoint_moved; /* of all so far, bytes */
	struct hist *stall;
};
struct status_look status_look_of(const struct live *now); /* stall: NULL */

/* What the figures are differences from. */
struct status_line_past {
	const struct status_look *then; /* some seconds ago, same phase */
	uint64_t begin_ns;              /* of this phase */
	struct hist *scratch;
};

/* In at most `columns`; what is least important is left out. */
void status_line(const struct live *now, const struct status_line_past *past,
		 size_t columns, char *out, size_t size);

/* Several jobs share a line: its name, throughput or wait, and AU. Of a job
 * that trains, or a plain one at work. */
void status_line_short(const struct live *now, const struct status_look *then,
		       char *out, size_t size);
