/* SPDX-License-Identifier: Apache-2.0 */
/* combine_checkpoints.c - checkpoints of several results, combined. */
#include <math.h>
#include <string.h>

#include "ask/combine.h"

/* The n-th of all hosts is one checkpoint, of which each has its ranks. */
static void join_item(struct checkpoint_result *to,
		      const struct checkpoint_result *from)
{
	to->seconds = fmax(to->seconds, from->seconds);
	to->bytes += from->bytes;
	to->files += from->files;
	to->ranks += from->ranks;
	to->bytes_per_sec =
		to->seconds > 0 ? (double)to->bytes / to->seconds : (double)NAN;
	if (from->slowest_rank_bytes_per_sec < to->slowest_rank_bytes_per_sec) {
		to->slowest_rank = from->slowest_rank;
		to->slowest_rank_seconds = from->slowest_rank_seconds;
		to->slowest_rank_bytes_per_sec =
			from->slowest_rank_bytes_per_sec;
	}
	to->commit_seconds = fmax(to->commit_seconds, from->commit_seconds);
	to->deleted_checkpoints += from->deleted_checkpoints;
	to->deleted_files += from->deleted_files;
	to->delete_seconds = fmax(to->delete_seconds, from->delete_seconds);
	to->snapshot_seconds =
		fmax(to->snapshot_seconds, from->snapshot_seconds);
	to->wait_seconds = fmax(to->wait_seconds, from->wait_seconds);
	to->stall_seconds = fmax(to->stall_seconds, from->stall_seconds);
	to->complete &= from->complete;
	if (!to->error[0])
		memcpy(to->error, from->error, sizeof(to->error));
}

static void join_items(const struct combine *c, struct metric_list *to,
		       const struct metric_list *from)
{
	struct checkpoint_result *a = to->items;
	const struct checkpoint_result *b = from->items;
	size_t n = to->count < from->count ? to->count : from->count;
	for (size_t i = 0; i < n; i++)
		join_item(&a[i], &b[i]);
	struct metric_list rest = *from;
	if (from->count <= to->count)
		return;
	const struct checkpoint_result *first = b + n;
	memcpy(&rest.items, &first, sizeof(rest.items));
	rest.count = from->count - n;
	combine_lists(c, to, &rest, sizeof(*a), CHECKPOINTS_KEPT);
}

/* Where each checkpoint is known its time is that of the slowest host; else
 * the mean of the slowest host is the least that the mean can be. */
static void join_times(struct checkpoints_result *to,
		       const struct checkpoints_result *from)
{
	const struct checkpoint_result *items = to->items.items;
	double sum = 0, least = (double)NAN, most = (double)NAN;
	uint64_t n = 0;
	to->first_seconds = fmax(to->first_seconds, from->first_seconds);
	to->seconds_mean = fmax(to->seconds_mean, from->seconds_mean);
	to->seconds_min = fmax(to->seconds_min, from->seconds_min);
	to->seconds_max = fmax(to->seconds_max, from->seconds_max);
	to->later_seconds = fmax(to->later_seconds, from->later_seconds);
	for (size_t i = 0; i < to->items.count; i++) {
		if (!items[i].complete)
			continue;
		sum += items[i].seconds;
		least = fmin(least, items[i].seconds);
		most = fmax(most, items[i].seconds);
		n++;
	}
	if (n == 0 || to->count > to->items.count)
		return;
	to->seconds_mean = sum / (double)n;
	to->seconds_min = least;
	to->seconds_max = most;
	if (n > 1)
		to->later_seconds = (sum - to->first_seconds) / (double)(n - 1);
}

static void add_times(struct checkpoints_result *to,
		      const struct checkpoints_result *from)
{
	double a = (double)to->completed, b = (double)from->completed;
	to->later_seconds = combine_mean(to->later_seconds, a > 0 ? a - 1 : 0,
					 combine_mean(from->later_seconds,
						      b > 0 ? b - 1 : 0,
						      from->first_seconds, 1),
					 b);
	to->seconds_mean =
		combine_mean(to->seconds_mean, a, from->seconds_mean, b);
	to->seconds_min = fmin(to->seconds_min, from->seconds_min);
	to->seconds_max = fmax(to->seconds_max, from->seconds_max);
}

static void combine_slowest_rank(struct checkpoints_result *to,
				 const struct checkpoints_result *from)
{
	if (!(from->slowest_rank_bytes_per_sec <
	      to->slowest_rank_bytes_per_sec))
		return;
	to->slowest_rank_bytes_per_sec = from->slowest_rank_bytes_per_sec;
	to->slowest_rank = from->slowest_rank;
	to->slowest_checkpoint = from->slowest_checkpoint;
}

