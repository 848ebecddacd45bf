/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_job.h - the job file that does what a workload of DLIO says. */
#pragma once

#include "import/dlio/dlio_config.h"

/*
 * Append the job file. `file` is the YAML's path, for comments, and for a name where it has none.
 * What cannot be said in a job file becomes a fault of the configuration: look at fault_count, and
 * use nothing of `out` then.
 */
void dlio_job(struct dlio_config *c, const char *file, struct buf *out);
