/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the state of a model: which rank holds which tensors, of how many bytes. */
#include "data/state/state_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "job/job.h"

/* ---- the tensors of a tensor_sizes file ---- */

/* Largest tensor_sizes file: more tensors than any model has. */
#define BYTES_MAX (UINT64_C(1) << 30)

struct list_tensor {
	size_t name_at; /* offset in names */
	uint64_t bytes;
	unsigned line;
};

struct state_list {
	VEC(struct list_tensor) tensors;
	uint64_t bytes;
	struct buf names; /* NUL-terminated, one after the other */
};

struct tensor_reader {
	struct wordlines in;
	struct state_list *list;
	unsigned kb_base;
	double scale;
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

/* Names end up in files of several formats and in messages. */
static int state_list_check_name(const struct tensor_reader *r, const char *name)
{
	if (strlen(name) >= STATE_NAME_BYTES)
		return FAIL(r, -EINVAL, "'%.40s...': a name has at most %d bytes", name,
			    STATE_NAME_BYTES - 1);
	for (const char *c = name; *c; c++) {
		if (*c <= ' ' || *c > '~' || strchr("\"'\\", *c))
			return FAIL(r, -EINVAL,
				    "'%s': a name may have printable ASCII characters except "
				    "quotes and backslashes",
				    name);
	}
	return 0;
}

static uint64_t state_scaled(uint64_t bytes, double scale)
{
	if (scale >= 100)
		return bytes;
	uint64_t scaled = (uint64_t)((double)bytes * scale / 100 + 0.5);
	return scaled ? scaled : 1;
}

static int state_list_parse_line(void *arg, char *line)
{
	struct tensor_reader *r = arg;
	struct state_list *l = r->list;
	const char *name = wordlines_word(&line);
	const char *size = wordlines_word(&line);
	struct mlgen_err why = { 0 };
	uint64_t bytes = 0;

	if (wordlines_word(&line))
		return FAIL(r, -EINVAL, "more than two words; a line is BYTES, or NAME BYTES");
	if (!size) {
		size = name;
		name = NULL;
	}
	int rc = units_size(size, r->kb_base, &bytes, &why);
	if (rc)
		return FAIL(r, rc, "%s; a line is BYTES, or NAME BYTES", why.text);
	if (bytes == 0)
		return FAIL(r, -EINVAL, "a tensor of 0 bytes; leave it out");
	if (bytes > INT64_MAX - l->bytes)
		return FAIL(r, -ERANGE, "the tensors are more than 8 EiB");
	if (l->tensors.count == STATE_LIST_MAX)
		return FAIL(r, -E2BIG, "more than %u tensors", STATE_LIST_MAX);
	if (name && state_list_check_name(r, name))
		return -EINVAL;
	bytes = state_scaled(bytes, r->scale);
	vec_push(&l->tensors, (struct list_tensor){ l->names.len, bytes, r->in.line });
	if (name)
		buf_add(&l->names, name);
	else
		buf_addf(&l->names, "tensor.%zu", l->tensors.count - 1);
	buf_addc(&l->names, '\0');
	l->bytes += bytes;
	return 0;
}

/* A tensor for qsort(), which passes no list to the comparison. */
struct listed_name {
	const char *name;
	unsigned line;
};

static int state_list_by_name(const void *a, const void *b)
{
	const struct listed_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : COMPARE(x->line, y->line);
}

static int state_list_check_duplicates(struct tensor_reader *r)
{
	const struct state_list *l = r->list;
	struct listed_name *names = mem_array(l->tensors.count, sizeof(*names));
	int rc = 0;

	for (uint64_t i = 0; i < l->tensors.count; i++)
		names[i] = (struct listed_name){ state_list_name(l, i), l->tensors.at[i].line };
	qsort(names, l->tensors.count, sizeof(*names), state_list_by_name);
	for (uint64_t i = 1; i < l->tensors.count && rc == 0; i++) {
		if (strcmp(names[i].name, names[i - 1].name) != 0)
			continue;
		r->in.line = names[i].line;
		rc = FAIL(r, -EINVAL,
			  "'%s' is also the name in line %u; each tensor needs its own name",
			  names[i].name, names[i - 1].line);
	}
	mem_free(names);
	return rc;
}

int state_list_new(struct state_list **out, const char *path, unsigned kb_base, double scale,
		   struct mlgen_err *err)
{
	static const struct wordlines_format tensors = {
		.option = "tensor_sizes: ",
		.noun = "a list of tensors",
		.most_bytes = BYTES_MAX,
		.take = state_list_parse_line,
	};
	struct tensor_reader r = { .in = { .path = path, .err = err },
				   .list = mem_zalloc(sizeof(*r.list)),
				   .kb_base = kb_base,
				   .scale = scale };
	int rc = wordlines_read(&r.in, &tensors, &r);

