/* SPDX-License-Identifier: Apache-2.0 */
/* manlists.c - print the field tables for the manual pages, for completion in shells, and for
 * lint. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/fields.h"
#include "io/engines.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/prometheus/prometheus.h"
#include "run/watch/watch.h"
#include "trace/documents/documents.h"
#include "tracing/tracing.h"

static const struct {
	const char *name;
	const struct mlgen_field *table;
} tables[] = {
	{ "options", job_fields },
	{ "settings", settings_fields },
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void print_options(void)
{
	help_mdoc(stdout, job_fields, false);
}

static void print_settings(void)
{
	help_mdoc(stdout, settings_fields, true);
}

/* The keys of the JSON document, object by object. */
static void print_metrics(void)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++) {
		if (*s->path)
			printf(".Ss \"%s\"\n", s->path);
		help_mdoc(stdout, s->table, false);
	}
}

/* The same of a trace that is described. */
static void print_trace(void)
{
	for (const struct document_section *s = described_sections; s->table; s++) {
		if (*s->path)
			printf(".Ss \"%s\"\n", s->path);
		help_mdoc(stdout, s->table, false);
	}
}

/* The same of a score. */
static void print_score(void)
{
	for (const struct document_section *s = scored_sections; s->table; s++) {
		if (*s->path)
			printf(".Ss \"%s\"\n", s->path);
		help_mdoc(stdout, s->table, false);
	}
}

/* The options of mltrace, command by command. */
static void print_mltrace(void)
{
	for (const struct tracing_command *c = tracing_commands; c->name; c++) {
		printf(".Ss \"mltrace %s\"\n", c->name);
		help_mdoc(stdout, c->options, true);
	}
}

/* As lines of a page's source, which are short. */
static void print_wrapped(const char *text)
{
	size_t column = 0;

	for (; *text; text++) {
		bool breaks = *text == ' ' && column > 60;

		putchar(breaks ? '\n' : *text);
		column = breaks ? 0 : column + 1;
	}
	putchar('\n');
}

/* The columns of --log. */
static void print_log(void)
{
	puts(".Bl -tag -width Ds");
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (!live_is_column(f))
			continue;
		printf(".It Va %s\n", f->field.name);
		print_wrapped(f->field.help);
	}
	puts(".El");
}

static void print_family(const struct live_field *f, bool is_target)
{
	static const char *const endings[] = {
		[PROM_GAUGE] = "", [PROM_COUNTER] = "_total", [PROM_HISTOGRAM] = ""
	};
	struct prom_family p;

	prom_family_init(&p, f, is_target);
	printf(".It Va %s%s\n", p.name, endings[p.type]);
	if (p.type == PROM_HISTOGRAM)
		puts("A histogram.");
	print_wrapped(buf_str(&p.help));
	prom_family_fini(&p);
}

/* What --metrics serves. */
static void print_served(void)
{
	puts(".Bl -tag -width Ds");
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (!prom_is_metric(f))
			continue;
		print_family(f, false);
		if (f->kind == LIVE_PROGRESS)
			print_family(f, true);
	}
	puts(".El");
}

static void print_engine(const struct mlgen_engine *e)
{
	printf(".It Cm %s\n%s\n", e->name, e->help);
	printf("(%ssynchronous)\n", e->reap ? "a" : "");
}

/* The engines that were built, then the options of those that have some. */
static void print_engines(void)
{
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; engines_built[i]; i++)
		print_engine(engines_built[i]);
	puts(".El");
	for (size_t i = 0; engines_built[i]; i++)
		if (engines_built[i]->opts)
			help_mdoc(stdout, engines_built[i]->opts, false);
}

static const struct {
	const char *name;
	void (*print)(void);
} lists[] = {
	{ "settings", print_settings }, { "options", print_options }, { "engines", print_engines },
	{ "metrics", print_metrics },   { "log", print_log },         { "trace", print_trace },
	{ "score", print_score },       { "served", print_served },   { "mltrace", print_mltrace },
};

#define LISTS (sizeof(lists) / sizeof(lists[0]))

