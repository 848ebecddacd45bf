/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h - the options of one job in the order in which they count. */
#pragma once

#include "job/cmdline.h"
#include "job/jobfile.h"

struct buf;

/* Where a job comes from: a section of a file, or the command line alone. */
struct job_source {
	const char *name;
	const struct jobfile *file;    /* NULL: --name=NAME */
	const struct section *section; /* of `file` */
	const struct optlist *opts;    /* the job's own */
};

struct layer {
	const struct optlist *opts;
	char *how;                          /* for job_origin */
	bool is_own;                        /* said of this job, not of several */
	const struct mlgen_field *selector; /* of a variant, which it chose */
	const char *selected;               /* the value, as the variant has it */
};

/* Globals < the job's own < its selected variants < command line. */
struct layers {
	struct job_source src;
	const struct cmdline *cmd;
	struct layer *items; /* the weakest first */
	size_t count;
	bool is_plain; /* a plain job, as far as is known before any variant is */
};

/* The source and the command line are borrowed. */
void layers_init(struct layers *l, const struct job_source *src, const struct cmdline *cmd);
void layers_fini(struct layers *l);

/* Tell which options chose none of their [option=value] sections; false: some. */
bool layers_check(const struct layers *l, struct diag *d);

/* Append what an option may be to choose a section of the job's: " a100 h100". */
void layers_variants(const struct layers *l, const struct mlgen_field *f, struct buf *out);

/* The strongest that is written; NULL = none. */
const struct opt *layers_find(const struct layers *l, const char *option);
