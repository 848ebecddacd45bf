/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - what the files of a run lie on, named before the first byte. */
#pragma once

#include "run/slot.h"

/*
 * Print a line for each filesystem or block device that has files of these jobs,
 * so that a disk nobody meant is seen at once; also with --quiet. Of a command
 * that runs its jobs several times the first run does it.
 */
void devices_tell(const struct slot *slots, size_t count);
