/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c - find figures of a record by their keys, and report unknown keys. */
#include "ask/results/results_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "io/engines.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "stat/hist.h"
#include "trace/documents/documents.h"

#define RECORD_ROOTS_MEASURED 4

/* ---- records ---- */

#define WITHIN(p, m) .off = offsetof(struct record, p), .within = (m)
#define PART(m, t) .off = offsetof(struct record, m), .bytes = sizeof(t)

/* clang-format off */
const struct record_root record_roots[RECORD_ROOTS] = {
	{ NULL, "ml", false, metrics_ml_fields, WITHIN(ml, 0) },
	{ NULL, "io", false, metrics_io_fields, WITHIN(io, 0) },
	{ NULL, NULL, false, metrics_job_fields, WITHIN(job, 0) },
	{ "cache", "cache", false, metrics_cache_fields, WITHIN(cache, offsetof(struct job_result, ml.cache)) },
	{ "dataset", "dataset", false, metrics_dataset_fields, WITHIN(dataset, 0) },
	{ "prepare", "prepare", false, metrics_prepare_fields, WITHIN(prepare, offsetof(struct job_result, prepare)) },
	{ "plan", "plan", false, metrics_plan_fields, PART(plan, struct plan_report) },
	{ NULL, NULL, true, metrics_top_fields, WITHIN(run, 0) },
	{ "series", "series", true, metrics_series_fields, WITHIN(series, offsetof(struct run_result, series)) },
	{ "trace", "trace", true, metrics_trace_fields, PART(trace, struct trace_result) },
	{ "find_max", "find_max", true, metrics_find_max_fields, PART(find_max, struct metrics_find_max) },
	{ "merged", "merged", true, metrics_merged_fields, PART(merged, struct metrics_merged) },
	{ "score", "score", true, score_fields, PART(score, struct scored) },
};
/* clang-format on */

/* The key without the name in front; NULL = the key is not below this root. */
static const char *record_root_path(const struct record_root *root, const char *key)
{
	size_t len = root->name ? strlen(root->name) : 0;

	if (!root->name || !key)
		return key;
	return strncmp(key, root->name, len) == 0 && key[len] == '.' ? key + len + 1 : NULL;
}

void record_of_run(struct record *r, struct job_result *m, const struct run_result *run, size_t job)
{
	const struct job_result *of = &run->jobs[job];
	bool is_plain = of->work && of->work->is_plain;

	metrics_job_init(m, of, NULL);
	metrics_job_share(m, run);
	*r = (struct record){
		.job = m,
		.ml = job_result_ran(of) && !is_plain ? m : NULL,
		.io = is_plain ? m : NULL,
		.cache = of->ml.cache.policy ? &m->ml.cache : NULL,
	};
}

/* Does the record have the row at the end of `path`, in the struct at `base`? */
static bool record_has(const struct record *r, const struct field_path *path, const void *base)
{
	if (r->store)
		return !json_store_is_missing(r->store, path->row, base);
	const struct page *page = r->job->work ? page_of(r->job) : NULL;

	return !page || path->table != page->fields || !page->has_row ||
	       page->has_row(r->job, path->row->name);
}

/* The measured result; NULL = nothing was measured. */
static const struct job_result *measured(const struct record *r)
{
	return r->ml ? r->ml : r->io;
}

static bool has_figure(const struct record *r, const char *name)
{
	struct field_path path;
	const void *base = measured(r);

	field_path_init(&path, r->ml ? metrics_ml_fields : metrics_io_fields, name);
	return base && record_has(r, &path, base);
}

enum record_kind record_kind(const struct record *r)
{
	if (r->ml)
		return has_figure(r, "accelerators") ? RECORD_TRAIN : RECORD_CHECKPOINT;
	return r->io ? RECORD_IO : RECORD_NOTHING;
}

bool record_counts_errors(const struct record *r)
{
	return has_figure(r, "too_many_errors");
}

