/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what a trace shows before any option is chosen, and the job that is written of it. */
#pragma once

/*
 * distil_read() reads a trace once, by time, into struct distil; distil_tasks(), distil_classes()
 * and distil_stages() then find out which threads belong together, what files are for, and what
 * the program did when.
 *
 * A visit is what one thread does with one file, from open to close; a specimen is a visit with
 * all its calls. A party is a training: the threads that read one data set. A stage is an epoch, an
 * evaluation, a checkpoint and the like.
 *
 * Finders are in distil/plain, saves, steps and data. Each reads struct distil and adds options to
 * a section of the job, each with a reason and how sure it is. A list that is too long for an
 * option goes to a side file next to the job. What a trace does not show is no error: the finder
 * adds a comment that says why, or nothing.
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
	VISIT_OPENS = 1u << 0,  /* begins with an open of the file ... */
	VISIT_CLOSES = 1u << 1, /* ... and ends with its close */
	VISIT_READS = 1u << 2,
	VISIT_WRITES = 1u << 3,
	VISIT_SYNCS = 1u << 4,
	VISIT_MAPS = 1u << 5,  /* mmap, or faults on pages of it */
	VISIT_JUMPS = 1u << 6, /* some read does not start where the read before ended */
	VISIT_BACK = 1u << 7,  /* reads again what it has read before */
};

/*
 * A visit that begins with the thread's own open ends with its close. Sequential reads are a visit
 * of their own, and each jump begins another, in two cases: the thread did not open the file, or it
 * has read more than VISIT_PLACES places of the file since it opened it (readers use up to as many
 * columns of a row group).
 */
enum { VISIT_PLACES = 256 };

struct visit {
	uint64_t start_ns, end_ns;          /* start of the first call, end of the last */
	uint64_t call_ns;                   /* in its calls */
	uint64_t cpu_ns;                    /* of the thread between the calls, and from the last
					     * one to its next call; TRACE_UNKNOWN = not known */
	uint64_t read_bytes, written_bytes; /* as calls returned */
	uint64_t off;     /* first byte read, else written; TRACE_UNKNOWN = none */
	uint64_t end_off; /* after the last byte read, else written */
	uint32_t file;    /* id of the trace's entry */
	uint32_t task;    /* index of distil.task */
	uint32_t calls, reads, writes;
	uint16_t flags; /* enum visit_flag */
	uint16_t stage; /* index of distil.stages; filled by distil_stages() */
};

/* All visits of a trace, by start. They are kept in a file without a name, so that memory does not
 * grow with them. */
struct visits;

/*
 * Walk over all visits; several walks may be under way at a time. The cursor is zeroed before the
 * first call. A walk that ends has nothing to free, and visits_stop ends it early. The visit is
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

/* Walk over all visits; `change` may write into each. */
typedef void visits_change(void *arg, struct visit *x);
int visits_each(struct visits *v, visits_change *change, void *arg, struct mlgen_err *err);

/* ---- specimens ---- */

/* Calls kept of one specimen; of a longer visit the first ones are kept. */
enum { SPECIMEN_CALLS_MOST = 4096 };

struct specimen_call {
	uint64_t off, len_bytes; /* off: TRACE_UNKNOWN = not known */
	int64_t result;
	uint64_t start_ns, duration_ns;
	uint64_t think_ns; /* since the call before; 0 for the first */
	uint64_t cpu_ns;   /* of the thread, from the end of the call before to the end of this one;
			    * TRACE_UNKNOWN = not known */
	uint16_t op;       /* enum trace_op */
	uint16_t flags;    /* enum trace_flag */
};

struct specimen {
	struct visit visit;
	uint64_t number;     /* among the visits that may be specimens, from 0 */
	bool writes;         /* begins with a write, or an open to write */
	uint64_t file_bytes; /* TRACE_UNKNOWN = not known */
	uint32_t count;      /* calls that are kept */
	struct specimen_call *calls;
	size_t room; /* of calls: mem_grow() */
};

struct specimens {
	struct specimen *at; /* owned, and their calls */
	uint32_t count;
};

/* ---- the job that is written ---- */