	*out = NULL;
	if (rc == 0 && r.list->tensors.count == 0)
		rc = mlgen_fail(err, -EINVAL,
				"tensor_sizes: %s: contains no tensor; write one tensor per line: "
				"BYTES, or NAME BYTES",
				path);
	if (rc == 0)
		rc = state_list_check_duplicates(&r);
	if (rc)
		state_list_free(r.list);
	else
		*out = r.list;
	return rc;
}

void state_list_free(struct state_list *l)
{
	if (!l)
		return;
	buf_fini(&l->names);
	vec_fini(&l->tensors);
	mem_free(l);
}

uint64_t state_list_bytes(const struct state_list *l)
{
	return l->bytes;
}

const char *state_list_name(const struct state_list *l, uint64_t i)
{
	return l->names.s + l->tensors.at[i].name_at;
}

/* ---- checkpoint_pattern ---- */

/* Sums of the writes of one checkpoint, as McGill's storage benchmark measured them. */
static const struct {
	uint64_t bytes;
	bool is_of_rank_0;
} patterns[] = {
	[PATTERN_UNET3D] = { 499153191, true },
	[PATTERN_BERT] = { 4034713312, false },
	[PATTERN_DLRM] = { 27129166561, true },
};

/* ---- tensors of a transformer on one rank, in elements ---- */

enum layer_kind { LAYER_EMBEDDING, LAYER_BLOCK, LAYER_HEAD, LAYER_NORM };

#define BLOCK_TENSORS 6

static const char *const block_names[BLOCK_TENSORS] = {
	"input_layernorm",          "self_attention.qkv", "self_attention.dense",
	"post_attention_layernorm", "mlp.gate_up",        "mlp.down",
};

static const char *const layer_names[] = {
	[LAYER_EMBEDDING] = "embedding.weight",
	[LAYER_HEAD] = "lm_head.weight",
	[LAYER_NORM] = "final_layernorm.weight",
};

/* Parameters in full precision and two moments, each divided into parameters with and without
 * weight decay. */
#define OPTIMIZER_TENSORS 6
/* Rows of norms and biases, which do not decay, as DLIO counts them. */
#define NOT_DECAYED_ROWS 5

static const char *const optimizer_names[OPTIMIZER_TENSORS] = {
	"fp32.decay",       "fp32.no_decay",    "exp_avg.decay",
	"exp_avg.no_decay", "exp_avg_sq.decay", "exp_avg_sq.no_decay",
};

static enum layer_kind layer_kind(const struct state *s, uint64_t layer)
{
	uint64_t layers = s->job->model_layers;

