/* SPDX-License-Identifier: Apache-2.0 */
/* settings_check.c - what relates two options of the program. */
#include "job/settings_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/pathname.h"

/* No Linux runs in less: a unit was forgotten. */
#define LEAST_MEMORY (UINT64_C(16) << 20)

/* That of log_interval: oftener nobody could read it. */
#define LEAST_INTERVAL_NS (NS_PER_S / 100)

static const struct diag_place on_command_line;

static void check_interval(const struct settings *s, struct diag *d)
{
	char given[UNITS_TEXT_BYTES], least[UNITS_TEXT_BYTES];

	if (!s->status_interval_ns || s->status_interval_ns >= LEAST_INTERVAL_NS)
		return;
	diag_add(d, DIAG_ERROR, on_command_line,
		 "status-interval: %s is below the minimum %s; 0 is never",
		 units_put_time(given, s->status_interval_ns),
		 units_put_time(least, LEAST_INTERVAL_NS));
}

static bool makes_trace(const struct settings *s)
{
	return s->import != IMPORT_NONE && s->import != IMPORT_DLIO;
}

/* Of a text each line of which mlgen would write itself, none may be wrong. */
static bool is_strict(const struct settings *s)
{
	return s->import == IMPORT_DLIO || s->import == IMPORT_CSV || s->import == IMPORT_FIO_IOLOG;
}

static const char *import_name(const struct settings *s, struct buf *to)
{
	field_format(to, field_find(settings_fields, "import"), s);
	return buf_str(to);
}

static void check_import(const struct settings *s, const char *form, struct diag *d)
{
	pathname_check("markers", s->markers, on_command_line, d);
	if (s->lenient && is_strict(s))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "lenient: import=%s takes all lines or none", form);
	if (s->markers && s->import == IMPORT_DLIO)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "markers: import=%s makes a job file, and no trace that they could be in",
			 form);
}

static void check_trace(const struct settings *s, const struct question *asked, struct diag *d)
{
	struct buf name = { 0 };
	const char *form = import_name(s, &name);
	bool of_files = asked && asked->about == ABOUT_FILES;

	pathname_check("trace", s->trace, on_command_line, d);
	if (makes_trace(s) && !s->trace)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "import=%s: makes a trace; name it with --trace=FILE", form);
	if (s->trace && asked && !of_files && asked->about != ABOUT_COMMAND)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "trace: is of a run, and --%s is none, or many; leave out --trace, and "
			 "trace a run of its own",
			 asked->option);
	if (s->trace && of_files && !makes_trace(s))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "trace: is of a run, or what --import makes of a log; --output=%s is "
			 "where --%s prints",
			 s->trace, asked->option);
	if (makes_trace(s) && (s->dry_run || s->parse_only))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "import=%s: writes a trace, and --%s touches nothing", form,
			 s->dry_run ? "dry-run" : "parse-only");
	if ((makes_trace(s) || s->export != EXPORT_NONE) && s->output_format != OUTPUT_TEXT)
		diag_add(d, DIAG_ERROR, on_command_line, "output-format: %s, and no document",
			 makes_trace(s) ? "import writes a trace"
					: "export prints what it is asked for");
	check_import(s, form, d);
	buf_fini(&name);
}

static void check_metrics(const struct settings *s, const struct question *asked, struct diag *d)
{
	const char *option = s->metrics ? "metrics" : "metrics-file";

	pathname_check("metrics-file", s->metrics_file, on_command_line, d);
	if (asked && (s->metrics || s->metrics_file))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: are of a run, and --%s is none, or many; leave out --%s", option,
			 asked->option, option);
	if (s->metrics_linger_ns && !s->metrics)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "metrics-linger: nothing is served; add --metrics=ADDRESS:PORT");
}

/* It is of one run, whose report follows. */
static void check_live(const struct settings *s, const struct question *asked, struct diag *d)
{
	if (!s->live)
		return;
	if (asked)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "live: shows a run, and --%s is none, or many; leave out --live",
			 asked->option);
	if (s->eta == ETA_ALWAYS)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "live: takes the place of the status line; leave out --eta=always");
	if (s->dry_run || s->parse_only || s->showjob)
		diag_add(d, DIAG_ERROR, on_command_line, "live: shows a run, and --%s runs nothing",
			 s->dry_run      ? "dry-run"
			 : s->parse_only ? "parse-only"
					 : "showjob");
}

