/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - writes a result or a plan as one JSON document, once or in intervals (--json-each). */
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
#include "field/fields.h"

/* Options for writing a struct. Names of the members to write; NULL = all. */
struct json_write {
	const struct f64_list *percentiles;
	const char *const *only;
	const struct job_result *result; /* has_row() of its page selects members */
};

static json_t *text_value(const char *s)
{
	if (!s)
		return json_null();
	json_t *value = json_string(s);
	if (value)
		return value;
	/* A path may have any bytes; JSON must be UTF-8. */
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

static json_t *bins_object(const struct hist *h)
{
	json_t *o = json_object();

	if (!h)
		return o;
	for (unsigned b = hist_first_bucket(h); b <= hist_last_bucket(h); b++) {
		if (!h->buckets[b])
			continue;
		char key[24];
		snprintf(key, sizeof(key), "%" PRIu64, hist_bucket_midpoint(b));
		json_object_set_new(o, key, count_value(h->buckets[b]));
	}
	return o;
}

/* fio's converter of bins reports an empty "bins" as an error, so the key is left out for it. */
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
	json_t *percentile = json_object();
	for (unsigned i = 0; percentiles && i < percentiles->count; i++) {
		char key[40];

		snprintf(key, sizeof(key), "%f", percentiles->values[i]);
		uint64_t ns = h ? hist_percentile(h, percentiles->values[i]) : 0;
		json_object_set_new(percentile, key, count_value(ns));
	}
	json_object_set_new(o, "percentile", percentile);
	if (h || !is_fio)
		json_object_set_new(o, "bins", bins_object(h));
	return o;
}

/* ---- values by type: the member at `at` ---- */

#define VALUE(type)                                                                                \
	static json_t *value_##type(__attribute__((unused)) const struct mlgen_field *f,           \
				    const void *at,                                                \
				    __attribute__((unused)) const struct json_write *w)

VALUE(bool)
{
	return json_boolean(*(const bool *)at);
}

VALUE(u64)
{
	uint64_t v = *(const uint64_t *)at;
	bool is_null = (f->flags & MLGEN_NULLABLE) && v == UINT64_MAX;

	return is_null ? json_null() : count_value(v);
}

VALUE(f64)
{
	return real_value(*(const double *)at);
}

VALUE(choice)
{
	int v = *(const int *)at;

	for (const struct mlgen_choice *c = f->choices; c->name; c++)
		if (c->value == v)
			return json_string(c->name);
	return json_null();
}

/* The struct contains the text itself (METRICS_CHARS) or a pointer to the text. The pointer is
 * copied as bytes, since members differ in const. */
VALUE(text)
{
	const char *s = at;

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
	return hist_object(*(struct hist *const *)at, f->flags & MLGEN_FIO, w->percentiles);
}

VALUE(map)
{
	const struct metric_list *l = at;
	const struct metric_pair *pairs = l->items;
	json_t *o = json_object();

	for (size_t i = 0; i < l->count; i++)
		json_object_set_new(o, pairs[i].key, text_value(pairs[i].value));
	return o;
}

VALUE(f64s)
{
	const struct metric_list *l = at;
	const double *values = l->items;
	json_t *a = json_array();

	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(a, real_value(values[i]));
	return a;
}

static bool is_wanted(const struct json_write *w, const char *name)
{
	const char *const *only = w->only;

	if (w->result && page_of(w->result)->has_row &&
	    !page_of(w->result)->has_row(w->result, name))
		return false;
	for (; only && *only; only++)
		if (strcmp(*only, name) == 0)
			return true;
	return !w->only;
}

static json_t *struct_object(const struct mlgen_field *table, const void *base,
			     const struct json_write *w);

VALUE(object)
{
	return struct_object(f->sub, at, w);
}

VALUE(list)
{
	const struct metric_list *l = at;
	json_t *a = json_array();

	for (size_t i = 0; i < l->count; i++) {
		const char *item = (const char *)l->items + i * f->stride;

		json_array_append_new(a, struct_object(f->sub, item, w));
	}
	return a;
}

