/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - which options belong to which phase, and what they are there by default. */
#pragma once

#include "job/job.h"

/* Has a job of this phase that option? Of job_fields. */
bool phase_has(int phase, const struct mlgen_field *f);

/* "train", "prepare", "io", "checkpoint" or "restore". */
const char *phase_name(int phase);

/* "an option of phase=train"; of one that not every phase has. */
const char *phase_of(const struct mlgen_field *f);

/* Defaults of j->phase that differ from those in job_fields. */
void phase_set_defaults(struct job *j);
