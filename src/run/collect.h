/* SPDX-License-Identifier: Apache-2.0 */
/* collect.h - from what threads counted to the figures of a report. */
#pragma once

#include "run/results.h"
#include "run/slot.h"

/* Fill the result of one job. Histograms stay the slot's. */
void collect_job(struct job_result *out, struct slot *s,
		 const struct host *host);

/*
 * Jobs that ran on one device at the same time cannot tell their bytes from
 * memory apart: fill storage.memory_percent and its source for all of them.
 */
void collect_memory(struct job_result *results, struct slot *slots,
		    size_t count);
