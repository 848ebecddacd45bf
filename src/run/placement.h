/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h - on which CPUs the threads of a job run, and how near its disk that is. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "io/mount.h"
#include "job/job.h"

/*
 * What cpus_allowed, numa and numa_cpu_nodes of one job come to on this host. Made before any
 * thread starts, read by all of them. Lists are such as host_set_cpus takes; NULL = the thread may
 * run wherever it is.
 */
struct placement {
	char *rank_cpus, *loader_cpus;
	bool has_nodes; /* the host has several: is a loader far? */
	int disk_node;  /* -1 = unknown */
	/* numa=device does not bind, and why; NULL = it does, or is not set. */
	char *unbound;
};

struct placement_request {
	const struct job *job;
	const struct mount *mount; /* NULL: the job touches no files */
	/* For tests, of topology.h; "" and NULL mean this machine. */
	const char *root;
	const char *allowed;
};

/* 0, or -errno with err. Undone by placement_fini, which takes a zeroed struct. */
int placement_init(struct placement *p, const struct placement_request *req, struct mlgen_err *err);
void placement_fini(struct placement *p);
