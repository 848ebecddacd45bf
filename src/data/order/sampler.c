/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the order of an epoch, and each rank's part of it. */
#include "data/order/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dist.h"
#include "base/util.h"

/* ---- extents with different numbers of samples: the samples before a position ---- */

/*
 * No formula gives the number of samples before a position of a permutation: all extents before it
 * must be added. The position accessed last is therefore kept, since readers mostly continue from
 * there.
 */

static uint64_t samples_here(struct sampler_epoch *e)
{
	struct extent x;

	dataset_extent(e->sampler->dataset, sampler_at(e, e->place.rank, e->place.position), &x);
	return x.samples;
}

static void step_forward(struct sampler_epoch *e)
{
	e->place.samples_before += samples_here(e);
	e->place.position++;
}

static void step_back(struct sampler_epoch *e)
{
	e->place.position--;
	e->place.samples_before -= samples_here(e);
}

static struct sampler_place *place_of(struct sampler_epoch *e, uint64_t rank)
{
	if (!e->place.is_known || e->place.rank != rank)
		e->place = (struct sampler_place){ .is_known = true, .rank = rank };
	return &e->place;
}

/* sampler_samples_before if extents_differ. sampler_sized_position is the inverse: the first
 * position that has this many samples before it. */
static uint64_t sampler_sized_before(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	struct sampler_place *p = place_of(e, rank);

	while (p->position < position)
		step_forward(e);
	while (p->position > position)
		step_back(e);
	return p->samples_before;
}

/* ---- ordered files with different numbers of samples ---- */

/*
 * Files are read in rounds of `lanes` files in parallel (without lanes, of one file). A rank whose
 * files are used up before its epoch ends starts over with its first round. The last round of a
 * pass over the files may have fewer files; the missing ones are treated as files without samples.
 * The start of a file thus follows from the files before it. The round accessed last is kept:
 * readers continue from there, at most one round further.
 */

static bool sampler_shards_files(const struct sampler *s)
{
	return s->lanes || s->shard == SHARD_FILE;
}

static uint64_t round_width(const struct sampler *s)
{
	return s->lanes ? s->lanes : 1;
}

/* The rank's n-th file in the order of the files. */
static uint64_t sampler_file_index(const struct sampler *s, uint64_t rank, uint64_t n)
{
	uint64_t files = s->dataset->files;
	uint64_t at = s->shard == SHARD_CONTIGUOUS ? rank * s->rank_files + n : n * s->ranks + rank;

	assert(files > 0);
	return at < files ? at : at % files;
}

/* Index of a rank's file in the dataset; the dataset's number of files if the file is missing. */
static uint64_t file_at(const struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	const struct sampler *s = e->sampler;
	uint64_t files = sampler_shards_files(s) ? s->rank_files : s->dataset->files;

	file %= u64_max(round_up(files, round_width(s)), 1);
	if (file >= files)
		return s->dataset->files;
	if (sampler_shards_files(s))
		file = sampler_file_index(s, rank, file);
	return s->shuffle == SHUFFLE_FILE ? perm_at(&e->perm, file) : file;
}

static uint64_t sampler_uneven_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	const struct dataset *ds = e->sampler->dataset;
	uint64_t at = file_at(e, rank, file);

	return at < ds->files ? dataset_first_extent(ds, at + 1) - dataset_first_extent(ds, at) : 0;
}

/* Number of extents in a lane of the current round. */
static uint64_t lane_extents(const struct sampler_epoch *e, uint64_t lane)
{
	const struct sampler_round *r = &e->round;

	return lane < SAMPLER_ROUND_LANES
		       ? r->extents[lane]
		       : sampler_uneven_extents(e, r->rank,
						r->number * round_width(e->sampler) + lane);
}

static void go_to_round(struct sampler_epoch *e, uint64_t number)
{
	uint64_t width = round_width(e->sampler);

	e->round.number = number;
	for (uint64_t i = 0; i < width && i < SAMPLER_ROUND_LANES; i++)
		e->round.extents[i] = sampler_uneven_extents(e, e->round.rank, number * width + i);
	e->round.end = e->round.start;
	for (uint64_t i = 0; i < width; i++)
		e->round.end += lane_extents(e, i);
}

