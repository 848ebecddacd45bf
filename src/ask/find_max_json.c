/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_json.c - what --find-max found, in the document of the run that shows it. */
#include "ask/find_max.h"

#include "report/json.h"

static const struct metrics_find_max *fill(struct metrics_find_max *m,
					   const struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	bool is_unsure = a->at_most > a->value;

	*m = (struct metrics_find_max){
		.option = f->option->name,
		.job = f->job->name,
		.requirement = f->requirement,
		.answer = a->found ? a->value : UINT64_MAX,
		.at_most = a->found || is_unsure ? a->at_most : UINT64_MAX,
		.limited_by = a->is_limited ? a->limited_by : UINT64_MAX,
		.confirmed = search_is_confirmed(&f->search),
		.interrupted = f->interrupted,
		.noise_percent = 100 * search_noise(&f->search),
		.limit = f->limit,
		.limit_bytes_per_sec = f->delivered_bytes_per_sec,
		.fraction = f->fraction,
		.ceiling_percent = f->without_storage,
		.probes = { f->probes, f->probe_count },
	};
	for (size_t i = 0; i < f->probe_count; i++)
		f->probes[i].figure_list = (struct metric_list){
			f->probes[i].figures,
			f->probes[i].possible ? f->required_count : 0
		};
	return m;
}

void find_json(const struct find_max *f, FILE *to)
{
	const struct run_result none = { .host = *f->ask->host,
					 .interrupted = f->interrupted };
	struct metrics_find_max m;
	const struct json_extra extra = { "find_max", metrics_find_max_fields,
					  fill(&m, f) };

	if (f->has_best)
		json_report_with(to, f->best.result, &f->best.set, &extra);
	else
		json_report_with(to, &none, f->ask->set, &extra);
}
