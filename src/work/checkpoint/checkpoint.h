/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - phase=checkpoint and phase=restore: a model's state, saved and read back. */
#pragma once

#include "job/job.h"

extern const struct workload work_checkpoint, work_restore;

/* checkpoint_activity.c, checkpoint_page.c, checkpoint_asked.c */
extern const struct activity checkpoint_activity;
extern const struct page checkpoint_page;
extern const struct asked checkpoint_asked;
