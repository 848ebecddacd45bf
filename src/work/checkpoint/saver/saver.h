/* SPDX-License-Identifier: Apache-2.0 */
/* saver.h - threads that save and restore checkpoints. */
#pragma once

/*
 * A job with checkpoints sets up what all of them share in one way (setup_checkpoints_*): the state
 * of its model, the files that it becomes, a look into the directory. A saver is the threads that
 * write or read one checkpoint after the other, checkpoint_threads for each rank of this process,
 * and a lead that makes a checkpoint complete: it exists once its manifest does.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "data/state/state.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- the local ranks' writers: save and restore checkpoints, one after the other ---- */

/*
 * checkpoint_threads workers for each local rank, as many ranks as state_locals. They sleep until
 * saver_begin, do their part of one checkpoint, and sleep again; the last of them to end commits it
 * (manifest, rename, and the deletion of old ones), on its own io, so that nobody else need wait
 * for that. One checkpoint at a time is under way.
 *
 * access=plain: a file is cut into checkpoint_threads parts of whole bs, one for each of the rank's
 * threads, iodepth requests at a time. access=framework: a rank's files are dealt out to its
 * threads, one call at a time.
 *
 * Where the job has other processes, the savers of all of them have one checkpoint at a time
 * together (saver_commit.c): `set` has the ranks of this one, maybe none, and `checkpoints` is of a
 * set with those of all. Rank 0 makes the directory and commits it, when all have written; none
 * begins alone.
 *
 * A failure is the checkpoint's, with rank, path, operation and offset, and the run's. What was
 * written of it is removed; what cannot be removed stays recognisably incomplete.
 */
struct saver;

struct saver_config {
	const struct job *job;
	const struct shard_set *set;
	struct checkpoints *checkpoints; /* the saver's while it lives */
	const struct placement *place;
	const struct traced *traced; /* NULL = there is no trace */
	struct worker_list *workers; /* to join; NULL = none */
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	/* Processes of the job, and their channel for this; NULL = it is alone. */
	struct hosts *hosts;
	uint32_t channel;
	/* NULL = none. Its time ends what is only played; a checkpoint of real calls goes on to its
	 * end. */
	struct stop *stop;
	bool is_restore;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	/* Of the training that it saves for; NULL = it is alone. */
	const struct mlgen_engine_job *beside;
};

/* The span that its slices need content of (content_new): a request, or what long calls repeat
 * over. */
uint64_t saver_span_bytes(const struct job *job);
/* Descriptors that its threads have open at once. */
uint64_t saver_open_files(const struct job *job, const struct shard_set *set);

/* No thread runs yet. 0 or -errno with err. */
int saver_new(struct saver **out, const struct saver_config *cfg, struct mlgen_err *err);
void saver_free(struct saver *s); /* after join; NULL is fine */

int saver_start(struct saver *s, struct mlgen_err *err);
/* Wait until all its threads are set up: 0, or -EPIPE once closed. */
int saver_await_ready(struct saver *s);
/* There is nothing more to do: they leave when the last one is over. */
void saver_finish(struct saver *s);
void saver_join(struct saver *s);

/* Any thread: an error somewhere; or look again (an interruption: the checkpoint under way is given
 * up). */
void saver_close(struct saver *s);
void saver_wake(struct saver *s);

/* One thread at a time; none is under way (saver_await). Of a restore: the checkpoint to read. 0 or
 * -errno with err. */
int saver_begin_save(struct saver *s, uint64_t epoch, uint64_t step, struct mlgen_err *err);
void saver_begin_restore(struct saver *s, const struct checkpoint *k);
/* Until none is under way: 0; -EPIPE once closed; -ECANCELED: interrupted, and one that is under
 * way may hang. */
int saver_await(struct saver *s);
bool saver_is_busy(const struct saver *s);
/* Another process of the job will save, or restore, none any more. */
bool saver_is_over(const struct saver *s);

/* What a training knows of the newest one: its accelerators stood still for the snapshot, for the
 * one before (wait), and in all. The last to tell counts. */
void saver_note_stall(struct saver *s, uint64_t snapshot_ns, uint64_t wait_ns, uint64_t stall_ns);

struct worker *saver_worker(const struct saver *s, uint64_t i); /* NULL = no more */

/* For the status line; any thread. */
struct saver_look {
	uint64_t number, count;           /* of those begun; from 1 */
	uint64_t bytes_done, bytes_total; /* of the one under way */
	bool is_busy;
};
void saver_look(const struct saver *s, struct saver_look *look);

/* After join: records and what stands for all of them (result.h). */
void saver_collect(struct saver *s, struct checkpoints_result *r);

/* Add what those take who save, or restore, checkpoints; set->content may be NULL. Looks at all
 * files, but where threads alone take more than `most_bytes`. */
struct memneed;
void saver_need(struct memneed *n, const struct job *job, const struct shard_set *set,
		uint64_t most_bytes);

/* ---- what saving, restoring and a training with checkpoints set up alike ---- */

/*
 * In this order, on the conductor's thread: init; open; saver; and end once its threads were
 * joined. fini takes a slot in any state. Of a job without checkpoints init is all there is to
 * call, and it does nothing.
 */

/* What a job has that saves or restores; all but the saver is made by init. */
struct job_checkpoints {
	struct state state;
	struct shard_set shards;
	/* What a directory holds: with the ranks of other processes. */
	struct state whole;
	struct shard_set whole_shards;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct content *content;
	struct checkpoints in_directory;
	struct saver *saver; /* NULL = not yet */
};

/* Into s->checkpoints: the state, and what its files are. 0 or -errno with err. */
int setup_checkpoints_init(struct slot *s, struct mlgen_err *err);

/* Before the first byte: may they be saved there, what can the mount do? Of jobs without
 * checkpoints they hold. */
extern const struct rule setup_checkpoints_rules[];

/* Descriptors that it needs at once. */
uint64_t setup_checkpoints_files(const struct slot *s);
/* As in slot.h, added. */
void setup_checkpoints_need(const struct slot *s, uint64_t room_bytes, struct memneed *n);

/* The contents of files, and a look into the directory, which tells of those that are broken. */
int setup_checkpoints_open(struct slot *s, const struct run_shared *run, struct mlgen_err *err);

/* Before saving `count` of them: is there room, and may it be written there? Makes the
 * directory. */
int setup_checkpoints_place(struct slot *s, const struct run_shared *run, uint64_t count,
			    struct mlgen_err *err);

/* The saver, not started. `beside`: the engine's part of the training that saves; NULL = the job
 * does nothing else. */
int setup_checkpoints_saver(struct slot *s, struct run_shared *run, struct mlgen_engine_job *beside,
			    struct mlgen_err *err);

void setup_checkpoints_end(struct slot *s);
void setup_checkpoints_fini(struct slot *s);
