/* SPDX-License-Identifier: Apache-2.0 */
/* job_check_model.c - see job_check_model.h. */
#include "job/job_check_model.h"

#include <errno.h>
#include <inttypes.h>

#include "base/util.h"
#include "job/job_checkpoint.h"

#define RANKS_MAX 1000000u

/* Which has sizes of its own. */
static bool is_pattern(const struct job *j)
{
	return j->checkpoint_layout == LAYOUT_PATTERN;
}

static bool is_transformer(const struct job *j)
{
	return !is_pattern(j) && j->model_layers;
}

static uint64_t ranks_of_a_copy(const struct job *j)
{
	return j->tensor_parallel * j->pipeline_parallel;
}

/* ---- what is saved ---- */

static int check_size(const struct job *j, struct mlgen_err *err)
{
	if (!is_pattern(j) && j->checkpoint_size_bytes && j->model_layers)
		return mlgen_fail(err, -EINVAL,
				  "checkpoint_size: stands for a model, and model_layers=%" PRIu64
				  " describes one; keep one of them",
				  j->model_layers);
	return 0;
}

static int check_list(const struct job *j, struct mlgen_err *err)
{
	const char *other = j->model_layers            ? "model_layers"
			    : j->checkpoint_size_bytes ? "checkpoint_size"
						       : NULL;

	if (!is_pattern(j) && j->tensor_sizes && other)
		return mlgen_fail(
			err, -EINVAL,
			"tensor_sizes: stands for a model, and so does %s; keep one of them",
			other);
	return 0;
}

static int check_some(const struct job *j, struct mlgen_err *err)
{
	if (!j->model_layers && !j->checkpoint_size_bytes && !j->tensor_sizes &&
	    j->checkpoint_layout != LAYOUT_PATTERN)
		return mlgen_fail(err, -EINVAL,
				  "model_layers: nothing says what is saved; describe a model "
				  "(model_layers=32 model_hidden=4096 ...), or set "
				  "checkpoint_size=1g or tensor_sizes=FILE");
	return 0;
}

/* ---- a transformer ---- */

/* A head that is no whole number is rounded down, as DLIO does: one of MLPerf Storage's models has
 * 25,872 for 192 heads. */
static int check_hidden(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_hidden < j->model_heads)
		return mlgen_fail(err, -EINVAL,
				  "model_hidden: %" PRIu64 " is less than model_heads=%" PRIu64
				  ", each of which has its part of it",
				  j->model_hidden, j->model_heads);
	if (is_transformer(j) && j->model_hidden % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "model_hidden: %" PRIu64
				  " is no multiple of tensor_parallel=%" PRIu64
				  ", whose ranks have equal parts of it",
				  j->model_hidden, j->tensor_parallel);
	return 0;
}

static int check_kv_heads(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_kv_heads > j->model_heads)
		return mlgen_fail(
			err, -EINVAL,
			"model_kv_heads: %" PRIu64 " are more than model_heads=%" PRIu64
			"; several heads share those of keys and values, or each has its own",
			j->model_kv_heads, j->model_heads);
	return 0;
}

static int check_heads(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_heads % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "tensor_parallel: %" PRIu64
				  " ranks cannot share model_heads=%" PRIu64
				  " equally; use a divisor of it",
				  j->tensor_parallel, j->model_heads);
	return 0;
}

static int check_ffn(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_ffn % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "model_ffn: %" PRIu64
				  " is no multiple of tensor_parallel=%" PRIu64
				  ", whose ranks have equal parts of it",
				  j->model_ffn, j->tensor_parallel);
	return 0;
}

static int check_stages(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->pipeline_parallel > j->model_layers)
		return mlgen_fail(err, -EINVAL,
				  "pipeline_parallel: %" PRIu64 " stages for %" PRIu64
				  " layers; use at most model_layers",
				  j->pipeline_parallel, j->model_layers);
	return 0;
}

static int check_zero(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->zero_stage == 3 && j->pipeline_parallel > 1)
		return mlgen_fail(err, -EINVAL,
				  "zero_stage: 3 shares each layer among all copies and has no "
				  "pipeline_parallel=%" PRIu64
				  " stages; use pipeline_parallel=1, or zero_stage=1",
				  j->pipeline_parallel);
	return 0;
}

/* ---- ranks ---- */

