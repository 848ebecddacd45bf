/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - the parts of verdicts that all workloads share. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"

#define STEPS_PER_BATCH_AHEAD 10

uint64_t verdict_batches_ahead(const struct job *j)
{
	uint64_t n = j->prefetch;

	if (j->loader == LOADER_PYTORCH)
		n *= j->read_threads;
	if (job_interleaves(j))
		n += job_read_threads(j) * JOB_INTERLEAVE_RECORDS / j->batch_size;
	return n + job_shuffle_buffer(j) / j->batch_size;
}

uint64_t verdict_min_steps(const struct job *j)
{
	return verdict_batches_ahead(j) * STEPS_PER_BATCH_AHEAD;
}

bool verdict_epochs_are_short(const struct job_result *r)
{
	/* An epoch that steps= ends early is not counted. */
	double epochs = fmax(1, (double)r->ml.epochs_total);

	return (double)r->ml.steps < epochs * (double)verdict_min_steps(r->job);
}

double verdict_supply_percent(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	double busy = 1 - ml->loader_percent.idle / 100;

	if (!job_result_has_accelerators(r) || !(busy > 0))
		return (double)NAN;
	/* A sample that a cache tier delivers counts as supplied, even if no byte of it is read. */
	if (r->job->cache != CACHE_NONE)
		return 100 * ml->sample_bytes_per_sec / busy / ml->demand_bytes_per_sec;
	return 100 * ml->io_bytes_per_sec / busy / ml->demand_io_bytes_per_sec;
}

bool verdict_is_hidden(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	double busy = 100 - ml->loader_percent.idle;
	double target = verdict_target_au(r);

	return verdict_epochs_are_short(r) && ml->au_percent >= target &&
	       verdict_supply_percent(r) < target &&
	       show_io_percent(&ml->loader_percent) >= busy * VERDICT_STORAGE_PERCENT / 100;
}

/* The distance to the ceiling in points of AU or, without AU, in percent of the result's rate; NaN
 * if either is unknown. */
static double points_up_to(double au, double rate, const struct job *job,
			   const struct ml_result *ml)
{
	double own = verdict_steady_rate(job, ml);

	if (!isnan(ml->au_percent))
		return au - ml->au_percent;
	return own > 0 ? 100 * (rate - own) / own : (double)NAN;
}

static double near_points(const struct ml_result *ml)
{
	double part = CEILING_NEAR_PART * ml->au_percent;

	return isnan(part) ? CEILING_NEAR_POINTS : fmin(part, CEILING_NEAR_POINTS);
}

static void set_gap(struct ceiling_gap *g, bool of_null, const struct ceiling_result *c,
		    double points)
{
	double au = of_null ? c->null_au_percent : c->cached_au_percent;
	double rate = of_null ? c->null_samples_per_sec : c->cached_samples_per_sec;

	g->of_null = of_null;
	g->points = points;
	g->reached = g->is_rate ? rate : au;
}

void verdict_ceiling(struct ceiling_gap *g, const struct job *job, const struct ml_result *ml)
{
	const struct ceiling_result *c = &ml->ceiling;

	*g = (struct ceiling_gap){ .points = (double)NAN,
				   .reached = (double)NAN,
				   .copying = (double)NAN };
	if (!c->is_tried)
		return;
	double null = points_up_to(c->null_au_percent, c->null_samples_per_sec, job, ml);
	double cached = points_up_to(c->cached_au_percent, c->cached_samples_per_sec, job, ml);
	bool is_model = verdict_is_model(job);
	bool of_null = job->direct || is_model || isnan(cached);
	double bound = of_null ? null : cached;
	double sure = is_model ? null : cached;
	g->is_rate = isnan(ml->au_percent);
	g->copying = null - cached;
	if (bound <= near_points(ml)) {
		g->says = CEILING_NEAR;
		set_gap(g, of_null, c, bound);
	} else if (sure > near_points(ml) && c->jobs_beside == 0) {
		g->says = CEILING_ABOVE;
		set_gap(g, is_model, c, sure);
	} else if (!isnan(bound)) {
		set_gap(g, of_null, c, bound);
	}
}

void verdict_append_ceiling(struct buf *out, const struct ceiling_gap *g)
{
	char rate[UNITS_TEXT_BYTES];

	buf_add(out, "without storage this host reaches ");
	if (g->is_rate)
		buf_addf(out, "%s samples/s", units_sig4(rate, g->reached));
	else
		buf_addf(out, "%.1f%% AU", g->reached);
}

