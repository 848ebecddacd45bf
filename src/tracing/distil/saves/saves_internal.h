/* SPDX-License-Identifier: Apache-2.0 */
/* saves_internal.h - saves of a trace, and options that would write the same files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "base/vec.h"
#include "data/state/state.h"
#include "tracing/distil/saves/saves.h"
#include "job/job.h"

struct buf;

/* ---- saves: files, threads and calls of each checkpoint ---- */

enum { SAVES_MOST = 4096 }; /* later checkpoints are left out */

struct saved_call {
	uint64_t off, bytes;
};

/* A file in one checkpoint. */
struct saved_file {
	uint32_t file, save;        /* file id; number of the checkpoint */
	uint32_t task;              /* first task that wrote */
	bool is_direct, is_dropped; /* opened with O_DIRECT; fadvise(DONTNEED) after the writes */
	bool is_synced_last;        /* the last call was an fsync */
	uint32_t writes, syncs;
	uint64_t start_ns, end_ns;                     /* writes and fsyncs */
	uint64_t bytes;                                /* end of the last write */
	uint64_t first_bytes, least_bytes, most_bytes; /* sizes of writes */
	uint32_t depth;                                /* largest number of writes in flight */
	uint64_t busy_until_ns;                        /* end of all writes so far */
	VEC(struct saved_call) calls;                  /* empty = not recorded */
};

struct save {
	uint64_t start_ns, end_ns;
	uint32_t directory; /* folder of the files; UINT32_MAX = any */
	uint32_t files;     /* files that are not empty */
	uint64_t bytes;
	double samples;          /* samples read before it began, by visits */
	uint64_t steps;          /* steps that ended before it began, by markers */
	uint64_t steps_within;   /* steps that ended while it was written */
	uint64_t samples_within; /* samples read while it was written */
	bool is_renamed;
	uint64_t finished_ns; /* end of its renames, and of deletions of older files */
	uint64_t unlinked_ns; /* when the first of its files was unlinked; 0 = never */
};

struct saves {
	struct save *at; /* sorted by time */
	uint32_t count, left_out;
	VEC(struct saved_file) files;
	bool has_steps;  /* markers of steps */
	struct map keys; /* index in `files` by save << 32 | file */
};

/* Read the trace again for the saves of a party; UINT32_MAX = stages without a party. 0, or
 * -errno with err: as trace_reader_open. */
int saves_read(struct saves *s, struct distil *d, uint32_t party, struct mlgen_err *err);
void saves_fini(struct saves *s); /* accepts a zeroed struct */

/* The rank in a file name, such as "rank_3.pt" or "model_states-3.pt"; UINT32_MAX = none. */
uint32_t saves_rank_of(const char *path);

/* ---- trials: a job with candidate options, and the files and calls it would write ---- */

struct trial {
	struct job *job;
	struct state state;
	struct content *content;
	struct shard_set set;
	bool is_open;
};

/* Set up a trial: a job with phase=checkpoint and no other option. */
void trial_init(struct trial *t);
void trial_fini(struct trial *t);
/* Call again after options change. False = the options are invalid. */
bool trial_open(struct trial *t);

/* Bytes of a rank's file; 0 = there is no such file. */
uint64_t trial_bytes(const struct trial *t, uint64_t rank, uint64_t index);

/* Bytes of the rank's first write. */
uint64_t trial_first_write(struct trial *t, uint64_t rank);

/* Does the trial write the file with the same calls, as far as they are recorded? */
bool trial_writes(struct trial *t, uint64_t rank, const struct saved_file *f);

/* Set the roundest checkpoint_size with which the rank's first file has this many bytes and the
 * calls of `like` (NULL = any calls). False = there is none. */
bool trial_fit_size(struct trial *t, uint64_t rank, uint64_t bytes, const struct saved_file *like);

/* The roundness of a number: its factors of 2, or three times its factors of 10 if that is more. */
unsigned trial_roundness(uint64_t n);

/* ---- models: language models whose sizes are published ---- */

struct checkpoint_model {
	const char *name; /* "llama3-8b"; NULL = no model has these files */
	uint64_t layers, hidden, ffn, heads, kv_heads, vocabulary;
	uint64_t ranks, tensor_parallel, pipeline_parallel, zero_stage;
	char scale[32]; /* "100" */
};

/*
 * Find the model that has the files of the first checkpoint, byte for byte. The names of the files
 * have ranks and parts ("zero_pp_rank_0_mp_rank_00_optim_states.pt"). With `is_whole` the model is
 * not scaled, because the section uses scale for its samples.
 */
void checkpoint_model_find(struct checkpoint_model *m, const struct saves *s,
			   const struct distil *d, bool is_whole);

/* ---- the form: layout and state that produce the files and calls of a trace ---- */

/* Sizes of tensors by tensor number, as in a tensor_sizes file. */
struct tensor_list {
	uint64_t *at; /* bytes; owned */
	uint32_t count;
	size_t room;         /* vec.h */
	uint64_t name_bytes; /* total length of all names; 0 = tensors have no names */
};

/* Append the list as a tensor_sizes file. */
void tensors_append(struct buf *to, const struct tensor_list *l);

/* The access that the section allows. */
enum form_access {
	FORM_ANY,       /* not restricted: no training run sets it */
	FORM_PLAIN,     /* access=plain */
	FORM_FRAMEWORK, /* any other */
};

struct checkpoint_form {
	bool is_plain; /* access=plain, with requests of `bs` bytes */
	uint64_t bs;   /* set if is_plain */
	enum job_layout layout;
	enum job_pattern pattern;
	uint64_t size_bytes;             /* checkpoint_size; 0 = other options determine the size */
	struct checkpoint_model model;   /* name NULL = none */
	struct tensor_list tensors;      /* count 0 = none */
	char archive[JOB_ARCHIVE_BYTES]; /* checkpoint_archive; "" = none */
	enum distil_sure sure;           /* confidence in the layout */
	bool has_calls;                  /* the layout explains all calls */
	const char *why;                 /* static; the reason for the layout */
	/* The files and ranks that were examined. */
	const struct saved_file *typical; /* the file whose calls were examined */
	uint32_t files;                   /* files of the first checkpoint */
	uint32_t *ranks;                  /* owned, ascending */
	uint32_t rank_count;
	bool has_rank_names;  /* names of files have ranks */
	bool has_zero_names;  /* names of files are those of DeepSpeed's ZeRO */
	uint32_t other_sizes; /* files of other sizes, if there is no model */
	uint32_t threads;     /* threads that write, per rank */
};

/* Needs at least one save. */
void checkpoint_form_find(struct checkpoint_form *f, const struct saves *s, const struct distil *d,
			  enum form_access access);
void checkpoint_form_fini(struct checkpoint_form *f);

/* ---- the cadence: how often a training saves ---- */

struct checkpoint_cadence {
	char value[40]; /* value of checkpoint_every: "500 steps", "2 epochs", "90s" */
	char why[200];
	enum distil_sure sure;
	bool is_async; /* training goes on during a checkpoint */
	enum distil_sure async_sure;
};

/* Needs at least one save. */
void checkpoint_every_find(struct checkpoint_cadence *c, const struct saves *s,
			   const struct distil *d, uint32_t party);
