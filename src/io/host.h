/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - this machine: CPUs, memory, kernel, limits, CPU time used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

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
