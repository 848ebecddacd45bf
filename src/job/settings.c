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
	{ "fio-json", OUTPUT_FIO_JSON, "as json, with the key 'fio version' that some readers demand" },
	{ "dlio", OUTPUT_DLIO, "the summary.json of DLIO, as DLIO counts: MB/s are of whole rows, see mlgen-json(5)" },
	{ "csv", OUTPUT_CSV, "with --table, or of documents: comma-separated values" },
	{ "json+", OUTPUT_JSON, "as json, which has all of fio's json+" },
	{ 0 },
};

/* The values of a BOOL, and `show`. */
static const struct mlgen_choice dry_runs[] = {
	{ "0", DRY_RUN_OFF, "run" },
	{ "1", DRY_RUN_GATE, "with status 2 if the run would stop before its first byte; the same as --dry-run alone" },
	{ "show", DRY_RUN_SHOW, "with status 0 even then" },
	{ "no", DRY_RUN_OFF, "as 0" },
	{ "off", DRY_RUN_OFF, "as 0" },
	{ "false", DRY_RUN_OFF, "as 0" },
	{ "yes", DRY_RUN_GATE, "as 1" },
	{ "on", DRY_RUN_GATE, "as 1" },
	{ "true", DRY_RUN_GATE, "as 1" },
	{ 0 },
};

static const struct mlgen_choice ceilings[] = {
	{ "auto", CEILING_AUTO, "briefly, after a run of 5 s or more whose verdict is host or unclear" },
	{ "no", CEILING_OFF, "never" },
	{ "0", CEILING_OFF, "as no" },
	{ "1", CEILING_ON, "for every training; the same as --ceiling alone" },
	{ 0 },
};

