/* SPDX-License-Identifier: Apache-2.0 */
/* elsewhere.h - what DLIO and PyTorch call the options of a job. */
#pragma once

#include "job/job.h"

/*
 * The option of mlgen for a name of DLIO or PyTorch, such as "reader.batch_size", "batch_size_eval"
 * or "num_workers"; NULL = none. A key of DLIO is found by its last part, too. The names are those
 * in the help of the options, and a few that are only said.
 */
const char *elsewhere_option(const char *name);
