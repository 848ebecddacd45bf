/* SPDX-License-Identifier: Apache-2.0 */
/* result_read.c - see result_read.h. */
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

/* A document in the making of a result. */
struct reading {
	struct result_doc *d;
	struct results_file *f; /* its store is what all is kept in */
	const struct jobset_env *env;
};

static const struct metrics_top *top_of(const struct reading *g)
{
	return g->f->records[0].top;
}

/* ---- the job ---- */

static const char *pair_value(const struct metric_list *map, const char *key)
{
	const struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(pairs[i].key, key) == 0)
			return pairs[i].value;
	return NULL;
}

static void set_engine(struct job *j, const struct jobset_env *env)
{
	for (const struct mlgen_engine *const *e = env->engines; *e; e++)
		if (j->ioengine && strcmp((*e)->name, j->ioengine) == 0)
			job_set_engine(j, *e);
}

/* A file of values lies where the result is from, and no document makes mlgen open files: such a
 * distribution is 0 here, which no option of it can be. */
static bool put_file(const struct mlgen_field *f, void *base, const char *value)
{
	static const struct dist unknown = { .kind = DIST_CONST };
	bool is_dist = f->type == MLGEN_SIZE_DIST || f->type == MLGEN_TIME_DIST;
	bool is_file = is_dist && value && value[field_path_at(f, value)];

	if (is_file)
		field_put(f, base, &unknown);
	return is_file;
}

/* Options that this program does not have are of another version of it, and those that the document
 * does not have are at their defaults. */
static int set_options(const struct reading *g, const struct metrics_job *m,
		       const struct mlgen_field *table, void *base, struct job_origin *origins,
		       struct mlgen_err *err)
{
	for (size_t i = 0; table && table[i].name; i++) {
		const char *name = table[i].name;
		const char *value = pair_value(&m->options_resolved, name);
		const char *written = pair_value(&m->options, name);
		const char *how = pair_value(&m->options_origin, name);
		struct mlgen_err why = { 0 };

		if (!value && table[i].def)
			continue;
		if (!put_file(&table[i], base, value) &&
		    field_parse(&table[i], base, value ? value : "", 1024, &why) < 0 && value)
			return mlgen_fail(err, -EINVAL, "%s: options_resolved of job '%s': %s",
					  g->f->path, m->jobname, why.text);
		if (!written)
			written = pair_value(&top_of(g)->global_options, name);
		if (written)
			mem_replace(&origins[i].raw, written);
		if (how)
			mem_replace(&origins[i].how, how);
	}
	return 0;
}

static struct job *find_job(const struct result_doc *d, const char *name)
{
	for (size_t i = 0; i < d->jobs.count; i++)
		if (strcmp(d->jobs.at[i]->name, name) == 0)
			return d->jobs.at[i];
	return NULL;
}

static int read_job(struct reading *g, const struct metrics_job *m, const struct job **out,
		    struct mlgen_err *err)
{
	struct result_doc *d = g->d;
	struct job *j = find_job(d, m->jobname);

	*out = j;
	if (j)
		return 0;
	j = job_new(m->jobname);
	vec_push(&d->jobs, j);
	*out = j;
	if (set_options(g, m, job_fields, j, j->origins, err) < 0)
		return -EINVAL;
	j->group = (unsigned)m->groupid;
	set_engine(j, g->env);
	return set_options(g, m, j->engine ? j->engine->opts : NULL, j->engine_opts,
			   j->engine_origins, err);
}

/* ---- figures, as metrics.c puts them into the document ---- */

static void read_direction(struct direction_result *r, const struct metrics_direction *m)
{
	*r = (struct direction_result){
		.io_bytes = m->io_bytes,
		.total_ios = m->total_ios,
		.short_ios = m->short_ios,
		.lat_ns = m->clat_ns,
		.slat_ns = m->slat_ns,
		/* Of an unpaced job it is the latency once more. */
		.total_ns = m->slat_ns ? m->lat_ns : NULL,
		.bw_kib = { (double)m->bw_min, (double)m->bw_max, m->bw_mean, m->bw_dev,
			    m->bw_samples },
		.iops = { (double)m->iops_min, (double)m->iops_max, m->iops_mean, m->iops_stddev,
			  m->iops_samples },
	};
}

static void read_sizes(struct job_result *r, const struct metrics_job *m)
{
	const struct metrics_size *s = m->request_sizes.items;

	for (size_t i = 0; i < m->request_sizes.count; i++)
		sizes_add(s[i].operation && strcmp(s[i].operation, "write") == 0 ? &r->write.sizes
										 : &r->read.sizes,
			  s[i].largest_bytes, s[i].count);
}

