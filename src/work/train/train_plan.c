/* SPDX-License-Identifier: Apache-2.0 */
/* train_plan.c - what a dry run computes of a dataset, and of a training; train_plan_text.c prints
 * it. */
#include "work/train/train_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/mlperf/mlperf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/order/order.h"
#include "data/plans/plans.h"
#include "io/dropcaches.h"
#include "job/job.h"
#include "report/plan_parts.h"
#include "run/hold.h"
#include "run/loader.h"
#include "run/make/make.h"
#include "run/tier.h"
#include "run/train.h"
#include "work/checkpoint/plan_checkpoint.h"

/* Extents that stand for all in the calls per sample, as in data/plans/demand.c. */
#define LOOKED_AT 32768

static bool is_training(const struct plan_report *p)
{
	return !job_work(p->job)->only_prepares;
}

/* Files that are there, and what is left to write. False = a mismatch. */
static bool look_at_files(struct plan_report *p, const struct plan_input *in)
{
	struct mlgen_err err = { 0 };
	enum manifest_state state = MANIFEST_ABSENT;
	bool renew = in->set->replace && !is_training(p);

	/* There are somebody else's files. */
	if (plan_has_failed(p, "dataset"))
		return false;
	int rc = manifest_read(&p->dataset, &state, &err);

	if (!rc && state != MANIFEST_ABSENT)
		rc = manifest_present(&p->dataset, &p->present_files, &p->present_bytes,
				      &p->present_estimate, &err);
	if (rc && !renew) {
		plan_add_check(p, "dataset", PLAN_FAIL, "%s", err.text);
		return false;
	}
	if (rc) {
		p->present_files = p->present_bytes = 0;
		plan_add_check(
			p, "dataset", PLAN_WARNING,
			"--replace deletes the dataset that is there, which was made otherwise");
	}
	p->write_files = dataset_there(&p->dataset) - p->present_files;
	if (p->write_files && p->totals.bytes > p->present_bytes)
		p->write_bytes = p->totals.bytes - p->present_bytes;
	return true;
}

/* Of the files to evaluate with, which are beside them. */
static int add_eval(struct plan_report *p, struct prepare_need *n, struct mlgen_err *err)
{
	enum manifest_state state;
	struct dataset_totals totals;
	struct dataset eval = { 0 };
	uint64_t files = 0, bytes = 0;
	bool is_estimate;
	int rc = dataset_init_eval(&eval, &p->dataset, p->job, err);

	if (rc == 0)
		rc = manifest_read_eval(&eval, &p->dataset, &state, err);
	if (rc == 0)
		rc = manifest_present(&eval, &files, &bytes, &is_estimate, err);
	if (rc == 0) {
		dataset_totals(&eval, &totals);
		n->eval_bytes = totals.bytes;
		n->missing_files += dataset_there(&eval) - files;
		n->missing_bytes += totals.bytes - bytes;
		n->present_files += files;
		n->present_bytes += bytes;
	}
	dataset_fini(&eval);
	return rc;
}

/* What the run asks once it has looked at what is there. */
static void ask_place(struct plan_report *p, const struct plan_input *in)
{
	struct mlgen_err err = { 0 };
	struct prepare_need need = {
		.dataset = &p->dataset,
		.readonly = in->set->readonly,
		.allow_fill = in->set->allow_fill,
		.missing_files = p->write_files,
		.missing_bytes = p->write_bytes,
		.present_files = p->present_files,
		.present_bytes = p->present_bytes,
	};
	int rc = 0;

	if (p->job->eval_files && !p->dataset.scan)
		rc = add_eval(p, &need, &err);
	if (rc == 0 && in->set->replace && !is_training(p))
		dataremove_bytes(p->dataset.directory, &need.freed_bytes, NULL);
	if (rc)
		plan_add_fail(p, "dataset", &err);
	for (const struct prepare_rule *rule = prepare_rules; rule->name && rc == 0; rule++) {
		struct mlgen_err why = { 0 };

		if (rule->ask(&need, &why))
			plan_add_fail(p, rule->name, &why);
		else
			plan_add_check(p, rule->name, PLAN_OK, "%s", "");
	}
}

static void check_mount(struct plan_report *p, const struct plan_input *in)
{
	struct mlgen_err err = { 0 };
	bool is_matching = look_at_files(p, in);

	if (mount_read(&p->mount, dataset_place(&p->dataset), &err))
		return; /* a rule says so */
	p->free_bytes = p->mount.free_bytes;
	if (is_matching)
		ask_place(p, in);
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: nothing of a disk is measured there",
			       p->mount.type, p->mount.target);
}

