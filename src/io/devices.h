/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - mounts and block devices, and counters of storage, network and energy. */
#pragma once

#include <net/if.h>
#include <pthread.h>
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
 * The part of mount_read that reads /proc and /sys, for a resolved path and its st_dev; free and
 * total space are not filled in. If no line of the mount table covers the path (in a chroot), the
 * type comes from statfs, the source is empty, and the target is "/" if the path lies on the
 * filesystem of the root. `root` is "" for this machine; tests set up a tree there.
 */
void mount_read_at(struct mount *m, const char *root, const char *path, dev_t dev);

/* Is the block device itself mounted? Copies the mount point to `target`, cut to `size`. `root` is
 * as in mount_read_at. */
bool mount_of_device(char *target, size_t size, const char *root, dev_t dev);

/* A line of the mount table. */
struct mount_listed {
	const char *type, *target, *source;
	dev_t dev; /* st_dev of its files */
};

/* Call `visit` for each line, in the order of the table. The filesystems are not accessed, because
 * a filesystem that does not answer would block the caller. */
void mount_each(void (*visit)(void *arg, const struct mount_listed *m), void *arg);

/* Append "FSTYPE MOUNTPOINT SOURCE" in the form of a trace, with octal escapes as in
 * /proc/self/mountinfo. */
void mount_append_text(struct buf *out, const char *type, const char *target, const char *source);

/*
 * The alignment that O_DIRECT needs: statx STATX_DIOALIGN where the kernel has it, otherwise the
 * logical block size, otherwise 4096. Queries the given regular file or block device, or an unnamed
 * file (O_TMPFILE) in the directory or its nearest existing parent. If no such file can be created,
 * O_DIRECT is assumed to work. A filesystem that refuses O_DIRECT is an error, and so is tmpfs,
 * where O_DIRECT has no effect.
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
 * The sentence that follows strerror() when a call on a file failed with `code`, -errno: "; /mnt
 * has no free inodes ...", a quota or a limit of the file size, with a remedy. `path` need not
 * exist: its nearest existing folder is examined. The file would have had `end_bytes`, 0 = not
 * known. The text is empty for other errors. It is also empty if no space is left, because the
 * caller knows how much is missing. Returns `out`.
 */
const char *noroom_text(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes);

/* ---- exclusive use of block devices that are about to be written ---- */

/*
 * Devices that this program holds exclusively: no other process can mount them, add them to an
 * array or use them as swap. Several jobs of a run may hold the same device, so a run has one set;
 * a zeroed set is empty. A set is not thread-safe.
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
 * Hold the device (its st_rdev) that `path` leads to. 0 or -errno with err. -EBUSY names the user:
 * the device or a partition of it is mounted, used as swap, part of another device, or held by
 * another program.
 */
int blockdev_hold(struct blockdev_guards *g, const char *path, dev_t device, struct mlgen_err *err);

/* Undo one successful blockdev_hold. The last release closes the device. */
void blockdev_release(struct blockdev_guards *g, dev_t device);

/* Room for the description of a busy device: "is mounted at /data", "is used as swap", ... */
#define BLOCKDEV_USER_BYTES 512

/* ---- counters of a block device since boot (/sys/block/NAME/stat) ---- */

/* Kernel documentation, block/stat: the first eleven fields. */
struct devstat {
	uint64_t read_ios, read_merges, read_sectors, read_ticks_ms;
	uint64_t write_ios, write_merges, write_sectors, write_ticks_ms;
	uint64_t in_flight, io_ticks_ms, in_queue_ms;
};

/* A sector in these counters is 512 bytes whatever the device's block size. */
#define DEVSTAT_SECTOR_BYTES 512

/* `root` is "" except in tests, which set up a tree there. */

/* Read the counters of a disk or a partition. 0, or -ENODATA where there is no such device (name ""
 * included). */
int devstat_read(struct devstat *s, const char *root, const char *name);

/* Subtract or add counters, as in "to -= from" and "to += from". */
void devstat_subtract(struct devstat *to, const struct devstat *from);
void devstat_add(struct devstat *to, const struct devstat *from);

/* Set of device names; a zeroed struct is empty. */
#define DEVSET_NAME_BYTES 64
struct devset {
	char (*names)[DEVSET_NAME_BYTES];
	size_t count;
};

