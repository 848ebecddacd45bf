/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.c - the commands of mltrace, their options, and how a command line is read. */
#include "tracing/tracing_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/job.h"
#include "trace/trace.h"
#include "tracing/capture/capture.h"
#include "tracing/import/import.h"

/* ---- options ---- */

#define NS_PER_DAY (86400 * NS_PER_S)

/* clang-format off */
static const struct mlgen_choice formats_text[] = {
	{ "text", OUTPUT_TEXT, "text for people, a job file, or the format that --format selects" },
	{ "normal", OUTPUT_TEXT, "as text" },
	{ 0 },
};

static const struct mlgen_choice formats_json[] = {
	{ "text", OUTPUT_TEXT, "text for people" },
	{ "json", OUTPUT_JSON, "one JSON document" },
	{ "normal", OUTPUT_TEXT, "as text" },
	{ 0 },
};

static const struct mlgen_choice imports[] = {
	{ "csv", IMPORT_CSV, "output of mltrace export --format=csv, or of other programs: man mlgen-trace" },
	{ "fio-iolog", IMPORT_FIO_IOLOG, "output of fio's write_iolog, version 2 or 3" },
	{ "strace", IMPORT_STRACE, "output of strace with -f, -ttt and -T or other times, best with -y" },
	{ "mcgill", IMPORT_MCGILL, "output of McGill's bpftrace scripts: trace_read.out and the other files, or their directory" },
	{ "darshan", IMPORT_DARSHAN, "text output of darshan-dxt-parser" },
	{ "dftracer", IMPORT_DFTRACER, "files of DFTracer, .pfw or .pfw.gz" },
	{ "blktrace", IMPORT_BLKTRACE, "binary files of blktrace, such as sda.blktrace.0, one for each CPU" },
	{ "dio", IMPORT_DIO, "DIO events as JSON, one per line" },
	{ 0 },
};

static const struct mlgen_choice exports[] = {
	{ "csv", TRACING_EXPORT_CSV, "comma-separated values, one row for each record and marker" },
	{ "fio-iolog", TRACING_EXPORT_FIO_IOLOG, "version 3 of the log that fio replays with read_iolog" },
	{ 0 },
};

static const struct mlgen_choice backends[] = {
	{ "auto", CAPTURE_AUTO, "BPF if it works, otherwise strace" },
	{ "bpf", CAPTURE_BPF, "BPF programs in the kernel: calls on files, page faults, the page cache and devices" },
	{ "strace", CAPTURE_STRACE, "only system calls, and slower" },
	{ 0 },
};

static const struct mlgen_choice etas[] = {
	{ "auto", ETA_AUTO, "a status line if standard error is a terminal" },
	{ "always", ETA_ALWAYS, "always a status line" },
	{ "never", ETA_NEVER, "no status line" },
	{ 0 },
};

#define OUTPUT(text) \
	{ "output", MLGEN_F_STR(struct tracing_options, output), .group = "", .help = text " -o FILE is the short form." }
#define FORMAT(choices) \
	{ "output-format", MLGEN_F_ENUM(struct tracing_options, output_format, choices), .def = "text", .group = "", \
	  .help = "Format of the output." }
#define JSON_AND_HTML(of) \
	{ "json", MLGEN_F_STR(struct tracing_options, json), .group = "", \
	  .help = "Also write the JSON document of the " of " to this file." }, \
	{ "html", MLGEN_F_STR(struct tracing_options, html), .group = "", \
	  .help = "Write the " of " to this file as a page for any browser." }
#define FORCE \
	{ "force", MLGEN_F_BOOL(struct tracing_options, force), .def = "0", .group = "", \
	  .help = "Replace existing output files even if they are not earlier output of the same kind. Block devices are still refused." }
#define QUIET(text) \
	{ "quiet", MLGEN_F_BOOL(struct tracing_options, quiet), .def = "0", .group = "", .help = text }
