/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - --help=TOPIC, --cmdhelp and the lists of the man pages, all from the tables. */
#include "job/job_internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "field/fields.h"

/* ---- parts of all lists ---- */

/* Append the first line of a help text, as a clause: no capital, no full stop. */
static void help_text_clause(struct buf *out, const char *help)
{
	size_t len = strcspn(help, "\n");
	bool is_word = len > 1 && islower((unsigned char)help[1]);

	if (len && help[len - 1] == '.')
		len--;
	if (!len)
		return;
	buf_addc(out, is_word ? (char)tolower((unsigned char)*help) : *help);
	buf_addn(out, help + 1, len - 1);
}

/* Is this an option of the program, and not of a job? */
static bool help_text_is_setting(const struct mlgen_field *f)
{
	return f >= settings_fields && f < settings_fields + field_count(settings_fields);
}

/* Append "--json=TEXT", "bs=SIZE[,SIZE]". */
static void help_text_usage(struct buf *out, const struct mlgen_field *f)
{
	buf_addf(out, "%s%s", help_text_is_setting(f) ? "--" : "", f->name);
	if (help_text_is_setting(f) && f->type == MLGEN_BOOL)
		return;
	buf_addc(out, '=');
	field_type_text(out, f);
}

void help_text_print(FILE *to, struct buf *line, const char *text, size_t indent, size_t columns)
{
	if (line->len >= indent)
		buf_addf(line, "\n%*s", (int)indent, "");
	else
		buf_addf(line, "%*s", (int)(indent - line->len), "");
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct buf words = { 0 };

		/* A paragraph ends with a line that ends a sentence. */
		while (text[len] && len && text[len - 1] != '.')
			len += 1 + strcspn(text + len + 1, "\n");
		if (wrap_column_of(line) > indent)
			buf_addf(line, "\n%*s", (int)indent, "");
		for (size_t i = 0; i < len; i++)
			buf_addc(&words, text[i] == '\n' ? ' ' : text[i]);
		wrap_words(line, indent, columns, buf_str(&words));
		buf_fini(&words);
		text += len + (text[len] == '\n');
	}
	fprintf(to, "%s\n", buf_str(line));
}

/* ---- --cmdhelp ---- */

#define OPTION_INDENT 19 /* column of the texts of --cmdhelp */
#define RANGE_COLUMN 56  /* column of the range after a short text */
#define CHOICE_WIDTH 10

static void print_option(FILE *to, const struct mlgen_field *f)
{
	const char *more = strchr(f->help, '\n');
	struct buf usage = { 0 }, text = { 0 }, range = { 0 }, line = { 0 };
	size_t end, at;

	/* Name, text and range are on one line if they fit. */
	help_text_usage(&usage, f);
	help_text_clause(&text, f->help);
	field_range_text(&range, f);
	end = OPTION_INDENT + text.len + 2;
	at = end < RANGE_COLUMN ? RANGE_COLUMN : end;
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

	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		buf_reset(&line);
		buf_addf(&line, "%*s%-*s ", OPTION_INDENT, "", CHOICE_WIDTH, c->name);
		help_text_print(to, &line, c->help, OPTION_INDENT + CHOICE_WIDTH + 2,
				wrap_columns());
	}
	buf_reset(&line);
	if (more)
		help_text_print(to, &line, more + 1, OPTION_INDENT, wrap_columns());
	buf_fini(&line);
	if (f->alias)
		fprintf(to, "%*salso written %s\n", OPTION_INDENT, "", f->alias);
	if (f->flags & MLGEN_SELECTS)
		fprintf(to, "%*s[%s=VALUE] sections contain the options that differ\n",
			OPTION_INDENT, "", f->name);
}

/* ---- man pages ---- */

/* Print a line as mdoc text, with characters that roff interprets escaped. */
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
		/* mdoc expects each sentence on a line of its own. */
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

