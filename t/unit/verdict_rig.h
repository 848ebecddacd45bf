/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_rig.h - a run whose verdict tests ask for. */
#pragma once

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/text/text.h"
#include "work/workloads.h"

#define GIB 1073741824.0
#define NONE ((double)NAN)

/* A run with nothing remarkable, changed by one row of a table. */
struct world {
	struct job job;
	struct job_result result;
	struct run_result run;
};

__attribute__((unused)) static const struct mlgen_engine null_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.caps = MLGEN_CAP_NO_FILES,
};

static void world_init(struct world *w)
{
	struct ml_result *ml = &w->result.ml;

	memset(w, 0, sizeof(*w));
	w->job.accelerators = ml->accelerators = 8;
	w->job.batch_size = 7;
	w->job.read_threads = 4;
	w->job.num_files = 168;
	w->result.job = &w->job;
	w->result.work = &work_train;
	w->result.totals.bytes = UINT64_C(23) << 30;
	w->result.totals.mean_file_bytes = 146600628;
	ml->steps = 2500;
	ml->sample_bytes_per_sec = 14.86 * GIB;
	ml->demand_bytes_per_sec = 23.67 * GIB;
	ml->au_percent = 63;
	ceiling_result_init(&ml->ceiling);
	ml->target_au_percent = 90;
	w->result.storage.memory_percent = 0;
	w->result.network = (struct network_result){ .interface = "bond0", .percent = 65 };
	w->result.host.cpu_percent = 11;
	ml->time_percent = (struct time_percent){ .compute = 63, .stall = 37 };
	ml->loader_percent = (struct loader_percent){ .read = 50, .idle = 50 };
	w->run.jobs = &w->result;
	w->run.job_count = 1;
	w->run.host.cpus = 64;
	w->run.host.memory_bytes = UINT64_C(256) << 30;
}

static void world_fini(struct world *w)
{
	struct verdict_result *v = &w->result.verdict;

	mem_free(v->name);
	mem_free(v->headline);
	mem_free(v->because);
	mem_free(v->try_next);
}

__attribute__((unused)) static void check_has(const char *text, const char *part)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

/* No text may send anybody to an option that is not there. */
__attribute__((unused)) static void check_options(const char *text)
{
	static const char *const built[] = {
		"accelerators",     "read_threads", "dataset_ratio",      "direct",
		"directory",        "ioengine",     "checkpoint_threads", "checkpoint_directory",
		"checkpoint_fsync", "drop_caches",  "checkpoint_ranks",   "verify",
		"distinct_files",   "ceiling",      "max_errors",         "prefetch"
	};

	for (const char *o = text; o && (o = strstr(o, "--"));) {
		size_t len = strcspn(o += 2, "= ");
		bool known = false;

		for (size_t i = 0; i < sizeof(built) / sizeof(*built); i++)
			known |= strlen(built[i]) == len && !strncmp(o, built[i], len);
		ck_assert_msg(known, "unknown option in: %s", text);
	}
}
