/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h - datasets that several jobs of a run read. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "run/slot.h"

/* Sets slot->largest of all: of those that read the same directory the job that reads most of
 * it. */
void shared_find(struct slot *slots, size_t count);

/* One directory holds one dataset, or parts of it: 0, or -EINVAL with err where a job before this
 * one describes the same directory differently. */
int shared_check(const struct slot *s, struct mlgen_err *err);
