/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_host.h - is this host the limit? For the other verdict*.c alone. */
#pragma once

#include "base/buf.h"
#include "report/show.h"
#include "report/verdict_ceiling.h"
#include "run/results.h"

/* All that the verdict of a training is made from. */
struct verdict_findings {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	struct show_shares time, loader;
	struct rate_unit unit;
	struct ceiling_gap ceiling;
};

/* "wake-ups on time", "oversleep 0.4% of accelerator time" */
void verdict_put_wakeups(struct buf *out, const struct verdict_findings *f);

/* "mlgen itself took usr 3.8%, sys 10.0%, other processes 86.1%" */
void verdict_put_cpu(struct buf *out, const struct host_result *h);

/* "CPU 97.0% busy (2 CPUs)", "CPU quota 97.0% used (0.5 CPUs)" */
void verdict_put_full(struct buf *out, const struct host_result *h,
		      const struct host *host);

/* Is most of what the CPUs do not mlgen's own? */
bool verdict_cpu_is_of_others(const struct host_result *h);

/* Do accelerators hardly wait, but for the first steps of epochs? */
bool verdict_keeps_up(const struct verdict_findings *f);

/* ... and do they wait there so long that it has to be said? */
bool verdict_has_long_first_steps(const struct verdict_findings *f);

/* A row of a training's verdicts. */
bool verdict_host_holds(const struct verdict_findings *f);
void verdict_host_headline(struct buf *out, const struct verdict_findings *f);
void verdict_host_because(struct buf *out, const struct verdict_findings *f);
void verdict_host_try(struct buf *out, const struct verdict_findings *f);
