/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_check.c - relations between checkpoint options, and MLPerf Storage's rules. */
#include "work/checkpoint/checkpoint_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/mlperf/mlperf.h"
#include "base/map.h"
#include "base/units.h"
#include "base/util.h"
#include "data/state/state.h"
#include "job/job.h"
#include "report/text/text.h"
#include "work/checkpoint/checkpoint.h"

/* ---- options ---- */

/* The kernel's own limit of threads: 2^22, pid_max in proc(5). */
#define THREADS_MAX 4194304.0

/* Each block begins with a stamp. direct=1 works with this size. */
#define BLOCK_BYTES 4096

/* Phases that use an option. */
#define IN_TRAINING 1u
#define IN_SAVING 2u
#define IN_RESTORING 4u

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)
#define NOTE(d, j, option, ...)                                                                    \
	diag_add(d, DIAG_NOTE, job_place(j, option), option ": " __VA_ARGS__)

/* ---- options without effect ---- */

/* Is the option set for several jobs? Some of them may not need it. */
static bool is_shared(const struct job *j, const char *option)
{
	const char *how = j->origins[field_find(job_fields, option) - job_fields].how;

	return strcmp(how, "[global]") == 0 || strncmp(how, "[model=", strlen("[model=")) == 0;
}

static void note_unused(const struct job *j, const char *option, const char *needs, struct diag *d)
{
	if (job_is_changed(j, option) && !is_shared(j, option))
		diag_add(d, DIAG_NOTE, job_place(j, option), "%s: has an effect only with %s",
			 option, needs);
}

static bool is_alone(const struct job *j)
{
	return job_work(j)->checkpoints == CHECKPOINTS_ALWAYS;
}

/* Options that only one or two of the three phases use. For a training job without checkpoints, an
 * unused verify= is reported elsewhere. */
static const struct {
	const char *option;
	unsigned phases;
	const char *needs;
} phase_options[] = {
	{ "checkpoint_every", IN_TRAINING, "phase=train" },
	{ "checkpoint_mode", IN_TRAINING, "phase=train" },
	{ "snapshot_bandwidth", IN_TRAINING, "phase=train" },
	{ "checkpoints", IN_SAVING | IN_RESTORING, "phase=checkpoint and phase=restore" },
	{ "pause", IN_SAVING | IN_RESTORING, "phase=checkpoint and phase=restore" },
	{ "checkpoint_keep", IN_SAVING | IN_TRAINING, "phase=checkpoint and phase=train" },
	{ "checkpoint_fsync", IN_SAVING | IN_TRAINING, "phase=checkpoint and phase=train" },
	{ "rename_commit", IN_SAVING | IN_TRAINING, "phase=checkpoint and phase=train" },
	{ "ramp_time", IN_TRAINING, "phase=train and phase=io" },
	{ "time_based", IN_TRAINING, "phase=train and phase=io" },
	{ "continue_on_error", IN_TRAINING, "phase=train and phase=io" },
	{ "ignore_error", IN_TRAINING, "phase=train and phase=io" },
	{ "max_errors", IN_TRAINING, "phase=train and phase=io" },
	{ "numa", IN_TRAINING, "phase=train" },
	{ "restore_shift", IN_RESTORING, "phase=restore" },
	{ "verify", IN_RESTORING | IN_TRAINING, "phase=restore" },
};

static void check_phase(const struct job *j, struct diag *d)
{
	unsigned phase = job_work(j)->restores ? IN_RESTORING
			 : is_alone(j)         ? IN_SAVING
					       : IN_TRAINING;

	for (size_t i = 0; i < ARRAY_LEN(phase_options); i++) {
		const char *option = phase_options[i].option;
		const struct mlgen_field *f = field_find(job_fields, option);
		/* The command line sets an option for all jobs of a file, saves as well as
		 * restores. */
		bool is_for_all_jobs = j->at.file && !j->origins[f - job_fields].at.file;

		if (!(phase_options[i].phases & phase) && !is_for_all_jobs)
			note_unused(j, option, phase_options[i].needs, d);
	}
}

static void check_kind(const struct job *j, struct diag *d)
{
	static const char *const of_model[] = {
		"model_hidden", "model_ffn",       "model_heads",      "model_kv_heads",
		"model_bytes",  "optimizer_bytes", "model_vocabulary", "zero_stage",
	};
	bool is_pattern = j->checkpoint_layout == LAYOUT_PATTERN;

	for (size_t i = 0; i < ARRAY_LEN(of_model); i++) {
		if (is_pattern || !j->model_layers)
			note_unused(j, of_model[i],
				    is_pattern ? "checkpoint_layout=torch, deepspeed or stream"
					       : "model_layers",
				    d);
	}
	if (is_pattern) {
		note_unused(j, "model_layers", "checkpoint_layout=torch, deepspeed or stream", d);
		note_unused(j, "tensor_sizes", "checkpoint_layout=torch, deepspeed or stream", d);
	} else {
		note_unused(j, "checkpoint_pattern", "checkpoint_layout=pattern", d);
	}
}

