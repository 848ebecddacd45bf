/* SPDX-License-Identifier: Apache-2.0 */
/* train_plan.c - the dry run of a training job: its figures, its checks and its page. */
#include "work/train/train_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/mlperf/mlperf.h"
#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "data/order/order.h"
#include "data/plans/plans.h"
#include "io/host.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/make/make.h"
#include "work/checkpoint/checkpoint.h"
#include "work/train/pipeline/pipeline.h"
#include "work/train/tier/tier.h"

/* ---- caches ---- */

/* Print the lines of the cache tier, if there is one. */
static void print_cache(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	struct buf line = { 0 }, rest = { 0 };
	struct cacheshare c;
	char n[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	double hits = (double)NAN;

	if (j->cache == CACHE_NONE)
		return;
	cacheshare_of(&c, j, &p->dataset, p->cache_stored_bytes);
	plan_start_line(&line, "cache");
	buf_addf(&line, "%s, ", cache_word(j->cache));
	units_human_bytes(bytes, c.held_bytes);
	if (c.asked >= 1)
		buf_addf(&line, "all of the dataset fits, %s", bytes);
	else
		buf_addf(&line, "%s of the dataset, %s", show_percent(n, c.share * 100), bytes);
	if (c.asked < 1 && c.samples != UINT64_MAX)
		buf_addf(&line, " (%s samples)", units_human_count(n, c.samples));
	if (j->cache_directory)
		buf_addf(&line, " in %s", j->cache_directory);
	else if (train_cache_is_simulated(j))
		buf_add(&line, ", which is only simulated");
	else
		buf_add(&line, " in memory");
	if (j->cache_scope == CACHE_SCOPE_RANK && j->accelerators > 1)
		buf_add(&line, ", for each accelerator");
	if (job_cache_parts(j) > 1)
		buf_addf(&line,
			 ", shared by all %" PRIu64 " processes, each of which keeps 1/%" PRIu64,
			 job_cache_parts(j), job_cache_parts(j));

	plan_print_checked(to, &line, plan_find_check(p, "cache"));
	if (cacheshare_applies(j))
		hits = cacheshare_hits((enum job_cache)j->cache, c.share);
	if (!isnan(hits))
		buf_addf(&rest, "%.1f%% hits expected from epoch 2 on; ", hits * 100);
	buf_addf(&rest, "%s of memory for its bookkeeping",
		 units_human_bytes(n, p->cache_state_bytes));
	plan_print_sentence(to, buf_str(&rest));
	buf_fini(&rest);
}

/* ---- computing ---- */

/* Number of extents that are sampled to estimate the calls per sample, as in
 * data/plans/demand.c. */
#define CALL_SAMPLES 32768

static bool is_training(const struct plan_report *p)
{
	return !job_work(p->job)->only_prepares;
}

/* Count the files that exist and the files to write. False: they do not match the job. */
static bool count_files(struct plan_report *p, const struct plan_input *in)
{
	struct mlgen_err err = { 0 };
	enum manifest_state state = MANIFEST_ABSENT;
	bool renew = in->set->replace && !is_training(p);

	/* The directory has files of another program. */
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
		plan_add_check(p, "dataset", PLAN_WARNING,
			       "--replace deletes the existing dataset, which was made with other "
			       "options");
	}
	p->write_files = dataset_existing_files(&p->dataset) - p->present_files;
	if (p->write_files && p->totals.bytes > p->present_bytes)
		p->write_bytes = p->totals.bytes - p->present_bytes;
	return true;
}

/* Add the evaluation files, which are in the same directory as the training files. */
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
		n->missing_files += dataset_existing_files(&eval) - files;
		n->missing_bytes += totals.bytes - bytes;
		n->present_files += files;
		n->present_bytes += bytes;
	}
	dataset_fini(&eval);
	return rc;
}

/* Evaluate the rules of the preparation, as the run does once it knows which files exist. */
static void check_prepare_rules(struct plan_report *p, const struct plan_input *in)
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
	bool is_matching = count_files(p, in);

	if (mount_read(&p->mount, dataset_storage_path(&p->dataset), &err))
		return; /* a rule reports it */
	p->free_bytes = p->mount.free_bytes;
	if (is_matching)
		check_prepare_rules(p, in);
	if (p->mount.is_memory)
		plan_add_check(p, "storage", PLAN_WARNING,
			       "%s at %s is memory: no disk is measured there", p->mount.type,
			       p->mount.target);
}