#define HELP \
	{ "help", MLGEN_F_BOOL(struct tracing_options, help), .def = "0", .group = "", .help = "Print these options." }

static const struct mlgen_field record_options[] = {
	{ "pid", MLGEN_F_U64(struct tracing_options, pid), .def = "0", .max = 4194304, .group = "",
	  .help = "Record this running process, its descendants and the processes they start, until the process ends, the duration has passed or SIGINT arrives." },
	{ "cgroup", MLGEN_F_STR(struct tracing_options, cgroup), .group = "",
	  .help = "Record all tasks of this control group and the groups below it, such as a container, and the processes they start.\n"
		  "A directory, or a path from /proc/PID/cgroup." },
	{ "duration", MLGEN_F_TIME(struct tracing_options, duration_ns), .def = "0", .max = 365 * NS_PER_DAY, .unit = "s", .group = "",
	  .help = "Stop recording after this time; 0 records until the end. A command continues, and mltrace waits for it." },
	{ "user", MLGEN_F_STR(struct tracing_options, user), .group = "",
	  .help = "Run the command as this user; mltrace must run as root." },
	{ "buffer", MLGEN_F_SIZE(struct tracing_options, buffer_bytes), .def = "16m", .min = 65536, .max = 1073741824, .unit = "bytes", .group = "",
	  .help = "Memory between the kernel and mltrace, a power of two. If the buffer is full, events are lost and counted." },
	{ "backend", MLGEN_F_ENUM(struct tracing_options, backend, backends), .def = "auto", .group = "",
	  .help = "How events are recorded." },
	{ "eta", MLGEN_F_ENUM(struct tracing_options, eta, etas), .def = "auto", .group = "",
	  .help = "Whether to print a status line while recording." },
	OUTPUT("Write the trace to this file."), FORMAT(formats_text), HELP,
	FORCE,
	QUIET("After the recording, print only the first line of the description."),
	{ 0 },
};

static const struct mlgen_field import_options[] = {
	{ "format", MLGEN_F_ENUM(struct tracing_options, format, imports), .group = "",
	  .help = "Program or format of the log.\n"
		  "Information that the log does not contain is inferred where possible, such as the offsets of read(), and marked as inferred." },
	{ "lenient", MLGEN_F_BOOL(struct tracing_options, lenient), .def = "0", .group = "",
	  .help = "Accept a log even if more than one line in a thousand cannot be read; these lines are counted and left out." },
	{ "markers", MLGEN_F_STR(struct tracing_options, markers), .group = "",
	  .help = "The log of the application itself, which contains epochs, stages and checkpoints: lines of MLPerf's :::MLLOG, DLIO's output, or CSV of time,text." },
	OUTPUT("Write the trace to this file."), FORCE, FORMAT(formats_text), HELP,
	QUIET("Print no summary and no notes."),
	{ 0 },
};

static const struct mlgen_field export_options[] = {
	{ "format", MLGEN_F_ENUM(struct tracing_options, format, exports), .group = "",
	  .help = "Output format of the trace." },
	OUTPUT("Write to this file instead of standard output."), FORMAT(formats_text), HELP,
	QUIET("Print no notes."),
	{ 0 },
};

static const struct mlgen_field describe_options[] = {
	OUTPUT("Write the description to this file instead of standard output."), FORMAT(formats_json),
	JSON_AND_HTML("description"),
	{ "log", MLGEN_F_STR(struct tracing_options, log), .group = "",
	  .help = "Write one CSV row for each log_interval of traced time to this file." },
	{ "log_interval", MLGEN_F_TIME(struct tracing_options, log_interval_ns), .def = "1s", .min = 0.01 * NS_PER_S, .max = NS_PER_DAY, .unit = "s", .group = "",
	  .help = "Time between two rows of the log." },
	FORCE, HELP, QUIET("Print only the first line of the description, and no notes."),
	{ 0 },
};