static int print_list(const char *name)
{
	for (size_t i = 0; i < LISTS; i++) {
		if (strcmp(lists[i].name, name) != 0)
			continue;
		lists[i].print();
		return 0;
	}
	return -1;
}

/* Every list there is, a name a line. */
static void print_lists(void)
{
	for (size_t i = 0; i < LISTS; i++)
		puts(lists[i].name);
}

/* "TABLE NAME fio|own" for each option and each alias. */
static void print_names(const char *list, const struct mlgen_field *table)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		const char *origin = f->flags & MLGEN_FIO ? "fio" : "own";

		printf("%s %s %s\n", list, f->name, origin);
		if (f->alias)
			printf("%s %s %s\n", list, f->alias, origin);
	}
}

static void print_all_names(void)
{
	for (size_t i = 0; i < TABLES; i++)
		print_names(tables[i].name, tables[i].table);
	for (size_t i = 0; engines_built[i]; i++)
		if (engines_built[i]->opts)
			print_names(engines_built[i]->name, engines_built[i]->opts);
}

/* What may stand behind an option's "=", as completion/ has it. */
static void print_values(const struct mlgen_field *f, bool is_setting)
{
	const char *between = "";

	if (f->type == MLGEN_BOOL)
		printf(is_setting ? "-" : "0 1");
	else if (f->flags & MLGEN_SELECTS)
		printf("@section");
	else if (strcmp(f->name, "ioengine") == 0 || strcmp(f->name, "enghelp") == 0)
		printf("@engine");
	else if (strcmp(f->name, "cmdhelp") == 0 || strcmp(f->name, "find-max") == 0)
		printf("@option");
	else if (f->type == MLGEN_STR)
		printf("@file");
	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		if (field_is_spelling(f, c))
			continue;
		printf("%s%.*s", between, (int)variant_word_length(c), c->name);
		between = " ";
	}
}

/* The first sentence of its help, without a full stop, in a shell's quotes. */
static void print_quoted(const char *help)
{
	size_t len = strcspn(help, "\n");

	if (len && help[len - 1] == '.')
		len--;
	for (size_t i = 0; i < len; i++)
		if (help[i] == '\'')
			fputs("'\\''", stdout);
		else
			putchar(help[i] == '|' ? '/' : help[i]);
}

static void print_completion(const struct mlgen_field *table, bool is_setting)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		printf("\t'%s|", f->name);
		print_values(f, is_setting);
		putchar('|');
		print_quoted(f->help);
		puts("'");
	}
}

/* 'NAME|VALUES|SENTENCE' for each option that a command line may have. */
static void print_all_completion(void)
{
	print_completion(settings_fields, true);
	puts("\t'name||Start a job of this name, made of the options behind it'");
	print_completion(job_fields, false);
	for (size_t i = 0; engines_built[i]; i++)
		print_completion(engines_built[i]->opts, false);
}

/* "COMMAND", then rows as above, for each command of mltrace. */
static void print_mltrace_completion(void)
{
	for (const struct tracing_command *c = tracing_commands; c->name; c++)
		for (const struct mlgen_field *f = c->options; f->name; f++) {
			printf("\t'%s %s|", c->name, f->name);
			print_values(f, true);
			putchar('|');
			print_quoted(f->help);
			puts("'");
		}
}

static void print_engine_names(void)
{
	for (size_t i = 0; engines_built[i]; i++)
		printf("%s%s", i ? " " : "", engines_built[i]->name);
	putchar('\n');
}

static const struct {
	const char *option;
	void (*print)(void);
} requests[] = {
	{ "--lists", print_lists },
	{ "--names", print_all_names },
	{ "--completion", print_all_completion },
	{ "--engines", print_engine_names },
	{ "--mltrace", print_mltrace_completion },
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static bool print_request(const char *option)
{
	for (size_t i = 0; i < REQUESTS; i++) {
		if (strcmp(requests[i].option, option) != 0)
			continue;
		requests[i].print();
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr,
			"usage: manlists --lists|--names|--completion|--engines|--mltrace|LIST\n");
		return 2;
	}
	if (!print_request(argv[1]) && print_list(argv[1]) < 0) {
		fprintf(stderr, "manlists: no list '%s'\n", argv[1]);
		return 1;
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