static void check_direct(struct plan_report *p)
{
	char path[4096];
	const char *probe = dataset_storage_path(&p->dataset);

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

/* Check drop_caches as the run does. */
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

/* Count the steps of an epoch and of the run. */
static void count_steps(struct plan_report *p, const struct stages *stages)
{
	const struct job *j = p->job;
	uint64_t steps = stages->train.sampler.steps;
	uint64_t samples = dataset_samples(&p->dataset);
	uint64_t used = steps * p->accelerators * j->batch_size;

	p->steps_per_epoch = steps;
	p->left_over_samples = used < samples ? samples - used : 0;
	p->total_steps = j->time_based ? UINT64_MAX : u64_product(j->epochs, steps);
	if (j->steps && j->steps < p->total_steps)
		p->total_steps = j->steps;
	if (stages->has_eval) {
		const struct pass *eval = &stages->eval;
		struct dataset_totals totals;

		dataset_totals(eval->dataset, &totals);
		p->eval_files = dataset_existing_files(eval->dataset);
		p->eval_bytes = totals.bytes;
		p->eval_steps = eval->sampler.steps;
	}
}

static void compute_demand(struct plan_report *p)
{
	const struct plan_config plan = {
		.dataset = &p->dataset,
		.access = (enum job_access)p->job->access,
		.bs_bytes = p->job->bs.read,
		.direct = p->job->direct,
		.align_bytes = p->direct_align_bytes,
	};
	struct demand d;

	demand_of(&d, p->job, &plan);
	p->samples_per_sec_one = d.samples_per_sec;
	p->bytes_per_sec_one = d.bytes_per_sec;
	/* Scale to the accelerators of all processes. */
	double processes = (double)p->accelerators / (double)p->job->accelerators;
	p->demand_bytes_per_sec = d.all_bytes_per_sec * processes;
	p->demand_io_bytes_per_sec = d.all_io_bytes_per_sec * processes;

	uint64_t extents = dataset_extents(&p->dataset);
	uint64_t step = extents / CALL_SAMPLES ? extents / CALL_SAMPLES : 1;
	struct plan_calls *c = &p->calls_per_sample;
	double samples = 0, bytes = 0;
	for (uint64_t i = 0, id = 0; i < CALL_SAMPLES && id < extents; i++, id += step) {
		struct plan_counts counts;
		struct extent x;

		dataset_extent(&p->dataset, id, &x);
		plan_count(&plan, &x, &counts);
		c->open += (double)counts.ops[MLGEN_OPEN];
		c->stat += (double)counts.ops[MLGEN_STAT];
		c->read += (double)counts.ops[MLGEN_READ];
		c->write += (double)counts.ops[MLGEN_WRITE];
		c->fsync += (double)counts.ops[MLGEN_FSYNC];
		c->close += (double)counts.ops[MLGEN_CLOSE];
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

static void compute_memory(struct plan_report *p, const struct stages *stages)
{
	const struct job *j = p->job;
	double samples = (double)p->accelerators * hold_samples(j, &stages->train);

	train_need(&p->need, j, stages);
	tier_need(&p->need, j, stages);
	if (j->cache != CACHE_NONE) {
		p->cache_state_bytes = (double)tier_state_bytes(j, stages);
		p->cache_stored_bytes = tier_stored_bytes(j, stages);
	}
	p->program_bytes = u64_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
	p->framework_bytes = samples * p->totals.mean_sample_bytes;
	if (!j->hold_samples || !p->touches_files)
		return;
	p->held_bytes = hold_bytes(j, stages);
	train_need_hold(&p->need, j, stages);
	plan_add_check(p, "hold", PLAN_OK, "%s", "");
}

int train_plan(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err)
{
	const struct job *j = p->job;
	uint64_t threads = u64_product(j->accelerators, job_readers(j));
	struct stages stages;

	dataset_totals(&p->dataset, &p->totals);
	if (p->touches_files)
		check_mount(p, in);
	if (p->write_files || !is_training(p))
		memneed_prepare(
			&p->need, dataset_all_files(&p->dataset),
			dataset_file_bytes(&p->dataset,
					   dataset_large_file(&p->dataset, POOL_MOST_BYTES)));
	if (!is_training(p))
		return 0;
	int rc = train_stages(&stages, j, &p->dataset, j->eval_files ? &p->eval : NULL, 0, err);
	if (rc)
		return rc;
	count_steps(p, &stages);
	p->reads_in_flight = u64_product(threads, job_depth(j));
	if (p->touches_files) {
		p->open_files = u64_product(threads, job_samples_at_once(j)) + PLAN_OWN_FILES;
		check_memory(p);
		check_emptied(p);
		if (j->direct)
			check_direct(p);
	}
	stages.train.plan.align_bytes = p->direct_align_bytes;
	stages.eval.plan.align_bytes = p->direct_align_bytes;
	if (p->steps_per_epoch >= MLPERF_STEPS) {
		plan_add_check(p, "steps", PLAN_OK, "%d", MLPERF_STEPS);
	} else {
		bool makes_files = dataset_makes_files(&p->dataset, j);
		uint64_t samples = u64_product(j->batch_size * p->accelerators, MLPERF_STEPS);

		plan_add_check(p, "steps", PLAN_WARNING,
			       "MLPerf Storage asks for %d steps per epoch: %s%" PRIu64 "%s",
			       MLPERF_STEPS, makes_files ? "--num_files=" : "",
			       divide_up(samples, p->dataset.samples_per_file),
			       makes_files ? "" : " files");
	}
	compute_demand(p);

	/* The least time assumes that accelerators never wait. */
	double step_seconds = dist_mean(&j->compute_time) / 1e9;
	double runtime = j->runtime_ns ? (double)j->runtime_ns / 1e9 : (double)INFINITY;
	double seconds = runtime, samples = (double)NAN;
	if (p->total_steps != UINT64_MAX) {
		samples = (double)p->total_steps * (double)p->accelerators * (double)j->batch_size;
		seconds = fmin(runtime, (double)p->total_steps * step_seconds);
	}
	p->read_bytes = samples * p->io_bytes_per_sample;
	p->least_seconds = seconds > 0 && isfinite(seconds) ? seconds : (double)NAN;

	compute_memory(p, &stages);
	return job_has_checkpoints(j) ? plan_checkpoint(p, in, err) : 0;
}

/* ---- printing ---- */

/* Columns of the decimal points in the lines that show the demand. */
#define SAMPLES_POINT_AT 29
#define RATE_POINT_AT 48

void prepare_plan_text(FILE *to, const struct plan_report *p)
{
	const struct dataset_totals *t = &p->totals;
	uint64_t per_file = p->dataset.samples_per_file;
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];
	struct buf line = { 0 }, sizes = { 0 }, labels = { 0 };

	plan_start_line(&line, "dataset");
	buf_addf(&line, "%s %s file%s", units_human_count(n, p->dataset.files),
		 p->dataset.format->name, plural(p->dataset.files));
	if (p->dataset.uneven_samples)
		buf_addf(&line, ", %s samples", units_human_count(m, p->dataset.uneven_samples));
	else
		buf_addf(&line, " x %s sample%s", units_human_count(m, per_file), plural(per_file));
	buf_addf(&sizes, "%s mean", units_human_mb(n, t->mean_file_bytes));
	if (t->stdev_file_bytes > 0)
		buf_addf(&sizes, ", %s stdev", units_human_mb(n, t->stdev_file_bytes));
	bool is_short = line.len + 2 + sizes.len + 4 <= PLAN_POINT_AT;
	if (is_short)
		buf_addf(&line, ", %s", buf_str(&sizes));
	plan_add_figure(to, &line, units_human_bytes(n, (double)t->bytes));
	if (t->estimate) {
		plan_pad_to(&line, PLAN_CHECK_AT);
		buf_add(&line, "estimate");
	}
	plan_print_line(to, &line);
	if (!is_short)
		plan_print_sentence(to, buf_str(&sizes));
	buf_fini(&sizes);
	if (t->label_files > 0) {
		buf_addf(&labels, "%s of these files ha%s a label file, read with the sample",
			 units_human_count(n, (uint64_t)t->label_files),
			 t->label_files < 2 ? "s" : "ve");
		plan_print_sentence(to, buf_str(&labels));
		buf_fini(&labels);
	}
	if (t->scan_read_bytes > 0 || t->scan_kept_files > 0) {
		plan_start_line(&line, "");
		buf_addf(&line, "files examined: %s read in %s",
			 units_human_bytes(n, t->scan_read_bytes),
			 units_human_time(m, (uint64_t)(t->scan_seconds * 1e9)));
		if (t->scan_kept_files > 0)
			buf_addf(&line, ", %s file%s known from an earlier scan",
				 units_human_count(n, (uint64_t)t->scan_kept_files),
				 plural((uint64_t)t->scan_kept_files));
		plan_print_line(to, &line);
	}
	if (!p->touches_files) {
		plan_print_sentence(to,
				    "ioengine=null touches no file: nothing is written, read or "
				    "needed on storage");
		return;
	}
	plan_print_present(to, p, "dataset");
	plan_print_free(to, p);
	plan_print_storage(to, p);
	plan_print_ratio(to, p, "dataset");
}

static void print_epoch(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "epoch");
	buf_addf(&line, "%s / (%" PRIu64 " accelerator%s x batch %" PRIu64 ")",
		 units_human_count(n, dataset_samples(&p->dataset)), p->accelerators,
		 plural(p->accelerators), j->batch_size);
	plan_say(&line, p, " = {plan.steps_per_epoch} step{s},");
	/* The line also needs room for its check; a billion samples leave too little. */
	if (line.len + sizeof(" 0 samples left over") > PLAN_CHECK_AT) {
		plan_print_line(to, &line);
		plan_start_line(&line, "");
	} else {
		buf_addc(&line, ' ');
	}
	if (j->drop_last)
		plan_say(&line, p, "{plan.left_over_samples} sample{s} left over");
	else
		buf_add(&line, "the last batch may be short");
	plan_print_checked(to, &line, plan_find_check(p, "steps"));
}

/* Appends nothing for a job without an evaluation. */
static void append_evaluation(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	if (p->eval_files == 0)
		return;
	plan_say(text, p,
		 "{plan.eval_files} more file{s}, {plan.eval_bytes}; {plan.eval_steps} step{s} "
		 "after ");
	if (j->eval_every == 1)
		buf_add(text, "every epoch");
	else
		plan_say(text, p, "every {eval_every} epochs");
	if (j->eval_after > 1)
		plan_say(text, p, ", from {eval_after} on");
}

/* Append the limits of the run, in the words of the options that set them, and its least time. */
static void append_run(struct buf *text, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];

	if (p->total_steps == UINT64_MAX) {
		plan_say(text, p, "epochs for {runtime}");
	} else {
		if (p->job->steps != p->total_steps)
			plan_say(text, p, "{epochs} epoch{s} = ");
		plan_say(text, p, "{plan.total_steps} step{s}[ or {runtime}]");
	}
	plan_say(text, p, "[, {plan.read_bytes} read]");
	if (!isnan(p->least_seconds) && p->total_steps != UINT64_MAX)
		buf_addf(text, ", at least %s (100%% AU)",
			 units_human_time(n, (uint64_t)fmin(p->least_seconds * 1e9, 1e19)));
}

