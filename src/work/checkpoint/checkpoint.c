/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - rows of phase=checkpoint and phase=restore for questions, reports and plans. */
#include "work/checkpoint/checkpoint_internal.h"

#include <stdio.h>

#include "ask/ask.h"
#include "data/state/state.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "work/checkpoint/checkpoint.h"

/* ---- questions ---- */

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

/* ---- reports and plans ---- */

/* Seconds of all checkpoints, including incomplete ones. */
static double checkpoint_seconds(const struct job_result *r)
{
	const struct checkpoints_result *c = job_result_checkpoints(r);
	const struct checkpoint_result *k = c->items.items;
	double seconds = c->completed ? c->seconds_mean * (double)c->completed : 0;

	for (size_t i = 0; i < c->items.count; i++)
		if (!k[i].complete && k[i].seconds > 0)
			seconds += k[i].seconds;
	return seconds > 0 ? seconds : 0;
}

/* The demand of such a job is one checkpoint of all ranks, as fast as possible. */
static void list_state(struct listing *f, const struct job *j, const struct host *host)
{
	struct mlgen_err err = { 0 };
	struct state_bytes all;
	struct state s;
	char n[UNITS_TEXT_BYTES];

	(void)host;
	if (state_init(&s, j, &err) == 0) {
		state_all_bytes(&s, &all);
		units_human_bytes(f->size, (double)all.total);
		snprintf(f->need, sizeof(f->need), "checkpoint");
		snprintf(f->who, sizeof(f->who), "%.16s rank%s", units_human_count(n, s.ranks),
			 s.ranks == 1 ? "" : "s");
	}
	state_fini(&s);
}

static char *checkpoint_directory_of(const struct plan_report *p)
{
	return p->checkpoint.directory;
}

const struct page checkpoint_page = {
	.plan = plan_checkpoint,
	.expect = plan_checkpoint_expect,
	.plan_text = plan_checkpoint_text,
	.directory = checkpoint_directory_of,
	.list = list_state,
	.text = text_checkpoint_report,
	.verdict = verdict_fill_checkpoint,
	.seconds = checkpoint_seconds,
	.workers = "threads",
	.looked_at = "time",
	.key = "ml",
	.fields = metrics_ml_fields,
	.has_row = metrics_ml_has,
	.planned = metrics_checkpoint_planned,
	.fill_planned = metrics_planned,
};

/* ---- the workloads ---- */

static const char *const groups[] = { "Model", "Checkpoint", NULL };
static const char *const also_of_save[] = { "Workload", NULL };
static const char *const also_of_restore[] = { "Workload", "Model", "Checkpoint", NULL };

const struct workload work_checkpoint = {
	.groups = groups,
	.option_of = "an option of phase=checkpoint",
	.also = also_of_save,
	.check = checkpoint_check,
	.concurrency_option = "checkpoint_threads",
	.needs_write = true,
	.checkpoints = CHECKPOINTS_ALWAYS,
	.run = &checkpoint_activity,
	.page = &checkpoint_page,
	.asked = &checkpoint_asked,
};

const struct workload work_restore = {
	.also = also_of_restore,
	.check = checkpoint_check,
	.concurrency_option = "checkpoint_threads",
	.needs_read = true,
	.restores = true,
	.checkpoints = CHECKPOINTS_ALWAYS,
	.run = &checkpoint_activity,
	.page = &checkpoint_page,
	.asked = &checkpoint_asked,
};