bool record_has_too_many_errors(const struct record *r)
{
	const struct job_result *of = measured(r);

	if (record_counts_errors(r))
		return of->failed.is_too_many;
	return of && of->errors > 0;
}

bool record_is_cut(const struct record *r)
{
	return has_figure(r, "complete") && !measured(r)->complete;
}

static const struct metric_pair *record_find_option(const struct record *r, const char *option)
{
	const struct metric_list *all = r->job ? &r->job->doc.options_resolved : NULL;
	const struct metric_pair *pairs = all ? all->items : NULL;

	for (size_t i = 0; all && i < all->count; i++)
		if (strcmp(pairs[i].key, option) == 0)
			return &pairs[i];
	return NULL;
}

const char *record_option(const struct record *r, const char *option)
{
	const struct metric_pair *pair = record_find_option(r, option);

	return pair ? pair->value : NULL;
}

/* Does an earlier record have this option, too? */
static bool is_known(const struct record *const *of, size_t record, const char *option)
{
	for (size_t i = 0; i < record; i++)
		if (record_find_option(of[i], option))
			return true;
	return false;
}

const char *record_next_option(struct record_options *at, const struct record *const *of,
			       size_t count)
{
	for (; at->record < count; at->record++, at->option = 0) {
		const struct metric_list *all = &of[at->record]->job->doc.options_resolved;
		const struct metric_pair *pairs = all->items;

		while (at->option < all->count) {
			const char *name = pairs[at->option++].key;

			if (!is_known(of, at->record, name))
				return name;
		}
	}
	return NULL;
}

/* ---- unknown keys ---- */

/* Number of roots in which the key is looked up. */
static size_t figure_roots(const struct figure *f)
{
	return f->is_measured ? RECORD_ROOTS_MEASURED : RECORD_ROOTS;
}

/* The object that has this part, in case the user left out the name of the object; NULL = none. */
static const char *find_object(const struct figure *f, const char *part)
{
	for (size_t i = 0; i < figure_roots(f); i++)
		for (const struct mlgen_field *in = record_roots[i].table;
		     !record_roots[i].name && in->name; in++)
			if (in->type == MLGEN_OBJECT && field_row(in->sub, part, strlen(part)))
				return in->name;
	return NULL;
}

static const char *nearest_top_key(const struct figure *f, const char *part)
{
	const struct mlgen_field *tables[32] = { metrics_ml_fields, metrics_io_fields,
						 metrics_job_fields };
	size_t at = 3;

	if (!f->is_measured) {
		tables[at++] = job_fields;
		tables[at++] = metrics_top_fields;
		for (size_t i = 0; engines_built[i] && at + 1 < ARRAY_LEN(tables); i++)
			if (engines_built[i]->opts)
				tables[at++] = engines_built[i]->opts;
	}
	return field_nearest(tables, part);
}

/* ---- keys ---- */

/* A percentile is certain if at least this many values lie beyond it. */
#define VALUES_BEYOND 10

static const char *const parts[] = { "min", "max", "mean", "stddev", "N" };

static bool is_percentile(const char *part)
{
	return *part == 'p' || *part == 'P';
}

/* Is the rest of the key after a latency a figure of the latency? */
static bool is_latency_part(const char *rest)
{
	double percent;

	if (*rest++ != '.')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcasecmp(rest, parts[i]) == 0)
			return true;
	return is_percentile(rest) && units_f64(rest + 1, &percent, NULL) == 0 && percent >= 0 &&
	       percent <= 100;
}

static bool is_number(const struct mlgen_field *row)
{
	return row->type >= MLGEN_U64 && row->type <= MLGEN_PERCENT;
}

/* Does the key end before a single figure? */
static bool is_incomplete(const struct field_path *w)
{
	bool has_rest = *w->rest;

	switch (w->row->type) {
	case MLGEN_HIST:
		return !is_latency_part(w->rest);
	case MLGEN_MAP:
		return !has_rest;
	case MLGEN_F64_ARRAY:
		return has_rest || !w->is_element;
	default:
		return w->row->type > MLGEN_HIST;
	}
}

