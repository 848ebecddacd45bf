/* SPDX-License-Identifier: Apache-2.0 */
/* cmdline.c - a command line as written: files, jobs, options, settings. */
#include "job/job_internal.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/log.h"
#include "field/fields.h"

/* Limit of jobs and of sections on a command line. */
#define PARTS_MAX 1000

static const struct diag_place on_command_line;

/* The parts of --[SECTION.]OPTION[=VALUE]. */
struct arg {
	char *section; /* the text before the last '.', or NULL */
	char *key;
	const char *value; /* NULL when there is no '=' */
};

static struct cmdline_part *find_part(struct cmdline_part *parts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	}
	return NULL;
}

static struct cmdline_part *add_part(struct cmdline_part **parts, size_t *count, const char *name)
{
	struct cmdline_part *part = NULL;

	*parts = mem_realloc(*parts, (*count + 1) * sizeof(**parts));
	part = &(*parts)[(*count)++];
	memset(part, 0, sizeof(*part));
	part->name = mem_strdup(name);
	return part;
}

static void free_parts(struct cmdline_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free(parts[i].name);
		optlist_fini(&parts[i].opts);
	}
	mem_free(parts);
}

/* The value of a setting that is written without one; NULL = a value is needed. */
static const char *bare_setting(const struct mlgen_field *f)
{
	if (field_is_flag(f))
		return "1";
	if (strcmp(f->name, "help") == 0 || strcmp(f->name, "enghelp") == 0 ||
	    strcmp(f->name, "cmdhelp") == 0)
		return "";
	return NULL;
}

/* Append to a setting that may be repeated. Requirements are joined with commas, sections with line
 * breaks, since a name may contain a comma. */
static void append_value(struct settings *s, const struct mlgen_field *f, const char *value,
			 struct diag *d)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };

	field_format(&text, f, s);
	if (text.len)
		buf_addc(&text, f->flags & MLGEN_LINES ? '\n' : ',');
	buf_add(&text, value);
	if (field_parse(f, s, buf_str(&text), 1024, &err))
		diag_fail(d, "%s", err.text);
	buf_fini(&text);
}

static void set_setting(struct settings *s, const struct mlgen_field *f, const struct arg *a,
			struct diag *d)
{
	const char *value = a->value ? a->value : bare_setting(f);
	bool is_max = strcmp(f->name, "find-max") == 0;
	struct mlgen_err err = { 0 };

	if (a->section && a->value && (is_max || strcmp(f->name, "find-min") == 0)) {
		/* --JOB.find-max=OPTION is --find-max=JOB.OPTION. */
		struct buf text = { 0 };

		buf_addf(&text, "%s.%s", a->section, a->value);
		mem_replace(is_max ? &s->find_max : &s->find_min, buf_str(&text));
		buf_fini(&text);
		return;
	}
	if (a->section)
		diag_fail(d, "%s.%s: %s is an option of the program, not of a job; write --%s",
			  a->section, a->key, f->name, f->name);
	else if (!value || (a->value && !*value && !bare_setting(f)))
		diag_fail(d, "%s: no value; write --%s=VALUE", f->name, f->name);
	else if (strcmp(f->name, "help") == 0)
		mem_replace(&s->help, value);
	else if (strcmp(f->name, "enghelp") == 0)
		mem_replace(&s->enghelp, value);
	else if (strcmp(f->name, "cmdhelp") == 0)
		mem_replace(&s->cmdhelp, *value ? value : "all");
	else if (f->flags & (MLGEN_REPEATS | MLGEN_LINES))
		append_value(s, f, value, d);
	else if (field_parse(f, s, value, 1024, &err))
		diag_fail(d, "%s", err.text);
}

/* Set an option in the list. The last of several values wins. */
static void set_option(struct optlist *list, const struct arg *a, struct diag *d)
{
	const char *value = a->value ? a->value : "1";
	struct opt *o = optlist_find(list, a->key);

	if (o)
		optlist_replace(o, value, !a->value, on_command_line);
	else if (!optlist_add(list, a->key, value, !a->value, on_command_line))
		diag_fail(d, "more than %d options for one job", OPTLIST_MAX);
}