static void print_mdoc_option(FILE *to, const struct mlgen_field *f, bool has_dashes)
{
	bool is_metric = !f->group; /* options, which can be set, have a group */
	bool is_nullable = f->flags & MLGEN_NULLABLE;
	bool is_flag = has_dashes && f->type == MLGEN_BOOL;
	struct buf type = { 0 }, note = { 0 };

	if (is_metric) {
		fprintf(to, ".It Va %s\n", f->name);
	} else if (is_flag) {
		fprintf(to, ".It Fl -%s\n", f->name);
	} else {
		field_type_text(&type, f);
		fprintf(to, ".It %s%s Ns = Ns Ar %s\n", has_dashes ? "Fl -" : "Cm ", f->name,
			buf_str(&type));
	}
	buf_fini(&type);
	print_mdoc_lines(to, f->help);

	if (f->choices)
		fputs(".Bl -tag -width contiguous -compact\n", to);
	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		const char *form = variant_form(c);
		size_t len = variant_word_length(c) - (form != NULL);

		fprintf(to, ".It Cm %.*s%s%s\n", (int)len, c->name, form ? " : Ns Ar " : "",
			form ? form : "");
		print_mdoc_lines(to, c->help);
	}
	if (f->choices)
		fputs(".El\n", to);
	if (f->alias)
		fprintf(to, "Also written\n.Cm %s .\n", f->alias);

	if (is_metric && (f->unit || is_nullable)) {
		/* "(bytes/s, or null)" */
		buf_addf(&note, "(%s%s%s)", f->unit ? f->unit : "",
			 f->unit && is_nullable ? ", " : "", is_nullable ? "or null" : "");
	} else if (!is_metric && !is_flag) {
		/* "(default 4, 1 to 1024; as in fio)" */
		buf_addc(&note, '(');
		field_range_text(&note, f);
		buf_addf(&note, "%s)", f->flags & MLGEN_FIO ? "; as in fio" : "");
	}
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
	const struct mlgen_field *f = field_find(job_fields, name);
	const struct fio_option *fio = fio_option_find(name);
	const char *nearest = field_nearest(tables, name), *group = "";

	if (!f)
		f = field_find(settings_fields, name);
	for (; !f && *engines; engines++)
		f = field_find((*engines)->opts, name);
	if (strcmp(name, "all") == 0) {
		for (f = job_fields; f->name; f++) {
			if (strcmp(group, f->group) != 0)
				fprintf(to, "%s%s\n\n", *group ? "\n" : "", f->group);
			group = f->group;
			print_option(to, f);
		}
		return 0;
	}
	if (f) {
		print_option(to, f);
		return 0;
	}
	if (fio && fio->note && !fio->when) {
		fprintf(to, "%s: fio option without effect in mlgen: %s\n", name, fio->note);
		return 0;
	}
	if (fio)
		return mlgen_fail(err, -ENOENT, "%s: fio option, not in mlgen%s%s", name,
				  fio->hint ? ": " : "", fio->hint ? fio->hint : "");
	return mlgen_fail(err, -ENOENT, "%s: unknown option%s%s%s", name,
			  nearest ? "; did you mean '" : "", nearest ? nearest : "",
			  nearest ? "'?" : "");
}

void help_mdoc(FILE *to, const struct mlgen_field *table, bool has_dashes)
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
		print_mdoc_option(to, f, has_dashes);
	}
	if (table->name)
		fputs(".El\n", to);
}

/* ---- --help ---- */

#define HELP_INDENT 33  /* column of the sentences about options */
#define TOPIC_INDENT 16 /* column of the names of a topic's options */
#define TOPIC_MAX 32

static const char usage_lines[] =
	"usage: mlgen [OPTION...] JOB.job...\n"
	"       mlgen [OPTION...] --name=NAME [OPTION...]\n"
	"\n"
	"Does the I/O of a training job against real storage, sleeps where the\n"
	"accelerator would compute, and reports how well the storage keeps up.\n";

static const char example_lines[] =
	"\n"
	"  mlgen quickstart.job           a first run\n"
	"  mlgen --list-jobs              the jobs that come with mlgen\n"
	"  mlgen unet3d.job --dry-run     what a job does, and what would stop it\n"
	"  mlgen unet3d.job --directory=/mnt/array/unet3d --accelerators=8\n";

static const char job_lines[] =
	"\n"
	"Options of a job, in a job file or on the command line for all jobs\n"
	"(--JOB.option=VALUE for one job)\n";

static const char more_lines[] =
	"\n"
	"--help=TOPIC lists the options of a topic, --help=all lists all options;\n"
	"--cmdhelp=OPTION explains an option, --enghelp lists the engines;\n"
	"see also man mlgen, man mlgen-job.\n"
	"mltrace records, describes and compares traces; mltrace --help, man mltrace.\n";

/* ---- options, a line each ---- */

/* Print the options of one group, or of all groups if `only` is NULL, with headings. */
static void print_groups(FILE *to, const struct mlgen_field *table, const char *only)
{
	const char *group = "";

	for (const struct mlgen_field *f = table; f->name; f++) {
		struct buf usage = { 0 }, text = { 0 };

		if (only && strcmp(f->group, only) != 0)
			continue;
		if (strcmp(group, f->group) != 0)
			fprintf(to, "%s%s\n", only ? "" : "\n", f->group);
		group = f->group;

		buf_addf(&usage, "  %s", help_text_is_setting(f) ? "" : "--");
		help_text_usage(&usage, f);
		help_text_clause(&text, f->help);
		if (field_has_long_choices(f)) {
			buf_add(&text, ": ");
			field_choices_text(&text, f, ", ");
		}
		if (f->def && f->type != MLGEN_BOOL)
			buf_addf(&text, " [%s]", f->def);
		if (f->def && f->type == MLGEN_BOOL && strcmp(f->def, "0") != 0)
			buf_add(&text, " [on]");
		help_text_print(to, &usage, buf_str(&text), HELP_INDENT, wrap_columns());
		buf_fini(&usage);
		buf_fini(&text);
	}
}