static const struct mlgen_choice barriers_over[] = {
	{ "tcp", BARRIER_OVER_TCP, "connections of all processes to rank 0; waiting processes sleep" },
	{ "mpi", BARRIER_OVER_MPI, "MPI messages, which are polled: slower, but for networks without IP" },
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
	  .help = "List the options of a topic, or all; without a value, an overview on one screen, as does -h." },
	{ "cmdhelp", MLGEN_F_STR(struct settings, cmdhelp), .group = "Help", .flags = MLGEN_FIO,
	  .help = "Explain one option of a job, or all." },
	{ "enghelp", MLGEN_F_STR(struct settings, enghelp), .group = "Help", .flags = MLGEN_FIO,
	  .help = "List the engines, or the options of one." },
	{ "list-jobs", MLGEN_F_BOOL(struct settings, list_jobs), .def = "0", .group = "Help",
	  .help = "List the jobs that come with mlgen and those in $MLGEN_JOBS." },
	{ "version", MLGEN_F_BOOL(struct settings, version), .def = "0", .group = "Help", .flags = MLGEN_FIO,
	  .help = "Print the version, the commit it was built from, and the engines and libraries with their versions." },

	{ "parse-only", MLGEN_F_BOOL(struct settings, parse_only), .def = "0", .group = "Before a run", .flags = MLGEN_FIO,
	  .help = "Check the job files and run nothing." },
	{ "dry-run", MLGEN_F_ENUM(struct settings, dry_run, dry_runs), .def = "0", .group = "Before a run",
	  .help = "Print the plan, and what would stop the run, without touching anything." },
	{ "thorough", MLGEN_F_BOOL(struct settings, thorough), .def = "0", .group = "Before a run",
	  .help = "Check name and size of every file of a dataset before it is read, and not only of a thousand; with --dry-run and before a run." },
	{ "showjob", MLGEN_F_BOOL(struct settings, showjob), .def = "0", .group = "Before a run",
	  .help = "Print every option of the job, its value and where it came from.\n"
		  "The output is a job file of the same jobs; values that no job file can hold are refused." },
	{ "section", MLGEN_F_STR(struct settings, section), .group = "Before a run", .flags = MLGEN_FIO | MLGEN_LINES,
	  .help = "Run only the job of this name. The option may be repeated; jobs run in the order of the job file." },
	{ "readonly", MLGEN_F_BOOL(struct settings, readonly), .def = "0", .group = "Before a run", .flags = MLGEN_FIO,
	  .help = "Refuse everything that writes, including the preparation of a dataset." },
	{ "allow_fill", MLGEN_F_BOOL(struct settings, allow_fill), .def = "0", .group = "Before a run",
	  .help = "Let the preparation use more than half of the free space." },
	{ "allow_device", MLGEN_F_STR(struct settings, allow_device), .group = "Before a run",
	  .help = "Let jobs write to this block device, such as /dev/sdb; several with ':'.\n"
		  "A device that is mounted or in use is refused anyway." },
	{ "replace", MLGEN_F_BOOL(struct settings, replace), .def = "0", .group = "Before a run",
	  .help = "With phase=prepare: delete a dataset that was made with other options, and create it again.\n"
		  "When saving checkpoints: also delete checkpoints that are in the way or incomplete, even if another run may still write them." },

	{ "output-format", MLGEN_F_ENUM(struct settings, output_format, formats), .def = "text", .group = "Output", .flags = MLGEN_FIO,
	  .help = "What is printed." },
	{ "output", MLGEN_F_STR(struct settings, output), .group = "Output", .flags = MLGEN_FIO,
	  .help = "Write the report to this file instead of standard output." },
	{ "json", MLGEN_F_STR(struct settings, json), .group = "Output",
	  .help = "Write a JSON document to this file in addition to the report." },
	{ "json-each", MLGEN_F_STR(struct settings, json_each), .group = "Output",
	  .help = "Write a JSON document of each process, rank-N.json, to this directory.\n"
		  "It is replaced after each epoch, at most once a second, and marked as incomplete until the run is over, so that the results of a host are not lost if others fail.\n"
		  "Documents of ranks that this run does not have are removed." },
	{ "html", MLGEN_F_STR(struct settings, html), .group = "Output",
	  .help = "Write a page to this file: the contents of the JSON document as charts and tables, in one file for any browser.\n"
		  "It shows the run over time, as with --series." },
	{ "title", MLGEN_F_STR(struct settings, title), .group = "Output",
	  .help = "Subject of the report, such as the array and its firmware.\n"
		  "It is the title of the page, a line of the report, and a member of the JSON document, and appears in reports and pages that are made from the document. One line of up to 120 letters." },
	{ "note", MLGEN_F_STR(struct settings, note), .group = "Output", .flags = MLGEN_LINES,
	  .help = "Additional information for readers, such as the protocol; may be repeated.\n"
		  "Notes follow the title. Up to 20, each of up to 400 letters." },
	{ "log", MLGEN_F_STR(struct settings, log), .group = "Output",
	  .help = "Write one CSV row per log_interval to this file." },
	{ "log_interval", MLGEN_F_TIME(struct settings, log_interval_ns), .def = "1s",
	  .min = 0.01 * NS_PER_S, .max = NS_PER_DAY, .unit = "s", .group = "Output",
	  .help = "Time between two rows of the log." },
	{ "metrics", MLGEN_F_STR(struct settings, metrics), .group = "Output",
	  .help = "Serve the figures of a run to Prometheus, from its preparation on, as http://ADDRESS:PORT/metrics: 127.0.0.1:9100, [::1]:9100, or 9100 alone, which listens on 127.0.0.1.\n"
		  "Port 0 chooses a free port and prints it. See man mlgen-metrics." },
	{ "metrics-linger", MLGEN_F_TIME(struct settings, metrics_linger_ns), .def = "0",
	  .max = NS_PER_DAY, .unit = "s", .group = "Output",
	  .help = "With --metrics: after the report, wait up to this long for one more scrape, which gets the final figures." },
	{ "metrics-file", MLGEN_F_STR(struct settings, metrics_file), .group = "Output",
	  .help = "Write the same figures to this file each log_interval, for the textfile collector of node_exporter, which reads names that end with .prom.\n"
		  "The file is replaced as a whole, and has the final figures when the run is over." },
	{ "series", MLGEN_F_BOOL(struct settings, series), .def = "0", .group = "Output",
	  .help = "Add the figures of the log over time to the JSON document, in at most 720 intervals; a longer run has longer intervals."  },
	{ "trace", MLGEN_F_STR(struct settings, trace), .group = "Output",
	  .help = "Write every operation of the run to this file, with the sample, step and epoch it was for. mltrace describes and compares traces.\n"
		  "An existing trace is replaced; any other file is refused without --force. Records that are lost are counted, and the status is 1.\n"
		  "Under mpirun or srun each process writes its own trace: a.mlt becomes a.RANK.mlt." },
	{ "force", MLGEN_F_BOOL(struct settings, force), .def = "0", .group = "Output",
	  .help = "Let --json, --html, --log, --trace and write_iolog replace files that are not earlier outputs of their kind. A block device is refused anyway." },
	{ "eta", MLGEN_F_ENUM(struct settings, eta, etas), .def = "auto", .group = "Output", .flags = MLGEN_FIO,
	  .help = "When to show a status line." },
	{ "live", MLGEN_F_BOOL(struct settings, live), .def = "0", .group = "Output",
	  .help = "Show the run on the whole terminal instead of the status line: throughput, AU, where time goes, latencies, and a row for each job; 80x24 and larger. q or Ctrl-C ends the run, and the report follows. Refused without a terminal." },
	{ "status-interval", MLGEN_F_TIME(struct settings, status_interval_ns), .def = "0",
	  .max = NS_PER_DAY, .unit = "s", .group = "Output", .flags = MLGEN_FIO,
	  .help = "Interval at which a status line is printed that stays, at least 10ms; 0 is never." },
	{ "quiet", MLGEN_F_BOOL(struct settings, quiet), .def = "0", .group = "Output",
	  .help = "Print only the first line of the report." },
	{ "brief", MLGEN_F_BOOL(struct settings, brief), .def = "0", .group = "Output",
	  .help = "Print a short report for a mail: the first lines, what limits the run, one line of latencies, and what to try next." },
	{ "verbose", MLGEN_F_BOOL(struct settings, verbose), .def = "0", .group = "Output",
	  .help = "Also print what could not be measured on this host, such as its energy." },
	{ "require", MLGEN_F_STR(struct settings, require), .group = "Output", .flags = MLGEN_REPEATS,
	  .help = "Exit with status 3 unless this holds, such as 'au>=90', 'read.iops>=1m' or 'stall_ns.p99<5ms'; several are separated by commas or 'and'." },

	{ "find-max", MLGEN_F_STR(struct settings, find_max), .group = "Questions",
	  .help = "Find the largest value of this option, such as accelerators, for which --require still holds.\n"
		  "--JOB.find-max=OPTION varies it for one job while the others run." },
	{ "find-min", MLGEN_F_STR(struct settings, find_min), .group = "Questions",
	  .help = "Find the smallest value of cache_size, in percent of the dataset, for which --require still holds.\n"
		  "--JOB.find-min=cache_size varies it for one job while the others run." },
	{ "ceiling", MLGEN_F_ENUM(struct settings, ceiling, ceilings), .def = "auto", .group = "Questions",
	  .help = "Also run the job without storage, and from memory, to find the best that this host can reach." },
	{ "datasize", MLGEN_F_BOOL(struct settings, datasize), .def = "0", .group = "Questions",
	  .help = "Print how large the dataset has to be for MLPerf Storage, and the command line to use." },
	{ "miss-curve", MLGEN_F_BOOL(struct settings, miss_curve), .def = "0", .group = "Questions",
	  .help = "Print the hit ratio of a cache, for ten sizes and each policy, from the order of the job alone; nothing is read.\n"
		  "With JSON documents of runs of the job, also the AU that follows from their cost of hits and misses." },
	{ "memory", MLGEN_F_SIZE(struct settings, memory_bytes), .def = "0", .unit = "bytes", .group = "Questions",
	  .help = "With --datasize and --check: memory of each host, if not that of this one." },
	{ "hosts", MLGEN_F_U64(struct settings, hosts), .def = "0", .min = 0, .max = 65536, .group = "Questions",
	  .help = "With --datasize and --check: number of hosts, each with the accelerators of the job; 0 = one.\n"
		  "Under mpirun or srun, it is the number of hosts of the run, and may be left out." },
	{ "report", MLGEN_F_BOOL(struct settings, report), .def = "0", .group = "Questions",
	  .help = "Print the report of JSON documents as the runs did that wrote them; mlgen r.json is the same.\n"
		  "With --output-format=csv a row for each job; with json or fio-json one document." },
	{ "check", MLGEN_F_ENUM(struct settings, check, checks), .def = "none", .group = "Questions",
	  .help = "Report for each rule whether the run, or the plan of --dry-run, is valid; the exit status stays that of the run.\n"
		  "With JSON documents of runs instead of a job (--check=mlperf-v2 r*.json): whether they make a result together; the status is 3 if not." },
	{ "table", MLGEN_F_STR(struct settings, table), .group = "Questions",
	  .help = "Print a table of figures of JSON documents, a row for each job; keys are separated by commas.\n"
		  "A key is a metric of man mlgen-json (au_percent, stall_ns.p99, storage.source), an option, or file; of documents of mltrace score one of these (score.m1).\n"
		  "With --output-format=csv or json, figures are in bytes, seconds and ns, with all digits.\n"
		  "A percentile with fewer than ten values beyond it is -; empty in CSV, null in JSON." },
	{ "compare", MLGEN_F_BOOL(struct settings, compare), .def = "0", .group = "Questions",
	  .help = "Print two or more JSON documents side by side, with the difference from the first.\n"
		  "The noise is how much the epochs, seconds or checkpoints within each run differ, for percentiles also what chance allows; at least 2%, or one point of AU.\n"
		  "The status is 3 if one of them is worse by more than the noise in AU, a rate, errors beyond max_errors, the time of checkpoints or, for plain jobs, a p99." },
	{ "tolerance", MLGEN_F_PERCENT(struct settings, tolerance), .max = 100, .group = "Questions",
	  .help = "With --compare: allowed difference, instead of the noise; for AU in points." },
	{ "page", MLGEN_F_BOOL(struct settings, page), .def = "0", .group = "Questions",
	  .help = "Write the page --html=FILE of JSON documents: for one, the page of its run; for several, a comparison by the options in which they differ." },
	{ "merge", MLGEN_F_BOOL(struct settings, merge), .def = "0", .group = "Questions",
	  .help = "Print one report of several clients, or of repetitions, from their JSON documents; latencies are merged exactly.\n"
		  "Rates of runs at the same time are added, by the clocks of their hosts; other rates are averaged." },
	{ "import", MLGEN_F_ENUM(struct settings, import, imports), .def = "none", .group = "Questions",
	  .help = "Print the job file of another program's configuration; '-' is standard input. Logs become traces with mltrace import." },
	{ "clean", MLGEN_F_BOOL(struct settings, clean), .def = "0", .group = "Questions",
	  .help = "List what mlgen created in the given directories and below: the files of datasets and checkpoints, as their manifests list them.\n"
		  "Everything else stays and is listed as foreign, as are files of another size or of another user.\n"
		  "A dataset that is being prepared is refused, and so is a checkpoint that a run may still write; with --replace only a checkpoint whose run is seen on this host." },
	{ "yes", MLGEN_F_BOOL(struct settings, yes), .def = "0", .group = "Questions",
	  .help = "With --clean: remove these files, their manifests, and the folders that are then empty.\n"
		  "If interrupted, it can be repeated." },

	{ "barrier_over", MLGEN_F_ENUM(struct settings, barrier_over, barriers_over), .def = "tcp", .group = "Several hosts",
	  .help = "Under mpirun or srun: how processes wait for each other." },
	{ "peers_port", MLGEN_F_U64(struct settings, peers_port), .def = "0", .min = 0, .max = 65535, .group = "Several hosts",
	  .help = "Under mpirun or srun: the TCP port on which rank 0 waits for the others; 0 is any free port." },
	{ 0 },
};
/* clang-format on */

