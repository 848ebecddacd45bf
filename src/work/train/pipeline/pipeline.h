/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - a running training job: ranks, loaders, batches, steps, epochs and barriers. */
#pragma once

/*
 * A rank is an accelerator thread. Each rank has job_read_threads loaders with a thread of their
 * own; with read_threads=0 its single loader runs on the accelerator's thread. Tokens pass from a
 * loader to its accelerator over a ring. The accelerator tells its loaders how far they may read:
 * `limit` is the first batch that may not be read yet. Batches are numbered consecutively across
 * all stages (struct stages). `limit` grows by one whenever the accelerator takes a batch, up to
 * the end of the stage. Where the loader model runs on into the next stage, it grows beyond that.
 *
 * The conductor calls train_init, train_start, train_join and train_fini. Any thread may call
 * train_close and train_wake.
 *
 * For shuffle=importance each process sends the others what its ranks have trained on
 * (rank_order_draw): with 10^6 samples, 4.2 MB per epoch to each process. Computing this in each
 * process would not be cheaper, since drawing for a rank takes longer than receiving its draws. The
 * exchange happens between two barriers and under no lock, because a thread that holds a lock must
 * not wait.
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

/* ---- tokens: account of the extents that one loader has read ---- */

/* A token holds counts and a time, never data. */
struct token {
	uint64_t samples;        /* places in a batch */
	uint64_t failed_samples; /* samples that could not be read */
	uint64_t sample_bytes;   /* payload of the samples that were read */
	uint64_t id_sum;         /* sum of the extents' ids, modulo 2^64 */
	uint64_t extents;
	uint64_t ready_ns; /* time when the last extent was read */
	uint64_t stage;    /* number of its stage (slot.h) */
	uint64_t batch;    /* first batch of the stage that may use the token */
};

/* Add t to `to`. The sum is ready when both tokens are ready. */
void token_add(struct token *to, const struct token *t);

/* Split the first `samples` samples off t into `out`. Failed samples, ids and extents go to `out`
 * first; bytes are divided in proportion to the samples delivered. */
void token_split(struct token *t, uint64_t samples, struct token *out);

/* Number of samples that an accelerator can compute on. */
uint64_t token_delivered(const struct token *t);

/* A ring with this many tokens adds a pushed token to the newest one, if both have the same stage
 * and batch. */
#define RING_TOKENS 1000u

/*
 * A bounded first-in first-out queue with exactly one producer and one consumer. It has room for
 * all tokens that may be under way, at most RING_TOKENS and one per stage or batch, so a push never
 * fails. Its users do the waiting (slot.h).
 */
struct ring;

struct ring *ring_new(uint64_t tokens);
uint64_t ring_bytes(uint64_t tokens); /* memory of a ring for this many tokens */
void ring_free(struct ring *r);       /* NULL is fine */

/* Producer only. */
void ring_push(struct ring *r, const struct token *t);

/* Consumer only. Pop the next token that this batch of this stage may use; tokens of earlier stages
 * are dropped. Returns false if there is no such token, or if the producer is adding to it; in that
 * case the producer notifies the rank when it is done. */
bool ring_pop(struct ring *r, uint64_t stage, uint64_t batch, struct token *t);

/* ---- epochs: one record per epoch for all ranks ---- */

/*
 * Each rank adds its own account of an epoch when it has finished the epoch: once, under a lock.
 * The account of the last rank completes the epoch. Only the first EPOCHS_KEPT epochs have records,
 * so that a time_based run does not grow its memory; sums cover all epochs.
 */
#define EPOCHS_KEPT 1024
#define EPOCHS_OPEN 16 /* epochs that can have a stall histogram at the same time */

/* Account of one rank and one epoch. Times in ns. */
struct epoch_account {
	uint64_t epoch;                        /* counts from 0 */
	uint64_t samples, sample_bytes, steps; /* samples: delivered */
	uint64_t failed_samples;
	uint64_t wall_ns; /* from the start to the end of its last step */
	/* counted steps: all but the first, none within ramp_time */
	uint64_t counted_steps, counted_compute_ns, counted_wall_ns;
	/* published windows count measured compute */
	uint64_t measured_compute_ns;   /* without the first step's */
	uint64_t first_wait_compute_ns; /* T_1 = wait + compute of the first step */
	uint64_t first_step_ns;
	const struct hist *stall; /* counted stalls of this epoch */
	/* sums over the tokens that were delivered */
	uint64_t extents, id_sum;
	bool is_whole; /* the rank took all batches of the epoch */
};