static void combine_latencies(const struct combine *c,
			      struct checkpoints_result *to,
			      const struct checkpoints_result *from)
{
	combine_hist(c, &to->open_ns, from->open_ns);
	combine_hist(c, &to->write_ns, from->write_ns);
	combine_hist(c, &to->read_ns, from->read_ns);
	combine_hist(c, &to->fsync_ns, from->fsync_ns);
	combine_hist(c, &to->close_ns, from->close_ns);
	combine_hist(c, &to->rename_ns, from->rename_ns);
	combine_hist(c, &to->unlink_ns, from->unlink_ns);
}

static void combine_totals(const struct combine *c,
			   struct checkpoints_result *to,
			   const struct checkpoints_result *from)
{
	uint64_t ranks = combine_parts(c, to->ranks, from->ranks);
	to->job_ranks = from->job_ranks > to->job_ranks ? from->job_ranks
							: to->job_ranks;
	/* Each host its part of one job, or each a job of its own. */
	to->job_ranks = ranks > to->job_ranks ? ranks : to->job_ranks;
	to->ranks = ranks;
	to->threads = combine_parts(c, to->threads, from->threads);
	to->bytes += from->bytes;
	to->bytes_per_checkpoint = combine_parts(c, to->bytes_per_checkpoint,
						 from->bytes_per_checkpoint);
	to->deleted_checkpoints += from->deleted_checkpoints;
	to->deleted_files += from->deleted_files;
	to->delete_seconds =
		combine_span(c, to->delete_seconds, from->delete_seconds);
	to->stall_seconds =
		combine_span(c, to->stall_seconds, from->stall_seconds);
	to->snapshot_seconds =
		combine_span(c, to->snapshot_seconds, from->snapshot_seconds);
	to->wait_seconds =
		combine_span(c, to->wait_seconds, from->wait_seconds);
	to->wall_seconds =
		combine_span(c, to->wall_seconds, from->wall_seconds);
	to->in_memory_bytes =
		combine_known(to->in_memory_bytes, from->in_memory_bytes);
	to->durable &= from->durable;
	to->verified &= from->verified;
	to->caches_dropped &= from->caches_dropped;
}

static double all_seconds(const struct checkpoints_result *r)
{
	return r->completed ? r->seconds_mean * (double)r->completed : 0;
}

static void take_all(const struct combine *c, struct checkpoints_result *to,
		     const struct checkpoints_result *from)
{
	struct checkpoints_result none = *from;
	none.items = (struct metric_list){ 0 };
	none.open_ns = none.write_ns = none.read_ns = none.fsync_ns = NULL;
	none.close_ns = none.rename_ns = none.unlink_ns = NULL;
	none.directory = NULL;
	*to = none;
	combine_lists(c, &to->items, &from->items,
		      sizeof(struct checkpoint_result), CHECKPOINTS_KEPT);
	combine_latencies(c, to, from);
	if (from->directory)
		to->directory = json_store_text(c->store, from->directory);
}

void combine_checkpoints(const struct combine *c, struct checkpoints_result *to,
			 const struct checkpoints_result *from)
{
	double a = all_seconds(to), b = all_seconds(from);
	if (from->count == 0)
		return;
	if (to->count == 0) {
		take_all(c, to, from);
		return;
	}
	combine_means(&to->rank_percent, a * (double)to->threads,
		      &from->rank_percent, b * (double)from->threads,
		      sizeof(to->rank_percent));
	/* A checkpoint is complete where it is on every host. */
	uint64_t least = to->completed < from->completed ? to->completed
							 : from->completed;
	uint64_t completed =
		c->beside ? least : to->completed + from->completed;
	if (c->beside) {
		join_items(c, &to->items, &from->items);
		join_times(to, from);
	} else {
		combine_lists(c, &to->items, &from->items,
			      sizeof(struct checkpoint_result),
			      CHECKPOINTS_KEPT);
		add_times(to, from);
	}
	to->count = combine_turns(c, to->count, from->count);
	to->completed = completed;
	combine_slowest_rank(to, from);
	combine_latencies(c, to, from);
	combine_totals(c, to, from);
	double seconds = all_seconds(to);
	to->bytes_per_sec =
		seconds > 0 ? (double)to->bytes / seconds : (double)NAN;
}
