/* SPDX-License-Identifier: Apache-2.0 */
/* tier.h - the cache tier between read threads and storage. */
#pragma once

/*
 * A tier keeps samples of a data set in memory or in files of another filesystem, as cache= asks.
 * The policies of data/cache decide what to keep and what to evict. A read thread asks the tier for
 * each extent before reading. A miss is read from the data set and may then be added to the cache,
 * by the read thread or in the background. Units that other processes of the job hold are requested
 * over a channel of hosts/.
 *
 * Read threads run the tier's functions themselves, and make decisions under the cache's lock.
 *
 * Memory: 4 bytes a sample for its last access, and the state of the policy (data/cache). Each rank
 * has a ring with 8 bytes per decision, for the batches that may be read ahead of the accelerator.
 * The ring is longer by one epoch if ranks that share a cache, or the loaders of a rank, may drift
 * apart. It is longer by two epochs if they drift apart and no barrier ends an epoch, or if extents
 * have different numbers of samples.
 *
 * An extent of a tier is a list of ranges of files (reader_start_list). The reader executes
 * the list as it would a plan: every engine can be used, and requests are traced, timed and checked
 * for errors. Each of the tier's own threads has a worker, and reads misses in the same way. The
 * job's figures include the bytes of these threads, but not their time; cache_warm= runs before the
 * job, and neither its bytes nor its time are included. If a fill fails, the sample is still
 * delivered. A full disk ends the growth of the tier and not the run.
 *
 * cache_substitute: while there is room a miss is read and kept. Once the tier is full, a cached
 * unit is delivered instead of a missed unit that the tier would not keep. For importance and
 * belady, the policy decides whether the missed unit would be kept. The loss that importance
 * sampling uses is that of the unit that was read. The check at the end of an epoch counts the ids
 * that the order asked for, so it finds a sample that was lost.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "hosts/hosts.h"
#include "run/read/read.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- a cache that the processes of a job share ---- */

/*
 * The slots of a cache with cache_scope=all are divided among the processes of a job: slot s
 * belongs to process s % number of processes. All processes make all decisions in the order of the
 * plan, and therefore know who has what. Only requests for the bytes of a unit travel over TCP; the
 * process that holds the unit replies with its bytes, or reports that they are
 * not present (tier_internal.h).
 *
 * Two processes share a few connections. Each connection carries one request at a time; a thread
 * that finds none free waits for one.
 */
struct tier_peers;

struct tier_peers_config {
	struct hosts *hosts;
	uint32_t channel; /* reserved for this cache */
	unsigned number;  /* index of the job in the run */
};

/*
 * Connect this process to all the others. Every process calls it before the job's threads start.
 * *out is NULL if no peer is ever asked: the tier is not divided, or is simulated. 0, or -errno
 * with err, the same in all processes.
 */
int tier_peers_open(struct tier_peers **out, const struct job *job, const struct pass *pass,
		    const struct tier_peers_config *cfg, struct mlgen_err *err);
/* Free p, which no thread may still use. NULL is fine, here and in all functions on tier_peers. */
void tier_peers_free(struct tier_peers *p);

/* Number of file descriptors for connections in both directions and for listening sockets. */
uint64_t tier_peers_files(const struct job *job);

/* ---- the cache between a training's sampler and its storage ---- */

/*
 * Hits, slots and evictions are decided in the order of the plan (order.h), however fast storage
 * is, so that a run can be repeated. A thread that needs the decisions on a batch makes all earlier
 * ones too, under a lock that is taken once per batch. Each rank has a ring, in which the decisions
 * on its accesses wait until the rank needs them.
 *
 * The bytes are tracked separately. Each slot has an atomic word that names the unit whose bytes it
 * holds, or will hold, and counts the readers. No thread takes a lock or waits to use this word. A
 * hit whose bytes are not present yet is read from storage and counted as late; a fill that has no
 * room now is skipped and counted as dropped. A read never returns the bytes of another unit.
 *
 * Evaluations are not cached. A unit is always read whole, in requests of bs bytes; the job's
 * access= is ignored.
 */
struct tier;

