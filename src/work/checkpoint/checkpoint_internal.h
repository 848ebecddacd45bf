/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_internal.h - the thread that begins one checkpoint after the other. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ask/mlperf/mlperf.h"
#include "run/slot/slot.h"
#include "work/checkpoint/writer/writer.h"

/*
 * A thread that saves `count` checkpoints, or restores those of a list, and waits `pause` between
 * the end of one and the start of the next. It also ends if runtime= is over between two
 * checkpoints. The caller sets the members above `thread` and zeroes the rest.
 */
struct driver {
	const struct job *job;
	struct writer *writer;
	const struct checkpoint *restore; /* array of `count`; NULL = save */
	uint64_t count;
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	struct stop *stop;             /* stop of the checkpoint writer; NULL = none */
	const struct run_watch *watch; /* callbacks; NULL = none */
	void *watched;                 /* argument of `watch` */
	uint64_t start_after_ns;       /* startdelay */

	pthread_t thread;
	struct eventcount go;
	_Atomic bool closed;
	_Atomic uint64_t start_ns; /* time zero; 0 = not yet */
	_Atomic uint64_t begun;
	/* Valid after join. */
	bool is_complete; /* all checkpoints are done, or runtime is over */
};

/* ---- MLPerf Storage's rules for checkpoints ---- */

extern const struct mlperf_row checkpoint_mlperf_rules[];
