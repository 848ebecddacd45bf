/* SPDX-License-Identifier: Apache-2.0 */
/* described.c - the figures of a trace as tables: names, units, and what they mean. */
#include "trace/documents/documents.h"

const struct mlgen_choice described_roles[] = {
	{ "other", ROLE_OTHER, "none of these" },
	{ "trainer", ROLE_TRAINER, "computes: a rank, or the process that has loaders" },
	{ "loader", ROLE_LOADER, "reads samples for a trainer" },
	{ "checkpoint", ROLE_CHECKPOINT, "writes most of what is written, or restores it" },
	{ "worker", ROLE_WORKER, "a stream of a plain job" },
	{ 0 },
};

const struct mlgen_choice described_certainties[] = {
	{ "said", SURE_STATED, "the program itself says so, in a marker" },
	{ "likely", SURE_LIKELY, "what was done fits nothing else that programs do" },
	{ "guess", SURE_GUESS, "it fits best" },
	{ 0 },
};

const struct mlgen_choice described_phases[] = {
	{ "idle", MOVES_NOTHING, "no byte was read or written" },
	{ "read", MOVES_IN, "at least ten times as many bytes were read as written" },
	{ "write", MOVES_OUT, "the other way round" },
	{ "both", MOVES_BOTH, "neither outweighs the other" },
	{ 0 },
};

