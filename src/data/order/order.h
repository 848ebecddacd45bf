/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - the order in which a training run reads its samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/dist.h"
#include "data/file/file.h"
#include "job/job.h"

/*
 * The order in which the ranks of a training run read their samples. It is a pure function of seed,
 * epoch, rank and position, so that processes and threads need not exchange it. Only the order by
 * importance has state, and the walk over an epoch has a position. A struct sampler_epoch belongs
 * to one thread; the sampler itself is constant.
 *
 * The order by importance was compared with a simulation of SHADE's code (8192 samples, 13
 * settings, eighth epoch): hit ratios differ by 0.06 on average. SHADE reads the hits of an order
 * first, but assigns weights as if the samples had been read in the order as drawn. That fault is
 * not copied; with it the mean difference would be 0.03 (test_importance.c).
 */

/* ---- Sampler: the extent at a (seed, epoch, rank, position) ---- */

struct hitsfirst;
struct importance;

/*
 * The order of an epoch is a permutation of all extents (shuffle=sample), of the files with their
 * extents in order (shuffle=file), of runs of neighbouring extents (pages, chunks), or none. With
 * replacement and weighted, each position is drawn independently.
 *
 * Sharding divides that order among the P ranks: strided (rank r reads r, r+P, ...), contiguous, or
 * by whole files, strided. With drop_last every rank has the same number of full batches,
 * floor(N / (P x batch)) if an extent is a sample. Without it, the order is padded by repetition
 * from its start to ceil(N / P) for each rank, as PyTorch's DistributedSampler does. The last batch
 * is then short, and may be the only one.
 *
 * loader=tfdata reads `lanes` files at a time, an extent of each in turn, as tf.data's interleave
 * does. Its shards are whole files, too.
 *
 * Files may have different numbers of samples while their order matters (shuffle=file, shard=file,
 * lanes). Every rank then still delivers floor(N / P) samples: a rank whose files hold fewer starts
 * again with its first file, as repeat() does, and samples beyond that number are not read.
 *
 * An extent that straddles two batches belongs to the batch with its first sample. If extents have
 * different numbers of samples, the batch follows from the extents before it in the rank's order.
 * Each rank reads until it has floor(N / P) samples (ceil(N / P) with drop_last off), and starts
 * over when its extents run out.
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
	uint64_t extent_samples; /* samples per extent; a mean if extents_differ */
	uint64_t file_extents;   /* extents per file; the maximum if is_uneven, unused if
				    extents_differ */
	uint64_t lanes;          /* files read in parallel; 0 = not tfdata */
	uint64_t rank_files;     /* files per rank, if shards are whole files */
	uint64_t rank_extents;   /* extents that each rank reads per epoch; only its share if
				  * extents_differ
				  */
	uint64_t rank_samples;   /* samples that each rank reads per epoch */
	uint64_t steps;          /* steps per epoch, the same for every rank */
	/* pages, chunks: extents of a run, runs of a window. */
	uint64_t run_extents, window_runs;
	/* weighted: the distribution of weights, owned by the job; weights above weight_most are
	 * cut. */
	struct dist weights;
	double weight_most;
	/* shuffle=importance: the order of the current epoch. NULL = no order has been drawn, and
	 * all weights are equal. */
	const struct importance *importance;
	/* cache_hits_first: the order of the current epoch. NULL = off. */
	const struct hitsfirst *hits_first;
	bool is_uneven;      /* the order of files matters, and they differ in extents */
	bool extents_differ; /* extents have different numbers of samples */
	bool is_whole;       /* an epoch reads every extent exactly once */
};

/* The options of a job that sampler_init needs; an evaluation has options of its own. */
struct sampler_config {
	uint64_t ranks, batch, lanes, seed;
	struct variant shuffle; /* same as in struct job */
	int shard;
	bool drop_last;
	bool is_eval; /* selects the names of options in messages */
};

/* The ranks from `first` up to, but not including, `end`. */
struct sampler_ranks {
	uint64_t first, end;
};

/* The round of files that was accessed last. Extents of lanes beyond SAMPLER_ROUND_LANES are looked
 * up each time. */
