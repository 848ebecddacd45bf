/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - one job of a run: what it is given, what is measured around it. */
#pragma once

#include <stdatomic.h>

#include "io/devstat.h"
#include "io/host.h"
#include "io/mount.h"
#include "run/gauge.h"
#include "run/live.h"
#include "run/placement.h"
#include "run/prepare.h"
#include "run/results.h"
#include "run/train.h"

/* A series of one-second rates (run_tick). Welford's sums. */
struct rate_series {
	uint64_t last; /* counter at the last tick */
	uint64_t samples;
	double min, max, mean, m2;
};

struct slot {
	const struct job *job;
	struct dataset dataset;
	struct mount mount;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct placement place;
	struct prepare_progress progress;
	struct prepare_result prepare;
	double resident_before_percent;
	/* The job of this run that reads the most files of the same
	 * directory, maybe this one: it is made first. */
	struct slot *largest;
	bool is_prepared;
	struct train train;
	_Atomic int phase; /* enum live_phase */
	/* Around the training. */
	uint64_t begin_ns, end_ns;       /* of the whole job */
	_Atomic uint64_t train_begin_ns; /* 0 = not reached */
	_Atomic uint64_t train_end_ns;
	struct gauge gauge;
	struct devstat device_before, device_after;
	bool has_device;
	struct host_cpu cpu_before, cpu_after;
	struct rate_series bytes[2], ios[2];
	uint64_t last_tick_ns;
	struct opstat total; /* of all loaders; made by collect */
};

/* Does the job's engine touch files at all? */
bool slot_touches_files(const struct slot *s);

/* Bytes read since time zero, also those that ramp_time leaves out. After the
 * loaders were joined. */
uint64_t slot_read_bytes(const struct slot *s);

/* Bytes and operations so far, from counters that are still being written. */
uint64_t slot_io_bytes(const struct slot *s, unsigned direction);
uint64_t slot_ios(const struct slot *s, unsigned direction);
