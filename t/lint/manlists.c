/* SPDX-License-Identifier: Apache-2.0 */
/* manlists.c - print the field tables for the manual pages and for lint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/engines.h"
#include "job/help.h"
#include "job/job.h"
#include "job/settings.h"
#include "report/metrics.h"
#include "run/live.h"

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
	help_mdoc(stdout, job_fields);
}

static void print_settings(void)
{
	help_mdoc(stdout, settings_fields);
}

/* The keys of the JSON document, object by object. */
static void print_metrics(void)
{
	for (const struct metrics_section *s = metrics_sections; s->table;
	     s++) {
		if (*s->path)
			printf(".Ss \"%s\"\n", s->path);
		help_mdoc(stdout, s->table);
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
			help_mdoc(stdout, engines_built[i]->opts);
}

static const struct {
	const char *name;
	void (*print)(void);
} lists[] = {
	{ "settings", print_settings }, { "options", print_options },
	{ "engines", print_engines },   { "metrics", print_metrics },
	{ "log", print_log },
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
			print_names(engines_built[i]->name,
				    engines_built[i]->opts);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: manlists --lists|--names|LIST\n");
		return 2;
	}
	if (strcmp(argv[1], "--lists") == 0) {
		print_lists();
	} else if (strcmp(argv[1], "--names") == 0) {
		print_all_names();
	} else if (print_list(argv[1]) < 0) {
		fprintf(stderr, "manlists: no list '%s'\n", argv[1]);
		return 1;
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
