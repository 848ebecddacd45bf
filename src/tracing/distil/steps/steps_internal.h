/* SPDX-License-Identifier: Apache-2.0 */
/* steps_internal.h - reads of ranks by time, their batches and steps, and the pipeline of a
 * training run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"
#include "tracing/distil/steps/steps.h"

/* ---- the pulse of a rank ---- */

/* The read of one sample. Reads of an epoch are contiguous and sorted by start. */
struct pulse_read {
	uint64_t start_ns, end_ns;
	uint32_t worker; /* less than the count given to pulse_find */
	uint32_t epoch;
};

enum pulse_kind {
	PULSE_NONE,   /* too few reads */
	PULSE_OWN,    /* the rank reads a batch when it needs one */
	PULSE_WORKER, /* a worker reads a whole batch: PyTorch */
	PULSE_SHARED, /* all workers read parts of a batch */
};

/* The regular distance between long pauses, counted in reads or batches. */
struct spacing {
	uint32_t every;   /* 2 or more; 0 = pauses are irregular */
	double explained; /* share of the variance of pauses, 0 to 1 */
};

/*
 * A rank that computes holds up its workers: each batch it takes allows them to read another one.
 * After the first batches, workers are therefore idle from the end of a batch until the rank takes
 * the next one, and pauses precede batches. If workers were busy all the time, storage was the
 * limit, and the length of a step cannot be seen.
 */
struct pulse {
	enum pulse_kind kind;
	uint32_t workers; /* running at the same time; 0 = PULSE_OWN */
	uint32_t batch;   /* 0 = cannot be seen */
	/* The batch follows from pauses. Without regular pauses (every 0), the batch is the
	 * greatest common divisor of the samples that each worker has read. */
	struct spacing spacing;
	double regular;         /* share of the batches that have the order of `kind` */
	uint64_t batches, idle; /* all batches; those before which workers were idle */
	uint32_t window;        /* batches read ahead; 0 = cannot be seen */
	/* Percentage of the batches with a known window that agree with this window. */
	double window_percent;
	/* Percentage of the epochs in which the order of batches rules out a smaller window;
	 * 0 = the window follows from waits. */
	double order_percent;
	double *step_ns; /* steps in which the rank only computed, sorted by length */
	uint32_t steps;
	uint64_t in_epoch; /* upper bound of the steps that could be seen */
	double bound_ns;   /* mean of all steps; NaN = there are none */
	double think_ns;   /* time of a worker between two samples of a batch */
	/* Delay of the first batch of an epoch while its loader starts: the median of all epochs;
	 * 0 = cannot be seen. */
	double first_late_ns;
	/* Start times of batches by batch number, to compare ranks; 0 = the batch was held up. */
	uint64_t *begun_ns;
	uint32_t begun;
};

/* A rank that reads by itself does not read its second batch while it computes with the first
 * batch; a worker does. */
enum pulse_own { PULSE_HAS_WORKERS, PULSE_MAY_BE_OWN, PULSE_IS_OWN };

/* Find the pulse of one rank. Call pulse_fini afterwards. */
void pulse_find(struct pulse *p, const struct pulse_read *reads, size_t count, uint32_t workers,
		enum pulse_own own);
void pulse_fini(struct pulse *p);

/* Groups of workers when several ranks step at the same time: one worker of each group reads a
 * batch while one worker of every other group does. 1 group = all workers belong to one rank. */
struct pulse_groups {
	uint32_t groups, batch, workers;
};
struct pulse_groups pulse_groups_find(const struct pulse_read *reads, size_t count,
				      uint32_t workers);
/* The share of simultaneous batches whose workers are all in different groups, 0 to 1; `group` is
 * indexed by worker. */
double pulse_groups_part(const struct pulse_groups *g, const struct pulse_read *reads, size_t count,
			 const uint32_t *group);

void pulse_sort(double *at, size_t count);
/* A quantile of sorted numbers, 0 <= part <= 1; NaN if there are no numbers. */
double pulse_quantile(const double *sorted, size_t count, double part);

/* ---- batches, from pulse.c to pulse_steps.c ---- */

/* A pause shorter than this may be the time that a thread needs to wake up. */
#define WAKE_NS 150e3

struct pulse_batch {
	uint64_t start_ns, end_ns;
	double pause_ns; /* pause before the batch; NaN = the worker's first batch */
	uint32_t reads;
	/* row: number of the batch among the batches of its worker in the epoch */
	uint32_t epoch, worker, row;
	uint64_t number; /* order in which the rank uses the batches of an epoch */
	bool is_idle;    /* the pause is longer than pauses inside a batch */
};

