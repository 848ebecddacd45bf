/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - phase=io: a plain job, as fio has them. */
#pragma once

#include "job/job.h"

/* Less than so much of the rate that was asked for is a rate missed. */
#define PLAIN_RATE_MET 0.99

extern const struct workload work_io;

/* plain_activity.c, plain.c */
extern const struct activity plain_activity;
extern const struct page plain_page;
extern const struct asked plain_asked;
