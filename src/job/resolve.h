/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - one job from its layers of options. */
#pragma once

#include "job/cmdline.h"
#include "job/job.h"
#include "job/jobfile.h"
#include "job/jobset.h"
#include "job/standin.h"

/* A shared object that was loaded, stood in for, or could not be had, as
 * ioengine= names it. */
struct loaded_engine {
	char *path;
	const struct mlgen_engine *engine; /* NULL: see err */
	struct mlgen_err err;
};

struct resolver {
	const struct jobset_env *env;
	const struct cmdline *cmd;
	struct diag *d;
	bool only_looks; /* nothing runs, so no shared object is loaded */
	struct standins *standins;    /* those of the jobset */
	struct loaded_engine *loaded; /* owned, by resolve_engine_fini */
	size_t loaded_count;
};

/* Where a job comes from: a section of a file, or the command line alone. */
struct job_source {
	const char *name;
	struct diag_place at;
	const struct jobfile *file;    /* NULL: --name=NAME */
	size_t section;                /* index in `file` */
	const struct optlist *globals; /* of the [global]s above */
	const struct optlist *opts;    /* the job's own */
};

/*
 * Check each option by itself, also where no job will use it. `selector` is
 * that of a variant's section, which cannot be set inside it, or NULL.
 */
void resolve_check(const struct resolver *r, const struct optlist *list,
		   const struct mlgen_field *selector);

/*
 * Defaults < globals < the job's own < its selected variants < command line.
 * Always gives a job; `*is_whole` says whether all of it was understood.
 */
struct job *resolve_job(struct resolver *r, const struct job_source *src,
			bool *is_whole);
