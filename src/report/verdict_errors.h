/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_errors.h - did so much fail that nothing else can be said? */
#pragma once

#include "report/verdict_parts.h"

/* Of what failed, within the allowance: more than so many percent, and what did not fail says
 * little about what limits. */
#define VERDICT_ERRORS_PERCENT 1.0

/* More than max_errors allows, or than that? Of any kind of job. */
bool verdict_is_errors(const struct job_result *r);

/* "100 of 128 samples failed", "5 of 64 operations failed", "3 errors". */
void verdict_put_failed(struct buf *out, const struct job_result *r);

/* "max_errors=1% allows no more", appended. */
void verdict_put_allowance(struct buf *out, const struct job_result *r);

/* Say of each job that went on although more failed than max_errors allows what that was; false:
 * there is none. */
bool verdict_log_failed(const struct run_result *r);

/* A row of a training's verdicts, and what a plain job takes of it; of `findings` they look at the
 * result alone. */
bool verdict_errors_holds(const struct verdict_findings *f);
void verdict_errors_headline(struct buf *out, const struct verdict_findings *f);
void verdict_errors_because(struct buf *out, const struct verdict_findings *f);
void verdict_errors_try(struct buf *out, const struct verdict_findings *f);
