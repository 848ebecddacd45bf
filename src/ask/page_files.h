/* SPDX-License-Identifier: Apache-2.0 */
/* page_files.h - the page of --html, around what was asked and the documents it was asked of. */
#pragma once

#include "ask/ask.h"

/*
 * What a question has answered (NULL = a run, or a plan), as --json has it, or lines of JSON,
 * becomes a page; with the documents of runs that it was asked about. 0, or -errno with err.
 */
int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err);
