/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - facts of a trace that do not depend on options, and the job file that is written. */
#pragma once

/*
 * distil_read() reads a trace once, by time, into struct distil; distil_tasks(), distil_classes()
 * and distil_stages() then find out which threads belong together, the purpose of each file, and
 * when the program did what.
 *
 * A visit is the calls of one thread on one file, from open to close; a specimen is a visit whose
 * calls are recorded. A party is a training run: the threads that read one data set. A stage is an
 * epoch, an evaluation, a checkpoint and the like.
 *
 * Finders are in distil/plain, saves, steps and data. Each reads struct distil and adds options to
 * a section of the job, each with a reason and a confidence. A list that is too long for an option
 * goes to a side file next to the job. A fact that the trace does not show is not an error: the
 * finder adds a comment with the reason, or adds nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/vec.h"
#include "job/job.h"
#include "trace/model/model.h"
#include "trace/trace.h"

/* ---- visits ---- */

enum visit_flag {
	VISIT_OPENS = 1u << 0, /* begins with an open of the file */
	VISIT_READS = 1u << 1,
	VISIT_WRITES = 1u << 2,
	VISIT_MAPS = 1u << 3, /* mmap, or faults on mapped pages */
};

/*
 * A visit that begins with an open ends when the thread closes the file. In two cases, each read or
 * write that does not continue at the end of the previous one begins another visit: if the thread
 * did not open the file, or if it has accessed VISIT_PLACES places since the open. Readers of
 * Parquet read up to this many columns of a row group.
 */
enum { VISIT_PLACES = 256 };

struct visit {
	uint64_t start_ns, end_ns; /* start of the first call, end of the last */
	uint64_t call_ns;          /* time in its calls */
	uint64_t cpu_ns; /* CPU time of the thread between the calls, and from the last call to the
			    thread's next call; TRACE_UNKNOWN = not known */
	uint64_t read_bytes, written_bytes; /* results of calls */
	uint64_t off;     /* offset of the first read or write; TRACE_UNKNOWN = none */
	uint64_t end_off; /* highest end of a read or write */
	uint32_t file;    /* id of the trace's entry */
	uint32_t task;    /* index of distil.task */
	uint32_t calls, reads, writes;
	uint16_t flags; /* enum visit_flag */
	uint16_t stage; /* index of distil.stages; filled by distil_stages() */
};

/* All visits of a trace, by start. Most visits are stored in an unnamed file, so memory does not
 * grow with their number. */
struct visits;

/*
 * Walk over all visits; several walks may run at a time. Zero the cursor before the first call. A
 * walk that reaches the end has nothing to free; call visits_stop to end it earlier. The visit is
 * valid until the next call. 1, 0 at the end, or -errno with err.
 */
struct visits_cursor {
	uint64_t next; /* number of the next visit */
	uint32_t at, count;
	struct visit *block;
};
int visits_next(const struct visits *v, struct visits_cursor *c, const struct visit **x,
		struct mlgen_err *err);
void visits_stop(struct visits_cursor *c);

/* Walk over all visits; `change` may modify each. */
typedef void visits_change(void *arg, struct visit *x);
int visits_each(struct visits *v, visits_change *change, void *arg, struct mlgen_err *err);

/* ---- specimens ---- */

/* Limit of the calls of a specimen; only the first calls of a longer visit are recorded. */
enum { SPECIMEN_CALLS_MOST = 4096 };

struct specimen_call {
	uint64_t off, len_bytes; /* off: TRACE_UNKNOWN = not known */
	int64_t result;
	uint64_t start_ns, duration_ns;
	uint64_t think_ns; /* time since the previous call; 0 for the first */
	uint64_t cpu_ns;   /* CPU time of the thread from the end of the previous call to the end of
			      this call; TRACE_UNKNOWN = not known */
	uint16_t op;       /* enum trace_op */
	uint16_t flags;    /* enum trace_flag */
};

struct specimen {
	struct visit visit;
	uint64_t number;     /* among the visits that may be specimens, from 0 */
	bool writes;         /* begins with a write, or an open to write */
	uint64_t file_bytes; /* TRACE_UNKNOWN = not known */
	uint32_t count;      /* calls that are recorded */
	struct specimen_call *calls;
	size_t room; /* capacity of `calls` for mem_grow() */
};

struct specimens {
	struct specimen *at; /* owned, like the calls of each */
	uint32_t count;
};

