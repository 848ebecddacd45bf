/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_mlperf.c - MLPerf Storage's rules of saving and restoring checkpoints. */
#include <inttypes.h>
#include <math.h>

#include "ask/mlperf/mlperf.h"
#include "base/ranges.h"
#include "base/units.h"
#include "data/state/state.h"
#include "job/job.h"
#include "report/verdict.h"
#include "work/checkpoint/checkpoint_mlperf.h"

static bool checkpoint_mlperf_is_restore(const struct mlperf_subject *s)
{
	return job_work(s->job)->restores;
}

/* Of this host; 0: the list cannot be read, which a run would have said. */
static uint64_t local_ranks(const struct job *j)
{
	struct ranges here = { 0 };
	uint64_t n = 0;

	if (job_local_ranks(j, &here, NULL) == 0)
		n = here.numbers;
	ranges_fini(&here);
	return n;
}

/* A part of the ranks, on this host. */
static enum mlperf_state say_some(const struct mlperf_subject *s, uint64_t here, uint64_t others,
				  struct buf *text)
{
	bool is_subset = here == MLPERF_SUBSET;

	if (!s->workload->has_subset) {
		buf_addf(text, "; the other %" PRIu64 " belong to the result", others);
		if (is_subset)
			buf_add(text, ", as a subset of 8 is of the 8b model only");
		return MLPERF_UNCHECKED;
	}
	buf_addf(text,
		 is_subset ? ": their subset mode, for storage inside a host. Of shared storage "
			     "the other %" PRIu64 " belong to the result"
			   : "; the other %" PRIu64
			     " belong to the result, or 8 of one host, their subset mode",
		 others);
	return is_subset ? MLPERF_OK : MLPERF_UNCHECKED;
}

static enum mlperf_state check_ranks(const struct mlperf_subject *s, struct buf *text)
{
	uint64_t all = job_ranks(s->job), here = local_ranks(s->job);

	if (!s->workload)
		return MLPERF_NONE;
	buf_addf(text, "%" PRIu64 " of %" PRIu64 " on this host", here, all);
	if (all != s->workload->ranks) {
		buf_addf(text, "; CLOSED has %" PRIu64 ": --ranks=%" PRIu64, s->workload->ranks,
			 s->workload->ranks);
		return MLPERF_BROKEN;
	}
	if (here < s->rules->ranks_here) {
		buf_addf(text, "; the rules ask for %s: --checkpoint_ranks",
			 s->rules->ranks_here_text);
		return MLPERF_BROKEN;
	}
	if (here == all)
		return MLPERF_OK;
	return say_some(s, here, all - here, text);
}

/* Of all ranks and of those of this host. A list of tensors may be elsewhere. */
static int sizes_of(const struct job *j, double *all, double *here, struct mlgen_err *err)
{
	struct state state = { 0 };
	struct state_bytes bytes = { 0 };
	int rc = state_init(&state, j, err);

	if (rc == 0)
		state_all_bytes(&state, &bytes);
	*all = (double)bytes.total;
	*here = 0;
	for (uint64_t i = 0; rc == 0 && i < state_locals(&state); i++) {
		state_rank_bytes(&state, state_local(&state, i), &bytes);
		*here += (double)bytes.total;
	}
	state_fini(&state);
	return rc;
}

/* Does a checkpoint fit into the accelerators that it is of? */
static enum mlperf_state check_memory(const struct mlperf_subject *s, struct buf *text)
{
	const struct mlperf_accelerator *a = s->rules->memories;
	char size[UNITS_TEXT_BYTES];
	double all, here, ranks = (double)job_ranks(s->job);
	struct mlgen_err err = { 0 };
	unsigned fits = 0;

