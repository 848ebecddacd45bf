/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - checkpoint writers: threads that save and restore checkpoints. */
#pragma once

/*
 * All jobs with checkpoints share one set-up (setup_checkpoints_*): the state of the model, the
 * files that it is saved to, and the contents of the directory. A checkpoint writer (struct writer)
 * has checkpoint_threads threads for each rank of this process, which write or read one checkpoint
 * after the other. In a job of several processes it also has a lead thread, which agrees on each
 * step with the other processes. A checkpoint is complete once its manifest exists.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "data/state/state.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- checkpoint writers: threads that save and restore checkpoints of the local ranks ---- */

/*
 * There are checkpoint_threads workers for each local rank (state_local_count). They sleep until a
 * checkpoint begins, do their part of it, and sleep again. The last worker to finish commits the
 * checkpoint (manifest, rename, deletion of old ones) on its own io, so that no other thread has to
 * wait for this. Only one checkpoint is in progress at a time.
 *
 * access=plain: a file is cut into checkpoint_threads parts of whole bs, one for each thread of the
 * rank, with iodepth requests at a time. access=framework: the files of a rank are distributed over
 * its threads, with one call at a time.
 *
 * In a job of several processes, the checkpoint writers of all processes work on the same
 * checkpoint (writer_commit.c): `set` has the ranks of this process, maybe none, and `checkpoints`
 * has a set with the ranks of all processes. Rank 0 makes the directory, and commits the checkpoint
 * when all have written their part. No process begins a checkpoint alone.
 *
 * A failure is recorded as an error of the checkpoint and of the run, with rank, path, operation
 * and offset. Files written so far are removed; files that cannot be removed remain recognisable as
 * incomplete.
 */
struct writer;

struct writer_config {
	const struct job *job;
	const struct shard_set *set;
	struct checkpoints *checkpoints; /* used by the checkpoint writer alone while it exists */
	const struct placement *place;
	const struct traced *traced; /* NULL = no trace */
	struct worker_list *workers; /* list that the threads join; NULL = none */
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	/* Processes of the job, and their channel for checkpoints; NULL = a single process. */
	struct hosts *hosts;
	uint32_t channel;
	/* NULL = none. When the stop's time is over, a simulated checkpoint ends; a checkpoint of
	 * real calls continues to its end. */
	struct stop *stop;
	bool is_restore;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	/* Engine of the training whose checkpoints are saved; NULL = no training. */
	const struct mlgen_engine_job *beside;
};

/* Bytes of content that each slice needs (content_new): those of a request, or of the unit that
 * long calls repeat. */
uint64_t writer_span_bytes(const struct job *job);
/* Descriptors that the threads have open at once. */
uint64_t writer_open_files(const struct job *job, const struct shard_set *set);

/* Set up without starting threads. 0 or -errno with err. */
int writer_new(struct writer **out, const struct writer_config *cfg, struct mlgen_err *err);
void writer_free(struct writer *s); /* after join; NULL is fine */

int writer_start(struct writer *s, struct mlgen_err *err);
/* Wait until all threads are set up: 0, or -EPIPE once closed. */
int writer_await_ready(struct writer *s);
/* No more checkpoints will begin: the threads leave after the current one. */
void writer_finish(struct writer *s);
void writer_join(struct writer *s);

/* close: end the checkpoint writer after an error anywhere. wake: call it after an interruption;
 * waiting threads check their conditions again, and the checkpoint in progress is given up. Any
 * thread. */
void writer_close(struct writer *s);
void writer_wake(struct writer *s);

/* Begin a checkpoint. No other may be in progress (writer_await), and only one thread may call
 * these functions. `k` is the checkpoint to restore. 0 or -errno with err. */
int writer_begin_save(struct writer *s, uint64_t epoch, uint64_t step, struct mlgen_err *err);
void writer_begin_restore(struct writer *s, const struct checkpoint *k);
/* Wait until no checkpoint is in progress: 0; -EPIPE once closed; -ECANCELED: interrupted, and the
 * checkpoint in progress may hang. */
int writer_await(struct writer *s);
bool writer_is_busy(const struct writer *s);
/* Has another process of the job ended its checkpoints? */
bool writer_is_over(const struct writer *s);

/* Record how long the newest checkpoint stalled the training: for its snapshot, for the end of the
 * previous checkpoint (wait), and in all. Later calls for a checkpoint replace earlier ones. */
void writer_note_stall(struct writer *s, uint64_t snapshot_ns, uint64_t wait_ns, uint64_t stall_ns);

struct worker *writer_worker(const struct writer *s, uint64_t i); /* NULL = no more */

/* Progress for the status line; any thread. */
struct writer_progress {
	uint64_t number, count;           /* checkpoints begun; number from 1 */
	uint64_t bytes_done, bytes_total; /* bytes of the current checkpoint */
	bool is_busy;
};
void writer_progress(const struct writer *s, struct writer_progress *look);

/* Collect the records of the checkpoints, and their sums (result.h). Call it after join. */
void writer_collect(struct writer *s, struct checkpoints_result *r);

/* Add the memory of the threads that save or restore; set->content may be NULL. Reads the sizes of
 * all files unless the threads alone need more than `most_bytes`. */
struct memneed;
void writer_need(struct memneed *n, const struct job *job, const struct shard_set *set,
		 uint64_t most_bytes);

/* ---- set-up that saving, restoring and a training with checkpoints share ---- */

/*
 * Call order, on the conductor's thread: init; open; setup_checkpoints_writer; and end, once the
 * threads were joined. fini accepts a slot in any state. In a job without checkpoints init does
 * nothing, and no other call is needed.
 */

/* Checkpoints of a job. setup_checkpoints_init makes everything except the content, the list
 * in_directory and the checkpoint writer. */
struct job_checkpoints {
	struct state state;
	struct shard_set shards;
	/* The contents of the directory, which include the ranks of other processes. */
	struct state whole;
	struct shard_set whole_shards;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct content *content;
	struct checkpoints in_directory;
	struct writer *writer; /* NULL = not yet */
};

/* Fill s->checkpoints: the state and its files. 0 or -errno with err. */
int setup_checkpoints_init(struct slot *s, struct mlgen_err *err);

/* Rules to check before the first byte: permissions and the abilities of the mount. Jobs without
 * checkpoints pass them. */
extern const struct rule setup_checkpoints_rules[];

/* Descriptors that checkpoints need at once. */
uint64_t setup_checkpoints_files(const struct slot *s);
/* Add the memory of checkpoints, like `need` in slot.h. */
void setup_checkpoints_need(const struct slot *s, uint64_t room_bytes, struct memneed *n);

/* Make the contents of files and scan the directory. Incomplete checkpoints are reported. */
int setup_checkpoints_open(struct slot *s, const struct run_shared *run, struct mlgen_err *err);

/* Check room and permissions before `count` checkpoints are saved. Makes the directory. */
int setup_checkpoints_place(struct slot *s, const struct run_shared *run, uint64_t count,
			    struct mlgen_err *err);

/* Make the checkpoint writer without starting it. `beside`: engine of the training that saves; NULL
 * = the job only saves or restores. */
int setup_checkpoints_writer(struct slot *s, struct run_shared *run,
			     struct mlgen_engine_job *beside, struct mlgen_err *err);

void setup_checkpoints_end(struct slot *s);
void setup_checkpoints_fini(struct slot *s);
