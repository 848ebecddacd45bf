/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - the similarity of traces: M1 to M12 of each phase, and the largest distance. */
#pragma once

/*
 * Each trace becomes a profile, whose size does not depend on the length of the trace. A row for
 * each figure compares the profiles of a phase. The limit of a figure is the largest of three: its
 * threshold, the distance that chance may cause, and the distance between real traces. The figures
 * are structs of trace/documents. One thread owns a score.
 */

#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "report/document/document.h"
#include "trace/documents/documents.h"

struct score {
	struct score_document document;
	struct json_store store; /* texts and lists of the document */
};

/*
 * Score `count` traces: at least one real trace, then the candidate. `names` are the names of the
 * files in the document and in messages. 0, or -errno with err: a file is not a trace, or has
 * nothing that can be scored. Call score_fini() in either case.
 */
int score_traces(struct score *to, const char *const *files, const char *const *names, size_t count,
		 struct mlgen_err *err);
void score_fini(struct score *s);

/* Print the score for people. */
void score_text(FILE *to, const struct scored *s);
