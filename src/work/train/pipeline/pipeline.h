/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - a training while it runs: ranks, loaders, batches, steps, epochs and barriers. */
#pragma once

/*
 * A rank is an accelerator thread with job_read_threads loaders of its own, or with a loader that
 * the accelerator's thread is itself. Between them pass, in one direction, tokens over a ring per
 * loader, and in the other `limit`, the number of the first batch that may not be read yet: batches
 * are numbered through all stages (struct stages), and limit grows by one whenever the accelerator
 * takes a batch, up to the stage's end, or beyond it where the loader model runs on.
 *
 * train_init, train_start, train_join and train_fini are the conductor's; train_close and
 * train_wake may be called by any thread.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "base/util.h"
#include "data/order/order.h"
#include "data/state/state.h"
#include "job/job.h"
#include "run/result/result.h"
#include "run/slot/slot.h"

/* ---- tokens of what one loader has read, on their way to its accelerator ---- */

/* Counts and a time, never data. */
struct token {
	uint64_t samples;        /* places in a batch */
	uint64_t failed_samples; /* of them: could not be read */
	uint64_t sample_bytes;   /* payload of the others */
	uint64_t id_sum;         /* of the extents' ids, modulo 2^64 */
	uint64_t extents;
	uint64_t ready_ns; /* the last of it was read */
	uint64_t stage;    /* it belongs to (slot.h) */
	uint64_t batch;    /* of the stage, the first that it can be for */
};

/* to += t; ready when both are. */
void token_add(struct token *to, const struct token *t);

/* Cut `samples` of t's samples off into `out`. What failed of them, ids and extents go with the
 * first part, bytes with what did not fail. */
void token_take(struct token *t, uint64_t samples, struct token *out);

/* Those that an accelerator can compute on. */
uint64_t token_delivered(const struct token *t);

/* From so many on a ring adds what is pushed to the token before it, where that is of the same
 * stage and batch. */
#define RING_TOKENS 1000u

/*
 * A bounded first-in first-out with exactly one producer and one consumer.
 * It is made for as many tokens as may be under way, at most RING_TOKENS and one a stage or batch,
 * so a push always finds room; waiting is the users' business (slot.h).
 */
struct ring;

struct ring *ring_new(uint64_t tokens);
uint64_t ring_bytes(uint64_t tokens); /* of memory for so many */
void ring_free(struct ring *r);       /* NULL is fine */

/* Producer only. */
void ring_push(struct ring *r, const struct token *t);

/* Consumer only. The next one that can be for this batch of this stage; those of stages before,
 * which nobody took, are dropped. False when there is none, or one is being added to: then the
 * producer rings when it is done. */
bool ring_pop(struct ring *r, uint64_t stage, uint64_t batch, struct token *t);

/* ---- put the ranks' epochs together: one record an epoch, a few histograms ---- */

/*
 * Each rank hands in its own account of an epoch when it has finished it;
 * with the last rank's the epoch is complete. Records are kept of the first EPOCHS_KEPT epochs, so
 * memory does not grow with a time_based run; sums over all epochs go on. Called once per rank and
 * epoch: a lock is fine.
 */
#define EPOCHS_KEPT 1024
#define EPOCHS_OPEN 16 /* have a stall histogram at the same time */

/* What one rank did in one epoch. Times in ns. */
struct epoch_account {
	uint64_t epoch;                        /* from 0 */
	uint64_t samples, sample_bytes, steps; /* samples: delivered */
	uint64_t failed_samples;
	uint64_t wall_ns; /* start to the end of its last step */
	/* counted steps: all but the first, none within ramp_time */
	uint64_t counted_steps, counted_compute_ns, counted_wall_ns;
	/* for the published windows, which count measured compute */
	uint64_t measured_compute_ns;   /* without the first step's */
	uint64_t first_wait_compute_ns; /* T_1 = wait + compute of the first step */
	uint64_t first_step_ns;
	const struct hist *stall; /* counted stalls of this epoch */
	/* what was delivered */
	uint64_t extents, id_sum;
	bool is_whole; /* it took all its batches */
};

struct epochs;

struct epochs *epochs_new(uint64_t ranks, uint64_t batch, double nominal_sample_bytes,
			  const struct sampler *sampler);
void epochs_free(struct epochs *e);

/*
 * Hand in one rank's account. When it completes an epoch in which every rank took all its batches,
 * and the sampler covers the dataset exactly, the ids must add up to the whole dataset: else
 * -EILSEQ with err.
 */
