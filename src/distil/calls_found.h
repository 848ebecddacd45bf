/* SPDX-License-Identifier: Apache-2.0 */
/* calls_found.h - visits of a trace as templates of calls, for access=recorded. */
#pragma once

#include "data/plans/plans.h"
#include "distil/explain.h"

enum {
	CALLS_FOUND_MOST = 64, /* templates */
	CALLS_FOUND_WHY_BYTES = 96,
};

struct calls_found {
	struct recorded recorded;
	char *why[CALLS_FOUND_MOST]; /* by template: how many visits */
	unsigned visits;             /* that have become templates */
	unsigned kinds;              /* as different as they are; more than templates are
				      * merged into the nearest */
	bool is_cut;                 /* of some not all calls are kept */
	/* Calls that no template can have are left out: so many visits have some. */
	unsigned without;
};

/*
 * Offsets become relative to the file's beginning or end, the sample or the read before; requests
 * that repeat become one line. Visits with the same lines are one template. False: none of them
 * reads.
 */
bool calls_found(struct calls_found *c, const struct explain_visit *visits, unsigned count);
void calls_found_fini(struct calls_found *c); /* takes a zeroed one */
