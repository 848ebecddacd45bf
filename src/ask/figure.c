/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c - see figure.h. */
#include "ask/figure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "io/engines.h"
#include "job/fields.h"
#include "job/job.h"
#include "report/json_read.h"
#include "report/metrics.h"
#include "report/metrics_find_max.h"
#include "report/metrics_merged.h"
#include "stat/hist.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A percentile is sure where this many values lie beyond it. */
#define BEYOND 10

/* Where keys are looked for, in this order; first what a run measures. */
#define MEASURED_ROOTS 3
static const struct root {
	const char *name; /* in front of the key; NULL = nothing */
	const char *in;   /* the object inside; NULL = the job itself ... */
	bool is_top;      /* ... or the document */
	const struct mlgen_field *table;
} roots[] = {
	{ NULL, "ml", false, metrics_ml_fields },
	{ NULL, "io", false, metrics_io_fields },
	{ NULL, NULL, false, metrics_job_fields },
	{ "dataset", "dataset", false, metrics_dataset_fields },
	{ "prepare", "prepare", false, metrics_prepare_fields },
	{ "plan", "plan", false, metrics_plan_fields },
	{ NULL, NULL, true, metrics_top_fields },
	{ "find_max", "find_max", true, metrics_find_max_fields },
	{ "merged", "merged", true, metrics_merged_fields },
};

static const char *const parts[] = { "min", "max", "mean", "stddev", "N" };

/* How far a path leads. */
struct way {
	const struct mlgen_field *row; /* it ends at this one; NULL = nowhere */
	const char *end;               /* of the row's name in the path */
	const char *rest;              /* behind it, and behind an element */
	bool is_element;               /* of the list that the row is */
	json_t *value;                 /* NULL = the document has none */
	bool is_there;                 /* it has the key, be it null */
	/* Where it is lost: this part of the path is not in the table. */
	const struct mlgen_field *table;
	const char *lost;
};

static const struct mlgen_field *find_row(const struct mlgen_field *table,
					  const char *part, size_t len)
{
	for (; table->name; table++)
		if (strlen(table->name) == len &&
		    strncmp(table->name, part, len) == 0)
			return table;
	return NULL;
}

static json_t *member(json_t *o, const char *key)
{
	json_t *value = json_object_get(o, key);
	return json_is_null(value) ? NULL : value;
}

static bool is_list(const struct mlgen_field *row)
{
	return row->type == MLGEN_LIST || row->type == MLGEN_F64_ARRAY;
}

/* Steps behind ".0", the number of an element; false where it is none. */
static bool take_index(const char **path, size_t *index)
{
	size_t len = **path ? strspn(*path + 1, "0123456789") : 0;
	char behind = len ? (*path)[1 + len] : '?';
	if (len > 9 || (behind && behind != '.'))
		return false;
	*index = strtoul(*path + 1, NULL, 10);
	*path += 1 + len;
	return true;
}

static void follow(struct way *w, const struct mlgen_field *table, json_t *o,
		   const char *path)
{
	memset(w, 0, sizeof(*w));
	for (;;) {
		size_t len = strcspn(path, "."), index;
		const struct mlgen_field *f = find_row(table, path, len);
		w->table = table;
		w->lost = path;
		if (!f)
			return;
		w->is_there |= json_object_get(o, f->name) != NULL;
		o = member(o, f->name);
		path += len;
		w->end = path;
		w->is_element = is_list(f) && take_index(&path, &index);
		if (w->is_element)
			o = json_array_get(o, index);
		bool is_inside = f->sub && (w->is_element || !is_list(f));
		if (is_inside && path[0] && path[1]) {
			table = f->sub;
			path++;
			continue;
		}
		w->row = f;
		w->rest = path;
		w->value = o;
		return;
	}
}

/* Is what stands behind a latency a figure of it? */
static bool is_part(const char *rest)
{
	double percent;
	if (*rest++ != '.')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(rest, parts[i]) == 0)
			return true;
	return *rest == 'p' && units_f64(rest + 1, &percent, NULL) == 0 &&
	       percent >= 0 && percent <= 100;
}

static bool is_number(const struct mlgen_field *row)
{
	return row->type >= MLGEN_U64 && row->type <= MLGEN_PERCENT;
}

/* ---- what is wrong with a key ---- */

/* Does it end before one figure? */
static bool is_whole(const struct way *w)
{
	bool goes_on = *w->rest;
	switch (w->row->type) {
	case MLGEN_HIST:
		return !is_part(w->rest);
	case MLGEN_MAP:
		return !goes_on;
	case MLGEN_F64_ARRAY:
		return goes_on || !w->is_element;
	default:
		return w->row->type > MLGEN_HIST;
	}
}

