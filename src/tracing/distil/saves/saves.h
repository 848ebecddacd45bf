/* SPDX-License-Identifier: Apache-2.0 */
/* saves.h - print checkpoint options: cadence, files, ranks and calls of a trace's checkpoints. */
#pragma once

/*
 * A save is one checkpoint that was written. A saved file is one file of a save, with the calls
 * that wrote it. The form of a checkpoint is the layout and state (a language model of a published
 * size, a list of tensors, or a number of bytes) that produces the files and calls of the trace. A
 * trial is a job that has such options set and computes which files it would write. The cadence is
 * the value of checkpoint_every.
 */

#include "tracing/distil/facts/facts.h"

/*
 * Print the checkpoint options of a training run. With party UINT32_MAX, print the checkpoints of
 * processes that do nothing else, in a section with phase=checkpoint. 0, or -errno with err: as
 * trace_reader_open, or a side file that cannot be written.
 */
int distil_checkpoints(struct distil *d, uint32_t party, struct jobsection *to,
		       struct mlgen_err *err);