static int check_ranks(const struct job *j, struct mlgen_err *err)
{
	uint64_t one = ranks_of_a_copy(j), ranks = job_ranks(j);

	if (ranks > RANKS_MAX)
		return mlgen_fail(err, -ERANGE,
				  "ranks: tensor_parallel=%" PRIu64 " pipeline_parallel=%" PRIu64
				  " data_parallel=%" PRIu64 " make %" PRIu64 ", at most %u can be",
				  j->tensor_parallel, j->pipeline_parallel, j->data_parallel, ranks,
				  RANKS_MAX);
	if (!j->data_parallel && ranks % one)
		return mlgen_fail(err, -EINVAL,
				  "ranks: %" PRIu64 "%s are no multiple of the %" PRIu64
				  " that one copy of the model takes, tensor_parallel=%" PRIu64
				  " times pipeline_parallel=%" PRIu64 "; use %" PRIu64,
				  ranks, j->ranks ? "" : " (accelerators)", one, j->tensor_parallel,
				  j->pipeline_parallel, (ranks / one + 1) * one);
	return 0;
}

static int check_copies(const struct job *j, struct mlgen_err *err)
{
	uint64_t one = ranks_of_a_copy(j);

	if (j->ranks && j->data_parallel && j->ranks != one * j->data_parallel)
		return mlgen_fail(
			err, -EINVAL,
			"data_parallel: %" PRIu64 " copies on %" PRIu64
			" ranks each (tensor_parallel times pipeline_parallel) are %" PRIu64
			", not ranks=%" PRIu64 "; leave out one of the two",
			j->data_parallel, one, one * j->data_parallel, j->ranks);
	return 0;
}

static int check_local(const struct job *j, struct mlgen_err *err)
{
	struct ranges local;
	int rc = job_local_ranks(j, &local, err);

	ranges_fini(&local);
	return rc;
}

/* ---- how much ---- */

/* Norms lie on every tensor-parallel rank, the rest is cut. */
static double transformer_bytes(const struct job *j)
{
	double h = (double)j->model_hidden, layers = (double)j->model_layers;
	double tensor_parallel = (double)j->tensor_parallel;
	double ranks = (double)job_ranks(j);
	double kv = h / (double)j->model_heads * (double)j->model_kv_heads;
	double norms = (2 * layers + 1) * h;
	double rest = 2 * h * (double)j->model_vocabulary +
		      layers * h * (2 * h + 2 * kv + 3 * (double)j->model_ffn);

	return (double)j->model_bytes * (tensor_parallel * norms + rest) +
	       3 * (double)j->optimizer_bytes * (norms + rest + 5 * h * ranks);
}

static int too_much(const char *option, struct mlgen_err *err)
{
	return mlgen_fail(err, -ERANGE, "%s: the state of all ranks would have more than 8 EiB",
			  option);
}

static int check_model_bytes(const struct job *j, struct mlgen_err *err)
{
	return is_transformer(j) && transformer_bytes(j) > MODEL_BYTES_MAX
		       ? too_much("model_layers", err)
		       : 0;
}

static int check_size_bytes(const struct job *j, struct mlgen_err *err)
{
	return (double)j->checkpoint_size_bytes * (double)job_ranks(j) > MODEL_BYTES_MAX
		       ? too_much("checkpoint_size", err)
		       : 0;
}

static const struct {
	const char *option;
	int (*check)(const struct job *j, struct mlgen_err *err);
} rules[] = {
	{ "checkpoint_size", check_size },
	{ "tensor_sizes", check_list },
	{ "model_layers", check_some },
	{ "model_hidden", check_hidden },
	{ "model_kv_heads", check_kv_heads },
	{ "tensor_parallel", check_heads },
	{ "model_ffn", check_ffn },
	{ "pipeline_parallel", check_stages },
	{ "zero_stage", check_zero },
	{ "ranks", check_ranks },
	{ "data_parallel", check_copies },
	{ "checkpoint_ranks", check_local },
	{ "model_layers", check_model_bytes },
	{ "checkpoint_size", check_size_bytes },
};

const char *job_check_model(const struct job *j, unsigned i, int *rc, struct mlgen_err *err)
{
	if (i >= ARRAY_LEN(rules))
		return NULL;
	*rc = rules[i].check(j, err);
	return rules[i].option;
}
