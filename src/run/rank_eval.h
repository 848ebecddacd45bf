/* SPDX-License-Identifier: Apache-2.0 */
/* rank_eval.h - a rank's part in an evaluation. */
#pragma once

#include "run/train.h"

/* All its steps, or until time is up, each rank for itself; then they wait for each other. 0, or
 * -EPIPE once closed. *stopped: the run is over. */
int rank_eval(struct rank *r, const struct stage *at, bool *stopped);