/* Types that only options have do not occur in a document. */
static json_t *member_value(const struct mlgen_field *f, const void *at, const struct json_write *w)
{
	static json_t *(*const types[])(const struct mlgen_field *, const void *,
					const struct json_write *) = {
		[MLGEN_BOOL] = value_bool,   [MLGEN_U64] = value_u64,
		[MLGEN_SIZE] = value_u64,    [MLGEN_TIME] = value_u64,
		[MLGEN_F64] = value_f64,     [MLGEN_PERCENT] = value_f64,
		[MLGEN_ENUM] = value_choice, [MLGEN_STR] = value_text,
		[MLGEN_HIST] = value_hist,   [MLGEN_OBJECT] = value_object,
		[MLGEN_LIST] = value_list,   [MLGEN_F64_ARRAY] = value_f64s,
		[MLGEN_MAP] = value_map,     [MLGEN_TEXTS] = value_lines,
	};

	return f->type < ARRAY_LEN(types) && types[f->type] ? types[f->type](f, at, w)
							    : json_null();
}

json_t *json_value(const struct mlgen_field *row, const void *member)
{
	const struct json_write opts = { 0 };

	return member_value(row, member, &opts);
}

static json_t *struct_object(const struct mlgen_field *table, const void *base,
			     const struct json_write *w)
{
	const struct json_write inner = { .percentiles = w->percentiles };
	json_t *o = json_object();

	for (const struct mlgen_field *f = table; f->name; f++)
		if (is_wanted(w, f->name))
			json_object_set_new(o, f->name,
					    member_value(f, (const char *)base + f->off, &inner));
	return o;
}

/* The part that results and plans share: fio's members of a job, and the dataset. */
static json_t *job_object(const struct job_result *r, const struct run_result *run,
			  const struct jobset *set, const struct json_write *w)
{
	struct job_result m;

	metrics_job_init(&m, r, set);
	metrics_job_share(&m, run);
	json_t *o = struct_object(metrics_job_fields, &m, w);
	if (m.doc.format)
		json_object_set_new(o, "dataset", struct_object(metrics_dataset_fields, &m, w));
	metrics_job_fini(&m);
	return o;
}

static json_t *result_object(const struct job_result *r, const struct run_result *run,
			     const struct jobset *set)
{
	const struct json_write opts = { .percentiles = &r->job->percentile_list };
	const struct page *page = r->work ? page_of(r) : NULL;
	const struct json_write own = { .percentiles = opts.percentiles, .result = r };
	json_t *o = job_object(r, run, set, &opts);

	if ((r->work && r->work->only_prepares) || r->prepare.files_written ||
	    r->prepare.files_kept)
		json_object_set_new(o, "prepare",
				    struct_object(metrics_prepare_fields, &r->prepare, &opts));
	if (r->ml.cache.policy)
		json_object_set_new(o, "cache",
				    struct_object(metrics_cache_fields, &r->ml.cache, &opts));
	if (page && page->key)
		json_object_set_new(o, page->key, struct_object(page->fields, r, &own));
	return o;
}

static json_t *plan_object(const struct plan_report *p, const struct run_result *run,
			   const struct jobset *set)
{
	const struct job_result none = { .job = p->job,
					 .dataset = &p->dataset,
					 .totals = p->totals,
					 .group = p->job->group,
					 .members = 1 };
	const struct page *page = job_work(p->job)->page;
	const struct json_write all = { .percentiles = &p->job->percentile_list };
	const struct json_write planned = { .percentiles = all.percentiles, .only = page->planned };
	struct job_result r = { .job = p->job };
	json_t *o = job_object(&none, run, set, &all);

	if (page->planned) {
		page->fill_planned(&r, p);
		json_object_set_new(o, page->key, struct_object(page->fields, &r, &planned));
	}
	json_object_set_new(o, "plan", struct_object(metrics_plan_fields, p, &all));
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
	const struct json_write opts = { 0 };
	struct run_result top;

	metrics_top_init(&top, r, set);
	json_t *root = struct_object(metrics_top_fields, &top, &opts);
	metrics_top_fini(&top);
	if (set->settings.output_format == OUTPUT_FIO_JSON) {
		/* Some readers of fio's output require its version as the first key. */
		json_t *fio = json_sprintf("mlgen-%s", metrics_version());
		json_t *rest = root;

		root = json_object();
		json_object_set_new(root, "fio version", fio);
		json_object_update(root, rest);
		json_decref(rest);
	}
	json_t *jobs = json_array();
	for (size_t i = 0; !plans && i < r->job_count; i++)
		json_array_append_new(jobs, result_object(&r->jobs[i], r, set));
	for (size_t i = 0; plans && i < set->count; i++)
		json_array_append_new(jobs, plan_object(&plans[i], r, set));
	json_object_set_new(root, "jobs", jobs);
	if (r->series.jobs.count)
		json_object_set_new(root, "series",
				    struct_object(metrics_series_fields, &r->series, &opts));
	if (r->trace.file)
		json_object_set_new(root, "trace",
				    struct_object(metrics_trace_fields, &r->trace, &opts));
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
	const struct json_write opts = { 0 };
	json_t *root = document(r, set, NULL);

	json_object_set_new(root, extra->key, struct_object(extra->table, extra->base, &opts));
	return dump(root, to);
}

