/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_check.c - what relates two options of checkpoints. */
#include "work/checkpoint/checkpoint_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "job/job.h"

/* The kernel's own limit of threads: 2^22, pid_max in proc(5). */
#define THREADS_MAX 4194304.0

/* What a stamp stands at the start of, and what direct=1 is safe with. */
#define BLOCK_BYTES 4096

/* Whose an option is. */
#define IN_TRAINING 1u
#define IN_SAVING 2u
#define IN_RESTORING 4u

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)
#define NOTE(d, j, option, ...)                                                                    \
	diag_add(d, DIAG_NOTE, job_place(j, option), option ": " __VA_ARGS__)

/* ---- options without effect ---- */

/* Said of several jobs: one of them may have no use for it. */
static bool is_shared(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	const char *how = j->origins[f - job_fields].how;

	return strcmp(how, "[global]") == 0 || strncmp(how, "[model=", strlen("[model=")) == 0;
}

static void note_unused(const struct job *j, const char *option, const char *needs, struct diag *d)
{
	if (job_is_changed(j, option) && !is_shared(j, option))
		diag_add(d, DIAG_NOTE, job_place(j, option), "%s: counts with %s only", option,
			 needs);
}

static bool is_alone(const struct job *j)
{
	return job_work(j)->checkpoints == CHECKPOINTS_ALWAYS;
}

/* Of one phase, or of two of the three that save and restore. What a training says of verify it
 * says without checkpoints, too. */
static const struct {
	const char *option;
	unsigned phases;
	const char *needs;
} of_phases[] = {
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

/* The command line goes to all jobs of a file, be they saves or restores. */
static bool is_for_all_jobs(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return j->at.file && !j->origins[f - job_fields].at.file;
}

static unsigned is_in(const struct job *j)
{
	if (job_work(j)->restores)
		return IN_RESTORING;
	return is_alone(j) ? IN_SAVING : IN_TRAINING;
}

static void check_phase(const struct job *j, struct diag *d)
{
	for (size_t i = 0; i < ARRAY_LEN(of_phases); i++) {
		if (!(of_phases[i].phases & is_in(j)) && !is_for_all_jobs(j, of_phases[i].option))
			note_unused(j, of_phases[i].option, of_phases[i].needs, d);
	}
}

/* What is there without them is a training like any other. */
static void check_training_without(const struct job *j, struct diag *d)
{
	if (j->checkpoint_every)
		return;
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		if (strcmp(f->group, "Model") == 0 || strcmp(f->group, "Checkpoint") == 0)
			note_unused(j, f->name, "checkpoint_every", d);
	}
}