	if (layer == 0)
		return LAYER_EMBEDDING;
	if (layer <= layers)
		return LAYER_BLOCK;
	return layer == layers + 1 ? LAYER_HEAD : LAYER_NORM;
}

/* A rank's share. The remainder is dropped, as in DLIO, but a share is at least 1. */
static uint64_t rank_share(uint64_t elements, uint64_t ranks)
{
	uint64_t n = elements / ranks;

	return n ? n : 1;
}

static uint64_t kv_size(const struct job *j)
{
	return j->model_hidden / j->model_heads * j->model_kv_heads;
}

/* Every tensor-parallel rank has a copy of the norms. Only ZeRO 3 divides them. */
static uint64_t layer_elements(const struct state *s, enum layer_kind kind, uint64_t i)
{
	const struct job *j = s->job;
	uint64_t h = j->model_hidden;
	uint64_t shards = s->zero_stage == 3 ? s->data_parallel : 1;
	uint64_t parts = shards * s->tensor_parallel;

	if (kind == LAYER_NORM)
		return rank_share(h, shards);
	if (kind != LAYER_BLOCK)
		return rank_share(j->model_vocabulary * h, parts);
	switch (i) {
	case 1:
		return rank_share(h * (h + 2 * kv_size(j)), parts);
	case 2:
		return rank_share(h * h, parts);
	case 4:
		return rank_share(2 * h * j->model_ffn, parts);
	case 5:
		return rank_share(h * j->model_ffn, parts);
	default:
		return rank_share(h, shards);
	}
}

static uint64_t layer_tensors(enum layer_kind kind)
{
	return kind == LAYER_BLOCK ? BLOCK_TENSORS : 1;
}

static uint64_t layer_tensor_bytes(const struct state *s, enum layer_kind kind, uint64_t i)
{
	return state_scaled(layer_elements(s, kind, i) * s->job->model_bytes, s->job->scale);
}

static uint64_t layer_bytes(const struct state *s, enum layer_kind kind)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < layer_tensors(kind); i++)
		bytes += layer_tensor_bytes(s, kind, i);
	return bytes;
}

static uint64_t optimizer_tensor_bytes(const struct state *s, uint64_t i)
{
	const struct job *j = s->job;
	uint64_t ranks = s->zero_stage ? s->ranks : s->tensor_parallel * s->pipeline_parallel;
	uint64_t elements =
		i % 2 ? NOT_DECAYED_ROWS * j->model_hidden : rank_share(state_parameters(s), ranks);

	return state_scaled(elements * j->optimizer_bytes, j->scale);
}

static uint64_t optimizer_bytes(const struct state *s)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < OPTIMIZER_TENSORS; i++)
		bytes += optimizer_tensor_bytes(s, i);
	return bytes;
}

/* ---- division among ranks ---- */

/* The first and last layer of a pipeline stage, in DLIO's numbers. */
struct layer_range {
	uint64_t first, last;
};

/* Every stage has the same number of blocks, up to one more. The first stage also has the embedding
 * and the last one the head and the norm. */
static struct layer_range stage_layers(const struct state *s, uint64_t rank)
{
	uint64_t stages = s->pipeline_parallel;
	uint64_t i = rank / s->tensor_parallel % stages;
	uint64_t layers = s->job->model_layers;
	uint64_t each = layers / stages, more = layers % stages;
	struct layer_range stage;

	stage.first = i * each + (i < more ? i : more) + 1;
	stage.last = stage.first + each + (i < more) - 1;
	if (i == 0)
		stage.first = 0;
	if (i == stages - 1)
		stage.last = layers + 2;
	return stage;
}

static bool is_first_copy(const struct state *s, uint64_t rank)
{
	return rank < s->tensor_parallel * s->pipeline_parallel;
}

static bool saves_model(const struct state *s, uint64_t rank)
{
	return s->zero_stage == 3 || is_first_copy(s, rank);
}

static bool saves_optimizer(const struct state *s, uint64_t rank)
{
	return s->job->optimizer_bytes && (s->zero_stage || is_first_copy(s, rank));
}

static uint64_t model_groups(const struct state *s, uint64_t rank)
{
	struct layer_range stage = stage_layers(s, rank);

	return saves_model(s, rank) ? stage.last - stage.first + 1 : 0;
}

/* ---- states other than transformers, which have one group ---- */

static bool saves_plain(const struct state *s, uint64_t rank)
{
	return s->kind != STATE_PATTERN || rank == 0 ||
	       !patterns[s->job->checkpoint_pattern].is_of_rank_0;
}

