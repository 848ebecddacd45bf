/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_checkpoint.c - what the JSON document has of checkpoints, saved and restored. */
#include "report/metrics_tables.h"

#include <string.h>

/* clang-format off */

#define P struct rank_percent
const struct mlgen_field metrics_rank_percent_fields[] = {
	{ "data", MLGEN_F_PERCENT(P, data), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Making what is written, or checking what was read." },
	{ "open", MLGEN_F_PERCENT(P, open), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that open files." },
	{ "write", MLGEN_F_PERCENT(P, write), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Writing: inside calls, or waiting for the completion of requests." },
	{ "read", MLGEN_F_PERCENT(P, read), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Reading: inside calls, or waiting for the completion of requests." },
	{ "fsync", MLGEN_F_PERCENT(P, fsync), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that flush." },
	{ "close", MLGEN_F_PERCENT(P, close), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Inside calls that close files." },
	{ "other", MLGEN_F_PERCENT(P, other), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "The rest, such as waiting for a CPU, or for the slowest thread." },
	{ 0 },
};
#undef P

#define C struct checkpoint_result
const struct mlgen_field metrics_checkpoint_fields[] = {
	{ "number", MLGEN_F_U64(C, number),
	  .help = "Number of the checkpoint in its directory: a newer one has a larger number." },
	{ "epoch", MLGEN_F_U64(C, epoch),
	  .help = "Epoch in its name: of a training the one it was saved in, else 1." },
	{ "step", MLGEN_F_U64(C, step),
	  .help = "Step in its name: of a training counted through all epochs, else one more than the newest had." },
	{ "name", METRICS_CHARS(C, name),
	  .help = "Name of its directory; null = no files are touched." },
	{ "complete", MLGEN_F_BOOL(C, complete),
	  .help = "All ranks of this host were done with it." },
	{ "error", METRICS_CHARS(C, error),
	  .help = "Why it was not completed; null = nothing went wrong." },
	{ "seconds", MLGEN_F_F64(C, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From its begin until the slowest rank was done, with the flush that checkpoint_fsync asks for." },
	{ "bytes", MLGEN_F_U64(C, bytes), .unit = "bytes",
	  .help = "Bytes that the ranks of this host wrote, or read." },
	{ "files", MLGEN_F_U64(C, files), .unit = "files",
	  .help = "Files of these ranks." },
	{ "ranks", MLGEN_F_U64(C, ranks), .unit = "ranks",
	  .help = "Ranks of this host that save something." },
	{ "bytes_per_sec", MLGEN_F_F64(C, bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "All these bytes per second of that time." },
	{ "slowest_rank", MLGEN_F_U64(C, slowest_rank),
	  .help = "The rank that moved the fewest bytes per second." },
	{ "slowest_rank_seconds", MLGEN_F_F64(C, slowest_rank_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that rank took." },
	{ "slowest_rank_bytes_per_sec", MLGEN_F_F64(C, slowest_rank_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Its bytes per second of its time." },
	{ "commit_seconds", MLGEN_F_F64(C, commit_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Behind that: the rename of rename_commit, and its manifest; null = not reached, or of a restore." },
	{ "deleted_checkpoints", MLGEN_F_U64(C, deleted_checkpoints), .unit = "checkpoints",
	  .help = "Older ones that were deleted then, as checkpoint_keep asks." },
	{ "deleted_files", MLGEN_F_U64(C, deleted_files), .unit = "files",
	  .help = "Files of these." },
	{ "delete_seconds", MLGEN_F_F64(C, delete_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that took." },
	{ "snapshot_seconds", MLGEN_F_F64(C, snapshot_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of a training: its accelerators stood still for a copy in memory, with checkpoint_mode=async; else null." },
	{ "wait_seconds", MLGEN_F_F64(C, wait_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of a training: they stood still because the checkpoint before it was still being written; else null." },
	{ "stall_seconds", MLGEN_F_F64(C, stall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of a training: how long they stood still for it in all; else null." },
	{ 0 },
};
#undef C

#define S struct checkpoints_result
const struct mlgen_field metrics_checkpoints_fields[] = {
	{ "directory", METRICS_TEXT(S, directory),
	  .help = "Where the checkpoints are; null = no files are touched." },
	{ "count", MLGEN_F_U64(S, count), .unit = "checkpoints",
	  .help = "Checkpoints that were begun." },
	{ "completed", MLGEN_F_U64(S, completed), .unit = "checkpoints",
	  .help = "Of these, completed ones: what follows is about them." },
	{ "ranks", MLGEN_F_U64(S, ranks), .unit = "ranks",
	  .help = "Ranks that this host plays." },
	{ "threads", MLGEN_F_U64(S, threads), .unit = "threads",
	  .help = "Threads of all of these." },
	{ "job_ranks", MLGEN_F_U64(S, job_ranks), .unit = "ranks",
	  .help = "Ranks of the whole job, on all its hosts." },
	{ "bytes", MLGEN_F_U64(S, bytes), .unit = "bytes",
	  .help = "Bytes moved in all." },
	{ "bytes_per_checkpoint", MLGEN_F_U64(S, bytes_per_checkpoint), .unit = "bytes",
	  .help = "Bytes of one checkpoint, of the ranks of this host." },
	{ "seconds_mean", MLGEN_F_F64(S, seconds_mean), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Mean time of a checkpoint, until its slowest rank was done." },
	{ "seconds_min", MLGEN_F_F64(S, seconds_min), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The shortest of these times." },
	{ "seconds_max", MLGEN_F_F64(S, seconds_max), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "The longest." },
	{ "first_seconds", MLGEN_F_F64(S, first_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "That of the first." },
	{ "later_seconds", MLGEN_F_F64(S, later_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Mean of all others; null = there is one." },
	{ "bytes_per_sec", MLGEN_F_F64(S, bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "All bytes by the sum of these times." },
	{ "slowest_rank_bytes_per_sec", MLGEN_F_F64(S, slowest_rank_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The least that any rank had in any checkpoint: what MLPerf Storage scores." },
	{ "slowest_rank", MLGEN_F_U64(S, slowest_rank),
	  .help = "That rank." },
	{ "slowest_checkpoint", MLGEN_F_U64(S, slowest_checkpoint),
	  .help = "The number of that checkpoint." },
	{ "stall_seconds", MLGEN_F_F64(S, stall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of a training: how long its accelerators stood still for all of them; else null." },
	{ "snapshot_seconds", MLGEN_F_F64(S, snapshot_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of that, for copies in memory." },
	{ "wait_seconds", MLGEN_F_F64(S, wait_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Of that, for checkpoints that were still being written when the next was due." },
	{ "deleted_checkpoints", MLGEN_F_U64(S, deleted_checkpoints), .unit = "checkpoints",
	  .help = "Older ones that were deleted, as checkpoint_keep asks." },
	{ "deleted_files", MLGEN_F_U64(S, deleted_files), .unit = "files",
	  .help = "Files of these." },
	{ "delete_seconds", MLGEN_F_F64(S, delete_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "How long that took." },
	{ "rank_percent", METRIC_OBJECT(S, rank_percent, struct rank_percent, metrics_rank_percent_fields),
	  .help = "Where the threads of the ranks were while checkpoints were under way; sums to 100." },
	{ "open_ns", METRIC_HIST(S, open_ns), .unit = "ns",
	  .help = "Latency of opening a file." },
	{ "write_ns", METRIC_HIST(S, write_ns), .unit = "ns",
	  .help = "Latency of a write." },
	{ "read_ns", METRIC_HIST(S, read_ns), .unit = "ns",
	  .help = "Latency of a read." },
	{ "fsync_ns", METRIC_HIST(S, fsync_ns), .unit = "ns",
	  .help = "Latency of flushing a file." },
	{ "close_ns", METRIC_HIST(S, close_ns), .unit = "ns",
	  .help = "Latency of closing a file." },
	{ "rename_ns", METRIC_HIST(S, rename_ns), .unit = "ns",
	  .help = "Latency of the renames of rename_commit." },
	{ "unlink_ns", METRIC_HIST(S, unlink_ns), .unit = "ns",
	  .help = "Latency of removing a file of an older checkpoint." },
	{ "durable", MLGEN_F_BOOL(S, durable),
	  .help = "Every byte of the completed ones was flushed." },
	{ "in_memory_bytes", MLGEN_F_U64(S, in_memory_bytes), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes of this host that were not on storage yet at the end, at most those written; null = unknown." },
	{ "verified", MLGEN_F_BOOL(S, verified),
	  .help = "Of a restore: every byte was checked, as verify asks." },
	{ "caches_dropped", MLGEN_F_BOOL(S, caches_dropped),
	  .help = "The caches of this host were emptied before, as drop_caches asks." },
	{ "wall_seconds", MLGEN_F_F64(S, wall_seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "From the begin of the first to the end of the last, with what lies between them." },
	{ 0 },
};
#undef S

/* clang-format on */

/* Of a job that saves or restores: what is not about accelerators. */
static const char *const of_checkpoints[] = {
	"iodepth_used", "in_use",  "checkpoints", "saves",    "restore",
	"restores",     "storage", "host",        "network",  "numa",
	"verdict",      "errors",  "interrupted", "complete", "mlperf_check",
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

bool metrics_ml_has(const struct job_result *r, const char *name)
{
	bool is_checkpoint = r->kind == RESULT_CHECKPOINT;
	bool is_restore = r->job->phase == PHASE_RESTORE;
	if (!strcmp(name, "saves"))
		return r->ml.saves.count > 0 || (is_checkpoint && !is_restore);
	if (!strcmp(name, "restores"))
		return r->ml.restores.count > 0 ||
		       (is_checkpoint && is_restore);
	return !is_checkpoint ||
	       is_one_of(name, of_checkpoints,
			 sizeof(of_checkpoints) / sizeof(*of_checkpoints));
}
