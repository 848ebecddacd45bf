/* SPDX-License-Identifier: Apache-2.0 */
/* blockdev.h - block devices that are about to be written: who uses them, and keep others off. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

/*
 * Devices that this program holds exclusively: while it does, nobody can mount them, put them into
 * an array or swap on them. Several jobs of a run may hold the same one, so a run has one set; a
 * zeroed set is empty. Not for several threads at once.
 */
struct blockdev_guard {
	dev_t device;
	int fd;
	unsigned users;
};

struct blockdev_guards {
	struct blockdev_guard *at;
	size_t count, room; /* vec.h */
};

/*
 * Hold the device (its st_rdev), which `path` leads to. 0; -EBUSY with err that says who uses it:
 * it or a partition of it is mounted, swapped on, part of another device, or held by another
 * program; or another -errno with err.
 */
int blockdev_hold(struct blockdev_guards *g, const char *path, dev_t device, struct mlgen_err *err);

/* Once for each blockdev_hold that gave 0. The last one closes the device. */
void blockdev_release(struct blockdev_guards *g, dev_t device);

/* "is mounted at /data", "is swap", ...; what can be told of a busy device. */
#define BLOCKDEV_USER_BYTES 512
void blockdev_user(char out[BLOCKDEV_USER_BYTES], dev_t device);
