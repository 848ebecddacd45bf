/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_tables.h - the tables inside those of metrics.h. */
#pragma once

#include "report/metrics.h"
#include "stat/metric.h"

/* A member that is text of somebody else's. */
#define METRICS_TEXT(s, m)                                                     \
	.type = MLGEN_STR, .off = MLGEN_MEMBER(s, m, const char *)

/* Text that stands in the struct itself, so that `stride` says its size; "" is
 * null. */
#define METRICS_CHARS(s, m)                                                    \
	.type = MLGEN_STR, .off = MLGEN_MEMBER(s, m, char *),                  \
	.stride = sizeof(((s *)0)->m)

/* metrics_job.c */
extern const struct mlgen_field metrics_member_fields[];
extern const struct mlgen_field metrics_direction_fields[];
extern const struct mlgen_field metrics_sync_fields[];
extern const struct mlgen_field metrics_latency_ns_fields[];
extern const struct mlgen_field metrics_latency_us_fields[];
extern const struct mlgen_field metrics_latency_ms_fields[];
extern const struct mlgen_field metrics_iodepth_level_fields[];
extern const struct mlgen_field metrics_iodepth_batch_fields[];

/* metrics_parts.c: of trainings and of plain jobs. */
extern const struct mlgen_field metrics_loader_percent_fields[];
extern const struct mlgen_field metrics_op_fields[];
extern const struct mlgen_field metrics_ops_fields[];
extern const struct mlgen_field metrics_storage_fields[];
extern const struct mlgen_field metrics_noise_fields[];
extern const struct mlgen_field metrics_window_fields[];
extern const struct mlgen_field metrics_host_fields[];
extern const struct mlgen_field metrics_network_fields[];
extern const struct mlgen_field metrics_numa_fields[];
extern const struct mlgen_field metrics_verdict_fields[];

/* metrics_ml.c */
extern const struct mlgen_field metrics_time_percent_fields[];
extern const struct mlgen_field metrics_epoch_fields[];
extern const struct mlgen_field metrics_mlperf_window_fields[];
extern const struct mlgen_field metrics_mlperf_fields[];
extern const struct mlgen_field metrics_mlperf_rule_fields[];
extern const struct mlgen_field metrics_eval_fields[];
extern const struct mlgen_field metrics_slowest_rank_fields[];
extern const struct mlgen_field metrics_ceiling_fields[];

/* metrics_checkpoint.c */
extern const struct mlgen_field metrics_rank_percent_fields[];
extern const struct mlgen_field metrics_checkpoint_fields[];
extern const struct mlgen_field metrics_checkpoints_fields[];

/* metrics_io.c */
extern const struct mlgen_field metrics_rate_fields[];

/* metrics_plan.c */
extern const struct mlgen_field metrics_calls_fields[];
extern const struct mlgen_field metrics_plan_checkpoint_fields[];
extern const struct mlgen_field metrics_plan_ranks_fields[];
extern const struct mlgen_field metrics_check_fields[];
extern const struct mlgen_field metrics_blocker_fields[];
