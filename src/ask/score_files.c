/* SPDX-License-Identifier: Apache-2.0 */
/* score_files.c - how alike a trace is to others, and whether that is enough. */
#include "ask/ask.h"

#include "base/log.h"
#include "report/json.h"
#include "score/score.h"

/* Each is held as figures, which are small; but a floor is of each two. */
#define TRACES_MOST 33

static void print_score(const struct ask *a, const struct score_document *d)
{
	if (a->set->settings.output_format == OUTPUT_JSON)
		json_struct(a->to, scored_fields, d, NULL);
	else
		score_text(a->to, &d->score);
	if (a->json)
		json_struct(a->json, scored_fields, d, NULL);
}

static void warn_incomplete(const struct scored *s)
{
	const struct scored_trace *t = s->traces.items;

	for (size_t i = 0; i < s->traces.count; i++)
		if (!t[i].is_complete)
			log_warn("%s: the trace is incomplete; the score is of "
				 "what there is",
				 t[i].file);
}

int ask_score(const struct ask *a)
{
	const struct jobset *set = a->set;
	int format = set->settings.output_format;
	struct score_document d = { 0 };
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON) {
		log_error("output-format: a score is text or json");
		return EXIT_USAGE;
	}
	if (set->file_count > TRACES_MOST) {
		log_error("score: more than %d traces", TRACES_MOST);
		return EXIT_USAGE;
	}
	if (score_traces(&d, set->files, set->file_count, &err) == 0) {
		warn_incomplete(&d.score);
		print_score(a, &d);
		status = d.score.verdict == SCORE_FAIL ? EXIT_MISSED : EXIT_RAN;
	} else {
		log_error("%s", err.text);
	}
	score_fini(&d);
	return status;
}
