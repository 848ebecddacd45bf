/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.h - mltrace: its commands, their options, and the program from argv to exit status. */
#pragma once

/*
 * mltrace records, converts, describes and compares traces. A command, such as "describe", is a row
 * of a table: its name, its options and a function. All commands share one struct of options; the
 * table of a command lists the options that apply. Help, man page and completion are made from
 * these tables.
 *
 * The main thread calls everything but tracing_discard_outputs().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/field.h>

/* Options of all commands; strings are owned. */
struct tracing_options {
	bool help, quiet, force;
	int output_format; /* enum settings_output */
	char *output;      /* NULL = standard output, for commands that print */
	char *json, *html, *log;
	uint64_t log_interval_ns;
	char *require;
	/* record */
	uint64_t pid; /* 0 = none */
	char *cgroup, *user;
	uint64_t duration_ns; /* 0 = until the end */
	uint64_t buffer_bytes;
	int backend; /* enum capture_choice */
	int eta;     /* enum settings_eta */
	/* import, export */
	int format; /* enum import_format or enum tracing_export; 0 = not given */
	bool lenient;
	char *markers;
};

enum tracing_export { TRACING_EXPORT_CSV = 1, TRACING_EXPORT_FIO_IOLOG };

enum tracing_flag {
	TRACING_MAKES_TRACE = 1,  /* --output is required, and names a trace */
	TRACING_HAS_JSON = 2,     /* --output-format=json */
	TRACING_RUNS_COMMAND = 4, /* a command follows "--" */
	TRACING_RUNS_JOB = 8,     /* the last file may be a job, with its options after it */
	TRACING_STREAMS = 16, /* the output may have any length, and is written while it is made */
};

struct tracing;

struct tracing_command {
	const char *name;
	const char *usage; /* the arguments after the name */
	const char *help;  /* a sentence */
	const struct mlgen_field *options;
	unsigned flags; /* enum tracing_flag */
	size_t least_files;
	const char *files; /* named in the error if there are fewer; NULL = reads no files */
	/* Returns the exit status (enum in ask/ask.h), after errors have been reported. */
	int (*run)(struct tracing *t);
};

/* Ends with an empty row. */
extern const struct tracing_command tracing_commands[];

/* Parse the command line, run the command and write its outputs. Prints help to `out`, and the
 * faults of a job to `faults`. Returns the exit status. */
int tracing_main(int argc, char **argv, FILE *out, FILE *faults);

/* Called by any thread before an immediate exit, so that no output is left half-written. */
void tracing_discard_outputs(void);
