/* SPDX-License-Identifier: Apache-2.0 */
/* cmdline.h - a command line as written: files, jobs, options, settings. */
#pragma once

#include "job/diag.h"
#include "job/optlist.h"
#include "job/settings.h"

/* Options that belong together: to all jobs, to [SECTION], to --name=NAME. */
struct cmdline_part {
	char *name;
	struct optlist opts;
};

struct cmdline {
	char **files; /* as given */
	size_t file_count;
	/* Behind "--" where --capture stands before it, NULL-ended; argv's. NULL = there is no
	 * such. */
	char *const *command;
	struct optlist all;            /* --option=value */
	struct cmdline_part *sections; /* --section.option=value */
	size_t section_count;
	struct cmdline_part *jobs; /* --name=NAME and what follows */
	size_t job_count;
};

/* Read argv; faults go to `d`. fini in any case, also of the settings. Without files and names,
 * --dataset=scan is a job of that name. */
void cmdline_read(struct cmdline *c, struct settings *s, int argc, char *const argv[],
		  struct diag *d);
void cmdline_fini(struct cmdline *c);
