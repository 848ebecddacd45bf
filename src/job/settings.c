/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - options of the program as a whole, and rules that relate them. */
#include "job/job_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"

/* clang-format off */
static const struct mlgen_choice formats[] = {
	{ "text", OUTPUT_TEXT, "the report for people" },
	{ "json", OUTPUT_JSON, "one JSON document" },
	{ "normal", OUTPUT_TEXT, "as text" },
	{ "fio-json", OUTPUT_FIO_JSON, "as json, with the key 'fio version' that some parsers require" },
	{ "dlio", OUTPUT_DLIO, "the summary.json of DLIO, with its units: MB/s count whole rows, see mlgen-json(5)" },
	{ "csv", OUTPUT_CSV, "comma-separated values, with --table or for JSON documents" },
	{ "json+", OUTPUT_JSON, "as json, which includes everything of fio's json+" },
	{ 0 },
};

/* The values of a BOOL, and `show`. */
static const struct mlgen_choice dry_runs[] = {
	{ "0", DRY_RUN_OFF, "run" },
	{ "1", DRY_RUN_GATE, "with exit status 2 if the run would stop before its first byte; the same as --dry-run without a value" },
	{ "show", DRY_RUN_SHOW, "with exit status 0 in any case" },
	{ "no", DRY_RUN_OFF, "as 0" },
	{ "off", DRY_RUN_OFF, "as 0" },
	{ "false", DRY_RUN_OFF, "as 0" },
	{ "yes", DRY_RUN_GATE, "as 1" },
	{ "on", DRY_RUN_GATE, "as 1" },
	{ "true", DRY_RUN_GATE, "as 1" },
	{ 0 },
};

static const struct mlgen_choice ceilings[] = {
	{ "auto", CEILING_AUTO, "a short measurement, after a run of 5 s or more with the verdict host or unclear" },
	{ "no", CEILING_OFF, "never" },
	{ "0", CEILING_OFF, "as no" },
	{ "1", CEILING_ON, "for every training; the same as --ceiling without a value" },
	{ 0 },
};

static const struct mlgen_choice barriers_over[] = {
	{ "tcp", BARRIER_OVER_TCP, "connections of all processes to rank 0; waiting processes sleep" },
	{ "mpi", BARRIER_OVER_MPI, "MPI messages, with polling: slower, but works in networks without IP" },
	{ 0 },
};

static const struct mlgen_choice etas[] = {
	{ "auto", ETA_AUTO, "a status line on a terminal" },
	{ "always", ETA_ALWAYS, "always a status line" },
	{ "never", ETA_NEVER, "none" },
	{ 0 },
};

static const struct mlgen_choice checks[] = {
	{ "none", CHECK_NONE, "no rules" },
	{ "mlperf-v1", CHECK_MLPERF_V1, "the rules of MLPerf Storage v1.0" },
	{ "mlperf-v2", CHECK_MLPERF_V2, "the rules of MLPerf Storage v2.0" },
	{ "mlperf-v3", CHECK_MLPERF_V3, "the rules of MLPerf Storage v3.0" },
	{ 0 },
};

static const struct mlgen_choice imports[] = {
	{ "none", IMPORT_NONE, "nothing" },
	{ "dlio", IMPORT_DLIO, "a workload of DLIO, as YAML" },
	{ 0 },
};

#define NS_PER_DAY (86400 * NS_PER_S)

