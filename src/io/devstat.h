/* SPDX-License-Identifier: Apache-2.0 */
/* devstat.h - what a block device has done since boot (/sys/block/NAME/stat). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Kernel documentation, block/stat: the first eleven fields. */
struct devstat {
	uint64_t read_ios, read_merges, read_sectors, read_ticks_ms;
	uint64_t write_ios, write_merges, write_sectors, write_ticks_ms;
	uint64_t in_flight, io_ticks_ms, in_queue_ms;
};

/* A sector in these counters is 512 bytes whatever the device's block size. */
#define DEVSTAT_SECTOR_BYTES 512

/* `root` is "" everywhere but in tests, which put a tree there. */

/* Of a disk or a partition. 0, or -ENODATA where there is no such device (name "" included). */
int devstat_read(struct devstat *s, const char *root, const char *name);

/* to -= from; to += from. */
void devstat_subtract(struct devstat *to, const struct devstat *from);
void devstat_add(struct devstat *to, const struct devstat *from);

/* Some devices, by name; a zeroed struct is none. */
#define DEVSET_NAME_BYTES 64
struct devset {
	char (*names)[DEVSET_NAME_BYTES];
	size_t count;
};

void devset_fini(struct devset *set);

/* What lies directly below one: the parts of md and dm, the paths of an NVMe multipath device. Adds
 * to the set, each once. */
void devset_below(struct devset *set, const char *root, const char *name);

/*
 * Those whose counters add up to what `name` does: itself where it keeps some (md, dm), else what
 * lies below it (NVMe multipath before Linux 6.4, and what has queue/iostats=0). 0, or -ENODATA
 * where one of them counts nothing.
 */
int devset_counting(struct devset *set, const char *root, const char *name);

/* The sum over the set. 0, or -ENODATA for none, or where one is gone. */
int devset_read(struct devstat *sum, const struct devset *set, const char *root);
