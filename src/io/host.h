/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - facts about this host: CPUs, memory, control groups, NUMA nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "io/mount.h"

/* ---- this machine: CPUs, memory, kernel, limits, CPU time used ---- */

struct host {
	char hostname[64];
	char kernel[96]; /* "Linux 6.1.0" */
	uint64_t cpus;   /* allowed (affinity, cgroup quota rounded up) */
	uint64_t cpus_online;
	uint64_t memory_bytes;       /* the smaller of MemTotal and the cgroup limit */
	uint64_t memory_limit_bytes; /* of memory_limit; 0 = none */
	/* One job on several hosts: those beside this one, and what they have together, each
	 * counted as memory_bytes is. */
	uint64_t other_hosts, others_memory_bytes;
	uint64_t open_files; /* RLIMIT_NOFILE, soft */
	char cpu_model[96];  /* "" = unknown */
	uint64_t numa_nodes; /* 0 = unknown */
	/* This process's, quoted for a shell; ends in "..." if it is longer. */
	char command[4096];
};

void host_read(struct host *h);

/* Memory of all hosts of the job: what its data set is compared with. */
uint64_t host_all_memory(const struct host *h);

/* The parts of it that are read from files; `root` as below. */
void host_read_model(struct host *h, const char *root);
/* The command line, with mpirun or srun before it where one has started this process and runs on
 * this host. */
void host_read_command(struct host *h, const char *root);

/* Append one argument to a command line, quoted if a shell would take it apart. False: no room. */
bool host_put_argument(char *out, size_t size, const char *arg);

/*
 * Lower the two to the limits of this process's control groups (v2 cpu.max and memory.max, v1 cfs
 * quota and limit_in_bytes; its own group and all above). `root` is "" for this machine; tests put
 * a tree of their own there.
 */
void host_cgroup_limits(const char *root, uint64_t *cpus, uint64_t *memory_bytes);

/* Resident memory of this process, and the page cache of the host ("Cached" of /proc/meminfo),
 * bytes; 0 = unknown. */
uint64_t host_resident_bytes(void);
uint64_t host_page_cache_bytes(void);

/* Bytes that came and went by all interfaces but the loopback, since the host began, of this
 * network namespace. False = not known. */
bool host_network_read(const char *root, uint64_t *received_bytes, uint64_t *sent_bytes);

/* What CPU time is a share of. */
enum host_cpu_of {
	HOST_CPU_OF_ALLOWED,     /* the allowed CPUs, all processes */
	HOST_CPU_OF_QUOTA,       /* a control group's quota, all of the group */
	HOST_CPU_OF_QUOTA_ALONE, /* a quota, this process: no more is told */
};

/* CPU time so far in ns: of this process (getrusage), and of all that share `cpus` with it: busy
 * time of the allowed CPUs from /proc/stat (user+nice+ system+irq+softirq+steal), or what was used
 * of a quota that is less. */
struct host_cpu {
	uint64_t process_user_ns, process_system_ns;
	uint64_t busy_ns; /* sum over CPUs; 0 = unknown */
	double cpus;      /* of a quota: a fraction, too */
	enum host_cpu_of of;
	uint64_t switches; /* context switches of this process */
};
void host_cpu_read(struct host_cpu *c);

/* Its part: down to the quota of this process's control groups, if that is less than c->cpus;
 * `root` as above. */
void host_cpu_limit(struct host_cpu *c, const char *root);

/* How busy they were, 0..100, ticks of 10 ms rounded off; NaN = unknown. */
double host_cpu_percent(const struct host_cpu *before, const struct host_cpu *after,
			uint64_t wall_ns);

/* fio's list "0-1,3" to the affinity of the calling thread. Also checks only, with apply=false.
 * CPUs must be among those the main thread may use. 0, or -EINVAL (of the system: -errno) with err
 * ("cpus_allowed: ..."). */
int host_set_cpus(const char *list, bool apply, struct mlgen_err *err);

/* ---- what a trace says of the program that wrote it and of its host ---- */

/* Each key and its value, in turn: program, version, host, kernel, cpus, memory_bytes, command. */
void host_facts(const struct host *h, void (*put)(void *arg, const char *key, const char *value),
		void *arg);

/* ---- NUMA: the node of a disk, the CPUs of a node, where a thread runs ---- */

/*
 * Nodes have the numbers that the kernel gives them. Paths below /sys are joined to `root`, "" for
 * this machine: tests put a tree of their own there.
 */

#define TOPOLOGY_NODES 1024u /* the most that Linux can be built for */

/* Has the machine more than one node? One file, read at every start. */
bool topology_has_nodes(const char *root);

/*
 * The node that the disk under a mount is attached to; of a disk made of others (md, dm, NVMe with
 * several paths) the one they share. -ENODATA where there is none or nothing tells: `why` says so
 * in a clause.
 */
int topology_disk_node(const char *root, const struct mount *m, struct mlgen_err *why);

/* The CPUs of all nodes. */
struct topology;

/*
 * Ask hwloc, which takes milliseconds: only for a job that wants to be bound. `allowed` lists the
 * CPUs that may be used, NULL: those of the main thread.
 */
int topology_new(struct topology **out, const char *allowed, struct mlgen_err *err);
void topology_free(struct topology *t); /* NULL is fine */

/* What a job asks for; NULL or negative: nothing. */
struct topology_wish {
	const char *cpus;  /* cpus_allowed */
	const char *nodes; /* numa_cpu_nodes: a list or "all" */
	int disk_node;     /* numa=device */
	const char *disk;  /* its name, for a message */
};

/*
 * The CPUs, as a list such as 0-3,8, of a job's threads and of its loaders: what is allowed and
 * wished for. The caller's to free; the loaders' are the threads' where there is no disk_node.
 * -EINVAL with err where a node does not exist or no CPU is left.
 */