/* ---- checks ---- */

/* No Linux runs in less memory: the unit is missing. */
#define MEMORY_MIN_BYTES (UINT64_C(16) << 20)

/* The minimum of log_interval; shorter intervals cannot be read. */
#define STATUS_INTERVAL_MIN_NS (NS_PER_S / 100)

static const struct diag_place on_command_line;

static void check_trace(const struct settings *s, const struct question *asked, struct diag *d)
{
	pathname_check("trace", s->trace, on_command_line, d);
	if (s->trace && asked)
		diag_add(d, DIAG_ERROR, on_command_line,
			 asked->about == ABOUT_FILES
				 ? "trace: is of a run, and --%s reads files; leave out --trace"
				 : "trace: is of a run, and --%s is none, or many; leave out "
				   "--trace, and trace a run of its own",
			 asked->option);
}

static void check_metrics(const struct settings *s, const struct question *asked, struct diag *d)
{
	const char *option = s->metrics ? "metrics" : "metrics-file";

	pathname_check("metrics-file", s->metrics_file, on_command_line, d);
	if (asked && (s->metrics || s->metrics_file))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: are of a run, and --%s is none, or many; leave out --%s", option,
			 asked->option, option);
	if (s->metrics_linger_ns && !s->metrics)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "metrics-linger: nothing is served; add --metrics=ADDRESS:PORT");
}

