/* SPDX-License-Identifier: Apache-2.0 */
/* merge_look.c - may these documents become one report, and which ran side by side? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/comparison.h"
#include "ask/merge_files.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

/* Where clients of one workload may differ: places, seeds, shares of it. */
static const char *const free_options[] = {
	"directory",      "checkpoint_directory",
	"filename",       "randseed",
	"accelerators",   "checkpoint_ranks",
	"cpus_allowed",   "numa",
	"numa_cpu_nodes", "startdelay",
	"guess",          "percentile_list",
	"kb_base",
};

/* ---- alike? ---- */

static bool is_free(const char *option)
{
	for (size_t i = 0; i < sizeof(free_options) / sizeof(*free_options);
	     i++)
		if (strcmp(free_options[i], option) == 0)
			return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* "batch_size (7, 8), epochs (5, 1)", the first of them. */
static void list_differences(struct buf *out, json_t *a, json_t *b)
{
	json_t *const both[] = { a, b };
	json_t *all = results_options_of(both, 2), *unused;
	const char *option;
	json_object_foreach(all, option, unused)
	{
		const char *x = results_option(a, option);
		const char *y = results_option(b, option);
		if (is_free(option) || same_text(x, y))
			continue;
		if (out->len > 300) {
			buf_add(out, ", ...");
			break;
		}
		buf_addf(out, "%s%s (%s, %s)", out->len ? ", " : "", option,
			 x ? x : "-", y ? y : "-");
	}
	json_decref(all);
}

static int check_job(const struct results_file *first,
		     const struct results_file *doc, size_t i,
		     struct mlgen_err *err)
{
	json_t *a = results_job(first, i), *b = results_job(doc, i);
	struct buf differences = { 0 };
	int rc = 0;
	if (results_is_plan(b))
		return mlgen_fail(err, -EINVAL,
				  "%s: is a dry run's: nothing was measured",
				  doc->path);
	if (!same_text(results_job_name(a), results_job_name(b)))
		return mlgen_fail(err, -EINVAL,
				  "%s: has job '%s' where %s has '%s'; only "
				  "runs of the same jobs can be merged",
				  doc->path, results_job_name(b), first->path,
				  results_job_name(a));
	list_differences(&differences, a, b);
	if (differences.len)
		rc = mlgen_fail(err, -EINVAL,
				"%s: job '%s' is another workload than that "
				"of %s: %s; --compare puts them side by side",
				doc->path, results_job_name(b), first->path,
				buf_str(&differences));
	else if (comparison_kind(a) != comparison_kind(b))
		rc = mlgen_fail(err, -EINVAL,
				"%s: job '%s' did not run as far as in %s",
				doc->path, results_job_name(b), first->path);
	buf_fini(&differences);
	return rc;
}

static int check_document(const struct results_file *first,
			  const struct results_file *doc, struct mlgen_err *err)
{
	size_t n = json_array_size(doc->jobs);
	if (json_object_get(doc->root, "merged"))
		return mlgen_fail(err, -EINVAL,
				  "%s: is merged already; name the documents "
				  "that it was made from",
				  doc->path);
	if (n != json_array_size(first->jobs))
		return mlgen_fail(err, -EINVAL,
				  "%s: number of job records: %zu, in %s: "
				  "%zu; only runs of the same jobs can be "
				  "merged",
				  doc->path, n, first->path,
				  json_array_size(first->jobs));
	for (size_t i = 0; i < n; i++)
		if (check_job(first, doc, i, err) < 0)
			return -EINVAL;
	if (!same_text(first->version, doc->version))
		log_note("%s is of mlgen %s, %s of %s", doc->path, doc->version,
			 first->path, first->version);
	return 0;
}

/* ---- when? ---- */

static double number_at(json_t *o, const char *key)
{
	json_t *value = json_object_get(o, key);
	return json_is_number(value) ? json_number_value(value) : 0;
}

/* Groups of jobs follow each other. `elapsed` was rounded up. */
static double group_ms(const struct results_file *doc, double group)
{
	double longest = 0;
	for (size_t i = 0; i < json_array_size(doc->jobs); i++) {
		json_t *job = results_job(doc, i);
		double elapsed = (number_at(job, "elapsed") - 1) * 1e3;
		double other = number_at(job, "groupid");
		if (other < group || other > group)
			continue;
		longest = fmax(longest, elapsed);
		longest = fmax(longest, number_at(job, "job_runtime"));
	}
	return longest;
}

static uint64_t least_ms(const struct results_file *doc)
{
	double all = 0, last = -1;
	for (size_t i = 0; i < json_array_size(doc->jobs); i++) {
		double group = number_at(results_job(doc, i), "groupid");
		if (group > last)
			all += group_ms(doc, group);
		last = fmax(last, group);
	}
	return all < 1e15 ? (uint64_t)all : 0;
}

static int look_at(struct merge *m, size_t i, struct results_file *first,
		   struct mlgen_err *err)
{
	struct results_file own = { 0 };
	struct results_file *doc = i ? &own : first;
	struct merge_run *run = &m->runs[i];
	int rc = results_open(doc, m->ask->set->files[i], err);
	if (rc < 0)
		return rc;
	rc = check_document(first, doc, err);
	if (rc == 0)
		results_note_incomplete(doc);
	*run = (struct merge_run){
		.path = doc->path,
		.name = mem_strdup(doc->name),
		.hostname = mem_strdup(doc->hostname),
		.start_ms = doc->timestamp_ms,
		.end_ms = doc->timestamp_ms + least_ms(doc),
		.fingerprint = results_fingerprint(doc),
	};
	m->count++;
	if (i)
		results_close(doc);
	return rc;
}

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_host(const void *a, const void *b)
{
	const struct merge_run *x = a, *y = b;
	int order = strcmp(x->hostname, y->hostname);
	if (!order)
		order = order_of(x->start_ms, y->start_ms);
	return order ? order : order_of(x->fingerprint, y->fingerprint);
}

static int by_start(const void *a, const void *b)
{
	const struct merge_run *x = a, *y = b;
	int order = order_of(x->start_ms, y->start_ms);
	return order ? order : by_host(a, b);
}

static int check_doubles(struct merge *m, struct mlgen_err *err)
{
	qsort(m->runs, m->count, sizeof(*m->runs), by_host);
	for (size_t i = 1; i < m->count; i++)
		if (by_host(&m->runs[i - 1], &m->runs[i]) == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: is the same run as %s, to the "
					  "last figure; each counts once",
					  m->runs[i].path, m->runs[i - 1].path);
	m->hosts = 1;
	for (size_t i = 1; i < m->count; i++)
		m->hosts += strcmp(m->runs[i - 1].hostname,
				   m->runs[i].hostname) != 0;
	return 0;
}

/* ---- side by side? ---- */

static double overlap(uint64_t first_start, uint64_t last_start,
		      uint64_t first_end, uint64_t last_end)
{
	double all = (double)(last_end - first_start);
	double together = (double)first_end - (double)last_start;
	return all > 0 ? fmax(together, 0) / all * 100 : (double)NAN;
}

/* A run that begins while all those of a turn go on is one of them. */
static void find_turns(struct merge *m)
{
	uint64_t start = 0, first_end = 0, last_end = 0;
	m->overlap_percent = (double)NAN;
	for (size_t i = 0; i < m->count; i++) {
		struct merge_run *run = &m->runs[i];
		if (i == 0 || run->start_ms >= first_end) {
			m->turns++;
			start = run->start_ms;
			first_end = last_end = run->end_ms;
		} else {
			if (run->end_ms < first_end)
				first_end = run->end_ms;
			if (run->end_ms > last_end)
				last_end = run->end_ms;
			m->overlap_percent = fmin(m->overlap_percent,
						  overlap(start, run->start_ms,
							  first_end, last_end));
		}
		run->turn = m->turns;
	}
}

/* Else their rates have no mean: a client came late, or is missing. */
static int check_turns(const struct merge *m, struct mlgen_err *err)
{
	size_t first = 0, n = 0;
	for (size_t i = 0; i < m->count; i++)
		first += m->runs[i].turn == 1;
	for (size_t i = 0; i < m->count; i += n) {
		const struct merge_run *run = &m->runs[i];
		for (n = 0; i + n < m->count; n++)
			if (m->runs[i + n].turn != run->turn)
				break;
		if (n != first)
			return mlgen_fail(
				err, -EINVAL,
				"%s: %zu run%s together from here on, %zu from "
				"%s on: neither clients of one run nor "
				"repetitions; merge those that ran side by "
				"side (clocks of the hosts must agree), or as "
				"many each time",
				run->path, n, n == 1 ? "" : "s", first,
				m->runs[0].path);
	}
	return 0;
}

int merge_look(struct merge *m, struct mlgen_err *err)
{
	struct results_file first = { 0 };
	size_t n = m->ask->set->file_count;
	int rc = 0;
	m->runs = mem_array(n, sizeof(*m->runs));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = look_at(m, i, &first, err);
	results_close(&first);
	if (rc == 0)
		rc = check_doubles(m, err);
	if (rc < 0)
		return rc;
	qsort(m->runs, m->count, sizeof(*m->runs), by_start);
	find_turns(m);
	return check_turns(m, err);
}
