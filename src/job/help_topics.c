/* SPDX-License-Identifier: Apache-2.0 */
/* help_topics.c - see help_topics.h. */
#include "job/help_topics.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/wrap.h"
#include "job/help.h"
#include "job/help_text.h"

#define HELP_INDENT 33  /* of the sentences about options */
#define TOPIC_INDENT 16 /* of the names of a topic's options */
#define TOPIC_MAX 32

static const char usage_lines[] =
	"usage: mlgen [OPTION...] JOB.job...\n"
	"       mlgen [OPTION...] --name=NAME [OPTION...]\n"
	"\n"
	"Does the I/O of a training job against real storage, sleeps where the\n"
	"accelerator would compute, and reports what the storage was worth.\n";

static const char example_lines[] =
	"\n"
	"  mlgen quickstart.job           a first run\n"
	"  mlgen --list-jobs              the jobs that come with mlgen\n"
	"  mlgen unet3d.job --dry-run     what one does, and what would stop it\n"
	"  mlgen unet3d.job --directory=/mnt/array/unet3d --accelerators=8\n";

static const char job_lines[] = "\n"
				"The options of a job, in a job file or here for all its jobs\n"
				"(--JOB.option=VALUE for one)\n";

static const char more_lines[] =
	"\n"
	"--help=TOPIC lists the options of a topic, --help=all all of them;\n"
	"--cmdhelp=OPTION explains one, --enghelp the engines; man mlgen, mlgen-job.\n";

/* ---- options, a line each ---- */

static void print_short(FILE *to, const struct mlgen_field *f)
{
	struct buf usage = { 0 }, text = { 0 };

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

/* Those of one group, or with NULL all, each group with its heading. */
static void print_groups(FILE *to, const struct mlgen_field *table, const char *only)
{
	const char *group = "";

	for (const struct mlgen_field *f = table; f->name; f++) {
		if (only && strcmp(f->group, only) != 0)
			continue;
		if (strcmp(group, f->group) != 0)
			fprintf(to, "%s%s\n", only ? "" : "\n", f->group);
		group = f->group;
		print_short(to, f);
	}
}

static void print_name(FILE *to)
{
	struct buf usage = { 0 };

	buf_add(&usage, "  --name=TEXT");
	help_text_print(to, &usage, "start a job of this name, made of the options behind it",
			HELP_INDENT, wrap_columns());
	buf_fini(&usage);
}

static void print_all(FILE *to)
{
	fputs(usage_lines, to);
	print_groups(to, settings_fields, NULL);
	fputs(job_lines, to);
	print_name(to);
	print_groups(to, job_fields, NULL);
	fputs("\n--cmdhelp=OPTION says more about one option, man mlgen-job about all.\n", to);
}

/* ---- topics ---- */

/* "plain-io" of "Plain I/O"; and of what was typed the same. */
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

/* The first row of the next group; NULL: there is none. */
static const struct mlgen_field *next_group(const struct mlgen_field *f)
{
	const char *group = f->group;

	while (f->name && strcmp(f->group, group) == 0)
		f++;
	return f->name ? f : NULL;
}

static const char *find_group(const struct mlgen_field *table, const char *topic)
{
	char asked[TOPIC_MAX], name[TOPIC_MAX];

	topic_name(asked, topic);
	for (const struct mlgen_field *f = table; f; f = next_group(f)) {
		topic_name(name, f->group);
		if (strcmp(name, asked) == 0)
			return f->group;
	}
	return NULL;
}

/* "  dataset       format, num_files, ...": as many names as a line holds. */
static void print_topic_line(FILE *to, const struct mlgen_field *first)
{
	static const char more[] = ", ...";
	struct buf line = { 0 };
	char name[TOPIC_MAX];

	topic_name(name, first->group);
	buf_addf(&line, "  %-*s", TOPIC_INDENT - 2, name);
	for (const struct mlgen_field *f = first; f->name; f++) {
		size_t behind = f[1].name ? strlen(more) : 0;

		if (strcmp(f->group, first->group) != 0)
			break;
		if (line.len + strlen(f->name) + 2 + behind > wrap_columns()) {
			buf_add(&line, more);
			break;
		}
		buf_addf(&line, "%s%s", f == first ? "" : ", ", f->name);
	}
	fprintf(to, "%s\n", buf_str(&line));
	buf_fini(&line);
}

static void print_topics(FILE *to, const struct mlgen_field *table)
{
	for (const struct mlgen_field *f = table; f; f = next_group(f))
		print_topic_line(to, f);
}

static void list_topics(struct buf *out, const struct mlgen_field *table)
{
	char name[TOPIC_MAX];

	for (const struct mlgen_field *f = table; f; f = next_group(f)) {
		topic_name(name, f->group);
		buf_addf(out, " %s", name);
	}
}

static void print_screen(FILE *to)
{
	fputs(usage_lines, to);
	fputs(example_lines, to);
	fputs("\nOptions of the program, by topic\n", to);
	print_topics(to, settings_fields);
	fputs(job_lines, to);
	print_topics(to, job_fields);
	fputs(more_lines, to);
}

static int fail_topic(const char *topic, struct mlgen_err *err)
{
	struct buf names = { 0 };
	int rc;

	list_topics(&names, settings_fields);
	list_topics(&names, job_fields);
	rc = mlgen_fail(err, -ENOENT, "help=%s: is no topic, and no option; topics are%s, and all",
			topic, buf_str(&names));
	buf_fini(&names);
	return rc;
}

int help_topic(FILE *to, const char *topic, const struct mlgen_engine *const *engines,
	       struct mlgen_err *err)
{
	const char *of_program = find_group(settings_fields, topic);
	const char *of_job = find_group(job_fields, topic);

	if (!*topic)
		print_screen(to);
	else if (strcmp(topic, "all") == 0)
		print_all(to);
	else if (of_program)
		print_groups(to, settings_fields, of_program);
	else if (of_job)
		print_groups(to, job_fields, of_job);
	else if (help_option(to, topic, engines, NULL) < 0)
		return fail_topic(topic, err);
	return 0;
}
