/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - a look at a running job, for the status line and the log. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "stat/hist.h"

/*
 * All sums since the start of the run, over all ranks, read from single-writer
 * relaxed counters: subtract two looks to get an interval. May lag by one
 * operation.
 */
enum live_phase {
	LIVE_WAIT,
	LIVE_PREPARE,
	LIVE_DROP,
	LIVE_TRAIN,
	LIVE_CHECKPOINT, /* phase=checkpoint, phase=restore; checkpoint_* */
	LIVE_IO, /* a plain job; left_ns, oldest and what stands under io */
	LIVE_DONE
};

struct live {
	const char *job_name;
	enum live_phase phase;
	uint64_t now_ns; /* the run's clock */
	/* train */
	uint64_t epoch, epochs; /* from 1; epochs 0 = unknown (time_based) */
	uint64_t step, steps;   /* of rank 0 in this epoch, from 1 */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t compute_ns; /* asked for, in finished steps, for samples that
				were delivered */
	uint64_t step_ns;    /* wall of finished steps */
	uint64_t stall_ns;
	uint64_t waiting_ns; /* longest stall now in progress */
	uint64_t left_ns;    /* estimate; UINT64_MAX = unknown */
	struct hist *stall; /* snapshot; allocated by the caller, may be NULL */
	struct io_outstanding oldest;
	uint64_t errors; /* counted by continue_on_error */
	/* io: 0 read, 1 write */
	bool is_io; /* the job is a plain one, whatever its phase now */
	uint64_t io_ios[2], io_moved[2]; /* operations, bytes */
	/* checkpoints, also beside a training; count 0 = none */
	uint64_t checkpoint, checkpoints; /* from 1; checkpoints 0 = unknown */
	uint64_t checkpoint_done, checkpoint_bytes; /* of the one under way */
	bool is_checkpointing, is_restore;
	/* prepare, and the layout of a plain job's files */
	uint64_t files_done, files_total, bytes_done, bytes_total;
};
