/* SPDX-License-Identifier: Apache-2.0 */
/* workload.h - what a phase is: one row of facts about it, and of what each room asks of it. */
#pragma once

#include "job/job.h"

/*
 * A workload is a folder below src/work and a row in its table (work/workloads.c). Nobody outside
 * that folder asks which one a job is: what has to be known of it is a fact of its row, or a
 * function that a room calls.
 */
struct workload_default {
	const char *option, *value; /* NULL ends the list */
};

enum workload_checkpoints {
	CHECKPOINTS_NONE,
	CHECKPOINTS_ASKED, /* with checkpoint_every, beside something else */
	CHECKPOINTS_ALWAYS,
};

struct activity;
struct page;
struct asked;

struct workload {
	/* ---- its options ---- */

	/* Headings (mlgen_field.group) of options that are its own, what a message calls one of
	 * them, and those of others that it takes, too. The lists end with NULL; a heading in none
	 * of them is everybody's. */
	const char *const *groups;
	const char *option_of; /* "an option of phase=train" */
	const char *const *also;
	/* Defaults that are not those of job_fields; NULL = none. */
	const struct workload_default *defaults;
	/* Options of others that are tried here, and what does it here: they are refused by that
	 * name on the command line, too. NULL = none. */
	const struct workload_default *instead;
	/* What relates two of its options, as job_check() has it. */
	void (*check)(const struct job *j, struct diag *d);
	/* The option by which more is done at once. */
	const char *more_at_once;

	/* ---- what it does ---- */

	bool is_plain;                /* as fio has them, and reported so */
	const char *said_by;          /* an option that alone says so; or NULL */
	bool has_dataset;             /* its directory holds samples */
	bool only_prepares;           /* it makes that, and measures nothing */
	bool has_accelerators;        /* that take batches, and have an AU */
	bool is_open_ended;           /* time_based makes it as long as runtime */
	bool is_grouped;              /* by group_reporting, into one record */
	bool counts_errors;           /* continue_on_error, max_errors */
	bool needs_read, needs_write; /* of its engine, in any case */
	bool restores;                /* its checkpoints are read */
	enum workload_checkpoints checkpoints;

	/* ---- what rooms further on ask of it ---- */

	const struct activity *run; /* run/activity.h */
	const struct page *page;    /* report/page.h */
	const struct asked *asked;  /* ask/asked.h */
};

/* All of them, and the values of phase= in the same order; NULL ends both. */
extern const struct workload *const workloads[];
extern const struct mlgen_choice workload_choices[];

const struct workload *job_work(const struct job *j);

/* As phase= has it: "train". */
const char *job_work_name(const struct job *j);

/* Do its accelerators take samples of a data set? Not those of every workload that has some. */
static inline bool workload_trains(const struct workload *w)
{
	return w->has_accelerators && w->has_dataset;
}

/* Has a job of this workload that option? Of job_fields. */
bool workload_has(const struct workload *w, const struct mlgen_field *f);

/* "an option of phase=train"; of one that not every workload has. */
const char *workload_of(const struct mlgen_field *f);

/* Name the option that stands in for one that jobs of this workload do not have; NULL = none is
 * known. */
const char *workload_instead(const struct workload *w, const struct mlgen_field *f);

/* The value of phase= that an option says without it: of those whose said_by `is_given` the last;
 * -1 = of none. */
int workload_said(bool (*is_given)(const void *arg, const char *option), const void *arg);

/* Defaults of the job's workload that differ from those in job_fields. */
void workload_set_defaults(struct job *j);

/* Has this option of job_fields, given or not, its workload's default? */
bool workload_is_default(const struct job *j, const struct mlgen_field *f);
