/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - the order in which a training reads its samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/dist.h"
#include "base/rng.h"
#include "data/file/file.h"
#include "job/job.h"

/*
 * The order in which the ranks of a training read its samples: pure functions of seed, epoch, rank
 * and position, so that no process and no thread has to tell another. Only the order by importance
 * has a memory, and the walk over an epoch has a place. An epoch of a sampler belongs to one
 * thread; the sampler itself is constant.
 */

/* ---- Which extent is read next: a pure function of (seed, epoch, rank, position) ---- */

struct hitsfirst;
struct importance;

/*
 * The order of an epoch is a permutation of all extents (shuffle=sample), of the files with their
 * extents in order (shuffle=file), of runs of neighbours (pages, chunks), or none;
 * or each place of it is drawn alone, with replacement (replacement, weighted). A
 * shard cuts that order among the ranks: strided (rank r takes r, r+P, ...), contiguous, or whole
 * files, strided. With drop_last every rank has the same number of full batches, floor(N / (P x
 * batch)) where an extent is a sample; without, the order is padded by repetition from its start to
 * ceil(N / P) for each rank, as PyTorch's DistributedSampler does, and the last batch is short,
 * which may be the only one.
 *
 * loader=tfdata reads `lanes` files at a time, an extent of each in turn, as tf.data's interleave
 * does; its shards are of whole files, too.
 *
 * Where files have different numbers of samples and their order counts (shuffle=file, shard=file,
 * lanes), every rank delivers as many all the same, floor(N / P): one whose files hold fewer begins
 * again with its first, as repeat() does, and what others hold beyond that is not read.
 *
 * An extent that straddles two batches belongs to the one with its first sample. Where extents have
 * different numbers of samples, which batch that is follows from those before it in the rank's
 * order, and each rank goes on, from its first again where it has no more, until
 * it has floor(N / P) samples as well; with drop_last off, ceil(N / P).
 *
 * Read-only after init, shared by all threads.
 */
struct sampler {
	const struct dataset *dataset;
	enum job_shuffle shuffle;
	enum job_shard shard;
	bool drop_last, is_eval;
	uint64_t seed;
	uint64_t extents, ranks, batch;
	uint64_t extent_samples; /* of each; where is_sized a mean */
	uint64_t file_extents;   /* of a file; the most, where is_uneven; none,
				  * where is_sized */
	uint64_t lanes;          /* files read side by side; 0 = not tfdata */
	uint64_t rank_files;     /* of a rank, where shards are of files */
	uint64_t rank_extents;   /* each rank reads so many per epoch; where
				  * is_sized its share of them, and more or less
				  * are read */
	uint64_t rank_samples;   /* of a rank's epoch */
	uint64_t steps;          /* per epoch, the same for every rank */
	/* pages, chunks: extents of a run, runs of a window. */
	uint64_t run_extents, window_runs;
	/* weighted: the dataset's job has them; larger ones are cut to this. */
	struct dist weights;
	double weight_most;
	/* shuffle=importance: the order of the epoch at hand; NULL = none is drawn, and all weights
	 * are alike. */
	const struct importance *importance;
	/* cache_hits_first: likewise; NULL = it is another. */
	const struct hitsfirst *hits_first;
	bool is_uneven; /* ordered files of unequal extents */
	bool is_sized;  /* extents of unequal samples */
	bool is_whole;  /* an epoch reads every extent exactly once */
};

/* What sampler_init takes of a job; an evaluation has some of its own. */
struct sampler_config {
	uint64_t ranks, batch, lanes, seed;
	struct variant shuffle; /* as in struct job */
	int shard;
	bool drop_last;
	bool is_eval; /* for the names of options in messages */
};

/* Ranks from `first` on, up to before `end`. */
struct sampler_ranks {
	uint64_t first, end;
};

/* The round of files that was asked for last; of more lanes than these it is
 * looked up what they have. */
