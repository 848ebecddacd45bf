/* SPDX-License-Identifier: Apache-2.0 */
/* workloads.h - the table of workloads: one row each, in the order of phase='s values. */
#pragma once

#include "work/checkpoint/checkpoint.h"
#include "work/plain/plain.h"
#include "work/replay/replay.h"
#include "work/train/train.h"

/* Columns: the number in struct job; the name in a job file, which is also that of the row
 * (work_NAME); the line of --help. */
#define WORKLOADS(ROW)                                                                             \
	ROW(PHASE_TRAIN, train, "read the dataset as a training job does")                         \
	ROW(PHASE_PREPARE, prepare, "write or complete the dataset and check all of it")           \
	ROW(PHASE_IO, io, "a plain I/O job like those of fio: rw=, bs=, size=")                    \
	ROW(PHASE_CHECKPOINT, checkpoint, "save the state of a model, checkpoints= times")         \
	ROW(PHASE_RESTORE, restore, "read back what phase=checkpoint has saved")                   \
	ROW(PHASE_REPLAY, replay, "replay the operations of a trace: replay_trace=")

#define WORKLOAD_NUMBER(number, row, help) number,
enum job_phase { WORKLOADS(WORKLOAD_NUMBER) };
#undef WORKLOAD_NUMBER