const struct mlgen_field settings_fields[] = {
	{ "help", MLGEN_F_STR(struct settings, help), .group = "Help", .flags = MLGEN_FIO,
	  .help = "List the options of a topic, or all options; without a value, or as -h, print an overview." },
	{ "cmdhelp", MLGEN_F_STR(struct settings, cmdhelp), .group = "Help", .flags = MLGEN_FIO,
	  .help = "Explain an option of a job, or all options." },
	{ "enghelp", MLGEN_F_STR(struct settings, enghelp), .group = "Help", .flags = MLGEN_FIO,
	  .help = "List the engines, or the options of an engine." },
	{ "list-jobs", MLGEN_F_BOOL(struct settings, list_jobs), .def = "0", .group = "Help",
	  .help = "List the jobs that come with mlgen and those in $MLGEN_JOBS." },
	{ "version", MLGEN_F_BOOL(struct settings, version), .def = "0", .group = "Help", .flags = MLGEN_FIO,
	  .help = "Print the version and commit of mlgen, and the engines and libraries with their versions." },

	{ "parse-only", MLGEN_F_BOOL(struct settings, parse_only), .def = "0", .group = "Before a run", .flags = MLGEN_FIO,
	  .help = "Check the job files and run nothing." },
	{ "dry-run", MLGEN_F_ENUM(struct settings, dry_run, dry_runs), .def = "0", .group = "Before a run",
	  .help = "Print the plan, and what would stop the run, without changing anything." },
	{ "thorough", MLGEN_F_BOOL(struct settings, thorough), .def = "0", .group = "Before a run",
	  .help = "Before a run and with --dry-run: check name and size of every file of a dataset, and not only of a thousand files." },
	{ "showjob", MLGEN_F_BOOL(struct settings, showjob), .def = "0", .group = "Before a run",
	  .help = "Print every option of the job, its value and its origin.\n"
		  "The output is a job file of the same jobs; values that a job file cannot contain are refused." },
	{ "section", MLGEN_F_STR(struct settings, section), .group = "Before a run", .flags = MLGEN_FIO | MLGEN_LINES,
	  .help = "Run only the job of this name. The option may be repeated; jobs run in the order of the job file." },
	{ "readonly", MLGEN_F_BOOL(struct settings, readonly), .def = "0", .group = "Before a run", .flags = MLGEN_FIO,
	  .help = "Refuse all operations that write, including the preparation of a dataset." },
	{ "allow_fill", MLGEN_F_BOOL(struct settings, allow_fill), .def = "0", .group = "Before a run",
	  .help = "Let the preparation use more than half of the free space." },
	{ "allow_device", MLGEN_F_STR(struct settings, allow_device), .group = "Before a run",
	  .help = "Let jobs write to this block device, such as /dev/sdb; separate several by ':'.\n"
		  "A device that is mounted or in use is refused anyway." },
	{ "replace", MLGEN_F_BOOL(struct settings, replace), .def = "0", .group = "Before a run",
	  .help = "With phase=prepare: delete a dataset that was made with other options, and create it again.\n"
		  "When saving checkpoints: also delete checkpoints that have the same name or are incomplete, even if another run may still write them." },

	{ "output-format", MLGEN_F_ENUM(struct settings, output_format, formats), .def = "text", .group = "Output", .flags = MLGEN_FIO,
	  .help = "Format of the output." },
	{ "output", MLGEN_F_STR(struct settings, output), .group = "Output", .flags = MLGEN_FIO,
	  .help = "Write the report to this file instead of standard output." },
	{ "json", MLGEN_F_STR(struct settings, json), .group = "Output",
	  .help = "Write a JSON document to this file in addition to the report." },
	{ "json-each", MLGEN_F_STR(struct settings, json_each), .group = "Output",
	  .help = "Write a JSON document of each process, rank-N.json, to this directory.\n"
		  "It is replaced after each epoch, at most once a second, and marked as incomplete until the run ends, so that the results of a host survive if other hosts fail.\n"
		  "Documents of ranks that this run does not have are removed." },
	{ "html", MLGEN_F_STR(struct settings, html), .group = "Output",
	  .help = "Write an HTML page to this file: the contents of the JSON document as charts and tables, in one file for any browser.\n"
		  "It shows the run over time, as with --series." },
	{ "title", MLGEN_F_STR(struct settings, title), .group = "Output",
	  .help = "Subject of the report, such as the array and its firmware.\n"
		  "It is the title of the page, a line of the report, and a member of the JSON document, and appears in reports and pages that are made from the document. One line of up to 120 characters." },
	{ "note", MLGEN_F_STR(struct settings, note), .group = "Output", .flags = MLGEN_LINES,
	  .help = "Additional information for the report, such as the protocol; may be repeated.\n"
		  "Notes follow the title. Up to 20 notes of up to 400 characters." },
	{ "log", MLGEN_F_STR(struct settings, log), .group = "Output",
	  .help = "Write one CSV row per log_interval to this file." },
	{ "log_interval", MLGEN_F_TIME(struct settings, log_interval_ns), .def = "1s",
	  .min = 0.01 * NS_PER_S, .max = NS_PER_DAY, .unit = "s", .group = "Output",
	  .help = "Time between two rows of the log." },
	{ "metrics", MLGEN_F_STR(struct settings, metrics), .group = "Output",
	  .help = "Serve the figures of a run, from its preparation on, to Prometheus as http://ADDRESS:PORT/metrics. Examples: 127.0.0.1:9100, [::1]:9100, or only 9100, which listens on 127.0.0.1.\n"
		  "Port 0 chooses a free port and prints it. See man mlgen-metrics." },
	{ "metrics-linger", MLGEN_F_TIME(struct settings, metrics_linger_ns), .def = "0",
	  .max = NS_PER_DAY, .unit = "s", .group = "Output",
	  .help = "With --metrics: after the report, wait up to this long for one more scrape, which gets the final figures." },
	{ "metrics-file", MLGEN_F_STR(struct settings, metrics_file), .group = "Output",
	  .help = "Write the same figures to this file each log_interval, for the textfile collector of node_exporter, which reads names that end with .prom.\n"
		  "The file is replaced as a whole, and contains the final figures when the run has ended." },
	{ "series", MLGEN_F_BOOL(struct settings, series), .def = "0", .group = "Output",
	  .help = "Add the figures of the log over time to the JSON document, in at most 720 intervals; a longer run has longer intervals."  },
	{ "trace", MLGEN_F_STR(struct settings, trace), .group = "Output",
	  .help = "Write every operation of the run to this file, with its sample, step and epoch. mltrace describes and compares traces.\n"
		  "An existing trace is replaced; any other file is refused without --force. If records are lost, they are counted, and the exit status is 1.\n"
		  "Under mpirun or srun each process writes its own trace: a.mlt becomes a.RANK.mlt." },
	{ "force", MLGEN_F_BOOL(struct settings, force), .def = "0", .group = "Output",
	  .help = "Let --json, --html, --log, --trace and write_iolog replace files that are not earlier outputs of their kind. A block device is refused anyway." },
	{ "eta", MLGEN_F_ENUM(struct settings, eta, etas), .def = "auto", .group = "Output", .flags = MLGEN_FIO,
	  .help = "When to show a status line." },
	{ "live", MLGEN_F_BOOL(struct settings, live), .def = "0", .group = "Output",
	  .help = "Show the run on the whole terminal instead of the status line: throughput, AU, the use of time, latencies, and a row for each job. Needs a terminal of 80x24 or larger. q or Ctrl-C ends the run, and the report follows." },
	{ "status-interval", MLGEN_F_TIME(struct settings, status_interval_ns), .def = "0",
	  .max = NS_PER_DAY, .unit = "s", .group = "Output", .flags = MLGEN_FIO,
	  .help = "Print a permanent status line at this interval, at least 10ms; 0 is never." },
	{ "quiet", MLGEN_F_BOOL(struct settings, quiet), .def = "0", .group = "Output",
	  .help = "Print only the first line of the report." },
	{ "brief", MLGEN_F_BOOL(struct settings, brief), .def = "0", .group = "Output",
	  .help = "Print a short report, such as for a mail: the first lines, the limit of the run, one line of latencies, and what to try next." },
	{ "verbose", MLGEN_F_BOOL(struct settings, verbose), .def = "0", .group = "Output",
	  .help = "Also list figures that could not be measured on this host, such as its energy." },
	{ "require", MLGEN_F_STR(struct settings, require), .group = "Output", .flags = MLGEN_REPEATS,
	  .help = "Exit with status 3 unless this condition holds, such as 'au>=90', 'read.iops>=1m' or 'stall_ns.p99<5ms'; separate several conditions by commas or 'and'." },

	{ "find-max", MLGEN_F_STR(struct settings, find_max), .group = "Questions",
	  .help = "Find the largest value of this option, such as accelerators, for which --require still holds.\n"
		  "--JOB.find-max=OPTION varies it for one job while the others run." },
	{ "find-min", MLGEN_F_STR(struct settings, find_min), .group = "Questions",
	  .help = "Find the smallest value of cache_size, in percent of the dataset, for which --require still holds.\n"
		  "--JOB.find-min=cache_size varies it for one job while the others run." },
	{ "ceiling", MLGEN_F_ENUM(struct settings, ceiling, ceilings), .def = "auto", .group = "Questions",
	  .help = "Also run the job without storage, and from memory, to find the limit of this host." },
	{ "datasize", MLGEN_F_BOOL(struct settings, datasize), .def = "0", .group = "Questions",
	  .help = "Print the dataset size that MLPerf Storage requires, and the command line to use." },
	{ "miss-curve", MLGEN_F_BOOL(struct settings, miss_curve), .def = "0", .group = "Questions",
	  .help = "Print the hit ratio of a cache, for ten sizes and each policy, from the order of the job alone; nothing is read.\n"
		  "With JSON documents of runs of the job, also print the AU that follows from their cost of hits and misses." },
	{ "memory", MLGEN_F_SIZE(struct settings, memory_bytes), .def = "0", .unit = "bytes", .group = "Questions",
	  .help = "With --datasize and --check: memory of each host, if it differs from this host." },
	{ "hosts", MLGEN_F_U64(struct settings, hosts), .def = "0", .min = 0, .max = 65536, .group = "Questions",
	  .help = "With --datasize and --check: number of hosts, each with the accelerators of the job; 0 is one host.\n"
		  "Under mpirun or srun, the default is the number of hosts of the run." },
	{ "report", MLGEN_F_BOOL(struct settings, report), .def = "0", .group = "Questions",
	  .help = "Print the reports of JSON documents, as their runs printed them; mlgen r.json is the same.\n"
		  "With --output-format=csv, print a row for each job; with json or fio-json, one document." },
	{ "check", MLGEN_F_ENUM(struct settings, check, checks), .def = "none", .group = "Questions",
	  .help = "Report for each rule whether the run, or the plan of --dry-run, is valid; the exit status remains that of the run.\n"
		  "With JSON documents of runs instead of a job (--check=mlperf-v2 r*.json), report whether they form a valid result together; if not, the exit status is 3." },
	{ "table", MLGEN_F_STR(struct settings, table), .group = "Questions",
	  .help = "Print a table of figures of JSON documents, a row for each job; keys are separated by commas.\n"
		  "A key is a metric of man mlgen-json (au_percent, stall_ns.p99, storage.source), an option, or file; for documents of mltrace score, a key such as score.m1.\n"
		  "With --output-format=csv or json, figures are in bytes, seconds and ns, with all digits.\n"
		  "A percentile with fewer than ten values above it is printed as -; empty in CSV, null in JSON." },
	{ "compare", MLGEN_F_BOOL(struct settings, compare), .def = "0", .group = "Questions",
	  .help = "Print two or more JSON documents side by side, with the difference from the first.\n"
		  "The noise is the variation of epochs, seconds or checkpoints within each run, and for percentiles also the sampling error; at least 2%, or one point of AU.\n"
		  "The exit status is 3 if a document is worse than the first by more than the noise in AU, a rate, errors beyond max_errors, the time of checkpoints or, for plain jobs, a p99." },
	{ "tolerance", MLGEN_F_PERCENT(struct settings, tolerance), .max = 100, .group = "Questions",
	  .help = "With --compare: allowed difference, instead of the noise; in points for AU." },
	{ "page", MLGEN_F_BOOL(struct settings, page), .def = "0", .group = "Questions",
	  .help = "Write the page --html=FILE from JSON documents: the page of the run for one document, a comparison by the options that differ for several." },
	{ "merge", MLGEN_F_BOOL(struct settings, merge), .def = "0", .group = "Questions",
	  .help = "Print one report of several clients, or of repetitions, from their JSON documents; latencies are merged exactly.\n"
		  "Rates of runs that overlap, by the clocks of their hosts, are added; other rates are averaged." },
	{ "import", MLGEN_F_ENUM(struct settings, import, imports), .def = "none", .group = "Questions",
	  .help = "Print a job file made from another program's configuration; '-' is standard input. To convert logs to traces, use mltrace import." },
	{ "clean", MLGEN_F_BOOL(struct settings, clean), .def = "0", .group = "Questions",
	  .help = "List what mlgen created in the given directories and below: the files of datasets and checkpoints, as their manifests list them.\n"
		  "All other files stay and are listed as foreign, including files with a changed size or another owner.\n"
		  "A dataset that is being prepared is refused, and so is a checkpoint that a run may still write; with --replace, a checkpoint is refused only if its run is found on this host." },
	{ "yes", MLGEN_F_BOOL(struct settings, yes), .def = "0", .group = "Questions",
	  .help = "With --clean: remove these files, their manifests, and the folders that are then empty.\n"
		  "An interrupted removal can be repeated." },

	{ "barrier_over", MLGEN_F_ENUM(struct settings, barrier_over, barriers_over), .def = "tcp", .group = "Several hosts",
	  .help = "Under mpirun or srun: how processes wait for each other." },
	{ "peers_port", MLGEN_F_U64(struct settings, peers_port), .def = "0", .min = 0, .max = 65535, .group = "Several hosts",
	  .help = "Under mpirun or srun: the TCP port on which rank 0 waits for the other ranks; 0 is any free port." },
	{ 0 },
};
/* clang-format on */