static void print_all(FILE *to)
{
	struct buf usage = { 0 };

	fputs(usage_lines, to);
	print_groups(to, settings_fields, NULL);
	fputs(job_lines, to);
	buf_add(&usage, "  --name=TEXT");
	help_text_print(to, &usage, "start a job of this name, made of the options that follow",
			HELP_INDENT, wrap_columns());
	buf_fini(&usage);
	print_groups(to, job_fields, NULL);
	fputs("\n--cmdhelp=OPTION explains an option in full, man mlgen-job all of them.\n", to);
}

/* ---- topics ---- */

/* Make "plain-io" from "Plain I/O", and from anything that a user may type for it. */
static void topic_name(char name[TOPIC_MAX], const char *group)
{
	size_t n = 0;

	for (; *group && n < TOPIC_MAX - 1; group++) {
		if (isalnum((unsigned char)*group))
			name[n++] = (char)tolower((unsigned char)*group);
		else if (strchr(" -_", *group))
			name[n++] = '-';
	}
	name[n] = '\0';
}

/* The first row of the next group; NULL after the last group. */
static const struct mlgen_field *next_group(const struct mlgen_field *f)
{
	const char *group = f->group;

	while (f->name && strcmp(f->group, group) == 0)
		f++;
	return f->name ? f : NULL;
}

static const char *find_group(const struct mlgen_field *table, const char *topic)
{
	char wanted[TOPIC_MAX], name[TOPIC_MAX];

	topic_name(wanted, topic);
	for (const struct mlgen_field *f = table; f; f = next_group(f)) {
		topic_name(name, f->group);
		if (strcmp(name, wanted) == 0)
			return f->group;
	}
	return NULL;
}

/* Print "  dataset       format, num_files, ..." for each topic, with the names that fit a line. */
static void print_topics(FILE *to, const struct mlgen_field *table)
{
	static const char more[] = ", ...";

	for (const struct mlgen_field *first = table; first; first = next_group(first)) {
		struct buf line = { 0 };
		char name[TOPIC_MAX];

		topic_name(name, first->group);
		buf_addf(&line, "  %-*s", TOPIC_INDENT - 2, name);
		for (const struct mlgen_field *f = first;
		     f->name && strcmp(f->group, first->group) == 0; f++) {
			size_t more_len = f[1].name ? strlen(more) : 0;

			if (line.len + strlen(f->name) + 2 + more_len > wrap_columns()) {
				buf_add(&line, more);
				break;
			}
			buf_addf(&line, "%s%s", f == first ? "" : ", ", f->name);
		}
		fprintf(to, "%s\n", buf_str(&line));
		buf_fini(&line);
	}
}

static void list_topics(struct buf *out, const struct mlgen_field *table)
{
	char name[TOPIC_MAX];

	for (const struct mlgen_field *f = table; f; f = next_group(f)) {
		topic_name(name, f->group);
		buf_addf(out, " %s", name);
	}
}

int help_topic(FILE *to, const char *topic, const struct mlgen_engine *const *engines,
	       struct mlgen_err *err)
{
	const char *settings_group = find_group(settings_fields, topic);
	const char *job_group = find_group(job_fields, topic);
	int rc = 0;

	if (!*topic) {
		fputs(usage_lines, to);
		fputs(example_lines, to);
		fputs("\nOptions of the program, by topic\n", to);
		print_topics(to, settings_fields);
		fputs(job_lines, to);
		print_topics(to, job_fields);
		fputs(more_lines, to);
	} else if (strcmp(topic, "all") == 0) {
		print_all(to);
	} else if (settings_group) {
		print_groups(to, settings_fields, settings_group);
	} else if (job_group) {
		print_groups(to, job_fields, job_group);
	} else if (help_option(to, topic, engines, NULL) < 0) {
		struct buf names = { 0 };

		list_topics(&names, settings_fields);
		list_topics(&names, job_fields);
		rc = mlgen_fail(err, -ENOENT,
				"help=%s: is neither a topic nor an option; topics are%s, and all",
				topic, buf_str(&names));
		buf_fini(&names);
	}
	return rc;
}