static void read_depths(struct depth_result *r, const struct metrics_job *m)
{
	for (unsigned i = 1; i < OPSTAT_DEPTHS; i++)
		r->depth[i] = m->iodepth_level.percent[i - 1];
	for (unsigned i = 0; i < OPSTAT_DEPTHS; i++) {
		r->submit[i] = m->iodepth_submit.percent[i];
		r->complete[i] = m->iodepth_complete.percent[i];
	}
}

static void read_figures(struct job_result *r, const struct metrics_job *m)
{
	r->group = (unsigned)m->groupid;
	r->members = m->members.count ? (unsigned)m->members.count : 1;
	r->usr_cpu_percent = m->usr_cpu;
	r->sys_cpu_percent = m->sys_cpu;
	r->ctx = m->ctx;
	r->majf = m->majf;
	r->minf = m->minf;
	r->read_align_bytes = m->read_align_bytes;
	r->sync = (struct op_result){ m->sync.total_ios, m->sync.lat_ns };
	if (m->error)
		mlgen_fail(&r->err, -(int)m->error, "%s",
			   m->error_text ? m->error_text : "unknown");
	read_direction(&r->read, &m->read);
	read_direction(&r->write, &m->write);
	read_sizes(r, m);
	read_depths(&r->depths, m);
}

/* Older documents have the option alone, a newer one may have a format that is not known here. */
static const struct format *format_read(const struct metrics_dataset *m, const struct job *job)
{
	const struct format *f = m->format ? format_find(m->format) : NULL;

	if (!f)
		f = format_of((enum job_format)job->format);
	return f ? f : &format_raw;
}

static void read_dataset(struct reading *g, const struct record *from, struct job_result *r)
{
	if (!from->dataset)
		return;
	struct metrics_dataset *m = json_store_alloc(&g->f->store, sizeof(*m));
	*m = *from->dataset;
	m->dataset.format = format_read(m, r->job);
	m->dataset.parts = 1;
	if (m->is_uneven || m->samples != m->dataset.files * m->dataset.samples_per_file)
		m->dataset.uneven_samples = m->samples;
	/* The sizes of files that were there are no option. */
	m->dataset.is_found |= r->job->dataset == DATASET_SCAN;
	if ((m->dataset.is_found || dist_mean(&r->job->sample_size) <= 0) && m->samples)
		m->dataset.sample_size = (struct dist){
			.kind = DIST_CONST,
			.a = (double)m->totals.row_bytes / (double)m->samples,
		};
	r->dataset = &m->dataset;
	r->totals = m->totals;
}

static const struct workload *preparing(void)
{
	size_t i = 0;

	while (!workloads[i]->only_prepares)
		i++;
	return workloads[i];
}

/* A training can have come to its preparation and no further. */
static void set_work(struct job_result *r, const struct record *from)
{
	const struct workload *w = job_work(r->job);

	if (w->is_plain ? from->io != NULL : from->ml != NULL)
		r->work = w;
	else if (from->prepare)
		r->work = preparing();
}

/* An older document has whole seconds only, rounded up: the wall time is nearer where it is of the
 * same second. */
static void read_elapsed(struct job_result *r, const struct metrics_job *m)
{
	double wall = r->wall_seconds, whole = (double)m->elapsed;

	r->elapsed_seconds = whole;
	if (m->elapsed_seconds > 0)
		r->elapsed_seconds = m->elapsed_seconds;
	else if (wall > whole - 1 && wall <= whole)
		r->elapsed_seconds = wall;
	else if (whole > 0)
		r->elapsed_seconds = whole - 0.5;
}

/* The document has whole milliseconds, of merged runs those of them all. */
static void guess_runtime(struct job_result *r, uint64_t ms)
{
	double sum = job_result_runtime(r), read = (double)ms / 1e3;
	bool is_same = sum >= read && sum < read + 1e-3;

	r->ml.runtime_seconds = is_same ? sum : read;
}

/* Verdicts are made anew from the figures. */
static void forget_verdicts(struct job_result *r)
{
	r->verdict = (struct verdict_result){ 0 };
	r->ml.restores.is_restore = true;
}

/* Documents of before there was max_errors do not say that it was none. */
static void read_failed(struct job_result *r, const struct record *from)
{
	struct failed_result *f = &r->failed;

	f->first_errno = from->job->first_error;
	failed_count(r);
	if (!record_counts_errors(from))
		f->is_too_many = failed_exceeds(r->job, f->count, f->of);
}

/* What the document has of the job's page, and with it what jobs have in common. Of what it has not
 * nothing is known. */
