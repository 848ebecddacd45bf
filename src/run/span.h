/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - the window of a job's measurement, and what this host did in it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/host.h"
#include "io/netif.h"
#include "io/noise.h"

/* Counters of this host at one end of a window. */
struct span_mark {
	uint64_t ns; /* of the run's clock; 0 = it was not reached */
	struct host_cpu cpu;
	struct noise_counts noise;
	uint64_t received_bytes; /* by the interface; UINT64_MAX = unknown */
};

/*
 * It begins at time zero, behind preparation and startdelay, and anew where
 * ramp_time is over. It ends with the last worker of each record: a plain job
 * can have one for each of its workers. A zeroed struct is closed.
 */
struct span {
	const struct clock *clock; /* NULL = closed */
	struct netif network;      /* name "" = none */
	pthread_mutex_t lock;      /* of what follows */
	struct span_mark begin;
	bool is_behind_ramp;
	struct span_mark *ends; /* of each record */
	size_t records;
};

void span_open(struct span *p, const struct clock *clock,
	       const struct netif *network, size_t records);
void span_close(struct span *p);

/* Any thread: time zero; the end of ramp_time, of which the first call counts. */
void span_begin(struct span *p);
void span_begin_anew(struct span *p);

/* Any thread: the last worker of a record leaves. The first call counts. */
void span_end(struct span *p, size_t record);
/* So do all that are left. */
void span_end_all(struct span *p);

/* Of time zero, or of the end of ramp_time; 0 = not yet. Any thread. */
uint64_t span_begin_ns(struct span *p);

/* After its end: from one end to the other, 0 = it never began. */
uint64_t span_ns(const struct span *p, size_t record);
