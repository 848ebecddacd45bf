/* SPDX-License-Identifier: Apache-2.0 */
/* page_files.c - see page_files.h; and --page, which asks nothing but that. */
#include "ask/page_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ask/results_file.h"
#include "base/log.h"
#include "report/html/html.h"

static int open_document(struct results_file *f, const char *path, struct mlgen_err *err)
{
	/* It is read twice: for the answer, and for the page. */
	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "html: a page is made of files, and not of standard input");
	return results_open_any(f, path, err);
}

static int add_documents(struct html *h, const struct ask *a, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++) {
		struct results_file f;

		rc = open_document(&f, a->set->files[i], err);
		if (rc < 0)
			return rc;
		html_document(h, f.name, f.root);
		results_close(&f);
	}
	return rc;
}

int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err)
{
	struct html h;
	int rc;

	html_init(&h, q ? q->option : "run");
	html_title(&h, a->set->settings.title, a->set->settings.note);
	rc = html_answer(&h, answer, bytes, err);
	if (rc == 0 && q && q->shows_documents)
		rc = add_documents(&h, a, err);
	if (rc == 0 && html_write(&h, to) < 0)
		rc = mlgen_fail(err, -EIO, "html=%s: %s", a->set->settings.html, strerror(EIO));
	html_fini(&h);
	return rc;
}

/* That they can be read is all there is to say; the page is made behind. */
int ask_page(const struct ask *a)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (!a->set->settings.html)
		rc = mlgen_fail(&err, -EINVAL, "page: add --html=FILE, where it is written");
	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++) {
		struct results_file f;

		rc = open_document(&f, a->set->files[i], &err);
		if (rc == 0)
			results_close(&f);
	}
	if (rc < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	fprintf(a->to, "%s: a page of %zu document%s\n", a->set->settings.html, a->set->file_count,
		a->set->file_count == 1 ? "" : "s");
	return EXIT_RAN;
}
