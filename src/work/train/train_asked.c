/* SPDX-License-Identifier: Apache-2.0 */
/* train_asked.c - a training, and a preparation, in questions. */
#include "ask/ask.h"

#include "work/train/train_mlperf.h"
#include "work/train/training.h"

static double bytes_per_sec(const struct job_result *r)
{
	return r->ml.sample_bytes_per_sec;
}

static uint64_t accelerators(const struct job_result *r)
{
	return r->ml.accelerators;
}

static const char *const train_varied[] = {
	"accelerators",   "batch_size",     "read_threads",    "prefetch",           "iodepth",
	"decode_threads", "distinct_files", "eval_batch_size", "checkpoint_threads", NULL
};

static const char *const train_lessened[] = { "cache_size", NULL };

const struct asked train_asked = {
	.bytes_per_sec = bytes_per_sec,
	.workers = accelerators,
	.worker = "accelerators",
	.side_by_side = "rates and accelerators are their sums",
	.varied = train_varied,
	.lessened = train_lessened,
	.mlperf_rules = train_mlperf_rules,
};

const struct asked prepare_asked = {
	.side_by_side = "files and bytes are their sums, over the time of the longest",
	.mlperf_rules = mlperf_other_rules,
};
