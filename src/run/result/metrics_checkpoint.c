/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_checkpoint.c - rows of checkpoints. */
#include "run/result/result.h"

#include <math.h>
#include <string.h>

/* ---- a checkpoint: each client has its ranks in the n-th checkpoint ---- */

/* This row must follow those of bytes and seconds. */
static void item_rate(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoint_result, 0);

	to->bytes_per_sec = to->seconds > 0 ? (double)to->bytes / to->seconds : (double)NAN;
}

static void item_slowest(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoint_result, 0);

	/* The rate is unknown in a process whose ranks save nothing. */
	if (!(b->slowest_rank_bytes_per_sec < to->slowest_rank_bytes_per_sec ||
	      isnan(to->slowest_rank_bytes_per_sec)))
		return;
	to->slowest_rank = b->slowest_rank;
	to->slowest_rank_seconds = b->slowest_rank_seconds;
	to->slowest_rank_bytes_per_sec = b->slowest_rank_bytes_per_sec;
}

static void first_text(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	char *to = at->to + f->off;

	(void)m;
	if (!*to)
		memcpy(to, at->b + f->off, f->stride);
}

static const struct merge_rule merge_item_rate = { .whole = item_rate };
static const struct merge_rule merge_item_slowest = { .whole = item_slowest };
static const struct merge_rule merge_first_text = { .whole = first_text, .ordered = MERGE_ORDERED };

/* ---- all checkpoints of a job ---- */

static double all_seconds(const struct checkpoints_result *c)
{
	return c->completed ? c->seconds_mean * (double)c->completed : 0;
}

/* clang-format off */
/* A checkpoint is complete when it is complete on every host. */
MERGE_PAIR(completed_u64, uint64_t, m->how == MERGE_CLIENTS ? merge_min.u64(m, a, b) : a + b)
MERGE_PAIR(job_ranks_u64, uint64_t, m->how == MERGE_GROUP ? a + b : merge_max.u64(m, a, b))
/* Each job of a group counted the whole host. */
MERGE_PAIR(in_memory_u64, uint64_t, m->how == MERGE_GROUP ? (a > b ? a : b) : merge_sum.u64(m, a, b))
MERGE_PAIR(least_f64, double, m->how == MERGE_CLIENTS ? fmax(a, b) : fmin(a, b))
MERGE_PAIR(first_f64, double, m->how != MERGE_TURNS ? fmax(a, b) : isnan(a) ? b : a)
/* clang-format on */

/* The slowest client's mean is a lower bound. If all checkpoints of the clients are known,
 * join_times replaces it. */
static void seconds_mean(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, 0);

	if (m->how == MERGE_CLIENTS)
		to->seconds_mean = fmax(a->seconds_mean, b->seconds_mean);
	else
		merge_mean(m, f, at, (double)a->completed, (double)b->completed);
}

/* Runs one after the other have a single first checkpoint, that of the first run; all others are
 * later ones. */
static void later_seconds(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, 0);
	double n = (double)a->completed - 1, more = (double)b->completed - 1;

	if (m->how == MERGE_CLIENTS)
		to->later_seconds = fmax(a->later_seconds, b->later_seconds);
	else if (m->how == MERGE_GROUP)
		merge_mean(m, f, at, fmax(n, 0), fmax(more, 0));
	else if (n >= 0 && more >= 0)
		to->later_seconds = merge_mean_of(
			a->later_seconds, n,
			merge_mean_of(b->later_seconds, more, b->first_seconds, 1), more + 1);
	else if (n < 0)
		to->later_seconds = b->later_seconds;
}

static void rank_times(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, 0);
	struct mlgen_field all = *f;

	all.stride = sizeof(a->rank_percent);
	merge_mean(m, &all, at, all_seconds(a) * (double)a->threads,
		   all_seconds(b) * (double)b->threads);
}

static void slowest_rank(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, 0);

	if (!(b->slowest_rank_bytes_per_sec < to->slowest_rank_bytes_per_sec ||
	      isnan(to->slowest_rank_bytes_per_sec)))
		return;
	to->slowest_rank_bytes_per_sec = b->slowest_rank_bytes_per_sec;
	to->slowest_rank = b->slowest_rank;
	to->slowest_checkpoint = b->slowest_checkpoint;
}

/* Hosts and groups append their ranks; repetitions keep the ranks of the first run. */
static void rank_list(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, 0);

	if (m->how != MERGE_TURNS)
		merge_append(m, &to->rank_times, &b->rank_times, sizeof(struct checkpoint_rank),
			     CHECKPOINT_RANKS_KEPT);
}

