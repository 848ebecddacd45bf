/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile.h - a job file as written: its sections and their options. */
#pragma once

#include "job/diag.h"
#include "job/optlist.h"

/* A file has no more sections than this; what follows is noise. */
#define JOBFILE_SECTIONS_MAX 1000
#define JOBFILE_NAME_MAX 128

/* What a header says. */
enum section_kind {
	SECTION_JOB,
	SECTION_GLOBAL,
	SECTION_VARIANT, /* [accelerator=h100] */
};

struct section {
	enum section_kind kind;
	char *name;                         /* without the brackets */
	const char *value;                  /* VARIANT: what stands behind '=' */
	const struct mlgen_field *selector; /* VARIANT: what before it */
	size_t parent;                      /* VARIANT: index of the section above */
	struct diag_place at;
	struct optlist opts;
	/* Of the [global]s above, the last one's value of each; GLOBAL: with its own. Borrowed by
	 * the sections below it; NULL = none. */
	struct optlist *globals;
};

struct jobfile {
	struct section *sections;
	size_t count;
	char **paths; /* of all files read; places point to them */
	size_t path_count;
};

/* Would [name] be a job, and not [global] or [accelerator=...]? */
bool jobfile_is_job_name(const char *name);

/*
 * Read a file, "-" for stdin, with everything it includes. Faults go to `d`; what was understood is
 * in `f` all the same. fini in any case.
 */
void jobfile_read(struct jobfile *f, const char *path, struct diag *d);
void jobfile_fini(struct jobfile *f);
