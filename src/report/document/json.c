/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - a result or a plan as one JSON document, or one each interval. */
#include "report/document/document.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "stat/hist.h"
#include "stat/metric.h"

/* Which members of a table to write; NULL = all. */
struct walk {
	const struct f64_list *percentiles;
	const char *const *only;
	const struct job_result *of; /* ... or of its page's has_row */
};

static json_t *text_value(const char *s)
{
	if (!s)
		return json_null();
	json_t *value = json_string(s);
	if (value)
		return value;
	/* A path may be any bytes, JSON may not. */
	char *clean = mem_strdup(s);
	for (char *p = clean; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	value = json_string(clean);
	mem_free(clean);
	return value;
}

static json_t *count_value(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *real_value(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *percentile_object(const struct hist *h, const struct f64_list *list)
{
	json_t *o = json_object();

	for (unsigned i = 0; list && i < list->count; i++) {
		char key[40];

		snprintf(key, sizeof(key), "%f", list->values[i]);
		uint64_t ns = h ? hist_percentile(h, list->values[i]) : 0;
		json_object_set_new(o, key, count_value(ns));
	}
	return o;
}

static json_t *bins_object(const struct hist *h)
{
	json_t *o = json_object();

	if (!h)
		return o;
	for (unsigned b = hist_first(h); b <= hist_last(h); b++) {
		if (!h->buckets[b])
			continue;
		char key[24];
		snprintf(key, sizeof(key), "%" PRIu64, hist_bucket_midpoint(b));
		json_object_set_new(o, key, count_value(h->buckets[b]));
	}
	return o;
}

/* fio's converter of bins takes none for an error where the key is there. */
static json_t *hist_object(const struct hist *h, bool is_fio, const struct f64_list *percentiles)
{
	if (h && h->count == 0)
		h = NULL;
	json_t *o = json_object();
	json_object_set_new(o, "min", count_value(h ? h->min_ns : 0));
	json_object_set_new(o, "max", count_value(h ? h->max_ns : 0));
	json_object_set_new(o, "mean", real_value(h ? hist_mean(h) : 0));
	json_object_set_new(o, "stddev", real_value(h ? hist_stddev(h) : 0));
	json_object_set_new(o, "N", count_value(h ? h->count : 0));
	json_object_set_new(o, "percentile", percentile_object(h, percentiles));
	if (h || !is_fio)
		json_object_set_new(o, "bins", bins_object(h));
	return o;
}

/* ---- of one type each: the member at `at` ---- */

#define VALUE(type)                                                                                \
	static json_t *value_##type(const struct mlgen_field *f, const void *at,                   \
				    const struct walk *walk)

VALUE(bool)
{
	(void)f;
	(void)walk;
	return json_boolean(*(const bool *)at);
}

VALUE(u64)
{
	uint64_t v = *(const uint64_t *)at;
	bool is_null = (f->flags & MLGEN_NULLABLE) && v == UINT64_MAX;

	(void)walk;
	return is_null ? json_null() : count_value(v);
}

VALUE(f64)
{
	(void)f;
	(void)walk;
	return real_value(*(const double *)at);
}

VALUE(choice)
{
	int v = *(const int *)at;

	(void)walk;
	for (const struct mlgen_choice *c = f->choices; c->name; c++)
		if (c->value == v)
			return json_string(c->name);
	return json_null();
}

/* In the struct itself (METRICS_CHARS); or what a pointer points to, which is read as bytes: some
 * members may not write through. */
VALUE(text)
{
	const char *s = at;

	(void)walk;
	if (f->stride)
		return *s ? text_value(s) : json_null();
	memcpy(&s, at, sizeof(s));
	return text_value(s);
}

VALUE(lines)
{
	json_t *a = json_array();
	struct buf line = { 0 };
	const char *s;

	(void)f;
	(void)walk;
	memcpy(&s, at, sizeof(s));
	while (s && *s) {
		size_t len = strcspn(s, "\n");

		buf_reset(&line);
		buf_addn(&line, s, len);
		json_array_append_new(a, text_value(buf_str(&line)));
		s += len + (s[len] == '\n');
	}
	buf_fini(&line);
	return a;
}

VALUE(hist)
{
	return hist_object(*(struct hist *const *)at, f->flags & MLGEN_FIO, walk->percentiles);
}

VALUE(map)
{
	const struct metric_list *l = at;
	const struct metric_pair *pairs = l->items;
	json_t *o = json_object();

	(void)f;
	(void)walk;
	for (size_t i = 0; i < l->count; i++)
		json_object_set_new(o, pairs[i].key, text_value(pairs[i].value));
	return o;
}

VALUE(f64s)
{
	const struct metric_list *l = at;
	const double *values = l->items;
	json_t *a = json_array();

	(void)f;
	(void)walk;
	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(a, real_value(values[i]));
	return a;
}

static bool is_wanted(const struct walk *walk, const char *name)
{
	const char *const *only = walk->only;

	if (walk->of && page_of(walk->of)->has_row && !page_of(walk->of)->has_row(walk->of, name))
		return false;
	for (; only && *only; only++)
		if (strcmp(*only, name) == 0)
			return true;
	return !walk->only;
}

static json_t *struct_object(const struct mlgen_field *table, const void *base,
			     const struct walk *walk);

VALUE(object)
{
	return struct_object(f->sub, at, walk);
}

VALUE(list)
{
	const struct metric_list *l = at;
	json_t *a = json_array();

	for (size_t i = 0; i < l->count; i++) {
		const char *item = (const char *)l->items + i * f->stride;

		json_array_append_new(a, struct_object(f->sub, item, walk));
	}
	return a;
}

/* Types that only options have are of no document. */
static json_t *member_value(const struct mlgen_field *f, const void *at, const struct walk *walk)
{
	static json_t *(*const types[])(const struct mlgen_field *, const void *,
					const struct walk *) = {
		[MLGEN_BOOL] = value_bool,   [MLGEN_U64] = value_u64,
		[MLGEN_SIZE] = value_u64,    [MLGEN_TIME] = value_u64,
		[MLGEN_F64] = value_f64,     [MLGEN_PERCENT] = value_f64,
		[MLGEN_ENUM] = value_choice, [MLGEN_STR] = value_text,
		[MLGEN_HIST] = value_hist,   [MLGEN_OBJECT] = value_object,
		[MLGEN_LIST] = value_list,   [MLGEN_F64_ARRAY] = value_f64s,
		[MLGEN_MAP] = value_map,     [MLGEN_TEXTS] = value_lines,
	};

	return f->type < ARRAY_LEN(types) && types[f->type] ? types[f->type](f, at, walk)
							    : json_null();
}

json_t *json_value(const struct mlgen_field *row, const void *member)
{
	const struct walk walk = { 0 };

	return member_value(row, member, &walk);
}

static json_t *struct_object(const struct mlgen_field *table, const void *base,
			     const struct walk *walk)
{
	const struct walk inner = { .percentiles = walk->percentiles };
	json_t *o = json_object();

	for (const struct mlgen_field *f = table; f->name; f++)
		if (is_wanted(walk, f->name))
			json_object_set_new(o, f->name,
					    member_value(f, (const char *)base + f->off, &inner));
	return o;
}

/* fio's part of a job, and its dataset, which results and plans have alike. */
static json_t *job_object(const struct job_result *r, const struct run_result *run,
			  const struct jobset *set, const struct walk *walk)
{
	struct job_result m;

	metrics_job_init(&m, r, set);
	metrics_job_share(&m, run);
	json_t *o = struct_object(metrics_job_fields, &m, walk);
	if (m.doc.format)
		json_object_set_new(o, "dataset", struct_object(metrics_dataset_fields, &m, walk));
	metrics_job_fini(&m);
	return o;
}

static bool has_prepared(const struct job_result *r)
{
	return (r->work && r->work->only_prepares) || r->prepare.files_written ||
	       r->prepare.files_kept;
}

static json_t *result_object(const struct job_result *r, const struct run_result *run,
			     const struct jobset *set)
{
	const struct walk walk = { .percentiles = &r->job->percentile_list };
	const struct page *page = r->work ? page_of(r) : NULL;
	const struct walk own = { .percentiles = walk.percentiles, .of = r };
	json_t *o = job_object(r, run, set, &walk);

	if (has_prepared(r))
		json_object_set_new(o, "prepare",
				    struct_object(metrics_prepare_fields, &r->prepare, &walk));
	if (r->ml.cache.policy)
		json_object_set_new(o, "cache",
				    struct_object(metrics_cache_fields, &r->ml.cache, &walk));
	if (page && page->key)
		json_object_set_new(o, page->key, struct_object(page->fields, r, &own));
	return o;
}

static void add_planned(json_t *o, const struct plan_report *p)
{
	const struct page *page = job_work(p->job)->page;
	const struct walk walk = { .percentiles = &p->job->percentile_list, .only = page->planned };
	struct job_result r = { .job = p->job };

	if (!page->planned)
		return;
	page->fill_planned(&r, p);
	json_object_set_new(o, page->key, struct_object(page->fields, &r, &walk));
}

static json_t *plan_object(const struct plan_report *p, const struct run_result *run,
			   const struct jobset *set)
{
	const struct job_result none = { .job = p->job,
					 .dataset = &p->dataset,
					 .totals = p->totals,
					 .group = p->job->group,
					 .members = 1 };
	const struct walk all = { .percentiles = &p->job->percentile_list };
	json_t *o = job_object(&none, run, set, &all);

	add_planned(o, p);
	json_object_set_new(o, "plan", struct_object(metrics_plan_fields, p, &all));
	return o;
}

/* Where fio says its own version: some of its readers ask for the key. */
static json_t *as_fio(json_t *root)
{
	json_t *o = json_object();

	json_object_set_new(o, "fio version", json_sprintf("mlgen-%s", metrics_version()));
	json_object_update(o, root);
	json_decref(root);
	return o;
}

static int dump(json_t *root, FILE *to)
{
	int rc = jsonfile_dump(to, root, JSON_INDENT(2));

	json_decref(root);
	if (rc || fputc('\n', to) == EOF)
		return -EIO;
	return 0;
}

static json_t *document(const struct run_result *r, const struct jobset *set,
			const struct plan_report *plans)
{
	const struct walk walk = { 0 };
	struct run_result top;

	metrics_top_init(&top, r, set);
	json_t *root = struct_object(metrics_top_fields, &top, &walk);
	metrics_top_fini(&top);
	if (set->settings.output_format == OUTPUT_FIO_JSON)
		root = as_fio(root);
	/* Each job has percentiles of its own; its place in the order stays. */
	json_t *jobs = json_array();
	for (size_t i = 0; !plans && i < r->job_count; i++)
		json_array_append_new(jobs, result_object(&r->jobs[i], r, set));
	for (size_t i = 0; plans && i < set->count; i++)
		json_array_append_new(jobs, plan_object(&plans[i], r, set));
	json_object_set_new(root, "jobs", jobs);
	if (r->series.jobs.count)
		json_object_set_new(root, "series",
				    struct_object(metrics_series_fields, &r->series, &walk));
	if (r->trace.file)
		json_object_set_new(root, "trace",
				    struct_object(metrics_trace_fields, &r->trace, &walk));
	return root;
}

int json_report(FILE *to, const struct run_result *r, const struct jobset *set,
		const struct plan_report *plans)
{
	return dump(document(r, set, plans), to);
}

int json_report_with(FILE *to, const struct run_result *r, const struct jobset *set,
		     const struct json_extra *extra)
{
	const struct walk walk = { 0 };
	json_t *root = document(r, set, NULL);

	json_object_set_new(root, extra->key, struct_object(extra->table, extra->base, &walk));
	return dump(root, to);
}

int json_struct(FILE *to, const struct mlgen_field *table, const void *base,
		const struct f64_list *percentiles)
{
	const struct walk walk = { .percentiles = percentiles };

	return dump(struct_object(table, base, &walk), to);
}

/* It has so long to write what takes milliseconds. */
#define PATIENCE_NS (5 * NS_PER_S)

struct json_each {
	const struct jobset *set;
	char path[PATH_MAX];
	unsigned processes;
	bool has_removed; /* documents of ranks that there are not */
	pid_t child;      /* 0 = none */
	uint64_t since_ns;
};

/* ---- documents of a larger run ---- */

/* "rank-12.json", of a rank that this run does not have? */
static bool is_left(const char *name, unsigned processes)
{
	unsigned rank;
	char again[32];

	if (sscanf(name, "rank-%u.json", &rank) != 1 || rank < processes)
		return false;
	snprintf(again, sizeof(again), "rank-%u.json", rank);
	return strcmp(again, name) == 0;
}

/* Tells a document of ours by its first bytes, which json_report writes. */
static bool is_document(int folder, const char *name)
{
	static const char key[] = "{\n  \"mlgen version\":";
	char begins[sizeof(key)] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, begins, sizeof(key) - 1);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(key) - 1 && strcmp(begins, key) == 0;
}

/* Each of them is removed, or looked at: the name of one that is not mlgen's in `other`, "" = there
 * is none. */
static void visit_left(const char *directory, unsigned processes, bool removes,
		       char other[NAME_MAX + 1])
{
	DIR *folder = opendir(directory);
	struct dirent *d;

	other[0] = '\0';
	while (folder && (d = readdir(folder))) {
		if (!is_left(d->d_name, processes))
			continue;
		if (!is_document(dirfd(folder), d->d_name))
			snprintf(other, NAME_MAX + 1, "%s", d->d_name);
		else if (removes)
			unlinkat(dirfd(folder), d->d_name, 0);
	}
	if (folder)
		closedir(folder);
}

static void remove_left(struct json_each *e)
{
	char other[NAME_MAX + 1];

	if (!e->has_removed)
		visit_left(e->set->settings.json_each, e->processes, true, other);
	e->has_removed = true;
}

static int refuse_other(const char *directory, unsigned processes, struct mlgen_err *err)
{
	char other[NAME_MAX + 1];

	visit_left(directory, processes, false, other);
	if (!other[0])
		return 0;
	return mlgen_fail(
		err, -EEXIST,
		"json-each=%s: %s is no document of mlgen's, and this run, of %u process%s, would "
		"leave it among its own; move it, or name another directory",
		directory, other, processes, processes == 1 ? "" : "es");
}

/* ---- this run's own ---- */

static int write_document(const struct json_each *e, const struct run_result *result)
{
	struct jobset json = *e->set;
	struct replace file = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	json.settings.output_format = OUTPUT_JSON;
	if (!to)
		return -ENOMEM;
	int rc = json_report(to, result, &json, NULL);
	if (fclose(to) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = replace_begin(&file, e->path, replace_new_mode());
	if (rc == 0) {
		rc = writeall(file.fd, text, bytes);
		if (rc == 0)
			rc = replace_commit(&file);
		else
			replace_abandon(&file);
	}
	free(text);
	return rc;
}

/* In the child: its run is not over. */
static int write_unfinished(const struct json_each *e, struct run *run)
{
	struct run_result *result = run_collect(run);

	for (size_t i = 0; i < result->job_count; i++)
		result->jobs[i].complete = false;
	return write_document(e, result);
}

/* True: there is none any more. */
static bool has_ended(struct json_each *e, bool waits)
{
	if (e->child && (waits || clock_monotonic_ns() - e->since_ns > PATIENCE_NS))
		kill(e->child, SIGKILL);
	if (e->child && waitpid(e->child, NULL, waits ? 0 : WNOHANG) != 0)
		e->child = 0;
	return e->child == 0;
}

int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err)
{
	const char *directory = set->settings.json_each;
	struct json_each *e;
	char way[DIRS_WAY_BYTES];

	*out = NULL;
	if (!directory)
		return 0;
	char *made = mem_strdup(directory);
	int rc = dirs_make(made, NULL);
	if (rc == 0 && access(directory, W_OK | X_OK) != 0)
		rc = -errno;
	mem_free(made);
	if (rc < 0)
		return mlgen_fail(err, rc, "json-each=%s: %s%s", directory, strerror(-rc),
				  dirs_in_the_way(way, directory, rc));
	rc = refuse_other(directory, processes, err);
	if (rc < 0)
		return rc;
	e = mem_zalloc(sizeof(*e));
	e->set = set;
	e->processes = processes;
	if (snprintf(e->path, sizeof(e->path), "%s/rank-%u.json", directory, rank) >= PATH_MAX) {
		mem_free(e);
		return mlgen_fail(err, -ENAMETOOLONG, "json-each=%s: the path is too long",
				  directory);
	}
	*out = e;
	return 0;
}

void json_each_begin(struct json_each *e, struct run *run)
{
	if (!e || !has_ended(e, false))
		return;
	remove_left(e);
	e->since_ns = clock_monotonic_ns();
	pid_t child = fork();
	if (child == 0)
		_exit(write_unfinished(e, run) < 0);
	e->child = child > 0 ? child : 0;
}

int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err)
{
	if (!e)
		return 0;
	has_ended(e, true);
	remove_left(e);
	int rc = write_document(e, result);
	return rc < 0 ? mlgen_fail(err, rc, "json-each: %s: %s", e->path, strerror(-rc)) : 0;
}

void json_each_free(struct json_each *e)
{
	if (!e)
		return;
	has_ended(e, true);
	mem_free(e);
}
