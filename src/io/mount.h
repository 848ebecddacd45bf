/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - where files lie: mounts, their devices, and room on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- what lies under a path: filesystem, device, space, alignment, counters ---- */

struct mount {
	char type[32];    /* "ext4", "nfs4", "tmpfs" */
	char source[256]; /* "/dev/vda1", "192.0.2.1:/ai" */
	char target[256]; /* mount point */
	char options[512];
	char device[64];                  /* whole disk, "vda"; "" = no block device */
	char device_kind[32];             /* "virtio", "nvme", "nvme-rdma", "scsi", "md",
					   * ...; "" = unknown */
	char device_model[64];            /* "SAMSUNG MZQL21T9"; "" = unknown */
	char scheduler[32];               /* "none", "mq-deadline", "" = unknown */
	uint64_t read_ahead_bytes;        /* 0 = unknown */
	unsigned dev_major, dev_minor;    /* of the whole disk, for counters */
	unsigned paths;                   /* of a multipath disk; 0 = it is none */
	unsigned osts;                    /* Lustre: storage targets; 0 = unknown */
	bool is_memory;                   /* tmpfs and its kin: files lie in memory */
	bool has_own_cache;               /* in memory, but not the page cache (ZFS, GPFS) */
	uint64_t free_bytes, total_bytes; /* for this user */
	uint64_t free_inodes;             /* the same; UINT64_MAX = it has no number of them */
	bool read_only;
};

/*
 * Look at the nearest existing parent of `path` (the directory itself may not exist yet). A block
 * device is its own mount: type "block device", source and target its path. 0 or -errno with err.
 */
int mount_read(struct mount *m, const char *path, struct mlgen_err *err);

/*
 * The part of mount_read that reads /proc and /sys, of a resolved path and its st_dev; space is not
 * filled. A path that no line of the mount table holds (in a chroot) has its type from statfs, no
 * source, and the target "/" if it lies on the filesystem of the root. For tests, which put a tree
 * at `root` ("" is this machine).
 */
void mount_read_at(struct mount *m, const char *root, const char *path, dev_t dev);

/*
 * Is a block device mounted itself? Then where, cut to `size`. `root` is as above.
 */
bool mount_of_device(char *target, size_t size, const char *root, dev_t dev);

/* One line of the mount table. */
struct mount_listed {
	const char *type, *target, *source;
	dev_t dev; /* as files in it have it */
};

/* Show each, in the order of the table. Nothing is asked of the filesystems: one that does not
 * answer would hold this up. */
void mount_each(void (*see)(void *arg, const struct mount_listed *m), void *arg);

/* "FSTYPE MOUNTPOINT SOURCE" as a trace has it: octal escapes as in /proc/self/mountinfo. */
void mount_put_text(struct buf *out, const char *type, const char *target, const char *source);

/*
 * The alignment O_DIRECT needs (statx STATX_DIOALIGN where the kernel tells, else the logical block
 * size, else 4096). Asks the regular file or block device that it is given, or an unnamed file
 * (O_TMPFILE) in the directory or its nearest existing parent; where none can be made, trusts the
 * filesystem. One that refuses O_DIRECT, and tmpfs where it would mean nothing, is an error that
 * says so.
 */
int mount_direct_alignment(const char *file_or_directory, uint64_t *align_bytes,
			   struct mlgen_err *err);

/* ---- filesystems that fstab(5) names and that are not mounted ---- */

/*
 * Does fstab name a filesystem for this directory, a real path, on which none is mounted now? For
 * tests, which put a tree at `root` ("" is this machine).
 */
bool fstab_awaits(const char *root, const char *directory);

/* ---- why a file could not be made or grow: no inodes, a quota, a limit of its size; and the way
 * out ---- */

/* Room for a sentence with the name of a mount point. */
#define NOROOM_BYTES 400

/*
 * What stands behind strerror() of a call that failed with `code`, -errno, on a file: "; no inodes
 * are left on /mnt ...". `path` need not be there, its nearest folder is asked; the file would have
 * had `end_bytes`, 0 = not known. Empty for other errors, and where it is space that is used up: of
 * that the caller knows how much it lacks. Gives `out`.
 */
const char *noroom_put(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes);
