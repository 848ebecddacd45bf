/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - --cmdhelp and the lists of the man pages, all from the tables. */
#include "job/help.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/wrap.h"
#include "field/fields.h"
#include "job/fio_options.h"
#include "job/help_text.h"

#define OPTION_INDENT 19 /* of those of --cmdhelp */
#define RANGE_COLUMN 56  /* of the range after a short text */
#define CHOICE_WIDTH 10

/* ---- --cmdhelp ---- */

/* The range stands on the line of a text that leaves room for it. */
static void print_first_line(FILE *to, const struct mlgen_field *f)
{
	struct buf usage = { 0 }, text = { 0 }, range = { 0 };

	help_text_usage(&usage, f);
	help_text_clause(&text, f->help);
	field_range_text(&range, f);
	size_t end = OPTION_INDENT + text.len + 2;
	size_t at = end < RANGE_COLUMN ? RANGE_COLUMN : end;
	if (at + range.len > wrap_columns())
		at = end;
	if (usage.len < OPTION_INDENT && at + range.len <= wrap_columns()) {
		fprintf(to, "%-*s%-*s%s\n", OPTION_INDENT, buf_str(&usage), (int)at - OPTION_INDENT,
			buf_str(&text), buf_str(&range));
	} else {
		help_text_print(to, &usage, buf_str(&text), OPTION_INDENT, wrap_columns());
		fprintf(to, "%*s%s\n", OPTION_INDENT, "", buf_str(&range));
	}
	buf_fini(&usage);
	buf_fini(&text);
	buf_fini(&range);
}

/* Names of other tools and the like. */
static void print_more_lines(FILE *to, const char *help)
{
	const char *more = strchr(help, '\n');
	struct buf none = { 0 };

	if (more)
		help_text_print(to, &none, more + 1, OPTION_INDENT, wrap_columns());
	buf_fini(&none);
}

static void print_choices(FILE *to, const struct mlgen_field *f)
{
	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		struct buf line = { 0 };

		buf_addf(&line, "%*s%-*s ", OPTION_INDENT, "", CHOICE_WIDTH, c->name);
		help_text_print(to, &line, c->help, OPTION_INDENT + CHOICE_WIDTH + 2,
				wrap_columns());
		buf_fini(&line);
	}
}

static void print_option(FILE *to, const struct mlgen_field *f)
{
	print_first_line(to, f);
	print_choices(to, f);
	print_more_lines(to, f->help);
	if (f->alias)
		fprintf(to, "%*salso written %s\n", OPTION_INDENT, "", f->alias);
	if (f->flags & MLGEN_SELECTS)
		fprintf(to, "%*s[%s=VALUE] sections hold what differs\n", OPTION_INDENT, "",
			f->name);
}

static void print_all_options(FILE *to)
{
	const char *group = "";

	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if (strcmp(group, f->group) != 0)
			fprintf(to, "%s%s\n\n", *group ? "\n" : "", f->group);
		group = f->group;
		print_option(to, f);
	}
}

static const struct mlgen_field *help_find_option(const char *name,
						  const struct mlgen_engine *const *engines)
{
	const struct mlgen_field *f = field_find(job_fields, name);

	if (!f)
		f = field_find(settings_fields, name);
	for (; !f && *engines; engines++)
		f = field_find((*engines)->opts, name);
	return f;
}

/* ---- man pages ---- */

/* One line of mdoc text: what roff would take for its own is escaped. */
static void print_mdoc_words(FILE *to, const char *text, size_t len)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_end = text[i] == '.' && i + 1 < len && text[i + 1] == ' ' &&
			      !(i >= 2 && strchr(" .", text[i - 2]));

		if (column == 0 && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", to);
		if (text[i] == ' ' && column > 60) {
			fputc('\n', to);
			column = 0;
			continue;
		}
		if (text[i] == '\\')
			fputs("\\e", to);
		else
			fputc(text[i], to);
		column++;
		/* mdoc wants a new sentence on a new line. */
		if (is_end) {
			fputc('\n', to);
			column = 0;
			i++;
		}
	}
	fputc('\n', to);
}

static void print_mdoc_lines(FILE *to, const char *text)
{
	for (;;) {
		size_t len = strcspn(text, "\n");

		print_mdoc_words(to, text, len);
		if (!text[len])
			return;
		text += len + 1;
	}
}

/* What can be set stands in a group; metrics are read only. */
static bool is_metric(const struct mlgen_field *f)
{
	return !f->group;
}

