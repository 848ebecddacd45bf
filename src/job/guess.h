/* SPDX-License-Identifier: Apache-2.0 */
/* guess.h - `guess`, the options whose values their source has guessed. */
#pragma once

#include "base/buf.h"
#include "job/job.h"

/* Each name in it is that of an option: a fault for each that is not. */
void guess_check(const struct job *j, struct diag *d);

/*
 * "compute_time is a guess of its source", one after the other with "; ", appended; nothing where
 * there is none. A value that was given on the command line is no longer the source's.
 */
void guess_text(const struct job *j, struct buf *out);
