/* SPDX-License-Identifier: Apache-2.0 */
/* train_text.h - the text report of a training, and of a preparation. */
#pragma once

#include <stdio.h>

#include "report/detail.h"
#include "run/results.h"

/* As `text` of report/page.h. */
void train_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		enum detail detail);
void prepare_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		  enum detail detail);
