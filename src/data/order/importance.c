/* SPDX-License-Identifier: Apache-2.0 */
/* importance.c - an order by the losses of samples: shuffle=importance. */
#include "data/order/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/dist.h"
#include "base/mem.h"
#include "base/util.h"

/*
 * Constants of SHADE's code (R-I-S-Khan/SHADE shade_utils/shadesampler.py and
 * benchmarks/bench_cifar10.py, commit b20454d): the sample at rank k of its batch, by loss, has the
 * weight ln(k + 10); in addition, all weights increase by a hundredth of the mean loss.
 */
#define RANK_OFFSET 10.0
#define SMOOTHING_PART 0.01

/* Limit of extents, since the tables have 32-bit numbers. */
#define MAX_EXTENTS UINT32_MAX

struct loss {
	double loss;
	uint32_t extent;
};

struct importance {
	struct importance_config cfg;
	float *weight;
	uint32_t *order;   /* rank_extents entries for each known rank */
	uint32_t *scratch; /* draw of one rank: hits, then misses */
	uint8_t *times;    /* number of draws of each extent */
	/* Losses of the current batch. */
	struct loss *batch;
	size_t batch_room;
	/* The current epoch: decay of the losses, and their sum and count. */
	double decay, loss_sum, loss_count;
	/* Addend of all weights, and the mean loss of the epoch before. */
	double smoothing, mean_before;
};

struct importance_config importance_config(const struct job *job, const struct sampler *sampler)
{
	return (struct importance_config){
		.extents = sampler->extents,
		.rank_extents = sampler->rank_extents,
		.known = sampler_ranks_known(job),
		.seed = sampler->seed,
		.is_aggressive = job->importance_mode == IMPORTANCE_AGGRESSIVE,
		.rep = job->importance_rep,
		.hits_first = true,
		.difficulty = job->importance_difficulty,
		.decay = job->importance_decay,
	};
}

static uint64_t order_extents(const struct importance_config *c)
{
	return (c->known.end - c->known.first) * c->rank_extents;
}

/* Index of a rank's order in im->order. */
static uint64_t order_start(const struct importance_config *c, uint64_t rank)
{
	assert(rank >= c->known.first && rank < c->known.end);
	return (rank - c->known.first) * c->rank_extents;
}

uint64_t importance_state_bytes(const struct importance_config *cfg)
{
	return sizeof(struct importance) + cfg->extents * (sizeof(float) + sizeof(uint8_t)) +
	       (order_extents(cfg) + cfg->rank_extents) * sizeof(uint32_t);
}

int importance_new(struct importance **out, const struct importance_config *cfg,
		   struct mlgen_err *err)
{
	*out = NULL;
	if (cfg->extents > MAX_EXTENTS)
		return mlgen_fail(err, -EINVAL,
				  "shuffle: importance keeps the weights of up to %" PRIu32
				  " samples, not of %" PRIu64
				  "; use shuffle=weighted, which keeps no weights",
				  MAX_EXTENTS, cfg->extents);
	struct importance *im = mem_zalloc(sizeof(*im));
	im->cfg = *cfg;
	im->weight = mem_array(cfg->extents, sizeof(*im->weight));
	im->times = mem_array(cfg->extents, sizeof(*im->times));
	im->order = mem_array(order_extents(cfg), sizeof(*im->order));
	im->scratch = mem_array(cfg->rank_extents, sizeof(*im->scratch));
	for (uint64_t i = 0; i < cfg->extents; i++)
		im->weight[i] = 1;
	*out = im;
	return 0;
}

void importance_free(struct importance *im)
{
	if (!im)
		return;
	mem_free(im->weight);
	mem_free(im->times);
	mem_free(im->order);
	mem_free(im->scratch);
	mem_free(im->batch);
	mem_free(im);
}

double importance_weight(const struct importance *im, uint64_t extent)
{
	return (double)im->weight[extent] + im->smoothing;
}

uint64_t importance_at(const struct importance *im, uint64_t rank, uint64_t position)
{
	assert(position < im->cfg.rank_extents);
	return im->order[order_start(&im->cfg, rank) + position];
}

/* ---- draw of an epoch ---- */

/*
 * Sorted uniform numbers can be generated as partial sums of exponential numbers, divided by the
 * total of one number more than there are draws. A draw is then one pass over the weights. The
 * exponential numbers are drawn twice, the first time for their total.
 */
static double spacing(uint64_t seed, uint64_t n)
{
	return -quantile_log(rng_f64(seed, RNG_IMPORTANCE, n));
}

/* Draw `draws` extents; im->times has how often each was drawn. */
static void draw_times(struct importance *im, uint64_t seed, uint64_t draws)
{
	double weights = 0, spacings = 0, scale, at, reached = 0;
	uint64_t n = 0, last = im->cfg.extents - 1;

	for (uint64_t i = 0; i < im->cfg.extents; i++)
		weights += importance_weight(im, i);
	for (uint64_t i = 0; i <= draws; i++)
		spacings += spacing(seed, i);
	scale = weights / spacings;
	at = spacing(seed, 0) * scale;
	for (uint64_t i = 0; i <= last; i++) {
		uint64_t before = n;

		reached += importance_weight(im, i);
		while (n < draws && (at < reached || i == last)) {
			n++;
			at += spacing(seed, n) * scale;
		}
		im->times[i] = (uint8_t)u64_min(n - before, UINT8_MAX);
	}
}

/* Append the extents that were drawn `times` times, each that often, to scratch, which has `n`
 * entries; stop at rank_extents. Returns the number of entries. */
