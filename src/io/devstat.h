/* SPDX-License-Identifier: Apache-2.0 */
/* devstat.h - what a block device has done since boot (/sys/block/NAME/stat). */
#pragma once

#include <stdint.h>

/* Kernel documentation, block/stat: the first eleven fields. */
struct devstat {
	uint64_t read_ios, read_merges, read_sectors, read_ticks_ms;
	uint64_t write_ios, write_merges, write_sectors, write_ticks_ms;
	uint64_t in_flight, io_ticks_ms, in_queue_ms;
};

/* A sector in these counters is 512 bytes whatever the device's block size. */
#define DEVSTAT_SECTOR_BYTES 512

/* 0, or -ENODATA where there is no such device (name "" included). `root` is
 * "" but in tests, which put a tree there. */
int devstat_read(struct devstat *s, const char *root, const char *name);

/* to -= from. */
void devstat_subtract(struct devstat *to, const struct devstat *from);
