/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - one line on stderr, redrawn in place while jobs run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "job/job.h"
#include "run/watch/watch.h"

/*
 * Throughput, AU and stall percentile are those of the last ten seconds. An accelerator that has
 * waited for more than two seconds takes the place of the throughput, an operation outstanding for
 * ten is shown with its path: a hung mount is visible at once. A plain job shows operations and
 * bytes per second of each direction and how much of its time is over. Main thread only.
 *
 * --eta=auto draws on a terminal only; --status-interval adds whole lines with the time (UTC) in
 * front, one per job. No line is wider than 80 columns.
 */
struct status;

struct status *status_new(const struct settings *set);

/* Where it draws, for tests: `columns` 0 = not a terminal. */
struct status_screen {
	int fd;
	unsigned columns;
	time_t (*wall_clock)(void);
};
struct status *status_new_on(const struct settings *set, const struct status_screen *screen);

/* Once a second or so, with all jobs; those that wait or are done are shown only while no other one
 * works. */
void status_update(struct status *s, const struct live *jobs, size_t n);

/* SIGUSR1: one whole line per job now. */
void status_print(struct status *s, const struct live *jobs, size_t n);

/* Before the report, or another message: leave an empty line. */
void status_erase(struct status *s);
void status_free(struct status *s); /* NULL is fine */