double verdict_steady_rate(const struct job *job, const struct ml_result *ml)
{
	if (!ml->step_ns || ml->step_ns->count == 0)
		return (double)NAN;
	double step = hist_mean(ml->step_ns) / 1e9;
	double samples = (double)(job->batch_size * ml->accelerators);
	if (ml->failed_samples)
		samples *= (double)ml->samples / (double)(ml->samples + ml->failed_samples);
	return step > 0 ? samples / step : (double)NAN;
}

static void set_sentence(char **to, verdict_sentence *append, const struct verdict_findings *f)
{
	struct buf text = { 0 };

	append(&text, f);
	mem_replace(to, text.len ? buf_str(&text) : NULL);
	buf_fini(&text);
}

void verdict_choose(struct verdict_result *to, const struct verdict *list,
		    const struct verdict_findings *f)
{
	while (list->name && !list->holds(f))
		list++;
	if (!list->name)
		return;
	mem_replace(&to->name, list->name);
	set_sentence(&to->headline, list->headline, f);
	set_sentence(&to->because, list->because, f);
	set_sentence(&to->try_next, list->try_next, f);
}

/* clang-format off */
#define AT(m, t) TEMPLATE_AT(struct verdict_findings, m, t)
const struct template_scope verdict_scopes[] = {
	{ "", job_fields, AT(job, struct job) },
	{ "", metrics_result_fields, AT(result, struct job_result) },
	{ "checkpoints", metrics_checkpoints_fields, AT(checkpoints, struct checkpoints_result) },
	{ 0 },
};
#undef AT
/* clang-format on */

void verdict_template(struct buf *out, const struct template *t, const struct verdict_findings *f)
{
	template_append(out, t, f);
}

/* CPU time of other processes, in percent of the host's. */
static double foreign_percent(const struct host_result *h)
{
	double foreign = h->cpu_percent - h->user_percent - h->system_percent;

	return foreign > 0 ? foreign : 0;
}

void verdict_append_cpu(struct buf *out, const struct host_result *h)
{
	buf_addf(out, "mlgen itself used usr %.1f%%, sys %.1f%%, other processes %.1f%%",
		 h->user_percent, h->system_percent, foreign_percent(h));
}

void verdict_append_full_cpu(struct buf *out, const struct host_result *h, const struct host *host)
{
	double cpus = h->cpus > 0 ? h->cpus : (double)host->cpus;

	buf_addf(out,
		 show_has_quota(h) ? "CPU quota %.1f%% used (%.4g CPU%s)"
				   : "CPU %.1f%% busy (%.4g CPU%s)",
		 h->cpu_percent, cpus, cpus > 0.99 && cpus < 1.01 ? "" : "s");
}

bool verdict_cpu_is_foreign(const struct host_result *h)
{
	return foreign_percent(h) > h->cpu_percent / 2;
}

bool verdict_network_is_full(const struct verdict_findings *f)
{
	return f->result->network.percent >= VERDICT_NETWORK_PERCENT;
}

void verdict_network_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct network_result *n = &f->result->network;
	char carried[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];

	buf_addf(out, "%s carried %s of %s Gb/s", n->interface,
		 show_gigabits(carried, n->received_bits_per_sec),
		 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

bool verdict_keeps_in_memory(struct buf *out, const struct verdict_findings *f)
{
	const struct storage_result *s = &f->result->storage;

	if (s->is_memory)
		buf_addf(out, "%s keeps files in memory",
			 s->filesystem ? s->filesystem : "this filesystem");
	return s->is_memory;
}

bool verdict_is_in_memory(struct buf *out, const struct verdict_findings *f, const char *verb)
{
	const struct storage_result *s = &f->result->storage;

	if (s->is_memory)
		buf_addf(out, "%s is %s: no storage was %s",
			 s->mount_target ? s->mount_target : "the directory",
			 s->filesystem ? s->filesystem : "memory", verb);
	return s->is_memory;
}

bool verdict_is_errors(const struct job_result *r)
{
	const struct failed_result *f = &r->failed;

	return f->is_too_many || f->percent > VERDICT_ERRORS_PERCENT;
}

void verdict_append_failed(struct buf *out, const struct job_result *r)
{
	const struct failed_result *f = &r->failed;
	char count[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	units_human_count(count, f->count);
	/* If no sample failed, the errors are not given as a share of the samples. */
	if (r->work->is_plain || r->ml.failed_samples + r->ml.eval.failed_samples > 0)
		buf_addf(out, "%s of %s %s failed", count, units_human_count(all, f->of),
			 r->work->is_plain ? "operations" : "samples");
	else
		buf_addf(out, "%s error%s", count, f->count == 1 ? "" : "s");
}

void verdict_append_allowance(struct buf *out, const struct job_result *r)
{
	const struct u64_share *allowed = &r->job->max_errors;
	bool is_none = !allowed->count && !(allowed->percent > 0);

	buf_add(out, "max_errors=");
	job_option_text(r->job, "max_errors", out);
	buf_addf(out, " allows %s", is_none ? "none" : r->failed.is_too_many ? "no more" : "them");
}

bool verdict_log_failed(const struct run_result *r)
{
	const struct job *last = NULL;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];
		struct buf text = { 0 };

		/* The records of a plain job's workers are consecutive. */
		if (!j->failed.is_too_many || j->job == last)
			continue;
		last = j->job;
		verdict_append_failed(&text, j);
		buf_add(&text, "; ");
		verdict_append_allowance(&text, j);
		if (j->failed.first[0])
			buf_addf(&text, ". The first: %s", j->failed.first);
		log_error("%s: %s", j->job->name, buf_str(&text));
		buf_fini(&text);
	}
	return last != NULL;
}

