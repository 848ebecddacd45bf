/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what a dry run computes, and what reports ask of a workload. */
#pragma once

/*
 * A page is a workload's part of all reports: its plan, its text, its verdict, its object in the
 * document. Each workload has one (struct page), and reports call it without asking which it is.
 * A plan is what a dry run computes of one job; what several processes plan is joined to one.
 * All calls are the main thread's.
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
#include "io/mount.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/slot/slot.h"
#include "stat/metric.h"
#include "stat/opstat.h"

/* ---- what a dry run computes and prints ---- */

/* One line of the checklist; FAIL is what would stop the run. */
enum plan_state { PLAN_OK, PLAN_WARNING, PLAN_FAIL };

struct plan_check {
	char *name; /* dataset data requests space storage memory direct files
		       steps hold checkpoints room durable verify cache caches
		       program engine cpus memory_limit */
	int state;
	char *text; /* of OK the rule it keeps, else what is wrong; may be NULL */
};

/* Operations of an average sample. */
struct plan_calls {
	double open, stat, read, write, fsync, close;
};

/* What only a plain job has. */
struct plan_io {
	char *directory; /* of the first file; NULL = none, or unknown */
	uint64_t files, file_bytes;
	uint64_t move_bytes;   /* of all workers and loops; UINT64_MAX:
				  until runtime, or unknown */
	uint64_t buffer_bytes; /* of all workers */
};

/* What only a replay has; its files are those of plan_io. */
struct plan_replay {
	struct replay_result asked; /* nothing of it done */
	uint64_t workers, depth;    /* depth: most under way of one of these */
	uint64_t read_bytes, write_bytes;
};

/* Ranks that save the same. */
struct plan_ranks {
	char *ranks; /* "0-7,256-263" */
	uint64_t count;
	uint64_t model_bytes, optimizer_bytes, bytes, files; /* of each */
};

/* What a job that saves or restores a model's state has besides; ranks 0 = this one does not. */
struct plan_checkpoint {
	char *directory;
	char *first, *last;     /* names of those to save, or to restore; NULL =
				   none, or not known */
	char *saved_by;         /* of a restore: the job before it, whose ones it reads;
				   NULL = those that are there */
	char *file, *last_file; /* of the first rank here; NULL = no files */
	uint64_t parameters;    /* 0 = the state is no transformer's */
	uint64_t ranks, tensor_parallel, pipeline_parallel, data_parallel;
	struct metric_list classes; /* plan_ranks, of all ranks */
	/* One checkpoint: of all ranks of the job, of those of this host. */
	uint64_t model_bytes, optimizer_bytes, bytes, files;
	uint64_t local_ranks, local_bytes, local_files;
	uint64_t checkpoints; /* to save, or to restore; UINT64_MAX unknown */
	bool is_estimate;     /* of a training that saves by the clock */
	uint64_t present;     /* complete ones that are there */
	uint64_t move_bytes;  /* by this host, in all of them */
	uint64_t in_flight, most_write_bytes;
	struct mount mount; /* of directory; zeroed: could not be read */
	uint64_t free_bytes;
	uint64_t program_bytes; /* of the threads that write or read */
	uint64_t open_files;
};

/* Unknown figures are NaN or UINT64_MAX. */
struct plan_report {
	const struct job *job;
	/* Of those that have one, from the start; eval.format NULL = none. */
	struct dataset dataset, eval;
	struct dataset_totals totals;
	bool touches_files; /* false: ioengine=null */
	/* What is planned is of all these (plan.h); 1 = there are no others. Accelerators are
	 * those of all. */
	uint64_t hosts, processes, accelerators;

	uint64_t present_files, present_bytes, write_files, write_bytes;
	bool present_estimate;
	struct mount mount; /* zeroed when it could not be read */
	uint64_t free_bytes, memory_bytes;
	bool is_of_hosts; /* memory is that of several */
	double dataset_memory_ratio;