#define SAMPLER_ROUND_LANES 32
struct sampler_round {
	bool is_known;
	uint64_t rank, number, start, end;
	uint64_t extents[SAMPLER_ROUND_LANES];
};

/* The position that was asked for last. */
struct sampler_place {
	bool is_known;
	uint64_t rank, position, samples_before;
};

/* The window that was asked for last. */
struct sampler_window {
	bool is_known;
	uint64_t number, start;
	struct perm perm;
};

/* The order of one epoch; a private copy per thread. */
struct sampler_epoch {
	const struct sampler *sampler;
	struct perm perm;
	uint64_t drawn_seed; /* of an order that draws */
	uint64_t short_at;   /* place of the short run; UINT64_MAX = none */
	struct sampler_window window;
	struct sampler_round round;
	struct sampler_place place;
};

struct sampler_config sampler_config(const struct job *job, uint64_t ranks);
/* Of an order that is drawn at the epochs' barriers: whose a process of the job has to know. Those
 * of its accelerators; of a cache of all hosts those of all, since each decides for all of it. */
struct sampler_ranks sampler_ranks_known(const struct job *job);
/* 0, or -EINVAL with err: a rank gets no batch. */
int sampler_init(struct sampler *s, const struct sampler_config *cfg, const struct dataset *ds,
		 struct mlgen_err *err);
void sampler_epoch(struct sampler_epoch *e, const struct sampler *s, uint64_t epoch);

/* The id of the extent at a position of a rank's order. */
uint64_t sampler_at(struct sampler_epoch *e, uint64_t rank, uint64_t position);

