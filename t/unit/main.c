/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - run the unit tests: all suites, the one that is named, or list them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

struct entry {
	const char *name;
	Suite *(*make)(void);
};

/* clang-format off */
static const struct entry suites[] = {
#define SUITE_ENTRY(name) { #name, suite_##name },
	UNIT_SUITES(SUITE_ENTRY)
#undef SUITE_ENTRY
	{ NULL, NULL },
};
/* clang-format on */

/* Whether each check has a process of its own, which may die before it reports. */
static bool reports_places;

/*
 * Every ck_assert() that holds calls _mark_point(), which writes its place to a file and flushes
 * it, so that a crash can be located. The linker sends these calls here (-Wl,--wrap): where the
 * crash of a check ends the whole program nobody reads the file, and the writes took half of the
 * time of all suites.
 */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
	if (reports_places)
		__real__mark_point(file, line);
}

static int usage(const char *program, const char *unknown)
{
	if (unknown)
		fprintf(stderr, "no suite '%s'\n", unknown);
	fprintf(stderr, "usage: %s [SUITE | --list]\nsuites:", program);
	for (const struct entry *e = suites; e->name; e++)
		fprintf(stderr, " %s", e->name);
	fputc('\n', stderr);
	return 2;
}

static int list(void)
{
	for (const struct entry *e = suites; e->name; e++)
		puts(e->name);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Add the suites that are wanted; their number. */
static unsigned add(SRunner *runner, const char *only)
{
	unsigned added = 0;

	for (const struct entry *e = suites; e->name; e++) {
		if (only && strcmp(only, e->name) != 0)
			continue;
		srunner_add_suite(runner, e->make());
		added++;
	}
	return added;
}

/*
 * A process of its own, with a file for what it reports, costs more than most checks do, so one
 * does for a whole suite: but for those whose checks end it, or change what it is (limits,
 * environment, folders, handlers). What crashes or hangs then takes the rest of its suite along.
 * CK_FORK=yes gives each check its own again.
 */
static bool shares_process(const char *suite)
{
	static const char *const apart[] = {
		"clock",
		"engine_mmap",
		"engine_mmap_faults",
		"help",
		"jobfile",
		"jobset",
		"jobset_engines",
		"jobset_phases",
		"mem",
		"run",
		"run_errors",
		"scan",
		"scan_cache",
		"scan_cache_damage",
		"scan_dataset",
		"state_list",
	};

	for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++)
		if (strcmp(suite, apart[i]) == 0)
			return false;
	return !getenv("CK_FORK");
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;

	if (argc > 2)
		return usage(argv[0], NULL);
	if (only && strcmp(only, "--list") == 0)
		return list();

	SRunner *runner = srunner_create(NULL);
	if (add(runner, only) == 0 && only) {
		srunner_free(runner);
		return usage(argv[0], only);
	}
	if (only && shares_process(only))
		srunner_set_fork_status(runner, CK_NOFORK);
	reports_places = srunner_fork_status(runner) == CK_FORK;
	/* Not CK_ENV: the closing line must stay visible. */
	srunner_run_all(runner, CK_NORMAL);
	int ran = srunner_ntests_run(runner);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (ran == 0)
		fprintf(stderr, "no checks ran\n");
	return ran == 0 || failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
