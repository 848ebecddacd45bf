/* SPDX-License-Identifier: Apache-2.0 */
/* train_dataset.c - see train_dataset.h. */
#include "work/train/train_dataset.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/scan/scan.h"
#include "job/job.h"
#include "run/shared.h"

/* A probe's dataset is that of the command line, and what it takes is shown. */
static void note_scaled(const struct slot *s)
{
	const struct dataset *ds = &s->dataset;

	if (!ds->scaled.whole || s->job->scaled_as)
		return;
	log_note("%s: %s has %" PRIu64 " files, which are read; for %" PRIu64
		 " accelerators scale=%.15g%% makes %" PRIu64 ", in another directory",
		 s->job->name, ds->directory, ds->files, ds->scaled.ranks, s->job->scale,
		 ds->scaled.whole);
}

int train_dataset_init(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	int rc = dataset_given_init(&s->dataset, j, host_all_memory(run->cfg.host), s->given, err);

	if (rc == 0 && (!job_work(j)->only_prepares || !run->cfg.replace))
		rc = dataset_take_there(&s->dataset, j, err);
	if (rc == 0)
		note_scaled(s);
	return rc;
}

/* Those that are read may be replaced, or grow, without a call of the run that would show it: one
 * more call for each sample would be measured. */
static void look_back(const struct slot *s, const struct dataset *ds)
{
	char changed[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];
	uint64_t files = ds->distinct_files ? ds->distinct_files : ds->files;
	struct scan_changed c;

	if (!ds->scan)
		return;
	scan_look_again(ds->scan, u64_min(files, ds->files), &c);
	if (c.changed)
		log_warn("%s: files have changed or gone since they were listed: %s of %s that "
			 "were looked at again, the first is %s; what was read of them may not be "
			 "what the report says",
			 s->job->name, units_human_count(changed, c.changed),
			 units_human_count(all, c.looked_at), c.path);
}

void train_dataset_look_back(struct slot *s)
{
	/* An error says more, and who interrupts does not want to wait. */
	if (!slot_touches_files(s) || atomic_load(s->train.interrupted) ||
	    atomic_load(&s->train.failure->is_set))
		return;
	look_back(s, &s->dataset);
	look_back(s, &s->eval);
}
