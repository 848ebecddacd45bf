/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - the questions there are. */
#include "ask/ask.h"

static const char *const of_compare[] = { "tolerance", NULL };
static const char *const of_a_host[] = { "memory", "hosts", NULL };
static const char *const of_import[] = { "lenient", "markers", NULL };
static const char *const of_clean[] = { "yes", NULL };
static const char *const of_capture[] = {
	"duration", "pid", "cgroup", "capture-user", "buffer", "capture-backend", NULL
};

#define RUNS "what --json=FILE of a run wrote, such as *.json"

/* clang-format off */
const struct question ask_questions[] = {
	{ "table", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .prints_csv = true, .answer = ask_table },
	{ "compare", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .needs_two = true, .goes_with = of_compare, .answer = ask_compare },
	{ "merge", ABOUT_FILES, RUNS, .writes_json = true, .writes_html = true, .takes_require = true, .has_report = true, .answer = ask_merge },
	{ "report", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .prints_csv = true, .is_implied = true, .takes_require = true, .has_report = true, .answer = ask_report },
	{ "page", ABOUT_FILES, RUNS, .writes_html = true, .shows_documents = true, .answer = ask_page },
	{ "import", ABOUT_FILES, "the YAML file of a workload, or the log of another program", .goes_with = of_import, .answer = ask_import },
	{ "export", ABOUT_FILES, "a trace", .is_streamed = true, .answer = ask_export },
	{ "clean", ABOUT_FILES, "the directory of a dataset or of checkpoints", .goes_with = of_clean, .answer = ask_clean },
	{ "describe", ABOUT_FILES, "the files of a trace, as --trace=FILE of a run wrote them", .writes_json = true, .writes_html = true, .writes_log = true, .answer = ask_describe },
	{ "distil", ABOUT_FILES, "the files of a trace of a real run", .answer = ask_distil },
	{ "capture", ABOUT_COMMAND, .goes_with = of_capture, .answer = ask_capture },
	{ "score", ABOUT_FILES, "the trace of a real run, and of a candidate, or its job", .needs_two = true, .writes_json = true, .writes_html = true, .takes_job = true, .takes_require = true, .answer = ask_score },
	{ "datasize", ABOUT_JOBS, .only_looks = true, .before_dry_run = true, .goes_with = of_a_host, .answer = ask_datasize },
	{ "miss-curve", ABOUT_JOBS, .only_looks = true, .takes_documents = true, .answer = ask_miss_curve },
	{ "check", ABOUT_DOCUMENTS, RUNS, .goes_with = of_a_host, .answer = ask_check },
	{ "find-max", ABOUT_JOBS, .is_live = true, .takes_require = true, .has_report = true, .answer = ask_find_max },
	{ "find-min", ABOUT_JOBS, .is_live = true, .takes_require = true, .has_report = true, .answer = ask_find_min },
	{ 0 },
};
/* clang-format on */
