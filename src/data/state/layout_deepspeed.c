/* SPDX-License-Identifier: Apache-2.0 */
/* layout_deepspeed.c - checkpoint_layout=deepspeed: DLIO's files, each by torch.save(state,
 * file). */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "data/state/state.h"

/*
 * Of a transformer (DLIO checkpointing/base_checkpointing.py): with ZeRO 1 and 2 and a pipeline
 * each layer has a file, else all layers of a rank have one; the optimizer's is the last. Of any
 * other state: one file a rank.
 */
static bool is_transformer(const struct shard_set *set)
{
	return set->state->kind == STATE_TRANSFORMER;
}

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

/* Of a rank with so many groups that are layers. */
static uint64_t model_files(const struct shard_set *set, uint64_t layers)
{
	if (layers && is_transformer(set) && is_of_zero_1_or_2(set->state) &&
	    set->state->pipeline_parallel > 1)
		return layers;
	return layers > 0;
}

static void layer_name(const struct shard *f, uint64_t mp, char *to, size_t bytes)
{
	struct state_group g;

	state_group(f->set->state, f->rank, f->first_group, &g);
	snprintf(to, bytes, "layer_%" PRIu64 "-model_%" PRIu64 "_model_states.pt", g.layer, mp);
}

static void zero_name(uint64_t dp, uint64_t mp, const char *what, char *to, size_t bytes)
{
	snprintf(to, bytes, "zero_pp_rank_%" PRIu64 "_mp_rank_%" PRIu64 "_%s_states.pt", dp, mp,
		 what);
}

static void transformer_name(const struct shard *f, char *to, size_t bytes)
{
	const struct state *s = f->set->state;
	uint64_t models = s->tensor_parallel * s->pipeline_parallel;
	uint64_t dp = f->rank / models, mp = f->rank % models;
	struct state_group g;

	state_group(s, f->rank, f->first_group, &g);
	if (g.is_optimizer)
		zero_name(dp, mp, "optim", to, bytes);
	else if (!is_of_zero_1_or_2(s))
		zero_name(dp, mp, "model", to, bytes);
	else if (s->pipeline_parallel > 1)
		layer_name(f, mp, to, bytes);
	else
		snprintf(to, bytes, "model_%" PRIu64 "_model_states.pt", mp);
}

/* The name of an archive that is written to an open file. */
static void deepspeed_init(struct shard *f)
{
	snprintf(f->zip.stem, sizeof(f->zip.stem), "archive");
	torch_zip_init(f);
}

uint64_t deepspeed_files(const struct shard_set *set, uint64_t rank)
{
	uint64_t groups = state_groups(set->state, rank);
	uint64_t last = has_optimizer(set->state, rank, groups);

	return model_files(set, groups - last) + last;
}

void deepspeed_groups(struct shard *f)
{
	uint64_t groups = state_groups(f->set->state, f->rank);
	uint64_t last = has_optimizer(f->set->state, f->rank, groups);
	uint64_t layers = groups - last;
	uint64_t files = model_files(f->set, layers);

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

void deepspeed_name(const struct shard *f, char *to, size_t bytes)
{
	if (is_transformer(f->set))
		transformer_name(f, to, bytes);
	else
		snprintf(to, bytes, "model_states-%" PRIu64 ".pt", f->rank);
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
