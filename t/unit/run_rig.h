/* SPDX-License-Identifier: Apache-2.0 */
/* run_rig.h - trainings of a few steps, for the tests of runs. */
#pragma once

#include <check.h>

#include "run/run.h"
#include "train_rig.h"

struct ran {
	struct clock *clock;
	struct run *run;
	struct run_result *result;
	const struct job_result *job;
	const struct ml_result *ml;
};

static const struct host host = {
	.cpus = 2, .cpus_online = 2, .memory_bytes = 1ull << 30, .open_files = 1024
};

static inline struct ran go(struct job **jobs, size_t count)
{
	struct ran r = { .clock = clock_new_virtual(1000 * MS) };
	struct run_config cfg = { .jobs = jobs, .count = count, .host = &host, .clock = r.clock };
	struct mlgen_err err = { 0 };

	ck_assert_msg(run_new(&r.run, &cfg, &err) == 0, "%s", err.text);
	run_execute(r.run);
	r.result = run_collect(r.run);
	r.job = &r.result->jobs[0];
	r.ml = &r.job->ml;
	return r;
}

static inline void end(struct ran *r, struct job **jobs, size_t count)
{
	run_free(r->run);
	clock_free(r->clock);
	for (size_t i = 0; i < count; i++)
		job_free(jobs[i]);
}

static const int loaders[] = { LOADER_PYTORCH, LOADER_PLAIN, LOADER_TFDATA };
