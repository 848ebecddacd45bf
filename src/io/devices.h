/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - what devices, the network and the host did meanwhile. */
#pragma once

#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "io/mount.h"

/* ---- block devices that are about to be written: who uses them, and keep others off ---- */

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

/* ---- what a block device has done since boot (/sys/block/NAME/stat) ---- */

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

/* ---- who counts the bytes that storage delivered, and not memory ---- */

/*
 * What jobs read, less what storage delivered meanwhile, came from this host's memory. Which
 * counter tells that depends on what is mounted:
 *   block devices    their own counters, of all who read from them
 *   NFS              mountstats: bytes from the server, of all on this host
 *   Lustre           osc and mdc statistics, the same
 *   others           /proc/self/io, what this process caused to be read;
 *                    not every filesystem counts there
 *   none of them     unknown
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
	const char *name; /* as reports have it; "unknown" for none */
	char scope[256];  /* with the same kind: the same bytes are counted */
	/* False: it may be that nobody counts. Believe it only where it accounts for most of the
	 * bytes. */
	bool is_sure;
	struct devset devices;
	char root[128];
};

struct memsource_count {
	uint64_t read_bytes;
	uint64_t reads; /* requests; UINT64_MAX = not counted */
};

/* The first that can be read for this mount. `root` is "" but in tests. */
void memsource_open(struct memsource *m, const struct mount *mount, const char *root);
void memsource_close(struct memsource *m); /* takes a zeroed struct */

/* So far, from a beginning that is not known. 0, or -ENODATA. Any thread. */
int memsource_read(const struct memsource *m, struct memsource_count *c);

/* Is what is read from `other` in the count of `m`? */
bool memsource_counts(const struct memsource *m, const struct memsource *other);

/* ---- the network interface that a remote mount's bytes come through ---- */

struct netif {
	char name[IFNAMSIZ];
	uint64_t line_rate_bits_per_sec; /* 0 = unknown */
};

/* `root` is "" everywhere but in tests, which put a tree there. */

/*
 * The interface that routes to the server of a mount. 0, or -ENODATA: nothing remote, a server
 * without a numeric address in the mount table (no name is looked up), one on this host, or a mount
 * over RDMA, whose bytes pass by the counters of the interface.
 */
int netif_find(struct netif *n, const char *root, const struct mount *mount);

/* Its parts, for tests. The server's address: 0 or -ENODATA. */
int netif_server(char *out, size_t size, const struct mount *mount);
/* Which interface the kernel would send to that address; sends nothing. */
int netif_route(char name[IFNAMSIZ], const char *address);
/* What its hardware (of a bond or VLAN: the one below) says; 0 = unknown, also of a virtual
 * interface, which names a rate that is nobody's. */
uint64_t netif_line_rate(const char *root, const char *name);

/* Bytes received since boot. 0 or -errno. */
int netif_received(uint64_t *bytes, const char *root, const char *name);

/* ---- joules that this host's packages and memory have taken, as RAPL counts them ---- */

/*
 * The kernel's powercap.rst: a zone is a folder in /sys/class/powercap, whose energy_uj counts
 * microjoules up to max_energy_range_uj and begins again at 0. Zones called package-* add up to the
 * packages, those called dram to their memory; those of parts of a package (core, uncore) and of
 * the whole platform (psys) are in others or beside them, and what a second interface counts again
 * (intel-rapl-mmio) is left out. AMD's zones have the same names.
 *
 * A counter of 262 kJ goes round in 22 minutes at 200 W: a meter has to be read more often than
 * that, and adds up what it sees. energy_uj is for root alone.
 */
#define ENERGY_ZONES 64

struct energy_zone {
	char path[96]; /* of energy_uj */
	uint64_t last_uj, range_uj;
};

struct energy_meter {
	pthread_mutex_t lock; /* of all of it */
	const char *root;     /* NULL = closed */
	struct energy_zone package[ENERGY_ZONES], dram[ENERGY_ZONES];
	unsigned packages, drams;
	uint64_t package_uj, dram_uj;
	const char *unmeasured;
};

/* Since the meter was opened. */
struct energy_counts {
	uint64_t package_uj, dram_uj; /* UINT64_MAX = unknown */
	/* Why the packages are, or else the memory is; static; NULL = both are known. */
	const char *unmeasured;
};

/* `root` is "" for this machine; tests put a tree there. It stays the caller's. */
void energy_open(struct energy_meter *m, const char *root);
void energy_close(struct energy_meter *m); /* takes a zeroed one */

/* Any thread: what the zones have counted so far. One that cannot be read any more leaves its sum
 * unknown from then on. */
void energy_read(struct energy_meter *m, struct energy_counts *c);

/* ---- what else this machine did meanwhile: other processes, a hypervisor, quotas, heat ---- */

/*
 * Counters since boot, of the CPUs that this process may use; UINT64_MAX = this machine does not
 * tell. `root` is "" for this machine; tests put a tree there, whose CPUs are all allowed.
 */
struct noise_counts {
	uint64_t cpus;
	uint64_t steal_ns, guest_ns;
	uint64_t program_ns;              /* of all processes, the kernel's own too */
	uint64_t busy_ns;                 /* that, interrupts and what was stolen */
	uint64_t throttled, throttled_ns; /* by quotas of our groups */
	uint64_t hot;                     /* times that heat slowed a CPU */
	uint64_t waits_cpu_ns, waits_io_ns, waits_memory_ns; /* pressure */
};

void noise_read(struct noise_counts *c, const char *root);

/* Mean clock of up to eight of these CPUs now, and the highest they have, in MHz; NaN = unknown. A
 * busy host's tells something, an idle one's does not. */
double noise_clock_mhz(const char *root);
double noise_most_mhz(const char *root);

/* Between two of them. NaN and UINT64_MAX = unknown. */
struct noise {
	double steal_percent; /* of the CPUs' time, as all but pressure */
	double guest_percent; /* for virtual machines of this host */
	/* Neither mlgen nor interrupts: other processes, threads of the kernel. Guests are in
	 * it. */
	double other_percent;
	/* By anyone, this process included; a quota changes nothing of it. */
	double busy_percent;
	uint64_t throttled;
	double throttled_percent; /* of the time, summed over CPUs */
	uint64_t hot;
	/* Percent of the time in which someone waited for it, of anyone. */
	double pressure_cpu_percent, pressure_io_percent, pressure_memory_percent;
	double clock_mhz, most_mhz; /* filled by whoever looked meanwhile */
};

/* `own_ns`: CPU time of this process in these `wall_ns`. */
void noise_between(struct noise *n, const struct noise_counts *before,
		   const struct noise_counts *after, double wall_ns, double own_ns);

/*
 * Which of it touches a result, each with a limit below which it cannot move a figure by more than
 * other runs of the same job do: see noise.c.
 */
enum noise_kind {
	NOISE_STEAL = 1,
	NOISE_OTHER = 2,
	NOISE_THROTTLED = 4,
	NOISE_HOT = 8,
	NOISE_MEMORY = 16,
};
/* `cpu_percent`: how busy the allowed CPUs were, where the noise does not know it (an older
 * program's documents); NaN = unknown. */
unsigned noise_touches(const struct noise *n, double cpu_percent);
