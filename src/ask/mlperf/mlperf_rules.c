/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_rules.c - versions of the rules, and the options that they fix. */
#include "ask/mlperf/mlperf.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"
#include "run/result/result.h"

#define MLPERF_PREFETCH 2 /* largest allowed value */

/* ---- versions ---- */

/* clang-format off */
static const char *const accelerators_2024[] = { "a100", "h100", NULL };
static const char *const accelerators_unet3d_v3[] = { "b200", NULL };
static const char *const accelerators_retinanet_v3[] = { "b200", "mi355", NULL };

#define TRAINING .is_training = true
#define OF_2024 TRAINING, .accelerators = accelerators_2024, .epochs = 5

static const struct mlperf_workload workloads_v1[] = {
	{ "unet3d",    OF_2024, .au = 90, .saves = true },
	{ "resnet50",  OF_2024, .au = 90 },
	{ "cosmoflow", OF_2024, .au = 70 },
	{ 0 },
};

static const struct mlperf_workload workloads_v2[] = {
	{ "unet3d",    OF_2024, .au = 90, .saves = true, .has_direct = true },
	{ "resnet50",  OF_2024, .au = 90 },
	{ "cosmoflow", OF_2024, .au = 70 },
	{ "llama3-8b-checkpoint",   .ranks = 8,    .has_subset = true },
	{ "llama3-70b-checkpoint",  .ranks = 64,   .has_subset = true },
	{ "llama3-405b-checkpoint", .ranks = 512,  .has_subset = true },
	{ "llama3-1t-checkpoint",   .ranks = 1024, .has_subset = true },
	{ 0 },
};

/* Rows follow 2.1.11 of Rules.md and the existing configurations, which also give epochs and
 * floors. a100 and h100 are "whatif only". */
static const struct mlperf_workload workloads_v3[] = {
	{ "unet3d",    TRAINING, .accelerators = accelerators_unet3d_v3, .au = 90,
		       .epochs = 5, .has_direct = true },
	{ "retinanet", TRAINING, .accelerators = accelerators_retinanet_v3, .au = 85,
		       .epochs = 8 },
	{ "llama3-8b-checkpoint",   .ranks = 8, .has_subset = true },
	{ "llama3-70b-checkpoint",  .ranks = 64 },
	{ "llama3-405b-checkpoint", .ranks = 512 },
	{ "llama3-1t-checkpoint",   .ranks = 1024 },
	{ 0 },
};

/* 4.3.4, table 3, for CLOSED and OPEN */
static const struct mlperf_accelerator memories_v3[] = {
	{ "b200", 180e9 },
	{ "mi355", 288e9 },
	{ 0 },
};

/* A table of the rules says 4, their text says "more than 4". */
#define RANKS_HERE                                                             \
	.ranks_here = 4,                                                       \
	.ranks_here_text = "at least 4 in a table and more than 4 in their text"

static const struct mlperf_rules versions[] = {
	[CHECK_MLPERF_V1] = {
		.version = "v1.0", .option = "v1",
		.workloads = workloads_v1,
		.names = "unet3d, resnet50, cosmoflow",
		.window = offsetof(struct mlperf_result, v1_0),
		.epoch_rate = offsetof(struct mlperf_epoch, v1_0_samples_per_sec),
		.repeats_checkpoints = true,
		.empties = MLPERF_EMPTY_RUN,
		.epochs = 5,
		RANKS_HERE,
	},
	[CHECK_MLPERF_V2] = {
		.version = "v2.0", .option = "v2",
		.workloads = workloads_v2,
		.names = "unet3d, resnet50, cosmoflow; llama3-8b, 70b, 405b and 1t-checkpoint",
		.window = offsetof(struct mlperf_result, v2_0),
		.epoch_rate = offsetof(struct mlperf_epoch, v2_0_samples_per_sec),
		.warms_up = true,
		.repeats_checkpoints = true,
		.epochs = 5,
		RANKS_HERE,
	},
	[CHECK_MLPERF_V3] = {
		.version = "v3.0", .option = "v3",
		.workloads = workloads_v3,
		.names = "unet3d, retinanet; llama3-8b, 70b, 405b and 1t-checkpoint",
		.window = offsetof(struct mlperf_result, v3_0),
		.epoch_rate = offsetof(struct mlperf_epoch, v3_0_samples_per_sec),
		.warms_up = true,
		.is_consecutive = true, /* 2.1.18 */
		.is_exact = true,       /* 3.1.2, 3.3.1 */
		.empties = MLPERF_EMPTY_EPOCH,
		.ranks_here = 5, /* 4.6.2; MLPerf's checker counts this way */
		.ranks_here_text = "more than 4 on each host",
		.memories = memories_v3,
		.cache_memories = 3,  /* 4.3.1 */
		.phases_seconds = 30, /* 4.7.1 */
	},
};