/* ---- the job that is written ---- */

/* Confidence in the value of an option. */
enum distil_sure {
	DISTIL_SURE,   /* the trace states the value, or no other value gives these calls */
	DISTIL_LIKELY, /* the value explains nearly all calls */
	DISTIL_GUESS,  /* a value is needed, and the trace shows little */
};

struct jobtext;
struct jobsection;

struct jobtext *jobtext_new(void);
void jobtext_free(struct jobtext *t); /* NULL is fine */

/* Add a comment to the head of the file. */
__attribute__((format(printf, 2, 3))) void jobtext_comment(struct jobtext *t, const char *fmt, ...);
/* Number of sections so far. */
size_t jobtext_count(const struct jobtext *t);
/* Add a section, such as "training"; a name that is in use gets a number appended. */
struct jobsection *jobtext_section(struct jobtext *t, const char *name);

/* Add a heading for the lines that follow, such as "data set". */
void jobsection_heading(struct jobsection *s, const char *text);
/* Set an option, with a comment that states the confidence and the reason. An existing option gets
 * the new value. The texts are copied. */
__attribute__((format(printf, 5, 6))) void jobsection_set(struct jobsection *s,
							  enum distil_sure sure, const char *option,
							  const char *value, const char *why, ...);
/* Set an option to a number. */
__attribute__((format(printf, 5, 6))) void jobsection_set_u64(struct jobsection *s,
							      enum distil_sure sure,
							      const char *option, uint64_t value,
							      const char *why, ...);
/* Add a comment without an option. */
__attribute__((format(printf, 2, 3))) void jobsection_comment(struct jobsection *s, const char *fmt,
							      ...);
/* The value of an option in the section; NULL = not set. */
const char *jobsection_value(const struct jobsection *s, const char *option);

void jobtext_write(const struct jobtext *t, FILE *to);

/* ---- side files ---- */

/* Write the content; ferror(to) reports errors. */
typedef void side_file_write(FILE *to, const void *arg);

/*
 * Write FOLDERNAME.SUFFIX; the folder ends with a slash or is empty. `name` receives the file name
 * without its folder, which is also logged. An existing file with the same content is left alone;
 * other content is an error. 0, or -errno with err, and no incomplete file is left.
 */
enum { SIDE_FILE_BYTES = 256 };
int side_file(char name[SIDE_FILE_BYTES], const char *folder, const char *stem, const char *suffix,
	      side_file_write *write, const void *arg, struct mlgen_err *err);

/* Write a side file of values from which a distribution draws (base/dist_file.h). */
struct side_values {
	const uint64_t *values; /* ascending */
	size_t count;
	enum dist_unit unit;
	const char *comment; /* first line of the file */
};
int side_file_values(char name[SIDE_FILE_BYTES], const char *folder, const char *stem,
		     const char *suffix, const struct side_values *v, struct mlgen_err *err);

/* ---- the trace ---- */

/* Purpose of a file. */
enum file_class {
	CLASS_OTHER,  /* a file of the system, or not a file */
	CLASS_CODE,   /* programs, modules, libraries, configurations */
	CLASS_SAMPLE, /* part of the data set */
	CLASS_LABEL,  /* a file for each file of samples, such as its labels */
	CLASS_INDEX,  /* read at the start, or together with a file of samples */
	CLASS_CHECKPOINT,
	CLASS_MADE, /* part of the data set, and written during the trace as well */
	CLASS_LOG,
	CLASS_PLAIN, /* a file of the job that fits no other class */
};

/* A thread. Parties, ranks and workers are numbered from 0. */
struct distil_task {
	uint32_t pid, tid;
	uint32_t party;  /* UINT32_MAX = none */
	uint32_t rank;   /* number in the party; UINT32_MAX = none */
	uint32_t worker; /* number in the rank; UINT32_MAX = the thread is the rank itself */
	int role, sure;  /* enum task_role, task_certainty */
};

enum stage_kind {
	STAGE_SETUP, /* imports and indexes, before the first sample and between stages */
	STAGE_GENERATE,
	STAGE_TRAIN,
	STAGE_EVAL,
	STAGE_SAVE,
	STAGE_RESTORE,
	STAGE_PLAIN,
};

/* A stage. The first three always exist: setup, generate, plain. start_ns of an empty stage is
 * UINT64_MAX. */