int epochs_add(struct epochs *e, const struct epoch_account *a, struct mlgen_err *err);

/*
 * Where a training has other processes: together, behind the run (e NULL = none ran here). The ids
 * of each epoch that all of them took whole must add up, over all of them; and the published
 * windows of rank 0 are those of all ranks then. 0, or -EILSEQ, or of who is gone, with err.
 */
struct hosts;
int epochs_check(struct epochs *e, struct hosts *hosts, struct mlgen_err *err);

/* Fill ml->epochs, epochs_total and mlperf, which a training that missed samples has none of. After
 * the run. */
void epochs_result(const struct epochs *e, struct ml_result *ml);

/* ---- memory in which loaders keep what they have read ahead (hold_samples=1) ---- */

/*
 * Every extent is read into memory of its own, which stays in use until the accelerator has taken
 * the batch that the extent belongs to, as with a framework that copies the batch to its device
 * then. An extent that straddles two batches leaves with the first.
 *
 * The loaders of an accelerator share one mapping, made before the clock starts, and slots in it,
 * each as large as the largest extent. Memory is in use once something was read into it: that
 * happens during the run, as with a framework, which allocates as it goes. What was let go last is
 * taken first, so that no more comes into use than is ahead at most; and a slot whose next extent
 * is smaller gives the rest back to the system. What is mapped and never written costs nothing.
 *
 * Nobody looks at what lies there. Any thread may take and keep.
 */
struct hold;

struct hold_config {
	uint64_t window;     /* batches of an accelerator */
	uint64_t slots;      /* extents at a time; 0 = nothing is held */
	uint64_t slot_bytes; /* the largest one, as it is read */
};

/*
 * What one accelerator may have ahead, batches that are being read included. Nothing without
 * hold_samples, or with an engine that moves no bytes. Looks at the sizes of up to a million files;
 * an extent that is larger than all of them has its last requests in the worker's buffer.
 */
void hold_plan(struct hold_config *c, const struct job *job, const struct stages *stages);

/* Samples that an accelerator may have ahead in a pass, held or not. */
double hold_samples(const struct job *job, const struct pass *pass);

/* What all accelerators of a job have ahead, when everything is, of the training or the evaluation,
 * whichever is more: of a sample the mean (1,024 extents, evenly spaced), as it is read. */
double hold_bytes(const struct job *job, const struct stages *stages);

/* With hold_samples, does that fit into this host's memory? 0, or -ENOMEM with err. */
int hold_check(const struct job *job, const struct stages *stages, uint64_t memory_bytes,
	       struct mlgen_err *err);

/* 0, or -ENOMEM with err. */
int hold_new(struct hold **out, const struct hold_config *c, struct mlgen_err *err);
void hold_free(struct hold *h); /* NULL is fine */

/*
 * A slot, of *bytes, for an extent of this batch that is to be read; or NULL, if there is none. The
 * accelerator has taken the batches below `taken`; few extents from taken + window on are read,
 * which are looked at whenever it has taken more.
 */
void *hold_take(struct hold *h, uint64_t batch, uint64_t taken, uint64_t *bytes);

/* It was read: so many bytes of the slot. */
void hold_keep(struct hold *h, void *at, uint64_t bytes);

/* ---- one training while it runs: what its ranks and loaders share ---- */

struct train;
struct live;
struct saver;
struct tier;
struct tier_loader;

/* Where a loader keeps what is its own. Made before the threads start. */
/* A time that an extent takes, and behind which of its reads. */
struct decoding {
	uint64_t all_ns; /* of the extent under way */
	/* Of its split, NULL = as each read has of the bytes; which is next. */
	struct job_read_share *shares;
	unsigned share_count, next_share;
};

