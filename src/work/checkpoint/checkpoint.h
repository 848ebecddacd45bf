/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - phase=checkpoint and phase=restore: a model's state, saved and read back. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "job/job.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/result/result.h"

extern const struct workload work_checkpoint, work_restore;

/* checkpoint_activity.c, checkpoint.c */
extern const struct activity checkpoint_activity;
extern const struct page checkpoint_page;
extern const struct asked checkpoint_asked;

/* ---- relations between options of checkpoints ---- */

/* Part of job_check for phase=checkpoint and phase=restore, and for training jobs with or without
 * checkpoint_every. */
void checkpoint_check(const struct job *j, struct diag *d);

/* ---- the dry run of saving or restoring a model's state ---- */

/* Fill p->checkpoint and its checks for a job with checkpoints (job_has_checkpoints). For a
 * training job, call it once the steps are known. 0, or -errno with err if the state makes no
 * sense. */
int plan_checkpoint(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);

/* Clear the check of `p` that failed because there is nothing to restore yet, if one of the earlier
 * jobs `before` saves all that `p` reads. */
void plan_checkpoint_expect(struct plan_report *p, const struct plan_report *before, size_t count);

/* Print the page below its first line; for a training job, print only the lines about
 * checkpoints. */
void plan_checkpoint_text(FILE *to, const struct plan_report *p);

/* ---- the text report of saving or restoring a model's state ---- */

/* The member text of struct page (report/plan/plan.h). */
void text_checkpoint_report(FILE *to, const struct run_result *run, const struct job_result *r,
			    size_t n, enum detail detail);

/*
 * Append "NOT DURABLE: 41.2 of 1047 GiB were still in this host's memory at the end" if some
 * checkpoints were not flushed. A larger `brevity` (0 to 3) uses fewer words. True if anything was
 * appended.
 */
bool text_not_durable(struct buf *out, const struct job *job, const struct checkpoints_result *c,
		      unsigned brevity);

/* Append the latencies of a training job's saves, or nothing if it saves no checkpoints. `brief`:
 * only writes and flushes. */
void text_saves_latency(struct buf *out, const struct text_block *b, bool brief);
void text_saves_evidence(struct buf *out, const struct text_block *b);

/* ---- the limit of saving or restoring a model's state ---- */

/*
 * The first verdict that holds, by the limits of text.h:
 *   memory   the files are in a filesystem in memory. Without direct=1 also: a
 *            restore got more than 10 % of its bytes from memory, or a save
 *            without fsync left more than 10 %, or an unknown part, of its
 *            bytes in memory
 *   network  restore only: the interface of a remote mount carried 90 % of its
 *            line rate or more
 *   host     the CPUs are busy for 90 % or more, or making and checking data
 *            takes 20 % or more of the ranks' time
 *   storage  ranks spend 80 % or more of their time inside I/O calls
 *   unclear  none of these
 * Fills j->verdict, whose strings belong to the result. There is no verdict if no checkpoint was
 * completed.
 */
void verdict_fill_checkpoint(const struct run_result *run, struct job_result *j);