struct epochs;

struct epochs *epochs_new(uint64_t ranks, uint64_t batch, double nominal_sample_bytes,
			  const struct sampler *sampler);
void epochs_free(struct epochs *e);

/*
 * Add one rank's account. -EILSEQ with err when this account completes an epoch whose ids do not
 * add up to the whole dataset. The ids are checked only if every rank took all batches of the epoch
 * and the sampler covers the dataset exactly.
 */
int epochs_add(struct epochs *e, const struct epoch_account *a, struct mlgen_err *err);

/*
 * Check the epochs over all processes, after the run. All processes must call this together; e is
 * NULL in a process in which no training ran. The ids of each epoch that all processes read
 * completely must add up, and the published windows of rank 0 become those of all ranks. 0,
 * -EILSEQ, or the error of a lost process, with err.
 */
struct hosts;
int epochs_check(struct epochs *e, struct hosts *hosts, struct mlgen_err *err);

/* Fill ml->epochs, epochs_total and mlperf after the run. A training job that missed samples has no
 * mlperf figures. */
void epochs_result(const struct epochs *e, struct ml_result *ml);

/* ---- hold: memory of the samples that are read ahead (hold_samples=1) ---- */

/*
 * Each extent is read into memory of its own. This memory stays in use until the accelerator has
 * taken the batch of the extent, as in a framework that copies a batch to its device. An extent
 * that straddles two batches is released with the first.
 *
 * The loaders of an accelerator share one mapping, made before the clock starts and divided into
 * slots as large as the largest extent. Memory comes into use when something is first read into it,
 * during the run, as in a framework that allocates as it goes. The slot released last is reused
 * first, so the memory in use never exceeds the largest amount that was read ahead. A slot whose
 * next extent is smaller returns the rest to the system. Mapped memory that is never written costs
 * nothing.
 *
 * The contents are never read. Any thread may call hold_reserve and hold_commit.
 */
struct hold;

struct hold_config {
	uint64_t window;     /* batches of an accelerator */
	uint64_t slots;      /* extents at a time; 0 = nothing is held */
	uint64_t slot_bytes; /* largest extent, as it is read */
};

/*
 * Compute the memory for what one accelerator may have read ahead, including batches under way:
 * none without hold_samples, with an engine that touches no files, or where files are mapped. The
 * sizes of up to a million files are sampled; the last requests of an extent larger than any of
 * these go to the worker's buffer.
 */
void hold_plan(struct hold_config *c, const struct job *job, const struct stages *stages);

/* Number of samples that may be read ahead for an accelerator in a pass, whether they are held or
 * not. */
double hold_samples(const struct job *job, const struct pass *pass);

/* Maximum number of bytes that are read ahead for all accelerators of a job, in training or in
 * evaluation, whichever is larger. Computed from the mean sample as it is read (of 1,024 extents,
 * evenly spaced). */
double hold_bytes(const struct job *job, const struct stages *stages);

/* Do the samples of hold_samples fit into this host's memory? 0, or -ENOMEM with err. */
int hold_check(const struct job *job, const struct stages *stages, uint64_t memory_bytes,
	       struct mlgen_err *err);

/* 0, or -ENOMEM with err. */
int hold_new(struct hold **out, const struct hold_config *c, struct mlgen_err *err);
void hold_free(struct hold *h); /* NULL is fine */

/*
 * Reserve a slot of *bytes for an extent of this batch before it is read; NULL if none is free.
 * `taken` is the number of batches that the accelerator has taken. Slots of later batches (taken +
 * window and beyond) are few: they are all searched whenever `taken` grows.
 */
void *hold_reserve(struct hold *h, uint64_t batch, uint64_t taken, uint64_t *bytes);

/* The read into the slot at `at` has ended, and used this many bytes. */
void hold_commit(struct hold *h, void *at, uint64_t bytes);

/* ---- a running training job: state shared by its ranks and loaders ---- */

struct train;
struct live;
struct writer;
struct tier;
struct tier_loader;

/* Decode time of one extent, and its division among the extent's reads. */
struct decoding {
	uint64_t all_ns; /* decode time of the extent under way */
	/* NULL = each read has its share of the bytes */
	struct job_read_share *shares;
	unsigned share_count, next_share;
};

