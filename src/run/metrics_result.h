/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_result.h - the tables that describe results.h: names, units, and how two results are
 * one. */
#pragma once

#include "field/merge_rules.h"
#include "run/results.h"

/* Rules that several tables have. */
extern const struct merge_rule merge_storage, merge_host;
extern const struct merge_rule merge_checkpoints, merge_items, merge_numa_nodes;

/* metrics_parts.c: of trainings and of plain jobs. */
extern const struct mlgen_field metrics_loader_percent_fields[];
extern const struct mlgen_field metrics_op_fields[];
extern const struct mlgen_field metrics_ops_fields[];
extern const struct mlgen_field metrics_storage_fields[];
extern const struct mlgen_field metrics_noise_fields[];
extern const struct mlgen_field metrics_thread_cpu_fields[];
extern const struct mlgen_field metrics_energy_fields[];
extern const struct mlgen_field metrics_window_fields[];
extern const struct mlgen_field metrics_host_fields[];
extern const struct mlgen_field metrics_network_fields[];
extern const struct mlgen_field metrics_numa_fields[];
extern const struct mlgen_field metrics_verdict_fields[];

/* metrics_ml.c */
extern const struct mlgen_field metrics_time_percent_fields[];
extern const struct mlgen_field metrics_rank_time_fields[];
extern const struct mlgen_field metrics_epoch_fields[];
extern const struct mlgen_field metrics_mlperf_window_fields[];
extern const struct mlgen_field metrics_mlperf_fields[];
extern const struct mlgen_field metrics_mlperf_rule_fields[];
extern const struct mlgen_field metrics_eval_fields[];
extern const struct mlgen_field metrics_slowest_rank_fields[];
extern const struct mlgen_field metrics_ceiling_fields[];
extern const struct mlgen_field metrics_ml_fields[];      /* struct job_result */
extern const struct mlgen_field metrics_prepare_fields[]; /* prepare_result */

/* metrics_checkpoint.c */
extern const struct mlgen_field metrics_rank_percent_fields[];
extern const struct mlgen_field metrics_checkpoint_rank_fields[];
extern const struct mlgen_field metrics_checkpoint_fields[];
extern const struct mlgen_field metrics_checkpoints_fields[];

/* metrics_cache.c: struct cache_result */
extern const struct mlgen_field metrics_cache_epoch_fields[];
extern const struct mlgen_field metrics_cache_rank_fields[];
extern const struct mlgen_field metrics_cache_fields[];

/* metrics_io.c */
extern const struct mlgen_field metrics_rate_fields[];
extern const struct mlgen_field metrics_replay_slice_fields[];
extern const struct mlgen_field metrics_replay_fields[];
extern const struct mlgen_field metrics_io_fields[]; /* struct job_result */

/* metrics_result.c: struct job_result with all of the above. */
extern const struct mlgen_field metrics_result_fields[];

/* Rows that the objects of several pages have alike. */
/* clang-format off */
#define METRICS_WINDOW_ROWS \
	{ "window", RESULT_OBJECT(struct job_result, window, struct window_result, metrics_window_fields, apart), \
	  .help = "The time over which host, network, noise and what storage delivered were measured." }, \
	{ "host", RESULT_OBJECT(struct job_result, host, struct host_result, metrics_host_fields, host), \
	  .help = "Load of this host in the window." }, \
	{ "network", RESULT_OBJECT(struct job_result, network, struct network_result, metrics_network_fields, apart), \
	  .help = "What the network carried in the window, of a remote mount." }, \
	{ "thread_cpu", RESULT_OBJECT(struct job_result, thread_cpu, struct thread_cpu_result, metrics_thread_cpu_fields, apart), \
	  .help = "CPU time of mlgen in the window, by what its threads are for." }, \
	{ "energy", RESULT_OBJECT(struct job_result, energy, struct energy_result, metrics_energy_fields, apart), \
	  .help = "What this host took in the window." }
#define METRICS_END_ROWS \
	{ "first_error", RESULT_CHARS(struct job_result, failed.first, first), \
	  .help = "The first of them in words; null = none." }, \
	{ "interrupted", RESULT_BOOL(struct job_result, interrupted, or), \
	  .help = "The job was stopped by a signal." }
/* clang-format on */
