/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - phase=replay: the operations of a trace, done again. */
#pragma once

#include "job/job.h"

extern const struct workload work_replay;

/* replay.c, replay_text.c */
extern const struct activity replay_activity;
extern const struct page replay_page;