/* MLPerf allows dataset.num_files_train, num_subfolders_train, data_folder, reader.read_threads,
 * computation_threads, transfer_size, prefetch_size, odirect, checkpoint.checkpoint_folder and
 * storage.storage_root. The size of the dataset has a rule of its own, so any option may set it. */
static const char *const training_options[] = {
	"num_files", "dataset_ratio", "scale", "subfolders", "directory",
	"read_threads", "decode_threads", "bs", "checkpoint_directory",
	"accelerator", "accelerators", "epochs", "hold_samples", NULL,
};

/* MLPerf allows these to be changed: the number of hosts, and the folder. */
static const char *const checkpoint_options[] = {
	"directory", "checkpoint_directory", "checkpoint_ranks",
	"checkpoint_keep", "checkpoints", "checkpoint_fsync", "ranks",
	"verify", NULL,
};

/* Options that do not change the work: place, time and report of the run, and options that only
 * empty caches. */
static const char *const neutral_options[] = {
	"startdelay", "stonewall", "randseed", "cpus_allowed",
	"numa_cpu_nodes", "numa", "kb_base", "mem", "percentile_list",
	"group_reporting", "target_au", "guess", "buffered", "invalidate",
	"drop_caches", "memory_limit", "memory_limit_required",
	"write_iolog", NULL,
};

static const char *const open_options[] = {
	"format", "samples_per_file", "loader", NULL,
};
/* clang-format on */

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Is the path NAME.job in any folder, with or without a line number? */
static bool is_file_of(const char *path, const char *name)
{
	char file[64];
	size_t len = (size_t)snprintf(file, sizeof(file), "%s.job", name);

	for (const char *at = path; at && (at = strstr(at, file)); at++)
		if ((at == path || at[-1] == '/') && (at[len] == '\0' || at[len] == ':'))
			return true;
	return false;
}

/* The place that sets the phase: "/jobs/unet3d.job:17 [unet3d]". */
static const char *origin_of_phase(const struct job *j)
{
	size_t i = 0;

	while (strcmp(job_fields[i].name, "phase") != 0)
		i++;
	return j->origins[i].how;
}

const struct mlperf_rules *mlperf_rules_of(int check)
{
	return &versions[check == CHECK_NONE ? CHECK_MLPERF_V2 : check];
}

const struct mlperf_workload *mlperf_find_workload(const struct mlperf_rules *rules,
						   const struct job *j)
{
	bool is_training = job_work(j)->has_accelerators;

	if (!is_training && job_work(j)->checkpoints != CHECKPOINTS_ALWAYS)
		return NULL;
	for (const struct mlperf_workload *w = rules->workloads; w->name; w++)
		if (w->is_training == is_training &&
		    (strcmp(j->name, w->name) == 0 || is_file_of(j->at.file, w->name) ||
		     is_file_of(origin_of_phase(j), w->name)))
			return w;
	return NULL;
}

bool mlperf_has_accelerator(const struct mlperf_workload *w, const char *name)
{
	return name && is_listed(w->accelerators, name);
}

const struct mlperf_workload *mlperf_find_any(const struct job *j)
{
	const struct mlperf_workload *w = NULL;

	for (size_t i = CHECK_NONE + 1; !w && i < ARRAY_LEN(versions); i++)
		w = mlperf_find_workload(&versions[i], j);
	return w;
}

const struct mlperf_rules *mlperf_rules_for(int check, const struct job *j)
{
	for (size_t i = CHECK_MLPERF_V2; check == CHECK_NONE && i < ARRAY_LEN(versions); i++) {
		const struct mlperf_workload *w = mlperf_find_workload(&versions[i], j);

		if (w && w->is_training && mlperf_has_accelerator(w, j->accelerator))
			return &versions[i];
	}
	return mlperf_rules_of(check);
}

void mlperf_need(struct mlperf_need *n, const struct job *j, double per_file, double sample_bytes,
		 uint64_t hosts, uint64_t memory_bytes)
{
	n->sample_bytes = sample_bytes;
	n->steps_samples = (double)MLPERF_STEPS * (double)j->batch_size *
			   (j->accelerators_all ? (double)j->accelerators_all
						: (double)j->accelerators * (double)hosts);
	n->memory_samples =
		ceil((double)MLPERF_MEMORIES * (double)hosts * (double)memory_bytes / sample_bytes);
	n->samples = fmax(n->steps_samples, n->memory_samples);
	n->files = ceil(n->samples / per_file);
	n->bytes = n->files * per_file * sample_bytes;
	n->steps_passes = floor(n->steps_samples / per_file) * per_file;
	n->memory_passes = floor((double)MLPERF_MEMORIES * (double)hosts * (double)memory_bytes /
				 (sample_bytes * per_file)) *
			   per_file;
}

/*
 * True for options that a closed submission may set, that have a rule of their own, or that do not
 * change the work.
 */