/* Fill in the window, steps and bound of the pulse. The batches must be sorted by epoch and
 * number. */
void pulse_steps(struct pulse *p, const struct pulse_batch *at, size_t count);

/* ---- reads by rank, and marks of steps ---- */

struct rank_reads {
	struct pulse_read *at;
	size_t count, room; /* vec.h */
	uint32_t rank;
	uint32_t workers; /* worker numbers in use */
	uint32_t *task;   /* first task of each worker */
	/* Sums over all visits, including those that are not in `at`. */
	uint64_t visits, bytes, call_ns;
	uint64_t cpu_visits, cpu_ns; /* visits with a known CPU time, and sum of these times */
	uint64_t by_rank;            /* visits by the rank's own thread */
};

struct rankreads {
	struct rank_reads *rank; /* a sample of the ranks */
	uint32_t count;
	uint32_t ranks;    /* ranks that read; at least 1 if there are visits */
	uint64_t visits;   /* sum over all ranks */
	uint64_t left_out; /* visits of tasks without a rank */
};

/* Collect the visits to samples of a party in stages of this kind. 0, or -errno as visits_next.
 * Call rankreads_fini in either case. */
int rankreads_read(struct rankreads *r, const struct distil *d, uint32_t party,
		   enum stage_kind kind, struct mlgen_err *err);
void rankreads_fini(struct rankreads *r);

struct stepmarks {
	VEC(double) compute_ns; /* sorted: times that accelerators computed */
	uint64_t steps;         /* number of marked steps */
	uint64_t samples;       /* the usual number of samples per step; 0 = not stated */
	uint64_t votes;
	uint32_t ranks;
};

/* Read the marks of a party's steps, either in evaluations or outside of them. 0, or -errno with
 * err: as trace_reader_open. Call stepmarks_fini in either case. */
int stepmarks_read(struct stepmarks *m, const struct distil *d, uint32_t party, bool is_eval,
		   struct mlgen_err *err);
void stepmarks_fini(struct stepmarks *m);

/* ---- times as the distribution of an option ---- */

struct timefit {
	struct dist dist;   /* rounded to four digits */
	double off_percent; /* distance from the times: Wasserstein-1, divided by their mean */
	double mean_ns, stdev_ns;
};

/* Needs at least one sorted time. If a third of the times hardly differ, fit a constant: the mean
 * of the times near that third, because the rest were held up. */
void timefit(struct timefit *f, const double *sorted_ns, size_t count);
/* A constant, rounded to four digits as well. */
struct dist timefit_constant(double ns);

/* ---- the pipeline ---- */

struct pipeline {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	struct rankreads reads;
	struct stepmarks marks;
	struct pulse *pulse;      /* an entry for each rank of `reads` */
	const struct pulse *best; /* the pulse whose pauses explain most; or NULL */
	double *step_ns;          /* steps of all ranks, sorted */
	size_t steps;
	uint64_t in_epoch;
	uint64_t batch; /* samples */
	enum job_loader loader;
	bool interleaves; /* each read thread stands for three threads of interleave() */
	uint32_t readers; /* per rank; 0 = the rank reads by itself */
	/* Results for workers that go through files of many samples; 0 = not seen. */
	double forward_batch, forward_step_ns;
	double sample_bytes;
	/* Start of each task's first sample, if first samples take longer (first_sample_time); NULL
	 * = they do not. */
	uint64_t *first_ns;
	double first_more_ns; /* median of the extra time of first samples */
	double usual_cpu_ns;  /* mean CPU time of all other samples; 0 = not known */
	bool has_rounds;      /* batches cannot be distinguished from rounds of files */
};

/* Number of visits that read one sample; 1 if unknown. */
double pipeline_visits(const struct pipeline *f);
/* Find steps and batches of workers that go through files of many samples. */
void pipeline_forward(struct pipeline *f);
/* Print worker_start= and first_sample_time= if each epoch has new workers. 0, or -errno with err
 * as visits_next. */
int pipeline_start(struct pipeline *f, struct mlgen_err *err);
/* Print preprocess_time= and the options that go with it. 0, or -errno with err as side_file. */
int pipeline_decoding(struct pipeline *f, struct mlgen_err *err);
/* Print fresh_memory= if reads show new memory. */
void pipeline_fresh(struct pipeline *f);