static void known_text(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	const char **to = (void *)(at->to + f->off);
	const char *const *b = (const void *)(at->b + f->off);

	if (!*to && *b)
		*to = m->memory->text(m->owner, *b);
}

/* If each checkpoint is known, its time is that of the slowest client. */
static void join_times(struct checkpoints_result *to)
{
	const struct checkpoint_result *k = to->items.items;
	double sum = 0, least = (double)NAN, most = (double)NAN;
	uint64_t n = 0;

	for (size_t i = 0; i < to->items.count; i++) {
		if (!k[i].complete)
			continue;
		sum += k[i].seconds;
		least = fmin(least, k[i].seconds);
		most = fmax(most, k[i].seconds);
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

/* Neutral values: merging another result into them yields that result. */
static void init_neutral(const struct merging *m, struct checkpoints_result *to)
{
	bool is_restore = to->is_restore;
	struct metric_list items = to->items;

	checkpoints_result_init(to);
	to->is_restore = is_restore;
	to->items = items;
	to->completed = m->how == MERGE_CLIENTS ? UINT64_MAX : 0;
	to->dirty_bytes = to->in_memory_bytes = 0;
	to->durable = to->verified = to->caches_dropped = true;
}

/* Clients have parts of the same checkpoints. This row must precede that of all checkpoints. */
static void items_list(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);

	if (m->how == MERGE_CLIENTS)
		merge_by_index(m, f, to, b, CHECKPOINTS_KEPT);
	else
		merge_append(m, to, b, f->stride, CHECKPOINTS_KEPT);
}

static void checkpoints(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct checkpoints_result, f->off);
	struct checkpoints_result before;
	const struct merge_at in = { (char *)to, (char *)&before, at->b + f->off };
	double seconds;

	if (b->count == 0)
		return;
	if (to->count == 0)
		init_neutral(m, to);
	before = *to;
	merge_table(m, f->sub, &in);
	if (m->how == MERGE_GROUP) {
		/* Jobs of a group run at the same time: rates add up, as those of samples do. */
		to->bytes_per_sec = merge_sum_of(before.bytes_per_sec, b->bytes_per_sec);
		to->bytes_per_checkpoint = to->completed ? to->bytes / to->completed : 0;
		return;
	}
	if (m->how == MERGE_CLIENTS)
		join_times(to);
	/* The clients have parts of one job, or one job each. */
	if (to->job_ranks < to->ranks)
		to->job_ranks = to->ranks;
	seconds = all_seconds(to);
	to->bytes_per_sec = seconds > 0 ? (double)to->bytes / seconds : (double)NAN;
}

static const struct merge_rule merge_completed = { .u64 = completed_u64 };
static const struct merge_rule merge_job_ranks = { .u64 = job_ranks_u64 };
static const struct merge_rule merge_in_memory = { .u64 = in_memory_u64 };
static const struct merge_rule merge_seconds_mean = { .whole = seconds_mean };
static const struct merge_rule merge_seconds_least = { .f64 = least_f64 };
static const struct merge_rule merge_seconds_first = { .f64 = first_f64,
						       .ordered = 1 << MERGE_TURNS };
static const struct merge_rule merge_seconds_later = { .whole = later_seconds,
						       .ordered = 1 << MERGE_TURNS };
