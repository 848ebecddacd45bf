/* SPDX-License-Identifier: Apache-2.0 */
/* dirty.h - what this host's memory holds and its storage does not have yet. */
#pragma once

#include <stdint.h>

/* Dirty, under writeback, or sent to an NFS server and not committed there: of all files of the
 * host. `root` as in sysfile.h. 0 or -errno. */
int dirty_bytes(uint64_t *bytes, const char *root);
