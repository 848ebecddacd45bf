/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_internal.h - what the files of report/metrics share. */
#pragma once

#include "report/metrics/metrics.h"
#include "run/result/result.h"
#include "stat/metric.h"

/* ---- the tables inside those of metrics.h ---- */

/* metrics_plan.c */
extern const struct mlgen_field metrics_calls_fields[];
extern const struct mlgen_field metrics_plan_checkpoint_fields[];
extern const struct mlgen_field metrics_plan_ranks_fields[];
extern const struct mlgen_field metrics_check_fields[];
extern const struct mlgen_field metrics_blocker_fields[];
