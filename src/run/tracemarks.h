/* SPDX-License-Identifier: Apache-2.0 */
/* tracemarks.h - what a training puts into a trace beside its operations: samples, steps,
 * epochs. */
#pragma once

#include "run/rank.h"
#include "run/read/read.h"
#include "run/train.h"
#include "run/watch/watch.h"

/* Who a loader is; without a thread of its own it is its rank. */
void tracemarks_role(const struct loader *l, char role[TRACED_ROLE_BYTES]);

/* A rank's ring, which with read_threads=0 is that of its loader. */
void tracemarks_open(struct rank *r);
void tracemarks_close(struct rank *r);

/* The loader has a trace: an extent is complete. One that failed is not, and an index is none. */
void tracemarks_sample(const struct loader *l, const struct read_task *task);

/* Where there is a trace: a step, in training or evaluation, and what was computed in it; an epoch
 * or an evaluation, to r->end_ns. */
void tracemarks_step(const struct rank *r, const struct stage *at, uint64_t batch,
		     const struct step *s);
void tracemarks_stage(const struct rank *r, const struct stage *at, uint64_t begin_ns);
