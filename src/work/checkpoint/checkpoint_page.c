/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_page.c - what saves or restores, in reports and plans. */
#include <stdio.h>

#include "data/state/state.h"
#include "report/metrics.h"
#include "report/page.h"
#include "work/checkpoint/checkpoint.h"
#include "work/checkpoint/plan_checkpoint.h"
#include "work/checkpoint/text_checkpoint.h"
#include "work/checkpoint/verdict_checkpoint.h"

/* While checkpoints were under way, those that were not completed, too. */
static double checkpoint_seconds(const struct checkpoints_result *c)
{
	const struct checkpoint_result *k = c->items.items;
	double seconds = c->completed ? c->seconds_mean * (double)c->completed : 0;

	for (size_t i = 0; i < c->items.count; i++)
		if (!k[i].complete && k[i].seconds > 0)
			seconds += k[i].seconds;
	return seconds > 0 ? seconds : 0;
}

static double checkpoint_seconds_of(const struct job_result *r)
{
	return checkpoint_seconds(job_result_checkpoints(r));
}

/* One checkpoint of all ranks; it is wanted as fast as can be. */
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

static void checkpoint_page_report(FILE *to, const struct run_result *run,
				   const struct job_result *r, size_t n, enum detail detail)
{
	struct text_block b;

	(void)n;
	text_block_init(&b, run, r, detail);
	text_checkpoint_report(to, &b);
}

const struct page checkpoint_page = {
	.plan = plan_checkpoint,
	.expect = plan_checkpoint_expect,
	.plan_text = plan_checkpoint_text,
	.directory = checkpoint_directory_of,
	.list = list_state,
	.text = checkpoint_page_report,
	.verdict = verdict_fill_checkpoint,
	.seconds = checkpoint_seconds_of,
	.workers = "threads",
	.looked_at = "time",
	.key = "ml",
	.fields = metrics_ml_fields,
	.has_row = metrics_ml_has,
	.planned = metrics_checkpoint_planned,
	.fill_planned = metrics_planned,
};