bool verdict_errors_holds(const struct verdict_findings *f)
{
	return verdict_is_errors(f->result);
}

void verdict_errors_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_append_failed(out, f->result);
	buf_add(out, "; ");
	verdict_append_allowance(out, f->result);
}

void verdict_errors_because(struct buf *out, const struct verdict_findings *f)
{
	const char *first = f->result->failed.first;

	if (first[0])
		buf_addf(out, "the first: %s", first);
}

void verdict_errors_try(struct buf *out, const struct verdict_findings *f)
{
	buf_add(out, "dmesg, or the log of the storage : why did they fail?");
	if (f->result->failed.is_too_many)
		buf_add(out, " --max_errors=N, or N%, allows some");
}

#define USUAL_AU_PERCENT 90.0 /* assumed target of jobs without one */

void verdict_fill(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct job_result *j = &r->jobs[i];

		if (j->work && page_of(j)->verdict)
			page_of(j)->verdict(r, j);
	}
}

const char *verdict_label(const char *name)
{
	static const char *const labels[][2] = {
		{ "errors", "ERRORS" },         { "memory", "NOT A STORAGE RESULT" },
		{ "network", "NETWORK-BOUND" }, { "host", "HOST-BOUND" },
		{ "compute", "COMPUTE-BOUND" }, { "cache", "CACHE-BOUND" },
		{ "storage", "STORAGE-BOUND" }, { "unclear", "UNCLEAR" },
	};

	for (size_t i = 0; name && i < ARRAY_LEN(labels); i++)
		if (!strcmp(labels[i][0], name))
			return labels[i][1];
	return NULL;
}

double verdict_target_au(const struct job_result *j)
{
	return isnan(j->ml.target_au_percent) ? USUAL_AU_PERCENT : j->ml.target_au_percent;
}

uint64_t verdict_enough(const struct job_result *j, double *au_percent)
{
	const struct ml_result *ml = &j->ml;

	*au_percent = verdict_target_au(j);
	if (!(ml->demand_bytes_per_sec > 0) || !(*au_percent > 0))
		return UINT64_MAX;
	if (verdict_is_hidden(j))
		return (uint64_t)floor((double)ml->accelerators * verdict_supply_percent(j) /
				       *au_percent);
	double one = ml->demand_bytes_per_sec / (double)ml->accelerators;
	double n = floor(ml->sample_bytes_per_sec / (one * *au_percent / 100));
	uint64_t enough = n > 0 ? (uint64_t)n : 0;
	/* Throughput includes first steps, which AU excludes. The text must agree with the measured
	 * AU. */
	if (ml->au_percent < *au_percent && enough >= ml->accelerators)
		return ml->accelerators - 1;
	if (ml->au_percent >= *au_percent && enough < ml->accelerators)
		return ml->accelerators;
	return enough;
}

bool verdict_without_storage(const struct job *job)
{
	return job->engine && (job->engine->caps & MLGEN_CAP_NO_FILES);
}

bool verdict_is_model(const struct job *job)
{
	const struct mlgen_field *f = job->engine ? job->engine->opts : NULL;

	if (!verdict_without_storage(job) || !job->engine_opts)
		return false;
	for (; f && f->name; f++)
		if (!field_is_default(f, job->engine_opts))
			return true;
	return false;
}