/* clang-format off */
#define I struct interval
#define COUNT(m) MLGEN_F_U64(I, m), .flags = MLGEN_NULLABLE
const struct mlgen_field interval_fields[] = {
	{ "seconds", MLGEN_F_F64(I, seconds), .unit = "s",
	  .help = "The end of the interval, since the trace began." },
	{ "opens", COUNT(opens), .unit = "operations",
	  .help = "Files that were opened." },
	{ "metadata", COUNT(metadata), .unit = "operations",
	  .help = "Calls that move no byte: open, close, stat, rename, unlink, mkdir, rmdir, getdents." },
	{ "reads", COUNT(reads), .unit = "operations",
	  .help = "Reads that ended in the interval." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes",
	  .help = "Bytes that they got." },
	{ "writes", COUNT(writes), .unit = "operations",
	  .help = "Writes that ended in the interval." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes",
	  .help = "Bytes that they wrote." },
	{ "errors", COUNT(errors), .unit = "operations",
	  .help = "Calls on files that failed." },
	{ "faults", COUNT(faults), .unit = "faults",
	  .help = "Page faults on mapped files." },
	{ "cache_bytes", COUNT(cache_bytes), .unit = "bytes",
	  .help = "Bytes that came into the page cache; null = not recorded." },
	{ "block_read_bytes", COUNT(block_read_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that read; null = not recorded." },
	{ "block_written_bytes", COUNT(block_written_bytes), .unit = "bytes",
	  .help = "Bytes of block requests that write; null = not recorded." },
	{ "switches", COUNT(switches), .unit = "switches",
	  .help = "Times that a thread came off a CPU; null = not recorded." },
	{ "hit_percent", MLGEN_F_F64(I, hit_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "As cache.hit_percent, of this interval; pages that were read ahead count where they were read." },
	{ 0 },
};
#undef COUNT
#undef I

#define COUNT(m) MLGEN_F_U64(S, m), .flags = MLGEN_NULLABLE
#define REAL(m)  MLGEN_F_F64(S, m), .flags = MLGEN_NULLABLE
#define TEXT(m)  METRICS_TEXT(S, m)
#define ROLE_ROWS \
	{ "role", MLGEN_F_ENUM(S, role, described_roles), .help = "What it is there for." }, \
	{ "sure", MLGEN_F_ENUM(S, sure, described_certainties), .help = "How that is known." }
#define UNKNOWN_HELP "Why figures of this object are null; null = none is, for want of records."

#define S struct described_op
static const struct mlgen_field op_fields[] = {
	{ "count", COUNT(count), .unit = "operations", .help = "Those that did not fail." },
	{ "errors", COUNT(errors), .unit = "operations", .help = "Those that failed; they are in no other figure." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes that they moved, or are about." },
	{ "chained", COUNT(chained), .unit = "operations", .help = "Of count, those that were done in a chain, and have no latency of their own." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "Time of all of them together." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .unit = "ns", .help = "From begin to end, of those that are not chained." },
	{ 0 },
};
#undef S

#define S struct described_ops
#define OP(name, op, sentence) { name, METRIC_OBJECT(S, of[op], struct described_op, op_fields), .help = sentence }
static const struct mlgen_field ops_fields[] = {
	OP("open", TRACE_OPEN, "Files and directories that were opened."),
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
	OP("cache_add", TRACE_CACHE_ADD, "Bytes of files that came into the page cache."),
	OP("block_issue", TRACE_BLOCK_ISSUE, "Requests handed to a block device."),
	OP("block_complete", TRACE_BLOCK_COMPLETE, "Requests that a block device was done with."),
	OP("async_submit", TRACE_ASYNC_SUBMIT, "Requests of io_uring or libaio that were submitted."),
	OP("async_complete", TRACE_ASYNC_COMPLETE, "The same, completed."),
	OP("fork", TRACE_FORK, "Calls of this kind."),
	OP("exec", TRACE_EXEC, "Calls of this kind."),
	OP("exit", TRACE_EXIT, "Calls of this kind."),
	OP("on_cpu", TRACE_ON_CPU, "Times that a thread was on a CPU."),
	OP("sample", TRACE_SAMPLE, "Markers: samples."),
	OP("step", TRACE_STEP, "Markers: steps."),
	OP("epoch", TRACE_EPOCH, "Markers: epochs, one of each rank."),
	OP("stage", TRACE_STAGE, "Markers: stages, one of each rank."),
	OP("checkpoint", TRACE_CHECKPOINT, "Markers: checkpoints, one of each rank."),
	OP("compute", TRACE_COMPUTE, "Markers: time that steps computed."),
	OP("text", TRACE_TEXT, "Markers: texts."),
	{ 0 },
};
#undef OP
#undef S

#define S struct described_size
static const struct mlgen_field size_fields[] = {
	{ "operation", TEXT(operation), .help = "read, write, block_read or block_write." },
	{ "at_most_bytes", COUNT(at_most_bytes), .unit = "bytes", .help = "A power of two: of requests above half of it, up to it." },
	{ "count", COUNT(count), .unit = "operations", .help = "Requests that asked for so much." },
	{ "percent", REAL(percent), .unit = "%", .help = "Of all requests of this operation." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes that they moved." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "These by the time of the requests themselves: what one of them gets while it is under way." },
	{ "lat_mean_ns", REAL(lat_mean_ns), .unit = "ns", .help = "Mean time of one." },
	{ 0 },
};
#undef S

#define S struct described_file
static const struct mlgen_field file_fields[] = {
	{ "path", TEXT(path), .help = "As the program had it, with escapes where it is not text; null = it was never named." },
	{ "size_bytes", COUNT(size_bytes), .unit = "bytes", .help = "When it was first seen." },
	{ "opens", COUNT(opens), .unit = "operations", .help = "Times it was opened." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads of it." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these got." },
	{ "writes", COUNT(writes), .unit = "operations", .help = "Writes to it." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes that these wrote." },
	{ "unique_bytes", COUNT(unique_bytes), .unit = "bytes", .help = "Of it, bytes that were read at all; null = the offsets are not known." },
	{ "unique_is_exact", MLGEN_F_BOOL(S, unique_is_exact), .help = "Else these are whole blocks of 4 KiB of which something was read." },
	{ "reread_percent", REAL(reread_percent), .unit = "%", .help = "Of read_bytes, those that had been read before." },
	{ "sequential_percent", REAL(sequential_percent), .unit = "%", .help = "As access.sequential_percent, of this file." },
	{ "pages", COUNT(pages), .unit = "pages", .help = "Pages of it, of 4 KiB, that were touched by page faults." },
	{ 0 },
};
#undef S

#define S struct described_directory
static const struct mlgen_field directory_fields[] = {
	{ "path", TEXT(path), .help = "Paths of its files up to their last slash." },
	{ "files", COUNT(files), .unit = "files", .help = "Files in it, not in folders below, that were used." },
	{ "opens", COUNT(opens), .unit = "operations", .help = "Times these were opened." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads of them." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these got." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes written to them." },
	{ 0 },
};
#undef S

#define S struct described_task
#define TASK_ROWS \
	{ "operations", COUNT(operations), .unit = "operations", .help = "Calls on files that did not fail." }, \
	{ "opens", COUNT(opens), .unit = "operations", .help = "Of these, opens." }, \
	{ "metadata", COUNT(metadata), .unit = "operations", .help = "Of these, calls that move no byte, opens too." }, \
	{ "reads", COUNT(reads), .unit = "operations", .help = "Of these, reads." }, \
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these got." }, \
	{ "writes", COUNT(writes), .unit = "operations", .help = "Of these, writes." }, \
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes that these wrote." }, \
	{ "seconds", REAL(seconds), .unit = "s", .help = "From its first record to its last." }, \
	{ "read_bytes_per_sec", REAL(read_bytes_per_sec), .unit = "bytes/s", .help = "read_bytes in these seconds." }, \
	{ "io_percent", REAL(io_percent), .unit = "%", .help = "Of its time, in calls on files; of a process the time of its threads. What is asynchronous holds nobody up and is not in it." }, \
	{ "fault_percent", REAL(fault_percent), .unit = "%", .help = "The same in page faults on mapped files." }, \
	{ "on_cpu_percent", REAL(on_cpu_percent), .unit = "%", .help = "The same on a CPU; null = not recorded." }, \
	{ "off_cpu_percent", REAL(off_cpu_percent), .unit = "%", .help = "The rest." }, \
	{ "faults", COUNT(faults), .unit = "faults", .help = "Page faults on mapped files." }, \
	{ "switches", COUNT(switches), .unit = "switches", .help = "Times it came off a CPU; null = not recorded." }
static const struct mlgen_field process_fields[] = {
	{ "pid", COUNT(pid), .help = "Its number." },
	{ "parent", COUNT(parent), .help = "Number of the process that forked it; null = not known." },
	{ "command", TEXT(text), .help = "Its command line; null = not known." },
	ROLE_ROWS,
	{ "threads", COUNT(threads), .unit = "threads", .help = "Its threads that have records." },
	TASK_ROWS,
	{ 0 },
};

static const struct mlgen_field thread_fields[] = {
	{ "pid", COUNT(pid), .help = "Number of its process." },
	{ "tid", COUNT(tid), .help = "Its own number." },
	{ "name", TEXT(text), .help = "What the program says that it is; null = nothing." },
	ROLE_ROWS,
	TASK_ROWS,
	{ 0 },
};
#undef TASK_ROWS
#undef S

#define S struct described_epoch
static const struct mlgen_field epoch_fields[] = {
	{ "number", COUNT(number), .help = "From 0, as its marker has it." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Its begin, since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of it; null = it was not marked." },
	{ "files", COUNT(files), .unit = "files", .help = "Files read in it." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Samples whose markers began in it; null = none are marked." },
	{ "reads", COUNT(reads), .unit = "operations", .help = "Reads that began in it." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes that these got." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "These in its seconds." },
	{ "order_correlation", REAL(order_correlation), .help = "Of the places that samples, or files, have in the order of this epoch and of the one before: 1 = the same order, 0 = shuffled." },
	{ 0 },
};
#undef S

#define S struct described_stage
static const struct mlgen_field stage_fields[] = {
	{ "name", TEXT(name), .help = "Such as train or eval." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Its begin, since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of it." },
	{ 0 },
};
#undef S

#define S struct described_phase
static const struct mlgen_field phase_fields[] = {
	{ "kind", MLGEN_F_ENUM(S, kind, described_phases), .help = "What most bytes do." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Its begin, since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "Its length: whole intervals, of log_interval." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Read and written in it." },
	{ 0 },
};
#undef S

#define S struct described_checkpoint
static const struct mlgen_field checkpoint_fields[] = {
	{ "kind", TEXT(name), .help = "save or restore." },
	{ "number", COUNT(number), .help = "From 0, as its marker has it." },
	{ "start_seconds", REAL(start_seconds), .unit = "s", .help = "Its begin, since the trace began." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a rank to the last end." },
	{ "ranks", COUNT(ranks), .unit = "ranks", .help = "Markers of it." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Of all ranks." },
	{ "bytes_per_sec", REAL(bytes_per_sec), .unit = "bytes/s", .help = "These in its seconds." },
	{ 0 },
};
#undef S

#define S struct described_loss
static const struct mlgen_field loss_fields[] = {
	{ "operation", TEXT(operation), .help = "What was lost; null = of several kinds." },
	{ "events", COUNT(events), .unit = "events", .help = "How many." },
	{ "first_seconds", REAL(first_seconds), .unit = "s", .help = "When the first was lost, since the trace began." },
	{ "last_seconds", REAL(last_seconds), .unit = "s", .help = "When the last was." },
	{ "tid", COUNT(tid), .help = "Of which thread; 0 = of several." },
	{ "why", TEXT(why), .help = "In words." },
	{ 0 },
};
#undef S

#define S struct described_lost
static const struct mlgen_field lost_fields[] = {
	{ "events", COUNT(events), .unit = "events", .help = "That happened and are not in the trace, as far as whoever recorded it noticed." },
	{ "parts", METRIC_LIST(S, parts, struct described_loss, loss_fields), .help = "These by operation, time and reason." },
	{ 0 },
};
#undef S

#define S struct described_access
static const struct mlgen_field access_fields[] = {
	{ "followed", COUNT(followed), .unit = "operations", .help = "Reads that followed another read of the same thread in the same open file." },
	{ "sequential_percent", REAL(sequential_percent), .unit = "%", .help = "Of these, those that begin where that one ended." },
	{ "ahead_percent", REAL(ahead_percent), .unit = "%", .help = "Those that leave bytes out." },
	{ "back_percent", REAL(back_percent), .unit = "%", .help = "Those that begin before that end." },
	{ "unknown_offsets", COUNT(unknown_offsets), .unit = "operations", .help = "Reads whose offsets are not known: they are in none of this." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_unique
static const struct mlgen_field unique_fields[] = {
	{ "files", COUNT(files), .unit = "files", .help = "Files that were used: opened, read, written, mapped, or asked about." },
	{ "read_files", COUNT(read_files), .unit = "files", .help = "Of these, read." },
	{ "written_files", COUNT(written_files), .unit = "files", .help = "Of these, written." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Bytes of files that were read at all, each counted once." },
	{ "is_exact", MLGEN_F_BOOL(S, is_exact), .help = "Else files of which more than 256 pieces were read are counted by blocks of 4 KiB of which something was read." },
	{ "reread_percent", REAL(reread_percent), .unit = "%", .help = "Of the bytes read, those that had been read before." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_order
static const struct mlgen_field order_fields[] = {
	{ "source", TEXT(source), .help = "How epochs are known: markers, or files that are read again; null = they are not." },
	{ "sure", MLGEN_F_ENUM(S, sure, described_certainties), .help = "How sure that is: likely where it is true of 90 % of the bytes of files, a guess from 50 % on." },
	{ "of", TEXT(of), .help = "Whose order it is: of samples, where their markers say which they are, else of files, by the first read of each." },
	{ "correlation", REAL(correlation), .help = "Mean of order_correlation of the epochs." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_metadata
static const struct mlgen_field metadata_fields[] = {
	{ "operations", COUNT(operations), .unit = "operations", .help = "Calls that move no byte: open, close, stat, rename, unlink, mkdir, rmdir, getdents." },
	{ "per_mib", REAL(per_mib), .unit = "operations", .help = "These for each MiB read or written." },
	{ "opens_per_sample", REAL(opens_per_sample), .unit = "operations", .help = "Opens of any file by samples that are marked." },
	{ "opens_unknown", TEXT(opens_unknown), .help = "Why opens_per_sample is null; null = it is not." },
	{ 0 },
};
#undef S

#define S struct described_cache
static const struct mlgen_field cache_fields[] = {
	{ "source", TEXT(source), .help = "What tells: pages added to the cache, or else block requests; null = nothing." },
	{ "hit_percent", REAL(hit_percent), .unit = "%", .help = "Of the bytes that calls read, those that did not have to come: 1 - what came / what was read, never below 0. What page faults brought is in what came." },
	{ "added_bytes", COUNT(added_bytes), .unit = "bytes", .help = "Bytes that came into the page cache; null = not recorded." },
	{ "read_ahead_percent", REAL(read_ahead_percent), .unit = "%", .help = "Of what came, what was read ahead." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_block
static const struct mlgen_field block_fields[] = {
	{ "reads", COUNT(reads), .unit = "operations", .help = "Requests to block devices that read. Their sizes are in request_sizes." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "Bytes of these." },
	{ "writes", COUNT(writes), .unit = "operations", .help = "Requests that write." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "Bytes of these." },
	{ "depth_mean", REAL(depth_mean), .unit = "requests", .help = "Under way at a time, on the average: their time together by the trace's." },
	{ "depth_most", COUNT(depth_most), .unit = "requests", .help = "At most." },
	{ "read_ahead_percent", REAL(read_ahead_percent), .unit = "%", .help = "Of the bytes read, those that the kernel read ahead." },
	{ "lat_ns", METRIC_HIST(S, lat_ns), .unit = "ns", .help = "From issue to completion." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_mmap
static const struct mlgen_field mmap_fields[] = {
	{ "maps", COUNT(maps), .unit = "operations", .help = "Times that a file was mapped." },
	{ "faults", COUNT(faults), .unit = "faults", .help = "Page faults on these; null = not recorded." },
	{ "faults_per_sec", REAL(faults_per_sec), .unit = "1/s", .help = "From the first of them to the last." },
	{ "pages", COUNT(pages), .unit = "pages", .help = "Pages of 4 KiB that were touched, each counted once for all processes. Pages that the kernel mapped around a fault have none of their own." },
	{ "pages_is_exact", MLGEN_F_BOOL(S, pages_is_exact), .help = "Else files of more than 256 pieces are counted by larger blocks." },
	{ "ascending_percent", REAL(ascending_percent), .unit = "%", .help = "Of faults that followed another fault of the same thread in the same file, those at a higher offset." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ 0 },
};
#undef S

#define S struct described_async
static const struct mlgen_field async_fields[] = {
	{ "submitted", COUNT(submitted), .unit = "requests", .help = "Requests of io_uring or libaio." },
	{ "completed", COUNT(completed), .unit = "requests", .help = "Those that completed." },
	{ "depth_most", COUNT(depth_most), .unit = "requests", .help = "Most that were under way at a time, of all processes." },
	{ 0 },
};
#undef S

#define S struct described_cpu
static const struct mlgen_field cpu_fields[] = {
	{ "on_percent", REAL(on_percent), .unit = "%", .help = "Of the time of all threads, on a CPU." },
	{ "off_percent", REAL(off_percent), .unit = "%", .help = "The rest." },
	{ "unknown", TEXT(unknown), .help = UNKNOWN_HELP },
	{ "switches", COUNT(switches), .unit = "switches", .help = "Times that a thread came off a CPU." },
	{ "switches_per_sec", REAL(switches_per_sec), .unit = "1/s", .help = "These by the time of the trace." },
	{ "switches_unknown", TEXT(switches_unknown), .help = "Why these are null; null = they are not." },
	{ 0 },
};
#undef S

#define S struct described_share
static const struct mlgen_field share_fields[] = {
	{ "count", COUNT(count), .help = "Those that read or wrote a byte." },
	{ "bytes_most_over_mean", REAL(bytes_most_over_mean), .help = "Bytes of the one that moved most by the mean of all; 1 = all the same." },
	{ "bytes_gini", REAL(bytes_gini), .help = "Gini coefficient of these bytes; 0 = all the same, towards 1 = one has all." },
	{ "io_most_over_mean", REAL(io_most_over_mean), .help = "The first of these of the time in calls on files." },
	{ "io_gini", REAL(io_gini), .help = "The second." },
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
	{ "count", COUNT(count), .unit = "steps", .help = "Markers of steps, one of each rank." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Samples of these." },
	{ "step_ns", METRIC_HIST(S, step_ns), .unit = "ns", .help = "Time of a step." },
	{ "compute_ns", METRIC_HIST(S, compute_ns), .unit = "ns", .help = "Time that it computed." },
	{ 0 },
};
#undef S

#define S struct described_trace
const struct mlgen_field described_trace_fields[] = {
	{ "trace_files", COUNT(files), .unit = "files", .help = "Files of the trace." },
	{ "chunks", COUNT(chunks), .help = "Chunks in them that could be read." },
	{ "records", COUNT(records), .help = "Records in these, markers too." },
	{ "entries", COUNT(entries), .help = "Entries in these." },
	{ "bytes", COUNT(bytes), .unit = "bytes", .help = "Size of the files of the trace." },
	{ "is_complete", MLGEN_F_BOOL(S, is_complete), .help = "Nothing was lost, is damaged or was cut off. Else all figures are of what there is." },
	{ "truncated", COUNT(truncated), .unit = "files", .help = "Files of the trace that have no end: who wrote them was stopped." },
	{ "damaged_chunks", COUNT(damaged_chunks), .help = "Chunks that were left out, since their checksums are not those of their bytes." },
	{ "damaged_bytes", COUNT(damaged_bytes), .unit = "bytes", .help = "Bytes of the files that were left out." },
	{ "unknown_ops", COUNT(unknown_ops), .help = "Records of operations that a later version has; they are in no other figure." },
	{ "unknown_durations", COUNT(unknown_durations), .help = "Records of unknown duration, as some logs have them; they are in no latency." },
	{ "clock_steps", COUNT(clock_steps), .help = "Records that ended before the one before of the same thread: the clock was set back, or whoever recorded was wrong. Times of such a trace are not to be trusted." },
	{ "lost", METRIC_OBJECT(S, lost, struct described_lost, lost_fields), .help = "What was lost." },
	{ "time", TEXT(time), .help = "Date and time of the first record, in UTC; null = unknown." },
	{ "seconds", REAL(seconds), .unit = "s", .help = "From the first begin of a record to the last end. Markers that began before are not in it." },
	{ "facts", METRIC_MAP(S, facts), .help = "What the trace says of where it was recorded: program, version, host, kernel, job." },
	{ "mounts", METRIC_MAP(S, mounts), .help = "Type, mount point and source of each mounted filesystem, by its device." },
	{ "read_bytes", COUNT(read_bytes), .unit = "bytes", .help = "That calls read." },
	{ "read_bytes_per_sec", REAL(read_bytes_per_sec), .unit = "bytes/s", .help = "These in the seconds of the trace." },
	{ "reads_per_sec", REAL(reads_per_sec), .unit = "1/s", .help = "Reads in the seconds of the trace." },
	{ "written_bytes", COUNT(written_bytes), .unit = "bytes", .help = "That calls wrote." },
	{ "write_bytes_per_sec", REAL(write_bytes_per_sec), .unit = "bytes/s", .help = "These in the seconds of the trace." },
	{ "writes_per_sec", REAL(writes_per_sec), .unit = "1/s", .help = "Writes in the seconds of the trace." },
	{ "in_flight_mean", REAL(in_flight_mean), .unit = "operations", .help = "Reads and writes under way at a time, on the average: their time together by the trace's." },
	{ "processes_count", COUNT(processes_count), .unit = "processes", .help = "Processes with records." },
	{ "threads_count", COUNT(threads_count), .unit = "threads", .help = "Threads with records." },
	{ "samples", COUNT(samples), .unit = "samples", .help = "Samples that are marked; null = none is." },
	{ "io_percent", REAL(io_percent), .unit = "%", .help = "Of the time of all threads, in calls on files." },
	{ "fault_percent", REAL(fault_percent), .unit = "%", .help = "The same in page faults on mapped files." },
	{ "operations", METRIC_OBJECT(S, operations, struct described_ops, ops_fields), .help = "Each kind of record." },
	{ "request_sizes", METRIC_LIST(S, request_sizes, struct described_size, size_fields), .help = "Requests by how much they asked for." },
	{ "access", METRIC_OBJECT(S, access, struct described_access, access_fields), .help = "Order of reads within files." },
	{ "unique", METRIC_OBJECT(S, unique, struct described_unique, unique_fields), .help = "What was touched, and how often." },
	{ "order", METRIC_OBJECT(S, order, struct described_order, order_fields), .help = "Order of samples or files over epochs." },
	{ "metadata", METRIC_OBJECT(S, metadata, struct described_metadata, metadata_fields), .help = "Calls that move no byte." },
	{ "cache", METRIC_OBJECT(S, cache, struct described_cache, cache_fields), .help = "What the page cache had." },
	{ "block", METRIC_OBJECT(S, block, struct described_block, block_fields), .help = "Requests to block devices, of all that ran meanwhile." },
	{ "mmap", METRIC_OBJECT(S, mmap, struct described_mmap, mmap_fields), .help = "Files that were mapped." },
	{ "async", METRIC_OBJECT(S, async, struct described_async, async_fields), .help = "Asynchronous requests." },
	{ "cpu", METRIC_OBJECT(S, cpu, struct described_cpu, cpu_fields), .help = "CPU time and context switches of all threads." },
	{ "skew", METRIC_OBJECT(S, skew, struct described_skew, skew_fields), .help = "How unevenly I/O is shared." },
	{ "steps", METRIC_OBJECT(S, steps, struct described_steps, steps_fields), .help = "Steps, where they are marked." },
	{ "epochs", METRIC_LIST(S, epochs, struct described_epoch, epoch_fields), .help = "Epochs, in order of time; order.source says how they are known." },
	{ "stages", METRIC_LIST(S, stages, struct described_stage, stage_fields), .help = "Stages that are marked." },
	{ "phases_count", COUNT(phases_count), .unit = "phases", .help = "Times at which bytes are read, written, both, or neither, each as long as that goes on. They follow from the intervals of the log, whatever markers say." },
	{ "phases", METRIC_LIST(S, phases, struct described_phase, phase_fields), .help = "The first 1000 of these." },
	{ "idle_percent", REAL(idle_percent), .unit = "%", .help = "Of the intervals, those in which no byte was read or written." },
	{ "checkpoints", METRIC_LIST(S, checkpoints, struct described_checkpoint, checkpoint_fields), .help = "Checkpoints that are marked." },
	{ "processes", METRIC_LIST(S, processes, struct described_task, process_fields), .help = "Processes, those that moved most bytes first; 1000 at most." },
	{ "threads", METRIC_LIST(S, threads, struct described_task, thread_fields), .help = "Threads likewise." },
	{ "files", METRIC_LIST(S, top_files, struct described_file, file_fields), .help = "Files of which most bytes were read and written; 100 at most." },
	{ "directories", METRIC_LIST(S, directories, struct described_directory, directory_fields), .help = "Directories likewise." },
	{ "interval_seconds", REAL(interval_seconds), .unit = "s", .help = "Length of an interval of series." },
	{ "series", METRIC_LIST(S, series, struct interval, interval_fields), .help = "What ended in each interval of time: log_interval long, or longer, by a power of two, where the trace had more than 1024." },
	{ 0 },
};
#undef S

#define S struct described
const struct mlgen_field described_fields[] = {
	{ "mlgen version", TEXT(version), .help = "Version of this program." },
	{ "schema_version", COUNT(schema_version), .help = "As of the documents of runs, mlgen-json(5)." },
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
