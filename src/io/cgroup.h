/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - the control groups of this process: which they are, and a memory limit of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

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