/* ---- the model, and the ranks that save it ---- */

static void check_shift(const struct job *j, uint64_t ranks, struct diag *d)
{
	if (!job_work(j)->restores || j->restore_shift == 0)
		return;
	if (j->restore_shift < ranks)
		diag_add(d, DIAG_NOTE, job_place(j, "restore_shift"),
			 "restore_shift: shifts among the %" PRIu64
			 " ranks of this host, which may have their files in memory; to read files "
			 "that another host has written, use its checkpoint_ranks and "
			 "checkpoint_directory",
			 ranks);
	else if (ranks == 1)
		FAULT(d, j, "restore_shift",
		      "the only rank of this host can read only its own files; use "
		      "restore_shift=0, or more checkpoint_ranks");
	else
		FAULT(d, j, "restore_shift",
		      "%" PRIu64 " is not less than the %" PRIu64
		      " ranks of this host; use 1 to %" PRIu64,
		      j->restore_shift, ranks, ranks - 1);
}

static void check_local(const struct job *j, struct diag *d)
{
	struct ranges local;

	/* Wrong ranks were already reported. */
	if (job_local_ranks(j, &local, NULL))
		return;
	if ((double)j->checkpoint_threads * (double)local.numbers > THREADS_MAX)
		FAULT(d, j, "checkpoint_threads",
		      "%" PRIu64 " for each of %" PRIu64
		      " ranks are more than the %.0f threads that Linux can have; simulate fewer "
		      "ranks here (checkpoint_ranks)",
		      j->checkpoint_threads, local.numbers, THREADS_MAX);
	check_shift(j, local.numbers, d);
	ranges_fini(&local);
}

/* ---- calls that write and read checkpoints ---- */

static void check_access(const struct job *j, struct diag *d)
{
	if (is_alone(j) && j->access == ACCESS_RECORDED)
		FAULT(d, j, "access",
		      "recorded repeats the calls of samples, and a checkpoint has no samples; use "
		      "access=framework, or access=plain");
	if (j->access == ACCESS_FRAMEWORK) {
		bool has_one_file = j->checkpoint_layout == LAYOUT_TORCH ||
				    j->checkpoint_layout == LAYOUT_PATTERN;

		if (j->direct && j->checkpoint_layout != LAYOUT_STREAM)
			FAULT(d, j, "direct",
			      "with access=framework only checkpoint_layout=stream supports "
			      "O_DIRECT; use access=plain, direct=0 or checkpoint_layout=stream");
		if (has_one_file && j->checkpoint_threads > 1)
			NOTE(d, j, "checkpoint_threads",
			     "with access=framework a thread handles whole files, and with this "
			     "layout a rank has one file");
		/* train_check() checks bs, and a training job uses iodepth for its samples. */
		if (is_alone(j) && job_is_changed(j, "bs"))
			NOTE(d, j, "bs",
			     "access=framework uses its own sizes; bs has an effect only with "
			     "access=plain");
		if (is_alone(j) && j->iodepth > 1 && j->engine && j->engine->reap)
			NOTE(d, j, "iodepth",
			     "access=framework makes one call at a time; iodepth has an effect "
			     "only with access=plain");
	} else if (j->bs.read != j->bs.write)
		FAULT(d, j, "bs",
		      "%" PRIu64 " and %" PRIu64
		      ": checkpoints are written and read in requests of one size; give one",
		      j->bs.read, j->bs.write);
	else if (j->bs.read % BLOCK_BYTES)
		FAULT(d, j, "bs",
		      "%" PRIu64 " is not a multiple of 4096, which checkpoints need because each "
		      "block of 4096 bytes has its own stamp",
		      j->bs.read);
	if (is_alone(j) && j->invalidate == INVALIDATE_EPOCH)
		FAULT(d, j, "invalidate",
		      "there are no epochs without a training; use invalidate=run");
	if (is_alone(j) && j->drop_caches == DROP_CACHES_EPOCH)
		FAULT(d, j, "drop_caches",
		      "there are no epochs without a training; use drop_caches=run");
}

/* ---- trainings ---- */