static void read_page(const struct record *from, const struct job *job, struct job_result *r)
{
	const struct job_result *ml = from->ml, *io = from->io;
	bool is_plain = io && (!ml || job_work(job)->is_plain);
	struct job_result none = { 0 };

	fields_unknown(metrics_io_fields, &none);
	fields_unknown(metrics_ml_fields, &none);
	*r = is_plain ? *io : ml ? *ml : none;
	r->ml = ml ? ml->ml : none.ml;
	r->io = io ? io->io : none.io;
	if (from->cache)
		r->ml.cache = *from->cache;
	else
		fields_unknown(metrics_cache_fields, &r->ml.cache);
	r->job = job;
}

static int read_record(struct reading *g, const struct record *from, struct job_result *r,
		       struct mlgen_err *err)
{
	const struct job *job;

	if (read_job(g, from->job, &job, err) < 0)
		return -EINVAL;
	read_page(from, job, r);
	set_work(r, from);
	read_figures(r, from->job);
	if (from->prepare)
		r->prepare = *from->prepare;
	else
		fields_unknown(metrics_prepare_fields, &r->prepare);
	read_dataset(g, from, r);
	guess_runtime(r, from->job->job_runtime_ms);
	read_elapsed(r, from->job);
	forget_verdicts(r);
	read_failed(r, from);
	return 0;
}

/* ---- the run ---- */

static void read_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

static uint64_t or_none(uint64_t n)
{
	return n == UINT64_MAX ? 0 : n;
}

static void read_machine(struct host *h, const struct metrics_machine *m)
{
	read_text(h->hostname, sizeof(h->hostname), m->hostname);
	read_text(h->kernel, sizeof(h->kernel), m->kernel);
	h->cpus = m->cpus;
	h->cpus_online = m->cpus_online;
	h->memory_bytes = m->memory_bytes;
	h->memory_limit_bytes = or_none(m->memory_limit_bytes);
	h->open_files = m->open_files;
	h->numa_nodes = or_none(m->numa_nodes);
	read_text(h->cpu_model, sizeof(h->cpu_model), m->cpu_model);
	read_text(h->command, sizeof(h->command), m->command);
}

static void read_disks(struct reading *g)
{
	const struct metric_list *disks = &top_of(g)->disk_util;
	const struct metrics_disk *m = disks->items;
	struct run_result *run = &g->d->run;

	run->disk_count = disks->count;
	if (run->disk_count)
		run->disks = json_store_alloc(&g->f->store, run->disk_count * sizeof(*run->disks));
	for (size_t i = 0; i < run->disk_count; i++) {
		run->disks[i] = m[i].util;
		read_text(run->disks[i].name, sizeof(run->disks[i].name), m[i].name);
	}
}

static int read_run(struct reading *g, struct mlgen_err *err)
{
	struct run_result *run = &g->d->run;

	read_machine(&run->host, &top_of(g)->machine);
	run->version = top_of(g)->version;
	run->liburing = top_of(g)->machine.liburing;
	run->libaio = top_of(g)->machine.libaio;
	run->timestamp_ms = top_of(g)->timestamp_ms;
	run->interrupted = top_of(g)->interrupted;
	run->title = top_of(g)->title;
	run->notes = top_of(g)->notes;
	read_disks(g);
	if (g->f->records[0].series)
		run->series = *g->f->records[0].series;
	run->job_count = g->f->count;
	run->jobs = json_store_alloc(&g->f->store, run->job_count * sizeof(*run->jobs));
	for (size_t i = 0; i < run->job_count; i++) {
		if (read_record(g, &g->f->records[i], &run->jobs[i], err) < 0)
			return -EINVAL;
		if (!run->err.code)
			run->err = run->jobs[i].err;
	}
	return 0;
}

int result_read(struct result_doc *d, struct results_file *f, const struct jobset_env *env,
		struct mlgen_err *err)
{
	struct reading g = { d, f, env };

	memset(d, 0, sizeof(*d));
	int rc = read_run(&g, err);
	d->store = f->store;
	f->store = (struct json_store){ 0 };
	return rc;
}

void result_retitle(struct result_doc *d, const struct settings *set)
{
	if (set->title)
		d->run.title = set->title;
	if (set->note)
		d->run.notes = set->note;
}

/* Those of verdict_fill(). */
static void fini_verdicts(struct run_result *run)
{
	for (size_t i = 0; i < run->job_count; i++) {
		struct verdict_result *v = &run->jobs[i].verdict;

		mem_free(v->name);
		mem_free(v->headline);
		mem_free(v->because);
		mem_free(v->try_next);
	}
}

void result_fini(struct result_doc *d)
{
	fini_verdicts(&d->run);
	for (size_t i = 0; i < d->jobs.count; i++)
		job_free(d->jobs.at[i]);
	vec_fini(&d->jobs);
	json_store_fini(&d->store);
	memset(d, 0, sizeof(*d));
}
