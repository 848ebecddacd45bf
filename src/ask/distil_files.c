/* SPDX-License-Identifier: Apache-2.0 */
/* distil_files.c - the job that a trace becomes. */
#include "ask/ask.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "distil/distil.h"
#include "job/job.h"

/* Up to the last slash, with it. */
static size_t folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The name of a file without folders and without its ending. */
static void add_stem(struct buf *to, const char *path)
{
	const char *name = path + folder_bytes(path);
	const char *dot = strrchr(name, '.');

	buf_addn(to, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

int ask_distil(const struct ask *a)
{
	const struct settings *set = &a->set->settings;
	const char *output = set->output;
	struct buf folder = { 0 }, name = { 0 };
	struct mlgen_err err = { 0 };
	struct jobtext *job = NULL;
	int rc;

	if (set->output_format != OUTPUT_TEXT) {
		log_error("output-format: a job is text");
		return EXIT_USAGE;
	}
	if (output)
		buf_addn(&folder, output, folder_bytes(output));
	add_stem(&name, output ? output : a->set->files[0]);
	const struct distil_ask ask = {
		.paths = (const char *const *)a->set->files,
		.path_count = a->set->file_count,
		.side_folder = buf_str(&folder),
		.side_name = buf_str(&name),
	};
	rc = distil_trace(&job, &ask, &err);
	if (rc == 0)
		jobtext_write(job, a->to);
	else
		log_error("%s", err.text);
	jobtext_free(job);
	buf_fini(&folder);
	buf_fini(&name);
	return rc < 0 ? EXIT_USAGE : EXIT_RAN;
}
