/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_supply.c - see verdict_supply.h. */
#include "report/verdict_supply.h"

#include <math.h>

#include "report/show.h"
#include "report/verdict.h"
#include "run/interleave.h"

#define STEPS_PER_BATCH_AHEAD 10

uint64_t verdict_batches_ahead(const struct job *j)
{
	uint64_t n = j->prefetch;

	if (j->loader == LOADER_PYTORCH)
		n *= j->read_threads;
	if (job_interleaves(j))
		n += job_read_threads(j) * INTERLEAVE_RECORDS / j->batch_size;
	return n + job_shuffle_buffer(j) / j->batch_size;
}

uint64_t verdict_steps_that_show(const struct job *j)
{
	return verdict_batches_ahead(j) * STEPS_PER_BATCH_AHEAD;
}

bool verdict_epochs_are_short(const struct job_result *r)
{
	/* One that steps= has cut is none that is counted. */
	double epochs = fmax(1, (double)r->ml.epochs_total);

	return (double)r->ml.steps < epochs * (double)verdict_steps_that_show(r->job);
}

double verdict_supply_percent(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	double busy = 1 - ml->loader_percent.idle / 100;

	if (!job_result_has_accelerators(r) || !(busy > 0))
		return (double)NAN;
	return 100 * ml->io_bytes_per_sec / busy / ml->demand_io_bytes_per_sec;
}

bool verdict_is_hidden(const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;
	double busy = 100 - ml->loader_percent.idle;
	double target = verdict_target_au(r);

	return verdict_epochs_are_short(r) && ml->au_percent >= target &&
	       verdict_supply_percent(r) < target &&
	       show_io_percent(&ml->loader_percent) >= busy * VERDICT_STORAGE_PERCENT / 100;
}