static const struct mlgen_field score_options[] = {
	{ "require", MLGEN_F_STR(struct tracing_options, require), .group = "", .flags = MLGEN_REPEATS,
	  .help = "Exit with status 3 unless this condition holds, such as 'score.m1<=0.05'; separate several conditions by commas." },
	OUTPUT("Write the score to this file instead of standard output."), FORMAT(formats_json),
	JSON_AND_HTML("score"), FORCE, HELP, QUIET("Print only the first line of the score, and no notes."),
	{ 0 },
};

static const struct mlgen_field distil_options[] = {
	OUTPUT("Write the job to this file instead of standard output.\n"
	       "Lists that are too long for an option are written to files next to the job: NAME.sizes, NAME.calls, NAME.preprocess."),
	FORMAT(formats_text), HELP, QUIET("Print no notes."),
	{ 0 },
};

const struct tracing_command tracing_commands[] = {
	{ "record", "-o FILE [OPTION...] -- COMMAND [ARGUMENT...]", "Record the I/O of a command, a process or a control group.",
	  record_options, TRACING_MAKES_TRACE | TRACING_RUNS_COMMAND, .run = tracing_record },
	{ "import", "--format=FORMAT FILE... -o FILE", "Turn the log of another program into a trace.",
	  import_options, TRACING_MAKES_TRACE, 1, "the log of another program", tracing_import },
	{ "export", "--format=csv|fio-iolog FILE...", "Print a trace in another format, in order of time.",
	  export_options, TRACING_STREAMS, 1, "a trace", tracing_export },
	{ "describe", "FILE...", "Describe the I/O in a trace: who read and wrote what, in which order, how fast, and where the time went.",
	  describe_options, TRACING_HAS_JSON, 1, "the files of a trace, as written by mlgen --trace=FILE", tracing_describe },
	{ "score", "REAL... CANDIDATE", "Measure how similar a candidate, a trace or a job, is to traces of real runs.",
	  score_options, TRACING_HAS_JSON | TRACING_RUNS_JOB, 2, "the trace of a real run, and then the candidate: its trace, or its job", tracing_score },
	{ "distil", "FILE... [-o JOB]", "Print a job file that reproduces the I/O of a trace.",
	  distil_options, 0, 1, "the files of a trace of a real run", tracing_distil },
	{ 0 },
};
/* clang-format on */

/* ---- the command line ---- */

/* Find the command with this name, or fail and suggest a similar one. */
static const struct tracing_command *find_command(const char *word, struct mlgen_err *err)
{
	const char *names[16];
	size_t count = 0;

	for (const struct tracing_command *c = tracing_commands; c->name; c++) {
		if (strcmp(c->name, word) == 0)
			return c;
		names[count++] = c->name;
	}
	names[count] = NULL;
	const char *nearest = field_nearest_word(names, word);
	mlgen_fail(err, -EINVAL, "%s: no such command%s%s%s; mltrace --help lists the commands",
		   word, nearest ? "; did you mean '" : "", nearest ? nearest : "",
		   nearest ? "'?" : "");
	return NULL;
}

/* Is this a trace, by the first bytes of the file or by its name? */
static bool is_trace(const char *path)
{
	size_t len = strlen(path);
	char first[TRACE_MAGIC_BYTES];

	if (len > 4 && strcmp(path + len - 4, ".mlt") == 0)
		return true;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	ssize_t n = pread(fd, first, sizeof(first), 0);
	close(fd);
	return n > 0 && trace_is_magic(first, (size_t)n);
}

static void add_job_argument(struct tracing *t, const char *text)
{
	t->job_argv = mem_realloc(t->job_argv, ((size_t)t->job_argc + 2) * sizeof(char *));
	t->job_argv[t->job_argc++] = mem_strdup(text);
	t->job_argv[t->job_argc] = NULL;
}

