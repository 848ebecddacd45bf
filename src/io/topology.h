/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - NUMA: the node of a disk, the CPUs of a node, where a thread runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "io/mount.h"

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
