/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_options.h - the options of jobs, of their engines too, as maps of the JSON document. */
#pragma once

#include "report/metrics.h"

/* What [global] sets for all jobs alike, as written. */
void metrics_options_global(struct metric_list *map, const struct jobset *set);

/* members, options, options_resolved and options_origin of a record. */
void metrics_options_fill(struct metrics_job *m, const struct job *j, const struct jobset *set,
			  unsigned members);

/* Of any of these. */
void metrics_options_fini(struct metric_list *map);
