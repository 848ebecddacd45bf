/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - the order of an epoch and the part of each rank. */
#include "data/order/order_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "data/order/order.h"

/* drop_last: the first extent of a shard of floor or ceil(N / ranks). */
static uint64_t shard_start(const struct sampler *s, uint64_t rank)
{
	uint64_t rest = s->extents % s->ranks;

	return rank * (s->extents / s->ranks) + (rank < rest ? rank : rest);
}

/* Where in the order of the epoch a rank's position lies. */
static uint64_t order_index(const struct sampler *s, uint64_t rank, uint64_t position)
{
	uint64_t at;

	if (s->shard == SHARD_STRIDED)
		at = position * s->ranks + rank;
	else if (s->drop_last)
		at = shard_start(s, rank) + position;
	else
		at = rank * s->rank_extents + position;
	/* Padding repeats the order from its start. */
	return at < s->extents ? at : at % s->extents;
}

bool sampler_shards_files(const struct sampler *s)
{
	return s->lanes || s->shard == SHARD_FILE;
}

uint64_t sampler_file_index(const struct sampler *s, uint64_t rank, uint64_t n)
{
	uint64_t files = s->dataset->files;
	uint64_t at = s->shard == SHARD_CONTIGUOUS ? rank * s->rank_files + n : n * s->ranks + rank;

	return at < files ? at : at % files;
}

static uint64_t at_file(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;
	uint64_t file, extent;

	if (s->shuffle == SHUFFLE_SAMPLE)
		position = perm_at(&e->perm, position);
	file = position / s->file_extents;
	extent = position % s->file_extents;
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

/* Who reads would have to know an order that is not drawn yet. */
static int check_sized(const struct sampler *s, struct mlgen_err *err)
{
	if (!s->is_sized || s->shuffle != SHUFFLE_IMPORTANCE)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "shuffle: importance draws what can be read alone, and row groups of %s "
			  "have different numbers of samples; use shuffle=weighted or replacement",
			  s->dataset->directory);
}

static const char *files_option(const struct sampler *s)
{
	return s->is_eval ? "eval_files" : "num_files";
}

static int check_files(const struct sampler *s, struct mlgen_err *err)
{
	if (s->ranks <= s->dataset->files)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"accelerators: %" PRIu64 " are more than the %" PRIu64
		" files of the %s, of which each takes whole ones; more %s, or shard=strided%s",
		s->ranks, s->dataset->files, s->is_eval ? "evaluation" : "dataset", files_option(s),
		s->lanes ? " with loader=pytorch" : "");
}

/* Its place in the files would be anywhere, and all of them be gone through. */
static int check_uneven(const struct sampler *s, struct mlgen_err *err)
{
	if (!s->is_uneven || s->shuffle != SHUFFLE_SAMPLE)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%sshuffle: sample, where each accelerator has whole files (%s), needs "
			  "%s of as many samples each, and those of %s differ; use shuffle=file%s",
			  prefix(s), s->lanes ? "loader=tfdata" : "shard=file",
			  s->is_sized ? "row groups" : "files", s->dataset->directory,
			  s->lanes ? "" : ", or shard=strided");
}

static uint64_t share_of(const struct sampler *s, uint64_t all)
{
	return s->drop_last ? all / s->ranks : divide_up(all, s->ranks);
}

/* The extents of a rank before the last batch cuts them. */
static uint64_t shard_extents(struct sampler *s)
{
	uint64_t files = s->dataset->files;
	uint64_t share = share_of(s, s->extents);

	if (!sampler_shards_files(s))
		return share;
	s->rank_files =
		s->drop_last && !s->is_uneven ? files / s->ranks : divide_up(files, s->ranks);
	return s->is_uneven ? share : s->rank_files * s->file_extents;
}

static int check_batch(const struct sampler *s, uint64_t samples, struct mlgen_err *err)
{
	if (samples >= s->batch || (samples && !s->drop_last))
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%sbatch_size: %" PRIu64 " is more than the %" PRIu64
			  " samples of one accelerator's shard (%" PRIu64 " file%s, %" PRIu64
			  " accelerator%s); more %s, a smaller %sbatch_size or fewer accelerators",
			  prefix(s), s->batch, samples, s->dataset->files,
			  s->dataset->files == 1 ? "" : "s", s->ranks, s->ranks == 1 ? "" : "s",
			  files_option(s), prefix(s));
}

/* Files that stand for others, too, have other extents than those. */
static bool is_whole(const struct sampler *s, uint64_t samples)
{
	if (shuffle_repeats((int)s->shuffle))
		return false;
	if (s->drop_last && s->steps * s->batch != samples)
		return false;
	if (s->is_sized)
		return s->ranks == 1 && !s->dataset->distinct_files;
	return s->rank_extents * s->ranks == s->extents &&
	       !(s->is_uneven && sampler_shards_files(s) && s->ranks > 1);
}

