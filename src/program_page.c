/* SPDX-License-Identifier: Apache-2.0 */
/* program_page.c - the page of --html, made of the document of --json; see program.h. */
#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/results/results.h"
#include "base/log.h"

FILE *program_document(struct program *p)
{
	if (p->html.to && !p->document)
		p->document = open_memstream(&p->document_text, &p->document_bytes);
	return p->html.to ? p->document : p->json.to;
}

int program_write_page(struct program *p, const struct question *q)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (!p->document)
		return EXIT_RAN;
	if (fclose(p->document) != 0)
		rc = mlgen_fail(&err, -ENOMEM, "html=%s: %s", p->set.settings.html,
				strerror(ENOMEM));
	p->document = NULL;
	if (rc == 0 && p->json.to)
		fwrite(p->document_text, 1, p->document_bytes, p->json.to);
	if (rc == 0)
		rc = page_files(&p->ask, q, p->document_text, p->document_bytes, p->html.to, &err);
	free(p->document_text);
	p->document_text = NULL;
	if (rc == 0 && output_close(&p->html, &err) == 0)
		return EXIT_RAN;
	log_error("%s", err.text);
	output_abandon(&p->html);
	return EXIT_FAILED;
}
