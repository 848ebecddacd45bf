/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.h - from when a rank's samples were read: batches, how far they are read ahead, and how
 * long a step computes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "distil/spacing.h"

/* A sample that was read. Those of an epoch stand behind one another, by their start. */
struct pulse_read {
	uint64_t start_ns, end_ns;
	uint32_t worker; /* any number below those of pulse_find */
	uint32_t epoch;
};

enum pulse_kind {
	PULSE_NONE,   /* too few reads */
	PULSE_OWN,    /* the rank reads a batch when it needs one */
	PULSE_WORKER, /* a worker has a whole batch: PyTorch */
	PULSE_SHARED, /* the workers have one between them */
};

/*
 * A rank that computes holds up its readers: as soon as it takes a batch, one more may be read. So
 * they have nothing to do, but for the first batches, from when a batch was read until the next one
 * is taken; pauses stand in front of batches. Where they had something to do all the time, storage
 * was the limit, and how long a step computes is not to be seen.
 */
struct pulse {
	enum pulse_kind kind;
	uint32_t workers; /* side by side; 0 = PULSE_OWN */
	uint32_t batch;   /* 0 = not to be seen */
	/* It follows from pauses; else from how many each worker has read, of which it is the
	 * greatest common divisor. */
	struct spacing spacing;
	double regular;         /* of batches, that have the order of `kind` */
	uint64_t batches, idle; /* all; those in front of which there was nothing to do */
	uint32_t window;        /* batches ahead; 0 = not to be seen */
	double window_percent;  /* of what says so, that says this */
	/* It is no smaller by the order in which batches were begun: of so many epochs, in percent,
	 * that is true; 0 = it is what was waited for that says so. */
	double order_percent;
	/* Steps of which it is known that the rank did nothing but compute, by length: at most
	 * PULSE_STEPS_MOST. */
	double *step_ns;
	uint32_t steps;
	uint64_t in_epoch; /* steps that could be seen if all were */
	double bound_ns;   /* the mean of all steps; NaN = there are none */
	double think_ns;   /* of a worker between two samples of a batch */
	/* The first batch of an epoch is taken so much later than when it would have been read if
	 * it took no longer than others, in the middle of all epochs: a loader that begins; 0 = not
	 * to be seen. */
	double first_late_ns;
	/* When each batch was begun that nothing held up, by its number, for ranks to be compared;
	 * 0 = it was held up. */
	uint64_t *begun_ns;
	uint32_t begun;
};

enum { PULSE_STEPS_MOST = 1 << 16, PULSE_BEGUN_MOST = 4096 };

/* Does the rank read by itself? One that does has nothing of its second batch when it computes with
 * its first; a worker goes on. */
enum pulse_own { PULSE_HAS_WORKERS, PULSE_MAY_BE_OWN, PULSE_IS_OWN };

/* To be given back by pulse_fini. */
void pulse_find(struct pulse *p, const struct pulse_read *reads, size_t count, uint32_t workers,
		enum pulse_own own);
void pulse_fini(struct pulse *p);

/* Workers of several ranks that step at the same time: in `groups`, of which each has a worker that
 * reads a batch when the others' do. 1 = they are one's. */
struct pulse_groups {
	uint32_t groups, batch, workers;
};
struct pulse_groups pulse_groups_of(const struct pulse_read *reads, size_t count, uint32_t workers);
/* Of the times at which some workers read a batch each: that these are groups of which each has
 * one, 0 to 1. */
double pulse_groups_part(const struct pulse_groups *g, const struct pulse_read *reads, size_t count,
			 const uint32_t *group);

/* Of sorted numbers, 0 <= part <= 1; NaN of none. */
double pulse_quantile(const double *sorted, size_t count, double part);
