/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - phase=replay: performs the operations of a trace again. */
#pragma once

/*
 * A replay reads the operations of each thread of a trace. Workers perform them at the times of the
 * trace, or as fast as their order allows. Files below the job's directory stand for the files of
 * the trace, and are made if they are missing. Reports, and much of a run, are shared with plain
 * jobs (work/plain).
 */

#include "job/job.h"

extern const struct workload work_replay;

/* replay.c, replay_text.c */
extern const struct activity replay_activity;
extern const struct page replay_page;