static uint64_t plain_bytes(const struct state *s)
{
	const struct job *j = s->job;
	uint64_t bytes = j->checkpoint_size_bytes;

	if (s->kind == STATE_LIST)
		return state_list_bytes(s->list);
	if (s->kind == STATE_PATTERN && bytes == 0)
		bytes = patterns[j->checkpoint_pattern].bytes;
	return state_scaled(bytes, j->scale);
}

/* ---- public ---- */

int state_init(struct state *s, const struct job *job, struct mlgen_err *err)
{
	int rc = 0;

	*s = (struct state){ .job = job };
	for (unsigned i = 0; rc == 0 && job_check_model(job, i, &rc, err);)
		i++;
	if (rc)
		return rc;
	s->ranks = job_ranks(job);
	s->tensor_parallel = job->tensor_parallel;
	s->pipeline_parallel = job->pipeline_parallel;
	s->data_parallel = s->ranks / (s->tensor_parallel * s->pipeline_parallel);
	s->zero_stage = (unsigned)job->zero_stage;
	if (job->checkpoint_layout == LAYOUT_PATTERN)
		s->kind = STATE_PATTERN;
	else if (job->tensor_sizes)
		s->kind = STATE_LIST;
	else if (job->model_layers)
		s->kind = STATE_TRANSFORMER;
	else
		s->kind = STATE_SIZE;
	rc = job_local_ranks(job, &s->local, err);
	if (rc == 0 && s->kind == STATE_LIST)
		rc = state_list_new(&s->list, job->tensor_sizes, (unsigned)job->kb_base, job->scale,
				    err);
	if (rc == 0 && s->list &&
	    (double)state_list_bytes(s->list) * (double)s->ranks > MODEL_BYTES_MAX)
		rc = mlgen_fail(err, -ERANGE,
				"tensor_sizes: the state of %" PRIu64
				" ranks would have more than 8 EiB",
				s->ranks);
	if (rc)
		state_fini(s);
	return rc;
}

int state_of_all_processes(struct state *of, const struct state *s, struct mlgen_err *err)
{
	*of = *s;
	of->local = (struct ranges){ 0 };
	return job_saved_ranks(s->job, &of->local, err);
}

void state_fini(struct state *s)
{
	state_list_free(s->list);
	ranges_fini(&s->local);
	*s = (struct state){ 0 };
}

uint64_t state_parameters(const struct state *s)
{
	const struct job *j = s->job;
	uint64_t h = j->model_hidden;
	uint64_t block = h + h * (h + 2 * kv_size(j)) + h * h + h + 3 * h * j->model_ffn;

	if (s->kind != STATE_TRANSFORMER)
		return 0;
	return 2 * j->model_vocabulary * h + h + j->model_layers * block;
}

uint64_t state_groups(const struct state *s, uint64_t rank)
{
	assert(rank < s->ranks);
	if (s->kind != STATE_TRANSFORMER)
		return saves_plain(s, rank);
	return model_groups(s, rank) + saves_optimizer(s, rank);
}

void state_group(const struct state *s, uint64_t rank, uint64_t i, struct state_group *g)
{
	enum layer_kind kind;

	assert(i < state_groups(s, rank));
	*g = (struct state_group){ .rank = rank };
	if (s->kind != STATE_TRANSFORMER) {
		g->tensors = s->kind == STATE_LIST ? s->list->tensors.count : 1;
		g->bytes = plain_bytes(s);
	} else if (i == model_groups(s, rank)) {
		g->is_optimizer = true;
		g->tensors = OPTIMIZER_TENSORS;
		g->bytes = optimizer_bytes(s);
	} else {
		g->layer = stage_layers(s, rank).first + i;
		kind = layer_kind(s, g->layer);
		g->tensors = layer_tensors(kind);
		g->bytes = layer_bytes(s, kind);
	}
}

