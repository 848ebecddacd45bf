/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - the workloads train and prepare: their rows in all tables. */
#include "work/train/train_internal.h"

#include <inttypes.h>
#include <math.h>

#include "ask/ask.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/plans/plans.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/slot/slot.h"
#include "work/checkpoint/checkpoint.h"
#include "work/train/train.h"

/* ---- row in the questions ---- */

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
	.side_by_side = "files and bytes are their sums, divided by the time of the longest",
	.mlperf_rules = mlperf_other_rules,
};

/* ---- rows in reports and plans ---- */

static void list_dataset(struct listing *f, const struct job *j, const struct host *host)
{
	struct mlgen_err err = { 0 };
	struct dataset_totals t;
	struct dataset ds;
	struct demand d;

	if (dataset_init(&ds, j, host_job_memory_bytes(host), &err))
		return;
	const struct plan_config plan = {
		.dataset = &ds,
		.access = (enum job_access)j->access,
		.bs_bytes = j->bs.read,
	};
	dataset_totals(&ds, &t);
	units_human_bytes(f->size, (double)t.bytes);
	demand_of(&d, j, &plan);
	if (!isnan(d.bytes_per_sec)) {
		struct rate_unit u = show_rate_unit(d.bytes_per_sec);

		show_rate(f->need, &u, d.bytes_per_sec);
	}
	dataset_fini(&ds);
}

static char *train_directory_of(const struct plan_report *p)
{
	return p->dataset.directory;
}

static double train_seconds_of(const struct job_result *r)
{
	return r->ml.runtime_seconds;
}

static double seconds_to_prepare(const struct job_result *r)
{
	return (double)r->prepare.wall_ns / 1e9;
}

const struct page train_page = {
	.plan = train_plan,
	.plan_text = train_plan_text,
	.directory = train_directory_of,
	.list = list_dataset,
	.text = train_text,
	.verdict = train_verdict,
	.seconds = train_seconds_of,
	.workers = "read threads",
	.key = "ml",
	.fields = metrics_ml_fields,
	.has_row = metrics_ml_has,
	.planned = metrics_ml_planned,
	.fill_planned = metrics_planned,
};

const struct page prepare_page = {
	.plan = train_plan,
	.plan_text = prepare_plan_text,
	.directory = train_directory_of,
	.list = list_dataset,
	.text = prepare_text,
	.seconds = seconds_to_prepare,
};

/* ---- the workloads ---- */

static const char *const groups[] = { "Workload", "Dataset", "Accelerator", "Evaluation",
				      "Loader",   "Cache",   NULL };
static const char *const also[] = { "Model", "Checkpoint", NULL };

/* A training job with checkpoints can be prepared, so prepare accepts all options of train. */
static const char *const also_of_prepare[] = { "Workload",   "Dataset",    "Accelerator",
					       "Evaluation", "Loader",     "Cache",
					       "Model",      "Checkpoint", NULL };

static const struct workload_default instead[] = {
	{ "numjobs", "read_threads (of each accelerator) and accelerators" },
	{ NULL, NULL },
};

static void training_check(const struct job *j, struct diag *d)
{
	train_check(j, d);
	checkpoint_check(j, d);
}

const struct workload work_train = {
	.groups = groups,
	.option_of = "an option of phase=train",
	.also = also,
	.instead = instead,
	.check = training_check,
	.concurrency_option = "read_threads",
	.has_dataset = true,
	.has_accelerators = true,
	.is_open_ended = true,
	.is_grouped = true,
	.counts_errors = true,
	.needs_read = true,
	.checkpoints = CHECKPOINTS_OPTIONAL,
	.run = &train_activity,
	.page = &train_page,
	.asked = &train_asked,
};

const struct workload work_prepare = {
	.also = also_of_prepare,
	.check = train_check,
	.concurrency_option = "read_threads",
	.has_dataset = true,
	.only_prepares = true,
	.needs_write = true,
	.run = &prepare_activity,
	.page = &prepare_page,
	.asked = &prepare_asked,
};