static const struct merge_rule merge_rank_list = { .whole = rank_list, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_rank_percent = { .whole = rank_times };
static const struct merge_rule merge_slowest = { .whole = slowest_rank };
static const struct merge_rule merge_known = { .whole = known_text, .ordered = MERGE_ORDERED };
const struct merge_rule merge_checkpoints = { .whole = checkpoints };
const struct merge_rule merge_items = { .whole = items_list,
					.ordered = 1 << MERGE_GROUP | 1 << MERGE_TURNS };

/* clang-format off */

#define K struct checkpoint_rank
const struct mlgen_field metrics_checkpoint_rank_fields[] = {
	{ "number", RESULT_U64(K, number, first),
	  .help = "Number of the checkpoint." },
	{ "rank", RESULT_U64(K, rank, first),
	  .help = "The rank." },
	{ "begin_seconds", RESULT_F64(K, begin_seconds, first), .unit = "s",
	  .help = "Start of the checkpoint, since the start of the first." },
	{ "seconds", RESULT_F64(K, seconds, first), .unit = "s",
	  .help = "Time from this start until the rank was done." },
	{ 0 },
};
#undef K

#define P struct rank_percent
const struct mlgen_field metrics_rank_percent_fields[] = {
	{ "data", RESULT_PERCENT(P, data, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Generating the data to write, or checking the data that was read." },
	{ "open", RESULT_PERCENT(P, open, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that open files." },
	{ "write", RESULT_PERCENT(P, write, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Writing: inside calls, or waiting for the completion of requests." },
	{ "read", RESULT_PERCENT(P, read, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Reading: inside calls, or waiting for the completion of requests." },
	{ "fsync", RESULT_PERCENT(P, fsync, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that flush." },
	{ "close", RESULT_PERCENT(P, close, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that close files." },
	{ "other", RESULT_PERCENT(P, other, with), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The rest, such as waiting for a CPU, or for the slowest thread." },
	{ 0 },
};
#undef P

#define C struct checkpoint_result
const struct mlgen_field metrics_checkpoint_fields[] = {
	{ "number", RESULT_U64(C, number, first),
	  .help = "Number of the checkpoint in its directory: a newer one has a larger number." },
	{ "epoch", RESULT_U64(C, epoch, first),
	  .help = "Epoch in its name: in a training the epoch that saved it, otherwise 1." },
	{ "step", RESULT_U64(C, step, first),
	  .help = "Step in its name: in a training counted through all epochs, otherwise one more than in the newest checkpoint." },
	{ "name", RESULT_CHARS(C, name, first),
	  .help = "Name of its directory; null = no files are touched." },
	{ "complete", RESULT_BOOL(C, complete, and),
	  .help = "All ranks of this host finished it." },
	{ "error", RESULT_CHARS(C, error, first_text),
	  .help = "Why it was not completed; null = nothing went wrong." },
	{ "seconds", RESULT_F64(C, seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time from its start until the slowest rank was done, including the flush that checkpoint_fsync asks for." },
	{ "bytes", RESULT_U64(C, bytes, sum), .unit = "bytes",
	  .help = "Bytes that the ranks of this host wrote, or read." },
	{ "files", RESULT_U64(C, files, sum), .unit = "files",
	  .help = "Files of these ranks." },
	{ "ranks", RESULT_U64(C, ranks, sum), .unit = "ranks",
	  .help = "Ranks of this host that save something." },
	{ "bytes_per_sec", RESULT_F64(C, bytes_per_sec, item_rate), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "These bytes per second of this time." },
	{ "slowest_rank", RESULT_U64(C, slowest_rank, with),
	  .help = "The rank that moved the fewest bytes per second." },
	{ "slowest_rank_seconds", RESULT_F64(C, slowest_rank_seconds, with), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that rank took." },
	{ "slowest_rank_bytes_per_sec", RESULT_F64(C, slowest_rank_bytes_per_sec, item_slowest), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Bytes per second of that rank." },
	{ "commit_seconds", RESULT_F64(C, commit_seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "After this time: the rename of rename_commit, and the manifest; null = not reached, or a restore." },
	{ "deleted_checkpoints", RESULT_U64(C, deleted_checkpoints, sum), .unit = "checkpoints",
	  .help = "Older checkpoints that were deleted after it, as checkpoint_keep asks." },
	{ "deleted_files", RESULT_U64(C, deleted_files, sum), .unit = "files",
	  .help = "Files of the deleted checkpoints." },
	{ "delete_seconds", RESULT_F64(C, delete_seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long the deletions took." },
	{ "snapshot_seconds", RESULT_F64(C, snapshot_seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "In a training with checkpoint_mode=async: how long accelerators waited for a copy in memory; otherwise null." },
	{ "wait_seconds", RESULT_F64(C, wait_seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "In a training: how long accelerators waited because the previous checkpoint was still being written; otherwise null." },
	{ "stall_seconds", RESULT_F64(C, stall_seconds, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "In a training: how long accelerators waited for it in total; otherwise null." },
	{ 0 },
};
#undef C

#define S struct checkpoints_result
const struct mlgen_field metrics_checkpoints_fields[] = {
	{ "directory", RESULT_TEXT(S, directory, known),
	  .help = "Directory of the checkpoints; null = no files are touched." },
	{ "count", RESULT_U64(S, count, joined), .unit = "checkpoints",
	  .help = "Checkpoints that were begun." },
	{ "completed", RESULT_U64(S, completed, completed), .unit = "checkpoints",
	  .help = "Completed checkpoints; the following figures are about these." },
	{ "ranks", RESULT_U64(S, ranks, parts), .unit = "ranks",
	  .help = "Ranks that this host simulates." },
	{ "threads", RESULT_U64(S, threads, parts), .unit = "threads",
	  .help = "Threads of all these ranks." },
	{ "job_ranks", RESULT_U64(S, job_ranks, job_ranks), .unit = "ranks",
	  .help = "Ranks of the whole job, on all its hosts." },
	{ "bytes", RESULT_U64(S, bytes, sum), .unit = "bytes",
	  .help = "Bytes written or read in total." },
	{ "bytes_per_checkpoint", RESULT_U64(S, bytes_per_checkpoint, parts), .unit = "bytes",
	  .help = "Bytes of one checkpoint, of the ranks of this host." },
	{ "seconds_mean", RESULT_F64(S, seconds_mean, seconds_mean), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Mean time of a checkpoint, until its slowest rank was done." },
	{ "seconds_min", RESULT_F64(S, seconds_min, seconds_least), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The shortest of these times." },
	{ "seconds_max", RESULT_F64(S, seconds_max, max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The longest." },
	{ "first_seconds", RESULT_F64(S, first_seconds, seconds_first), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time of the first checkpoint." },
	{ "later_seconds", RESULT_F64(S, later_seconds, seconds_later), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Mean time of all other checkpoints; null = there is only one." },
	{ "bytes_per_sec", RESULT_F64(S, bytes_per_sec, with), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "All bytes divided by the sum of these times." },
	{ "slowest_rank_bytes_per_sec", RESULT_F64(S, slowest_rank_bytes_per_sec, slowest), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The lowest rate of any rank in any checkpoint, which MLPerf Storage scores." },
	{ "slowest_rank", RESULT_U64(S, slowest_rank, with),
	  .help = "That rank." },
	{ "slowest_checkpoint", RESULT_U64(S, slowest_checkpoint, with),
	  .help = "The number of that checkpoint." },
	{ "stall_seconds", RESULT_F64(S, stall_seconds, joined), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "In a training: how long accelerators waited for all checkpoints; otherwise null." },
	{ "snapshot_seconds", RESULT_F64(S, snapshot_seconds, joined), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Part of this time for copies in memory." },
	{ "wait_seconds", RESULT_F64(S, wait_seconds, joined), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Part of this time for checkpoints that were still being written when the next was due." },
	{ "deleted_checkpoints", RESULT_U64(S, deleted_checkpoints, sum), .unit = "checkpoints",
	  .help = "Older checkpoints that were deleted, as checkpoint_keep asks." },
	{ "deleted_files", RESULT_U64(S, deleted_files, sum), .unit = "files",
	  .help = "Files of the deleted checkpoints." },
	{ "delete_seconds", RESULT_F64(S, delete_seconds, joined), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long the deletions took." },
	{ "rank_times", RESULT_LIST(S, rank_times, struct checkpoint_rank, metrics_checkpoint_rank_fields, rank_list),
	  .help = "Each rank in each complete checkpoint, the first 4,096 of them." },
	{ "rank_percent", RESULT_OBJECT(S, rank_percent, struct rank_percent, metrics_rank_percent_fields, rank_percent),
	  .help = "Where the time of the ranks' threads went while checkpoints were under way; sums to 100." },
	{ "open_ns", RESULT_HIST(S, open_ns, hist), .unit = "ns",
	  .help = "Latency of opening a file." },
	{ "write_ns", RESULT_HIST(S, write_ns, hist), .unit = "ns",
	  .help = "Latency of a write." },
	{ "read_ns", RESULT_HIST(S, read_ns, hist), .unit = "ns",
	  .help = "Latency of a read." },
	{ "fsync_ns", RESULT_HIST(S, fsync_ns, hist), .unit = "ns",
	  .help = "Latency of flushing a file." },
	{ "close_ns", RESULT_HIST(S, close_ns, hist), .unit = "ns",
	  .help = "Latency of closing a file." },
	{ "rename_ns", RESULT_HIST(S, rename_ns, hist), .unit = "ns",
	  .help = "Latency of the renames of rename_commit." },
	{ "unlink_ns", RESULT_HIST(S, unlink_ns, hist), .unit = "ns",
	  .help = "Latency of removing a file of an older checkpoint." },
	{ "durable", RESULT_BOOL(S, durable, and),
	  .help = "Every byte of the completed checkpoints was flushed." },
	{ "dirty_bytes", RESULT_U64(S, dirty_bytes, in_memory), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes of any files in this host's memory that were not yet on storage at the end; null = unknown." },
	{ "in_memory_bytes", RESULT_U64(S, in_memory_bytes, in_memory), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "The same, but at most the bytes that the completed checkpoints wrote; null = unknown." },
	{ "verified", RESULT_BOOL(S, verified, and),
	  .help = "Every byte of a restore was checked, as verify asks." },
	{ "caches_dropped", RESULT_BOOL(S, caches_dropped, and),
	  .help = "The files were dropped from this host's caches before, as drop_caches asks; everything, if more than 1% of the files stayed." },
	{ "wall_seconds", RESULT_F64(S, wall_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time from the start of the first to the end of the last, including pauses." },
	{ 0 },
};
#undef S

/* clang-format on */
