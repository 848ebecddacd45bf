/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - the workloads train and prepare: dataset, progress, and their rows in all tables. */
#include "work/train/train_internal.h"

#include <inttypes.h>
#include <math.h>

#include "ask/ask.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/plans/plans.h"
#include "data/scan/scan.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/slot/slot.h"
#include "work/checkpoint/checkpoint.h"
#include "work/train/tier/tier.h"
#include "work/train/train.h"

/* ---- the dataset ---- */

int train_dataset_init(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	const struct dataset *ds = &s->dataset;
	int rc = dataset_init_received(&s->dataset, j, host_job_memory_bytes(run->cfg.host),
				       s->given, err);

	if (rc == 0 && (!job_work(j)->only_prepares || !run->cfg.replace))
		rc = dataset_use_existing(&s->dataset, j, err);
	/* A probe (scaled_as) reads the dataset of the command line, and shows what it uses. */
	if (rc == 0 && ds->scaled.whole && !j->scaled_as)
		log_note("%s: %s has %" PRIu64 " files, which are read; for %" PRIu64
			 " accelerators scale=%.15g%% would create %" PRIu64
			 " files, in another directory",
			 j->name, ds->directory, ds->files, ds->scaled.ranks, j->scale,
			 ds->scaled.whole);
	return rc;
}

/* Files can be replaced or grow during the run, unnoticed by its calls. Checking for it then would
 * add a call to each sample, which would be measured. */
static void warn_changed(const struct slot *s, const struct dataset *ds)
{
	char changed[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];
	uint64_t files = ds->distinct_files ? ds->distinct_files : ds->files;
	struct scan_changed c;

	if (!ds->scan)
		return;
	scan_recheck(ds->scan, u64_min(files, ds->files), &c);
	if (c.changed)
		log_warn("%s: files have changed or disappeared since they were listed: %s of %s "
			 "that were checked again, the first is %s; the report may not describe "
			 "the data that was read",
			 s->job->name, units_human_count(changed, c.changed),
			 units_human_count(all, c.looked_at), c.path);
}

void train_dataset_warn_changed(struct slot *s)
{
	/* After an error this adds nothing; after an interruption the user does not want to wait.
	 */
	if (!slot_touches_files(s) || atomic_load(training_of(s)->train.interrupted) ||
	    atomic_load(&training_of(s)->train.failure->is_set))
		return;
	warn_changed(s, &s->dataset);
	warn_changed(s, &s->eval);
}

/* ---- progress while it runs ---- */

static uint64_t epoch_steps(const struct slot *s)
{
	return training_of(s)->train.stages.train.sampler.steps;
}

static uint64_t train_left_ns(const struct slot *s, const struct live *live)
{
	const struct job *j = s->job;
	uint64_t start = atomic_load(&training_of(s)->train.start_ns), left = UINT64_MAX;

	if (!start)
		return left;
	if (j->runtime_ns) {
		uint64_t end = start + j->ramp_time_ns + j->runtime_ns;

		left = end > live->now_ns ? end - live->now_ns : 0;
	}
	uint64_t done = (live->epoch - 1) * epoch_steps(s) + live->step - 1;
	uint64_t all = j->steps;
	if (!j->time_based && (!all || j->epochs * epoch_steps(s) < all))
		all = j->epochs * epoch_steps(s);
	if (all > done && done > 0) {
		double ns = (double)(live->now_ns - start) / (double)done * (double)(all - done);

		if (ns < (double)left)
			left = (uint64_t)ns;
	}
	return left;
}

static void add_live_counts(const struct rank_count *c, struct live *live)
{
	live->samples += count_get(&c->samples);
	live->sample_bytes += count_get(&c->sample_bytes);
	live->compute_ns += count_get(&c->useful_ns);
	live->step_ns += count_get(&c->step_ns);
	live->stall_ns += count_get(&c->stall_ns);
}

void train_live(const struct slot *s, struct live *live)
{
	const struct train *t = &training_of(s)->train;

	live->epoch = count_get(&t->ranks[0].count.epoch);
	live->epochs = s->job->time_based ? 0 : s->job->epochs;
	live->step = count_get(&t->ranks[0].count.step);
	live->steps = epoch_steps(s);
	for (uint64_t i = 0; i < s->job->accelerators; i++) {
		struct rank *r = &t->ranks[i];
		uint64_t since = count_get(&r->count.waiting_since_ns);

		pthread_mutex_lock(&r->counts_lock);
		add_live_counts(&r->count, live);
		add_live_counts(&r->ramp_count, live);
		if (live->stall)
			hist_merge_live(live->stall, r->stall);
		if (live->stall && r->ramp_stall)
			hist_merge_live(live->stall, r->ramp_stall);
		pthread_mutex_unlock(&r->counts_lock);
		if (since && live->now_ns > since && live->now_ns - since > live->waiting_ns)
			live->waiting_ns = live->now_ns - since;
	}
	slot_add_workers(s, live);
	live->io_bytes = live->io_moved[0] + live->io_moved[1];
	if (live->phase == LIVE_TRAIN && !atomic_load(&t->start_ns))
		live->phase = LIVE_WAIT; /* startdelay */
	live->left_ns = train_left_ns(s, live);
	train_live_saves(t, live);
	if (t->tier)
		tier_read_counters(t->tier, &live->accesses, &live->hits);
	if (atomic_load(&t->dropping))
		live->phase = LIVE_DROP;
}

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

/* A training with checkpoints can be prepared, so prepare accepts all options of train. */
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
