/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.h - mltrace: its commands, their options, and the way from argv to an exit status. */
#pragma once

/*
 * mltrace records, converts and judges traces. A command ("describe") is a row: its name, its
 * options and a function. All commands share one struct of options; the table of a command says
 * which of them it has, and help, man page and completion follow from these tables.
 *
 * The main thread calls everything but tracing_discard_outputs().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/field.h>

/* Options of all commands; texts are owned. */
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
	TRACING_RUNS_COMMAND = 4, /* what follows "--" is a command */
	TRACING_RUNS_JOB = 8,     /* the last file may be a job, with its options after it */
	TRACING_STREAMS = 16,     /* the output may have any length, and goes out as it is made */
};

struct tracing;

struct tracing_command {
	const char *name;
	const char *usage; /* what follows the name on a command line */
	const char *help;  /* one sentence */
	const struct mlgen_field *options;
	unsigned flags; /* enum tracing_flag */
	size_t least_files;
	const char *files; /* what to name where there are fewer; NULL = no files are read */
	/* Gives the exit status (enum in ask/ask.h), and has reported what went wrong. */
	int (*run)(struct tracing *t);
};

/* Ends with an empty row. */
extern const struct tracing_command tracing_commands[];

/* Read the command line, run the command, write its outputs; help is printed to `out`, and faults
 * of a job to `faults`. Gives the exit status. */
int tracing_main(int argc, char **argv, FILE *out, FILE *faults);

/* Any thread, before the program ends at once: leave no output half-written. */
void tracing_discard_outputs(void);
