/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - phase=train and phase=prepare: a dataset, made and read as a training does. */
#include "work/train/training.h"

#include "work/checkpoint/checkpoint_check.h"
#include "work/train/train_check.h"

static const char *const groups[] = { "Workload", "Dataset", "Accelerator", "Evaluation",
				      "Loader",   "Cache",   NULL };
static const char *const also[] = { "Model", "Checkpoint", NULL };

/* A training that saves can be prepared: all options of one are taken. */
static const char *const also_of_prepare[] = { "Workload",   "Dataset",    "Accelerator",
					       "Evaluation", "Loader",     "Cache",
					       "Model",      "Checkpoint", NULL };

static const struct workload_default instead[] = {
	{ "numjobs", "read_threads (of each accelerator) and accelerators" },
	{ NULL, NULL },
};

static void training_check(const struct job *j, struct diag *d)
{
	train_check(j, d);
	checkpoint_check(j, d);
}

const struct workload work_train = {
	.groups = groups,
	.option_of = "an option of phase=train",
	.also = also,
	.instead = instead,
	.check = training_check,
	.more_at_once = "read_threads",
	.has_dataset = true,
	.has_accelerators = true,
	.is_open_ended = true,
	.is_grouped = true,
	.counts_errors = true,
	.needs_read = true,
	.checkpoints = CHECKPOINTS_ASKED,
	.run = &train_activity,
	.page = &train_page,
	.asked = &train_asked,
};

const struct workload work_prepare = {
	.also = also_of_prepare,
	.check = train_check,
	.more_at_once = "read_threads",
	.has_dataset = true,
	.only_prepares = true,
	.needs_write = true,
	.run = &prepare_activity,
	.page = &prepare_page,
	.asked = &prepare_asked,
};