/* ---- title and notes ---- */

#define TITLE_LETTERS 120
#define NOTE_LETTERS 400
#define NOTES_MOST 20

/* Check one line, which pages and terminals show as it is. */
static void check_line(const char *option, const char *text, size_t letters, struct diag *d)
{
	size_t has = printable_columns(text);

	if (!printable_is(text))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is one line of text in UTF-8, without control characters%s", option,
			 strcmp(option, "title") == 0 ? "; --note=TEXT adds lines below it" : "");
	else if (!text[strspn(text, " ")])
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is blank; leave it out, or write what a reader should know", option);
	else if (has > letters)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: of %zu letters is too long; up to %zu, and --note=TEXT may be given "
			 "several times",
			 option, has, letters);
}

static void check_notes(const char *notes, struct diag *d)
{
	size_t count = 0;

	while (notes) {
		struct buf line = { 0 };
		size_t len = strcspn(notes, "\n");

		buf_addn(&line, notes, len);
		check_line("note", buf_str(&line), NOTE_LETTERS, d);
		buf_fini(&line);
		notes = notes[len] ? notes + len + 1 : NULL;
		count++;
	}
	if (count > NOTES_MOST)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "note: %zu are too many for the top of a report; up to %d", count,
			 NOTES_MOST);
}

static void check_labels(const struct settings *s, const struct question *asked, struct diag *d)
{
	const char *option = s->title ? "title" : "note";

	if (s->title)
		check_line("title", s->title, TITLE_LETTERS, d);
	check_notes(s->note, d);
	if ((s->title || s->note) && asked && !asked->has_report && !s->html)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is for a report or a page, and --%s makes none; leave out --%s%s",
			 option, asked->option, option,
			 asked->writes_html ? ", or add --html=FILE" : "");
}

void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d)
{
	if (s->output_format == OUTPUT_CSV && !(asked && asked->prints_csv))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format=csv: goes with --table, or with the JSON documents of "
			 "runs; --log=FILE writes the intervals of a run as CSV");
	if (s->quiet + s->brief + s->verbose > 1)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: the report is of one length; leave out --%s",
			 s->quiet ? "quiet" : "brief", s->brief && s->quiet ? "brief" : "verbose");
	question_check_options(questions, s, d);
	pathname_check("output", s->output, on_command_line, d);
	pathname_check("json", s->json, on_command_line, d);
	pathname_check("html", s->html, on_command_line, d);
	pathname_check("log", s->log, on_command_line, d);
	check_interval(s, d);
	check_trace(s, asked, d);
	check_metrics(s, asked, d);
	check_live(s, asked, d);
	check_labels(s, asked, d);
	if (s->datasize && s->html)
		diag_add(d, DIAG_ERROR, on_command_line, "html: there is no page of --datasize");
	if (s->datasize && (s->json || s->output_format != OUTPUT_TEXT))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: datasize prints text, and runs nothing; put it behind the command "
			 "line that datasize prints",
			 s->json ? "json" : "output-format");
	if (s->clean && s->output_format != OUTPUT_TEXT)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format: clean prints text, and no document");
	if ((s->find_max || s->find_min) && s->check != CHECK_NONE)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "check: is of a run, and --find-%s has many; check the answer with a run "
			 "of its own",
			 s->find_max ? "max" : "min");
	if (s->find_max && s->find_min)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "find-min: is a question of its own, as --find-max is; ask one at a time");
	if (s->yes && (s->readonly || s->dry_run || s->parse_only))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "yes: removes files, and --%s touches none; --clean without --yes only "
			 "lists them",
			 s->readonly  ? "readonly"
			 : s->dry_run ? "dry-run"
				      : "parse-only");
	if (s->memory_bytes && s->memory_bytes < LEAST_MEMORY)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "memory: %" PRIu64
			 " bytes are no host's; a size has a unit, as in --memory=256g",
			 s->memory_bytes);
}
