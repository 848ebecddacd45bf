/* SPDX-License-Identifier: Apache-2.0 */
/* saves.h - the checkpoints of a trace as options: how often, which files, by whom and by which
 * calls. */
#pragma once

/*
 * A save is one checkpoint that was written, and a saved file is one file in it, with the calls
 * that wrote it. The form of a checkpoint is the layout and state (a language model of a published
 * size, a list of tensors, or a number of bytes) whose files and calls are those of the trace. A
 * trial is a job with such options set, asked which files it would write. The cadence is
 * checkpoint_every.
 */

#include "tracing/distil/facts/facts.h"

/* The checkpoints of a training that saves; party UINT32_MAX: those of processes that do nothing
 * else, in a section with phase=checkpoint. 0, or -errno with err: as trace_reader_open, or a side
 * file that cannot be written. */
int distil_checkpoints(struct distil *d, uint32_t party, struct jobsection *to,
		       struct mlgen_err *err);
