/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_json.c - what --find-max found, in the document of the run that shows it. */
#include "ask/find_max.h"

#include "base/clock.h"
#include "base/mem.h"
#include "report/json.h"

static uint64_t shown_if(const struct find_max *f, bool is_known, uint64_t number)
{
	return is_known ? find_shown(f, number) : UINT64_MAX;
}

/* To be freed; what it points to is that of f. */
static struct metrics_probe *probes_as_shown(const struct find_max *f)
{
	struct metrics_probe *p = mem_array(f->probe_count, sizeof(*p));

	for (size_t i = 0; i < f->probe_count; i++) {
		p[i] = f->probes[i];
		p[i].value = find_shown(f, p[i].value);
		p[i].figure_list = (struct metric_list){ f->probes[i].figures,
							 p[i].possible ? f->required_count : 0 };
	}
	return p;
}

static const struct metrics_find_max *find_max_json_fill(struct metrics_find_max *m,
							 const struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	bool is_unsure = a->at_most > a->value;

	*m = (struct metrics_find_max){
		.option = f->option->name,
		.job = f->job->name,
		.lines = { f->lines, f->line_count },
		.requirement = f->requirement,
		.smallest = f->is_min,
		.answer = shown_if(f, a->found, a->value),
		.at_most = shown_if(f, a->found || is_unsure, a->at_most),
		.limited_by = shown_if(f, a->is_limited, a->limited_by),
		.confirmed = search_is_confirmed(&f->search),
		.interrupted = f->interrupted,
		.noise_percent = 100 * search_noise(&f->search),
		.limit = f->limit,
		.limit_bytes_per_sec = f->delivered_bytes_per_sec,
		.fraction = f->fraction,
		.ceiling_percent = f->without_storage,
		.probes = { probes_as_shown(f), f->probe_count },
	};
	return m;
}

void find_json(const struct find_max *f, FILE *to)
{
	const struct run_result none = { .host = *f->ask->host,
					 .timestamp_ms = clock_wall_ns() / 1000000,
					 .title = f->ask->set->settings.title,
					 .notes = f->ask->set->settings.note,
					 .interrupted = f->interrupted };
	struct metrics_find_max m;
	struct buf question = { 0 };
	const struct json_extra extra = { "find_max", metrics_find_max_fields,
					  find_max_json_fill(&m, f) };

	find_put_question(&question, f);
	m.question = buf_str(&question);
	if (f->has_best)
		json_report_with(to, f->best.result, &f->best.set, &extra);
	else
		json_report_with(to, &none, f->ask->set, &extra);
	mem_free(m.probes.items);
	buf_fini(&question);
}
