/* SPDX-License-Identifier: Apache-2.0 */
/* view_layout.h - where the figures of running jobs stand in a picture of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/status_track.h"
#include "report/view_bars.h"
#include "report/view_pen.h"
#include "run/watch/watch.h"

/* Less than that has no room for what there is to be seen. */
#define VIEW_ROWS 24
#define VIEW_COLUMNS 80

/* What there is to draw, of all of the run. */
struct view_scene {
	const struct live *jobs;
	size_t job_count;
	const struct tracks *tracks; /* of each */
	const struct live *all;      /* their sum, and some seconds ago */
	const struct live *all_then;
	const struct view_series *bytes_per_sec, *au_percent;
	struct hist *scratch;
	uint64_t elapsed_ns;
	const char *messages; /* the last lines of standard error */
	bool is_ending;       /* it was asked to come to an end */
};

void view_layout(const struct view_pen *pen, const struct view_scene *s);
