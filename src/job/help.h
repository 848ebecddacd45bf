/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - --cmdhelp and the lists of the man pages, all from the tables. */
#pragma once

#include <stdio.h>

#include <mlgen/engine.h>

#include "job/jobset.h"

/* --cmdhelp=OPTION|all. 0, or -ENOENT with a suggestion in err. */
int help_option(FILE *to, const char *name, const struct mlgen_engine *const *engines,
		struct mlgen_err *err);

/* The option list of a man page (mdoc) from a table. */
void help_mdoc(FILE *to, const struct mlgen_field *table);
