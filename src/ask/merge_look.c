/* SPDX-License-Identifier: Apache-2.0 */
/* merge_look.c - may these documents become one report, and which ran side by side? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/merge_files.h"
#include "base/buf.h"
#include "base/compare.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"

/* Where clients of one workload may differ: places, seeds, shares of it. */
static const char *const free_options[] = {
	"directory",      "checkpoint_directory", "filename",     "randseed",
	"accelerators",   "checkpoint_ranks",     "cpus_allowed", "numa",
	"numa_cpu_nodes", "startdelay",           "guess",        "percentile_list",
	"kb_base",        "write_iolog",
};

/* ---- alike? ---- */

static bool is_free(const char *option)
{
	for (size_t i = 0; i < ARRAY_LEN(free_options); i++)
		if (strcmp(free_options[i], option) == 0)
			return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* "batch_size (7, 8), epochs (5, 1)", the first of them. */
static void list_differences(struct buf *out, const struct record *a, const struct record *b)
{
	const struct record *const both[] = { a, b };
	struct record_options at = { 0 };
	const char *option;

	while ((option = record_next_option(&at, both, 2))) {
		const char *x = record_option(a, option);
		const char *y = record_option(b, option);

		if (same_text(x, y) || is_free(option))
			continue;
		if (out->len > 300) {
			buf_add(out, ", ...");
			break;
		}
		buf_addf(out, "%s%s (%s, %s)", out->len ? ", " : "", option, x ? x : "-",
			 y ? y : "-");
	}
}

static int check_job(const struct results_file *first, const struct results_file *doc, size_t i,
		     struct mlgen_err *err)
{
	const struct record *a = &first->records[i], *b = &doc->records[i];
	const char *name = a->job->jobname, *other = b->job->jobname;
	struct buf differences = { 0 };
	int rc = 0;

	if (b->plan)
		return mlgen_fail(err, -EINVAL, "%s: is a dry run's: nothing was measured",
				  doc->path);
	if (!same_text(name, other))
		return mlgen_fail(err, -EINVAL,
				  "%s: has job '%s' where %s has '%s'; only runs of the same jobs "
				  "can be merged",
				  doc->path, other, first->path, name);
	list_differences(&differences, a, b);
	if (differences.len)
		rc = mlgen_fail(err, -EINVAL,
				"%s: job '%s' is another workload than that of %s: %s; --compare "
				"puts them side by side",
				doc->path, other, first->path, buf_str(&differences));
	else if (record_kind(a) != record_kind(b))
		rc = mlgen_fail(err, -EINVAL, "%s: job '%s' did not run as far as in %s", doc->path,
				other, first->path);
	buf_fini(&differences);
	return rc;
}

static int check_document(const struct results_file *first, const struct results_file *doc,
			  struct mlgen_err *err)
{
	size_t n = doc->count;

	if (doc->records[0].merged)
		return mlgen_fail(err, -EINVAL,
				  "%s: is merged already; name the documents that it was made from",
				  doc->path);
	if (n != first->count)
		return mlgen_fail(err, -EINVAL,
				  "%s: number of job records: %zu, in %s: %zu; only runs of the "
				  "same jobs can be merged",
				  doc->path, n, first->path, first->count);
	for (size_t i = 0; i < n; i++)
		if (check_job(first, doc, i, err) < 0)
			return -EINVAL;
	const char *version = first->records[0].top->version;
	const char *other = doc->records[0].top->version;
	if (!same_text(version, other))
		log_note("%s is of mlgen %s, %s of %s", doc->path, other, first->path, version);
	return 0;
}

/* ---- when? ---- */

/* Groups of jobs follow each other. `elapsed`, all that older documents have, was rounded up. */
static double group_ms(const struct results_file *doc, uint64_t group)
{
	double longest = 0;

	for (size_t i = 0; i < doc->count; i++) {
		const struct metrics_job *job = doc->records[i].job;

		if (job->groupid != group)
			continue;
		longest =
			fmax(longest, job->elapsed_seconds > 0 ? job->elapsed_seconds * 1e3
							       : ((double)job->elapsed - 1) * 1e3);
		longest = fmax(longest, (double)job->job_runtime_ms);
	}
	return longest;
}

static uint64_t least_ms(const struct results_file *doc)
{
	double all = 0;
	uint64_t next = 0; /* groups before it are in */

	for (size_t i = 0; i < doc->count; i++) {
		uint64_t group = doc->records[i].job->groupid;

		if (group < next)
			continue;
		all += group_ms(doc, group);
		next = group + 1;
	}
	return all < 1e15 ? (uint64_t)all : 0;
}

static int merge_look_at(struct merge *m, size_t i, struct results_file *first,
			 struct mlgen_err *err)
{
	struct results_file own = { 0 };
	struct results_file *doc = i ? &own : first;
	struct merge_run *run = &m->runs[i];
	int rc = results_open(doc, m->ask->set->files[i], err);

	if (rc < 0)
		return rc;
	const struct metrics_top *top = doc->records[0].top;
	const char *host = top->machine.hostname;
	rc = check_document(first, doc, err);
	if (rc == 0)
		results_note_incomplete(doc);
	*run = (struct merge_run){
		.path = doc->path,
		.name = mem_strdup(doc->name),
		.hostname = mem_strdup(host ? host : "unknown"),
		.start_ms = top->timestamp_ms,
		.end_ms = top->timestamp_ms + least_ms(doc),
		.fingerprint = results_fingerprint(doc),
		.rank = UINT64_MAX,
		.clock_offset_ns = (double)NAN,
		.clock_unsure_ns = (double)NAN,
	};
	m->count++;
	if (i)
		results_close(doc);
	return rc;
}

static int by_host(const void *a, const void *b)
{
	const struct merge_run *x = a, *y = b;
	int order = strcmp(x->hostname, y->hostname);

	if (!order)
		order = COMPARE(x->start_ms, y->start_ms);
	return order ? order : COMPARE(x->fingerprint, y->fingerprint);
}

static int by_start(const void *a, const void *b)
{
	const struct merge_run *x = a, *y = b;
	int order = COMPARE(x->start_ms, y->start_ms);

	return order ? order : by_host(a, b);
}

static int check_doubles(struct merge *m, struct mlgen_err *err)
{
	qsort(m->runs, m->count, sizeof(*m->runs), by_host);
	for (size_t i = 1; i < m->count; i++)
		if (by_host(&m->runs[i - 1], &m->runs[i]) == 0)
			return mlgen_fail(
				err, -EINVAL,
				"%s: is the same run as %s, to the last figure; each counts once",
				m->runs[i].path, m->runs[i - 1].path);
	m->hosts = 1;
	for (size_t i = 1; i < m->count; i++)
		m->hosts += strcmp(m->runs[i - 1].hostname, m->runs[i].hostname) != 0;
	return 0;
}

/* ---- side by side? ---- */

static double overlap(uint64_t first_start, uint64_t last_start, uint64_t first_end,
		      uint64_t last_end)
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
			m->overlap_percent = fmin(m->overlap_percent, overlap(start, run->start_ms,
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
				"%s: %zu run%s together from here on, %zu from %s on: neither "
				"clients of one run nor repetitions; merge those that ran side by "
				"side (clocks of the hosts must agree), or as many each time",
				run->path, n, n == 1 ? "" : "s", first, m->runs[0].path);
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
		rc = merge_look_at(m, i, &first, err);
	results_close(&first);
	if (rc == 0)
		rc = check_doubles(m, err);
	if (rc < 0)
		return rc;
	qsort(m->runs, m->count, sizeof(*m->runs), by_start);
	find_turns(m);
	return check_turns(m, err);
}