/* How sure an option is. */
enum distil_sure {
	DISTIL_SURE,   /* the trace says so, or nothing else would give these calls */
	DISTIL_LIKELY, /* explains nearly all calls */
	DISTIL_GUESS,  /* a value is needed, and the trace says little */
};

struct jobtext;
struct jobsection;

struct jobtext *jobtext_new(void);
void jobtext_free(struct jobtext *t); /* NULL is fine */

/* Add a comment to the head of the file. */
__attribute__((format(printf, 2, 3))) void jobtext_head(struct jobtext *t, const char *fmt, ...);
/* Number of sections so far. */
size_t jobtext_count(const struct jobtext *t);
/* Add a section, as "training"; a name that is in use gets a number appended. */
struct jobsection *jobtext_section(struct jobtext *t, const char *name);

/* Add a heading for the lines that follow, as "data set". */
void jobsection_heading(struct jobsection *s, const char *text);
/* Add an option, with a comment that has how sure it is and the reason. An option that is there
 * already gets the new value. The texts are copied. */
__attribute__((format(printf, 5, 6))) void jobsection_say(struct jobsection *s,
							  enum distil_sure sure, const char *option,
							  const char *value, const char *why, ...);
/* The same for a number. */
__attribute__((format(printf, 5, 6))) void jobsection_say_u64(struct jobsection *s,
							      enum distil_sure sure,
							      const char *option, uint64_t value,
							      const char *why, ...);
/* Add a comment alone, for a fact that has no option. */
__attribute__((format(printf, 2, 3))) void jobsection_note(struct jobsection *s, const char *fmt,
							   ...);
/* The value that the section has for an option; NULL = none. */
const char *jobsection_value(const struct jobsection *s, const char *option);

void jobtext_write(const struct jobtext *t, FILE *to);

/* ---- side files ---- */

/* Writes the content; errors are those of the stream. */
typedef void side_file_write(FILE *to, const void *arg);

/*
 * Write FOLDERNAME.SUFFIX; the folder ends with a slash or is empty. The file name without its
 * folder is put into `name` and logged. A file that exists with the same content is left alone, and
 * one with other content is an error. 0, or -errno with err; then no part of the file is left.
 */
enum { SIDE_FILE_BYTES = 256 };
int side_file(char name[SIDE_FILE_BYTES], const char *folder, const char *stem, const char *suffix,
	      side_file_write *write, const void *arg, struct mlgen_err *err);

/* The same for a file of values from which a distribution draws (base/dist_file.h). */
struct side_values {
	const uint64_t *values; /* ascending */
	size_t count;
	enum dist_unit unit;
	const char *comment; /* first line of the file */
};
int side_file_values(char name[SIDE_FILE_BYTES], const char *folder, const char *stem,
		     const char *suffix, const struct side_values *v, struct mlgen_err *err);

/* ---- the trace ---- */

/* What a file is for. */
enum file_class {
	CLASS_OTHER,  /* of the system, or no file */
	CLASS_CODE,   /* programs, modules, libraries, configurations */
	CLASS_SAMPLE, /* of the data set */
	CLASS_LABEL,  /* next to the file of a sample */
	CLASS_INDEX,  /* read at the start, or next to a file of samples */
	CLASS_CHECKPOINT,
	CLASS_MADE, /* of the data set, and written in the trace, too */
	CLASS_LOG,
	CLASS_PLAIN, /* of the job, and none of the above is sure */
};

/* A thread. Parties, ranks and workers are numbered from 0. */
struct distil_task {
	uint32_t pid, tid;
	uint32_t party;  /* UINT32_MAX = none */
	uint32_t rank;   /* of the party; UINT32_MAX = none */
	uint32_t worker; /* of the rank; UINT32_MAX = the thread is the rank itself */
	int role, sure;  /* enum task_role, task_certainty */
};

enum stage_kind {
	STAGE_SETUP, /* imports, indexes: before the first sample, and between stages */
	STAGE_GENERATE,
	STAGE_TRAIN,
	STAGE_EVAL,
	STAGE_SAVE,
	STAGE_RESTORE,
	STAGE_IDLE,
	STAGE_PLAIN,
};

/* The first three always exist: setup, generate, plain. A stage that holds nothing has start_ns
 * UINT64_MAX. */
