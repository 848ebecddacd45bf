/* SPDX-License-Identifier: Apache-2.0 */
/* tracing_internal.h - a command of mltrace while it runs. */
#pragma once

#include <stdio.h>

#include <mlgen/err.h>

#include "io/host.h"
#include "report/output/output.h"
#include "tracing/tracing.h"

struct tracing {
	const struct tracing_command *command;
	struct tracing_options options;
	const char **files; /* pointers into argv */
	size_t file_count;
	char *const *argv; /* the command to record, NULL-ended; NULL = none */
	/* The job that is the candidate of a score: "mltrace", the name of the job, and its options
	 * ("--bs=4k"). */
	char **job_argv;
	int job_argc;
	const char *argv0;
	FILE *out, *faults; /* standard output and error */
	struct host host;
	/* Open while the command runs; `to` prints to standard output or --output. */
	struct output text, json_file, html_file, log_file;
	FILE *to, *json, *log; /* json and log: NULL = not wanted */
	char *document;        /* memory of `json` for the HTML page */
	size_t document_bytes;
};

/* Parse the command line. 0, or -EINVAL with the fault in err. */
int tracing_parse(struct tracing *t, int argc, char *const *argv, struct mlgen_err *err);
void tracing_free_options(struct tracing *t);

/* Print all commands, or the purpose and options of `command`. */
void tracing_help(FILE *to, const struct tracing_command *command);

/* Check that the outputs may be written, and open them, before anything runs. 0 or -errno with err.
 */
int tracing_open_outputs(struct tracing *t, struct mlgen_err *err);
/* Write the outputs, unless the command failed before it printed. Returns the exit status. */
int tracing_close_outputs(struct tracing *t, int status);

int tracing_record(struct tracing *t);
int tracing_import(struct tracing *t);
int tracing_export(struct tracing *t);
int tracing_describe(struct tracing *t);
int tracing_score(struct tracing *t);
int tracing_distil(struct tracing *t);