void devset_fini(struct devset *set);

/* Add the devices directly below `name` to the set, each once: the parts of an md or dm device, or
 * the paths of an NVMe multipath device. */
void devset_components(struct devset *set, const char *root, const char *name);

/*
 * Add the devices whose counters sum up to the I/O of `name`: the device itself if it has counters
 * (md, dm), otherwise the devices below it (NVMe multipath before Linux 6.4, and devices with
 * queue/iostats=0). 0, or -ENODATA if one of these devices has no counters.
 */
int devset_counting(struct devset *set, const char *root, const char *name);

/* Sum up the counters of the set. 0, or -ENODATA if the set is empty or a device is gone. */
int devset_read(struct devstat *sum, const struct devset *set, const char *root);

/* ---- the counter of bytes that storage delivered ---- */

/*
 * The bytes that jobs read, minus the bytes that storage delivered in the same time, came from this
 * host's memory. The counter of delivered bytes depends on the filesystem:
 *   block devices    their own counters, for all readers
 *   NFS              mountstats: bytes from the server, for all processes of this host
 *   Lustre           osc and mdc statistics, for all processes of this host
 *   others           /proc/self/io, bytes that this process caused to be read; not every
 *                    filesystem adds to this counter
 *   none of these    unknown
 */
enum memsource_kind {
	MEMSOURCE_NONE,
	MEMSOURCE_DEVICE,
	MEMSOURCE_NFS,
	MEMSOURCE_LUSTRE,
	MEMSOURCE_PROCESS,
};

struct memsource {
	enum memsource_kind kind;
	const char *name; /* name in reports; "unknown" for MEMSOURCE_NONE */
	char scope[256];  /* two sources of equal kind and scope count the same bytes */
	/* False: the filesystem may not count its reads. Trust the counter only if it shows most of
	 * the bytes. */
	bool is_sure;
	struct devset devices;
	char root[128];
};

struct memsource_count {
	uint64_t read_bytes;
	uint64_t reads; /* requests; UINT64_MAX = not counted */
};

/* Choose the first counter that can be read for this mount. `root` is "" except in tests. */
void memsource_open(struct memsource *m, const struct mount *mount, const char *root);
void memsource_close(struct memsource *m); /* accepts a zeroed struct */

/* Read the count since an unspecified start. 0, or -ENODATA. Any thread. */
int memsource_read(const struct memsource *m, struct memsource_count *c);

/* Does the count of `m` include the bytes read from `other`? */
bool memsource_counts(const struct memsource *m, const struct memsource *other);

/* ---- the network interface that carries a remote mount's bytes ---- */

struct netif {
	char name[IFNAMSIZ];
	uint64_t line_rate_bits_per_sec; /* 0 = unknown */
};

/* `root` is "" except in tests, which set up a tree there. */

/*
 * Find the interface that routes to the server of a mount. 0 or -ENODATA. There is no such
 * interface for a local mount, for a server on this host, and for a server without a numeric
 * address in the mount table, because names are not resolved. A mount over RDMA bypasses the
 * counters of its interface.
 */
int netif_find(struct netif *n, const char *root, const struct mount *mount);

/* Parts of netif_find, for tests. Read the server's address from the mount: 0 or -ENODATA. */
int netif_server(char *out, size_t size, const struct mount *mount);
/* Ask the kernel for the interface that it would use for the address; sends no packet. */
int netif_route(char name[IFNAMSIZ], const char *address);
/* Line rate in bits per second of an interface that is hardware, or that has hardware below it (a
 * bond, a VLAN). 0 = unknown; the rate that a virtual interface reports is meaningless. */
uint64_t netif_line_rate(const char *root, const char *name);

/* Bytes received since boot. 0 or -errno. */
int netif_received(uint64_t *bytes, const char *root, const char *name);

/* ---- energy of this host's CPU packages and memory, as RAPL counts it ---- */