static void check_archive(const struct job *j, struct diag *d)
{
	const char *name = j->checkpoint_archive;

	if (!name || !*name)
		return;
	if (j->checkpoint_layout != LAYOUT_TORCH)
		note_unused(j, "checkpoint_archive", "checkpoint_layout=torch", d);
	else if (!job_is_archive(name))
		FAULT(d, j, "checkpoint_archive",
		      "'%s' is no name of 1 to %d letters, digits, dots, hyphens and underscores, "
		      "of which a dot is not the first",
		      name, JOB_ARCHIVE_BYTES - 1);
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

/* ---- the model, and who saves it ---- */

static void check_model(const struct job *j, struct diag *d)
{
	struct mlgen_err err = { 0 };
	const char *option;
	int rc = 0;

	for (unsigned i = 0; (option = job_check_model(j, i, &rc, &err)); i++) {
		if (rc)
			diag_add(d, DIAG_ERROR, job_place(j, option), "%s", err.text);
		err = (struct mlgen_err){ 0 };
	}
}

static void check_threads(const struct job *j, uint64_t ranks, struct diag *d)
{
	double threads = (double)j->checkpoint_threads * (double)ranks;

	if (threads > THREADS_MAX)
		FAULT(d, j, "checkpoint_threads",
		      "%" PRIu64 " for each of %" PRIu64
		      " ranks are more than the %.0f threads that Linux can have; play fewer ranks "
		      "here (checkpoint_ranks)",
		      j->checkpoint_threads, ranks, THREADS_MAX);
}

static void check_shift(const struct job *j, uint64_t ranks, struct diag *d)
{
	if (!job_work(j)->restores || j->restore_shift == 0)
		return;
	if (j->restore_shift < ranks)
		diag_add(d, DIAG_NOTE, job_place(j, "restore_shift"),
			 "restore_shift: goes around the %" PRIu64
			 " ranks that are played here, whose files this host may hold in memory; "
			 "to read what another host has written, use its checkpoint_ranks and "
			 "checkpoint_directory",
			 ranks);
	else if (ranks == 1)
		FAULT(d, j, "restore_shift",
		      "the one rank that is played here can read its own files only; use "
		      "restore_shift=0, or more checkpoint_ranks");
	else
		FAULT(d, j, "restore_shift",
		      "%" PRIu64 " goes once around the %" PRIu64
		      " ranks that are played here; use 1 to %" PRIu64,
		      j->restore_shift, ranks, ranks - 1);
}

/* Ranks that are wrong have been told. */
static void check_local(const struct job *j, struct diag *d)
{
	struct ranges local;

	if (job_local_ranks(j, &local, NULL))
		return;
	check_threads(j, local.numbers, d);
	check_shift(j, local.numbers, d);
	ranges_fini(&local);
}

/* ---- how it is written and read ---- */

static void check_framework(const struct job *j, struct diag *d)
{
	bool has_one_file =
		j->checkpoint_layout == LAYOUT_TORCH || j->checkpoint_layout == LAYOUT_PATTERN;

	if (j->direct && j->checkpoint_layout != LAYOUT_STREAM)
		FAULT(d, j, "direct",
		      "with access=framework only checkpoint_layout=stream goes by O_DIRECT; use "
		      "access=plain, direct=0 or checkpoint_layout=stream");
	if (has_one_file && j->checkpoint_threads > 1)
		NOTE(d, j, "checkpoint_threads",
		     "with access=framework a thread takes whole files, and here a rank has one");
	/* A training's own checks speak of bs; its samples have an iodepth. */
	if (is_alone(j) && job_is_changed(j, "bs"))
		NOTE(d, j, "bs",
		     "access=framework has sizes of its own; bs counts with access=plain");
	if (is_alone(j) && j->iodepth > 1 && j->engine && j->engine->reap)
		NOTE(d, j, "iodepth",
		     "access=framework makes one call at a time; iodepth counts with access=plain");
}

static void check_plain(const struct job *j, struct diag *d)
{
	if (j->bs.read != j->bs.write)
		FAULT(d, j, "bs",
		      "%" PRIu64 " and %" PRIu64
		      ": checkpoints are written and read in requests of one size; give one",
		      j->bs.read, j->bs.write);
	else if (j->bs.read % BLOCK_BYTES)
		FAULT(d, j, "bs",
		      "%" PRIu64 " is no multiple of 4096, which checkpoints need: each such block "
		      "has a stamp of its own",
		      j->bs.read);
}

static void check_access(const struct job *j, struct diag *d)
{
	if (is_alone(j) && j->access == ACCESS_RECORDED)
		FAULT(d, j, "access",
		      "recorded are the calls of samples, and a checkpoint has none; use "
		      "access=framework, or access=plain");
	if (j->access == ACCESS_FRAMEWORK)
		check_framework(j, d);
	else
		check_plain(j, d);
	if (is_alone(j) && j->invalidate == INVALIDATE_EPOCH)
		FAULT(d, j, "invalidate",
		      "there are no epochs without a training; use invalidate=run");
	if (is_alone(j) && j->drop_caches == DROP_CACHES_EPOCH)
		FAULT(d, j, "drop_caches",
		      "there are no epochs without a training; use drop_caches=run");
}

/* ---- in a training ---- */

/* By the names alone: what is a link leads nobody astray by accident. */
static bool is_within(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	while (n > 1 && directory[n - 1] == '/')
		n--;
	return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

static void check_every(const struct job *j, struct diag *d)
{
	struct checkpoint_every e;
	struct mlgen_err err = { 0 };

	if (job_checkpoint_every(j, &e, &err))
		diag_add(d, DIAG_ERROR, job_place(j, "checkpoint_every"), "%s", err.text);
}

static void check_scan(const struct job *j, struct diag *d)
{
	if (j->dataset != DATASET_SCAN)
		return;
	if (!j->checkpoint_directory)
		FAULT(d, j, "checkpoint_directory",
		      "by default checkpoints lie within directory, where dataset=scan would take "
		      "them for samples; set another");
	else if (is_within(j->checkpoint_directory, j->directory))
		FAULT(d, j, "checkpoint_directory",
		      "%s lies within directory=%s, where dataset=scan would take checkpoints for "
		      "samples; set another",
		      j->checkpoint_directory, j->directory);
}

static void check_training_with(const struct job *j, struct diag *d)
{
	check_every(j, d);
	check_scan(j, d);
	if (j->checkpoint_mode != CHECKPOINT_ASYNC)
		note_unused(j, "snapshot_bandwidth", "checkpoint_mode=async", d);
}

void checkpoint_check(const struct job *j, struct diag *d)
{
	if (!job_has_checkpoints(j)) {
		check_training_without(j, d);
		return;
	}
	if (!is_alone(j))
		check_training_with(j, d);
	check_phase(j, d);
	check_kind(j, d);
	check_archive(j, d);
	check_model(j, d);
	check_local(j, d);
	check_access(j, d);
}