/* Print a line of the demand; samples_per_sec NaN = left out. */
static void print_demand_line(FILE *to, const char *label, const char *who, double samples_per_sec,
			      const struct rate_unit *u, int decimals, double bytes_per_sec)
{
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, label);
	buf_add(&line, who);
	if (!isnan(samples_per_sec)) {
		plan_add_at_point(&line, units_sig4(n, samples_per_sec), SAMPLES_POINT_AT);
		plan_pad_to(&line, SAMPLES_POINT_AT + 4);
		buf_add(&line, "samples/s");
	}
	snprintf(n, sizeof(n), "%.*f", decimals, bytes_per_sec / u->bytes);
	plan_add_at_point(&line, n, RATE_POINT_AT);
	buf_addf(&line, " %s", u->name);
	plan_print_line(to, &line);
}

static void print_demand_lines(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char who[SHOW_ACCELERATORS_BYTES];
	double all = p->demand_bytes_per_sec;
	struct rate_unit u = show_rate_unit(all);
	double rate = p->bytes_per_sec_one / u.bytes;
	int decimals = show_rate_decimals(&u, rate);
	struct buf target = { 0 };

	if (isnan(all)) {
		fprintf(to, "%-*s%s\n", PLAN_TEXT_AT, "demand",
			"without limit: compute_time=0, as fast as storage delivers");
		return;
	}
	/* Decimals for three significant digits, like the published tables. */
	for (double first = rate * pow(10, decimals); first > 0 && first < 99.5 && decimals < 8;
	     first *= 10)
		decimals++;
	snprintf(who, sizeof(who), "one %s", j->accelerator ? j->accelerator : "accelerator");
	print_demand_line(to, "demand", who, p->samples_per_sec_one, &u, decimals,
			  p->bytes_per_sec_one);
	if (p->accelerators > 1) {
		show_accelerators(who, p->accelerators, j->accelerator);
		print_demand_line(to, "", who, p->samples_per_sec_one * (double)p->accelerators, &u,
				  decimals, all);
	}
	if (isnan(j->target_au))
		return;
	buf_addf(&target, "%s at %g%%", who, j->target_au);
	print_demand_line(to, "", buf_str(&target), (double)NAN, &u, decimals,
			  all * j->target_au / 100);
	buf_fini(&target);
}

