/* SPDX-License-Identifier: Apache-2.0 */
/* result_read.h - a result as the run had it, from the records of its document. */
#pragma once

#include <stddef.h>

#include "ask/results_file.h"
#include "base/vec.h"
#include "job/job.h"
#include "report/json_read.h"
#include "run/results.h"

/*
 * What the reports print is there again, with these exceptions: the sizes of requests and NUMA
 * nodes are not in the document, nor is an engine that was loaded from a file. Records of one name
 * are of one job.
 */
struct result_doc {
	struct json_store store; /* owns what the result points to */
	struct run_result run;   /* verdicts are empty, and go with it */
	VEC(struct job *) jobs;  /* of all records, without doubles */
};

/* Of a document that was read with all it has; its records go over to the result. 0, or -EINVAL
 * with err where it has options or values that this program does not know. fini in any case. */
int result_read(struct result_doc *d, struct results_file *f, const struct jobset_env *env,
		struct mlgen_err *err);
/* Title and notes of the command line take the place of the document's. */
void result_retitle(struct result_doc *d, const struct settings *set);
void result_fini(struct result_doc *d);
