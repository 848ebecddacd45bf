/* SPDX-License-Identifier: Apache-2.0 */
/* train_mlperf.c - the rules of MLPerf Storage for training. */
#include <inttypes.h>
#include <math.h>

#include "ask/mlperf/mlperf.h"
#include "base/units.h"
#include "work/train/train_internal.h"

/* Percent of a dataset of the smallest allowed size that fits into memory. */
#define MEMORY_PERCENT (100.0 / MLPERF_MEMORIES)

static void append_num_files(struct buf *text, const struct mlperf_subject *s)
{
	bool makes = dataset_makes_files(s->result ? s->result->dataset : NULL, s->job);

	buf_addf(text, "%s%.0f%s", makes ? "--num_files=" : "", s->need.files,
		 makes ? "" : " files");
}

/* Compares nominal sizes, like the tool of MLPerf Storage. */
static enum mlperf_state check_dataset(const struct mlperf_subject *s, struct buf *text)
{
	char bytes[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];
	double all = (double)s->memory_bytes * (double)s->hosts;

	if (isnan(s->samples) || !(all > 0)) {
		buf_add(text, all > 0 ? s->why.text : "memory is not known");
		return MLPERF_UNCHECKED;
	}
	double has = s->samples * s->need.sample_bytes;
	bool is_kept = s->samples >= s->need.memory_passes;
	buf_addf(text, "%s is ", units_human_bytes(bytes, has));
	buf_addf(text, has / all < 0.01 ? "less than %g" : "%.4g", fmax(has / all, 0.01));
	buf_addf(text, " x the memory of %" PRIu64 " host%s (%s%s each)", s->hosts,
		 s->hosts == 1 ? "" : "s", units_human_bytes(memory, (double)s->memory_bytes),
		 s->memory_of);
	buf_addf(text, is_kept ? "; at least %d x" : "; the rules ask for %d x: ", MLPERF_MEMORIES);
	if (!is_kept) {
		append_num_files(text, s);
		return MLPERF_BROKEN;
	}
	/* The text of the rules ("exactly match") and their checker ("less than") disagree. */
	if (!s->rules->is_exact || s->samples <= s->need.files * s->samples_per_file)
		return MLPERF_OK;
	buf_add(text, "; this is more than --datasize gives, which MLPerf's checker accepts, but "
		      "the rules ask for exactly: ");
	append_num_files(text, s);
	return MLPERF_UNCHECKED;
}

static enum mlperf_state check_steps(const struct mlperf_subject *s, struct buf *text)
{
	char n[UNITS_TEXT_BYTES];

	if (isnan(s->samples)) {
		buf_add(text, s->why.text);
		return MLPERF_UNCHECKED;
	}
	bool is_kept = s->samples >= s->need.steps_passes;
	double steps = fmin(floor(s->samples / (s->need.steps_samples / MLPERF_STEPS)), 1e19);
	buf_addf(text, "%s in an epoch", units_human_count(n, (uint64_t)steps));
	buf_addf(text, is_kept ? "; at least %d" : "; the rules ask for %d: ", MLPERF_STEPS);
	if (is_kept && s->samples < s->need.steps_samples)
		buf_add(text, ", which MLPerf's tools round down to whole files");
	if (!is_kept)
		append_num_files(text, s);
	return is_kept ? MLPERF_OK : MLPERF_BROKEN;
}

static enum mlperf_state check_epochs(const struct mlperf_subject *s, struct buf *text)
{
	uint64_t n = s->run ? s->result->ml.epochs_total : s->job->epochs;
	uint64_t want = s->workload ? s->workload->epochs : s->rules->epochs;