struct distil_stage {
	enum stage_kind kind;
	uint32_t party;
	uint32_t number; /* of the epoch or checkpoint, from 0 */
	enum distil_sure sure;
	uint64_t start_ns, end_ns;
};

/* The plan that makes the calls of a sample. */
struct explained {
	bool is_explained; /* else format is the hint, or raw */
	enum job_format format;
	enum job_access access;
	uint64_t bs_bytes; /* of access=plain */
	uint64_t samples_per_file;
	/* The part of all calls but close(), and of the reads, that trace and plan have in common:
	 * 0 .. 1, of whichever has more. */
	double calls, reads;
	unsigned equal, of; /* visits all of whose calls are the plan's */
	const char *reader; /* the framework whose calls they are; NULL = none */
};

/* What finders need of one another, for one party. */
struct distil_found {
	/* filled by distil/data */
	enum job_format format;
	bool is_framework; /* its access is access=framework of the format */
	uint64_t num_files, samples_per_file;
	uint64_t sample_bytes;    /* mean */
	double visits_per_sample; /* 1 where a file is a sample */
	struct explained access;
	bool is_direct, is_mapped;
	uint64_t read_beside_bytes; /* is_mapped: the largest read; 0 = none */
	/* filled by distil/steps */
	uint32_t accelerators, read_threads, batch_size, prefetch;
	double compute_ns; /* NaN = not known */
};

/* A file that became another; ids of both. */
struct distil_rename {
	uint32_t from, to;
};

/* All of it is owned, except paths and side names, until distil_fini(). */
struct distil {
	struct trace_files files; /* all files, by the id of a record */
	struct trace_tasks tasks;
	struct trace_names *names; /* directories, texts of tasks */
	struct trace_marks marks;  /* where the trace has markers */
	bool has_markers, has_cpu;
	struct trace_scope scope;          /* without folders of code */
	uint8_t *class;                    /* enum file_class, by file id */
	uint32_t file_count;               /* file ids are below */
	VEC(struct distil_rename) renames; /* in order of time */
	struct distil_task *task;
	uint32_t task_count;
	struct visits *visits;
	struct specimens specimens, written; /* visits of files in scope that read, that write */
	struct distil_stage *stages;
	uint32_t stage_count;
	struct distil_found *found; /* by party */
	uint32_t parties;
	uint64_t start_ns, end_ns;
	struct trace_ordered *records; /* names of files */
	struct buf facts;              /* "key=value", each 0-terminated */
	struct trace_read read;
	uint64_t calls, faults, blocks; /* calls that did not fail, page faults, block requests */
	const char *const *paths;       /* of the trace */
	size_t path_count;
	const char *side_folder, *side_name; /* of distil_ask */
	struct jobtext *to;
};

/* The four steps before any finder, in this order. 0, or -errno with err. */
int distil_read(struct distil *d, struct mlgen_err *err);
int distil_tasks(struct distil *d, struct mlgen_err *err);
int distil_classes(struct distil *d, struct mlgen_err *err);
int distil_stages(struct distil *d, struct mlgen_err *err);
void distil_fini(struct distil *d); /* takes a zeroed one */

/* The value of a fact that the trace states, as "host"; NULL = none. */
const char *distil_fact(const struct distil *d, const char *key);

/* The path of a file, "" where nothing named it; until the next call. */
const char *distil_path(const struct distil *d, uint32_t file);

/* The part of a path after its last slash. */
const char *distil_basename(const char *path);

/* The number of ranks that a party has; at least 1. */
uint32_t distil_ranks(const struct distil *d, uint32_t party);

/* Read the trace again, by time; `take` gets the records for which `keeps` is true. 0, or -errno
 * with err: as trace_reader_open. */
int distil_read_again(const struct distil *d, bool (*keeps)(void *, const struct trace_record *),
		      void (*take)(void *arg, const struct trace_record *r), void *arg,
		      struct mlgen_err *err);

static inline enum file_class distil_class(const struct distil *d, uint32_t file)
{
	return (enum file_class)d->class[file];
}

/* Does the visit read a sample of the party, in a stage of that kind? */
bool distil_reads_sample(const struct distil *d, const struct visit *x, uint32_t party,
			 enum stage_kind kind);
