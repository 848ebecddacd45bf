/* SPDX-License-Identifier: Apache-2.0 */
/* ignored.h - which errors count instead of ending a run: continue_on_error and ignore_error. */
#pragma once

#include <stdbool.h>

#include <mlgen/engine.h>

#include "job/job.h"

/* What a request that fails with EAGAIN met, as with nowait=1. */
#define IGNORED_HINT_EAGAIN "it would have had to wait; ignore_error=EAGAIN counts such"

/* Is the option's text a list, "EAGAIN" or "EAGAIN:5,ENOSPC" (reads, writes)? 0, or -EINVAL with
 * err, which names the word. NULL is the empty list. */
int ignored_check(const char *text, struct mlgen_err *err);

/* Any error at all? */
bool ignored_any(const struct job *j);

/*
 * Does this one count (a negative errno)? A list is all that counts of its kind. To a training each
 * of its operations is a read.
 */
bool ignored_counts(const struct job *j, enum mlgen_op op, int error);
