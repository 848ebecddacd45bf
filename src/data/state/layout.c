/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - the layouts of checkpoints: the files that a rank writes, and the calls. */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/dist.h"
#include "base/util.h"
#include "job/job.h"

/* ---- torch: one file rank_R.pt for each rank, by torch.save(state, path) ---- */

/* The archive has the name of the file without its suffix, or that of checkpoint_archive. */
static void torch_init(struct shard *f)
{
	const char *name = f->set->state->job->checkpoint_archive;

	if (name && *name)
		snprintf(f->zip.stem, sizeof(f->zip.stem), "%s", name);
	else
		snprintf(f->zip.stem, sizeof(f->zip.stem), "rank_%" PRIu64, f->rank);
	torch_zip_init(f);
}

static void torch_name(const struct shard *f, char *to, size_t bytes)
{
	snprintf(to, bytes, "rank_%" PRIu64 ".pt", f->rank);
}

/* A rank that saves anything has one file with all its groups. */
static uint64_t layout_one_file(const struct shard_set *set, uint64_t rank)
{
	return state_groups(set->state, rank) > 0;
}

static void layout_all_groups(struct shard *f)
{
	f->groups = state_groups(f->set->state, f->rank);
}

static const char *const torch_names[] = { "rank_#.pt", NULL };

const struct layout layout_torch = {
	.name = "torch",
	.files = layout_one_file,
	.groups = layout_all_groups,
	.init = torch_init,
	.name_of = torch_name,
	.names = torch_names,
	.next = torch_zip_next,
	.meta = torch_zip_meta,
	.describe = torch_zip_describe,
	.write_next = torch_path_write_next,
	.read_next = torch_read_next,
	.stats_to_read = true,
	.buffer_bytes = TORCH_PATH_BUFFER,
};

/* ---- deepspeed: DLIO's files, each by torch.save(state, path) ---- */

/*
 * A transformer (DLIO checkpointing/base_checkpointing.py) has one file for each layer with ZeRO 1
 * or 2 and a pipeline, otherwise one file for all layers of a rank. The optimizer's file is the
 * last. Any other state has one file for each rank.
 */
static bool is_of_zero_1_or_2(const struct state *s)
{
	return s->zero_stage == 1 || s->zero_stage == 2;
}

static bool has_optimizer(const struct state *s, uint64_t rank, uint64_t groups)
{
	struct state_group g;

	if (groups == 0)
		return false;
	state_group(s, rank, groups - 1, &g);
	return g.is_optimizer;
}

/* Number of files of a rank with this many layers. */
static uint64_t model_files(const struct state *s, uint64_t layers)
{
	if (layers && s->kind == STATE_TRANSFORMER && is_of_zero_1_or_2(s) &&
	    s->pipeline_parallel > 1)
		return layers;
	return layers > 0;
}

/* torch calls an archive that it writes to an open file "archive". */
static void deepspeed_init(struct shard *f)
{
	snprintf(f->zip.stem, sizeof(f->zip.stem), "archive");
	torch_zip_init(f);
}

/* DLIO's files and names, which other layouts use as well. */
static uint64_t deepspeed_files(const struct shard_set *set, uint64_t rank)
{
	uint64_t groups = state_groups(set->state, rank);
	uint64_t last = has_optimizer(set->state, rank, groups);

	return model_files(set->state, groups - last) + last;
}

static void deepspeed_groups(struct shard *f)
{
	uint64_t groups = state_groups(f->set->state, f->rank);
	uint64_t last = has_optimizer(f->set->state, f->rank, groups);
	uint64_t layers = groups - last;
	uint64_t files = model_files(f->set->state, layers);

	if (f->index == files) {
		f->first_group = layers;
		f->groups = last;
	} else if (files == 1) {
		f->groups = layers;
	} else {
		f->first_group = f->index;
		f->groups = 1;
	}
}

static void deepspeed_name(const struct shard *f, char *to, size_t bytes)
{
	const struct state *s = f->set->state;
	uint64_t models = s->tensor_parallel * s->pipeline_parallel;
	uint64_t dp = f->rank / models, mp = f->rank % models;
	struct state_group g;

	if (s->kind != STATE_TRANSFORMER) {
		snprintf(to, bytes, "model_states-%" PRIu64 ".pt", f->rank);
		return;
	}
	state_group(s, f->rank, f->first_group, &g);
	if (g.is_optimizer || !is_of_zero_1_or_2(s))
		snprintf(to, bytes, "zero_pp_rank_%" PRIu64 "_mp_rank_%" PRIu64 "_%s_states.pt", dp,
			 mp, g.is_optimizer ? "optim" : "model");
	else if (s->pipeline_parallel > 1)
		snprintf(to, bytes, "layer_%" PRIu64 "-model_%" PRIu64 "_model_states.pt", g.layer,
			 mp);
	else
		snprintf(to, bytes, "model_%" PRIu64 "_model_states.pt", mp);
}

const char *const deepspeed_names[] = {
	"layer_#-model_#_model_states.pt",
	"model_#_model_states.pt",
	"zero_pp_rank_#_mp_rank_#_model_states.pt",
	"zero_pp_rank_#_mp_rank_#_optim_states.pt",
	"model_states-#.pt",
	NULL,
};

