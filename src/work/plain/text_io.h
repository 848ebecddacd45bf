/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.h - the text report of a plain job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "run/results.h"

/*
 * One block for a job: `n` records of it one after the other, one for each
 * worker, or one for all of them. The answer, one line per direction as fio
 * has it, the settings, the workers where there are several records, the
 * latencies and the evidence. quiet = the first line only.
 */
void text_io_report(FILE *to, const struct run_result *run,
		    const struct job_result *records, size_t n, bool quiet);

/* What the disks did, for all plain jobs of the run together. */
void text_io_disks(FILE *to, const struct run_result *run);