static int fail_whole(const struct figure *f, const struct way *w,
		      struct mlgen_err *err)
{
	const char *what = "holds several figures; ask for one, such as";
	const char *behind = w->row->type == MLGEN_MAP ? ".NAME" : "";
	const struct mlgen_field *in = w->row->sub;
	while (in && in->name && !is_number(in))
		in++;
	if (in && !in->name)
		in = w->row->sub;
	if (is_list(w->row)) {
		what = "is a list; ask for one of it, from 0:";
		behind = ".0";
	} else if (w->row->type == MLGEN_HIST) {
		what = "is a latency; ask for one figure of it:";
		behind = ".p99, .p99.9, .mean, .min, .max, .stddev or .N";
	}
	return mlgen_fail(err, -EINVAL, "%s: %s %.*s%s%s%s", f->key, what,
			  (int)(w->end - f->path), f->path, behind,
			  in ? "." : "", in ? in->name : "");
}

/* Does the way end at one figure? Else err says what is missing. */
static int check_end(const struct figure *f, const struct way *w,
		     struct mlgen_err *err)
{
	enum mlgen_type type = w->row->type;
	bool is_plain = type < MLGEN_HIST;
	if (is_whole(w))
		return fail_whole(f, w, err);
	if (is_plain && *w->rest)
		return mlgen_fail(err, -EINVAL,
				  "%s: there is nothing inside of '%s'", f->key,
				  w->row->name);
	if (f->is_measured && (is_plain || type == MLGEN_MAP) &&
	    !is_number(w->row))
		return mlgen_fail(err, -EINVAL, "%s: is no number", f->key);
	return 0;
}

/* Steps behind the name that a root asks for, if the path begins with it. */
static bool enter(const struct root *r, const char **path)
{
	if (!r->name)
		return true;
	size_t len = strlen(r->name);
	if (strncmp(*path, r->name, len) != 0 || (*path)[len] != '.')
		return false;
	*path += len + 1;
	return true;
}

static size_t root_count(const struct figure *f)
{
	return f->is_measured ? MEASURED_ROOTS : ARRAY_LEN(roots);
}

/* The object that has it, where the key lacks that. */
static const char *find_holder(const struct figure *f, const char *part)
{
	for (size_t i = 0; i < root_count(f); i++)
		for (const struct mlgen_field *in = roots[i].table;
		     !roots[i].name && in->name; in++)
			if (in->type == MLGEN_OBJECT &&
			    find_row(in->sub, part, strlen(part)))
				return in->name;
	return NULL;
}

static const char *nearest_at_first(const struct figure *f, const char *part)
{
	const struct mlgen_field *tables[32] = { metrics_ml_fields,
						 metrics_io_fields,
						 metrics_job_fields };
	size_t at = MEASURED_ROOTS;
	if (!f->is_measured) {
		tables[at++] = job_fields;
		tables[at++] = metrics_top_fields;
		for (size_t i = 0;
		     engines_built[i] && at + 1 < ARRAY_LEN(tables); i++)
			if (engines_built[i]->opts)
				tables[at++] = engines_built[i]->opts;
	}
	return field_nearest(tables, part);
}

/* The nearest there is, with the rest of the key behind it. */
static int fail_unknown(const struct figure *f, const char *lost,
			const struct mlgen_field *table, struct mlgen_err *err)
{
	const struct mlgen_field *const deeper[] = { table, NULL };
	const char *what =
		f->is_measured ? "no run measures it" : "no result has it";
	size_t len = strcspn(lost, ".");
	char *part = mem_strndup(lost, len);
	const char *in = lost == f->path ? find_holder(f, part) : NULL;
	const char *near = lost == f->path ? nearest_at_first(f, part)
					   : field_nearest(deeper, part);
	if (in)
		near = part;
	if (near && (in || strcmp(near, part) != 0))
		mlgen_fail(err, -EINVAL, "%s: %s; did you mean '%.*s%s%s%s%s'?",
			   f->key, what, (int)(lost - f->path), f->path,
			   in ? in : "", in ? "." : "", near, lost + len);
	else
		mlgen_fail(err, -EINVAL,
			   "%s: %s; ask for a metric such as au, read.iops or "
			   "stall_ns.p99%s; man mlgen-json has all metrics",
			   f->key, what,
			   f->is_measured
				   ? ""
				   : ", or an option such as read_threads");
	mem_free(part);
	return -EINVAL;
}

/* Of several places in which it is lost the deepest tells most. */
static int find_metric(struct figure *f, struct mlgen_err *err)
{
	const char *lost = f->path;
	const struct mlgen_field *table = NULL;
	struct mlgen_err end = { 0 };
	for (size_t i = 0; i < root_count(f); i++) {
		struct way w;
		const char *path = f->path;
		if (!enter(&roots[i], &path))
			continue;
		follow(&w, roots[i].table, NULL, path);
		if (w.row && check_end(f, &w, &end) == 0) {
			f->row = w.row;
			return 0;
		}
		if (!w.row && w.lost > lost) {
			lost = w.lost;
			table = w.table;
		}
	}
	if (end.code)
		return mlgen_fail(err, end.code, "%s", end.text);
	return fail_unknown(f, lost, table, err);
}

static const struct mlgen_field *find_option(const char *key)
{
	const struct mlgen_field *f = field_find(job_fields, key);
	for (size_t i = 0; !f && engines_built[i]; i++)
		f = field_find(engines_built[i]->opts, key);
	return f;
}