static int fail_unknown(const struct tracing *t, const char *name, struct mlgen_err *err)
{
	const struct mlgen_field *const tables[] = { t->command->options, NULL };
	const char *nearest = field_nearest(tables, name);

	for (const struct tracing_command *c = tracing_commands; !nearest && c->name; c++)
		if (field_find(c->options, name))
			return mlgen_fail(err, -EINVAL,
					  "%s: is an option of mltrace %s, not of mltrace %s", name,
					  c->name, t->command->name);
	return mlgen_fail(err, -EINVAL,
			  "%s: unknown option%s%s%s; mltrace %s --help lists the options", name,
			  nearest ? "; did you mean '" : "", nearest ? nearest : "",
			  nearest ? "'?" : "", t->command->name);
}

/* Parse the option at argv[*i], and the next argument if that is its value. */
static int parse_option(struct tracing *t, char *const *argv, int *i, struct mlgen_err *err)
{
	const char *arg = argv[*i];
	bool is_short = strncmp(arg, "-o", 2) == 0;
	char *name = is_short                 ? mem_strdup("output")
		     : strcmp(arg, "-h") == 0 ? mem_strdup("help")
					      : mem_strndup(arg + 2, strcspn(arg + 2, "="));
	const struct mlgen_field *f = field_find(t->command->options, name);
	const char *value = is_short ? (arg[2] ? arg + 2 : NULL) : strchr(arg, '=');
	int rc = 0;

	if (value && *value == '=')
		value++;
	if (!f && t->job_argc)
		add_job_argument(t, arg);
	else if (!f || (arg[1] != '-' && !is_short && strcmp(arg, "-h") != 0))
		rc = fail_unknown(t, arg[1] == '-' ? name : arg, err);
	else if (value || field_is_flag(f) || !argv[*i + 1] || argv[*i + 1][0] == '-')
		value = value || !field_is_flag(f) ? value : "1";
	else
		value = argv[++*i];
	if (rc == 0 && f && (!value || !*value))
		rc = mlgen_fail(err, -EINVAL, "%s: no value; write --%s=VALUE", name, name);
	else if (rc == 0 && f && f->flags & MLGEN_REPEATS) {
		struct buf all = { 0 };

		field_format(&all, f, &t->options);
		buf_addf(&all, "%s%s", all.len ? "," : "", value);
		rc = field_parse(f, &t->options, buf_str(&all), 1024, err);
		buf_fini(&all);
	} else if (rc == 0 && f) {
		rc = field_parse(f, &t->options, value, 1024, err);
	}
	mem_free(name);
	return rc;
}

static int add_file(struct tracing *t, char *const *argv, int i, struct mlgen_err *err)
{
	const struct tracing_command *c = t->command;

	if (!*argv[i])
		return mlgen_fail(err, -EINVAL, "an argument is empty; name a file");
	if (t->job_argc)
		return mlgen_fail(err, -EINVAL,
				  "%s: the candidate must be the last file, but '%s' is a job",
				  argv[i], t->job_argv[1]);
	if (c->flags & TRACING_RUNS_COMMAND && (t->options.pid || t->options.cgroup))
		return mlgen_fail(err, -EINVAL, "%s: records a running target; leave out '%s'",
				  t->options.pid ? "pid" : "cgroup", argv[i]);
	if (c->flags & TRACING_RUNS_COMMAND) {
		struct buf line = { 0 };

		for (int k = 0; argv[k]; k++) {
			buf_add(&line, k == 0 ? "mltrace" : k == i ? " --" : "");
			if (k)
				shellword_add(&line, argv[k]);
		}
		mlgen_fail(err, -EINVAL,
			   "record: put the command and its arguments after --; write %s",
			   buf_str(&line));
		buf_fini(&line);
		return err->code;
	}
	if (c->flags & TRACING_RUNS_JOB && t->file_count && !is_trace(argv[i])) {
		add_job_argument(t, "mltrace");
		add_job_argument(t, argv[i]);
	}
	t->files = mem_realloc(t->files, (t->file_count + 1) * sizeof(*t->files));
	t->files[t->file_count++] = argv[i];
	return 0;
}

