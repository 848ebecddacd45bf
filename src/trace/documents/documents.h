/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h - figures that a description and a score of traces have, and their tables. */
#pragma once

/*
 * Text, JSON and man pages are made from these tables. src/tracing fills the structs; the code that
 * fills a struct owns its texts and lists. A figure that a trace does not show is NaN or
 * UINT64_MAX. The member `unknown` next to the figure then has the reason; `unknown` is NULL if the
 * figures are known.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "field/fields.h"
#include "trace/model/model.h"
#include "trace/trace.h"

/* The tables of a document, by path; the last element has no table. */
struct document_section {
	const char *path;
	const struct mlgen_field *table;
};

/* ---- a trace over time ---- */

/* Operations that ended in the interval. */
struct interval {
	double seconds; /* end of the interval, since the start of the trace */
	uint64_t opens, metadata, reads, read_bytes, writes, written_bytes, errors, faults,
		cache_bytes, block_read_bytes, block_written_bytes, switches;
	double hit_percent;
};

extern const struct mlgen_field interval_fields[];

/* ---- the description of a trace ---- */

struct described_op {
	uint64_t count; /* calls that did not fail */
	uint64_t errors, bytes;
	uint64_t chained; /* calls in `count` whose latency is unknown */
	double seconds;   /* sum over the calls */
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

extern const struct mlgen_choice described_roles[];       /* enum task_role */
extern const struct mlgen_choice described_certainties[]; /* enum task_certainty */

/* A process, or a thread. */
struct described_task {
	uint64_t pid, tid, parent;
	const char *text; /* command line of a process, purpose of a thread */
	int role, sure;   /* enum task_role, task_certainty */
	uint64_t threads, operations, opens, metadata;
	uint64_t reads, read_bytes, writes, written_bytes, faults, switches;
	double seconds, read_bytes_per_sec;
	double io_percent, fault_percent, on_cpu_percent, off_cpu_percent;
};

struct described_epoch {
	uint64_t number, ranks, files, samples, reads, read_bytes;
	double start_seconds, seconds, bytes_per_sec;
	double order_correlation; /* correlation with the previous epoch */
};

struct described_stage {
	const char *name;
	uint64_t ranks;
	double start_seconds, seconds;
};

/* Consecutive intervals in which most bytes move in the same direction. */
enum phase_kind { MOVES_NOTHING, MOVES_IN, MOVES_OUT, MOVES_BOTH };

struct described_phase {
	int kind; /* enum phase_kind */
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
	uint64_t bytes; /* different bytes that were read */
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
	uint64_t count; /* tasks that moved bytes */
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
	double correlation; /* mean over epochs with a known correlation */
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
	/* Sums over all tasks. */
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

extern const struct mlgen_field described_fields[];
extern const struct mlgen_field described_trace_fields[]; /* members of "trace" */
extern const struct document_section described_sections[];

/* ---- the score of a trace ---- */

enum { SCORE_METRICS = 12 };

enum score_verdict {
	SCORE_PASS,
	SCORE_FAIL,
	SCORE_UNKNOWN, /* the traces lack the data; does not fail the score */
	SCORE_SHOWN,   /* another host or storage; shown but not judged */
};

struct scored_trace {
	const char *file;
	uint64_t records, other_calls, failed_calls;
	bool is_complete;
};

/* A figure of a phase. */
struct scored_part {
	const char *metric; /* "m6" */
	const char *name;
	double distance, limit;                  /* NaN = unknown */
	double threshold, preset, floor, chance; /* NaN = none */
	int verdict;
	const char *why; /* why the distance is unknown; NULL = it is known */
	unsigned number; /* number of the metric, from 1 */
};

struct scored_phase {
	const char *name;
	int verdict;
	struct metric_list parts; /* struct scored_part */
};

struct scored {
	const char *candidate;
	struct metric_list traces; /* struct scored_trace, in the order of the command line */
	bool same_place;           /* all traces are of the same host and storage */
	const char *unlike;        /* why they differ or may differ; NULL = they are the same */
	bool whole; /* the traces have no common phase: each is compared as one phase */
	int verdict;
	/* For each of M1 to M12: the largest ratio of a distance to its limit over all phases.
	 * Above 1, the metric fails. NaN = unknown, or not judged. */
	double worst[SCORE_METRICS];
	struct metric_list phases; /* struct scored_phase */
};

struct score_document {
	const char *version;
	uint64_t schema_version;
	struct scored score;
};

extern const struct mlgen_field scored_fields[];
extern const struct mlgen_field score_fields[]; /* members of "score" */
extern const struct mlgen_choice score_verdicts[];
extern const struct document_section scored_sections[];