	uint64_t steps_per_epoch, left_over_samples;
	/* Of the evaluation; zeros without. */
	uint64_t eval_files, eval_bytes, eval_steps;
	uint64_t total_steps; /* of one rank; UINT64_MAX: until runtime */
	double read_bytes, least_seconds;

	/* Of one accelerator, then of all. */
	double samples_per_sec_one, bytes_per_sec_one;
	double demand_bytes_per_sec, demand_io_bytes_per_sec;

	struct plan_io io; /* zeroed but for plain jobs */
	struct plan_replay replay;
	struct plan_checkpoint checkpoint;

	uint64_t reads_in_flight;
	uint64_t open_files, open_files_limit; /* of a process: need at once,
						  allowed */
	uint64_t direct_align_bytes;           /* 0 = buffered */
	struct plan_calls calls_per_sample;
	struct sizes read_sizes; /* of the samples looked at */
	double io_bytes_per_sample;
	struct memneed need;         /* estimate of mlgen's own memory */
	uint64_t program_bytes;      /* in use, of that, and at rest; of the
					  host that has most */
	double framework_bytes;      /* what the framework would hold */
	double held_bytes;           /* with hold_samples, beside program_bytes */
	uint64_t cache_stored_bytes; /* of the data set in a cache tier */
	double cache_state_bytes;    /* bookkeeping of a cache tier, in there */

	struct metric_list checks;       /* struct plan_check */
	struct metric_list blockers;     /* those that are PLAN_FAIL, borrowed */
	struct metric_list mlperf_check; /* mlperf_rule, of --check; owned */
};

/* What a plan is made from. */
struct plan_input {
	const struct job *job;
	const struct host *host;
	const struct settings *set;
};

/*
 * Ask what a run would ask (run/run_internal.h), then compute; touches nothing: reads manifests, or
 * looks at the files of a plain job, and asks for sizes, space and limits. 0, or -EINVAL with err
 * for a job that cannot be planned.
 */
int plan_make(struct plan_report *p, struct job *job, const struct host *host,
	      const struct settings *set, struct mlgen_err *err);
void plan_fini(struct plan_report *p); /* takes a zeroed struct */

/* The same for all jobs of a run, into `plans`: what a restore reads may be what a job before it
 * saves. With others together: files are looked for by one, and rank 0's plans are those of all
 * then. plan_fini of each, also where it fails. */
struct hosts;
int plan_make_all(struct plan_report *plans, const struct jobset *set, const struct host *host,
		  struct hosts *hosts, struct mlgen_err *err);

/* The check of this name, or NULL. */
const struct plan_check *plan_find_check(const struct plan_report *p, const char *name);

/*
 * The page for one job: what it would write, read and need. The right-hand column is a checklist:
 * ok, WARNING, or FAIL for what would stop the run, with the sentence below the line.
 */
void plan_text(FILE *to, const struct plan_report *p);

/* ---- how much of a report is printed ---- */

enum detail {
	DETAIL_FIRST, /* --quiet: its first line */
	DETAIL_BRIEF, /* --brief: what a mail needs */
	DETAIL_USUAL,
	DETAIL_ALL, /* --verbose: also what could not be measured here */
};

static inline enum detail detail_of(const struct settings *s)
{
	return s->quiet     ? DETAIL_FIRST
	       : s->brief   ? DETAIL_BRIEF
	       : s->verbose ? DETAIL_ALL
			    : DETAIL_USUAL;
}

/* ---- what the reports ask of a workload: its plan, its text, its figures in the document ---- */

/* One line of --list-jobs, as text; "-" where there is nothing. */
struct listing {
	char size[UNITS_TEXT_BYTES], need[UNITS_TEXT_BYTES];
	char who[UNITS_TEXT_BYTES]; /* that needs it; "" = the accelerator */
};

struct page {
	/* ---- before a run ---- */

