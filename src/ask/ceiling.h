/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.h - what this host could reach with infinitely fast storage. */
#pragma once

#include "ask/ask.h"
#include "run/results.h"

/*
 * Each training of a result is run twice more, by itself and for some seconds: with ioengine=null,
 * which moves no byte, and on a few of its own files that were read into the page cache before
 * (distinct_files, buffered). Both figures go to ml.ceiling, and the verdicts are made again with
 * them.
 *
 * To be called after run_collect and before the report, while the run is still there: datasets of a
 * result are the run's. `a` is the command line that the result came from, with all that a probe
 * added.
 *
 * With only_unclear for the trainings alone whose verdict is host or unclear, and briefly: three
 * times up to three seconds each, never of a run that was short itself; none at all with
 * --ceiling=no. 0, -EINTR when a signal ended it: what was measured until then stands, and the
 * program is to report and to end as if interrupted, without freeing what threads may still use.
 * What cannot be measured is no error: ml.ceiling.unmeasured says why.
 */
int ceiling_measure(const struct ask *a, struct run_result *r, bool only_unclear,
		    struct mlgen_err *err);

/* The parts, for their tests. */

/* Seconds of each of both runs; 0: this training has no ceiling to measure, or none so briefly.
 * Verdicts are filled. */
double ceiling_seconds(const struct job_result *j, bool only_unclear);

/* Other jobs that ran at the same time. */
uint64_t ceiling_jobs_beside(const struct run_result *r, const struct job_result *j);