static void print_demand(FILE *to, const struct plan_report *p)
{
	struct buf guesses = { 0 };

	print_demand_lines(to, p);
	guess_text(p->job, &guesses);
	if (guesses.len)
		plan_print_sentence(to, buf_str(&guesses));
	buf_fini(&guesses);
}

static void append_readers(struct buf *text, const struct plan_report *p)
{
	const struct job *j = p->job;

	plan_say(text, p,
		 "{plan.reads_in_flight} read{s} ({plan.accelerators} accelerator{s}[ x "
		 "{read_threads} read_threads]");
	if (job_interleaves(j))
		buf_addf(text, " x %u files", JOB_INTERLEAVE_THREADS);
	buf_add(text, j->read_threads ? ", " : " without read_threads, ");
	if (job_depth(j) == 1)
		buf_add(text, "one read each)");
	else
		buf_addf(text, "iodepth %u)", job_depth(j));
}

static void append_call(struct buf *line, const char *name, double n)
{
	char text[UNITS_TEXT_BYTES];

	if (n <= 0)
		return;
	if (n >= 100 || floor(n) >= n)
		units_human_count(text, (uint64_t)(n + 0.5));
	else
		units_sig4(text, n);
	buf_addf(line, "%s%s %s", buf_str(line)[line->len - 1] == ':' ? " " : ", ", name, text);
}

