/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_mlperf.h - MLPerf Storage's rules of saving and restoring checkpoints. */
#pragma once

#include "ask/mlperf/mlperf.h"

extern const struct mlperf_row checkpoint_mlperf_rules[];
