/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the host that mlgen runs on: CPUs, memory, limits, page cache. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "io/devices.h"

/* ---- the part of one file: drop and measure it ---- */

/* Open, write dirty pages to storage, fadvise(DONTNEED), close. 0 or -errno. Pages that another
 * process has mapped or locked stay. */
int pagecache_drop(const char *path);

/*
 * Measure the resident bytes of a file with mincore on a mapping that is never touched. 0 or
 * -errno; both results in bytes.
 */
int pagecache_resident(const char *path, uint64_t *resident_bytes, uint64_t *file_bytes);

/*
 * Like pagecache_resident, but in a bounded time: in a larger file only PAGECACHE_SAMPLE_BYTES are
 * examined: one range in each quarter of the file, at a place that `seed` chooses.
 */
#define PAGECACHE_SAMPLE_BYTES (UINT64_C(1) << 20)
int pagecache_sample(const char *path, uint64_t seed, uint64_t *resident_bytes,
		     uint64_t *sampled_bytes);

/* ---- empty this host's page cache (vm.drop_caches) ---- */

/* Check for permission to empty the cache; `root` as in host_cgroup_limits. 0, or -errno with err,
 * which suggests a remedy. */
int dropcaches_check(const char *root, struct mlgen_err *err);

/* Write back dirty pages, because only clean pages can be dropped; then drop pages, dentries and
 * inodes. 0 or -errno with err. */
int dropcaches_run(const char *root, struct mlgen_err *err);

/* ---- bytes in memory that storage does not have yet ---- */

/* Bytes of this host's files that are dirty, under writeback, or sent to an NFS server but not yet
 * committed there. `root` as in host_cgroup_limits. 0 or -errno. */
int dirty_bytes(uint64_t *bytes, const char *root);

/* ---- this machine: CPUs, memory, kernel, limits, CPU time used ---- */

struct host {
	char hostname[64];
	char kernel[96]; /* "Linux 6.1.0" */
	uint64_t cpus;   /* allowed (affinity, cgroup quota rounded up) */
	uint64_t cpus_online;
	uint64_t memory_bytes;       /* the smaller of MemTotal and the cgroup limit */
	uint64_t memory_limit_bytes; /* option memory_limit; 0 = none */
	/* Hosts of the job in addition to this one, and the sum of their memory_bytes. */
	uint64_t other_hosts, others_memory_bytes;
	uint64_t open_files; /* RLIMIT_NOFILE, soft */
	char cpu_model[96];  /* "" = unknown */
	uint64_t numa_nodes; /* 0 = unknown */
	/* Command line of this process, quoted for a shell; "..." at its end if it was cut. */
	char command[4096];
};

void host_read(struct host *h);

/* Memory of all hosts of the job, with which the size of its dataset is compared. */
uint64_t host_job_memory_bytes(const struct host *h);

/* Parts of host_read that read files; `root` as in host_cgroup_limits. */
void host_read_model(struct host *h, const char *root);
/* Read the command line; it begins with mpirun or srun where such a launcher started this process
 * and runs on this host. */
void host_read_command(struct host *h, const char *root);

/* Append one argument to a command line, quoted if a shell would split or expand it. False: no
 * room. */
bool host_append_argument(char *out, size_t size, const char *arg);

/*
 * Lower *cpus and *memory_bytes to the limits of this process's control groups (v2 cpu.max and
 * memory.max, v1 cfs quota and limit_in_bytes; its own group and all above). `root` is "" for this
 * machine; tests set up a tree there.
 */
void host_cgroup_limits(const char *root, uint64_t *cpus, uint64_t *memory_bytes);

/* Resident memory of this process, and the page cache of the host ("Cached" of /proc/meminfo),
 * bytes; 0 = unknown. */
uint64_t host_resident_bytes(void);
uint64_t host_page_cache_bytes(void);

/* Bytes received and sent since boot by all interfaces of this network namespace except the
 * loopback. False = not known. */
bool host_network_read(const char *root, uint64_t *received_bytes, uint64_t *sent_bytes);

/* The capacity that CPU time is related to, and the processes whose time is counted. */
enum host_cpu_of {
	HOST_CPU_OF_ALLOWED,     /* the allowed CPUs, all processes */
	HOST_CPU_OF_QUOTA,       /* a control group's quota, all processes of the group */
	HOST_CPU_OF_QUOTA_ALONE, /* a quota, this process alone: the group's use is unknown */
};

/*
 * CPU time so far in ns. The time of this process is from getrusage. Busy time is the time of all
 * processes that share `cpus`: from /proc/stat for the allowed CPUs
 * (user+nice+system+irq+softirq+steal), or, if a quota is lower, the time that its group has used.
 */