struct distil_stage {
	enum stage_kind kind;
	uint32_t party;
	uint32_t number; /* number of the epoch or checkpoint, counted from 0 */
	enum distil_sure sure;
	uint64_t start_ns, end_ns;
};

/* The plan that makes the calls of a sample. */
struct explained {
	bool is_explained; /* if not, format is the hint, or raw */
	enum job_format format;
	enum job_access access;
	uint64_t bs_bytes; /* access=plain only */
	uint64_t samples_per_file;
	/* Calls (except close()) and reads that trace and plan have in common, as a share of the
	 * larger number: 0 to 1. */
	double calls, reads;
	unsigned equal, of; /* visits that have exactly the calls of the plan, and all visits */
	const char *reader; /* the framework that makes such calls; NULL = none */
};

/* Results for one party that other finders use. */
struct distil_results {
	/* filled by distil/data */
	enum job_format format;
	bool is_framework; /* access=framework of the format explains the calls */
	uint64_t num_files, samples_per_file;
	uint64_t sample_bytes;    /* mean */
	double visits_per_sample; /* 1 if a file is a sample */
	struct explained access;
	bool is_direct, is_mapped;
	uint64_t largest_read_bytes; /* only if is_mapped; 0 = there are no reads */
	/* filled by distil/steps */
	uint32_t accelerators, read_threads, batch_size, prefetch;
	double compute_ns; /* NaN = not known */
};

/* A rename: the ids of the old and the new name. */
struct distil_rename {
	uint32_t from, to;
};

/* Facts of a trace. distil_fini() frees everything except paths and side names. */
struct distil {
	struct trace_files files; /* all files, by the id of a record */
	struct trace_tasks tasks;
	struct trace_names *names; /* directories, texts of tasks */
	struct trace_marks marks;  /* empty if the trace has no markers */
	bool has_markers, has_cpu;
	struct trace_scope scope;          /* without folders of code */
	uint8_t *class;                    /* enum file_class, by file id */
	uint32_t file_count;               /* all file ids are below this */
	VEC(struct distil_rename) renames; /* ordered by time */
	struct distil_task *task;
	uint32_t task_count;
	struct visits *visits;
	/* Visits that read, and visits that write, files in scope. */
	struct specimens specimens, written;
	struct distil_stage *stages;
	uint32_t stage_count;
	struct distil_results *found; /* index: party */
	uint32_t parties;
	uint64_t start_ns, end_ns;
	struct trace_ordered *records; /* names of files */
	struct buf facts;              /* "key=value", each NUL-terminated */
	struct trace_read read;
	uint64_t calls, faults, blocks; /* calls that did not fail, page faults, block requests */
	const char *const *paths;       /* files of the trace */
	size_t path_count;
	const char *side_folder, *side_name; /* members of distil_ask */
	struct jobtext *to;
};

/* Call these four in this order, before any finder. 0, or -errno with err. */
int distil_read(struct distil *d, struct mlgen_err *err);
int distil_tasks(struct distil *d, struct mlgen_err *err);
int distil_classes(struct distil *d, struct mlgen_err *err);
int distil_stages(struct distil *d, struct mlgen_err *err);
void distil_fini(struct distil *d); /* accepts a zeroed struct */

/* The value of a fact that the trace states, such as "host"; NULL = none. */
const char *distil_fact(const struct distil *d, const char *key);

/* The path of a file, "" if the trace does not name it. Valid until the next call. */
const char *distil_path(const struct distil *d, uint32_t file);

/* The part of a path after its last slash. */
const char *distil_basename(const char *path);

/* The number of ranks that a party has; at least 1. */
uint32_t distil_ranks(const struct distil *d, uint32_t party);

/* Read the trace again, by time, and call `take` for each record for which `keeps` is true. 0, or
 * -errno with err: see trace_reader_open. */
int distil_read_again(const struct distil *d, bool (*keeps)(void *, const struct trace_record *),
		      void (*take)(void *arg, const struct trace_record *r), void *arg,
		      struct mlgen_err *err);

static inline enum file_class distil_class(const struct distil *d, uint32_t file)
{
	return (enum file_class)d->class[file];
}

/* Does the visit read a sample of the party, in a stage of the given kind? */
bool distil_reads_sample(const struct distil *d, const struct visit *x, uint32_t party,
			 enum stage_kind kind);
