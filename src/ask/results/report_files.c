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

/* If runs overlap by less than this part, the sum of their rates exceeds what storage delivered at
 * any time. */
#define OVERLAP_PERCENT 90.0
/* Starts and ends are known to a second, so the overlap of shorter runs is meaningless. */
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

/* Append the participants to the first line or, if the line is full and not the only one, print
 * them below. */
static void print_answer(FILE *to, const char *text, size_t len, const struct merge *m,
			 const struct job_result *r, enum detail detail)
{
	struct buf who = { 0 };

	append_participants(&who, m, r);
	fwrite(text, 1, len, to);
	if (who.len && (detail == DETAIL_FIRST || len + 6 + who.len <= wrap_columns()))
		fprintf(to, "      %s\n", buf_str(&who));
	else if (who.len)
		fprintf(to, "\n  %s\n", buf_str(&who));
	else
		fputc('\n', to);
	buf_fini(&who);
}

/* ---- method of merging ---- */

static void append_method(struct buf *out, const struct merge *m, const struct job_result *r)
{
	char hosts[UNITS_TEXT_BYTES];
	const char *s = m->of.hosts == 1 ? "" : "s";
	/* A job that did not run has no rates. */
	const char *sums = r->work ? r->work->asked->side_by_side : NULL;
	const char *colon = sums ? ": " : "";

	if (!sums)
		sums = "";
	units_human_count(hosts, m->of.hosts);
	if (m->of.turns > 1)
		buf_addf(out, "%zu runs on %s host%s, ", m->of.count, hosts, s);
	else if (m->is_one_job)
		buf_addf(out, "%zu processes on %s host%s, one job", m->of.count, hosts, s);
	else
		buf_addf(out, "%zu runs on %s host%s, side by side", m->of.count, hosts, s);
	if (m->of.turns == 1)
		buf_addf(out, "%s%s", colon, sums);
	else if (m->of.turns == m->of.count)
		buf_add(out, "one after the other: rates are their mean, weighted by time");
	else
		buf_addf(out,
			 "in %" PRIu64 " turns, side by side in each%s%s; figures are the mean of "
			 "the turns",
			 m->of.turns, colon, sums);
	if (job_result_has_accelerators(r))
		buf_add(out, ", AU is the mean of the accelerators");
}

static bool runs_are_long(const struct merge *m)
{
	for (size_t i = 0; i < m->of.count; i++)
		if (m->of.runs[i].end_ms - m->of.runs[i].timestamp_ms < LONG_MS)
			return false;
	return true;
}

/* Only values that differ when printed are appended. */
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
	append_method(&text, m, &m->run->jobs[job]);
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

/* Number of records that are reported together: those of a plain job without group_reporting. */
static size_t count_records(const struct run_result *run, size_t first)
{
	size_t n = 1;

	while (first + n < run->job_count && run->jobs[first].work &&
	       page_of(&run->jobs[first])->has_records &&
	       run->jobs[first + n].job == run->jobs[first].job)
		n++;
	return n;
}

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
	print_answer(to, text, len, m, part.jobs, detail);
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
		n = count_records(run, i);
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

static int add_documents(struct html *h, const struct ask *a, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++) {
		struct results_file f;

		rc = open_document(&f, a->set->files[i], err);
		if (rc < 0)
			return rc;
		html_add_document(h, f.name, f.root);
		results_close(&f);
	}
	return rc;
}

int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err)
{
	struct html h;
	int rc;

	html_init(&h, q ? q->option : "run");
	html_set_title(&h, a->set->settings.title, a->set->settings.note);
	rc = html_set_answer(&h, answer, bytes, err);
	if (rc == 0 && q && q->shows_documents)
		rc = add_documents(&h, a, err);
	if (rc == 0 && html_write(&h, to) < 0)
		rc = mlgen_fail(err, -EIO, "html=%s: %s", a->set->settings.html, strerror(EIO));
	html_fini(&h);
	return rc;
}

/* Checks that the documents can be read; the page itself is written afterwards. */
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