static void start_job(struct cmdline *c, const struct arg *a, struct diag *d)
{
	const char *name = a->value ? a->value : "";

	if (!*name)
		diag_fail(d, "name: no value; write --name=VALUE");
	else if (*name == '.' || strchr(name, '/') || strpbrk(name, "[]$\n"))
		diag_fail(d,
			  "name=%s: a name is part of paths; it cannot begin with '.' or contain "
			  "'/', '[', ']' or '$'",
			  name);
	else if (find_part(c->jobs, c->job_count, name))
		diag_fail(d, "name=%s: a job of this name already exists", name);
	else if (c->job_count == PARTS_MAX)
		diag_fail(d, "more than %d jobs", PARTS_MAX);
	else
		add_part(&c->jobs, &c->job_count, name);
}

static void set_section_option(struct cmdline *c, const struct arg *a, struct diag *d)
{
	struct cmdline_part *part = find_part(c->sections, c->section_count, a->section);

	if (!part && c->section_count == PARTS_MAX) {
		diag_fail(d, "options for more than %d job names", PARTS_MAX);
		return;
	}
	if (!part)
		part = add_part(&c->sections, &c->section_count, a->section);
	set_option(&part->opts, a, d);
}

static void parse_argument(struct cmdline *c, struct settings *s, const char *text, struct diag *d)
{
	size_t len = strcspn(text, "=");
	char *name = mem_strndup(text, len);
	const char *dot = strrchr(name, '.');
	struct arg a = {
		.section = dot ? mem_strndup(name, (size_t)(dot - name)) : NULL,
		.key = mem_strdup(dot ? dot + 1 : name),
		.value = text[len] ? text + len + 1 : NULL,
	};
	const struct mlgen_field *f = field_find(settings_fields, a.key);

	if (!*a.key || (a.section && !*a.section))
		diag_fail(d,
			  "--%s: the %s's name is missing; write --OPTION=VALUE, or "
			  "--JOB.OPTION=VALUE for one job",
			  text, *a.key ? "job" : "option");
	else if (f)
		set_setting(s, f, &a, d);
	else if (a.section)
		set_section_option(c, &a, d);
	else if (strcmp(a.key, "name") == 0)
		start_job(c, &a, d);
	else if (c->job_count)
		set_option(&c->jobs[c->job_count - 1].opts, &a, d);
	else
		set_option(&c->all, &a, d);
	mem_free(a.section);
	mem_free(a.key);
	mem_free(name);
}

static void add_file(struct cmdline *c, const char *arg, struct diag *d)
{
	if (*arg == '=') {
		diag_fail(d, "%s: the option's name is missing; write --OPTION=VALUE", arg);
	} else if (!*arg) {
		diag_fail(d, "an argument is empty; name a job file");
	} else {
		c->files = mem_realloc(c->files, (c->file_count + 1) * sizeof(*c->files));
		c->files[c->file_count++] = mem_strdup(arg);
	}
}

void cmdline_read(struct cmdline *c, struct settings *s, int argc, char *const argv[],
		  struct diag *d)
{
	const struct opt *dataset;
	bool only_files = false;

	memset(c, 0, sizeof(*c));
	memset(s, 0, sizeof(*s));
	field_defaults(settings_fields, s);
	if (moved_check(argc, argv, d))
		return;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (only_files || arg[0] != '-' || !arg[1])
			add_file(c, arg, d);
		else if (strcmp(arg, "-h") == 0)
			parse_argument(c, s, "help", d);
		else if (arg[1] != '-')
			diag_fail(d, "%s: options begin with two dashes; --help lists them", arg);
		else if (!arg[2])
			only_files = true;
		else
			parse_argument(c, s, arg + 2, d);
	}
	/* A scan needs no option that only a job file can set. */
	dataset = optlist_find(&c->all, "dataset");
	if (c->file_count == 0 && c->job_count == 0 && dataset &&
	    strcasecmp(dataset->value, "scan") == 0)
		add_part(&c->jobs, &c->job_count, "scan");
}

void cmdline_fini(struct cmdline *c)
{
	for (size_t i = 0; i < c->file_count; i++)
		mem_free(c->files[i]);
	mem_free(c->files);
	optlist_fini(&c->all);
	free_parts(c->sections, c->section_count);
	free_parts(c->jobs, c->job_count);
	memset(c, 0, sizeof(*c));
}
