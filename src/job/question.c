/* SPDX-License-Identifier: Apache-2.0 */
/* question.c - what the program can be asked, by which option, about what. */
#include "job/job_internal.h"

#include <string.h>

#include "base/buf.h"
#include "field/fields.h"

static const struct diag_place on_command_line;

static bool is_asked(const struct settings *s, const char *option)
{
	return !field_is_default(field_find(settings_fields, option), s);
}

static size_t count_documents(char *const *files, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += question_is_document(files[i]);
	return n;
}

/* Nothing is asked of documents alone. */
static const struct question *implied(const struct question *table)
{
	const struct question *q = table;

	while (q && q->option && !q->is_implied)
		q++;
	return q && q->option ? q : NULL;
}

/* Append "a, b and c": those about files, or those that this list goes with. */
static void put_options(struct buf *out, const struct question *table, const char *const *list,
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

static bool has_question(const struct question *table, const struct settings *s,
			 const char *const *list)
{
	for (const struct question *q = table; q->option; q++) {
		if (q->goes_with == list && is_asked(s, q->option))
			return true;
	}
	return false;
}

/* The first that is there stands for the others of its list. */
static void check_list(const struct question *table, const struct settings *s,
		       const char *const *list, struct diag *d)
{
	const char *const *option = list;
	struct buf names = { 0 };

	while (*option && !is_asked(s, *option))
		option++;
	if (!*option || has_question(table, s, list))
		return;
	put_options(&names, table, list, "--");
	diag_add(d, DIAG_ERROR, on_command_line, "%s: goes with %s", *option, buf_str(&names));
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
	size_t documents = count_documents(files, file_count);
	bool has_files = documents > 0;

	*of_files = 0;
	for (const struct question *q = table; q && q->option; q++)
		has_files |= q->about == ABOUT_FILES && is_asked(s, q->option);
	for (const struct question *q = table; q && q->option; q++) {
		if (!is_asked(s, q->option) || (q->about == ABOUT_DOCUMENTS && !has_files))
			continue;
		*of_files += q->about != ABOUT_JOBS;
		if (!first || (first->about == ABOUT_JOBS && *of_files))
			first = q;
	}
	return first || !documents || documents < file_count ? first : implied(table);
}

void question_check_options(const struct question *table, const struct settings *s, struct diag *d)
{
	for (const struct question *q = table; q && q->option; q++) {
		if (q->goes_with)
			check_list(table, s, q->goes_with, d);
	}
}

void question_check_one(const struct question *table, const struct question *q, unsigned of_files,
			struct diag *d)
{
	struct buf names = { 0 };

	put_options(&names, table, NULL, "");
	if (of_files > 1)
		diag_add(d, DIAG_ERROR, on_command_line, "%s: one of %s at a time", q->option,
			 buf_str(&names));
	buf_fini(&names);
}

/* Options beside a question about files of which nothing would come. */
static void check_unused(const struct question *table, const struct question *q,
			 const struct settings *s, struct diag *d)
{
	struct buf names = { 0 };

	/* It would be emptied, and nothing put into it. */
	if (s->json && !q->writes_json)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "json: is of a run; --output=%s is where --%s prints", s->json, q->option);
	if (s->html && !q->writes_html)
		diag_add(d, DIAG_ERROR, on_command_line, "html: there is no page of --%s",
			 q->option);
	if (!s->require || q->takes_require)
		return;
	for (; table->option; table++)
		if (table->takes_require)
			buf_addf(&names, ", --%s", table->option);
	diag_add(d, DIAG_ERROR, on_command_line,
		 "require=%s: goes with a run%s; --%s asks nothing of its figures", s->require,
		 buf_str(&names), q->option);
	buf_fini(&names);
}

void question_check_files(const struct question *table, const struct question *q,
			  const struct settings *s, char *const *files, size_t file_count,
			  struct diag *d)
{
	check_unused(table, q, s, d);
	if (!file_count)
		diag_add(d, DIAG_ERROR, on_command_line, "%s: no file; name %s", q->option,
			 q->files);
	else if (file_count == 1 && q->needs_two)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: '%s' alone; name two files or more, the one to compare with first",
			 q->option, files[0]);
}
