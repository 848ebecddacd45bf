/* SPDX-License-Identifier: Apache-2.0 */
/* traces.h - questions about traces: --describe, --score, --distil. */
#pragma once

/*
 * Each question opens the traces, hands them to describe, score or distil, and prints what comes
 * back. A candidate of --score may be a job, which is run by a probe that writes its trace.
 */

#include "ask/ask.h"
#include "ask/search/search.h"

/* ---- a candidate that is a job ---- */