int topology_plan(const struct topology *t, const struct topology_wish *w, char **thread_cpus,
		  char **loader_cpus, struct mlgen_err *err);

struct node_set {
	uint64_t bits[TOPOLOGY_NODES / 64];
};

void node_set_add(struct node_set *s, unsigned node);
void node_set_merge(struct node_set *to, const struct node_set *from);
/* "0-1,3", appended. */
void node_set_text(const struct node_set *s, struct buf *out);

/* Where a thread was found, each time it looked. Private to the thread. */
struct node_watch {
	struct node_set seen;
	uint64_t looks, far; /* far: at another node than the disk */
};

/* The node of the CPU under the caller, or -errno. A few ns. */
int topology_here(void);
/* Count one look; negative nodes are unknown. */
void node_watch_add(struct node_watch *w, int here, int disk_node);
void node_watch_merge(struct node_watch *to, const struct node_watch *from);

/* ---- read the one-line files of /proc and /sys ---- */

/*
 * Paths are joined to `root`, "" for the machine itself: tests put a tree of their own there.
 */

/* The first line, without newline and trailing blanks. 0 or -errno. */
int sysfile_line(char *out, size_t size, const char *root, const char *path);

/* A decimal number, the first word of the file. 0 or -errno; -EINVAL for words such as "max". */
int sysfile_u64(uint64_t *out, const char *root, const char *path);

/* As sysfile_u64, of the line "KEY: 123 kB" (or "KEY 123"), times 1024 if kB. -ENODATA where no
 * line has the key. */
int sysfile_keyed(uint64_t *out, const char *root, const char *path, const char *key);

/* In place: the kernel writes blanks, tabs, newlines and backslashes of names as \ooo, for example
 * in /proc/self/mountinfo. */
void sysfile_unescape(char *s);

/* ---- the control groups of this process: which they are, and a memory limit of its own ---- */

/* `root` is "" for this machine; tests put a tree of their own there. */

/*
 * Tell `visit` of each group that holds for this process: its own and all above, of every hierarchy
 * of version 1 with this controller ("cpu",
 * "memory") and of version 2. `dir` is below root. Inside a container the path is often the host's
 * and not there to be read.
 */
typedef void cgroup_visit(void *arg, const char *root, const char *dir, bool is_v2);
void cgroup_walk(const char *root, const char *controller, cgroup_visit *visit, void *arg);

#define CGROUP_PATH_BYTES 1024

/*
 * A group of this process's own that limits its memory, and with it the page cache of the files
 * that it reads from then on. What others read before stays in memory on their account. A zeroed
 * struct is none.
 *
 * Version 1 takes a child of the own group. Version 2 allows that only where no other process
 * shares the own group; else it is a sibling, if the own group has no limits that it would leave
 * behind.
 */
struct cgroup {
	uint64_t limit_bytes; /* as the kernel took it */
	/* Where things are: below root. */
	char home[CGROUP_PATH_BYTES];   /* the group that it came from */
	char parent[CGROUP_PATH_BYTES]; /* of the new one */
	char path[CGROUP_PATH_BYTES];
	bool is_v2, is_made, is_joined;
	bool has_enabled; /* the controller, in the parent */
};

/* Move all threads of this process there. 0, or -errno with err, and then nothing has changed.
 * Groups that killed processes left behind are removed. */
int cgroup_limit_memory(struct cgroup *g, const char *root, uint64_t bytes, struct mlgen_err *err);

/* How often the kernel killed a process of the group that needed more; 0 also where it does not
 * tell. */
uint64_t cgroup_kills(const struct cgroup *g, const char *root);

/* Go back, and remove the group; again is fine. 0, or -errno of what could not be undone. */
int cgroup_leave(struct cgroup *g, const char *root);

/* ---- the CPU quota of this process's control groups, and what was used of it ---- */

/* `root` is "" for this machine; tests put a tree of their own there. */

struct cpuquota {
	double cpus; /* a fraction of one, too; INFINITY = there is none */
	/* CPU time of the group that has it, of all its processes, ns; UINT64_MAX = the kernel does
	 * not tell. */
	uint64_t used_ns;
};

/* The tightest one that holds: of the own group, or of one above it. */
void cpuquota_read(struct cpuquota *q, const char *root);

/* CPUs of the quota of one group, as cgroup_walk names it; INFINITY = none. */
double cpuquota_of(const char *root, const char *dir, bool is_v2);

/* ---- memory that this process may still take: of the host, its control groups, its limits ---- */

/*
 * In use are pages, address space is what is mapped: stacks of threads are large and hardly
 * touched. Nothing but a full page is taken from the host and from control groups (version 1 and 2,
 * the own one and all above), where page cache counts as free, as it goes when it must; mapping is
 * limited by ulimit -v and ulimit -d. Swap counts for nothing: who measures must not swap.
 */
#define MEMROOM_PLACES 8

struct memroom {
	uint64_t bytes;         /* to be used */
	uint64_t address_bytes; /* to be mapped; UINT64_MAX = no limit */
	/* What leaves so little, as a clause: "the control group ... leaves
	 * 3 MiB of its 16 MiB". */
	char of[512], address_of[128];
	/* All that leave so much, or of very many those that leave least: processes with the same
	 * number share what one leaves. */
	struct memroom_place {
		uint64_t id[2]; /* 0 = the host */
		uint64_t bytes;
		char of[512];
	} places[MEMROOM_PLACES];
	uint64_t place_count;
};

/* `root` is "" for this machine; tests put a tree of their own there, in which they are the
 * process, but for its limits. A group that is left out (a path below root; "" = none) is one whose
 * limit the caller knows. */
void memroom_read(struct memroom *m, const char *root, const char *but_group);
