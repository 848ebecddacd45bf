/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - --live: a full screen of a run's figures, while it runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "run/watch/watch.h"

/*
 * What the status line reads, once an interval, on the main thread; the threads of the run do
 * nothing for it. The screen is given back by view_close, and on every other way out
 * (view_restore.h). Rates and percentiles are those of the last ten seconds.
 */
struct view;

/* Can there be one? 0, or -errno with err. */
int view_check(struct mlgen_err *err);

/* The terminal is the view's from here on: view_terminal.h. */
int view_open(struct view **out, struct mlgen_err *err);
void view_close(struct view *v); /* NULL is fine */

/* With all jobs of the run, whose looks have all histograms. */
void view_update(struct view *v, const struct live *jobs, size_t n);

/* Ten times a second or so, with the same looks: follow a change of its size, and take keys. True:
 * the run is to end (q). */
#define VIEW_ATTEND_NS 100000000ull
bool view_attend(struct view *v, const struct live *jobs, size_t n);

/* It ends, and the picture says so. */
void view_is_ending(struct view *v);