/* ---- checks ---- */

/* No Linux runs in less memory: the unit is missing. */
#define MEMORY_MIN_BYTES (UINT64_C(16) << 20)

/* The minimum of log_interval; shorter intervals cannot be read. */
#define STATUS_INTERVAL_MIN_NS (NS_PER_S / 100)

static const struct diag_place on_command_line;

/* --live shows one run, and its report follows. */
static void check_live(const struct settings *s, const struct question *asked, struct diag *d)
{
	if (!s->live)
		return;
	if (asked)
		diag_fail(d, "live: is for a single run, which --%s is not; leave out --live",
			  asked->option);
	if (s->eta == ETA_ALWAYS)
		diag_fail(d, "live: replaces the status line; leave out --eta=always");
	if (s->dry_run || s->parse_only || s->showjob)
		diag_fail(d, "live: shows a run, but --%s does not run jobs",
			  s->dry_run      ? "dry-run"
			  : s->parse_only ? "parse-only"
					  : "showjob");
}

/* ---- title and notes ---- */

#define TITLE_LETTERS 120
#define NOTE_LETTERS 400
#define NOTES_MOST 20

/* Check a line that pages and terminals show unchanged. */
static void check_line(const char *option, const char *text, size_t letters, struct diag *d)
{
	size_t columns = printable_columns(text);

	if (!printable_is(text))
		diag_fail(d, "%s: must be one line of UTF-8 text, without control characters%s",
			  option,
			  strcmp(option, "title") == 0 ? "; --note=TEXT adds lines below it" : "");
	else if (!text[strspn(text, " ")])
		diag_fail(d, "%s: is empty; leave it out, or write what a reader should know",
			  option);
	else if (columns > letters)
		diag_fail(d,
			  "%s: %zu characters are too many; the limit is %zu, and --note=TEXT may "
			  "be given several times",
			  option, columns, letters);
}