static void print_mdoc_head(FILE *to, const struct mlgen_field *f)
{
	struct buf type = { 0 };

	if (is_metric(f)) {
		fprintf(to, ".It Va %s\n", f->name);
		return;
	}
	field_type_text(&type, f);
	if (!help_text_is_setting(f))
		fprintf(to, ".It Cm %s Ns = Ns Ar %s\n", f->name, buf_str(&type));
	else if (f->type == MLGEN_BOOL)
		fprintf(to, ".It Fl -%s\n", f->name);
	else
		fprintf(to, ".It Fl -%s Ns = Ns Ar %s\n", f->name, buf_str(&type));
	buf_fini(&type);
}

static void print_mdoc_choices(FILE *to, const struct mlgen_field *f)
{
	if (!f->choices)
		return;
	fputs(".Bl -tag -width contiguous -compact\n", to);
	for (const struct mlgen_choice *c = f->choices; c->name; c++) {
		const char *form = variant_form(c);
		size_t len = variant_word_length(c) - (form != NULL);

		fprintf(to, ".It Cm %.*s%s%s\n", (int)len, c->name, form ? " : Ns Ar " : "",
			form ? form : "");
		print_mdoc_lines(to, c->help);
	}
	fputs(".El\n", to);
}

/* "(default 4, 1 to 1024; as in fio)" */
static void add_option_note(struct buf *out, const struct mlgen_field *f)
{
	if (help_text_is_setting(f) && f->type == MLGEN_BOOL)
		return;
	buf_addc(out, '(');
	field_range_text(out, f);
	if (f->flags & MLGEN_FIO)
		buf_add(out, "; as in fio");
	buf_addc(out, ')');
}

/* "(bytes/s, or null)" */
static void add_metric_note(struct buf *out, const struct mlgen_field *f)
{
	bool is_nullable = f->flags & MLGEN_NULLABLE;

	if (!f->unit && !is_nullable)
		return;
	buf_addf(out, "(%s%s%s)", f->unit ? f->unit : "", f->unit && is_nullable ? ", " : "",
		 is_nullable ? "or null" : "");
}

static void print_mdoc_option(FILE *to, const struct mlgen_field *f)
{
	struct buf note = { 0 };

	print_mdoc_head(to, f);
	print_mdoc_lines(to, f->help);
	print_mdoc_choices(to, f);
	if (f->alias)
		fprintf(to, "Also written\n.Cm %s .\n", f->alias);
	if (is_metric(f))
		add_metric_note(&note, f);
	else
		add_option_note(&note, f);
	if (note.len)
		print_mdoc_lines(to, buf_str(&note));
	buf_fini(&note);
}

int help_option(FILE *to, const char *name, const struct mlgen_engine *const *engines,
		struct mlgen_err *err)
{
	static const struct mlgen_field *const tables[] = {
		job_fields,
		settings_fields,
		NULL,
	};
	const struct mlgen_field *f = help_find_option(name, engines);
	const struct fio_option *fio = fio_option_find(name);
	const char *nearest = field_nearest(tables, name);

	if (strcmp(name, "all") == 0) {
		print_all_options(to);
		return 0;
	}
	if (f) {
		print_option(to, f);
		return 0;
	}
	if (fio && fio->note && !fio->when) {
		fprintf(to, "%s: fio option, changes nothing here: %s\n", name, fio->note);
		return 0;
	}
	if (fio)
		return mlgen_fail(err, -ENOENT, "%s: fio option, not in mlgen%s%s", name,
				  fio->hint ? ": " : "", fio->hint ? fio->hint : "");
	return mlgen_fail(err, -ENOENT, "%s: unknown option%s%s%s", name,
			  nearest ? "; did you mean '" : "", nearest ? nearest : "",
			  nearest ? "'?" : "");
}

void help_mdoc(FILE *to, const struct mlgen_field *table)
{
	const char *group = "";

	for (const struct mlgen_field *f = table; f->name; f++) {
		const char *heading = f->group ? f->group : "";

		if (f == table || strcmp(group, heading) != 0) {
			if (f != table)
				fputs(".El\n", to);
			if (*heading)
				fprintf(to, ".Ss \"%s\"\n", heading);
			fputs(".Bl -tag -width Ds\n", to);
		}
		group = heading;
		print_mdoc_option(to, f);
	}
	if (table->name)
		fputs(".El\n", to);
}
