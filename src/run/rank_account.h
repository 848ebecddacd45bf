/* SPDX-License-Identifier: Apache-2.0 */
/* rank_account.h - what is counted of the steps of a rank, from the end of ramp_time on. */
#pragma once

#include "run/epochs.h"
#include "run/rank_step.h"

/* Its histograms, before its thread starts, and behind it; fini takes a zeroed rank. */
void rank_account_init(struct rank *r);
void rank_account_fini(struct rank *r);

/* By the rank's own thread. */

/* A whole step. The first of an epoch stands apart: it waits for a pipeline to fill. */
void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s);

/* Can the AU that is asked for still be reached? One whole epoch is run in any case: what is known
 * then is known of all files. */
void rank_look_for_hope(struct rank *r, uint64_t epoch);

/* Of what was counted until now nothing is left. */
void rank_forget(struct rank *r);

/* ramp_time is over. What was delivered (extents, id_sum) stays in the account: it is still
 * checked. */
void rank_start_counting(struct rank *r, struct epoch_account *a);