struct loader {
	struct rank *rank;
	uint64_t index; /* within the rank */
	struct worker worker;
	struct ring *ring;
	struct reader *reader;
	struct unpack *unpack;    /* decompress=real; NULL = none */
	struct tier_loader *tier; /* NULL = there is no cache */
	uint64_t decoded_ns;      /* end of the last preprocess_time */
	uint64_t overslept_ns;    /* woken so late that the next one is shorter */
	bool is_new;              /* its first sample is to come (first_sample_time) */
	/* Of preprocess_at=reads: reads of the extent under way, what they have not spent of both
	 * times, and what of this is too little to be spent alone. */
	uint64_t decode_reads, decode_left_ns, decode_due_ns;
	struct decoding usual, first; /* preprocess_time, first_sample_time */
	/* What is being read, and what of io_bytes was read before it. */
	const struct pass *pass; /* NULL = indexes, which are the training's */
	/* Without a thread: the order of the stage at hand, and that one's number from 1; 0 = there
	 * was none. */
	struct sampler_epoch order;
	uint64_t order_number;
	uint64_t before_pass_bytes;
	/* From its rank; it waits on `go`. */
	struct bell go;
	_Atomic uint64_t awaits; /* a batch: waits for rank->limit above it */
	/* tf.data in order (pipeline_internal.h), in extents from the first stage on: it has read
	 * all of its own below `reached`, and waits for rank->delivered to be `needs`; UINT64_MAX =
	 * it does not. */
	_Atomic uint64_t reached, needs;
	uint64_t dropped; /* requests of rank->drop it has carried out */
	/* worker_start (pipeline_internal.h): the stage whose turn is next, and is there one that
	 * another thread reads? */
	struct stage next;
	bool goes_on;
};

/* Counters of one writer that others may look at. */
struct rank_count {
	_Atomic uint64_t epoch, step; /* where it is, from 1 */
	/* samples are those delivered; what failed of a batch is beside them. */
	_Atomic uint64_t steps, samples, failed_samples, sample_bytes;
	_Atomic uint64_t eval_steps, eval_samples, eval_failed_samples, eval_sample_bytes, eval_ns;
	_Atomic uint64_t compute_ns, stall_ns, barrier_ns, oversleep_ns;
	_Atomic uint64_t host_barrier_ns;  /* behind barrier_ns */
	_Atomic uint64_t useful_ns;        /* of compute_ns: on samples delivered */
	_Atomic uint64_t checkpoint_ns;    /* between steps */
	_Atomic uint64_t step_ns;          /* of finished steps */
	_Atomic uint64_t waiting_since_ns; /* 0 = not waiting */
};

struct rank {
	struct train *train;
	uint64_t index; /* among those of all processes */
	uint64_t here;  /* among those of this one */
	pthread_t thread;
	struct loader *loaders;
	struct hold *hold; /* until they are joined; NULL = none */
	/* To the loaders, who wait on their `go`. */
	_Atomic uint64_t limit;
	_Atomic uint64_t drop;      /* times the cache was to be dropped */
	_Atomic uint64_t claim;     /* loader=plain: next extent to read, in all */
	_Atomic uint64_t delivered; /* pipeline_internal.h: all extents below it are */
	/* From the loaders; the rank waits on `filled`. */
	struct bell filled;
	_Atomic uint64_t ready;   /* loaders that are set up */
	_Atomic uint64_t dropped; /* loaders done with the last drop */
	/* The accelerator's own, read by others after it was joined. */
	struct rank_count count;
	struct token have;    /* delivered of this stage, not yet taken */
	uint64_t *decoded_ns; /* when each of decode_threads is free */
	struct hist *step, *first_step, *stall, *oversleep, *epoch_stall;
	/* ramp_time moves what these have counted here, as in struct worker. */
	pthread_mutex_t books;
	struct rank_count left_out;
	struct hist *left_out_stall; /* NULL = there is no ramp_time */
	struct trace_ring *trace;    /* NULL = there is no trace */
	/* Compute on samples that were delivered. */
	uint64_t counted_steps, counted_compute_ns, counted_wall_ns;
	bool counts;      /* past ramp_time */
	bool is_hopeless; /* train->loss_most_ns is lost */
	uint64_t late_ns; /* see clock_sleep_exactly */
	uint64_t end_ns;  /* of its last step */
	uint64_t cut_ns;  /* in one that was cut behind it; 0 = none was */
	struct usage usage;
	struct usage counted; /* behind ramp_time */
};

/*
 * Where the ranks are with checkpoints, which all of them save after the same step. Written under
 * `lock`, or by the last of them at a barrier.
 */
struct train_saves {
	struct checkpoint_every every; /* count 0 = never */
	pthread_mutex_t lock;
	/* Of a time: when the next is due (0 = the first one), the steps that some rank has gone
	 * beyond, and the one they have agreed on. */
	uint64_t due_ns, passed, agreed; /* agreed 0 = not yet */
	/* The one at hand: where it stands, since when a rank stands still, and the longest that
	 * one of them did for a part of it. */
	uint64_t epoch, step, from_ns, wait_ns, snapshot_ns;
	bool has_begun;
	bool is_now; /* of several processes: all save behind this step */
};

