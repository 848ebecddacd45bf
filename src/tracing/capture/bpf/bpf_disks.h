/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_disks.h - the disks below a file system, and their names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Devices are as the kernel has them: major << 20 | minor. */

/* Whole disks that serve this device, at most `most`: through partitions and what is stacked on
 * others (dm, md). How many; 0 = none is known. */
size_t disks_below(uint32_t dev, uint32_t *disks, size_t most);

/* "/dev/vda", or "(disk 253:0)". */
void disk_name(char *out, size_t bytes, uint32_t dev);
