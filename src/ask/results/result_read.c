/* SPDX-License-Identifier: Apache-2.0 */
/* result_read.c - turn the records of a document into the result of its run. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "field/fields.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "run/result/result.h"

/* ---- job ---- */

static const char *pair_value(const struct metric_list *map, const char *key)
{
	const struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(pairs[i].key, key) == 0)
			return pairs[i].value;
	return NULL;
}

/* An unknown option comes from another version of mlgen. Options that the document lacks have their
 * defaults. */
static int set_options(const struct results_file *f, const struct job_document *m,
		       const struct mlgen_field *table, void *base, struct job_origin *origins,
		       struct mlgen_err *err)
{
	static const struct dist unknown = { .kind = DIST_CONST };

	for (size_t i = 0; table && table[i].name; i++) {
		const char *name = table[i].name;
		const char *value = pair_value(&m->options_resolved, name);
		const char *written = pair_value(&m->options, name);
		const char *how = pair_value(&m->options_origin, name);
		struct mlgen_err why = { 0 };

		if (!value && table[i].def)
			continue;
		/* Documents never make mlgen open files, so a distribution in a file is unknown
		 * here. The distribution becomes 0, a value that no option can have. */
		bool is_dist = table[i].type == MLGEN_SIZE_DIST || table[i].type == MLGEN_TIME_DIST;
		if (is_dist && value && value[field_path_at(&table[i], value)])
			field_set_value(&table[i], base, &unknown);
		else if (field_parse(&table[i], base, value ? value : "", 1024, &why) < 0 && value)
			return mlgen_fail(err, -EINVAL, "%s: options_resolved of job '%s': %s",
					  f->path, m->jobname, why.text);
		if (!written)
			written = pair_value(&f->run.doc.global_options, name);
		if (written)
			mem_replace(&origins[i].raw, written);
		if (how)
			mem_replace(&origins[i].how, how);
	}
	return 0;
}

static int read_job(struct results_file *f, struct job_result *r, const struct jobset_env *env,
		    struct mlgen_err *err)
{
	struct job *j;

	for (size_t i = 0; i < f->jobs.count; i++)
		if (strcmp(f->jobs.at[i]->name, r->doc.jobname) == 0) {
			r->job = f->jobs.at[i];
			return 0;
		}
	r->job = j = job_new(r->doc.jobname);
	vec_push(&f->jobs, j);
	if (set_options(f, &r->doc, job_fields, j, j->origins, err) < 0)
		return -EINVAL;
	j->group = (unsigned)r->group;
	for (const struct mlgen_engine *const *e = env->engines; *e; e++)
		if (j->ioengine && strcmp((*e)->name, j->ioengine) == 0)
			job_set_engine(j, *e);
	return set_options(f, &r->doc, j->engine ? j->engine->opts : NULL, j->engine_opts,
			   j->engine_origins, err);
}

/* ---- figures, the reverse of metrics.c ---- */

/* The document has minimum and maximum as whole numbers. */
static void read_direction(struct direction_result *d)
{
	/* Without a pace (no slat_ns), lat_ns of the document only repeats the latency. */
	d->total_ns = d->slat_ns ? d->fio.lat_ns : NULL;
	d->bw_kib.min = (double)d->fio.bw_min;
	d->bw_kib.max = (double)d->fio.bw_max;
	d->iops.min = (double)d->fio.iops_min;
	d->iops.max = (double)d->fio.iops_max;
}

/* Older documents have only the option; newer ones may have an unknown format. */
static const struct format *document_format(const struct job_result *r)
{
	const struct format *f = r->doc.format ? format_find(r->doc.format) : NULL;

	if (!f)
		f = format_of((enum job_format)r->job->format);
	return f ? f : &format_raw;
}

/* Older documents have only whole seconds, rounded up. The wall time is more exact if it lies in
 * the same second. */