	/* An epoch reads each sample once (Rules.md). */
	if (s->job->cache != CACHE_NONE && s->job->cache_substitute != CACHE_SUBSTITUTE_NONE) {
		buf_add(text, "cache_substitute=");
		job_option_text(s->job, "cache_substitute", text);
		buf_add(text, " leaves samples out of epochs and reads others twice: "
			      "--cache_substitute=none");
		return MLPERF_BROKEN;
	}
	if (!want)
		return MLPERF_NONE;
	buf_addf(text, "%" PRIu64, n);
	if (n == want && s->job->epochs == want)
		return MLPERF_OK;
	buf_addf(text, " of %" PRIu64 ": --epochs=%" PRIu64 ", and neither steps nor runtime", want,
		 want);
	return MLPERF_BROKEN;
}

static double au_of(const struct mlperf_subject *s)
{
	return mlperf_window(s)->train_au_mean_percentage;
}

/* Find the lowest AU of the runs that are judged, because each of them has to pass. */
static const struct mlperf_subject *find_least_au(const struct mlperf_group *g, double *most)
{
	const struct mlperf_subject *least = NULL;

	*most = 0;
	for (size_t i = 0; i < g->count; i++) {
		const struct mlperf_subject *s = &g->of[i];

		if (s->turn < g->warm_ups)
			continue;
		*most = fmax(*most, au_of(s));
		if (!least || isnan(au_of(s)) || au_of(s) < au_of(least))
			least = s;
		if (isnan(au_of(s)))
			break;
	}
	return least;
}

static enum mlperf_state check_au(const struct mlperf_subject *s, struct buf *text)
{
	double most;

	if (!s->run)
		return mlperf_not_yet(text);
	if (!s->workload)
		return MLPERF_NONE;
	const struct mlperf_subject *least = find_least_au(s->group, &most);
	double au = au_of(least);
	if (isnan(au) && least->result->errors) {
		buf_add(text, "samples failed, which the rules do not allow");
		return MLPERF_BROKEN;
	}
	if (isnan(au)) {
		buf_add(text, "no epoch has a second step, which is the first that counts");
		return MLPERF_UNCHECKED;
	}
	buf_addf(text, "%.2f%%", au);
	if (s->group->count > 1)
		buf_addf(text, " (%s) to %.2f%%", least->name, most);
	buf_addf(text, " in the window of %s", s->rules->version);
	if (au >= s->workload->au) {
		buf_addf(text, "; at least %g%%", s->workload->au);
		return MLPERF_OK;
	}
	buf_addf(text, "; the rules ask for %g%%: fewer --accelerators, or faster storage",
		 s->workload->au);
	return MLPERF_BROKEN;
}

/* The unet3d of MLPerf Storage saves its model once, after the last epoch. */
static enum mlperf_state check_checkpoint(const struct mlperf_subject *s, struct buf *text)
{
	if (!s->workload || !s->workload->saves)
		return MLPERF_NONE;
	if (!s->job->checkpoint_every) {
		buf_add(text, "unet3d saves its model after epoch 5: --checkpoint_every=5epochs "
			      "--checkpoint_size=499153191 --checkpoint_ranks=zero");
		return MLPERF_BROKEN;
	}
	if (s->job->checkpoint_mode == CHECKPOINT_ASYNC) {
		buf_add(text, "checkpoint_mode=async hides the save, but MLPerf's training waits: "
			      "--checkpoint_mode=sync");
		return MLPERF_BROKEN;
	}
	if (!s->run) {
		buf_addf(text, "a model is saved every %s", s->job->checkpoint_every);
		return MLPERF_OK;
	}
	uint64_t saved = s->result->ml.saves.completed;
	buf_addf(text, "%" PRIu64 " saved", saved);
	if (saved)
		return MLPERF_OK;
	buf_add(text, ", and the rules ask for one: --checkpoint_every=5epochs");
	return MLPERF_BROKEN;
}

/* v1.0: "Caches must be cleared between two consecutive benchmark runs." v2.0 relies on the size of
 * the dataset, a warm-up run and new seeds. In v3.0 DLIO itself empties the caches before each
 * epoch (dlio_benchmark/main.py of mlcommons/DLIO_local_changes f6796ed). */