static void next_round(struct sampler_epoch *e)
{
	e->round.start = e->round.end;
	go_to_round(e, e->round.number + 1);
}

static void previous_round(struct sampler_epoch *e)
{
	uint64_t start = e->round.start;

	e->round.start = 0;
	go_to_round(e, e->round.number - 1);
	e->round.start = start - e->round.end;
	e->round.end = start;
}

static void go_to_rank(struct sampler_epoch *e, uint64_t rank)
{
	if (e->round.is_known && e->round.rank == rank)
		return;
	e->round = (struct sampler_round){ .is_known = true, .rank = rank };
	go_to_round(e, 0);
}

/* Number of extents in the first `row` rows of the current round; a row has an extent of each lane
 * that is not used up. */
static uint64_t row_start(const struct sampler_epoch *e, uint64_t row)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < round_width(e->sampler); i++)
		sum += u64_min(lane_extents(e, i), row);
	return sum;
}

/* If is_uneven, the following functions replace sampler_lane_at, sampler_lane_position and
 * sampler_at. */
static struct sampler_lane sampler_uneven_at(struct sampler_epoch *e, uint64_t rank,
					     uint64_t position)
{
	uint64_t width = round_width(e->sampler), lane = 0, at;
	struct sampler_lane found = { .lanes = width };

	go_to_rank(e, rank);
	while (position >= e->round.end)
		next_round(e);
	while (position < e->round.start)
		previous_round(e);
	at = position - e->round.start;
	/* The last row that begins at `at` or before it. */
	found.extent = width == 1 ? at : BISECT(row, 1, at + 1, row_start(e, row) > at) - 1;
	at -= width == 1 ? at : row_start(e, found.extent);
	/* Within the row, skip lanes that are used up and then `at` others. */
	while (lane_extents(e, lane) <= found.extent || at-- > 0)
		lane++;
	found.file = e->round.number * width + lane;
	return found;
}

static uint64_t sampler_uneven_id(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	struct sampler_lane lane = sampler_uneven_at(e, rank, position);

	return dataset_first_extent(e->sampler->dataset, file_at(e, rank, lane.file)) + lane.extent;
}

/* ---- extents drawn with replacement, with equal or individual weights ---- */

/*
 * shuffle=replacement and weighted. Each position is drawn independently. Weighted draws use
 * rejection sampling: extents are drawn with equal probability and accepted in proportion to their
 * weight. The order needs no memory, and the mean number of draws is the largest weight over the
 * mean weight.
 */

/* Limit for the mean number of draws; more are too slow (1000 take some 20 us a sample). */
#define MAX_DRAWS 1000

/* Weights are cut at a limit that on average one extent in this many data sets exceeds. */
#define CUT_ONE_IN 64

static uint64_t any_extent(const struct sampler *s, uint64_t bits)
{
	return (uint64_t)(((unsigned __int128)bits * s->extents) >> 64);
}

/* Return -EINVAL with err if the weights are too uneven. `weights` is borrowed by the sampler. */
static int sampler_weights_init(struct sampler *s, const struct dist *weights,
				struct mlgen_err *err)
{
	double mean = dist_mean(weights);
	double p = 1.0 / (CUT_ONE_IN * (double)s->extents);

	s->weights = *weights;
	s->weight_most = dist_is_const(weights) ? mean : dist_quantile(weights, 1 - p);
	if (s->weight_most <= MAX_DRAWS * mean)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"shuffle: weights up to %.0f times their mean are too uneven for this number of "
		"samples; at most %d times is possible; use a narrower distribution",
		s->weight_most / mean, MAX_DRAWS);
}

double sampler_weight(const struct sampler *s, uint64_t extent)
{
	double weight = dist_draw_number(&s->weights, s->seed, RNG_WEIGHT, extent);

	return weight < s->weight_most ? weight : s->weight_most;
}

