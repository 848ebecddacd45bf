/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - plans of dry runs, and the page that each workload contributes to reports. */
#pragma once

/*
 * A page (struct page) is a workload's part of all reports: its plan, its text, its verdict, its
 * object in the document. Each workload has a page, whose functions reports call without knowing
 * the workload. A plan is the result of a dry run for one job; the plans of several processes are
 * merged into one. All calls come from the main thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/units.h"
#include "data/file/file.h"
#include "data/state/state.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "io/devices.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "field/fields.h"
#include "stat/opstat.h"

/* ---- the plan of a job ---- */

/* The outcome of a check; FAIL would stop the run. */
enum plan_state { PLAN_OK, PLAN_WARNING, PLAN_FAIL };

struct plan_check {
	char *name; /* dataset data requests space storage memory direct files
		       steps hold checkpoints room durable verify cache caches
		       program engine cpus memory_limit */
	int state;
	char *text; /* OK: the rule that is met; otherwise the problem; may be NULL */
};

/* Operations for an average sample. */
struct plan_calls {
	double open, stat, read, write, fsync, close;
};

/* Members for plain jobs. */
struct plan_io {
	char *directory; /* folder of the first file; NULL = none, or unknown */
	uint64_t files, file_bytes;
	uint64_t move_bytes;   /* all workers and loops; UINT64_MAX:
				  until runtime, or unknown */
	uint64_t buffer_bytes; /* all workers */
};

/* Members for replays; their files are in plan_io. */
struct plan_replay {
	struct replay_result asked; /* the operations to replay; none has been performed */
	uint64_t workers, depth;    /* depth: most in flight in a worker */
	uint64_t read_bytes, write_bytes;
};

/* A class of ranks that save the same amount. */
struct plan_ranks {
	char *ranks; /* "0-7,256-263" */
	uint64_t count;
	uint64_t model_bytes, optimizer_bytes, bytes, files; /* per rank */
};

/* Members for jobs that save or restore a model's state; ranks 0 = the job does not. */
struct plan_checkpoint {
	char *directory;
	char *first, *last;     /* names of checkpoints to save or to restore; NULL =
				   none, or unknown */
	char *saved_by;         /* restore: an earlier job that saves them;
				   NULL = they exist already */
	char *file, *last_file; /* files of the first local rank; NULL = no files */
	uint64_t parameters;    /* 0 = the state is not that of a transformer */
	uint64_t ranks, tensor_parallel, pipeline_parallel, data_parallel;
	struct metric_list classes; /* plan_ranks, which cover all ranks */
	/* Sums of one checkpoint: all ranks of the job, then the ranks of this host. */
	uint64_t model_bytes, optimizer_bytes, bytes, files;
	uint64_t local_ranks, local_bytes, local_files;
	uint64_t checkpoints; /* number to save or restore; UINT64_MAX unknown */
	bool is_estimate;     /* training that saves by the clock */
	uint64_t present;     /* complete checkpoints that exist */
	uint64_t move_bytes;  /* moved by this host, in all checkpoints */
	uint64_t in_flight, most_write_bytes;
	struct mount mount; /* holds `directory`; zeroed: could not be read */
	uint64_t free_bytes;
	uint64_t program_bytes; /* memory of the threads that write or read */
	uint64_t open_files;
};

/* Unknown figures are NaN or UINT64_MAX. */
struct plan_report {
	const struct job *job;
	/* Set from the start for jobs with a dataset; eval.format NULL = none. */
	struct dataset dataset, eval;
	struct dataset_totals totals;
	bool touches_files; /* false: ioengine=null */
	/* The plan covers all of these hosts, processes and accelerators; 1 process = only this
	 * one. */
	uint64_t hosts, processes, accelerators;

	uint64_t present_files, present_bytes, write_files, write_bytes;
	bool present_estimate;
	struct mount mount; /* zeroed when it could not be read */
	uint64_t free_bytes, memory_bytes;
	bool is_of_hosts; /* memory_bytes is the sum of several hosts */
	double dataset_memory_ratio;

