/* SPDX-License-Identifier: Apache-2.0 */
/* report_files.c - the report of a document, as the run that wrote it printed it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ask/merge_files.h"
#include "ask/require.h"
#include "ask/result_read.h"
#include "ask/table_files.h"
#include "base/log.h"
#include "report/json.h"
#include "report/text.h"
#include "report/verdict.h"
#include "run/failed.h"

/* What a spreadsheet is for: one row a job. What it has not is empty. */
#define CSV_KEYS                                                                                   \
	"file,jobname,phase,accelerators,numjobs,elapsed,au_percent,"                              \
	"samples_per_sec,sample_bytes_per_sec,stall_ns.p99,read.iops,"                             \
	"read.bw_bytes,read.clat_ns.p99,write.iops,write.bw_bytes,"                                \
	"write.clat_ns.p99,saves.bytes_per_sec,restores.bytes_per_sec,"                            \
	"storage.memory_percent,errors,verdict.name"

/* A document, with what its jobs do not have. */
struct reported {
	struct result_doc doc;
	struct json_extra extra; /* key NULL: it has none */
	const struct metrics_merged *merged;
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
				  "output-format: a document has too little for dlio, which is of "
				  "the run itself; text, csv, json or fio-json");
	if (prints_json(set) && a->set->file_count > 1)
		return mlgen_fail(err, -EINVAL,
				  "output-format: one document at a time as JSON; --merge makes "
				  "one of several");
	return set->require ? require_check(set->require, NULL, err) : 0;
}

static void take_extra(struct reported *r, const struct record *of)
{
	r->merged = of->merged;
	if (of->merged)
		r->extra = (struct json_extra){ "merged", metrics_merged_fields, of->merged };
	else if (of->find_max)
		r->extra = (struct json_extra){ "find_max", metrics_find_max_fields, of->find_max };
}

static int read_document(struct reported *r, const struct ask *a, const char *path,
			 struct mlgen_err *err)
{
	struct results_file f;
	int rc = results_open(&f, path, err);

	*r = (struct reported){ 0 };
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < f.count && rc == 0; i++)
		if (f.records[i].plan)
			rc = mlgen_fail(err, -EINVAL, "%s: is a dry run's: nothing was measured",
					path);
	take_extra(r, &f.records[0]);
	if (rc == 0)
		rc = result_read(&r->doc, &f, a->env, err);
	results_close(&f);
	if (rc == 0) {
		result_retitle(&r->doc, &a->set->settings);
		verdict_fill(&r->doc.run);
	}
	return rc;
}

/* ---- as it is asked for ---- */

static void print_text(FILE *to, struct reported *r, enum detail detail)
{
	struct merge m;

	if (!r->merged) {
		text_report(to, &r->doc.run, detail);
		return;
	}
	merge_of_document(&m, r->merged, &r->doc.run);
	merge_print(to, &m, detail);
	merge_fini(&m);
}

static int print_json(const struct ask *a, const struct reported *r)
{
	const struct jobset set = {
		.settings.output_format = a->set->settings.output_format,
		.jobs = r->doc.jobs.at,
		.count = r->doc.jobs.count,
	};

	return r->extra.key ? json_report_with(a->to, &r->doc.run, &set, &r->extra)
			    : json_report(a->to, &r->doc.run, &set, NULL);
}

static int status_of(const struct ask *a, const struct run_result *run)
{
	const char *require = a->set->settings.require;
	struct mlgen_err err = { 0 };
	bool is_missed = require && require_check(require, run, &err) != 0;

	if (run->err.code || failed_in_any(run))
		return EXIT_FAILED;
	return is_missed ? EXIT_MISSED : EXIT_RAN;
}

/* The name of one of several stands above it. */
static int print_one(const struct ask *a, size_t file, struct reported *r)
{
	const struct settings *set = &a->set->settings;
	int rc = 0;

	if (prints_json(set)) {
		rc = print_json(a, r);
	} else {
		if (a->set->file_count > 1 && !set->quiet)
			fprintf(a->to, "%s== %s\n", file ? "\n" : "", a->set->files[file]);
		print_text(a->to, r, detail_of(set));
	}
	return rc < 0 ? EXIT_FAILED : status_of(a, &r->doc.run);
}

/* Of several the first that is not well. */
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
		result_fini(&r.doc);
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