	/* Fill a plan whose job is set: 0, or -EINVAL with err for a job that cannot be planned. */
	int (*plan)(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);
	/* What it misses may be made by the jobs before it; NULL = it is not. */
	void (*expect)(struct plan_report *p, const struct plan_report *before, size_t count);
	/* Its page below the first line. */
	void (*plan_text)(FILE *to, const struct plan_report *p);
	/* Where its files lie; NULL = not known. */
	char *(*directory)(const struct plan_report *p);
	/* NULL: it has nothing to list. */
	void (*list)(struct listing *l, const struct job *j, const struct host *host);
	/* Is one of the files that the job names itself this one? NULL = it names none. */
	bool (*any_file)(const struct job *j, bool (*is)(const void *arg, const char *path),
			 const void *arg);

	/* ---- of a result ---- */

	/* `n` records of one job behind each other, of more than one where it has a record for each
	 * worker. */
	void (*text)(FILE *to, const struct run_result *run, const struct job_result *records,
		     size_t n, enum detail detail);
	bool has_records; /* one for each worker */
	/* Decide what limits it, into its verdict; NULL = it has none. */
	void (*verdict)(const struct run_result *run, struct job_result *r);
	/* Over which its bytes and operations are counted. */
	double (*seconds)(const struct job_result *r);
	/* Who does its I/O ("loaders"), and at what they are looked at for where they run ("time";
	 * NULL = as its loader model has it). */
	const char *workers, *looked_at;

	/* ---- in the document ---- */

	/* Its object in a job's record, and the rows, of struct job_result. A result that is read
	 * back is known by it (ask/results), so it is "ml" or "io"; NULL = only its preparation is
	 * in the document. */
	const char *key;
	const struct mlgen_field *fields;
	/* Has this result that row? NULL = any. */
	bool (*has_row)(const struct job_result *r, const char *name);
	/* Those of them that a plan knows, a list that ends with NULL, and how they are filled. */
	const char *const *planned;
	void (*fill_planned)(struct job_result *to, const struct plan_report *p);
};

/* Of a result, which came to something. */
static inline const struct page *page_of(const struct job_result *r)
{
	return r->work->page;
}

/* ---- what plans of trainings and of plain jobs have in common ---- */

/* Files of the program's own: streams, reports, counters, libraries. */
#define PLAN_OWN_FILES 32

/* One more line of the checklist; "%s" with "" = no text. The worst that is said of a name stands,
 * and of two that are as bad the first. */
__attribute__((format(printf, 4, 5))) void plan_add_check(struct plan_report *p, const char *name,
							  enum plan_state state, const char *fmt,
							  ...);

/* What the run would refuse, in its words. */
void plan_add_fail(struct plan_report *p, const char *name, const struct mlgen_err *why);

/* Is it refused already? */
bool plan_has_failed(const struct plan_report *p, const char *name);

/* The check `direct`: what O_DIRECT asks for at `probe`, a file or a directory. */
void plan_check_direct(struct plan_report *p, const char *probe);

/* Where the files of the job lie; NULL = not known. */
char *plan_directory(const struct plan_report *p);

/* ---- which ranks of a job save the same, and what all of them do ---- */

/* Fill what c has of the state and of its ranks: classes, and all sums of one checkpoint. Goes
 * through all ranks once; keeps nothing of the set. */
void plan_classes_count(struct plan_checkpoint *c, const struct shard_set *set);

/* ---- what each process of a job plans becomes one plan of all ---- */

/*
 * Together, behind plan_make of each: rank 0's plans then say what all processes do. What they have
 * in flight, move, and play of checkpoints adds up; memory that mlgen needs is that of a host's
 * processes, of the host that needs most; and what another process would be refused for is a FAIL
 * with its host in front, where rank 0 does not say the same. 0, or -EPIPE with err.
 */
int plan_join(struct plan_report *plans, size_t count, struct hosts *h, struct mlgen_err *err);