static uint64_t sampler_drawn_at(const struct sampler_epoch *e, uint64_t at)
{
	const struct sampler *s = e->sampler;
	uint64_t bits = rng_u64(e->drawn_seed, RNG_REPLACEMENT, at);

	if (s->shuffle != SHUFFLE_WEIGHTED)
		return any_extent(s, bits);
	for (uint64_t n = 0;; n += 2) {
		uint64_t extent = any_extent(s, rng_u64(bits, RNG_WEIGHTED, n));

		if (rng_f64(bits, RNG_WEIGHTED, n + 1) * s->weight_most <=
		    sampler_weight(s, extent))
			return extent;
	}
}

/* ---- shuffled runs of neighbours, whose extents are shuffled in windows ---- */

/*
 * shuffle=pages and chunks. Runs of run_extents extents are shuffled; the last, shorter run stands
 * at a random place among them. window_runs runs form a window, and the extents within a window are
 * shuffled again. Everything follows from formulas, since the place of the short run is known and
 * all other runs have the same length.
 *
 * FFCV draws from a sliding buffer of pages instead (libffcv/ffcv
 * traversal_order/quasi_random.py); here the pages of a window enter and leave together.
 */

static uint64_t whole_runs(const struct sampler *s)
{
	return s->extents / s->run_extents;
}

static uint64_t short_extents(const struct sampler *s)
{
	return s->extents % s->run_extents;
}

/* Number of extents that the short run lacks; 0 = all runs are full. */
static uint64_t lack(const struct sampler *s)
{
	return short_extents(s) ? s->run_extents - short_extents(s) : 0;
}

/* Position at which a window begins in the order. */
static uint64_t window_start(const struct sampler_epoch *e, uint64_t window)
{
	const struct sampler *s = e->sampler;
	uint64_t runs = window * s->window_runs;

	return u64_min(runs * s->run_extents - (runs > e->short_at ? lack(s) : 0), s->extents);
}

static uint64_t sampler_runs_at(struct sampler_epoch *e, uint64_t at)
{
	const struct sampler *s = e->sampler;
	uint64_t window = at / (s->run_extents * s->window_runs), place, run;
	struct sampler_window *w = &e->window;

	/* Windows after the short run begin earlier than the division assumes. */
	window += at >= window_start(e, window + 1);
	if (!w->is_known || w->number != window) {
		w->is_known = true;
		w->number = window;
		w->start = window_start(e, window);
		/* Number 0 is used for the place of the short run. */
		perm_init(&w->perm, window_start(e, window + 1) - w->start, e->drawn_seed,
			  window + 1);
	}
	/* The position if only the runs were shuffled, and the extent there. */
	at = w->start + perm_at(&w->perm, at - w->start);
	if (e->short_at != UINT64_MAX && at >= e->short_at * s->run_extents + short_extents(s))
		at += lack(s);
	place = at / s->run_extents;
	run = place == e->short_at ? whole_runs(s)
				   : perm_at(&e->perm, place - (place > e->short_at));
	return run * s->run_extents + at % s->run_extents;
}

/* ---- samplers ---- */

static uint64_t at_file(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;

	if (s->shuffle == SHUFFLE_SAMPLE)
		position = perm_at(&e->perm, position);
	uint64_t file = position / s->file_extents;
	uint64_t extent = position % s->file_extents;
	if (s->lanes) {
		struct sampler_lane lane = sampler_lane_at(e, rank, position);

		file = lane.file;
		extent = lane.extent;
	}
	file = sampler_file_index(s, rank, file);
	if (s->shuffle == SHUFFLE_FILE)
		file = perm_at(&e->perm, file);
	return file * s->file_extents + extent;
}

static const char *prefix(const struct sampler *s)
{
	return s->is_eval ? "eval_" : "";
}

static const char *files_option(const struct sampler *s)
{
	return s->is_eval ? "eval_files" : "num_files";
}

