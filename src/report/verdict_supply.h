/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_supply.h - what read threads bring, where AU does not show it. */
#pragma once

#include "run/results.h"

/*
 * AU leaves out the first step of each epoch. Where so much is read ahead of it that the rest of
 * the epoch says little, waiting for storage is hardly in AU, however slow that is. What read
 * threads brought while they had to read shows it.
 */

/* Batches of one accelerator that may be read before its first step. */
uint64_t verdict_batches_ahead(const struct job *j);

/* So few steps for each batch ahead that AU says little? `r` is a training. */
bool verdict_epochs_are_short(const struct job_result *r);
/* From how many steps on it does. */
uint64_t verdict_steps_that_show(const struct job *j);

/* What read threads brought while they were not idle, in percent of what the accelerators ask for.
 * NaN = not known, or no training. */
double verdict_supply_percent(const struct job_result *r);

/* Is AU met by short epochs only, while storage is too slow for it? */
bool verdict_is_hidden(const struct job_result *r);