/* --live shows one run, and its report follows. */
static void check_live(const struct settings *s, const struct question *asked, struct diag *d)
{
	if (!s->live)
		return;
	if (asked)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "live: shows a run, and --%s is none, or many; leave out --live",
			 asked->option);
	if (s->eta == ETA_ALWAYS)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "live: takes the place of the status line; leave out --eta=always");
	if (s->dry_run || s->parse_only || s->showjob)
		diag_add(d, DIAG_ERROR, on_command_line, "live: shows a run, and --%s runs nothing",
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
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is one line of text in UTF-8, without control characters%s", option,
			 strcmp(option, "title") == 0 ? "; --note=TEXT adds lines below it" : "");
	else if (!text[strspn(text, " ")])
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is blank; leave it out, or write what a reader should know", option);
	else if (columns > letters)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: of %zu letters is too long; up to %zu, and --note=TEXT may be given "
			 "several times",
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
		diag_add(d, DIAG_ERROR, on_command_line,
			 "note: %zu are too many for the top of a report; up to %d", count,
			 NOTES_MOST);
	if ((s->title || s->note) && asked && !asked->has_report && !s->html)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: is for a report or a page, and --%s makes none; leave out --%s%s",
			 option, asked->option, option,
			 asked->writes_html ? ", or add --html=FILE" : "");
}