/* Check that the path ends at a single figure. 0, or -EINVAL with err. */
static int check_end(const struct figure *f, const struct field_path *w, struct mlgen_err *err)
{
	enum mlgen_type type = w->row->type;
	bool is_plain = type < MLGEN_HIST;

	if (is_incomplete(w)) {
		const char *what = "contains several figures; name one, such as";
		const char *suffix = w->row->type == MLGEN_MAP ? ".NAME" : "";
		const struct mlgen_field *in = w->row->sub;

		while (in && in->name && !is_number(in))
			in++;
		if (in && !in->name)
			in = w->row->sub;
		if (field_is_list(w->row)) {
			what = "is a list; name one element, from 0:";
			suffix = ".0";
		} else if (w->row->type == MLGEN_HIST) {
			what = "is a latency; name one of its figures:";
			suffix = ".p99, .p99.9, .mean, .min, .max, .stddev or .N";
		}
		return mlgen_fail(err, -EINVAL, "%s: %s %.*s%s%s%s", f->key, what,
				  (int)(w->end - f->path), f->path, suffix, in ? "." : "",
				  in ? in->name : "");
	}
	if (is_plain && *w->rest)
		return mlgen_fail(err, -EINVAL, "%s: '%s' has no members", f->key, w->row->name);
	if (f->is_measured && (is_plain || type == MLGEN_MAP) && !is_number(w->row))
		return mlgen_fail(err, -EINVAL, "%s: is not a number", f->key);
	return 0;
}

/* If no root has the key, report the error of the deepest match, which is the most specific. */
static int find_metric(struct figure *f, struct mlgen_err *err)
{
	const char *lost = f->path;
	const struct mlgen_field *table = NULL;
	struct mlgen_err end = { 0 };

	for (size_t i = 0; i < figure_roots(f); i++) {
		struct field_path w;
		const char *path = record_root_path(&record_roots[i], f->path);

		if (!path)
			continue;
		field_path_init(&w, record_roots[i].table, path);
		while (field_path_next(&w))
			;
		if (w.row && check_end(f, &w, &end) == 0) {
			f->row = w.row;
			return 0;
		}
		if (!w.row && w.part > lost) {
			lost = w.part;
			table = w.table;
		}
	}
	if (end.code)
		return mlgen_fail(err, end.code, "%s", end.text);

	/* Suggest the nearest known key. `lost` is the first part of f->path that has no row in
	 * `table`; with table NULL, the first part of the key is unknown. */
	const struct mlgen_field *const deeper[] = { table, NULL };
	const char *what = f->is_measured ? "not a figure of a run" : "not in any result";
	size_t len = strcspn(lost, ".");
	char *part = mem_strndup(lost, len);
	const char *in = lost == f->path ? find_object(f, part) : NULL;
	const char *near = lost == f->path ? nearest_top_key(f, part) : field_nearest(deeper, part);

	if (in)
		near = part;
	if (near && (in || strcmp(near, part) != 0))
		mlgen_fail(err, -EINVAL, "%s: %s; did you mean '%.*s%s%s%s%s'?", f->key, what,
			   (int)(lost - f->path), f->path, in ? in : "", in ? "." : "", near,
			   lost + len);
	else
		mlgen_fail(err, -EINVAL,
			   "%s: %s; name a metric such as au, read.iops or stall_ns.p99%s; "
			   "man mlgen-json lists all metrics",
			   f->key, what,
			   f->is_measured ? "" : ", or an option such as read_threads");
	mem_free(part);
	return -EINVAL;
}

static const struct mlgen_field *find_option(const char *key)
{
	char *lower = mem_strdup(key);

	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	const struct mlgen_field *f = field_find(job_fields, lower);
	for (size_t i = 0; !f && engines_built[i]; i++)
		f = field_find(engines_built[i]->opts, lower);
	mem_free(lower);
	return f;
}

