/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h - what a message may suggest of a job: nothing that the job would refuse. */
#pragma once

#include <stdbool.h>

#include "job/job.h"

/* Could it have more files, by num_files or dataset_ratio? Those of a scan are what they are. */
bool advice_makes_files(const struct job *j);

/* How it gets more of them: "more num_files", "a directory with more files". What makes_files is
 * follows from advice_makes_files, or from a dataset that is known (dataset_makes_files). */
const char *advice_more_files(const struct job *j, bool makes_files);

/* Does what plays a framework open files of this format with O_DIRECT? */
bool advice_format_takes_direct(const struct job *j);

/* Could direct=1 be set, which it has not: is it taken by engine, format, layout of checkpoints,
 * and by the sizes of requests? */
bool advice_direct(const struct job *j);
