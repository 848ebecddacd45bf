/* SPDX-License-Identifier: Apache-2.0 */
/* tier.h - a cache tier between loaders and storage: what is kept, where, and what that costs. */
#pragma once

/*
 * A tier keeps samples of a data set in memory or in files of another filesystem, as cache= says,
 * and decides with the policies of data/cache. A loader asks it for each extent before it reads;
 * what is not kept is read from the data set and may be filled in, by the loader or behind it. The
 * parts of a cache that lie with other processes of the job are asked over a channel of hosts/.
 *
 * Loaders call it on their own threads; what is decided is decided under the cache's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "hosts/hosts.h"
#include "run/read/read.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- a cache tier that is divided among the processes of a job ---- */

/*
 * With cache_scope=all the slots of one cache are dealt out to the processes of a job: slot s is
 * that of process s % their number. All of them make all decisions, in the order of the plan, so
 * that each knows who has what; what is asked over TCP are bytes, which are there or not
 * (tier_internal.h).
 *
 * Between two processes there are a few connections, each of which has one question under way at
 * most. A thread that finds none free waits for one.
 */
struct tier_peers;

struct tier_peers_config {
	struct hosts *hosts;
	uint32_t channel; /* that was reserved for it */
	unsigned number;  /* of the job among those of the run */
};

/*
 * Together, before the job's threads start: each can reach each of the others. NULL in *out where
 * nothing is to be asked: the tier is whole, or is played. 0, or -errno with err, alike in all.
 */
int tier_peers_open(struct tier_peers **out, const struct job *job, const struct pass *pass,
		    const struct tier_peers_config *cfg, struct mlgen_err *err);
/* NULL is fine, as it is below; nobody asks any more. */
void tier_peers_free(struct tier_peers *p);

/* Descriptors of both directions, and what listens. */
uint64_t tier_peers_files(const struct job *job);

/* ---- the cache between a training's sampler and its storage ---- */

/*
 * What is a hit, what is kept where and what goes for it is decided in the order of the plan
 * (order.h), whatever storage does: a run can be repeated. Who needs the decisions on a batch
 * makes all those before it, under a lock that is taken once a batch. Decisions on what others have
 * not asked for yet wait in a ring for each rank.
 *
 * Where bytes are is another matter. A slot has a word that says whose bytes it has, or is about to
 * have, and how many read them; no lock, and nobody waits. A hit whose bytes are not there is read
 * from storage, and counted as late; what cannot be kept now is not kept, and counted as dropped.
 * What is read is never another's.
 *
 * Evaluations are not cached. A unit is read whole, by requests of bs bytes as access=plain does,
 * whatever access= says.
 */
struct tier;

struct tier_config {
	const struct job *job;
	const struct pass *pass; /* of the training */
	struct clock *clock;
	/* Of an extent, in the epoch at hand; NULL = they have none. */
	double (*weight)(const void *weights, uint64_t extent);
	const void *weights;
	struct mlgen_engine_job *engine_job; /* the loaders' */
	const struct placement *place;
	const struct traced *traced;  /* NULL = there is no trace */
	struct worker_list *workers;  /* for its threads to join; NULL = none */
	const _Atomic bool *counting; /* ramp_time is over; NULL = always */
	struct stop *stop;
	struct tier_peers *peers; /* NULL = nobody else has a part of it */
};

/* Does the job have one? What it asks for of it: 0, or -errno with err. */
int tier_check(const struct job *job, const struct stages *stages, struct mlgen_err *err);
void tier_need(struct memneed *n, const struct job *job, const struct stages *stages);

/* Bytes of memory for its bookkeeping, of all caches of this host. */
uint64_t tier_state_bytes(const struct job *job, const struct stages *stages);

/* Of the data set, as the tier stores it before anything is decoded: in whole blocks where reads
 * are direct, and with what a file has around its samples where that is kept. */
uint64_t tier_stored_bytes(const struct job *job, const struct stages *stages);

/* Before any thread of the training starts: memory is in use, folders are ours, what an earlier run
 * has kept is there. 0, or -errno with err. */
int tier_new(struct tier **out, const struct tier_config *cfg, struct mlgen_err *err);
void tier_free(struct tier *t); /* NULL is fine */

/* Around the training's threads: whoever fills behind them starts, and is joined. What is to stay
 * is written down then, and the rest goes. Where other processes have parts of it, all of them are
 * waited for, in both. 0, or -errno with err. */
int tier_start(struct tier *t, struct mlgen_err *err);
int tier_end(struct tier *t, struct mlgen_err *err);

/* Any thread: an error; nobody waits for another process any more. NULL is fine. */
void tier_close(struct tier *t);

/* With cache_warm, before tier_start: that part of it is filled, on a thread of its own, while the
 * caller, who has joined the clock, waits. 0, or -errno with err. */
int tier_warm(struct tier *t, struct mlgen_err *err);

/* Between epochs: what ranks of other processes have accessed behind all of this one's is decided,
 * too. NULL is fine. */
void tier_end_order(struct tier *t);

/* An importance_has; between epochs, behind tier_end_order. */
bool tier_has(const void *tier, uint64_t rank, uint64_t extent);

/* Of an access of the epoch at hand, behind it: the extent that was read in its place; it is the
 * same but with cache_substitute. */
struct orderwalk_at;
uint64_t tier_trained(const struct tier *t, const struct orderwalk_at *at);

/* For the status line: samples so far, and those of them that were hits. */
void tier_look(const struct tier *t, uint64_t *accesses, uint64_t *hits);

/* Once everyone has been joined. */
void tier_result(struct tier *t, struct cache_result *out);

/* What a loader has of it; one thread's. */
struct tier_loader;

/* Files that a loader has open all the time. */
unsigned tier_open_files(const struct job *job);

/* On the loader's thread, once it has its worker and its reader: NULL with err. */
struct tier_loader *tier_loader_new(struct tier *t, uint64_t rank, uint64_t number,
				    struct worker *w, struct reader *r, struct mlgen_err *err);
/* Before its io stops. */
void tier_loader_close(struct tier_loader *l);
void tier_loader_free(struct tier_loader *l); /* NULL is fine */

/* In the place of reader_start: the extent at a position of its rank's order, in a stage of
 * training. It is read to `into`, as with reader_into. When the last hit that waited in memory was
 * there: *ready_ns. */
void tier_read(struct tier_loader *l, const struct stage *at, struct sampler_epoch *order,
	       uint64_t position, const struct extent *x, void *into, uint64_t into_bytes,
	       uint64_t *ready_ns);

/* Of a task that has just been finished: the id of the extent that stands in the order, whatever
 * was read in its place. */
uint64_t tier_asked(const struct read_task *task);

/* Of a task that has just been finished: a hit that needs no decoding? */
bool tier_was_decoded(const struct tier_loader *l, const struct read_task *task);

/* Behind reader_finish_one, of each task. 0, or -errno with err: what was kept is not what was
 * read, or cannot be written. */
int tier_read_end(struct tier_loader *l, const struct read_task *task, struct mlgen_err *err);