static void set_key(struct figure *f, const char *key)
{
	memset(f, 0, sizeof(*f));
	f->key = key;
	f->path = strcasecmp(key, "au") ? key : "au_percent";
	f->kind = FIGURE_METRIC;
}

/* ---- values ---- */

static void set_real(struct figure_value *v, double real)
{
	v->kind = VALUE_REAL;
	v->real = real;
}

static void set_whole(struct figure_value *v, uint64_t whole)
{
	v->kind = VALUE_WHOLE;
	v->whole = whole;
	v->real = (double)whole;
}

static void set_text(struct figure_value *v, const char *text)
{
	v->kind = VALUE_TEXT;
	v->text = mem_strdup(text);
}

/* Convert a value from the document. Lines of text are joined: "array A; firmware 7.2". */
static void set_json(struct figure_value *v, const json_t *value)
{
	struct buf text = { 0 };

	if (json_is_boolean(value)) {
		set_whole(v, json_is_true(value));
		v->kind = VALUE_BOOL;
	} else if (json_is_integer(value)) {
		set_whole(v, (uint64_t)json_integer_value(value));
	} else if (json_is_real(value)) {
		set_real(v, json_real_value(value));
	} else if (json_is_string(value)) {
		set_text(v, json_string_value(value));
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *line = json_string_value(json_array_get(value, i));

		buf_addf(&text, "%s%s", *line && text.len ? "; " : "", line);
	}
	if (text.len)
		set_text(v, buf_str(&text));
	buf_fini(&text);
}

static void set_percentile(struct figure_value *v, const struct hist *h, const char *text)
{
	double percent;

	if (units_f64(text, &percent, NULL) < 0)
		return;
	set_whole(v, hist_percentile(h, percent));
	v->is_unsure = percent < 100 && hist_beyond(h, percent) < VALUES_BEYOND;
}

static void set_latency(struct figure_value *v, const struct record *r, const struct hist *h,
			const char *part)
{
	bool is_empty = !h || h->count == 0;

	if (strcasecmp(part, "N") == 0)
		set_whole(v, is_empty ? 0 : h->count);
	else if (is_empty)
		return;
	else if (is_percentile(part))
		set_percentile(v, h, part + 1);
	else if (strcasecmp(part, "min") == 0)
		set_whole(v, h->min_ns);
	else if (strcasecmp(part, "max") == 0)
		set_whole(v, h->max_ns);
	else if (strcasecmp(part, "mean") == 0)
		set_real(v, hist_mean(h));
	else
		set_real(v, r->store ? json_read_stddev(h) : hist_stddev(h));
}

static void set_member(struct figure_value *v, const struct record *r, const struct field_path *w,
		       const void *at)
{
	const char *inside = *w->rest ? w->rest + 1 : "";
	enum mlgen_type type = w->row->type;

	if (type == MLGEN_HIST) {
		set_latency(v, r, *(struct hist *const *)at, inside);
	} else if (type == MLGEN_MAP) {
		const struct metric_list *map = at;
		const struct metric_pair *pairs = map->items;

		for (size_t i = 0; i < map->count; i++)
			if (pairs[i].value && strcasecmp(pairs[i].key, inside) == 0)
				set_text(v, pairs[i].value);
	} else if (type == MLGEN_F64_ARRAY) {
		if (w->is_element && isfinite(*(const double *)at))
			set_real(v, *(const double *)at);
	} else if (type < MLGEN_HIST) {
		json_t *value = json_value(w->row, at);

		set_json(v, value);
		json_decref(value);
	}
}

