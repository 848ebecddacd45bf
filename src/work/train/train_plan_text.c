/* SPDX-License-Identifier: Apache-2.0 */
/* train_plan_text.c - the page that a dry run prints of a dataset, and of a training. */
#include "work/train/train_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "job/job.h"
#include "report/plan_lines.h"
#include "report/plan_memory.h"
#include "report/show.h"
#include "work/checkpoint/plan_checkpoint.h"

/* The same inside the table of demand. */
#define SAMPLES_POINT_AT 29
#define RATE_POINT_AT 48

static void put_scan(FILE *to, const struct dataset_totals *t)
{
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "");
	buf_addf(&line, "looked into: %s read in %s", units_human_bytes(n, t->scan_read_bytes),
		 units_human_time(m, (uint64_t)(t->scan_seconds * 1e9)));
	if (t->scan_kept_files > 0)
		buf_addf(&line, ", %s file%s known from before",
			 units_human_count(n, (uint64_t)t->scan_kept_files),
			 plural((uint64_t)t->scan_kept_files));
	plan_put_line(to, &line);
}

static void put_dataset(FILE *to, const struct plan_report *p)
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
	plan_put_line(to, &line);
	if (!is_short)
		plan_put_sentence(to, buf_str(&sizes));
	buf_fini(&sizes);
	if (t->label_files > 0) {
		buf_addf(&labels, "%s of these files ha%s a label file, read with the sample",
			 units_human_count(n, (uint64_t)t->label_files),
			 t->label_files < 2 ? "s" : "ve");
		plan_put_sentence(to, buf_str(&labels));
		buf_fini(&labels);
	}
	if (t->scan_read_bytes > 0 || t->scan_kept_files > 0)
		put_scan(to, t);
	if (!p->touches_files) {
		plan_put_sentence(to, "ioengine=null touches no file: nothing is written, read or "
				      "needed on storage");
		return;
	}
	plan_put_present(to, p, "dataset");
	plan_put_free(to, p);
	plan_put_storage(to, p);
	plan_put_ratio(to, p, "dataset");
}

static void put_epoch(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char n[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "epoch");
	buf_addf(&line, "%s / (%" PRIu64 " accelerator%s x batch %" PRIu64 ")",
		 units_human_count(n, dataset_samples(&p->dataset)), p->accelerators,
		 plural(p->accelerators), j->batch_size);
	plan_say(&line, p, " = {plan.steps_per_epoch} step{s},");
	/* Leave room for the check, as a billion samples do not. */
	if (line.len + sizeof(" 0 samples left over") > PLAN_CHECK_AT) {
		plan_put_line(to, &line);
		plan_start_line(&line, "");
	} else {
		buf_addc(&line, ' ');
	}
	if (j->drop_last)
		plan_say(&line, p, "{plan.left_over_samples} sample{s} left over");
	else
		buf_add(&line, "the last batch may be short");
	plan_put_checked(to, &line, plan_find_check(p, "steps"));
}

/* Only of a job that has one. */
static void put_evaluation(struct buf *text, const struct plan_report *p)
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

static uint64_t in_ns(double seconds)
{
	return (uint64_t)fmin(seconds * 1e9, 1e19);
}

/* What ends the run, in the words of the options that say so. */
static void add_limits(struct buf *line, const struct plan_report *p)
{
	if (p->total_steps == UINT64_MAX) {
		plan_say(line, p, "epochs for {runtime}");
		return;
	}
	if (p->job->steps != p->total_steps)
		plan_say(line, p, "{epochs} epoch{s} = ");
	plan_say(line, p, "{plan.total_steps} step{s}[ or {runtime}]");
}

static void put_run(struct buf *text, const struct plan_report *p)
{
	char n[UNITS_TEXT_BYTES];

	add_limits(text, p);
	plan_say(text, p, "[, {plan.read_bytes} read]");
	if (!isnan(p->least_seconds) && p->total_steps != UINT64_MAX)
		buf_addf(text, ", at least %s (100%% AU)",
			 units_human_time(n, in_ns(p->least_seconds)));
}

/* One line of demand; samples_per_sec NaN = none. */
static void put_demand_line(FILE *to, const char *label, const char *who, double samples_per_sec,
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
	plan_put_line(to, &line);
}

/* Three digits, as many as the published tables have. */
static int demand_decimals(const struct rate_unit *u, double rate)
{
	int decimals = show_rate_decimals(u, rate);

	for (double first = rate * pow(10, decimals); first > 0 && first < 99.5 && decimals < 8;
	     first *= 10)
		decimals++;
	return decimals;
}