static void check_direct(struct plan_report *p)
{
	char path[4096];
	const char *probe = dataset_place(&p->dataset);

	if (p->present_files && dataset_path(&p->dataset, 0, path, sizeof(path)) > 0 &&
	    access(path, F_OK) == 0)
		probe = path;
	plan_check_direct(p, probe);
}

static void check_memory(struct plan_report *p)
{
	double memory = (double)p->memory_bytes;
	char ratio[32];

	snprintf(ratio, sizeof(ratio), "--dataset_ratio=%d", MLPERF_MEMORIES);
	p->dataset_memory_ratio = memory > 0 ? (double)p->totals.bytes / memory : (double)NAN;
	if (!(p->dataset_memory_ratio < MLPERF_MEMORIES))
		plan_add_check(p, "memory", PLAN_OK, "%d x", MLPERF_MEMORIES);
	else if (p->job->direct || job_drops_each_epoch(p->job))
		plan_add_check(p, "memory", PLAN_OK, "%s", "");
	else
		plan_add_check(p, "memory", PLAN_WARNING,
			       "%s can keep much of the dataset in memory; MLPerf Storage asks for "
			       "%d x: %s, or %s",
			       p->is_of_hosts ? "these hosts" : "this host", MLPERF_MEMORIES,
			       dataset_makes_files(&p->dataset, p->job)
				       ? ratio
				       : "a directory with more files",
			       advice_direct(p->job) ? "direct=1" : "invalidate=epoch");
}

/* As the run will ask. */
static void check_emptied(struct plan_report *p)
{
	struct mlgen_err err = { 0 };

	if (p->job->drop_caches == DROP_CACHES_NO)
		return;
	if (dropcaches_check("", &err) < 0)
		plan_add_check(p, "caches", PLAN_FAIL, "%s", err.text);
	else
		plan_add_check(p, "caches", PLAN_OK, "%s", "");
}

static void check_steps(struct plan_report *p)
{
	const struct job *j = p->job;
	bool makes_files = dataset_makes_files(&p->dataset, j);

	if (p->steps_per_epoch >= MLPERF_STEPS) {
		plan_add_check(p, "steps", PLAN_OK, "%d", MLPERF_STEPS);
		return;
	}
	uint64_t samples = plan_product(j->batch_size * p->accelerators, MLPERF_STEPS);
	uint64_t files = divide_up(samples, p->dataset.samples_per_file);
	plan_add_check(p, "steps", PLAN_WARNING,
		       "MLPerf Storage asks for %d steps per epoch: %s%" PRIu64 "%s", MLPERF_STEPS,
		       makes_files ? "--num_files=" : "", files, makes_files ? "" : " files");
}

static void count_eval(struct plan_report *p, const struct pass *pass)
{
	struct dataset_totals totals;

	dataset_totals(pass->dataset, &totals);
	p->eval_files = dataset_there(pass->dataset);
	p->eval_bytes = totals.bytes;
	p->eval_steps = pass->sampler.steps;
}

/* How long an epoch and the run are. */
static void count_steps(struct plan_report *p, const struct stages *stages)
{
	const struct job *j = p->job;
	uint64_t steps = stages->train.sampler.steps;
	uint64_t samples = dataset_samples(&p->dataset);
	uint64_t taken = steps * p->accelerators * j->batch_size;

	p->steps_per_epoch = steps;
	p->left_over_samples = taken < samples ? samples - taken : 0;
	p->total_steps = j->time_based ? UINT64_MAX : plan_product(j->epochs, steps);
	if (j->steps && j->steps < p->total_steps)
		p->total_steps = j->steps;
	if (stages->has_eval)
		count_eval(p, &stages->eval);
}

static void add_calls(struct plan_calls *to, const struct plan_counts *c)
{
	to->open += (double)c->ops[MLGEN_OPEN];
	to->stat += (double)c->ops[MLGEN_STAT];
	to->read += (double)c->ops[MLGEN_READ];
	to->write += (double)c->ops[MLGEN_WRITE];
	to->fsync += (double)c->ops[MLGEN_FSYNC];
	to->close += (double)c->ops[MLGEN_CLOSE];
}

static void count_calls(struct plan_report *p, const struct plan_config *plan)
{
	uint64_t extents = dataset_extents(&p->dataset);
	uint64_t step = extents / LOOKED_AT ? extents / LOOKED_AT : 1;
	struct plan_calls *c = &p->calls_per_sample;
	double samples = 0, bytes = 0;

	for (uint64_t i = 0, id = 0; i < LOOKED_AT && id < extents; i++, id += step) {
		struct plan_counts counts;
		struct extent x;

		dataset_extent(&p->dataset, id, &x);
		plan_count(plan, &x, &counts);
		add_calls(c, &counts);
		sizes_merge(&p->read_sizes, &counts.reads);
		bytes += (double)counts.io_bytes;
		samples += x.samples;
	}
	double share = samples > 0 ? 1 / samples : 0;
	*c = (struct plan_calls){
		c->open * share,  c->stat * share,  c->read * share,
		c->write * share, c->fsync * share, c->close * share,
	};
	p->io_bytes_per_sample = bytes * share;
}

