/* SPDX-License-Identifier: Apache-2.0 */
/* importance.c - an order by what samples' losses were: shuffle=importance. */
#include "data/order/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/dist.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/util.h"

/*
 * Constants of SHADE's code (R-I-S-Khan/SHADE shade_utils/shadesampler.py and
 * benchmarks/bench_cifar10.py, commit b20454d): the sample at rank k of its batch, by loss, weighs
 * ln(k + 10), and all weigh a hundredth of the mean loss more.
 */
#define RANK_OFFSET 10.0
#define SMOOTHING_PART 0.01

/* Numbers of extents have 32 bits in what is kept. */
#define EXTENTS_MOST UINT32_MAX

struct loss {
	double loss;
	uint32_t extent;
};

struct importance {
	struct importance_config cfg;
	float *weight;
	uint32_t *order;   /* rank_extents of each known rank */
	uint32_t *scratch; /* of one rank's draw: hits, then misses */
	uint8_t *times;    /* an extent was drawn in it */
	/* Of the batch at hand. */
	struct loss *batch;
	size_t batch_room;
	/* Of the epoch that is trained: what is left of losses, and their sum. */
	double left, loss_sum, loss_count;
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

/* Where a rank's order begins. */
static uint64_t order_place(const struct importance_config *c, uint64_t rank)
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
	struct importance *im;

	*out = NULL;
	if (cfg->extents > EXTENTS_MOST)
		return mlgen_fail(err, -EINVAL,
				  "shuffle: importance keeps a weight of each of up to %" PRIu32
				  " samples, not of %" PRIu64
				  "; use shuffle=weighted, which keeps none",
				  EXTENTS_MOST, cfg->extents);
	im = mem_zalloc(sizeof(*im));
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
	return im->order[order_place(&im->cfg, rank) + position];
}

/* ---- a draw ---- */

/*
 * Sorted uniform numbers are sums of exponential ones over the sum of all, with one more than there
 * are draws; so a draw is one walk over the weights. The exponential numbers are drawn twice, the
 * first time for their sum.
 */
static double spacing(uint64_t seed, uint64_t n)
{
	return -quantile_log(rng_f64(seed, RNG_IMPORTANCE, n));
}

static double sum_of_spacings(uint64_t seed, uint64_t draws)
{
	double sum = 0;

	for (uint64_t n = 0; n <= draws; n++)
		sum += spacing(seed, n);
	return sum;
}

static double sum_of_weights(const struct importance *im)
{
	double sum = 0;

	for (uint64_t i = 0; i < im->cfg.extents; i++)
		sum += importance_weight(im, i);
	return sum;
}