static void check_labels(const struct settings *s, const struct question *asked, struct diag *d)
{
	const char *option = s->title ? "title" : "note", *notes = s->note;
	size_t count = 0;

	if (s->title)
		check_line("title", s->title, TITLE_LETTERS, d);
	while (notes) {
		struct buf line = { 0 };
		size_t len = strcspn(notes, "\n");

		buf_addn(&line, notes, len);
		check_line("note", buf_str(&line), NOTE_LETTERS, d);
		buf_fini(&line);
		notes = notes[len] ? notes + len + 1 : NULL;
		count++;
	}
	if (count > NOTES_MOST)
		diag_fail(d, "note: %zu notes are too many; the limit is %d", count, NOTES_MOST);
	if ((s->title || s->note) && asked && !asked->has_report && !s->html)
		diag_fail(
			d,
			"%s: is for a report or a page, but --%s prints neither; leave out --%s%s",
			option, asked->option, option,
			asked->writes_html ? ", or add --html=FILE" : "");
}

void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d)
{
	const char *metrics = s->metrics ? "metrics" : "metrics-file";
	char interval[UNITS_TEXT_BYTES], min[UNITS_TEXT_BYTES];

	if (s->output_format == OUTPUT_CSV && !(asked && asked->prints_csv))
		diag_fail(d, "output-format=csv: requires --table, or JSON documents of runs; "
			     "--log=FILE writes the intervals of a run as CSV");
	if (s->quiet + s->brief + s->verbose > 1)
		diag_fail(d, "%s: only one length of the report is possible; leave out --%s",
			  s->quiet ? "quiet" : "brief", s->brief && s->quiet ? "brief" : "verbose");
	question_check_options(questions, s, d);
	pathname_check("output", s->output, on_command_line, d);
	pathname_check("json", s->json, on_command_line, d);
	pathname_check("html", s->html, on_command_line, d);
	pathname_check("log", s->log, on_command_line, d);
	if (s->status_interval_ns && s->status_interval_ns < STATUS_INTERVAL_MIN_NS)
		diag_fail(d, "status-interval: %s is below the minimum %s; 0 is never",
			  units_format_time(interval, s->status_interval_ns),
			  units_format_time(min, STATUS_INTERVAL_MIN_NS));
	pathname_check("trace", s->trace, on_command_line, d);
	if (s->trace && asked)
		diag_fail(d,
			  asked->about == ABOUT_FILES
				  ? "trace: is for a run, but --%s reads files; leave out --trace"
				  : "trace: is for a single run, which --%s is not; leave out "
				    "--trace, and trace a separate run",
			  asked->option);
	pathname_check("metrics-file", s->metrics_file, on_command_line, d);
	if (asked && (s->metrics || s->metrics_file))
		diag_fail(d, "%s: is for a single run, which --%s is not; leave out --%s", metrics,
			  asked->option, metrics);
	if (s->metrics_linger_ns && !s->metrics)
		diag_fail(d, "metrics-linger: needs --metrics; add --metrics=ADDRESS:PORT");
	check_live(s, asked, d);
	check_labels(s, asked, d);
	if (s->datasize && s->html)
		diag_fail(d, "html: --datasize cannot write a page");
	if (s->datasize && (s->json || s->output_format != OUTPUT_TEXT))
		diag_fail(d,
			  "%s: --datasize prints text and does not run the job; add this option to "
			  "the command line that it prints",
			  s->json ? "json" : "output-format");
	if (s->clean && s->output_format != OUTPUT_TEXT)
		diag_fail(d, "output-format: --clean prints only text");
	if ((s->find_max || s->find_min) && s->check != CHECK_NONE)
		diag_fail(d,
			  "check: is for a single run, but --find-%s does many runs; check the "
			  "result with a separate run",
			  s->find_max ? "max" : "min");
	if (s->find_max && s->find_min)
		diag_fail(d,
			  "find-min: cannot be used together with --find-max; use one at a time");
	if (s->yes && (s->readonly || s->dry_run || s->parse_only))
		diag_fail(
			d,
			"yes: removes files, but --%s changes no file; --clean without --yes only "
			"lists them",
			s->readonly  ? "readonly"
			: s->dry_run ? "dry-run"
				     : "parse-only");
	if (s->memory_bytes && s->memory_bytes < MEMORY_MIN_BYTES)
		diag_fail(d,
			  "memory: %" PRIu64
			  " bytes are too few for a host; write a unit, as in --memory=256g",
			  s->memory_bytes);
}

