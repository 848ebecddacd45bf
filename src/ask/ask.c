/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - the table of questions, and the environment of job files. */
#include "ask/ask.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "data/dataset/dataset.h"
#include "io/engines.h"

static const char *const compare_options[] = { "tolerance", NULL };
static const char *const host_options[] = { "memory", "hosts", NULL };
static const char *const clean_options[] = { "yes", NULL };

#define RUNS "JSON documents of runs (--json=FILE), such as *.json"

/* clang-format off */
const struct question ask_questions[] = {
	{ "table", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .prints_csv = true, .answer = ask_table },
	{ "compare", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .needs_two = true, .goes_with = compare_options, .answer = ask_compare },
	{ "merge", ABOUT_FILES, RUNS, .writes_json = true, .writes_html = true, .takes_require = true, .has_report = true, .answer = ask_merge },
	{ "report", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .prints_csv = true, .is_implied = true, .takes_require = true, .has_report = true, .answer = ask_report },
	{ "page", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .answer = ask_page },
	{ "import", ABOUT_FILES, "the YAML file of a workload", .answer = ask_import_dlio },
	{ "clean", ABOUT_FILES, "the directory of a dataset or of checkpoints", .goes_with = clean_options, .answer = ask_clean },
	{ "datasize", ABOUT_JOBS, .only_looks = true, .replaces_dry_run = true, .goes_with = host_options, .answer = ask_datasize },
	{ "miss-curve", ABOUT_JOBS, .only_looks = true, .accepts_documents = true, .answer = ask_miss_curve },
	{ "check", ABOUT_DOCUMENTS, RUNS, .goes_with = host_options, .answer = ask_check },
	{ "find-max", ABOUT_JOBS, .is_live = true, .takes_require = true, .has_report = true, .answer = ask_find_max },
	{ "find-min", ABOUT_JOBS, .is_live = true, .takes_require = true, .has_report = true, .answer = ask_find_min },
	{ 0 },
};
/* clang-format on */

void ask_env(struct jobset_env *env, char *binary_dir, const char *argv0)
{
	ssize_t n = readlink("/proc/self/exe", binary_dir, PATH_MAX - 1);

	if (n < 0)
		n = snprintf(binary_dir, PATH_MAX, "%s", argv0);
	binary_dir[n < PATH_MAX ? n : PATH_MAX - 1] = '\0';
	char *slash = strrchr(binary_dir, '/');
	if (slash)
		*slash = '\0';
	*env = (struct jobset_env){ .engines = engines_built,
				    .questions = ask_questions,
				    .why_absent = engines_why_absent,
				    .load = engines_load,
				    .look = engines_check_path,
				    .shards = detect_shards,
				    .binary_dir = binary_dir,
				    .installed_dir = MLGEN_JOBS_DIR };
}
