/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - phase=replay: the operations of a trace, done again. */
#pragma once

/*
 * A replay reads a trace into lanes, one for each thread of the trace that did I/O, and workers
 * that play them: at the times of the trace, or as fast as each lane's order allows. Files below
 * its directory stand for those of the trace, and are made as the trace asks. What it reports and
 * much of what it does in a run it shares with plain jobs (work/plain).
 */

#include "job/job.h"

extern const struct workload work_replay;

/* replay.c, replay_text.c */
extern const struct activity replay_activity;
extern const struct page replay_page;
