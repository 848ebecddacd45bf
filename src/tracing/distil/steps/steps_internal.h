/* SPDX-License-Identifier: Apache-2.0 */
/* steps_internal.h - reads of ranks by time, their batches and steps, and a training's pipeline. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"
#include "tracing/distil/steps/steps.h"

/* ---- the pulse of a rank ---- */

/* A sample that was read. Reads of an epoch stand together, by start. */
struct pulse_read {
	uint64_t start_ns, end_ns;
	uint32_t worker; /* below the number given to pulse_find */
	uint32_t epoch;
};

enum pulse_kind {
	PULSE_NONE,   /* too few reads */
	PULSE_OWN,    /* the rank reads a batch when it needs one */
	PULSE_WORKER, /* a worker reads a whole batch: PyTorch */
	PULSE_SHARED, /* all workers read parts of a batch */
};

/* Pauses come every so many things. */
struct spacing {
	uint32_t every;   /* 2 or more; 0 = pauses have no such order */
	double explained; /* part of the variance of pauses, 0 to 1 */
};

/*
 * A rank that computes holds up its readers: as soon as it takes a batch, another may be read.
 * After the first batches readers therefore have nothing to do from the end of a batch until the
 * next one is taken, and pauses stand before batches. Where readers were busy all the time, storage
 * was the limit, and the length of a step cannot be seen.
 */
struct pulse {
	enum pulse_kind kind;
	uint32_t workers; /* at a time; 0 = PULSE_OWN */
	uint32_t batch;   /* 0 = cannot be seen */
	/* The batch follows from pauses; without them (every 0) from how many samples each worker
	 * has read, of which it is the greatest common divisor. */
	struct spacing spacing;
	double regular;         /* part of the batches that have the order of `kind` */
	uint64_t batches, idle; /* all; those before which readers had nothing to do */
	uint32_t window;        /* batches read ahead; 0 = cannot be seen */
	double window_percent;  /* of the batches that show a window, those that show this one */
	/* Percent of the epochs in which the order of batches shows that the window is no smaller;
	 * 0 = the window follows from waits. */
	double order_percent;
	double *step_ns; /* steps in which the rank did nothing but compute, by length */
	uint32_t steps;
	uint64_t in_epoch; /* steps that could be seen at most */
	double bound_ns;   /* mean of all steps; NaN = there are none */
	double think_ns;   /* of a worker between two samples of a batch */
	/* Time by which the first batch of an epoch is late, because a loader starts: the median of
	 * all epochs; 0 = cannot be seen. */
	double first_late_ns;
	/* Starts of batches that nothing held up, by their number, to compare ranks; 0 = held up.
	 */
	uint64_t *begun_ns;
	uint32_t begun;
};

/* Does the rank read by itself? Then it reads nothing of its second batch while it computes with
 * the first; a worker goes on. */
enum pulse_own { PULSE_HAS_WORKERS, PULSE_MAY_BE_OWN, PULSE_IS_OWN };

/* To be finished by pulse_fini. */
void pulse_find(struct pulse *p, const struct pulse_read *reads, size_t count, uint32_t workers,
		enum pulse_own own);
void pulse_fini(struct pulse *p);

/* Workers of several ranks that step at the same time: groups, each of which has one worker that
 * reads a batch when those of the others do. 1 = all belong to one rank. */
struct pulse_groups {
	uint32_t groups, batch, workers;
};
struct pulse_groups pulse_groups_of(const struct pulse_read *reads, size_t count, uint32_t workers);
/* The part of the times at which several workers read a batch each, and each of them is in another
 * group; `group` is by worker. */
double pulse_groups_part(const struct pulse_groups *g, const struct pulse_read *reads, size_t count,
			 const uint32_t *group);

void pulse_sort(double *at, size_t count);
/* A quantile of sorted numbers, 0 <= part <= 1; NaN of none. */
double pulse_quantile(const double *sorted, size_t count, double part);

/* ---- batches, from pulse.c to pulse_steps.c ---- */

/* A shorter pause may be the time that a thread needs to wake up. */
#define WAKE_NS 150e3

struct pulse_batch {
	uint64_t start_ns, end_ns;
	double pause_ns; /* before it; NaN = the first of its readers */
	uint32_t reads;
	uint32_t epoch, worker, row; /* the row-th of the worker in the epoch */
	uint64_t number;             /* in the epoch, in the order in which the rank takes them */
	bool is_idle;                /* the pause is longer than those inside a batch */
};

