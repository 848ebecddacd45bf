/* SPDX-License-Identifier: Apache-2.0 */
/* train_dataset.h - which dataset a training reads: what options say, or what is there. */
#pragma once

#include "run/slot.h"

/* Into s->dataset; files that scale= made for fewer accelerators are taken, and a note says so. 0,
 * or -EINVAL with err. */
int train_dataset_init(struct slot *s, struct run_shared *run, struct mlgen_err *err);

/* Of files that were there, when the run is over: says so where some are no longer what they were
 * when they were listed. */
void train_dataset_look_back(struct slot *s);
