/* SPDX-License-Identifier: Apache-2.0 */
/* described.c - the figures of a trace as tables: names, units, and what they mean. */
#include "trace/documents/documents.h"

const struct mlgen_choice described_roles[] = {
	{ "other", ROLE_OTHER, "no other role fits" },
	{ "trainer", ROLE_TRAINER, "computes: a rank, or the process that has loaders" },
	{ "loader", ROLE_LOADER, "reads samples for a trainer" },
	{ "checkpoint", ROLE_CHECKPOINT, "writes most of the written bytes, or restores them" },
	{ "worker", ROLE_WORKER, "one stream of a plain job" },
	{ 0 },
};

const struct mlgen_choice described_certainties[] = {
	{ "said", SURE_STATED, "the program states this in a marker" },
	{ "likely", SURE_LIKELY, "no other usual activity of programs fits the calls" },
	{ "guess", SURE_GUESS, "the best fit" },
	{ 0 },
};

const struct mlgen_choice described_phases[] = {
	{ "idle", MOVES_NOTHING, "no byte was read or written" },
	{ "read", MOVES_IN, "at least ten times as many bytes were read as written" },
	{ "write", MOVES_OUT, "at least ten times as many bytes were written as read" },
	{ "both", MOVES_BOTH, "neither is ten times the other" },
	{ 0 },
};