struct host_cpu {
	uint64_t process_user_ns, process_system_ns;
	uint64_t busy_ns; /* sum over CPUs; 0 = unknown */
	double cpus;      /* a fraction is possible with a quota */
	enum host_cpu_of of;
	uint64_t switches; /* context switches of this process */
};
void host_cpu_read(struct host_cpu *c);

/* Part of host_cpu_read: switch to the quota of this process's control groups if that is less than
 * c->cpus; `root` as in host_cgroup_limits. */
void host_cpu_limit(struct host_cpu *c, const char *root);

/* Busy share of the CPUs between two reads, 0..100, in ticks of 10 ms; NaN = unknown. */
double host_cpu_percent(const struct host_cpu *before, const struct host_cpu *after,
			uint64_t wall_ns);

/*
 * Bind the calling thread to a list of CPUs in fio's form, "0-1,3"; with apply=false, only check
 * the list. The CPUs must be among those that the main thread may use. 0, -EINVAL for a bad list,
 * or the system's -errno, with err ("cpus_allowed: ...").
 */
int host_set_cpus(const char *list, bool apply, struct mlgen_err *err);

/* ---- facts that a trace records about its program and host ---- */

/* Pass each key and its value to `put`: program, version, host, kernel, cpus, memory_bytes,
 * command. */
void host_facts(const struct host *h, void (*put)(void *arg, const char *key, const char *value),
		void *arg);

/* ---- NUMA: the node of a disk, the CPUs of a node, where a thread runs ---- */

/*
 * Nodes have the numbers that the kernel gives them. Paths below /sys are joined to `root`, "" for
 * this machine; tests set up a tree there.
 */

#define TOPOLOGY_NODES 1024u /* maximum that Linux can be built for */

/* Does the machine have more than one node? Reads a single file, which is cheap enough for every
 * start. */
bool topology_has_nodes(const char *root);

/*
 * The node that the disk under a mount is attached to. A disk made of other disks (md, dm, NVMe
 * with several paths) has the common node of its parts. -ENODATA if there is no such node or the
 * node is unknown; `why` gets the reason as a clause.
 */
int topology_disk_node(const char *root, const struct mount *m, struct mlgen_err *why);

/* The CPUs of all nodes. */
struct topology;

/*
 * Read the topology with hwloc. This takes milliseconds, so only a job that binds threads does it.
 * `allowed` lists the CPUs that may be used; NULL = those of the main thread.
 */
int topology_new(struct topology **out, const char *allowed, struct mlgen_err *err);
void topology_free(struct topology *t); /* NULL is fine */

/* Binding options of a job; NULL or negative = not set. */
struct topology_request {
	const char *cpus;  /* cpus_allowed */
	const char *nodes; /* numa_cpu_nodes: a list or "all" */
	int disk_node;     /* numa=device */
	const char *disk;  /* name of the disk, for a message */
};

/*
 * Choose the allowed CPUs, as lists such as 0-3,8, for a job's threads and for its read threads.
 * The caller frees both lists. Without a disk_node the lists are equal. -EINVAL with err if a node
 * does not exist or no CPU is left.
 */
int topology_plan(const struct topology *t, const struct topology_request *w, char **thread_cpus,
		  char **loader_cpus, struct mlgen_err *err);

struct node_set {
	uint64_t bits[TOPOLOGY_NODES / 64];
};

void node_set_add(struct node_set *s, unsigned node);
void node_set_merge(struct node_set *to, const struct node_set *from);
/* Append a list such as "0-1,3". */
void node_set_text(const struct node_set *s, struct buf *out);

/* Nodes on which a thread ran, sampled by the thread itself. Private to the thread. */
struct node_watch {
	struct node_set seen;
	uint64_t looks, far; /* far: at another node than the disk */
};

/* The node of the CPU that runs the caller, or -errno. Takes a few ns. */
int topology_current_node(void);
/* Count one look at node `here`; negative nodes are unknown. */
void node_watch_add(struct node_watch *w, int here, int disk_node);
void node_watch_merge(struct node_watch *to, const struct node_watch *from);

/* ---- read the one-line files of /proc and /sys ---- */

/* Paths are joined to `root`, "" for this machine; tests set up a tree there. */

/* Read the first line, without the newline and trailing white space. 0 or -errno. */
int sysfile_line(char *out, size_t size, const char *root, const char *path);

/* Read the first word of the file as a decimal number. 0 or -errno; -EINVAL for words such as
 * "max". */
int sysfile_u64(uint64_t *out, const char *root, const char *path);

