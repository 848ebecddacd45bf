/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h - datasets that several jobs of a run read. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "run/slot.h"

/*
 * One directory holds one dataset, or parts of it: sets slot->largest of all,
 * the job that reads most of it. 0, or -EINVAL with err where two jobs
 * describe the same directory differently.
 */
int shared_find(struct slot *slots, size_t count, struct mlgen_err *err);
