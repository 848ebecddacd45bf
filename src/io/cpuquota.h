/* SPDX-License-Identifier: Apache-2.0 */
/* cpuquota.h - the CPU quota of this process's control groups, and what was used of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