struct tier_config {
	const struct job *job;
	const struct pass *pass; /* the training pass */
	struct clock *clock;
	/* Importance of an extent in the current epoch. NULL = the order has none. */
	double (*weight)(const void *weights, uint64_t extent);
	const void *weights;
	struct mlgen_engine_job *engine_job; /* shared with the read threads */
	const struct placement *place;
	const struct traced *traced;  /* NULL = no trace */
	struct worker_list *workers;  /* the tier's threads join it; NULL = none */
	const _Atomic bool *counting; /* ramp_time is over; NULL = always count */
	struct stop *stop;
	struct tier_peers *peers; /* NULL = the cache is not divided */
};

/* Check the cache options of a job. 0, or -errno with err. */
int tier_check(const struct job *job, const struct stages *stages, struct mlgen_err *err);
/* Add to n the memory that the job's tier needs. */
void tier_need(struct memneed *n, const struct job *job, const struct stages *stages);

/* Bytes of memory for the bookkeeping of all caches on this host. */
uint64_t tier_state_bytes(const struct job *job, const struct stages *stages);

/* Bytes of the data set as the tier stores it, before decoding. Direct reads are rounded to whole
 * blocks, and whole files include the bytes around the samples. */
uint64_t tier_stored_bytes(const struct job *job, const struct stages *stages);

/* Create the tier before any thread of the training starts: reserve memory, take over folders, load
 * a cache that an earlier run kept. 0, or -errno with err. */
int tier_new(struct tier **out, const struct tier_config *cfg, struct mlgen_err *err);
void tier_free(struct tier *t); /* NULL is fine */

/* Start and join the background threads, before and after the training's threads. tier_end also
 * writes the manifest of a cache that is kept for later runs, and removes any other cache. Both
 * wait for all processes that share the cache. 0, or -errno with err. */
int tier_start(struct tier *t, struct mlgen_err *err);
int tier_end(struct tier *t, struct mlgen_err *err);

/* Abort after an error: threads no longer wait for other processes. Any thread. NULL is fine. */
void tier_abort(struct tier *t);

/* Fill the part of the cache that cache_warm= asks for, before tier_start. A new thread does this
 * while the caller waits for it. The caller must already be a member of the clock (base/clock.h).
 * 0, or -errno with err. */
int tier_warm(struct tier *t, struct mlgen_err *err);

/* Make the remaining decisions of an epoch: those on accesses by other processes' ranks after this
 * process's last access. Call between epochs. NULL is fine. */
void tier_decide_remaining(struct tier *t);

/* Implements importance_cached_fn. Call between epochs, after tier_decide_remaining. */
bool tier_holds(const void *tier, uint64_t rank, uint64_t extent);

/* Return the extent that was read for an access of the current epoch. With cache_substitute it may
 * differ from the extent in the order. */
struct orderwalk_at;
uint64_t tier_trained(const struct tier *t, const struct orderwalk_at *at);

/* Counters for the status line: samples so far, and how many of them were hits. */
void tier_read_counters(const struct tier *t, uint64_t *accesses, uint64_t *hits);

/* Fill in the result, after all threads have been joined. */
void tier_result(struct tier *t, struct cache_result *out);

/* The state of a single read thread. No other thread may use it. */
struct tier_loader;

/* Number of files that a read thread keeps open. */
unsigned tier_open_files(const struct job *job);

/* Create the state of a read thread. Call it on that thread, once its worker and reader exist. NULL
 * with err. */
struct tier_loader *tier_loader_new(struct tier *t, uint64_t rank, uint64_t number,
				    struct worker *worker, struct reader *r, struct mlgen_err *err);
/* Call before the worker's io stops. */
void tier_loader_close(struct tier_loader *l);
void tier_loader_free(struct tier_loader *l); /* NULL is fine */

/* Start reading the extent at a position of the rank's order, in a stage of training; replaces
 * reader_start. Bytes go to `into`, as with reader_into. *ready_ns becomes the time at which the
 * last hit in memory was complete. */
void tier_read(struct tier_loader *l, const struct stage *at, struct sampler_epoch *order,
	       uint64_t position, const struct extent *x, void *into, uint64_t into_bytes,
	       uint64_t *ready_ns);

/* Id of the extent that the order asked for in a finished task, even if a substitute was read. */
uint64_t tier_requested_extent(const struct read_task *task);

/* True if a finished task was a hit that needs no decoding. */
bool tier_was_decoded(const struct tier_loader *l, const struct read_task *task);

/* Call after reader_finish_one, for each task. 0, or -errno with err: cached bytes differ from what
 * was written, or a cache write failed. */
int tier_read_end(struct tier_loader *l, const struct read_task *task, struct mlgen_err *err);
