/* SPDX-License-Identifier: Apache-2.0 */
/* activity.h - what a job does in a run: one row of functions per phase. */
#pragma once

#include "job/job.h"
#include "run/memneed.h"
#include "run/result/result.h"
#include "run/slot.h"

/*
 * A run asks one row after the other and ends with the first that does not hold; a dry run asks all
 * of them and shows each that does not as FAIL. So both say the same, in the words of the function
 * that asks, which is where most is known. A row changes nothing but its slot.
 */
struct rule {
	/* What it is about: the line of the dry run's page that it marks. */
	const char *name;
	/* 0, also where it does not concern this job, or -errno with err. */
	int (*ask)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
};

/*
 * The run (run.c) knows groups, threads that are joined, and signals; what a phase is made of
 * stands in its row. Rows work on what is theirs in the slot.
 */
struct activity {
	/* What follows from the options alone: 0, or -errno with err, where there is nothing that
	 * could be planned, or run. */
	int (*init)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* Before the first byte: lists of rules, in the order in which they are asked; NULL ends
	 * the lists. */
	const struct rule *const *rules;
	/* What its preparation asks by itself, when its turn has come: of a dry run alone, whose
	 * jobs make nothing for one another; or NULL. */
	const struct rule *const *turn_rules;
	/* Descriptors that it needs at once, and the options to lower. */
	uint64_t (*open_files)(const struct slot *s);
	const char *lower_files;
	/* Requests that its loaders or streams may have under way at once; NULL where that is not
	 * counted (savers). */
	uint64_t (*requests)(const struct slot *s);
	/* Memory that it needs, into a zeroed one; where there is only so much room, no figure
	 * beyond it has to be exact. */
	void (*need)(const struct slot *s, uint64_t room_bytes, struct memneed *n);
	/* What that follows from, as "accelerators=8 x read_threads=4" (NULL: nothing that could be
	 * told), and the options to lower. */
	void (*put_costs)(struct buf *out, const struct job *j);
	const char *lower;
	/* Make what is missing, on the conductor's thread. */
	int (*prepare)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* NULL from here on: there is nothing but the preparation. */

	/* What the processes of a job set up together, before start: 0, or -errno with err, alike
	 * in all of them. NULL = nothing. */
	int (*meet)(struct slot *s, struct run_shared *run, struct mlgen_err *err);

	/* Set up and start its threads; join them. */
	int (*start)(struct slot *s, struct run_shared *run, uint64_t now_ns,
		     struct mlgen_err *err);
	void (*join)(struct slot *s);
	/* What its processes compare once it has ended: 0, or -errno with err, alike in all of
	 * them; or NULL. */
	int (*check)(struct slot *s, struct run_shared *run, struct mlgen_err *err);
	/* What is seen of its files once it has ended; or NULL. On the thread that has joined
	 * it. */
	void (*look_back)(struct slot *s);
	void (*fini)(struct slot *s); /* also where it never started */
	/* Any thread, once started. An error somewhere: nobody waits any more; an interruption:
	 * look again at what you wait for. */
	void (*close)(struct slot *s);
	void (*wake)(struct slot *s);
	/* Time zero of its clock, 0 = not yet. */
	uint64_t (*start_ns)(const struct slot *s);
	/* The workers that its records are of, by number; NULL = no more. All that move bytes are
	 * in slot->workers. */
	struct worker *(*worker)(const struct slot *s, uint64_t i);
	/* What the status line and the log show. */
	void (*look)(const struct slot *s, struct live *live);
	/* After join: its records in the report, and what stands in them. */
	size_t (*records)(const struct slot *s);
	void (*collect)(struct job_result *out, size_t record, struct slot *s);
};

/* One worker with the job's engine and options is set up and taken down, so that an engine that
 * cannot run here says so before anything is moved. */
int activity_try_engine(const struct job *job, struct clock *clock, struct mlgen_err *err);

/* Rows of any workload, for its list. */

/* One worker with the job's engine and options can be set up here; of one that is not loaded nobody
 * knows. */
int rules_engine(struct slot *s, struct run_shared *run, struct mlgen_err *err);
/* CPUs and NUMA nodes, into s->place. */
int rules_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err);
