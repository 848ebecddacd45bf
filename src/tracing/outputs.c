/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - the files that a command writes, checked before it runs and written after it. */
#include "tracing/tracing_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/log.h"
#include "base/util.h"
#include "report/html/html.h"

/* The command whose outputs are open, for tracing_discard_outputs(). */
static struct tracing *current;

enum { TEXT, JSON, HTML, LOG, PLACES };

static int fail_place(const struct place *p, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL, "%s=%s: %s; name another file", p->option, p->given, what);
}

/* Open the place that an option names, and check that nothing reads it. */
static int open_place(struct place *p, const char *option, const char *path,
		      const struct tracing *t, struct mlgen_err *err)
{
	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s=-: name a file; standard output contains the answer", option);
	int rc = place_open(p, option, path, err);
	for (size_t i = 0; rc == 0 && i < t->file_count; i++)
		if (place_is_path(p, t->files[i]))
			rc = fail_place(p, "is also an input file", err);
	if (rc == 0 && !p->is_handed_over && place_is_fd(p, STDIN_FILENO))
		rc = fail_place(p, "is standard input", err);
	if (rc == 0 && !p->is_handed_over && place_is_fd(p, STDERR_FILENO))
		rc = fail_place(p, "is also standard error", err);
	return rc;
}

static int check_places(const struct place *places, const struct tracing *t, struct mlgen_err *err)
{
	static const enum outfile_kind kinds[] = {
		[JSON] = OUTFILE_JSON, [HTML] = OUTFILE_HTML, [LOG] = OUTFILE_LOG
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < PLACES; i++) {
		const struct place *p = &places[i];

		for (size_t k = i + 1; rc == 0 && p->option && k < PLACES; k++)
			if (places[k].option && place_is_same(p, &places[k]))
				rc = mlgen_fail(err, -EINVAL,
						"%s=%s: is also the file of --%s; give one of them "
						"another name",
						p->option, p->given, places[k].option);
		if (rc == 0 && p->option && !p->is_handed_over && !places[TEXT].option &&
		    place_is_fd(p, STDOUT_FILENO))
			rc = fail_place(p, "is also standard output, which contains the answer",
					err);
		if (rc == 0 && i != TEXT && p->option)
			rc = outfile_check(p, kinds[i], t->options.force, err);
	}
	return rc;
}

int tracing_open_outputs(struct tracing *t, struct mlgen_err *err)
{
	const struct tracing_options *o = &t->options;
	const char *const options[PLACES] = { "output", "json", "html", "log" };
	const char *const paths[PLACES] = { t->command->flags & TRACING_MAKES_TRACE ? NULL
										    : o->output,
					    o->json, o->html, o->log };
	struct output *const outputs[PLACES] = { &t->text, &t->json_file, &t->html_file,
						 &t->log_file };
	struct place places[PLACES] = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < PLACES; i++)
		if (paths[i])
			rc = open_place(&places[i], options[i], paths[i], t, err);
	if (rc == 0)
		rc = check_places(places, t, err);
	current = t;
	for (size_t i = 0; rc == 0 && i < PLACES; i++)
		if (i == TEXT || places[i].option)
			rc = output_open(outputs[i], places[i].option ? &places[i] : NULL, err);
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].option)
			place_close(&places[i]);
	if (rc == 0 && t->command->flags & TRACING_STREAMS)
		rc = output_stream(&t->text, err);
	if (rc == 0 && o->html) {
		t->json = open_memstream(&t->document, &t->document_bytes);
		rc = t->json ? 0 : mlgen_fail(err, -ENOMEM, "%s", strerror(ENOMEM));
	} else if (rc == 0) {
		t->json = t->json_file.to;
	}
	t->text.is_text = t->command->flags & TRACING_HAS_JSON && o->output_format == OUTPUT_TEXT;
	t->to = t->text.to;
	t->log = t->log_file.to;
	return rc;
}

/* Write the HTML page of the document, and the document itself to --json. */
static int write_page(struct tracing *t, struct mlgen_err *err)
{
	struct html page;

	if (fclose(t->json) != 0)
		return mlgen_fail(err, -ENOMEM, "html=%s: %s", t->options.html, strerror(ENOMEM));
	if (t->json_file.to)
		fwrite(t->document, 1, t->document_bytes, t->json_file.to);
	html_init(&page, t->command->name);
	int rc = html_set_answer(&page, t->document, t->document_bytes, err);
	if (rc == 0 && html_write(&page, t->html_file.to) < 0)
		rc = mlgen_fail(err, -EIO, "html=%s: %s", t->options.html, strerror(EIO));
	html_fini(&page);
	return rc;
}

int tracing_close_outputs(struct tracing *t, int status)
{
	struct output *const outputs[] = { &t->text, &t->json_file, &t->html_file, &t->log_file };
	bool has_nothing = status != EXIT_RAN && status != EXIT_MISSED && t->to &&
			   !(t->command->flags & TRACING_STREAMS) && ftello(t->to) == 0;
	struct mlgen_err err = { 0 };
	int rc = 0;

	/* Existing files stay unchanged. */
	if (status == EXIT_USAGE || has_nothing) {
		if (t->options.html && t->json)
			fclose(t->json);
	} else {
		if (t->options.html)
			rc = write_page(t, &err);
		for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
			if (outputs[i]->to && (outputs[i] != &t->html_file || rc == 0) &&
			    output_close(outputs[i], &err) < 0)
				rc = -1;
		/* No message if the reader of a pipe has exited (head -1). */
		if (rc < 0 && err.code != -EPIPE)
			log_error("%s", err.text);
	}
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
		output_abandon(outputs[i]);
	current = NULL;
	free(t->document);
	t->document = NULL;
	return rc < 0 && (status == EXIT_RAN || status == EXIT_MISSED) ? EXIT_FAILED : status;
}

void tracing_discard_outputs(void)
{
	struct tracing *t = current;

	if (!t)
		return;
	output_discard(&t->text);
	output_discard(&t->json_file);
	output_discard(&t->html_file);
	output_discard(&t->log_file);
}