/* A document, with its find_max or merged object. */
struct reported {
	struct results_file doc;
	struct json_extra extra; /* key NULL = the document has no such object */
};

static bool prints_json(const struct settings *set)
{
	return set->output_format == OUTPUT_JSON || set->output_format == OUTPUT_FIO_JSON;
}

static int check_request(const struct ask *a, struct mlgen_err *err)
{
	const struct settings *set = &a->set->settings;

	if (set->output_format == OUTPUT_DLIO)
		return mlgen_fail(err, -EINVAL,
				  "output-format: a document lacks figures that dlio needs; "
				  "only a run prints dlio; use text, csv, json or fio-json");
	if (prints_json(set) && a->set->file_count > 1)
		return mlgen_fail(err, -EINVAL,
				  "output-format: only one document at a time is printed as "
				  "JSON; --merge combines several");
	return set->require ? require_check(set->require, NULL, err) : 0;
}

static int read_document(struct reported *r, const struct ask *a, const char *path,
			 struct mlgen_err *err)
{
	struct results_file *f = &r->doc;
	int rc;

	*r = (struct reported){ 0 };
	rc = results_open(f, path, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < f->count; i++)
		if (f->records[i].plan)
			return mlgen_fail(err, -EINVAL,
					  "%s: is from a dry run: nothing was measured", path);
	const struct record *first = &f->records[0];
	if (first->merged)
		r->extra = (struct json_extra){ "merged", metrics_merged_fields, first->merged };
	else if (first->find_max)
		r->extra =
			(struct json_extra){ "find_max", metrics_find_max_fields, first->find_max };
	rc = result_read(f, a->env, err);
	if (rc < 0)
		return rc;
	result_retitle(&f->run, &a->set->settings);
	verdict_fill(&f->run);
	return 0;
}

/* ---- output ---- */

/* Print a document, with its name above it if there are several. Returns the exit status. */
static int print_one(const struct ask *a, size_t file, struct reported *r)
{
	const struct settings *set = &a->set->settings;
	const struct jobset jobs = { .settings.output_format = set->output_format,
				     .jobs = r->doc.jobs.at,
				     .count = r->doc.jobs.count };
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (!prints_json(set) && a->set->file_count > 1 && !set->quiet)
		fprintf(a->to, "%s== %s\n", file ? "\n" : "", a->set->files[file]);
	if (prints_json(set)) {
		rc = r->extra.key ? json_report_with(a->to, &r->doc.run, &jobs, &r->extra)
				  : json_report(a->to, &r->doc.run, &jobs, NULL);
	} else if (r->doc.records[0].merged) {
		struct merge m;

		merge_of_document(&m, &r->doc);
		merge_print(a->to, &m, detail_of(set));
		merge_fini(&m);
	} else {
		text_report(a->to, &r->doc.run, detail_of(set));
	}
	if (rc < 0)
		return EXIT_FAILED;
	bool is_missed = set->require && require_check(set->require, &r->doc.run, &err) != 0;
	if (r->doc.run.err.code || failed_in_any(&r->doc.run))
		return EXIT_FAILED;
	return is_missed ? EXIT_MISSED : EXIT_RAN;
}

/* Returns the first status that is not EXIT_RAN. */
static int report_all(const struct ask *a)
{
	int status = EXIT_RAN;

	for (size_t i = 0; i < a->set->file_count; i++) {
		struct mlgen_err err = { 0 };
		struct reported r;
		int one = EXIT_USAGE;

		if (read_document(&r, a, a->set->files[i], &err) < 0)
			log_error("%s", err.text);
		else
			one = print_one(a, i, &r);
		results_close(&r.doc);
		if (one == EXIT_USAGE)
			return one;
		if (status == EXIT_RAN)
			status = one;
	}
	return status;
}

int ask_report(const struct ask *a)
{
	struct mlgen_err err = { 0 };

	if (check_request(a, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (a->set->settings.output_format == OUTPUT_CSV)
		return table_files(a, CSV_KEYS);
	return report_all(a);
}
