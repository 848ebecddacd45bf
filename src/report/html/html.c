/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - writes the page: embedded documents, style and scripts. */
#include "report/html/html.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html_internal.h"
#include "report/metrics/metrics.h"

/* Limit of the embedded figures, so that the whole page with its scripts stays below 2 MiB. */
#define FIGURES_BYTES (1700u << 10)
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(17))

void html_init(struct html *h, const char *asked)
{
	h->root = json_object();
	json_object_set_new(h->root, "asked", json_string(asked));
	json_object_set_new(h->root, "version", json_string(metrics_version()));
	json_object_set_new(h->root, "left_out", json_array());
	json_object_set_new(h->root, "documents", json_array());
}

void html_fini(struct html *h)
{
	json_decref(h->root);
	h->root = NULL;
}

void html_set_title(struct html *h, const char *title, const char *notes)
{
	json_t *lines = json_array();

	if (title)
		json_object_set_new(h->root, "title", json_string(title));
	while (notes && *notes) {
		size_t len = strcspn(notes, "\n");

		json_array_append_new(lines, json_stringn(notes, len));
		notes += len + (notes[len] == '\n');
	}
	json_object_set_new(h->root, "notes", lines);
}

int html_set_answer(struct html *h, const char *text, size_t bytes, struct mlgen_err *err)
{
	json_t *all = json_array();
	json_error_t e;
	size_t at = 0;

	while (at < bytes) {
		json_t *one = json_loadb(text + at, bytes - at, JSON_DISABLE_EOF_CHECK, &e);
		if (!one)
			break;
		json_array_append_new(all, one);
		at += (size_t)e.position;
		at += strspn(text + at, " \n");
	}
	bool is_whole = at == bytes;
	json_object_set_new(h->root, "answer", all);
	return is_whole ? 0 : mlgen_fail(err, -EINVAL, "html: the page cannot be made: %s", e.text);
}

void html_add_document(struct html *h, const char *file, json_t *document)
{
	json_t *o = json_object();

	json_object_set_new(o, "file", file ? json_string(file) : json_null());
	json_object_set_new(o, "document", json_deep_copy(document));
	json_array_append_new(json_object_get(h->root, "documents"), o);
}

/* ---- the limit of figures ---- */

static void remove_all(json_t *from, const char *key)
{
	json_object_del(from, key);
	for (void *i = json_object_iter(from); i; i = json_object_iter_next(from, i))
		remove_all(json_object_iter_value(i), key);
	for (size_t i = 0; i < json_array_size(from); i++)
		remove_all(json_array_get(from, i), key);
}

static int count_bytes(const char *text, size_t bytes, void *data)
{
	(void)text;
	*(size_t *)data += bytes;
	return 0;
}

/* ---- the page ---- */

/* Escape '<', so that no text can end the script element. */
static int print_escaped(const char *text, size_t bytes, void *data)
{
	FILE *to = data;

	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '<')
			fputs("\\u003c", to);
		else
			fputc(text[i], to);
	return 0;
}

static void print_element(FILE *to, const char *tag, const char *begin, const char *end)
{
	fprintf(to, "<%s>\n", tag);
	fwrite(begin, 1, (size_t)(end - begin), to);
	fprintf(to, "\n</%s>\n", tag);
}

int html_write(struct html *h, FILE *to)
{
	static const char *const parts[] = { "bins", "latencies", "series", NULL };

	for (size_t i = 0; parts[i]; i++) {
		size_t bytes = 0;

		json_dump_callback(h->root, count_bytes, &bytes, DUMP_FLAGS);
		if (bytes <= FIGURES_BYTES)
			break;
		remove_all(h->root, parts[i]);
		json_array_append_new(json_object_get(h->root, "left_out"), json_string(parts[i]));
	}

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"mlgen\">\n"
	      "<title>mlgen</title>\n",
	      to);
	print_element(to, "style", html_css, html_css_end);
	fputs("</head>\n<body>\n<main></main>\n<noscript>This page needs "
	      "JavaScript. Without it, the figures are at the end of the "
	      "file, as JSON.</noscript>\n<script type=\"application/json\" "
	      "id=\"figures\">",
	      to);
	json_dump_callback(h->root, print_escaped, to, DUMP_FLAGS);
	fputs("</script>\n", to);
	if (&html_chartjs_end[0] != &html_chartjs[0])
		print_element(to, "script", html_chartjs, html_chartjs_end);
	print_element(to, "script", html_js, html_js_end);
	fputs("</body>\n</html>\n", to);
	return ferror(to) ? -EIO : 0;
}