struct train {
	const struct job *job;
	const struct dataset *dataset, *eval; /* eval NULL = none */
	/* Set before train_start, and not the training's, but it starts and joins the saver. saver
	 * NULL = no checkpoints; state: its model's. */
	const struct placement *place;
	const struct traced *traced; /* NULL = there is no trace */
	struct worker_list *workers; /* for its threads to join; NULL = none */
	struct saver *saver;
	const struct state *state;
	struct train_saves saves;
	struct tier *tier;              /* NULL = there is no cache */
	struct tier_peers *cache_peers; /* not its own; NULL = it is whole */
	struct stages stages;
	struct mlgen_engine_job engine_job;
	struct clock *clock;
	struct failure *failure;
	const _Atomic bool *interrupted;
	struct stop *stop;   /* set before train_start; NULL = none */
	struct hosts *hosts; /* NULL = there are no other processes */
	struct peers peers;
	struct epochs *epochs;
	struct rank *ranks;
	size_t buffer_bytes;     /* of a loader */
	uint64_t start_after_ns; /* startdelay */
	/* shuffle=importance, and cache_hits_first, else NULL: written by the last at the barrier
	 * before an epoch, read by all within it. in_cache is set before train_start; NULL = there
	 * is no cache. */
	struct importance *importance;
	struct hitsfirst *hits_first;
	importance_has *in_cache;
	const void *cache;
	uint64_t orders_drawn;         /* of so many epochs */
	uint64_t draw_ns;              /* in all of that */
	_Atomic bool has_asked;        /* a rank here, what others trained on */
	const struct run_watch *watch; /* NULL = nobody watches */
	void *watched;                 /* its argument */
	/* Set before train_start: there is nothing to drop at first. */
	bool is_dropped;
	uint64_t drops;            /* passes that dropped the page cache */
	_Atomic uint64_t start_ns; /* time zero; 0 = not yet */
	_Atomic uint64_t end_ns;
	uint64_t barrier_steps; /* decided on, by the last at the barrier */
	/* What a rank's counted steps may take beyond their compute time before the AU that is
	 * asked for is out of its reach, and the ranks for which it is: the training ends when it
	 * is so for all. */
	double loss_most_ns;
	_Atomic uint64_t hopeless;
	_Atomic bool is_decided;     /* no further step */
	_Atomic bool counting;       /* ramp_time is over */
	_Atomic bool closed;         /* an error: leave everything */
	_Atomic bool finished;       /* ranks are done: loaders, leave */
	_Atomic uint64_t ranks_left; /* still running */
	_Atomic bool dropping;       /* for the status line */
	/* Why the caches could not be emptied; by the last at a barrier. */
	struct mlgen_err empty_err;
};

/* One pass over a dataset as a job asks for it: 0, or -EINVAL with err. */
int train_pass(struct pass *p, const struct job *job, const struct dataset *ds, bool is_eval,
	       uint64_t align_bytes, struct mlgen_err *err);

/* All that it asks for; eval NULL = it has none. */
int train_stages(struct stages *s, const struct job *job, const struct dataset *dataset,
		 const struct dataset *eval, uint64_t align_bytes, struct mlgen_err *err);

/* decompress=real: the largest read that is decompressed; 0 = none is. With an engine without files
 * there is nothing in what is read. */
uint64_t train_packed_most(const struct job *job, const struct stages *s);

/* Is the page cache to lose the dataset before this epoch? (Where a sample finds nothing there, it
 * has.) */
bool train_drops_before(const struct train *t, uint64_t epoch);

/* Is this host's page cache to be emptied of everything? Before the first epoch the run has done
 * that. */
bool train_empties_before(const struct train *t, uint64_t epoch);

/* Where ramp_time ends; from time zero on. */
uint64_t train_ramp_end_ns(const struct train *t);

/* Epochs from 0; with time_based there is none. */
bool train_is_last_epoch(const struct train *t, uint64_t epoch);

/* Has one of the limits been reached, after so many steps? */
bool train_wants_stop(const struct train *t, uint64_t steps, uint64_t now_ns);

/* Whether the training ends at a barrier: what a process says, and what follows from what all have
 * said; and both, behind something else than a step. */
uint64_t train_vote(void *train);
void train_apply(void *train, uint64_t votes);
extern const struct peers_decision train_decide_stop;

