/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h - the options of one job in the order in which they count. */
#pragma once

#include "job/resolve.h"

struct layer {
	const struct optlist *opts;
	char *how;   /* for job_origin */
	bool is_own; /* said of this job, not of several */
};

struct layers {
	struct layer *items; /* the weakest first */
	size_t count;
};

/* False: an [option=value] section could not be chosen, which was told. */
bool layers_init(struct layers *l, const struct resolver *r,
		 const struct job_source *src);
void layers_fini(struct layers *l);

bool layers_have(const struct layers *l, const char *option);
