/* SPDX-License-Identifier: Apache-2.0 */
/* train_mlperf.h - MLPerf Storage's rules of trainings. */
#pragma once

#include "ask/mlperf/mlperf.h"

extern const struct mlperf_row train_mlperf_rules[];