/* The samples of a rank's epoch before what stands at a position. */
uint64_t sampler_samples_before(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* Is what stands there read in the epoch? */
bool sampler_has(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* The batch that a position belongs to. */
uint64_t sampler_batch_of(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* The first position of a batch; of batch `steps` the end. */
uint64_t sampler_batch_start(struct sampler_epoch *e, uint64_t rank, uint64_t step);
/* The positions of a rank's epoch. */
uint64_t sampler_extents(struct sampler_epoch *e, uint64_t rank);

/* What stands at a position, with lanes: an extent of a rank's file, which is one of so many that
 * are read side by side. */
struct sampler_lane {
	uint64_t file, extent, lanes;
};
struct sampler_lane sampler_lane_at(struct sampler_epoch *e, uint64_t rank, uint64_t position);

/* Where extent `extent` of the rank's `file`-th file stands in its order, with lanes; sampler_has
 * says whether it is read. */
uint64_t sampler_lane_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
			       uint64_t extent);

/* Is any of that file read in the epoch, with lanes? Of uneven ones a rank may have more than
 * rank_files: they are those from its first again. */
bool sampler_has_file(struct sampler_epoch *e, uint64_t rank, uint64_t file);
/* How many extents it has. */
uint64_t sampler_file_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file);

/* shuffle=weighted: the weight of an extent. */
double sampler_weight(const struct sampler *s, uint64_t extent);

/* Samples of a rank's epoch. */
uint64_t sampler_rank_samples(const struct sampler *s);

/* Samples in batch `step` (< steps) of a rank: `batch`, or fewer in a last one. */
uint64_t sampler_batch_samples(const struct sampler *s, uint64_t step);

/* ---- An order by what samples' losses were: shuffle=importance ---- */

/*
 * SHADE's rules (R. I. S. Khan et al., FAST '23; as its code has them, not as it numbers batches):
 * an epoch's order is drawn with replacement by weights that follow from the losses of the epochs
 * before. Losses are played: the difficulty of a sample, drawn once, times what is left of it after
 * so many epochs.
 *
 * Every rank draws for itself, by weights that all share: so a process draws for its own ranks
 * alone, as long as it hears what all were trained on.
 *
 * Memory: at most 16 bytes an extent, once a process. Written at the epoch's barrier alone
 * (importance_trained, importance_draw, by one thread), read by all threads between two of them.
 */
struct importance;

struct importance_config {
	uint64_t extents, rank_extents; /* of a rank's epoch */
	struct sampler_ranks known;     /* that are drawn here */
	uint64_t seed;
	bool is_aggressive; /* PADS */
	double rep;         /* how often a hit is repeated; of hits_first */
	bool hits_first;
	struct dist difficulty, decay;
};

/* Of a job and the sampler of its training. */
struct importance_config importance_config(const struct job *job, const struct sampler *sampler);

/* Is the extent in the rank's cache? NULL = there is none. */
typedef bool importance_has(const void *cache, uint64_t rank, uint64_t extent);

int importance_new(struct importance **out, const struct importance_config *cfg,
		   struct mlgen_err *err);
void importance_free(struct importance *im); /* NULL is fine */
uint64_t importance_state_bytes(const struct importance_config *cfg);

/* The order of an epoch (from 0), drawn by what is known of those before. */
void importance_draw(struct importance *im, uint64_t epoch, importance_has *has, const void *cache);

/* The extent at a rank's position of the epoch that was drawn last; of a rank that is known
 * here. */
uint64_t importance_at(const struct importance *im, uint64_t rank, uint64_t position);

/* A rank, known here or not, has computed on this batch of that epoch: losses become weights. In
 * the order of the plan. */
void importance_trained(struct importance *im, uint64_t epoch, const uint64_t *extents,
			unsigned count);

/* Weight of an extent in the epoch at hand. */
double importance_weight(const struct importance *im, uint64_t extent);

/* ---- An epoch's order with what a cache has in front (cache_hits_first) ---- */

/*
 * What SHADE does of every batch order (R. I. S. Khan et al., FAST '23): of what a rank reads in an
 * epoch, that which the cache has when it begins comes first, then the rest, both in the order that
 * they had. So nothing is evicted before it was hit.
 *
 * 4 bytes an access of an epoch, of the ranks that are known here. Written at the epoch's barrier
 * (hitsfirst_draw, by one thread), read by all threads between two of them.
 */
struct hitsfirst;

/* Of a sampler, whose own order it is that is parted; it is copied. */
struct hitsfirst *hitsfirst_new(const struct sampler *s, struct sampler_ranks known);
void hitsfirst_free(struct hitsfirst *h); /* NULL is fine */
uint64_t hitsfirst_state_bytes(const struct sampler *s, struct sampler_ranks known);

/* The order of an epoch (from 0), by what is there now. */
void hitsfirst_draw(struct hitsfirst *h, uint64_t epoch, importance_has *has, const void *cache);

/* The extent at a position of a known rank, of the epoch that was drawn last. */
uint64_t hitsfirst_at(const struct hitsfirst *h, uint64_t rank, uint64_t position);

/* ---- The accesses of an epoch in the order of the plan: step by step, rank by rank ---- */

/*
 * What ranks read at the same time has no order in a run; in that of the plan the first batch of
 * each rank comes before the second of any. Whoever decides by this order decides the same in each
 * run.
 */
struct orderwalk_at {
	uint64_t rank, step, position;
	uint64_t extent; /* its id */
};

struct orderwalk {
	const struct sampler *sampler;
	uint64_t first_rank, end_rank; /* only these ranks */
	/* Of the batch at hand: its end, and where it is. */
	uint64_t rank, step, position, end;
	/* One a rank: where extents differ, it is kept how far one has come. */
	struct sampler_epoch *orders;
};

/* To the beginning of an epoch (from 0); what `w` held is not looked at. */
void orderwalk_begin(struct orderwalk *w, const struct sampler *s, uint64_t first_rank,
		     uint64_t end_rank, uint64_t epoch);

/* The next access; false: the epoch is over. */
bool orderwalk_next(struct orderwalk *w, struct orderwalk_at *at);

/* At any time after orderwalk_begin; takes a zeroed struct. */
void orderwalk_end(struct orderwalk *w);