/* A loader's own state, made before the threads start. */
struct loader {
	struct rank *rank;
	uint64_t index; /* within the rank */
	struct worker worker;
	struct ring *ring;
	struct reader *reader;
	struct unpack *unpack;    /* decompress=real; NULL = none */
	struct tier_loader *tier; /* NULL = there is no cache */
	uint64_t decoded_ns;      /* end of the last preprocess_time */
	uint64_t overslept_ns;    /* lateness that the next sleep makes up for */
	bool is_new;              /* no sample read yet (first_sample_time) */
	/* preprocess_at=reads: reads of the extent under way, decode time not spent yet, and the
	 * part of it that is due but too short to spend alone */
	uint64_t decode_reads, decode_left_ns, decode_due_ns;
	struct decoding per_sample, first_sample; /* preprocess_time, first_sample_time */
	/* Pass of the extents under way; NULL while indexes are read, which are counted as
	 * training. */
	const struct pass *pass;
	/* Without a thread: order of the current stage, and the stage's number from 1; 0 = none. */
	struct sampler_epoch order;
	uint64_t order_stage;
	uint64_t before_pass_bytes; /* io_bytes of the worker when the pass began */
	/* The rank signals the loader here. */
	struct eventcount wakeup;
	_Atomic uint64_t awaited_batch; /* waits until rank->limit exceeds it */
	/* tf.data in order (pipeline_internal.h), in extents from the first stage on. The loader
	 * has read all its own extents below `read_end`, and waits until rank->delivered reaches
	 * `awaited_extents`; UINT64_MAX = it does not wait. */
	_Atomic uint64_t read_end, awaited_extents;
	uint64_t drops_done; /* number of rank->drop_requests that it has carried out */
	/* worker_start (pipeline_internal.h): the next stage, and whether a new thread reads it */
	struct stage next;
	bool wants_next_thread;
};

/* Counters with one writer that other threads may read. */
struct rank_count {
	_Atomic uint64_t epoch, step; /* current ones, from 1 */
	/* samples are those delivered, without failed_samples */
	_Atomic uint64_t steps, samples, failed_samples, sample_bytes;
	_Atomic uint64_t eval_steps, eval_samples, eval_failed_samples, eval_sample_bytes, eval_ns;
	_Atomic uint64_t compute_ns, stall_ns, barrier_ns, oversleep_ns;
	_Atomic uint64_t host_barrier_ns;  /* wait for other processes, after barrier_ns */
	_Atomic uint64_t useful_ns;        /* part of compute_ns on samples delivered */
	_Atomic uint64_t checkpoint_ns;    /* between steps */
	_Atomic uint64_t step_ns;          /* sum of finished steps */
	_Atomic uint64_t waiting_since_ns; /* 0 = not waiting */
};

struct rank {
	struct train *train;
	uint64_t index;       /* among the ranks of all processes */
	uint64_t local_index; /* among the ranks of this process */
	pthread_t thread;
	struct loader *loaders;
	struct hold *hold; /* freed when the threads are joined; NULL = none */
	/* Read by the loaders, which wait on their `wakeup`. */
	_Atomic uint64_t limit;
	_Atomic uint64_t drop_requests; /* number of requests to drop the page cache */
	_Atomic uint64_t claim;         /* loader=plain: next extent to read, over all stages */
	_Atomic uint64_t delivered;     /* extents delivered in order (pipeline_internal.h) */
	/* Written by the loaders; the rank waits on its own `wakeup`. */
	struct eventcount wakeup;
	_Atomic uint64_t ready;           /* loaders that are set up */
	_Atomic uint64_t loaders_dropped; /* loaders done with the last drop request */
	/* The accelerator's own; read by other threads after join. */
	struct rank_count count;
	struct token pending; /* delivered for this stage, not yet taken */
	uint64_t *decoded_ns; /* when each of decode_threads is free */
	struct hist *step, *first_step, *stall, *oversleep, *epoch_stall;
	/* Counts of ramp_time are moved here at its end, as in struct worker. The lock guards the
	 * move, and the reading of both counts for their sum. */
	pthread_mutex_t counts_lock;
	struct rank_count ramp_count;
	struct hist *ramp_stall;  /* NULL = there is no ramp_time */
	struct trace_ring *trace; /* NULL = there is no trace */
	/* Compute on samples that were delivered. */
	uint64_t counted_steps, counted_compute_ns, counted_wall_ns;
	bool is_counting; /* ramp_time is over */
	bool misses_au;   /* lost more than train->max_loss_ns */
	uint64_t late_ns; /* see clock_sleep_exactly */
	uint64_t end_ns;  /* end of the last step */
	uint64_t cut_ns;  /* spent in the step that the end of the run cut off; 0 = none */
	struct usage usage;
	struct usage counted; /* since the end of ramp_time */
};

