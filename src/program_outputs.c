/* SPDX-License-Identifier: Apache-2.0 */
/* program_outputs.c - what the program writes, where, and in which form; see program.h. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <unistd.h>

#include "ask/mlperf/mlperf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "import/dlio/dlio_summary.h"
#include "report/json.h"
#include "report/outputs.h"
#include "report/text.h"
#include "report/watch.h"
#include "run/run_trace.h"

int program_usage(const struct mlgen_err *err)
{
	log_error("%s", err->text);
	return EXIT_USAGE;
}

void program_fini_outputs(struct program *p)
{
	struct mlgen_err told = { 0 };

	prom_close(&p->prom, &told);
	output_abandon(&p->text);
	output_abandon(&p->json);
	if (p->document)
		fclose(p->document);
	free(p->document_text);
	p->document = NULL;
	p->document_text = NULL;
	output_abandon(&p->html);
	output_abandon(&p->rows);
	csv_close(p->log);
	tracefile_close(&p->trace);
	struct output *logs = p->logs;
	for (size_t i = 0; logs && i < p->set.count; i++)
		output_abandon(&logs[i]);
	if (logs && p->logged_fd >= 0)
		close(p->logged_fd);
	/* Whoever ends the program looks at them. */
	signals_hold();
	p->logs = NULL;
	signals_release();
	mem_free(logs);
}

int program_status(int status, int written)
{
	return status == EXIT_RAN || status == EXIT_MISSED
		       ? (written == EXIT_RAN ? status : written)
		       : status;
}

int program_open_outputs(struct program *p, bool is_run, struct mlgen_err *err)
{
	const struct question *q = p->set.question;
	bool has_rows = !is_run && q && q->writes_log;

	if (is_run && traced_is_logged(p->set.jobs, p->set.count)) {
		struct output *logs = mem_array(p->set.count, sizeof(*logs));

		signals_hold();
		p->logs = logs;
		signals_release();
		p->logged_fd = -1;
	}
	const struct outputs o = { .text = &p->text,
				   .json = &p->json,
				   .html = &p->html,
				   .log = is_run ? &p->log : NULL,
				   .trace = is_run ? &p->trace : NULL,
				   .prom = is_run ? &p->prom : NULL,
				   .host = p->host.hostname,
				   .rows = has_rows ? &p->rows : NULL,
				   .logs = p->logs };

	return outputs_open(&o, &p->set, err);
}

int program_check_format(struct program *p, struct mlgen_err *err)
{
	return p->set.settings.output_format == OUTPUT_DLIO ? dlio_summary_check(&p->set, err) : 0;
}

int program_close_outputs(struct program *p)
{
	struct mlgen_err err = { 0 };

	if (p->is_mute) {
		output_abandon(&p->text);
		return EXIT_RAN;
	}
	int rc = p->json.to ? output_close(&p->json, &err) : 0;

	if (p->rows.to && output_close(&p->rows, &err) < 0)
		rc = -1;
	if (output_close(&p->text, &err) < 0)
		rc = -1;
	/* A reader that has gone (head -1) knows. */
	if (rc < 0 && err.code != -EPIPE)
		log_error("%s", err.text);
	return rc < 0 ? EXIT_FAILED : EXIT_RAN;
}

bool program_has_no_output(const struct program *p)
{
	/* One that is streamed has no place. */
	return ftello(p->text.to) == 0 && (!p->json.to || ftello(p->json.to) == 0);
}

static void write_text(struct program *p, struct run_result *result,
		       const struct plan_report *plans)
{
	const struct settings *set = &p->set.settings;

	if (!plans && p->merge.count > 1)
		merge_print(p->text.to, &p->merge, detail_of(set));
	else if (!plans)
		text_report(p->text.to, result, detail_of(set));
	for (size_t i = 0; plans && i < p->set.count; i++)
		plan_text(p->text.to, &plans[i]);
	if (set->check != CHECK_NONE)
		mlperf_check(p->text.to, &p->ask, plans ? NULL : result);
}

static void write_json(struct program *p, FILE *to, struct run_result *result,
		       const struct plan_report *plans)
{
	if (!plans && p->merge.count > 1)
		merge_print_json(to, &p->merge, &p->set);
	else
		json_report(to, result, &p->set, plans);
}

int program_report(struct program *p, struct run_result *result, const struct plan_report *plans)
{
	int format = p->set.settings.output_format;
	int rc = 0;

	if (p->set.settings.check != CHECK_NONE && !plans)
		mlperf_fill(result, &p->ask);
	FILE *document = program_document(p);
	if (document)
		write_json(p, document, result, plans);
	int page = program_put_page(p, NULL);
	if (format == OUTPUT_TEXT)
		write_text(p, result, plans);
	else if (format == OUTPUT_DLIO)
		rc = dlio_summary(p->text.to, result, &p->set);
	else
		write_json(p, p->text.to, result, plans);
	int status = program_close_outputs(p);
	return rc < 0 ? EXIT_FAILED : program_status(status, page);
}
