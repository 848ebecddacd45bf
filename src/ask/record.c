/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - see record.h. */
#include "ask/record.h"

#include <string.h>

#include "report/metrics_trace.h"
#include "report/page.h"
#include "score/score.h"

#define PART(m, t) .off = offsetof(struct record, m), .bytes = sizeof(t)

/* clang-format off */
const struct record_root record_roots[RECORD_ROOTS] = {
	{ NULL, "ml", false, metrics_ml_fields, PART(ml, struct job_result) },
	{ NULL, "io", false, metrics_io_fields, PART(io, struct job_result) },
	{ NULL, NULL, false, metrics_job_fields, PART(job, struct metrics_job) },
	{ "cache", "cache", false, metrics_cache_fields, PART(cache, struct cache_result) },
	{ "dataset", "dataset", false, metrics_dataset_fields, PART(dataset, struct metrics_dataset) },
	{ "prepare", "prepare", false, metrics_prepare_fields, PART(prepare, struct prepare_result) },
	{ "plan", "plan", false, metrics_plan_fields, PART(plan, struct plan_report) },
	{ NULL, NULL, true, metrics_top_fields, PART(top, struct metrics_top) },
	{ "series", "series", true, metrics_series_fields, PART(series, struct series_result) },
	{ "trace", "trace", true, metrics_trace_fields, PART(trace, struct trace_result) },
	{ "find_max", "find_max", true, metrics_find_max_fields, PART(find_max, struct metrics_find_max) },
	{ "merged", "merged", true, metrics_merged_fields, PART(merged, struct metrics_merged) },
	{ "score", "score", true, score_fields, PART(score, struct scored) },
};
/* clang-format on */

const char *record_root_path(const struct record_root *root, const char *key)
{
	size_t len = root->name ? strlen(root->name) : 0;

	if (!root->name)
		return key;
	return strncmp(key, root->name, len) == 0 && key[len] == '.' ? key + len + 1 : NULL;
}

const void *record_base(const struct record *r, const struct record_root *root)
{
	const void *base;

	memcpy(&base, (const char *)r + root->off, sizeof(base));
	return base;
}

void record_of_run(struct record *r, struct metrics_job *m, const struct run_result *run,
		   size_t job)
{
	const struct job_result *of = &run->jobs[job];
	bool is_plain = of->work && of->work->is_plain;

	metrics_job_init(m, of, NULL);
	metrics_job_share(m, run);
	*r = (struct record){
		.job = m,
		.ml = job_result_ran(of) && !is_plain ? of : NULL,
		.io = is_plain ? of : NULL,
		.cache = of->ml.cache.policy ? &of->ml.cache : NULL,
		.result = of,
	};
}

bool record_has(const struct record *r, const struct field_path *path, const void *base)
{
	if (r->store)
		return !json_store_lacks(r->store, path->row, base);
	const struct page *page = r->result->work ? page_of(r->result) : NULL;

	return !page || path->table != page->fields || !page->has_row ||
	       page->has_row(r->result, path->row->name);
}

/* What was measured of it; NULL = nothing. */
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
	const struct metric_list *all = r->job ? &r->job->options_resolved : NULL;
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

/* Is it an option of one before that one, too? */
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
		const struct metric_list *all = &of[at->record]->job->options_resolved;
		const struct metric_pair *pairs = all->items;

		while (at->option < all->count) {
			const char *name = pairs[at->option++].key;

			if (!is_known(of, at->record, name))
				return name;
		}
	}
	return NULL;
}
