/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - --cmdhelp, --showjob and the lists of the man pages, all from the tables. */
#pragma once

#include <stdio.h>

#include <mlgen/engine.h>

#include "job/jobset.h"

/* --cmdhelp=OPTION|all. 0, or -ENOENT with a suggestion in err. */
int help_option(FILE *to, const char *name,
		const struct mlgen_engine *const *engines,
		struct mlgen_err *err);

/*
 * --showjob: a job file that parses back to the same job, every option with
 * its origin in a comment line above it.
 */
void help_showjob(FILE *to, const struct jobset *set);

/* The option list of a man page (mdoc) from a table. */
void help_mdoc(FILE *to, const struct mlgen_field *table);
