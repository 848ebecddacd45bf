/* SPDX-License-Identifier: Apache-2.0 */
/* train_dataset.c - see train_dataset.h. */
#include "work/train/train_dataset.h"

#include <inttypes.h>

#include "base/log.h"
#include "job/workload.h"
#include "run/shared.h"

/* A probe's dataset is that of the command line, and what it takes is shown. */
static void note_scaled(const struct slot *s)
{
	const struct dataset *ds = &s->dataset;

	if (!ds->scaled.whole || s->job->scaled_as)
		return;
	log_note("%s: %s has %" PRIu64 " files, which are read; for %" PRIu64
		 " accelerators scale=%.15g%% makes %" PRIu64
		 ", in another directory",
		 s->job->name, ds->directory, ds->files, ds->scaled.ranks,
		 s->job->scale, ds->scaled.whole);
}

int train_dataset_init(struct slot *s, struct run_shared *run,
		       struct mlgen_err *err)
{
	const struct job *j = s->job;
	int rc = dataset_init(&s->dataset, j, run->cfg.host->memory_bytes, err);

	if (rc == 0 && (!job_work(j)->only_prepares || !run->cfg.replace))
		rc = dataset_take_there(&s->dataset, j, err);
	if (rc == 0)
		note_scaled(s);
	return rc;
}