const struct layout layout_deepspeed = {
	.name = "deepspeed",
	.files = deepspeed_files,
	.groups = deepspeed_groups,
	.init = deepspeed_init,
	.name_of = deepspeed_name,
	.names = deepspeed_names,
	.next = torch_zip_next,
	.meta = torch_zip_meta,
	.describe = torch_zip_describe,
	.write_next = torch_file_write_next,
	.read_next = torch_read_next,
	.stats_to_write = true,
	.stats_to_read = true,
	.buffer_bytes = TORCH_FILE_BUFFER,
};

/* ---- stream: DLIO's files, tensors back to back in chunks of 32 MiB ---- */

/* Chunk size of DLIO v3's simple_streaming_checkpointing.py. */
#define CHUNK_BYTES (UINT64_C(32) << 20)

static bool stream_next(const struct shard *f, struct shard_piece *p)
{
	uint64_t order = p->bytes ? p->order + 1 : 0;
	struct state_tensor t;

	if (order == f->tensors)
		return false;
	shard_tensor(f, order, &t);
	*p = (struct shard_piece){ .off = p->off + p->bytes,
				   .bytes = t.bytes,
				   .is_tensor = true,
				   .tensor = order,
				   .order = order };
	return true;
}

static bool stream_write_next(const struct shard *f, struct shard_write *w)
{
	w->off += w->bytes;
	w->bytes = u64_min(f->bytes - w->off, CHUNK_BYTES);
	w->is_dropped = true;
	return w->bytes > 0;
}

static bool stream_read_next(const struct shard *f, struct shard_read *r)
{
	r->off += r->bytes;
	r->bytes = u64_min(f->bytes - r->off, CHUNK_BYTES);
	r->got_bytes = r->bytes;
	return r->bytes > 0;
}

const struct layout layout_stream = {
	.name = "stream",
	.files = deepspeed_files,
	.groups = deepspeed_groups,
	.name_of = deepspeed_name,
	.names = deepspeed_names,
	.next = stream_next,
	.write_next = stream_write_next,
	.read_next = stream_read_next,
	.run_bytes = CHUNK_BYTES,
};

/* ---- pattern: the write sizes measured with a framework ---- */

/* Small and large writes alternate until everything is written. The sizes are those of McGill's
 * storage benchmark, from its traces. */
/* clang-format off */
static const struct write_pattern {
	uint64_t small_bytes;
	struct dist large;
	uint64_t least_bytes; /* lower limit of a large write */
} patterns[] = {
	[PATTERN_UNET3D] = { 1280, { DIST_NORMAL, 2170231, 4459727 }, 64 },
	[PATTERN_BERT] = { 4096, { DIST_CONST, 8384512, 0 }, 0 },
	[PATTERN_DLRM] = { 7348, { DIST_NORMAL, 517653535, 841116648 }, 98 },
};
/* clang-format on */

/* Each rank has its own sizes, the same in every checkpoint. */
static uint64_t pattern_write_bytes(const struct shard *f, uint64_t order)
{
	const struct job *j = f->set->state->job;
	const struct write_pattern *p = &patterns[j->checkpoint_pattern];

	if (order % 2 == 0)
		return p->small_bytes;
	uint64_t bytes = dist_draw(&p->large, j->randseed + f->rank, RNG_REQUEST, order / 2);
	return bytes < p->least_bytes ? p->least_bytes : bytes;
}

/* Each piece is one write; together they are one tensor. */
static bool pattern_next(const struct shard *f, struct shard_piece *p)
{
	uint64_t off = p->off + p->bytes;
	uint64_t order = p->bytes ? p->order + 1 : 0;

	if (off == f->bytes)
		return false;
	*p = (struct shard_piece){
		.off = off,
		.bytes = u64_min(pattern_write_bytes(f, order), f->bytes - off),
		.is_tensor = true,
		.order = order,
	};
	return true;
}

static bool pattern_write_next(const struct shard *f, struct shard_write *w)
{
	w->off += w->bytes;
	if (w->left == 0) {
		if (!pattern_next(f, &w->at)) {
			w->bytes = 0;
			return false;
		}
		w->left = w->at.bytes;
	}
	w->bytes = u64_min(w->left, shard_max_run_bytes(f->set));
	w->left -= w->bytes;
	return true;
}

/* A restore reads in the same calls as were written. */
static bool pattern_read_next(const struct shard *f, struct shard_read *r)
{
	struct shard_write w = { .off = r->off, .bytes = r->bytes, .at = r->at, .left = r->left };

	if (!pattern_write_next(f, &w))
		return false;
	r->off = w.off;
	r->bytes = w.bytes;
	r->got_bytes = w.bytes;
	r->at = w.at;
	r->left = w.left;
	return true;
}

const struct layout layout_pattern = {
	.name = "pattern",
	.files = layout_one_file,
	.groups = layout_all_groups,
	.name_of = deepspeed_name,
	.names = deepspeed_names,
	.next = pattern_next,
	.write_next = pattern_write_next,
	.read_next = pattern_read_next,
};
