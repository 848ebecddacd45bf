/* SPDX-License-Identifier: Apache-2.0 */
/* report_files.c - --report, --page and --html: reports and pages of documents. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "base/log.h"
#include "report/document/document.h"
#include "report/html/html.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* ---- report of merged runs ---- */

/* If runs overlap by less than this percentage, the sum of their rates exceeds any rate that the
 * storage reached. */
#define OVERLAP_PERCENT 90.0
/* Start and end are known only to the second, so the overlap of shorter runs is meaningless. */
#define LONG_MS 20000

/* Append "4 hosts, 32 x h100". */
static void append_participants(struct buf *out, const struct merge *m, const struct job_result *r)
{
	char who[SHOW_ACCELERATORS_BYTES], n[UNITS_TEXT_BYTES];

	if (m->of.count == 1)
		return;
	if (m->of.hosts > 1)
		buf_addf(out, "%" PRIu64 " hosts", m->of.hosts);
	if (m->of.count > m->of.hosts)
		buf_addf(out, "%s%zu %s", out->len ? ", " : "", m->of.count,
			 m->is_one_job ? "processes" : "runs");
	const char *comma = out->len ? ", " : "";
	if (job_result_has_accelerators(r))
		buf_addf(out, "%s%s", comma,
			 show_accelerators(who, r->ml.accelerators, r->ml.accelerator));
	else if (r->work && r->work->is_plain && r->io.numjobs > 1)
		buf_addf(out, "%s%s workers", comma, units_human_count(n, r->io.numjobs));
}

/* ---- method of merging ---- */

static bool runs_are_long(const struct merge *m)
{
	for (size_t i = 0; i < m->of.count; i++)
		if (m->of.runs[i].end_ms - m->of.runs[i].timestamp_ms < LONG_MS)
			return false;
	return true;
}

/* Append the range of each figure over the runs, if its ends differ when printed. */
static void append_spread(struct buf *out, const struct merge_job *j)
{
	const struct merge_spread *au = &j->au_percent;
	const struct merge_spread *rate = &j->bytes_per_sec;
	const struct merge_spread *wait = &j->host_barrier;
	struct rate_unit unit = show_rate_unit(rate->most);
	char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];

	if (au->most - au->least >= 0.1)
		buf_addf(out, "AU %.1f%% (%s) to %.1f%% (%s)", au->least, au->least_of->file,
			 au->most, au->most_of->file);
	if (wait->most - wait->least >= 0.1)
		buf_addf(out, "%shost barrier %.1f%% (%s) to %.1f%% (%s)", out->len ? "; " : "",
			 wait->least, wait->least_of->file, wait->most, wait->most_of->file);
	if (isnan(rate->most))
		return;
	show_rate(least, &unit, rate->least);
	show_rate(most, &unit, rate->most);
	if (strcmp(least, most) != 0)
		buf_addf(out, "%s%s (%s) to %s (%s)", out->len ? "; " : "", least,
			 rate->least_of->file, most, rate->most_of->file);
}

/* A longer table would fill a page; JSON has all runs. */
#define SHOWN_RUNS 16

static void append_number(struct buf *out, int width, int decimals, double v, const char *sign)
{
	if (isnan(v))
		buf_addf(out, "%*s", width, "-");
	else
		buf_addf(out, "%*.*f%s", width - (int)strlen(sign), decimals, v, sign);
}

/* Append a row for each process of the job. */
static void append_runs(struct buf *out, const struct merge *m, size_t job)
{
	double most = m->jobs[job].bytes_per_sec.most;
	struct rate_unit unit = show_rate_unit(most);
	int decimals = isnan(most) ? 0 : show_rate_decimals(&unit, most / unit.bytes);

	buf_addf(out, "%-18s%7s%10s%15s%14s%7s\n", "host", "AU", unit.name, "stall p99, ms",
		 "host barrier", "CPU");
	for (size_t i = 0; i < m->of.count; i++) {
		const struct metrics_merged_job *j = &m->of.runs[i].jobs[job];

		buf_addf(out, "%-18.18s", m->of.runs[i].file);
		append_number(out, 7, 1, j->au_percent, "%");
		append_number(out, 10, decimals, j->bytes_per_sec / unit.bytes, "");
		append_number(out, 15, 3, j->stall_p99_ns / 1e6, "");
		append_number(out, 14, 1, j->host_barrier_percent, "%");
		append_number(out, 7, 1, j->cpu_percent, "%");
		buf_add(out, j->is_slowest ? "  slowest\n" : "\n");
	}
}

