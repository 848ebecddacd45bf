/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_internal.h - what a training is to its checkpoints, where there is none: it begins one
 * after the other. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ask/mlperf/mlperf.h"
#include "run/slot/slot.h"
#include "work/checkpoint/saver/saver.h"

/*
 * A thread that begins `count` checkpoints, or restores those of a list, with `pause` between the
 * end of one and the begin of the next. runtime= ends it between two of them. Made by the caller,
 * who sets what stands above `thread` and has zeroed the rest.
 */
struct driver {
	const struct job *job;
	struct saver *saver;
	const struct checkpoint *restore; /* `count` of them; NULL = saves */
	uint64_t count;
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	struct stop *stop;             /* the saver's; NULL = none */
	const struct run_watch *watch; /* NULL = nobody watches */
	void *watched;                 /* its argument */
	uint64_t start_after_ns;       /* startdelay */

	pthread_t thread;
	struct bell go;
	_Atomic bool closed;
	_Atomic uint64_t start_ns; /* time zero, 0 = not yet */
	_Atomic uint64_t begun;
	/* After join. */
	bool is_complete; /* all of them, or until runtime was over */
};

/* ---- MLPerf Storage's rules of saving and restoring checkpoints ---- */

extern const struct mlperf_row checkpoint_mlperf_rules[];
