/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - phase=checkpoint and phase=restore: a model's state, saved and read back. */
#include "work/checkpoint/checkpoint.h"

#include "work/checkpoint/checkpoint_check.h"

static const char *const groups[] = { "Model", "Checkpoint", NULL };
static const char *const also_of_save[] = { "Workload", NULL };
static const char *const also_of_restore[] = { "Workload", "Model", "Checkpoint", NULL };

const struct workload work_checkpoint = {
	.groups = groups,
	.option_of = "an option of phase=checkpoint",
	.also = also_of_save,
	.check = checkpoint_check,
	.more_at_once = "checkpoint_threads",
	.needs_write = true,
	.checkpoints = CHECKPOINTS_ALWAYS,
	.run = &checkpoint_activity,
	.page = &checkpoint_page,
	.asked = &checkpoint_asked,
};

const struct workload work_restore = {
	.also = also_of_restore,
	.check = checkpoint_check,
	.more_at_once = "checkpoint_threads",
	.needs_read = true,
	.restores = true,
	.checkpoints = CHECKPOINTS_ALWAYS,
	.run = &checkpoint_activity,
	.page = &checkpoint_page,
	.asked = &checkpoint_asked,
};