static void print_merged(FILE *to, const struct merge *m, size_t job)
{
	const struct merge_job *j = &m->jobs[job];
	struct buf out = { 0 }, text = { 0 };

	if (m->of.count == 1)
		return;

	char hosts[UNITS_TEXT_BYTES];
	const char *s = m->of.hosts == 1 ? "" : "s";
	/* A job that did not run has no rates. */
	const char *sums =
		m->run->jobs[job].work ? m->run->jobs[job].work->asked->side_by_side : NULL;
	const char *colon = sums ? ": " : "";

	if (!sums)
		sums = "";
	units_human_count(hosts, m->of.hosts);
	if (m->of.turns > 1)
		buf_addf(&text, "%zu runs on %s host%s, ", m->of.count, hosts, s);
	else if (m->is_one_job)
		buf_addf(&text, "%zu processes on %s host%s, one job", m->of.count, hosts, s);
	else
		buf_addf(&text, "%zu runs on %s host%s, side by side", m->of.count, hosts, s);
	if (m->of.turns == 1)
		buf_addf(&text, "%s%s", colon, sums);
	else if (m->of.turns == m->of.count)
		buf_add(&text, "one after the other: rates are their mean, weighted by time");
	else
		buf_addf(&text,
			 "in %" PRIu64 " turns, side by side in each%s%s; figures are the mean of "
			 "the turns",
			 m->of.turns, colon, sums);
	if (job_result_has_accelerators(&m->run->jobs[job]))
		buf_add(&text, ", AU is the mean of the accelerators");

	if (m->of.overlap_percent < OVERLAP_PERCENT && runs_are_long(m))
		buf_addf(&text,
			 "; all of them ran together for only %.0f%% of the time, "
			 "so storage did not have to sustain that sum",
			 m->of.overlap_percent);
	text_append(&out, m->is_one_job ? "hosts" : "merged", TEXT_EVIDENCE_INDENT, buf_str(&text));
	buf_reset(&text);
	append_spread(&text, j);
	if (text.len)
		text_append(&out, "least to most", TEXT_EVIDENCE_INDENT, buf_str(&text));
	if (m->is_one_job && m->of.count <= SHOWN_RUNS) {
		buf_addc(&out, '\n');
		append_runs(&out, m, job);
	}
	text_print(to, &out);
	buf_fini(&text);
	buf_fini(&out);
}

/* ---- report ---- */

static void print_block(FILE *to, const struct merge *m, size_t first, size_t n, enum detail detail)
{
	struct run_result part = *m->run;
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	part.jobs = &m->run->jobs[first];
	part.job_count = n;
	/* Trace and disks are printed once, after the last job. */
	if (first + n < m->run->job_count) {
		part.trace.file = NULL;
		part.disk_count = 0;
	}
	part.is_host_printed = first > 0;
	text_report(memory, &part, detail);
	fclose(memory);
	size_t len = strcspn(text, "\n");

	/* Print the participants at the end of the first line or, if the line is full and not the
	 * only one, below it. */
	struct buf who = { 0 };
	append_participants(&who, m, part.jobs);
	fwrite(text, 1, len, to);
	if (who.len && (detail == DETAIL_FIRST || len + 6 + who.len <= wrap_columns()))
		fprintf(to, "      %s\n", buf_str(&who));
	else if (who.len)
		fprintf(to, "\n  %s\n", buf_str(&who));
	else
		fputc('\n', to);
	buf_fini(&who);

	if (text[len])
		fputs(text + len + 1, to);
	if (detail > DETAIL_BRIEF)
		print_merged(to, m, first);
	free(text);
}

void merge_print(FILE *to, const struct merge *m, enum detail detail)
{
	const struct run_result *run = m->run;
	size_t n;

	for (size_t i = 0; i < run->job_count; i += n) {
		/* The records of a plain job without group_reporting are reported together. */
		n = 1;
		while (i + n < run->job_count && run->jobs[i].work &&
		       page_of(&run->jobs[i])->has_records &&
		       run->jobs[i + n].job == run->jobs[i].job)
			n++;
		if (i > 0 && detail > DETAIL_FIRST)
			fputc('\n', to);
		print_block(to, m, i, n, detail);
	}
}

int merge_print_json(FILE *to, const struct merge *m, const struct jobset *set)
{
	const struct json_extra extra = { "merged", metrics_merged_fields, &m->of };

	return m->of.count > 1 ? json_report_with(to, m->run, set, &extra)
			       : json_report(to, m->run, set, NULL);
}

/* ---- page of --html and --page ---- */

static int open_document(struct results_file *f, const char *path, struct mlgen_err *err)
{
	/* A file is read twice: for the answer and for the page. */
	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "html: a page is made from files, not from standard input");
	return results_open_any(f, path, err);
}

int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err)
{
	struct html h;

	html_init(&h, q ? q->option : "run");
	html_set_title(&h, a->set->settings.title, a->set->settings.note);
	int rc = html_set_answer(&h, answer, bytes, err);
	for (size_t i = 0; rc == 0 && q && q->shows_documents && i < a->set->file_count; i++) {
		struct results_file f;

		rc = open_document(&f, a->set->files[i], err);
		if (rc < 0)
			break;
		html_add_document(&h, f.name, f.root);
		results_close(&f);
	}
	if (rc == 0 && html_write(&h, to) < 0)
		rc = mlgen_fail(err, -EIO, "html=%s: %s", a->set->settings.html, strerror(EIO));
	html_fini(&h);
	return rc;
}

