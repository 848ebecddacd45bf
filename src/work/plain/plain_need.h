/* SPDX-License-Identifier: Apache-2.0 */
/* plain_need.h - what a plain job takes of memory, and what can be lowered. */
#pragma once

#include "run/memneed.h"

/* Add what it takes, with so many files for each of its workers. */
void plain_need(struct memneed *n, const struct job *job, size_t files);

/* As put_costs of run/activity.h. */
void plain_put_costs(struct buf *out, const struct job *job);