/* Compare only the paths: a link from one directory to the other is not an accident. */
static bool is_within(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	while (n > 1 && directory[n - 1] == '/')
		n--;
	return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

void checkpoint_check(const struct job *j, struct diag *d)
{
	struct mlgen_err err = { 0 };
	const char *archive = j->checkpoint_archive, *option;
	int rc = 0;

	if (!job_has_checkpoints(j)) {
		for (const struct mlgen_field *f = job_fields; f->name; f++)
			if (!j->checkpoint_every &&
			    (strcmp(f->group, "Model") == 0 || strcmp(f->group, "Checkpoint") == 0))
				note_unused(j, f->name, "checkpoint_every", d);
		return;
	}
	if (!is_alone(j)) {
		struct checkpoint_every e;
		struct mlgen_err why = { 0 };

		if (job_checkpoint_every(j, &e, &why))
			diag_add(d, DIAG_ERROR, job_place(j, "checkpoint_every"), "%s", why.text);
		if (j->dataset == DATASET_SCAN && !j->checkpoint_directory)
			FAULT(d, j, "checkpoint_directory",
			      "by default checkpoints are within directory, where dataset=scan "
			      "would read them as samples; set another directory");
		else if (j->dataset == DATASET_SCAN &&
			 is_within(j->checkpoint_directory, j->directory))
			FAULT(d, j, "checkpoint_directory",
			      "%s is within directory=%s, where dataset=scan would read "
			      "checkpoints as samples; set another directory",
			      j->checkpoint_directory, j->directory);
		if (j->checkpoint_mode != CHECKPOINT_ASYNC)
			note_unused(j, "snapshot_bandwidth", "checkpoint_mode=async", d);
	}
	check_phase(j, d);
	check_kind(j, d);
	if (has_text(archive) && j->checkpoint_layout != LAYOUT_TORCH)
		note_unused(j, "checkpoint_archive", "checkpoint_layout=torch", d);
	else if (has_text(archive) && !job_is_archive(archive))
		FAULT(d, j, "checkpoint_archive",
		      "'%s' is not a valid name: use 1 to %d letters, digits, dots, hyphens and "
		      "underscores, without a dot at the beginning",
		      archive, JOB_ARCHIVE_BYTES - 1);
	for (unsigned i = 0; (option = job_check_model(j, i, &rc, &err)); i++) {
		if (rc)
			diag_add(d, DIAG_ERROR, job_place(j, option), "%s", err.text);
		err = (struct mlgen_err){ 0 };
	}
	check_local(j, d);
	check_access(j, d);
}

/* ---- MLPerf Storage's rules ---- */

static bool checkpoint_mlperf_is_restore(const struct mlperf_subject *s)
{
	return job_work(s->job)->restores;
}

static enum mlperf_state check_ranks(const struct mlperf_subject *s, struct buf *text)
{
	uint64_t all = job_ranks(s->job), here = 0;
	struct ranges local = { 0 };

	if (!s->workload)
		return MLPERF_NONE;
	/* A run would have reported a list that cannot be parsed. */
	if (job_local_ranks(s->job, &local, NULL) == 0)
		here = local.numbers;
	ranges_fini(&local);
	buf_addf(text, "%" PRIu64 " of %" PRIu64 " on this host", here, all);
	if (all != s->workload->ranks) {
		buf_addf(text, "; CLOSED requires %" PRIu64 ": --ranks=%" PRIu64,
			 s->workload->ranks, s->workload->ranks);
		return MLPERF_BROKEN;
	}
	if (here < s->rules->ranks_here) {
		buf_addf(text, "; the rules ask for %s: --checkpoint_ranks",
			 s->rules->ranks_here_text);
		return MLPERF_BROKEN;
	}
	if (here == all)
		return MLPERF_OK;

	/* Only a part of the ranks is on this host. */
	bool is_subset = here == MLPERF_SUBSET;
	uint64_t others = all - here;
	if (!s->workload->has_subset) {
		buf_addf(text, "; a result also needs the other %" PRIu64, others);
		if (is_subset)
			buf_add(text, ", since only the 8b model allows a subset of 8");
		return MLPERF_UNCHECKED;
	}
	buf_addf(text,
		 is_subset ? ": MLPerf's subset mode, for storage inside a host. With shared "
			     "storage a result also needs the other %" PRIu64
			   : "; a result also needs the other %" PRIu64
			     ", or only 8 of one host (MLPerf's subset mode)",
		 others);
	return is_subset ? MLPERF_OK : MLPERF_UNCHECKED;
}

/* Bytes of a checkpoint: those of all ranks, and those of the ranks on this host. The file of
 * tensor sizes may be on another host. */
static int sizes_of(const struct job *j, double *all, double *here, struct mlgen_err *err)
{
	struct state state = { 0 };
	struct state_bytes bytes = { 0 };
	int rc = state_init(&state, j, err);

	if (rc == 0)
		state_all_bytes(&state, &bytes);
	*all = (double)bytes.total;
	*here = 0;
	for (uint64_t i = 0; rc == 0 && i < state_local_count(&state); i++) {
		state_rank_bytes(&state, state_local_rank(&state, i), &bytes);
		*here += (double)bytes.total;
	}
	state_fini(&state);
	return rc;
}

/* Does a checkpoint fit into the memory of its accelerators? */
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

/* Does job `j` restore what the subject saves, or save what it restores? */
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

/* Seconds from the end of the saves to the start of the restores. */
static double seconds_between(const struct mlperf_subject *a, const struct mlperf_subject *b)
{
	bool is_restore = checkpoint_mlperf_is_restore(a);
	uint64_t end_ms = is_restore ? b->end_ms : a->end_ms;
	uint64_t begin_ms = is_restore ? a->begin_ms : b->begin_ms;

	return ((double)begin_ms - (double)end_ms) / 1e3;
}

/* The nearest other run that did the other phase; NULL = none. */
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

/* A result needs both saving and restoring, possibly in two runs. */
static enum mlperf_state check_phases(const struct mlperf_subject *s, struct buf *text)
{
	const struct mlperf_subject *other = NULL;

	if (has_other(s)) {
		buf_add(text, "saved, then restored");
		return MLPERF_OK;
	}
	if (s->run && s->workload && s->rules->phases_seconds)
		other = find_other_run(s);
	if (other) {
		double seconds = seconds_between(s, other);
		bool is_restore = checkpoint_mlperf_is_restore(s);

		buf_addf(text, "%s of %s, %.1f s %s", is_restore ? "saves" : "restores",
			 other->name, fabs(seconds),
			 is_restore == (seconds >= 0) ? "earlier" : "later");
		if (seconds >= 0 && seconds <= s->rules->phases_seconds)
			return MLPERF_OK;
		buf_addf(text,
			 "; restores must begin after the saves have ended, at most %u s later",
			 s->rules->phases_seconds);
		return MLPERF_BROKEN;
	}
	buf_addf(text, "the %d %s that belong to the result are not in this run",
		 MLPERF_CHECKPOINTS, checkpoint_mlperf_is_restore(s) ? "saves" : "restores");
	return MLPERF_UNCHECKED;
}

static enum mlperf_state check_fsync(const struct mlperf_subject *s, struct buf *text)
{
	if (checkpoint_mlperf_is_restore(s))
		return MLPERF_NONE;
	if (s->job->checkpoint_fsync != CHECKPOINT_FSYNC_NONE) {
		buf_add(text, s->job->checkpoint_fsync == CHECKPOINT_FSYNC_FILE
				      ? "each file before it is closed"
				      : "all files of a rank after the last is written");
		return MLPERF_OK;
	}
	buf_add(text, "checkpoint_fsync=none leaves files in memory: --checkpoint_fsync=file");
	return MLPERF_BROKEN;
}

/* Did this host save more than its memory can keep? */
static bool is_beyond_memory(const struct mlperf_subject *s, struct buf *text)
{
	char size[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];
	double all, here, memories = (double)s->rules->cache_memories;

	if (!s->rules->cache_memories || sizes_of(s->job, &all, &here, NULL) < 0 ||
	    here * MLPERF_CHECKPOINTS <= memories * (double)s->memory_bytes)
		return false;
	buf_addf(text,
		 "%d x %s of this host are more than %g x its memory (%s%s): its caches need not "
		 "be emptied",
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
	if (s->run && s->result->storage.memory_percent > VERDICT_MEMORY_PERCENT) {
		buf_addf(text, "%.1f%% of the bytes came from this host's page cache",
			 s->result->storage.memory_percent);
		buf_add(text, s->job->drop_caches == DROP_CACHES_RUN
				      ? " anyway: only their owner may read them"
				      : ": --drop_caches=run, as root");
		return MLPERF_BROKEN;
	}
	if (s->job->drop_caches != DROP_CACHES_RUN) {
		/* The caches may have been emptied by hand, or by a reboot. */
		double percent = s->run ? s->result->storage.memory_percent : (double)NAN;

		buf_add(text, "drop_caches=no: this host's caches must be emptied between saving "
			      "and restoring: --drop_caches=run, as root");
		if (!(percent <= VERDICT_MEMORY_PERCENT))
			return MLPERF_BROKEN;
		buf_addf(text,
			 ". Perhaps they were: only %.1f%% of the bytes came from its page cache",
			 percent);
		return MLPERF_UNCHECKED;
	}
	if (s->run && !s->result->ml.restores.caches_dropped) {
		buf_add(text, "this host's caches were not emptied");
		return MLPERF_BROKEN;
	}
	buf_add(text, s->run ? "its files were dropped from this host's caches before it"
			     : "its files are dropped from this host's caches before it");
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