static void append_calls(struct buf *text, const struct plan_report *p)
{
	const struct plan_calls *c = &p->calls_per_sample;

	buf_add(text, "per sample:");
	append_call(text, "open", c->open);
	append_call(text, "stat", c->stat);
	append_call(text, "read", c->read);
	if (c->read > 0) {
		buf_add(text, " (");
		if (p->job->access == ACCESS_PLAIN)
			plan_say(text, p, "of up to {bs.read}");
		else if (p->job->direct && p->job->access == ACCESS_FRAMEWORK)
			buf_add(text, "the whole file");
		else
			show_sizes(text, &p->read_sizes);
		buf_addc(text, ')');
	}
	append_call(text, "close", c->close);
	if (!(c->open > 0 || c->stat > 0 || c->read > 0 || c->close > 0))
		buf_add(text, " none; files are mapped, and not touched");
}

static void print_samples(FILE *to, const struct plan_report *p)
{
	const char *framework = p->job->loader == LOADER_PYTORCH  ? "PyTorch"
				: p->job->loader == LOADER_TFDATA ? "TensorFlow"
								  : NULL;
	struct buf text = { 0 }, line = { 0 };

	if (!p->job->hold_samples && framework && p->framework_bytes > 0 && p->job->read_threads) {
		buf_add(&text, framework);
		plan_say(&text, p,
			 " would also hold {plan.framework_bytes} of prefetched samples; "
			 "hold_samples=1 holds them, too, which leaves less page cache");
		plan_print_sentence(to, buf_str(&text));
	}
	buf_fini(&text);
	if (!(p->held_bytes > 0))
		return;
	plan_start_line(&line, "");
	buf_add(&line, "prefetched samples, held");
	if (framework)
		buf_addf(&line, " as %s does", framework);
	plan_add_bytes(to, &line, p->held_bytes);
	plan_print_checked(to, &line, plan_find_check(p, "hold"));
}

static void append_emptied(struct buf *text, const struct plan_report *p)
{
	if (!plan_find_check(p, "caches"))
		return;
	buf_addf(text, "emptied on %s before %s", p->hosts > 1 ? "each host" : "this host",
		 p->job->drop_caches == DROP_CACHES_EPOCH ? "each epoch" : "the job");
}

void train_plan_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ .lines = prepare_plan_text },
		{ .lines = print_epoch },
		{ "eval", .put = append_evaluation },
		{ "run", .put = append_run },
		{ .lines = print_demand },
		{ "in flight", .put = append_readers },
		{ .lines = plan_print_direct },
		{ "calls", .put = append_calls, .wrapped_at = PLAN_TEXT_AT },
		{ .lines = print_cache },
		{ "caches", .put = append_emptied, .check = "caches" },
		{ .lines = plan_checkpoint_text },
		{ "memory", .put = plan_append_program, .check = "program" },
		{ .lines = print_samples },
		{ "files", .put = plan_append_open_files, .check = "files" },
		{ 0 },
	};

	plan_print_list(to, lines, p);
}