static bool is_closed_option(const struct mlperf_workload *w, const struct job *j,
			     const struct mlgen_field *f)
{
	if (is_listed(neutral_options, f->name))
		return true;
	/* The shipped checkpoint jobs make plain requests, but DLIO does not: access=framework is
	 * allowed. */
	if (strcmp(f->name, "access") == 0)
		return j->access == ACCESS_FRAMEWORK;
	if (!w->is_training)
		return is_listed(checkpoint_options, f->name);
	/* reader.odirect */
	if (strcmp(f->name, "direct") == 0)
		return w->has_direct;
	if (strcmp(f->name, "prefetch") == 0)
		return j->prefetch <= MLPERF_PREFETCH;
	/* If a training job saves its model, a rule of its own covers the model and checkpoint
	 * options. */
	if (w->saves && (strcmp(f->group, "Model") == 0 || strcmp(f->group, "Checkpoint") == 0))
		return true;
	return is_listed(training_options, f->name);
}

/* ---- comparison with the shipped job ---- */

/* At most this many options are named; the rest are only counted. */
#define NAMED_MAX 8

/* Find the shipped job next to the program or among the installed jobs. The current folder is not
 * searched, since it may contain the changed file that is checked. NULL = not found. */
static char *shipped_path(const char *name, const struct jobset_env *env)
{
	const struct {
		const char *directory, *below;
	} places[] = { { env->binary_dir, "/jobs" }, { env->installed_dir, "" } };
	struct buf path = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		buf_reset(&path);
		if (places[i].directory)
			buf_addf(&path, "%s%s/%s.job", places[i].directory, places[i].below, name);
		if (path.len && access(buf_str(&path), R_OK) == 0)
			return buf_detach(&path);
	}
	buf_fini(&path);
	return NULL;
}

static int fail_load(const struct diag *d, const char *name, struct mlgen_err *err)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->entries[i].level == DIAG_ERROR)
			return mlgen_fail(err, -EINVAL, "the shipped %s.job: %s", name,
					  d->entries[i].text);
	return mlgen_fail(err, -EINVAL, "the shipped %s.job cannot be read", name);
}

/* Load the shipped job for the same accelerator. */
static int load_shipped(struct jobset *set, const struct job *j, const struct mlperf_workload *w,
			const struct jobset_env *env, struct mlgen_err *err)
{
	struct buf accelerator = { 0 };
	char program[] = "mlgen";
	char *path = shipped_path(w->name, env);

	memset(set, 0, sizeof(*set));
	if (!path)
		return mlgen_fail(
			err, -ENOENT,
			"the shipped %s.job to compare with is neither next to mlgen nor installed",
			w->name);
	if (w->is_training && j->accelerator)
		buf_addf(&accelerator, "--accelerator=%s", j->accelerator);
	char *text = buf_detach(&accelerator);
	char *const argv[] = { program, path, text, NULL };
	struct diag d;
	diag_init(&d);
	int rc = jobset_load(set, *text ? 3 : 2, argv, env, &d);
	if (rc < 0)
		rc = fail_load(&d, w->name, err);
	diag_fini(&d);
	mem_free(text);
	mem_free(path);
	return rc;
}

static const struct job *find_phase(const struct jobset *set, int phase)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->jobs[i]->phase == phase)
			return set->jobs[i];
	return NULL;
}

static const char *or_unset(const struct buf *text)
{
	return text->len ? buf_str(text) : "(not set)";
}

/* Append the option if it differs from the shipped job. True if it differs. */
static bool add_difference(const struct job *j, const struct job *shipped,
			   const struct mlgen_field *f, unsigned before, struct buf *out)
{
	struct buf have = { 0 }, want = { 0 };

	job_option_text(j, f->name, &have);
	job_option_text(shipped, f->name, &want);
	bool differs = strcmp(buf_str(&have), buf_str(&want)) != 0;
	if (differs && before < NAMED_MAX)
		buf_addf(out, "%s%s=%s, the rules have %s%s", before ? "; " : "", f->name,
			 or_unset(&have), or_unset(&want),
			 is_listed(open_options, f->name) ? " (the OPEN division may change it)"
							  : "");
	buf_fini(&have);
	buf_fini(&want);
	return differs;
}

int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   const struct jobset_env *env, struct buf *out, struct mlgen_err *err)
{
	struct jobset set;
	unsigned n = 0;
	int rc = load_shipped(&set, j, w, env, err);
	const struct job *shipped = rc < 0 ? NULL : find_phase(&set, j->phase);

	if (rc == 0 && !shipped)
		rc = mlgen_fail(err, -ENOENT, "the shipped %s.job has no such phase", w->name);
	for (const struct mlgen_field *f = job_fields; shipped && f->name; f++)
		if (workload_has(job_work(j), f) && !is_closed_option(w, j, f))
			n += add_difference(j, shipped, f, n, out);
	if (n > NAMED_MAX)
		buf_addf(out, "; %u more", n - NAMED_MAX);
	jobset_fini(&set);
	return rc < 0 ? rc : (int)n;
}