/* ---- --require ---- */

#define BLANKS " \t\n"
#define METRIC_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* White space is allowed around the parts of a comparison, but not inside of them. */
static const char *skip_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

/* Parse a count. "1m" is a million, as in rates, and not the 1,048,576 of a size. */
static int parse_count(const char *text, double *value, struct mlgen_err *err)
{
	static const char suffixes[] = "kmgt";
	size_t len = strlen(text);
	const char *s = len ? strchr(suffixes, tolower(text[len - 1])) : NULL;
	char *number = mem_strndup(text, len - (s != NULL));
	int rc = s ? units_f64(number, value, NULL) : -EINVAL;

	mem_free(number);
	if (rc)
		return mlgen_fail(err, -EINVAL,
				  "'%s': must be a number, such as 200 or 1.5m; k, m, g and t are "
				  "powers of 1000",
				  text);
	for (; s >= suffixes; s--)
		*value *= 1000;
	return 0;
}

/* Parse a value in the unit that the metric's name contains: "1ms" for stall_ns.p99, "10g" for
 * bytes_per_sec, "90%" for au. A metric without a unit is a count: "200k" for read.iops. */
static int parse_value(struct requirement *q, const char *text, struct mlgen_err *err)
{
	uint64_t n;
	int rc = 0;

	if (units_f64(text, &q->value, NULL) == 0)
		return 0;
	if (strstr(q->metric, "_ns"))
		rc = units_time(text, "ns", &n, err);
	else if (strstr(q->metric, "bytes"))
		rc = units_size(text, 1024, &n, err);
	else if (strcmp(q->metric, "au") == 0 || strstr(q->metric, "percent") ||
		 strstr(q->metric, "cpu"))
		return units_percent(text, &q->value, err);
	else
		return parse_count(text, &q->value, err);
	if (rc == 0)
		q->value = (double)n;
	return rc;
}