static void set_key(struct figure *f, const char *key)
{
	memset(f, 0, sizeof(*f));
	f->key = key;
	f->path = strcmp(key, "au") ? key : "au_percent";
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

static void take(struct figure_value *v, const json_t *value)
{
	json_int_t n = json_integer_value(value);
	if (json_is_integer(value) && n >= 0)
		set_whole(v, (uint64_t)n);
	else if (json_is_number(value))
		set_real(v, json_number_value(value));
	else if (json_is_string(value))
		set_text(v, json_string_value(value));
	if (json_is_boolean(value)) {
		set_whole(v, json_is_true(value));
		v->kind = VALUE_BOOL;
	}
}

static int take_percentile(struct figure_value *v, json_t *latency,
			   const char *part, const struct json_reader *r,
			   const char *path, struct mlgen_err *err)
{
	struct hist *h;
	double percent;
	if (json_read_hist(r, latency, path, &h, err) < 0)
		return -EINVAL;
	if (!h || units_f64(part + 1, &percent, NULL) < 0)
		return 0;
	set_whole(v, hist_percentile(h, percent));
	v->is_unsure = percent < 100 && hist_beyond(h, percent) < BEYOND;
	return 0;
}

static int take_latency(struct figure_value *v, const struct way *w,
			const struct results_file *doc, const char *path,
			struct mlgen_err *err)
{
	struct json_store store = { 0 };
	struct json_reader r = { &store, doc->path };
	bool is_empty = json_integer_value(json_object_get(w->value, "N")) == 0;
	int rc = 0;
	const char *part = w->rest + 1;
	if (*part == 'p')
		rc = take_percentile(v, w->value, part, &r, path, err);
	else if (!is_empty || strcmp(part, "N") == 0)
		take(v, json_object_get(w->value, part));
	json_store_fini(&store);
	return rc;
}

/* Numbers are numbers for a spreadsheet: bytes, and seconds. */
static void take_option(struct figure_value *v, const struct mlgen_field *f,
			const char *text)
{
	uint64_t n;
	double real;
	set_text(v, text);
	if (f->type == MLGEN_TIME || f->type == MLGEN_TIME_DIST) {
		if (units_time(text, f->unit, &n, NULL) == 0)
			set_real(v, (double)n / 1e9);
	} else if (f->type == MLGEN_SIZE || f->type == MLGEN_SIZE_DIST ||
		   f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_SIZE_SHARE) {
		if (units_size(text, 1024, &n, NULL) == 0)
			set_whole(v, n);
	} else if (f->type != MLGEN_STR) {
		if (units_u64(text, &n, NULL) == 0)
			set_whole(v, n);
		else if (units_f64(text, &real, NULL) == 0)
			set_real(v, real);
	}
}

static int metric_value(const struct figure *f, const struct results_file *doc,
			size_t job, struct figure_value *v,
			struct mlgen_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		struct way w;
		const char *path = f->path;
		json_t *o = roots[i].is_top ? doc->root : results_job(doc, job);
		if (roots[i].in)
			o = member(o, roots[i].in);
		if (!o || !enter(&roots[i], &path))
			continue;
		follow(&w, roots[i].table, o, path);
		v->is_there |= w.is_there;
		if (!w.row || !w.value)
			continue;
		if (w.row->type == MLGEN_HIST)
			return take_latency(v, &w, doc, f->path, err);
		if (w.row->type == MLGEN_MAP)
			w.value = member(w.value, w.rest + 1);
		take(v, w.value);
		return 0;
	}
	return 0;
}

int figure_init(struct figure *f, const char *key, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	set_key(f, key);
	if (strcmp(key, "file") == 0) {
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

int figure_init_measured(struct figure *f, const char *key,
			 struct mlgen_err *err)
{
	set_key(f, key);
	f->is_measured = true;
	return find_metric(f, err);
}

int figure_value(const struct figure *f, const struct results_file *doc,
		 size_t job, struct figure_value *v, struct mlgen_err *err)
{
	const char *text;
	memset(v, 0, sizeof(*v));
	switch (f->kind) {
	case FIGURE_FILE:
		set_text(v, doc->name);
		return 0;
	case FIGURE_OPTION:
		text = results_option(results_job(doc, job), f->path);
		if (text)
			take_option(v, f->row, text);
		return 0;
	case FIGURE_METRIC:
		return metric_value(f, doc, job, v, err);
	}
	return 0;
}

void figure_value_fini(struct figure_value *v)
{
	mem_free(v->text);
	memset(v, 0, sizeof(*v));
}

bool figure_is_ns(const struct figure *f)
{
	size_t len = strlen(f->path);
	return figure_has_unit(f, "ns") &&
	       !(len > 2 && strcmp(f->path + len - 2, ".N") == 0);
}

bool figure_has_unit(const struct figure *f, const char *unit)
{
	return f->kind == FIGURE_METRIC && f->row->unit &&
	       strcmp(f->row->unit, unit) == 0;
}