	uint64_t steps_per_epoch, left_over_samples;
	/* Evaluation; zeros if there is none. */
	uint64_t eval_files, eval_bytes, eval_steps;
	uint64_t total_steps; /* per rank; UINT64_MAX: until runtime */
	double read_bytes, least_seconds;

	/* Demand of an accelerator, then of all. */
	double samples_per_sec_one, bytes_per_sec_one;
	double demand_bytes_per_sec, demand_io_bytes_per_sec;

	struct plan_io io; /* zeroed except for plain jobs */
	struct plan_replay replay;
	struct plan_checkpoint checkpoint;

	uint64_t reads_in_flight;
	uint64_t open_files, open_files_limit; /* per process: needed at once,
						  allowed */
	uint64_t direct_align_bytes;           /* 0 = buffered */
	struct plan_calls calls_per_sample;
	struct sizes read_sizes; /* sizes of the reads for those samples that were examined */
	double io_bytes_per_sample;
	struct memneed need; /* estimate of mlgen's own memory */
	/* `need` and the memory of an idle mlgen, on the host that needs most */
	uint64_t program_bytes;
	double framework_bytes;      /* memory that the framework would hold */
	double held_bytes;           /* extra memory with hold_samples */
	uint64_t cache_stored_bytes; /* part of the data set in a cache tier */
	double cache_state_bytes;    /* bookkeeping of the tier, part of program_bytes */

	struct metric_list checks;       /* struct plan_check */
	struct metric_list blockers;     /* the checks that are PLAN_FAIL, borrowed */
	struct metric_list mlperf_check; /* mlperf_rule, from --check; owned */
};

/* The input of a plan. */
struct plan_input {
	const struct job *job;
	const struct host *host;
	const struct settings *set;
};

/*
 * Check the rules that a run checks (run/run_internal.h), then compute the plan. The function
 * changes nothing: it reads manifests or the sizes of a plain job's files, and queries space and
 * limits. 0, or -EINVAL with err for a job that cannot be planned.
 */
int plan_make(struct plan_report *p, struct job *job, const struct host *host,
	      const struct settings *set, struct mlgen_err *err);
void plan_fini(struct plan_report *p); /* accepts a zeroed struct */

/*
 * Plan all jobs of a run: a restore may read checkpoints that an earlier job saves. All processes
 * of `hosts` must call this together. Only one process searches for files, and rank 0's plans then
 * cover all processes. Call plan_fini() for each plan, even after an error.
 */
struct hosts;
int plan_make_all(struct plan_report *plans, const struct jobset *set, const struct host *host,
		  struct hosts *hosts, struct mlgen_err *err);

/* The check of this name, or NULL. */
const struct plan_check *plan_find_check(const struct plan_report *p, const char *name);

/*
 * Print the page for one job: what it would write, read and need. The right-hand column is a
 * checklist: ok, WARNING, or FAIL if the run would stop, with the reason below the line.
 */
void plan_text(FILE *to, const struct plan_report *p);

/* ---- how much of a report is printed ---- */

enum detail {
	DETAIL_FIRST, /* --quiet: the first line */
	DETAIL_BRIEF, /* --brief: short enough for a mail */
	DETAIL_USUAL,
	DETAIL_ALL, /* --verbose: even figures that could not be measured here */
};

static inline enum detail detail_of(const struct settings *s)
{
	return s->quiet     ? DETAIL_FIRST
	       : s->brief   ? DETAIL_BRIEF
	       : s->verbose ? DETAIL_ALL
			    : DETAIL_USUAL;
}

/* ---- a workload's part of the reports: its plan, its text, its figures in the document ---- */

/* A line of --list-jobs, as text; "-" = no value. */
struct listing {
	char size[UNITS_TEXT_BYTES], need[UNITS_TEXT_BYTES];
	char who[UNITS_TEXT_BYTES]; /* consumer of `need`; "" = the accelerator */
};

struct page {
	/* ---- before a run ---- */