static int parse_requirement(const char *part, struct requirement *out, struct mlgen_err *err)
{
	size_t len = strspn(part, METRIC_CHARACTERS);
	const char *op = skip_blanks(part + len);
	size_t op_len = strspn(op, "<>=");
	const char *value = skip_blanks(op + op_len);
	struct mlgen_err why = { 0 };

	if (!part[len])
		return mlgen_fail(err, -EINVAL,
				  "require=%s: no comparison. Quote the condition: "
				  "--require='%s>=90' (the shell took '>' as a redirection)",
				  part, *part ? part : "au");
	memset(out, 0, sizeof(*out));
	if (len && len < sizeof(out->metric) && op_len && op_len < sizeof(out->op)) {
		memcpy(out->metric, part, len);
		memcpy(out->op, op, op_len);
	}
	if (strcmp(out->op, "=") == 0)
		memcpy(out->op, "==", 3);
	if (!out->op[0] || !strstr(" >= <= > < == ", out->op))
		return mlgen_fail(err, -EINVAL,
				  "require=%s: not a comparison; write METRIC>=NUMBER, with one of "
				  ">= <= > < ==",
				  part);
	if (parse_value(out, value, &why))
		return mlgen_fail(err, -EINVAL, "require=%s: %s", part, why.text);
	return 0;
}