/* Check that the documents can be read; the caller writes the page afterwards. */
int ask_page(const struct ask *a)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (!a->set->settings.html)
		rc = mlgen_fail(&err, -EINVAL, "page: add --html=FILE, the file to write");
	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++) {
		struct results_file f;

		rc = open_document(&f, a->set->files[i], &err);
		if (rc == 0)
			results_close(&f);
	}
	if (rc < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	fprintf(a->to, "%s: a page of %zu document%s\n", a->set->settings.html, a->set->file_count,
		a->set->file_count == 1 ? "" : "s");
	return EXIT_RAN;
}

/* ---- report of a document ---- */

/* Columns for spreadsheets, in one row per job. Missing figures are empty. */
#define CSV_KEYS                                                                                   \
	"file,jobname,phase,accelerators,numjobs,elapsed,au_percent,"                              \
	"samples_per_sec,sample_bytes_per_sec,stall_ns.p99,read.iops,"                             \
	"read.bw_bytes,read.clat_ns.p99,write.iops,write.bw_bytes,"                                \
	"write.clat_ns.p99,saves.bytes_per_sec,restores.bytes_per_sec,"                            \
	"storage.memory_percent,errors,verdict.name"

static bool prints_json(const struct settings *set)
{
	return set->output_format == OUTPUT_JSON || set->output_format == OUTPUT_FIO_JSON;
}

static int read_document(struct results_file *f, const struct ask *a, const char *path,
			 struct mlgen_err *err)
{
	int rc = results_open(f, path, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < f->count; i++)
		if (f->records[i].plan)
			return mlgen_fail(err, -EINVAL,
					  "%s: is from a dry run: nothing was measured", path);
	rc = result_read(f, a->env, err);
	if (rc < 0)
		return rc;
	result_retitle(&f->run, &a->set->settings);
	verdict_fill(&f->run);
	return 0;
}

/* ---- output ---- */

/* Print a document, with its name above it if there are several. Returns the exit status. */
static int print_one(const struct ask *a, size_t file, struct results_file *f)
{
	const struct settings *set = &a->set->settings;
	const struct jobset jobs = { .settings.output_format = set->output_format,
				     .jobs = f->jobs.at,
				     .count = f->jobs.count };
	const struct record *first = &f->records[0];
	struct json_extra extra = { 0 };
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (first->merged)
		extra = (struct json_extra){ "merged", metrics_merged_fields, first->merged };
	else if (first->find_max)
		extra = (struct json_extra){ "find_max", metrics_find_max_fields, first->find_max };

	if (!prints_json(set) && a->set->file_count > 1 && !set->quiet)
		fprintf(a->to, "%s== %s\n", file ? "\n" : "", a->set->files[file]);
	if (prints_json(set)) {
		rc = extra.key ? json_report_with(a->to, &f->run, &jobs, &extra)
			       : json_report(a->to, &f->run, &jobs, NULL);
	} else if (first->merged) {
		struct merge m;

		merge_of_document(&m, f);
		merge_print(a->to, &m, detail_of(set));
		merge_fini(&m);
	} else {
		text_report(a->to, &f->run, detail_of(set));
	}
	if (rc < 0)
		return EXIT_FAILED;
	bool is_missed = set->require && require_check(set->require, &f->run, &err) != 0;
	if (f->run.err.code || failed_in_any(&f->run))
		return EXIT_FAILED;
	return is_missed ? EXIT_MISSED : EXIT_RAN;
}

int ask_report(const struct ask *a)
{
	const struct settings *set = &a->set->settings;
	struct mlgen_err err = { 0 };
	int status = EXIT_RAN, rc = 0;

	if (set->output_format == OUTPUT_DLIO)
		rc = mlgen_fail(&err, -EINVAL,
				"output-format: a document lacks figures that dlio needs; "
				"only a run prints dlio; use text, csv, json or fio-json");
	else if (prints_json(set) && a->set->file_count > 1)
		rc = mlgen_fail(&err, -EINVAL,
				"output-format: only one document at a time is printed as "
				"JSON; --merge combines several");
	else if (set->require)
		rc = require_check(set->require, NULL, &err);
	if (rc < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (set->output_format == OUTPUT_CSV)
		return table_files(a, CSV_KEYS);

	for (size_t i = 0; i < a->set->file_count; i++) {
		struct mlgen_err why = { 0 };
		struct results_file f;
		int one = EXIT_USAGE;

		if (read_document(&f, a, a->set->files[i], &why) < 0)
			log_error("%s", why.text);
		else
			one = print_one(a, i, &f);
		results_close(&f);
		if (one == EXIT_USAGE)
			return one;
		if (status == EXIT_RAN)
			status = one;
	}
	return status;
}
