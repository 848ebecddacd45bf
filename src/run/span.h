/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - the window of a job's measurement, and what this host did in it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/memsource.h"
#include "io/mount.h"
#include "io/netif.h"
#include "run/result/result.h"

/*
 * It begins at time zero, behind preparation and startdelay, and anew where ramp_time is over. It
 * ends with the last worker of each record: a plain job can have one for each of its workers. A
 * zeroed struct is closed.
 */
struct span {
	const struct clock *clock;   /* NULL = closed */
	struct netif network;        /* name "" = none */
	struct memsource storage;    /* who counts what it delivers */
	struct energy_meter *energy; /* NULL = nobody asks */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
	pthread_mutex_t lock; /* of what follows */
	struct mark begin;
	bool is_behind_ramp;
	struct mark *ends; /* of each record */
	size_t records;
};

struct span_request {
	const struct clock *clock;
	const struct mount *mount; /* of its files; NULL = none */
	const char *root;          /* "" but in tests; see memsource.h */
	size_t records;
	struct energy_meter *energy; /* outlives the span; NULL = none */
	/* What jobs have read by now of what span->storage counts, also that which ramp_time leaves
	 * out. Called by any thread. NULL = nothing. */
	uint64_t (*read_bytes)(void *arg);
	void *arg;
};

void span_open(struct span *p, const struct span_request *req);
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

/* After its end: what was counted; of a record without a window zeroed. What the span does not know
 * (zero_ns, mhz) is 0. */
void span_marks(const struct span *p, size_t record, struct marks *out);