/* The length of the text before the next comma or "and". *next points after the separator; NULL =
 * this is the last part. */
static size_t part_length(const char *text, const char **next)
{
	const char *at = text;

	while (*at && *at != ',') {
		const char *word = at + strspn(at, BLANKS);

		if (word > at && strncmp(word, "and", 3) == 0 && strchr(BLANKS, word[3])) {
			*next = word + 3;
			return (size_t)(at - text);
		}
		at = word > at ? word : at + 1;
	}
	*next = *at ? at + 1 : NULL;
	return (size_t)(at - text);
}

/* Copy a part without the white space around it. */
static char *copy_part(const char *text, size_t len)
{
	size_t before = strspn(text, BLANKS);

	if (before > len)
		before = len;
	while (len > before && strchr(BLANKS, text[len - 1]))
		len--;
	return mem_strndup(text + before, len - before);
}

int jobset_requirements(const char *text, struct requirement *out, unsigned max,
			struct mlgen_err *err)
{
	unsigned n = 0;

	for (const char *at = text, *next = NULL; at; at = next) {
		size_t len = part_length(at, &next);
		char *part = copy_part(at, len);
		int rc = 0;

		if (n == max)
			rc = mlgen_fail(err, -EINVAL, "require: more than %u comparisons", max);
		else
			rc = parse_requirement(part, &out[n++], err);
		mem_free(part);
		if (rc)
			return rc;
	}
	return (int)n;
}
