/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - what the files of a run lie on, named before the first byte, with what is done to its
 * caches. */
#pragma once

#include "run/slot.h"

/*
 * Print a line for each filesystem or block device that has files of these jobs, so that a disk
 * nobody meant is seen at once; also with --quiet. Then a note for each job that empties the page
 * cache of this host. Of a command that runs its jobs several times the first run does it.
 */
void devices_tell(const struct slot *slots, size_t count);