#define SAMPLER_ROUND_LANES 32
struct sampler_round {
	bool is_known;
	uint64_t rank, number, start, end;
	uint64_t extents[SAMPLER_ROUND_LANES];
};

/* The position that was accessed last. */
struct sampler_place {
	bool is_known;
	uint64_t rank, position, samples_before;
};

/* The window that was accessed last. */
struct sampler_window {
	bool is_known;
	uint64_t number, start;
	struct perm perm;
};

/* The order of one epoch; a private copy per thread. */
struct sampler_epoch {
	const struct sampler *sampler;
	struct perm perm;
	uint64_t drawn_seed; /* seed of an order that is drawn */
	uint64_t short_at;   /* place of the short run; UINT64_MAX = none */
	struct sampler_window window;
	struct sampler_round round;
	struct sampler_place place;
};

struct sampler_config sampler_config(const struct job *job, uint64_t ranks);
/* If orders are drawn at the barriers between epochs: return the ranks whose order this process
 * must know. These are its own accelerators or, with a cache shared by all hosts, all ranks,
 * because each process decides for the whole cache. */
struct sampler_ranks sampler_ranks_known(const struct job *job);
/* Return 0, or -EINVAL with err, for example if a rank gets no batch. */
int sampler_init(struct sampler *s, const struct sampler_config *cfg, const struct dataset *ds,
		 struct mlgen_err *err);
void sampler_epoch(struct sampler_epoch *e, const struct sampler *s, uint64_t epoch);

/* Return the id of the extent at a position of a rank's order. */
uint64_t sampler_at(struct sampler_epoch *e, uint64_t rank, uint64_t position);

/* Return the number of samples before a position in a rank's epoch. */
uint64_t sampler_samples_before(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* Is the extent at this position read in the epoch? */
bool sampler_has(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* Return the batch that a position belongs to. */
uint64_t sampler_batch_of(struct sampler_epoch *e, uint64_t rank, uint64_t position);
/* Return the first position of a batch; for batch `steps`, the end of the epoch. */
uint64_t sampler_batch_start(struct sampler_epoch *e, uint64_t rank, uint64_t step);
/* Return the number of positions in a rank's epoch. */
uint64_t sampler_extents(struct sampler_epoch *e, uint64_t rank);

/* A position with lanes: an extent of one of the rank's files. `lanes` files are read in parallel
 * at that point. */
struct sampler_lane {
	uint64_t file, extent, lanes;
};
struct sampler_lane sampler_lane_at(struct sampler_epoch *e, uint64_t rank, uint64_t position);

/* Return the position of extent `extent` of the rank's `file`-th file, with lanes. sampler_has
 * tells whether it is read. */
uint64_t sampler_lane_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
			       uint64_t extent);

/* Is any extent of this file read in the epoch, with lanes? If files are uneven, a rank may read
 * more than rank_files: file numbers beyond that start over with its first file. */
bool sampler_has_file(struct sampler_epoch *e, uint64_t rank, uint64_t file);
/* Return the number of extents of the rank's `file`-th file. */
uint64_t sampler_file_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file);

/* Return the weight of an extent with shuffle=weighted. */
double sampler_weight(const struct sampler *s, uint64_t extent);

/* Return the number of samples in a rank's epoch. */
uint64_t sampler_rank_samples(const struct sampler *s);

/* Return the number of samples in batch `step` (< steps): `batch`, or fewer in the last batch. */
uint64_t sampler_batch_samples(const struct sampler *s, uint64_t step);

/* ---- Order by the losses of samples: shuffle=importance ---- */

/*
 * The rules of SHADE (R. I. S. Khan et al., FAST '23), as its code implements them except for the
 * numbering of batches. The order of an epoch is drawn with replacement, by weights that follow
 * from the losses of earlier epochs. Losses are simulated: a sample's difficulty, drawn once, times
 * a decay over the epochs so far.
 *
 * All ranks share the weights, and each draws its own order. A process therefore draws for its own
 * ranks alone, but must be informed of every rank's batches.
 *
 * Memory: at most 16 bytes per extent in each process. Written only at the epoch's barrier
 * (importance_trained, importance_draw) by one thread; read by all threads between two barriers.
 */
