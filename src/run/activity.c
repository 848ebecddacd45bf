/* SPDX-License-Identifier: Apache-2.0 */
/* activity.c - see activity.h. */
#include "run/activity.h"

#include "io/engines.h"

int activity_try_engine(const struct job *j, struct clock *clock, struct mlgen_err *err)
{
	struct mlgen_engine_job trial = {
		.engine = j->engine, .opts = j->engine_opts, .workers = 1, .find = engines_find
	};
	struct opstat stat;
	struct io_config cfg = { .job = &trial,
				 .clock = clock,
				 .stat = &stat,
				 .iodepth = job_depth(j),
				 .buf_bytes = 4096 };
	struct io *io = NULL;
	int rc = j->engine->job_init ? j->engine->job_init(&trial, err) : 0;

	opstat_init(&stat);
	if (rc == 0)
		rc = io_new(&io, &cfg, err);
	io_free(io);
	opstat_fini(&stat);
	if (j->engine->job_fini)
		j->engine->job_fini(&trial);
	return rc;
}

int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	if (!s->job->engine || !s->job->engine->submit)
		return 0;
	return activity_try_engine(s->job, run->cfg.clock, err);
}

int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	return slot_place(s, slot_touches_files(s) ? &s->mount : NULL, err);
}