/* How often each extent is among so many. */
static void draw_times(struct importance *im, uint64_t seed, uint64_t draws)
{
	double scale = sum_of_weights(im) / sum_of_spacings(seed, draws);
	double at = spacing(seed, 0) * scale, reached = 0;
	uint64_t n = 0, last = im->cfg.extents - 1;

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

/* The extents that were drawn `times` times, as often: until `most` stand there. Their number. */
static uint64_t take_times(struct importance *im, unsigned times, uint64_t n, uint64_t most)
{
	for (uint64_t i = 0; i < im->cfg.extents && n < most; i++) {
		if (im->times[i] != times)
			continue;
		for (unsigned k = 0; k < times && n < most; k++)
			im->scratch[n++] = (uint32_t)i;
	}
	return n;
}

static unsigned most_times(const struct importance *im)
{
	unsigned most = 0;

	for (uint64_t i = 0; i < im->cfg.extents; i++)
		most = im->times[i] > most ? im->times[i] : most;
	return most;
}

/* PADS: of as many draws as there are extents those drawn most often. */
static uint64_t take_aggressive(struct importance *im, uint64_t seed)
{
	uint64_t n = 0;

	draw_times(im, seed, im->cfg.extents);
	for (unsigned times = most_times(im); times > 0; times--)
		n = take_times(im, times, n, im->cfg.rank_extents);
	return n;
}

static uint64_t take_relaxed(struct importance *im, uint64_t seed)
{
	uint64_t n = 0;

	draw_times(im, seed, im->cfg.rank_extents);
	for (uint64_t i = 0; i < im->cfg.extents; i++)
		for (unsigned k = 0; k < im->times[i]; k++)
			im->scratch[n++] = (uint32_t)i;
	return n;
}

/* ---- its order ---- */

/* Those in the cache to the front; their number. */
static uint64_t part_hits(struct importance *im, uint64_t rank, uint64_t count, importance_has *has,
			  const void *cache)
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

/* `rep` times: the last time it may be the first half of them. */
static uint64_t repeated(const struct importance *im, uint64_t hits)
{
	double whole = floor(im->cfg.rep);
	uint64_t n = hits * (uint64_t)whole;

	return im->cfg.rep - whole >= 0.5 ? n + hits / 2 : n;
}

/* What is shuffled: `distinct` entries, one behind the other until there are `count`. */
struct shuffled {
	const uint32_t *from;
	uint64_t distinct, count;
};

/* The first `most` of them in any order; the end of what was put. */
static uint32_t *put_shuffled(uint32_t *to, const struct shuffled *s, uint64_t most, uint64_t seed)
{
	struct perm p;

	assert(s->distinct > 0 || most == 0);
	perm_init(&p, s->count, seed, 0);
	for (uint64_t k = 0; k < most; k++)
		*to++ = s->from[perm_at(&p, k) % s->distinct];
	return to;
}

/* Hits first, as often as they are repeated; misses while there is room. */
static void put_order(struct importance *im, uint64_t rank, uint64_t hits, uint64_t seed)
{
	uint64_t all = im->cfg.rank_extents, copies = repeated(im, hits);
	struct shuffled first = { im->scratch, hits, copies };
	struct shuffled rest = { im->scratch + hits, all - hits, all - hits };
	uint32_t *to = &im->order[order_place(&im->cfg, rank)];

	to = put_shuffled(to, &first, u64_min(copies, all), rng_u64(seed, RNG_IMPORTANCE, 1));
	if (copies < all)
		put_shuffled(to, &rest, all - copies, rng_u64(seed, RNG_IMPORTANCE, 2));
}

/* ---- losses ---- */

/* Behind the epoch: by how much all weigh more. */
static void smooth(struct importance *im)
{
	double mean = im->loss_sum / im->loss_count;

	if (im->mean_before > 0)
		im->smoothing *= quantile_exp((mean - im->mean_before) / im->mean_before);
	else
		im->smoothing = mean * SMOOTHING_PART;
	im->mean_before = mean;
	im->loss_sum = im->loss_count = 0;
}

void importance_draw(struct importance *im, uint64_t epoch, importance_has *has, const void *cache)
{
	uint64_t seed = rng_u64(im->cfg.seed, RNG_IMPORTANCE, epoch);

	if (im->loss_count > 0)
		smooth(im);
	im->left = 1;
	for (uint64_t e = 1; e < epoch; e++)
		im->left *= dist_mean(&im->cfg.decay);
	for (uint64_t rank = im->cfg.known.first; rank < im->cfg.known.end; rank++) {
		uint64_t own = rng_u64(seed, RNG_IMPORTANCE, rank);
		uint64_t n = im->cfg.is_aggressive && epoch > 0 ? take_aggressive(im, own)
								: take_relaxed(im, own);

		assert(n == im->cfg.rank_extents);
		put_order(im, rank, part_hits(im, rank, n, has, cache), own);
	}
}

/* In the first epoch it is the difficulty; from then on something is left. */
static double loss_of(const struct importance *im, uint64_t epoch, uint64_t extent)
{
	const struct importance_config *c = &im->cfg;
	double loss = dist_draw_number(&c->difficulty, c->seed, RNG_DIFFICULTY, extent);

	if (epoch == 0)
		return loss;
	return loss * im->left *
	       dist_draw_number(&c->decay, rng_u64(c->seed, RNG_DECAY, epoch), RNG_DECAY, extent);
}

COMPARE_BY2(by_loss, struct loss, loss, extent)

void importance_trained(struct importance *im, uint64_t epoch, const uint64_t *extents,
			unsigned count)
{
	im->batch = mem_grow(im->batch, &im->batch_room, count, sizeof(*im->batch));
	for (unsigned i = 0; i < count; i++) {
		im->batch[i] =
			(struct loss){ loss_of(im, epoch, extents[i]), (uint32_t)extents[i] };
		im->loss_sum += im->batch[i].loss;
	}
	im->loss_count += count;
	qsort(im->batch, count, sizeof(*im->batch), by_loss);
	for (unsigned k = 0; k < count; k++)
		im->weight[im->batch[k].extent] = (float)quantile_log(k + RANK_OFFSET);
}