static bool keeps_caches(const struct mlperf_subject *s)
{
	const struct job *j = s->job;

	switch (s->rules->empties) {
	case MLPERF_EMPTY_RUN:
		return j->invalidate == INVALIDATE_NONE && j->drop_caches == DROP_CACHES_NO;
	case MLPERF_EMPTY_EPOCH:
		return !job_drops_each_epoch(j) && !j->direct;
	case MLPERF_EMPTY_NEVER:
		break;
	}
	return false;
}

static enum mlperf_state check_cache(const struct mlperf_subject *s, struct buf *text)
{
	bool empties_epoch = s->rules->empties == MLPERF_EMPTY_EPOCH;

	/* CLOSED does not allow a cache tier of the benchmark's own (Rules.md of mlcommons/storage,
	 * 3.6.2: the table of parameters). */
	if (s->job->cache != CACHE_NONE) {
		buf_add(text, "cache=");
		job_option_text(s->job, "cache", text);
		buf_add(text, " is a cache of the benchmark's own, which CLOSED does not allow: "
			      "--cache=none");
		return MLPERF_BROKEN;
	}
	if (keeps_caches(s)) {
		bool is_run = s->rules->empties == MLPERF_EMPTY_RUN;

		buf_add(text, "invalidate=");
		job_option_text(s->job, "invalidate", text);
		buf_addf(text, ": caches must be emptied before each %s: --invalidate=%s",
			 is_run ? "run" : "epoch", is_run ? "run" : "epoch");
		if (!is_run)
			buf_add(text, "; or --drop_caches=epoch, as root, which also drops names "
				      "and sizes from memory");
		return MLPERF_BROKEN;
	}
	if (!s->run)
		return mlperf_not_yet(text);
	if (empties_epoch && s->job->drop_caches == DROP_CACHES_EPOCH &&
	    !s->result->storage.caches_dropped) {
		buf_add(text, "this host's caches were not emptied");
		return MLPERF_BROKEN;
	}
	if (empties_epoch && s->job->drop_caches == DROP_CACHES_EPOCH)
		buf_add(text, "this host's caches were emptied before each epoch; ");
	else if (empties_epoch && s->job->direct)
		buf_add(text, "direct=1 bypasses the page cache; ");
	else if (empties_epoch)
		buf_add(text, "its files were dropped from the page cache before each epoch; ");

	const struct storage_result *st = &s->result->storage;
	if (st->is_memory) {
		buf_addf(text, "%s is %s, which is memory: another --directory", st->directory,
			 st->filesystem);
		return MLPERF_BROKEN;
	}
	if (isnan(st->memory_percent)) {
		buf_add(text,
			"no counter of this host shows how many bytes came from its page cache");
		return MLPERF_UNCHECKED;
	}
	buf_addf(text, "%.1f%% of the bytes came from this host's page cache", st->memory_percent);
	if (st->memory_percent <= MEMORY_PERCENT)
		return MLPERF_OK;
	/* Name a possible reason for so many cached bytes, and a remedy. */
	if (s->rules->empties == MLPERF_EMPTY_EPOCH) {
		buf_add(text, " anyway: only their owner may read these files");
		return MLPERF_BROKEN;
	}
	buf_addf(text, ", but a dataset of %d x its memory leaves at most %g%%: ", MLPERF_MEMORIES,
		 MEMORY_PERCENT);
	append_num_files(text, s);
	buf_add(text, ", or --invalidate=epoch");
	return MLPERF_BROKEN;
}

const struct mlperf_row train_mlperf_rules[] = {
	{ "workload", mlperf_check_workload, false },
	{ "options", mlperf_check_options, false },
	{ "dataset", check_dataset, false },
	{ "steps", check_steps, false },
	{ "epochs", check_epochs, false },
	{ "complete", mlperf_check_complete, false },
	{ "au", check_au, false },
	{ "checkpoint", check_checkpoint, false },
	{ "cache", check_cache, false },
	{ "runs", mlperf_check_runs, true },
	{ 0 },
};
