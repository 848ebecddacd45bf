/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - what stands for something else in a value: ${VAR} and $ncpus. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "base/buf.h"

/*
 * Append `text` with ${VAR} and ${VAR:-default} replaced from the environment. 0, or -EINVAL: a
 * variable that is not set and has no default, or a form that is neither.
 */
int words_expand_env(struct buf *out, const char *text, struct mlgen_err *err);

/*
 * Append `text` with $ncpus, $mb_memory, $pagesize and $jobname replaced. 0, or -EINVAL for another
 * word behind a '$'.
 */
int words_expand(struct buf *out, const char *text, const char *jobname, struct mlgen_err *err);

/* Would either of them take what begins at this '$' for its own? */
bool words_is_replaced(const char *dollar);