static int check_command_line(const struct tracing *t, struct mlgen_err *err)
{
	const struct tracing_command *c = t->command;
	const struct tracing_options *o = &t->options;

	if (c->files && t->file_count < c->least_files)
		return t->file_count ? mlgen_fail(err, -EINVAL, "%s: only '%s' is given; name %s",
						  c->name, t->files[0], c->files)
				     : mlgen_fail(err, -EINVAL, "%s: no file; name %s", c->name,
						  c->files);
	if (field_find(c->options, "format") && !o->format)
		return mlgen_fail(err, -EINVAL,
				  "%s: --format=FORMAT is missing; mltrace %s --help "
				  "lists the formats",
				  c->name, c->name);
	if (c->flags & TRACING_MAKES_TRACE && !o->output)
		return mlgen_fail(err, -EINVAL,
				  "%s: needs a file for the trace; name it with -o FILE", c->name);
	if (c->flags & TRACING_MAKES_TRACE && strcmp(o->output, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "output=-: a trace cannot go to standard output; name a file");
	return 0;
}

int tracing_parse(struct tracing *t, int argc, char *const *argv, struct mlgen_err *err)
{
	bool only_files = false;
	int rc = 0;

	t->argv0 = argv[0];
	t->command = find_command(argv[1], err);
	if (!t->command)
		return err->code;
	field_defaults(t->command->options, &t->options);
	for (int i = 2; rc == 0 && i < argc; i++) {
		if (only_files || argv[i][0] != '-' || !argv[i][1])
			rc = add_file(t, argv, i, err);
		else if (strcmp(argv[i], "--") != 0)
			rc = parse_option(t, argv, &i, err);
		else if (t->command->flags & TRACING_RUNS_COMMAND) {
			t->argv = argv + i + 1;
			break;
		} else {
			only_files = true;
		}
	}
	if (rc == 0 && !t->options.help)
		rc = check_command_line(t, err);
	return rc;
}

void tracing_free_options(struct tracing *t)
{
	if (t->command)
		field_fini(t->command->options, &t->options);
	for (int i = 0; i < t->job_argc; i++)
		mem_free(t->job_argv[i]);
	mem_free(t->job_argv);
	mem_free(t->files);
}

/* ---- --help ---- */

enum { HELP_INDENT = 30 };

void tracing_help(FILE *to, const struct tracing_command *command)
{
	struct buf line = { 0 };

	if (!command) {
		fputs("usage: mltrace COMMAND [OPTION...] [FILE...]\n\nRecords, converts, "
		      "describes and compares traces of the I/O of programs.\n\n",
		      to);
		for (const struct tracing_command *c = tracing_commands; c->name; c++) {
			buf_addf(&line, "  %-9s", c->name);
			help_text_print(to, &line, c->help, 12, wrap_columns());
			buf_fini(&line);
		}
		fputs("\nmltrace COMMAND --help lists the options of a command. See also man "
		      "mltrace.\n",
		      to);
		return;
	}
	fprintf(to, "usage: mltrace %s %s\n\n", command->name, command->usage);
	wrap_words(&line, 0, wrap_columns(), command->help);
	fprintf(to, "%s\n\n", buf_str(&line));
	buf_fini(&line);
	for (const struct mlgen_field *f = command->options; f->name; f++) {
		struct buf help = { 0 };

		buf_addf(&line, "  --%s", f->name);
		if (f->type != MLGEN_BOOL) {
			buf_addc(&line, '=');
			field_type_text(&line, f);
		}
		buf_add(&help, f->help);
		for (const struct mlgen_choice *c = f->choices; c && c->name; c++)
			if (!field_is_spelling(f, c))
				buf_addf(&help, "\n%s: %s.", c->name, c->help);
		help_text_print(to, &line, buf_str(&help), HELP_INDENT, wrap_columns());
		buf_fini(&line);
		buf_fini(&help);
	}
}