struct importance;

struct importance_config {
	uint64_t extents, rank_extents; /* total, and per rank and epoch */
	struct sampler_ranks known;     /* ranks whose order is drawn here */
	uint64_t seed;
	bool is_aggressive; /* PADS */
	double rep;         /* number of repetitions of a hit, with hits_first */
	bool hits_first;
	struct dist difficulty, decay;
};

/* Make the configuration from a job and the sampler of its training. */
struct importance_config importance_config(const struct job *job, const struct sampler *sampler);

/* Is the extent in the rank's cache? The callback itself is NULL if there is no cache. */
typedef bool importance_cached_fn(const void *cache, uint64_t rank, uint64_t extent);

int importance_new(struct importance **out, const struct importance_config *cfg,
		   struct mlgen_err *err);
void importance_free(struct importance *im); /* NULL is fine */
uint64_t importance_state_bytes(const struct importance_config *cfg);

/* Draw the order of an epoch (from 0) by the losses of the epochs before. */
void importance_draw(struct importance *im, uint64_t epoch, importance_cached_fn *has,
		     const void *cache);

/* Return the extent at a position in the epoch drawn last. The rank must be one of cfg.known. */
uint64_t importance_at(const struct importance *im, uint64_t rank, uint64_t position);

/* Turn the losses of a batch into weights. Call for the batches of all ranks, not only the known
 * ones, in the order of the plan. */
void importance_trained(struct importance *im, uint64_t epoch, const uint64_t *extents,
			unsigned count);

/* Return the weight of an extent in the current epoch. */
double importance_weight(const struct importance *im, uint64_t extent);

/* ---- Order with cached extents first (cache_hits_first) ---- */

/*
 * SHADE applies this to every batch order (R. I. S. Khan et al., FAST '23). The extents of a rank's
 * epoch that are cached when it begins come first, then the others, both in their previous order.
 * So no cached extent is evicted before it is hit.
 *
 * Memory: 4 bytes for each access that the known ranks make in an epoch. Written only at the
 * epoch's barrier (hitsfirst_draw) by one thread; read by all threads between two barriers.
 */
struct hitsfirst;

/* Make the state for a sampler, which is copied and whose order is rearranged. */
struct hitsfirst *hitsfirst_new(const struct sampler *s, struct sampler_ranks known);
void hitsfirst_free(struct hitsfirst *h); /* NULL is fine */
uint64_t hitsfirst_state_bytes(const struct sampler *s, struct sampler_ranks known);

/* Rearrange the order of an epoch (from 0) by the present content of the cache. */
void hitsfirst_draw(struct hitsfirst *h, uint64_t epoch, importance_cached_fn *has,
		    const void *cache);

/* Return the extent at a position of a known rank in the epoch drawn last. */
uint64_t hitsfirst_at(const struct hitsfirst *h, uint64_t rank, uint64_t position);

/* ---- Walk over the accesses of an epoch in the order of the plan ---- */

/*
 * Accesses of different ranks at the same time have no fixed order in a run. In the order of the
 * plan, the first batches of all ranks come before the second batch of any rank. Decisions that
 * follow this order are the same in each run.
 */
struct orderwalk_at {
	uint64_t rank, step, position;
	uint64_t extent; /* extent id */
};

struct orderwalk {
	const struct sampler *sampler;
	uint64_t first_rank, end_rank; /* walk only these ranks */
	/* Position within the current batch, and its end. */
	uint64_t rank, step, position, end;
	/* The epoch of each rank. If extents differ, it caches how far the rank has come. */
	struct sampler_epoch *orders;
};

/* Go to the beginning of an epoch (from 0). Overwrites `w` without freeing its content. */
void orderwalk_begin(struct orderwalk *w, const struct sampler *s, uint64_t first_rank,
		     uint64_t end_rank, uint64_t epoch);

/* Get the next access. Returns false at the end of the epoch. */
bool orderwalk_next(struct orderwalk *w, struct orderwalk_at *at);

/* Free the walk at any time after orderwalk_begin; a zeroed struct is fine. */
void orderwalk_end(struct orderwalk *w);
