/* SPDX-License-Identifier: Apache-2.0 */
/* train_collect.h - what a training counted, as figures. */
#pragma once

#include "run/slot.h"

/* Of a training, or of the preparation that was all it came to; after join. */
void train_collect(struct job_result *out, struct slot *s);