	if (!a || !s->workload)
		return MLPERF_NONE;
	if (sizes_of(s->job, &all, &here, &err) < 0) {
		buf_add(text, err.text);
		return MLPERF_UNCHECKED;
	}
	buf_addf(text, "%s; %.0f accelerators hold", units_human_bytes(size, all), ranks);
	for (; a->name; a++) {
		double holds = ranks * a->memory_bytes;

		buf_addf(text, "%s %.0f GB (%s%s)", a == s->rules->memories ? "" : ",", holds / 1e9,
			 a->name, all <= holds ? "" : ", too little");
		fits += all <= holds;
	}
	if (fits)
		return MLPERF_OK;
	buf_add(text, ": more --ranks");
	return MLPERF_BROKEN;
}

static enum mlperf_state check_count(const struct mlperf_subject *s, struct buf *text)
{
	const char *what = checkpoint_mlperf_is_restore(s) ? "restored" : "saved";
	uint64_t n = s->job->checkpoints;

	if (s->run)
		n = job_result_checkpoints(s->result)->completed;
	buf_addf(text, "%" PRIu64 " %s", n, s->run ? what : "planned");
	if (n == MLPERF_CHECKPOINTS)
		return MLPERF_OK;
	buf_addf(text, "; the rules ask for %d: --checkpoints=%d", MLPERF_CHECKPOINTS,
		 MLPERF_CHECKPOINTS);
	return MLPERF_BROKEN;
}

/* Is there a job that does the other of the two? */
static bool is_other(const struct mlperf_subject *s, const struct job *j)
{
	return job_work(j)->checkpoints == CHECKPOINTS_ALWAYS &&
	       job_work(j)->restores != checkpoint_mlperf_is_restore(s);
}

static bool has_other(const struct mlperf_subject *s)
{
	const struct jobset *set = s->ask->set;

	for (size_t i = 0; s->run && i < s->run->job_count; i++)
		if (is_other(s, s->run->jobs[i].job))
			return true;
	for (size_t i = 0; !s->run && i < set->count; i++)
		if (is_other(s, set->jobs[i]))
			return true;
	return false;
}

/* Seconds from the end of the saves to the begin of the restores. */
static double seconds_between(const struct mlperf_subject *a, const struct mlperf_subject *b)
{
	bool is_restore = checkpoint_mlperf_is_restore(a);
	uint64_t end_ms = is_restore ? b->end_ms : a->end_ms;
	uint64_t begin_ms = is_restore ? a->begin_ms : b->begin_ms;

	return ((double)begin_ms - (double)end_ms) / 1e3;
}

/* In another run, the nearest; NULL = there is none. */
static const struct mlperf_subject *find_other_run(const struct mlperf_subject *s)
{
	const struct mlperf_subject *nearest = NULL;

	for (size_t i = 0; i < s->group->all->count; i++) {
		const struct mlperf_group *g = &s->group->all->of[i];

		for (size_t k = 0; k < g->count; k++)
			if (g->of[k].workload == s->workload && is_other(s, g->of[k].job) &&
			    (!nearest || fabs(seconds_between(s, &g->of[k])) <
						 fabs(seconds_between(s, nearest))))
				nearest = &g->of[k];
	}
	return nearest;
}

/* Of one that has not done the other of the two itself. */
static enum mlperf_state judge_other_run(const struct mlperf_subject *s,
					 const struct mlperf_subject *other, struct buf *text)
{
	double seconds = seconds_between(s, other);
	bool is_restore = checkpoint_mlperf_is_restore(s);

	buf_addf(text, "%s of %s, %.1f s %s", is_restore ? "saves" : "restores", other->name,
		 fabs(seconds), is_restore == (seconds >= 0) ? "before" : "behind");
	if (seconds >= 0 && seconds <= s->rules->phases_seconds)
		return MLPERF_OK;
	buf_addf(text, "; restores begin when saves have ended, at most %u s later",
		 s->rules->phases_seconds);
	return MLPERF_BROKEN;
}

/* Both belong to a result; they may be two runs. */
static enum mlperf_state check_phases(const struct mlperf_subject *s, struct buf *text)
{
	const struct mlperf_subject *other = NULL;

