/* SPDX-License-Identifier: Apache-2.0 */
/* train_cache_scope.c - what a cache of all processes (cache_scope=all) does not do. */
#include <errno.h>
#include <inttypes.h>

#include "hosts/doors.h"
#include "run/slot.h"
#include "work/train/train_cache_check.h"

static bool is_played(const struct job *j)
{
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes;
}

static int scope_fail(const struct job *j, const char *why, struct mlgen_err *err)
{
	return mlgen_fail(err, -EOPNOTSUPP,
			  "cache_scope: job '%s': all is one cache of %" PRIu64 " processes%s",
			  j->name, job_cache_parts(j), why);
}

int train_cache_rule_scope(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;

	if (j->cache == CACHE_NONE || job_cache_parts(j) == 1)
		return 0;
	if (!j->shared)
		return scope_fail(
			j,
			", and with shared=0 each has a data set of its own; use cache_scope=host",
			err);
	if (j->cache_persist)
		return scope_fail(j,
				  ", of which none knows what the others have kept; leave out "
				  "cache_persist, or use cache_scope=host",
				  err);
	if (j->cache_prefetch && is_played(j))
		return scope_fail(
			j,
			", and of one that is played none knows whether another has fetched a "
			"sample yet; leave out cache_prefetch, or use cache_scope=host",
			err);
	if (!is_played(j) && !doors_can_open(run->cfg.hosts))
		return scope_fail(j,
				  ", which send samples over TCP, and barrier_over=mpi is for "
				  "hosts that do not reach each other so; use cache_scope=host",
				  err);
	return 0;
}