	/* Fill a plan whose job is set: 0, or -EINVAL with err for a job that cannot be planned. */
	int (*plan)(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
	/* Adjust the plan for files that the `count` earlier jobs make; NULL = never needed. */
	void (*expect)(struct plan_report *p, const struct plan_report *before, size_t count);
	/* Print its page below the first line. */
	void (*plan_text)(FILE *to, const struct plan_report *p);
	/* The directory of its files; NULL = unknown. */
	char *(*directory)(const struct plan_report *p);
	/* Fill a line of --list-jobs; NULL = nothing to list. */
	void (*list)(struct listing *l, const struct job *j, const struct host *host);
	/* True if `is` returns true for any file that the job itself names; NULL = the job names
	 * none. */
	bool (*any_file)(const struct job *j, bool (*is)(const void *arg, const char *path),
			 const void *arg);

	/* ---- result ---- */

	/* Print `n` consecutive records of one job; n > 1 only with has_records. */
	void (*text)(FILE *to, const struct run_result *run, const struct job_result *records,
		     size_t n, enum detail detail);
	bool has_records; /* a record for each worker */
	/* Decide its limit and fill its verdict; NULL = no verdict. */
	void (*verdict)(const struct run_result *run, struct job_result *r);
	/* The time over which its bytes and operations are counted. */
	double (*seconds)(const struct job_result *r);
	/* The word for the threads that do its I/O ("read threads"). The word for the quantity
	 * whose share on far NUMA nodes is reported ("time"); NULL = samples or batches, as the
	 * loader delivers. */
	const char *workers, *looked_at;

	/* ---- document ---- */

	/* The key of its object in a job's record, and the rows of that object, which are members
	 * of struct job_result. The key, "ml" or "io", identifies a result that is read back
	 * (ask/results). NULL = only its preparation is in the document. */
	const char *key;
	const struct mlgen_field *fields;
	/* True if this result has that row; NULL = always. */
	bool (*has_row)(const struct job_result *r, const char *name);
	/* Names of the rows that a plan can fill, ended by NULL, and the function that fills them.
	 */
	const char *const *planned;
	void (*fill_planned)(struct job_result *to, const struct plan_report *p);
};

/* The page of a result; its job must have run. */
static inline const struct page *page_of(const struct job_result *r)
{
	return r->work->page;
}

/* ---- checks that plans of all workloads use ---- */

/* Files that the program itself opens: streams, reports, counters, libraries. */
#define PLAN_OWN_FILES 32

/* Add a line to the checklist; "%s" with "" = no text. Of several checks with the same name only
 * the worst is kept, and the first of equally bad ones. */
__attribute__((format(printf, 4, 5))) void plan_add_check(struct plan_report *p, const char *name,
							  enum plan_state state, const char *fmt,
							  ...);

/* Add a FAIL with the error that the run would report. */
void plan_add_fail(struct plan_report *p, const char *name, const struct mlgen_err *why);

/* True if the check of this name is a FAIL. */
bool plan_has_failed(const struct plan_report *p, const char *name);

/* Add the check `direct`: the alignment of O_DIRECT at `probe`, a file or a directory. */
void plan_check_direct(struct plan_report *p, const char *probe);

/* The directory of the job's files; NULL = unknown. */
char *plan_directory(const struct plan_report *p);

/* ---- classes of ranks, and sums over all ranks of a checkpoint ---- */

/* Fill the members of c about the state and its ranks: classes, and all sums of one checkpoint.
 * Visits each rank once. c keeps no pointer into the set. */
void plan_count_classes(struct plan_checkpoint *c, const struct shard_set *set);

/* ---- merging the plans of all processes ---- */

/*
 * Merge the plans of all processes. All processes must call this together, after their plan_make();
 * rank 0's plans then cover all processes. Requests in flight, bytes moved and local ranks are
 * added up. The memory that mlgen needs is summed over the processes of a host; the plan has the
 * sum of the host that needs most. A failure of another process becomes a FAIL that starts with the
 * name of its host, unless rank 0 has the same failure. 0, or -EPIPE with err.
 */
int plan_join(struct plan_report *plans, size_t count, struct hosts *h, struct mlgen_err *err);
