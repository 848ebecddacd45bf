/* SPDX-License-Identifier: Apache-2.0 */
/* replay_check.h - what relates two options of a replay. */
#pragma once

#include "job/job.h"

void replay_check(const struct job *j, struct diag *d);
