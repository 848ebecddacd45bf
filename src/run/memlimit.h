/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit.h - memory_limit: what a run may have of this host's memory. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "io/cgroup.h"
#include "io/host.h"
#include "job/job.h"
#include "run/memlimit_watch.h"
#include "run/slot.h"

/*
 * The limit is of the process, so that all jobs of a run have the same one. A
 * zeroed struct has none. Lifting may come from any thread, and twice.
 */
struct memlimit {
	struct cgroup group;
	struct memlimit_watch watch;
	_Atomic bool is_set;
};

/* Do the jobs agree, and can it be? 0, or -EINVAL with err. */
int memlimit_check(struct job *const *jobs, size_t count,
		   const struct host *host, struct mlgen_err *err);

/*
 * Where jobs ask for one: this process gets it, and `host` has that much
 * memory. What keeps it from being set is an error, or with
 * memory_limit_required=0 a warning, and `host` stays as it is.
 */
int memlimit_set(struct memlimit *m, struct job *const *jobs, size_t count,
		 struct host *host, struct mlgen_err *err);

/* Do the jobs fit into what there is of memory, with or without a limit, once
 * each knows what it reads? 0, or -ENOMEM with err. */
int memlimit_fits(const struct memlimit *m, const struct slot *slots,
		  struct job *const *jobs, size_t count, struct mlgen_err *err);

/* Back to where this process came from. */
void memlimit_lift(struct memlimit *m);