/* Fill window, steps and bound. */
void pulse_steps(struct pulse *p, const struct pulse_batch *at, size_t count);

/* ---- reads by rank, and marks of steps ---- */

struct rank_reads {
	struct pulse_read *at;
	size_t count, room; /* vec.h */
	uint32_t rank;
	uint32_t workers; /* numbers in use */
	uint32_t *task;   /* by worker: the first task with that number */
	/* Of all visits, also those that are not in `at`. */
	uint64_t visits, bytes, call_ns;
	uint64_t cpu_visits, cpu_ns; /* visits of which CPU time is known, and that time */
	uint64_t by_rank;            /* visits of the rank itself */
};

struct rankreads {
	struct rank_reads *rank; /* a sample of the ranks */
	uint32_t count;
	uint32_t ranks;    /* that read; at least 1 where there are visits */
	uint64_t visits;   /* of all ranks */
	uint64_t left_out; /* visits of tasks without a rank */
};

/* Visits to samples of a party in stages of this kind. 0, or -errno as visits_next; to be finished
 * in any case. */
int rankreads_of(struct rankreads *r, const struct distil *d, uint32_t party, enum stage_kind kind,
		 struct mlgen_err *err);
void rankreads_fini(struct rankreads *r);

struct stepmarks {
	VEC(double) compute_ns; /* sorted: times that accelerators computed */
	uint64_t steps;         /* that were marked */
	uint64_t samples;       /* of most of them; 0 = not stated */
	uint64_t votes;
	uint32_t ranks;
};

/* Marks of a party's steps, in evaluations or outside of them. 0, or -errno with err: as
 * trace_reader_open; to be finished in any case. */
int stepmarks_read(struct stepmarks *m, const struct distil *d, uint32_t party, bool is_eval,
		   struct mlgen_err *err);
void stepmarks_fini(struct stepmarks *m);

/* ---- times as the distribution of an option ---- */

struct timefit {
	struct dist dist;   /* rounded to four digits */
	double off_percent; /* its distance from the times: W1 by the mean */
	double mean_ns, stdev_ns;
	double low_ns, high_ns; /* percentiles 1 and 99 */
};

/* Needs at least one sorted time. A constant is fitted where a third of them hardly differ: the
 * mean of those near to it, because the rest were held up. */
void timefit(struct timefit *f, const double *sorted_ns, size_t count);
/* A constant, rounded in the same way. */
struct dist timefit_constant(double ns);

/* ---- the pipeline ---- */

struct pipeline {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	struct rankreads reads;
	struct stepmarks marks;
	struct pulse *pulse;      /* by rank of `reads` */
	const struct pulse *best; /* whose pauses explain most; or NULL */
	double *step_ns;          /* of all ranks, sorted */
	size_t steps;
	uint64_t in_epoch;
	uint64_t batch; /* samples */
	enum job_loader loader;
	bool interleaves; /* read_threads of three threads each */
	uint32_t readers; /* of a rank; 0 = it reads by itself */
	/* For readers that go through files of many samples: NaN, 0 = not seen. */
	double forward_batch, forward_step_ns;
	double sample_bytes;
	/* By task: start of its first sample, which takes longer than the others
	 * (first_sample_time); NULL = none does. */
	uint64_t *first_ns;
	double first_more_ns; /* median of the time by which it is longer */
	double usual_cpu_ns;  /* mean of the other samples; 0 = not known */
	bool has_rounds;      /* batches and rounds of files cannot be told apart */
};

/* Visits that read one sample; 1 where nothing is known. */
double pipeline_visits(const struct pipeline *f);
/* Steps and batches of readers that go through files of many samples. */
void pipeline_forward(struct pipeline *f);
/* worker_start= and first_sample_time=, where each epoch has new workers. 0, or -errno with err as
 * visits_next. */
int pipeline_start(struct pipeline *f, struct mlgen_err *err);
/* preprocess_time= and the options that go with it. 0, or -errno with err as side_file. */
int pipeline_decoding(struct pipeline *f, struct mlgen_err *err);
/* fresh_memory=. */
void pipeline_fresh(struct pipeline *f);