static int cut_batches(struct sampler *s, struct mlgen_err *err)
{
	uint64_t extents = shard_extents(s);
	uint64_t samples = s->is_sized ? share_of(s, dataset_samples(s->dataset))
				       : extents * s->extent_samples;
	int r = check_batch(s, samples, err);

	if (r)
		return r;
	s->rank_extents = extents;
	s->rank_samples = samples;
	s->steps = divide_up(samples, s->batch);
	if (s->drop_last) {
		s->steps = samples / s->batch;
		s->rank_samples = s->steps * s->batch;
	}
	if (s->drop_last && !s->is_sized)
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

	if (job->cache != CACHE_NONE && job->cache_scope == CACHE_OF_ALL)
		return (struct sampler_ranks){ 0, all };
	return (struct sampler_ranks){
		job->accelerators_before,
		job->accelerators_before + job->accelerators,
	};
}

static double mean_sample_bytes(const struct dataset *ds)
{
	return dataset_mean_file_bytes(ds) * (double)ds->files / (double)dataset_samples(ds);
}

/* At least one extent and at most all; FFCV's loader has twice a batch of pages at hand. */
static void init_runs(struct sampler *s, const struct variant *how)
{
	double samples = (double)how->number;
	uint64_t runs = how->second;

	if (how->kind != SHUFFLE_PAGES && how->kind != SHUFFLE_CHUNKS)
		return;
	if (how->kind == SHUFFLE_PAGES)
		samples /= mean_sample_bytes(s->dataset);
	if (!runs)
		runs = how->kind == SHUFFLE_PAGES ? 2 * s->batch : 1;
	samples = fmin(samples, (double)s->extents * (double)s->extent_samples);
	s->run_extents = u64_max((uint64_t)(samples / (double)s->extent_samples + 0.5), 1);
	s->window_runs = u64_min(runs, s->extents / s->run_extents + 1);
}

int sampler_init(struct sampler *s, const struct sampler_config *cfg, const struct dataset *ds,
		 struct mlgen_err *err)
{
	int r;

	*s = (struct sampler){
		.dataset = ds,
		/* A buffer changes nothing of what is read. */
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
		.file_extents = dataset_most(ds) / ds->extent_samples,
		.lanes = cfg->lanes,
		.is_sized = ds->extents_differ,
	};
	s->is_uneven = (dataset_each(ds) == 0 || s->is_sized) &&
		       (sampler_shards_files(s) || s->shuffle == SHUFFLE_FILE);
	init_runs(s, &cfg->shuffle);
	r = sampler_shards_files(s) ? check_files(s, err) : 0;
	if (r == 0)
		r = check_uneven(s, err);
	if (r == 0)
		r = check_sized(s, err);
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
	if (s->run_extents)
		sampler_runs_epoch(e, epoch);
	else if (shuffle_repeats((int)s->shuffle))
		sampler_drawn_epoch(e, epoch);
	else if (s->shuffle != SHUFFLE_NONE)
		perm_init(&e->perm, n, s->seed, epoch);
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
	at = order_index(s, rank, position);
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
	return e->sampler->is_sized ? sampler_sized_before(e, rank, position)
				    : position * e->sampler->extent_samples;
}

bool sampler_has(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;

	return s->is_sized ? sampler_sized_before(e, rank, position) < s->rank_samples
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

	return s->is_sized ? sampler_sized_position(e, rank, samples)
			   : divide_up(samples, s->extent_samples);
}

uint64_t sampler_extents(struct sampler_epoch *e, uint64_t rank)
{
	return sampler_batch_start(e, rank, e->sampler->steps);
}

/* tf.data's interleave, backwards: the last round may have fewer files. */
struct sampler_lane sampler_lane_at(struct sampler_epoch *e, uint64_t rank, uint64_t position)
{
	const struct sampler *s = e->sampler;

	if (s->is_uneven)
		return sampler_uneven_at(e, rank, position);

	uint64_t round_extents = s->lanes * s->file_extents;
	uint64_t round = position / round_extents;
	uint64_t left = s->rank_files - round * s->lanes;
	uint64_t lanes = left < s->lanes ? left : s->lanes;
	uint64_t at = position % round_extents;

	return (struct sampler_lane){ .file = round * s->lanes + at % lanes,
				      .extent = at / lanes,
				      .lanes = lanes };
}

uint64_t sampler_lane_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
			       uint64_t extent)
{
	const struct sampler *s = e->sampler;

	if (s->is_uneven)
		return sampler_uneven_position(e, rank, file, extent);

	uint64_t round = file / s->lanes;
	uint64_t left = s->rank_files - round * s->lanes;
	uint64_t lanes = left < s->lanes ? left : s->lanes;

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
	uint64_t left = sampler_rank_samples(s) - step * s->batch;

	return left < s->batch ? left : s->batch;
}
