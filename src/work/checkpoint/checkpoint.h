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

/* ---- what relates two options of checkpoints ---- */

/* Part of job_check: of phase=checkpoint and phase=restore, and of a training with or without
 * checkpoint_every. */
void checkpoint_check(const struct job *j, struct diag *d);

/* ---- the dry run of what saves or restores the state of a model ---- */

/* Fill p->checkpoint, and the checks that belong to it, of a job that has checkpoints
 * (job_has_checkpoints); of a training once its steps are known. 0, or -errno with err where its
 * state makes no sense. */
int plan_checkpoint(struct plan_report *p, const struct plan_input *in, struct mlgen_err *err);

/* p finds nothing to restore yet: the jobs before it, `before`, may save it. */
void plan_checkpoint_expect(struct plan_report *p, const struct plan_report *before, size_t count);

/* The page below its first line; of a training its lines about checkpoints. */
void plan_checkpoint_text(FILE *to, const struct plan_report *p);

/* ---- the text report of a job that saves or restores a model's state ---- */

void text_checkpoint_report(FILE *to, struct text_block *b);

/*
 * "NOT DURABLE: 41.2 of 1047 GiB were still in this host's memory at the end", where there are
 * checkpoints that were not flushed; else nothing. A larger `brevity` (0 to 3) takes fewer words.
 * True if anything was appended.
 */
bool text_not_durable(struct buf *out, const struct job *job, const struct checkpoints_result *c,
		      unsigned brevity);

/* ---- the parts of a checkpoint job's report below its answer ---- */

/* What ran, on what; where time and bytes went. */
extern const struct text_line text_save_settings[], text_restore_settings[],
	text_checkpoint_evidence[];

/* Of a training that saves checkpoints; nothing of one that does not. `brief`: writes and flushes
 * alone. */
void text_saves_latency(struct buf *out, const struct text_block *b, bool brief);
void text_saves_evidence(struct buf *out, const struct text_block *b);

/* ---- what limits saving or restoring a model's state ---- */

/*
 * In the words and by the limits of text.h; the first that holds is taken:
 *   memory   files lie in memory; or, without direct=1, more than 10 % of what
 *            was restored came from memory, or of what was saved without fsync
 *            was still in it (also where nothing tells)
 *   network  of a restore: the interface of a remote mount carried 90 % of its
 *            line rate or more
 *   host     the CPUs are busy for 90 % or more, or making and checking data
 *            takes 20 % or more of the ranks' time
 *   storage  ranks spend 80 % or more of their time inside I/O calls
 *   unclear  none of these
 * Fills ml.verdict, whose strings belong to the result; none where no checkpoint was completed.
 */
void verdict_fill_checkpoint(const struct run_result *run, struct job_result *j);
