/* SPDX-License-Identifier: Apache-2.0 */
/* train_page.c - a training, and a preparation, in reports and plans. */
#include <math.h>

#include "data/plans/plans.h"
#include "report/metrics.h"
#include "report/page.h"
#include "report/show.h"
#include "work/train/train_plan.h"
#include "work/train/train_text.h"
#include "work/train/train_verdict.h"
#include "work/train/training.h"

static void list_dataset(struct listing *f, const struct job *j, const struct host *host)
{
	struct mlgen_err err = { 0 };
	struct dataset_totals t;
	struct dataset ds;
	struct demand d;

	if (dataset_init(&ds, j, host_all_memory(host), &err))
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
