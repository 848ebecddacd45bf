/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_tables.h - the tables inside those of metrics.h. */
#pragma once

#include "report/metrics.h"
#include "run/metrics_result.h"
#include "stat/metric.h"

/* metrics_job.c */
extern const struct mlgen_field metrics_member_fields[];
extern const struct mlgen_field metrics_direction_fields[];
extern const struct mlgen_field metrics_sync_fields[];
extern const struct mlgen_field metrics_size_fields[];
extern const struct mlgen_field metrics_latency_ns_fields[];
extern const struct mlgen_field metrics_latency_us_fields[];
extern const struct mlgen_field metrics_latency_ms_fields[];
extern const struct mlgen_field metrics_iodepth_level_fields[];
extern const struct mlgen_field metrics_iodepth_batch_fields[];

/* metrics_plan.c */
extern const struct mlgen_field metrics_calls_fields[];
extern const struct mlgen_field metrics_plan_checkpoint_fields[];
extern const struct mlgen_field metrics_plan_ranks_fields[];
extern const struct mlgen_field metrics_check_fields[];
extern const struct mlgen_field metrics_blocker_fields[];