static void put_demand_lines(FILE *to, const struct plan_report *p)
{
	const struct job *j = p->job;
	char who[SHOW_ACCELERATORS_BYTES];
	double all = p->demand_bytes_per_sec;
	struct rate_unit u = show_rate_unit(all);
	int decimals = demand_decimals(&u, p->bytes_per_sec_one / u.bytes);
	struct buf target = { 0 };

	if (isnan(all)) {
		fprintf(to, "%-*s%s\n", PLAN_TEXT_AT, "demand",
			"without limit: compute_time=0, as fast as storage delivers");
		return;
	}
	snprintf(who, sizeof(who), "one %s", j->accelerator ? j->accelerator : "accelerator");
	put_demand_line(to, "demand", who, p->samples_per_sec_one, &u, decimals,
			p->bytes_per_sec_one);
	if (p->accelerators > 1) {
		show_accelerators(who, p->accelerators, j->accelerator);
		put_demand_line(to, "", who, p->samples_per_sec_one * (double)p->accelerators, &u,
				decimals, all);
	}
	if (isnan(j->target_au))
		return;
	buf_addf(&target, "%s at %g%%", who, j->target_au);
	put_demand_line(to, "", buf_str(&target), (double)NAN, &u, decimals,
			all * j->target_au / 100);
	buf_fini(&target);
}

static void put_demand(FILE *to, const struct plan_report *p)
{
	struct buf guesses = { 0 };

	put_demand_lines(to, p);
	guess_text(p->job, &guesses);
	if (guesses.len)
		plan_put_sentence(to, buf_str(&guesses));
	buf_fini(&guesses);
}

static void put_readers(struct buf *text, const struct plan_report *p)
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

static void add_call(struct buf *line, const char *name, double n)
{
	char text[UNITS_TEXT_BYTES];

	if (n <= 0)
		return;
	if (n >= 100 || floor(n) >= n)
		units_human_count(text, (uint64_t)(n + 0.5));
	else
		units_sig4(text, n);
	const char *end = buf_str(line) + line->len;
	buf_addf(line, "%s%s %s", end[-1] == ':' ? " " : ", ", name, text);
}

/* How large they are. */
static void add_read_sizes(struct buf *line, const struct plan_report *p)
{
	buf_add(line, " (");
	if (p->job->access == ACCESS_PLAIN)
		plan_say(line, p, "of up to {bs.read}");
	else if (p->job->direct && p->job->access == ACCESS_FRAMEWORK)
		buf_add(line, "the whole file");
	else
		show_sizes(line, &p->read_sizes);
	buf_addc(line, ')');
}

static void put_calls(struct buf *text, const struct plan_report *p)
{
	const struct plan_calls *c = &p->calls_per_sample;

	buf_add(text, "per sample:");
	add_call(text, "open", c->open);
	add_call(text, "stat", c->stat);
	add_call(text, "read", c->read);
	if (c->read > 0)
		add_read_sizes(text, p);
	add_call(text, "close", c->close);
	if (!(c->open > 0 || c->stat > 0 || c->read > 0 || c->close > 0))
		buf_add(text, " none; files are mapped, and not touched");
}

/* Whose samples are read ahead; NULL = of no framework. */
static const char *framework_of(const struct job *j)
{
	return j->loader == LOADER_PYTORCH  ? "PyTorch"
	       : j->loader == LOADER_TFDATA ? "TensorFlow"
					    : NULL;
}

static void put_held(FILE *to, const struct plan_report *p)
{
	const char *framework = framework_of(p->job);
	struct buf line = { 0 };

	plan_start_line(&line, "");
	buf_add(&line, "prefetched samples, held");
	if (framework)
		buf_addf(&line, " as %s does", framework);
	plan_add_bytes(to, &line, p->held_bytes);
	plan_put_checked(to, &line, plan_find_check(p, "hold"));
}

static void put_samples(FILE *to, const struct plan_report *p)
{
	const char *framework = framework_of(p->job);
	struct buf text = { 0 };

	if (!p->job->hold_samples && framework && p->framework_bytes > 0 && p->job->read_threads) {
		buf_add(&text, framework);
		plan_say(&text, p,
			 " would also hold {plan.framework_bytes} of prefetched samples; "
			 "hold_samples=1 takes that from the page cache, too");
		plan_put_sentence(to, buf_str(&text));
	}
	buf_fini(&text);
	if (p->held_bytes > 0)
		put_held(to, p);
}

static void put_emptied(struct buf *text, const struct plan_report *p)
{
	if (!plan_find_check(p, "caches"))
		return;
	buf_addf(text, "%s are emptied before %s",
		 p->hosts > 1 ? "those of each host" : "this host's",
		 p->job->drop_caches == DROP_CACHES_EPOCH ? "each epoch" : "the job");
}

void prepare_plan_text(FILE *to, const struct plan_report *p)
{
	put_dataset(to, p);
}

void train_plan_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ .lines = put_dataset },
		{ .lines = put_epoch },
		{ "eval", .put = put_evaluation },
		{ "run", .put = put_run },
		{ .lines = put_demand },
		{ "in flight", .put = put_readers },
		{ .lines = plan_put_direct },
		{ "calls", .put = put_calls, .wrapped_at = PLAN_TEXT_AT },
		{ .lines = train_plan_cache },
		{ "caches", .put = put_emptied, .check = "caches" },
		{ .lines = plan_checkpoint_text },
		{ "memory", .put = plan_put_program, .check = "program" },
		{ .lines = put_samples },
		{ "files", .put = plan_put_open_files, .check = "files" },
		{ 0 },
	};

	plan_put_list(to, lines, p);
}
