/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_asked.c - what saves or restores, in questions. */
#include "ask/ask.h"

#include "work/checkpoint/checkpoint.h"
#include "work/checkpoint/checkpoint_mlperf.h"

static double bytes_per_sec(const struct job_result *r)
{
	return job_result_checkpoints(r)->bytes_per_sec;
}

static uint64_t ranks(const struct job_result *r)
{
	return job_result_checkpoints(r)->ranks;
}

static const char *const checkpoint_varied[] = { "ranks",
						 "data_parallel",
						 "tensor_parallel",
						 "pipeline_parallel",
						 "checkpoint_threads",
						 "iodepth",
						 "model_layers",
						 "model_hidden",
						 NULL };

const struct asked checkpoint_asked = {
	.bytes_per_sec = bytes_per_sec,
	.workers = ranks,
	.worker = "ranks",
	.side_by_side = "a checkpoint takes as long as its slowest host",
	.varied = checkpoint_varied,
	.example = "saves.bytes_per_sec>=1e9",
	.mlperf_rules = checkpoint_mlperf_rules,
};