/* For spreadsheets, numeric options become plain numbers: bytes and seconds. */
static void set_option(struct figure_value *v, const struct mlgen_field *f, const char *text)
{
	uint64_t n;
	double real;

	set_text(v, text);
	if (f->type == MLGEN_TIME || f->type == MLGEN_TIME_DIST) {
		if (units_time(text, f->unit, &n, NULL) == 0)
			set_real(v, (double)n / 1e9);
	} else if (f->type == MLGEN_SIZE || f->type == MLGEN_SIZE_DIST ||
		   f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_SIZE_SHARE ||
		   f->type == MLGEN_CACHE_SIZE) {
		if (units_size(text, 1024, &n, NULL) == 0)
			set_whole(v, n);
	} else if (f->type != MLGEN_STR) {
		if (units_u64(text, &n, NULL) == 0)
			set_whole(v, n);
		else if (units_f64(text, &real, NULL) == 0)
			set_real(v, real);
	}
}

/* Follow `path` into a struct; NULL = the record does not have it. */
static const void *follow_path(struct field_path *w, const struct record *r,
			       const struct mlgen_field *table, const void *base, const char *path,
			       bool *has_row)
{
	field_path_init(w, table, path);
	do {
		if (!w->row || !record_has(r, w, base))
			return NULL;
		*has_row = true;
		base = field_path_member(w, base);
	} while (base && field_path_next(w));
	return base;
}

/* Find the member in the first root that has it; NULL = none. */
static const void *find_member(const struct figure *f, const struct record *r, struct field_path *w,
			       bool *has_row)
{
	const void *at = NULL;

	*has_row = false;
	for (size_t i = 0; i < figure_roots(f) && !at; i++) {
		const char *path = record_root_path(&record_roots[i], f->path);
		const void *base;

		memcpy(&base, (const char *)r + record_roots[i].off, sizeof(base));
		if (path && base)
			at = follow_path(w, r, record_roots[i].table, base, path, has_row);
	}
	return at;
}

const struct hist *figure_latency(const struct figure *f, const struct record *r)
{
	struct field_path w;
	bool has_row;
	const void *at = find_member(f, r, &w, &has_row);

	return at && w.row->type == MLGEN_HIST ? *(struct hist *const *)at : NULL;
}

int figure_init(struct figure *f, const char *key, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };

	set_key(f, key);
	if (strcasecmp(key, "file") == 0) {
		f->kind = FIGURE_FILE;
		return 0;
	}
	if (find_metric(f, &why) == 0)
		return 0;
	f->row = find_option(key);
	if (f->row) {
		f->kind = FIGURE_OPTION;
		f->path = f->row->name;
		return 0;
	}
	return mlgen_fail(err, why.code, "%s", why.text);
}

int figure_init_measured(struct figure *f, const char *key, struct mlgen_err *err)
{
	set_key(f, key);
	f->is_measured = true;
	return find_metric(f, err);
}

bool figure_value(const struct figure *f, const struct record *r, struct figure_value *v)
{
	struct field_path w;
	bool has_row = true;
	const char *text = NULL;
	const void *at = NULL;

	memset(v, 0, sizeof(*v));
	if (f->kind == FIGURE_FILE)
		set_text(v, r->file);
	else if (f->kind == FIGURE_OPTION)
		text = record_option(r, f->path);
	else
		at = find_member(f, r, &w, &has_row);
	if (text)
		set_option(v, f->row, text);
	if (at)
		set_member(v, r, &w, at);
	return has_row;
}

double figure_number(const char *key, const struct record *r)
{
	struct figure f;
	struct figure_value v;
	double n = (double)NAN;

	if (figure_init(&f, key, NULL) < 0)
		return n;
	figure_value(&f, r, &v);
	if (v.kind != VALUE_NONE)
		n = v.real;
	figure_value_fini(&v);
	return n;
}

void figure_value_fini(struct figure_value *v)
{
	mem_free(v->text);
	memset(v, 0, sizeof(*v));
}

bool figure_is_ns(const struct figure *f)
{
	size_t len = strlen(f->path);

	return figure_has_unit(f, "ns") && !(len > 2 && strcasecmp(f->path + len - 2, ".N") == 0);
}

bool figure_has_unit(const struct figure *f, const char *unit)
{
	return f->kind == FIGURE_METRIC && f->row->unit && strcmp(f->row->unit, unit) == 0;
}