int json_struct(FILE *to, const struct mlgen_field *table, const void *base,
		const struct f64_list *percentiles)
{
	const struct json_write opts = { .percentiles = percentiles };

	return dump(struct_object(table, base, &opts), to);
}

/* Time limit for the child, which usually takes some milliseconds. */
#define CHILD_LIMIT_NS (5 * NS_PER_S)

struct json_each {
	const struct jobset *set;
	char path[PATH_MAX];
	unsigned processes;
	bool has_removed_stale; /* documents left by an earlier run with more processes */
	pid_t child;            /* 0 = none */
	uint64_t child_begin_ns;
};

/* ---- stale documents of a larger run ---- */

/* True for "rank-12.json" if this run does not have that rank. */
static bool is_stale_name(const char *name, unsigned processes)
{
	unsigned rank;
	char again[32];

	if (sscanf(name, "rank-%u.json", &rank) != 1 || rank < processes)
		return false;
	snprintf(again, sizeof(again), "rank-%u.json", rank);
	return strcmp(again, name) == 0;
}

/* True if the file begins as json_report() writes it. */
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

/* Find stale documents and, with `removes`, remove them. `other` receives the name of a file that
 * mlgen has not written, if there is one; otherwise "". */
static void find_stale(const char *directory, unsigned processes, bool removes,
		       char other[NAME_MAX + 1])
{
	DIR *folder = opendir(directory);
	struct dirent *d;

	other[0] = '\0';
	while (folder && (d = readdir(folder))) {
		if (!is_stale_name(d->d_name, processes))
			continue;
		if (!is_document(dirfd(folder), d->d_name))
			snprintf(other, NAME_MAX + 1, "%s", d->d_name);
		else if (removes)
			unlinkat(dirfd(folder), d->d_name, 0);
	}
	if (folder)
		closedir(folder);
}

static void remove_stale(struct json_each *e)
{
	char other[NAME_MAX + 1];

	if (!e->has_removed_stale)
		find_stale(e->set->settings.json_each, e->processes, true, other);
	e->has_removed_stale = true;
}

/* ---- documents of this run ---- */

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

/* Reap the child if it has ended; with `kills`, or after the time limit, kill it. True: no child is
 * left. */
static bool reap_child(struct json_each *e, bool kills)
{
	if (e->child && (kills || clock_monotonic_ns() - e->child_begin_ns > CHILD_LIMIT_NS))
		kill(e->child, SIGKILL);
	if (e->child && waitpid(e->child, NULL, kills ? 0 : WNOHANG) != 0)
		e->child = 0;
	return e->child == 0;
}

int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err)
{
	const char *directory = set->settings.json_each;
	char way[DIRS_WAY_BYTES], other[NAME_MAX + 1];

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
				  dirs_explain_failure(way, directory, rc));
	find_stale(directory, processes, false, other);
	if (other[0])
		return mlgen_fail(err, -EEXIST,
				  "json-each=%s: %s is not a document of mlgen, and this run, "
				  "of %u process%s, would leave it among its documents; move "
				  "it, or name another directory",
				  directory, other, processes, processes == 1 ? "" : "es");
	struct json_each *e = mem_zalloc(sizeof(*e));
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
	if (!e || !reap_child(e, false))
		return;
	remove_stale(e);
	e->child_begin_ns = clock_monotonic_ns();
	pid_t child = fork();
	if (child == 0) {
		/* The run is not over. */
		struct run_result *result = run_collect(run);

		for (size_t i = 0; i < result->job_count; i++)
			result->jobs[i].complete = false;
		_exit(write_document(e, result) < 0);
	}
	e->child = child > 0 ? child : 0;
}

int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err)
{
	if (!e)
		return 0;
	reap_child(e, true);
	remove_stale(e);
	int rc = write_document(e, result);
	return rc < 0 ? mlgen_fail(err, rc, "json-each: %s: %s", e->path, strerror(-rc)) : 0;
}

void json_each_free(struct json_each *e)
{
	if (!e)
		return;
	reap_child(e, true);
	mem_free(e);
}
