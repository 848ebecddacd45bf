/* SPDX-License-Identifier: Apache-2.0 */
/* distil_inside.h - what finders see of a trace, and where they put what they found; for
 * src/distil/ alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/vec.h"
#include "describe/described.h"
#include "describe/filebook.h"
#include "describe/markbook.h"
#include "describe/taskbook.h"
#include "distil/explain.h"
#include "distil/jobtext.h"
#include "distil/specimen.h"
#include "distil/visit.h"
#include "job/job.h"
#include "trace/trace.h"

/* What a file is for. */
enum file_class {
	CLASS_OTHER,  /* of the system, or no file */
	CLASS_CODE,   /* programs, modules, libraries, configurations */
	CLASS_SAMPLE, /* of the data set */
	CLASS_LABEL,  /* a file beside each sample's */
	CLASS_INDEX,  /* read at the start, or beside a file of samples */
	CLASS_CHECKPOINT,
	CLASS_MADE, /* of the data set, and written in the trace, too */
	CLASS_LOG,
	CLASS_PLAIN, /* of the job, and none of the above is sure */
	CLASSES
};

/* Of a file, by its path and its first record; 0 = it has none. */
enum { DISTIL_OUT_OF_SCOPE = 1, DISTIL_IN_SCOPE };

/* Those who read one data set, be it one process or the ranks of a host: a training. Numbers are
 * from 0. */
struct distil_task {
	uint32_t pid, tid;
	uint32_t party;  /* UINT32_MAX = of none */
	uint32_t rank;   /* in it; UINT32_MAX = of none */
	uint32_t worker; /* of the rank; UINT32_MAX = it is the rank itself */
	int role, sure;  /* enum described_role, described_sure */
};

enum stage_kind {
	STAGE_SETUP, /* imports, indexes: before the first sample, and between */
	STAGE_GENERATE,
	STAGE_TRAIN,
	STAGE_EVAL,
	STAGE_SAVE,
	STAGE_RESTORE,
	STAGE_IDLE,
	STAGE_PLAIN,
};

/* The first three are there always, and may hold nothing: setup, generate, plain. One that holds
 * nothing has start_ns UINT64_MAX. */
struct distil_stage {
	enum stage_kind kind;
	uint32_t party;
	uint32_t number; /* epoch, checkpoint: from 0 */
	enum distil_sure sure;
	uint64_t start_ns, end_ns;
};

/* What finders found that others need, of one party. */
struct distil_found {
	/* data set (dataset_found.c) */
	enum job_format format;
	bool is_framework; /* its access is access=framework of the format */
	uint64_t num_files, samples_per_file;
	uint64_t sample_bytes;    /* mean */
	double visits_per_sample; /* 1 where a file is a sample */
	struct explained access;  /* its calls, for access_found.c */
	bool is_direct, is_mapped;
	uint64_t read_beside_bytes; /* is_mapped: the largest read; 0 = none */
	/* pipeline (pipeline_found.c) */
	uint32_t accelerators, read_threads, batch_size, prefetch;
	double compute_ns; /* NaN = not known */
};

/* A file that became another, by their ids. */
struct distil_rename {
	uint32_t from, to;
};

struct distil {
	struct filebook files; /* all files, by the id of a record */
	struct taskbook tasks;
	struct trace_names *names; /* directories, texts of tasks */
	struct markbook marks;     /* where the trace has markers */
	bool has_markers, has_cpu, has_sizes;
	uint8_t *scope; /* DISTIL_IN_SCOPE, by file id */
	uint8_t *class; /* enum file_class by file id, which is below ... */
	uint32_t file_count;
	VEC(struct distil_rename) renames; /* as they were made */
	struct distil_task *task;
	uint32_t task_count;
	struct visits *visits;
	/* Of files in scope; of visits that write there are others. */
	struct specimens specimens, written;
	struct distil_stage *stages;
	uint32_t stage_count;
	struct distil_found *found; /* by party */
	uint32_t parties;
	uint64_t start_ns, end_ns;
	struct trace_ordered *records; /* names of files */
	struct buf facts;              /* "key=value", each 0-terminated */
	struct trace_read read;
	uint64_t calls, failed_calls, faults, blocks;
	const char *const *paths; /* of the trace */
	size_t path_count;
	const char *side_folder, *side_name; /* of distil_ask */
	struct jobtext *to;
};

/* What the trace says of itself, "host": NULL = nothing. */
const char *distil_fact(const struct distil *d, const char *key);

/* Is it a file of data, and neither the system's nor where the program prints to? */
bool distil_in_scope(const struct distil *d, uint32_t file);

/* The path of a file, "" where nothing named it; until the next call. */
const char *distil_path(const struct distil *d, uint32_t file);
static inline enum file_class distil_class(const struct distil *d, uint32_t file)
{
	return (enum file_class)d->class[file];
}

/*
 * Before the finders: the trace is read into books, visits and specimens; tasks are ranks and
 * workers of parties; files have a class; visits have a stage.
 * 0, or -errno with err.
 */
int distil_read(struct distil *d, struct mlgen_err *err);
int distil_tasks(struct distil *d, struct mlgen_err *err);
int distil_classes(struct distil *d, struct mlgen_err *err);
int distil_stages(struct distil *d, struct mlgen_err *err);

/*
 * The finders, in this order. Each says its lines to a section of the job, and fills its part of
 * d->found[party]. 0, or -errno with err: as visits_next, or a side file that cannot be written.
 * What a trace does not show is no error: the finder says why in a comment, or nothing.
 */
int distil_dataset(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_access(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_order(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_pipeline(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_eval(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
/* Of a training that saves; party UINT32_MAX: of who does nothing else, in a section with
 * phase=checkpoint. */
int distil_checkpoints(struct distil *d, uint32_t party, struct jobsection *to,
		       struct mlgen_err *err);
/* All that is of STAGE_PLAIN, as plain jobs in sections of d->to; behind others, the first has
 * stonewall. */
int distil_plain(struct distil *d, bool is_first, struct mlgen_err *err);
