/* SPDX-License-Identifier: Apache-2.0 */
/* describe_files.c - what a trace shows of the programs that it is of. */
#include "ask/ask.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "describe/describe.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/json.h"

/* As of a job that says nothing of percentiles. */
static void usual_percentiles(struct f64_list *out)
{
	const struct mlgen_field *f = field_find(job_fields, "percentile_list");
	struct job *j = mem_zalloc(sizeof(*j));
	struct mlgen_err err = { 0 };

	if (field_parse(f, j, f->def, 1024, &err) == 0)
		*out = j->percentile_list;
	mem_free(j);
}

/* What is not whole is described as far as it goes. */
static void warn_incomplete(const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;

	if (!t->records)
		log_warn("the trace has no records");
	if (!t->is_complete)
		log_warn("the trace is incomplete: %" PRIu64 " events lost, %" PRIu64 " of %" PRIu64
			 " files without an end, %" PRIu64
			 " damaged chunks; the figures are of what there is",
			 t->lost.events, t->truncated, t->files, t->damaged_chunks);
}

static void warn_longer(const struct description *d, uint64_t asked_ns)
{
	char asked[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];

	if (d->log.length_ns > asked_ns)
		log_warn("log_interval: %s would be more than %" PRIu64
			 " rows of this trace; they are %s apart",
			 units_put_time(asked, asked_ns), INTERVALS_MOST,
			 units_put_time(has, d->log.length_ns));
}

static void print_description(const struct ask *a, const struct description *d)
{
	const struct settings *set = &a->set->settings;
	struct f64_list percentiles = { 0 };

	usual_percentiles(&percentiles);
	if (set->output_format == OUTPUT_JSON)
		json_struct(a->to, described_fields, &d->figures, &percentiles);
	else
		describe_text(a->to, d, &percentiles);
	if (a->json)
		json_struct(a->json, described_fields, &d->figures, &percentiles);
	if (a->log) {
		warn_longer(d, set->log_interval_ns);
		describe_log(a->log, d);
	}
}

int ask_describe(const struct ask *a)
{
	const struct jobset *set = a->set;
	int format = set->settings.output_format;
	struct description d;
	struct mlgen_err err = { 0 };

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON) {
		log_error("output-format: a description is text or json; --log=FILE has a row of "
			  "CSV for each interval");
		return EXIT_USAGE;
	}
	int rc = describe_trace(&d, (const char *const *)set->files, set->file_count,
				set->settings.log_interval_ns, &err);
	if (rc == 0) {
		warn_incomplete(&d);
		print_description(a, &d);
	} else {
		log_error("%s", err.text);
	}
	description_fini(&d);
	return rc < 0 ? EXIT_USAGE : EXIT_RAN;
}