static uint64_t append_times(struct importance *im, unsigned times, uint64_t n)
{
	uint64_t end = im->cfg.rank_extents;

	for (uint64_t i = 0; i < im->cfg.extents && n < end; i++) {
		if (im->times[i] != times)
			continue;
		for (unsigned k = 0; k < times && n < end; k++)
			im->scratch[n++] = (uint32_t)i;
	}
	return n;
}

/* PADS: draw as many times as there are extents, and keep the extents drawn most often. */
static uint64_t draw_aggressive(struct importance *im, uint64_t seed)
{
	unsigned times = 0;
	uint64_t n = 0;

	draw_times(im, seed, im->cfg.extents);
	for (uint64_t i = 0; i < im->cfg.extents; i++)
		times = im->times[i] > times ? im->times[i] : times;
	for (; times > 0; times--)
		n = append_times(im, times, n);
	return n;
}

static uint64_t draw_relaxed(struct importance *im, uint64_t seed)
{
	uint64_t n = 0;

	draw_times(im, seed, im->cfg.rank_extents);
	for (uint64_t i = 0; i < im->cfg.extents; i++)
		for (unsigned k = 0; k < im->times[i]; k++)
			im->scratch[n++] = (uint32_t)i;
	return n;
}

/* ---- order of the draw ---- */

/* Move the cached extents to the front of the draw. Returns their number. */
static uint64_t move_hits_first(struct importance *im, uint64_t rank, uint64_t count,
				importance_cached_fn *has, const void *cache)
{
	uint64_t hits = 0;

	if (!has || !im->cfg.hits_first)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t extent = im->scratch[i];

		if (!has(cache, rank, extent))
			continue;
		im->scratch[i] = im->scratch[hits];
		im->scratch[hits++] = extent;
	}
	return hits;
}

/* Write a rank's order: the hits, each repeated `rep` times, then as many misses as fit. A fraction
 * of 0.5 repeats the first half of the hits once more. Both parts are shuffled. */
static void write_order(struct importance *im, uint64_t rank, uint64_t hits, uint64_t seed)
{
	double whole = floor(im->cfg.rep);
	uint64_t copies = hits * (uint64_t)whole + (im->cfg.rep - whole >= 0.5 ? hits / 2 : 0);
	uint64_t all = im->cfg.rank_extents, first = u64_min(copies, all);
	uint32_t *order = &im->order[order_start(&im->cfg, rank)];
	struct perm p;

	assert(first == 0 || hits > 0);
	perm_init(&p, copies, rng_u64(seed, RNG_IMPORTANCE, 1), 0);
	for (uint64_t i = 0; i < first; i++)
		order[i] = im->scratch[perm_at(&p, i) % hits];
	if (first == all)
		return;
	perm_init(&p, all - hits, rng_u64(seed, RNG_IMPORTANCE, 2), 0);
	for (uint64_t i = first; i < all; i++)
		order[i] = im->scratch[hits + perm_at(&p, i - first)];
}

/* ---- losses ---- */

void importance_draw(struct importance *im, uint64_t epoch, importance_cached_fn *has,
		     const void *cache)
{
	uint64_t seed = rng_u64(im->cfg.seed, RNG_IMPORTANCE, epoch);

	if (im->loss_count > 0) {
		/* Update the addend of all weights from the mean loss of the epoch that ended. */
		double mean = im->loss_sum / im->loss_count;

		if (im->mean_before > 0)
			im->smoothing *= quantile_exp((mean - im->mean_before) / im->mean_before);
		else
			im->smoothing = mean * SMOOTHING_PART;
		im->mean_before = mean;
		im->loss_sum = im->loss_count = 0;
	}
	im->decay = 1;
	for (uint64_t e = 1; e < epoch; e++)
		im->decay *= dist_mean(&im->cfg.decay);
	for (uint64_t rank = im->cfg.known.first; rank < im->cfg.known.end; rank++) {
		uint64_t own = rng_u64(seed, RNG_IMPORTANCE, rank);
		uint64_t n = im->cfg.is_aggressive && epoch > 0 ? draw_aggressive(im, own)
								: draw_relaxed(im, own);

		assert(n == im->cfg.rank_extents);
		write_order(im, rank, move_hits_first(im, rank, n, has, cache), own);
	}
}

COMPARE_BY2(by_loss, struct loss, loss, extent)

void importance_trained(struct importance *im, uint64_t epoch, const uint64_t *extents,
			unsigned count)
{
	const struct importance_config *c = &im->cfg;

	im->batch = mem_grow(im->batch, &im->batch_room, count, sizeof(*im->batch));
	for (unsigned i = 0; i < count; i++) {
		/* The loss is the sample's difficulty at first, and decays after an epoch. */
		double loss = dist_draw_number(&c->difficulty, c->seed, RNG_DIFFICULTY, extents[i]);

		if (epoch > 0)
			loss = loss * im->decay *
			       dist_draw_number(&c->decay, rng_u64(c->seed, RNG_DECAY, epoch),
						RNG_DECAY, extents[i]);
		im->batch[i] = (struct loss){ loss, (uint32_t)extents[i] };
		im->loss_sum += im->batch[i].loss;
	}
	im->loss_count += count;
	qsort(im->batch, count, sizeof(*im->batch), by_loss);
	for (unsigned k = 0; k < count; k++)
		im->weight[im->batch[k].extent] = (float)quantile_log(k + RANK_OFFSET);
}