	if (has_other(s)) {
		buf_add(text, "saved, then restored");
		return MLPERF_OK;
	}
	if (s->run && s->workload && s->rules->phases_seconds)
		other = find_other_run(s);
	if (other)
		return judge_other_run(s, other, text);
	buf_addf(text, "the %d %s that belong to it are not of this run", MLPERF_CHECKPOINTS,
		 checkpoint_mlperf_is_restore(s) ? "saves" : "restores");
	return MLPERF_UNCHECKED;
}

static enum mlperf_state check_fsync(const struct mlperf_subject *s, struct buf *text)
{
	if (checkpoint_mlperf_is_restore(s))
		return MLPERF_NONE;
	if (s->job->checkpoint_fsync != CHECKPOINT_FSYNC_NONE) {
		buf_add(text, s->job->checkpoint_fsync == CHECKPOINT_FSYNC_FILE
				      ? "each file before it is closed"
				      : "all files of a rank at its end");
		return MLPERF_OK;
	}
	buf_add(text, "checkpoint_fsync=none leaves them in memory: --checkpoint_fsync=file");
	return MLPERF_BROKEN;
}

static bool came_from_memory(const struct mlperf_subject *s)
{
	return s->run && s->result->storage.memory_percent > VERDICT_MEMORY_PERCENT;
}

/* Somebody may have emptied them by hand, or rebooted. */
static enum mlperf_state say_kept(const struct mlperf_subject *s, struct buf *text)
{
	double percent = s->run ? s->result->storage.memory_percent : (double)NAN;

	buf_add(text, "drop_caches=no: this host's caches are to be emptied between saving and "
		      "restoring: --drop_caches=run, as root");
	if (!(percent <= VERDICT_MEMORY_PERCENT))
		return MLPERF_BROKEN;
	buf_addf(text, ". Or they were: %.1f%% of the bytes came from its page cache", percent);
	return MLPERF_UNCHECKED;
}

/* So much was saved from this host that its memory cannot have kept it. */
static bool is_beyond_memory(const struct mlperf_subject *s, struct buf *text)
{
	char size[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];
	double all, here, memories = (double)s->rules->cache_memories;

	if (!s->rules->cache_memories || sizes_of(s->job, &all, &here, NULL) < 0 ||
	    here * MLPERF_CHECKPOINTS <= memories * (double)s->memory_bytes)
		return false;
	buf_addf(text,
		 "%d x %s of this host are more than %g x its memory (%s%s): they need not be "
		 "emptied",
		 MLPERF_CHECKPOINTS, units_human_bytes(size, here), memories,
		 units_human_bytes(memory, (double)s->memory_bytes), s->memory_of);
	return true;
}

static enum mlperf_state check_cache(const struct mlperf_subject *s, struct buf *text)
{
	if (!checkpoint_mlperf_is_restore(s))
		return MLPERF_NONE;
	if (s->job->drop_caches == DROP_CACHES_NO && is_beyond_memory(s, text))
		return MLPERF_OK;
	if (came_from_memory(s)) {
		buf_addf(text, "%.1f%% of the bytes came from this host's page cache",
			 s->result->storage.memory_percent);
		buf_add(text, s->job->drop_caches == DROP_CACHES_RUN
				      ? " all the same: nobody else may read them"
				      : ": --drop_caches=run, as root");
		return MLPERF_BROKEN;
	}
	if (s->job->drop_caches != DROP_CACHES_RUN)
		return say_kept(s, text);
	if (s->run && !s->result->ml.restores.caches_dropped) {
		buf_add(text, "this host's caches were not emptied");
		return MLPERF_BROKEN;
	}
	buf_add(text, s->run ? "its files left this host's caches before it"
			     : "its files leave this host's caches before it");
	return MLPERF_OK;
}

const struct mlperf_row checkpoint_mlperf_rules[] = {
	{ "workload", mlperf_check_workload, false },
	{ "options", mlperf_check_options, false },
	{ "ranks", check_ranks, true },
	{ "memory", check_memory, false },
	{ "checkpoints", check_count, false },
	{ "phases", check_phases, true },
	{ "fsync", check_fsync, false },
	{ "cache", check_cache, false },
	{ "complete", mlperf_check_complete, false },
	{ "runs", mlperf_check_runs, true },
	{ 0 },
};