static void set_elapsed(struct job_result *r)
{
	double wall = r->wall_seconds, whole = (double)r->doc.elapsed;

	if (r->elapsed_seconds > 0)
		return;
	if (wall > whole - 1 && wall <= whole)
		r->elapsed_seconds = wall;
	else
		r->elapsed_seconds = whole > 0 ? whole - 0.5 : whole;
}

static void read_record(const struct record *from, struct job_result *r)
{
	/* A training job may have ended while it prepared its files. */
	const struct workload *w = job_work(r->job);

	if (w->is_plain ? from->io != NULL : from->ml != NULL) {
		r->work = w;
	} else if (from->prepare) {
		size_t i = 0;

		while (!workloads[i]->only_prepares)
			i++;
		r->work = workloads[i];
	}

	const struct job_document *doc = &r->doc;
	const struct request_size *s = doc->request_sizes.items;

	r->members = doc->members.count ? (unsigned)doc->members.count : 1;
	if (doc->error)
		mlgen_fail(&r->err, -(int)doc->error, "%s",
			   doc->error_text ? doc->error_text : "unknown");
	read_direction(&r->read);
	read_direction(&r->write);
	for (size_t i = 0; i < doc->request_sizes.count; i++)
		sizes_add(s[i].operation && strcmp(s[i].operation, "write") == 0 ? &r->write.sizes
										 : &r->read.sizes,
			  s[i].largest_bytes, s[i].count);

	if (from->dataset) {
		struct dataset *ds = &r->doc.dataset;
		uint64_t samples = r->doc.samples;

		ds->format = document_format(r);
		ds->parts = 1;
		if (r->doc.is_uneven || samples != ds->files * ds->samples_per_file)
			ds->uneven_samples = samples;
		/* The sizes of existing files are not an option. */
		ds->is_found |= r->job->dataset == DATASET_SCAN;
		if ((ds->is_found || dist_mean(&r->job->sample_size) <= 0) && samples)
			ds->sample_size = (struct dist){
				.kind = DIST_CONST,
				.a = (double)r->totals.row_bytes / (double)samples,
			};
		r->dataset = ds;
	}
	/* The document has whole milliseconds, which are summed over all runs of a merged report.
	 */
	double sum = job_result_runtime(r), read = (double)r->doc.job_runtime_ms / 1e3;
	r->ml.runtime_seconds = sum >= read && sum < read + 1e-3 ? sum : read;
	set_elapsed(r);
	failed_count(r);
	/* Documents older than max_errors do not say that none were allowed. */
	if (!record_counts_errors(from))
		r->failed.is_too_many = failed_exceeds(r->job, r->failed.count, r->failed.of);
}

/* ---- run ---- */

static uint64_t known_or_zero(uint64_t n)
{
	return n == UINT64_MAX ? 0 : n;
}

int result_read(struct results_file *f, const struct jobset_env *env, struct mlgen_err *err)
{
	struct run_result *run = &f->run;

	json_decref(f->root);
	f->root = f->list = NULL;
	run->host.memory_limit_bytes = known_or_zero(run->host.memory_limit_bytes);
	run->host.numa_nodes = known_or_zero(run->host.numa_nodes);
	/* Verdicts are computed again from the figures and then owned by the result. */
	for (size_t i = 0; i < run->job_count; i++) {
		run->jobs[i].verdict = (struct verdict_result){ 0 };
		run->jobs[i].ml.restores.is_restore = true;
	}
	f->is_result = true;
	for (size_t i = 0; i < run->job_count; i++) {
		if (read_job(f, &run->jobs[i], env, err) < 0)
			return -EINVAL;
		read_record(&f->records[i], &run->jobs[i]);
		if (!run->err.code)
			run->err = run->jobs[i].err;
	}
	return 0;
}

void result_retitle(struct run_result *run, const struct settings *set)
{
	if (set->title)
		run->title = set->title;
	if (set->note)
		run->notes = set->note;
}
