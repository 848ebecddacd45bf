/* SPDX-License-Identifier: Apache-2.0 */
/* rates.h - rates second by second, behind fio's bw_min, iops_max, ... */
#pragma once

#include "run/slot.h"

/* On the main thread, about once a second, while the job works: an interval of the job, and of each
 * worker that has a record of its own and still works. What lies before the window of measurement
 * is none. `mhz`: as noise_clock_mhz. */
void rates_tick(struct slot *s, uint64_t now_ns, double mhz);
