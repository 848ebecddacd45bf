/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - the mounts that files lie on: devices, free space, and alignment of O_DIRECT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* ---- the filesystem and device under a path: space, alignment, counters ---- */

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
	unsigned dev_major, dev_minor;    /* the whole disk, for counters */
	unsigned paths;                   /* paths of a multipath disk; 0 = no multipath */
	unsigned osts;                    /* Lustre: storage targets; 0 = unknown */
	bool is_memory;                   /* files lie in memory, as in tmpfs */
	bool has_own_cache;               /* keeps files in memory outside the page cache (ZFS,
					   * GPFS) */
	uint64_t free_bytes, total_bytes; /* space for this user */
	uint64_t free_inodes;             /* inodes for this user; UINT64_MAX = unlimited */
	bool read_only;
};

/*
 * Describe the mount of `path` or of its nearest existing parent (the directory itself may not
 * exist yet). A block device is its own mount: type "block device", source and target its path. 0
 * or -errno with err.
 */
int mount_read(struct mount *m, const char *path, struct mlgen_err *err);

/*
 * The part of mount_read that reads /proc and /sys, for a resolved path and its st_dev; space is
 * not filled. A path that no line of the mount table covers (in a chroot) has its type from statfs,
 * no source, and the target "/" if it lies on the filesystem of the root. `root` is "" for this
 * machine; tests set up a tree there.
 */
void mount_read_at(struct mount *m, const char *root, const char *path, dev_t dev);

/* Is a block device mounted itself? Copies the mount point to `target`, cut to `size`. `root` is as
 * in mount_read_at. */
bool mount_of_device(char *target, size_t size, const char *root, dev_t dev);

/* A line of the mount table. */
struct mount_listed {
	const char *type, *target, *source;
	dev_t dev; /* st_dev of its files */
};

/* Call `visit` for each line, in the order of the table. The filesystems themselves are not asked:
 * one that does not answer would block the caller. */
void mount_each(void (*visit)(void *arg, const struct mount_listed *m), void *arg);

/* Append "FSTYPE MOUNTPOINT SOURCE" in the form of a trace, with octal escapes as in
 * /proc/self/mountinfo. */
void mount_append_text(struct buf *out, const char *type, const char *target, const char *source);

/*
 * The alignment that O_DIRECT needs: statx STATX_DIOALIGN where the kernel has it, otherwise the
 * logical block size, otherwise 4096. Queries the given regular file or block device, or an unnamed
 * file (O_TMPFILE) in the directory or its nearest existing parent. Where no such file can be made,
 * the filesystem is trusted. A filesystem that refuses O_DIRECT is an error, and so is tmpfs, where
 * O_DIRECT means nothing.
 */
int mount_direct_alignment(const char *file_or_directory, uint64_t *align_bytes,
			   struct mlgen_err *err);

/* ---- filesystems listed in fstab(5) that are not mounted ---- */

/*
 * Does fstab list a filesystem for this directory, a real path, on which none is mounted now?
 * `root` is "" for this machine; tests set up a tree there.
 */
bool fstab_expects_mount(const char *root, const char *directory);

/* ---- explain why a file could not be created or grown ---- */

/* Room for a sentence with the name of a mount point. */
#define NOROOM_BYTES 400

/*
 * The sentence that follows strerror() when a call failed with `code`, -errno, on a file: "; no
 * inodes are left on /mnt ...", a quota, a limit of the file size; and the way out. `path` need not
 * exist: its nearest existing folder is examined. The file would have had `end_bytes`, 0 = not
 * known. The text is empty for other errors, and where space is used up: the caller knows how much
 * is missing. Returns `out`.
 */
const char *noroom_text(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes);