static struct plan_config plan_of(const struct plan_report *p)
{
	return (struct plan_config){
		.dataset = &p->dataset,
		.access = (enum job_access)p->job->access,
		.bs_bytes = p->job->bs.read,
		.direct = p->job->direct,
		.align_bytes = p->direct_align_bytes,
	};
}

static void compute_demand(struct plan_report *p)
{
	const struct plan_config plan = plan_of(p);
	struct demand d;

	demand_of(&d, p->job, &plan);
	p->samples_per_sec_one = d.samples_per_sec;
	p->bytes_per_sec_one = d.bytes_per_sec;
	/* Of those that other processes have, too. */
	double of_all = (double)p->accelerators / (double)p->job->accelerators;
	p->demand_bytes_per_sec = d.all_bytes_per_sec * of_all;
	p->demand_io_bytes_per_sec = d.all_io_bytes_per_sec * of_all;
	count_calls(p, &plan);
}

/* The least time is that of accelerators which never wait. */
static void compute_length(struct plan_report *p)
{
	const struct job *j = p->job;
	double step_seconds = dist_mean(&j->compute_time) / 1e9;
	double runtime = j->runtime_ns ? (double)j->runtime_ns / 1e9 : (double)INFINITY;
	double seconds = runtime, samples = (double)NAN;

	if (p->total_steps != UINT64_MAX) {
		samples = (double)p->total_steps * (double)p->accelerators * (double)j->batch_size;
		seconds = fmin(runtime, (double)p->total_steps * step_seconds);
	}
	p->read_bytes = samples * p->io_bytes_per_sample;
	p->least_seconds = seconds > 0 && isfinite(seconds) ? seconds : (double)NAN;
}

static void compute_memory(struct plan_report *p, const struct stages *stages)
{
	const struct job *j = p->job;
	double samples = (double)p->accelerators * hold_samples(j, &stages->train);

	memneed_train(&p->need, j, stages);
	tier_need(&p->need, j, stages);
	if (j->cache != CACHE_NONE) {
		p->cache_state_bytes = (double)tier_state_bytes(j, stages);
		p->cache_stored_bytes = tier_stored_bytes(j, stages);
	}
	p->program_bytes = plan_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
	p->framework_bytes = samples * p->totals.mean_sample_bytes;
}

/* What the job itself holds of that. */
static void check_hold(struct plan_report *p, const struct stages *stages)
{
	if (!p->job->hold_samples || !p->touches_files)
		return;
	p->held_bytes = hold_bytes(p->job, stages);
	memneed_hold(&p->need, p->job, stages);
	plan_add_check(p, "hold", PLAN_OK, "%s", "");
}

static int plan_stages(struct plan_report *p, const struct plan_input *in, struct stages *stages,
		       struct mlgen_err *err)
{
	const struct job *j = p->job;
	uint64_t threads = plan_product(j->accelerators, job_readers(j));
	int rc = 0;

	count_steps(p, stages);
	p->reads_in_flight = plan_product(threads, job_depth(j));
	if (p->touches_files) {
		p->open_files = plan_product(threads, job_samples_at_once(j)) + PLAN_OWN_FILES;
		check_memory(p);
		check_emptied(p);
		if (j->direct)
			check_direct(p);
	}
	stages->train.plan.align_bytes = p->direct_align_bytes;
	stages->eval.plan.align_bytes = p->direct_align_bytes;
	check_steps(p);
	compute_demand(p);
	compute_length(p);
	compute_memory(p, stages);
	check_hold(p, stages);
	if (job_has_checkpoints(j))
		rc = plan_checkpoint(p, in, err);
	return rc;
}

static int plan_training(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err)
{
	const struct job *j = p->job;
	struct stages stages;
	int rc = train_stages(&stages, j, &p->dataset, j->eval_files ? &p->eval : NULL, 0, err);

	return rc ? rc : plan_stages(p, in, &stages, err);
}

int train_plan(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err)
{
	dataset_totals(&p->dataset, &p->totals);
	if (p->touches_files)
		check_mount(p, in);
	if (p->write_files || !is_training(p))
		memneed_prepare(
			&p->need, dataset_all_files(&p->dataset),
			dataset_file_bytes(&p->dataset,
					   dataset_large_file(&p->dataset, CREW_MOST_BYTES)));
	return is_training(p) ? plan_training(p, in, err) : 0;
}
