/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_name.h - names of the directories of checkpoints, given and recognised. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/state/checkpoints.h"

/* That of an epoch (they count from 1), a step and a place. */
void checkpoint_put_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch, uint64_t step,
			 enum checkpoint_place place);

/* Is it a name as we give them? Then name, epoch, step and place of `k`. */
bool checkpoint_read_name(const char *name, struct checkpoint *k);
