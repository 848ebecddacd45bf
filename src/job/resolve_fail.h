/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_fail.h - the words for options that no job has, or not this one. */
#pragma once

#include "job/job.h"
#include "job/resolver.h"

/* Nobody knows it: an option of fio, of the command line, or a slip of the pen. What fio has and
 * changes nothing here is a note. */
void resolve_fail_unknown(const struct resolver *r, const struct opt *o);

/* It may be one of the shared object of `e`, which is not loaded, or a slip of the pen: a note. */
void resolve_note_unchecked(const struct resolver *r, const struct opt *o,
			    const struct mlgen_engine *e);

/*
 * One that other workloads have. A mistake where the job itself says it (`is_own`), or where it is
 * not clear which phase was meant (`is_decided`); what is said of several jobs is only noted, so
 * that a file can hold trainings and plain jobs. False: it was a mistake.
 */
bool resolve_fail_phase(const struct resolver *r, const struct opt *o, const struct job *j,
			bool is_decided, bool is_own);