/* Refuse orders that the files of the dataset do not permit. */
static int check_files(const struct sampler *s, struct mlgen_err *err)
{
	if (sampler_shards_files(s) && s->ranks > s->dataset->files)
		return mlgen_fail(err, -EINVAL,
				  "accelerators: %" PRIu64 " are more than the %" PRIu64
				  " files of the %s, but each accelerator needs whole files; use "
				  "more %s, or shard=strided%s",
				  s->ranks, s->dataset->files,
				  s->is_eval ? "evaluation" : "dataset", files_option(s),
				  s->lanes ? " with loader=pytorch" : "");
	/* A position would lie anywhere in the files: finding it would need a pass over all. */
	if (s->is_uneven && s->shuffle == SHUFFLE_SAMPLE)
		return mlgen_fail(
			err, -EINVAL,
			"%sshuffle: sample, where each accelerator has whole files (%s), needs %s "
			"with equal numbers of samples, but they differ in %s; use shuffle=file%s",
			prefix(s), s->lanes ? "loader=tfdata" : "shard=file",
			s->extents_differ ? "row groups" : "files", s->dataset->directory,
			s->lanes ? "" : ", or shard=strided");
	/* Positions and batches would depend on an order that is not drawn yet. */
	if (s->extents_differ && s->shuffle == SHUFFLE_IMPORTANCE)
		return mlgen_fail(
			err, -EINVAL,
			"shuffle: importance draws whole row groups, but the row groups of %s have "
			"different numbers of samples; use shuffle=weighted or replacement",
			s->dataset->directory);
	return 0;
}

static uint64_t share_of(const struct sampler *s, uint64_t all)
{
	return s->drop_last ? all / s->ranks : divide_up(all, s->ranks);
}

/* Files that are copies of others still count as extents of their own. */
static bool is_whole(const struct sampler *s, uint64_t samples)
{
	if (shuffle_repeats((int)s->shuffle))
		return false;
	if (s->drop_last && s->steps * s->batch != samples)
		return false;
	if (s->extents_differ)
		return s->ranks == 1 && !s->dataset->distinct_files;
	return s->rank_extents * s->ranks == s->extents &&
	       !(s->is_uneven && sampler_shards_files(s) && s->ranks > 1);
}

static int cut_batches(struct sampler *s, struct mlgen_err *err)
{
	uint64_t files = s->dataset->files;
	uint64_t extents = share_of(s, s->extents), samples;

	if (sampler_shards_files(s)) {
		s->rank_files = s->drop_last && !s->is_uneven ? files / s->ranks
							      : divide_up(files, s->ranks);
		if (!s->is_uneven)
			extents = s->rank_files * s->file_extents;
	}
	samples = s->extents_differ ? share_of(s, dataset_samples(s->dataset))
				    : extents * s->extent_samples;
	if (samples < s->batch && (!samples || s->drop_last))
		return mlgen_fail(err, -EINVAL,
				  "%sbatch_size: %" PRIu64 " is more than the %" PRIu64
				  " samples of one accelerator's shard (%" PRIu64
				  " file%s, %" PRIu64 " accelerator%s); use more %s, a smaller "
				  "%sbatch_size or fewer accelerators",
				  prefix(s), s->batch, samples, s->dataset->files,
				  s->dataset->files == 1 ? "" : "s", s->ranks,
				  s->ranks == 1 ? "" : "s", files_option(s), prefix(s));
	s->rank_extents = extents;
	s->rank_samples = samples;
	s->steps = divide_up(samples, s->batch);
	if (s->drop_last) {
		s->steps = samples / s->batch;
		s->rank_samples = s->steps * s->batch;
	}
	if (s->drop_last && !s->extents_differ)
		s->rank_extents = divide_up(s->rank_samples, s->extent_samples);
	s->is_whole = is_whole(s, samples);
	return 0;
}

struct sampler_config sampler_config(const struct job *job, uint64_t ranks)
{
	return (struct sampler_config){
		.ranks = ranks,
		.batch = job->batch_size,
		.lanes = job->loader == LOADER_TFDATA ? job->read_threads : 0,
		.seed = job->randseed,
		.shuffle = job->shuffle,
		.shard = job->shard,
		.drop_last = job->drop_last,
	};
}

struct sampler_ranks sampler_ranks_known(const struct job *job)
{
	uint64_t all = job_all_accelerators(job);