/*
 * The kernel's powercap.rst: a zone is a folder in /sys/class/powercap, whose energy_uj counts
 * microjoules up to max_energy_range_uj and begins again at 0. Zones called package-* are summed up
 * as packages, those called dram as memory. Zones of parts of a package (core, uncore) and of the
 * whole platform (psys) are ignored, because they overlap with packages. A second interface to the
 * same counters (intel-rapl-mmio) is also ignored. AMD's zones have the same names.
 *
 * A counter of 262 kJ wraps around in 22 minutes at 200 W, so a meter, which adds up the
 * differences, has to be read more often than that. energy_uj is readable by root alone.
 */
#define ENERGY_ZONES 64

struct energy_zone {
	char path[96]; /* file energy_uj */
	uint64_t last_uj, range_uj;
};

struct energy_meter {
	pthread_mutex_t lock; /* guards all members */
	const char *root;     /* NULL = closed */
	struct energy_zone package[ENERGY_ZONES], dram[ENERGY_ZONES];
	unsigned packages, drams;
	uint64_t package_uj, dram_uj;
	const char *unmeasured;
};

/* Energy since the meter was opened. */
struct energy_counts {
	uint64_t package_uj, dram_uj; /* UINT64_MAX = unknown */
	/* The reason why the packages are unknown, or, if they are known, the memory; a static
	 * string. NULL = both are known. */
	const char *unmeasured;
};

/* `root` is "" for this machine; tests set up a tree there. The string stays the caller's. */
void energy_open(struct energy_meter *m, const char *root);
void energy_close(struct energy_meter *m); /* accepts a zeroed struct */

/* Read the counts since energy_open. Once a zone cannot be read, both sums stay unknown. Any
 * thread. */
void energy_read(struct energy_meter *m, struct energy_counts *c);

/* ---- noise: other processes, a hypervisor, quotas and heat ---- */

/*
 * Counters since boot, for the CPUs that this process may use; UINT64_MAX = unknown. `root` is ""
 * for this machine; tests set up a tree there, whose CPUs are all allowed.
 */
struct noise_counts {
	uint64_t cpus;
	uint64_t steal_ns, guest_ns;
	uint64_t program_ns;              /* all processes, the kernel's own included */
	uint64_t busy_ns;                 /* program_ns, interrupts and steal time */
	uint64_t throttled, throttled_ns; /* quotas of this process's groups */
	uint64_t hot;                     /* times that heat slowed a CPU */
	uint64_t waits_cpu_ns, waits_io_ns, waits_memory_ns; /* pressure */
};

void noise_read(struct noise_counts *c, const char *root);

/* Mean clock of up to eight of these CPUs now, and their maximum, in MHz; NaN = unknown. The
 * current clock is meaningful on a busy host only. */
double noise_clock_mhz(const char *root);
double noise_max_mhz(const char *root);

/* Noise between two reads of the counters. NaN and UINT64_MAX = unknown. */
struct noise {
	/* Percentages are of the CPUs' time unless noted. */
	double steal_percent;
	double guest_percent; /* time of virtual machines of this host */
	/* Other processes, kernel threads and guests; without mlgen and interrupts. */
	double other_percent;
	/* Busy with anything, this process included; relative to the CPUs even with a quota. */
	double busy_percent;
	uint64_t throttled;
	double throttled_percent; /* percent of the wall time, summed over CPUs */
	uint64_t hot;
	/* Percent of the wall time in which any task of the host waited for the resource. */
	double pressure_cpu_percent, pressure_io_percent, pressure_memory_percent;
	double clock_mhz, most_mhz; /* filled by the caller; NaN until then */
};

/* Compute the noise of `wall_ns`, in which this process used `own_ns` of CPU time. */
void noise_between(struct noise *n, const struct noise_counts *before,
		   const struct noise_counts *after, double wall_ns, double own_ns);

/*
 * Kinds of noise that affect a result. Each has a limit. Noise below its limit changes a figure by
 * no more than the figure differs between runs of the same job; see noise.c.
 */
enum noise_kind {
	NOISE_STEAL = 1,
	NOISE_OTHER = 2,
	NOISE_THROTTLED = 4,
	NOISE_HOT = 8,
	NOISE_MEMORY = 16,
};
/* Return the kinds of noise that are above their limits. `cpu_percent` is the load of the allowed
 * CPUs, for documents of older versions without busy_percent; NaN = unknown. */
unsigned noise_affects(const struct noise *n, double cpu_percent);
