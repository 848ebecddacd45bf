/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_inside.h - what is known of a training's pipeline while it is found; for
 * pipeline_found.c, loader_found.c, decode_found.c and fresh_found.c. */
#pragma once

#include "distil/pulse.h"
#include "distil/rankreads.h"
#include "distil/stepmarks.h"
#include "job/job.h"

struct pipeline {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	struct rankreads reads;
	struct stepmarks marks;
	struct pulse *pulse;      /* of each rank that is looked at */
	const struct pulse *best; /* that says most of its batches; or NULL */
	double *step_ns;          /* of all ranks, sorted */
	size_t steps;
	uint64_t in_epoch;
	uint64_t batch; /* samples */
	enum job_loader loader;
	bool interleaves; /* three threads are one of read_threads */
	uint32_t readers; /* of a rank; 0 = it reads by itself */
	/* Files of many samples that are gone through: NaN, 0 = not seen. */
	double forward_batch, forward_step_ns;
	double sample_bytes;
	/* By task: when it began with its first sample, which takes longer than others
	 * (first_sample_time); NULL = none does. */
	uint64_t *first_ns;
	double first_more_ns; /* so much, in the middle */
	double usual_cpu_ns;  /* of others, on average; 0 = it is not known */
	bool has_rounds;      /* batches are not to be told from rounds of files */
};

/* Visits that read one sample; 1 where nothing is known. */
double pipeline_visits(const struct pipeline *f);
/* Steps and batches of who goes through files of many samples. */
void pipeline_forward(struct pipeline *f);
/* Which loader it is, before anything is said. */
void pipeline_find_loader(struct pipeline *f);
/* Who reads for a rank, and how: loader= and what belongs to it. 0, or -errno with err as
 * side_file. */
int pipeline_loader(struct pipeline *f, struct mlgen_err *err);
/* What they do with a sample, and when: preprocess_time= and what belongs to it. 0, or -errno with
 * err as side_file. */
int pipeline_decoding(struct pipeline *f, struct mlgen_err *err);
/* What they read into: fresh_memory=. */
void pipeline_fresh(struct pipeline *f);
/* Of a file of samples, with all its calls. */
struct specimen;
bool pipeline_is_whole(const struct pipeline *f, const struct specimen *x);
/* ... that takes no longer than most, as a new worker's first one may. */
bool pipeline_is_usual(const struct pipeline *f, const struct specimen *x);
/* Workers that are others in each epoch: worker_start= and first_sample_time=. 0, or -errno with
 * err as visits_next. */
int pipeline_start(struct pipeline *f, struct mlgen_err *err);