/* A scaled tensor need not be a whole number of values; it then consists of single bytes. */
static unsigned value_bytes(uint64_t bytes, uint64_t value)
{
	bool is_usual = value == 2 || value == 4 || value == 8;

	return is_usual && bytes % value == 0 ? (unsigned)value : 1;
}

void state_tensor(const struct state *s, const struct state_group *g, uint64_t i,
		  struct state_tensor *t)
{
	bool is_list = s->kind == STATE_LIST;
	enum layer_kind kind;

	assert(i < g->tensors);
	if (s->kind != STATE_TRANSFORMER) {
		t->bytes = is_list ? s->list->tensors.at[i].bytes : plain_bytes(s);
		t->value_bytes = 1;
		snprintf(t->name, sizeof(t->name), "%s",
			 is_list ? state_list_name(s->list, i) : "a");
	} else if (g->is_optimizer) {
		t->bytes = optimizer_tensor_bytes(s, i);
		t->value_bytes = value_bytes(t->bytes, s->job->optimizer_bytes);
		snprintf(t->name, sizeof(t->name), "optimizer.%s", optimizer_names[i]);
	} else {
		kind = layer_kind(s, g->layer);
		t->bytes = layer_tensor_bytes(s, kind, i);
		t->value_bytes = value_bytes(t->bytes, s->job->model_bytes);
		if (kind == LAYER_BLOCK)
			snprintf(t->name, sizeof(t->name), "layers.%" PRIu64 ".%s.weight", g->layer,
				 block_names[i]);
		else
			snprintf(t->name, sizeof(t->name), "%s", layer_names[kind]);
	}
}

static uint64_t stage_bytes(const struct state *s, const struct layer_range *stage)
{
	uint64_t layers = s->job->model_layers;
	uint64_t first = stage->first ? stage->first : 1;
	uint64_t last = stage->last > layers ? layers : stage->last;
	uint64_t bytes = (last - first + 1) * layer_bytes(s, LAYER_BLOCK);

	if (stage->first == 0)
		bytes += layer_bytes(s, LAYER_EMBEDDING);
	if (stage->last > layers)
		bytes += layer_bytes(s, LAYER_HEAD) + layer_bytes(s, LAYER_NORM);
	return bytes;
}

void state_rank_bytes(const struct state *s, uint64_t rank, struct state_bytes *b)
{
	struct layer_range stage;

	assert(rank < s->ranks);
	*b = (struct state_bytes){ 0 };
	if (s->kind != STATE_TRANSFORMER) {
		b->model = saves_plain(s, rank) ? plain_bytes(s) : 0;
	} else {
		stage = stage_layers(s, rank);
		if (saves_model(s, rank))
			b->model = stage_bytes(s, &stage);
		if (saves_optimizer(s, rank))
			b->optimizer = optimizer_bytes(s);
	}
	b->total = b->model + b->optimizer;
}

void state_all_bytes(const struct state *s, struct state_bytes *b)
{
	uint64_t copy_ranks = s->tensor_parallel * s->pipeline_parallel;
	struct layer_range all = { 0, s->job->model_layers + 2 };

	*b = (struct state_bytes){ 0 };
	if (s->kind != STATE_TRANSFORMER) {
		b->model = plain_bytes(s) * (s->ranks > 1 && saves_plain(s, 1) ? s->ranks : 1);
	} else {
		/* The stages of one tensor-parallel rank hold all layers. */
		b->model = stage_bytes(s, &all) * s->tensor_parallel *
			   (s->zero_stage == 3 ? s->data_parallel : 1);
		if (s->job->optimizer_bytes)
			b->optimizer = optimizer_bytes(s) * (s->zero_stage ? s->ranks : copy_ranks);
	}
	b->total = b->model + b->optimizer;
}

uint64_t state_local_count(const struct state *s)
{
	return s->local.numbers;
}

uint64_t state_local_rank(const struct state *s, uint64_t i)
{
	return ranges_at(&s->local, i);
}

bool state_is_local(const struct state *s, uint64_t rank)
{
	return ranges_has(&s->local, rank);
}
