/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - phase=train and phase=prepare: make a dataset and read it like a training job. */
#pragma once

#include "job/job.h"

extern const struct workload work_train, work_prepare;

/* train_activity.c, training.c */
extern const struct activity train_activity, prepare_activity;
extern const struct page train_page, prepare_page;
extern const struct asked train_asked, prepare_asked;
