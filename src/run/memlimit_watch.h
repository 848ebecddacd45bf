/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit_watch.h - a process that stays behind when the kernel kills this one for its
 * memory_limit. */
#pragma once

#include <sys/types.h>

#include "io/cgroup.h"

/*
 * Who is killed can neither say why nor remove the group that it was in. A child that only waits,
 * in the same group, does both once its parent is gone. A zeroed struct has none.
 */
struct memlimit_watch {
	pid_t child;  /* 0 = none */
	int of_child; /* closes with this process */
};

/* Of a group that has been joined. Where no process can be had, there is none: only what happens
 * after a kill is left undone. */
void memlimit_watch_start(struct memlimit_watch *w, const struct cgroup *g);

/* Before the group is left. */
void memlimit_watch_end(struct memlimit_watch *w);