	if (job->cache != CACHE_NONE && job->cache_scope == CACHE_SCOPE_ALL)
		return (struct sampler_ranks){ 0, all };
	return (struct sampler_ranks){
		job->accelerators_before,
		job->accelerators_before + job->accelerators,
	};
}

/* A run has at least one extent and at most all. FFCV's loader buffers pages for two batches. */
static void init_runs(struct sampler *s, const struct variant *how)
{
	double samples = (double)how->number;
	double bytes = dataset_mean_file_bytes(s->dataset) * (double)s->dataset->files;
	uint64_t runs = how->second;

	if (how->kind != SHUFFLE_PAGES && how->kind != SHUFFLE_CHUNKS)
		return;
	if (how->kind == SHUFFLE_PAGES)
		samples /= bytes / (double)dataset_samples(s->dataset);
	if (!runs)
		runs = how->kind == SHUFFLE_PAGES ? 2 * s->batch : 1;
	samples = fmin(samples, (double)s->extents * (double)s->extent_samples);
	s->run_extents = u64_max((uint64_t)(samples / (double)s->extent_samples + 0.5), 1);
	s->window_runs = u64_min(runs, s->extents / s->run_extents + 1);
}

int sampler_init(struct sampler *s, const struct sampler_config *cfg, const struct dataset *ds,
		 struct mlgen_err *err)
{
	*s = (struct sampler){
		.dataset = ds,
		/* shuffle=buffer changes the order of delivery, not of reading. */
		.shuffle = cfg->shuffle.kind == SHUFFLE_BUFFER
				   ? SHUFFLE_NONE
				   : (enum job_shuffle)cfg->shuffle.kind,
		.shard = (enum job_shard)cfg->shard,
		.drop_last = cfg->drop_last,
		.is_eval = cfg->is_eval,
		.seed = cfg->seed,
		.extents = dataset_extents(ds),
		.ranks = cfg->ranks,
		.batch = cfg->batch,
		.extent_samples = ds->extent_samples,
		.file_extents = dataset_max_samples(ds) / ds->extent_samples,
		.lanes = cfg->lanes,
		.extents_differ = ds->extents_differ,
	};
	s->is_uneven = (dataset_equal_samples(ds) == 0 || s->extents_differ) &&
		       (sampler_shards_files(s) || s->shuffle == SHUFFLE_FILE);
	init_runs(s, &cfg->shuffle);
	int r = check_files(s, err);
	if (r == 0 && s->shuffle == SHUFFLE_WEIGHTED)
		r = sampler_weights_init(s, &cfg->shuffle.dist, err);
	return r ? r : cut_batches(s, err);
}

void sampler_epoch(struct sampler_epoch *e, const struct sampler *s, uint64_t epoch)
{
	uint64_t n = s->extents;

	memset(e, 0, sizeof(*e));
	e->sampler = s;
	if (s->shuffle == SHUFFLE_FILE)
		n = s->dataset->files;
	else if (sampler_shards_files(s))
		n = s->rank_files * s->file_extents;
	if (s->run_extents) {
		perm_init(&e->perm, whole_runs(s), s->seed, epoch);
		e->drawn_seed = rng_u64(s->seed, RNG_RUNS, epoch);
		e->short_at = short_extents(s)
				      ? rng_u64(e->drawn_seed, RNG_RUNS, 0) % (whole_runs(s) + 1)
				      : UINT64_MAX;
	} else if (shuffle_repeats((int)s->shuffle)) {
		e->drawn_seed = rng_u64(s->seed, RNG_REPLACEMENT, epoch);
	} else if (s->shuffle != SHUFFLE_NONE) {
		perm_init(&e->perm, n, s->seed, epoch);
	}
}