/* Read the number of the line "KEY: 123 kB" (or "KEY 123"), times 1024 if kB. -ENODATA where no
 * line has the key, otherwise like sysfile_u64. */
int sysfile_keyed(uint64_t *out, const char *root, const char *path, const char *key);

/* Decode \ooo in place: the kernel escapes spaces, tabs, newlines and backslashes in names this
 * way, for example in /proc/self/mountinfo. */
void sysfile_unescape(char *s);

/* Is the word, of `len` bytes, in a list with this separator? */
bool sysfile_list_has(const char *list, const char *word, size_t len, char separator);

/* ---- the control groups of this process, and a memory limit of its own ---- */

/* `root` is "" for this machine; tests set up a tree there. */

/*
 * Call `visit` for each group that applies to this process: its own and all above, in every
 * hierarchy of version 1 with this controller ("cpu", "memory") and in version 2. `dir` is relative
 * to root. Inside a container the path is often the host's and cannot be read.
 */
typedef void cgroup_visit(void *arg, const char *root, const char *dir, bool is_v2);
void cgroup_walk(const char *root, const char *controller, cgroup_visit *visit, void *arg);

#define CGROUP_PATH_BYTES 1024

/*
 * A new group for this process that limits its memory, and with it the page cache of the files that
 * it reads from then on. Pages that other processes read earlier stay in memory and are charged to
 * those processes. A zeroed struct stands for no group.
 *
 * Under version 1 the new group is a child of the current one. Version 2 allows a child only where
 * no other process shares the current group. Otherwise the new group is a sibling, provided that
 * the current group has no limits of its own, which the process would escape.
 */
struct cgroup {
	uint64_t limit_bytes; /* rounded by the kernel */
	/* Folders, relative to root. */
	char home[CGROUP_PATH_BYTES];   /* the group that the process came from */
	char parent[CGROUP_PATH_BYTES]; /* parent of the new group */
	char path[CGROUP_PATH_BYTES];
	bool is_v2, is_made, is_joined;
	bool has_enabled; /* the memory controller was enabled in `home` for its children */
};

/* Make the group, set its limit, and move all threads of this process there. 0, or -errno with err
 * and nothing changed. Groups left over by killed processes are removed. */
int cgroup_limit_memory(struct cgroup *g, const char *root, uint64_t bytes, struct mlgen_err *err);

/* Number of times that the kernel killed a process of the group for lack of memory; 0 may mean that
 * the kernel does not report it. */
uint64_t cgroup_kills(const struct cgroup *g, const char *root);

/* Move back and remove the group; a second call does nothing. 0, or -errno of the first step that
 * failed. */
int cgroup_leave(struct cgroup *g, const char *root);

/* ---- the CPU quota of this process's control groups, and its use ---- */

/* `root` is "" for this machine; tests set up a tree there. */

struct cpuquota {
	double cpus; /* fractions are possible; INFINITY = no quota */
	/* CPU time of all processes of the group that has the quota, ns; UINT64_MAX = unknown. */
	uint64_t used_ns;
};

/* Read the smallest quota of the process's own group and those above. */
void cpuquota_read(struct cpuquota *q, const char *root);

/* CPUs of the quota of one group, as cgroup_walk names it; INFINITY = none. */
double cpuquota_of(const char *root, const char *dir, bool is_v2);

/* ---- memory that this process may still use: host, control groups, ulimit ---- */

/*
 * Memory is counted twice: pages in use, and mapped address space, since stacks of threads are
 * large and hardly touched. The host and control groups (version 1 and 2, the process's own and all
 * above) limit pages. Page cache counts as free there, because the kernel can drop it. ulimit -v
 * and ulimit -d limit mappings. Swap is ignored: a measurement must not swap.
 */
#define MEMROOM_PLACES 8

struct memroom {
	uint64_t bytes;         /* still usable */
	uint64_t address_bytes; /* still mappable; UINT64_MAX = no limit */
	/* The tightest limit, as a clause: "the control group ... leaves 3 MiB of its 16 MiB". */
	char of[512], address_of[128];
	/* All limits of pages, or the tightest ones if there are too many. Processes for which a
	 * limit has the same id share its bytes. */
	struct memroom_place {
		uint64_t id[2]; /* 0 = the host */
		uint64_t bytes;
		char of[512];
	} places[MEMROOM_PLACES];
	uint64_t place_count;
};

/* `root` is "" for this machine; tests set up a tree there that describes their process, except for
 * its ulimits. The control group `except_group` (relative to root; "" = none) is left out, because
 * the caller knows its limit. */
void memroom_read(struct memroom *m, const char *root, const char *except_group);