void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d)
{
	char interval[UNITS_TEXT_BYTES], min[UNITS_TEXT_BYTES];

	if (s->output_format == OUTPUT_CSV && !(asked && asked->prints_csv))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format=csv: goes with --table, or with the JSON documents of "
			 "runs; --log=FILE writes the intervals of a run as CSV");
	if (s->quiet + s->brief + s->verbose > 1)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: the report is of one length; leave out --%s",
			 s->quiet ? "quiet" : "brief", s->brief && s->quiet ? "brief" : "verbose");
	question_check_options(questions, s, d);
	pathname_check("output", s->output, on_command_line, d);
	pathname_check("json", s->json, on_command_line, d);
	pathname_check("html", s->html, on_command_line, d);
	pathname_check("log", s->log, on_command_line, d);
	if (s->status_interval_ns && s->status_interval_ns < STATUS_INTERVAL_MIN_NS)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "status-interval: %s is below the minimum %s; 0 is never",
			 units_format_time(interval, s->status_interval_ns),
			 units_format_time(min, STATUS_INTERVAL_MIN_NS));
	check_trace(s, asked, d);
	check_metrics(s, asked, d);
	check_live(s, asked, d);
	check_labels(s, asked, d);
	if (s->datasize && s->html)
		diag_add(d, DIAG_ERROR, on_command_line, "html: there is no page of --datasize");
	if (s->datasize && (s->json || s->output_format != OUTPUT_TEXT))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: datasize prints text, and runs nothing; add it to the command line "
			 "that datasize prints",
			 s->json ? "json" : "output-format");
	if (s->clean && s->output_format != OUTPUT_TEXT)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format: clean prints text, and no document");
	if ((s->find_max || s->find_min) && s->check != CHECK_NONE)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "check: is of a run, and --find-%s has many; check the answer with a run "
			 "of its own",
			 s->find_max ? "max" : "min");
	if (s->find_max && s->find_min)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "find-min: is a question of its own, as --find-max is; ask one at a time");
	if (s->yes && (s->readonly || s->dry_run || s->parse_only))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "yes: removes files, and --%s touches none; --clean without --yes only "
			 "lists them",
			 s->readonly  ? "readonly"
			 : s->dry_run ? "dry-run"
				      : "parse-only");
	if (s->memory_bytes && s->memory_bytes < MEMORY_MIN_BYTES)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "memory: %" PRIu64
			 " bytes are no host's; a size has a unit, as in --memory=256g",
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
				  "require=%s: no comparison. Quote it: --require='%s>=90' (the "
				  "shell took '>' as a redirection)",
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
