/* SPDX-License-Identifier: Apache-2.0 */
/* status_line.h - what the status line says of one job. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "run/watch/watch.h"
#include "stat/hist.h"

#define STATUS_COLUMNS 80

/* What the figures are differences from. */
struct status_line_past {
	const struct live *then; /* some seconds ago, same phase */
	uint64_t begin_ns;       /* of this phase */
	struct hist *scratch;
};

/* left_ns where the job does not know it, and done_percent. */
void status_line_estimate(struct live *l, const struct status_line_past *past);

/* In at most `columns`; what is least important is left out. */
void status_line(const struct live *now, const struct status_line_past *past, size_t columns,
		 char *out, size_t size);

/* Several jobs share a line: its name, throughput or wait, and AU. Of a job that trains, or a plain
 * one at work. */
void status_line_short(const struct live *now, const struct live *then, char *out, size_t size);
