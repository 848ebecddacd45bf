/* SPDX-License-Identifier: Apache-2.0 */
/* detail.h - how much of a report is printed. */
#pragma once

#include "job/job.h"

enum detail {
	DETAIL_FIRST, /* --quiet: its first line */
	DETAIL_BRIEF, /* --brief: what a mail needs */
	DETAIL_USUAL,
	DETAIL_ALL, /* --verbose: also what could not be measured here */
};

static inline enum detail detail_of(const struct settings *s)
{
	return s->quiet     ? DETAIL_FIRST
	       : s->brief   ? DETAIL_BRIEF
	       : s->verbose ? DETAIL_ALL
			    : DETAIL_USUAL;
}