/*
 * State of the checkpoints, which all ranks save after the same step. Written under `lock`, or by
 * the last rank at a barrier.
 */
struct train_saves {
	struct checkpoint_every every; /* count 0 = never */
	pthread_mutex_t lock;
	/* Checkpoints by time: when the next one is due (0 = the first one), the last step that
	 * some rank has passed, and the step to save after (0 = not agreed yet). */
	uint64_t due_ns, passed_step, agreed_step;
	/* The current checkpoint: its position, when the first rank stopped for it, and the
	 * longest wait and snapshot of any rank. */
	uint64_t epoch, step, stopped_ns, wait_ns, snapshot_ns;
	bool has_begun;
	bool is_agreed; /* several processes: all save after this step */
};

struct train {
	const struct job *job;
	const struct dataset *dataset, *eval; /* eval NULL = none */
	/* The caller sets these before train_start, and owns them. train_start and train_join also
	 * start and join the checkpoint writer. */
	const struct placement *place;
	const struct traced *traced; /* NULL = there is no trace */
	struct worker_list *workers; /* joined by its threads; NULL = none */
	struct writer *writer;       /* NULL = no checkpoints */
	const struct state *state;   /* the model that is saved */
	struct train_saves saves;
	struct tier *tier;              /* NULL = there is no cache */
	struct tier_peers *cache_peers; /* owned by the caller; NULL = the cache is not divided */
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
	size_t buffer_bytes;     /* buffer of each loader */
	uint64_t start_after_ns; /* startdelay */
	/* Orders of shuffle=importance and cache_hits_first, otherwise NULL. The last rank at the
	 * barrier before an epoch writes them; all read them during the epoch. in_cache is set
	 * before train_start; NULL = there is no cache. */
	struct importance *importance;
	struct hitsfirst *hits_first;
	importance_cached_fn *in_cache;
	const void *cache;
	uint64_t orders_drawn;         /* epochs with a drawn order */
	uint64_t draw_ns;              /* time spent drawing */
	_Atomic bool exchange_claimed; /* a local rank does the exchange (rank_order_draw) */
	const struct run_watch *watch; /* NULL = nobody watches */
	void *watched;                 /* argument of `watch` */
	/* The page cache has nothing of the dataset; set before train_start. */
	bool is_dropped;
	uint64_t drops;            /* passes that dropped the page cache */
	_Atomic uint64_t start_ns; /* time zero; 0 = not yet */
	_Atomic uint64_t end_ns;
	uint64_t barrier_steps; /* counted by the last rank at each step barrier */
	/* Time that a rank's counted steps may take beyond their compute time before the required
	 * AU is out of reach, and the number of ranks that took more. The training ends when all
	 * ranks have. */
	double max_loss_ns;
	_Atomic uint64_t ranks_missing_au;
	_Atomic bool is_decided;     /* no further step */
	_Atomic bool counting;       /* ramp_time is over */
	_Atomic bool closed;         /* after an error: all threads leave */
	_Atomic bool finished;       /* all ranks are done: loaders leave */
	_Atomic uint64_t ranks_left; /* still running */
	_Atomic bool dropping;       /* shown in the status line */
	/* Why the caches could not be emptied; set by the last rank at a barrier. */
	struct mlgen_err empty_err;
};

/* Set up one pass over a dataset. 0, or -EINVAL with err. */
int train_pass(struct pass *p, const struct job *job, const struct dataset *ds, bool is_eval,
	       uint64_t align_bytes, struct mlgen_err *err);

/* Set up all passes of a job; eval NULL = no evaluation. */
int train_stages(struct stages *s, const struct job *job, const struct dataset *dataset,
		 const struct dataset *eval, uint64_t align_bytes, struct mlgen_err *err);

/* decompress=real: bytes of the largest read that is decompressed; 0 = none is. An engine without
 * files returns nothing to decompress. */
uint64_t train_max_packed_bytes(const struct job *job, const struct stages *s);

/* Does the job drop the dataset from the page cache before this epoch? (The drop is skipped if
 * nothing is cached.) */
bool train_drops_before(const struct train *t, uint64_t epoch);

/* End of ramp_time; valid from time zero on. */
uint64_t train_ramp_end_ns(const struct train *t);

/* Epochs count from 0. Always false with time_based. */
bool train_is_last_epoch(const struct train *t, uint64_t epoch);

/* Has the training reached one of its limits after this many steps? */
bool train_wants_stop(const struct train *t, uint64_t steps, uint64_t now_ns);

