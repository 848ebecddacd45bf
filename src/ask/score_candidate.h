/* SPDX-License-Identifier: Apache-2.0 */
/* score_candidate.h - the trace of a job that is to be scored: it is run now. */
#pragma once

#include "ask/ask.h"
#include "ask/probe.h"

/*
 * Its trace is a file without a name in TMPDIR (base/unnamed.h), so that it is gone with the
 * descriptor, however the program ends.
 */
struct score_candidate {
	int fd;          /* of the trace */
	char path[32];   /* of that */
	struct probe of; /* has its jobs, and what they came to */
};

/* Run the jobs of the command line. EXIT_RAN; else there is no trace that says what the job does,
 * which was told, and the status is what the job's own run would have had. fini in any case. */
int score_candidate_run(struct score_candidate *c, const struct ask *a);
void score_candidate_fini(struct score_candidate *c);
