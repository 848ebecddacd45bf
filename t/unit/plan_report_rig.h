/* SPDX-License-Identifier: Apache-2.0 */
/* plan_report_rig.h - a job, a host and a folder, for the tests of dry runs. */
#pragma once

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "temp.h"

#define MIB (1u << 20)

static char directory[TEMP_BYTES];

static struct job *job;

static struct host host;

static struct settings settings;

/* 1,000 files of 1 MiB for 2 accelerators, on a host of 100 MiB. */
static inline void set_up(void)
{
	temp_folder(directory);
	job = job_new("train");
	mem_replace(&job->directory, directory);
	job->format = FORMAT_RAW;
	job->num_files = 1000;
	job->sample_size = (struct dist){ DIST_CONST, MIB, 0 };
	job->accelerators = 2;
	job->batch_size = 3;
	job->compute_time = (struct dist){ DIST_CONST, 100e6, 0 };
	job->epochs = 5;
	job->read_threads = 4;
	job->bs.read = MIB / 4;
	job->target_au = (double)NAN;
	memset(&settings, 0, sizeof(settings));
	host = (struct host){ .memory_bytes = 100 * MIB, .open_files = 1024 };
}

static inline void tear_down(void)
{
	job_free(job);
	temp_remove(directory);
}

static inline void make(struct plan_report *p)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(plan_make(p, job, &host, &settings, &err) == 0, "%s", err.text);
}