/* Decide at a barrier whether the training ends. train_vote returns the vote of a process, and
 * train_apply applies all votes. train_decide_stop combines both for all barriers except the
 * barrier of a step. */
uint64_t train_vote(void *train);
void train_apply(void *train, uint64_t votes);
extern const struct peers_decision train_decide_stop;

/*
 * Set up a validated job with its datasets (eval NULL = no evaluation); starts no thread. 0 or
 * -errno. Undone by train_fini, which accepts a zeroed struct.
 */
int train_init(struct train *t, const struct job *job, const struct dataset *dataset,
	       const struct dataset *eval, uint64_t align_bytes, struct clock *clock,
	       struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err);
void train_fini(struct train *t);

/* End the training once this AU is out of reach. Call before train_start. */
void train_set_au_floor(struct train *t, double au_percent);

/* Open the cache tier, if there is one. Call before train_start. 0, or -errno with err. */
int train_open_tier(struct train *t, struct mlgen_err *err);

/* Add the memory of a training job with its loaders; train_need_hold adds that of hold_samples. */
struct memneed;
void train_need(struct memneed *n, const struct job *job, const struct stages *stages);
void train_need_hold(struct memneed *n, const struct job *job, const struct stages *stages);

/* Start or join all threads, including those of the checkpoint writer. If a checkpoint is under way
 * when the ranks are done, train_join lets it finish. Call both on the conductor's thread
 * (run.c). */
int train_start(struct train *t, struct mlgen_err *err);
void train_join(struct train *t);

/* End all waits, after an error. Any thread. */
void train_close(struct train *t);

/* Make all waiters check their condition again, after an interruption. Any thread. */
void train_wake(struct train *t);

/* Fill the checkpoint figures of a status sample (live.h). */
void train_live_saves(const struct train *t, struct live *live);

static inline bool train_is_closed(const struct train *t)
{
	return atomic_load(&t->closed);
}

/* True after an error or the stop: ranks no longer wait for batches or compute. Accounts of whole
 * steps are still added unless the training is closed. */
static inline bool train_is_cut(const struct train *t)
{
	return train_is_closed(t) || stop_is_due(t->stop, clock_now(t->clock));
}

/* ---- loaders: threads that read samples ahead of their accelerator ---- */

/* A loader model (loader=): which loader reads which batch, in which order, and how far ahead. */
struct loader_model {
	/* Read until the run ends; called on the loader's thread. NULL: there is no such thread. */
	void (*work)(struct loader *l);
	/* Move tokens from the loaders' rings into rank->pending until it has `need` samples for
	 * batch `batch` of a stage, or the rings are empty. */
	void (*collect)(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need);
	/* Batches of a pass that may be read ahead per rank. */
	uint64_t (*window)(const struct job *job, const struct pass *pass);
	/* Tokens that can be on one loader's ring with that window. */
	uint64_t (*tokens)(const struct job *job, const struct pass *pass);
	/* Loaders read ahead into the next epoch while this one is not over. */
	bool runs_on;
};

const struct loader_model *loader_model(const struct job *job);

/* For a loader without a thread (read_threads=0), which reads in `collect`. Call these on its
 * accelerator's thread. open: open the io; false: it failed, and the failure of the run is set.
 * drop: drop the loader's share of the dataset from the page cache. close: close the io. */
bool loader_open(struct loader *l);
void loader_drop(struct loader *l);
void loader_close(struct loader *l);

/* Number of extents that may be read ahead for an accelerator beyond the batches of the window. */
uint64_t loader_extents_beyond(const struct job *job, const struct pass *pass);

/* Tokens that can be on one loader's ring. The accelerator drains rings only while it waits, so
 * everything that may be ahead has to fit. */
uint64_t loader_ring_tokens(const struct job *job, const struct stages *s);

void *loader_main(void *arg);

/* ---- results of the ranks: AU, and where their time went ---- */

/* Call these after the ranks were joined, with an array of `n` ranks. See "What the numbers mean"
 * in DESIGN.md. */

/* Fill accelerators, steps, samples and AU of out->ml, per rank and on average, and the wall time
 * of the slowest rank. */
void rank_collect_au(struct job_result *out, const struct rank *ranks, const struct job *job);

/* Find the accelerator with the longest mean stall. Call before the histograms of the ranks are
 * merged. */
void rank_collect_slowest(struct slowest_rank *out, const struct rank *ranks, uint64_t n);

void rank_collect_time(struct time_percent *p, const struct rank *ranks, uint64_t n);
