/* SPDX-License-Identifier: Apache-2.0 */
/* question.c - finds the question that a command line asks, and checks options that go with it. */
#include "job/job_internal.h"

#include <string.h>

#include "base/buf.h"
#include "field/fields.h"

static bool is_asked(const struct settings *s, const char *option)
{
	return !field_is_default(field_find(settings_fields, option), s);
}

/* Append "a, b and c": the questions that have this list, or with NULL all questions about files.
 */
static void append_options(struct buf *out, const struct question *table, const char *const *list,
			   const char *dashes)
{
	const char *last = NULL;

	for (const struct question *q = table; q->option; q++) {
		if (list ? q->goes_with != list : q->about == ABOUT_JOBS)
			continue;
		if (last)
			buf_addf(out, "%s%s%s", out->len ? ", " : "", dashes, last);
		last = q->option;
	}
	buf_addf(out, "%s%s%s", out->len ? " and " : "", dashes, last);
}

/* Report the first option of the list that is set, if none of its questions is asked. */
static void check_list(const struct question *table, const struct settings *s,
		       const char *const *list, struct diag *d)
{
	const char *const *option = list;
	struct buf names = { 0 };

	for (const struct question *q = table; q->option; q++)
		if (q->goes_with == list && is_asked(s, q->option))
			return;
	while (*option && !is_asked(s, *option))
		option++;
	if (!*option)
		return;
	append_options(&names, table, list, "--");
	diag_fail(d, "%s: works only with %s", *option, buf_str(&names));
	buf_fini(&names);
}

bool question_is_document(const char *file)
{
	size_t len = strlen(file);

	return len > 5 && strcmp(file + len - 5, ".json") == 0;
}

const struct question *question_asked(const struct question *table, const struct settings *s,
				      char *const *files, size_t file_count, unsigned *of_files)
{
	const struct question *first = NULL;
	size_t documents = 0;
	bool has_files;

	*of_files = 0;
	for (size_t i = 0; i < file_count; i++)
		documents += question_is_document(files[i]);
	has_files = documents > 0;
	for (const struct question *q = table; q && q->option; q++)
		has_files |= q->about == ABOUT_FILES && is_asked(s, q->option);
	for (const struct question *q = table; q && q->option; q++) {
		if (!is_asked(s, q->option) || (q->about == ABOUT_DOCUMENTS && !has_files))
			continue;
		*of_files += q->about != ABOUT_JOBS;
		if (!first || (first->about == ABOUT_JOBS && *of_files))
			first = q;
	}
	if (documents && documents == file_count)
		for (const struct question *q = table; !first && q && q->option; q++)
			if (q->is_implied)
				first = q;
	return first;
}

void question_check_options(const struct question *table, const struct settings *s, struct diag *d)
{
	for (const struct question *q = table; q && q->option; q++) {
		if (q->goes_with)
			check_list(table, s, q->goes_with, d);
	}
}

void question_check_files(const struct question *table, const struct question *q, unsigned of_files,
			  const struct settings *s, char *const *files, size_t file_count,
			  struct diag *d)
{
	struct buf names = { 0 };

	if (of_files > 1) {
		append_options(&names, table, NULL, "");
		diag_fail(d, "%s: use only one of %s at a time", q->option, buf_str(&names));
		buf_reset(&names);
	}
	/* The file would be truncated and stay empty. */
	if (s->json && !q->writes_json)
		diag_fail(d, "json: is for a run; use --output=%s for the output of --%s", s->json,
			  q->option);
	if (s->html && !q->writes_html)
		diag_fail(d, "html: --%s cannot write a page", q->option);
	if (s->require && !q->takes_require) {
		for (; table->option; table++)
			if (table->takes_require)
				buf_addf(&names, ", --%s", table->option);
		diag_fail(d, "require=%s: works with a run%s; --%s has no figures to check",
			  s->require, buf_str(&names), q->option);
	}
	buf_fini(&names);
	if (!file_count)
		diag_fail(d, "%s: no file; name %s", q->option, q->files);
	else if (file_count == 1 && q->needs_two)
		diag_fail(d,
			  "%s: only '%s' is given; name two files or more, first the file to "
			  "compare with",
			  q->option, files[0]);
}
