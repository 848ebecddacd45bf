/* SPDX-License-Identifier: Apache-2.0 */
/* replay_text.h - the text report of a replay: that of a plain job, and what was asked and done of
 * its trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "job/job.h"
#include "report/detail.h"
#include "run/results.h"

/* As text_io_report(). */
void replay_text(FILE *to, const struct run_result *run, const struct job_result *records, size_t n,
		 enum detail detail);

/* ", think times kept, twice as fast", appended: when an operation is due. */
void replay_put_how(struct buf *text, const struct job *j);

/* "touches of mapped pages" with an engine that maps, else "reads". */
const char *replay_touches_are(const struct job *j);