/* clang-format off */
#define I struct interval
#define COUNT(m) MLGEN_F_U64(I, m), .flags = MLGEN_NULLABLE
const struct mlgen_field interval_fields[] = {
	{ "seconds", MLGEN_F_F64(I, seconds), .unit = "s",
	  .help = "The end of the interval, in seconds since the trace began." },
	{ "opens", COUNT(opens), .unit = "operations",
	  .help = "Files opened." },
	{ "metadata", COUNT(metadata), .unit = "operations",
	  .help = "Calls that move no byte: open, close, stat, rename, unlink, mkdir, rmdir, getdents." },
	{ "reads", COUNT(reads), .unit = "operations",
	  .help = "Reads that ended in the interval." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes",
	  .help = "Bytes that these reads returned." },
	{ "writes", COUNT(writes), .unit = "operations",
	  .help = "Writes that ended in the interval." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes",
	  .help = "Bytes that these writes wrote." },
	{ "errors", COUNT(errors), .unit = "operations",
	  .help = "Failed calls on files." },
	{ "faults", COUNT(faults), .unit = "faults",
	  .help = "Page faults on mapped files." },
	{ "cache_bytes", COUNT(cache_bytes), .unit = "bytes",
	  .help = "Bytes added to the page cache; null = not recorded." },
	{ "block_read_bytes", COUNT(block_read_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that read; null = not recorded." },
	{ "block_written_bytes", COUNT(block_written_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that write; null = not recorded." },
	{ "switches", COUNT(switches), .unit = "switches",
	  .help = "Times that a thread left a CPU; null = not recorded." },
	{ "hit_percent", MLGEN_F_F64(I, hit_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Like cache.hit_percent, for this interval; pages that were read ahead count in the interval in which they were read." },
	{ 0 },
};
#undef COUNT
#undef I

#define COUNT(m) MLGEN_F_U64(S, m), .flags = MLGEN_NULLABLE
#define REAL(m)  MLGEN_F_F64(S, m), .flags = MLGEN_NULLABLE
#define TEXT(m)  METRICS_TEXT(S, m)
#define ROLE_ROWS \
	{ "role", MLGEN_F_ENUM(S, role, described_roles), .help = "Role of the process or thread." }, \
	{ "sure", MLGEN_F_ENUM(S, sure, described_certainties), .help = "How the role is known." }
#define UNKNOWN_HELP "Why figures of this object are null; null = no records are missing."

#define S struct described_op
static const struct mlgen_field op_fields[] = {
	{ "count", COUNT(count), .unit = "operations", .help = "Operations that succeeded." },
	{ "errors", COUNT(errors), .unit = "operations", .help = "Operations that failed; no other figure includes them." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes that the operations moved or refer to." },
	{ "chained", COUNT(chained), .unit = "operations", .help = "Operations, included in count, that ran in a chain and have no latency of their own." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "Total time of the operations." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .unit = "ns", .help = "From begin to end, of operations outside a chain." },
	{ 0 },
};
#undef S

#define S struct described_ops
#define OP(name, op, sentence) { name, METRIC_OBJECT(S, of[op], struct described_op, op_fields), .help = sentence }
static const struct mlgen_field ops_fields[] = {
	OP("open", TRACE_OPEN, "Opens of files and directories."),
	OP("close", TRACE_CLOSE, "Calls of this kind."),
	OP("stat", TRACE_STAT, "Calls of this kind."),
	OP("read", TRACE_READ, "Reads of any kind."),
	OP("write", TRACE_WRITE, "Calls of this kind."),
	OP("fsync", TRACE_FSYNC, "Calls of this kind."),
	OP("fdatasync", TRACE_FDATASYNC, "Calls of this kind."),
	OP("rename", TRACE_RENAME, "Calls of this kind."),
	OP("unlink", TRACE_UNLINK, "Calls of this kind."),
	OP("mkdir", TRACE_MKDIR, "Calls of this kind."),
	OP("rmdir", TRACE_RMDIR, "Calls of this kind."),
	OP("getdents", TRACE_GETDENTS, "Calls of this kind."),
	OP("mmap", TRACE_MMAP, "Calls of this kind."),
	OP("munmap", TRACE_MUNMAP, "Calls of this kind."),
	OP("allocate", TRACE_ALLOCATE, "Calls of this kind."),
	OP("advise", TRACE_ADVISE, "Calls of this kind."),
	OP("fault", TRACE_FAULT, "Page faults on mapped files."),
	OP("cache_add", TRACE_CACHE_ADD, "Additions to the page cache."),
	OP("block_issue", TRACE_BLOCK_ISSUE, "Requests issued to a block device."),
	OP("block_complete", TRACE_BLOCK_COMPLETE, "Requests completed by a block device."),
	OP("async_submit", TRACE_ASYNC_SUBMIT, "Requests of io_uring or libaio submitted."),
	OP("async_complete", TRACE_ASYNC_COMPLETE, "Requests of io_uring or libaio completed."),
	OP("fork", TRACE_FORK, "Calls of this kind."),
	OP("exec", TRACE_EXEC, "Calls of this kind."),
	OP("exit", TRACE_EXIT, "Calls of this kind."),
	OP("on_cpu", TRACE_ON_CPU, "Periods that a thread spent on a CPU."),
	OP("sample", TRACE_SAMPLE, "Markers: samples."),
	OP("step", TRACE_STEP, "Markers: steps."),
	OP("epoch", TRACE_EPOCH, "Markers: epochs, one per rank."),
	OP("stage", TRACE_STAGE, "Markers: stages, one per rank."),
	OP("checkpoint", TRACE_CHECKPOINT, "Markers: checkpoints, one per rank."),
	OP("compute", TRACE_COMPUTE, "Markers: compute time of steps."),
	OP("text", TRACE_TEXT, "Markers: texts."),
	{ 0 },
};
#undef OP
#undef S

#define S struct described_size
static const struct mlgen_field size_fields[] = {
	{ "operation", TEXT(operation), .help = "read, write, block_read or block_write." },
	{ "at_most_bytes", COUNT(at_most_bytes), .unit = "bytes", .help = "A power of two: the row counts requests of up to this size, above half of it." },
	{ "count", COUNT(count), .unit = "operations", .help = "Requests of this size." },
	{ "percent", REAL(percent), .unit = "%", .help = "Share of all requests of this operation." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes that these requests moved." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "Bytes divided by the total time of these requests: the rate of one request while it is in flight." },
	{ "lat_mean_ns", REAL(lat_mean_ns), .unit = "ns", .help = "Mean time of one request." },
	{ 0 },
};
#undef S

#define S struct described_file
static const struct mlgen_field file_fields[] = {
	{ "path", TEXT(path), .help = "The path that the program used, with escapes for bytes that are not text; null = no record names the file." },
	{ "size_bytes", COUNT(size_bytes), .unit = "bytes", .help = "Size when the trace first shows the file." },
	{ "opens", COUNT(opens), .unit = "operations", .help = "Opens of the file." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads of the file." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these reads returned." },
	{ "writes", COUNT(writes), .unit = "operations", .help = "Writes to the file." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes that these writes wrote." },
	{ "unique_bytes", COUNT(unique_bytes), .unit = "bytes", .help = "Bytes of the file that were read, each counted once; null = the offsets are not known." },
	{ "unique_is_exact", MLGEN_F_BOOL(S, unique_is_exact), .help = "false = unique_bytes counts whole blocks of 4 KiB of which a part was read." },
	{ "reread_percent", REAL(reread_percent), .unit = "%", .help = "Share of read_bytes that had been read before." },
	{ "sequential_percent", REAL(sequential_percent), .unit = "%", .help = "Like access.sequential_percent, for this file." },
	{ "pages", COUNT(pages), .unit = "pages", .help = "Pages of 4 KiB of the file that page faults touched." },
	{ 0 },
};
#undef S

#define S struct described_directory
static const struct mlgen_field directory_fields[] = {
	{ "path", TEXT(path), .help = "The part of the paths of its files up to the last slash." },
	{ "files", COUNT(files), .unit = "files", .help = "Files used in the directory, without its subdirectories." },
	{ "opens", COUNT(opens), .unit = "operations", .help = "Opens of these files." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads of these files." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these reads returned." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes written to these files." },
	{ 0 },
};
#undef S

#define S struct described_task
#define TASK_ROWS \
	{ "operations", COUNT(operations), .unit = "operations", .help = "Calls on files that succeeded." }, \
	{ "opens", COUNT(opens), .unit = "operations", .help = "Opens among these calls." }, \
	{ "metadata", COUNT(metadata), .unit = "operations", .help = "Calls that move no byte, opens included." }, \
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads among these calls." }, \
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these reads returned." }, \
	{ "writes", COUNT(writes), .unit = "operations", .help = "Writes among these calls." }, \
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes that these writes wrote." }, \
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first record to the last." }, \
	{ "read_bytes_per_sec", REAL(read_bytes_per_sec), .unit = "bytes/s", .help = "read_bytes divided by seconds." }, \
	{ "io_percent", REAL(io_percent), .unit = "%", .help = "Share of the time that was spent in calls on files; for a process, of the time of its threads. Asynchronous requests do not block a thread and are not included." }, \
	{ "fault_percent", REAL(fault_percent), .unit = "%", .help = "The same for page faults on mapped files." }, \
	{ "on_cpu_percent", REAL(on_cpu_percent), .unit = "%", .help = "The same for time on a CPU; null = not recorded." }, \
	{ "off_cpu_percent", REAL(off_cpu_percent), .unit = "%", .help = "The rest." }, \
	{ "faults", COUNT(faults), .unit = "faults", .help = "Page faults on mapped files." }, \
	{ "switches", COUNT(switches), .unit = "switches", .help = "Times that a thread left a CPU; null = not recorded." }
static const struct mlgen_field process_fields[] = {
	{ "pid", COUNT(pid), .help = "Process ID." },
	{ "parent", COUNT(parent), .help = "ID of the process that forked this process; null = not known." },
	{ "command", TEXT(text), .help = "Command line; null = not known." },
	ROLE_ROWS,
	{ "threads", COUNT(threads), .unit = "threads", .help = "Threads of the process that have records." },
	TASK_ROWS,
	{ 0 },
};

static const struct mlgen_field thread_fields[] = {
	{ "pid", COUNT(pid), .help = "ID of the process." },
	{ "tid", COUNT(tid), .help = "ID of the thread." },
	{ "name", TEXT(text), .help = "Name that the program gives the thread in a marker; null = none." },
	ROLE_ROWS,
	TASK_ROWS,
	{ 0 },
};
#undef TASK_ROWS
#undef S

#define S struct described_epoch
static const struct mlgen_field epoch_fields[] = {
	{ "number", COUNT(number), .help = "From 0, as the marker numbers it." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Begin, in seconds since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of the epoch; null = the epoch was not marked." },
	{ "files", COUNT(files), .unit = "files", .help = "Files read in the epoch." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Samples whose markers began in the epoch; null = no samples are marked." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads that began in the epoch." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these reads returned." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "read_bytes divided by seconds." },
	{ "order_correlation", REAL(order_correlation), .help = "Correlation between the positions of samples, or files, in this epoch and in the previous epoch: 1 = the same order, 0 = shuffled." },
	{ 0 },
};
#undef S

#define S struct described_stage
static const struct mlgen_field stage_fields[] = {
	{ "name", TEXT(name), .help = "For example train or eval." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Begin, in seconds since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of the stage." },
	{ 0 },
};
#undef S

#define S struct described_phase
static const struct mlgen_field phase_fields[] = {
	{ "kind", MLGEN_F_ENUM(S, kind, described_phases), .help = "Whether the bytes are mostly read or written." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Begin, in seconds since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "Length, in whole intervals (log_interval)." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes read and written in the phase." },
	{ 0 },
};
#undef S

#define S struct described_checkpoint
static const struct mlgen_field checkpoint_fields[] = {
	{ "kind", TEXT(name), .help = "save or restore." },
	{ "number", COUNT(number), .help = "From 0, as the marker numbers it." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Begin, in seconds since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of the checkpoint." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes of all ranks." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "bytes divided by seconds." },
	{ 0 },
};
#undef S

#define S struct described_loss
static const struct mlgen_field loss_fields[] = {
	{ "operation", TEXT(operation), .help = "Operation of the lost events; null = several operations." },
	{ "events", COUNT(events), .unit = "events", .help = "How many." },
	{ "first_seconds", REAL(first_seconds), .unit = "s", .help = "Time of the first lost event, since the trace began." },
	{ "last_seconds", REAL(last_seconds), .unit = "s", .help = "Time of the last lost event." },
	{ "tid", COUNT(tid), .help = "Thread that lost them; 0 = several threads." },
	{ "why", TEXT(why), .help = "In words." },
	{ 0 },
};
#undef S

#define S struct described_lost
static const struct mlgen_field lost_fields[] = {
	{ "events", COUNT(events), .unit = "events", .help = "Events that happened and are missing from the trace, as far as the recorder noticed." },
	{ "parts", METRIC_LIST(S, parts, struct described_loss, loss_fields), .help = "Lost events by operation, time and reason." },
	{ 0 },
};
#undef S

#define S struct described_access
static const struct mlgen_field access_fields[] = {
	{ "followed", COUNT(followed), .unit = "operations", .help = "Reads that followed another read of the same thread in the same open file." },
	{ "sequential_percent", REAL(sequential_percent), .unit = "%", .help = "Share of these reads that begin where the previous read ended." },
	{ "ahead_percent", REAL(ahead_percent), .unit = "%", .help = "Share that skip bytes." },
	{ "back_percent", REAL(back_percent), .unit = "%", .help = "Share that begin before the end of the previous read." },
	{ "unknown_offsets", COUNT(unknown_offsets), .unit = "operations", .help = "Reads with unknown offsets; no other figure here includes them." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_unique
static const struct mlgen_field unique_fields[] = {
	{ "files", COUNT(files), .unit = "files", .help = "Files that were opened, read, written, mapped or queried." },
	{ "read_files", COUNT(read_files), .unit = "files", .help = "Files that were read." },
	{ "written_files", COUNT(written_files), .unit = "files", .help = "Files that were written." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes of files that were read, each counted once." },
	{ "is_exact", MLGEN_F_BOOL(S, is_exact), .help = "false = files that were read in more than 256 pieces are counted by blocks of 4 KiB of which a part was read." },
	{ "reread_percent", REAL(reread_percent), .unit = "%", .help = "Share of the bytes read that had been read before." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_order
static const struct mlgen_field order_fields[] = {
	{ "source", TEXT(source), .help = "Where epochs come from: markers, or files that are read again; null = unknown." },
	{ "sure", MLGEN_F_ENUM(S, sure, described_certainties), .help = "How certain the source is: likely if it explains 90 % of the bytes of files, guess if it explains 50 %." },
	{ "of", TEXT(of), .help = "What is ordered: samples, if markers identify them, otherwise files, by the first read of each." },
	{ "correlation", REAL(correlation), .help = "Mean of order_correlation of the epochs." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_metadata
static const struct mlgen_field metadata_fields[] = {
	{ "operations", COUNT(operations), .unit = "operations", .help = "Calls that move no byte: open, close, stat, rename, unlink, mkdir, rmdir, getdents." },
	{ "per_mib", REAL(per_mib), .unit = "operations", .help = "Operations for each MiB read or written." },
	{ "opens_per_sample", REAL(opens_per_sample), .unit = "operations", .help = "Opens of any file divided by the number of marked samples." },
	{ "opens_unknown", TEXT(opens_unknown), .help = "Why opens_per_sample is null; null = opens_per_sample is known." },
	{ 0 },
};
#undef S

#define S struct described_cache
static const struct mlgen_field cache_fields[] = {
	{ "source", TEXT(source), .help = "What hits are derived from: pages added to the cache, otherwise block requests; null = nothing." },
	{ "hit_percent", REAL(hit_percent), .unit = "%", .help = "Share of the bytes that calls read from the cache: 1 - bytes added / bytes read, never below 0. Bytes added include those of page faults." },
	{ "added_bytes", COUNT(added_bytes), .unit = "bytes", .help = "Bytes added to the page cache; null = not recorded." },
	{ "read_ahead_percent", REAL(read_ahead_percent), .unit = "%", .help = "Share of the added bytes that was read ahead." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_block
static const struct mlgen_field block_fields[] = {
	{ "reads", COUNT(reads), .unit = "operations", .help = "Read requests to block devices. request_sizes lists their sizes." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes of the read requests." },
	{ "writes", COUNT(writes), .unit = "operations", .help = "Write requests to block devices." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes of the write requests." },
	{ "depth_mean", REAL(depth_mean), .unit = "requests", .help = "Mean number of requests in flight: the total time of the requests divided by the time of the trace." },
	{ "depth_most", COUNT(depth_most), .unit = "requests", .help = "Largest number of requests in flight." },
	{ "read_ahead_percent", REAL(read_ahead_percent), .unit = "%", .help = "Share of the bytes read that the kernel read ahead." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .unit = "ns", .help = "From issue to completion." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_mmap
static const struct mlgen_field mmap_fields[] = {
	{ "maps", COUNT(maps), .unit = "operations", .help = "Times that a file was mapped." },
	{ "faults", COUNT(faults), .unit = "faults", .help = "Page faults on mapped files; null = not recorded." },
	{ "faults_per_sec", REAL(faults_per_sec), .unit = "1/s", .help = "Rate of page faults, from the first fault to the last." },
	{ "pages", COUNT(pages), .unit = "pages", .help = "Pages of 4 KiB that were touched, each counted once for all processes. Pages that the kernel mapped around a fault have no fault of their own and are not counted." },
	{ "pages_is_exact", MLGEN_F_BOOL(S, pages_is_exact), .help = "false = files that were touched in more than 256 pieces are counted by larger blocks." },
	{ "ascending_percent", REAL(ascending_percent), .unit = "%", .help = "Share of the faults after another fault of the same thread in the same file that have a higher offset." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_async
static const struct mlgen_field async_fields[] = {
	{ "submitted", COUNT(submitted), .unit = "requests", .help = "Requests of io_uring or libaio." },
	{ "completed", COUNT(completed), .unit = "requests", .help = "Requests that completed." },
	{ "depth_most", COUNT(depth_most), .unit = "requests", .help = "Largest number of requests in flight, over all processes." },
	{ 0 },
};
#undef S

#define S struct described_cpu
static const struct mlgen_field cpu_fields[] = {
	{ "on_percent", REAL(on_percent), .unit = "%", .help = "Share of the time of all threads that was spent on a CPU." },
	{ "off_percent", REAL(off_percent), .unit = "%", .help = "The rest." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ "switches", COUNT(switches), .unit = "switches", .help = "Times that a thread left a CPU." },
	{ "switches_per_sec", REAL(switches_per_sec), .unit = "1/s", .help = "switches divided by the time of the trace." },
	{ "switches_unknown", TEXT(switches_unknown), .help = "Why the figures of switches are null; null = they are known." },
	{ 0 },
};
#undef S

#define S struct described_share
static const struct mlgen_field share_fields[] = {
	{ "count", COUNT(count), .help = "Processes or threads that read or wrote a byte." },
	{ "bytes_most_over_mean", REAL(bytes_most_over_mean), .help = "The largest number of bytes divided by the mean; 1 = all are equal." },
	{ "bytes_gini", REAL(bytes_gini), .help = "Gini coefficient of the bytes; 0 = all are equal, near 1 = one moved all bytes." },
	{ "io_most_over_mean", REAL(io_most_over_mean), .help = "Like bytes_most_over_mean, for the time in calls on files." },
	{ "io_gini", REAL(io_gini), .help = "Like bytes_gini, for the time in calls on files." },
	{ 0 },
};
#undef S

#define S struct described_skew
static const struct mlgen_field skew_fields[] = {
	{ "processes", METRIC_OBJECT(S, processes, struct described_share, share_fields), .help = "Between processes." },
	{ "threads", METRIC_OBJECT(S, threads, struct described_share, share_fields), .help = "Between threads." },
	{ 0 },
};
#undef S

#define S struct described_steps
static const struct mlgen_field steps_fields[] = {
	{ "count", COUNT(count), .unit = "steps", .help = "Markers of steps, one per rank." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Samples of these steps." },
	{ "step_ns", METRIC_HIST(S, step_ns), .unit = "ns", .help = "Time of a step." },
	{ "compute_ns", METRIC_HIST(S, compute_ns), .unit = "ns", .help = "Compute time of a step." },
	{ 0 },
};
#undef S

#define S struct described_trace
const struct mlgen_field described_trace_fields[] = {
	{ "trace_files", COUNT(files), .unit = "files", .help = "Files of the trace." },
	{ "chunks", COUNT(chunks), .help = "Chunks of these files that could be read." },
	{ "records", COUNT(records), .help = "Records in these chunks, markers included." },
	{ "entries", COUNT(entries), .help = "Entries in these chunks." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Size of the files of the trace." },
	{ "is_complete", MLGEN_F_BOOL(S, is_complete), .help = "No event was lost, and no file is damaged or cut off. If false, all figures cover only the records that exist." },
	{ "truncated", COUNT(truncated), .unit = "files", .help = "Files of the trace without an end: the recorder was stopped." },
	{ "damaged_chunks", COUNT(damaged_chunks), .help = "Chunks that were left out because their checksums do not match." },
	{ "damaged_bytes", COUNT(damaged_bytes), .unit = "bytes", .help = "Bytes of the files that were left out." },
	{ "unknown_ops", COUNT(unknown_ops), .help = "Records of operations of a later version; no other figure includes them." },
	{ "unknown_durations", COUNT(unknown_durations), .help = "Records of unknown duration, which some logs have; no latency includes them." },
	{ "clock_steps", COUNT(clock_steps), .help = "Records that ended before the previous record of the same thread: the clock was set back, or the recorder was wrong. Do not trust the times of such a trace." },
	{ "lost", METRIC_OBJECT(S, lost, struct described_lost, lost_fields), .help = "Lost events." },
	{ "time", TEXT(time), .help = "Date and time of the first record, in UTC; null = unknown." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a record to the last end. Markers that began earlier are not included." },
	{ "facts", METRIC_MAP(S, facts), .help = "Facts about the recording: program, version, host, kernel, job." },
	{ "mounts", METRIC_MAP(S, mounts), .help = "Type, mount point and source of each mounted filesystem, by its device." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that calls read." },
	{ "read_bytes_per_sec", REAL(read_bytes_per_sec), .unit = "bytes/s", .help = "read_bytes divided by seconds." },
	{ "reads_per_sec", REAL(reads_per_sec), .unit = "1/s", .help = "Reads divided by seconds." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes that calls wrote." },
	{ "write_bytes_per_sec", REAL(write_bytes_per_sec), .unit = "bytes/s", .help = "written_bytes divided by seconds." },
	{ "writes_per_sec", REAL(writes_per_sec), .unit = "1/s", .help = "Writes divided by seconds." },
	{ "in_flight_mean", REAL(in_flight_mean), .unit = "operations", .help = "Mean number of reads and writes in flight: their total time divided by the time of the trace." },
	{ "processes_count", COUNT(processes_count), .unit = "processes", .help = "Processes with records." },
	{ "threads_count", COUNT(threads_count), .unit = "threads", .help = "Threads with records." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Marked samples; null = no samples are marked." },
	{ "io_percent", REAL(io_percent), .unit = "%", .help = "Share of the time of all threads that was spent in calls on files." },
	{ "fault_percent", REAL(fault_percent), .unit = "%", .help = "The same for page faults on mapped files." },
	{ "operations", METRIC_OBJECT(S, operations, struct described_ops, ops_fields), .help = "Each kind of record." },
	{ "request_sizes", METRIC_LIST(S, request_sizes, struct described_size, size_fields), .help = "Requests by size." },
	{ "access", METRIC_OBJECT(S, access, struct described_access, access_fields), .help = "Order of reads within files." },
	{ "unique", METRIC_OBJECT(S, unique, struct described_unique, unique_fields), .help = "Files and bytes that were used, and how often." },
	{ "order", METRIC_OBJECT(S, order, struct described_order, order_fields), .help = "Order of samples or files over epochs." },
	{ "metadata", METRIC_OBJECT(S, metadata, struct described_metadata, metadata_fields), .help = "Calls that move no byte." },
	{ "cache", METRIC_OBJECT(S, cache, struct described_cache, cache_fields), .help = "Hits in the page cache." },
	{ "block", METRIC_OBJECT(S, block, struct described_block, block_fields), .help = "Requests to block devices, from all programs that ran meanwhile." },
	{ "mmap", METRIC_OBJECT(S, mmap, struct described_mmap, mmap_fields), .help = "Files that were mapped." },
	{ "async", METRIC_OBJECT(S, async, struct described_async, async_fields), .help = "Asynchronous requests." },
	{ "cpu", METRIC_OBJECT(S, cpu, struct described_cpu, cpu_fields), .help = "CPU time and context switches of all threads." },
	{ "skew", METRIC_OBJECT(S, skew, struct described_skew, skew_fields), .help = "How unevenly I/O is distributed." },
	{ "steps", METRIC_OBJECT(S, steps, struct described_steps, steps_fields), .help = "Marked steps." },
	{ "epochs", METRIC_LIST(S, epochs, struct described_epoch, epoch_fields), .help = "Epochs, in order of time; order.source says where they come from." },
	{ "stages", METRIC_LIST(S, stages, struct described_stage, stage_fields), .help = "Marked stages." },
	{ "phases_count", COUNT(phases_count), .unit = "phases", .help = "Number of phases, in which bytes are read, written, both or neither. Phases are derived from the intervals of the log, independent of markers." },
	{ "phases", METRIC_LIST(S, phases, struct described_phase, phase_fields), .help = "The first 1000 phases." },
	{ "idle_percent", REAL(idle_percent), .unit = "%", .help = "Share of the intervals in which no byte was read or written." },
	{ "checkpoints", METRIC_LIST(S, checkpoints, struct described_checkpoint, checkpoint_fields), .help = "Marked checkpoints." },
	{ "processes", METRIC_LIST(S, processes, struct described_task, process_fields), .help = "Up to 1000 processes, those that moved most bytes first." },
	{ "threads", METRIC_LIST(S, threads, struct described_task, thread_fields), .help = "Threads, in the same order." },
	{ "files", METRIC_LIST(S, top_files, struct described_file, file_fields), .help = "Up to 100 files, those with most bytes read and written first." },
	{ "directories", METRIC_LIST(S, directories, struct described_directory, directory_fields), .help = "Directories, in the same order." },
	{ "interval_seconds", REAL(interval_seconds), .unit = "s", .help = "Length of an interval of series." },
	{ "series", METRIC_LIST(S, series, struct interval, interval_fields), .help = "Events that ended in each interval. An interval is log_interval, or longer by a power of two if the trace had more than 1024 intervals." },
	{ 0 },
};
#undef S

#define S struct described
const struct mlgen_field described_fields[] = {
	{ "mlgen version", TEXT(version), .help = "Version of mlgen." },
	{ "schema_version", COUNT(schema_version), .help = "Same as in the documents of runs, mlgen-json(5)." },
	{ "trace", METRIC_OBJECT(S, trace, struct described_trace, described_trace_fields), .help = "The trace." },
	{ 0 },
};
#undef S

const struct document_section described_sections[] = {
	{ "", described_fields },
	{ "trace", described_trace_fields },
	{ "trace.lost", lost_fields },
	{ "trace.lost.parts[]", loss_fields },
	{ "trace.operations", ops_fields },
	{ "trace.operations.read and the others", op_fields },
	{ "trace.request_sizes[]", size_fields },
	{ "trace.access", access_fields },
	{ "trace.unique", unique_fields },
	{ "trace.order", order_fields },
	{ "trace.metadata", metadata_fields },
	{ "trace.cache", cache_fields },
	{ "trace.block", block_fields },
	{ "trace.mmap", mmap_fields },
	{ "trace.async", async_fields },
	{ "trace.cpu", cpu_fields },
	{ "trace.skew", skew_fields },
	{ "trace.skew.processes, .threads", share_fields },
	{ "trace.steps", steps_fields },
	{ "trace.epochs[]", epoch_fields },
	{ "trace.stages[]", stage_fields },
	{ "trace.phases[]", phase_fields },
	{ "trace.checkpoints[]", checkpoint_fields },
	{ "trace.processes[]", process_fields },
	{ "trace.threads[]", thread_fields },
	{ "trace.files[]", file_fields },
	{ "trace.directories[]", directory_fields },
	{ "trace.series[]", interval_fields },
	{ 0 },
};
/* clang-format on */