uint64_t sampler_at(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;
	uint64_t at;

	if (s->hits_first)
		return hitsfirst_at(s->hits_first, rank, position);
	if (sampler_shards_files(s))
		return s->is_uneven ? sampler_uneven_id(e, rank, position)
				    : at_file(e, rank, position);

	/* Index of the rank's position in the order of the epoch. */
	if (s->shard == SHARD_STRIDED)
		at = position * s->ranks + rank;
	else if (s->drop_last) /* shards of floor or ceil(N / ranks) */
		at = rank * (s->extents / s->ranks) + u64_min(rank, s->extents % s->ranks) +
		     position;
	else
		at = rank * s->rank_extents + position;
	/* Padding repeats the order from its start. */
	at = at < s->extents ? at : at % s->extents;

	if (s->is_uneven)
		return sampler_uneven_id(e, 0, at);
	if (s->run_extents)
		return sampler_runs_at(e, at);
	if (s->importance)
		return importance_at(s->importance, rank, position);
	if (shuffle_repeats((int)s->shuffle))
		return sampler_drawn_at(e, at);
	if (s->shuffle == SHUFFLE_SAMPLE)
		return perm_at(&e->perm, at);
	if (s->shuffle == SHUFFLE_FILE)
		return perm_at(&e->perm, at / s->file_extents) * s->file_extents +
		       at % s->file_extents;
	return at;
}

uint64_t sampler_samples_before(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	return e->sampler->extents_differ ? sampler_sized_before(e, rank, position)
					  : position * e->sampler->extent_samples;
}

bool sampler_has(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;

	return s->extents_differ ? sampler_sized_before(e, rank, position) < s->rank_samples
				 : position < s->rank_extents;
}

uint64_t sampler_batch_of(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	return sampler_samples_before(e, rank, position) / e->sampler->batch;
}

uint64_t sampler_batch_start(struct sampler_epoch *e, uint64_t rank, uint64_t step)
{
	const struct sampler *s = e->sampler;
	uint64_t samples = u64_min(step * s->batch, s->rank_samples);

	if (!s->extents_differ)
		return divide_up(samples, s->extent_samples);
	struct sampler_place *p = place_of(e, rank);
	while (p->position > 0 && p->samples_before >= samples)
		step_back(e);
	while (p->samples_before < samples)
		step_forward(e);
	return p->position;
}

uint64_t sampler_extents(struct sampler_epoch *e, uint64_t rank)
{
	return sampler_batch_start(e, rank, e->sampler->steps);
}

/* The inverse of tf.data's interleave; the last round may have fewer files. */
struct sampler_lane sampler_lane_at(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;

	if (s->is_uneven)
		return sampler_uneven_at(e, rank, position);

	uint64_t round_extents = s->lanes * s->file_extents;
	uint64_t round = position / round_extents;
	uint64_t left = s->rank_files - round * s->lanes;
	uint64_t lanes = u64_min(left, s->lanes);
	uint64_t at = position % round_extents;

	return (struct sampler_lane){ .file = round * s->lanes + at % lanes,
				      .extent = at / lanes,
				      .lanes = lanes };
}

uint64_t sampler_lane_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
			       uint64_t extent)
{
	const struct sampler *s = e->sampler;

	if (s->is_uneven) {
		uint64_t width = round_width(e->sampler), number = file / width, at;

		go_to_rank(e, rank);
		while (e->round.number < number)
			next_round(e);
		while (e->round.number > number)
			previous_round(e);
		at = e->round.start + row_start(e, extent);
		for (uint64_t i = 0; i < file % width; i++)
			at += lane_extents(e, i) > extent;
		return at;
	}

	uint64_t round = file / s->lanes;
	uint64_t left = s->rank_files - round * s->lanes;
	uint64_t lanes = u64_min(left, s->lanes);

	return round * s->lanes * s->file_extents + extent * lanes + file % s->lanes;
}

bool sampler_has_file(struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	const struct sampler *s = e->sampler;

	return (s->is_uneven || file < s->rank_files) &&
	       sampler_has(e, rank, sampler_lane_position(e, rank, file, 0));
}

uint64_t sampler_file_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file)
{
	return e->sampler->is_uneven ? sampler_uneven_extents(e, rank, file)
				     : e->sampler->file_extents;
}

uint64_t sampler_rank_samples(const struct sampler *s)
{
	return s->rank_samples;
}

uint64_t sampler_batch_samples(const struct sampler *s, uint64_t step)
{
	return u64_min(s->rank_samples - step * s->batch, s->batch);
}
