/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_checkpoint.c - when an imported workload saves and restores. */
#include "import/dlio/dlio_parts.h"

#include <math.h>

static void write_fsync(struct dlio_writer *w)
{
	if (dlio_take(w, "checkpoint.fsync")->yes)
		dlio_say(w, "The YAML says fsync: True. DLIO accepts it, and does not do it; mlgen "
			    "does.");
	dlio_option_of(w, "checkpoint.fsync");
}

/* ---- while training ---- */

static bool every_steps(struct dlio_writer *w, double steps)
{
	if (steps == 0) {
		dlio_say(w, "steps_between_checkpoints is 0: no step is a multiple of it, and none "
			    "is saved after.");
		return false;
	}
	if (dlio_value(w->c, "train.epochs")->number > 1)
		dlio_say(w, "DLIO counts the steps of each epoch by themselves; here they count "
			    "through all.");
	dlio_option_as(w, "checkpoint.steps_between_checkpoints", "%.0f steps", steps);
	return true;
}

static bool every_epochs(struct dlio_writer *w)
{
	double epochs = dlio_value(w->c, "train.epochs")->number;
	double first = dlio_take(w, "checkpoint.checkpoint_after_epoch")->number;
	double every = dlio_take(w, "checkpoint.epochs_between_checkpoints")->number;
	double count, here;

	if (first < 1 || first > epochs) {
		dlio_say(w,
			 "The first checkpoint would be after epoch %.0f of %.0f: none is saved.",
			 first, epochs);
		return false;
	}
	count = every < 1 ? 1 : 1 + floor((epochs - first) / every);
	/* One alone must not come again. */
	here = count > 1 ? every : fmax(first, floor(epochs / 2) + 1);
	if (first != here)
		dlio_say(w,
			 "The YAML saves after epoch %.0f, then every %.0f: %.0f in all; here "
			 "after every %.0f, %.0f in all.",
			 first, every, count, here, floor(epochs / here));
	dlio_option_as(w, "checkpoint.epochs_between_checkpoints", "%.0f epochs", here);
	return true;
}

void dlio_write_saving(struct dlio_writer *w)
{
	double steps = dlio_take(w, "checkpoint.steps_between_checkpoints")->number;

	if (steps >= 0 ? every_steps(w, steps) : every_epochs(w)) {
		dlio_write_directory(w, "checkpoint_directory", "checkpoint.checkpoint_folder");
		dlio_write_state(w, true);
		write_fsync(w);
	}
	dlio_block(w, "checkpoints");
}

/* ---- without a training ---- */

static void write_pause(struct dlio_writer *w)
{
	if (dlio_take(w, "checkpoint.time_between_checkpoints")->number < 0)
		dlio_say(w, "Without time_between_checkpoints DLIO waits for 1 s.");
	dlio_option_of(w, "checkpoint.time_between_checkpoints");
}

static void write_save(struct dlio_writer *w, double count)
{
	buf_add(w->out, "\n[save]\n");
	dlio_option(w, "phase=checkpoint");
	dlio_option_as(w, "checkpoint.num_checkpoints_write", "%.0f", count);
	write_pause(w);
	write_fsync(w);
	dlio_say(w, "A second run deletes what the first one left; DLIO writes over it.");
	dlio_option(w, "checkpoint_keep=%.0f", count);
	dlio_block(w, NULL);
}

static void write_shift(struct dlio_writer *w)
{
	if (!dlio_take(w, "checkpoint.recovery_rank_shift")->yes)
		return;
	dlio_say(w, "The YAML says recovery_rank_shift: True: each rank reads what one of the next "
		    "host has saved. DLIO looks for it under another name, and does not shift. Nor "
		    "does this job, whose restore_shift goes around the ranks of one host: to read "
		    "what another host has saved, restore with its checkpoint_ranks and "
		    "checkpoint_directory.");
}

static void write_restore(struct dlio_writer *w, bool is_second)
{
	buf_add(w->out, "\n");
	dlio_say(w, "DLIO leaves the page cache as it is. This job drops its own files from this "
		    "host's; MLPerf Storage's rules ask for an empty one, which takes root: "
		    "--drop_caches=run.");
	dlio_block(w, NULL);
	buf_add(w->out, "[restore]\n");
	if (is_second)
		dlio_option(w, "stonewall");
	dlio_option(w, "phase=restore");
	dlio_option_of(w, "checkpoint.num_checkpoints_read");
	write_pause(w);
	write_shift(w);
	dlio_block(w, NULL);
}

void dlio_write_checkpoints(struct dlio_writer *w)
{
	bool direct = dlio_is_word(w->c, "storage.storage_type", "direct_fs");
	double saves, restores;

	dlio_write_state(w, false);
	dlio_block(w, "who writes what");
	dlio_say(w, "plain: requests of bs from every rank. framework: one write for each tensor, "
		    "as torch.save does, and DLIO by it.");
	dlio_option(w, "access=plain");
	dlio_option(w, "bs=1m");
	dlio_option(w, "direct=%d", direct);
	if (direct)
		dlio_take(w, "storage.storage_type");
	dlio_block(w, "how it is written and read");
	saves = dlio_take(w, "checkpoint.num_checkpoints_write")->number;
	restores = dlio_take(w, "checkpoint.num_checkpoints_read")->number;
	if (saves <= 0 && restores <= 0) {
		dlio_say(w, "The YAML says neither num_checkpoints_write nor num_checkpoints_read, "
			    "and DLIO does nothing then; here one is saved.");
		saves = 1;
	}
	if (saves > 0)
		write_save(w, saves);
	if (restores > 0)
		write_restore(w, saves > 0);
}
