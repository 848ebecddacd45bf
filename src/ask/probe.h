/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - run the program's own command line once more, with other options. */
#pragma once

#include "ask/ask.h"
#include "base/clock.h"
#include "run/results.h"
#include "run/run.h"

/*
 * A probe is a whole run in this process: the command line is read again with
 * `extra` arguments behind it ("--accelerators=6", "--unet3d.epochs=1"), its
 * jobs prepare what is missing, run, and leave a result. SIGINT ends it as it
 * ends any run. --log is not written.
 */
struct probe {
	struct jobset set;
	char **argv; /* with `extra` */
	int argc;
	struct run *run;
	struct run_result *result; /* of the run; verdicts are filled */
	struct clock *clock;
	bool interrupted;
	/* By a second SIGINT: threads still use it, so that probe_fini leaves it
	 * all where it is, and the program has to end without freeing. */
	bool abandoned;
};

/* The same without a run: the jobs of the command line with `extra`, checked.
 * 0, or -EINVAL with err; jobset_fini in any case. */
int probe_load(struct jobset *set, const struct ask *a,
	       const char *const *extra, size_t extra_count,
	       struct mlgen_err *err);

/* 0; -errno with err where it could not run, or failed: then there may be a
 * result all the same. probe_fini in any case. */
int probe_run(struct probe *p, const struct ask *a, const char *const *extra,
	      size_t extra_count, struct mlgen_err *err);
/* The same, and trainings end where so many percent are out of reach. */
int probe_run_above(struct probe *p, double au_floor, const struct ask *a,
		    const char *const *extra, size_t extra_count,
		    struct mlgen_err *err);
void probe_fini(struct probe *p); /* takes a zeroed one */

/* As if the command line had been that of the probe. */
struct ask probe_ask(const struct probe *p, const struct ask *a);

/* What a run of these jobs is made from. */
struct run_config probe_config(const struct jobset *set,
			       const struct host *host, struct clock *clock);
