/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit.h - memory_limit: what a run may have of this host's memory. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "io/cgroup.h"
#include "io/host.h"
#include "io/memroom.h"
#include "job/job.h"
#include "run/memlimit_watch.h"

/*
 * The limit is of the process, so that all jobs of a run have the same one. A zeroed struct has
 * none. Lifting may come from any thread, and twice.
 */
struct memlimit {
	struct cgroup group;
	/* What there is under it, also where it is too little to be set; 0 = none. */
	uint64_t limit_bytes;
	struct memlimit_watch watch;
	_Atomic bool is_set;
};

/* Can it be what this job says, and does the first one say so, too? 0, or -EINVAL with err. */
int memlimit_check(const struct job *first, const struct job *job, const struct host *host,
		   struct mlgen_err *err);

/*
 * Where jobs ask for one: this process gets it, and `host` has that much memory. What keeps it from
 * being set is an error, or with memory_limit_required=0 a warning, and `host` stays as it is.
 */
int memlimit_set(struct memlimit *m, struct job *const *jobs, size_t count, struct host *host,
		 struct mlgen_err *err);

/* The same for a dry run: it is set for a moment. `m` knows it from then on, also where it is
 * needed and cannot be had, and has nothing to lift. No warnings. */
int memlimit_try(struct memlimit *m, const struct job *job, struct host *host,
		 struct mlgen_err *err);

/* What there is of memory, but for the limit. */
void memlimit_room(const struct memlimit *m, struct memroom *room);

/* Back to where this process came from. */
void memlimit_lift(struct memlimit *m);
