/* SPDX-License-Identifier: Apache-2.0 */
/* described.h - the figures of a trace: what the tables of described_fields describe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "tracing/describe/interval.h"
#include "stat/metric.h"
#include "trace/trace.h"

/*
 * Text, JSON and the page mlgen-trace(5) are made of these. What a trace cannot tell is NaN or
 * UINT64_MAX, and the member `unknown` beside it says why; NULL there means that it is known.
 */
struct described_op {
	uint64_t count; /* without those that failed */
	uint64_t errors, bytes;
	uint64_t chained; /* of count: in no latency */
	double seconds;   /* of all of them */
	struct hist *lat_ns;
};

struct described_size {
	const char *operation;
	uint64_t at_most_bytes;
	uint64_t count, bytes;
	double percent, bytes_per_sec, lat_mean_ns;
};

struct described_file {
	const char *path;
	uint64_t size_bytes, opens, reads, read_bytes, writes, written_bytes;
	uint64_t unique_bytes, pages;
	bool unique_is_exact;
	double reread_percent, sequential_percent;
};

struct described_directory {
	const char *path;
	uint64_t files, opens, reads, read_bytes, written_bytes;
};

enum described_role { ROLE_OTHER, ROLE_TRAINER, ROLE_LOADER, ROLE_CHECKPOINT, ROLE_WORKER, ROLES };
extern const struct mlgen_choice described_roles[];

enum described_sure { SURE_SAID, SURE_LIKELY, SURE_GUESS };
extern const struct mlgen_choice described_sures[];

/* A process, or a thread. */
struct described_task {
	uint64_t pid, tid, parent;
	const char *text; /* command line, or what the thread says it does */
	int role, sure;
	uint64_t threads, operations, opens, metadata;
	uint64_t reads, read_bytes, writes, written_bytes, faults, switches;
	double seconds, read_bytes_per_sec;
	double io_percent, fault_percent, on_cpu_percent, off_cpu_percent;
};

struct described_epoch {
	uint64_t number, ranks, files, samples, reads, read_bytes;
	double start_seconds, seconds, bytes_per_sec;
	double order_correlation; /* with the epoch before */
};

struct described_stage {
	const char *name;
	uint64_t ranks;
	double start_seconds, seconds;
};

/* What most of the bytes do for a while. */
struct described_phase {
	int kind;
	uint64_t bytes;
	double start_seconds, seconds;
};
extern const struct mlgen_choice described_phases[];

struct described_checkpoint {
	const char *name;
	uint64_t number, ranks, bytes;
	double start_seconds, seconds, bytes_per_sec;
};

struct described_loss {
	const char *operation, *why;
	uint64_t events, tid;
	double first_seconds, last_seconds;
};

struct described_lost {
	uint64_t events;
	struct metric_list parts;
};

struct described_access {
	uint64_t followed, unknown_offsets;
	double sequential_percent, ahead_percent, back_percent;
	const char *unknown;
};

struct described_unique {
	uint64_t files, read_files, written_files;
	uint64_t bytes; /* read */
	bool is_exact;
	double reread_percent;
	const char *unknown;
};

struct described_cache {
	const char *source, *unknown;
	uint64_t added_bytes;
	double hit_percent, read_ahead_percent;
};

struct described_block {
	uint64_t reads, read_bytes, writes, written_bytes, depth_most;
	double depth_mean, read_ahead_percent;
	struct hist *lat_ns;
	const char *unknown;
};

struct described_mmap {
	uint64_t maps, faults, pages;
	bool pages_is_exact;
	double ascending_percent, faults_per_sec;
	const char *unknown;
};

struct described_cpu {
	double on_percent, off_percent, switches_per_sec;
	uint64_t switches;
	const char *unknown, *switches_unknown;
};

struct described_metadata {
	uint64_t operations;
	double per_mib, opens_per_sample;
	const char *opens_unknown;
};

struct described_share {
	uint64_t count; /* that moved bytes */
	double bytes_most_over_mean, bytes_gini, io_most_over_mean, io_gini;
};

struct described_skew {
	struct described_share processes, threads;
};

struct described_async {
	uint64_t submitted, completed, depth_most;
};

struct described_steps {
	uint64_t count, samples;
	struct hist *step_ns, *compute_ns;
};

struct described_order {
	const char *source, *of, *unknown;
	int sure;
	double correlation; /* mean of the epochs that have one */
};

struct described_ops {
	struct described_op of[TRACE_OPS];
};

struct described_trace {
	uint64_t files, chunks, records, entries, bytes;
	bool is_complete;
	uint64_t damaged_chunks, damaged_bytes, truncated, unknown_ops, unknown_durations,
		clock_steps;
	struct described_lost lost;
	const char *time;
	double seconds;
	struct metric_list facts, mounts;
	/* Of all. */
	uint64_t read_bytes, written_bytes, processes_count, threads_count, samples;
	double read_bytes_per_sec, write_bytes_per_sec, reads_per_sec, writes_per_sec,
		in_flight_mean;
	double io_percent, fault_percent;
	struct described_ops operations;
	struct metric_list request_sizes;
	struct described_access access;
	struct described_unique unique;
	struct described_order order;
	struct described_metadata metadata;
	struct described_cache cache;
	struct described_block block;
	struct described_mmap mmap;
	struct described_async async;
	struct described_cpu cpu;
	struct described_skew skew;
	struct described_steps steps;
	struct metric_list epochs, stages, checkpoints, phases;
	uint64_t phases_count;
	double idle_percent;
	struct metric_list processes, threads, top_files, directories;
	double interval_seconds;
	struct metric_list series; /* struct interval */
};

struct described {
	const char *version;
	uint64_t schema_version;
	struct described_trace trace;
};

/* The document. */
extern const struct mlgen_field described_fields[];
extern const struct mlgen_field described_trace_fields[]; /* of it */

/* Its tables by their place, as metrics_sections; ends with a NULL table. */
struct described_section {
	const char *path;
	const struct mlgen_field *table;
};
extern const struct described_section described_sections[];