/*
 * Set up for a validated job with its dataset attached, and that of its evaluation (NULL = it has
 * none); no thread runs yet.
 * 0 or -errno. Undone by train_fini, which takes a zeroed struct.
 */
int train_init(struct train *t, const struct job *job, const struct dataset *dataset,
	       const struct dataset *eval, uint64_t align_bytes, struct clock *clock,
	       struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err);
void train_fini(struct train *t);

/* End it where this AU is out of reach; before train_start. */
void train_give_up_below(struct train *t, double au_percent);

/* With cache=: before train_start. 0, or -errno with err. */
int train_open_tier(struct train *t, struct mlgen_err *err);

/* Add what a training takes with its loaders, but not for what it holds; and that, with
 * hold_samples. */
struct memneed;
void train_need(struct memneed *n, const struct job *job, const struct stages *stages);
void train_need_hold(struct memneed *n, const struct job *job, const struct stages *stages);

/* Start all threads, the saver's, too; join them: a checkpoint that is under way when the ranks are
 * done is finished. On the conductor's thread (run.c). */
int train_start(struct train *t, struct mlgen_err *err);
void train_join(struct train *t);

/* Any thread: an error somewhere; nobody waits any more. */
void train_close(struct train *t);

/* Any thread: look again at what you wait for (an interruption). */
void train_wake(struct train *t);

/* The part of a look (live.h) that is about checkpoints. */
void train_look_at_saves(const struct train *t, struct live *live);

static inline bool train_is_closed(const struct train *t)
{
	return atomic_load(&t->closed);
}

/* Nobody waits for a batch or computes any more: an error, or the stop. What was delivered by whole
 * steps is still handed in where it is not closed. */
static inline bool train_is_cut(const struct train *t)
{
	return train_is_closed(t) || stop_has_come(t->stop, clock_now(t->clock));
}

/* ---- a thread that reads samples ahead of its accelerator ---- */

/*
 * What distinguishes the loader models (loader=): who reads which batch, in which order they are
 * delivered, and how far ahead. One row a model.
 */
struct loader_model {
	/* Read until the run ends; called on the loader's thread. NULL: it has none. */
	void (*work)(struct loader *l);
	/* Move tokens from the loaders' rings into rank->have until it holds `need` samples of
	 * batch `batch` of a stage or nothing has arrived. */
	void (*collect)(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need);
	/* Batches of a pass that may be read ahead per rank. */
	uint64_t (*window)(const struct job *job, const struct pass *pass);
	/* Tokens that can be on one loader's ring then. */
	uint64_t (*tokens)(const struct job *job, const struct pass *pass);
	/* ... of the next epoch, too, while this one is not over. */
	bool runs_on;
};

const struct loader_model *loader_model(const struct job *job);

/* With read_threads=0 the accelerator's thread is the loader's, too: it opens the io (false: it
 * failed), drops the cache, and closes. Its model reads in `collect`. */
bool loader_open(struct loader *l);
void loader_drop(struct loader *l);
void loader_close(struct loader *l);

/* What loader_open made ready to decode with; zeroed is fine. */
void loader_close_decoding(struct loader *l);

/* Extents that an accelerator may have beyond the batches that may be read. */
uint64_t loader_extents_beyond(const struct job *job, const struct pass *pass);

/* Tokens that can be on one loader's ring: the accelerator drains rings only while it waits, so
 * everything that may be ahead has to fit. */
uint64_t loader_ring_tokens(const struct job *job, const struct stages *s);

void *loader_main(void *arg);

/* ---- from what ranks counted to figures: AU, and where their time went ---- */

/* All of these after the ranks were joined, of `n` of them, one behind the other. DESIGN.md, "What
 * the numbers mean". */

/* Accelerators, steps, samples and AU of out->ml, of each and on the mean, and the wall time of the
 * slowest. */
void rank_collect_au(struct job_result *out, const struct rank *ranks, const struct job *job);

/* The accelerator that stalled longest on the mean. */
void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t all);

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n);

/* CPU time of the ranks: of all that they did; of what was counted, seconds. */
void rank_collect_usage(struct usage *u, const struct rank *ranks, uint64_t n);
double rank_collect_cpu_seconds(const struct rank *ranks, uint64_t n);

/* A histogram of all of them, which is at `member_off` in each. It is the first rank's: after this
 * there is nobody else who wants them. */
struct hist *rank_collect_hist(struct rank *ranks, uint64_t n, size_t member_off);
